//! Arguments of a launch: checked against what the kernel declares, then packed.

use std::sync::Arc;

use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyFloat, PyInt};
use smallvec::SmallVec;
use weft_hal::{ArgField, ArgKind, Kernel, Parameter, ParameterKind};
use weft_ir::DType;
use weft_runtime::{Buffer, Queue};
use weft_tensor::Tensor;

use crate::errors;
use crate::memory::Target;
use crate::numpy::{ArrayView, read_scalar, scalar_dtype};
use crate::places::describe;
use crate::tensor::UsmNdarray;

/// One argument, checked.
enum Argument<'py> {
    Tensor {
        object: Bound<'py, UsmNdarray>,
        written: bool,
    },
    Memory {
        buffer: Arc<Buffer>,
        written: bool,
    },
    Null,
    Bytes(SmallVec<[u8; 16]>),
    /// So many bytes of each work-group's local memory.
    Local(u32),
}

/// Local memory of a work-group, as an argument: on OpenCL for a parameter that points to local memory; on CUDA, beside the
/// parameters, the size of the kernel's `extern .shared` memory.
#[pyclass(frozen, eq, hash, module = "weft.program")]
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct WorkGroupMemory {
    bytes: u32,
}

#[pymethods]
impl WorkGroupMemory {
    #[new]
    fn new(nbytes: &Bound<'_, PyAny>) -> PyResult<WorkGroupMemory> {
        match nbytes.extract::<u32>() {
            Ok(bytes) if bytes > 0 => Ok(WorkGroupMemory { bytes }),
            _ => Err(PyValueError::new_err(format!("local memory has a number of bytes above zero, not {nbytes}"))),
        }
    }

    /// How many bytes each work-group gets.
    #[getter]
    fn nbytes(&self) -> u32 {
        self.bytes
    }

    fn __repr__(&self) -> String {
        format!("weft.program.WorkGroupMemory({})", self.bytes)
    }
}

/// The arguments of a launch.
pub(super) struct Call<'py>(Vec<Argument<'py>>);

/// Arguments as a queue takes them, and the memory among them.
#[derive(Default)]
pub(super) struct Packed {
    pub(super) bytes: SmallVec<[u8; 128]>,
    pub(super) fields: Vec<ArgField>,
    pub(super) reads: Vec<Arc<Buffer>>,
    pub(super) writes: Vec<Arc<Buffer>>,
}

/// A parameter's type in words.
pub(super) fn words(kind: &ParameterKind) -> String {
    match kind {
        ParameterKind::Pointer { element: Some(element), .. } => format!("pointer to {}", words(element)),
        ParameterKind::Pointer { element: None, .. } => "pointer".to_owned(),
        ParameterKind::Local => "pointer to local memory".to_owned(),
        ParameterKind::Int { bytes, signed: Some(false) } => format!("uint{}", bytes * 8),
        ParameterKind::Int { bytes, .. } => format!("int{}", bytes * 8),
        ParameterKind::Float { bytes } => format!("float{}", bytes * 8),
        ParameterKind::Bits { bytes: 8 } => "pointer or 8 bytes".to_owned(),
        ParameterKind::Bits { bytes } => format!("{bytes} bytes"),
        ParameterKind::Other { what, .. } => what.clone(),
        _ => "something else".to_owned(),
    }
}

/// What messages about one argument need.
struct Named<'a> {
    kernel: &'a str,
    index: usize,
    parameter: Option<&'a Parameter>,
}

impl Named<'_> {
    fn words(&self) -> String {
        let name = self.parameter.map(|p| &*p.name).filter(|n| !n.is_empty());
        let name = name.map_or(String::new(), |n| format!(" (`{n}`)"));
        format!("kernel `{}`: argument {}{name}", self.kernel, self.index)
    }

    fn wrong(&self, object: &Bound<'_, PyAny>, hint: &str) -> PyErr {
        let ty = object.get_type().fully_qualified_name().map_or_else(|_| "?".to_owned(), |s| s.to_string());
        let takes = self.parameter.map_or("memory or a NumPy scalar".to_owned(), |p| words(&p.kind));
        PyTypeError::new_err(format!("{} is declared {takes}, and {ty} was given{hint}", self.words()))
    }
}

