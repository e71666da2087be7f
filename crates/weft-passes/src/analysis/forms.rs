//! Integers of a loop's body as affine forms: over counters of the loop and of those in it, and over what does not change.
//!
//! What is computed in the body of invariants alone is an invariant too; equal computations are one symbol. What depends on an
//! iteration in another way, by memory or by an operation that is not affine, has no form. Casts and index checks are looked
//! through: what stands behind them is the same number.

use super::affine::{Affine, Symbol};
use crate::canon;
use std::collections::{BTreeMap, BTreeSet};
use weft_ir::attr::{BinOp, Const};
use weft_ir::{DType, Dim, Func, Op, OpId, RegionId, ValueId};

/// See the module.
pub(crate) struct Forms<'f> {
    pub f: &'f Func,
    pub defs: &'f [Option<OpId>],
    /// The counter of the loop.
    pub index: ValueId,
    /// Loops inside, by counter.
    pub counters: BTreeMap<ValueId, OpId>,
    /// Values made in the loop.
    pub inside: BTreeSet<ValueId>,
    /// The values of sizes that the loop binds.
    pub bound: BTreeMap<Dim, ValueId>,
    /// Sizes that are known outside the loop.
    outer_sizes: BTreeSet<u32>,
    /// One symbol for equal invariants.
    numbers: BTreeMap<String, ValueId>,
}

