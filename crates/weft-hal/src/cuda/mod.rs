//! NVIDIA GPUs through the driver API, by `dlopen`. One primary context per device, shared with every other CUDA library
//! in the process; one stream per queue.
//!
//! After a kernel fault the driver gives no working context to the process again: the device is *lost*, and every use of
//! it, or of anything made on it, is [`DeviceLost`](crate::HalError::DeviceLost) from then on.

mod api;
mod device;
mod find;
mod program;
mod queue;

pub(crate) use find::discover;
