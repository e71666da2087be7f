//! Loops, and the jumps out of them and out of the function.

use weft_diag::{Diagnostic, Span};
use weft_ir::{Op, ValueId};
use weft_syntax::{Constant, Expr, ExprKind, Stmt};

use super::live::{self, Jumps, Names};
use super::walk::Walk;
use super::{Flow, Lower};

/// What a jump goes through.
pub(super) enum Frame<'a> {
    /// A loop: where `break` and `continue` go, with which names.
    Loop { broke: (u32, Vec<&'a str>), continued: (u32, Vec<&'a str>), was_broken: bool },
    /// A `try` whose `finally` must run first: the levels of the blocks in front of its copies.
    Finally { returned: u32, broke: u32, continued: u32 },
}

impl<'a> Lower<'a, '_> {
    /// Leaves the loop or block at this level.
    pub(super) fn break_to(&mut self, span: Span, level: u32, values: &[ValueId]) {
        self.effect(span, Op::Break { depth: self.depth - 1 - level }, values);
    }

    /// `break` or `continue`.
    pub(super) fn jump(&mut self, span: Span, breaks: bool) -> Result<Flow, Diagnostic> {
        match self.frames.last_mut() {
            None => return Err(Diagnostic::internal(span, "the parser let a jump stand outside of loops")),
            Some(&mut Frame::Finally { broke, continued, .. }) => {
                self.break_to(span, if breaks { broke } else { continued }, &[]);
            }
            Some(Frame::Loop { broke, continued, was_broken }) => {
                let (level, names) = if breaks { broke.clone() } else { continued.clone() };
                *was_broken |= breaks;
                let values = self.locals(&names, span);
                match breaks {
                    true => self.break_to(span, level, &values),
                    false => self.effect(span, Op::Continue { depth: self.depth - 1 - level }, &values),
                }
            }
        }
        Ok(Flow::Leaves)
    }

    /// `return value`.
    pub(super) fn leave_function(&mut self, span: Span, value: ValueId) {
        let finally = self.frames.iter().rev().find_map(|f| match f {
            Frame::Finally { returned, .. } => Some(*returned),
            Frame::Loop { .. } => None,
        });
        match finally {
            Some(level) => self.break_to(span, level, &[value]),
            None => self.effect(span, Op::Return, &[value]),
        }
    }

    pub(super) fn for_loop(
        &mut self,
        span: Span,
        target: &'a Expr,
        iter: ValueId,
        body: &'a [Stmt],
        orelse: &'a [Stmt],
        after: &Names<'a>,
    ) -> Result<Flow, Diagnostic> {
        if orelse.is_empty() || !Jumps::of(body).breaks {
            self.for_op(span, target, iter, body, orelse, after, None)?;
            // Without `break` the `else` of a loop always runs.
            return self.block(orelse, after);
        }
        let assigned = live::assigned(|w| {
            w.target(target);
            w.block(body);
            w.block(orelse);
        });
        let names = self.by_value(|n| assigned.contains(n) && after.contains(n));
        let (region, falls) = self.breakable(|l, level| {
            let broken = l.for_op(span, target, iter, body, orelse, after, Some((level, names.clone())))?;
            let flow = l.block(orelse, after)?;
            if flow == Flow::Falls {
                let values = l.locals(&names, span);
                l.effect(span, Op::Yield, &values);
            }
            Ok(broken || flow == Flow::Falls)
        })?;
        Ok(self.finish(span, Op::ScfBlock, &[], &names, region, falls))
    }

    /// The `py.for` alone. `broke` is where its `break`s go if not behind it. Says whether there were any.
    #[allow(clippy::too_many_arguments)]
    fn for_op(
        &mut self,
        span: Span,
        target: &'a Expr,
        iter: ValueId,
        body: &'a [Stmt],
        orelse: &'a [Stmt],
        after: &Names<'a>,
        broke: Option<(u32, Vec<&'a str>)>,
    ) -> Result<bool, Diagnostic> {
        let (head, exits) = live::loop_head(Some(target), None, body, orelse, after, &self.exits);
        let assigned = live::assigned(|w| {
            w.target(target);
            w.block(body);
        });
        let carried = self.by_value(|n| assigned.contains(n) && head.contains(n));
        let inits = self.locals(&carried, span);
        let outer = std::mem::replace(&mut self.exits, exits);
        let (region, was_broken) = self.breakable(|l, level| {
            let item = l.item(target);
            let here = (level, carried.clone());
            l.carry(&carried);
            l.assign(target, item, target.span)?;
            l.in_loop(broke.unwrap_or_else(|| here.clone()), here, |l| {
                if l.block(body, &head)? == Flow::Falls {
                    let values = l.locals(&carried, span);
                    l.effect(span, Op::Yield, &values);
                }
                Ok(())
            })
        })?;
        self.exits = outer;
        let results = self.held(span, Op::PyFor, &[&[iter], &inits[..]].concat(), carried.len(), &[region]);
        self.set_results(&carried, &results);
        Ok(was_broken)
    }

    pub(super) fn while_loop(
        &mut self,
        span: Span,
        test: &'a Expr,
        body: &'a [Stmt],
        orelse: &'a [Stmt],
        after: &Names<'a>,
    ) -> Result<Flow, Diagnostic> {
        let (head, exits) = live::loop_head(None, Some(test), body, orelse, after, &self.exits);
        let assigned = live::assigned(|w| {
            w.expr(test);
            w.block(body);
        });
        let carried = self.by_value(|n| assigned.contains(n) && head.contains(n));
        let last = live::assigned(|w| w.block(orelse));
        let names = self.by_value(|n| (assigned.contains(n) || last.contains(n)) && after.contains(n));
        let inits = self.locals(&carried, span);
        let (region, falls) = self.breakable(|l, level| {
            l.carry(&carried);
            let mut ends = false;
            if !is_true(test) {
                let test = l.condition(test)?;
                let (exit, flow, _) = l.region(|l| {
                    let flow = l.block(orelse, after)?;
                    if flow == Flow::Falls {
                        let values = l.locals(&names, span);
                        l.break_to(span, level, &values);
                    }
                    Ok(flow)
                })?;
                ends = flow == Flow::Falls;
                let stays = l.empty_region(span);
                l.held(span, Op::ScfIf, &[test], 0, &[stays, exit]);
            }
            let outer = std::mem::replace(&mut l.exits, exits);
            let broken = l.in_loop((level, names.clone()), (level, carried.clone()), |l| {
                if l.block(body, &head)? == Flow::Falls {
                    let values = l.locals(&carried, span);
                    l.effect(span, Op::Yield, &values);
                }
                Ok(())
            })?;
            l.exits = outer;
            Ok(ends || broken)
        })?;
        Ok(self.finish(span, Op::ScfLoop, &inits, &names, region, falls))
    }

    /// The op of a filled loop or block, and what follows if control never comes out of it.
    pub(super) fn finish(
        &mut self,
        span: Span,
        op: Op,
        operands: &[ValueId],
        names: &[&'a str],
        region: weft_ir::RegionId,
        falls: bool,
    ) -> Flow {
        let results = self.held(span, op, operands, names.len(), &[region]);
        self.set_results(names, &results);
        if falls {
            return Flow::Falls;
        }
        self.effect(span, Op::PyUnreachable, &[]);
        Flow::Leaves
    }

    /// The argument for a loop's item.
    pub(super) fn item(&mut self, target: &Expr) -> ValueId {
        match &target.kind {
            ExprKind::Name { ident, .. } => self.arg(ident),
            _ => self.b.arg(weft_ir::Type::Untyped),
        }
    }

    /// Arguments for carried names. One that may be unbound before the loop is, for the body, whatever the loop carries.
    pub(super) fn carry(&mut self, names: &[&'a str]) {
        for &name in names {
            let value = self.arg(name);
            self.env.insert(name, super::Slot::Value(value));
        }
    }

    /// Lowers a loop body whose jumps go there. Says whether there was a `break`.
    fn in_loop(
        &mut self,
        broke: (u32, Vec<&'a str>),
        continued: (u32, Vec<&'a str>),
        body: impl FnOnce(&mut Self) -> Result<(), Diagnostic>,
    ) -> Result<bool, Diagnostic> {
        self.frames.push(Frame::Loop { broke, continued, was_broken: false });
        let lowered = body(self);
        let frame = self.frames.pop();
        lowered?;
        Ok(matches!(frame, Some(Frame::Loop { was_broken: true, .. })))
    }
}

/// Whether a condition always holds, as that of `while True`.
fn is_true(test: &Expr) -> bool {
    match &test.kind {
        ExprKind::Constant(Constant::Bool(value)) => *value,
        ExprKind::Constant(Constant::Int { text, .. }) => text != "0",
        _ => false,
    }
}