impl<'py> Call<'py> {
    /// Checks number and types. `shared_apart`: local memory is no parameter of kernels, as on CUDA.
    pub(super) fn read(args: &Bound<'py, PyAny>, kernel: &dyn Kernel, shared_apart: bool) -> PyResult<Call<'py>> {
        let parameters = kernel.parameters();
        let (mut list, mut apart) = (vec![], vec![]);
        for object in args.try_iter()? {
            let (object, index) = (object?, list.len());
            if let (true, Ok(local)) = (shared_apart, object.cast::<WorkGroupMemory>()) {
                apart.push(Argument::Local(local.get().bytes));
                continue;
            }
            let parameter = match parameters {
                Some(known) => match known.get(index) {
                    Some(parameter) => Some(parameter),
                    None => return Err(miscounted(kernel, known, args.len().unwrap_or(index + 1))),
                },
                None => None,
            };
            list.push(read_one(&object, &Named { kernel: kernel.name(), index, parameter })?);
        }
        match parameters {
            Some(known) if known.len() != list.len() => Err(miscounted(kernel, known, list.len())),
            _ => {
                list.append(&mut apart);
                Ok(Call(list))
            }
        }
    }

    /// The queue to launch on: the one named, else where the arguments live, else `home`.
    pub(super) fn place(
        &self,
        py: Python<'_>,
        kernel: &dyn Kernel,
        named: Option<Arc<Queue>>,
        home: &Arc<Queue>,
    ) -> PyResult<Arc<Queue>> {
        let explicit = named.is_some();
        let mut chosen = named;
        for (index, argument) in self.0.iter().enumerate() {
            let lives = match argument {
                Argument::Tensor { object, .. } => object.get().tensor().queue().clone(),
                Argument::Memory { buffer, .. } => match buffer.queue() {
                    Some(queue) => queue.clone(),
                    None => continue,
                },
                _ => continue,
            };
            let Some(queue) = &chosen else {
                chosen = Some(lives);
                continue;
            };
            // A queue that was named may use all memory of its context; without one, data decide, and must agree.
            let near = lives.context() == queue.context() && Arc::ptr_eq(lives.device(), queue.device());
            if !(if explicit { near } else { *lives == **queue }) {
                let parameter = kernel.parameters().and_then(|p| p.get(index));
                let which = Named { kernel: kernel.name(), index, parameter }.words();
                let (there, here) = (describe(&lives), describe(queue));
                let message = format!(
                    "{which} lives on {there}, and the launch is on {here}: pass its .to_device(queue) or name a queue="
                );
                return Err(errors::new(py, "ExecutionPlacementError", message));
            }
        }
        Ok(chosen.unwrap_or_else(|| home.clone()))
    }

    /// Packs everything; runs what is pending on tensors.
    pub(super) fn pack(&mut self, py: Python<'_>) -> PyResult<Packed> {
        // What will be written first: a tensor may get a version of its own, which its other uses must see.
        let mut buffers: Vec<Option<Arc<Buffer>>> = vec![None; self.0.len()];
        for pass in [true, false] {
            for (argument, buffer) in self.0.iter().zip(&mut buffers) {
                match argument {
                    Argument::Tensor { object, written: true } if pass => *buffer = Some(own_version(object)?),
                    Argument::Tensor { object, written: false } if !pass => *buffer = Some(object.get().buffer(py)?),
                    Argument::Memory { buffer: memory, .. } if pass => *buffer = Some(memory.clone()),
                    _ => {}
                }
            }
        }
        let mut packed = Packed::default();
        for (argument, buffer) in self.0.iter().zip(buffers) {
            match argument {
                Argument::Bytes(bytes) => packed.push(bytes, ArgKind::Value),
                Argument::Local(bytes) => {
                    packed.fields.push(ArgField { offset: 0, size: *bytes, kind: ArgKind::Local });
                }
                Argument::Null => packed.push(&0_u64.to_ne_bytes(), ArgKind::Pointer),
                Argument::Tensor { written, .. } | Argument::Memory { written, .. } => {
                    let Some(buffer) = buffer else { continue };
                    packed.push(&buffer.address().to_ne_bytes(), ArgKind::Pointer);
                    if *written { &mut packed.writes } else { &mut packed.reads }.push(buffer);
                }
            }
        }
        Ok(packed)
    }
}

impl Packed {
    fn push(&mut self, bytes: &[u8], kind: ArgKind) {
        let offset = self.bytes.len().next_multiple_of(16);
        self.bytes.resize(offset, 0);
        self.bytes.extend_from_slice(bytes);
        self.fields.push(ArgField { offset: offset as u32, size: bytes.len() as u32, kind });
    }
}

fn miscounted(kernel: &dyn Kernel, known: &[Parameter], given: usize) -> PyErr {
    let list: Vec<String> =
        known.iter().map(|p| format!("{} {}", words(&p.kind), p.name).trim_end().to_owned()).collect();
    PyTypeError::new_err(format!(
        "kernel `{}` takes {} arguments ({}), and {given} were given",
        kernel.name(),
        known.len(),
        list.join(", ")
    ))
}

fn read_one<'py>(object: &Bound<'py, PyAny>, named: &Named<'_>) -> PyResult<Argument<'py>> {
    let Some(parameter) = named.parameter else {
        return match memory(object, None, true, named)? {
            Some(found) => Ok(found),
            None => typed_bytes(object)?.map_or_else(|| Err(named.wrong(object, "")), |(_, b)| Ok(Argument::Bytes(b))),
        };
    };
    match &parameter.kind {
        ParameterKind::Pointer { element, written } => {
            let found = memory(object, element.as_deref(), *written, named)?;
            found.ok_or_else(|| named.wrong(object, ": pass a tensor or weft.memory"))
        }
        ParameterKind::Local => match object.cast::<WorkGroupMemory>() {
            Ok(local) => Ok(Argument::Local(local.get().bytes)),
            Err(_) => Err(named.wrong(object, ": pass weft.program.WorkGroupMemory(nbytes)")),
        },
        ParameterKind::Bits { bytes } => {
            if *bytes == 8
                && let Some(found) = memory(object, None, true, named)?
            {
                return Ok(found);
            }
            match typed_bytes(object)? {
                Some((_, value)) if value.len() == *bytes as usize => Ok(Argument::Bytes(value)),
                _ => Err(named.wrong(object, ": pass a NumPy or ctypes scalar of that size")),
            }
        }
        ParameterKind::Other { bytes, .. } => match raw_bytes(object)? {
            Some(value) if bytes.is_none_or(|n| n as usize == value.len()) && !value.is_empty() => {
                Ok(Argument::Bytes(value))
            }
            _ => Err(named.wrong(object, ": pass bytes or a ctypes object of its size")),
        },
        kind => number(object, kind, named).map(Argument::Bytes),
    }
}

/// Whether elements of a dtype may lie where a kernel declares others. Single bytes may be anything.
fn fits(dtype: DType, element: Option<&ParameterKind>) -> bool {
    match element {
        Some(ParameterKind::Int { bytes, .. }) => *bytes == 1 || (dtype.is_int() && dtype.size() == *bytes as usize),
        Some(ParameterKind::Float { bytes }) => dtype.is_float() && dtype.size() == *bytes as usize,
        _ => true,
    }
}

/// An argument that is memory, or `None`.
fn memory<'py>(
    object: &Bound<'py, PyAny>,
    element: Option<&ParameterKind>,
    written: bool,
    named: &Named<'_>,
) -> PyResult<Option<Argument<'py>>> {
    if object.is_none() {
        return Ok(Some(Argument::Null));
    }
    if let Ok(tensor) = object.cast::<UsmNdarray>() {
        let dtype = tensor.get().tensor().dtype();
        if !fits(dtype, element) {
            return Err(named.wrong(object, &format!(" with elements of {}", dtype.numpy_name())));
        }
        return Ok(Some(Argument::Tensor { object: tensor.clone(), written }));
    }
    // SAFETY: the object is alive.
    if unsafe { ArrayView::of_any(object.as_ptr()) }.is_some() {
        return Err(named.wrong(object, ": pass weft.tensor.asarray(x), which copies it to a device"));
    }
    // Scalars of NumPy and ctypes have buffers too; only memory of a device is meant here.
    if object.getattr_opt("__sycl_usm_array_interface__")?.is_none() {
        return Ok(None);
    }
    let found = if written { Target::writable(object) } else { Target::readable(object) };
    match found? {
        Target::Buffer(buffer) => Ok(Some(Argument::Memory { buffer, written })),
        Target::Host(_) => Ok(None),
    }
}

