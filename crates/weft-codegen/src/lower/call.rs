//! Functions that others of the module call (`scf.call`): `u32 f(ctx, parameters…, a place for each result…)`, which gives 0,
//! or 1 when it raised.

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

/// The function as LLVM knows it, and its type.
fn declare(unit: &Unit, func: &Func, span: Span) -> Result<(Value, Type)> {
    let cx = unit.module.context;
    let mut params = vec![cx.ptr(0)];
    for &p in func.params() {
        params.push(types::value(cx, unit.target, func.ty(p), span)?);
    }
    params.extend(func.results.iter().map(|_| cx.ptr(0)));
    let ty = cx.function(cx.int(32), &params);
    Ok((unit.module.function(&format!("weft.fn.{}", func.name), ty, Linkage::Internal), ty))
}

fn write(unit: &Unit, func: &Func) -> Result<()> {
    let (f, _) = declare(unit, func, Span::NONE)?;
    unit.module.attribute(f, Place::Function, "nounwind", 0);
    let b = Builder::new(unit.module.context);
    let (entry, fail) = (b.block(f, c"entry"), b.block(f, c"fail"));
    b.at_end(entry);
    let first_result = 1 + func.params().len();
    let places = (0..func.results.len()).map(|k| b.param(f, (first_result + k) as u32)).collect();
    let ctx = b.param(f, 0);
    let mut this = Lowering::new(unit, func, b, Frame::Entry { ctx, ret: Ret::Places(places), fail });
    for (k, &p) in func.params().iter().enumerate() {
        let v = this.b.param(f, 1 + k as u32);
        this.bind(p, v);
    }
    this.check_depth(ctx)?;
    if this.region(func.body)?.is_some() {
        this.b.ret(Some(this.b.i32(0)));
    }
    this.finish_failure();
    Ok(())
}

impl Lowering<'_, '_> {
    /// Raises before the stack ends: functions may call themselves.
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
        let (f, ty) = declare(self.unit, callee, data.span)?;
        let mut args = vec![self.context(data.span)?];
        args.extend(self.operands(data)?);
        let mut places = vec![];
        for &v in &data.results {
            places.push(self.b.stack(self.stored_type(self.ir_type(v), data)?, 8));
        }
        args.extend(&places);
        if args.len() != 1 + callee.params().len() + callee.results.len() {
            return Err(malformed(format!("@{function} takes or gives another number of values"), data.span));
        }
        let status = self.b.call(ty, f, &args);
        self.go_on_if_fine(status, data.span)?;
        for (k, &place) in places.iter().enumerate() {
            let v = self.take(self.ir_type(data.results[k]), place, data)?;
            self.define(data, k, v);
        }
        Ok(())
    }
}
