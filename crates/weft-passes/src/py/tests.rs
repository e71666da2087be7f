//! Each test shows a Python function and the ops it becomes.

mod flow;

use super::lower;
use weft_diag::{Diagnostic, ErrorKind};
use weft_ir::print::print_func;
use weft_ir::verify::verify;
use weft_ir::{Module, Stage};
use weft_syntax::{Pick, parse_function};

fn try_lower(text: &str) -> Result<String, Diagnostic> {
    let function = parse_function(0, text, Pick::Named("f")).unwrap();
    let module = Module::new(Stage::Py, lower(&function)?);
    let mut out = String::new();
    print_func(module.entry(), false, &mut out);
    verify(&module).unwrap_or_else(|e| panic!("{e:?}\n{out}"));
    Ok(out)
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
            return(%m.7)
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
    let func = lower(&parse_function(0, text, Pick::Named("f")).unwrap()).unwrap();
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
    print_func(&lower(&function).unwrap(), false, &mut out);
    assert_eq!(out, "func @lambda(%x.0) {\n  return(%x.0)\n}\n");
}

#[test]
fn what_the_ops_do_not_cover_is_refused_where_it_stands() {
    let refused = [
        ("while x: pass", "while x: pass", "a `while` loop is not supported"),
        ("for i in x:\n        break", "break", "`break` is not supported"),
        ("for i in x:\n        continue", "continue", "`continue` is not supported"),
        ("assert x", "assert x", "`assert` is not supported"),
        ("raise E", "raise E", "`raise` is not supported"),
        ("with x: pass", "with x: pass", "a `with` statement is not supported"),
        ("x.a = 1", "x.a", "assigning to an attribute is not supported"),
        ("x.a += 1", "x.a", "assigning to an attribute is not supported"),
        ("a, *b = x", "*b", "a starred target is not supported"),
        ("def g(): pass", "g", "a nested function is not supported"),
        ("return x[1:]", "1:", "a slice is not supported"),
        ("return x[...]", "...", "`...` is not supported"),
        ("return [1]", "[1]", "a list display is not supported"),
        ("return g(*x)", "*x", "`*` here is not supported"),
        ("return g(**x)", "**x", "`**` in a call is not supported"),
        ("return lambda: 1", "lambda: 1", "a lambda is not supported"),
        ("return [i for i in x]", "[i for i in x]", "a list comprehension is not supported"),
        ("return 2j", "2j", "a complex literal is not supported"),
    ];
    for (body, at, message) in refused {
        let text = format!("def f(x):\n    {body}\n");
        let d = try_lower(&text).unwrap_err();
        let span = d.primary.span;
        assert_eq!((&text[span.start as usize..span.end as usize], d.message.as_str()), (at, message));
        assert_eq!(d.kind, ErrorKind::Unsupported);
        assert!(d.help.is_some(), "{message}");
    }
    let text = "def f(x, *ys): pass\n";
    assert_eq!(try_lower(text).unwrap_err().message, "a `*ys` parameter is not supported");
}
