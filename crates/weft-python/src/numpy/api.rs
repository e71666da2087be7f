//! The table of functions and types that NumPy exports to C.

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

use pyo3::exceptions::PyImportError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods};

/// NumPy's C API, loaded when this module is imported.
pub(crate) struct Api {
    table: *const *const c_void,
}

// SAFETY: the table is constant for the life of the process, and what it points to is used under the GIL.
unsafe impl Send for Api {}
// SAFETY: as above.
unsafe impl Sync for Api {}

static API: OnceLock<Api> = OnceLock::new();

/// Positions in the table (`numpy/__multiarray_api.h`). NumPy only ever appends to it.
mod slot {
    pub(super) const ARRAY_TYPE: usize = 2;
    pub(super) const GENERIC_TYPE: usize = 10;
    pub(super) const DESCR_FROM_TYPE: usize = 45;
    pub(super) const SCALAR: usize = 60;
    pub(super) const NEW_FROM_DESCR: usize = 94;
    pub(super) const FEATURE_VERSION: usize = 211;
    pub(super) const SET_BASE_OBJECT: usize = 282;
}

/// The C API of NumPy 2.0.
const NUMPY_2_0: u32 = 0x12;

type DescrFromType = unsafe extern "C" fn(c_int) -> *mut ffi::PyObject;
type Scalar = unsafe extern "C" fn(*mut c_void, *mut ffi::PyObject, *mut ffi::PyObject) -> *mut ffi::PyObject;
type SetBaseObject = unsafe extern "C" fn(*mut ffi::PyObject, *mut ffi::PyObject) -> c_int;
type NewFromDescr = unsafe extern "C" fn(
    *mut ffi::PyTypeObject,
    *mut ffi::PyObject,
    c_int,
    *const isize,
    *const isize,
    *mut c_void,
    c_int,
    *mut ffi::PyObject,
) -> *mut ffi::PyObject;

impl Api {
    /// Loads the table. Called once, when the extension is imported.
    pub(crate) fn load(py: Python<'_>) -> PyResult<()> {
        let module = py.import("numpy._core._multiarray_umath")?;
        let capsule = module.getattr("_ARRAY_API")?.cast_into::<PyCapsule>()?;
        let table = capsule.pointer_checked(None)?.as_ptr() as *const *const c_void;
        let api = Api { table };
        let version = api.feature_version();
        if version < NUMPY_2_0 {
            return Err(PyImportError::new_err(format!(
                "Weft follows the rules of NumPy 2 and needs it; this NumPy has C API version {version:#x}"
            )));
        }
        let _ = API.set(api);
        Ok(())
    }

    /// The loaded table.
    pub(crate) fn get() -> &'static Api {
        // Nothing of this crate can be called before `load` succeeded: the import would have failed.
        API.get().expect("NumPy's C API is loaded when weft._core is imported")
    }

    /// # Safety
    /// `T` is the C type of what `slot` holds.
    unsafe fn function<T: Copy>(&self, slot: usize) -> T {
        // SAFETY: the slot is inside the table of every NumPy 2; the caller vouches for the type.
        unsafe { std::mem::transmute_copy(&*self.table.add(slot)) }
    }

    fn feature_version(&self) -> u32 {
        // SAFETY: `unsigned int PyArray_GetNDArrayCFeatureVersion(void)`.
        unsafe { self.function::<unsafe extern "C" fn() -> u32>(slot::FEATURE_VERSION)() }
    }

    /// `numpy.ndarray`.
    pub(crate) fn array_type(&self) -> *mut ffi::PyTypeObject {
        // SAFETY: the slot is inside the table.
        unsafe { *self.table.add(slot::ARRAY_TYPE) as *mut ffi::PyTypeObject }
    }

    /// `numpy.generic`, the base of scalars.
    pub(crate) fn generic_type(&self) -> *mut ffi::PyTypeObject {
        // SAFETY: the slot is inside the table.
        unsafe { *self.table.add(slot::GENERIC_TYPE) as *mut ffi::PyTypeObject }
    }

    /// A type in the table, by its position.
    pub(crate) fn type_at(&self, slot: usize) -> *mut ffi::PyTypeObject {
        // SAFETY: the callers name positions below 40, all of them types.
        unsafe { *self.table.add(slot) as *mut ffi::PyTypeObject }
    }

    /// A new reference to the native dtype object of a type number.
    pub(crate) fn descr(&self, type_num: c_int) -> *mut ffi::PyObject {
        // SAFETY: `PyArray_Descr *PyArray_DescrFromType(int)`; cannot fail for the numbers of builtin types.
        unsafe { self.function::<DescrFromType>(slot::DESCR_FROM_TYPE)(type_num) }
    }

    /// A NumPy scalar from its bytes.
    ///
    /// # Safety
    /// `data` points to an element of the type `descr` describes; the GIL is held.
    pub(crate) unsafe fn scalar(&self, data: *mut c_void, descr: *mut ffi::PyObject) -> *mut ffi::PyObject {
        // SAFETY: `PyObject *PyArray_Scalar(void *, PyArray_Descr *, PyObject *)`.
        unsafe { self.function::<Scalar>(slot::SCALAR)(data, descr, std::ptr::null_mut()) }
    }

    /// An array over existing memory. Takes the reference to `descr`.
    ///
    /// # Safety
    /// `dims` and `strides` have `nd` entries, `data` is memory they describe, and the GIL is held.
    pub(crate) unsafe fn array_over(
        &self,
        descr: *mut ffi::PyObject,
        nd: c_int,
        dims: *const isize,
        strides: *const isize,
        data: *mut c_void,
        flags: c_int,
    ) -> *mut ffi::PyObject {
        // SAFETY: the signature is that of `PyArray_NewFromDescr`; the caller vouches for the pointers.
        unsafe {
            let make = self.function::<NewFromDescr>(slot::NEW_FROM_DESCR);
            make(self.array_type(), descr, nd, dims, strides, data, flags, std::ptr::null_mut())
        }
    }

    /// Makes `base` what keeps the memory of `array` alive; of a view, what it is a view of. Takes the reference to `base`,
    /// also when it fails.
    ///
    /// # Safety
    /// `array` is an ndarray without a base over memory that `base` keeps alive; the GIL is held.
    pub(crate) unsafe fn set_base(&self, array: *mut ffi::PyObject, base: *mut ffi::PyObject) -> bool {
        // SAFETY: `int PyArray_SetBaseObject(PyArrayObject *, PyObject *)`.
        unsafe { self.function::<SetBaseObject>(slot::SET_BASE_OBJECT)(array, base) == 0 }
    }
}