/// The memory of a tensor that will be written. Where pending operations still read it, or another tensor has the same
/// memory, the tensor first gets a version of its own.
fn own_version(object: &Bound<'_, UsmNdarray>) -> PyResult<Arc<Buffer>> {
    let py = object.py();
    let buffer = object.get().buffer(py)?;
    let tensor = object.get().handle();
    // The object's own handle, and `tensor`.
    if Arc::strong_count(tensor.node()) <= 2 && !tensor.node().is_shared() {
        return Ok(buffer);
    }
    let copy = py.detach(|| buffer.copy_to(Some(tensor.queue()), buffer.kind()));
    let copy = copy.map_err(|e| errors::from_hal(py, &e))?;
    let version = Tensor::stored(tensor.shape().to_vec(), tensor.dtype(), tensor.queue().clone(), copy.clone());
    *object.get().tensor() = version;
    Ok(copy)
}

/// A number for a parameter whose type is known.
fn number(object: &Bound<'_, PyAny>, kind: &ParameterKind, named: &Named<'_>) -> PyResult<SmallVec<[u8; 16]>> {
    let (bytes, signed, float) = match kind {
        ParameterKind::Int { bytes, signed } => (*bytes as usize, *signed, false),
        ParameterKind::Float { bytes } => (*bytes as usize, None, true),
        _ => return Err(named.wrong(object, "")),
    };
    // Exact classes first: NumPy's float64 is a subclass of float.
    if let Some((ty, value)) = typed_bytes(object)? {
        let same = value.len() == bytes
            && match ty {
                Class::Float => float,
                Class::Signed => !float && signed != Some(false),
                Class::Unsigned => !float && signed != Some(true),
                Class::Other => false,
            };
        return if same { Ok(value) } else { Err(named.wrong(object, &format!(": pass numpy.{}(...)", words(kind)))) };
    }
    if float && (object.is_instance_of::<PyFloat>() || object.is_instance_of::<PyInt>()) {
        let value: f64 = object.extract()?;
        return match bytes {
            8 => Ok(SmallVec::from_slice(&value.to_ne_bytes())),
            4 => Ok(SmallVec::from_slice(&(value as f32).to_ne_bytes())),
            _ => {
                let packed = object.py().import("struct")?.getattr("pack")?.call1(("=e", value))?;
                Ok(SmallVec::from_slice(packed.cast::<PyBytes>()?.as_bytes()))
            }
        };
    }
    if !float && object.is_instance_of::<PyInt>() {
        let bits = bytes as u32 * 8;
        let (low, high) = match signed {
            Some(true) => (-(1_i128 << (bits - 1)), (1 << (bits - 1)) - 1),
            Some(false) => (0, (1 << bits) - 1),
            // An integer without a sign of its own takes both.
            None => (-(1_i128 << (bits - 1)), (1 << bits) - 1),
        };
        let value = object.extract::<i128>().ok().filter(|v| (low..=high).contains(v));
        let value = value.ok_or_else(|| {
            PyOverflowError::new_err(format!(
                "{} is declared {}, and {object} does not fit",
                named.words(),
                words(kind)
            ))
        })?;
        return Ok(SmallVec::from_slice(&value.to_ne_bytes()[..bytes]));
    }
    Err(named.wrong(object, ""))
}

