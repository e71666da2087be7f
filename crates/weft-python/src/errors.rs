//! Refusals and failures as Python exceptions. A message is built once, here.

use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyString, PyTuple, PyType};
use weft_codegen::CodegenError;
use weft_diag::{Diagnostic, ErrorKind, Sources, Span, render};
use weft_hal::HalError;
use weft_ir::{Argument, DType, half};
use weft_runtime::{CallError, Raised, RuntimeError, pool};

use crate::numpy::make_scalar;

/// A class of `weft.errors`.
fn class<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyType>> {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module = MODULE.get_or_try_init(py, || py.import("weft.errors").map(Bound::unbind))?;
    Ok(module.bind(py).getattr(name)?.cast_into::<PyType>()?)
}

/// An exception of a class of `weft.errors`.
pub(crate) fn new(py: Python<'_>, name: &str, message: impl Into<String>) -> PyErr {
    match class(py, name) {
        Ok(class) => PyErr::from_type(class, (message.into(),)),
        Err(error) => error,
    }
}

/// Whether an exception is of a class of `weft.errors`.
pub(crate) fn is(py: Python<'_>, error: &PyErr, name: &str) -> bool {
    class(py, name).is_ok_and(|class| error.is_instance(py, &class))
}

/// A bug of ours.
pub(crate) fn internal(py: Python<'_>, what: &str) -> PyErr {
    let message = format!("{what}\nThis is a bug in Weft: please file it, with the output of f.inspect(\"py\")");
    new(py, "WeftInternalError", message)
}

/// A refusal of the compiler.
pub(crate) fn from_diagnostic(py: Python<'_>, diagnostic: &Diagnostic, sources: &Sources) -> PyErr {
    let text = render(diagnostic, sources);
    let class = match diagnostic.kind {
        ErrorKind::Typing => "TypingError",
        ErrorKind::Attribute => "TypingAttributeError",
        ErrorKind::Name => "TypingNameError",
        ErrorKind::Value => "TypingValueError",
        ErrorKind::Overflow => "TypingOverflowError",
        ErrorKind::ZeroDivision => "TypingZeroDivisionError",
        ErrorKind::Index => "TypingIndexError",
        ErrorKind::Axis => "TypingAxisError",
        ErrorKind::Unbound => "TypingUnboundLocalError",
        ErrorKind::Unsupported => "UnsupportedError",
        ErrorKind::Source => "CompileError",
        ErrorKind::Placement => "ExecutionPlacementError",
        ErrorKind::Internal => return internal(py, &text),
    };
    new(py, class, text)
}

/// A failure of a device.
pub(crate) fn from_hal(py: Python<'_>, error: &HalError) -> PyErr {
    let class = match error {
        HalError::OutOfMemory { .. } => "DeviceMemoryError",
        HalError::DeviceLost { .. } => "DeviceLostError",
        _ => "DeviceError",
    };
    new(py, class, error.to_string())
}

/// A failure of the code generator.
fn from_codegen(py: Python<'_>, error: &CodegenError, sources: &Sources) -> PyErr {
    match error {
        CodegenError::Unsupported { span, .. } => {
            from_diagnostic(py, &Diagnostic::unsupported(*span, error.to_string()), sources)
        }
        CodegenError::NoLibdevice { .. } => new(py, "DeviceError", error.to_string()),
        CodegenError::Memory(_) => PyMemoryError::new_err(error.to_string()),
        _ => internal(py, &error.to_string()),
    }
}

/// There is no host memory for so many bytes.
pub(crate) fn no_memory(py: Python<'_>, bytes: usize) -> PyErr {
    from_hal(py, &pool::host_exhausted("host", bytes))
}

/// A failure of the runtime.
pub(crate) fn from_runtime(py: Python<'_>, error: &RuntimeError, sources: &Sources) -> PyErr {
    match error {
        RuntimeError::Hal(error) => from_hal(py, error),
        RuntimeError::Codegen(error) => from_codegen(py, error, sources),
        RuntimeError::Invalid(text) => new(py, "DeviceError", text.clone()),
        RuntimeError::Interrupted(raised) | RuntimeError::Foreign(raised) => match raised.error.downcast_ref::<PyErr>()
        {
            Some(raised) => raised.clone_ref(py),
            None => internal(py, "an exception that is none of Python's"),
        },
        error => internal(py, &error.to_string()),
    }
}

/// Where compiled code comes from: what its exceptions show.
#[derive(Default)]
pub(crate) struct Origin {
    pub(crate) sources: Sources,
    /// Name of the function that each source is of.
    pub(crate) names: Vec<String>,
    /// Exception classes of the user's, by number.
    pub(crate) exceptions: Vec<Py<PyAny>>,
}

/// Why a call did not return.
pub(crate) fn from_call(py: Python<'_>, error: &CallError, made: &Origin) -> PyErr {
    match error {
        CallError::Raised(raised) => from_raised(py, raised, made),
        CallError::Runtime(error) => from_runtime(py, error, &made.sources),
    }
}

/// An exception that compiled code raised, with an entry for the user's expression in its traceback, and one for each call
/// that led there.
fn from_raised(py: Python<'_>, raised: &Raised, made: &Origin) -> PyErr {
    let built = py.import("weft._traceback").and_then(|helper| {
        let spans = raised.callers.iter().chain([&raised.span]);
        let entry = |&span: &Span| {
            let function = made.names.get(span.file as usize).or(made.names.first());
            Some((place(span, &made.sources)?, function.map_or("?", String::as_str)))
        };
        let entries: Vec<_> = spans.filter_map(entry).collect();
        let class = match raised.user.and_then(|k| made.exceptions.get(k as usize)) {
            Some(class) => class.bind(py).clone(),
            None => PyString::new(py, raised.class.name()).into_any(),
        };
        helper.getattr("exception")?.call1((class, arguments(py, &raised.arguments)?, entries))
    });
    match built {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}

/// The arguments of an exception.
fn arguments<'py>(py: Python<'py>, all: &[Argument]) -> PyResult<Bound<'py, PyTuple>> {
    let mut objects: Vec<Bound<'py, PyAny>> = vec![];
    for argument in all {
        objects.push(match argument {
            Argument::None => py.None().into_bound(py),
            Argument::Bool(v) => v.into_pyobject(py)?.to_owned().into_any(),
            Argument::Int(v) => v.into_pyobject(py)?.into_any(),
            Argument::Float(v) => v.into_pyobject(py)?.into_any(),
            Argument::Text(v) => PyString::new(py, v).into_any(),
            Argument::Tuple(items) => arguments(py, items)?.into_any(),
            Argument::Num(dtype, bits) => {
                let float = f64::from_bits(*bits);
                let bits = match dtype {
                    DType::F16 => half::to_bits(float).into(),
                    DType::F32 => (float as f32).to_bits().into(),
                    _ => *bits,
                };
                make_scalar(py, *dtype, bits.into())?.into_bound(py)
            }
        });
    }
    PyTuple::new(py, objects)
}

/// File, first and last line, first and last column (in bytes, as CPython counts) of a span.
fn place(span: Span, sources: &Sources) -> Option<(&str, u32, u32, u32, u32)> {
    let file = sources.get(span)?;
    let column = |offset: u32| {
        let before = &file.text.as_bytes()[..(offset as usize).min(file.text.len())];
        before.iter().rev().take_while(|&&b| b != b'\n').count() as u32
    };
    let (line, end_line) = (file.line_col(span.start).0, file.line_col(span.end).0);
    Some((&file.name, line, end_line, column(span.start), column(span.end)))
}
