//! Which function is found, whose its names are, and what its tree says.

use weft_diag::ErrorKind;
use weft_syntax::{Binding, ExprKind, Function, ParamKind, Pick, StmtKind, parse_function, tree_text};

fn named(text: &str, name: &str) -> Function {
    parse_function(0, text, Pick::Named(name)).unwrap()
}

/// The canonical text of the body of `def f(): …` with these lines.
fn body(lines: &str) -> String {
    let text = format!("def f():\n{}", lines.lines().map(|l| format!("    {l}\n")).collect::<String>());
    let text = tree_text(&named(&text, "f"));
    text.strip_prefix("(def f (params) (body ").and_then(|t| t.strip_suffix("))")).unwrap().to_string()
}

fn value(expr: &str) -> String {
    let text = body(&format!("return {expr}"));
    text.strip_prefix("(return ").and_then(|t| t.strip_suffix(")")).unwrap().to_string()
}

#[test]
fn a_def_is_found_by_its_line_or_that_of_a_decorator() {
    let text = "def f(): return 1\n\n@a\n# between\n@b(2)\n\ndef f(): return 2\n";
    for (line, expected) in [(1, "1"), (3, "2"), (5, "2"), (7, "2")] {
        let f = parse_function(0, text, Pick::DefAtLine { line, name: "f" }).unwrap();
        assert_eq!(tree_text(&f), format!("(def f (params) (body (return {expected})))"), "line {line}");
    }
}

#[test]
fn methods_and_nested_functions_are_found_by_line() {
    let text =
        "class A:\n    def f(self):\n        def f(): return 1\n        return f\nif x:\n    def f(): return 2\n";
    let at = |line| tree_text(&parse_function(0, text, Pick::DefAtLine { line, name: "f" }).unwrap());
    assert_eq!(at(3), "(def f (params) (body (return 1)))");
    assert_eq!(at(6), "(def f (params) (body (return 2)))");
    assert!(at(2).starts_with("(def f (params (param self))"));
}

#[test]
fn by_name_the_last_of_the_outermost_wins() {
    let text = "def f(): return 1\ndef f(): return 2\ndef g():\n    def f(): return 3\n    def h(): return 4\n";
    assert_eq!(tree_text(&named(text, "f")), "(def f (params) (body (return 2)))");
    assert_eq!(tree_text(&named(text, "h")), "(def h (params) (body (return 4)))");
}

#[test]
fn lambdas_on_one_line_are_told_apart() {
    let text = "fs = njit(lambda x: x + 1), njit(lambda x: x * 2)\n";
    let at = |col| tree_text(&parse_function(0, text, Pick::LambdaAt { line: 1, col: col as u32 }).unwrap());
    let (first, second) = ("(lambda (params (param x)) (body (return (+ (local x) 1))))", "(* (local x) 2)");
    assert_eq!(at(text.find("x + 1").unwrap()), first);
    assert_eq!(at(text.find("lambda").unwrap()), first);
    assert!(at(text.find("x * 2").unwrap()).contains(second));
    assert!(at(text.find("2)").unwrap()).contains(second));
}

#[test]
fn a_position_that_begins_a_body_means_the_lambda_around_it() {
    let text = "é = 1; f = lambda x: lambda y: x + y\n";
    let at = |what| text.find(what).unwrap() as u32;
    let outer = parse_function(0, text, Pick::LambdaAt { line: 1, col: at("lambda y") }).unwrap();
    assert_eq!(outer.params[0].name, "x");
    let inner = parse_function(0, text, Pick::LambdaAt { line: 1, col: at("x + y") }).unwrap();
    assert_eq!(inner.params[0].name, "y");
    // Picked alone, what it captures comes from outside the tree.
    assert_eq!(inner.globals, ["x"]);
    assert_eq!(inner.captures.len(), 0);
}

