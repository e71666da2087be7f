//! Compiled host functions: slots, parallel regions, memory, exceptions, failures.

mod common;

use std::sync::Arc;

use common::{at, at_mut, build, call, call_with, failure, message};
use weft_runtime::{Buffer, CallError, HalError, RuntimeError, Touched, UsmKind, pool, queue_for, trace};

const AXPY: &str = r#"weft 1 stage loops
func @axpy(%a: f64, %x: mem<f64, host>, %y: mem<f64, host>, %n: i64) -> mem<f64, host>, owner {
  %size = arith.const() <{value=8}> : i64
  %bytes = arith.mul(%n, %size) : i64
  %o, %b = mem.alloc(%bytes) <{at=#host}> : mem<f64, host>, owner
  par.for(%n) <{cost=1}> { ^(%i: i64):
    %e = mem.load(%x, %i) <{unit="element"}> : f64
    %p = arith.mul(%a, %e) : f64
    %q = mem.load(%y, %i) <{unit="element"}> : f64
    %r = arith.add(%p, %q) : f64
    mem.store(%r, %o, %i) <{unit="element"}>
    yield()
  }
  return(%o, %b)
}
"#;

fn check_axpy(f: &weft_runtime::Executable, n: usize) {
    let x: Vec<f64> = (0..n).map(|i| i as f64).collect();
    let y: Vec<f64> = (0..n).map(|i| 1.0 / (1.0 + i as f64)).collect();
    let ret = call(f, &[2.5_f64.to_bits(), at(&x), at(&y), n as u64], 2).unwrap();
    let buffer = unsafe { Buffer::from_owner(ret[1]) }.unwrap();
    assert_eq!(buffer.address(), ret[0]);
    let data = buffer.into_host_memory().unwrap();
    let got = unsafe { std::slice::from_raw_parts(data.cast::<f64>(), n) };
    assert!(got.iter().zip(x.iter().zip(&y)).all(|(g, (x, y))| *g == 2.5 * x + y));
    unsafe { pool::host_free(data) };
}

#[test]
fn results_are_host_memory_that_can_be_given_away() {
    let f = build(AXPY, None);
    assert_eq!(f.slots(), (4, 2));
    for n in [0, 1, 1000, 1 << 20] {
        check_axpy(&f, n);
    }
}

#[test]
fn one_executable_serves_many_threads() {
    let f = build(AXPY, None);
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| (0..20).for_each(|i| check_axpy(&f, 1000 << (i % 6))));
        }
    });
}

#[test]
fn a_parallel_region_is_one_launch_in_the_trace() {
    let text = AXPY.replace("@axpy", "@traced_axpy");
    let trace = trace::start();
    let f = build(&text, None);
    check_axpy(&f, 100);
    check_axpy(&f, 1 << 20);
    let records = trace.finish();
    let name = |i: &&trace::Item| i.name == "traced_axpy" && i.device == "native:cpu:0";
    assert_eq!(records.launches.iter().filter(name).count(), 2);
    let compile = records.compiles.iter().find(name).unwrap();
    assert!(compile.bytes > 0 && compile.seconds > 0.0);
}

const CHECKED: &str = r#"weft 1 stage loops
site 0 = ValueError "element {i} is {f}"
func @check(%x: mem<f64, host>, %n: i64, %seen: mem<i64, host>) {
  %zero = arith.const() <{value=0.0}> : f64
  %one = arith.const() <{value=1}> : i64
  par.for(%n) <{cost=100}> { ^(%i: i64):
    %e = mem.load(%x, %i) <{unit="element"}> : f64
    %bad = arith.cmp(%e, %zero) <{is="<"}> : bool
    scf.if(%bad) { raise(%i, %e) <{site=0}> } { yield() }
    mem.store(%one, %seen, %i) <{unit="element"}>
    yield()
  }
  return()
}
"#;

// spec: N12
#[test]
fn the_exception_is_that_of_the_lowest_iteration() {
    let f = build(CHECKED, None);
    let n = 100_000;
    for threads in [1, 2, 7] {
        weft_runtime::set_num_threads(threads);
        for bad in [vec![99_999], vec![77_777, 3], vec![50_001, 50_000, 99_000], (20..n).rev().collect()] {
            let mut x = vec![1.0; n];
            let mut seen = vec![0_i64; n];
            bad.iter().for_each(|&i| x[i] = -1.5 - i as f64);
            let lowest = *bad.iter().min().unwrap();
            let result = call(&f, &[at(&x), n as u64, at_mut(&mut seen)], 0);
            let Err(CallError::Raised(raised)) = &result else { panic!("{result:?}") };
            assert_eq!(raised.iteration, lowest as i64);
            assert_eq!(message(result), format!("ValueError: element {lowest} is {:?}", x[lowest]));
            assert!(seen[..lowest].iter().all(|&s| s == 1), "lower iterations always run");
        }
    }
    assert!(call(&f, &[at(&[1.0_f64; 10]), 10, at_mut(&mut [0_i64; 10])], 0).is_ok());
}

