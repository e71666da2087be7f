//! What is made of a product of matrices is made piece by piece, while a piece is near.
//!
//! In and out: a host function at stage `fused`, edited in place. In `np.maximum(a @ b + bias, 0)` the product would be written as a
//! whole, and read again when it is no longer in a cache. So the routine that multiplies runs the elementwise op for each
//! piece that it has done, in place. Other matrices are better read from one end to the other than by pieces: with them the
//! product is computed as a whole. A product that is only copied (`c[:] = a @ b`) is written where it goes.

use crate::analysis::alias;
use crate::canon;
use crate::fuse::each_op;
use weft_ir::{Builder, Dim, Func, Layout, Op, OpId, RegionId, TensorType, Type, ValueId};

/// The step.
pub fn run(f: &mut Func) {
    each_op(f, f.body, &mut |f, region, at| Some(Found::new(f, region, at)?.rewrite(f, region, at)));
}

/// Lets products that are only copied into an array be computed there (`nt.into`), also where the copy has other sizes. Last: all others
/// look for products in the open.
pub fn store(f: &mut Func) {
    let uses = f.use_counts();
    each_op(f, f.body, &mut |f, region, at| store_one(f, region, at, &uses));
}

fn store_one(f: &mut Func, region: RegionId, at: usize, uses: &[u32]) -> Option<usize> {
    let ops = f.region(region).ops.clone();
    let copy = f.op(ops[at]).clone();
    if copy.op != Op::NtCopy {
        return None;
    }
    let (mut to, mut from) = (copy.operands[0], copy.operands[1]);
    let defines = |v: ValueId| ops[..at].iter().rposition(|&op| f.op(op).results.first() == Some(&v));
    let mut made = defines(from)?;
    let mut gone = vec![];
    if f.op(ops[made]).op == Op::NtReshape && uses[from.index()] == 1 {
        gone.push(ops[made]);
        from = f.op(ops[made]).operands[0];
        made = defines(from)?;
    }
    let product = ops[made];
    let [have, want] = [to, from].map(|v| f.ty(v).as_tensor());
    let (have, want) = (have?.clone(), want?.clone());
    let dense = have.layout == Layout::C || (have.layout == Layout::F && gone.is_empty());
    let alike = have.dtype == want.dtype && have.place.is_host() && want.layout == Layout::C;
    let sized = have.dims == want.dims || !gone.is_empty();
    let asked: Vec<OpId> = ops[made..at].iter().copied().filter(|&op| sizes_of(f, op, from).is_some()).collect();
    let alone = f.op(product).op == Op::NtMatmul
        && uses[from.index()] == 1 + asked.len() as u32
        && ops[made..at].iter().all(|&op| canon::is_quiet(f, op));
    if !(dense && alike && sized && alone) {
        return None;
    }
    // The factors know the sizes before the product is there.
    let rank = want.dims.len() as u32;
    let factors = f.op(product).operands.clone();
    if !asked.iter().all(|&op| sizes_of(f, op, from).is_some_and(|dim| dim + 2 >= rank)) {
        return None;
    }
    for op in asked {
        let of = usize::from(sizes_of(f, op, from) == Some(rank - 1));
        f.ops[op.index()].operands = vec![factors[of]].into();
    }
    let mut here = vec![];
    if have.dims != want.dims {
        let setup = f.new_region();
        let ty = Type::tensor(TensorType { dims: want.dims, ..have });
        to = Builder { func: f, region: setup, span: copy.span }.value(Op::NtReshape, &[to], ty);
        here = std::mem::take(&mut f.regions[setup.index()].ops);
    }
    gone.push(product);
    let inner = f.new_region();
    f.regions[inner.index()].ops.push(product);
    Builder { func: f, region: inner, span: copy.span }.effect(Op::Yield, &[from]);
    let into = &mut f.ops[ops[at].index()];
    (into.op, into.operands, into.regions) = (Op::NtInto, vec![to].into(), vec![inner].into());
    here.push(ops[at]);
    let next = at + here.len() - gone.len();
    let ops = &mut f.regions[region.index()].ops;
    ops.splice(at..=at, here);
    ops.retain(|op| !gone.contains(op));
    Some(next)
}

