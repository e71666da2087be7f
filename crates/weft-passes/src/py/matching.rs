//! `match`. A pattern is first tested, which binds nothing, and taken apart again to bind its names once it fits.

use weft_diag::{Diagnostic, Span};
use weft_ir::attr::{CmpOp, Const};
use weft_ir::{Op, ValueId};
use weft_syntax::{Case, Expr, Pattern, PatternKind};

use super::expr::literal;
use super::live::{self, Names};
use super::refuse::refused;
use super::walk::Walk;
use super::{Flow, Lower};

impl<'a> Lower<'a, '_> {
    pub(super) fn match_stmt(
        &mut self,
        span: Span,
        subject: &'a Expr,
        cases: &'a [Case],
        after: &Names<'a>,
    ) -> Result<Flow, Diagnostic> {
        let subject = self.expr(subject)?;
        // Where a guard reads names of its pattern and fails, the next case is tried: only then is an `if` not enough.
        let guarded = |c: &Case| c.guard.is_some() && binds(&c.pattern) && !is_irrefutable(&c.pattern);
        if !cases.iter().any(guarded) {
            return self.cases(subject, cases, after);
        }
        let assigned = live::assigned(|w| {
            for case in cases {
                w.pattern(&case.pattern);
                w.exprs(&case.guard);
                w.block(&case.body);
            }
        });
        let names = self.by_value(|n| assigned.contains(n) && after.contains(n));
        let (region, falls) = self.breakable(|l, level| {
            let mut falls = false;
            for (k, case) in cases.iter().enumerate() {
                let rest = live::before_cases(&cases[k + 1..], after, &l.exits);
                let (flow, fell) = l.case(subject, case, level, &names, &rest, after)?;
                falls |= fell;
                if flow == Flow::Leaves {
                    return Ok(falls);
                }
            }
            let values = l.locals(&names, span);
            l.effect(span, Op::Yield, &values);
            Ok(true)
        })?;
        Ok(self.finish(span, Op::ScfBlock, &[], &names, region, falls))
    }

    /// Cases as `if` and `elif`.
    fn cases(&mut self, subject: ValueId, cases: &'a [Case], after: &Names<'a>) -> Result<Flow, Diagnostic> {
        let Some((case, rest)) = cases.split_first() else { return Ok(Flow::Falls) };
        let test = self.test(&case.pattern, subject)?;
        let test = match (test, &case.guard) {
            (None, None) => {
                self.bind(&case.pattern, subject)?;
                return self.block(&case.body, after);
            }
            (None, Some(guard)) => {
                self.bind(&case.pattern, subject)?;
                self.condition(guard)?
            }
            (Some(test), None) => test,
            (Some(test), Some(guard)) => self.either(case.span, test, |l| l.condition(guard), |_| Ok(test))?,
        };
        let binds_here = case.guard.is_none();
        self.choose(
            case.span,
            test,
            after,
            |l| {
                if binds_here {
                    l.bind(&case.pattern, subject)?;
                }
                l.block(&case.body, after)
            },
            |l| l.cases(subject, rest, after),
        )
    }

    /// A case in a block at `level`, which its body leaves at its end. Says whether control reaches the next case, and
    /// whether the body falls.
    fn case(
        &mut self,
        subject: ValueId,
        case: &'a Case,
        level: u32,
        names: &[&'a str],
        rest: &Names<'a>,
        after: &Names<'a>,
    ) -> Result<(Flow, bool), Diagnostic> {
        let span = case.span;
        let body = |l: &mut Self| -> Result<bool, Diagnostic> {
            if l.block(&case.body, after)? == Flow::Leaves {
                return Ok(false);
            }
            let values = l.locals(names, span);
            l.break_to(span, level, &values);
            Ok(true)
        };
        let test = self.test(&case.pattern, subject)?;
        match (test, &case.guard) {
            (None, None) => {
                self.bind(&case.pattern, subject)?;
                Ok((Flow::Leaves, body(self)?))
            }
            (None, Some(guard)) => {
                self.bind(&case.pattern, subject)?;
                let test = self.condition(guard)?;
                let (region, fell, _) = self.region(body)?;
                self.unless(span, test, region);
                Ok((Flow::Falls, fell))
            }
            (Some(test), None) => {
                let (region, fell, _) = self.region(|l| {
                    l.bind(&case.pattern, subject)?;
                    body(l)
                })?;
                self.unless(span, test, region);
                Ok((Flow::Falls, fell))
            }
            (Some(test), Some(guard)) => {
                let mut fell = false;
                let fits = self.arm(|l| {
                    l.bind(&case.pattern, subject)?;
                    let test = l.condition(guard)?;
                    let (region, falls, _) = l.region(body)?;
                    fell = falls;
                    l.unless(span, test, region);
                    Ok((Flow::Falls, vec![]))
                })?;
                let not = self.arm(|_| Ok((Flow::Falls, vec![])))?;
                self.join(span, test, Some(rest), [fits, not]);
                Ok((Flow::Falls, fell))
            }
        }
    }

    /// Whether a pattern fits; None if it always does.
    fn test(&mut self, pattern: &'a Pattern, subject: ValueId) -> Result<Option<ValueId>, Diagnostic> {
        let span = pattern.span;
        match &pattern.kind {
            PatternKind::Value(value) => {
                let value = self.expr(value)?;
                let same = self.value(span, Op::PyCompare { op: CmpOp::Eq }, &[subject, value]);
                Ok(Some(self.value(span, Op::PyTruth, &[same])))
            }
            PatternKind::Singleton(constant) => {
                let value = literal(constant, span)?;
                let value = self.constant(span, value);
                let same = self.value(span, Op::PyCompare { op: CmpOp::Is }, &[subject, value]);
                Ok(Some(self.value(span, Op::PyTruth, &[same])))
            }
            PatternKind::Star(_) => Ok(None),
            PatternKind::As { pattern, .. } => pattern.as_ref().map_or(Ok(None), |p| self.test(p, subject)),
            PatternKind::Or(items) => self.test_any(items, subject, span),
            PatternKind::Class { class, inner } => {
                let isinstance = self.value(class.span, Op::PyGlobal { path: "isinstance".into() }, &[]);
                let class = self.expr(class)?;
                let is = self.value(span, Op::PyCall { keywords: vec![] }, &[isinstance, subject, class]);
                let test = self.value(span, Op::PyTruth, &[is]);
                match inner {
                    Some(inner) if !is_irrefutable(inner) => {
                        let both = |l: &mut Self| l.test_all(&[(inner, subject)], span);
                        self.either(span, test, both, |_| Ok(test)).map(Some)
                    }
                    _ => Ok(Some(test)),
                }
            }
            PatternKind::Sequence(items) => {
                let star = items.iter().position(is_star);
                let len = (items.len() - usize::from(star.is_some())) as u32;
                let fits = self.value(span, Op::PyMatchLen { len, star: star.is_some() }, &[subject]);
                if items.iter().all(is_irrefutable) {
                    return Ok(Some(fits));
                }
                let all = |l: &mut Self| {
                    let parts = l.unpack(span, subject, items.len(), star);
                    let pairs: Vec<_> = items.iter().zip(parts).filter(|(p, _)| !is_irrefutable(p)).collect();
                    l.test_all(&pairs, span)
                };
                self.either(span, fits, all, |_| Ok(fits)).map(Some)
            }
            PatternKind::Unsupported { what } => Err(refused(span, what)),
        }
    }

    /// Whether all of these fit.
    fn test_all(&mut self, pairs: &[(&'a Pattern, ValueId)], span: Span) -> Result<ValueId, Diagnostic> {
        let Some((&(pattern, value), rest)) = pairs.split_first() else {
            return Ok(self.constant(span, Const::Bool(true)));
        };
        match self.test(pattern, value)? {
            Some(test) if !rest.is_empty() => self.either(span, test, |l| l.test_all(rest, span), |_| Ok(test)),
            Some(test) => Ok(test),
            None => self.test_all(rest, span),
        }
    }

    /// Whether one of these fits; None if one always does.
    fn test_any(&mut self, items: &'a [Pattern], subject: ValueId, span: Span) -> Result<Option<ValueId>, Diagnostic> {
        let Some((first, rest)) = items.split_first() else { return Ok(None) };
        if items.iter().any(is_irrefutable) {
            return Ok(None);
        }
        let Some(test) = self.test(first, subject)? else { return Ok(None) };
        if rest.is_empty() {
            return Ok(Some(test));
        }
        let others = |l: &mut Self| match l.test_any(rest, subject, span)? {
            Some(test) => Ok(test),
            None => Ok(l.constant(span, Const::Bool(true))),
        };
        self.either(span, test, |_| Ok(test), others).map(Some)
    }

    /// Binds the names of a pattern that fits.
    fn bind(&mut self, pattern: &'a Pattern, subject: ValueId) -> Result<(), Diagnostic> {
        let span = pattern.span;
        match &pattern.kind {
            _ if !binds(pattern) => Ok(()),
            PatternKind::As { pattern, name } => {
                if let Some(pattern) = pattern {
                    self.bind(pattern, subject)?;
                }
                name.as_ref().map_or(Ok(()), |name| self.assign(name, subject, span))
            }
            PatternKind::Star(name) => name.as_ref().map_or(Ok(()), |name| self.assign(name, subject, span)),
            PatternKind::Class { inner, .. } => inner.as_ref().map_or(Ok(()), |p| self.bind(p, subject)),
            PatternKind::Sequence(items) => {
                let parts = self.unpack(span, subject, items.len(), items.iter().position(is_star));
                items.iter().zip(parts).try_for_each(|(p, part)| self.bind(p, part))
            }
            PatternKind::Or(items) => self.bind_any(items, subject, span),
            PatternKind::Value(_) | PatternKind::Singleton(_) | PatternKind::Unsupported { .. } => Ok(()),
        }
    }

    /// Binds the names of the first of these that fits; one does.
    fn bind_any(&mut self, items: &'a [Pattern], subject: ValueId, span: Span) -> Result<(), Diagnostic> {
        let Some((first, rest)) = items.split_first() else { return Ok(()) };
        if rest.is_empty() {
            return self.bind(first, subject);
        }
        let Some(test) = self.test(first, subject)? else { return self.bind(first, subject) };
        let fits = self.arm(|l| l.bind(first, subject).map(|()| (Flow::Falls, vec![])))?;
        let not = self.arm(|l| l.bind_any(rest, subject, span).map(|()| (Flow::Falls, vec![])))?;
        self.join(span, test, None, [fits, not]);
        Ok(())
    }
}

fn is_star(pattern: &Pattern) -> bool {
    matches!(pattern.kind, PatternKind::Star(_))
}

/// Whether a pattern fits anything.
fn is_irrefutable(pattern: &Pattern) -> bool {
    match &pattern.kind {
        PatternKind::Star(_) => true,
        PatternKind::As { pattern, .. } => pattern.as_ref().is_none_or(|p| is_irrefutable(p)),
        PatternKind::Or(items) => items.iter().any(is_irrefutable),
        _ => false,
    }
}

/// Whether a pattern binds a name.
fn binds(pattern: &Pattern) -> bool {
    match &pattern.kind {
        PatternKind::As { pattern, name } => name.is_some() || pattern.as_ref().is_some_and(|p| binds(p)),
        PatternKind::Star(name) => name.is_some(),
        PatternKind::Sequence(items) | PatternKind::Or(items) => items.iter().any(binds),
        PatternKind::Class { inner, .. } => inner.as_ref().is_some_and(|p| binds(p)),
        PatternKind::Value(_) | PatternKind::Singleton(_) | PatternKind::Unsupported { .. } => false,
    }
}
