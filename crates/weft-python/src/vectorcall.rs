//! The fast way in: CPython's vectorcall for dispatchers.
//!
//! PyO3's `__call__` is `tp_call`, which packs arguments into a tuple. With vectorcall they arrive as an array. The limited
//! API has the protocol but no way to ask PyO3 for it, so the two fields of the type object that it consists of are set
//! by hand, at their places in CPython 3.11 and later, and only if the fields next to them hold what the
//! limited API says about the type. Otherwise calls go on through `tp_call`.

use std::ffi::c_ulong;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::at_work::{border, silent_border};
use crate::dispatcher::Dispatcher;
use crate::errors;
use crate::run::Ran;

/// CPython's `vectorcallfunc`.
pub(crate) type Vectorcall = unsafe extern "C" fn(
    *mut ffi::PyObject,
    *const *mut ffi::PyObject,
    usize,
    *mut ffi::PyObject,
) -> *mut ffi::PyObject;

/// The beginning of `PyTypeObject`.
#[repr(C)]
struct TypeHead {
    head: [usize; 3],
    name: usize,
    basicsize: isize,
    itemsize: isize,
    dealloc: usize,
    vectorcall_offset: isize,
    slots: [usize; 13],
    flags: c_ulong,
}

const HAVE_VECTORCALL: c_ulong = 1 << 11;

/// In the count of arguments: the slot before them may be used as scratch.
pub(crate) const ARGUMENTS_OFFSET: usize = 1 << (usize::BITS - 1);

/// Turns vectorcall on for the type of a dispatcher. Called for every dispatcher made; works once.
pub(crate) fn enable(object: &Bound<'_, Dispatcher>) {
    enable_at(object.as_any(), object.get().vectorcall_address());
}

/// Turns vectorcall on for the type of an object of ours that holds its [`Vectorcall`] at `field`.
pub(crate) fn enable_at(object: &Bound<'_, PyAny>, field: usize) {
    let ty = object.get_type();
    let offset = field as isize - object.as_ptr() as isize;
    // SAFETY: a type object is larger than its head; what is read first only serves to see that the layout is the one
    // expected, and the GIL is held.
    unsafe {
        let head = &mut *(ty.as_type_ptr() as *mut TypeHead);
        let known = ffi::PyType_GetFlags(ty.as_type_ptr());
        let size: isize = ty.getattr("__basicsize__").and_then(|n| n.extract()).unwrap_or(-1);
        let expected = head.flags == known && head.basicsize == size && head.itemsize == 0;
        if known & HAVE_VECTORCALL == 0 && expected && head.vectorcall_offset == 0 && offset > 0 && offset < size {
            head.vectorcall_offset = offset;
            head.flags |= HAVE_VECTORCALL;
            ffi::PyType_Modified(ty.as_type_ptr());
        }
    }
}

/// The entry of every dispatcher.
pub(crate) unsafe extern "C" fn call(
    callable: *mut ffi::PyObject,
    args: *const *mut ffi::PyObject,
    nargsf: usize,
    kwnames: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: CPython calls this with the GIL held, only for objects whose type has this offset: dispatchers, kept alive by
    // the caller, as are the arguments.
    unsafe {
        let count = nargsf & !ARGUMENTS_OFFSET;
        let objects = if count == 0 { &[] } else { std::slice::from_raw_parts(args, count) };
        let py = Python::assume_attached();
        let object = Bound::from_borrowed_ptr(py, callable);
        let dispatcher = object.cast_unchecked::<Dispatcher>().get();
        let _entered = dispatcher.function().enter();
        let plain = kwnames.is_null() && dispatcher.function().takes(count);
        let mut failure = None;
        let hit = silent_border(|| match plain {
            true => dispatcher.hit(py, objects),
            false => dispatcher.hit_bound(py, objects, args.wrapping_add(count), kwnames),
        });
        match hit {
            Some(Some((Ran::Returned(Ok(object)), _))) => return object.into_ptr(),
            Some(Some((ran, made))) => failure = Some((ran, made)),
            // Not a plain hit, or a panic, which happens again where it becomes an exception.
            Some(None) | None => {}
        }
        // PyO3 must know of the GIL wherever references may be dropped.
        Python::attach(|py| {
            let done = border(py, || match failure {
                Some((Ran::Returned(Err(error)), _)) => Err(error),
                Some((Ran::Returned(Ok(object)), _)) => Ok(object),
                Some((Ran::Failed(error), made)) => Err(errors::from_call(py, &error, &made.origin)),
                None if plain => dispatcher.run(py, objects),
                None => {
                    let names = Bound::from_borrowed_ptr_or_opt(py, kwnames);
                    let (args, kwargs) = packed(py, objects, args.wrapping_add(count), names)?;
                    dispatcher.call(&args, Some(&kwargs))
                }
            });
            match done {
                Ok(object) => object.into_ptr(),
                Err(error) => {
                    error.restore(py);
                    std::ptr::null_mut()
                }
            }
        })
    }
}

/// The arguments as `tp_call` would get them.
///
/// # Safety
/// `objects` are live, and after them at `values` one for each of `names`.
pub(crate) unsafe fn packed<'py>(
    py: Python<'py>,
    objects: &[*mut ffi::PyObject],
    values: *const *mut ffi::PyObject,
    names: Option<Bound<'py, PyAny>>,
) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyDict>)> {
    // SAFETY: passed on to the caller.
    let borrowed = |object: *mut ffi::PyObject| unsafe { Bound::from_borrowed_ptr(py, object) };
    let args = PyTuple::new(py, objects.iter().map(|&o| borrowed(o)))?;
    let kwargs = PyDict::new(py);
    if let Some(names) = names {
        for (i, name) in names.cast_into::<PyTuple>()?.iter().enumerate() {
            // SAFETY: as many values as names.
            kwargs.set_item(name, borrowed(unsafe { *values.add(i) }))?;
        }
    }
    Ok((args, kwargs))
}