/// Which size of an array an op asks for.
fn sizes_of(f: &Func, op: OpId, v: ValueId) -> Option<u32> {
    match f.op(op).op {
        Op::NtDim { dim } if f.op(op).operands[0] == v => Some(dim),
        _ => None,
    }
}

/// A product, and the elementwise op that alone uses it.
struct Found {
    /// The `nt.matmul`, and where it stands.
    product: OpId,
    from: usize,
    work: OpId,
}

impl Found {
    /// What stands at a position of a region.
    fn new(f: &Func, region: RegionId, at: usize) -> Option<Found> {
        let ops = &f.region(region).ops;
        let work = ops[at];
        if f.op(work).op != Op::NtElementwise {
            return None;
        }
        let made = |v: &ValueId| {
            let from = ops[..at].iter().rposition(|&op| f.op(op).results.contains(v))?;
            (f.op(ops[from]).op == Op::NtMatmul).then_some((ops[from], from))
        };
        let (product, from) = f.op(work).operands.iter().rev().find_map(made)?;
        let found = Found { product, from, work };
        // The factors are read later than they were.
        let unchanged = ops[from + 1..at].iter().all(|&op| found.is_apart(f, op));
        (unchanged && found.fits(f)).then_some(found)
    }

    /// Whether an op writes to nothing but arrays that were made here, and are no factor.
    fn is_apart(&self, f: &Func, id: OpId) -> bool {
        let data = f.op(id);
        if !f.effects(id).writes || matches!(data.op, Op::ShapeBind { .. }) {
            return true;
        }
        let defs = canon::definitions(f);
        let root = |v: ValueId| alias::root(f, &defs, v);
        let factors: Vec<ValueId> = f.op(self.product).operands.iter().map(|&v| root(v)).collect();
        let elsewhere = |v: ValueId| {
            let made = defs[root(v).index()].is_some_and(|id| f.op(id).op.effects().fresh);
            made && !factors.contains(&root(v))
        };
        let inside = data.regions.iter().flat_map(|&r| &f.region(r).ops).all(|&op| !f.effects(op).writes);
        data.written().first().copied().is_some_and(elsewhere) && inside
    }

    /// Whether each piece of the result needs the same piece of everything else.
    fn fits(&self, f: &Func) -> bool {
        let (data, product) = (f.op(self.work), f.op(self.product).results[0]);
        let &[result] = &data.results[..] else { return false };
        let matrix = |v: ValueId| f.ty(v).as_tensor().filter(|t| t.rank() == 2 && t.place.is_host());
        let (Some(ty), Some(own)) = (matrix(product), matrix(result)) else { return false };
        let goes = own.layout == Layout::C && own.dtype == ty.dtype;
        let mut position = false;
        f.walk_region(data.regions[0], &mut |op| position |= matches!(f.op(op).op, Op::NtPosition { .. }));
        let operand = |&v: &ValueId| {
            let dims = canon::dims(f, v);
            let place = f.ty(v).as_tensor().is_none_or(|t| t.place.is_host());
            let along = |(have, want): (&Dim, &Dim)| have == want || *have == Dim::Const(1);
            let line = dims.iter().filter(|d| **d != Dim::Const(1)).count() <= 1 || v == product;
            place && line && dims.len() <= 2 && dims.iter().rev().zip(own.dims.iter().rev()).all(along)
        };
        let once = f.use_counts()[product.index()] == 1;
        goes && once
            && !position
            && ty.dims == own.dims
            && ty.layout == Layout::C
            && !f.effects(self.work).may_raise
            && data.operands.iter().all(operand)
    }

