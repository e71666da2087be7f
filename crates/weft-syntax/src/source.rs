//! The given text and its parse: byte offsets, lines, and texts that are indented as a whole.

use ruff_python_ast::{ModModule, StmtFunctionDef};
use ruff_python_parser::{Parsed, parse_module};
use ruff_text_size::{Ranged, TextRange, TextSize};
use weft_diag::{Diagnostic, ErrorKind, Span};

/// Put before a text that is indented as a whole, to make it a legal module. Offsets in the parse
/// are then larger by its length, and nothing inside the text moves: string literals keep their
/// lines, and carets are exact.
const WRAPPER: &str = "if 1:\n";

/// A text, and how offsets in what was parsed map back to it.
pub(crate) struct Source<'a> {
    file: u32,
    /// The text as given.
    pub(crate) text: &'a str,
    /// Length of what was put before it.
    shift: u32,
}

impl<'a> Source<'a> {
    /// Parses a whole file, or lines of one (of any indentation).
    pub(crate) fn parse(file: u32, text: &'a str) -> Result<(Source<'a>, Parsed<ModModule>), Diagnostic> {
        if u32::try_from(text.len() + WRAPPER.len()).is_err() {
            let span = Span::new(file, 0, 0);
            return Err(Diagnostic::new(ErrorKind::Source, span, "the source text is larger than 4 GiB"));
        }
        let shift = if is_indented(text) { WRAPPER.len() as u32 } else { 0 };
        let source = Source { file, text, shift };
        let parsed = if shift == 0 { parse_module(text) } else { parse_module(&format!("{WRAPPER}{text}")) };
        match parsed {
            Ok(parsed) => Ok((source, parsed)),
            Err(error) => {
                let message = format!("invalid syntax: {}", error.error);
                Err(Diagnostic::new(ErrorKind::Source, source.span(error.location), message))
            }
        }
    }

    /// The span of a parsed range.
    pub(crate) fn span(&self, range: TextRange) -> Span {
        Span::new(self.file, self.offset(range.start()), self.offset(range.end()))
    }

    /// Where a parsed offset stands in the text.
    pub(crate) fn offset(&self, at: TextSize) -> u32 {
        at.to_u32().saturating_sub(self.shift).min(self.text.len() as u32)
    }

    /// The text of a parsed range.
    pub(crate) fn slice(&self, range: TextRange) -> &'a str {
        &self.text[self.offset(range.start()) as usize..self.offset(range.end()) as usize]
    }

    /// The 1-based line of an offset into the text.
    pub(crate) fn line(&self, offset: u32) -> u32 {
        1 + self.line_ends().take_while(|&end| end <= offset as usize).count() as u32
    }

    /// The offset of a 1-based line and 0-based byte column, if the text has that line.
    pub(crate) fn offset_at(&self, line: u32, col: u32) -> Option<u32> {
        let start = match line.checked_sub(2) {
            None => 0,
            Some(before) => self.line_ends().nth(before as usize)? as u32,
        };
        Some(start.saturating_add(col))
    }

    /// The offset just after each line break; `\n`, `\r\n` and `\r` all end a line, as in Python.
    fn line_ends(&self) -> impl Iterator<Item = usize> {
        let bytes = self.text.as_bytes();
        (0..bytes.len())
            .filter(move |&i| bytes[i] == b'\n' || (bytes[i] == b'\r' && bytes.get(i + 1) != Some(&b'\n')))
            .map(|i| i + 1)
    }

    /// The span from the `def` or `async` keyword, past the decorators, to the end of the body.
    pub(crate) fn def_span(&self, def: &StmtFunctionDef) -> Span {
        let from = def.decorator_list.last().map_or(def.range.start(), |d| d.end());
        let mut start = self.offset(from) as usize;
        let bytes = self.text.as_bytes();
        // Between the last decorator and the keyword stand line breaks, blanks and comments only.
        while let Some(byte) = bytes.get(start) {
            match byte {
                b'#' => start += self.text[start..].find(['\n', '\r']).unwrap_or(self.text.len() - start),
                b' ' | b'\t' | b'\n' | b'\r' | b'\x0c' | b'\\' => start += 1,
                _ => break,
            }
        }
        Span::new(self.file, start as u32, self.offset(def.range.end()))
    }
}

/// Whether the first line with code on it is indented.
fn is_indented(text: &str) -> bool {
    let code = |line: &&str| !matches!(line.trim_start().chars().next(), None | Some('#'));
    text.split(['\n', '\r']).find(code).is_some_and(|line| line.starts_with([' ', '\t']))
}
