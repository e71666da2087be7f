//! The bits of a math function do not depend on where it is called: in a vector loop, its tail, under a condition, in a loop
//! that cannot be vectorised, or outside of any loop.

mod common;

use common::{Code, elementwise, module, ptr, ptr_mut, scalar_fn};
use weft_codegen::inspect;

const FUNCTIONS: [(&str, &str); 6] = [
    ("sin", "%r = math.sin(%x) : T"),
    ("cos", "%r = math.cos(%x) : T"),
    ("exp", "%r = math.exp(%x) : T"),
    ("log", "%r = math.log(%x) : T"),
    ("pow", "%r = arith.pow(%x, %y) : T"),
    ("sqrt", "%r = math.sqrt(%x) : T"),
];

fn inputs(n: usize) -> (Vec<f64>, Vec<f64>) {
    let a = (0..n).map(|i| 0.05 + i as f64 * 0.7310585 % 9.7).collect();
    let b = (0..n).map(|i| -1.5 + i as f64 * 0.3137 % 3.3).collect();
    (a, b)
}

#[test]
fn scalar_calls_are_lanes_of_the_vector_routine_f64() {
    let n = 237;
    let (a, b) = inputs(n);
    for (name, body) in FUNCTIONS {
        let body = body.replace('T', "f64");
        let mut o = vec![0f64; n];
        let out = ptr_mut(&mut o);
        let code = Code::chunked(&elementwise("f64", &body), 50);
        assert_eq!(code.call(&[ptr(&a), ptr(&b), out, n as u64]).status, 0);
        let scalar = scalar_fn("f64", "f64", &body);
        for i in 0..n {
            let want = scalar.value(&[a[i].to_bits(), b[i].to_bits()]);
            assert_eq!(o[i].to_bits(), want, "{name}({}, {})", a[i], b[i]);
            let libm = match name {
                "sin" => a[i].sin(),
                "cos" => a[i].cos(),
                "exp" => a[i].exp(),
                "log" => a[i].ln(),
                "pow" => a[i].powf(b[i]),
                _ => a[i].sqrt(),
            };
            let ulps = o[i].to_bits().abs_diff(libm.to_bits());
            assert!(ulps <= if name == "sqrt" { 0 } else { 4 }, "{name}({}): {} not {libm}", a[i], o[i]);
        }
    }
}

#[test]
fn scalar_calls_are_lanes_of_the_vector_routine_f32() {
    let n = 237;
    let (a, b) = inputs(n);
    let (a, b): (Vec<f32>, Vec<f32>) = (a.iter().map(|&v| v as f32).collect(), b.iter().map(|&v| v as f32).collect());
    for (name, body) in FUNCTIONS {
        let body = body.replace('T', "f32");
        let mut o = vec![0f32; n];
        let out = ptr_mut(&mut o);
        let code = Code::chunked(&elementwise("f32", &body), 50);
        assert_eq!(code.call(&[ptr(&a), ptr(&b), out, n as u64]).status, 0);
        let scalar = scalar_fn("f32", "f32", &body);
        for i in 0..n {
            let want = scalar.value(&[a[i].to_bits().into(), b[i].to_bits().into()]);
            assert_eq!(o[i].to_bits(), want as u32, "{name}({}, {})", a[i], b[i]);
        }
    }
}

#[test]
fn conditions_and_mixed_widths_keep_the_bits() {
    let n = 101;
    let (a, b) = inputs(n);
    let text = elementwise(
        "f64",
        "%c = arith.cmp(%x, %y) <{is=\">\"}> : bool
         %s = arith.cast(%x) : f32
         %t = math.sin(%s) : f32
         %w = arith.cast(%t) : f64
         %r = scf.if(%c) { %l = math.exp(%y) : f64 %m = arith.add(%l, %w) : f64 yield(%m) } { yield(%w) } : f64",
    );
    let llvm = inspect(&module(&text), "llvm").unwrap();
    assert!(llvm.contains("call <8 x float> @weft.half.sin.f32") || weft_codegen::mvec::lanes(64) != 8, "{llvm}");
    let mut o = vec![0f64; n];
    let out = ptr_mut(&mut o);
    assert_eq!(Code::chunked(&text, 30).call(&[ptr(&a), ptr(&b), out, n as u64]).status, 0);
    let sin = scalar_fn("f32", "f32", "%r = math.sin(%x) : f32");
    let exp = scalar_fn("f64", "f64", "%r = math.exp(%x) : f64");
    for i in 0..n {
        let s = f64::from(f32::from_bits(sin.value(&[(a[i] as f32).to_bits().into(), 0]) as u32));
        let e = f64::from_bits(exp.value(&[b[i].to_bits(), 0]));
        assert_eq!(o[i], if a[i] > b[i] { e + s } else { s });
    }
}

const SERIAL: &str = r#"weft 1 stage loops
func @f(%a: mem<f64, host>, %o: mem<f64, host>, %n: i64) -> f64 {
  %zero = arith.const() <{value=0}> : i64
  %one = arith.const() <{value=1}> : i64
  %fz = arith.const() <{value=0.0}> : f64
  %s = scf.for(%zero, %n, %one, %fz) { ^(%i: i64, %acc: f64):
    %x = mem.load(%a, %i) <{unit="element"}> : f64
    %e = math.exp(%x) : f64
    mem.store(%e, %o, %i) <{unit="element"}>
    %t = arith.add(%acc, %e) : f64
    yield(%t)
  } : f64
  return(%s)
}
"#;

#[test]
fn serial_sums_keep_their_order() {
    let n = 1003;
    let (a, _) = inputs(n);
    let mut o = vec![0f64; n];
    let out = ptr_mut(&mut o);
    let sum = f64::from_bits(Code::new(SERIAL).value(&[ptr(&a), out, n as u64]));
    let exp = scalar_fn("f64", "f64", "%r = math.exp(%x) : f64");
    let mut want = 0.0;
    for i in 0..n {
        assert_eq!(o[i].to_bits(), exp.value(&[a[i].to_bits(), 0]));
        want += o[i];
    }
    assert_eq!(sum, want);
}

#[test]
fn math_loops_are_vectorised_without_a_scalar_tail() {
    if weft_codegen::mvec::vector_name(weft_ir::MathFn::Sin, 64).starts_with("_ZGVb") {
        return; // Two lanes: nothing to see.
    }
    for (t, bits) in [("f64", 64), ("f32", 32)] {
        let text = elementwise(t, &format!("%s = math.sin(%x) : {t} %r = arith.mul(%s, %y) : {t}"));
        let llvm = inspect(&module(&text), "llvm").unwrap();
        let lanes = weft_codegen::mvec::lanes(bits);
        let routine = weft_codegen::mvec::vector_name(weft_ir::MathFn::Sin, bits);
        assert!(llvm.contains(&format!("@{routine}(<{lanes} x ")), "{llvm}");
        let loops = llvm.split("define internal i32 @weft.chunk").nth(1).unwrap().split("\n}").next().unwrap();
        assert!(!loops.contains("call float @weft.sin") && !loops.contains("call double @weft.sin"), "{llvm}");
        assert!(loops.contains("masked.store"), "{llvm}");
    }
}

#[test]
fn assembly_has_separate_products_and_sums() {
    let text = elementwise("f64", "%t = arith.mul(%x, %y) : f64 %r = arith.add(%t, %x) : f64");
    let asm = inspect(&module(&text), "asm").unwrap();
    assert!(asm.contains("mulpd") && asm.contains("addpd") && !asm.contains("fmadd"), "{asm}");
}
