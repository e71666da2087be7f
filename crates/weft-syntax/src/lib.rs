//! Python source → resolved syntax tree.
//!
//! In comes the text of a file, or of the lines of one function (of any indentation); out comes a
//! [`Function`]: a small owned tree in which every node has the [`Span`](weft_diag::Span) of its
//! text and every name is known to be local or free. This crate knows Python's grammar and scope
//! rules and nothing else: what a free name stands for is for the caller to find out, and what
//! cannot be compiled is kept as `Unsupported` nodes, refused later and only where it is live.
//!
//! ```
//! use weft_syntax::{Pick, parse_function, tree_text};
//!
//! let text = "@njit\ndef f(x):\n    '''Doubles.'''\n    return 2 * g(x)\n";
//! let f = parse_function(0, text, Pick::DefAtLine { line: 1, name: "f" }).unwrap();
//! assert_eq!(f.globals, ["g"]);
//! assert_eq!(tree_text(&f), "(def f (params (param x)) (body (return (* 2 (call (free g) (local x))))))");
//! ```
//!
//! In the order data flows: `source` (text and offsets), `find` (which function), `scope` (which
//! names are local), `convert`, `expr`, `pattern` and `strings` (the parser's tree → ours), `text` (canonical text).
//! `library` reads a module of `python/weft/lib` whole. No other crate sees the parser's types.

#![deny(missing_docs)]
// A `Diagnostic` is made once per refused function; boxing it would buy nothing.
#![allow(clippy::result_large_err)]

mod convert;
mod expr;
mod find;
mod library;
mod pattern;
mod scope;
mod source;
mod strings;
mod text;
mod tree;

pub use find::Pick;
pub use library::{Decorator, Library, dotted, parse_library};
pub use text::tree_text;
pub use tree::{
    BinOp, Binding, BoolOp, Case, CmpOp, Comprehension, ComprehensionLoop, Constant, Expr, ExprKind, Function, Handler,
    Keyword, Param, ParamKind, Pattern, PatternKind, Stmt, StmtKind, UnaryOp,
};

use weft_diag::Diagnostic;

/// Parses `text`, a whole file or the lines of one function, and returns the function picked.
///
/// `file` is what spans will carry. Spans are byte offsets into `text` as given, indented or not.
///
/// # Errors
/// Text that does not parse, a function that is not there, an `async def`, and a `yield` inside the function.
pub fn parse_function(file: u32, text: &str, pick: Pick) -> Result<Function, Diagnostic> {
    let (source, parsed) = source::Source::parse(file, text)?;
    let mut converter = convert::Converter::new(&source);
    match find::find(&source, parsed.suite(), pick)? {
        find::Found::Def(def) => converter.def(def),
        find::Found::Lambda(lambda) => converter.lambda(lambda),
    }
}