#[test]
fn what_is_not_there_is_said() {
    let text = "def f(): pass\n";
    let error = |pick| parse_function(0, text, pick).unwrap_err();
    let d = error(Pick::DefAtLine { line: 2, name: "f" });
    assert_eq!((d.kind, &*d.message), (ErrorKind::Source, "there is no `def f` at line 2 of the source"));
    assert_eq!(error(Pick::Named("g")).message, "there is no `def g` in the source");
    let d = error(Pick::LambdaAt { line: 1, col: 3 });
    assert_eq!(d.message, "there is no lambda at line 1, column 4 of the source");
    assert_eq!(error(Pick::LambdaAt { line: 9, col: 3 }).kind, ErrorKind::Source);
}

#[test]
fn assigned_names_are_local_everywhere_and_others_free_in_order_of_use() {
    let text = "
def f(a, *b, c=K, **d):
    g(h)
    e = a
    i, (j, *k) = g, e
    i += 1
    l: T = 2
    m: T
    for n in o: pass
    while (p := q()): pass
    x.r = y[s] = 1
";
    let f = named(text, "f");
    assert_eq!(f.locals.join(" "), "a b c d e i j k l m n p");
    assert_eq!(f.globals.join(" "), "g h o q x y s");
    let StmtKind::Expr(first) = &f.body[0].kind else { panic!() };
    let ExprKind::Call { args, .. } = &first.kind else { panic!() };
    assert_eq!(args[0].kind, ExprKind::Name { ident: "h".into(), binding: Binding::Free });
}

#[test]
fn constructs_that_are_not_compiled_still_bind_their_names() {
    let text = "
def f():
    import a.b, c as d
    from e import g as h
    with i() as j: pass
    try: pass
    except k as l: m = 1
    match n:
        case [o, *p] | {'x': o, **p}: pass
        case C(q) as r: pass
    class s: t = 1
    def u(v=(w := 1)): x = 1
    [y for y in z if (aa := y)]
    del bb
";
    let f = named(text, "f");
    // The variable of the comprehension is not the function's `y`.
    assert_eq!(f.locals.join(" "), "a d h j l m o p r q s w u aa bb y.0");
}

#[test]
fn comprehensions_have_names_of_their_own() {
    let f = named("def f(x):\n    return [x for x in x for y in x if (z := y)], [x for x in z]\n", "f");
    assert_eq!(f.locals.join(" "), "x z x.0 y.1 x.2");
    assert_eq!(
        tree_text(&f),
        "(def f (params (param x)) (body (return (tuple (comprehension (local x.0) (for (local x.0) (local x) (if)) \
         (for (local y.1) (local x.0) (if (:= (local z) (local y.1))))) (comprehension (local x.2) \
         (for (local x.2) (local z) (if)))))))"
    );
    let f = named("def f(xs):\n    return (lambda: x for x in xs)\n", "f");
    let StmtKind::Return(Some(value)) = &f.body[0].kind else { panic!() };
    let ExprKind::Comprehension(generator) = &value.kind else { panic!() };
    let ExprKind::Lambda(lambda) = &generator.element.kind else { panic!() };
    assert!(generator.is_generator);
    assert_eq!(lambda.captures, ["x.0"]);
}

#[test]
fn global_and_nonlocal_say_whose_a_name_is() {
    let text = "
def f(a, b):
    global c
    c = a
    def g():
        nonlocal a
        global b
        a = b
        return lambda: (a, b, c)
    return g
";
    let f = named(text, "f");
    assert_eq!((f.locals.join(" "), f.globals.join(" ")), ("a b g".into(), "c b".into()));
    let StmtKind::Function(g) = &f.body[2].kind else { panic!() };
    assert_eq!((g.locals.len(), g.captures.join(" ")), (0, "a".into()));
    assert_eq!(
        tree_text(g),
        "(def g (params) (body (pass) (pass) (= (targets (enclosing a)) (free b)) (return (lambda (params) (body \
         (return (tuple (enclosing a) (free b) (free c))))))))"
    );
}

