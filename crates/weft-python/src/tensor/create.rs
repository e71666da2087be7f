//! Functions of tensors, and how tensors are made and read.

use pyo3::exceptions::{PyMemoryError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use weft_ir::{DType, Type};
use weft_runtime::{Buffer, UsmKind};
use weft_tensor::{Operand, Operation, Tensor, generate, pack, record};

use super::{UsmNdarray, operand, own, wrap};
use crate::at_work::border;
use crate::errors;
use crate::memory::{allocate, settle};
use crate::numpy::{ArrayView, new_array};
use crate::queue::Queue;

/// Library functions that Python may record, by name.
const FUNCTIONS: [&str; 10] = [
    "numpy.sin",
    "numpy.cos",
    "numpy.exp",
    "numpy.log",
    "numpy.sqrt",
    "numpy.absolute",
    "numpy.minimum",
    "numpy.maximum",
    "numpy.where",
    "weft.lib.tensor.cast",
];

/// Records a library function of tensors and numbers.
#[pyfunction]
#[pyo3(signature = (name, *args))]
pub(crate) fn tensor_call(name: &str, args: &Bound<'_, PyTuple>) -> PyResult<Py<PyAny>> {
    let py = args.py();
    border(py, || {
        let Some(name) = FUNCTIONS.iter().find(|f| **f == name) else {
            return Err(errors::internal(py, &format!("{name} is not a tensor function")));
        };
        let mut operands = vec![];
        for a in args.iter() {
            operands.push(operand(&a)?.ok_or_else(|| {
                let ty = a.get_type().qualname().map_or_else(|_| "?".to_owned(), |s| s.to_string());
                PyTypeError::new_err(format!("expected a tensor or a number, found {ty}"))
            })?);
        }
        wrap(py, py.detach(|| record(Operation::Call(name), operands)))
    })
}

/// `x` converted to a dtype.
#[pyfunction]
pub(crate) fn tensor_cast(x: &Bound<'_, UsmNdarray>, dtype: &str) -> PyResult<Py<PyAny>> {
    let py = x.py();
    border(py, || {
        let like = Operand::Scalar(Type::Num(dtype_named(py, dtype)?), 0);
        let x = own(x);
        wrap(py, py.detach(|| record(Operation::Call("weft.lib.tensor.cast"), vec![x, like])))
    })
}

/// Records a creation function (`full`, `arange`, `linspace`) with its numbers.
#[pyfunction]
#[pyo3(signature = (name, shape, numbers, dtype, queue, usm_type))]
pub(crate) fn tensor_generate(
    py: Python<'_>,
    name: &str,
    shape: Vec<i64>,
    numbers: &Bound<'_, PyTuple>,
    dtype: &str,
    queue: &Queue,
    usm_type: &str,
) -> PyResult<UsmNdarray> {
    border(py, || {
        let function = match name {
            "full" => "weft.lib.tensor.full",
            "arange" => "weft.lib.tensor.arange",
            "linspace" => "weft.lib.tensor.linspace",
            _ => return Err(errors::internal(py, &format!("{name} is not a creation function"))),
        };
        let dtype = dtype_named(py, dtype)?;
        byte_count(&shape, dtype)?;
        let mut operands = vec![];
        for n in numbers.iter() {
            operands.push(operand(&n)?.ok_or_else(|| PyTypeError::new_err("expected a number"))?);
        }
        operands.push(Operand::Scalar(Type::Num(dtype), 0));
        let usm = usm_named(usm_type)?;
        Ok(UsmNdarray::new(Tensor::new(generate(function, operands, shape, dtype, queue.0.clone(), usm))))
    })
}

/// Uninitialised memory as a tensor.
#[pyfunction]
pub(crate) fn tensor_empty(
    py: Python<'_>,
    shape: Vec<i64>,
    dtype: &str,
    queue: &Queue,
    usm_type: &str,
) -> PyResult<UsmNdarray> {
    border(py, || {
        let dtype = dtype_named(py, dtype)?;
        let (bytes, usm) = (byte_count(&shape, dtype)?, usm_named(usm_type)?);
        let buffer = allocate(py, &queue.0, bytes, usm)?;
        Ok(UsmNdarray::new(Tensor::stored(shape, dtype, queue.0.clone(), buffer)))
    })
}

/// A copy of a NumPy array, of any strides, on a queue.
#[pyfunction]
pub(crate) fn tensor_from_array(array: &Bound<'_, PyAny>, queue: &Queue, usm_type: &str) -> PyResult<UsmNdarray> {
    let py = array.py();
    border(py, || {
        // SAFETY: the array is alive during this call.
        let view = unsafe { ArrayView::new(array.as_ptr()) };
        let view = view.ok_or_else(|| PyTypeError::new_err("expected a NumPy array"))?;
        let Some(dtype) = view.dtype().filter(|_| view.is_native_order()) else {
            let name = view.dtype_object(py).str()?;
            let message = format!("an array of dtype {name} cannot be a tensor yet: convert it with .astype first");
            return Err(errors::new(py, "UnsupportedError", message));
        };
        let wide = |list: &[isize]| list.iter().map(|&n| n as i64).collect::<Vec<i64>>();
        let (shape, strides) = (wide(view.shape()), wide(view.strides()));
        let (bytes, usm) = (byte_count(&shape, dtype)?, usm_named(usm_type)?);
        let buffer = allocate(py, &queue.0, bytes, usm)?;
        // SAFETY: NumPy's own sizes and strides describe readable memory, and both have room for all elements.
        let fill = |to: &Buffer| unsafe {
            let to = std::slice::from_raw_parts_mut(to.address() as *mut u8, bytes);
            pack(view.data().cast_const().cast(), &shape, &strides, dtype.size(), to);
        };
        if queue.0.is_native() {
            buffer.wait_idle().map_err(|e| errors::from_hal(py, &e))?;
            fill(&buffer);
        } else if bytes > 0 {
            let staged = Buffer::alloc_host(bytes).map_err(|e| errors::from_hal(py, &e))?;
            fill(&staged);
            // SAFETY: what was just filled.
            let content = unsafe { std::slice::from_raw_parts(staged.address() as *const u8, bytes) };
            py.detach(|| buffer.write(0, content)).map_err(|e| errors::from_hal(py, &e))?;
        }
        Ok(UsmNdarray::new(Tensor::stored(shape, dtype, queue.0.clone(), buffer)))
    })
}

/// A NumPy array with a copy of the elements; runs what is pending.
#[pyfunction]
pub(crate) fn tensor_to_array(py: Python<'_>, x: &Bound<'_, UsmNdarray>) -> PyResult<Py<PyAny>> {
    border(py, || {
        let buffer = x.get().buffer(py)?;
        settle(py, &buffer)?;
        let copy = py.detach(|| buffer.copy_to(None, UsmKind::Host)).map_err(|e| errors::from_hal(py, &e))?;
        let memory = copy.into_host_memory().map_err(|_| PyMemoryError::new_err("a host copy is still in use"))?;
        let tensor = x.get().handle();
        let shape: Vec<isize> = tensor.shape().iter().map(|&n| n as isize).collect();
        let mut strides = vec![0; shape.len()];
        let mut step = tensor.dtype().size() as isize;
        for k in (0..shape.len()).rev() {
            strides[k] = step;
            step *= shape[k].max(1);
        }
        // SAFETY: memory of the host pool that is ours alone and holds the elements in C order.
        unsafe { new_array(py, tensor.dtype(), &shape, &strides, memory) }.map(Bound::unbind)
    })
}

fn dtype_named(py: Python<'_>, name: &str) -> PyResult<DType> {
    let found = DType::ALL.into_iter().find(|d| d.numpy_name() == name);
    found.ok_or_else(|| errors::new(py, "UnsupportedError", format!("there are no tensors of dtype {name}")))
}

fn usm_named(name: &str) -> PyResult<UsmKind> {
    let kinds = [UsmKind::Device, UsmKind::Shared, UsmKind::Host];
    let found = kinds.into_iter().find(|k| k.name() == name);
    found.ok_or_else(|| PyValueError::new_err(format!("usm_type is \"device\", \"shared\" or \"host\", not {name:?}")))
}

/// Bytes of an array, or the exception for sizes no machine has.
fn byte_count(shape: &[i64], dtype: DType) -> PyResult<usize> {
    let mut bytes: u64 = dtype.size() as u64;
    for &n in shape {
        let n = u64::try_from(n).map_err(|_| PyValueError::new_err("negative dimensions are not allowed"))?;
        bytes = bytes
            .checked_mul(n)
            .filter(|b| *b < 1 << 60)
            .ok_or_else(|| PyValueError::new_err("Maximum allowed dimension exceeded"))?;
    }
    Ok(bytes as usize)
}
