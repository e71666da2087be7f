//! Writing into arrays: `x[…] = v` of views, and `x op= v`.

use super::Infer;
use super::abs::Abs;
use super::array::ZeroD;
use weft_diag::{Diagnostic, ErrorKind};
use weft_ir::attr::{BinOp, CmpOp, Const};
use weft_ir::rules::can_cast_same_kind;
use weft_ir::{DType, Dim, ExcClass, Layout, Op, TensorType, Type, ValueId};

impl Infer<'_> {
    /// Writes `v`, broadcast and cast as NumPy's assignment does, into every element of `to`.
    pub(super) fn assign(&mut self, to: ValueId, v: &Abs) -> Result<(), Diagnostic> {
        self.writable(to)?;
        let Some(ty) = self.tensor(to).cloned() else { return Err(self.internal("an assignment to no array")) };
        let v = match v {
            Abs::Tuple(_) | Abs::List(..) => &self.array_from(v, &Abs::Const(Const::None))?,
            v => v,
        };
        let Some(from) = self.as_tensor(v) else {
            let value = self.stored(v, ty.dtype)?;
            self.effect(Op::NtCopy, &[to, value]);
            return Ok(());
        };
        let from = self.cast_array(from, ty.dtype)?;
        let from = self.broadcast_into(from, to)?;
        self.effect(Op::NtCopy, &[to, from]);
        Ok(())
    }

    /// An array with elements of another dtype, by plain conversion; the array itself if it has them.
    pub(super) fn cast_array(&mut self, t: ValueId, dtype: DType) -> Result<ValueId, Diagnostic> {
        if self.tensor(t).is_some_and(|t| t.dtype == dtype) {
            return Ok(t);
        }
        let cast = self.elementwise(&[Abs::Value(t)], None, ZeroD::Array, &mut |s, e| {
            let v = s.materialise(&e[0])?;
            Ok(Abs::Value(s.cast(v, Type::Num(dtype))))
        })?;
        self.materialise(&cast)
    }

    /// `from` with the sizes of `to`, or NumPy's ValueError.
    fn broadcast_into(&mut self, from: ValueId, to: ValueId) -> Result<ValueId, Diagnostic> {
        let (Some(have), Some(want)) = (self.tensor(from).cloned(), self.tensor(to).cloned()) else {
            return Err(self.internal("a broadcast of no array"));
        };
        if have.dims == want.dims {
            return Ok(from);
        }
        let template = |axes: usize| {
            let to = want.rank();
            format!("could not broadcast input array from shape {{shape {axes}}} into shape {{shape {to}}}")
        };
        // Leading axes that the destination does not have must be 1, and go: messages do not mention those that went.
        let extra = have.rank().saturating_sub(want.rank());
        let mut source = from;
        if extra > 0 {
            let one = self.constant(Const::Int(1), Type::I64);
            for axis in 0..extra {
                if have.dims[axis] != Dim::Const(1) {
                    let size = self.size_i64(from, axis);
                    let wide = self.test(CmpOp::Ne, size, one);
                    let sizes = self.shapes(&[from, to]);
                    self.raise_if(wide, ExcClass::ValueError, &template(have.rank() - axis), &sizes[axis..]);
                }
            }
            let zero = self.constant(Const::Int(0), Type::I64);
            let operands: Vec<ValueId> =
                std::iter::once(from).chain((0..have.rank()).flat_map(|_| [zero, one])).collect();
            let axes = (extra as i32..have.rank() as i32).collect();
            let ty = Type::tensor(TensorType { dims: have.dims[extra..].to_vec(), ..have.clone() });
            source = self.emit(Op::NtView { axes }, &operands, ty);
        }
        let dims = self.tensor(source).map_or(vec![], |t| t.dims.clone());
        if dims == want.dims {
            return Ok(source);
        }
        let site = self.site(ExcClass::ValueError, template(dims.len()));
        let ty =
            TensorType { dims: want.dims.clone(), layout: expanded_layout(&dims, &want.dims, have.layout), ..have };
        Ok(self.emit(Op::NtExpand { site }, &[source, source, to], Type::tensor(ty)))
    }

    /// The sizes of arrays, one after the other, for a message.
    pub(super) fn shapes(&mut self, arrays: &[ValueId]) -> Vec<ValueId> {
        let mut sizes = vec![];
        for &t in arrays {
            for axis in 0..self.tensor(t).map_or(0, TensorType::rank) {
                sizes.push(self.size_i64(t, axis));
            }
        }
        sizes
    }

    /// `x op= v` of an array: writes into it. The result is the array.
    pub(super) fn inplace(&mut self, op: BinOp, x: &Abs, v: &Abs) -> Result<Abs, Diagnostic> {
        let Some(to) = self.as_tensor(x) else { return self.binop(op, x, v) };
        let Some(ty) = self.tensor(to).cloned() else { return Err(self.internal("no array")) };
        if self.is_kernel() {
            let text = op.text();
            return Err(self.refuse(format!("`{text}=` on an array inside a kernel is not supported yet")));
        }
        if ty.readonly {
            return Err(Diagnostic::new(ErrorKind::Value, self.span, "output array is read-only"));
        }
        if op == BinOp::MatMul
            && (ty.rank() == 0 || self.as_tensor(v).and_then(|t| self.tensor(t)).is_some_and(|t| t.rank() < 2))
        {
            let message = "inplace matrix multiplication requires the first operand to have at least one and the \
                           second at least two dimensions.";
            return Err(Diagnostic::new(ErrorKind::Value, self.span, message));
        }
        let result = self.with_output(Some(to), |s| s.binop(op, x, v))?;
        let text = op.text();
        self.assign_result(ufunc_name(op), to, &result, false)
            .map_err(|d| d.help(format!("write `x = x {text} …`, which makes a new array")))?;
        Ok(x.clone())
    }

    /// Types an operation whose result goes to this array.
    pub(super) fn with_output<R>(&mut self, to: Option<ValueId>, operation: impl FnOnce(&mut Self) -> R) -> R {
        let outer = std::mem::replace(&mut self.output, to);
        let result = operation(self);
        self.output = outer;
        result
    }

    /// Writes what a ufunc computed into an array, which must be able to hold it. Where the array takes part in
    /// broadcasting (`out=` of ufuncs) it may be wider than the result, which repeats then.
    pub(super) fn assign_result(
        &mut self,
        ufunc: &str,
        to: ValueId,
        result: &Abs,
        wider: bool,
    ) -> Result<(), Diagnostic> {
        let Some(ty) = self.tensor(to).cloned() else { return Err(self.internal("no array")) };
        if ty.readonly {
            return Err(Diagnostic::new(ErrorKind::Value, self.span, "output array is read-only"));
        }
        let dtype = match self.type_of(result) {
            Some(Type::Tensor(t)) => t.dtype,
            Some(t) => t.scalar_dtype().unwrap_or(ty.dtype),
            None => ty.dtype,
        };
        if !can_cast_same_kind(dtype, ty.dtype) {
            let message = format!(
                "Cannot cast ufunc '{}' output from dtype('{}') to dtype('{}') with casting rule 'same_kind'",
                ufunc.strip_prefix("numpy.").unwrap_or(ufunc),
                dtype.numpy_name(),
                ty.dtype.numpy_name()
            );
            return Err(self.typing(message));
        }
        let Some(from) = self.as_tensor(result) else {
            let v = self.materialise(result)?;
            let v = self.cast(v, Type::Num(ty.dtype));
            self.effect(Op::NtCopy, &[to, v]);
            return Ok(());
        };
        let from = self.cast_array(from, ty.dtype)?;
        let have = self.tensor(from).map_or(vec![], |t| t.dims.clone());
        let from = if have == ty.dims { from } else { self.fits_output(from, to, &ty, wider)? };
        self.effect(Op::NtCopy, &[to, from]);
        Ok(())
    }

    /// The result of an operator with the sizes of the array it is written into, which must not be smaller.
    fn fits_output(&mut self, from: ValueId, to: ValueId, ty: &TensorType, wider: bool) -> Result<ValueId, Diagnostic> {
        let Some(result) = self.tensor(from).cloned() else { return Err(self.internal("no array")) };
        let have = result.dims.clone();
        let template = format!(
            "non-broadcastable output operand with shape {{shape {}}} doesn't match the broadcast shape {{shape {}}}",
            ty.rank(),
            have.len()
        );
        let refined = TensorType { dims: ty.dims.clone(), ..result };
        let repeats = |size: &Dim| wider && *size == Dim::Const(1);
        let differ = |(a, b): (&Dim, &Dim)| matches!((a, b), (Dim::Const(x), Dim::Const(y)) if x != y && !repeats(a));
        let ranks = have.len() == ty.rank() || (wider && have.len() < ty.rank());
        if !ranks || have.iter().rev().zip(ty.dims.iter().rev()).any(differ) {
            let always = self.constant(Const::Bool(true), Type::PYBOOL);
            let sizes = self.shapes(&[to, from]);
            self.raise_if(always, ExcClass::ValueError, &template, &sizes);
            // Control does not come here.
            return Ok(self.emit(Op::NtNull, &[], Type::tensor(refined)));
        }
        let site = self.site(ExcClass::ValueError, template);
        let operands = [from, to, from];
        if wider {
            let layout = expanded_layout(&have, &ty.dims, refined.layout);
            let expanded = Type::tensor(TensorType { layout, ..refined });
            return Ok(self.emit(Op::NtExpand { site }, &operands, expanded));
        }
        Ok(self.emit(Op::NtRefine { site }, &operands, Type::tensor(refined)))
    }
}

