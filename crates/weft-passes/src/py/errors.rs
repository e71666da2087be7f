//! Exceptions: `assert`, `raise`, `try`.

use weft_diag::{Diagnostic, Span};
use weft_ir::attr::Const;
use weft_ir::{Op, RegionId, ValueId};
use weft_syntax::{Expr, ExprKind, Handler, Stmt};

use super::live::{self, Exits, Jumps, Names};
use super::loops::Frame;
use super::walk::Walk;
use super::{Flow, Lower};

impl<'a> Lower<'a, '_> {
    /// `assert test, message`: the message is made only when it is needed.
    pub(super) fn assert(&mut self, span: Span, test: &'a Expr, message: Option<&'a Expr>) -> Result<(), Diagnostic> {
        let test = self.condition(test)?;
        let holds = self.empty_region(span);
        let (fails, (), _) = self.region(|l| {
            let arguments = match message {
                Some(message) => vec![l.expr(message)?],
                None => vec![],
            };
            let exception = l.exception(span, "AssertionError", &arguments);
            l.effect(span, Op::PyRaise, &[exception]);
            Ok(())
        })?;
        self.held(span, Op::ScfIf, &[test], 0, &[holds, fails]);
        Ok(())
    }

    /// `raise exception from cause`. The cause is evaluated but not kept.
    pub(super) fn raise(
        &mut self,
        span: Span,
        exception: Option<&'a Expr>,
        cause: Option<&'a Expr>,
    ) -> Result<Flow, Diagnostic> {
        let operands = match exception {
            Some(exception) => vec![self.expr(exception)?],
            None if self.handlers > 0 => vec![],
            None => {
                let message = self.constant(span, Const::Str("No active exception to reraise".into()));
                vec![self.exception(span, "RuntimeError", &[message])]
            }
        };
        if let Some(cause) = cause
            && !matches!(cause.kind, ExprKind::Constant(_) | ExprKind::Name { .. })
        {
            self.expr(cause)?;
        }
        self.effect(span, Op::PyRaise, &operands);
        Ok(Flow::Leaves)
    }

    fn exception(&mut self, span: Span, class: &str, arguments: &[ValueId]) -> ValueId {
        let class = self.value(span, Op::PyGlobal { path: class.into() }, &[]);
        self.value(span, Op::PyCall { keywords: vec![] }, &[&[class], arguments].concat())
    }

    /// Names that a `try` makes cells: bound in what may raise, and read after it has.
    fn endangered(&self, bound: &Names<'a>, read: &Names<'a>) -> Vec<&'a str> {
        self.by_value(|n| bound.contains(n) && read.contains(n))
    }

    /// `try` without `finally`. A handler that falls out of its end leaves the block around all with what it rebound.
    pub(super) fn try_except(
        &mut self,
        span: Span,
        body: &'a [Stmt],
        handlers: &'a [Handler],
        orelse: &'a [Stmt],
        after: &Names<'a>,
    ) -> Result<Flow, Diagnostic> {
        let behind = live::before_block(orelse, after, &self.exits);
        let mut read = live::before_handlers(handlers, after, &self.exits);
        read.extend(&behind);
        let cells = self.endangered(&live::assigned(|w| w.block(body)), &read);
        self.enter_cells(&cells, span);
        let rebound = live::assigned(|w| {
            handlers.iter().for_each(|h| w.handler(h));
            w.block(orelse);
        });
        let names = self.by_value(|n| rebound.contains(n) && after.contains(n));
        let flow = if handlers.iter().all(|h| live::surely_leaves(&h.body)) {
            let (flow, _) = self.guarded(span, body, &behind, |l| l.handlers(handlers, None, &names, after))?;
            self.otherwise(span, flow, orelse, after)?
        } else {
            let (region, falls) = self.breakable(|l, level| {
                let (flow, caught) =
                    l.guarded(span, body, &behind, |l| l.handlers(handlers, Some(level), &names, after))?;
                let flow = l.otherwise(span, flow, orelse, after)?;
                if flow == Flow::Falls {
                    let values = l.locals(&names, span);
                    l.effect(span, Op::Yield, &values);
                }
                Ok(caught || flow == Flow::Falls)
            })?;
            self.finish(span, Op::ScfBlock, &[], &names, region, falls)
        };
        if flow == Flow::Falls {
            self.leave_cells(&cells, after, span);
        }
        Ok(flow)
    }

    /// `py.try` of a body, with a handler region that leaves. Also gives what filling the handler gives.
    fn guarded<R>(
        &mut self,
        span: Span,
        body: &'a [Stmt],
        behind: &Names<'a>,
        handler: impl FnOnce(&mut Self) -> Result<R, Diagnostic>,
    ) -> Result<(Flow, R), Diagnostic> {
        let (tried, flow, _) = self.region(|l| {
            let flow = l.block(body, behind)?;
            if flow == Flow::Falls {
                l.effect(span, Op::Yield, &[]);
            }
            Ok(flow)
        })?;
        let (region, result) = self.handler_region(handler)?;
        self.held(span, Op::PyTry, &[], 0, &[tried, region]);
        Ok((flow, result))
    }

    fn handler_region<R>(
        &mut self,
        fill: impl FnOnce(&mut Self) -> Result<R, Diagnostic>,
    ) -> Result<(RegionId, R), Diagnostic> {
        self.handlers += 1;
        let filled = self.region(fill);
        self.handlers -= 1;
        filled.map(|(region, result, _)| (region, result))
    }

    /// The `else` of a `try`, behind its `py.try`; `flow` is that of the body.
    fn otherwise(&mut self, span: Span, flow: Flow, orelse: &'a [Stmt], after: &Names<'a>) -> Result<Flow, Diagnostic> {
        if flow == Flow::Leaves {
            self.effect(span, Op::PyUnreachable, &[]);
            return Ok(Flow::Leaves);
        }
        self.block(orelse, after)
    }

    /// Tries one handler after the other. Those that fall leave the block at `level`. Says whether one does.
    fn handlers(
        &mut self,
        handlers: &'a [Handler],
        level: Option<u32>,
        names: &[&'a str],
        after: &Names<'a>,
    ) -> Result<bool, Diagnostic> {
        let mut falls = false;
        for handler in handlers {
            let span = handler.span;
            let Some(class) = &handler.class else {
                return Ok(falls | self.handler(handler, level, names, after)?);
            };
            let class_value = self.expr(class)?;
            let fits = self.value(class.span, Op::PyCatch, &[class_value]);
            let (region, fell, _) = self.region(|l| l.handler(handler, level, names, after))?;
            self.unless(span, fits, region);
            falls |= fell;
        }
        let span = handlers.last().map_or(Span::NONE, |h| h.span);
        self.effect(span, Op::PyRaise, &[]);
        Ok(falls)
    }

    fn handler(
        &mut self,
        handler: &'a Handler,
        level: Option<u32>,
        names: &[&'a str],
        after: &Names<'a>,
    ) -> Result<bool, Diagnostic> {
        let span = handler.span;
        if let Some(name) = &handler.name {
            let caught = self.value(name.span, Op::PyCaught, &[]);
            self.assign(name, caught, name.span)?;
        }
        if self.block(&handler.body, after)? == Flow::Leaves {
            return Ok(false);
        }
        // Unlike `del`, this does not mind a name that the handler has unbound itself.
        if let Some(Expr { kind: ExprKind::Name { ident, .. }, .. }) = &handler.name {
            self.unset(ident, span);
        }
        let level = level.ok_or_else(|| Diagnostic::internal(span, "a handler that should leave falls"))?;
        let values = self.locals(names, span);
        self.break_to(span, level, &values);
        Ok(true)
    }

    /// `try` with `finally`, which stands, once more, on every way out: behind the `try`, in its handler, and in front of
    /// each kind of jump. Jumps first leave the `try`, so that a `finally` that raises is not run again.
    pub(super) fn try_finally(
        &mut self,
        span: Span,
        body: &'a [Stmt],
        handlers: &'a [Handler],
        orelse: &'a [Stmt],
        finalbody: &'a [Stmt],
        after: &Names<'a>,
    ) -> Result<Flow, Diagnostic> {
        let jumps = [body, orelse].into_iter().chain(handlers.iter().map(|h| &h.body[..]));
        let jumps = jumps.fold(Jumps::default(), |all, stmts| all.or(Jumps::of(stmts)));
        let ends = live::before_finally(finalbody, after, &self.exits);
        let bound = live::assigned(|w| {
            w.block(body);
            handlers.iter().for_each(|h| w.handler(h));
            w.block(orelse);
        });
        let cells = self.endangered(&bound, &ends);
        self.enter_cells(&cells, span);
        let last = live::assigned(|w| w.block(finalbody));
        let names = self.by_value(|n| last.contains(n) && after.contains(n));
        let all = Finally { span, body, handlers, orelse, finalbody, ends: &ends, after };
        let flow = if jumps == Jumps::default() {
            match self.protected(&all, [0; 3])? {
                Flow::Falls => self.block(finalbody, after)?,
                Flow::Leaves => {
                    self.effect(span, Op::PyUnreachable, &[]);
                    Flow::Leaves
                }
            }
        } else {
            let (region, falls) = self.breakable(|l, out| l.continued(&all, jumps, out, &names))?;
            self.finish(span, Op::ScfBlock, &[], &names, region, falls)
        };
        if flow == Flow::Falls {
            self.leave_cells(&cells, after, span);
        }
        Ok(flow)
    }

    /// Fills the block that all ways out of the whole lead to: a block in front of the `finally` of `continue`, …
    fn continued(
        &mut self,
        all: &Finally<'a, '_>,
        jumps: Jumps,
        out: u32,
        names: &[&'a str],
    ) -> Result<bool, Diagnostic> {
        if !jumps.continues {
            return self.broken(all, jumps, out, 0, names);
        }
        let (region, falls) = self.breakable(|l, level| l.broken(all, jumps, out, level, names))?;
        self.held(all.span, Op::ScfBlock, &[], 0, &[region]);
        if self.block(all.finalbody, &self.exits.continued.clone())? == Flow::Falls {
            self.jump(all.span, false)?;
        }
        Ok(falls)
    }

    /// … in it one in front of that of `break`, …
    fn broken(
        &mut self,
        all: &Finally<'a, '_>,
        jumps: Jumps,
        out: u32,
        continued: u32,
        names: &[&'a str],
    ) -> Result<bool, Diagnostic> {
        if !jumps.breaks {
            return self.returned(all, jumps, out, [0, continued], names);
        }
        let (region, falls) = self.breakable(|l, level| l.returned(all, jumps, out, [level, continued], names))?;
        self.held(all.span, Op::ScfBlock, &[], 0, &[region]);
        if self.block(all.finalbody, &self.exits.broke.clone())? == Flow::Falls {
            self.jump(all.span, true)?;
        }
        Ok(falls)
    }

    /// … in it one in front of that of `return`, which gives the value, and in it the `py.try`.
    fn returned(
        &mut self,
        all: &Finally<'a, '_>,
        jumps: Jumps,
        out: u32,
        [broke, continued]: [u32; 2],
        names: &[&'a str],
    ) -> Result<bool, Diagnostic> {
        let inner = |l: &mut Self, level| -> Result<bool, Diagnostic> {
            if l.protected(all, [level, broke, continued])? == Flow::Leaves {
                l.effect(all.span, Op::PyUnreachable, &[]);
                return Ok(false);
            }
            let flow = l.block(all.finalbody, all.after)?;
            if flow == Flow::Falls {
                let values = l.locals(names, all.span);
                l.break_to(all.span, out, &values);
            }
            Ok(flow == Flow::Falls)
        };
        if !jumps.returns {
            return inner(self, 0);
        }
        let (region, falls) = self.breakable(inner)?;
        let value = self.held(all.span, Op::ScfBlock, &[], 1, &[region])[0];
        if self.block(all.finalbody, &Names::new())? == Flow::Falls {
            self.leave_function(all.span, value);
        }
        Ok(falls)
    }

    /// The `py.try` of what stands before `finally`; its jumps go to these levels.
    fn protected(&mut self, all: &Finally<'a, '_>, levels: [u32; 3]) -> Result<Flow, Diagnostic> {
        let [returned, broke, continued] = levels;
        self.frames.push(Frame::Finally { returned, broke, continued });
        let inside = Exits { broke: all.ends.clone(), continued: all.ends.clone() };
        let outer = std::mem::replace(&mut self.exits, inside);
        let tried = self.region(|l| {
            let flow = match all.handlers.is_empty() {
                true => l.block(all.body, all.ends)?,
                false => l.try_except(all.span, all.body, all.handlers, all.orelse, all.ends)?,
            };
            if flow == Flow::Falls {
                l.effect(all.span, Op::Yield, &[]);
            }
            Ok(flow)
        });
        self.exits = outer;
        self.frames.pop();
        let (tried, flow, _) = tried?;
        let (region, ()) = self.handler_region(|l| {
            if l.block(all.finalbody, &Names::new())? == Flow::Falls {
                l.effect(all.span, Op::PyRaise, &[]);
            }
            Ok(())
        })?;
        self.held(all.span, Op::PyTry, &[], 0, &[tried, region]);
        Ok(flow)
    }
}

/// A `try` with `finally`.
struct Finally<'a, 's> {
    span: Span,
    body: &'a [Stmt],
    handlers: &'a [Handler],
    orelse: &'a [Stmt],
    finalbody: &'a [Stmt],
    /// What is live in front of the `finally`, on any way out.
    ends: &'s Names<'a>,
    after: &'s Names<'a>,
}
