//! Array descriptors as loose values, and where an element is.

use super::{Lower, space_of};
use weft_ir::attr::{Access, BinOp, Rmw, Unit};
use weft_ir::{DType, Dim, Layout, Op, OpId, Place, TensorType, Type, ValueId};

/// An array: what its slots hold.
#[derive(Clone, Debug)]
pub struct Array {
    /// Its type, with its own sizes.
    pub ty: TensorType,
    /// First element.
    pub mem: ValueId,
    /// Owner word.
    pub owner: ValueId,
    /// Sizes.
    pub sizes: Vec<ValueId>,
    /// Byte strides.
    pub strides: Vec<ValueId>,
}

impl Array {
    /// The slots, in the order of the calling convention.
    pub fn slots(&self) -> impl Iterator<Item = ValueId> + '_ {
        [self.mem, self.owner].into_iter().chain(self.sizes.iter().copied()).chain(self.strides.iter().copied())
    }
}

impl Lower<'_> {
    /// Parameters for an array. Symbols it is the first to have get their values from it.
    pub fn array_param(&mut self, t: &TensorType, name: &str) -> Array {
        let slot = |l: &mut Self, ty: Type, suffix: String| {
            let v = l.r.b().arg(ty);
            if !name.is_empty() {
                l.r.dst.values[v.index()].name = format!("{name}{suffix}");
            }
            v
        };
        let mem = slot(self, Type::Mem(t.dtype, space_of(&t.place)), String::new());
        let owner = slot(self, Type::Owner, "_o".into());
        let own: Vec<ValueId> = (0..t.rank()).map(|k| slot(self, Type::I64, format!("_n{k}"))).collect();
        let strides = (0..t.rank()).map(|k| slot(self, Type::I64, format!("_s{k}"))).collect();
        for (&d, &v) in t.dims.iter().zip(&own) {
            if matches!(d, Dim::Sym(_)) {
                self.sizes.entry(d).or_insert(v);
            }
        }
        // A constant size stays the slot here and becomes the constant where it is used: parameters come first.
        let sizes = t.dims.iter().zip(own).map(|(d, v)| self.sizes.get(d).copied().unwrap_or(v)).collect();
        Array { ty: t.clone(), mem, owner, sizes, strides }
    }

    /// The value of a size at the cursor.
    pub fn size(&mut self, d: Dim) -> ValueId {
        match d {
            Dim::Const(n) => self.r.b().i64(n as i64),
            Dim::Sym(_) => *self.sizes.get(&d).expect("the verifier has checked that symbols are bound before use"),
        }
    }

    /// Product of sizes; 1 for none.
    pub fn product(&mut self, sizes: &[ValueId]) -> ValueId {
        let product = sizes.iter().copied().reduce(|a, b| self.r.b().value(Op::Mul, &[a, b], Type::I64));
        product.unwrap_or_else(|| self.r.b().i64(1))
    }

    /// Fresh memory for an array of this type at a place, contiguous in its layout.
    pub fn alloc(&mut self, t: &TensorType, at: &Place) -> Array {
        self.alloc_counted(t, at).0
    }

    /// [`Lower::alloc`], and how many bytes it has.
    pub fn alloc_counted(&mut self, t: &TensorType, at: &Place) -> (Array, ValueId) {
        let sizes: Vec<ValueId> = t.dims.iter().map(|&d| self.size(d)).collect();
        let item = self.r.b().i64(t.dtype.size() as i64);
        let mut order: Vec<usize> = (0..t.rank()).collect();
        if t.layout != Layout::F {
            order.reverse();
        }
        let mut strides = vec![item; t.rank()];
        let mut step = item;
        for k in order {
            strides[k] = step;
            if t.dims[k] == Dim::Const(1) {
                continue;
            }
            let multiply = Op::Checked { op: BinOp::Mul, site: self.too_big };
            step = self.r.b().value(multiply, &[step, sizes[k]], Type::I64);
        }
        let types = [Type::Mem(t.dtype, space_of(at)), Type::Owner];
        let op = self.r.b().op(Op::MemAlloc { at: at.clone() }, &[step], &types, &[]);
        let results = &self.r.dst.op(op).results;
        let (mem, owner) = (results[0], results[1]);
        self.allocated.insert(owner);
        self.roots.insert(owner, owner);
        let ty = TensorType { place: at.clone(), ..t.clone() };
        (Array { ty, mem, owner, sizes, strides }, step)
    }

    /// The array made valid at a place. Strides stay: the mirror has the extent of the original.
    pub fn need(&mut self, from: &Array, at: &Place, mode: Access) -> Array {
        let slots: Vec<ValueId> = from.slots().collect();
        let types = [Type::Mem(from.ty.dtype, space_of(at)), Type::Owner];
        let op = Op::MemNeed { at: at.clone(), mode, rank: from.ty.rank() as u32 };
        let id = self.r.b().op(op, &slots, &types, &[]);
        let results = &self.r.dst.op(id).results;
        let ty = TensorType { place: at.clone(), ..from.ty.clone() };
        Array { ty, mem: results[0], owner: results[1], ..from.clone() }
    }

    /// Offset of the element at `index` (one per dimension), in the cheapest unit. Dimensions of size 1 have none.
    pub fn offset(&mut self, a: &Array, index: &[ValueId]) -> (ValueId, Unit) {
        let mut axes: Vec<usize> = (0..a.ty.rank()).filter(|&k| a.ty.dims[k] != Dim::Const(1)).collect();
        let mut sum: Option<ValueId> = None;
        let unit = if matches!(a.ty.layout, Layout::A | Layout::I) { Unit::Byte } else { Unit::Element };
        let dense = (a.ty.layout == Layout::I).then(|| a.ty.rank() - 1);
        if a.ty.layout == Layout::F {
            axes.reverse();
        }
        for k in axes {
            sum = Some(match (sum, unit) {
                (Some(s), Unit::Element) => {
                    let size = self.size(a.ty.dims[k]);
                    let mut b = self.r.b();
                    let rows = b.value(Op::Mul, &[s, size], Type::I64);
                    b.value(Op::Add, &[rows, index[k]], Type::I64)
                }
                (None, Unit::Element) => index[k],
                (s, Unit::Byte) => {
                    let mut b = self.r.b();
                    let stride = if dense == Some(k) { b.i64(a.ty.dtype.size() as i64) } else { a.strides[k] };
                    let step = b.value(Op::Mul, &[index[k], stride], Type::I64);
                    s.map_or(step, |s| b.value(Op::Add, &[s, step], Type::I64))
                }
            });
        }
        match sum {
            Some(v) => (v, unit),
            None => (self.r.b().i64(0), Unit::Element),
        }
    }

    /// Indices of `nt.load` and `nt.store` as i64; negative ones count from the end if `wrap`.
    fn indices(&mut self, a: &Array, old: &[ValueId], wrap: bool) -> Vec<ValueId> {
        let mut out = vec![];
        for (k, &v) in old.iter().enumerate() {
            let v = self.r.get(v);
            let v = self.r.b().cast(v, Type::I64);
            // An index of the launch is never negative.
            let counted = self.items.iter().any(|&(index, _)| index == v);
            if !wrap || counted || a.ty.dims[k] == Dim::Const(1) {
                out.push(v);
                continue;
            }
            let size = self.size(a.ty.dims[k]);
            out.push(self.r.b().value(Op::Wrap, &[v, size], Type::I64));
        }
        out
    }

    /// `nt.load`.
    pub fn load(&mut self, id: OpId, wrap: bool) {
        let data = self.r.src.op(id).clone();
        let a = self.array(data.operands[0]).clone();
        let index = self.indices(&a, &data.operands[1..], wrap);
        let (at, unit) = self.offset(&a, &index);
        self.r.emit(id, Op::MemLoad { unit }, &[a.mem, at], &[Type::Num(a.ty.dtype)], &[]);
    }

    /// `nt.store`.
    pub fn store(&mut self, id: OpId, wrap: bool) {
        let data = self.r.src.op(id).clone();
        let a = self.array(data.operands[1]).clone();
        let index = self.indices(&a, &data.operands[2..], wrap);
        let (at, unit) = self.offset(&a, &index);
        let v = self.element(data.operands[0], a.ty.dtype);
        self.r.emit(id, Op::MemStore { unit }, &[v, a.mem, at], &[], &[]);
    }

    /// `nt.atomic`.
    pub fn atomic(&mut self, id: OpId, rmw: Rmw, wrap: bool) {
        let data = self.r.src.op(id).clone();
        let a = self.array(data.operands[0]).clone();
        let (values, indices) = data.operands[1..].split_at(rmw.values());
        let index = self.indices(&a, indices, wrap);
        let (at, unit) = self.offset(&a, &index);
        let mut operands = vec![a.mem, at];
        operands.extend(values.iter().map(|&v| self.r.get(v)));
        self.r.emit(id, Op::MemAtomic { rmw, unit }, &operands, &[Type::Num(a.ty.dtype)], &[]);
    }

    /// An old scalar as an element of a dtype.
    pub fn element(&mut self, old: ValueId, dtype: DType) -> ValueId {
        let v = self.r.get(old);
        self.r.b().cast(v, Type::Num(dtype))
    }
}
