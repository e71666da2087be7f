//! Python objects → dispatch key and argument slots, in one pass.
//!
//! A slot is eight bytes: a scalar's bits, or for an array its address, owner word, sizes and byte strides (COMPILER 5.1).
//! A double-precision complex number has two. The parts of a tuple follow each other. Values are numbered over all
//! arguments; the owner word `2v+1` says that value `v` lends the memory. None, functions, types and strings have no
//! slots: a specialisation is for one of them.

use std::sync::Arc;

use pyo3::exceptions::PyOverflowError;
use pyo3::ffi;
use pyo3::prelude::*;
use smallvec::SmallVec;
use weft_ir::{DType, Weak};
use weft_runtime::{Buffer, Queue};
use weft_tensor::Node;

use crate::array_like::{offered, plain_subclass, why_refused};
use crate::binding::Binding;
use crate::constants::Constant;
use crate::function::Function;
use crate::key::{Alike, Key, MAX_RANK, Word};
use crate::lists::ListArgument;
use crate::numpy::{Api, ArrayView, read_scalar, scalar_dtype};
use crate::specialisation::Specialisation;
use crate::tensor::UsmNdarray;
use crate::{errors, places};

/// Most tuples inside each other.
const MAX_DEPTH: usize = 16;

/// The arguments of one call, ready to be looked up and run.
#[derive(Default)]
pub(crate) struct Arguments {
    /// What a specialisation is found by.
    pub(crate) key: Key,
    /// What compiled code reads.
    pub(crate) slots: SmallVec<[u64; 64]>,
    /// The object of each value.
    pub(crate) values: SmallVec<[*mut ffi::PyObject; 8]>,
    /// Which sizes are equal.
    pub(crate) alike: Alike,
    /// Elements of the largest array.
    pub(crate) elements: usize,
    /// The largest int, whatever its sign.
    pub(crate) int: u64,
    /// The first NumPy array, by position of the argument.
    pub(crate) host_array: Option<usize>,
    /// Device arrays.
    pub(crate) tensors: SmallVec<[TensorArgument; 4]>,
    /// Lists.
    pub(crate) lists: SmallVec<[ListArgument; 1]>,
    /// What must live as long as the call and is not an argument.
    pub(crate) kept: SmallVec<[Py<PyAny>; 1]>,
}

/// A device array among the arguments.
pub(crate) struct TensorArgument {
    /// Position of the argument that it is, or is in.
    pub(crate) k: usize,
    /// Its number among the values.
    pub(crate) value: usize,
    /// Position of its address among the slots.
    pub(crate) slot: usize,
    /// What it stands for; nothing is pending.
    pub(crate) node: Arc<Node>,
}

impl TensorArgument {
    /// Its memory.
    pub(crate) fn buffer(&self) -> &Arc<Buffer> {
        self.node.memory().expect("arguments are stored")
    }
}

impl Arguments {
    /// The queue that a specialisation runs on: data say which of several equal ones; else its own.
    pub(crate) fn queue<'a>(&'a self, made: &'a Specialisation) -> &'a Arc<Queue> {
        self.tensors.first().map_or(&made.queue, |t| t.node.queue())
    }

    /// Reads every argument. Into a place of the caller's: this is too large to move.
    ///
    /// # Safety
    /// The pointers are live objects, which stay so while the slots are in use.
    #[inline]
    pub(crate) unsafe fn read(
        &mut self,
        py: Python<'_>,
        objects: &[*mut ffi::PyObject],
        function: &Function,
    ) -> PyResult<()> {
        for (k, &object) in objects.iter().enumerate() {
            // SAFETY: passed on to the caller.
            unsafe { self.push(py, k, object, function, 0) }?;
        }
        Ok(())
    }

    /// Reads every argument, those that are defaults as constants.
    ///
    /// # Safety
    /// As for [`Arguments::read`].
    pub(crate) unsafe fn read_omitted(
        &mut self,
        py: Python<'_>,
        objects: &[*mut ffi::PyObject],
        function: &Function,
    ) -> PyResult<()> {
        let binding = function.binding(py)?;
        for (k, &object) in objects.iter().enumerate() {
            if !self.push_default(py, k, object, function, binding) {
                // SAFETY: passed on to the caller.
                unsafe { self.push(py, k, object, function, 0) }?;
            }
        }
        Ok(())
    }

