//! Result slots → Python objects (COMPILER 2.15, 3.6).

use std::sync::Arc;

use pyo3::exceptions::PyMemoryError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyTuple};
use smallvec::SmallVec;
use weft_ir::{TensorType, Type, Weak};
use weft_passes::infer::Returns;
use weft_runtime::{Buffer, Queue, UsmKind};
use weft_tensor::Tensor;

use crate::errors;
use crate::numpy::{ArrayView, make_scalar, new_array};
use crate::tensor::UsmNdarray;

/// Slots that values of this type take.
pub(crate) fn slots_of(ty: &Type) -> usize {
    match ty {
        Type::Py(Weak::None) => 0,
        Type::Tensor(t) => 2 + 2 * t.rank(),
        _ => 1,
    }
}

/// What arrays that a call made become.
#[derive(Clone, Copy)]
pub(crate) enum Home<'a> {
    /// NumPy arrays.
    NumPy,
    /// Device arrays in memory of that kind on a queue: some argument was one.
    Queue(&'a Arc<Queue>, UsmKind),
}

/// The Python object of a call's results. Takes the counts that the slots own, also when it fails.
///
/// # Safety
/// The slots are those that a call with these live arguments filled, for results of these types.
pub(crate) unsafe fn to_python(
    py: Python<'_>,
    types: &[Type],
    returns: Returns,
    slots: &[u64],
    objects: &[*mut ffi::PyObject],
    home: Home<'_>,
) -> PyResult<Py<PyAny>> {
    if let (Returns::One, [ty]) = (returns, types) {
        return one(py, ty, slots, objects, home);
    }
    let mut made: Vec<(u64, PyResult<Py<PyAny>>)> = vec![];
    let mut at = 0;
    for ty in types {
        let mine = &slots[at..at + slots_of(ty)];
        at += mine.len();
        let owner = ty.as_tensor().map_or(0, |_| mine[1]);
        let fresh = owner != 0 && owner & 1 == 0;
        let object = match made.iter().find(|(o, _)| fresh && *o == owner) {
            // The same array returned twice is one object, as it is in Python.
            Some((_, Ok(object))) => Ok(object.clone_ref(py)),
            Some((_, Err(error))) => Err(error.clone_ref(py)),
            None => one(py, ty, mine, objects, home),
        };
        made.push((owner, object));
    }
    let mut objects = made.into_iter().map(|(_, object)| object);
    match returns {
        Returns::Nothing => Ok(py.None()),
        Returns::One => objects.next().unwrap_or_else(|| Ok(py.None())),
        Returns::Tuple => Ok(PyTuple::new(py, objects.collect::<PyResult<Vec<_>>>()?)?.into_any().unbind()),
    }
}

fn one(
    py: Python<'_>,
    ty: &Type,
    slots: &[u64],
    objects: &[*mut ffi::PyObject],
    home: Home<'_>,
) -> PyResult<Py<PyAny>> {
    match ty {
        Type::Py(Weak::None) => Ok(py.None()),
        Type::Py(Weak::Bool) => Ok(PyBool::new(py, slots[0] & 1 == 1).to_owned().into_any().unbind()),
        Type::Py(Weak::Int) => Ok(PyInt::new(py, slots[0] as i64).into_any().unbind()),
        Type::Py(Weak::Float) => Ok(PyFloat::new(py, f64::from_bits(slots[0])).into_any().unbind()),
        Type::Num(dtype) => make_scalar(py, *dtype, slots[0]),
        Type::Tensor(t) => array(py, t, slots, objects, home),
        other => Err(errors::internal(py, &format!("a result of type {other} has no Python form"))),
    }
}

fn array(
    py: Python<'_>,
    ty: &TensorType,
    slots: &[u64],
    objects: &[*mut ffi::PyObject],
    home: Home<'_>,
) -> PyResult<Py<PyAny>> {
    let (data, owner) = (slots[0], slots[1]);
    let dims: SmallVec<[isize; 16]> = slots[2..].iter().map(|&n| n as isize).collect();
    let (shape, strides) = dims.split_at(ty.rank());
    if owner & 1 == 1 {
        return argument(py, data, owner, shape, strides, objects);
    }
    // SAFETY: the slot owns a count of the buffer.
    let Some(buffer) = (unsafe { Buffer::from_owner(owner) }) else {
        return Err(errors::internal(py, "a result array has no owner"));
    };
    // The call is over: further counts can only be those of the same word in other slots.
    while Arc::strong_count(&buffer) > 1 {
        // SAFETY: a count that nobody else will give up.
        drop(unsafe { Buffer::from_owner(owner) });
    }
    let fresh = buffer.address() == data;
    if let Home::Queue(queue, usm) = home {
        let buffer = match buffer.queue() {
            Some(_) => buffer,
            // Host code made it, in plain host memory, for the native queue.
            // SAFETY: the buffer itself keeps its memory alive.
            None => unsafe { Buffer::foreign(Some(queue), data, buffer.bytes(), usm, Box::new(buffer)) },
        };
        let shape = shape.iter().map(|&n| n as i64).collect();
        let tensor = Tensor::stored(shape, ty.dtype, queue.clone(), buffer);
        return Ok(Py::new(py, UsmNdarray::new(tensor))?.into_any());
    }
    match buffer.into_host_memory() {
        // SAFETY: memory of the host pool that is now ours alone, described by the compiled code that filled it.
        Ok(memory) if fresh => unsafe { new_array(py, ty.dtype, shape, strides, memory) },
        Ok(memory) => {
            // SAFETY: ours alone.
            unsafe { crate::numpy::free(memory) };
            Err(errors::internal(py, "a result is a view of fresh memory"))
        }
        Err(buffer) if buffer.queue().is_some_and(|q| !q.is_native()) => {
            Err(errors::internal(py, "a result array is on a device"))
        }
        Err(_) => Err(PyMemoryError::new_err("a result array is still in use")),
    }
}

/// An argument that was returned: the same object.
fn argument(
    py: Python<'_>,
    data: u64,
    owner: u64,
    shape: &[isize],
    strides: &[isize],
    objects: &[*mut ffi::PyObject],
) -> PyResult<Py<PyAny>> {
    let Some(&object) = objects.get((owner >> 1) as usize) else {
        return Err(errors::internal(py, "a result is an argument that was not given"));
    };
    // SAFETY: the caller of `to_python` keeps the arguments alive.
    let object = unsafe { Bound::from_borrowed_ptr(py, object) };
    if object.is_instance_of::<UsmNdarray>() {
        return Ok(object.unbind());
    }
    // SAFETY: as above.
    let same = unsafe { ArrayView::new(object.as_ptr()) }
        .is_some_and(|v| v.data() as u64 == data && v.shape() == shape && v.strides() == strides);
    match same {
        true => Ok(object.unbind()),
        false => Err(errors::internal(py, "a result is a view of an argument")),
    }
}
