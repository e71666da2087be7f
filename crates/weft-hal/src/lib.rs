//! Devices. One set of traits, one folder per backend, and nothing about Python or about the compiler's IR.
//!
//! Work flows through the modules in this order: [`discovery`] finds [`Device`]s; a device makes memory, a [`Queue`]
//! and, from code that a driver takes, a [`Program`] with its [`Kernel`]s; a queue takes [`Launch`]es, copies and
//! fills and answers with [`Event`]s.
//!
//! # The contract
//!
//! *What this crate checks.* Everything that can be checked without knowing who owns which memory: that a filter string
//! can be read, that a grid and a work-group fit the device, that every [`ArgField`] lies inside the argument bytes,
//! that a fill is whole and aligned, that a device is used in the process that opened it and has not been lost. These
//! checks cost nanoseconds and are always on; what fails them is [`HalError::InvalidArgument`] or
//! [`HalError::Unsupported`].
//!
//! *What the caller must see to.* Lifetimes and order of memory. Addresses are plain numbers here: `free`, `launch`,
//! `memcpy` and `fill` are `unsafe` because nobody below can tell whether an address is alive, whether a kernel stays
//! inside its arrays, or whether two operations race. Everything an operation touches stays allocated until its event
//! is complete. Operations are ordered by an in-order queue and by `waits`, and by nothing else.
//!
//! *Who may call.* Anything from any thread. Kernels, queues and programs keep what they need alive; devices live as long
//! as the process.
//!
//! *When errors come.* What can be known at once is returned at once. A kernel that faults is reported by a later call:
//! `Event::wait`, `Queue::wait`, or whatever touches the device next.
//!
//! # Errors
//!
//! | error | who can return it |
//! |---|---|
//! | `BadFilter`, `NoSuchDevice` | [`find_device`], [`default_device`] |
//! | `OutOfMemory` | `Device::alloc`; everything else survives it |
//! | `BadPartition` | `Device::partition` |
//! | `BadProgram`, `NoSuchKernel` | `Device::load_program`, `Program::kernel` |
//! | `InvalidArgument` | launches and fills |
//! | `Unsupported` | programs and launches on native; a program in another driver's language; any CUDA or OpenCL object in a process forked after it was made |
//! | `DeviceLost` | every use of a CUDA device after a kernel fault, for the rest of the process |
//! | `Driver` | any driver call, with the driver's own words |
//!
//! A missing or broken driver is never an error of the process: it is a [`BackendReport`] with a sentence on what to
//! install. Nothing here panics over a driver.
//!
//! # Forks
//!
//! The native device and its [`native::pool`] work in a forked child. CUDA and OpenCL do not survive a fork: a child
//! that uses what its parent opened gets a sentence that says so, and dropping such objects touches no driver.
//!
//! # A new backend
//!
//! Is a folder with a `discover` function that returns devices and a report. [`null`] shows the least it must do.
//!
//! ```
//! use weft_hal::{find_device, QueueOptions, UsmKind};
//!
//! let device = find_device("native")?;
//! let queue = device.create_queue(QueueOptions::default())?;
//! let memory = device.alloc(16, UsmKind::Device)?;
//! // SAFETY: 16 bytes, ours, freed after the fill is complete.
//! unsafe {
//!     queue.fill(memory, &1.5_f32.to_ne_bytes(), 16, &[])?.wait()?;
//!     assert_eq!(std::slice::from_raw_parts(memory as *const f32, 4), [1.5; 4]);
//!     device.free(memory, UsmKind::Device)?;
//! }
//! # Ok::<(), weft_hal::HalError>(())
//! ```
#![deny(missing_docs)]

mod cuda;
mod device;
mod discover;
mod dl;
mod error;
mod event;
pub mod filter;
mod fork;
mod host;
mod info;
pub mod native;
pub mod null;
mod opencl;
mod queue;
mod settings;
mod signature;
mod topology;

pub use device::{Device, Kernel, Partition, Program, ProgramSource, WorkGroups};
pub use discover::{BackendReport, Discovery, add_library_dir, default_device, discovery, find_device};
pub use error::HalError;
pub use event::{Event, EventImpl};
pub use fork::generation as fork_generation;
pub use info::{BackendKind, Details, DeviceInfo, DeviceType, PartitionKind, UsmKind, VectorWidths};
pub use queue::{ArgField, ArgKind, Launch, Queue, QueueOptions};
pub use signature::{Parameter, ParameterKind};