    /// [`Arguments::read_plain`], of those that are not defaults.
    ///
    /// # Safety
    /// As for [`Arguments::read`].
    pub(crate) unsafe fn read_plain_omitted(
        &mut self,
        py: Python<'_>,
        objects: &[*mut ffi::PyObject],
        function: &Function,
        binding: &Binding,
    ) -> bool {
        objects.iter().enumerate().all(|(k, &object)| {
            // SAFETY: passed on to the caller.
            self.push_default(py, k, object, function, binding) || unsafe { self.push_plain(k, object) }
        })
    }

    /// Whether an argument is the number that its parameter has as default: then it is read, as a constant.
    fn push_default(
        &mut self,
        py: Python<'_>,
        k: usize,
        object: *mut ffi::PyObject,
        function: &Function,
        binding: &Binding,
    ) -> bool {
        let Some(value) = binding.number_default(k, object) else { return false };
        let number = function.constants.number_of(py, Constant::Number(value.clone()));
        self.key.push(Word::constant(number));
        true
    }

    /// Reads the arguments if all are plain: arrays and numbers of the host.
    ///
    /// # Safety
    /// As for [`Arguments::read`].
    #[inline]
    pub(crate) unsafe fn read_plain(&mut self, objects: &[*mut ffi::PyObject]) -> bool {
        // SAFETY: passed on to the caller.
        objects.iter().enumerate().all(|(k, &object)| unsafe { self.push_plain(k, object) })
    }

    #[inline]
    unsafe fn push_plain(&mut self, k: usize, object: *mut ffi::PyObject) -> bool {
        // SAFETY: passed on to the caller.
        unsafe {
            if let Some(view) = ArrayView::new(object) {
                return self.push_array(k, object, view);
            }
            let ty = ffi::Py_TYPE(object);
            if ty == &raw mut ffi::PyFloat_Type {
                self.push_scalar(object, Word::weak(Weak::Float), ffi::PyFloat_AsDouble(object).to_bits());
                return true;
            }
            if ty == &raw mut ffi::PyLong_Type {
                let mut overflow = 0;
                let value = ffi::PyLong_AsLongLongAndOverflow(object, &mut overflow);
                self.alike.add_int(self.slots.len());
                self.int = self.int.max(value.unsigned_abs());
                self.push_scalar(object, Word::weak(Weak::Int), value as u64);
                return overflow == 0;
            }
            if ty == &raw mut ffi::PyBool_Type {
                self.push_scalar(object, Word::weak(Weak::Bool), u64::from(object == ffi::Py_True()));
                return true;
            }
            if object == ffi::Py_None() {
                self.key.push(Word::weak(Weak::None));
                return true;
            }
            let Some(dtype) = scalar_dtype(object) else { return false };
            let bits = read_scalar(object, dtype);
            self.push_scalar(object, Word::strong(dtype), bits as u64);
            // A c128 takes two slots.
            if dtype == DType::C128 {
                self.slots.push((bits >> 64) as u64);
            }
            true
        }
    }

    /// Reads one argument.
    ///
    /// # Safety
    /// As for [`Arguments::read`].
    pub(crate) unsafe fn push(
        &mut self,
        py: Python<'_>,
        k: usize,
        object: *mut ffi::PyObject,
        function: &Function,
        depth: usize,
    ) -> PyResult<()> {
        // SAFETY: the caller of `read` vouches for the object throughout.
        unsafe {
            if self.push_plain(k, object) {
                return Ok(());
            }
            if let Some(view) = ArrayView::new(object) {
                return Err(refuse_array(py, view, &function.parameters[k]));
            }
            if ffi::Py_TYPE(object) == &raw mut ffi::PyLong_Type {
                return Err(PyOverflowError::new_err(format!(
                    "the argument `{}` is an int outside the 64 bits that compiled code computes in",
                    function.parameters[k]
                )));
            }
            self.push_other(py, k, object, function, depth)
        }
    }

    /// What is less common, or costs more anyway.
    unsafe fn push_other(
        &mut self,
        py: Python<'_>,
        k: usize,
        object: *mut ffi::PyObject,
        function: &Function,
        depth: usize,
    ) -> PyResult<()> {
        let name = &function.parameters[k];
        // SAFETY: the caller of `read` vouches for the object throughout.
        unsafe {
            let ty = ffi::Py_TYPE(object);
            if ty == &raw mut ffi::PyTuple_Type {
                return self.push_tuple(py, k, object, function, depth);
            }
            if ty == &raw mut ffi::PyList_Type {
                return self.push_list(py, object, name);
            }
            if ty == &raw mut ffi::PyComplex_Type {
                let (re, im) = (ffi::PyComplex_RealAsDouble(object), ffi::PyComplex_ImagAsDouble(object));
                self.push_scalar(object, Word::weak(Weak::Complex), re.to_bits());
                self.slots.push(im.to_bits());
                return Ok(());
            }
            let bound = Bound::from_borrowed_ptr(py, object);
            if let Ok(tensor) = bound.cast::<UsmNdarray>() {
                return self.push_tensor(py, k, object, tensor.get());
            }
            if let Some(number) = function.constants.number(&bound)? {
                self.key.push(Word::constant(number));
                return Ok(());
            }
            if let Some(view) = plain_subclass(object) {
                return match self.push_array(k, object, view) {
                    true => Ok(()),
                    false => Err(refuse_array(py, view, name)),
                };
            }
            self.push_offered(py, k, &bound, name)
        }
    }

