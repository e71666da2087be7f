//! Typing, on source text: what comes out of `infer`, as IR text.

use super::*;
use weft_ir::DType;
use weft_ir::print::print_module;
use weft_syntax::{Pick, parse_function};

/// Knows `np`, the builtins and `weft`, and nothing else.
struct Names {
    assumes: bool,
}

impl Resolver for Names {
    fn resolve(&mut self, path: &str) -> Resolved {
        let canonical = match path.split_once('.') {
            Some(("np", rest)) => format!("numpy.{rest}"),
            Some(_) => path.to_string(),
            None if path.starts_with("get_") => format!("weft.{path}"),
            None => format!("builtins.{path}"),
        };
        match is_known_function(&canonical) {
            true => Resolved::Function(canonical),
            false if path == "K" => Resolved::Const(Const::Int(7)),
            false => Resolved::Missing { nearest: None },
        }
    }

    fn may_assume(&self) -> bool {
        self.assumes
    }
}

fn array(dims: &[Dim], dtype: DType) -> Type {
    Type::tensor(TensorType::fresh(dims.to_vec(), dtype, weft_ir::Place::Host))
}

fn infer(text: &str, params: &[Type], door: Door) -> Result<Output, Diagnostic> {
    infer_by(&mut Names { assumes: false }, text, params, door)
}

fn infer_by(names: &mut Names, text: &str, params: &[Type], door: Door) -> Result<Output, Diagnostic> {
    let f = parse_function(0, text, Pick::DefAtLine { line: 1, name: "f" })?;
    let py = crate::py::lower(&f)?.func;
    let out = run(&py, params, door, names)?;
    weft_ir::verify::verify(&out.module).unwrap_or_else(|e| panic!("{e}\n{}", print_module(&out.module, false)));
    Ok(out)
}

fn results(text: &str, params: &[Type]) -> String {
    let out = infer(text, params, Door::Njit).unwrap_or_else(|d| panic!("{d:?}"));
    let types: Vec<String> = out.module.entry().results.iter().map(Type::to_string).collect();
    types.join(", ")
}

fn refused(text: &str, params: &[Type], door: Door) -> Diagnostic {
    match infer(text, params, door) {
        Ok(out) => panic!("was accepted:\n{}", print_module(&out.module, false)),
        Err(d) => d,
    }
}

const N: Dim = Dim::Sym(0);
const M: Dim = Dim::Sym(1);

#[test]
fn one_expression_is_typed_broadcast_and_inlined() {
    let text = "def f(a, x, y):\n    return a*np.sin(x) + y\n";
    let params = [Type::PYFLOAT, array(&[N], DType::F32), array(&[M], DType::F32)];
    let out = infer(text, &params, Door::Njit).unwrap();
    let expected = r#"weft 1 stage ntensor
site 0 = ValueError "operands could not be broadcast together with shapes {shape 1} {shape 1} "
func @f(%a.0: pyfloat, %x.1: tensor<?0xf32, C>, %y.2: tensor<?1xf32, C>) -> tensor<?0xf32, C> {
  %3 = nt.elementwise(%x.1) { ^(%4: f32):
    %5 = math.sin(%4) : f32
    yield(%5)
  } : tensor<?0xf32, C>
  %6 = arith.cast(%a.0) : f32
  %7 = nt.elementwise(%3, %6) { ^(%8: f32, %9: f32):
    %10 = arith.mul(%9, %8) : f32
    yield(%10)
  } : tensor<?0xf32, C>
  %11 = nt.refine(%y.2, %7, %y.2) <{site=0}> : tensor<?0xf32, C>
  %12 = nt.elementwise(%7, %11) { ^(%13: f32, %14: f32):
    %15 = arith.add(%13, %14) : f32
    yield(%15)
  } : tensor<?0xf32, C>
  return(%12)
}
"#;
    // The printer numbers results before regions; compare modulo numbering.
    let normal = |s: &str| s.split_whitespace().filter(|w| !w.starts_with('%')).collect::<Vec<_>>().join(" ");
    let text = print_module(&out.module, false);
    assert_eq!(normal(&text), normal(expected), "{text}");
}