/// Layout of an array seen with other sizes: repeated axes have no step of their own. Where it is not known before run time
/// whether axes repeat, the array keeps its layout, and is copied if they do.
pub(super) fn expanded_layout(from: &[Dim], to: &[Dim], layout: Layout) -> Layout {
    let surely = from.iter().zip(to).any(|(from, to)| *from == Dim::Const(1) && from != to);
    if from.len() == to.len() && !surely {
        return layout;
    }
    let units = |dims: &[Dim]| dims.iter().filter(|d| **d == Dim::Const(1)).count();
    let same_tail = to.len() >= from.len() && to[to.len() - from.len()..] == *from;
    if same_tail && units(&to[..to.len() - from.len()]) == to.len() - from.len() { layout } else { Layout::A }
}

fn ufunc_name(op: BinOp) -> &'static str {
    match op {
        BinOp::Add => "add",
        BinOp::Sub => "subtract",
        BinOp::Mul => "multiply",
        BinOp::Div => "divide",
        BinOp::FloorDiv => "floor_divide",
        BinOp::Mod => "remainder",
        BinOp::Pow => "power",
        BinOp::MatMul => "matmul",
        BinOp::And => "bitwise_and",
        BinOp::Or => "bitwise_or",
        BinOp::Xor => "bitwise_xor",
        BinOp::Shl => "left_shift",
        BinOp::Shr => "right_shift",
    }
}
