//! The invariants, in three rings. Every pass may rely on them; [`verify`] checks them all.
//!
//! A ring is only entered when the one before holds, so that a rule never sees a dangling id.
//!
//! **Structure** (`structure.rs`): what any walk over a function relies on.
//! 1. Ids of live ops, values and regions are in range; a module has a function; names of functions differ.
//! 2. An op stands in one region; a region is the body or is held by one op.
//! 3. A value is defined once: by one op, or as one region's argument.
//! 4. An operand is defined before its use, in the same region or in one around it; the bodies of `nt.elementwise`
//!    and `env.region` see only their arguments.
//! 5. A region ends with a terminator and has no other.
//! 6. Numbers of operands, results and regions are those of the op table.
//! 7. A function's body ends with `return` or `raise`, any other region with `yield`, `return` or `raise`;
//!    `return` does not leave an `nt.elementwise`, an `env.region` or a `par.for`, but ends an item of a kernel.
//!
//! **Rules** (`rules.rs`, `machine.rs`): types of operands, results and regions. At stage `py` only counts are known.
//! 1. Region arguments have the types the op gives them; what a region yields has the types of the results.
//! 2. `return` gives the function's result types; a kernel returns nothing.
//! 3. Raising ops name a site of the module; `raise` carries at most 16 scalars.
//! 4. Scalar ops: operands and result are one scalar type of the family the op is for; comparisons give
//!    `bool` or `pybool`; a cast goes from scalar to scalar; a constant fits its type.
//! 5. `scf.if` tests a `bool` or `pybool`; the bounds of `scf.for` and its index are one of `i64 i32 pyint`.
//! 6. `nt.elementwise`: results have the same sizes; a tensor operand's sizes, aligned right, are the result's
//!    or the constant 1; the body neither writes nor holds another `nt.elementwise`.
//! 7. `nt.position` stands in an `nt.elementwise` that has this dimension.
//! 8. `nt.refine` keeps rank and dtype and makes no constant size another; `env.transfer` keeps dtype and sizes.
//! 9. `nt.load` and `nt.store` take as many integer indices as the array has dimensions and its element type;
//!    nothing is stored into a read-only array.
//! 10. `mem` ops: pointers, owners, integer indices; the space of new memory is that of its place. Local and private
//!     memory goes neither in nor out of functions.
//! 11. A `simt.launch` names a kernel of the module and passes its parameters' types.
//! 12. A size symbol in a type is bound before, by a parameter's type or by a `shape.bind`, and is known to `Func::symbols`.
//! 13. What goes into a cell and comes out of it has the cell's type.
//! 14. Views and copies keep dtypes and have the axes and sizes that their types say.
//! 15. The values of a list's item are those of the list's type, but for the sizes of arrays.
//!
//! **Stage** (`stage.rs`): what a stage promises to the passes after it.
//! 1. Only the stage's dialects occur (table in `stage.rs`).
//! 2. Only the stage's types occur: untyped at `py`; scalars, tensors and tuples up to `fused`; strong scalars,
//!    pointers and owners at `loops`.
//! 3. `simt.global_id` and `simt.global_size` stand in kernels; `simt.launch` and what allocates or
//!    moves memory stand outside kernels and parallel loops.
//! 4. (`placed` on) All arrays of one `nt` op are at one place.
//! 5. (`placed` on) Outside kernels an `nt` op that touches elements stands where its arrays are: in an
//!    `env.region` of that place, or outside of any for the host.
//! 6. `env.region`s do not nest.
//! 7. (`loops`) Outside kernels `mem.load` and `mem.store` touch host memory only.
//! 8. (`placed` on) What an `env.transfer` gives to read is not written, under any name, and not passed on to where it could be.
//! 9. Levels of `par.for`: groups stand in no parallel loop, and the items of a group in its body or under control flow of
//!    it. Outside of these, the body is the same for all items: it touches no memory, raises nothing and holds no other
//!    parallel loop. Local memory is made in it, and a barrier stands in the body of a loop over items.

mod machine;
mod rules;
mod stage;
mod structure;

use crate::func::{Func, Module, OpId, ValueId};
use std::fmt::Write;