// spec: N3
#[test]
fn weak_scalars_take_the_array_dtype_and_strong_ones_promote() {
    let binop = "def f(x, y):\n    return x + y\n";
    let x32 = array(&[N], DType::F32);
    assert_eq!(results(binop, &[x32.clone(), Type::PYFLOAT]), "tensor<?0xf32, C>");
    assert_eq!(results(binop, &[x32.clone(), Type::PYINT]), "tensor<?0xf32, C>");
    assert_eq!(results(binop, &[x32.clone(), Type::F64]), "tensor<?0xf64, C>");
    assert_eq!(results(binop, &[array(&[N], DType::I32), Type::PYFLOAT]), "tensor<?0xf64, C>");
    assert_eq!(results(binop, &[array(&[N], DType::Bool), Type::PYINT]), "tensor<?0xi64, C>");
    assert_eq!(results(binop, &[Type::PYINT, Type::PYBOOL]), "pyint");
    assert_eq!(results(binop, &[Type::PYINT, Type::PYFLOAT]), "pyfloat");
    assert_eq!(results(binop, &[Type::Num(DType::F32), Type::PYFLOAT]), "f32");
    assert_eq!(results("def f(x):\n    return np.sin(x)\n", &[Type::PYINT]), "f64");
    assert_eq!(results("def f(x):\n    return x / 2\n", &[array(&[N], DType::I32)]), "tensor<?0xf64, C>");
}

#[test]
fn zero_d_arrays_become_scalars_except_from_where() {
    let x = array(&[], DType::F64);
    assert_eq!(results("def f(x):\n    return x + 1\n", std::slice::from_ref(&x)), "f64");
    assert_eq!(results("def f(x):\n    return np.where(x > 0, x, 1)\n", &[x]), "tensor<f64, C>");
    assert_eq!(results("def f(x):\n    return np.where(True, 1, 2)\n", &[Type::PYINT]), "tensor<i64, C>");
}

#[test]
fn python_ints_are_checked_unless_their_range_is_known() {
    let out = infer("def f(a, b):\n    return a * b\n", &[Type::PYINT, Type::PYINT], Door::Njit).unwrap();
    assert!(print_module(&out.module, false).contains("arith.checked"));
    let text = "def f(x):\n    i = get_global_id(0)\n    x[i * 2 + 1] = 0.0\n";
    let out = infer(text, &[array(&[N], DType::F32)], Door::Kernel { dims: 1 }).unwrap();
    assert!(!print_module(&out.module, false).contains("arith.checked"));
}

#[test]
fn kernels_have_ifs_loops_and_early_returns() {
    let text = "def f(x, y):
    i = get_global_id(0)
    if i >= x.shape[0]:
        return
    s = 0
    for k in range(3):
        t = x[i] * k
        s = s + t
    y[i] = s
";
    let types = [array(&[N], DType::F32), array(&[M], DType::F64)];
    let out = infer(text, &types, Door::Kernel { dims: 1 }).unwrap();
    let text = print_module(&out.module, false);
    // `s` starts as a Python int and is f32 from the first iteration on.
    assert!(text.contains("scf.for") && text.contains(": f32"), "{text}");
}

#[test]
fn refusals_name_the_place_and_the_types() {
    let x = array(&[N], DType::F64);
    let d = refused("def f(x):\n    return x & x\n", std::slice::from_ref(&x), Door::Njit);
    assert_eq!(d.kind, weft_diag::ErrorKind::Typing);
    assert_eq!(d.message, "unsupported operand types for &: float64[:] and float64[:]");
    let d = refused("def f(x):\n    return x @ 2\n", std::slice::from_ref(&x), Door::Njit);
    assert_eq!(d.message, "unsupported operand types for @: float64[:] and int");
    let d = refused("def f(x):\n    return np.sine(x)\n", std::slice::from_ref(&x), Door::Njit);
    assert_eq!(d.kind, weft_diag::ErrorKind::Attribute);
    let d = refused(
        "def f(x):\n    if np.zeros(3):\n        y = 1\n    else:\n        y = 2\n    return y\n",
        &[x],
        Door::Njit,
    );
    assert!(d.message.starts_with("The truth value"));
    let d = refused("def f(x):\n    return x + 3000000000\n", &[array(&[N], DType::I32)], Door::Njit);
    assert_eq!(d.kind, weft_diag::ErrorKind::Overflow);
    assert_eq!(d.message, "Python integer 3000000000 out of bounds for int32");
}