    /// What is no array itself, but offers one.
    fn push_offered(&mut self, py: Python<'_>, k: usize, object: &Bound<'_, PyAny>, name: &str) -> PyResult<()> {
        let refused = || {
            // SAFETY: a live object.
            unsafe { refuse_object(py, object.as_ptr(), name) }
        };
        let array = if is_numpy(object) { None } else { offered(object, name)? };
        let array = array.ok_or_else(refused)?;
        // SAFETY: kept alive for the call.
        let view = unsafe { ArrayView::new(array.as_ptr()) }.ok_or_else(refused)?;
        if !self.push_array(k, array.as_ptr(), view) {
            return Err(refuse_array(py, view, name));
        }
        self.kept.push(array.unbind());
        Ok(())
    }

    fn push_scalar(&mut self, object: *mut ffi::PyObject, word: Word, bits: u64) {
        self.key.push(word);
        self.slots.push(bits);
        self.values.push(object);
    }

    /// Whether the array could be taken.
    #[inline]
    fn push_array(&mut self, k: usize, object: *mut ffi::PyObject, view: ArrayView<'_>) -> bool {
        let Some(word) = array_word(view) else { return false };
        let (shape, strides) = (view.shape(), view.strides());
        self.key.push(word);
        let owner = 2 * self.values.len() as u64 + 1;
        self.values.push(object);
        let (rank, at) = (shape.len(), self.slots.len());
        let mut elements = 1;
        self.slots.reserve(2 + 2 * rank);
        // SAFETY: there is room for as many slots as are written.
        unsafe {
            let slots = self.slots.as_mut_ptr().add(at);
            *slots = view.data() as u64;
            *slots.add(1) = owner;
            for i in 0..rank {
                elements *= shape[i] as usize;
                *slots.add(2 + i) = shape[i] as u64;
                *slots.add(2 + rank + i) = strides[i] as u64;
            }
            self.slots.set_len(at + 2 + 2 * rank);
        }
        self.alike.add(&self.slots, at + 2, rank);
        self.elements = self.elements.max(elements);
        if self.host_array.is_none() {
            self.host_array = Some(k);
        }
        true
    }

    /// The parts of a tuple, in order.
    unsafe fn push_tuple(
        &mut self,
        py: Python<'_>,
        k: usize,
        object: *mut ffi::PyObject,
        function: &Function,
        depth: usize,
    ) -> PyResult<()> {
        if depth >= MAX_DEPTH {
            let message = format!(
                "the argument `{}` has tuples inside each other more than {MAX_DEPTH} deep",
                function.parameters[k]
            );
            return Err(errors::new(py, "UnsupportedError", message));
        }
        // SAFETY: an exact tuple, which keeps its parts alive.
        unsafe {
            let parts = ffi::PyTuple_Size(object);
            self.key.push(Word::tuple(parts as usize));
            for i in 0..parts {
                self.push(py, k, ffi::PyTuple_GetItem(object, i), function, depth + 1)?;
            }
        }
        Ok(())
    }

    /// An object that compiled code reads at every call without being an argument: whether it has this word still.
    ///
    /// # Safety
    /// As for [`Arguments::read`].
    pub(crate) unsafe fn push_hidden(&mut self, object: *mut ffi::PyObject, word: Word) -> bool {
        let (key, host_array) = (self.key.len(), self.host_array);
        // SAFETY: passed on to the caller.
        let taken = unsafe {
            self.push_plain(0, object) || plain_subclass(object).is_some_and(|view| self.push_array(0, object, view))
        };
        // It is not part of what was looked up.
        let same = taken && self.key.last() == Some(&word);
        self.key.truncate(key);
        self.host_array = host_array;
        same
    }
}

/// The word of an array, if it can be an argument.
#[inline]
pub(crate) fn array_word(view: ArrayView<'_>) -> Option<Word> {
    let dtype = view.dtype()?;
    let fits = view.is_native_order() && view.is_aligned() && view.shape().len() <= MAX_RANK;
    fits.then(|| Word::array(view, dtype))
}