/// A broken invariant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{invariant} broken in @{func}: {message}\n  {op}")]
pub struct VerifyError {
    /// Name of the function.
    pub func: String,
    /// The op as it prints, without its regions; or what else is wrong.
    pub op: String,
    /// The invariant by ring and number (`rules.6`).
    pub invariant: String,
    /// What was found.
    pub message: String,
}

/// Checks every invariant of every function; the first that does not hold is the error.
pub fn verify(m: &Module) -> Result<(), VerifyError> {
    verify_structure(m)?;
    for func in &m.funcs {
        rules::check(m, func)?;
        stage::check(m, func)?;
    }
    Ok(())
}

/// Only the first ring: cheap enough for release builds.
pub fn verify_structure(m: &Module) -> Result<(), VerifyError> {
    let module_error = |message: &str| VerifyError {
        func: m.funcs.first().map_or(String::new(), |f| f.name.clone()),
        op: "the module".into(),
        invariant: "structure.1".into(),
        message: message.into(),
    };
    if m.funcs.is_empty() {
        return Err(module_error("no function"));
    }
    for (i, f) in m.funcs.iter().enumerate() {
        if m.funcs[..i].iter().any(|g| g.name == f.name) {
            return Err(module_error("two functions of one name"));
        }
        structure::check(f)?;
    }
    Ok(())
}

type Checked = Result<(), VerifyError>;

/// An error at an op.
fn broken(f: &Func, op: OpId, invariant: &str, message: impl Into<String>) -> VerifyError {
    VerifyError { func: f.name.clone(), op: op_text(f, op), invariant: invariant.into(), message: message.into() }
}

/// An error that no op stands for.
fn broken_func(f: &Func, invariant: &str, message: impl Into<String>) -> VerifyError {
    VerifyError {
        func: f.name.clone(),
        op: "the function".into(),
        invariant: invariant.into(),
        message: message.into(),
    }
}

/// One line of text for an op, with the names the printer gives its values. Bad ids are printed, not followed.
fn op_text(f: &Func, id: OpId) -> String {
    let numbers = printed_numbers(f);
    let name = |v: ValueId| match (f.values.get(v.index()), numbers.get(v.index())) {
        (Some(data), Some(Some(n))) if data.name.is_empty() => format!("%{n}"),
        (Some(data), Some(Some(n))) => format!("%{}.{n}", data.name),
        _ => format!("%undefined{}", v.0),
    };
    let list = |vs: &[ValueId]| vs.iter().map(|&v| name(v)).collect::<Vec<_>>().join(", ");
    let data = f.op(id);
    let mut out = list(&data.results);
    if !out.is_empty() {
        out.push_str(" = ");
    }
    let _ = write!(out, "{}({})", data.op.name(), list(&data.operands));
    let mut attrs = String::from(" <{");
    data.op.print_attrs(&mut attrs);
    if attrs != " <{" {
        out.push_str(&attrs);
        out.push_str("}>");
    }
    let types: Vec<String> =
        data.results.iter().filter_map(|v| f.values.get(v.index())).map(|v| v.ty.to_string()).collect();
    if !types.is_empty() {
        let _ = write!(out, " : {}", types.join(", "));
    }
    if data.span.is_known() {
        let _ = write!(out, " @{}:{}", data.span.start, data.span.end);
    }
    out
}

/// The number the printer gives each value: dense, in order of definition.
fn printed_numbers(f: &Func) -> Vec<Option<u32>> {
    let mut numbers = vec![None; f.values.len()];
    let mut next = 0;
    let mut define = |vs: &[ValueId]| {
        for v in vs {
            if let Some(slot) = numbers.get_mut(v.index()) {
                *slot = Some(next);
            }
            next += 1;
        }
    };
    // A broken function may hold a region twice or in itself: each is entered once.
    let mut seen = vec![false; f.regions.len()];
    let mut stack = vec![(f.body, 0)];
    while let Some((region, at)) = stack.pop() {
        let Some(data) = f.regions.get(region.index()) else { continue };
        if at == 0 {
            if std::mem::replace(&mut seen[region.index()], true) {
                continue;
            }
            define(&data.args);
        }
        let Some(op) = data.ops.get(at).and_then(|op| f.ops.get(op.index())) else { continue };
        define(&op.results);
        stack.push((region, at + 1));
        stack.extend(op.regions.iter().rev().map(|&r| (r, 0)));
    }
    numbers
}

#[cfg(test)]
mod tests;
