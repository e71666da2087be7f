//! Signatures: types that `weft.types` described → the words of a dispatch key, and what came out → such a description.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use weft_ir::{DType, Layout, Type, Weak};
use weft_passes::infer::Returns;

use crate::key::{Key, MAX_RANK, Word};

/// Appends the words of an argument of this type. No size of an array is taken to be one.
pub(crate) fn push_words(key: &mut Key, described: &Bound<'_, PyTuple>) -> PyResult<()> {
    let kind: String = described.get_item(0)?.extract()?;
    let part = |at: usize| described.get_item(at);
    match kind.as_str() {
        "none" => key.push(Word::weak(Weak::None)),
        "python" => key.push(Word::weak(match dtype(&part(1)?)? {
            DType::Bool => Weak::Bool,
            d if d.is_complex() => Weak::Complex,
            d if d.is_float() => Weak::Float,
            _ => Weak::Int,
        })),
        "numpy" => key.push(Word::strong(dtype(&part(1)?)?)),
        "tuple" => {
            key.push(Word::tuple(described.len() - 1));
            for part in described.iter().skip(1) {
                push_words(key, &part.cast_into::<PyTuple>()?)?;
            }
        }
        _ => {
            let rank: usize = part(2)?.extract()?;
            if rank > MAX_RANK {
                return Err(PyValueError::new_err(format!("arrays have at most {MAX_RANK} dimensions, not {rank}")));
            }
            let layout = match part(3)?.extract::<String>()?.as_str() {
                "C" => Layout::C,
                "F" => Layout::F,
                _ => Layout::A,
            };
            key.push(Word::array_of(dtype(&part(1)?)?, rank, layout, false, 0));
        }
    }
    Ok(())
}

fn dtype(name: &Bound<'_, PyAny>) -> PyResult<DType> {
    let name: String = name.extract()?;
    let found = DType::ALL.into_iter().find(|d| d.numpy_name() == name);
    found.ok_or_else(|| PyValueError::new_err(format!("Weft does not compute with {name}")))
}

/// What a call returns, described as `weft.types` does.
pub(crate) fn describe<'py>(
    py: Python<'py>,
    returns: &Returns,
    types: &mut std::slice::Iter<'_, Type>,
) -> PyResult<Bound<'py, PyTuple>> {
    let text = |s: &str| PyString::new(py, s).into_any();
    match returns {
        Returns::Nothing => PyTuple::new(py, [text("none"), text("")]),
        Returns::Const(_) => PyTuple::new(py, [text("constant"), text("")]),
        Returns::Text(_) => {
            types.next();
            PyTuple::new(py, [text("constant"), text("")])
        }
        Returns::List(_) => {
            types.next();
            PyTuple::new(py, [text("list"), text("list")])
        }
        Returns::Optional(inner) => {
            types.next();
            describe(py, inner, types)
        }
        Returns::Tuple(parts) => {
            let mut all = vec![text("tuple")];
            for part in parts {
                all.push(describe(py, part, types)?.into_any());
            }
            PyTuple::new(py, all)
        }
        Returns::One | Returns::View => match types.next() {
            Some(Type::Tensor(t)) => {
                PyTuple::new(py, [text("array"), text(t.dtype.numpy_name()), t.rank().into_pyobject(py)?.into_any()])
            }
            Some(ty @ Type::Py(_)) => {
                PyTuple::new(py, [text("python"), text(ty.scalar_dtype().map_or("", |d| d.numpy_name()))])
            }
            Some(Type::Num(d)) => PyTuple::new(py, [text("numpy"), text(d.numpy_name())]),
            _ => PyTuple::new(py, [text("none"), text("")]),
        },
    }
}
