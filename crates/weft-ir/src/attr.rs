//! Attributes: typed fields of ops, each with one text form.

use crate::read::{ReadError, Reader};
use crate::types::{DType, Dim, Place};
use std::fmt::Write;

/// A value that an op's attribute can hold.
pub trait Attr: Sized {
    /// Appends the text form.
    fn print(&self, out: &mut String);
    /// Reads the text form back.
    fn read(r: &mut Reader<'_>) -> Result<Self, ReadError>;
    /// What is meant where the text says nothing: such a value is not printed.
    fn implied() -> Option<Self> {
        None
    }
}

/// A compile-time constant. Python ints beyond 128 bits are refused by the front end. Floats are equal by their bits: 0.0 is not
/// -0.0, and a nan is itself.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Const {
    Int(i128),
    Float(f64),
    Bool(bool),
    Str(String),
    None,
    /// Real and imaginary part.
    Complex(f64, f64),
    /// `...`.
    Ellipsis,
}

impl PartialEq for Const {
    fn eq(&self, other: &Const) -> bool {
        let same = |a: &f64, b: &f64| a.to_bits() == b.to_bits();
        match (self, other) {
            (Const::Int(a), Const::Int(b)) => a == b,
            (Const::Float(a), Const::Float(b)) => same(a, b),
            (Const::Bool(a), Const::Bool(b)) => a == b,
            (Const::Str(a), Const::Str(b)) => a == b,
            (Const::Complex(a, b), Const::Complex(x, y)) => same(a, x) && same(b, y),
            (Const::None, Const::None) | (Const::Ellipsis, Const::Ellipsis) => true,
            _ => false,
        }
    }
}

impl Attr for Const {
    fn print(&self, out: &mut String) {
        let _ = match self {
            Const::Int(v) => write!(out, "{v}"),
            Const::Float(v) => print_float(*v, out),
            Const::Complex(re, im) => {
                out.push_str("complex ");
                let _ = print_float(*re, out);
                out.push(' ');
                print_float(*im, out)
            }
            Const::Ellipsis => write!(out, "ellipsis"),
            Const::Bool(v) => write!(out, "{v}"),
            Const::Str(s) => write!(out, "{s:?}"),
            Const::None => write!(out, "none"),
        };
    }

    fn read(r: &mut Reader<'_>) -> Result<Const, ReadError> {
        if r.peek_is("\"") {
            return Ok(Const::Str(r.string()?));
        }
        let word = r.word()?;
        Ok(match word {
            "true" => Const::Bool(true),
            "false" => Const::Bool(false),
            "none" => Const::None,
            "ellipsis" => Const::Ellipsis,
            "float" => Const::Float(read_bits(r)?),
            "complex" => Const::Complex(read_float(r)?, read_float(r)?),
            w => match w.parse::<i128>() {
                Ok(v) => Const::Int(v),
                Err(_) => Const::Float(w.parse().map_err(|_| r.error("a constant"))?),
            },
        })
    }
}

/// Bits where decimal would lose them (nan payloads), decimal for people.
fn print_float(v: f64, out: &mut String) -> std::fmt::Result {
    if v.is_finite() { write!(out, "{v:?}") } else { write!(out, "float 0x{:016x}", v.to_bits()) }
}

fn read_bits(r: &mut Reader<'_>) -> Result<f64, ReadError> {
    let bits = r.word()?.strip_prefix("0x").and_then(|h| u64::from_str_radix(h, 16).ok());
    Ok(f64::from_bits(bits.ok_or_else(|| r.error("hexadecimal bits"))?))
}

fn read_float(r: &mut Reader<'_>) -> Result<f64, ReadError> {
    match r.word()? {
        "float" => read_bits(r),
        w => w.parse().map_err(|_| r.error("a float")),
    }
}

impl Attr for String {
    fn print(&self, out: &mut String) {
        let _ = write!(out, "{self:?}");
    }

    fn read(r: &mut Reader<'_>) -> Result<String, ReadError> {
        r.string()
    }
}

macro_rules! attr_by_word {
    ($($ty:ty, $what:literal;)*) => {$(
        impl Attr for $ty {
            fn print(&self, out: &mut String) {
                let _ = write!(out, "{self}");
            }
            fn read(r: &mut Reader<'_>) -> Result<$ty, ReadError> {
                r.word()?.parse().map_err(|_| r.error($what))
            }
        }
    )*};
}

attr_by_word! {
    u32, "a number";
    i32, "a number";
    bool, "true or false";
}

impl Attr for Place {
    fn print(&self, out: &mut String) {
        let _ = write!(out, "{self}");
    }

    fn read(r: &mut Reader<'_>) -> Result<Place, ReadError> {
        r.place()
    }
}

impl Attr for Dim {
    fn print(&self, out: &mut String) {
        let _ = write!(out, "{self}");
    }

    fn read(r: &mut Reader<'_>) -> Result<Dim, ReadError> {
        let word = r.word()?;
        let dim = match word.strip_prefix('?') {
            Some(n) => n.parse().map(Dim::Sym),
            None => word.parse().map(Dim::Const),
        };
        dim.map_err(|_| r.error("a dimension"))
    }
}