#[test]
fn a_function_with_a_yield_is_a_generator_even_if_it_is_never_reached() {
    for body in ["yield 1", "return 1\n    yield", "x = yield from g()", "return lambda: (yield)"] {
        let d = parse_function(0, &format!("def f():\n    {body}\n"), Pick::Named("f")).unwrap_err();
        assert_eq!(d.message, "a `yield` expression is not supported", "{body}");
        assert!(d.help.is_some());
    }
}

#[test]
fn nested_functions_see_the_names_around_them() {
    let text = "
def f(a):
    b = a
    def g(c, d=a):
        return lambda e: a + c + e + z
    return g
";
    let f = named(text, "f");
    assert_eq!((f.locals.join(" "), f.globals.join(" ")), ("a b g".into(), "z".into()));
    let StmtKind::Function(g) = &f.body[1].kind else { panic!() };
    assert_eq!((g.locals.join(" "), g.captures.join(" "), g.globals.join(" ")), ("c d".into(), "a".into(), "z".into()));
    assert_eq!(
        tree_text(g),
        "(def g (params (param c) (param d (local a))) (body (return (lambda (params (param e)) (body \
         (return (+ (+ (+ (enclosing a) (enclosing c)) (local e)) (free z))))))))"
    );
}

#[test]
fn defaults_belong_to_the_scope_outside() {
    let f = named("def f(a, b=a): return b\n", "f");
    assert_eq!(f.globals.len(), 0);
    let default = f.params[1].default.as_ref().unwrap();
    assert_eq!(default.kind, ExprKind::Name { ident: "a".into(), binding: Binding::Free });
}

#[test]
fn every_kind_of_parameter() {
    let f = named("def f(a, /, b, *c, d, **e): pass\n", "f");
    let kinds: Vec<_> = f.params.iter().map(|p| (p.name.as_str(), p.kind)).collect();
    use ParamKind::*;
    let expected = [("a", PositionalOnly), ("b", Ordinary), ("c", Star), ("d", KeywordOnly), ("e", DoubleStar)];
    assert_eq!(kinds, expected);
}

#[test]
fn statements() {
    assert_eq!(body("a = b = 1"), "(= (targets (local a) (local b)) 1)");
    assert_eq!(body("a, [b, *c] = d"), "(= (targets (tuple (local a) (list (local b) (star (local c))))) (free d))");
    assert_eq!(body("x[i] //= 2"), "(//= (index (free x) (free i)) 2)");
    assert_eq!(body("a: int = 1"), "(= (targets (local a)) 1)");
    assert_eq!(body("a: int"), "(declare (local a))");
    assert_eq!(body("return"), "(return)");
    assert_eq!(
        body("if a: pass\nelif b: break\nelse: continue"),
        "(if (free a) (then (pass)) (else (if (free b) (then (break)) (else (continue)))))"
    );
    assert_eq!(
        body("for i in r: f(i)\nelse: g()"),
        "(for (local i) (free r) (body (do (call (free f) (local i)))) (else (do (call (free g)))))"
    );
    assert_eq!(body("while True: pass"), "(while True (body (pass)) (else))");
    assert_eq!(body("assert a, 'm'"), "(assert (free a) \"m\")");
    assert_eq!(body("raise E(1) from c"), "(raise (call (free E) 1) (free c))");
    assert_eq!(body("del a, b[0]"), "(del (local a) (index (free b) 0))");
    assert_eq!(
        body("try: pass\nexcept A as e: return e\nexcept: pass\nelse: b()\nfinally: c()"),
        "(try (body (pass)) (except (free A) (local e) (body (return (local e)))) (except _ _ (body (pass))) \
         (else (do (call (free b)))) (finally (do (call (free c)))))"
    );
    assert_eq!(
        body(
            "match x:\n    case 1 | None: pass\n    case [A.b, *c] as d if c: pass\n    case int(e): pass\n    case {}: pass"
        ),
        "(match (free x) (case (or (value 1) None) _ (body (pass))) \
         (case (as (sequence (value (attribute (free A) b)) (star (local c))) (local d)) (local c) (body (pass))) \
         (case (class (free int) (as (local e))) _ (body (pass))) \
         (case (unsupported \"a mapping pattern\") _ (body (pass))))"
    );
    assert_eq!(body("with a: pass"), "(unsupported \"a `with` statement\")");
}

