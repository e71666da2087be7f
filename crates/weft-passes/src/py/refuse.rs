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

/// Refuses `x.shape = v` of what another name holds.
pub(super) fn shared_target(span: Span) -> Diagnostic {
    unsupported(span, "assigning to the shape of an array that has another name", "write `x = x.reshape(sizes)`")
}

/// Refuses to rebind a name outside the compiled function.
pub(super) fn outer_target(span: Span, name: &str) -> Diagnostic {
    Diagnostic::unsupported(span, format!("assigning to `{name}`, a name outside the function, is not supported"))
        .help("return the new value and assign it where the function is called")
}

/// Refuses a node the tree has no form for.
pub(super) fn refused(span: Span, what: &str) -> Diagnostic {
    let help = match what {
        "a set comprehension" | "a dict comprehension" => "write a list comprehension, or fill an array in a loop",
        "an `async` comprehension" => "write it without `async`",
        "a dict display" | "a set display" => "use a tuple or a list, or one name for each value",
        "an `import` inside a function" => "import at the top of the file",
        "an `except*` clause" => "write `except`",
        "a format that is computed" => "write the format as text: `{x:.3f}`",
        "a t-string" => "write an f-string",
        "a bytes literal" => "use an array of np.uint8, passed as an argument",
        "a mapping pattern" => "write `if` and `elif`",
        "a class pattern with attributes" => "write `case Class():` and test the attributes inside",
        "a nested function with decorators" => "define it outside the function, or without the decorators",
        "a nested `async def`" => "write a plain `def`",
        "a class definition" => "define the class outside the function",
        "a `with` statement" => "put it around the call of the compiled function",
        "an `async with` statement" | "an `async for` loop" | "an `await` expression" => {
            "await outside, and pass what comes of it as an argument"
        }
        "a `type` statement" => "define the type outside the function",
        _ => "move it out of the compiled function",
    };
    unsupported(span, what, help)
}