/// What a scalar with a type of its own is.
enum Class {
    Signed,
    Unsigned,
    Float,
    Other,
}

/// The bytes of a NumPy or ctypes scalar, with its class.
fn typed_bytes(object: &Bound<'_, PyAny>) -> PyResult<Option<(Class, SmallVec<[u8; 16]>)>> {
    // SAFETY: the object is alive for both calls, and has at most eight bytes where it is read.
    unsafe {
        if let Some(dtype) = scalar_dtype(object.as_ptr()) {
            if dtype.size() > 8 {
                return Ok(Some((Class::Other, SmallVec::from_elem(0, dtype.size()))));
            }
            let bits = (read_scalar(object.as_ptr(), dtype) as u64).to_ne_bytes();
            let class = match dtype {
                d if d.is_float() => Class::Float,
                d if d.is_int() && d.is_signed() => Class::Signed,
                d if d.is_int() => Class::Unsigned,
                _ => Class::Other,
            };
            return Ok(Some((class, SmallVec::from_slice(&bits[..dtype.size()]))));
        }
    }
    // Looking for an attribute that is not there costs more than these.
    if object.is_exact_instance_of::<PyFloat>() || object.is_exact_instance_of::<PyInt>() {
        return Ok(None);
    }
    // ctypes' simple types have a letter, as in the struct module.
    let Some(letter) = object.getattr_opt("_type_")?.and_then(|t| t.extract::<String>().ok()) else { return Ok(None) };
    let class = match &*letter {
        "f" | "d" => Class::Float,
        "b" | "h" | "i" | "l" | "q" => Class::Signed,
        "B" | "H" | "I" | "L" | "Q" | "P" => Class::Unsigned,
        _ => Class::Other,
    };
    Ok(raw_bytes(object)?.map(|bytes| (class, bytes)))
}

/// The bytes of `bytes` or of a ctypes object; `None` for others.
fn raw_bytes(object: &Bound<'_, PyAny>) -> PyResult<Option<SmallVec<[u8; 16]>>> {
    let py = object.py();
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return Ok(Some(SmallVec::from_slice(bytes.as_bytes())));
    }
    let class = py.import("ctypes")?.getattr("Structure")?.getattr("__base__")?;
    if !object.is_instance(&class)? {
        return Ok(None);
    }
    let bytes = py.get_type::<PyBytes>().call1((object,))?;
    Ok(Some(SmallVec::from_slice(bytes.cast::<PyBytes>()?.as_bytes())))
}
