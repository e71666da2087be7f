//! Where paths meet: the type of a name that came by several ways, and its run-time values in a row.
//!
//! A [`Ty`] is what is known of an abstract value's form: which run-time values it is made of, in order, and what around them is
//! known at compile time. `if` results, loop-carried names, cells and results of functions pass through here.

use super::Infer;
use super::abs::{Abs, Absent, Closure, Shared, VariableId};
use crate::py::PyFunction;
use std::sync::Arc;
use weft_diag::Diagnostic;
use weft_ir::attr::{BinOp, Const};
use weft_ir::rules::{promote, promote_weak};
use weft_ir::{DType, Dim, ExcClass, Layout, Op, TensorType, Type, ValueId, Weak};

/// The form of an abstract value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Ty {
    /// One run-time value. Sizes that differ between paths are [`ANY`].
    Leaf(Type),
    /// One of several strings: one run-time value.
    Text,
    /// The same on all paths, known now.
    Fixed(Abs),
    /// A tuple of these.
    Tuple(Vec<Ty>),
    /// A list of this site.
    List(u32),
    /// A flag (pybool: it is there), then the value.
    Tagged(Absent, Box<Ty>),
    /// `range` of three integers.
    Range(Vec<Ty>),
    /// A nested function, with the forms of what it captured and of its defaults.
    Closure(Shared<PyFunction>, super::Scope, Vec<Ty>),
    /// A variable by place: the same on all paths.
    Variable(VariableId),
}

/// A size that the paths do not agree on.
pub(super) const ANY: Dim = Dim::Sym(u32::MAX);

