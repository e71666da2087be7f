//! Operators on arrays: a scalar body over the broadcast shape.

use super::abs::Abs;
use super::facts::Computed;
use super::store::expanded_layout;
use super::{Body, Door, Infer};
use std::collections::HashSet;
use weft_diag::{Diagnostic, ErrorKind};
use weft_ir::attr::{BinOp, CmpOp, Const, UnaryOp};
use weft_ir::rules::{broadcast_dims, join_places, operator_dtype, result_layout};
use weft_ir::{Dim, ExcClass, Op, Place, RegionId, Site, TensorType, Type, ValueId};

/// What a 0-d result becomes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ZeroD {
    /// A scalar, as ufuncs and operators give.
    Scalar,
    /// An array, as `np.where` gives.
    Array,
}

/// A function of elements.
type Element<'f, 'r> = &'f mut dyn FnMut(&mut Infer<'r>, &[Abs]) -> Result<Abs, Diagnostic>;

impl<'r> Infer<'r> {
    /// `a op b` of anything.
    pub(super) fn binop(&mut self, op: BinOp, a: &Abs, b: &Abs) -> Result<Abs, Diagnostic> {
        self.numeric(op.text(), a, b)?;
        if op == BinOp::MatMul && self.as_tensor(a).is_some() && self.as_tensor(b).is_some() {
            return self.call(&Abs::Function("numpy.matmul".into()), &[a.clone(), b.clone()], &[]);
        }
        // Refused here, where the arrays are still arrays, so that the message names them.
        let python = self.as_weak(a).is_some() && self.as_weak(b).is_some();
        if !python && (op == BinOp::MatMul || operator_dtype(op, self.meet(a, b)?).is_err()) {
            return Err(self.not_defined(op, a, b));
        }
        self.elementwise(&[a.clone(), b.clone()], None, ZeroD::Scalar, &mut |s, e| s.scalar_binop(op, &e[0], &e[1]))
    }

    /// `op a` of anything.
    pub(super) fn unary(&mut self, op: UnaryOp, a: &Abs) -> Result<Abs, Diagnostic> {
        if op == UnaryOp::Not {
            return self.logical_not(a);
        }
        self.elementwise(std::slice::from_ref(a), None, ZeroD::Scalar, &mut |s, e| s.scalar_unary(op, &e[0]))
    }

    /// `a op b`, a comparison of anything.
    pub(super) fn compare(&mut self, op: CmpOp, a: &Abs, b: &Abs) -> Result<Abs, Diagnostic> {
        if matches!(op, CmpOp::Is | CmpOp::IsNot | CmpOp::In | CmpOp::NotIn) {
            return self.object_compare(op, a, b)?.ok_or_else(|| self.internal("a comparison of objects"));
        }
        if !matches!((a, b), (Abs::Const(_), Abs::Const(_))) {
            self.numeric(op.text(), a, b)?;
        }
        self.elementwise(&[a.clone(), b.clone()], None, ZeroD::Scalar, &mut |s, e| s.scalar_compare(op, &e[0], &e[1]))
    }

    /// Refuses operands that are no numbers, with both types.
    fn numeric(&self, op: &str, a: &Abs, b: &Abs) -> Result<(), Diagnostic> {
        for x in [a, b] {
            if let Abs::Unbound(name) = x {
                return Err(self.unbound(name));
            }
        }
        let number = |x: &Abs| self.as_tensor(x).is_some() || self.type_of(x).is_some_and(|t| t.is_scalar());
        if number(a) && number(b) {
            return Ok(());
        }
        Err(self.typing(format!("unsupported operand types for {op}: {} and {}", self.describe(a), self.describe(b))))
    }

