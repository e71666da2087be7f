//! `weft.Device`: what a device tells about itself, and its parts.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList, PyString, PyTuple};
use weft_hal::{BackendKind, DeviceInfo, DeviceType, Partition, PartitionKind, UsmKind};

use crate::errors;
use crate::places::device_of;

/// A device: what runs code.
#[pyclass(frozen, eq, hash, subclass, module = "weft")]
#[derive(Clone)]
pub(crate) struct Device(pub(crate) Arc<dyn weft_hal::Device>);

/// Abilities by name, and who has them.
type Aspect = (&'static str, fn(&DeviceInfo) -> bool);

const ASPECTS: &[Aspect] = &[
    ("cpu", |d| d.device_type == DeviceType::Cpu),
    ("gpu", |d| d.device_type == DeviceType::Gpu),
    ("accelerator", |d| d.device_type == DeviceType::Accelerator),
    ("custom", |d| d.backend == BackendKind::Null),
    ("emulated", |d| d.backend == BackendKind::Null),
    ("host_debuggable", |d| d.backend == BackendKind::Native),
    ("fp16", |d| d.fp16),
    ("fp64", |d| d.fp64),
    ("atomic64", |d| d.atomics64),
    ("usm_device_allocations", |d| d.usm.contains(&UsmKind::Device)),
    ("usm_shared_allocations", |d| d.usm.contains(&UsmKind::Shared)),
    ("usm_host_allocations", |d| d.usm.contains(&UsmKind::Host)),
    ("usm_system_allocations", |d| d.backend == BackendKind::Native),
    ("queue_profiling", |d| d.details.timer_resolution_ns.is_some()),
    ("online_compiler", |d| d.backend == BackendKind::Native || !d.details.languages.is_empty()),
    ("partitionable", |d| !d.details.partitions.is_empty()),
];

/// Everything there is to know about a device, in the order in which it is printed.
const PROPERTIES: &[&str] = &[
    "filter_string",
    "name",
    "vendor",
    "vendor_id",
    "driver_version",
    "version",
    "backend",
    "device_type",
    "index",
    "arch",
    "default_selector_score",
    "global_mem_size",
    "max_mem_alloc_size",
    "local_mem_size",
    "max_constant_buffer_size",
    "l1_cache_size",
    "l2_cache_size",
    "l3_cache_size",
    "global_mem_cache_size",
    "global_mem_cache_line_size",
    "max_compute_units",
    "max_clock_frequency",
    "max_work_group_size",
    "max_work_item_dims",
    "max_work_item_sizes",
    "max_num_groups",
    "sub_group_sizes",
    "max_num_sub_groups",
    "preferred_vector_width_char",
    "preferred_vector_width_short",
    "preferred_vector_width_int",
    "preferred_vector_width_long",
    "preferred_vector_width_half",
    "preferred_vector_width_float",
    "preferred_vector_width_double",
    "native_vector_width_char",
    "native_vector_width_short",
    "native_vector_width_int",
    "native_vector_width_long",
    "native_vector_width_half",
    "native_vector_width_float",
    "native_vector_width_double",
    "address_bits",
    "max_parameter_size",
    "profiling_timer_resolution",
    "host_unified_memory",
    "error_correction",
    "has_fp16",
    "has_fp64",
    "has_atomics32",
    "has_atomics64",
    "usm_types",
    "program_languages",
    "pci_address",
    "uuid",
    "partition_max_sub_devices",
    "partition_kinds",
    "parent_device",
    "aspects",
    "extensions",
];

fn uuid_text(bytes: [u8; 16]) -> String {
    let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

impl PartialEq for Device {
    fn eq(&self, other: &Device) -> bool {
        // Handles on one device in several contexts are that device.
        let id = |d: &DeviceInfo| (d.backend, d.device_type, d.index);
        let (a, b) = (self.0.info(), other.0.info());
        Arc::ptr_eq(&self.0, &other.0) || (id(a) == id(b) && a.sub == b.sub)
    }
}

impl Hash for Device {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.info().filter_string().hash(state);
    }
}

impl Device {
    fn has_aspect(&self, name: &str) -> bool {
        ASPECTS.iter().any(|(known, has)| *known == name && has(self.0.info()))
    }
}

#[pymethods]
impl Device {
    /// `Device(where)`: the device that a filter string, a device or a queue names.
    #[new]
    #[pyo3(signature = (place = None))]
    fn new(py: Python<'_>, place: Option<&Bound<'_, PyAny>>) -> PyResult<Device> {
        device_of(py, place).map(Device)
    }

    /// The device that a filter string, a device or a queue names.
    #[staticmethod]
    #[pyo3(signature = (place = None))]
    fn create_device(py: Python<'_>, place: Option<&Bound<'_, PyAny>>) -> PyResult<Device> {
        Device::new(py, place)
    }

    /// Divides the device. `partition` is a number of compute units for each part, a list of such numbers, or a border
    /// of the hardware: `"numa"`, `"L2_cache"`, `"L3_cache"`, `"next_partitionable"`.
    fn create_sub_devices(&self, py: Python<'_>, partition: &Bound<'_, PyAny>) -> PyResult<Vec<Device>> {
        let how = partition_of(partition)?;
        let parts = py.detach(|| self.0.partition(&how)).map_err(|e| errors::from_hal(py, &e))?;
        Ok(parts.into_iter().map(Device).collect())
    }

    /// All properties, by name.
    fn get_info<'py>(slf: &Bound<'py, Device>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(slf.py());
        for name in PROPERTIES {
            all.set_item(name, slf.getattr(*name)?)?;
        }
        Ok(all)
    }

    /// Prints all properties, one on a line.
    fn print_device_info(slf: &Bound<'_, Device>) -> PyResult<()> {
        let mut lines = vec![slf.get().filter_string()];
        for name in PROPERTIES.iter().filter(|n| !matches!(**n, "filter_string" | "extensions")) {
            let value = slf.getattr(*name)?;
            if !value.is_none() {
                lines.push(format!("    {name:<32}{}", value.str()?));
            }
        }
        slf.py().import("builtins")?.getattr("print")?.call1((lines.join("\n"),))?;
        Ok(())
    }

    /// The one string that names this device: `cuda:gpu:0`; `native:cpu:0.1` for a sub-device.
    #[getter]
    fn filter_string(&self) -> String {
        self.0.info().filter_string()
    }

    /// Name, in the driver's words.
    #[getter]
    fn name(&self) -> &str {
        &self.0.info().name
    }

    /// Vendor, in the driver's words.
    #[getter]
    fn vendor(&self) -> &str {
        &self.0.info().vendor
    }

    /// PCI vendor id.
    #[getter]
    fn vendor_id(&self) -> Option<u32> {
        self.0.info().details.vendor_id
    }

    /// Driver version, in the driver's words.
    #[getter]
    fn driver_version(&self) -> &str {
        &self.0.info().driver_version
    }

    /// Version of the interface that the driver implements.
    #[getter]
    fn version(&self) -> Option<&str> {
        self.0.info().details.version.as_deref()
    }

    /// `native`, `cuda` or `opencl`.
    #[getter]
    fn backend(&self) -> &'static str {
        self.0.info().backend.name()
    }

    /// `cpu`, `gpu` or `accelerator`.
    #[getter]
    fn device_type(&self) -> &'static str {
        self.0.info().device_type.name()
    }

    /// Position among the devices of the same backend and type.
    #[getter]
    fn index(&self) -> u32 {
        self.0.info().index
    }

    /// What code is generated for: `sm_90` on CUDA.
    #[getter]
    fn arch(&self) -> Option<&str> {
        Some(&*self.0.info().arch).filter(|a| !a.is_empty())
    }

    /// How good a default it is.
    #[getter]
    fn default_selector_score(&self) -> i32 {
        self.0.info().score()
    }

    /// Bytes of memory.
    #[getter]
    fn global_mem_size(&self) -> u64 {
        self.0.info().global_mem_bytes
    }

    /// Bytes of the largest single allocation.
    #[getter]
    fn max_mem_alloc_size(&self) -> u64 {
        self.0.info().max_alloc_bytes
    }

    /// Bytes of memory of a work-group.
    #[getter]
    fn local_mem_size(&self) -> u64 {
        self.0.info().local_mem_bytes
    }

    /// Bytes of constant memory in one allocation.
    #[getter]
    fn max_constant_buffer_size(&self) -> Option<u64> {
        self.0.info().details.constant_bytes
    }

    /// Bytes of the L1 data cache, where the system says.
    #[getter]
    fn l1_cache_size(&self) -> Option<u64> {
        self.0.info().details.cache_bytes[0]
    }

    /// Bytes of the L2 data cache, where the system says.
    #[getter]
    fn l2_cache_size(&self) -> Option<u64> {
        self.0.info().details.cache_bytes[1]
    }

    /// Bytes of the L3 data cache, where the system says.
    #[getter]
    fn l3_cache_size(&self) -> Option<u64> {
        self.0.info().details.cache_bytes[2]
    }

    /// Bytes of the last cache before memory.
    #[getter]
    fn global_mem_cache_size(&self) -> Option<u64> {
        self.0.info().details.cache_bytes.iter().rev().find_map(|c| *c)
    }

    /// Bytes of its lines.
    #[getter]
    fn global_mem_cache_line_size(&self) -> Option<u32> {
        self.0.info().details.cache_line_bytes
    }

    /// Cores or multiprocessors.
    #[getter]
    fn max_compute_units(&self) -> u32 {
        self.0.info().compute_units
    }

    /// Highest clock in MHz.
    #[getter]
    fn max_clock_frequency(&self) -> Option<u32> {
        self.0.info().details.max_clock_mhz
    }

    /// Most work-items in a work-group.
    #[getter]
    fn max_work_group_size(&self) -> u32 {
        self.0.info().max_work_group_size
    }

    /// Dimensions of an index space.
    #[getter]
    fn max_work_item_dims(&self) -> u32 {
        3
    }

    /// Most work-items in a work-group along each dimension.
    #[getter]
    fn max_work_item_sizes(&self) -> [u32; 3] {
        self.0.info().max_work_item_sizes
    }

    /// Most work-groups along each dimension.
    #[getter]
    fn max_num_groups(&self) -> [u32; 3] {
        self.0.info().max_groups
    }

    /// Sizes that sub-groups (warps) can have.
    #[getter]
    fn sub_group_sizes(&self) -> Vec<u32> {
        self.0.info().sub_group_sizes.clone()
    }

    /// Most sub-groups in a work-group.
    #[getter]
    fn max_num_sub_groups(&self) -> Option<u32> {
        self.0.info().details.max_sub_groups
    }

    /// Elements of a vector of `char` that code should use.
    #[getter]
    fn preferred_vector_width_char(&self) -> u32 {
        self.0.info().details.preferred_vectors.char
    }

    /// Elements of a vector of `short` that code should use.
    #[getter]
    fn preferred_vector_width_short(&self) -> u32 {
        self.0.info().details.preferred_vectors.short
    }

    /// Elements of a vector of `int` that code should use.
    #[getter]
    fn preferred_vector_width_int(&self) -> u32 {
        self.0.info().details.preferred_vectors.int
    }

    /// Elements of a vector of `long` that code should use.
    #[getter]
    fn preferred_vector_width_long(&self) -> u32 {
        self.0.info().details.preferred_vectors.long
    }

    /// Elements of a vector of `half` that code should use.
    #[getter]
    fn preferred_vector_width_half(&self) -> u32 {
        self.0.info().details.preferred_vectors.half
    }

    /// Elements of a vector of `float` that code should use.
    #[getter]
    fn preferred_vector_width_float(&self) -> u32 {
        self.0.info().details.preferred_vectors.float
    }

    /// Elements of a vector of `double` that code should use.
    #[getter]
    fn preferred_vector_width_double(&self) -> u32 {
        self.0.info().details.preferred_vectors.double
    }

    /// Elements of a vector of `char` that the hardware has.
    #[getter]
    fn native_vector_width_char(&self) -> u32 {
        self.0.info().details.native_vectors.char
    }

    /// Elements of a vector of `short` that the hardware has.
    #[getter]
    fn native_vector_width_short(&self) -> u32 {
        self.0.info().details.native_vectors.short
    }

    /// Elements of a vector of `int` that the hardware has.
    #[getter]
    fn native_vector_width_int(&self) -> u32 {
        self.0.info().details.native_vectors.int
    }

    /// Elements of a vector of `long` that the hardware has.
    #[getter]
    fn native_vector_width_long(&self) -> u32 {
        self.0.info().details.native_vectors.long
    }

    /// Elements of a vector of `half` that the hardware has.
    #[getter]
    fn native_vector_width_half(&self) -> u32 {
        self.0.info().details.native_vectors.half
    }

    /// Elements of a vector of `float` that the hardware has.
    #[getter]
    fn native_vector_width_float(&self) -> u32 {
        self.0.info().details.native_vectors.float
    }

    /// Elements of a vector of `double` that the hardware has.
    #[getter]
    fn native_vector_width_double(&self) -> u32 {
        self.0.info().details.native_vectors.double
    }

    /// Bits of an address.
    #[getter]
    fn address_bits(&self) -> u32 {
        self.0.info().details.address_bits
    }

    /// Most bytes of kernel arguments.
    #[getter]
    fn max_parameter_size(&self) -> u32 {
        self.0.info().max_argument_bytes
    }

    /// Nanoseconds between two ticks of the clock of events.
    #[getter]
    fn profiling_timer_resolution(&self) -> Option<u64> {
        self.0.info().details.timer_resolution_ns
    }

    /// Whether it has the host's own memory.
    #[getter]
    fn host_unified_memory(&self) -> Option<bool> {
        self.0.info().details.unified_memory
    }

    /// Whether memory errors are corrected.
    #[getter]
    fn error_correction(&self) -> Option<bool> {
        self.0.info().details.error_correction
    }

    /// Arithmetic on 16-bit floats.
    #[getter]
    fn has_fp16(&self) -> bool {
        self.0.info().fp16
    }

    /// Arithmetic on 64-bit floats.
    #[getter]
    fn has_fp64(&self) -> bool {
        self.0.info().fp64
    }

    /// Atomics on 32-bit integers: every device has them.
    #[getter]
    fn has_atomics32(&self) -> bool {
        true
    }

    /// Atomics on 64-bit integers.
    #[getter]
    fn has_atomics64(&self) -> bool {
        self.0.info().atomics64
    }

    /// Kinds of memory it can allocate: `device`, `shared`, `host`.
    #[getter]
    fn usm_types(&self) -> Vec<&'static str> {
        self.0.info().usm.iter().map(|k| k.name()).collect()
    }

    /// What `weft.program` can load on it.
    #[getter]
    fn program_languages(&self) -> Vec<&'static str> {
        self.0.info().details.languages.clone()
    }

    /// Where it is plugged in: `0000:3b:00.0`.
    #[getter]
    fn pci_address(&self) -> Option<String> {
        self.0.info().details.pci.map(|[d, b, s, f]| format!("{d:04x}:{b:02x}:{s:02x}.{f:x}"))
    }

    /// What names it in every process.
    #[getter]
    fn uuid(&self) -> Option<String> {
        self.0.info().details.uuid.map(uuid_text)
    }

    /// Most sub-devices at once; zero where it cannot be divided.
    #[getter]
    fn partition_max_sub_devices(&self) -> u32 {
        self.0.info().details.max_sub_devices
    }

    /// Ways in which `create_sub_devices` can divide it.
    #[getter]
    fn partition_kinds(&self) -> Vec<&'static str> {
        self.0.info().details.partitions.iter().map(|k| k.name()).collect()
    }

    /// The device that it is a part of.
    #[getter]
    fn parent_device(&self) -> Option<Device> {
        self.0.parent().map(Device)
    }

    /// The device that it is a part of.
    #[getter]
    fn parent(&self) -> Option<Device> {
        self.parent_device()
    }

    /// Names of the abilities it has: those of `has_aspect_…` that are true.
    #[getter]
    fn aspects(&self) -> Vec<&'static str> {
        ASPECTS.iter().filter(|(_, has)| has(self.0.info())).map(|(name, _)| *name).collect()
    }

    /// Extensions, in the driver's words.
    #[getter]
    fn extensions(&self) -> Vec<String> {
        self.0.info().details.extensions.clone()
    }

    #[getter]
    fn has_aspect_cpu(&self) -> bool {
        self.has_aspect("cpu")
    }

    #[getter]
    fn has_aspect_gpu(&self) -> bool {
        self.has_aspect("gpu")
    }

    #[getter]
    fn has_aspect_accelerator(&self) -> bool {
        self.has_aspect("accelerator")
    }

    #[getter]
    fn has_aspect_custom(&self) -> bool {
        self.has_aspect("custom")
    }

    #[getter]
    fn has_aspect_emulated(&self) -> bool {
        self.has_aspect("emulated")
    }

    #[getter]
    fn has_aspect_host_debuggable(&self) -> bool {
        self.has_aspect("host_debuggable")
    }

    #[getter]
    fn has_aspect_fp16(&self) -> bool {
        self.has_aspect("fp16")
    }

    #[getter]
    fn has_aspect_fp64(&self) -> bool {
        self.has_aspect("fp64")
    }

    #[getter]
    fn has_aspect_atomic64(&self) -> bool {
        self.has_aspect("atomic64")
    }

    #[getter]
    fn has_aspect_usm_device_allocations(&self) -> bool {
        self.has_aspect("usm_device_allocations")
    }

    #[getter]
    fn has_aspect_usm_shared_allocations(&self) -> bool {
        self.has_aspect("usm_shared_allocations")
    }

    #[getter]
    fn has_aspect_usm_host_allocations(&self) -> bool {
        self.has_aspect("usm_host_allocations")
    }

    #[getter]
    fn has_aspect_usm_system_allocations(&self) -> bool {
        self.has_aspect("usm_system_allocations")
    }

    #[getter]
    fn has_aspect_queue_profiling(&self) -> bool {
        self.has_aspect("queue_profiling")
    }

    #[getter]
    fn has_aspect_online_compiler(&self) -> bool {
        self.has_aspect("online_compiler")
    }

    #[getter]
    fn has_aspect_partitionable(&self) -> bool {
        self.has_aspect("partitionable")
    }

    fn __repr__(&self) -> String {
        format!("<weft.Device {}: {}>", self.filter_string(), self.name())
    }

    /// A device is found again in another process by its filter string.
    fn __reduce__(slf: &Bound<'_, Device>) -> PyResult<(Py<PyAny>, (String,))> {
        Ok((slf.py().get_type::<Device>().into_any().unbind(), (slf.get().filter_string(),)))
    }
}

