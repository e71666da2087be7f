//! From our IR at stage `loops` to machine code: native objects, PTX and SPIR-V, through LLVM 22.
//!
//! In: a [`weft_ir::Module`] at stage `loops`. Out: [`HostCode`] (an object to cache and [`load`]), or [`DeviceCode`] (PTX or
//! SPIR-V with the layout of every kernel's arguments). Nothing here knows a device, a cache or Python; compiled code
//! reaches the runtime only through [`abi`].
//!
//! ```
//! let module = weft_ir::read::read_module(
//!     "weft 1 stage loops
//!      func @twice(%x: f64) -> f64 { %r = arith.add(%x, %x) : f64  return(%r) }",
//! )?;
//! let code = weft_codegen::compile_host(&module, "twice")?;
//! let loaded = weft_codegen::load(&code.object)?;
//! let mut result = 0;
//! // SAFETY: one parameter, one result, and a body that never asks the runtime for anything.
//! let status = unsafe { loaded.entry()?(std::ptr::null_mut(), &1.5f64.to_bits(), &mut result) };
//! assert_eq!((status, f64::from_bits(result)), (0, 3.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! In the order data flows: [`abi`] (what compiled code may rely on), `lower` (our IR → LLVM IR, shared by all targets),
//! `native`, [`ptx`], `spirv` (one small file per target), [`mvec`] (vector math), [`llvm`] (the layer over LLVM's C API).
//!
//! Contract: every error is a [`CodegenError`]; LLVM's fatal errors too (see [`llvm::fatal`]). Any number of threads may
//! compile at once: each compilation has its own LLVM context. The same input gives the same bytes.

#![deny(missing_docs)]

pub mod abi;
mod both_sides;
mod compile;
mod copy;
mod dense;
mod each;
pub mod error;
mod helpers;
mod libc_shim;
mod linalg;
pub mod llvm;
mod lower;
mod masks;
mod matmul;
mod matvec;
pub mod mvec;
mod native;
mod numbers;
pub mod ptx;
mod reduce;
mod room;
mod scan;
pub mod shortage;
mod simd;
mod spirv;
mod stream;
mod substitute;
mod vectors;

pub use compile::{DeviceCode, DeviceTarget, HostCode, compile_host, compile_kernels, infos, inspect, load};
pub use error::{CodegenError, Result};
pub use llvm::loader::LoadedCode;
pub use lower::kernel::{ArgField, KernelInfo};
pub use vectors::{LoopRemark, loop_remarks};