const LEAKY: &str = r#"weft 1 stage loops
site 0 = OverflowError "too much"
func @leaky(%bytes: i64, %more: i64) -> owner {
  %p, %a = mem.alloc(%bytes) <{at=#host}> : mem<f64, host>, owner
  %n = arith.const() <{value=1}> : i64
  %q, %b = mem.need(%p, %a, %n, %n) <{at=#host, mode="read", rank=1}> : mem<f64, host>, owner
  %r, %c = mem.alloc(%more) <{at=#host}> : mem<f64, host>, owner
  %zero = arith.const() <{value=0}> : i64
  %small = arith.cmp(%more, %zero) <{is="=="}> : bool
  scf.if(%small) { raise() <{site=0}> } { yield() }
  mem.release(%b)
  mem.release(%c)
  return(%a)
}
"#;

// spec: D8
#[test]
fn failures_have_the_sizes_and_leak_nothing() {
    // A class that no other test uses. The first failure trims; the others must find the same block again.
    let bytes = 200_000_000;
    let used = || Buffer::alloc_host(bytes).unwrap().address();
    let f = build(LEAKY, None);
    let error = failure(call(&f, &[bytes as u64, 1 << 46], 1));
    let RuntimeError::Hal(HalError::OutOfMemory { requested, .. }) = error else { panic!("{error}") };
    assert_eq!(requested, 1 << 46);
    let before = used();
    assert_eq!(message(call(&f, &[bytes as u64, 0], 1)), "OverflowError: too much");
    assert_eq!(used(), before, "the block came back to the pool");
    let ret = call(&f, &[bytes as u64, 8], 1).unwrap();
    let buffer = unsafe { Buffer::from_owner(ret[0]) }.unwrap();
    assert_eq!(Arc::strong_count(&buffer), 1);
    assert_eq!(buffer.address(), before);
}

const NATIVE_QUEUE: &str = r#"weft 1 stage loops
func @double(%x: mem<f32, host>, %xo: owner, %n: i64) -> mem<f32, host>, owner, owner {
  %four = arith.const() <{value=4}> : i64
  %bytes = arith.mul(%n, %four) : i64
  %d, %do = mem.need(%x, %xo, %n, %four) <{at=#dev, mode="read", rank=1}> : mem<f32, host>, owner
  %o, %b = mem.alloc(%bytes) <{at=#dev}> : mem<f32, host>, owner
  par.for(%n) <{cost=1}> { ^(%i: i64):
    %e = mem.load(%d, %i) <{unit="element"}> : f32
    %r = arith.add(%e, %e) : f32
    mem.store(%r, %o, %i) <{unit="element"}>
    yield()
  }
  %h, %ho = mem.need(%o, %b, %n, %four) <{at=#host, mode="read", rank=1}> : mem<f32, host>, owner
  mem.release(%b)
  return(%h, %ho, %do)
}
"#;

#[test]
fn a_native_queue_moves_nothing() {
    let queue = queue_for("native").unwrap();
    let f = build(NATIVE_QUEUE, Some(&queue));
    let x: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let trace = trace::start();
    let ret = call(&f, &[at(&x), 1, 1000], 3).unwrap();
    assert!(trace.finish().copies.iter().all(|c| c.bytes != 4000));
    assert_eq!(ret[2], 1, "an argument stays borrowed");
    let buffer = unsafe { Buffer::from_owner(ret[1]) }.unwrap();
    assert_eq!(Arc::strong_count(&buffer), 1);
    assert_eq!(buffer.queue(), Some(&queue));
    let mut out = vec![0; 4000];
    buffer.to_host(0, &mut out).unwrap();
    assert_eq!(out[4000 - 4..], 1998.0_f32.to_ne_bytes());
}

#[test]
fn wrong_slots_and_wrong_devices_are_refused() {
    let f = build(AXPY, None);
    assert!(matches!(failure(call(&f, &[0, 0, 0], 2)), RuntimeError::Internal(_)));
    let native = queue_for("native").unwrap();
    let null = weft_runtime::Queue::default_on(&weft_hal::null::device()).unwrap();
    let f = build(AXPY, Some(&native));
    let touched = Touched { queue: Some(&null), usm: Some(UsmKind::Shared), ..Touched::default() };
    let error = failure(call_with(&f, &[0; 4], 2, &touched));
    assert!(error.to_string().contains("native:cpu:0"), "{error}");
}
