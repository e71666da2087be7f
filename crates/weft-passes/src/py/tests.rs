//! Each test shows a Python function and the ops it becomes.

mod closures;
mod errors;
mod flow;
mod matching;

use super::{ParamKind, PyFunction, lower};
use weft_diag::{Diagnostic, ErrorKind};
use weft_ir::print::print_func;
use weft_ir::verify::verify;
use weft_ir::{Module, Stage};
use weft_syntax::{Pick, parse_function};

fn try_lower(text: &str) -> Result<String, Diagnostic> {
    let function = parse_function(0, text, Pick::Named("f")).unwrap();
    let mut out = String::new();
    print_all(&lower(&function)?, &mut out);
    Ok(out)
}

/// Prints and verifies a function and those nested in it.
fn print_all(function: &PyFunction, out: &mut String) {
    print_func(&function.func, false, out);
    let module = Module::new(Stage::Py, function.func.clone());
    verify(&module).unwrap_or_else(|e| panic!("{e:?}\n{out}"));
    function.nested.iter().for_each(|nested| print_all(nested, out));
}

/// Compares with the lines of `expected`, whose own indentation does not matter.
#[track_caller]
fn check(text: &str, expected: &str) {
    let got = try_lower(text).unwrap();
    let lines = |s: &str| s.lines().map(str::trim).filter(|l| !l.is_empty()).collect::<Vec<_>>().join("\n");
    assert_eq!(lines(&got), lines(expected), "\n{got}");
}

#[test]
fn one_op_per_python_operation_and_one_path_per_global() {
    check(
        r"
        def f(a, x, y): return a*np.sin(x) + y.T.real
",
        r#"
        func @f(%a.0, %x.1, %y.2) {
          %3 = py.global() <{path="np.sin"}>
          %4 = py.call(%3, %x.1) <{keywords=[]}>
          %5 = py.binop(%a.0, %4) <{op="*", inplace=false}>
          %6 = py.attr(%y.2) <{name="T"}>
          %7 = py.attr(%6) <{name="real"}>
          %8 = py.binop(%5, %7) <{op="+", inplace=false}>
          return(%8)
        }
        "#,
    );
}

#[test]
fn and_or_not_give_the_deciding_operand() {
    check(
        r"
        def f(a, b, c): return a and b or not c
",
        r#"
        func @f(%a.0, %b.1, %c.2) {
          %3 = py.truth(%a.0)
          %4 = scf.if(%3) {
            yield(%b.1)
          } {
            yield(%a.0)
          }
          %5 = py.truth(%4)
          %6 = scf.if(%5) {
            yield(%4)
          } {
            %7 = py.truth(%c.2)
            %8 = py.unary(%7) <{op="not"}>
            yield(%8)
          }
          return(%6)
        }
        "#,
    );
}

#[test]
fn a_condition_joins_truths_only() {
    check(
        r"
        def f(a, b, c):
            if a and (b or not c): pass
",
        r#"
        func @f(%a.0, %b.1, %c.2) {
          %3 = py.truth(%a.0)
          %4 = scf.if(%3) {
            %5 = py.truth(%b.1)
            %6 = scf.if(%5) {
              yield(%5)
            } {
              %7 = py.truth(%c.2)
              %8 = py.unary(%7) <{op="not"}>
              yield(%8)
            }
            yield(%6)
          } {
            yield(%3)
          }
          scf.if(%4) {
            yield()
          } {
            yield()
          }
          %9 = py.const() <{value=none}>
          return(%9)
        }
        "#,
    );
}

#[test]
fn a_chained_comparison_evaluates_its_middle_once() {
    check(
        r"
        def f(a, b, c): return a < b() <= c
",
        r#"
        func @f(%a.0, %b.1, %c.2) {
          %3 = py.call(%b.1) <{keywords=[]}>
          %4 = py.compare(%a.0, %3) <{op="<"}>
          %5 = py.truth(%4)
          %6 = scf.if(%5) {
            %7 = py.compare(%3, %c.2) <{op="<="}>
            yield(%7)
          } {
            yield(%4)
          }
          return(%6)
        }
        "#,
    );
}

#[test]
fn a_chained_comparison_as_a_condition() {
    check(
        r"
        def f(a, b, c):
            if a < b() <= c: return 1
",
        r#"
        func @f(%a.0, %b.1, %c.2) {
          %3 = py.call(%b.1) <{keywords=[]}>
          %4 = py.compare(%a.0, %3) <{op="<"}>
          %5 = py.truth(%4)
          %6 = scf.if(%5) {
            %7 = py.compare(%3, %c.2) <{op="<="}>
            %8 = py.truth(%7)
            yield(%8)
          } {
            yield(%5)
          }
          scf.if(%6) {
            %9 = py.const() <{value=1}>
            return(%9)
          } {
            yield()
          }
          %10 = py.const() <{value=none}>
          return(%10)
        }
        "#,
    );
}

