//! One [`Diagnostic`] type for the whole product.
//!
//! Every pass that refuses a program builds a `Diagnostic`: what is wrong, where (spans into the
//! user's own source), why, and what to write instead. It is rendered once, at the edge, as the
//! message of a Python exception. This crate knows nothing of the IR or of Python objects.

#![deny(missing_docs)]

mod render;

pub use render::render;

use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Byte range in one source file. `file` indexes a [`Sources`] table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Span {
    /// Index of the file in its [`Sources`].
    pub file: u32,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// A span for things that no source text stands behind (recorded tensors, hand-built IR).
    pub const NONE: Span = Span { file: u32::MAX, start: 0, end: 0 };

    /// A span in `file`.
    pub fn new(file: u32, start: u32, end: u32) -> Span {
        Span { file, start, end }
    }

    /// Whether a source text stands behind this span.
    pub fn is_known(self) -> bool {
        self.file != u32::MAX
    }
}

/// The text a span points into: a whole file, or the lines of one function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// Path or pseudo-name (`<stdin>`), shown to the user.
    pub name: String,
    /// The text spans index.
    pub text: String,
    /// Line number, in the named file, of the first line of `text` (1 for a whole file).
    pub first_line: u32,
}

impl SourceFile {
    /// Line (1-based, in the named file) and column (0-based, in characters) of a byte offset.
    pub fn line_col(&self, offset: u32) -> (u32, u32) {
        let offset = (offset as usize).min(self.text.len());
        let before = &self.text.as_bytes()[..offset];
        let line = before.iter().filter(|&&b| b == b'\n').count() as u32;
        let start = before.iter().rposition(|&b| b == b'\n').map_or(0, |p| p + 1);
        let col = String::from_utf8_lossy(&before[start..]).chars().count() as u32;
        (self.first_line + line, col)
    }

    /// The text of a line by its number in the named file.
    pub fn line(&self, number: u32) -> &str {
        let index = number.saturating_sub(self.first_line) as usize;
        self.text.lines().nth(index).unwrap_or("")
    }
}

/// The source files of one compilation, indexed by [`Span::file`].
#[derive(Clone, Debug, Default)]
pub struct Sources {
    files: Vec<Arc<SourceFile>>,
}

impl Sources {
    /// Adds a file and returns its index.
    pub fn add(&mut self, file: SourceFile) -> u32 {
        self.files.push(Arc::new(file));
        (self.files.len() - 1) as u32
    }

    /// The file a span points into, if there is one.
    pub fn get(&self, span: Span) -> Option<&SourceFile> {
        self.files.get(span.file as usize).map(Arc::as_ref)
    }

    /// File name and line of a span, for traceback entries.
    pub fn location(&self, span: Span) -> Option<(String, u32)> {
        let file = self.get(span)?;
        Some((file.name.clone(), file.line_col(span.start).0))
    }
}

/// Which Python exception class a diagnostic becomes (SPEC, Names: errors).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// `weft.TypingError`, also a `TypeError`.
    Typing,
    /// `weft.TypingError` that also is an `AttributeError`.
    Attribute,
    /// `weft.TypingError` that also is a `NameError`.
    Name,
    /// `weft.TypingError` that also is a `ValueError` (shapes known to disagree).
    Value,
    /// `weft.TypingError` that also is an `OverflowError`.
    Overflow,
    /// `weft.TypingError` that also is a `ZeroDivisionError`.
    ZeroDivision,
    /// `weft.TypingError` that also is an `IndexError`.
    Index,
    /// `weft.TypingError` that also is a `numpy.exceptions.AxisError`.
    Axis,
    /// `weft.TypingError` that also is an `UnboundLocalError`.
    Unbound,
    /// `weft.UnsupportedError`: legal Python or NumPy that Weft does not compile.
    Unsupported,
    /// `weft.CompileError`: no source, or source that does not parse.
    Source,
    /// `weft.ExecutionPlacementError`, also a `TypeError`.
    Placement,
    /// `weft.WeftInternalError`: our own bug.
    Internal,
}

/// A span with what is to be said of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// Where.
    pub span: Span,
    /// What stands there ("this is float32[:]"). May be empty.
    pub text: String,
}

