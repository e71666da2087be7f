//! Spans are exact in the given text, however it is indented, and errors point where they should.

use weft_diag::{Diagnostic, ErrorKind, Span};
use weft_syntax::{Expr, ExprKind, Function, Pick, Stmt, StmtKind, parse_function};

fn slice(text: &str, span: Span) -> &str {
    assert_eq!(span.file, 7);
    &text[span.start as usize..span.end as usize]
}

fn f(text: &str) -> Function {
    parse_function(7, text, Pick::Named("f")).unwrap()
}

fn error(text: &str) -> Diagnostic {
    parse_function(7, text, Pick::Named("f")).unwrap_err()
}

fn returned(stmt: &Stmt) -> &Expr {
    let StmtKind::Return(Some(value)) = &stmt.kind else { panic!("{stmt:?}") };
    value
}

#[test]
fn every_node_spans_its_own_text() {
    let text = "x = 1\n@njit\ndef f(a, b: int = 3):\n    c = (a) + 'é'\n    return g(a, k=b)[1:c].real\n";
    let f = f(text);
    assert_eq!(slice(text, f.span), &text[text.find("def").unwrap()..text.len() - 1]);
    assert_eq!(slice(text, f.name_span), "f");
    assert_eq!(slice(text, f.params[1].span), "b: int = 3");
    assert_eq!(slice(text, f.body[0].span), "c = (a) + 'é'");
    let value = returned(&f.body[1]);
    assert_eq!(slice(text, value.span), "g(a, k=b)[1:c].real");
    let ExprKind::Attribute { value, attr_span, .. } = &value.kind else { panic!() };
    assert_eq!(slice(text, *attr_span), "real");
    let ExprKind::Subscript { value, indices, .. } = &value.kind else { panic!() };
    assert_eq!(slice(text, indices[0].span), "1:c");
    let ExprKind::Call { func, keywords, .. } = &value.kind else { panic!() };
    assert_eq!((slice(text, func.span), slice(text, keywords[0].span)), ("g", "k=b"));
}

#[test]
fn an_indented_text_keeps_its_offsets() {
    for indent in ["    ", "\t", " "] {
        let text = format!(
            "{indent}# first\n\n{indent}@njit\n{indent}def f(self, x):\n{indent}  s = '''a\nb'''\n# low\n{indent}  return x + yy\n"
        );
        let f = f(&text);
        assert!(slice(&text, f.span).starts_with("def f(") && slice(&text, f.span).ends_with("yy"));
        assert_eq!(slice(&text, f.body[0].span), "s = '''a\nb'''");
        let ExprKind::BinOp { left, right, .. } = &returned(&f.body[1]).kind else { panic!() };
        assert_eq!((slice(&text, left.span), slice(&text, right.span)), ("x", "yy"));
        for line in [3, 4] {
            assert!(parse_function(7, &text, Pick::DefAtLine { line, name: "f" }).is_ok(), "line {line}");
        }
    }
}

#[test]
fn a_lambda_in_an_indented_line() {
    let text = "    g = njit(lambda x: x - 1)\n";
    let col = text.find("x - 1").unwrap() as u32;
    let f = parse_function(7, text, Pick::LambdaAt { line: 1, col }).unwrap();
    assert_eq!(slice(text, f.span), "lambda x: x - 1");
    assert_eq!(slice(text, f.name_span), "lambda");
    assert_eq!(slice(text, returned(&f.body[0]).span), "x - 1");
}

#[test]
fn carriage_returns_and_missing_last_newline() {
    let text = "x = 1\r\n\r\n@njit\r\ndef f(a):\r\n    return a";
    let f = parse_function(7, text, Pick::DefAtLine { line: 4, name: "f" }).unwrap();
    assert_eq!(slice(text, f.span), "def f(a):\r\n    return a");
    let f = parse_function(7, "x = 1\rdef f(): pass", Pick::DefAtLine { line: 2, name: "f" });
    assert!(f.is_ok());
}

#[test]
fn an_elif_spans_to_the_end_of_its_chain() {
    let text = "def f(a):\n    if a: pass\n    elif b: pass\n    else: c\n";
    let f = f(text);
    let StmtKind::If { orelse, .. } = &f.body[0].kind else { panic!() };
    assert_eq!(slice(text, orelse[0].span), "elif b: pass\n    else: c");
}

#[test]
fn unsupported_nodes_stand_where_they_are() {
    let text = "def f(a):\n    return 1 + sum({i for i in a})\n";
    let f = f(text);
    let ExprKind::BinOp { right, .. } = &returned(&f.body[0]).kind else { panic!() };
    let ExprKind::Call { args, .. } = &right.kind else { panic!() };
    assert!(matches!(args[0].kind, ExprKind::Unsupported { what: "a set comprehension" }));
    assert_eq!(slice(text, args[0].span), "{i for i in a}");
}

#[test]
fn syntax_errors_carry_the_parsers_message_and_place() {
    for text in ["def f(x):\n    return x +* 1\n", "    def f(x):\n        return x +* 1\n"] {
        let d = error(text);
        assert_eq!(d.kind, ErrorKind::Source);
        assert!(d.message.starts_with("invalid syntax: "), "{}", d.message);
        assert_eq!(slice(text, d.primary.span), "* 1", "{}", d.message);
    }
    let d = error("def f(");
    assert!(d.primary.span.end as usize <= "def f(".len());
}

#[test]
fn generators_and_coroutines_are_refused() {
    let text = "def f():\n    if x:\n        try:\n            y = yield z\n        finally: pass\n";
    let d = error(text);
    assert_eq!((d.kind, slice(text, d.primary.span)), (ErrorKind::Unsupported, "yield z"));
    assert!(d.help.is_some());
    let text = "def f():\n    def g():\n        yield from y\n    return g\n";
    assert_eq!(slice(text, error(text).primary.span), "yield from y");
    let text = "async def f(): pass\n";
    assert_eq!((error(text).kind, slice(text, error(text).primary.span)), (ErrorKind::Unsupported, "f"));
    // Another function's `yield` is none of our business.
    f("def g():\n    yield y\ndef f(): pass\n");
}
