//! Views, other sizes, and checked indices: descriptors change, no element is touched.

use super::Lower;
use super::array::Array;
use weft_diag::Diagnostic;
use weft_ir::attr::CmpOp;
use weft_ir::{Dim, Layout, Op, OpId, TensorType, Type, ValueId};

impl Lower<'_> {
    fn result_type(&self, id: OpId) -> TensorType {
        let v = self.r.src.op(id).results[0];
        self.r.src.ty(v).as_tensor().cloned().expect("the verifier has checked that the result is an array")
    }

    /// The owner word of the view of an array that an op makes.
    fn view_owner(&mut self, made_by: OpId, of: &Array) -> ValueId {
        let number = made_by.index() as u32;
        let owner = self.r.b().value(Op::MemViewOwner { number }, &[of.owner], Type::Owner);
        if let Some(&root) = self.roots.get(&of.owner) {
            self.roots.insert(owner, root);
        }
        owner
    }

    /// `nt.view`.
    pub fn view(&mut self, id: OpId, axes: &[i32]) {
        let data = self.r.src.op(id).clone();
        let a = self.array(data.operands[0]).clone();
        let ty = self.result_type(id);
        let parts: Vec<ValueId> = data.operands[1..].iter().map(|&v| self.r.get(v)).collect();
        let mut offset: Option<ValueId> = None;
        for (axis, part) in parts.chunks(2).enumerate() {
            if self.r.dst.constant_int(part[0]) == Some(0) {
                continue;
            }
            let mut b = self.r.b();
            let bytes = b.value(Op::Mul, &[part[0], a.strides[axis]], Type::I64);
            offset = Some(offset.map_or(bytes, |sum| b.value(Op::Add, &[sum, bytes], Type::I64)));
        }
        let mem_ty = self.r.dst.ty(a.mem).clone();
        let mem = offset.map_or(a.mem, |by| self.r.b().value(Op::MemOffset, &[a.mem, by], mem_ty));
        let owner = self.view_owner(id, &a);
        let sizes = ty.dims.iter().map(|&d| self.size(d)).collect();
        let mut strides = vec![];
        for &axis in axes {
            let Ok(axis) = usize::try_from(axis) else {
                strides.push(self.r.b().i64(0));
                continue;
            };
            let step = parts[2 * axis + 1];
            strides.push(match (self.r.dst.constant_int(step), a.ty.dense_axis()) {
                (Some(1), _) => a.strides[axis],
                // A number that the loops over the view know: they need not gather.
                (Some(step), Some(known)) if known == axis => {
                    self.r.b().i64((step as i64).wrapping_mul(a.ty.dtype.size() as i64))
                }
                _ => self.r.b().value(Op::Mul, &[step, a.strides[axis]], Type::I64),
            });
        }
        let ty = TensorType { place: a.ty.place.clone(), ..ty };
        self.arrays.insert(data.results[0], Array { ty, mem, owner, sizes, strides });
    }

    /// `nt.expand`: sizes that are 1 repeat; others are compared.
    pub fn expand(&mut self, id: OpId, site: u32) -> Result<(), Diagnostic> {
        let data = self.r.src.op(id).clone();
        let a = self.array(data.operands[0]).clone();
        let ty = TensorType { place: a.ty.place.clone(), ..self.result_type(id) };
        if ty.layout == Layout::A || a.ty.rank() != ty.rank() {
            self.repeat(id, site);
            return Ok(());
        }
        let mut other: Option<ValueId> = None;
        for (&have, &want) in a.ty.dims.iter().zip(&ty.dims) {
            if have != want && !self.proved.contains(&(have, want)) {
                let (n, m) = (self.size(have), self.size(want));
                let ne = self.r.b().value(Op::Cmp { is: CmpOp::Ne }, &[n, m], Type::BOOL);
                other = Some(self.either(other, ne));
            }
        }
        let sizes: Vec<ValueId> = ty.dims.iter().map(|&d| self.size(d)).collect();
        let Some(other) = other else {
            self.arrays.insert(data.results[0], Array { ty, sizes, ..a });
            return Ok(());
        };
        // Almost always the sizes agree. Where one repeats, a copy keeps loops over the array simple.
        let (copies, ()) = self.nested(|l| {
            l.repeat(id, site);
            let repeated = l.array(data.results[0]).clone();
            let place = ty.place.clone();
            let layout = if ty.layout == Layout::F { Layout::F } else { Layout::C };
            let copy = l.alloc(&TensorType { layout, ..ty.clone() }, &place);
            l.copy_rarely(&copy, &repeated)?;
            let values: Vec<ValueId> = [copy.mem, copy.owner].into_iter().chain(copy.strides).collect();
            l.r.b().effect(Op::Yield, &values);
            Ok(())
        })?;
        let same: Vec<ValueId> = [a.mem, a.owner].into_iter().chain(a.strides.iter().copied()).collect();
        let types: Vec<Type> = same.iter().map(|&v| self.r.dst.ty(v).clone()).collect();
        let mut b = self.r.b();
        let (stays, _) = b.region(|b| b.effect(Op::Yield, &same));
        let chosen = b.op(Op::ScfIf, &[other], &types, &[copies, stays]);
        let values = self.r.dst.op(chosen).results.to_vec();
        let strides = values[2..].to_vec();
        self.arrays.insert(data.results[0], Array { ty, mem: values[0], owner: values[1], sizes, strides });
        Ok(())
    }

    /// The array with the stride 0 where its size is 1; other sizes are compared.
    fn repeat(&mut self, id: OpId, site: u32) {
        let data = self.r.src.op(id).clone();
        let a = self.array(data.operands[0]).clone();
        let ty = self.result_type(id);
        let skip = ty.rank() - a.ty.rank();
        let mut differ: Option<ValueId> = None;
        let mut strides = vec![self.r.b().i64(0); skip];
        for (k, &have) in a.ty.dims.iter().enumerate() {
            let want = ty.dims[skip + k];
            if have == want {
                strides.push(a.strides[k]);
                continue;
            }
            if have == Dim::Const(1) {
                strides.push(self.r.b().i64(0));
                continue;
            }
            let (n, m) = (self.size(have), self.size(want));
            let mut b = self.r.b();
            let ne = b.value(Op::Cmp { is: CmpOp::Ne }, &[n, m], Type::BOOL);
            if matches!(have, Dim::Const(_)) {
                strides.push(a.strides[k]);
                differ = Some(differ.map_or(ne, |d| b.value(Op::Or, &[d, ne], Type::BOOL)));
                continue;
            }
            let (one, zero) = (b.i64(1), b.i64(0));
            let unit = b.value(Op::Cmp { is: CmpOp::Eq }, &[n, one], Type::BOOL);
            let wide = b.value(Op::Cmp { is: CmpOp::Ne }, &[n, one], Type::BOOL);
            let bad = b.value(Op::And, &[ne, wide], Type::BOOL);
            strides.push(b.value(Op::Select, &[unit, zero, a.strides[k]], Type::I64));
            differ = Some(differ.map_or(bad, |d| b.value(Op::Or, &[d, bad], Type::BOOL)));
        }
        if let Some(differ) = differ {
            let shapes: Vec<ValueId> = data.operands[1..].iter().flat_map(|&v| self.array(v).sizes.clone()).collect();
            self.raise_when(differ, site, &shapes);
        }
        let sizes = ty.dims.iter().map(|&d| self.size(d)).collect();
        let owner = self.view_owner(id, &a);
        let ty = TensorType { place: a.ty.place.clone(), ..ty };
        self.arrays.insert(data.results[0], Array { ty, mem: a.mem, owner, sizes, strides });
    }

    /// `nt.reshape`: the same memory with the strides of other sizes.
    pub fn reshape(&mut self, id: OpId) {
        let data = self.r.src.op(id).clone();
        let a = self.array(data.operands[0]).clone();
        let ty = TensorType { place: a.ty.place.clone(), ..self.result_type(id) };
        let sizes: Vec<ValueId> = ty.dims.iter().map(|&d| self.size(d)).collect();
        let mut step = self.r.b().i64(ty.dtype.size() as i64);
        let mut strides = vec![step; ty.rank()];
        for k in (0..ty.rank()).rev() {
            strides[k] = step;
            // NumPy steps over an axis of size 0 as over one of size 1.
            let mut b = self.r.b();
            let one = b.i64(1);
            let n = b.value(Op::Max, &[sizes[k], one], Type::I64);
            step = b.value(Op::Mul, &[step, n], Type::I64);
        }
        let owner = self.view_owner(id, &a);
        self.arrays.insert(data.results[0], Array { ty, mem: a.mem, owner, sizes, strides });
    }

    /// Raises `site` with these values when `bad` holds.
    pub fn raise_when(&mut self, bad: ValueId, site: u32, values: &[ValueId]) {
        let mut b = self.r.b();
        let (raises, _) = b.region(|b| b.effect(Op::Raise { site }, values));
        let (goes_on, _) = b.region(|b| b.effect(Op::Yield, &[]));
        b.op(Op::ScfIf, &[bad], &[], &[raises, goes_on]);
    }
}
