//! Native code runs and does what the IR says: loops, parallel loops, memory, exceptions, launches.

mod common;

use common::{Code, elementwise, module, ptr, ptr_mut};
use weft_codegen::inspect;

#[test]
fn elementwise_loops_compute_every_element_whatever_the_chunks() {
    let text = elementwise("f32", "%t = arith.mul(%x, %y) : f32\n%r = arith.add(%t, %x) : f32");
    for (n, chunk) in [(0, 0), (1, 0), (7, 3), (100, 17), (1000, 0)] {
        let a: Vec<f32> = (0..n).map(|i| i as f32 * 0.37).collect();
        let b: Vec<f32> = (0..n).map(|i| 1.5 - i as f32).collect();
        let mut o = vec![f32::NAN; n];
        let code = Code::chunked(&text, chunk);
        assert_eq!(code.call(&[ptr(&a), ptr(&b), ptr_mut(&mut o), n as u64]).status, 0);
        let want: Vec<f32> = a.iter().zip(&b).map(|(x, y)| x * y + x).collect();
        assert_eq!(o, want);
    }
}

const TWO_D: &str = r#"weft 1 stage loops
func @f(%a: mem<f64, host>, %s0: i64, %s1: i64, %o: mem<f64, host>, %n: i64, %m: i64) {
  par.for(%n, %m) <{cost=3}> { ^(%i: i64, %j: i64):
    %p = arith.mul(%i, %s0) : i64
    %q = arith.mul(%j, %s1) : i64
    %at = arith.add(%p, %q) : i64
    %x = mem.load(%a, %at) <{unit="byte"}> : f64
    %row = arith.mul(%i, %m) : i64
    %k = arith.add(%row, %j) : i64
    mem.store(%x, %o, %k) <{unit="element"}>
    yield()
  }
  return()
}
"#;

#[test]
fn two_dimensions_run_over_rows_and_take_byte_strides() {
    let a: Vec<f64> = (0..12).map(f64::from).collect();
    let mut o = vec![0.0; 12];
    let code = Code::chunked(TWO_D, 2);
    // The transpose of a 3 × 4 array.
    assert_eq!(code.call(&[ptr(&a), 8, 32, ptr_mut(&mut o), 4, 3]).status, 0);
    assert_eq!(o, [0., 4., 8., 1., 5., 9., 2., 6., 10., 3., 7., 11.]);
    assert_eq!(code.log.borrow().par_for, [(4, 9)], "rows, each three items of cost 3");
}

/// Two loops over the same arrays, which may overlap: one goes into vectors, the other carries its own last item.
const LEFT_OVER: &str = r#"weft 1 stage loops
func @f(%x: mem<f64, host>, %y: mem<f64, host>, %n: i64) {
  %zero = arith.const() <{value=0}> : i64
  %one = arith.const() <{value=1}> : i64
  scf.for(%zero, %n, %one) { ^(%i: i64):
    %a = mem.load(%x, %i) <{unit="element"}> : f64
    %b = mem.load(%y, %i) <{unit="element"}> : f64
    %c = arith.mul(%a, %b) : f64
    mem.store(%c, %y, %i) <{unit="element"}>
    yield()
  }
  scf.for(%one, %n, %one) { ^(%i: i64):
    %before = arith.sub(%i, %one) : i64
    %a = mem.load(%y, %before) <{unit="element"}> : f64
    %b = mem.load(%y, %i) <{unit="element"}> : f64
    %c = arith.add(%a, %b) : f64
    mem.store(%c, %y, %i) <{unit="element"}>
    yield()
  }
  return()
}
"#;

