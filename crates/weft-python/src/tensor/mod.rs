//! The tensor door: Python's side of the recorder in `weft-tensor`. `create` makes and reads tensors.

mod create;

pub(crate) use create::{tensor_call, tensor_cast, tensor_empty, tensor_from_array, tensor_generate, tensor_to_array};

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pyclass::CompareOp;
use pyo3::types::{PyBool, PyComplex, PyComplexMethods, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use weft_diag::Sources;
use weft_ir::attr::{BinOp, CmpOp, Const, UnaryOp};
use weft_ir::{DType, Type};
use weft_runtime::Buffer;
use weft_tensor::{Node, Operand, Operation, Tensor, TensorError, generate, record, update};

use crate::array_device::{ArrayDevice, context_of};
use crate::at_work::border;
use crate::device::Device;
use crate::errors;
use crate::numpy::{ArrayView, make_scalar, read_scalar, scalar_dtype};
use crate::places::place_of;
use crate::queue::Queue;

/// An array on a device. Operations on it are recorded, and run fused when something looks.
#[pyclass(frozen, weakref, name = "usm_ndarray", module = "weft.tensor")]
pub(crate) struct UsmNdarray {
    /// Behind a lock because `x += y` gives the same object new content.
    tensor: Mutex<Tensor>,
}

impl UsmNdarray {
    pub(crate) fn new(tensor: Tensor) -> UsmNdarray {
        UsmNdarray { tensor: Mutex::new(tensor) }
    }

    pub(crate) fn tensor(&self) -> MutexGuard<'_, Tensor> {
        self.tensor.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A second handle, so that no lock is held while work runs.
    pub(crate) fn handle(&self) -> Tensor {
        Tensor::new(self.tensor().node().clone())
    }

    /// Gives it new content, unless its content is not `old` any more.
    fn replace(&self, old: &Arc<Node>, new: Arc<Node>) -> bool {
        let new = Tensor::new(new);
        let mut tensor = self.tensor();
        if !Arc::ptr_eq(tensor.node(), old) {
            return false;
        }
        let before = std::mem::replace(&mut *tensor, new);
        // Not under the lock: what goes with it may run code of its own.
        drop(tensor);
        drop(before);
        true
    }

    /// What it stands for, stored; runs what is pending, without the GIL.
    pub(crate) fn stored_node(&self, py: Python<'_>) -> PyResult<Arc<Node>> {
        let node = self.tensor().node().clone();
        if node.memory().is_none() {
            let tensor = Tensor::new(node.clone());
            py.detach(|| tensor.buffer()).map_err(|e| from_tensor(py, &e))?;
        }
        Ok(node)
    }

    /// Its memory; runs what is pending, without the GIL.
    pub(crate) fn buffer(&self, py: Python<'_>) -> PyResult<Arc<Buffer>> {
        if let Some(buffer) = self.tensor().memory() {
            return Ok(buffer);
        }
        let tensor = self.handle();
        py.detach(|| tensor.buffer()).map_err(|e| from_tensor(py, &e))
    }
}

/// A failure of the recorder as an exception.
pub(crate) fn from_tensor(py: Python<'_>, error: &TensorError) -> PyErr {
    match error {
        TensorError::Refused(d) => errors::from_diagnostic(py, d, &Sources::default()),
        TensorError::Value(text) => PyValueError::new_err(text.clone()),
        TensorError::Overflow(text) => PyOverflowError::new_err(text.clone()),
        TensorError::Type(text) => PyTypeError::new_err(text.clone()),
        TensorError::Placement(text) => errors::new(py, "ExecutionPlacementError", text.clone()),
        TensorError::Call(e) => errors::from_call(py, e, &errors::Origin::default()),
    }
}

fn wrap(py: Python<'_>, made: Result<Arc<Node>, TensorError>) -> PyResult<Py<PyAny>> {
    let node = made.map_err(|e| from_tensor(py, &e))?;
    Ok(Py::new(py, UsmNdarray::new(Tensor::new(node)))?.into_any())
}

/// An operand: a tensor, or a number. `None` for what the operation is not defined on.
fn operand(object: &Bound<'_, PyAny>) -> PyResult<Option<Operand>> {
    let py = object.py();
    if let Ok(tensor) = object.cast::<UsmNdarray>() {
        return Ok(Some(Operand::Tensor(tensor.get().tensor().node().clone())));
    }
    if object.is_exact_instance_of::<PyBool>() {
        return Ok(Some(Operand::Scalar(Type::PYBOOL, u64::from(object.is_truthy()?))));
    }
    if object.is_exact_instance_of::<PyInt>() {
        let value: i64 = object
            .extract()
            .map_err(|_| PyOverflowError::new_err("the int is outside the 64 bits that compiled code computes in"))?;
        return Ok(Some(Operand::Scalar(Type::PYINT, value as u64)));
    }
    if object.is_exact_instance_of::<PyFloat>() {
        return Ok(Some(Operand::Scalar(Type::PYFLOAT, object.extract::<f64>()?.to_bits())));
    }
    if let Ok(z) = object.cast_exact::<PyComplex>() {
        return Ok(Some(Operand::Const(Const::Complex(z.real(), z.imag()))));
    }
    // SAFETY: the object is alive for both calls.
    unsafe {
        if ArrayView::of_any(object.as_ptr()).is_some() {
            let message = "a NumPy array and a device array in one operation: say where it should run\n   = help: weft.tensor.asarray(a, device=x.device) or weft.tensor.asnumpy(x)";
            return Err(errors::new(py, "ExecutionPlacementError", message));
        }
        if let Some(dtype) = scalar_dtype(object.as_ptr()) {
            if dtype == DType::C128 {
                let message = "a NumPy complex128 scalar in a tensor operation is not supported yet: pass complex(x)";
                return Err(errors::new(py, "UnsupportedError", message));
            }
            return Ok(Some(Operand::Scalar(Type::Num(dtype), read_scalar(object.as_ptr(), dtype) as u64)));
        }
    }
    Ok(None)
}

fn own(slf: &Bound<'_, UsmNdarray>) -> Operand {
    Operand::Tensor(slf.get().tensor().node().clone())
}

/// `a op b`, or NotImplemented.
fn binary(op: Operation, a: Operand, b: &Bound<'_, PyAny>, swap: bool) -> PyResult<Py<PyAny>> {
    let py = b.py();
    border(py, || {
        let Some(b) = operand(b)? else { return Ok(py.NotImplemented()) };
        let operands = if swap { vec![b, a] } else { vec![a, b] };
        wrap(py, py.detach(|| record(op, operands)))
    })
}

fn inplace(slf: &Bound<'_, UsmNdarray>, op: BinOp, other: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = slf.py();
    border(py, || {
        // No lock is held while it is recorded, which may compile and run: what another thread has replaced meanwhile is
        // updated anew.
        loop {
            let node = slf.get().tensor().node().clone();
            let Some(other) = operand(other)? else {
                let ty = other.get_type().qualname()?;
                return Err(PyTypeError::new_err(format!("unsupported operand type for {}=: {ty}", op.text())));
            };
            let made = py.detach(|| update(op, &node, other)).map_err(|e| from_tensor(py, &e))?;
            if slf.get().replace(&node, made) {
                return Ok(());
            }
        }
    })
}

/// What `==` or `!=` gives beside an object that is no operand.
fn unequal(slf: &Bound<'_, UsmNdarray>, other: &Bound<'_, PyAny>, differs: bool) -> PyResult<Py<PyAny>> {
    let py = slf.py();
    if other.is_instance_of::<PyList>() || other.is_instance_of::<PyTuple>() {
        let ty = other.get_type().qualname()?;
        let text = format!("a tensor is compared with tensors and numbers, not with a {ty}: use weft.tensor.asarray");
        return Err(PyTypeError::new_err(text));
    }
    if !other.is_none() && !other.is_instance_of::<PyString>() {
        return Ok(py.NotImplemented());
    }
    // No element is what is no number.
    let tensor = slf.get().handle();
    let operands = vec![Operand::Scalar(Type::PYBOOL, u64::from(differs)), Operand::Scalar(Type::Num(DType::Bool), 0)];
    let shape = tensor.shape().to_vec();
    let made = generate("weft.lib.tensor.full", operands, shape, DType::Bool, tensor.queue().clone(), tensor.usm());
    wrap(py, Ok(made))
}

/// A refusal of what there is no way to do yet but on a copy.
fn not_yet(py: Python<'_>, what: &str) -> PyErr {
    let message = format!("{what} are not supported yet: use weft.tensor.asnumpy(x)");
    errors::new(py, "UnsupportedError", message)
}

#[pymethods]
impl UsmNdarray {
    /// `usm_ndarray(data, usm_type=, queue=)` holds a copy of data; without those keywords it is
    /// `usm_ndarray(shape, dtype, buffer="device")`, uninitialised.
    #[new]
    #[pyo3(signature = (*args, **kwargs))]
    fn py_new(py: Python<'_>, args: &Bound<'_, PyTuple>, kwargs: Option<&Bound<'_, PyDict>>) -> PyResult<UsmNdarray> {
        let made = py.import("weft.tensor")?.getattr("_construct")?.call(args, kwargs)?;
        Ok(UsmNdarray::new(made.cast::<UsmNdarray>()?.get().handle()))
    }

    /// The array on a queue and with a kind of memory: itself where it fits, else a copy.
    #[pyo3(signature = (queue = None, *, usm_type = None))]
    fn asarray<'py>(
        slf: &Bound<'py, Self>,
        queue: Option<&Bound<'py, PyAny>>,
        usm_type: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let kwargs = PyDict::new(slf.py());
        kwargs.set_item("queue", queue)?;
        kwargs.set_item("usm_type", usm_type)?;
        slf.py().import("weft.tensor")?.getattr("asarray")?.call((slf,), Some(&kwargs))
    }

    fn __add__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        binary(Operation::Binary(BinOp::Add), own(slf), other, false)
    }

    fn __radd__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        binary(Operation::Binary(BinOp::Add), own(slf), other, true)
    }

    fn __iadd__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        inplace(slf, BinOp::Add, other)
    }

    fn __sub__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        binary(Operation::Binary(BinOp::Sub), own(slf), other, false)
    }

    fn __rsub__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        binary(Operation::Binary(BinOp::Sub), own(slf), other, true)
    }

    fn __isub__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        inplace(slf, BinOp::Sub, other)
    }

    fn __mul__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        binary(Operation::Binary(BinOp::Mul), own(slf), other, false)
    }

    fn __rmul__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        binary(Operation::Binary(BinOp::Mul), own(slf), other, true)
    }

    fn __imul__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        inplace(slf, BinOp::Mul, other)
    }

    fn __truediv__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        binary(Operation::Binary(BinOp::Div), own(slf), other, false)
    }

    fn __rtruediv__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        binary(Operation::Binary(BinOp::Div), own(slf), other, true)
    }

    fn __itruediv__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        inplace(slf, BinOp::Div, other)
    }

    fn __floordiv__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        binary(Operation::Binary(BinOp::FloorDiv), own(slf), other, false)
    }

    fn __rfloordiv__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        binary(Operation::Binary(BinOp::FloorDiv), own(slf), other, true)
    }

    fn __ifloordiv__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        inplace(slf, BinOp::FloorDiv, other)
    }

    fn __mod__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        binary(Operation::Binary(BinOp::Mod), own(slf), other, false)
    }

    fn __rmod__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        binary(Operation::Binary(BinOp::Mod), own(slf), other, true)
    }

    fn __imod__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        inplace(slf, BinOp::Mod, other)
    }

    fn __and__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        binary(Operation::Binary(BinOp::And), own(slf), other, false)
    }

    fn __rand__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        binary(Operation::Binary(BinOp::And), own(slf), other, true)
    }

    fn __iand__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        inplace(slf, BinOp::And, other)
    }

    fn __or__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        binary(Operation::Binary(BinOp::Or), own(slf), other, false)
    }

    fn __ror__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        binary(Operation::Binary(BinOp::Or), own(slf), other, true)
    }

    fn __ior__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        inplace(slf, BinOp::Or, other)
    }

    fn __xor__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        binary(Operation::Binary(BinOp::Xor), own(slf), other, false)
    }

    fn __rxor__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        binary(Operation::Binary(BinOp::Xor), own(slf), other, true)
    }

    fn __ixor__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        inplace(slf, BinOp::Xor, other)
    }

    fn __lshift__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        binary(Operation::Binary(BinOp::Shl), own(slf), other, false)
    }

    fn __rlshift__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        binary(Operation::Binary(BinOp::Shl), own(slf), other, true)
    }

    fn __ilshift__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        inplace(slf, BinOp::Shl, other)
    }

    fn __rshift__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        binary(Operation::Binary(BinOp::Shr), own(slf), other, false)
    }

    fn __rrshift__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        binary(Operation::Binary(BinOp::Shr), own(slf), other, true)
    }

    fn __irshift__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        inplace(slf, BinOp::Shr, other)
    }

    fn __matmul__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        binary(Operation::Binary(BinOp::MatMul), own(slf), other, false)
    }

    fn __rmatmul__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        binary(Operation::Binary(BinOp::MatMul), own(slf), other, true)
    }

    fn __imatmul__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        inplace(slf, BinOp::MatMul, other)
    }

    fn __pow__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>, modulo: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        if !modulo.is_none() {
            return Ok(slf.py().NotImplemented());
        }
        binary(Operation::Binary(BinOp::Pow), own(slf), other, false)
    }

    fn __rpow__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>, modulo: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        if !modulo.is_none() {
            return Ok(slf.py().NotImplemented());
        }
        binary(Operation::Binary(BinOp::Pow), own(slf), other, true)
    }

    fn __ipow__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>, _modulo: &Bound<'_, PyAny>) -> PyResult<()> {
        inplace(slf, BinOp::Pow, other)
    }

    fn __neg__(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        unary(slf, Operation::Unary(UnaryOp::Neg))
    }

    fn __pos__(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        unary(slf, Operation::Unary(UnaryOp::Pos))
    }

    fn __invert__(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        unary(slf, Operation::Unary(UnaryOp::Invert))
    }

    fn __abs__(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        unary(slf, Operation::Call("numpy.absolute"))
    }

    fn __richcmp__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>, op: CompareOp) -> PyResult<Py<PyAny>> {
        let is = match op {
            CompareOp::Lt => CmpOp::Lt,
            CompareOp::Le => CmpOp::Le,
            CompareOp::Eq => CmpOp::Eq,
            CompareOp::Ne => CmpOp::Ne,
            CompareOp::Gt => CmpOp::Gt,
            CompareOp::Ge => CmpOp::Ge,
        };
        let compared = binary(Operation::Compare(is), own(slf), other, false)?;
        match is {
            CmpOp::Eq | CmpOp::Ne if compared.is(slf.py().NotImplemented()) => unequal(slf, other, is == CmpOp::Ne),
            _ => Ok(compared),
        }
    }

    /// Sizes.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.tensor().shape())
    }

    /// Number of dimensions.
    #[getter]
    fn ndim(&self) -> usize {
        self.tensor().shape().len()
    }

    /// Number of elements.
    #[getter]
    fn size(&self) -> usize {
        self.tensor().size()
    }

    /// Bytes of one element.
    #[getter]
    fn itemsize(&self) -> usize {
        self.tensor().dtype().size()
    }

    /// Bytes of all elements.
    #[getter]
    fn nbytes(&self) -> usize {
        let tensor = self.tensor();
        tensor.size() * tensor.dtype().size()
    }

    /// Element type, as a NumPy dtype.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("numpy")?.getattr("dtype")?.call1((self.tensor().dtype().numpy_name(),))
    }

    /// The queue it lives on.
    #[getter]
    fn queue(&self) -> Queue {
        Queue(self.tensor().queue().clone())
    }

    /// The queue it lives on, by dpctl's name.
    #[getter]
    fn sycl_queue(&self) -> Queue {
        self.queue()
    }

    /// The device it lives on, carrying its queue.
    #[getter]
    fn device(&self, py: Python<'_>) -> PyResult<Py<ArrayDevice>> {
        ArrayDevice::new(py, self.queue())
    }

    /// The device it lives on, without its queue.
    #[getter]
    fn sycl_device(&self) -> Device {
        Device(self.tensor().queue().device().clone())
    }

    /// The context it lives in.
    #[getter]
    fn context<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        context_of(py, self.queue())
    }

    /// The context it lives in, by dpctl's name.
    #[getter]
    fn sycl_context<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        context_of(py, self.queue())
    }

    /// Kind of memory: `device`, `shared` or `host`.
    #[getter]
    fn usm_type(&self) -> &'static str {
        self.tensor().usm().name()
    }

    /// The protocol by which others use this memory without a copy. Runs what is pending. An in-place operation later
    /// gives the tensor new memory, which this does not show.
    #[getter]
    fn __sycl_usm_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        border(py, || crate::memory::tensor_interface(py, self))
    }

    /// Whether operations are still to be run before its elements are known.
    #[getter]
    fn is_pending(&self) -> bool {
        self.tensor().is_pending()
    }

    /// NumPy's operators leave mixed expressions to ours, which refuse them.
    #[classattr]
    fn __array_ufunc__() -> Option<bool> {
        None
    }

    fn __len__(&self) -> PyResult<usize> {
        let first = self.tensor().shape().first().copied();
        first.map(|n| n as usize).ok_or_else(|| PyTypeError::new_err("len() of unsized object"))
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        match self.size() {
            1 => self.item(py)?.is_truthy(py),
            0 => Err(PyValueError::new_err(
                "The truth value of an empty array is ambiguous. Use `array.size > 0` to check that an array is not empty.",
            )),
            _ => Err(PyValueError::new_err("The truth value of an array with more than one element is ambiguous")),
        }
    }

    fn __float__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.get_type::<PyFloat>().call1((self.item(py)?,))
    }

    fn __int__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.get_type::<PyInt>().call1((self.item(py)?,))
    }

    fn __complex__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.get_type::<PyComplex>().call1((self.item(py)?,))
    }

    /// An array of one number and no axes is formatted as that number is.
    fn __format__<'py>(slf: &Bound<'py, Self>, spec: &str) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        match slf.get().ndim() {
            _ if spec.is_empty() => Ok(slf.str()?.into_any()),
            0 => slf.get().item(py)?.into_bound(py).call_method1("__format__", (spec,)),
            _ => {
                let text = "unsupported format string passed to weft.tensor.usm_ndarray.__format__";
                Err(PyTypeError::new_err(text))
            }
        }
    }

    /// The one element, as a Python number.
    fn item(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        if self.size() != 1 {
            return Err(PyValueError::new_err("can only convert an array of size 1 to a Python scalar"));
        }
        let dtype = self.tensor().dtype();
        let mut bytes = [0; 16];
        let buffer = border(py, || self.buffer(py))?;
        crate::memory::settle(py, &buffer)?;
        py.detach(|| buffer.to_host(0, &mut bytes[..dtype.size()])).map_err(|e| errors::from_hal(py, &e))?;
        make_scalar(py, dtype, u128::from_ne_bytes(bytes))?.call_method0(py, "item")
    }

    /// The array on another queue: itself where that is equal, else an array of its own, which is copied only where
    /// device or context differ.
    #[pyo3(signature = (device))]
    fn to_device<'py>(slf: &Bound<'py, Self>, device: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Self>> {
        let py = slf.py();
        let queue = place_of(py, Some(device))?;
        let tensor = slf.get().handle();
        if **tensor.queue() == *queue {
            return Ok(slf.clone());
        }
        border(py, || {
            let moved = py.detach(|| tensor.to_queue(&queue)).map_err(|e| from_tensor(py, &e))?;
            Bound::new(py, UsmNdarray::new(moved))
        })
    }

    fn __getitem__(&self, index: &Bound<'_, PyAny>) -> PyResult<()> {
        Err(not_yet(index.py(), "indexing tensors and loops over them"))
    }

    /// Without this, Python's loop would ask for items.
    fn __iter__(&self, py: Python<'_>) -> PyResult<()> {
        match self.ndim() {
            0 => Err(PyTypeError::new_err("iteration over a 0-d array")),
            _ => Err(not_yet(py, "indexing tensors and loops over them")),
        }
    }

    fn __setitem__(&self, index: &Bound<'_, PyAny>, _value: &Bound<'_, PyAny>) -> PyResult<()> {
        Err(not_yet(index.py(), "stores into elements of tensors"))
    }

    fn __delitem__(&self, _index: &Bound<'_, PyAny>) -> PyResult<()> {
        Err(PyValueError::new_err("cannot delete array elements"))
    }

    /// A tensor of its own with the same elements.
    fn __copy__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("weft.tensor")?.getattr("_copy")?.call1((slf,))
    }

    fn __deepcopy__<'py>(slf: &Bound<'py, Self>, _memo: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        Self::__copy__(slf)
    }

    /// Content, kind of memory and device travel; the queue there is the device's default one.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let py = slf.py();
        let tensors = py.import("weft.tensor")?;
        let content = tensors.getattr("asnumpy")?.call1((slf,))?;
        let tensor = slf.get().handle();
        let state = (content, tensor.queue().filter(), tensor.usm().name());
        Ok((tensors.getattr("_restore")?, state.into_pyobject(py)?))
    }

    /// The text of a compiler stage of what is pending here, or None when nothing is.
    fn inspect(&self, py: Python<'_>, stage: &str) -> PyResult<Option<String>> {
        let stages = weft_tensor::inspect(self.tensor().node()).map_err(|e| from_tensor(py, &e))?;
        let Some(stages) = stages else { return Ok(None) };
        let module = match stage {
            "ntensor" => &stages.ntensor,
            "placed" => &stages.placed,
            "fused" => &stages.fused,
            "loops" => &stages.loops,
            _ => return Err(PyValueError::new_err("a stage is ntensor, placed, fused or loops")),
        };
        Ok(Some(weft_ir::print::print_module(module, false)))
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        slf.py().import("weft.tensor")?.getattr("_repr")?.call1((slf,))?.extract()
    }

    fn __str__(slf: &Bound<'_, Self>) -> PyResult<String> {
        slf.py().import("weft.tensor")?.getattr("_str")?.call1((slf,))?.extract()
    }

    /// NumPy's protocol for what becomes an array.
    #[pyo3(signature = (dtype = None, *, copy = None))]
    fn __array__(
        &self,
        py: Python<'_>,
        dtype: Option<&Bound<'_, PyAny>>,
        copy: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let _ = (dtype, copy);
        let message = "NumPy cannot see into a device array: copy it with weft.tensor.asnumpy(x)";
        Err(errors::new(py, "ExecutionPlacementError", message))
    }
}

fn unary(slf: &Bound<'_, UsmNdarray>, op: Operation) -> PyResult<Py<PyAny>> {
    let py = slf.py();
    let x = own(slf);
    border(py, || wrap(py, py.detach(|| record(op, vec![x]))))
}
