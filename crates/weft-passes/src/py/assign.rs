//! Assignment, augmented assignment and `del`.

use weft_diag::{Diagnostic, Span};
use weft_ir::attr::BinOp;
use weft_ir::{Op, ValueId};
use weft_syntax::{Binding, Expr, ExprKind};

use super::refuse::{attribute_target, outer_target, shared_target, unsupported};
use super::{Lower, Slot};

impl<'a> Lower<'a, '_> {
    /// `a = b = value`. `a, b = x, y` needs no tuple: values are made first, then bound in order.
    pub(super) fn assign_all(&mut self, targets: &'a [Expr], value: &'a Expr, span: Span) -> Result<(), Diagnostic> {
        if let ([target], ExprKind::Tuple(values)) = (targets, &value.kind)
            && let ExprKind::Tuple(targets) | ExprKind::List(targets) = &target.kind
            && targets.len() == values.len()
            && !targets.iter().chain(values).any(is_starred)
        {
            let values = self.exprs(values)?;
            return targets.iter().zip(values).try_for_each(|(t, v)| self.assign(t, v, span));
        }
        let value = match (&value.kind, targets) {
            // A lambda may call itself by the only name it gets.
            (ExprKind::Lambda(lambda), [Expr { kind: ExprKind::Name { ident, .. }, .. }]) => {
                self.closure(lambda, Some(ident))?
            }
            _ => self.expr(value)?,
        };
        targets.iter().try_for_each(|target| self.assign(target, value, span))
    }

    pub(super) fn assign(&mut self, target: &'a Expr, value: ValueId, span: Span) -> Result<(), Diagnostic> {
        match &target.kind {
            ExprKind::Name { ident, binding: Binding::Free } => return Err(outer_target(target.span, ident)),
            ExprKind::Name { ident, .. } => self.set_local(ident, value, span),
            ExprKind::Tuple(targets) | ExprKind::List(targets) => {
                if targets.is_empty() {
                    return Err(unsupported(target.span, "an empty target", "leave the assignment out"));
                }
                let star = targets.iter().position(is_starred);
                let parts = self.unpack(target.span, value, targets.len(), star);
                for (target, part) in targets.iter().zip(parts) {
                    let target = if let ExprKind::Starred(inner) = &target.kind { inner } else { target };
                    self.assign(target, part, span)?;
                }
            }
            ExprKind::Subscript { value: base, indices, tuple } => {
                let place = self.place(base, indices, *tuple, target.span)?;
                self.effect(span, Op::PySetIndex, &[&[value], &place[..]].concat());
            }
            ExprKind::Attribute { value: object, attr, .. } => match &object.kind {
                ExprKind::Name { ident, binding } if *binding != Binding::Free => {
                    let old = self.local(ident, object.span);
                    let held =
                        |(name, slot): (&&str, &Slot)| *name != ident && matches!(slot, Slot::Value(v) if *v == old);
                    if self.env.iter().any(held) {
                        return Err(shared_target(target.span));
                    }
                    let new = self.value(target.span, Op::PySetAttr { name: attr.clone() }, &[old, value]);
                    self.set_local(ident, new, span);
                }
                _ => return Err(attribute_target(target.span)),
            },
            _ => return Err(Diagnostic::internal(target.span, "the parser made this a target")),
        }
        Ok(())
    }

    /// `count` values out of one; `star` is the one that takes what the others leave.
    pub(super) fn unpack(&mut self, span: Span, value: ValueId, count: usize, star: Option<usize>) -> Vec<ValueId> {
        let op = match star {
            Some(star) => Op::PyUnpackStar { star: star as u32 },
            None => Op::PyUnpack,
        };
        self.held(span, op, &[value], count, &[])
    }

    /// `target op= value`: base and indices are evaluated once, and the old value is read before `value`.
    pub(super) fn augment(
        &mut self,
        target: &'a Expr,
        op: weft_syntax::BinOp,
        value: &'a Expr,
        span: Span,
    ) -> Result<(), Diagnostic> {
        let op = Op::PyBinop { op: binop(op), inplace: true };
        match &target.kind {
            ExprKind::Name { ident, binding: Binding::Free } => return Err(outer_target(target.span, ident)),
            ExprKind::Name { ident, .. } => {
                let old = self.read(ident, target.span);
                let value = self.expr(value)?;
                let new = self.value(span, op, &[old, value]);
                self.set_local(ident, new, span);
            }
            ExprKind::Subscript { value: base, indices, tuple } => {
                let place = self.place(base, indices, *tuple, target.span)?;
                let old = self.value(target.span, Op::PyIndex, &place);
                let value = self.expr(value)?;
                let new = self.value(span, op, &[old, value]);
                self.effect(span, Op::PySetIndex, &[&[new], &place[..]].concat());
            }
            _ => return Err(attribute_target(target.span)),
        }
        Ok(())
    }

    /// `del target`: the name is unbound from here on.
    pub(super) fn delete(&mut self, target: &'a Expr) -> Result<(), Diagnostic> {
        match &target.kind {
            ExprKind::Name { ident, binding: Binding::Free } => return Err(outer_target(target.span, ident)),
            ExprKind::Name { ident, .. } => {
                let value = self.local(ident, target.span);
                self.effect(target.span, Op::PyDelete, &[value]);
                self.unset(ident, target.span);
            }
            ExprKind::Tuple(targets) | ExprKind::List(targets) => {
                targets.iter().try_for_each(|target| self.delete(target))?;
            }
            ExprKind::Subscript { value: base, indices, tuple } => {
                let place = self.place(base, indices, *tuple, target.span)?;
                self.effect(target.span, Op::PyDelIndex, &place);
            }
            _ => return Err(unsupported(target.span, "deleting an attribute", "leave the `del` out")),
        }
        Ok(())
    }
}

pub(super) fn is_starred(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Starred(_))
}

/// The IR's name of an operator.
pub(super) fn binop(op: weft_syntax::BinOp) -> BinOp {
    // Both enums hold all of Python's operators, spelled as Python does (a test goes through them).
    BinOp::from_text(op.as_str()).unwrap()
}
