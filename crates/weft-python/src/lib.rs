//! `weft._core`: all that touches CPython and NumPy's C API. The engine crates have never heard of Python.
//!
//! A call flows through the files in this order: [`vectorcall`] and [`dispatcher`], or [`kernel`] (the doors) →
//! [`function`] (argument binding, specialisations) → [`arguments`], [`array_like`], [`key`] and [`constants`] (objects → key and slots) →
//! [`placement`] and [`context`] (where it runs) → on a miss [`compile`] with [`text`], [`resolve`] and [`guards`] (names →
//! meanings and assumptions) → [`specialisation`] → [`run`] → [`results`] (slots → objects). [`errors`] makes every
//! exception, [`at_work`] is the border that no panic crosses, [`whole`] what the garbage collector must not see half made, [`grow`]
//! what grows with what users pass. [`device`], [`queue`], [`event`], [`memory`], [`trace`] and [`settings`] are what they say;
//! [`numpy`] is NumPy's C API; [`tensor`] is the third door.

// A `Diagnostic` is made once per refusal; boxing it would buy nothing.
#![allow(clippy::result_large_err)]

mod arguments;
mod array_device;
mod array_like;
mod assumed;
mod at_work;
mod binding;
mod compile;
mod constants;
mod context;
mod contexts;
mod debug;
mod device;
mod dispatcher;
mod errors;
mod event;
mod function;
mod grow;
mod guards;
mod kernel;
mod key;
mod lists;
mod memory;
mod numpy;
mod pace;
mod placement;
mod places;
mod program;
mod queue;
mod report;
mod resolve;
mod results;
mod run;
mod settings;
mod signature;
mod sizes;
mod specialisation;
mod tensor;
mod text;
mod timings;
mod trace;
mod vectorcall;
mod whole;

use pyo3::prelude::*;

/// The extension module.
#[pymodule]
mod _core {
    use super::*;

    #[pymodule_export]
    use super::array_device::ArrayDevice;
    #[pymodule_export]
    use super::at_work::at_work;
    #[pymodule_export]
    use super::context::{context_opened, set_context_variable};
    #[pymodule_export]
    use super::contexts::Context;
    #[pymodule_export]
    use super::device::Device;
    #[pymodule_export]
    use super::dispatcher::Dispatcher;
    #[pymodule_export]
    use super::event::Event;
    #[pymodule_export]
    use super::kernel::{Kernel, Launcher};
    #[pymodule_export]
    use super::memory::{
        DeviceMemory, HostMemory, Memory, SharedMemory, allocation_faults, memory_stats, memory_trim, pool_seconds,
        set_memory_limit, tensor_from_usm, usm_kind,
    };
    #[pymodule_export]
    use super::numpy::pool_array;
    #[pymodule_export]
    use super::placement::set_placement_variable;
    #[pymodule_export]
    use super::places::{backend_reports, devices, null_device, null_faults, queue_of, set_default_device};
    #[pymodule_export]
    use super::program::{Program, ProgramKernel, WorkGroupMemory, create_program};
    #[pymodule_export]
    use super::queue::Queue;
    #[pymodule_export]
    use super::settings::{num_threads, set_num_threads, set_offload_conflict, set_optimise, set_verify};
    #[pymodule_export]
    use super::specialisation::Specialization;
    #[pymodule_export]
    use super::tensor::{
        UsmNdarray, tensor_call, tensor_cast, tensor_empty, tensor_from_array, tensor_generate, tensor_to_array,
    };
    #[pymodule_export]
    use super::trace::{Trace, TraceItem};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        super::at_work::install_panic_hook();
        super::event::install_hooks();
        super::numpy::Api::load(module.py())
    }
}
