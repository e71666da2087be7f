//! `nt.matmul` → calls of the one routine that multiplies matrices, which gives its work to threads: one for each matrix of a stack.

use super::Lower;
use super::array::Array;
use weft_diag::Diagnostic;
use weft_ir::attr::CmpOp;
use weft_ir::{Op, OpId, Place, Type, ValueId};

/// Products of elements up to which a stack is multiplied on one thread.
const FEW: i64 = 1 << 16;
/// Estimated nanoseconds of one matrix of a stack.
const COST: u32 = 10_000;

/// A product and its factors; the axes before the last two are `outer` many.
struct Product {
    outer: usize,
    to: Array,
    a: Array,
    b: Array,
}

impl Lower<'_> {
    /// The op.
    pub fn matmul(&mut self, id: OpId) -> Result<(), Diagnostic> {
        let data = self.r.src.op(id).clone();
        let (a, b) = (self.array(data.operands[0]).clone(), self.array(data.operands[1]).clone());
        let Some(ty) = self.r.src.ty(data.results[0]).as_tensor().cloned() else {
            return Err(Diagnostic::internal(data.span, "a product that is no array"));
        };
        if !self.place.is_host() {
            let message = "matrix products are not supported on a device yet";
            return Err(Diagnostic::unsupported(data.span, message).help("run it outside the device context"));
        }
        let to = self.alloc(&ty, &Place::Host);
        let product = Product { outer: ty.rank() - 2, to, a, b };
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
        self.arrays.insert(data.results[0], product.to);
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
        self.r.b().op(Op::ParFor { cost }, sizes, &[], &[region]);
        Ok(())
    }

    /// One call: the matrix with these indices.
    fn one(&mut self, p: &Product, outer: &[ValueId]) {
        let pointers = [&p.to, &p.a, &p.b].map(|x| self.matrix(x, outer));
        let sizes = [p.to.sizes[p.outer], p.to.sizes[p.outer + 1], p.a.sizes[p.outer + 1]];
        let steps = [&p.to, &p.a, &p.b].into_iter().flat_map(|x| x.strides[p.outer..].to_vec());
        let operands: Vec<ValueId> = pointers.into_iter().chain(sizes).chain(steps).collect();
        self.r.b().effect(Op::MemMatmul, &operands);
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