#[test]
fn walrus_binds_where_it_is_evaluated() {
    check(
        r"
        def f(a):
            if (n := len(a)) > 1 and (m := n) > 2: return m
            return n
",
        r#"
        func @f(%a.0) {
          %1 = py.global() <{path="len"}>
          %2 = py.call(%1, %a.0) <{keywords=[]}>
          %3 = py.const() <{value=1}>
          %4 = py.compare(%2, %3) <{op=">"}>
          %5 = py.truth(%4)
          %6, %m.7 = scf.if(%5) {
            %8 = py.const() <{value=2}>
            %9 = py.compare(%2, %8) <{op=">"}>
            %10 = py.truth(%9)
            yield(%10, %2)
          } {
            %11 = py.unbound() <{name="m"}>
            yield(%5, %11)
          }
          scf.if(%6) {
            %12 = py.read(%m.7)
            return(%12)
          } {
            yield()
          }
          return(%2)
        }
        "#,
    );
}

#[test]
fn augmented_subscripts_evaluate_base_and_indices_once() {
    check(
        r"
        def f(a, i, j):
            a[g(i), j] += 2
            a[i,] = a[()]
",
        r#"
        func @f(%a.0, %i.1, %j.2) {
          %3 = py.global() <{path="g"}>
          %4 = py.call(%3, %i.1) <{keywords=[]}>
          %5 = py.index(%a.0, %4, %j.2)
          %6 = py.const() <{value=2}>
          %7 = py.binop(%5, %6) <{op="+", inplace=true}>
          py.setindex(%7, %a.0, %4, %j.2)
          %8 = py.tuple()
          %9 = py.index(%a.0, %8)
          %10 = py.tuple(%i.1)
          py.setindex(%9, %a.0, %10)
          %11 = py.const() <{value=none}>
          return(%11)
        }
        "#,
    );
}

#[test]
fn unpacking_and_swapping() {
    check(
        r"
        def f(a, b):
            a, b = b, a
            (c, [d, e]) = h = g(a, k=b)
            return c
",
        r#"
        func @f(%a.0, %b.1) {
          %2 = py.global() <{path="g"}>
          %3 = py.call(%2, %b.1, %a.0) <{keywords=["k"]}>
          %4, %5 = py.unpack(%3)
          %6, %7 = py.unpack(%5)
          return(%4)
        }
        "#,
    );
}

#[test]
fn every_operator_has_its_op() {
    for op in ["+", "-", "*", "/", "//", "%", "**", "@", "&", "|", "^", "<<", ">>"] {
        let text = try_lower(&format!("def f(a, b):\n    a {op}= b\n    return a {op} b\n")).unwrap();
        for inplace in [true, false] {
            assert!(text.contains(&format!("<{{op=\"{op}\", inplace={inplace}}}>")), "{text}");
        }
    }
    for op in ["<", "<=", ">", ">=", "==", "!=", "is", "is not", "in", "not in"] {
        let text = try_lower(&format!("def f(a, b): return a {op} b\n")).unwrap();
        assert!(text.contains(&format!("py.compare(%a.0, %b.1) <{{op=\"{op}\"}}>")), "{text}");
    }
    for op in ["-", "+", "~", "not "] {
        let text = try_lower(&format!("def f(a): return {op}a\n")).unwrap();
        assert!(text.contains(&format!("<{{op=\"{}\"}}>", op.trim())), "{text}");
    }
}

#[test]
fn every_op_has_the_span_of_its_expression() {
    let text = "def f(a, b):\n    a[0] += g(b) * 2\n    return b if a else -b\n";
    let func = lower(&parse_function(0, text, Pick::Named("f")).unwrap()).unwrap().func;
    let mut spans = vec![];
    func.walk(&mut |op| {
        let data = func.op(op);
        spans.push(format!("{} {}", data.op.name(), &text[data.span.start as usize..data.span.end as usize]));
    });
    let expected = [
        "py.const 0",
        "py.index a[0]",
        "py.global g",
        "py.call g(b)",
        "py.const 2",
        "py.binop g(b) * 2",
        "py.binop a[0] += g(b) * 2",
        "py.setindex a[0] += g(b) * 2",
        "py.truth a",
        "scf.if b if a else -b",
        "yield b if a else -b",
        "py.unary -b",
        "yield b if a else -b",
        "return return b if a else -b",
    ];
    assert_eq!(spans, expected);
}

#[test]
fn a_lambda_is_a_function_of_one_return() {
    let function = parse_function(0, "g = lambda x: x\n", Pick::LambdaAt { line: 1, col: 4 }).unwrap();
    let mut out = String::new();
    print_func(&lower(&function).unwrap().func, false, &mut out);
    assert_eq!(out, "func @lambda(%x.0) {\n  return(%x.0)\n}\n");
}

