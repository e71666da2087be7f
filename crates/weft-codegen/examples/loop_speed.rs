//! Nanoseconds per element of compiled loops on one thread: `cargo run --release --example loop_speed`.

#[path = "../tests/common/mod.rs"]
mod common;

use std::time::Instant;

use common::{Code, elementwise, ptr, ptr_mut};

fn best(mut work: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..50 {
        let start = Instant::now();
        work();
        best = best.min(start.elapsed().as_secs_f64());
    }
    best
}

fn f32_loop(name: &str, n: usize, body: &str) {
    let a: Vec<f32> = (0..n).map(|i| 0.1 + (i % 97) as f32 * 0.03).collect();
    let b: Vec<f32> = (0..n).map(|i| 0.3 + (i % 89) as f32 * 0.01).collect();
    let mut o = vec![0f32; n];
    let code = Code::new(&elementwise("f32", body));
    let out = ptr_mut(&mut o);
    let s = best(|| assert_eq!(code.call(&[ptr(&a), ptr(&b), out, n as u64]).status, 0));
    println!("{name:28} f32 n={n:8} {:8.4} ns/element", s * 1e9 / n as f64);
}

fn f64_loop(name: &str, n: usize, body: &str) {
    let a: Vec<f64> = (0..n).map(|i| 0.1 + (i % 97) as f64 * 0.03).collect();
    let b: Vec<f64> = (0..n).map(|i| 0.3 + (i % 89) as f64 * 0.01).collect();
    let mut o = vec![0f64; n];
    let code = Code::new(&elementwise("f64", &body.replace("f32", "f64")));
    let out = ptr_mut(&mut o);
    let s = best(|| assert_eq!(code.call(&[ptr(&a), ptr(&b), out, n as u64]).status, 0));
    println!("{name:28} f64 n={n:8} {:8.4} ns/element", s * 1e9 / n as f64);
}

const STENCIL: &str = r#"weft 1 stage loops
func @f(%a: mem<f64, host>, %o: mem<f64, host>, %n: i64, %m: i64, %w: i64) {
  par.for(%n, %m) <{cost=3}> { ^(%i: i64, %j: i64):
    %one = arith.const() <{value=1}> : i64
    %fifth = arith.const() <{value=0.2}> : f64
    %i1 = arith.add(%i, %one) : i64
    %j1 = arith.add(%j, %one) : i64
    %j2 = arith.add(%j1, %one) : i64
    %i2 = arith.add(%i1, %one) : i64
    %r1 = arith.mul(%i1, %w) : i64
    %r0 = arith.mul(%i, %w) : i64
    %r2 = arith.mul(%i2, %w) : i64
    %k0 = arith.add(%r1, %j1) : i64
    %k1 = arith.add(%r1, %j) : i64
    %k2 = arith.add(%r1, %j2) : i64
    %k3 = arith.add(%r0, %j1) : i64
    %k4 = arith.add(%r2, %j1) : i64
    %x0 = mem.load(%a, %k0) <{unit="element"}> : f64
    %x1 = mem.load(%a, %k1) <{unit="element"}> : f64
    %x2 = mem.load(%a, %k2) <{unit="element"}> : f64
    %x3 = mem.load(%a, %k3) <{unit="element"}> : f64
    %x4 = mem.load(%a, %k4) <{unit="element"}> : f64
    %s1 = arith.add(%x0, %x1) : f64
    %s2 = arith.add(%s1, %x2) : f64
    %s3 = arith.add(%s2, %x3) : f64
    %s4 = arith.add(%s3, %x4) : f64
    %v = arith.mul(%s4, %fifth) : f64
    mem.store(%v, %o, %k0) <{unit="element"}>
    yield()
  }
  return()
}
"#;

const ROW_SUM: &str = r#"weft 1 stage loops
func @f(%a: mem<f64, host>, %o: mem<f64, host>, %n: i64, %m: i64) {
  %zero = arith.const() <{value=0}> : i64
  %one = arith.const() <{value=1}> : i64
  %fz = arith.const() <{value=0.0}> : f64
  par.for(%n) <{cost=100}> { ^(%i: i64):
    %row = arith.mul(%i, %m) : i64
    %s = scf.for(%zero, %m, %one, %fz) { ^(%j: i64, %acc: f64):
      %k = arith.add(%row, %j) : i64
      %x = mem.load(%a, %k) <{unit="element"}> : f64
      %t = arith.add(%acc, %x) : f64
      yield(%t)
    } : f64
    mem.store(%s, %o, %i) <{unit="element"}>
    yield()
  }
  return()
}
"#;

fn main() {
    let plain = "%t = arith.mul(%x, %y) : f32  %r = arith.add(%t, %x) : f32";
    let math =
        "%s = math.sin(%x) : f32  %e = math.exp(%y) : f32  %t = arith.mul(%s, %e) : f32  %r = arith.add(%t, %x) : f32";
    let cond = "%c = arith.cmp(%x, %y) <{is=\">\"}> : bool  %r = scf.if(%c) { %d = arith.div(%x, %y) : f32 yield(%d) } { %q = math.sqrt(%x) : f32 yield(%q) } : f32";
    for n in [1000, 1_000_000] {
        f32_loop("a*b+a", n, plain);
        f64_loop("a*b+a", n, plain);
        f32_loop("sin(a)*exp(b)+a", n, math);
        f64_loop("sin(a)*exp(b)+a", n, math);
        f32_loop("a/b if a>b else sqrt(a)", n, cond);
    }
    let (n, m) = (500usize, 500usize);
    let (a, mut o) = (vec![1f64; (n + 2) * (m + 2)], vec![0f64; (n + 2) * (m + 2)]);
    let out = ptr_mut(&mut o);
    let code = Code::new(STENCIL);
    let s = best(|| assert_eq!(code.call(&[ptr(&a), out, n as u64, m as u64, m as u64 + 2]).status, 0));
    println!("five-point stencil           f64 {n}x{m}    {:8.4} ns/element", s * 1e9 / (n * m) as f64);
    let code = Code::new(ROW_SUM);
    let s = best(|| assert_eq!(code.call(&[ptr(&a), out, n as u64, m as u64]).status, 0));
    println!("row sums in source order     f64 {n}x{m}    {:8.4} ns/element", s * 1e9 / (n * m) as f64);
}
