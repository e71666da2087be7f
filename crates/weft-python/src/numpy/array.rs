//! Arrays: reading an `ndarray` without calling NumPy, and making one that owns memory of our pool.

use std::ffi::{c_char, c_int, c_void};

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyType;
use weft_ir::{DType, Layout};

use super::{Api, dtype_of, memory, type_num};

/// `PyArrayObject_fields` of NumPy 2.
#[repr(C)]
struct RawArray {
    head: [usize; 2],
    data: *mut u8,
    nd: c_int,
    dimensions: *const isize,
    strides: *const isize,
    base: *mut ffi::PyObject,
    descr: *mut RawDescr,
    flags: c_int,
    weakrefs: *mut ffi::PyObject,
    buffer_info: *mut c_void,
    mem_handler: *mut ffi::PyObject,
}

/// The part of `PyArray_Descr` that all NumPy versions share.
#[repr(C)]
struct RawDescr {
    head: [usize; 2],
    typeobj: *mut ffi::PyTypeObject,
    kind: c_char,
    letter: c_char,
    byteorder: c_char,
    former_flags: c_char,
    type_num: c_int,
}

// `head` stands for PyObject_HEAD, which has these two words in every build that loads abi3 modules.
const _: () = assert!(size_of::<ffi::PyObject>() == size_of::<[usize; 2]>());

const C_CONTIGUOUS: c_int = 0x0001;
const F_CONTIGUOUS: c_int = 0x0002;
const OWNDATA: c_int = 0x0004;
const ALIGNED: c_int = 0x0100;
const WRITEABLE: c_int = 0x0400;

/// A borrowed look at an `ndarray`.
#[derive(Clone, Copy)]
pub(crate) struct ArrayView<'a>(&'a RawArray);

impl<'a> ArrayView<'a> {
    /// The array behind an object, if its type is exactly `numpy.ndarray`.
    ///
    /// # Safety
    /// `object` is a live object that outlives `'a`, and the GIL is held throughout.
    #[inline]
    pub(crate) unsafe fn new(object: *mut ffi::PyObject) -> Option<ArrayView<'a>> {
        // SAFETY: a live object has a type; an exact ndarray has NumPy's struct behind it.
        unsafe {
            let exact = ffi::Py_TYPE(object) == Api::get().array_type();
            exact.then(|| ArrayView(&*(object as *const RawArray)))
        }
    }

    /// The array behind an object that is an `ndarray` or of a subclass, whatever rules that may have.
    ///
    /// # Safety
    /// As for [`ArrayView::new`].
    #[inline]
    pub(crate) unsafe fn of_any(object: *mut ffi::PyObject) -> Option<ArrayView<'a>> {
        // SAFETY: passed on to the caller; instances of subclasses begin with the struct of their base.
        unsafe {
            ArrayView::new(object).or_else(|| {
                let inherits = ffi::PyType_IsSubtype(ffi::Py_TYPE(object), Api::get().array_type()) != 0;
                inherits.then(|| ArrayView(&*(object as *const RawArray)))
            })
        }
    }

    /// Address of the first element.
    #[inline]
    pub(crate) fn data(self) -> *mut u8 {
        self.0.data
    }

    /// Sizes.
    #[inline]
    pub(crate) fn shape(self) -> &'a [isize] {
        self.dims(self.0.dimensions)
    }

    /// Steps in bytes.
    #[inline]
    pub(crate) fn strides(self) -> &'a [isize] {
        self.dims(self.0.strides)
    }

    #[inline]
    fn dims(self, pointer: *const isize) -> &'a [isize] {
        match self.0.nd {
            0 => &[],
            // SAFETY: NumPy keeps `nd` entries behind both pointers for as long as the array lives.
            nd => unsafe { std::slice::from_raw_parts(pointer, nd as usize) },
        }
    }

    /// The dtype, or `None` for one that Weft has no name for.
    #[inline]
    pub(crate) fn dtype(self) -> Option<DType> {
        // SAFETY: an array always has a descriptor.
        dtype_of(unsafe { (*self.0.descr).type_num })
    }

    /// The dtype object, for messages.
    pub(crate) fn dtype_object(self, py: Python<'a>) -> Bound<'a, PyAny> {
        // SAFETY: an array always has a descriptor, which is a Python object.
        unsafe { Bound::from_borrowed_ptr(py, self.0.descr as *mut ffi::PyObject) }
    }

    /// What an element is, by the name of its scalar type, for messages.
    pub(crate) fn element_type(self, py: Python<'a>) -> String {
        // SAFETY: an array always has a descriptor, and that the type of its scalars.
        let ty = unsafe { Bound::from_borrowed_ptr(py, (*self.0.descr).typeobj as *mut ffi::PyObject) };
        ty.cast::<PyType>().ok().and_then(|t| t.qualname().ok()).map_or_else(|| "?".to_owned(), |n| n.to_string())
    }

    /// Whether the bytes of an element are in this machine's order.
    #[inline]
    pub(crate) fn is_native_order(self) -> bool {
        let other = if cfg!(target_endian = "little") { b'>' } else { b'<' };
        // SAFETY: an array always has a descriptor.
        unsafe { (*self.0.descr).byteorder as u8 != other }
    }

    /// Whether every element is aligned as its type needs.
    #[inline]
    pub(crate) fn is_aligned(self) -> bool {
        self.0.flags & ALIGNED != 0
    }

    /// Whether stores are refused.
    #[inline]
    pub(crate) fn is_readonly(self) -> bool {
        self.0.flags & WRITEABLE == 0
    }

    /// C where it is C-contiguous (also if it is both), else F, else any.
    #[inline]
    pub(crate) fn layout(self) -> Layout {
        if self.0.flags & C_CONTIGUOUS != 0 {
            Layout::C
        } else if self.0.flags & F_CONTIGUOUS != 0 {
            Layout::F
        } else {
            Layout::A
        }
    }
}