    /// Puts an `nt.product` in the place of both. Returns the position after it.
    fn rewrite(self, f: &mut Func, region: RegionId, at: usize) -> usize {
        let (span, data) = (f.op(self.work).span, f.op(self.work).clone());
        let (product, result) = (f.op(self.product).results[0], data.results[0]);
        let setup = f.new_region();
        let mut b = Builder { func: f, region: setup, span };
        let ty = b.ty(result);
        let to = b.value(Op::NtAlloc { zero: false }, &[], ty);
        let factors = b.func.op(self.product).operands.to_vec();
        let (piece, numbers) = b.region(|b| [(); 4].map(|()| b.arg(Type::I64)));
        b.op(Op::NtProduct, &[to, factors[0], factors[1]], &[], &[piece]);
        let dims = [Dim::Sym(f.new_symbol()), Dim::Sym(f.new_symbol())];
        let mut b = Builder { func: f, region: piece, span };
        let [row, rows, column, columns] = numbers;
        b.effect(Op::ShapeBind { dim: dims[0] }, &[rows]);
        b.effect(Op::ShapeBind { dim: dims[1] }, &[columns]);
        let mut seen: Vec<(ValueId, ValueId)> = vec![];
        let mut cut = |b: &mut Builder<'_>, v: ValueId| {
            if let Some(&(_, part)) = seen.iter().find(|(of, _)| *of == v) {
                return part;
            }
            let part = part(b, v, [row, column], dims);
            seen.push((v, part));
            part
        };
        let there = cut(&mut b, to);
        let read = |&v: &ValueId| if v == product { to } else { v };
        let operands: Vec<ValueId> = data.operands.iter().map(|v| cut(&mut b, read(v))).collect();
        if let Some(own) = b.func.ty(result).as_tensor().cloned() {
            let own = TensorType { dims: canon::dims(b.func, there).to_vec(), layout: Layout::C, ..own };
            let value = b.func.new_value(Type::tensor(own));
            let (inner, ()) = b.region(|b| {
                let regions = data.regions.to_vec();
                let work = b.op(Op::NtElementwise, &operands, &[], &regions);
                b.func.ops[work.index()].results = vec![value].into();
                b.effect(Op::Yield, &[value]);
            });
            b.op(Op::NtInto, &[there], &[], &[inner]);
        }
        b.effect(Op::Yield, &[]);
        for data in &mut f.ops {
            data.operands.iter_mut().filter(|v| **v == result).for_each(|v| *v = to);
        }
        let setup = std::mem::take(&mut f.regions[setup.index()].ops);
        let next = at + setup.len() - 1;
        let ops = &mut f.regions[region.index()].ops;
        ops.splice(at..=at, setup);
        ops.remove(self.from);
        next
    }
}

/// Some rows and columns of a matrix, or of what is broadcast to one.
fn part(b: &mut Builder<'_>, v: ValueId, starts: [ValueId; 2], sizes: [Dim; 2]) -> ValueId {
    let Some(ty) = b.func.ty(v).as_tensor().cloned() else { return v };
    let rank = ty.rank();
    if rank == 0 {
        return v;
    }
    let (zero, one) = (b.i64(0), b.i64(1));
    let (mut operands, mut dims) = (vec![v], vec![]);
    for (k, &d) in ty.dims.iter().enumerate() {
        let axis = 2 - rank + k;
        let repeats = d == Dim::Const(1);
        operands.extend([if repeats { zero } else { starts[axis] }, one]);
        dims.push(if repeats { d } else { sizes[axis] });
    }
    let layout = match ty.layout {
        layout if rank == 1 => layout,
        Layout::C | Layout::I => Layout::I,
        Layout::F | Layout::A => Layout::A,
    };
    let axes = (0..rank as i32).collect();
    b.value(Op::NtView { axes }, &operands, Type::tensor(TensorType { dims, layout, ..ty }))
}
