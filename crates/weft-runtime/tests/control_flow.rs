//! Memory and the stack under control flow: counts through handlers, many blocks at once, recursion.

mod common;

use std::sync::Mutex;

use common::{build, call, message};
use weft_runtime::{Buffer, pool};

/// Bytes in use of the whole host pool are looked at: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn live() -> u64 {
    pool::stats()[0].live
}

const DEEP: &str = r#"weft 1 stage loops
site 0 = RecursionError "maximum recursion depth exceeded"
func @f(%n: i64, %caught: bool) -> i64 {
  %depth = scf.cell(%n) : cell<i64>
  scf.if(%caught) {
    scf.try() {
      %d = scf.call(%n) <{function="count"}> : i64
      scf.set(%d, %depth)
      yield()
    } {
      %is = scf.catch() <{classes=[23]}> : bool
      scf.if(%is) { yield() } { reraise() }
      %minus = arith.const() <{value=-1}> : i64
      scf.set(%minus, %depth)
      yield()
    }
    yield()
  } {
    %d = scf.call(%n) <{function="count"}> : i64
    scf.set(%d, %depth)
    yield()
  }
  %d = scf.get(%depth) : i64
  return(%d)
}
func @count(%n: i64) -> i64 {
  %zero = arith.const() <{value=0}> : i64
  %one = arith.const() <{value=1}> : i64
  %end = arith.cmp(%n, %zero) <{is="=="}> : bool
  scf.if(%end) { return(%zero) } { yield() }
  %less = arith.sub(%n, %one) : i64
  %d = scf.call(%less) <{function="count"}> : i64
  %r = arith.add(%d, %one) : i64
  return(%r)
}
"#;

// spec: N10
#[test]
fn recursion_without_end_raises_before_the_stack_ends() {
    assert_eq!(weft_ir::ExcClass::ALL[23], weft_ir::ExcClass::RecursionError);
    let f = build(DEEP, None);
    assert_eq!(call(&f, &[1000, 0], 1).unwrap(), [1000]);
    for bytes in [256 << 10, 1 << 20, 8 << 20] {
        let run = || {
            assert_eq!(message(call(&f, &[10_000_000, 0], 1)), "RecursionError: maximum recursion depth exceeded");
            assert_eq!(call(&f, &[10_000_000, 1], 1).unwrap(), [-1_i64 as u64]);
            // The stack is whole again.
            assert_eq!(call(&f, &[100, 1], 1).unwrap(), [100]);
        };
        std::thread::scope(|s| {
            let thread = std::thread::Builder::new().stack_size(bytes + (512 << 10)).spawn_scoped(s, run);
            thread.unwrap().join().unwrap();
        });
    }
}

/// Allocates in a body that raises, `n` times; returns a block of the last turn that did not.
const CAUGHT: &str = r#"weft 1 stage loops
site 0 = ValueError "odd"
func @f(%n: i64, %bytes: i64, %fails: bool) -> mem<f64, host>, owner {
  %zero = arith.const() <{value=0}> : i64
  %one = arith.const() <{value=1}> : i64
  %p, %o = mem.alloc(%bytes) <{at=#host}> : mem<f64, host>, owner
  scf.for(%zero, %n, %one) { ^(%i: i64):
    scf.try() {
      %q, %lost = mem.alloc(%bytes) <{at=#host}> : mem<f64, host>, owner
      mem.retain(%lost)
      scf.if(%fails) { raise() <{site=0}> } { yield() }
      mem.release(%lost)
      mem.release(%lost)
      yield()
    } {
      yield()
    }
    yield()
  }
  mem.retain(%o)
  mem.release(%o)
  return(%p, %o)
}
"#;

// spec: N10
#[test]
fn what_a_handler_went_past_is_released_when_the_call_returns() {
    let _alone = ALONE.lock().unwrap();
    let f = build(CAUGHT, None);
    for fails in [0, 1] {
        let before = live();
        let ret = call(&f, &[1000, 1000, fails], 2).unwrap();
        let buffer = unsafe { Buffer::from_owner(ret[1]) }.unwrap();
        assert_eq!(std::sync::Arc::strong_count(&buffer), 1);
        assert!(live() - before < 3000, "only the result is alive");
        drop(buffer);
        assert_eq!(live(), before);
    }
}

#[test]
fn the_cost_of_a_block_does_not_depend_on_how_many_there_are() {
    // Recursion keeps one block per level alive.
    let text = r#"weft 1 stage loops
func @f(%n: i64) {
  scf.call(%n) <{function="level"}>
  return()
}
func @level(%n: i64) {
  %zero = arith.const() <{value=0}> : i64
  %one = arith.const() <{value=1}> : i64
  %size = arith.const() <{value=64}> : i64
  %p, %o = mem.alloc(%size) <{at=#host}> : mem<i64, host>, owner
  %q, %r = mem.alloc(%size) <{at=#host}> : mem<i64, host>, owner
  %more = arith.cmp(%n, %zero) <{is=">"}> : bool
  scf.if(%more) {
    %less = arith.sub(%n, %one) : i64
    scf.call(%less) <{function="level"}>
    yield()
  } {
    yield()
  }
  mem.release(%o)
  mem.release(%r)
  return()
}
"#;
    let _alone = ALONE.lock().unwrap();
    let f = build(text, None);
    let before = live();
    let time = |n: u64| {
        let mut best = f64::INFINITY;
        for _ in 0..5 {
            let start = std::time::Instant::now();
            call(&f, &[n], 0).unwrap();
            best = best.min(start.elapsed().as_secs_f64() / n as f64);
        }
        best
    };
    std::thread::scope(|s| {
        let run = || {
            time(10_000);
            let (few, many) = (time(500), time(20_000));
            println!("two blocks: {:.0} ns with 1000 alive, {:.0} ns with 40000", few * 1e9, many * 1e9);
            assert!(many < 12.0 * few, "{few} {many}");
        };
        std::thread::Builder::new().stack_size(64 << 20).spawn_scoped(s, run).unwrap().join().unwrap();
    });
    assert_eq!(live(), before);
}
