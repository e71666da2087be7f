//! The reference interpreter of the IR: the oracle that filetests compare every backend with.
//!
//! In: a verified [`Module`](weft_ir::Module) at stage `ntensor`, `placed`, `fused` or `loops`, and
//! [`Value`]s. Out: values, or a [`Failure`]: the exception the program raised, or a fault that
//! compiled code would not notice (an index out of bounds, memory used after its release).
//!
//! Simple and obviously right rather than fast: one match per op, work-items and parallel iterations
//! one after the other in order, every access checked. Every place is host memory; a transfer for
//! reading is a copy, one for writing is the array itself.
//!
//! It also runs kernels under `debug=True` ([`run_items`]), where [`watch`] finds work-items that meet.
//!
//! `math.*` and float powers are Rust's (the C library's) functions: the last bits may differ from
//! the vector routines of compiled code, so tests compare those results within a few ulps.
//!
//! Read in this order: [`scalar`] (NumPy's arithmetic), [`array`] (memory, views), [`value`],
//! [`exec`] (the ops), [`text`] (values as tests write them).

#![deny(missing_docs)]

pub mod array;
pub mod complex;
pub mod exec;
mod linalg;
pub mod list;
mod math;
mod nt;
pub mod scalar;
pub mod text;
pub mod value;
pub mod watch;

pub use array::{Array, Memory};
pub use exec::{run, run_items, run_kernel};
pub use scalar::Scalar;
pub use value::{Failure, Pointer, Value};
