//! Sizes that are the same number become one symbol.
//!
//! In and out: a function at stage `ntensor`, edited in place. Every slice `x[:i + 1]` has a symbol of its own; where two are
//! bound to one number, or to the size that another array has anyway, the later symbol becomes the earlier one. Then sizes
//! that met as `n if m == 1 else m` are one too, nothing needs to be compared or repeated at run time, and what is computed
//! over them can be one loop.

use crate::canon;
use std::collections::BTreeMap;
use std::sync::Arc;
use weft_ir::attr::{CmpOp, Const};
use weft_ir::{Dim, Func, Op, OpData, OpId, RegionId, TensorType, Type, ValueId};

/// Makes each of these symbols another, which is bound before it.
pub fn rename(f: &mut Func, names: &BTreeMap<Dim, Dim>) {
    if !names.is_empty() {
        Found { names: names.clone(), ..Found::default() }.rename(f);
        drop_checks(f);
    }
}

/// Until there is nothing left to find.
pub fn run(f: &mut Func) {
    while f.ops.iter().any(|o| matches!(o.op, Op::ShapeBind { .. })) {
        let mut found = Found::default();
        found.region(f, &canon::definitions(f), f.body);
        if found.names.is_empty() {
            return;
        }
        found.rename(f);
        drop_checks(f);
        canon::cse(f);
        canon::dce(f);
    }
}

#[derive(Default)]
struct Found {
    /// What each number is another name of, casts aside.
    same: BTreeMap<ValueId, ValueId>,
    /// Numbers and the symbols bound to them, as far as they are visible.
    bound: Vec<(ValueId, Dim)>,
    /// The earlier symbol of each later one.
    names: BTreeMap<Dim, Dim>,
}

impl Found {
    fn number(&self, v: ValueId) -> ValueId {
        self.same.get(&v).copied().unwrap_or(v)
    }

    fn dim(&self, d: Dim) -> Dim {
        self.names.get(&d).copied().unwrap_or(d)
    }

    /// Which number a result surely is: `n - 0`, `(n + 1) - 1`, `n * 1`, `n // 1`, `n if n > 0 else 0` of a size, and what chooses between
    /// equals. The library counts the items of `range(n)` so.
    fn same_as_operand(&self, f: &Func, defs: &[Option<OpId>], data: &OpData) -> Option<ValueId> {
        let [.., a, b] = data.operands[..] else { return None };
        let def = |v: ValueId| defs[v.index()].map(|id| f.op(id));
        let is = |v: ValueId, n: i128| def(v).is_some_and(|o| o.op == Op::Const { value: Const::Int(n) });
        let is_size = |v: ValueId| def(v).is_some_and(|o| matches!(o.op, Op::NtDim { .. }));
        let known = match data.op {
            Op::Add | Op::Sub if is(b, 0) => a,
            Op::FloorDiv | Op::Mul if is(b, 1) => a,
            Op::Mul if is(a, 1) => b,
            Op::Sub => {
                let sum = def(self.number(a)).filter(|o| o.op == Op::Add)?;
                (self.number(sum.operands[1]) == self.number(b)).then_some(sum.operands[0])?
            }
            Op::Select if is(b, 0) && is_size(self.number(a)) => {
                let test = def(data.operands[0])?;
                let asks = test.op == Op::Cmp { is: CmpOp::Gt } && test.operands[0] == a && is(test.operands[1], 0);
                asks.then_some(a)?
            }
            Op::Max if is(b, 0) && is_size(self.number(a)) => a,
            Op::Select | Op::Min | Op::Max if self.number(a) == self.number(b) => a,
            _ => return None,
        };
        Some(self.number(known))
    }

    fn region(&mut self, f: &Func, defs: &[Option<OpId>], region: RegionId) {
        let visible = self.bound.len();
        for &id in &f.region(region).ops {
            let data = f.op(id);
            let wide = |v: ValueId| matches!(*f.ty(v), Type::I64 | Type::PYINT);
            match data.op {
                Op::Cast if wide(data.operands[0]) && wide(data.results[0]) => {
                    self.same.insert(data.results[0], self.number(data.operands[0]));
                }
                Op::Select | Op::Min | Op::Max | Op::Add | Op::Sub | Op::Mul | Op::FloorDiv
                    if wide(data.results[0]) =>
                {
                    if let Some(v) = self.same_as_operand(f, defs, data) {
                        self.same.insert(data.results[0], v);
                    }
                }
                Op::NtDim { dim } => {
                    let size = canon::dims(f, data.operands[0]).get(dim as usize).map(|&d| self.dim(d));
                    let Some(size @ Dim::Sym(_)) = size else { continue };
                    match self.bound.iter().find(|(_, d)| *d == size) {
                        Some(&(v, _)) => {
                            self.same.insert(data.results[0], v);
                        }
                        None => self.bound.push((data.results[0], size)),
                    }
                }
                Op::ShapeBind { dim } => {
                    let v = self.number(data.operands[0]);
                    match self.bound.iter().find(|(n, _)| *n == v) {
                        Some(&(_, earlier)) => {
                            self.names.insert(dim, earlier);
                        }
                        None => self.bound.push((v, dim)),
                    }
                }
                Op::NtElementwise => {}
                _ => data.regions.iter().for_each(|&r| self.region(f, defs, r)),
            }
        }
        self.bound.truncate(visible);
    }

    /// Later symbols go, and what bound them.
    fn rename(&self, f: &mut Func) {
        for v in &mut f.values {
            self.in_type(&mut v.ty);
        }
        f.results.iter_mut().for_each(|ty| self.in_type(ty));
        let ops = &f.ops;
        let gone = |id: &OpId| matches!(ops[id.index()].op, Op::ShapeBind { dim } if self.names.contains_key(&dim));
        f.regions.iter_mut().for_each(|region| region.ops.retain(|id| !gone(id)));
    }

    fn in_type(&self, ty: &mut Type) {
        match ty {
            Type::Tensor(t) if t.dims.iter().any(|d| self.names.contains_key(d)) => {
                let dims = t.dims.iter().map(|&d| self.dim(d)).collect();
                *ty = Type::tensor(TensorType { dims, ..(**t).clone() });
            }
            Type::Tuple(items) | Type::List(items) => {
                Arc::make_mut(items).iter_mut().for_each(|item| self.in_type(item));
            }
            Type::Cell(held) => self.in_type(Arc::make_mut(held)),
            _ => {}
        }
    }
}

/// An array that has the wanted sizes anyway stands for the one that was compared or repeated.
fn drop_checks(f: &mut Func) {
    let mut ids = vec![];
    f.walk(&mut |op| ids.push(op));
    let mut stands: BTreeMap<ValueId, ValueId> = BTreeMap::new();
    for &id in &ids {
        let data = &mut f.ops[id.index()];
        data.operands.iter_mut().for_each(|v| *v = stands.get(v).copied().unwrap_or(*v));
        let data = f.op(id);
        if let (Op::NtRefine { .. } | Op::NtExpand { .. }, [from, ..], [to]) =
            (&data.op, &data.operands[..], &data.results[..])
            && f.ty(*from) == f.ty(*to)
        {
            stands.insert(*to, *from);
        }
    }
    f.regions.iter_mut().for_each(|region| {
        region.ops.retain(|id| f.ops[id.index()].results.first().is_none_or(|v| !stands.contains_key(v)));
    });
}
