//! Modules of the library: functions with decorators, imports, constants.

use weft_syntax::{ExprKind, dotted, parse_library, tree_text};

const TEXT: &str = r#""""What this module is for."""
import numpy as np
import os.path
from weft.lib import prim, overload as over
from . import shapes
from ..a.b import c

_EPS = 1e-9

@over(np.cumsum, axis=None)
@prim.inline
def cumsum(a, axis=None):
    """Doc."""
    return prim.scan(a, axis, _EPS)

def helper(x): return np.sin(x)
"#;

#[test]
fn imports_constants_functions_and_decorators() {
    let library = parse_library(0, TEXT).unwrap();
    let imports: Vec<String> = library.imports.iter().map(|(name, path)| format!("{name}={path}")).collect();
    assert_eq!(imports.join(" "), "c=..a.b.c np=numpy os=os over=weft.lib.overload prim=weft.lib.prim shapes=.shapes");
    assert_eq!(library.constants[0].0, "_EPS");
    let (cumsum, decorators) = &library.functions[0];
    assert_eq!(
        tree_text(cumsum),
        "(def cumsum (params (param a) (param axis None)) (body (return (call (attribute (free prim) scan) \
         (local a) (local axis) (free _EPS)))))"
    );
    assert_eq!(cumsum.globals, ["prim", "_EPS"]);
    assert_eq!(decorators[0].path, "over");
    assert_eq!(dotted(&decorators[0].args[0]).as_deref(), Some("np.cumsum"));
    assert_eq!(decorators[0].keywords[0].name.as_deref(), Some("axis"));
    assert_eq!((decorators[1].path.as_str(), decorators[1].args.len()), ("prim.inline", 0));
    let span = decorators[0].span;
    assert_eq!(&TEXT[span.start as usize..span.end as usize], "over(np.cumsum, axis=None)");
    assert!(library.functions[1].1.is_empty());
}

#[test]
fn anything_else_is_refused_where_it_stands() {
    let refused = [
        ("import a\nfor i in x: pass\n", "for i in x: pass"),
        ("a, b = 1, 2\n", "a, b = 1, 2"),
        ("from a import *\n", "*"),
        ("@x[0]\ndef f(): pass\n", "x[0]"),
    ];
    for (text, at) in refused {
        let d = parse_library(0, text).unwrap_err();
        let span = d.primary.span;
        assert_eq!(&text[span.start as usize..span.end as usize], at);
        assert!(d.help.is_some(), "{}", d.message);
    }
}

#[test]
fn an_empty_module_is_a_library() {
    assert!(parse_library(0, "").unwrap().functions.is_empty());
}

#[test]
fn dotted_is_for_names_and_attributes_only() {
    let library = parse_library(0, "A = f().b\nB = a.b.c\n").unwrap();
    assert_eq!(dotted(&library.constants[0].1), None);
    assert_eq!(dotted(&library.constants[1].1).as_deref(), Some("a.b.c"));
    assert!(matches!(library.constants[1].1.kind, ExprKind::Attribute { .. }));
}
