//! Conditions: two arms, and what they rebind.

use weft_diag::{Diagnostic, Span};
use weft_ir::{Op, RegionId, ValueId};

use super::live::Names;
use super::{Env, Flow, Lower};

/// One lowered arm of an `scf.if`, not yet terminated if it falls.
pub(super) struct Arm<'a> {
    region: RegionId,
    flow: Flow,
    /// What it yields besides rebound names.
    values: Vec<ValueId>,
    env: Env<'a>,
}

impl<'a> Lower<'a, '_> {
    /// An `if` statement: arms that are statements.
    pub(super) fn choose(
        &mut self,
        span: Span,
        test: ValueId,
        after: &Names<'a>,
        then: impl FnOnce(&mut Self) -> Result<Flow, Diagnostic>,
        orelse: impl FnOnce(&mut Self) -> Result<Flow, Diagnostic>,
    ) -> Result<Flow, Diagnostic> {
        let then = self.arm(|l| Ok((then(l)?, vec![])))?;
        if then.flow == Flow::Leaves && !self.ends_with_return(then.region) {
            // What stands in the `else` is all that is left to do.
            self.unless(span, test, then.region);
            return orelse(self);
        }
        let orelse = self.arm(|l| Ok((orelse(l)?, vec![])))?;
        Ok(self.join(span, test, Some(after), [then, orelse]).0)
    }

    /// An `scf.if` with one value.
    pub(super) fn either(
        &mut self,
        span: Span,
        test: ValueId,
        then: impl FnOnce(&mut Self) -> Result<ValueId, Diagnostic>,
        orelse: impl FnOnce(&mut Self) -> Result<ValueId, Diagnostic>,
    ) -> Result<ValueId, Diagnostic> {
        let falls = |value| (Flow::Falls, vec![value]);
        let arms = [self.arm(|l| then(l).map(falls))?, self.arm(|l| orelse(l).map(falls))?];
        // What a `:=` binds may be read later in the same expression: everything is joined.
        Ok(self.join(span, test, None, arms).1[0])
    }

    /// `scf.if(test) {region} {yield()}`, where the region leaves.
    pub(super) fn unless(&mut self, span: Span, test: ValueId, region: RegionId) {
        let falls = self.empty_region(span);
        self.held(span, Op::ScfIf, &[test], 0, &[region, falls]);
    }

    /// A region that only yields.
    pub(super) fn empty_region(&mut self, span: Span) -> RegionId {
        let region = self.b.func.new_region();
        let here = std::mem::replace(&mut self.b.region, region);
        self.effect(span, Op::Yield, &[]);
        self.b.region = here;
        region
    }

    /// Lowers one arm into a region of its own; the names around it are as before afterwards.
    pub(super) fn arm(
        &mut self,
        fill: impl FnOnce(&mut Self) -> Result<(Flow, Vec<ValueId>), Diagnostic>,
    ) -> Result<Arm<'a>, Diagnostic> {
        let (region, (flow, values), env) = self.region(fill)?;
        Ok(Arm { region, flow, values, env })
    }

    /// Joins what two arms rebind; `live` limits this to names read later. Also gives the values both arms yield (or
    /// the one that falls).
    pub(super) fn join(
        &mut self,
        span: Span,
        test: ValueId,
        live: Option<&Names<'a>>,
        arms: [Arm<'a>; 2],
    ) -> (Flow, Vec<ValueId>) {
        let regions = [arms[0].region, arms[1].region];
        let falling: Vec<&Arm> = arms.iter().filter(|a| a.flow == Flow::Falls).collect();
        let Some(first) = falling.first() else {
            regions.into_iter().for_each(|r| self.return_to_yield(r));
            let values = self.held(span, Op::ScfIf, &[test], 1, &regions);
            self.effect(span, Op::Return, &values);
            return (Flow::Leaves, vec![]);
        };
        let count = first.values.len();
        let joined = self.by_value(|name| {
            let rebound = falling.iter().any(|arm| arm.env.get(name) != self.env.get(name));
            rebound && live.is_none_or(|live| live.contains(name))
        });
        for arm in &falling {
            let here = std::mem::replace(&mut self.b.region, arm.region);
            let around = std::mem::replace(&mut self.env, arm.env.clone());
            let names = self.locals(&joined, span);
            self.effect(span, Op::Yield, &[&arm.values[..], &names].concat());
            self.env = around;
            self.b.region = here;
        }
        let results = self.held(span, Op::ScfIf, &[test], count + joined.len(), &regions);
        self.set_results(&joined, &results[count..]);
        (Flow::Falls, results[..count].to_vec())
    }

    fn ends_with_return(&self, region: RegionId) -> bool {
        self.b.func.region(region).ops.last().is_some_and(|&op| self.b.func.op(op).op == Op::Return)
    }

    /// Makes a `return` that ends this region yield instead.
    fn return_to_yield(&mut self, region: RegionId) {
        if self.ends_with_return(region)
            && let Some(&last) = self.b.func.region(region).ops.last()
        {
            self.b.func.ops[last.index()].op = Op::Yield;
        }
    }
}