    /// Applies `f` to elements: directly to scalars, as the body of an `nt.elementwise` when an argument is an array
    /// or `space` gives the shape of a new one.
    pub(super) fn elementwise(
        &mut self,
        args: &[Abs],
        space: Option<Vec<Dim>>,
        zero_d: ZeroD,
        f: Element<'_, 'r>,
    ) -> Result<Abs, Diagnostic> {
        let tensors: Vec<ValueId> = args.iter().filter_map(|a| self.as_tensor(a)).collect();
        // One element in, one element out: in a kernel, a 0-d array would be memory of its own for nothing.
        let element = self.body.is_some() || self.is_kernel();
        if tensors.is_empty() && space.is_none() && (zero_d == ZeroD::Scalar || element) {
            return f(self, args);
        }
        if self.is_kernel() {
            return Err(self
                .refuse("array expressions inside a kernel are not supported yet")
                .help("write one element: `a[i] = b[i] + c[i]`"));
        }
        let dims = match space {
            Some(dims) => dims,
            None => self.broadcast(&tensors, args)?,
        };
        let place = self.common_place(&tensors)?;
        let tensors: Vec<ValueId> = tensors.into_iter().map(|t| self.refine_to(t, &dims, args)).collect();

        // The body: tensors become elements, everything else is used as it is and captured below.
        let outer = self.region;
        let region = self.out.new_region();
        let saved = self.body.replace(Body { outer, first_value: self.out.values.len(), rank: dims.len() });
        let mut inputs: Vec<(ValueId, ValueId)> = vec![];
        let mut elements = vec![];
        let mut next = tensors.iter().copied();
        for a in args {
            let element = match (self.as_tensor(a), a) {
                (Some(_), _) => {
                    let t = next.next().unwrap_or(ValueId(0));
                    Abs::Value(self.element_of(t, region, &mut inputs))
                }
                (None, a) => a.clone(),
            };
            elements.push(element);
        }
        let result = self.inside(region, |s| {
            let e = f(s, &elements)?;
            let v = s.strengthen(&e)?;
            s.effect(Op::Yield, &[v]);
            Ok(v)
        });
        self.body = saved;
        let result = result?;
        let Type::Num(dtype) = *self.out.ty(result) else {
            return Err(self.typing(format!("an array cannot hold {}", self.out.ty(result).user_name())));
        };
        let mut operands: Vec<ValueId> = inputs.iter().map(|(t, _)| *t).collect();
        operands.extend(self.capture(region));

        let types: Vec<&TensorType> = tensors.iter().filter_map(|&t| self.tensor(t)).collect();
        let layout = result_layout(&dims, &types);
        let rank = dims.len();
        let place = place.unwrap_or_else(|| match &self.door {
            Door::Tensor { place } => place.clone(),
            _ => Place::Host,
        });
        let ty = Type::tensor(TensorType { layout, ..TensorType::fresh(dims, dtype, place) });
        let op = self.builder().op(Op::NtElementwise, &operands, &[ty], &[region]);
        let v = self.out.op(op).results[0];
        if rank == 0 && zero_d == ZeroD::Scalar && !matches!(self.door, Door::Tensor { .. }) {
            return Ok(Abs::Value(self.emit(Op::NtItem, &[v], Type::Num(dtype))));
        }
        Ok(Abs::Value(v))
    }

    /// The region argument for an input tensor; one per tensor.
    fn element_of(&mut self, t: ValueId, region: RegionId, inputs: &mut Vec<(ValueId, ValueId)>) -> ValueId {
        if let Some((_, e)) = inputs.iter().find(|(i, _)| *i == t) {
            return *e;
        }
        let dtype = self.tensor(t).map_or(weft_ir::DType::F64, |t| t.dtype);
        let e = self.out.new_value(Type::Num(dtype));
        self.out.regions[region.index()].args.push(e);
        inputs.push((t, e));
        e
    }

    /// Makes outer scalars that the body uses into operands and region arguments; returns them.
    fn capture(&mut self, region: RegionId) -> Vec<ValueId> {
        let mut defined: HashSet<ValueId> = self.out.region(region).args.iter().copied().collect();
        let mut ops = vec![];
        self.out.walk_region(region, &mut |op| ops.push(op));
        for &op in &ops {
            let data = self.out.op(op);
            defined.extend(data.results.iter().copied());
            for &r in &data.regions {
                defined.extend(self.out.region(r).args.iter().copied());
            }
        }
        let mut captured: Vec<(ValueId, ValueId)> = vec![];
        for op in ops {
            for k in 0..self.out.op(op).operands.len() {
                let v = self.out.op(op).operands[k];
                if defined.contains(&v) {
                    continue;
                }
                let inner = match captured.iter().find(|(o, _)| *o == v) {
                    Some((_, inner)) => *inner,
                    None => {
                        let inner = self.out.new_value(self.out.ty(v).clone());
                        self.out.regions[region.index()].args.push(inner);
                        captured.push((v, inner));
                        inner
                    }
                };
                self.out.ops[op.index()].operands[k] = inner;
            }
        }
        captured.into_iter().map(|(o, _)| o).collect()
    }