#[test]
fn expressions() {
    assert_eq!(value("a @ b - -c ** ~d"), "(- (@ (free a) (free b)) (unary - (** (free c) (unary ~ (free d)))))");
    assert_eq!(value("a and b and not c or d"), "(or (and (free a) (free b) (unary not (free c))) (free d))");
    assert_eq!(value("a < b <= c is not None"), "(compare (free a) < (free b) <= (free c) is not None)");
    assert_eq!(
        value("f(a, *b, k=1, **d)"),
        "(call (free f) (free a) (star (free b)) (keyword k 1) (double-star (free d)))"
    );
    assert_eq!(value("np.linalg.norm"), "(attribute (attribute (free np) linalg) norm)");
    assert_eq!(value("a if b else c"), "(if (free b) (free a) (free c))");
    assert_eq!(value("(y := 1) + y"), "(+ (:= (local y) 1) (local y))");
    assert_eq!(value("(1,), [], ()"), "(tuple (tuple 1) (list) (tuple))");
    assert_eq!(value("{i for i in x}"), "(unsupported \"a set comprehension\")");
    assert_eq!(
        value("f'a{x!r:>4}' 'b' f'{y=}{{}}'"),
        "(format [\"a\", \"by=\", \"{}\"] (free x) \"!r:>4\" (free y) \"!r\")"
    );
    assert_eq!(value("f'{x:{y}}'"), "(unsupported \"a format that is computed\")");
}

#[test]
fn indices() {
    assert_eq!(value("a[i]"), "(index (free a) (free i))");
    assert_eq!(value("a[i,]"), "(index (free a) (tuple (free i)))");
    assert_eq!(value("a[()]"), "(index (free a) (tuple))");
    assert_eq!(value("a[(i, j)]"), value("a[i, j]"));
    assert_eq!(
        value("a[1:, ::-1, ..., None]"),
        "(index (free a) (tuple (slice 1 _ _) (slice _ _ (unary - 1)) ... None))"
    );
}

#[test]
fn constants() {
    assert_eq!(value("1_000, 0xFF, 1., 2j, 1e400"), "(tuple 1000 255 1.0 2.0j inf)");
    assert_eq!(value("'a' \"b\\n\", True, None"), "(tuple \"ab\\n\" True None)");
    let big = "0x_ffff_ffff_ffff_ffff_ffff_ffff_ffff_ffff_f";
    assert_eq!(value(big), "5444517870735015415413993718908291383295");
    assert_eq!(value("0b1").as_str(), "1");
    assert_eq!(value("340_282366920938463463374607431768211456"), "340282366920938463463374607431768211456");
}

#[test]
fn the_text_does_not_know_layout_comments_docstrings_or_annotations() {
    let plain = named("def f(x):\n    return x + 1\n", "f");
    let dressed = named(
        "# c\n@d\ndef f(x: 'int') -> int:\n    '''Doc.\n\n  more'''\n    # why\n    return (\n  (x) +\n 1)  # z\n",
        "f",
    );
    assert_eq!(tree_text(&plain), tree_text(&dressed));
    assert_ne!(tree_text(&plain), tree_text(&named("def f(x):\n    return x + 1.0\n", "f")));
    assert_ne!(tree_text(&plain), tree_text(&named("def f(x):\n    return y + 1\n", "f")));
}

#[test]
fn a_function_of_only_a_docstring_has_an_empty_body() {
    assert_eq!(tree_text(&named("def f(): 'doc'\n", "f")), "(def f (params) (body))");
}
