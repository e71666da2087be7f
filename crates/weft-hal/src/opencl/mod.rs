//! OpenCL devices that take SPIR-V and have unified shared memory, through whatever library offers them.
//!
//! Others (PoCL 3, NVIDIA's OpenCL) are named in the report and not listed: without SPIR-V there is no code for them,
//! without addresses there are no arrays.

mod api;
mod device;
mod find;
mod program;
mod queue;

pub(crate) use find::discover;
