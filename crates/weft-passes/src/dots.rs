//! Dots of one vector with the columns, or the rows, of a matrix, one in each turn of a loop, become a product before it.
//!
//! In and out: a host function at stage `fused`, edited in place. `for j in range(n): … np.dot(u, m[k:, j]) …` reads the matrix
//! from top to bottom for each of its columns; the product of the vector and all of the columns reads it row by row, on
//! several threads. A turn then takes its number from the product. What decides that is known when the loop begins:
//! arrays that may share memory and loops of few turns keep their dots. So do turns that may leave before it.

use crate::canon;
use crate::fuse::each_op;
use crate::turn::{self, Inside, TURNS, Vector};
use std::collections::BTreeSet;
use weft_ir::attr::CmpOp;
use weft_ir::{Builder, DType, Dim, Func, Layout, Op, OpData, OpId, RegionId, TensorType, Type, ValueId};

/// The step.
pub fn run(f: &mut Func) {
    each_op(f, f.body, &mut |f, region, at| {
        let id = f.region(region).ops[at];
        let turn = *f.op(id).regions.first().filter(|_| f.op(id).op == Op::ScfFor)?;
        // Everything else looks at the whole function.
        f.region(turn).ops.iter().find(|&&op| f.op(op).op == Op::NtDot)?;
        Some(Found::new(f, id, turn)?.rewrite(f, region, at))
    });
}

/// A dot of a loop that can be taken from a product.
struct Found {
    dot: OpId,
    turn: RegionId,
    /// What is the same in every turn.
    same: Vector,
    /// What moves on, and the axis along which it does.
    moves: Vector,
    along: usize,
    /// The number of the turn, as an index.
    index: ValueId,
    /// Arrays that must not share memory.
    apart: BTreeSet<(ValueId, ValueId)>,
}

impl Found {
    fn new(f: &Func, id: OpId, turn: RegionId) -> Option<Found> {
        let defs = canon::definitions(f);
        if !turn::goes_by_one(f, &defs, id) {
            return None;
        }
        let inside = Inside::new(f, turn);
        f.region(turn).ops.iter().enumerate().filter(|(_, op)| f.op(**op).op == Op::NtDot).find_map(|(at, &dot)| {
            let data = f.op(dot);
            let ty = f.ty(data.operands[0]).as_tensor()?;
            // Sizes that a turn compares may differ.
            if ty.dims != canon::dims(f, data.operands[1]) {
                return None;
            }
            if !inside.reaches(f, at) {
                return None;
            }
            // Vectors of a few known items are dotted in place.
            let short = matches!(ty.dims[0], Dim::Const(n) if n < TURNS as u64) || inside.sizes.contains(&ty.dims[0]);
            if short || !ty.place.is_host() || matches!(ty.dtype, DType::Bool | DType::F16) {
                return None;
            }
            let pair = |same: usize, moves: usize| {
                let same = inside.unmoved(f, &defs, data.operands[same])?;
                let (moves, along, index) = inside.moved(f, &defs, data.operands[moves])?;
                let apart = inside.apart(f, &defs, at, &same, (&moves, along))?;
                Some(Found { dot, turn, same, moves, along, index, apart })
            };
            pair(0, 1).or_else(|| pair(1, 0))
        })
    }

