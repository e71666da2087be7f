//! Milliseconds from IR to loaded code for a few small functions: `cargo run --release --example compile_time`.

use weft_codegen::{DeviceTarget, compile_host, compile_kernels, load};

fn elementwise(name: &str, body: &str) -> String {
    format!(
        "weft 1 stage loops
func @{name}(%a: mem<f32, host>, %b: mem<f32, host>, %n: i64) -> mem<f32, host>, owner, i64 {{
  %four = arith.const() <{{value=4}}> : i64
  %bytes = arith.mul(%n, %four) : i64
  %o, %oo = mem.alloc(%bytes) <{{at=#host}}> : mem<f32, host>, owner
  par.for(%n) <{{cost=10}}> {{ ^(%i: i64):
    %x = mem.load(%a, %i) <{{unit=\"element\"}}> : f32
    %y = mem.load(%b, %i) <{{unit=\"element\"}}> : f32
    {body}
    mem.store(%r, %o, %i) <{{unit=\"element\"}}>
    yield()
  }}
  return(%o, %oo, %n)
}}
kernel @{name}.k(%n: i64, %a: mem<f32, global>, %b: mem<f32, global>, %o: mem<f32, global>) {{
  par.for(%n) <{{cost=1}}> {{ ^(%i: i64):
    %x = mem.load(%a, %i) <{{unit=\"element\"}}> : f32
    %y = mem.load(%b, %i) <{{unit=\"element\"}}> : f32
    {body}
    mem.store(%r, %o, %i) <{{unit=\"element\"}}>
    yield()
  }}
  return()
}}
"
    )
}

/// CPU time of this process: other work on the machine counts less than in wall time.
fn cpu_ms() -> f64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: fills our own struct.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut t) };
    t.tv_sec as f64 * 1e3 + t.tv_nsec as f64 * 1e-6
}

/// First and best of 30 milliseconds of some work.
fn measure<T>(what: &str, mut work: impl FnMut() -> T) {
    let mut best = f64::INFINITY;
    let mut first = 0.0;
    for i in 0..30 {
        let start = cpu_ms();
        drop(work());
        let ms = cpu_ms() - start;
        first = if i == 0 { ms } else { first };
        best = best.min(ms);
    }
    println!("{what:24} first {first:6.2} ms, best {best:6.2} ms");
}

fn main() {
    let plain = "%t = arith.mul(%x, %y) : f32  %r = arith.add(%t, %x) : f32";
    let math =
        "%s = math.sin(%x) : f32  %e = math.exp(%y) : f32  %t = arith.mul(%s, %e) : f32  %r = arith.add(%t, %x) : f32";
    for (name, body) in [("a*b+a", plain), ("sin(a)*exp(b)+a", math)] {
        let module = weft_ir::read::read_module(&elementwise("f", body)).expect("the text is ours");
        measure(&format!("{name} host"), || {
            let code = compile_host(&module, "f").expect("it compiles");
            load(&code.object).expect("it loads")
        });
        for (target, label) in [(DeviceTarget::Ptx { arch: "sm_90".into() }, "ptx"), (DeviceTarget::SpirV, "spirv")] {
            match compile_kernels(&module, &target) {
                Ok(_) => measure(&format!("{name} {label}"), || compile_kernels(&module, &target)),
                Err(e) => println!("{name} {label}: {e}"),
            }
        }
    }
}
