//! What the ops do not cover: one sentence, and what to write instead.

use weft_diag::{Diagnostic, Span};

/// Refuses `what` (a noun phrase).
pub(super) fn unsupported(span: Span, what: &str, help: &str) -> Diagnostic {
    Diagnostic::unsupported(span, format!("{what} is not supported")).help(help)
}

/// Refuses `x.a = v`.
pub(super) fn attribute_target(span: Span) -> Diagnostic {
    unsupported(span, "assigning to an attribute", "return the new value instead")
}

/// Refuses a node the tree has no form for.
pub(super) fn refused(span: Span, what: &str) -> Diagnostic {
    let help = match what {
        w if w.contains("comprehension") || w.contains("generator") => "write the loop out, filling an array",
        w if w.contains("yield") => "fill an array and return it",
        w if w.contains("import") => "import at the top of the file",
        w if w.contains("match") => "write `if` and `elif`",
        w if w.contains("try") => "test for the error before it happens",
        w if w.contains("-string") => "use a plain string",
        w if w.contains("dict") || w.contains("set") => "use a tuple, or one name for each value",
        w if w.contains("nested") || w.contains("class") => "define it outside the function",
        _ => "move it out of the compiled function",
    };
    unsupported(span, what, help)
}