/// What `partition=` means.
fn partition_of(partition: &Bound<'_, PyAny>) -> PyResult<Partition> {
    let bad = || {
        let text = "partition is a positive number of compute units, a list of such numbers, \"numa\", \"L2_cache\", \
                    \"L3_cache\" or \"next_partitionable\"";
        let given = partition.repr().map_or(String::new(), |r| r.to_string());
        (text, given)
    };
    if let Ok(name) = partition.cast::<PyString>() {
        let name = name.to_cow()?;
        let kinds =
            [PartitionKind::Numa, PartitionKind::L2Cache, PartitionKind::L3Cache, PartitionKind::NextPartitionable];
        return kinds.into_iter().find(|k| k.name() == name).map(Partition::Along).ok_or_else(|| {
            let (text, given) = bad();
            PyValueError::new_err(format!("{text}, not {given}"))
        });
    }
    let count = |n: &Bound<'_, PyAny>| -> PyResult<u32> {
        let (text, given) = bad();
        if n.is_instance_of::<PyBool>() {
            return Err(PyTypeError::new_err(format!("{text}, not {given}")));
        }
        match n.extract::<i64>().map(u32::try_from) {
            Ok(Ok(n)) if n > 0 => Ok(n),
            Ok(_) => Err(PyValueError::new_err(format!("{text}, not {given}"))),
            Err(_) => Err(PyTypeError::new_err(format!("{text}, not {given}"))),
        }
    };
    if partition.is_instance_of::<PyList>() || partition.is_instance_of::<PyTuple>() {
        let counts = partition.try_iter()?.map(|n| count(&n?)).collect::<PyResult<Vec<u32>>>()?;
        if counts.is_empty() {
            let (text, given) = bad();
            return Err(PyValueError::new_err(format!("{text}, not {given}")));
        }
        return Ok(Partition::ByCounts(counts));
    }
    count(partition).map(Partition::Equally)
}
