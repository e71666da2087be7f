//! Text of a diagnostic: one screen, the user's own line with a caret.

use crate::{Diagnostic, Label, Sources};
use std::fmt::Write;

/// Renders `d` as the message of a Python exception.
///
/// ```text
/// cannot add an array of 3 and a string
///   --> prog.py:7:12
///    |
///  7 |     return x + "a"
///    |            ^^^^^^^ float64[:] + str
///    = note: …
///    = help: …
/// ```
pub fn render(d: &Diagnostic, sources: &Sources) -> String {
    let mut out = d.message.clone();
    excerpt(&mut out, &d.primary, sources, "-->");
    for other in &d.others {
        excerpt(&mut out, other, sources, ":::");
    }
    for note in &d.notes {
        let _ = write!(out, "\n   = note: {note}");
    }
    if let Some(help) = &d.help {
        let _ = write!(out, "\n   = help: {help}");
    }
    out
}

fn excerpt(out: &mut String, label: &Label, sources: &Sources, arrow: &str) {
    let Some(file) = sources.get(label.span) else {
        if !label.text.is_empty() {
            let _ = write!(out, "\n   = note: {}", label.text);
        }
        return;
    };
    let (line, col) = file.line_col(label.span.start);
    let text = file.line(line);
    let (end_line, end_col) = file.line_col(label.span.end);
    let width = if end_line == line { end_col.saturating_sub(col) } else { text.chars().count() as u32 - col };
    let gutter = line.to_string().len().max(2);
    // Tabs keep their width under the caret.
    let pad: String = text.chars().take(col as usize).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
    let carets = "^".repeat(width.max(1) as usize);
    let _ = write!(out, "\n{:gutter$} {arrow} {}:{line}:{}", "", file.name, col + 1);
    let _ = write!(out, "\n{:gutter$} |", "");
    let _ = write!(out, "\n{line:gutter$} | {}", text.trim_end());
    let _ = write!(out, "\n{:gutter$} | {pad}{carets}", "");
    if !label.text.is_empty() {
        let _ = write!(out, " {}", label.text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ErrorKind, SourceFile, Span};

    #[test]
    fn shows_line_caret_note_and_help() {
        let mut sources = Sources::default();
        let text = "def f(x):\n    return x @ 3\n".to_string();
        let file = sources.add(SourceFile { name: "prog.py".into(), text: text.clone(), first_line: 6 });
        let at = text.find("x @").unwrap() as u32;
        let d = Diagnostic::new(ErrorKind::Unsupported, Span::new(file, at, at + 5), "`@` is not supported")
            .label("float64[:] @ int")
            .note("a note")
            .help("write np.dot");
        let expected = "`@` is not supported\n   --> prog.py:7:12\n   |\n 7 |     return x @ 3\n   |            ^^^^^ float64[:] @ int\n   = note: a note\n   = help: write np.dot";
        assert_eq!(render(&d, &sources), expected);
    }

    #[test]
    fn a_span_without_source_still_renders() {
        let d = Diagnostic::typing(Span::NONE, "bad").label("float64[:]");
        assert_eq!(render(&d, &Sources::default()), "bad\n   = note: float64[:]");
    }
}
