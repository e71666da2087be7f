//! Python objects → dispatch key and argument slots, in one pass.
//!
//! A slot is eight bytes: a scalar's bits, or for an array its address, owner word, sizes and byte strides (COMPILER 5.1).
//! The owner word `2k+1` says that argument `k` lends the memory.

use std::sync::Arc;

use pyo3::exceptions::PyOverflowError;
use pyo3::ffi;
use pyo3::prelude::*;
use smallvec::SmallVec;
use weft_ir::{DType, Weak};
use weft_runtime::Buffer;
use weft_tensor::Tensor;

use crate::key::{Key, MAX_RANK, Word};
use crate::numpy::{Api, ArrayView, read_scalar, scalar_dtype};
use crate::tensor::UsmNdarray;
use crate::{errors, places};

/// The arguments of one call, ready to be looked up and run.
#[derive(Default)]
pub(crate) struct Arguments {
    /// What a specialisation is found by.
    pub(crate) key: Key,
    /// What compiled code reads.
    pub(crate) slots: SmallVec<[u64; 32]>,
    /// Elements of the largest array.
    pub(crate) elements: usize,
    /// The first NumPy array, by position.
    pub(crate) host_array: Option<usize>,
    /// Device arrays.
    pub(crate) tensors: SmallVec<[TensorArgument; 4]>,
}

/// A device array among the arguments.
pub(crate) struct TensorArgument {
    /// Position of the argument.
    pub(crate) k: usize,
    /// Position of its address among the slots.
    pub(crate) slot: usize,
    /// What it stands for.
    pub(crate) tensor: Tensor,
    /// Its memory; nothing is pending.
    pub(crate) buffer: Arc<Buffer>,
}

impl Arguments {
    /// Reads every argument. Into a place of the caller's: this is too large to move.
    ///
    /// # Safety
    /// The pointers are live objects, which stay so while the slots are in use.
    pub(crate) unsafe fn read(
        &mut self,
        py: Python<'_>,
        objects: &[*mut ffi::PyObject],
        names: &[String],
    ) -> PyResult<()> {
        for (k, &object) in objects.iter().enumerate() {
            // SAFETY: passed on to the caller.
            unsafe { self.push(py, k, object, names) }?;
        }
        Ok(())
    }

    unsafe fn push(&mut self, py: Python<'_>, k: usize, object: *mut ffi::PyObject, names: &[String]) -> PyResult<()> {
        // SAFETY: the caller of `read` vouches for the object throughout.
        unsafe {
            if let Some(view) = ArrayView::new(object) {
                return match self.push_array(k, view) {
                    true => Ok(()),
                    false => Err(refuse_array(py, view, &names[k])),
                };
            }
            let ty = ffi::Py_TYPE(object);
            if ty == &raw mut ffi::PyFloat_Type {
                return self.push_scalar(Word::weak(Weak::Float), ffi::PyFloat_AsDouble(object).to_bits());
            }
            if ty == &raw mut ffi::PyLong_Type {
                let mut overflow = 0;
                let value = ffi::PyLong_AsLongLongAndOverflow(object, &mut overflow);
                return match overflow {
                    0 => self.push_scalar(Word::weak(Weak::Int), value as u64),
                    _ => Err(PyOverflowError::new_err(format!(
                        "the argument `{}` is an int outside the 64 bits that compiled code computes in",
                        names[k]
                    ))),
                };
            }
            if ty == &raw mut ffi::PyBool_Type {
                return self.push_scalar(Word::weak(Weak::Bool), u64::from(object == ffi::Py_True()));
            }
            if object == ffi::Py_None() {
                self.key.push(Word::weak(Weak::None));
                return Ok(());
            }
            match scalar_dtype(object) {
                Some(dtype) if dtype.is_supported() => {
                    self.push_scalar(Word::strong(dtype), read_scalar(object, dtype))
                }
                scalar => match Bound::from_borrowed_ptr(py, object).cast::<UsmNdarray>() {
                    Ok(tensor) => self.push_tensor(py, k, tensor.get()),
                    Err(_) => Err(refuse_object(py, object, scalar, &names[k])),
                },
            }
        }
    }

    fn push_scalar(&mut self, word: Word, bits: u64) -> PyResult<()> {
        self.key.push(word);
        self.slots.push(bits);
        Ok(())
    }

    /// Whether the array could be taken.
    fn push_array(&mut self, k: usize, view: ArrayView<'_>) -> bool {
        let Some(dtype) = view.dtype().filter(|d| d.is_supported()) else { return false };
        if !view.is_native_order() || !view.is_aligned() || view.shape().len() > MAX_RANK {
            return false;
        }
        self.key.push(Word::array(view, dtype));
        self.slots.extend([view.data() as u64, 2 * k as u64 + 1]);
        self.slots.extend(view.shape().iter().chain(view.strides()).map(|&n| n as u64));
        self.elements = self.elements.max(view.len());
        self.host_array.get_or_insert(k);
        true
    }
}