    /// Puts the product before the loop at a position. Returns where the loop stands then.
    fn rewrite(self, f: &mut Func, region: RegionId, at: usize) -> usize {
        let (data, span) = (f.op(self.dot).clone(), f.op(self.dot).span);
        let (lo, hi) = (f.op(f.region(region).ops[at]).operands[0], f.op(f.region(region).ops[at]).operands[1]);
        let Some(vector) = f.ty(data.operands[0]).as_tensor().cloned() else { return at + 1 };
        let symbol = Dim::Sym(f.new_symbol());
        let setup = f.new_region();
        let mut b = Builder { func: f, region: setup, span };
        let (zero, one, few) = (b.i64(0), b.i64(1), b.i64(TURNS));
        let (lo, hi) = (b.cast(lo, Type::I64), b.cast(hi, Type::I64));
        let size = b.value(Op::NtDim { dim: self.along as u32 }, &[self.moves.array], Type::PYINT);
        let size = b.cast(size, Type::I64);
        let turns = turn::count(&mut b, lo, hi);
        let tests = [(CmpOp::Le, zero, lo), (CmpOp::Le, hi, size), (CmpOp::Le, few, turns)];
        let tests: Vec<ValueId> = tests.map(|(is, x, y)| b.value(Op::Cmp { is }, &[x, y], Type::BOOL)).to_vec();
        let mut pays = tests[0];
        for &test in &tests[1..] {
            pays = b.value(Op::And, &[pays, test], Type::BOOL);
        }
        for &(x, y) in &self.apart {
            let meet = b.value(Op::NtOverlaps, &[x, y], Type::BOOL);
            let apart = b.value(Op::Not, &[meet], Type::BOOL);
            pays = b.value(Op::And, &[pays, apart], Type::BOOL);
        }
        // Where it does not pay, a product of nothing.
        let (turns, first) =
            (b.value(Op::Select, &[pays, turns, zero], Type::I64), b.value(Op::Select, &[pays, lo, zero], Type::I64));
        b.effect(Op::ShapeBind { dim: symbol }, &[turns]);
        // The factors are only read; the product is new.
        let of = |dims: [Dim; 2], layout| {
            let readonly = layout != Layout::C;
            Type::tensor(TensorType { dims: dims.to_vec(), layout, readonly, ..vector.clone() })
        };
        let mut operands = vec![self.same.array];
        operands.extend(&self.same.walk);
        if self.same.walk.is_empty() {
            operands.extend([zero, one]);
        }
        let row = [Dim::Const(1), vector.dims[0]];
        let row = b.value(Op::NtView { axes: vec![-1, self.same.axis] }, &operands, of(row, Layout::A));
        let mut operands = vec![self.moves.array];
        operands.extend(&self.moves.walk);
        operands[1 + 2 * self.along] = first;
        operands[2 + 2 * self.along] = one;
        let axes = vec![self.moves.axis, self.along as i32];
        let matrix = b.value(Op::NtView { axes }, &operands, of([vector.dims[0], symbol], Layout::A));
        let product = b.value(Op::NtMatmul, &[row, matrix], of([Dim::Const(1), symbol], Layout::C));
        self.take(f, &data, pays, [zero, lo, product]);
        let setup = std::mem::take(&mut f.regions[setup.index()].ops);
        let next = at + setup.len();
        f.regions[region.index()].ops.splice(at..at, setup);
        next
    }

    /// Takes the dot's result from the product, where it pays.
    fn take(&self, f: &mut Func, data: &OpData, pays: ValueId, [zero, lo, product]: [ValueId; 3]) {
        let ty = f.ty(data.results[0]).clone();
        let own = f.new_region();
        let mut b = Builder { func: f, region: own, span: data.span };
        let (taken, ()) = b.region(|b| {
            let at = b.value(Op::Sub, &[self.index, lo], Type::I64);
            let number = b.value(Op::NtLoad { wrap: false }, &[product, zero, at], ty.clone());
            b.effect(Op::Yield, &[number]);
        });
        let (computed, ()) = b.region(|b| {
            let number = b.value(Op::NtDot, &data.operands, ty);
            b.effect(Op::Yield, &[number]);
        });
        let choice = b.op(Op::ScfIf, &[pays], &[], &[taken, computed]);
        f.ops[choice.index()].results = data.results.clone();
        f.ops[self.dot.index()].results = Default::default();
        let own = std::mem::take(&mut f.regions[own.index()].ops);
        let ops = &mut f.regions[self.turn.index()].ops;
        if let Some(at) = ops.iter().position(|&op| op == self.dot) {
            ops.splice(at..=at, own);
        }
    }
}
