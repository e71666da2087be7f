//! Compiled functions that launch kernels: residency of host arrays, order of device arrays, exceptions from kernels.

mod common;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use common::{at, at_mut, build, call, call_with, device_queues, failure, message};
use weft_runtime::{
    Buffer, CallError, HalError, HostSpan, Queue, QueueOptions, RuntimeError, Touched, UsmKind, extent, trace,
};

/// `2 * x + y` of two host arrays on the device.
const AXPY: &str = r#"weft 1 stage loops
func @axpy(%x: mem<f32, host>, %xo: owner, %y: mem<f32, host>, %yo: owner, %n: i64, %sx: i64) -> mem<f32, host>, owner {
  %four = arith.const() <{value=4}> : i64
  %xd, %xe = mem.need(%x, %xo, %n, %sx) <{at=#dev, mode="read", rank=1}> : mem<f32, global>, owner
  %yd, %ye = mem.need(%y, %yo, %n, %four) <{at=#dev, mode="read", rank=1}> : mem<f32, global>, owner
  %bytes = arith.mul(%n, %four) : i64
  %o, %b = mem.alloc(%bytes) <{at=#dev}> : mem<f32, global>, owner
  simt.launch(%n, %n, %sx, %xd, %yd, %o) <{kernel="axpy.k0", dims=1}>
  mem.release(%xe)
  mem.release(%ye)
  %h, %hb = mem.need(%o, %b, %n, %four) <{at=#host, mode="read", rank=1}> : mem<f32, host>, owner
  mem.release(%b)
  return(%h, %hb)
}
kernel @axpy.k0(%n: i64, %sx: i64, %x: mem<f32, global>, %y: mem<f32, global>, %o: mem<f32, global>) {
  par.for(%n) <{cost=1}> { ^(%i: i64):
    %k = arith.mul(%i, %sx) : i64
    %e = mem.load(%x, %k) <{unit="byte"}> : f32
    %d = arith.add(%e, %e) : f32
    %q = mem.load(%y, %i) <{unit="element"}> : f32
    %r = arith.add(%d, %q) : f32
    mem.store(%r, %o, %i) <{unit="element"}>
    yield()
  }
  return()
}
"#;

fn taken(ret: &[u64], n: usize) -> Vec<f32> {
    let buffer = unsafe { Buffer::from_owner(ret[1]) }.unwrap();
    assert_eq!((buffer.address(), Arc::strong_count(&buffer)), (ret[0], 1));
    let data = buffer.into_host_memory().unwrap();
    let got = unsafe { std::slice::from_raw_parts(data.cast::<f32>(), n) }.to_vec();
    unsafe { weft_runtime::pool::host_free(data) };
    got
}

/// Traces and pools are the process's: one test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What was copied in, in bytes, what was copied back, and how many kernels were launched.
fn counted(run: impl FnOnce()) -> (Vec<u64>, Vec<u64>, usize) {
    let trace = trace::start();
    run();
    let records = trace.finish();
    let copies = |name: &str| records.copies.iter().filter(|c| c.name == name).map(|c| c.bytes).collect();
    (copies("host to device"), copies("device to host"), records.launches.len())
}

// spec: A6, A8
#[test]
fn host_arrays_are_copied_in_once_and_results_back() {
    let _alone = alone();
    for queue in device_queues() {
        let f = build(AXPY, Some(&queue));
        for n in [1_usize, 1003, 300_007] {
            let x: Vec<f32> = (0..n).map(|i| i as f32).collect();
            let y: Vec<f32> = (0..n).map(|i| 0.5 * i as f32).collect();
            let mut ret = vec![];
            let (to, back, launches) = counted(|| {
                ret = call(&f, &[at(&x), 1, at(&y), 3, n as u64, 4], 2).unwrap();
            });
            assert_eq!(taken(&ret, n), (0..n).map(|i| 2.5 * i as f32).collect::<Vec<_>>());
            let bytes = 4 * n as u64;
            assert_eq!((to, back, launches), (vec![bytes; 2], vec![bytes], 1), "{queue} {n}");
        }
        // The same array twice is one copy.
        let n = 2077;
        let x: Vec<f32> = (0..n).map(|i| i as f32).collect();
        let mut ret = vec![];
        let (to, ..) = counted(|| ret = call(&f, &[at(&x), 1, at(&x), 3, n as u64, 4], 2).unwrap());
        assert_eq!(to, [4 * n as u64]);
        assert_eq!(taken(&ret, n)[n - 1], 3.0 * (n - 1) as f32);
    }
}

#[test]
fn strided_and_negative_views_keep_their_elements() {
    let _alone = alone();
    for queue in device_queues() {
        let f = build(AXPY, Some(&queue));
        let x: Vec<f32> = (0..1000).map(|i| i as f32).collect();
        let y = vec![0.0_f32; 100];
        let expect = |first: usize, step: i64| -> Vec<f32> {
            (0..100).map(|i| 2.0 * x[(first as i64 + i * step) as usize]).collect()
        };
        for (first, step) in [(5_usize, 3_i64), (999, -7), (17, 0)] {
            let args = [at(&x[first..]), 1, at(&y), 3, 100, (4 * step) as u64];
            assert_eq!(taken(&call(&f, &args, 2).unwrap(), 100), expect(first, step), "{queue} {first} {step}");
        }
    }
}

#[test]
fn empty_arrays_launch_and_move_nothing() {
    let _alone = alone();
    for queue in device_queues() {
        let f = build(AXPY, Some(&queue));
        let none: [f32; 0] = [];
        let mut ret = vec![];
        let counts = counted(|| ret = call(&f, &[at(&none), 1, at(&none), 3, 0, 4], 2).unwrap());
        assert_eq!(counts, (vec![], vec![], 0));
        assert!(taken(&ret, 0).is_empty());
    }
}

#[test]
fn unaligned_arrays_are_aligned_on_the_device() {
    let _alone = alone();
    for queue in device_queues() {
        let f = build(AXPY, Some(&queue));
        let n = 500;
        let mut bytes = vec![0_u8; 4 * n + 1];
        for i in 0..n {
            bytes[1 + 4 * i..][..4].copy_from_slice(&(i as f32).to_ne_bytes());
        }
        let y = vec![1.0_f32; n];
        let ret = call(&f, &[at(&bytes[1..]), 1, at(&y), 3, n as u64, 4], 2).unwrap();
        assert_eq!(taken(&ret, n)[n - 1], 2.0 * (n - 1) as f32 + 1.0);
        let error = failure(call(&f, &[at(&bytes[1..]), 1, at(&y), 3, 100, 5], 2));
        assert!(error.to_string().contains("strides"), "{error}");
    }
}

/// Increments `a` on the device, then adds `b`, which may overlap it, to `c`.
const OVERLAP: &str = r#"weft 1 stage loops
func @overlap(%a: mem<i32, host>, %b: mem<i32, host>, %c: mem<i32, host>, %n: i64) {
  %four = arith.const() <{value=4}> : i64
  %one = arith.const() <{value=1}> : i64
  %three = arith.const() <{value=3}> : i64
  %five = arith.const() <{value=5}> : i64
  %ad, %ae = mem.need(%a, %one, %n, %four) <{at=#dev, mode="update", rank=1}> : mem<i32, global>, owner
  simt.launch(%n, %n, %ad) <{kernel="overlap.k0", dims=1}>
  %bd, %be = mem.need(%b, %three, %n, %four) <{at=#dev, mode="read", rank=1}> : mem<i32, global>, owner
  %cd, %ce = mem.need(%c, %five, %n, %four) <{at=#dev, mode="write_all", rank=1}> : mem<i32, global>, owner
  simt.launch(%n, %n, %bd, %cd) <{kernel="overlap.k1", dims=1}>
  return()
}
kernel @overlap.k0(%n: i64, %a: mem<i32, global>) {
  par.for(%n) <{cost=1}> { ^(%i: i64):
    %one = arith.const() <{value=1}> : i32
    %e = mem.load(%a, %i) <{unit="element"}> : i32
    %r = arith.add(%e, %one) : i32
    mem.store(%r, %a, %i) <{unit="element"}>
    yield()
  }
  return()
}
kernel @overlap.k1(%n: i64, %b: mem<i32, global>, %c: mem<i32, global>) {
  par.for(%n) <{cost=1}> { ^(%i: i64):
    %e = mem.load(%b, %i) <{unit="element"}> : i32
    mem.store(%e, %c, %i) <{unit="element"}>
    yield()
  }
  return()
}
"#;

// spec: A8
#[test]
fn overlapping_arguments_share_one_copy_and_written_ones_come_back() {
    let _alone = alone();
    for queue in device_queues() {
        let f = build(OVERLAP, Some(&queue));
        let n = 611_usize;
        for shift in [0, 1, 200, 611] {
            let mut x: Vec<i32> = (0..2 * n as i32).collect();
            let mut c = vec![-1; n];
            let base = at_mut(&mut x);
            let slots = [base, base + 4 * shift as u64, at_mut(&mut c), n as u64];
            let spans: Vec<HostSpan> = slots[..3].iter().map(|&p| extent(p, &[n as i64], &[4], 4).unwrap()).collect();
            let touched = Touched { host: &spans, ..Touched::default() };
            let (to, back, launches) = counted(|| drop(call_with(&f, &slots, 0, &touched).unwrap()));
            let expect: Vec<i32> = (0..2 * n).map(|i| i as i32 + i32::from(i < n)).collect();
            assert_eq!(x, expect, "{queue} {shift}");
            assert_eq!(c, expect[shift..shift + n]);
            assert_eq!(launches, 2);
            // a comes in whole, of b only what is not there yet; c, wholly overwritten, never comes in.
            let (whole, rest) = (4 * n as u64, 4 * shift as u64);
            assert_eq!(to, if shift == 0 { vec![whole] } else { vec![whole, rest] }, "{queue} {shift}");
            assert_eq!(back, [whole; 2]);
        }
    }
}

#[test]
fn overlaps_that_a_call_was_not_told_of_are_an_error_not_a_wrong_answer() {
    let _alone = alone();
    for queue in device_queues() {
        let f = build(OVERLAP, Some(&queue));
        let (mut x, mut c) = (vec![0_i32; 100], vec![-1_i32; 80]);
        let base = at_mut(&mut x);
        let error = failure(call(&f, &[base, base + 4, at_mut(&mut c), 80], 0));
        assert!(matches!(error, RuntimeError::Internal(_)), "{error}");
        assert!(c.iter().all(|&v| v == -1));
    }
}

/// Writes `1 / x` for positive `x`; raises for the first other one.
const RAISES: &str = r#"weft 1 stage loops
site 0 = IndexError "never"
site 1 = ValueError "item {i} is {f}"
func @raises(%x: mem<f64, host>, %o: mem<f64, host>, %n: i64) {
  %eight = arith.const() <{value=8}> : i64
  %one = arith.const() <{value=1}> : i64
  %three = arith.const() <{value=3}> : i64
  %xd, %xe = mem.need(%x, %one, %n, %eight) <{at=#dev, mode="read", rank=1}> : mem<f64, global>, owner
  %od, %oe = mem.need(%o, %three, %n, %eight) <{at=#dev, mode="write_all", rank=1}> : mem<f64, global>, owner
  simt.launch(%n, %n, %xd, %od) <{kernel="raises.k0", dims=1}>
  return()
}
kernel @raises.k0(%n: i64, %x: mem<f64, global>, %o: mem<f64, global>) {
  par.for(%n) <{cost=1}> { ^(%i: i64):
    %zero = arith.const() <{value=0.0}> : f64
    %one = arith.const() <{value=1.0}> : f64
    %e = mem.load(%x, %i) <{unit="element"}> : f64
    %bad = arith.cmp(%e, %zero) <{is="<="}> : bool
    scf.if(%bad) { raise(%i, %e) <{site=1}> } { yield() }
    %r = arith.div(%one, %e) : f64
    mem.store(%r, %o, %i) <{unit="element"}>
    yield()
  }
  return()
}
"#;

// spec: N12, A8
#[test]
fn a_kernel_raises_the_lowest_items_exception_and_leaves_the_device_usable() {
    let _alone = alone();
    for queue in device_queues() {
        let f = build(RAISES, Some(&queue));
        let n = 40_000;
        for bad in [vec![39_999], vec![30_000, 12, 39_000], (77..n).collect()] {
            let mut x = vec![2.0; n];
            let mut o = vec![7.0; n];
            bad.iter().for_each(|&i| x[i] = -(i as f64));
            let lowest = *bad.iter().min().unwrap();
            let result = call(&f, &[at(&x), at_mut(&mut o), n as u64], 0);
            let Err(CallError::Raised(raised)) = &result else { panic!("{result:?}") };
            assert_eq!((raised.class.name(), raised.iteration), ("ValueError", lowest as i64), "{queue}");
            if bad.len() == 1 {
                assert_eq!(message(result), "ValueError: item 39999 is -39999.0");
            }
            assert!(o.iter().all(|&v| v == 7.0), "what was not computed is not copied back");
            let x = vec![4.0; n];
            assert!(call(&f, &[at(&x), at_mut(&mut o), n as u64], 0).is_ok());
            assert!(o.iter().all(|&v| v == 0.25));
        }
    }
}

/// Doubles a device array into a new one.
const ON_DEVICE: &str = r#"weft 1 stage loops
func @twice(%x: mem<f32, global>, %xo: owner, %n: i64) -> mem<f32, global>, owner {
  %four = arith.const() <{value=4}> : i64
  %bytes = arith.mul(%n, %four) : i64
  %o, %b = mem.alloc(%bytes) <{at=#dev}> : mem<f32, global>, owner
  simt.launch(%n, %n, %x, %o) <{kernel="twice.k0", dims=1}>
  return(%o, %b)
}
kernel @twice.k0(%n: i64, %x: mem<f32, global>, %o: mem<f32, global>) {
  par.for(%n) <{cost=1}> { ^(%i: i64):
    %e = mem.load(%x, %i) <{unit="element"}> : f32
    %r = arith.add(%e, %e) : f32
    mem.store(%r, %o, %i) <{unit="element"}>
    yield()
  }
  return()
}
"#;

// spec: A11, B4, D7
#[test]
fn device_arrays_chain_across_queues_without_copies() {
    let _alone = alone();
    for queue in device_queues() {
        let f = build(ON_DEVICE, Some(&queue));
        let other = Queue::new(queue.device(), QueueOptions::default()).unwrap();
        let n = 123_457;
        let content: Vec<u8> = (0..n).flat_map(|i| (i as f32).to_ne_bytes()).collect();
        let mut array = Buffer::from_host(Some(&queue), &content, UsmKind::Device).unwrap();
        for step in 0..10 {
            let queue = if step % 2 == 0 { &other } else { &queue };
            let reads = [&*array];
            let usm = if step % 3 == 0 { UsmKind::Shared } else { UsmKind::Device };
            let touched = Touched { queue: Some(queue), reads: &reads, usm: Some(usm), ..Touched::default() };
            let ret = call_with(&f, &[array.address(), 1, n], 2, &touched).unwrap();
            array = unsafe { Buffer::from_owner(ret[1]) }.unwrap();
            assert_eq!((array.address(), array.kind()), (ret[0], usm));
            assert_eq!(array.queue().unwrap().id(), queue.id());
        }
        let mut out = vec![0; content.len()];
        array.to_host(0, &mut out).unwrap();
        let last = f32::from_ne_bytes(out[out.len() - 4..].try_into().unwrap());
        assert_eq!(last, 1024.0 * (n - 1) as f32, "{queue}");
    }
}

#[test]
fn threads_share_a_queue() {
    let _alone = alone();
    for queue in device_queues() {
        let f = build(AXPY, Some(&queue));
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let f = &f;
                scope.spawn(move || {
                    for round in 0..20 {
                        let n = 501 + 97 * thread + round;
                        let x = vec![thread as f32; n];
                        let y = vec![round as f32; n];
                        let ret = call(f, &[at(&x), 1, at(&y), 3, n as u64, 4], 2).unwrap();
                        assert_eq!(taken(&ret, n), vec![(2 * thread + round) as f32; n]);
                    }
                });
            }
        });
    }
}

#[test]
fn a_failed_allocation_leaves_everything_as_it_was() {
    let _alone = alone();
    for queue in device_queues() {
        let f = build(AXPY, Some(&queue));
        // 64 TiB on the device: refused, and everything else survives. The addresses are never read.
        let x = [1.0_f32];
        let args = [at(&x), 1, at(&x), 3, 1, 4];
        let error = failure(call(&f, &[at(&x), 1, at(&x), 3, 1 << 44, 0], 2));
        assert!(matches!(error, RuntimeError::Hal(HalError::OutOfMemory { .. })), "{error}");
        assert_eq!(taken(&call(&f, &args, 2).unwrap(), 1), [3.0]);
    }
}
