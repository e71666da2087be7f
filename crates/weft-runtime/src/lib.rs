//! What happens when compiled code runs: executables, memory, launches, transfers, order, trace. No Python here.
//!
//! Data flow through the modules in this order. A [`Queue`] is a way into a device. [`pool`] recycles memory, and a
//! [`Buffer`] is a counted block of it that knows its last uses; [`copy()`] copies between any two. [`Executable::build`] turns a module at stage `loops` into
//! host code and, for a device queue, kernels; [`Executable::call`] runs it. While it runs, compiled code reaches back
//! through one table: parallel regions (`parallel`), launches (`launch`) and residency (`transfers`). [`trace`] records it.
//!
//! # The contract
//!
//! *Slots.* A call takes and fills 8-byte slots ([`weft_codegen::abi`]). An array's owner word is 0 (constant), odd (borrowed
//! from argument `k`, as `2k + 1`) or one count of an `Arc<Buffer>`. An even word among the results is the caller's.
//! `need` answers with a word that carries a count of its own wherever it is even; copies of host arrays on a device have
//! the word 0 and belong to the call.
//!
//! *Order.* Work on one queue is in order. Before a call, its queue waits for the pending writers of what it reads and for
//! the pending users of what it writes on other queues; after it, its event is noted on all of them (spec D7). Freeing
//! is in that order too.
//!
//! *Completion.* When a call returns, host arrays it touched hold their results (A6) and no copy is in flight that touches
//! them. Device arrays are ordered by their queue. A kernel that may raise is waited for.
//!
//! *Residency.* Host arrays move to the device when first needed, one copy for all that overlap; what was written goes back
//! when the host needs it or the call ends; what is wholly overwritten is not copied in; after an exception nothing
//! uninitialised goes back (A8).
//!
//! *Threads.* Everything may be called from any thread. The host pool survives `fork`; devices do not.
//!
//! *Errors.* [`CallError::Raised`] is the program's own exception, [`RuntimeError`] everything else. No panic leaves a table
//! entry: it becomes [`RuntimeError::Internal`].
//!
//! ```
//! use weft_runtime::{Buffer, UsmKind, queue_for};
//!
//! let queue = queue_for("native")?;
//! let buffer = Buffer::from_host(Some(&queue), b"warp and weft", UsmKind::Device)?;
//! let mut back = [0; 4];
//! buffer.copy_to(None, UsmKind::Host)?.to_host(9, &mut back)?;
//! assert_eq!(&back, b"weft");
//! # Ok::<(), weft_runtime::HalError>(())
//! ```
#![deny(missing_docs)]

mod buffer;
mod call;
mod copy;
mod error;
mod executable;
mod extent;
mod handed;
mod interrupt;
mod intervals;
mod launch;
pub mod list;
mod order;
mod parallel;
pub mod pool;
mod print;
mod queue;
mod sigint;
mod stack;
pub mod trace;
mod transfers;

pub use buffer::Buffer;
pub use call::Touched;
pub use copy::{End, copy};
pub use error::{CallError, Foreign, Raised, RuntimeError};
pub use executable::{Compiled, Executable, compile, device_target};
pub use extent::{HostSpan, extent, is_dense};
pub use interrupt::{Interrupter, set_interrupter, wait_unless};
pub use parallel::{PARALLEL_FROM, Sharing, num_threads, set_num_threads};
pub use print::set_writer;
pub use queue::{Queue, default_context, default_queue, queue_for};
pub use sigint::look_again;
pub use weft_hal::{Event, HalError, QueueOptions, UsmKind};