/// A message for the user. Built by a pass, rendered by [`render`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The exception class.
    pub kind: ErrorKind,
    /// One sentence: what is wrong.
    pub message: String,
    /// The place with the caret.
    pub primary: Label,
    /// Other places that matter, each shown with its own line.
    pub others: Vec<Label>,
    /// Facts that explain ("the types are …").
    pub notes: Vec<String>,
    /// What to write instead.
    pub help: Option<String>,
}

impl Diagnostic {
    /// A diagnostic of `kind` at `span`.
    pub fn new(kind: ErrorKind, span: Span, message: impl Into<String>) -> Diagnostic {
        let primary = Label { span, text: String::new() };
        Diagnostic { kind, message: message.into(), primary, others: vec![], notes: vec![], help: None }
    }

    /// A [`ErrorKind::Typing`] diagnostic.
    pub fn typing(span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(ErrorKind::Typing, span, message)
    }

    /// A [`ErrorKind::Unsupported`] diagnostic.
    pub fn unsupported(span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(ErrorKind::Unsupported, span, message)
    }

    /// A [`ErrorKind::Internal`] diagnostic: a broken invariant of ours.
    pub fn internal(span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(ErrorKind::Internal, span, message)
    }

    /// Says what stands at the primary span.
    pub fn label(mut self, text: impl Into<String>) -> Diagnostic {
        self.primary.text = text.into();
        self
    }

    /// Adds another place.
    pub fn other(mut self, span: Span, text: impl Into<String>) -> Diagnostic {
        self.others.push(Label { span, text: text.into() });
        self
    }

    /// Adds a fact.
    pub fn note(mut self, text: impl Into<String>) -> Diagnostic {
        self.notes.push(text.into());
        self
    }

    /// Says what to write instead.
    pub fn help(mut self, text: impl Into<String>) -> Diagnostic {
        self.help = Some(text.into());
        self
    }
}

/// The name of `candidates` nearest to `wanted`, if `wanted` looks like a slip of it: one edit, or two in a long name, with
/// the same first letter, or the first two changed over. What merely looks alike would mislead (`rint` for `int`).
pub fn nearest<'a>(wanted: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (wanted.chars().count() / 4).clamp(1, 2);
    let starts = |c: &str| {
        let (mut a, mut b) = (wanted.chars(), c.chars());
        let (a, b) = ((a.next(), a.next()), (b.next(), b.next()));
        a.0 == b.0 || (a.0 == b.1 && a.1 == b.0)
    };
    let near = candidates.into_iter().filter(|c| starts(c)).map(|c| (distance(wanted, c), c));
    near.filter(|&(d, _)| d <= limit).min().map(|(_, c)| c)
}

/// How many letters are put in, left out, changed, or changed over with their neighbour.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let changed = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = changed.min(row[j - 1] + 1).min(rows[i - 1][j] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_suggests_only_what_is_near() {
        assert_eq!(nearest("sinn", ["sin", "cos"]), Some("sin"));
        assert_eq!(nearest("shpae", ["shape", "size"]), Some("shape"));
        assert_eq!(nearest("quantile", ["sin", "cos"]), None);
        assert_eq!(nearest("apend", ["append", "pop"]), Some("append"));
        assert_eq!(nearest("sni", ["sin", "tan"]), Some("sin"));
        assert_eq!(nearest("ocs", ["sin", "cos"]), Some("cos"));
        assert_eq!(nearest("nanmaen", ["nanmean", "nanmedian"]), Some("nanmean"));
        assert_eq!(nearest("int", ["rint", "dint"]), None);
        assert_eq!(nearest("float", ["floor", "float16"]), None);
        assert_eq!(nearest("", ["a"]), None);
    }

    #[test]
    fn line_and_column_count_from_the_first_line() {
        let f = SourceFile { name: "f.py".into(), text: "a = 1\nñb = c\n".into(), first_line: 10 };
        assert_eq!(f.line_col(0), (10, 0));
        let c = f.text.find('c').unwrap() as u32;
        assert_eq!(f.line_col(c), (11, 5));
        assert_eq!(f.line(11), "ñb = c");
    }
}