#[test]
fn what_vectors_leave_over_is_one_copy_of_the_body() {
    let llvm = inspect(&module(LEFT_OVER), "llvm").unwrap();
    assert!(llvm.contains("fmul <"), "{llvm}");
    assert_eq!(llvm.matches("fmul double").count(), 1, "{llvm}");
    assert!(llvm.matches("fadd double").count() > 2, "other loops are unrolled: {llvm}");
    for n in [0, 1, 3, 5, 16, 23] {
        let x: Vec<f64> = (0..n).map(|i| f64::from(i) * 0.37 + 1.0).collect();
        let (mut y, mut want) = (vec![2.0; n as usize], vec![2.0; n as usize]);
        assert_eq!(Code::new(LEFT_OVER).call(&[ptr(&x), ptr_mut(&mut y), n as u64]).status, 0);
        want.iter_mut().zip(&x).for_each(|(w, x)| *w *= x);
        (1..n as usize).for_each(|i| want[i] += want[i - 1]);
        assert_eq!(y, want);
    }
}

const SUM: &str = r#"weft 1 stage loops
func @f(%lo: i64, %hi: i64, %step: i64) -> i64, i64 {
  %zero = arith.const() <{value=0}> : i64
  %s, %c = scf.for(%lo, %hi, %step, %zero, %zero) { ^(%i: i64, %acc: i64, %count: i64):
    %one = arith.const() <{value=1}> : i64
    %t = arith.add(%acc, %i) : i64
    %d = arith.add(%count, %one) : i64
    yield(%t, %d)
  } : i64, i64
  return(%s, %c)
}
"#;

#[test]
fn ranges_of_any_step_have_pythons_length() {
    let code = Code::new(SUM);
    for (lo, hi, step) in
        [(0i64, 10i64, 3i64), (10, 0, -3), (0, 10, -1), (5, 5, 1), (-7, 8, 5), (i64::MAX - 2, i64::MAX, 1)]
    {
        let mut want = vec![];
        let mut i = lo;
        while (step > 0 && i < hi) || (step < 0 && i > hi) {
            want.push(i);
            match i.checked_add(step) {
                Some(next) => i = next,
                None => break,
            }
        }
        let out = code.call(&[lo as u64, hi as u64, step as u64]);
        let sum = want.iter().fold(0i64, |a, &b| a.wrapping_add(b));
        assert_eq!((out.results[0] as i64, out.results[1] as usize), (sum, want.len()), "range({lo}, {hi}, {step})");
    }
}

const BRANCHES: &str = r#"weft 1 stage loops
site 0 = ValueError "negative: {f}"
func @f(%x: f64) -> f64 {
  %zero = arith.const() <{value=0.0}> : f64
  %c = arith.cmp(%x, %zero) <{is="<"}> : bool
  %r = scf.if(%c) {
    raise(%x) <{site=0}>
  } {
    %big = arith.const() <{value=10.0}> : f64
    %d = arith.cmp(%x, %big) <{is=">"}> : bool
    %v = scf.if(%d) {
      return(%big)
    } {
      %t = arith.add(%x, %x) : f64
      yield(%t)
    } : f64
    yield(%v)
  } : f64
  return(%r)
}
"#;

#[test]
fn branches_yield_return_and_raise() {
    let code = Code::new(BRANCHES);
    let at = |x: f64| code.call(&[x.to_bits()]);
    assert_eq!(f64::from_bits(at(3.0).results[0]), 6.0);
    assert_eq!(f64::from_bits(at(11.0).results[0]), 10.0);
    let out = at(-2.5);
    assert_eq!((out.status, out.exc.site, out.exc.nargs, out.exc.iteration), (1, 0, 1, -1));
    assert_eq!(f64::from_bits(out.exc.args[0]), -2.5);
}

const RAISING_LOOP: &str = r#"weft 1 stage loops
site 0 = OverflowError "no"
site 1 = ValueError "element {f}"
func @f(%a: mem<f32, host>, %n: i64, %m: i64) {
  par.for(%n, %m) <{cost=1}> { ^(%i: i64, %j: i64):
    %row = arith.mul(%i, %m) : i64
    %k = arith.add(%row, %j) : i64
    %x = mem.load(%a, %k) <{unit="element"}> : f32
    %zero = arith.const() <{value=0.0}> : f32
    %c = arith.cmp(%x, %zero) <{is="=="}> : bool
    scf.if(%c) { raise(%x, %k) <{site=1}> } { yield() }
    yield()
  }
  return()
}
"#;

