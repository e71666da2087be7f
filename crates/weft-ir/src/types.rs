//! Types of values.
//!
//! Two families of scalars that never merge: weak Python scalars ([`Weak`]) and NumPy dtypes
//! ([`DType`]). Same bits, different rules (promotion, division by zero, what Python gets back).
//! Types are small values compared structurally; tensor types share an `Arc`.

use std::fmt;
use std::sync::Arc;

/// NumPy's element types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum DType {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F16,
    F32,
    F64,
    C64,
    C128,
}

impl DType {
    /// Every dtype, in promotion-table order.
    pub const ALL: [DType; 14] = {
        use DType::*;
        [Bool, I8, I16, I32, I64, U8, U16, U32, U64, F16, F32, F64, C64, C128]
    };

    /// Name in IR text (`f32`).
    pub fn name(self) -> &'static str {
        const NAMES: [&str; 14] =
            ["bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f32", "f64", "c64", "c128"];
        NAMES[self as usize]
    }

    /// NumPy's name (`float32`).
    pub fn numpy_name(self) -> &'static str {
        const NAMES: [&str; 14] = [
            "bool",
            "int8",
            "int16",
            "int32",
            "int64",
            "uint8",
            "uint16",
            "uint32",
            "uint64",
            "float16",
            "float32",
            "float64",
            "complex64",
            "complex128",
        ];
        NAMES[self as usize]
    }

    /// The dtype with this IR name.
    pub fn from_name(name: &str) -> Option<DType> {
        DType::ALL.into_iter().find(|d| d.name() == name)
    }

    /// Bytes of one element.
    pub fn size(self) -> usize {
        const SIZES: [usize; 14] = [1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 8, 16];
        SIZES[self as usize]
    }

    /// Signed or unsigned integer (bool is not one).
    pub fn is_int(self) -> bool {
        self.is_signed() || self.is_unsigned()
    }

    /// Signed integer.
    pub fn is_signed(self) -> bool {
        matches!(self, DType::I8 | DType::I16 | DType::I32 | DType::I64)
    }

    /// Unsigned integer.
    pub fn is_unsigned(self) -> bool {
        matches!(self, DType::U8 | DType::U16 | DType::U32 | DType::U64)
    }

    /// Real floating point.
    pub fn is_float(self) -> bool {
        matches!(self, DType::F16 | DType::F32 | DType::F64)
    }

    /// Complex.
    pub fn is_complex(self) -> bool {
        matches!(self, DType::C64 | DType::C128)
    }

    /// The float dtype of a complex dtype's parts.
    pub fn part(self) -> Option<DType> {
        match self {
            DType::C64 => Some(DType::F32),
            DType::C128 => Some(DType::F64),
            _ => None,
        }
    }

    /// Smallest and largest value of an integer dtype.
    pub fn int_bounds(self) -> Option<(i128, i128)> {
        let bits = self.size() as u32 * 8;
        match self {
            d if d.is_signed() => Some((-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)),
            d if d.is_unsigned() => Some((0, (1i128 << bits) - 1)),
            _ => None,
        }
    }
}

/// Python's own scalars. `Int`, `Float` and `Complex` are weak in promotion; `Bool` and `None` are not numbers there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Weak {
    Bool,
    Int,
    Float,
    Complex,
    None,
}

impl Weak {
    /// Name in IR text (`pyint`).
    pub fn name(self) -> &'static str {
        ["pybool", "pyint", "pyfloat", "pycomplex", "none"][self as usize]
    }

    /// The dtype with the same bits, which the weak scalar becomes when no strong partner decides.
    pub fn default_dtype(self) -> DType {
        [DType::Bool, DType::I64, DType::F64, DType::C128, DType::Bool][self as usize]
    }

    /// What Python calls it.
    pub fn python_name(self) -> &'static str {
        ["bool", "int", "float", "complex", "None"][self as usize]
    }
}

