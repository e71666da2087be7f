//! `nt.matmul` and `nt.product` → calls of the one routine that multiplies matrices, which gives its work to threads: one for each
//! matrix of a stack. Small products whose sizes are known are written out. On a device, a kernel (`matmul_device`).

use super::Lower;
use super::array::Array;
use weft_diag::Diagnostic;
use weft_ir::attr::{CmpOp, Level};
use weft_ir::{Dim, Op, OpId, Place, Type, ValueId};

/// Products of elements up to which a stack is multiplied on one thread.
const FEW: i64 = 1 << 16;
/// Estimated nanoseconds of one matrix of a stack.
const COST: u32 = 10_000;
/// Products of elements up to which all are written out.
const WRITTEN_OUT: u64 = 64;

/// A product and its factors; the axes before the last two are `outer` many.
struct Product {
    outer: usize,
    to: Array,
    a: Array,
    b: Array,
}

impl Product {
    /// Rows, columns, and products of an element, where they are known and few.
    fn small(&self) -> Option<[u64; 3]> {
        let size = |d: Dim| if let Dim::Const(n) = d { Some(n) } else { None };
        let (a, b) = (&self.a.ty.dims[self.outer..], &self.b.ty.dims[self.outer..]);
        let sizes = [size(a[0])?, size(b[1])?, size(a[1]).or(size(b[0]))?];
        let number = self.to.ty.dtype.is_int() || self.to.ty.dtype.is_float();
        let few = sizes.iter().all(|&n| (1..=WRITTEN_OUT).contains(&n)) && sizes.iter().product::<u64>() <= WRITTEN_OUT;
        (number && few).then_some(sizes)
    }
}

