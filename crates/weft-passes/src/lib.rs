//! The passes, in the order data flows through them.
//!
//! 1. [`py`]: syntax tree → stage `py`, untyped; [`infer`]: `py` → `ntensor`, typed, library inlined.
//!    [`pipeline`] runs what follows and keeps the module of every stage.
//! 2. [`canon`] (`ntensor`, and after each pass): dead code, shared scalars, constants, refinements moved to inputs.
//!    `raise` (`ntensor`): independent iterations of a loop become one more axis of its statements.
//! 3. [`place`] (`ntensor` → `placed`): every whole-array op gets a place; transfers become explicit.
//! 4. [`fuse`] (`placed` → `fused`): neighbouring elementwise ops become one.
//! 5. [`loops`] (`fused` → `loops`): arrays become pointers, sizes and strides; ops become loops and kernels.
//! 6. [`own`] (`loops`): what was allocated and is not returned is released.
//!
//! [`report`] tells what they did, from the modules that were kept.
//!
//! A pass that crosses a stage border takes a module and gives a new one; inside a stage it edits in place. What
//! a pass refuses is a [`weft_diag::Diagnostic`] with the user's spans. Passes know no device, no Python object
//! and no LLVM: a place is a name.

#![deny(missing_docs)]
// A `Diagnostic` is made once per refused function; boxing it would buy nothing.
#![allow(clippy::result_large_err)]

mod analysis;
mod blocks;
pub mod canon;
mod comprehend;
mod flat;
mod forward;
pub mod fuse;
mod idle;
pub mod infer;
pub mod loops;
pub mod own;
mod panels;
pub mod pipeline;
pub mod place;
mod products;
pub mod py;
mod races;
mod raise;
mod rebuild;
pub mod report;
mod rows;
mod sides;
mod sizes;
mod together;
mod turn;

use weft_ir::Place;

/// What the passes need to know of the call they compile for.
#[derive(Clone, Debug)]
pub struct PassCx {
    /// Where parallel ops of host arrays, and kernels, run: the host or the open device context.
    pub place: Place,
    /// Dimensions of the launch, when the entry is a kernel.
    pub kernel_dims: u32,
    /// Verify the module after every pass.
    pub verify: bool,
}

impl PassCx {
    /// A context for code that runs at `place`; verifies in debug builds and under `WEFT_VERIFY=1`.
    pub fn new(place: Place) -> PassCx {
        let asked = std::env::var_os("WEFT_VERIFY").is_some_and(|v| v == "1");
        PassCx { place, kernel_dims: 1, verify: asked || cfg!(debug_assertions) }
    }
}