impl Arguments {
    /// A device array: what is pending on it runs first.
    pub(crate) fn push_tensor(
        &mut self,
        py: Python<'_>,
        k: usize,
        object: *mut ffi::PyObject,
        array: &UsmNdarray,
    ) -> PyResult<()> {
        let node = array.stored_node(py)?;
        let (shape, dtype) = (node.shape(), node.dtype());
        self.key.push(Word::tensor(shape, dtype, places::place_id(node.queue())));
        let (slot, value, rank) = (self.slots.len(), self.values.len(), shape.len());
        self.values.push(object);
        self.slots.resize(slot + 2 + 2 * rank, 0);
        let slots = &mut self.slots[slot..];
        slots[0] = node.memory().map_or(0, |buffer| buffer.address());
        slots[1] = 2 * value as u64 + 1;
        // The strides of a C-ordered array, in bytes.
        let (mut stride, mut elements) = (dtype.size() as i64, 1);
        for (i, &n) in shape.iter().enumerate().rev() {
            slots[2 + i] = n as u64;
            slots[2 + rank + i] = stride as u64;
            stride *= n.max(1);
            elements *= n as usize;
        }
        self.alike.add(&self.slots, slot + 2, rank);
        self.elements = self.elements.max(elements);
        self.tensors.push(TensorArgument { k, value, slot, node });
        Ok(())
    }
}

/// Whether an object is an array or a scalar of NumPy's, of whatever type.
fn is_numpy(object: &Bound<'_, PyAny>) -> bool {
    let api = Api::get();
    // SAFETY: a live object has a type; only that is read.
    unsafe {
        let is = |ty| ffi::PyObject_TypeCheck(object.as_ptr(), ty) != 0;
        is(api.array_type()) || is(api.generic_type())
    }
}

/// Why an array is not taken, and what to pass instead. Asks NumPy nothing.
fn refuse_array(py: Python<'_>, view: ArrayView<'_>, name: &str) -> PyErr {
    let message = match view.dtype() {
        None => format!(
            "the argument `{name}` is an array of {}, which Weft does not compute with (it takes bools, integers of up to 64 \
             bits, float16, float32, float64, complex64 and complex128): convert it with {name}.astype(...)",
            view.element_type(py)
        ),
        Some(known) if !view.is_native_order() => format!(
            "the argument `{name}` is an array of byte-swapped {0}: pass {name}.astype(np.{0})",
            known.numpy_name()
        ),
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

/// Why some other object is not taken.
///
/// # Safety
/// `object` is live.
unsafe fn refuse_object(py: Python<'_>, object: *mut ffi::PyObject, name: &str) -> PyErr {
    // SAFETY: the caller vouches for the object; the type checks only read its type.
    let (object, is_array, is_scalar) = unsafe {
        let api = Api::get();
        let is_array = ffi::PyObject_TypeCheck(object, api.array_type()) != 0;
        let is_scalar = ffi::PyObject_TypeCheck(object, api.generic_type()) != 0;
        (Bound::from_borrowed_ptr(py, object), is_array, is_scalar)
    };
    let ty = object.get_type().fully_qualified_name().map_or_else(|_| "?".to_owned(), |s| s.to_string());
    if is_array {
        return why_refused(&object, name);
    }
    if is_scalar {
        let message = format!("the argument `{name}` is a {ty}, which Weft does not compute with");
        return errors::new(py, "UnsupportedError", message);
    }
    let advice = match ty.as_str() {
        "dict" | "set" | "frozenset" => ": pass its values as arrays or tuples".to_owned(),
        "bytes" | "bytearray" => format!(": pass np.frombuffer({name}, np.uint8)"),
        "str" => String::new(),
        _ if object.is_instance_of::<pyo3::types::PyTuple>() => format!(": pass tuple({name})"),
        _ if object.is_instance_of::<pyo3::types::PyInt>() => format!(": pass int({name})"),
        _ if object.is_instance_of::<pyo3::types::PyFloat>() => format!(": pass float({name})"),
        _ if object.hasattr("__array__").unwrap_or(false) => {
            format!(": pass np.asarray({name}), where its own rules may be left out")
        }
        _ if object.is_callable() => ": functions are taken if they are written in Python, or known to Weft".to_owned(),
        _ => format!(": pass what the function needs of {name}"),
    };
    let message = format!(
        "the argument `{name}` is a {ty}; compiled functions take NumPy and Weft arrays, NumPy scalars, int, float, \
         complex, bool, None, str, tuples and lists of these, functions and dtypes{advice}"
    );
    errors::new(py, "TypingError", message)
}