/// One dimension: a constant, or a symbol of the function. Equal symbols are equal sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dim {
    /// Known size.
    Const(u64),
    /// `?n`: bound by an argument's type or by `shape.bind`. Never 1: unit sizes are always `Const(1)`.
    Sym(u32),
}

/// Memory layout of a tensor. Size-1 dimensions are ignored when classifying, as in NumPy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Layout {
    /// C-contiguous.
    C,
    /// Fortran-contiguous (and not C).
    F,
    /// Elements of the last axis are next to each other; the other strides are free.
    I,
    /// Any strides.
    A,
}

/// Where an array lives and its ops run.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// The host.
    Host,
    /// A device by filter string (`cuda:gpu:0`): the queue of this call.
    Device(Arc<str>),
}

impl Place {
    /// A device place.
    pub fn device(filter: &str) -> Place {
        Place::Device(filter.into())
    }

    /// Whether this is the host.
    pub fn is_host(&self) -> bool {
        matches!(self, Place::Host)
    }
}

/// An array type.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TensorType {
    /// Sizes.
    pub dims: Vec<Dim>,
    /// Element type.
    pub dtype: DType,
    /// Memory layout.
    pub layout: Layout,
    /// Stores are refused.
    pub readonly: bool,
    /// Where it lives.
    pub place: Place,
}

impl TensorType {
    /// A fresh C-ordered, writable array.
    pub fn fresh(dims: Vec<Dim>, dtype: DType, place: Place) -> TensorType {
        TensorType { dims, dtype, layout: Layout::C, readonly: false, place }
    }

    /// Number of dimensions.
    pub fn rank(&self) -> usize {
        self.dims.len()
    }

    /// The axis along which elements are next to each other, where the layout tells.
    pub fn dense_axis(&self) -> Option<usize> {
        match self.layout {
            Layout::C | Layout::I => self.rank().checked_sub(1),
            Layout::F => (self.rank() > 0).then_some(0),
            Layout::A => None,
        }
    }
}

/// Address space of a [`Type::Mem`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Space {
    /// Host memory.
    Host,
    /// Global memory of the call's device.
    Global,
    /// Memory that the items of a group share.
    Local,
    /// Memory that an item has for itself.
    Private,
}

impl Space {
    /// Every space.
    pub const ALL: [Space; 4] = [Space::Host, Space::Global, Space::Local, Space::Private];

    /// Name in IR text.
    pub fn name(self) -> &'static str {
        ["host", "global", "local", "private"][self as usize]
    }
}

/// The type of a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Type {
    /// Stage `py` only.
    Untyped,
    /// A Python scalar.
    Py(Weak),
    /// A NumPy scalar.
    Num(DType),
    /// An array.
    Tensor(Arc<TensorType>),
    /// A pointer to elements (stage `loops`).
    Mem(DType, Space),
    /// The owner word of an array (stage `loops`): 0 constant, odd borrowed, even a block.
    Owner,
    /// A tuple.
    Tuple(Arc<Vec<Type>>),
    /// A memory cell that holds a value of this type.
    Cell(Arc<Type>),
    /// A list: the run-time values of one item. Sizes of arrays in it are not known.
    List(Arc<Vec<Type>>),
}

impl Type {
    /// `pyint`.
    pub const PYINT: Type = Type::Py(Weak::Int);
    /// `pyfloat`.
    pub const PYFLOAT: Type = Type::Py(Weak::Float);
    /// `pybool`.
    pub const PYBOOL: Type = Type::Py(Weak::Bool);
    /// `pycomplex`.
    pub const PYCOMPLEX: Type = Type::Py(Weak::Complex);
    /// `none`.
    pub const NONE: Type = Type::Py(Weak::None);
    /// `bool`.
    pub const BOOL: Type = Type::Num(DType::Bool);
    /// `i64`.
    pub const I64: Type = Type::Num(DType::I64);
    /// `i32`.
    pub const I32: Type = Type::Num(DType::I32);
    /// `f64`.
    pub const F64: Type = Type::Num(DType::F64);

    /// An array type.
    pub fn tensor(t: TensorType) -> Type {
        Type::Tensor(Arc::new(t))
    }