#[test]
fn slices_stars_formats_and_del() {
    check(
        r"
        def f(a, i, *xs, k=1):
            a[i:, ..., ::2], *b = g(1, *xs, k=k), *[*xs, 2j]
            del i, b[0]
            return f'{a!r:>4}{b}', (*xs, 1)
",
        r#"
        func @f(%a.0, %i.1, %xs.2, %k.3) {
          %4 = py.global() <{path="g"}>
          %5 = py.const() <{value=1}>
          %6 = py.tuple(%5)
          %7 = py.concat(%6, %xs.2)
          %8 = py.call_star(%4, %7, %k.3) <{keywords=["k"]}>
          %9 = py.tuple(%8)
          %10 = py.list()
          py.for(%xs.2) { ^(%11):
            py.append(%10, %11)
            yield()
          }
          %12 = py.const() <{value=complex 0.0 2.0}>
          py.append(%10, %12)
          %13 = py.concat(%9, %10)
          %14, %15 = py.unpack_star(%13) <{star=1}>
          %16 = py.const() <{value=none}>
          %17 = py.const() <{value=none}>
          %18 = py.slice(%i.1, %16, %17)
          %19 = py.const() <{value=ellipsis}>
          %20 = py.const() <{value=none}>
          %21 = py.const() <{value=none}>
          %22 = py.const() <{value=2}>
          %23 = py.slice(%20, %21, %22)
          py.setindex(%14, %a.0, %18, %19, %23)
          py.delete(%i.1)
          %24 = py.const() <{value=0}>
          py.delindex(%15, %24)
          %25 = py.format(%a.0, %15) <{parts=["", "", ""], specs=["!r:>4", ""]}>
          %26 = py.const() <{value=1}>
          %27 = py.tuple(%26)
          %28 = py.concat(%xs.2, %27)
          %29 = py.tuple(%25, %28)
          return(%29)
        }
        "#,
    );
}

#[test]
fn every_kind_of_parameter_is_one_value_and_captures_come_first() {
    let text = "def f(a, /, b=1, *c, d=2):\n    return lambda e, k=a: (a, b, c, d, e)\n";
    let f = lower(&parse_function(0, text, Pick::Named("f")).unwrap()).unwrap();
    let kinds: Vec<_> = f.params.iter().map(|p| (p.name.as_str(), p.kind, p.has_default)).collect();
    use ParamKind::*;
    let expected = [("a", PositionalOnly, false), ("b", Ordinary, true), ("c", Star, false), ("d", KeywordOnly, true)];
    assert_eq!(kinds, expected);
    assert_eq!(f.func.params().len(), 4);
    assert_eq!((f.nested.len(), f.nested[0].captures.join(" ")), (1, "a b c d".into()));
    assert_eq!(f.nested[0].func.params().len(), 6);
    assert!(f.nested[0].params[1].has_default);
}

#[test]
fn what_the_ops_do_not_cover_is_refused_where_it_stands() {
    let refused = [
        ("with x: pass", "with x: pass", "a `with` statement is not supported"),
        ("class A: pass", "class A: pass", "a class definition is not supported"),
        ("import os", "import os", "an `import` inside a function is not supported"),
        ("x[0].a = 1", "x[0].a", "assigning to an attribute is not supported"),
        ("x.a += 1", "x.a", "assigning to an attribute is not supported"),
        ("global y\n    y = 1", "y", "assigning to `y`, a name outside the function, is not supported"),
        ("global y\n    y += 1", "y", "assigning to `y`, a name outside the function, is not supported"),
        ("global y\n    def y(): pass", "y", "assigning to `y`, a name outside the function, is not supported"),
        ("del x.a", "x.a", "deleting an attribute is not supported"),
        ("[] = x", "[]", "an empty target is not supported"),
        ("x.a: int", "x.a: int", "a declaration without a value is not supported"),
        ("@g\n    def h(): pass", "@g\n    def h(): pass", "a nested function with decorators is not supported"),
        ("def g(**k): pass", "**k", "a `**k` parameter is not supported"),
        ("try: pass\n    except* E: pass", "try: pass\n    except* E: pass", "an `except*` clause is not supported"),
        ("match x:\n        case {}: pass", "{}", "a mapping pattern is not supported"),
        ("match x:\n        case A(b=1): pass", "A(b=1)", "a class pattern with attributes is not supported"),
        ("return g(**x)", "**x", "`**` in a call is not supported"),
        ("return {1: 2}", "{1: 2}", "a dict display is not supported"),
        ("return {1}", "{1}", "a set display is not supported"),
        ("return {i for i in x}", "{i for i in x}", "a set comprehension is not supported"),
        ("return {i: i for i in x}", "{i: i for i in x}", "a dict comprehension is not supported"),
        ("return f'{x:{x}}'", "f'{x:{x}}'", "a format that is computed is not supported"),
        ("return b'1'", "b'1'", "a bytes literal is not supported"),
    ];
    for (body, at, message) in refused {
        let text = format!("def f(x):\n    {body}\n");
        let d = try_lower(&text).unwrap_err();
        let span = d.primary.span;
        assert_eq!((&text[span.start as usize..span.end as usize], d.message.as_str()), (at, message));
        assert_eq!(d.kind, ErrorKind::Unsupported);
        assert!(d.help.is_some(), "{message}");
    }
    let text = "def f(x, **ys): pass\n";
    assert_eq!(try_lower(text).unwrap_err().message, "a `**ys` parameter is not supported");
    let never = "def f(x):\n    return x\n    with x: pass\n";
    assert!(try_lower(never).is_ok());
}
