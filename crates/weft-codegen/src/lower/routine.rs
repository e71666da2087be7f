//! Calls of the routines in Rust that all compiled code of the host shares (`helpers.rs` has them by name).

use weft_ir::attr::{Fold, Order};
use weft_ir::reduce::RUN;
use weft_ir::{DType, Op, OpData, Type as IrType};

use super::{Lowering, Target, malformed, types};
use crate::error::Result;
use crate::llvm::module::Linkage;
use crate::llvm::{Type, Value};

impl Lowering<'_, '_> {
    /// The dtype behind the first operand.
    fn elements_of(&self, data: &OpData) -> Result<DType> {
        match *self.ir_type(data.operands[0]) {
            IrType::Mem(d, _) => Ok(d),
            _ => Err(malformed(format!("`{}` needs a pointer", data.op.name()), data.span)),
        }
    }

    /// Calls a routine; what it gives back, if it returns something.
    fn routine(&mut self, data: &OpData, name: &str, returns: Type, args: &[Value]) -> Result<Value> {
        if self.unit.target != Target::Native {
            return Err(malformed(format!("`{}` inside a kernel", data.op.name()), data.span));
        }
        Ok(self.helper(name, returns, args))
    }

    /// Calls a routine that returns 0, or 1 when it raised.
    fn routine_try(&mut self, data: &OpData, name: &str, args: &[Value]) -> Result<()> {
        let status = self.routine(data, name, self.b.context.int(32), args)?;
        self.go_on_if_fine(status, data.span)
    }

    /// Calls a routine that gives its work to threads, and so can be ended.
    fn threaded(&mut self, data: &OpData, name: &str, args: &[Value]) -> Result<()> {
        self.routine(data, name, self.b.context.void(), args)?;
        self.leave_if_stopped(data.span)
    }

    /// A call of something written in Rust, in host code.
    pub(crate) fn helper(&self, name: &str, returns: Type, args: &[Value]) -> Value {
        let types: Vec<Type> = args.iter().map(|&v| self.b.type_of(v)).collect();
        let ty = self.b.context.function(returns, &types);
        let f = self.unit.module.find(name);
        let f = f.unwrap_or_else(|| self.unit.module.function(name, ty, Linkage::External));
        self.b.call(ty, f, args)
    }

    /// `mem.reduce`.
    pub(crate) fn reduce(&mut self, data: &OpData, fold: Fold, order: Order) -> Result<()> {
        let d = self.elements_of(data)?;
        if !crate::reduce::has_routine(fold, d) {
            return Err(malformed("a reduction that there is no routine for", data.span));
        }
        let mut words = self.operands(data)?;
        words.push(self.b.i64(match order {
            Order::Auto => RUN as u64,
            Order::Tree => 0,
            Order::Pairs => 1,
        }));
        let words = self.words(&words);
        let args = [self.b.i64(crate::reduce::fold_number(fold)), self.b.i64(d as u64), words];
        self.routine(data, "weft_reduce", self.b.context.void(), &args).map(drop)
    }

    /// `mem.scan`.
    pub(crate) fn scan(&mut self, data: &OpData, fold: Fold) -> Result<()> {
        let d = self.elements_of(data)?;
        let words = self.words(&self.operands(data)?);
        let args =
            [self.context(data.span)?, self.b.i64(crate::reduce::fold_number(fold)), self.b.i64(d as u64), words];
        self.threaded(data, "weft_scan", &args)
    }

    /// `mem.copy`.
    pub(crate) fn copy(&mut self, data: &OpData, rank: u32) -> Result<()> {
        let d = self.elements_of(data)?;
        let words = self.words(&self.operands(data)?);
        let ctx = self.context(data.span).unwrap_or_else(|_| self.b.zero(self.b.context.ptr(0)));
        let args = [ctx, self.b.i64(d.size() as u64), self.b.i64(rank.into()), words];
        self.threaded(data, "weft_copy", &args)
    }

    /// `mem.count`.
    pub(crate) fn count_true(&mut self, data: &OpData) -> Result<()> {
        let operands = self.operands(data)?;
        let counted = self.routine(data, "weft_count", self.b.context.int(64), &operands)?;
        self.define(data, 0, counted);
        Ok(())
    }

    /// `mem.compress`.
    pub(crate) fn compress(&mut self, data: &OpData, back: bool) -> Result<()> {
        let d = self.elements_of(data)?;
        let words = self.words(&self.operands(data)?);
        let args = [self.b.i64(d.size() as u64), self.b.i64(back.into()), words];
        self.routine(data, "weft_compress", self.b.context.void(), &args).map(drop)
    }

    /// `mem.matmul` and `mem.product`, whose region becomes a chunk function.
    pub(crate) fn matmul(&mut self, data: &OpData) -> Result<()> {
        let d = self.elements_of(data)?;
        let (chunk, env) = match data.op {
            Op::MemProduct => self.chunk(data, &[])?,
            _ => (self.b.i64(0), self.b.i64(0)),
        };
        let mut words = self.operands(data)?;
        words.extend([chunk, env]);
        let words = self.words(&words);
        let args = [self.context(data.span)?, self.b.i64(d as u64), words];
        self.routine_try(data, "weft_matmul", &args)?;
        self.leave_if_stopped(data.span)
    }

    /// `mem.both_sides`.
    pub(crate) fn both_sides(&mut self, data: &OpData) -> Result<()> {
        let d = self.elements_of(data)?;
        let words = self.operands(data)?;
        let args = [self.context(data.span)?, self.b.i64(d as u64), self.words(&words)];
        self.routine_try(data, "weft_both_sides", &args)?;
        self.leave_if_stopped(data.span)
    }

    /// `mem.dot`.
    pub(crate) fn dot(&mut self, data: &OpData) -> Result<()> {
        let d = self.elements_of(data)?;
        if d == DType::F16 {
            return Err(malformed("a product of vectors that there is no routine for", data.span));
        }
        let to = self.word_buffer(2);
        let mut args = vec![self.context(data.span)?];
        args.extend(self.operands(data)?);
        args.push(to);
        self.threaded(data, &crate::helpers::dot_name(d), &args)?;
        let v = types::load_element(&self.b, d, to, d.size() as u32, &mut |_| {});
        self.define(data, 0, v);
        Ok(())
    }

    /// `mem.cholesky` and `mem.solve`.
    pub(crate) fn linalg(&mut self, data: &OpData) -> Result<()> {
        let d = self.elements_of(data)?;
        if !matches!(d, DType::F64 | DType::C128) {
            return Err(malformed("linear algebra that there is no routine for", data.span));
        }
        let operands = self.operands(data)?;
        let mut args = vec![self.context(data.span)?, self.b.i64(d as u64)];
        let name = match data.op {
            Op::MemCholesky => {
                args.extend(operands);
                "weft_cholesky"
            }
            _ => {
                args.push(self.words(&operands));
                "weft_solve"
            }
        };
        let outcome = self.word_buffer(1);
        args.push(outcome);
        self.routine_try(data, name, &args)?;
        let outcome = self.b.load(self.b.context.int(64), outcome, 8);
        self.define(data, 0, outcome);
        self.leave_if_stopped(data.span)?;
        Ok(())
    }
}
