//! The text of a Python function, and what the front end makes of it.

use pyo3::prelude::*;
use weft_diag::{Diagnostic, SourceFile};
use weft_passes::py::PyFunction;
use weft_syntax::{Pick, parse_function};

use crate::errors;

/// The text of a function, from `weft._source.excerpt`.
pub(crate) struct Text {
    text: String,
    name: Option<String>,
    line: u32,
    col: u32,
}

impl Text {
    /// The text behind a plain function, and the file that messages show.
    pub(crate) fn of(function: &Bound<'_, PyAny>, source: &Bound<'_, PyAny>) -> PyResult<(Text, SourceFile)> {
        let py = function.py();
        let helper = py.import("weft._source")?.getattr("excerpt")?;
        let found = helper.call1((function, source)).inspect_err(|error| {
            // A refusal shows the user's call, not how it was found.
            if errors::is(py, error, "CompileError") {
                error.set_traceback(py, None);
            }
        })?;
        let (text, name, first_line, def, line, col): (String, String, u32, Option<String>, u32, u32) =
            found.extract()?;
        let file = SourceFile { name, text: text.clone(), first_line };
        Ok((Text { text, name: def, line, col }, file))
    }

    /// The function at stage `py`; its spans are in that file.
    pub(crate) fn parse(&self, file: u32) -> Result<PyFunction, Diagnostic> {
        weft_passes::py::lower(&parse_function(file, &self.text, self.pick())?)
    }

    fn pick(&self) -> Pick<'_> {
        match &self.name {
            None => Pick::LambdaAt { line: self.line, col: self.col },
            Some(name) if self.line == 0 => Pick::Named(name),
            Some(name) => Pick::DefAtLine { line: self.line, name },
        }
    }
}
