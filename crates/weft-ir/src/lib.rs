//! The one intermediate representation, and the rules that compiler and tensors share.
//!
//! A [`Module`] holds functions at one [`Stage`]; a [`Func`] is arenas of ops, values and regions;
//! a region is one list of ops with arguments (no CFG). Read in this order:
//!
//! 1. [`types`]: dtypes, weak Python scalars, tensors with symbolic sizes and a place.
//! 2. [`ops`]: the table that declares every op once.
//! 3. [`func`]: functions, regions, values; [`build`]: making them.
//! 4. [`print`] and [`read`]: the text form, which round-trips.
//! 5. [`verify`]: the invariants, in three rings.
//! 6. [`rules`]: NumPy 2's dtype, shape and placement rules as plain functions; [`half`]: 16-bit floats; [`math`]: functions of floats.
//!
//! This crate knows no device, no Python object and no LLVM.

#![deny(missing_docs)]

pub mod attr;
pub mod build;
pub mod fast;
pub mod func;
pub mod half;
pub mod math;
pub mod ops;
pub mod print;
pub mod read;
pub mod reduce;
pub mod rules;
pub mod show;
pub mod site;
pub mod types;
pub mod verify;

pub use build::Builder;
pub use fast::FastMath;
pub use func::{Func, Module, OpData, OpId, RegionId, Stage, ValueId};
pub use math::MathFn;
pub use ops::Op;
pub use site::{Argument, ExcClass, Site};
pub use types::{DType, Dim, Layout, Place, Space, TensorType, Type, Weak};

/// The `cost` of a parallel region of which nobody can say before it runs how long it takes.
pub const UNKNOWN_COST: u32 = u32::MAX;
