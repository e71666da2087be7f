//! Folds in the order of the tree, of arrays however they lie: native code gives the bits of the interpreter, and that those of
//! `weft_ir::reduce`.

use crate::backends::{self, Backend};
use crate::rng::Rng;
use std::fmt::Write;
use weft_interp::array::strides_of;
use weft_interp::{Array, Memory, Scalar, Value};
use weft_ir::read::read_module;
use weft_ir::verify::verify;
use weft_ir::{DType, Layout, Module, Op, Place, Stage, reduce};
use weft_opt::call::{Call, Expect, Match, compare};
use weft_passes::PassCx;
use weft_passes::pipeline::{self, until};

/// Around the ends of what is written out, of lanes of every size, and of blocks of 8 bytes.
const SIZES: [i64; 18] = [0, 1, 2, 3, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 4095, 4096, 4097];

/// Of nothing there is no greatest.
fn folds(dtype: DType, n: i64) -> &'static [&'static str] {
    match dtype {
        DType::F64 | DType::F32 | DType::I64 if n == 0 => &["sum", "prod"],
        DType::Bool => &["any", "all"],
        // Products of complex numbers may differ in the signs of zeros.
        DType::C128 => &["sum"],
        _ => &["sum", "max"],
    }
}

/// A function that folds every axis of arrays of type `x` (and neighbours of a C-ordered one), stored and computed. `axes`: in the
/// text of types.
fn program(dtype: DType, n: i64, axes: [&str; 3]) -> String {
    let name = dtype.name();
    let dims = |without: &[usize]| -> String {
        let left = axes.iter().enumerate().filter(|(k, _)| !without.contains(k));
        left.map(|(_, d)| format!("{d}x")).collect()
    };
    let all = dims(&[]);
    let (mut body, mut results, mut types) = (String::new(), vec![], vec![]);
    let groups: [&[usize]; 6] = [&[0], &[1], &[2], &[0, 1], &[1, 2], &[0, 1, 2]];
    let product = if dtype.is_complex() { "arith.cmul" } else { "arith.mul" };
    let product = if dtype == DType::Bool { "arith.xor" } else { product };
    for (fold, group) in folds(dtype, n).iter().flat_map(|f| groups.iter().map(move |g| (f, g))) {
        let attributes = format!("fold=\"{fold}\", axes={group:?}, order=\"tree\"");
        let ty = format!("tensor<{}{name}, C>", dims(group));
        for array in ["a", "b", "c"].iter().filter(|a| group.len() == 1 || **a == "a") {
            let _ = writeln!(body, "  %r{} = nt.reduce(%{array}) <{{{attributes}}}> : {ty}", results.len());
            results.push(format!("%r{}", results.len()));
            types.push(ty.clone());
        }
        for (x, y) in [("a", "a"), ("b", "c")] {
            let _ = writeln!(
                body,
                "  %r{} = nt.fold() <{{{attributes}}}> {{\n    %p = nt.elementwise(%{x}, %{y}) {{ ^(%i: {name}, %j: {name}):\n      \
                 %v = {product}(%i, %j) : {name}\n      yield(%v)\n    }} : tensor<{all}{name}, C>\n    yield(%p)\n  }} : {ty}",
                results.len()
            );
            results.push(format!("%r{}", results.len()));
            types.push(ty.clone());
        }
    }
    let (types, results) = (types.join(", "), results.join(", "));
    format!(
        "weft 1 stage fused\nfunc @f(%a: tensor<{all}{name}, C>, %b: tensor<{all}{name}, F>, %c: tensor<{all}{name}, A>) -> \
         {types} {{\n{body}  return({results})\n}}\n"
    )
}

fn number(dtype: DType, rng: &mut Rng) -> Scalar {
    let near = |rng: &mut Rng| if rng.chance(20) { -0.0 } else { 1.0 + (rng.bits() % 1000) as f64 / 1e6 };
    let v = match dtype {
        DType::C128 => {
            let [re, im] = [0, 0].map(|_| Scalar::F64(near(rng)));
            return weft_interp::scalar::binary(&Op::Complex, re, im).expect("two parts");
        }
        DType::Bool => return Scalar::Bool(rng.chance(97)),
        DType::F32 | DType::F64 => Scalar::F64(near(rng)),
        _ => Scalar::i64(rng.bits() as i64),
    };
    v.cast(dtype).expect("a dtype that the interpreter has")
}