impl Arguments {
    /// Puts slots before those of the arguments.
    pub(crate) fn put_first(&mut self, slots: &[u64]) {
        self.slots.insert_many(0, slots.iter().copied());
        self.tensors.iter_mut().for_each(|t| t.slot += slots.len());
    }

    /// A device array: what is pending on it runs first.
    fn push_tensor(&mut self, py: Python<'_>, k: usize, object: &UsmNdarray) -> PyResult<()> {
        let tensor = object.handle();
        let buffer = object.buffer(py)?;
        let (shape, dtype) = (tensor.shape(), tensor.dtype());
        self.key.push(Word::tensor(shape, dtype, places::place_id(tensor.queue())));
        let slot = self.slots.len();
        self.slots.extend([buffer.address(), 2 * k as u64 + 1]);
        self.slots.extend(shape.iter().map(|&n| n as u64));
        self.slots.extend(c_strides(shape, dtype).iter().map(|&n| n as u64));
        self.elements = self.elements.max(tensor.size());
        self.tensors.push(TensorArgument { k, slot, tensor, buffer });
        Ok(())
    }
}

/// Byte strides of a C-ordered array.
fn c_strides(shape: &[i64], dtype: DType) -> SmallVec<[i64; 8]> {
    let mut strides = SmallVec::from_elem(dtype.size() as i64, shape.len());
    for i in (1..shape.len()).rev() {
        strides[i - 1] = strides[i] * shape[i].max(1);
    }
    strides
}

/// Why an array is not taken, and what to pass instead. Asks NumPy nothing.
fn refuse_array(py: Python<'_>, view: ArrayView<'_>, name: &str) -> PyErr {
    let message = match view.dtype() {
        None => format!(
            "the argument `{name}` is an array of {}, which Weft does not compute with (it takes bool, int32, int64, \
             float32 and float64): convert it with {name}.astype(...)",
            view.element_type(py)
        ),
        Some(known) if !view.is_native_order() => format!(
            "the argument `{name}` is an array of byte-swapped {0}: pass {name}.astype(np.{0})",
            known.numpy_name()
        ),
        Some(known) if !known.is_supported() => unsupported_dtype(name, "an array of", known),
        Some(_) if view.shape().len() > MAX_RANK => {
            format!("the argument `{name}` has {} dimensions; Weft takes at most {MAX_RANK}", view.shape().len())
        }
        Some(known) => format!(
            "the argument `{name}` is not aligned in memory (its elements start at addresses that {} does not allow): \
             pass {name}.copy()",
            known.numpy_name()
        ),
    };
    errors::new(py, "UnsupportedError", message)
}

fn unsupported_dtype(name: &str, what: &str, known: DType) -> String {
    let dtype = known.numpy_name();
    let instead = match known {
        DType::F16 => "float32",
        DType::U64 | DType::U32 => "int64",
        d if d.is_int() => "int32",
        _ => "float64",
    };
    let also = if known.is_complex() { " for its real part" } else { "" };
    format!(
        "the argument `{name}` is {what} {dtype}, which Weft does not compute with yet (it takes bool, int32, int64, \
         float32 and float64): pass {name}.astype(np.{instead}){also}"
    )
}

/// Why some other object is not taken.
///
/// # Safety
/// `object` is live.
unsafe fn refuse_object(py: Python<'_>, object: *mut ffi::PyObject, scalar: Option<DType>, name: &str) -> PyErr {
    // SAFETY: the caller vouches for the object; the type checks only read its type.
    let (object, is_array, is_scalar) = unsafe {
        let api = Api::get();
        let is_array = ffi::PyObject_TypeCheck(object, api.array_type()) != 0;
        let is_scalar = ffi::PyObject_TypeCheck(object, api.generic_type()) != 0;
        (Bound::from_borrowed_ptr(py, object), is_array, is_scalar)
    };
    let ty = object.get_type().fully_qualified_name().map_or_else(|_| "?".to_owned(), |s| s.to_string());
    if let Some(known) = scalar {
        return errors::new(py, "UnsupportedError", unsupported_dtype(name, "a", known));
    }
    if is_array {
        let message = format!(
            "the argument `{name}` is a {ty}, a subclass of ndarray with rules of its own: pass np.asarray({name})"
        );
        return errors::new(py, "UnsupportedError", message);
    }
    if is_scalar {
        let message = format!("the argument `{name}` is a {ty}, which Weft does not compute with");
        return errors::new(py, "UnsupportedError", message);
    }
    let advice = match ty.as_str() {
        "list" | "tuple" => format!(": pass np.array({name})"),
        "complex" => ": Weft does not compute with complex numbers yet".to_owned(),
        _ => String::new(),
    };
    let message = format!(
        "the argument `{name}` is a {ty}; compiled functions take NumPy and Weft arrays, NumPy scalars, int, float, bool \
         and None{advice}"
    );
    errors::new(py, "TypingError", message)
}
