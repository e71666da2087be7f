//! Abstract values: what is known of a Python value at compile time.

use super::join::Ty;
use super::{FunctionRef, Infer};
use crate::py::PyFunction;
use std::sync::Arc;
use weft_diag::Diagnostic;
use weft_ir::attr::Const;
use weft_ir::{Type, ValueId, Weak};

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
    /// A function of the user's.
    UserFunction(FunctionRef),
    /// A function defined in the function being walked, with what it captured.
    Closure(Shared<Closure>),
    /// `x.name` where the library has a function for it: called with `x` first.
    Method(Box<Abs>, String),
    /// An exception class.
    ExceptionClass(Exc),
    /// An exception that was made and not raised yet.
    Exception(Exc, Vec<Abs>),
    /// The exception that a handler is entered with.
    Caught,
    /// An f-string: literal parts around values.
    Format(Vec<String>, Vec<(Abs, String)>),
    /// One of several strings: its position among [`super::Found::strings`].
    Text(ValueId),
    /// `range(lo, hi, step)`.
    Range(Box<[Abs; 3]>),
    /// `lower:upper:step` in an index; absent parts are None.
    Slice(Box<[Abs; 3]>),
    /// Something that is only gone through.
    Iter(Box<Iter>),
    /// A list, and the site of lists like it (see `list`).
    List(ValueId, u32),
    /// A variable by place.
    Cell(Shared<Cell>),
    /// A value that may be absent: the flag (pybool) says whether it is there.
    Tagged(Absent, ValueId, Box<Abs>),
    /// A name no path, or not every path, has assigned.
    Unbound(String),
}

/// What stands where a value is absent.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Absent {
    /// `None`.
    None,
    /// Nothing: this name is not assigned.
    Unbound(String),
}

impl Absent {
    /// The absent value itself.
    pub(super) fn value(&self) -> Abs {
        match self {
            Absent::None => Abs::Const(Const::None),
            Absent::Unbound(name) => Abs::Unbound(name.clone()),
        }
    }
}

/// An exception class: a builtin one, or the user's (its number in the resolver's table) with its builtin base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Exc {
    pub class: weft_ir::ExcClass,
    pub user: Option<u32>,
}

/// What iterates over something else.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Iter {
    /// `enumerate(it, start)`.
    Enumerate(Abs, Abs),
    /// `zip(a, b, …)`; `strict` is not supported.
    Zip(Vec<Abs>),
    /// `reversed(it)`, and the number of items there were then.
    Reversed(Abs, Abs),
    /// `map(f, it, …)`.
    Map(Abs, Vec<Abs>),
    /// `filter(f, it)`.
    Filter(Abs, Abs),
    /// `prange(…)`: the range, whose iterations a `for` may do at once.
    Parallel(Abs),
    /// A generator expression, with the values around it.
    Generator(Shared<Generator>),
}

/// A function with what it captured.
#[derive(Debug)]
pub(super) struct Closure {
    pub py: Arc<PyFunction>,
    /// Captured values, then defaults.
    pub operands: Vec<Abs>,
    /// Where its globals are looked up.
    pub scope: super::Scope,
}

/// A generator expression that has not run yet.
#[derive(Debug)]
pub(super) struct Generator {
    pub py: Arc<PyFunction>,
    pub region: weft_ir::RegionId,
    pub env: Vec<Option<Abs>>,
    pub scope: super::Scope,
}

/// Which variable by place, the same in every walk: where it is made, and for one that a function was given, which of those.
pub(super) type VariableId = (super::Key, usize);

/// A variable by place: cells for the run-time values in it.
#[derive(Debug)]
pub(super) struct Cell {
    pub id: VariableId,
    pub name: String,
    /// Where its form is noted.
    pub key: super::Key,
    pub ty: Ty,
    /// `ty` with its sizes named.
    pub form: Ty,
    pub leaves: Vec<ValueId>,
}

/// Shared, and compared by identity.
#[derive(Debug)]
pub(super) struct Shared<T>(pub Arc<T>);

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Shared(self.0.clone())
    }
}

impl<T> PartialEq for Shared<T> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
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
            Abs::UserFunction(_) | Abs::Closure(_) => "a function".into(),
            Abs::Method(x, name) => format!("the method {name} of {}", self.describe(x)),
            Abs::ExceptionClass(e) => format!("the class {}", e.class.name()),
            Abs::Exception(e, _) => e.class.name().into(),
            Abs::Caught => "an exception".into(),
            Abs::Format(..) | Abs::Text(_) => "str".into(),
            Abs::Iter(it) => match **it {
                Iter::Enumerate(..) => "enumerate".into(),
                Iter::Zip(_) => "zip".into(),
                Iter::Reversed(..) => "reversed".into(),
                Iter::Map(..) => "map".into(),
                Iter::Filter(..) => "filter".into(),
                Iter::Parallel(_) => "prange".into(),
                Iter::Generator(_) => "generator".into(),
            },
            Abs::List(_, site) => self.describe_ty(&Ty::List(*site)),
            Abs::Cell(c) => format!("the variable {}", c.0.name),
            Abs::Tagged(Absent::None, _, inner) => format!("{} or None", self.describe(inner)),
            Abs::Tagged(Absent::Unbound(_), _, inner) => self.describe(inner),
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
                Ok(self.constant(c.clone(), ty))
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