impl<'f> Forms<'f> {
    /// Of the body of a loop, whose first argument is the counter.
    pub fn new(f: &'f Func, defs: &'f [Option<OpId>], body: RegionId) -> Forms<'f> {
        let (mut inside, mut counters, mut bound) = (BTreeSet::new(), BTreeMap::new(), BTreeMap::new());
        inside.extend(f.region(body).args.iter().copied());
        f.walk_region(body, &mut |id| {
            let data = f.op(id);
            inside.extend(data.results.iter().copied());
            inside.extend(data.regions.iter().flat_map(|&r| f.region(r).args.iter().copied()));
            match data.op {
                Op::ScfFor => drop(counters.insert(f.region(data.regions[0]).args[0], id)),
                Op::ShapeBind { dim } => drop(bound.insert(dim, data.operands[0])),
                _ => {}
            }
        });
        let outside = (0..f.values.len() as u32).map(ValueId).filter(|v| !inside.contains(v));
        let dims = outside.filter_map(|v| f.ty(v).as_tensor()).flat_map(|t| t.dims.iter());
        let symbols = dims.filter_map(|d| if let Dim::Sym(s) = d { Some(*s) } else { None });
        let outer_sizes = symbols.filter(|&s| !bound.contains_key(&Dim::Sym(s))).collect();
        let index = f.region(body).args[0];
        Forms { f, defs, index, counters, inside, bound, outer_sizes, numbers: BTreeMap::new() }
    }

    /// The form of a value; `None` if it has none.
    pub fn of(&mut self, v: ValueId) -> Option<Affine> {
        if v == self.index || self.counters.contains_key(&v) {
            return Some(Affine::symbol(Symbol::Value(v)));
        }
        let Some(data) = self.defs[v.index()].map(|id| self.f.op(id)) else {
            return (!self.inside.contains(&v)).then(|| Affine::symbol(Symbol::Value(v)));
        };
        let binary = match data.op {
            Op::Add | Op::Checked { op: BinOp::Add, .. } => Some(BinOp::Add),
            Op::Sub | Op::Checked { op: BinOp::Sub, .. } => Some(BinOp::Sub),
            Op::Mul | Op::Checked { op: BinOp::Mul, .. } => Some(BinOp::Mul),
            _ => None,
        };
        let is_wide = self.is_wide(v);
        match (&data.op, binary) {
            (Op::Const { value: Const::Int(n) }, _) => return Some(Affine::constant(*n)),
            (Op::NtDim { dim }, _) => {
                let dim = canon::dims(self.f, data.operands[0]).get(*dim as usize).copied()?;
                return self.size(dim);
            }
            (Op::Cast | Op::NtIndex { wrap: false, .. }, _) if is_wide && self.is_wide(data.operands[0]) => {
                return self.of(data.operands[0]);
            }
            (_, Some(op)) if is_wide => {
                let (a, b) = (self.of(data.operands[0])?, self.of(data.operands[1])?);
                return match op {
                    BinOp::Add => a.plus(&b),
                    BinOp::Sub => a.minus(&b),
                    _ => a.times(&b),
                };
            }
            _ => {}
        }
        if !self.inside.contains(&v) {
            return Some(Affine::symbol(Symbol::Value(v)));
        }
        // Computed in the loop of what does not change in it: equal computations are one symbol.
        if !data.regions.is_empty() || data.operands.is_empty() || self.f.effects(self.defs[v.index()]?).reads {
            return None;
        }
        let mut key = format!("{:?}", data.op);
        for &operand in &data.operands {
            let part = self.of(operand)?;
            if self.varies(&part) {
                return None;
            }
            key.push_str(&format!(" {part:?}"));
        }
        let same = *self.numbers.entry(key).or_insert(v);
        Some(Affine::symbol(Symbol::Value(same)))
    }

    /// The form of a size; `None` if it depends on the iteration.
    pub fn size(&mut self, d: Dim) -> Option<Affine> {
        match d {
            Dim::Const(n) => Some(Affine::constant(i128::from(n))),
            Dim::Sym(s) if self.outer_sizes.contains(&s) => Some(Affine::symbol(Symbol::Size(s))),
            Dim::Sym(_) => {
                let v = *self.bound.get(&d)?;
                let size = self.of(v)?;
                (!self.varies(&size)).then_some(size)
            }
        }
    }

    /// Whether a form depends on the iteration.
    pub fn varies(&self, p: &Affine) -> bool {
        p.uses(Symbol::Value(self.index)) || self.counters.keys().any(|&c| p.uses(Symbol::Value(c)))
    }

    /// Whether a value is an integer of 64 bits: no others are taken to be what was computed.
    pub fn is_wide(&self, v: ValueId) -> bool {
        self.f.ty(v).scalar_dtype() == Some(DType::I64)
    }

    /// The least and the greatest that a sum is when inner counters go through all their turns.
    pub fn over_counters(&mut self, exact: &Affine) -> Option<(Affine, Affine)> {
        let (mut low, mut high) = (exact.clone(), exact.clone());
        // Bounds of counters may be other counters': as deep as loops are.
        for _ in 0..=self.counters.len() {
            let uses = |c: &ValueId| low.uses(Symbol::Value(*c)) || high.uses(Symbol::Value(*c));
            let Some(counter) = self.counters.keys().copied().find(uses) else { return Some((low, high)) };
            let data = self.f.op(self.counters[&counter]);
            let (from, to) = (self.of(data.operands[0])?, self.of(data.operands[1])?);
            if self.of(data.operands[2])?.as_constant()? < 1 {
                return None;
            }
            let last = to.minus(&Affine::constant(1))?;
            low = low.least(Symbol::Value(counter), &from, &last)?;
            high = high.greatest(Symbol::Value(counter), &from, &last)?;
        }
        None
    }

    /// Counters of other loops that begin at 0 or above and go up.
    pub fn outer_counters(&mut self) -> Vec<Symbol> {
        let mut loops = vec![];
        self.f.walk(&mut |id| loops.extend(Some(self.f.op(id)).filter(|o| o.op == Op::ScfFor)));
        let mut found = vec![];
        for data in loops {
            let counter = self.f.region(data.regions[0]).args[0];
            if self.inside.contains(&counter) {
                continue;
            }
            let (from, step) = (self.of(data.operands[0]), self.of(data.operands[2]));
            let up = step.and_then(|p| p.as_constant()).is_some_and(|n| n > 0);
            if up && from.is_some_and(|p| p.is_never_negative(&found)) {
                found.push(Symbol::Value(counter));
            }
        }
        found
    }
}
