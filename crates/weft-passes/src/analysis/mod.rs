//! What is true of a program: analyses that passes ask, and that change nothing.
//!
//! - [`affine`]: integers as sums of multiples of symbols; [`forms`]: those of a loop's body.
//! - [`inequalities`]: whether a small system has a solution in integers, and between which bounds.
//! - [`alias`]: which arrays may be one.
//! - [`access`]: which elements an iteration touches.
//! - [`dependence`]: in which iterations two accesses meet.
//!
//! Each is a plain function of what it is given. Whoever edits a function computes anew what it asks afterwards.

pub(crate) mod access;
pub(crate) mod affine;
pub(crate) mod alias;
pub(crate) mod dependence;
pub(crate) mod forms;
pub(crate) mod inequalities;
