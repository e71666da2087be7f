//! Nanoseconds of an allocation with its release in compiled code: `cargo run --release -p weft-runtime --example alloc_speed`.

use weft_runtime::{Executable, Touched};

const TEXT: &str = r#"weft 1 stage loops
func @f(%n: i64, %bytes: i64) {
  %zero = arith.const() <{value=0}> : i64
  %one = arith.const() <{value=1}> : i64
  scf.for(%zero, %n, %one) { ^(%i: i64):
    %p, %o = mem.alloc(%bytes) <{at=#host}> : mem<i64, host>, owner
    mem.store(%i, %p, %zero) <{unit="element"}>
    mem.release(%o)
    yield()
  }
  return()
}
"#;

fn main() {
    let module = weft_ir::read::read_module(TEXT).expect("the text is ours");
    let f = Executable::build(&module, None, None).expect("it compiles");
    let n = 1_000_000u64;
    for bytes in [8, 64, 1000, 8000, 100_000, 1_000_000] {
        let mut best = f64::INFINITY;
        for _ in 0..5 {
            let start = std::time::Instant::now();
            // SAFETY: the slots are those of the function; it writes into its own memory only.
            unsafe { f.call(&[n, bytes], &mut [], &Touched::default()) }.expect("there is memory");
            best = best.min(start.elapsed().as_secs_f64());
        }
        println!("{bytes:8} bytes {:6.1} ns", best * 1e9 / n as f64);
    }
}