#[test]
fn a_raise_in_a_parallel_loop_says_which_iteration() {
    let mut a = vec![1f32; 12];
    let code = Code::chunked(RAISING_LOOP, 1);
    assert_eq!(code.call(&[ptr(&a), 3, 4]).status, 0);
    a[7] = 0.0;
    let out = code.call(&[ptr(&a), 3, 4]);
    assert_eq!((out.status, out.exc.site, out.exc.iteration, out.exc.args[1]), (1, 1, 7, 7));
}

const ALLOCATES: &str = r#"weft 1 stage loops
func @f(%n: i64) -> mem<f64, host>, owner {
  %t, %to = mem.alloc(%n) <{at=#host}> : mem<f64, host>, owner
  mem.release(%to)
  %p, %po = mem.alloc(%n) <{at=#host}> : mem<f64, host>, owner
  return(%p, %po)
}
"#;

#[test]
fn memory_comes_from_the_runtime_and_its_failures_end_the_call() {
    let code = Code::new(ALLOCATES);
    let out = code.call(&[64]);
    assert_eq!(out.status, 0);
    let live: Vec<u64> = code.log.borrow().live.iter().map(|(o, _)| *o).collect();
    assert_eq!(live, [out.results[1]], "only the result is left");
    for after in [0, 1] {
        let code = Code::new(ALLOCATES);
        code.log.borrow_mut().fail_alloc_after = Some(after);
        let out = code.call(&[64]);
        assert_eq!((out.status, out.exc.site), (1, weft_codegen::abi::ExcRecord::RUNTIME));
    }
}

const LAUNCHES: &str = r#"weft 1 stage loops
site 0 = ValueError "no"
func @f(%a: f64, %flag: bool, %x: mem<f32, host>, %xo: owner, %n: i64, %s: i64) {
  %w = arith.cast(%a) : f32
  %d, %do = mem.need(%x, %xo, %n, %s) <{at=#cuda:gpu:0, mode="update", rank=1}> : mem<f32, global>, owner
  %n32 = arith.cast(%n) : i32
  simt.launch(%n, %n32, %flag, %w, %d) <{kernel="f.k0", dims=1}>
  simt.launch(%n, %d) <{kernel="f.k1", dims=1}>
  return()
}
kernel @f.k0(%n: i32, %flag: bool, %w: f32, %x: mem<f32, global>) {
  par.for(%n) <{cost=1}> { ^(%i: i32):
    scf.if(%flag) { mem.store(%w, %x, %i) <{unit="element"}> yield() } { yield() }
    yield()
  }
  return()
}
kernel @f.k1(%x: mem<f32, global>) {
  %n = arith.const() <{value=4}> : i64
  par.for(%n) <{cost=1}> { ^(%i: i64):
    raise(%i) <{site=0}>
  }
  return()
}
"#;

#[test]
fn launches_pack_arguments_by_the_kernels_layout() {
    let code = Code::new(LAUNCHES);
    let x = [0f32; 5];
    assert_eq!(code.call(&[2.5f64.to_bits(), 1, ptr(&x), 7, 5, 4]).status, 0);
    let log = code.log.borrow();
    assert_eq!(log.needs, [(ptr(&x), 7, vec![5], vec![4], 4, 1, 2)]);
    let address = (ptr(&x) + 0x10000).to_le_bytes();
    let infos = weft_codegen::infos(&common::module(LAUNCHES), &weft_codegen::DeviceTarget::SpirV);
    let offsets: Vec<u32> = infos[0].fields.iter().map(|f| f.offset).collect();
    assert_eq!((offsets, infos[0].bytes, infos[0].may_raise), (vec![0, 4, 8, 16], 24, false));
    let mut want = vec![];
    want.extend(5i32.to_le_bytes());
    want.extend([1, 0, 0, 0]);
    want.extend(2.5f32.to_le_bytes());
    want.extend([0; 4]);
    want.extend(address);
    let (site, sizes, mut args) = log.launches[0].clone();
    args[5..8].fill(0);
    args[12..16].fill(0);
    assert_eq!((site, sizes, args), (0, vec![5], want));
    assert!(infos[1].may_raise && infos[1].fields.len() == 2);
    let want: Vec<u8> = address.into_iter().chain([0; 8]).collect();
    assert_eq!(log.launches[1], (1, vec![5], want), "the error buffer's address is the runtime's to fill");
}

const NESTED: &str = r#"weft 1 stage loops
func @f(%o: mem<i64, host>, %n: i64, %m: i64) {
  %one = arith.const() <{value=1}> : i64
  %zero = arith.const() <{value=0}> : i64
  par.for(%n) <{cost=1}> { ^(%i: i64):
    %row = arith.mul(%i, %m) : i64
    par.for(%m) <{cost=1}> { ^(%j: i64):
      %k = arith.add(%row, %j) : i64
      %s = scf.for(%zero, %j, %one, %zero) { ^(%t: i64, %acc: i64):
        %u = arith.add(%acc, %i) : i64
        yield(%u)
      } : i64
      mem.store(%s, %o, %k) <{unit="element"}>
      yield()
    }
    yield()
  }
  return()
}
"#;

#[test]
fn a_parallel_loop_inside_another_is_a_plain_loop() {
    let mut o = vec![0i64; 12];
    let code = Code::chunked(NESTED, 1);
    assert_eq!(code.call(&[ptr_mut(&mut o), 3, 4]).status, 0);
    let want: Vec<i64> = (0..12).map(|k| (k / 4) * (k % 4)).collect();
    assert_eq!(o, want);
    assert_eq!(code.log.borrow().par_for.len(), 1);
}

#[test]
fn bools_are_bytes_in_memory() {
    let text = r#"weft 1 stage loops
func @f(%a: mem<f32, host>, %o: mem<bool, host>, %p: mem<bool, host>, %n: i64) {
  par.for(%n) <{cost=1}> { ^(%i: i64):
    %x = mem.load(%a, %i) <{unit="element"}> : f32
    %zero = arith.const() <{value=0.0}> : f32
    %c = arith.cmp(%x, %zero) <{is=">"}> : bool
    mem.store(%c, %o, %i) <{unit="element"}>
    %q = mem.load(%p, %i) <{unit="element"}> : bool
    %r = arith.xor(%q, %c) : bool
    mem.store(%r, %p, %i) <{unit="element"}>
    yield()
  }
  return()
}
"#;
    let a = [1f32, -1.0, f32::NAN, 0.0, 5.0];
    let (mut o, mut p) = ([9u8; 5], [1u8, 0, 1, 0, 0]);
    assert_eq!(Code::new(text).call(&[ptr(&a), ptr_mut(&mut o), ptr_mut(&mut p), 5]).status, 0);
    assert_eq!((o, p), ([1, 0, 0, 0, 1], [0, 0, 1, 0, 1]));
}

#[test]
fn eight_threads_compile_at_once_and_get_the_same_bytes() {
    let m = common::module(&elementwise("f64", "%s = math.sin(%x) : f64 %r = arith.add(%s, %y) : f64"));
    let objects: Vec<Vec<u8>> = std::thread::scope(|s| {
        let compile = || weft_codegen::compile_host(&m, "f").unwrap().object;
        let threads: Vec<_> = (0..8).map(|_| s.spawn(compile)).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert!(objects.iter().all(|o| *o == objects[0]));
}

#[test]
fn every_test_module_is_valid_ir() {
    for text in [TWO_D, SUM, BRANCHES, RAISING_LOOP, ALLOCATES, LAUNCHES, NESTED] {
        if let Err(e) = weft_ir::verify::verify(&common::module(text)) {
            panic!("{e}\n{text}");
        }
    }
}