    /// The sizes that arrays broadcast to. Where sizes meet of which none is a constant or an argument's, either may be
    /// 1 at run time: the result is what the other is then.
    fn broadcast(&mut self, tensors: &[ValueId], args: &[Abs]) -> Result<Vec<Dim>, Diagnostic> {
        let shape_of = |t: &TensorType| t.dims.iter().map(|&d| self.one_size(d)).collect();
        let shapes: Vec<Vec<Dim>> = tensors.iter().filter_map(|&t| self.tensor(t)).map(shape_of).collect();
        let slices: Vec<&[Dim]> = shapes.iter().map(Vec::as_slice).collect();
        let Some(mut dims) = broadcast_dims(&slices) else {
            let shape = |dims: &Vec<Dim>| {
                let sizes = dims.iter().map(|d| match d {
                    Dim::Const(n) => n.to_string(),
                    Dim::Sym(_) => "?".into(),
                });
                let comma = if dims.len() == 1 { "," } else { "" };
                format!("({}{comma})", sizes.collect::<Vec<_>>().join(","))
            };
            if self.can_raise_later() {
                let (template, shown) = self.shapes_message(args);
                let site = self.site(ExcClass::ValueError, template);
                let sizes = self.shapes(&shown);
                self.terminate(Op::Raise { site }, &sizes);
            }
            let shapes: Vec<String> = shapes.iter().map(shape).collect();
            let message = format!("operands could not be broadcast together with shapes {} ", shapes.join(" "));
            return Err(Diagnostic::new(ErrorKind::Value, self.span, message));
        };
        let rank = dims.len();
        for (k, joined) in dims.iter_mut().enumerate() {
            if matches!(joined, Dim::Const(_)) {
                continue;
            }
            // The different sizes that meet here, each with an array that has it.
            let mut met: Vec<(Dim, ValueId, usize)> = vec![];
            for (&t, shape) in tensors.iter().zip(&shapes) {
                let Some(axis) = (k + shape.len()).checked_sub(rank) else { continue };
                let dim = shape[axis];
                if dim != Dim::Const(1) && met.iter().all(|m| m.0 != dim) {
                    met.push((dim, t, axis));
                }
            }
            if let Some(&(dim, ..)) = met.iter().find(|m| self.is_argument_size(m.0)) {
                met.iter().filter(|m| m.0 != dim).for_each(|m| self.suppose_same(m.0, dim));
                *joined = dim;
            } else if met.len() > 1 {
                *joined = self.joined(&met);
            }
        }
        Ok(dims)
    }

    /// The symbol of what computed sizes broadcast to.
    fn joined(&mut self, met: &[(Dim, ValueId, usize)]) -> Dim {
        let mut dim = met[0].0;
        let mut size = None;
        for &(other, t, axis) in &met[1..] {
            let what = Computed::Joined(dim, other);
            if let Some((known, v)) = self.known_binding(what) {
                (dim, size) = (known, Some(v));
                continue;
            }
            let first = match size {
                Some(v) => v,
                None => self.size_i64(met[0].1, met[0].2),
            };
            let second = self.size_i64(t, axis);
            let one = self.constant(Const::Int(1), Type::I64);
            let unit = self.emit(Op::Cmp { is: CmpOp::Eq }, &[first, one], Type::BOOL);
            let joined = self.emit(Op::Select, &[unit, second, first], Type::I64);
            dim = self.bind_size(joined, Some(what));
            size = Some(joined);
        }
        dim
    }

    /// Sizes given by a program: constants, sizes of arrays, or run-time values that get a symbol.
    pub(super) fn space(&mut self, sizes: &[Abs]) -> Result<Vec<Dim>, Diagnostic> {
        sizes.iter().map(|size| self.new_size(size)).collect()
    }