impl Lower<'_> {
    /// The op.
    pub fn matmul(&mut self, id: OpId) -> Result<(), Diagnostic> {
        let data = self.r.src.op(id).clone();
        let (a, b) = (self.array(data.operands[0]).clone(), self.array(data.operands[1]).clone());
        let Some(ty) = self.r.src.ty(data.results[0]).as_tensor().cloned() else {
            return Err(Diagnostic::internal(data.span, "a product that is no array"));
        };
        let to = self.alloc(&ty, &self.place.clone());
        self.arrays.insert(data.results[0], to.clone());
        if !self.place.is_host() {
            return self.multiply_on_device(&a, &b, &to);
        }
        self.multiply(a, b, to)
    }

    /// The product of two arrays, written into another one that shares no memory with them.
    pub fn multiply(&mut self, a: Array, b: Array, to: Array) -> Result<(), Diagnostic> {
        let product = Product { outer: to.ty.rank() - 2, to, a, b };
        if product.outer == 0 {
            self.one(&product, &[]);
        } else {
            let few = self.r.b().i64(FEW);
            let work = self.work(&product);
            let small = self.r.b().value(Op::Cmp { is: CmpOp::Le }, &[work, few], Type::BOOL);
            let [in_order, on_threads] = [0, COST].map(|cost| {
                self.nested(|l| {
                    l.stack(&product, cost)?;
                    l.r.b().effect(Op::Yield, &[]);
                    Ok(())
                })
            });
            self.r.b().op(Op::ScfIf, &[small], &[], &[in_order?.0, on_threads?.0]);
        }
        Ok(())
    }

    /// `nt.both_sides`.
    pub fn both_sides(&mut self, id: OpId) -> Result<(), Diagnostic> {
        let data = self.r.src.op(id).clone();
        let [a, x] = [0, 1].map(|k| self.array(data.operands[k]).clone());
        let mut made = vec![];
        for &v in &data.results {
            let Some(ty) = self.r.src.ty(v).as_tensor().cloned() else {
                return Err(Diagnostic::internal(data.span, "a product that is no array"));
            };
            let to = self.alloc(&ty, &Place::Host);
            self.arrays.insert(v, to.clone());
            made.push(to);
        }
        let [behind, before] = [made[0].clone(), made[1].clone()];
        let y = data.operands.get(2).map_or_else(|| behind.clone(), |&v| self.array(v).clone());
        // Along the axis that is not known to be 1.
        let along = |v: &Array| usize::from(v.ty.dims[0] == Dim::Const(1));
        let step = |v: &Array| v.strides[along(v)];
        let size = |v: &Array| v.sizes[along(v)];
        let pointers = [&behind, &before, &a, &x, &y].map(|v| v.mem);
        let numbers = [a.sizes[0], a.sizes[1], a.strides[0], a.strides[1]];
        let steps = [&behind, &before, &x, &y].map(step);
        let operands: Vec<ValueId> =
            pointers.into_iter().chain(numbers).chain(steps).chain([size(&x), size(&y)]).collect();
        self.r.b().effect(Op::MemBothSides, &operands);
        Ok(())
    }

    /// `nt.product`.
    pub fn product_with(&mut self, id: OpId) -> Result<(), Diagnostic> {
        let data = self.r.src.op(id).clone();
        let [to, a, b] = [0, 1, 2].map(|k| self.array(data.operands[k]).clone());
        // The product is new: nothing else that is read shares its memory.
        let before = std::mem::replace(&mut self.writes_new, true);
        let piece = self.nested(|l| {
            for &arg in &l.r.src.region(data.regions[0]).args {
                l.r.arg(arg, Type::I64);
            }
            l.block(data.regions[0])
        });
        self.writes_new = before;
        let (piece, ()) = piece?;
        self.r.span = data.span;
        let operands = self.operands(&Product { outer: 0, to, a, b }, &[]);
        self.r.b().op(Op::MemProduct, &operands, &[], &[piece]);
        Ok(())
    }

    /// How many products of elements are summed, in all matrices.
    fn work(&mut self, p: &Product) -> ValueId {
        let mut at = self.r.b();
        let summed = p.a.sizes[p.outer + 1];
        p.to.sizes.iter().fold(summed, |work, &size| at.value(Op::Mul, &[work, size], Type::I64))
    }

    /// A call for each matrix.
    fn stack(&mut self, p: &Product, cost: u32) -> Result<(), Diagnostic> {
        let sizes = &p.to.sizes[..p.outer];
        let (region, ()) = self.nested(|l| {
            let indices: Vec<ValueId> = sizes.iter().map(|_| l.r.b().arg(Type::I64)).collect();
            l.one(p, &indices);
            l.r.b().effect(Op::Yield, &[]);
            Ok(())
        })?;
        self.r.b().op(Op::ParFor { cost, level: Level::Item }, sizes, &[], &[region]);
        Ok(())
    }

    /// The matrix with these indices: one call, or no call at all.
    fn one(&mut self, p: &Product, outer: &[ValueId]) {
        if let Some(sizes) = p.small() {
            return self.written_out(p, outer, sizes);
        }
        let operands = self.operands(p, outer);
        self.r.b().effect(Op::MemMatmul, &operands);
    }

    /// What `mem.matmul` takes.
    fn operands(&mut self, p: &Product, outer: &[ValueId]) -> Vec<ValueId> {
        let pointers = [&p.to, &p.a, &p.b].map(|x| self.matrix(x, outer));
        let sizes = [p.to.sizes[p.outer], p.to.sizes[p.outer + 1], p.a.sizes[p.outer + 1]];
        let steps = [&p.to, &p.a, &p.b].into_iter().flat_map(|x| x.strides[p.outer..].to_vec());
        pointers.into_iter().chain(sizes).chain(steps).collect()
    }

    /// Every product and every sum, as an op of its own.
    fn written_out(&mut self, p: &Product, outer: &[ValueId], [m, n, k]: [u64; 3]) {
        let ty = Type::Num(p.to.ty.dtype);
        let numbers: Vec<ValueId> = (0..m.max(n).max(k)).map(|i| self.r.b().i64(i as i64)).collect();
        let at = |l: &mut Self, x: &Array, i: u64, j: u64| {
            let index = [outer, &[numbers[i as usize], numbers[j as usize]]].concat();
            l.offset(x, &index)
        };
        let load = |l: &mut Self, x: &Array, i: u64, j: u64| {
            let (place, unit) = at(l, x, i, j);
            l.r.b().value(Op::MemLoad { unit }, &[x.mem, place], ty.clone())
        };
        let a: Vec<ValueId> = (0..m * k).map(|at| load(self, &p.a, at / k, at % k)).collect();
        let b: Vec<ValueId> = (0..k * n).map(|at| load(self, &p.b, at / n, at % n)).collect();
        for i in 0..m {
            for j in 0..n {
                let mut sum: Option<ValueId> = None;
                for l in 0..k {
                    let (x, y) = (a[(i * k + l) as usize], b[(l * n + j) as usize]);
                    let product = self.r.b().value(Op::Mul, &[x, y], ty.clone());
                    sum = Some(sum.map_or(product, |s| self.r.b().value(Op::Add, &[s, product], ty.clone())));
                }
                let Some(sum) = sum else { continue };
                let (place, unit) = at(self, &p.to, i, j);
                self.r.b().effect(Op::MemStore { unit }, &[sum, p.to.mem, place]);
            }
        }
    }

    /// Where a matrix begins.
    fn matrix(&mut self, x: &Array, outer: &[ValueId]) -> ValueId {
        let ty = self.r.dst.ty(x.mem).clone();
        let mut mem = x.mem;
        for (&index, &stride) in outer.iter().zip(&x.strides) {
            let mut b = self.r.b();
            let bytes = b.value(Op::Mul, &[index, stride], Type::I64);
            mem = b.value(Op::MemOffset, &[mem, bytes], ty.clone());
        }
        mem
    }
}