/// What is assumed of the arguments, as text: sizes by parameter and axis, ints by parameter.
fn assumed(text: &str, params: &[Type]) -> (Vec<String>, String) {
    let out = infer_by(&mut Names { assumes: true }, text, params, Door::Njit).unwrap_or_else(|d| panic!("{d:?}"));
    let term = |(known, times): &(Known, i64)| match known.axis {
        Some(axis) => format!("{times:+}*size({}, {axis})", known.param),
        None => format!("{times:+}*arg({})", known.param),
    };
    let sum = |a: &Assumption| format!("{} {:+}", a.terms.iter().map(term).collect::<Vec<_>>().join(" "), a.plus);
    (out.assumed.iter().map(sum).collect(), print_module(&out.module, false))
}

// spec: N6
#[test]
fn slices_inside_their_axis_are_sums_of_the_arguments() {
    let params = [array(&[N], DType::F64), array(&[M], DType::F64), Type::PYINT];
    let text = "def f(x, y, n):\n    return x[1:n + 3] + y[2:n + 4] + x[:n + 2] + np.zeros(n + 2)\n";
    let (sums, module) = assumed(text, &params);
    // What follows from another is not said twice.
    assert_eq!(sums, ["+1*arg(2) +2", "+1*size(0, 0) -1*arg(2) -3", "+1*size(1, 0) -1*arg(2) -4"], "{module}");
    assert_eq!(module.matches("shape.bind").count(), 1, "{module}");
    assert!(!module.contains("nt.refine") && !module.contains("nt.expand"), "{module}");

    // `-k` counts from the end.
    let (sums, module) = assumed("def f(x, y, k):\n    return x[k:] - x[:-k]\n", &params);
    assert_eq!(sums, ["+1*size(0, 0) -1*arg(2) +0", "+1*arg(2) -1"], "{module}");
    // So many from either end.
    let (sums, module) = assumed("def f(x, y, k):\n    return x[1:4] - y[-3:]\n", &params);
    assert_eq!(sums, ["+1*size(0, 0) -4", "+1*size(1, 0) -3"], "{module}");
    assert!(module.contains("-> tensor<3xf64, C>"), "{module}");
    // The size of an argument is its symbol, also by way of a slice.
    let (sums, module) = assumed("def f(x, y, k):\n    n = len(y)\n    return x[1:n + 2][:n]\n", &params);
    assert_eq!(sums, ["+1*size(0, 0) -1*size(1, 0) -2"], "{module}");
    assert!(module.contains("-> tensor<?1xf64, C>"), "{module}");
}

#[test]
fn nothing_is_assumed_of_other_slices() {
    let params = [array(&[N], DType::F64), array(&[M], DType::F64), Type::PYINT];
    let bodies = [
        "return x[1:] + x[:-1], x[:0], x[2:len(x) - 1], x[-2:3]",
        "return x[::2], x[n::2], x[:n:-1]",
        "return x[:9223372036854775807], x[n * n:], x[n // 2:]",
        "s = 0.0\n    for i in range(n):\n        s += x[i:i + 2].sum()\n    return s",
        "return x[5:2], x[n:n - 1]",
    ];
    for body in bodies {
        let (sums, module) = assumed(&format!("def f(x, y, n):\n    {body}\n"), &params);
        assert!(sums.is_empty(), "{body}: {sums:?}\n{module}");
    }
    let one = [array(&[Dim::Const(1)], DType::F64), Type::PYINT];
    assert!(assumed("def f(x, n):\n    return x[:n]\n", &one).0.is_empty());
    let out = infer("def f(x, y, n):\n    return x[:n]\n", &params, Door::Njit).unwrap();
    assert!(out.assumed.is_empty());
}
