//! From our IR at stage `loops` to machine code: native objects, PTX and SPIR-V, through LLVM 22.
//!
//! In: a [`weft_ir::Module`] at stage `loops`. Out: [`HostCode`] (an object to cache and [`load`]), or [`DeviceCode`] (PTX or
//! SPIR-V with the layout of every kernel's arguments). Nothing here knows a device, a cache or Python; compiled code
//! reaches the runtime only through [`abi`].
//!
//! In the order data flows: [`abi`] (what compiled code may rely on), `lower` (our IR → LLVM IR, shared by all targets),
//! `native`, [`ptx`], `spirv` (one small file per target), [`mvec`] (vector math), [`llvm`] (the layer over LLVM's C API).
//!
//! Contract: every error is a [`CodegenError`]; LLVM's fatal errors too (see [`llvm::fatal`]). Any number of threads may
//! compile at once: each compilation has its own LLVM context. The same input gives the same bytes.

#![deny(missing_docs)]

pub mod abi;
mod compile;
pub mod error;
mod libc_shim;
pub mod llvm;
mod lower;
pub mod mvec;
mod native;
pub mod ptx;
mod spirv;

pub use compile::{DeviceCode, DeviceTarget, HostCode, compile_host, compile_kernels, infos, inspect, load};
pub use error::{CodegenError, Result};
pub use llvm::loader::LoadedCode;
pub use lower::kernel::{ArgField, KernelInfo};
