//! Read IR text, run passes, print or run: what the `weft-opt` tool and the filetests share.
//!
//! The passes are those of [`weft_passes::pipeline`]; [`call`] reads lines such as `f(3.0, f32[1, 2]) == f32[4, 5]`
//! and compares, [`reference`] makes the page of all ops.

#![deny(missing_docs)]

pub mod call;
pub mod reference;
