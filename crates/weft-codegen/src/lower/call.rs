//! Functions that others of the module call (`scf.call`): `{u32, results…} f(ctx, parameters…)`. The first is 0, or 1 when it
//! raised. A few numbers come back in registers; LLVM returns more through memory.

use std::mem::offset_of;

use weft_diag::Span;
use weft_ir::{Func, Op, OpData, Site};

use super::{Frame, Lowering, Ret, Unit, malformed, types};
use crate::abi::CallCtx;
use crate::error::Result;
use crate::llvm::builder::{Builder, IntIs, Opcode};
use crate::llvm::module::{Linkage, Place};
use crate::llvm::{Type, Value};

/// Writes every function that `entry` calls, itself or through others.
pub(crate) fn write_called(unit: &Unit, entry: &Func) -> Result<()> {
    let mut written: Vec<&str> = vec![];
    let mut waiting = vec![entry];
    while let Some(f) = waiting.pop() {
        let mut called = vec![];
        f.walk(&mut |id| {
            if let Op::Call { function } = &f.op(id).op {
                called.push(function.as_str());
            }
        });
        for name in called {
            if written.contains(&name) {
                continue;
            }
            let callee = find(unit, name, Span::NONE)?;
            write(unit, callee)?;
            written.push(&callee.name);
            waiting.push(callee);
        }
    }
    Ok(())
}

fn find<'m>(unit: &Unit<'m, '_>, name: &str, span: Span) -> Result<&'m Func> {
    let found = unit.ir.funcs.iter().find(|f| f.name == name && !f.kernel);
    found.ok_or_else(|| malformed(format!("no function @{name}"), span))
}

/// LLVM's `fastcc`.
const FAST: u32 = 8;

/// The function as LLVM knows it, its type, and what it gives.
fn declare(unit: &Unit, func: &Func, span: Span) -> Result<(Value, Type, Type)> {
    let cx = unit.module.context;
    let mut params = vec![cx.ptr(0)];
    for &p in func.params() {
        params.push(types::value(cx, unit.target, func.ty(p), span)?);
    }
    let mut given = vec![cx.int(32)];
    for ty in &func.results {
        given.push(types::value(cx, unit.target, ty, span)?);
    }
    let given = cx.structure(&given);
    let ty = cx.function(given, &params);
    let f = unit.module.function(&format!("weft.fn.{}", func.name), ty, Linkage::Internal);
    unit.module.convention(f, FAST);
    Ok((f, ty, given))
}

fn write(unit: &Unit, func: &Func) -> Result<()> {
    let (f, _, given) = declare(unit, func, Span::NONE)?;
    unit.module.attribute(f, Place::Function, "nounwind", 0);
    let b = Builder::new(unit.module.context);
    let (entry, fail) = (b.block(f, c"entry"), b.block(f, c"fail"));
    b.at_end(entry);
    let ctx = b.param(f, 0);
    let mut this = Lowering::new(unit, func, b, Frame::Entry { ctx, ret: Ret::Values(given), fail });
    for (k, &p) in func.params().iter().enumerate() {
        let v = this.b.param(f, 1 + k as u32);
        this.bind(p, v);
    }
    if this.region(func.body)?.is_some() {
        this.b.ret(Some(this.b.zero(given)));
    }
    this.finish_failure();
    Ok(())
}

impl Lowering<'_, '_> {
    /// Raises before the stack ends: functions may call themselves. Those that call nothing are not slowed by it, and have the
    /// room that is left for all that the runtime does.
    fn check_depth(&mut self, ctx: Value) -> Result<()> {
        let recursion = Site::recursion();
        let Some(site) = self.unit.ir.sites.iter().position(|s| *s == recursion) else { return Ok(()) };
        let b = &self.b;
        let (word, f) = (b.context.int(64), b.function());
        let here = b.cast(Opcode::LLVMPtrToInt, b.stack(b.context.int(8), 1), word);
        let limit = b.load(word, b.bytes_past(ctx, offset_of!(CallCtx, stack_limit) as u64), 8);
        let (deep, fine) = (b.block(f, c"deep"), b.block(f, c"fine"));
        let branch = b.branch(b.icmp(IntIs::LLVMIntULT, here, limit), deep, fine);
        b.annotate(branch, "prof", b.context.branch_weights(false));
        b.at_end(deep);
        self.raise_values(site as u32, &[], Span::NONE)?;
        self.b.at_end(fine);
        Ok(())
    }

    /// `scf.call`.
    pub(crate) fn call(&mut self, data: &OpData, function: &str) -> Result<()> {
        let callee = find(self.unit, function, data.span)?;
        let (f, ty, _) = declare(self.unit, callee, data.span)?;
        let mut args = vec![self.context(data.span)?];
        args.extend(self.operands(data)?);
        if data.operands.len() != callee.params().len() || data.results.len() != callee.results.len() {
            return Err(malformed(format!("@{function} takes or gives another number of values"), data.span));
        }
        self.check_depth(args[0])?;
        self.poll(data.span)?;
        let given = self.b.call(ty, f, &args);
        self.b.call_convention(given, FAST);
        self.go_on_if_fine(self.b.field(given, 0), data.span)?;
        for k in 0..data.results.len() {
            let v = self.b.field(given, 1 + k as u32);
            self.define(data, k, v);
        }
        Ok(())
    }
}
