//! Typed emission: every op `infer` makes goes through here.

use super::abs::Abs;
use super::{Infer, Scope};
use weft_diag::{Diagnostic, ErrorKind};
use weft_ir::attr::{CmpOp, Const};
use weft_ir::{Builder, ExcClass, Op, RegionId, Site, Type, ValueId};

impl Infer<'_> {
    /// A builder at the current place.
    pub(super) fn builder(&mut self) -> Builder<'_> {
        Builder { region: self.region, span: self.span, func: &mut self.out }
    }

    /// An op with one result.
    pub(super) fn emit(&mut self, op: Op, operands: &[ValueId], ty: Type) -> ValueId {
        self.builder().value(op, operands, ty)
    }

    /// An op without result.
    pub(super) fn effect(&mut self, op: Op, operands: &[ValueId]) {
        self.builder().effect(op, operands);
    }

    /// A terminator, unless the region has one.
    pub(super) fn terminate(&mut self, op: Op, operands: &[ValueId]) {
        let last = self.out.region(self.region).ops.last();
        if !last.is_some_and(|&o| self.out.op(o).op.is_terminator()) {
            self.effect(op, operands);
        }
    }

    /// Emits into `region`, then returns to the current one. What is granted in it holds to its end.
    pub(super) fn inside<R>(&mut self, region: RegionId, f: impl FnOnce(&mut Self) -> R) -> R {
        let saved = std::mem::replace(&mut self.region, region);
        let granted = self.granted.len();
        self.open.push(saved);
        let result = f(self);
        self.open.pop();
        self.forget_granted(granted);
        self.region = saved;
        result
    }

    /// Runs `f` before the elementwise op whose body is being emitted, if `value` was known there already: what
    /// depends on no element is computed, and raises, once.
    pub(super) fn hoisted<R>(&mut self, value: ValueId, f: impl FnOnce(&mut Self) -> R) -> R {
        match self.body {
            Some(body) if value.index() < body.first_value => self.inside(body.outer, f),
            _ => f(self),
        }
    }

    /// A constant of a type. Where it stands as a value its range is still known.
    pub(super) fn constant(&mut self, value: Const, ty: Type) -> ValueId {
        let known = if let Const::Int(n) = value { Some((n, n)) } else { None };
        let v = self.emit(Op::Const { value }, &[], ty);
        if let Some(range) = known {
            self.ranges.insert(v, range);
        }
        v
    }

    /// `arith.cast`, or nothing if the type is right already.
    pub(super) fn cast(&mut self, v: ValueId, ty: Type) -> ValueId {
        if *self.out.ty(v) == ty { v } else { self.emit(Op::Cast, &[v], ty) }
    }

    /// A comparison giving pybool.
    pub(super) fn test(&mut self, is: CmpOp, a: ValueId, b: ValueId) -> ValueId {
        self.emit(Op::Cmp { is }, &[a, b], Type::PYBOOL)
    }

    /// A new raise site at the current span.
    pub(super) fn site(&mut self, class: ExcClass, template: impl Into<String>) -> u32 {
        // Library functions are not the user's: what they raise is raised by the call of them.
        let users = self.frames.iter().filter(|f| matches!(f.scope, Scope::User(_)));
        let callers = users.map(|f| f.called_at).filter(|s| s.is_known()).collect();
        self.sites.push(Site { class, template: template.into(), span: self.span, user: None, also: vec![], callers });
        (self.sites.len() - 1) as u32
    }

    /// Raises when `cond` holds.
    pub(super) fn raise_if(&mut self, cond: ValueId, class: ExcClass, template: &str, args: &[ValueId]) {
        let site = self.site(class, template);
        let mut b = self.builder();
        let (then, ()) = b.region(|b| {
            b.effect(Op::Raise { site }, args);
        });
        let (other, ()) = b.region(|b| {
            b.effect(Op::Yield, &[]);
        });
        b.op(Op::ScfIf, &[cond], &[], &[then, other]);
    }

    /// The value with a known integer range.
    pub(super) fn with_range(&mut self, v: ValueId, range: (i128, i128)) -> Abs {
        self.ranges.insert(v, range);
        Abs::Value(v)
    }

    /// A typing error here.
    pub(super) fn typing(&self, message: impl Into<String>) -> Diagnostic {
        Diagnostic::typing(self.span, message)
    }

    /// An unsupported construct here.
    pub(super) fn refuse(&self, message: impl Into<String>) -> Diagnostic {
        Diagnostic::unsupported(self.span, message)
    }

    /// An error that Python would raise as `OverflowError`.
    pub(super) fn overflow(&self, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(ErrorKind::Overflow, self.span, message)
    }

    /// What Python raises where a name is read that is not bound.
    pub(super) fn unbound_class(&self) -> ExcClass {
        if self.reads_free { ExcClass::NameError } else { ExcClass::UnboundLocalError }
    }

    /// The text of it.
    pub(super) fn unbound_text(&self, name: &str) -> String {
        let (kind, end) = if self.reads_free { ("free", " in enclosing scope") } else { ("local", "") };
        format!("cannot access {kind} variable '{name}' where it is not associated with a value{end}")
    }

    /// Use of a name that may not have been assigned.
    pub(super) fn unbound(&self, name: &str) -> Diagnostic {
        Diagnostic::new(ErrorKind::Unbound, self.span, format!("`{name}` may not have been assigned here"))
            .help(format!("assign `{name}` before the `if` or loop that sets it"))
    }
}
