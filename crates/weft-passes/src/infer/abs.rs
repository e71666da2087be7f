//! Abstract values: what is known of a Python value at compile time.

use super::Infer;
use weft_diag::Diagnostic;
use weft_ir::attr::Const;
use weft_ir::{Op, Type, ValueId, Weak};

/// What a name or expression holds.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Abs {
    /// A run-time value.
    Value(ValueId),
    /// A Python constant; weak until it meets something.
    Const(Const),
    /// A tuple, by parts.
    Tuple(Vec<Abs>),
    /// A function Weft knows, by canonical name.
    Function(String),
    /// `range(lo, hi, step)`.
    Range(Box<[Abs; 3]>),
    /// `lower:upper:step` in an index; absent parts are None.
    Slice(Box<[Abs; 3]>),
    /// A name no path, or not every path, has assigned.
    Unbound(String),
}

/// Integers every pyint is in.
pub(super) const INT64: (i128, i128) = (i64::MIN as i128, i64::MAX as i128);
/// Integers a double holds exactly.
pub(super) const EXACT: (i128, i128) = (-(1 << 53), 1 << 53);
/// Sizes and indices: no machine has more.
pub(super) const SIZE: (i128, i128) = (0, 1 << 48);

impl Infer<'_> {
    /// Type of a scalar or array; tuples, functions and ranges have none.
    pub(super) fn type_of(&self, a: &Abs) -> Option<Type> {
        match a {
            Abs::Value(v) => Some(self.out.ty(*v).clone()),
            Abs::Const(c) => const_type(c),
            _ => None,
        }
    }

    /// What to call the value in a message.
    pub(super) fn describe(&self, a: &Abs) -> String {
        match a {
            Abs::Value(v) => self.out.ty(*v).user_name(),
            Abs::Const(Const::Str(_)) => "str".into(),
            Abs::Const(c) => const_type(c).map_or("constant".into(), |t| t.user_name()),
            Abs::Tuple(items) => {
                format!("tuple[{}]", items.iter().map(|i| self.describe(i)).collect::<Vec<_>>().join(", "))
            }
            Abs::Function(name) => format!("the function {name}"),
            Abs::Range(_) => "range".into(),
            Abs::Slice(_) => "slice".into(),
            Abs::Unbound(name) => format!("the unassigned name {name}"),
        }
    }

    /// The tensor value, with the best sizes known.
    pub(super) fn as_tensor(&self, a: &Abs) -> Option<ValueId> {
        match a {
            Abs::Value(v) if self.tensor(*v).is_some() => Some(self.refined.get(v).copied().unwrap_or(*v)),
            _ => None,
        }
    }

    /// The weak kind, if it is a Python scalar.
    pub(super) fn as_weak(&self, a: &Abs) -> Option<Weak> {
        match self.type_of(a) {
            Some(Type::Py(w)) if w != Weak::None => Some(w),
            _ => None,
        }
    }

    /// Integer range of a pyint or pybool.
    pub(super) fn range(&self, a: &Abs) -> (i128, i128) {
        match a {
            Abs::Const(Const::Int(v)) => (*v, *v),
            Abs::Const(Const::Bool(b)) => (i128::from(*b), i128::from(*b)),
            Abs::Value(v) => match self.out.ty(*v) {
                Type::Py(Weak::Bool) => (0, 1),
                ty => *self.ranges.get(v).unwrap_or(&ty.scalar_dtype().and_then(|d| d.int_bounds()).unwrap_or(INT64)),
            },
            _ => INT64,
        }
    }

    /// A run-time value for a scalar or array.
    pub(super) fn materialise(&mut self, a: &Abs) -> Result<ValueId, Diagnostic> {
        match a {
            Abs::Value(v) => Ok(self.refined.get(v).copied().unwrap_or(*v)),
            Abs::Const(c) => {
                let Some(ty) = const_type(c).filter(|t| *t != Type::NONE) else {
                    return Err(self.refuse(format!("{} cannot be a run-time value here", self.describe(a))));
                };
                if let Const::Int(v) = c
                    && (*v < INT64.0 || *v > INT64.1)
                {
                    return Err(self.overflow(format!("Python int {v} does not fit in 64 bits")));
                }
                Ok(self.emit(Op::Const { value: c.clone() }, &[], ty))
            }
            Abs::Unbound(name) => Err(self.unbound(name)),
            other => Err(self.refuse(format!("{} cannot be a run-time value here", self.describe(other)))),
        }
    }
}

/// Type of a constant.
pub(super) fn const_type(c: &Const) -> Option<Type> {
    Some(match c {
        Const::Int(_) => Type::PYINT,
        Const::Float(_) => Type::PYFLOAT,
        Const::Bool(_) => Type::PYBOOL,
        Const::None => Type::NONE,
        Const::Complex(..) => Type::Py(Weak::Complex),
        Const::Str(_) | Const::Ellipsis => return None,
    })
}