    /// The array type, if it is one.
    pub fn as_tensor(&self) -> Option<&TensorType> {
        match self {
            Type::Tensor(t) => Some(t),
            _ => None,
        }
    }

    /// Types of the run-time values of one item, if it is a list.
    pub fn as_list(&self) -> Option<&[Type]> {
        match self {
            Type::List(items) => Some(items),
            _ => None,
        }
    }

    /// The dtype this scalar is computed in (weak ones in their default dtype).
    pub fn scalar_dtype(&self) -> Option<DType> {
        match self {
            Type::Py(Weak::None) => None,
            Type::Py(w) => Some(w.default_dtype()),
            Type::Num(d) => Some(*d),
            _ => None,
        }
    }

    /// The type of a complex scalar's parts, of the same family.
    pub fn part(&self) -> Option<Type> {
        match self {
            Type::Py(Weak::Complex) => Some(Type::PYFLOAT),
            Type::Num(d) => d.part().map(Type::Num),
            _ => None,
        }
    }

    /// 8-byte slots that a scalar, a pointer or an owner takes at the border of compiled code: two of a c128, else one.
    pub fn slots(&self) -> usize {
        if self.scalar_dtype() == Some(DType::C128) { 2 } else { 1 }
    }

    /// Whether this is a scalar of either family.
    pub fn is_scalar(&self) -> bool {
        self.scalar_dtype().is_some()
    }

    /// What a user calls it: `float64[:, :]`, `int`, `float32`.
    pub fn user_name(&self) -> String {
        match self {
            Type::Untyped => "unknown".into(),
            Type::Py(w) => w.python_name().into(),
            Type::Num(d) => format!("np.{}", if *d == DType::Bool { "bool" } else { d.numpy_name() }),
            Type::Tensor(t) => format!("{}[{}]", t.dtype.numpy_name(), vec![":"; t.rank()].join(", ")),
            Type::Mem(d, _) => format!("pointer to {}", d.numpy_name()),
            Type::Owner => "owner".into(),
            Type::Cell(t) => format!("variable of {}", t.user_name()),
            Type::List(ts) => match &ts[..] {
                [] => "list".into(),
                [one] => format!("list[{}]", one.user_name()),
                ts => format!("list[tuple[{}]]", ts.iter().map(Type::user_name).collect::<Vec<_>>().join(", ")),
            },
            Type::Tuple(ts) => {
                format!("tuple[{}]", ts.iter().map(Type::user_name).collect::<Vec<_>>().join(", "))
            }
        }
    }
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dim::Const(n) => write!(f, "{n}"),
            Dim::Sym(n) => write!(f, "?{n}"),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Host => write!(f, "#host"),
            Place::Device(d) => write!(f, "#{d}"),
        }
    }
}

impl fmt::Display for TensorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tensor<")?;
        for d in &self.dims {
            write!(f, "{d}x")?;
        }
        write!(f, "{}, {:?}", self.dtype.name(), self.layout)?;
        if self.readonly {
            write!(f, ", ro")?;
        }
        if !self.place.is_host() {
            write!(f, ", {}", self.place)?;
        }
        write!(f, ">")
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Untyped => write!(f, "any"),
            Type::Py(w) => write!(f, "{}", w.name()),
            Type::Num(d) => write!(f, "{}", d.name()),
            Type::Tensor(t) => write!(f, "{t}"),
            Type::Mem(d, space) => write!(f, "mem<{}, {}>", d.name(), space.name()),
            Type::Owner => write!(f, "owner"),
            Type::Cell(t) => write!(f, "cell<{t}>"),
            Type::Tuple(ts) | Type::List(ts) => {
                write!(f, "{}<", if matches!(self, Type::Tuple(_)) { "tuple" } else { "list" })?;
                for (i, t) in ts.iter().enumerate() {
                    write!(f, "{}{t}", if i > 0 { ", " } else { "" })?;
                }
                write!(f, ">")
            }
        }
    }
}