    /// The symbol of a size value (not negative).
    pub(super) fn size_symbol(&mut self, v: ValueId) -> Dim {
        let what = Computed::Value(v);
        if let Some(f) = self.affine(&Abs::Value(v)).filter(|f| f.beyond(f.dim) == Some(0))
            && self.is_bound(f.dim)
        {
            return f.dim;
        }
        if let Some(dim) = self.known_size(what) {
            return dim;
        }
        let sum = match self.computed_symbol(v) {
            Ok(dim) => return dim,
            Err(sum) => sum,
        };
        let dim = self.bind_size(v, Some(what));
        self.set_size(v, dim);
        if let Some(sum) = sum {
            self.set_linear(dim, sum, v);
        }
        dim
    }

    fn common_place(&self, tensors: &[ValueId]) -> Result<Option<Place>, Diagnostic> {
        let places: Vec<&Place> = tensors.iter().filter_map(|&t| self.tensor(t)).map(|t| &t.place).collect();
        join_places(places.iter().copied()).map_err(|(i, j)| {
            let message = format!("operands live at different places: {} and {}", places[i], places[j]);
            Diagnostic::new(ErrorKind::Placement, self.span, message).help("move one of them with to_device")
        })
    }

    /// The tensor with the sizes of `dims` where it is not 1, checked at run time if that is not known.
    fn refine_to(&mut self, t: ValueId, dims: &[Dim], args: &[Abs]) -> ValueId {
        let t = self.refined.get(&t).copied().unwrap_or(t);
        let Some(ty) = self.tensor(t).cloned() else { return t };
        let skip = dims.len() - ty.rank();
        let has: Vec<Dim> = ty.dims.iter().map(|&d| self.one_size(d)).collect();
        let ty = TensorType { dims: has, ..ty };
        let wanted: Vec<Dim> =
            ty.dims.iter().enumerate().map(|(k, &d)| if d == Dim::Const(1) { d } else { dims[skip + k] }).collect();
        if wanted == ty.dims {
            return t;
        }
        let (template, shown) = self.shapes_message(args);
        let site = self.site(ExcClass::ValueError, template);
        let mut operands = vec![t];
        operands.extend(shown);
        let differ = || ty.dims.iter().zip(&wanted).filter(|(have, want)| have != want);
        if differ().any(|(&have, _)| matches!(have, Dim::Sym(_)) && !self.is_argument_size(have)) {
            let layout = expanded_layout(&ty.dims, &wanted, ty.layout);
            let expanded = Type::tensor(TensorType { dims: wanted, layout, ..ty });
            return self.emit(Op::NtExpand { site }, &operands, expanded);
        }
        let refined_ty = Type::tensor(TensorType { dims: wanted, ..ty });
        let refined = self.emit(Op::NtRefine { site }, &operands, refined_ty);
        // Later uses see the better sizes; only where this op dominates them, which straight-line code guarantees.
        if self.region == self.out.body {
            self.refined.insert(t, refined);
            for v in self.refined.values_mut() {
                if *v == t {
                    *v = refined;
                }
            }
        }
        refined
    }

    /// The message that arrays do not broadcast, and the arrays whose sizes it shows: every operand and the output, as
    /// NumPy's does, as far as the exception record has room.
    fn shapes_message(&self, args: &[Abs]) -> (String, Vec<ValueId>) {
        let mut shown: Vec<ValueId> = vec![];
        let mut room = Site::MAX_ARGS;
        let mut template = "operands could not be broadcast together with shapes ".to_string();
        let operands = args.iter().map(|a| self.as_tensor(a)).filter(|a| a.is_some() || self.shows_scalars);
        for a in operands.chain(self.output.map(Some)) {
            let Some(a) = a else {
                template.push_str("() ");
                continue;
            };
            let rank = self.tensor(a).map_or(0, TensorType::rank);
            if rank > room {
                template.push_str("… ");
                break;
            }
            room -= rank;
            template.push_str(&format!("{{shape {rank}}} "));
            shown.push(a);
        }
        (template, shown)
    }
}