/// An `ndarray` that owns `data`, memory of the pool: its base is None, and NumPy frees and resizes it through our
/// memory handler, so that nothing tells it from an array that NumPy made.
///
/// # Safety
/// `data` came from [`memory::alloc`] or from compiled code that allocated through the same pool, is described by
/// `shape` and `strides`, and is not owned by anyone else.
pub(crate) unsafe fn new_array<'py>(
    py: Python<'py>,
    dtype: DType,
    shape: &[isize],
    strides: &[isize],
    data: *mut u8,
) -> PyResult<Bound<'py, PyAny>> {
    let handler = memory::handler(py)?;
    let api = Api::get();
    let nd = shape.len() as c_int;
    // SAFETY: the caller vouches for shape, strides and data; the table's function takes the descriptor's reference.
    let object = unsafe {
        let descr = api.descr(type_num(dtype));
        api.array_over(descr, nd, shape.as_ptr(), strides.as_ptr(), data as *mut c_void, WRITEABLE)
    };
    if object.is_null() {
        // SAFETY: nobody else has the memory.
        unsafe { memory::free(data) };
        return Err(PyErr::fetch(py));
    }
    // SAFETY: a fresh, exact ndarray that only we hold; it has no handler yet, so no reference is lost.
    unsafe {
        let raw = &mut *(object as *mut RawArray);
        raw.mem_handler = handler.into_ptr();
        raw.flags |= OWNDATA;
        Ok(Bound::from_owned_ptr(py, object))
    }
}

/// An `ndarray` over memory that `base` keeps alive.
///
/// # Safety
/// `shape` and `strides` describe elements at `data`, all of them in memory that lives while `base` does.
pub(crate) unsafe fn new_view<'py>(
    base: Bound<'py, PyAny>,
    dtype: DType,
    shape: &[isize],
    strides: &[isize],
    data: *mut u8,
    writable: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let (py, api) = (base.py(), Api::get());
    let flags = if writable { WRITEABLE } else { 0 };
    // SAFETY: the caller vouches for shape, strides and data; both calls take the reference they are given.
    unsafe {
        let descr = api.descr(type_num(dtype));
        let data = data as *mut c_void;
        let view = api.array_over(descr, shape.len() as c_int, shape.as_ptr(), strides.as_ptr(), data, flags);
        let view = Bound::from_owned_ptr_or_err(py, view)?;
        match api.set_base(view.as_ptr(), base.into_ptr()) {
            true => Ok(view),
            false => Err(PyErr::fetch(py)),
        }
    }
}
