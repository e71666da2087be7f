//! Vector math: which routine computes a function, in which width.
//!
//! **One routine and one width per function and dtype in a process.** Lowering calls `weft.sin.f64`, a function without a
//! body that says, by `vector-function-abi-variant`, that N of it are `_ZGVeN8v_sin`. Loops are vectorised with N lanes and
//! a masked tail, so every element goes through that routine. Calls that stay scalar (outside loops, in loops that the
//! vectoriser refuses) get the body of `Calls::define`: splat, call the same routine, take lane 0. A loop that mixes f32 and
//! f64 runs with f64's lanes, and its f32 calls are half of a call of the f32 routine. The bits of a result thus cannot
//! depend on its position.
//!
//! Where there is no libmvec the body is libm's function and nothing is vectorised.

use crate::llvm::builder::Builder;
use crate::llvm::context::Context;
use crate::llvm::module::{Linkage, Module, Place};
use crate::llvm::symbols;
use crate::llvm::target::host_cpu;
use crate::llvm::{Type, Value};
use weft_ir::MathFn;
use weft_ir::math::By;

/// The C function for a width (`sinf` for 32).
pub fn c_name(f: MathFn, bits: u32) -> String {
    format!("{}{}", f.name(), if bits == 32 { "f" } else { "" })
}

/// The name lowering calls (`weft.sin.f64`).
fn scalar_name(f: MathFn, bits: u32) -> String {
    format!("weft.{}.f{bits}", f.name())
}

/// libmvec's name for this process's width (`_ZGVeN8v_sin`).
pub fn vector_name(f: MathFn, bits: u32) -> String {
    let isa = match host_cpu().vector_bits {
        512 => 'e',
        256 => 'd',
        _ => 'b',
    };
    format!("_ZGV{isa}N{}{}_{}", lanes(bits), "v".repeat(f.arity()), c_name(f, bits))
}

/// The name of the routine for half as many lanes, made from the whole one (`weft.half.sin.f32`).
fn half_name(f: MathFn, bits: u32) -> String {
    format!("weft.half.{}.f{bits}", f.name())
}

/// The attribute that tells LLVM's vectoriser about the variants.
fn variant_attribute(f: MathFn, bits: u32) -> String {
    let (parameters, scalar) = ("v".repeat(f.arity()), scalar_name(f, bits));
    let mut all = format!("_ZGV_LLVM_N{}{parameters}_{scalar}({})", lanes(bits), vector_name(f, bits));
    if bits == 32 {
        all += &format!(",_ZGV_LLVM_N{}{parameters}_{scalar}({})", lanes(64), half_name(f, bits));
    }
    all
}

/// Lanes of a vector of floats of so many bits, in this process.
pub fn lanes(bits: u32) -> u32 {
    host_cpu().vector_bits / bits
}

/// Whether `name` is a libm function of the table, of floats or of complex numbers.
pub(crate) fn is_scalar_symbol(name: &str) -> bool {
    let is = |f: &MathFn, name: &str| name.strip_prefix(f.name()).is_some_and(|rest| rest.is_empty() || rest == "f");
    let complex = |f: &MathFn| f.has_complex() && name.strip_prefix('c').is_some_and(|name| is(f, name));
    MathFn::ALL.iter().any(|f| is(f, name) || complex(f))
}

/// Whether `name` is a libmvec routine of the table, in any width.
pub(crate) fn is_vector_symbol(name: &str) -> bool {
    let Some((kind, function)) = name.strip_prefix("_ZGV").and_then(|rest| rest.split_once('_')) else { return false };
    matches!(kind.as_bytes().first(), Some(b'b' | b'c' | b'd' | b'e'))
        && MathFn::ALL.iter().any(|f| f.by() == By::Vector && [64, 32].iter().any(|&bits| c_name(*f, bits) == function))
}

/// The math functions that one native module calls.
#[derive(Default)]
pub(crate) struct Calls {
    used: Vec<(MathFn, u32)>,
}

impl Calls {
    /// Calls a function of the table on floats of so many bits.
    pub(crate) fn call(&mut self, module: &Module, b: &Builder, f: MathFn, bits: u32, args: &[Value]) -> Value {
        let scalar = module.context.float(bits);
        let (callee, ty) = declare(module, &scalar_name(f, bits), scalar, f.arity());
        let call = b.call(ty, callee, args);
        if symbols::has_libmvec() {
            b.call_attribute(call, "vector-function-abi-variant", &variant_attribute(f, bits));
        }
        if !self.used.contains(&(f, bits)) {
            self.used.push((f, bits));
        }
        call
    }