/// In C and F order, and with steps of two elements backwards.
fn arguments(dtype: DType, shape: &[i64], zeros: bool) -> Vec<Value> {
    let mut rng = Rng::new(shape.iter().sum::<i64>() as u64);
    let (item, count) = (dtype.size() as i64, shape.iter().product::<i64>());
    let mut array = |layout: Layout, gap: i64| {
        let memory = Memory::borrowed(vec![0; (count * item * gap.abs()) as usize]);
        for i in 0..count * gap.abs() {
            let zero = || Scalar::F64(-0.0).cast(dtype).expect("a dtype that the interpreter has");
            memory.store(i * item, if zeros { zero() } else { number(dtype, &mut rng) }).expect("inside the block");
        }
        let offset = if gap < 0 { (count * -gap - 1).max(0) * item } else { 0 };
        let strides = strides_of(shape, dtype, layout).iter().map(|s| s * gap).collect();
        Value::Array(Array { memory, offset, dtype, shape: shape.into(), strides })
    };
    vec![array(Layout::C, 1), array(Layout::F, 1), array(Layout::C, -2)]
}

fn call(args: Vec<Value>, want: Vec<Value>) -> Call {
    Call { func: "f".into(), launch: None, args, expect: Expect::Values(want, Match::Exact), after: vec![] }
}

fn lowered(m: &Module) -> Module {
    let mut cx = PassCx::new(Place::Host);
    cx.verify = true;
    let passes = until(m.stage, Stage::Loops.name()).expect("a stage");
    pipeline::run(m, passes, &cx, &mut |_, _| {}).unwrap_or_else(|d| panic!("{}", d.message))
}

/// Runs a program of arrays of these sizes at stages `fused` and `loops`, and natively.
fn agree(text: &str, dtype: DType, shape: &[i64], zeros: bool) {
    let m = read_module(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    verify(&m).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let loops = lowered(&m);
    let backends = backends::all();
    let [interpreter, native] = &backends[..] else { panic!("two backends") };
    let want = interpreter.run(&m, &call(arguments(dtype, shape, zeros), vec![])).expect("it runs");
    along(dtype, shape, zeros, &want[0]);
    let check = |backend: &dyn Backend| {
        let found = backend.run(&loops, &call(arguments(dtype, shape, zeros), want.clone()));
        let found = found.unwrap_or_else(|e| panic!("{} {shape:?}: {e:?}", backend.name()));
        assert_eq!(want.len(), found.len());
        for (k, (w, f)) in want.iter().zip(&found).enumerate() {
            compare(w, f, Match::Exact)
                .unwrap_or_else(|e| panic!("result {k} of {} {shape:?} by {}: {e}", dtype.name(), backend.name()));
        }
    };
    check(&**native);
    if shape.iter().product::<i64>() < 100 {
        check(&**interpreter);
    }
}

/// The first result is that of axis 0 of the C-ordered array, by the book.
fn along(dtype: DType, shape: &[i64], zeros: bool, found: &Value) {
    let (DType::F64, Value::Array(a), Value::Array(found)) = (dtype, &arguments(dtype, shape, zeros)[0], found) else {
        return;
    };
    let number = |s: Scalar| match s {
        Scalar::F64(v) => v,
        other => panic!("{other:?} is no f64"),
    };
    for (i, j) in (0..shape[1]).flat_map(|i| (0..shape[2]).map(move |j| (i, j))) {
        let identity = 0.0;
        let mut get = |k: usize| Ok::<f64, ()>(number(a.load(&[k as i64, i, j]).expect("inside")));
        let want = reduce::along(shape[0] as usize, 8, &identity, &mut get, &mut |x, y| Ok(x + y)).expect("a sum");
        assert_eq!(want.to_bits(), number(found.load(&[i, j]).expect("inside")).to_bits(), "{shape:?} at {i}, {j}");
    }
}

/// With the folded sizes known and not.
fn all(dtype: DType) {
    for n in SIZES {
        let shapes = [(1, [2, n, 3]), (0, [n, 2, 3]), (2, [2, 3, n]), (1, [40, n, 1]), (1, [1, n, 40])];
        for (at, shape) in shapes.into_iter().take(if [3, 33, 65].contains(&n) { 5 } else { 1 }) {
            // No size is 1 where types do not say so.
            let mut axes = ["?0", "?1", "?2"].map(str::to_owned);
            for k in 0..3 {
                if shape[k] == 1 {
                    axes[k] = "1".to_owned();
                }
            }
            agree(&program(dtype, n, [&axes[0], &axes[1], &axes[2]]), dtype, &shape, n % 8 == 3);
            if [2, 3, 16, 17, 33].contains(&n) && at == 1 {
                axes[at] = n.to_string();
                agree(&program(dtype, n, [&axes[0], &axes[1], &axes[2]]), dtype, &shape, false);
            }
        }
    }
}

#[test]
fn folds_of_floats() {
    all(DType::F64);
    all(DType::F32);
}

#[test]
fn folds_of_integers() {
    all(DType::I64);
}

#[test]
fn folds_of_bools() {
    all(DType::Bool);
}

#[test]
fn folds_of_complex_numbers() {
    all(DType::C128);
}