impl<T: Attr> Attr for Vec<T> {
    fn print(&self, out: &mut String) {
        out.push('[');
        for (i, v) in self.iter().enumerate() {
            if i > 0 {
                out.push_str(", ");
            }
            v.print(out);
        }
        out.push(']');
    }

    fn read(r: &mut Reader<'_>) -> Result<Vec<T>, ReadError> {
        r.expect("[")?;
        let mut out = vec![];
        while !r.eat("]") {
            if !out.is_empty() {
                r.expect(",")?;
            }
            out.push(T::read(r)?);
        }
        Ok(out)
    }
}

/// Declares an enum whose text form is a quoted word.
macro_rules! attr_enum {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $text:literal),* $(,)? } $(usual $usual:ident)?) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs)]
        pub enum $name { $($variant),* }

        impl $name {
            /// Text form.
            pub fn text(self) -> &'static str {
                match self { $($name::$variant => $text),* }
            }

            /// The variant with this text form.
            pub fn from_text(text: &str) -> Option<$name> {
                match text { $($text => Some($name::$variant),)* _ => None }
            }
        }

        impl Attr for $name {
            fn print(&self, out: &mut String) {
                let _ = write!(out, "{:?}", self.text());
            }
            fn read(r: &mut Reader<'_>) -> Result<$name, ReadError> {
                $name::from_text(&r.string()?).ok_or_else(|| r.error(stringify!($name)))
            }
            $(fn implied() -> Option<$name> {
                Some($name::$usual)
            })?
        }
    };
}

attr_enum! {
    /// Python's binary operators.
    BinOp {
        Add = "+", Sub = "-", Mul = "*", Div = "/", FloorDiv = "//", Mod = "%", Pow = "**", MatMul = "@",
        And = "&", Or = "|", Xor = "^", Shl = "<<", Shr = ">>",
    }
}

attr_enum! {
    /// Python's unary operators.
    UnaryOp { Neg = "-", Pos = "+", Invert = "~", Not = "not" }
}

attr_enum! {
    /// Comparisons.
    CmpOp { Lt = "<", Le = "<=", Gt = ">", Ge = ">=", Eq = "==", Ne = "!=", Is = "is", IsNot = "is not", In = "in", NotIn = "not in" }
}

attr_enum! {
    /// How a transferred array will be used where it goes.
    Access { Read = "read", WriteAll = "write_all", Update = "update" }
}

attr_enum! {
    /// What an index of `mem.load` and `mem.store` counts.
    Unit { Element = "element", Byte = "byte" }
}

attr_enum! {
    /// How an atomic update changes an element. `cas`: the second value, if the element has the bits of the first.
    Rmw {
        Add = "add", Sub = "sub", Min = "min", Max = "max", And = "and", Or = "or", Xor = "xor", Exchange = "exchange",
        Cas = "cas",
    }
}

impl Rmw {
    /// Values that it takes.
    pub fn values(self) -> usize {
        if self == Rmw::Cas { 2 } else { 1 }
    }

    /// Whether elements of this dtype have it.
    pub fn fits(self, dtype: DType) -> bool {
        let bits = matches!(self, Rmw::And | Rmw::Or | Rmw::Xor);
        dtype.is_int() || !bits && matches!(dtype, DType::F32 | DType::F64)
    }
}

attr_enum! {
    /// The memory whose writes a barrier shows to the whole group.
    Fence { Local = "local", Global = "global", All = "all" }
}

/// What the iterations of a `par.for` are to a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Level {
    /// Independent items, which whoever runs them groups as it likes.
    Item,
    /// Groups, each with so many items.
    Grid(u32),
    /// The items of one group.
    Group,
}

impl Attr for Level {
    fn print(&self, out: &mut String) {
        let _ = match self {
            Level::Item => write!(out, "\"item\""),
            Level::Grid(items) => write!(out, "\"grid of {items}\""),
            Level::Group => write!(out, "\"group\""),
        };
    }

    fn read(r: &mut Reader<'_>) -> Result<Level, ReadError> {
        let text = r.string()?;
        let level = match &*text {
            "item" => Some(Level::Item),
            "group" => Some(Level::Group),
            text => text.strip_prefix("grid of ").and_then(|n| n.parse().ok()).map(Level::Grid),
        };
        level.ok_or_else(|| r.error("a level"))
    }

    fn implied() -> Option<Level> {
        Some(Level::Item)
    }
}

attr_enum! {
    /// How a reduction combines elements.
    Fold {
        Sum = "sum", Prod = "prod", Min = "min", Max = "max", Any = "any", All = "all", ArgMin = "argmin",
        ArgMax = "argmax",
    }
}

attr_enum! {
    /// In what order a reduction combines elements. `auto`: by where they lie, as NumPy would; [`crate::reduce::along`] if the folded
    /// axis is the fastest in memory, else [`crate::reduce::across`]. `tree`: [`crate::reduce::along`], whatever axis is folded and
    /// however the array lies. `pairs`: they are results of runs (only in `mem.reduce`).
    Order { Auto = "auto", Tree = "tree", Pairs = "pairs" } usual Auto
}