    /// Declares the vector routines and keeps them through optimisation.
    pub(crate) fn declare_vectors(&self, module: &Module) {
        if self.used.is_empty() || !symbols::has_libmvec() {
            return;
        }
        let mut vectors = vec![];
        for &(f, bits) in &self.used {
            vectors.push(vector_routine(module, f, bits).0);
            if bits == 32 {
                let half = module.context.vector(module.context.float(bits), lanes(64));
                vectors.push(declare(module, &half_name(f, bits), half, f.arity()).0);
            }
        }
        module.keep(&vectors);
    }

    /// After vectorisation: gives bodies to the scalar and half routines that are still called.
    pub(crate) fn define(&self, module: &Module) {
        module.release_kept();
        for &(f, bits) in &self.used {
            for (name, width) in [(scalar_name(f, bits), 1), (half_name(f, bits), lanes(64))] {
                if let Some(function) = module.find(&name).filter(|&f| !module.remove_if_unused(f)) {
                    write_body(module, function, f, bits, width);
                }
            }
            if let Some(whole) = module.find(&vector_name(f, bits)) {
                module.remove_if_unused(whole);
            }
        }
    }
}

/// The body of a routine for fewer lanes than the whole: widen, call, narrow.
fn write_body(module: &Module, function: Value, f: MathFn, bits: u32, width: u32) {
    module.make_internal(function);
    let b = Builder::new(module.context);
    b.at_end(b.block(function, c"entry"));
    let args: Vec<Value> = (0..f.arity() as u32).map(|i| b.param(function, i)).collect();
    let all = lanes(bits);
    let result = if !symbols::has_libmvec() {
        let (libm, ty) = declare(module, &c_name(f, bits), module.context.float(bits), f.arity());
        b.call(ty, libm, &args)
    } else {
        let (routine, ty) = vector_routine(module, f, bits);
        let widen = |&a| if width == 1 { b.splat(a, all) } else { b.shuffle(a, (0..all).map(|l| l % width)) };
        let wide: Vec<Value> = args.iter().map(widen).collect();
        let whole = b.call(ty, routine, &wide);
        if width == 1 { b.lane0(whole) } else { b.shuffle(whole, 0..width) }
    };
    b.ret(Some(result));
}

fn vector_routine(module: &Module, f: MathFn, bits: u32) -> (Value, Type) {
    let vector = module.context.vector(module.context.float(bits), lanes(bits));
    declare(module, &vector_name(f, bits), vector, f.arity())
}

/// Declares a function of `arity` values of one type that touches no memory and always returns.
pub(crate) fn declare(module: &Module, name: &str, of: Type, arity: usize) -> (Value, Type) {
    declare_as(module, name, of, &vec![of; arity])
}

/// Declares a function whose result depends on its arguments alone.
pub(crate) fn declare_as(module: &Module, name: &str, result: Type, params: &[Type]) -> (Value, Type) {
    let context: &Context = module.context;
    let ty = context.function(result, params);
    if let Some(f) = module.find(name) {
        return (f, ty);
    }
    let f = module.function(name, ty, Linkage::External);
    for attribute in ["nounwind", "willreturn", "nocallback", "nosync"] {
        module.attribute(f, Place::Function, attribute, 0);
    }
    module.attribute(f, Place::Function, "memory", 0);
    (f, ty)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_vector_abi() {
        let n = lanes(64);
        assert!(vector_name(MathFn::Sin, 64).ends_with(&format!("N{n}v_sin")));
        assert!(vector_name(MathFn::Pow, 32).ends_with(&format!("N{}vv_powf", 2 * n)));
    }

    #[test]
    fn every_function_of_the_table_is_in_libmvec_or_nothing_is() {
        if !symbols::has_libmvec() {
            return;
        }
        for &f in MathFn::ALL.iter().filter(|f| f.by() == By::Vector) {
            for bits in [32, 64] {
                assert!(symbols::address(&vector_name(f, bits)).is_some(), "{}", vector_name(f, bits));
                assert!(symbols::address(&c_name(f, bits)).is_some(), "{}", c_name(f, bits));
            }
        }
    }
}