impl Infer<'_> {
    /// The form of a value, its constants forgotten.
    pub(super) fn ty_of(&self, a: &Abs) -> Ty {
        match a {
            Abs::Value(v) => Ty::Leaf(self.out.ty(self.refined.get(v).copied().unwrap_or(*v)).clone()),
            Abs::Const(Const::None) => Ty::Fixed(a.clone()),
            Abs::Const(_) => self.type_of(a).map_or_else(|| Ty::Fixed(a.clone()), Ty::Leaf),
            Abs::Tuple(items) => Ty::Tuple(items.iter().map(|i| self.ty_of(i)).collect()),
            Abs::Tagged(absent, _, inner) => Ty::Tagged(absent.clone(), Box::new(self.ty_of(inner))),
            Abs::List(_, site) => Ty::List(self.list_site(*site)),
            Abs::Range(bounds) => Ty::Range(bounds.iter().map(|b| self.ty_of(b)).collect()),
            Abs::Closure(c) => {
                let operands = c.0.operands.iter().map(|a| self.ty_of(a)).collect();
                Ty::Closure(Shared(c.0.py.clone()), c.0.scope.clone(), operands)
            }
            Abs::Cell(cell) => Ty::Variable(cell.0.id),
            Abs::Text(_) => Ty::Text,
            other => Ty::Fixed(other.clone()),
        }
    }

    /// The form of a name that has form `a` on one path and `b` on another.
    pub(super) fn join(&mut self, a: &Ty, b: &Ty) -> Result<Ty, Diagnostic> {
        let tagged = |absent: &Absent, ty: Ty| match ty {
            Ty::Tagged(other, inner) if other == *absent => Ty::Tagged(other, inner),
            ty => Ty::Tagged(absent.clone(), Box::new(ty)),
        };
        Ok(match (a, b) {
            _ if a == b => a.clone(),
            (Ty::Leaf(x), Ty::Leaf(y)) => Ty::Leaf(self.join_types(x, y)?),
            (Ty::Fixed(Abs::Unbound(name)), other) | (other, Ty::Fixed(Abs::Unbound(name))) => match other {
                Ty::Fixed(Abs::Unbound(_)) => a.clone(),
                other => tagged(&Absent::Unbound(name.clone()), other.clone()),
            },
            (Ty::Tagged(Absent::Unbound(n), x), other) | (other, Ty::Tagged(Absent::Unbound(n), x)) => {
                let inner = match other {
                    Ty::Tagged(Absent::Unbound(_), y) => self.join(x, y)?,
                    other => self.join(x, other)?,
                };
                Ty::Tagged(Absent::Unbound(n.clone()), Box::new(inner))
            }
            (Ty::Fixed(Abs::Const(Const::None)), other) | (other, Ty::Fixed(Abs::Const(Const::None))) => {
                tagged(&Absent::None, other.clone())
            }
            (Ty::Tagged(Absent::None, x), Ty::Tagged(Absent::None, y)) => {
                Ty::Tagged(Absent::None, Box::new(self.join(x, y)?))
            }
            (Ty::Tagged(Absent::None, x), other) | (other, Ty::Tagged(Absent::None, x)) => {
                Ty::Tagged(Absent::None, Box::new(self.join(x, other)?))
            }
            (Ty::Text | Ty::Fixed(Abs::Const(Const::Str(_))), Ty::Text | Ty::Fixed(Abs::Const(Const::Str(_)))) => {
                Ty::Text
            }
            (Ty::List(x), Ty::List(y)) => Ty::List(self.unify(*x, *y)?),
            (Ty::Tuple(x), Ty::Tuple(y)) if x.len() == y.len() => {
                let items = x.iter().zip(y).map(|(x, y)| self.join(x, y));
                Ty::Tuple(items.collect::<Result<_, _>>()?)
            }
            (Ty::Range(x), Ty::Range(y)) => {
                let bounds = x.iter().zip(y).map(|(x, y)| self.join(x, y));
                Ty::Range(bounds.collect::<Result<_, _>>()?)
            }
            (Ty::Closure(f, scope, x), Ty::Closure(g, other, y)) if f == g && scope == other && x.len() == y.len() => {
                let operands = x.iter().zip(y).map(|(x, y)| self.join(x, y));
                Ty::Closure(f.clone(), scope.clone(), operands.collect::<Result<_, _>>()?)
            }
            _ => return Err(self.no_join(&self.describe_ty(a), &self.describe_ty(b))),
        })
    }

    fn no_join(&self, a: &str, b: &str) -> Diagnostic {
        self.typing(format!("{} is {a} on one path and {b} on another", super::clash::A_NAME))
            .help("give it one type: convert on one of the paths")
    }

    pub(super) fn describe_ty(&self, ty: &Ty) -> String {
        match ty {
            Ty::Leaf(t) => t.user_name(),
            Ty::Text => "str".into(),
            Ty::Fixed(a) => self.describe(a),
            Ty::List(site) => match self.item_form(*site) {
                Some(item) => format!("list[{}]", self.describe_ty(&item)),
                None => "list".into(),
            },
            Ty::Tuple(items) => {
                format!("tuple[{}]", items.iter().map(|t| self.describe_ty(t)).collect::<Vec<_>>().join(", "))
            }
            Ty::Tagged(Absent::None, t) => format!("{} or None", self.describe_ty(t)),
            Ty::Tagged(Absent::Unbound(_), t) => self.describe_ty(t),
            Ty::Variable(id) => match self.variables.get(id) {
                Some(made) => format!("the variable {}", made.cell.0.name),
                None => "a variable".into(),
            },
            Ty::Range(_) => "range".into(),
            Ty::Closure(..) => "a function".into(),
        }
    }

    /// The type of a run-time value that is `a` on one path and `b` on another.
    fn join_types(&self, a: &Type, b: &Type) -> Result<Type, Diagnostic> {
        Ok(match (a, b) {
            _ if a == b => a.clone(),
            (Type::Py(x), Type::Py(y)) if *x != Weak::None && *y != Weak::None => Type::Py(*x.max(y)),
            (Type::Py(w), Type::Num(d)) | (Type::Num(d), Type::Py(w)) if *w != Weak::None => {
                Type::Num(if *w == Weak::Bool { promote(DType::Bool, *d) } else { promote_weak(*w, *d) })
            }
            (Type::Tensor(x), Type::Tensor(y)) if x.dtype == y.dtype && x.rank() == y.rank() && x.place == y.place => {
                let dims = x.dims.iter().zip(&y.dims).map(|(a, b)| if a == b { *a } else { ANY }).collect();
                let layout = match (x.layout, y.layout) {
                    (a, b) if a == b => a,
                    (Layout::C | Layout::I, Layout::C | Layout::I) => Layout::I,
                    _ => Layout::A,
                };
                let readonly = x.readonly || y.readonly;
                Type::tensor(TensorType { dims, layout, readonly, ..(**x).clone() })
            }
            _ => return Err(self.no_join(&a.user_name(), &b.user_name())),
        })
    }

    /// The form without sizes that are not known where ops go now: they were computed inside what control leaves.
    pub(super) fn outer_form(&self, ty: &Ty) -> Ty {
        self.with_sizes(ty, &|d| self.is_bound(d))
    }

    /// The form without sizes that are no argument's.
    pub(super) fn lasting_form(&self, ty: &Ty) -> Ty {
        self.with_sizes(ty, &|d| self.is_argument_size(d))
    }

    fn with_sizes(&self, ty: &Ty, keep: &dyn Fn(Dim) -> bool) -> Ty {
        let all = |types: &[Ty]| types.iter().map(|t| self.with_sizes(t, keep)).collect();
        match ty {
            Ty::Leaf(Type::Tensor(t)) if t.dims.iter().any(|&d| matches!(d, Dim::Sym(_)) && !keep(d)) => {
                let mut t = (**t).clone();
                t.dims.iter_mut().filter(|d| matches!(d, Dim::Sym(_)) && !keep(**d)).for_each(|d| *d = ANY);
                Ty::Leaf(Type::tensor(t))
            }
            Ty::Tuple(items) => Ty::Tuple(all(items)),
            Ty::Tagged(absent, inner) => Ty::Tagged(absent.clone(), Box::new(self.with_sizes(inner, keep))),
            Ty::Closure(f, scope, operands) => Ty::Closure(f.clone(), scope.clone(), all(operands)),
            other => other.clone(),
        }
    }

    /// The form with a new symbol for each size that is not agreed on.
    pub(super) fn instantiate(&mut self, ty: &Ty) -> Ty {
        match ty {
            Ty::Leaf(Type::Tensor(t)) if t.dims.contains(&ANY) => {
                let mut t = (**t).clone();
                for d in t.dims.iter_mut().filter(|d| **d == ANY) {
                    *d = Dim::Sym(self.out.new_symbol());
                    self.bound_here(*d);
                }
                Ty::Leaf(Type::tensor(t))
            }
            Ty::Tuple(items) => Ty::Tuple(items.iter().map(|t| self.instantiate(t)).collect()),
            Ty::Closure(f, scope, operands) => {
                let operands = operands.iter().map(|t| self.instantiate(t)).collect();
                Ty::Closure(f.clone(), scope.clone(), operands)
            }
            Ty::Tagged(absent, inner) => Ty::Tagged(absent.clone(), Box::new(self.instantiate(inner))),
            other => other.clone(),
        }
    }

    /// The variables by place that functions in a form have.
    pub(super) fn variables_of(ty: &Ty, out: &mut Vec<VariableId>) {
        match ty {
            Ty::Variable(id) => out.push(*id),
            Ty::Tuple(all) | Ty::Range(all) | Ty::Closure(.., all) => {
                all.iter().for_each(|t| Self::variables_of(t, out));
            }
            Ty::Tagged(_, inner) => Self::variables_of(inner, out),
            Ty::Leaf(_) | Ty::Text | Ty::Fixed(_) | Ty::List(_) => {}
        }
    }

    /// Types of the run-time values of a form, in order.
    pub(super) fn leaf_types(&self, ty: &Ty, out: &mut Vec<Type>) {
        match ty {
            Ty::Leaf(t) => out.push(t.clone()),
            Ty::Text => out.push(Type::PYINT),
            Ty::Fixed(_) | Ty::Variable(_) => {}
            Ty::Range(all) | Ty::Closure(.., all) => all.iter().for_each(|t| self.leaf_types(t, out)),
            Ty::List(site) => out.push(self.list_type(*site)),
            Ty::Tuple(items) => items.iter().for_each(|t| self.leaf_types(t, out)),
            Ty::Tagged(_, inner) => {
                out.push(Type::PYBOOL);
                self.leaf_types(inner, out);
            }
        }
    }

    /// The run-time values of `a` as the form wants them.
    pub(super) fn flatten(&mut self, a: &Abs, ty: &Ty, out: &mut Vec<ValueId>) -> Result<(), Diagnostic> {
        match ty {
            Ty::Leaf(t) => out.push(self.coerce(a, t)?),
            Ty::Text => out.push(self.text_position(a)?),
            Ty::Fixed(_) | Ty::Variable(_) => {}
            Ty::Range(all) => match a {
                Abs::Range(bounds) => {
                    for (a, t) in bounds.iter().zip(all) {
                        self.flatten(a, t, out)?;
                    }
                }
                other => return Err(self.no_join(&self.describe(other), &self.describe_ty(ty))),
            },
            Ty::Closure(.., all) => match a {
                Abs::Closure(c) => {
                    for (a, t) in c.0.clone().operands.iter().zip(all) {
                        self.flatten(a, t, out)?;
                    }
                }
                other => return Err(self.no_join(&self.describe(other), &self.describe_ty(ty))),
            },
            Ty::List(site) => match a {
                Abs::List(v, other) => {
                    self.unify(*site, *other)?;
                    out.push(*v);
                }
                other => return Err(self.no_join(&self.describe(other), &self.describe_ty(ty))),
            },
            Ty::Tuple(types) => match a {
                Abs::Tuple(items) if items.len() == types.len() => {
                    for (a, t) in items.iter().zip(types) {
                        self.flatten(a, t, out)?;
                    }
                }
                other => return Err(self.no_join(&self.describe(other), &self.describe_ty(ty))),
            },
            Ty::Tagged(absent, inner) => match a {
                Abs::Tagged(is, flag, value)
                    if is == absent || matches!((is, absent), (Absent::Unbound(_), Absent::Unbound(_))) =>
                {
                    out.push(*flag);
                    self.flatten(value, inner, out)?;
                }
                a if *a == absent.value() || matches!((a, absent), (Abs::Unbound(_), Absent::Unbound(_))) => {
                    out.push(self.constant(Const::Bool(false), Type::PYBOOL));
                    self.stand_ins(inner, out);
                }
                a => {
                    out.push(self.constant(Const::Bool(true), Type::PYBOOL));
                    self.flatten(a, inner, out)?;
                }
            },
        }
        Ok(())
    }

    /// Values that nobody looks at.
    pub(super) fn stand_ins(&mut self, ty: &Ty, out: &mut Vec<ValueId>) {
        let mut types = vec![];
        self.leaf_types(ty, &mut types);
        for t in types {
            let v = match &t {
                Type::Tensor(_) => self.emit(Op::NtNull, &[], t),
                Type::List(_) => self.emit(Op::ListNew, &[], t),
                _ => {
                    let zero = match t.scalar_dtype() {
                        Some(DType::Bool) => Const::Bool(false),
                        Some(d) if d.is_int() => Const::Int(0),
                        Some(d) if d.is_complex() => Const::Complex(0.0, 0.0),
                        _ => Const::Float(0.0),
                    };
                    self.constant(zero, t)
                }
            };
            out.push(v);
        }
    }

    /// The abstract value of a form with these run-time values.
    pub(super) fn rebuild(&self, ty: &Ty, values: &mut impl Iterator<Item = ValueId>) -> Option<Abs> {
        Some(match ty {
            Ty::Leaf(_) => Abs::Value(values.next()?),
            Ty::Text => Abs::Text(values.next()?),
            Ty::Fixed(a) => a.clone(),
            Ty::Range(all) => {
                let bounds: Vec<Abs> = all.iter().map(|t| self.rebuild(t, values)).collect::<Option<_>>()?;
                Abs::Range(Box::new(bounds.try_into().ok()?))
            }
            Ty::Closure(f, scope, all) => {
                let operands = all.iter().map(|t| self.rebuild(t, values)).collect::<Option<_>>()?;
                Abs::Closure(Shared(Arc::new(Closure { py: f.0.clone(), operands, scope: scope.clone() })))
            }
            Ty::Variable(id) => Abs::Cell(self.variables.get(id)?.cell.clone()),
            Ty::List(site) => Abs::List(values.next()?, *site),
            Ty::Tuple(items) => Abs::Tuple(items.iter().map(|t| self.rebuild(t, values)).collect::<Option<_>>()?),
            Ty::Tagged(absent, inner) => {
                let flag = values.next()?;
                Abs::Tagged(absent.clone(), flag, Box::new(self.rebuild(inner, values)?))
            }
        })
    }

    fn coerce(&mut self, a: &Abs, ty: &Type) -> Result<ValueId, Diagnostic> {
        match ty {
            Type::Num(d) => self.as_dtype(a, *d),
            Type::Py(Weak::Complex) => self.pycomplex(a),
            Type::Py(Weak::Float) => self.pyfloat(a),
            Type::Py(Weak::Int) => self.pyint(a),
            Type::Tensor(_) => {
                let v = self.materialise(a)?;
                Ok(if self.out.ty(v) == ty { v } else { self.emit(Op::NtWeaken, &[v], ty.clone()) })
            }
            _ => self.materialise(a),
        }
    }

    /// The value itself where it is there; raises where it is not, as Python would when it is used.
    pub(super) fn present(&mut self, a: &Abs) -> Result<Abs, Diagnostic> {
        self.present_or(a, ExcClass::TypeError, "unsupported operand type: 'NoneType'")
    }

    /// The value itself where it is there; raises this where it is None.
    pub(super) fn present_or(&mut self, a: &Abs, class: ExcClass, message: &str) -> Result<Abs, Diagnostic> {
        match self.assigned(a)? {
            Abs::Tagged(Absent::None, flag, inner) => {
                self.raise_unless(flag, class, message);
                self.present_or(&inner, class, message)
            }
            other => Ok(other),
        }
    }

    /// The operands of `a op b`, or of `a op= b`; raises as Python does where one is None.
    pub(super) fn present_operands(
        &mut self,
        op: BinOp,
        inplace: bool,
        a: &Abs,
        b: &Abs,
    ) -> Result<(Abs, Abs), Diagnostic> {
        let python = [a, b].iter().all(|x| self.as_weak(self.inner(x)).is_some());
        let op = match (op, inplace && python) {
            (BinOp::Pow, false) => "** or pow()".into(),
            (op, false) => op.text().to_string(),
            (op, true) => format!("{}=", op.text()),
        };
        self.both_present(a, b, |a, b| format!("unsupported operand type(s) for {op}: '{a}' and '{b}'"))
    }

    /// Two operands; where one is None, raises TypeError with a message about the names of their classes.
    pub(super) fn both_present(
        &mut self,
        a: &Abs,
        b: &Abs,
        message: impl Fn(&str, &str) -> String,
    ) -> Result<(Abs, Abs), Diagnostic> {
        let (a, b) = (self.assigned(a)?, self.assigned(b)?);
        let none = "NoneType";
        if let (Abs::Tagged(Absent::None, x, _), Abs::Tagged(Absent::None, y, _)) = (&a, &b) {
            let any = self.emit(Op::Or, &[*x, *y], Type::PYBOOL);
            self.raise_unless(any, ExcClass::TypeError, &message(none, none));
        }
        let (of_a, of_b) = (self.operand_name(self.inner(&a)), self.operand_name(self.inner(&b)));
        let a = self.present_or(&a, ExcClass::TypeError, &message(none, of_b))?;
        let b = self.present_or(&b, ExcClass::TypeError, &message(of_a, none))?;
        Ok((a, b))
    }

    /// What a value is where it is not None.
    fn inner<'a>(&self, a: &'a Abs) -> &'a Abs {
        match a {
            Abs::Tagged(_, _, inner) => self.inner(inner),
            a => a,
        }
    }

    /// The class that messages about operands name: NumPy hands its numbers to Python's operators as Python's.
    fn operand_name(&self, a: &Abs) -> &'static str {
        match a {
            Abs::Const(Const::None) => "NoneType",
            Abs::Const(Const::Str(_)) | Abs::Format(..) | Abs::Text(_) => "str",
            Abs::Tuple(_) => "tuple",
            Abs::List(..) => "list",
            a => match self.type_of(a).map(|t| t.as_tensor().map(|t| t.dtype).or(t.scalar_dtype())) {
                Some(Some(DType::Bool)) => "bool",
                Some(Some(d)) if d.is_int() => "int",
                Some(Some(d)) if d.is_complex() => "complex",
                Some(Some(_)) => "float",
                _ => "object",
            },
        }
    }

    /// The value of a name that must be assigned here; None may stay.
    pub(super) fn assigned(&mut self, a: &Abs) -> Result<Abs, Diagnostic> {
        match a {
            Abs::Tagged(Absent::Unbound(name), flag, inner) => {
                let (class, message) = (self.unbound_class(), self.unbound_text(name));
                self.raise_unless(*flag, class, &message);
                Ok((**inner).clone())
            }
            Abs::Unbound(name) => Err(self.unbound(name)),
            other => Ok(other.clone()),
        }
    }

    fn raise_unless(&mut self, flag: ValueId, class: ExcClass, message: &str) {
        let missing = self.emit(Op::Not, &[flag], Type::PYBOOL);
        self.raise_if(missing, class, message, &[]);
    }
}
