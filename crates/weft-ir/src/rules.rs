//! NumPy 2's dtype, shape and placement rules (NEP 50), as plain functions.
//!
//! One rule set: `infer` asks here, and so does the tensor recorder. Everything is decided from
//! types and sizes alone.

use crate::attr::BinOp;
use crate::types::{DType, Dim, Layout, Place, TensorType, Weak};

/// Dtype in which two strong operands meet: `np.promote_types`.
pub fn promote(a: DType, b: DType) -> DType {
    use DType::*;
    if a == b || b == Bool {
        return a;
    }
    if a == Bool {
        return b;
    }
    let (a, b) = if kind(a) <= kind(b) { (a, b) } else { (b, a) };
    match (kind(a), kind(b)) {
        (Kind::Int, Kind::Int) => promote_ints(a, b),
        (Kind::Int, Kind::Float) => larger(int_as_float(a), b),
        (Kind::Int, Kind::Complex) => larger(complex_of(int_as_float(a)), b),
        (Kind::Float, Kind::Complex) => larger(complex_of(a), b),
        _ => larger(a, b),
    }
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Bool,
    Int,
    Float,
    Complex,
}

fn kind(d: DType) -> Kind {
    match d {
        DType::Bool => Kind::Bool,
        d if d.is_int() => Kind::Int,
        d if d.is_float() => Kind::Float,
        _ => Kind::Complex,
    }
}

fn weak_kind(w: Weak) -> Kind {
    match w {
        Weak::Bool | Weak::None => Kind::Bool,
        Weak::Int => Kind::Int,
        Weak::Float => Kind::Float,
        Weak::Complex => Kind::Complex,
    }
}

fn larger(a: DType, b: DType) -> DType {
    if a.size() >= b.size() { a } else { b }
}

fn promote_ints(a: DType, b: DType) -> DType {
    if a.is_signed() == b.is_signed() {
        return larger(a, b);
    }
    let (signed, unsigned) = if a.is_signed() { (a, b) } else { (b, a) };
    if signed.size() > unsigned.size() {
        return signed;
    }
    match unsigned.size() {
        1 => DType::I16,
        2 => DType::I32,
        4 => DType::I64,
        _ => DType::F64,
    }
}

/// Smallest float that NumPy considers safe for an integer or bool.
fn int_as_float(d: DType) -> DType {
    match d.size() {
        1 => DType::F16,
        2 => DType::F32,
        _ => DType::F64,
    }
}

fn complex_of(d: DType) -> DType {
    if d == DType::F64 { DType::C128 } else { DType::C64 }
}

/// Dtype in which a weak Python scalar meets a strong operand.
///
/// A kind that is not higher takes the strong dtype; otherwise the default dtype of the kind, except that floats keep their width beside a complex.
pub fn promote_weak(w: Weak, d: DType) -> DType {
    match (weak_kind(w), kind(d)) {
        (w, k) if w <= k => d,
        (Kind::Int, _) => DType::I64,
        (Kind::Float, _) => DType::F64,
        (_, Kind::Float) => complex_of(d),
        _ => DType::C128,
    }
}

/// Dtype of a float function (`np.sin`) of this dtype.
pub fn float_function(d: DType) -> DType {
    if d.is_float() || d.is_complex() { d } else { int_as_float(d) }
}

/// Why an operator does not take a dtype.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpError {
    /// NumPy raises `TypeError` for these operands.
    NotDefined,
}

/// Dtype in which `op` computes when its operands meet in `common`, or the error NumPy raises.
///
/// Comparisons are not here: they compute in `common` and give bool.
pub fn operator_dtype(op: BinOp, common: DType) -> Result<DType, OpError> {
    let is_bool = common == DType::Bool;
    match op {
        BinOp::Add | BinOp::Mul | BinOp::MatMul => Ok(common),
        BinOp::Sub if is_bool => Err(OpError::NotDefined),
        BinOp::Sub => Ok(common),
        BinOp::Div if common.is_float() || common.is_complex() => Ok(common),
        BinOp::Div => Ok(DType::F64),
        BinOp::FloorDiv | BinOp::Mod if common.is_complex() => Err(OpError::NotDefined),
        BinOp::FloorDiv | BinOp::Mod | BinOp::Pow => Ok(if is_bool { DType::I8 } else { common }),
        BinOp::And | BinOp::Or | BinOp::Xor if is_bool || common.is_int() => Ok(common),
        BinOp::Shl | BinOp::Shr if common.is_int() => Ok(common),
        BinOp::Shl | BinOp::Shr if is_bool => Ok(DType::I8),
        _ => Err(OpError::NotDefined),
    }
}

/// Whether `from` may be stored into `to` by an in-place operator (NumPy's `same_kind`).
pub fn can_cast_same_kind(from: DType, to: DType) -> bool {
    let unsigned_from_signed = from.is_signed() && to.is_unsigned();
    kind(from) <= kind(to) && !unsigned_from_signed
}

/// Symbolic broadcast: sizes of the result, right-aligned. Two different symbols meet at the first one (the
/// caller checks that they are equal); two different constants do not.
pub fn broadcast_dims(shapes: &[&[Dim]]) -> Option<Vec<Dim>> {
    let rank = shapes.iter().map(|s| s.len()).max().unwrap_or(0);
    let mut out = vec![Dim::Const(1); rank];
    for shape in shapes {
        for (k, &d) in shape.iter().enumerate() {
            let slot = &mut out[rank - shape.len() + k];
            match (*slot, d) {
                (_, Dim::Const(1)) => {}
                (Dim::Const(1), d) => *slot = d,
                (Dim::Const(a), Dim::Const(b)) if a != b => return None,
                (Dim::Sym(_), Dim::Const(_)) => *slot = d,
                _ => {}
            }
        }
    }
    Some(out)
}

/// Broadcast of known sizes; `None` where NumPy raises `ValueError`.
pub fn broadcast_sizes(shapes: &[&[i64]]) -> Option<Vec<i64>> {
    let rank = shapes.iter().map(|s| s.len()).max().unwrap_or(0);
    let mut out = vec![1; rank];
    for shape in shapes {
        for (k, &n) in shape.iter().enumerate() {
            let slot = &mut out[rank - shape.len() + k];
            match (*slot, n) {
                (_, 1) => {}
                (1, n) => *slot = n,
                (a, b) if a != b => return None,
                _ => {}
            }
        }
    }
    Some(out)
}

/// NumPy's sentence for shapes that do not broadcast.
pub fn broadcast_message(shapes: &[&[i64]]) -> String {
    let tuple = |s: &&[i64]| {
        let dims: Vec<String> = s.iter().map(i64::to_string).collect();
        format!("({}{})", dims.join(","), if dims.len() == 1 { "," } else { "" })
    };
    let list: Vec<String> = shapes.iter().map(tuple).collect();
    format!("operands could not be broadcast together with shapes {} ", list.join(" "))
}

/// Layout of a fresh result (K order): F where some operand of the result's own shape is F-ordered and none is C-ordered.
pub fn result_layout(dims: &[Dim], operands: &[&TensorType]) -> Layout {
    let wide = |t: &TensorType| t.dims.iter().filter(|d| **d != Dim::Const(1)).count() > 1;
    let full = operands.iter().filter(|t| t.dims == dims && wide(t));
    let (mut f, mut other) = (false, false);
    for t in full {
        if t.layout == Layout::F { f = true } else { other = true }
    }
    if f && !other { Layout::F } else { Layout::C }
}

/// The common place of operands; `Err` holds the indices of two that disagree.
pub fn join_places<'a>(places: impl IntoIterator<Item = &'a Place>) -> Result<Option<Place>, (usize, usize)> {
    let mut found: Option<(usize, &Place)> = None;
    for (i, p) in places.into_iter().enumerate() {
        match found {
            None => found = Some((i, p)),
            Some((first, q)) if q != p => return Err((first, i)),
            _ => {}
        }
    }
    Ok(found.map(|(_, p)| p.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use DType::*;

    #[test]
    fn the_cases_numpy_documents() {
        let cases =
            [(U64, I64, F64), (F32, I32, F64), (F16, I16, F32), (I8, U8, I16), (F32, I16, F32), (C64, I32, C128)];
        for (a, b, want) in cases {
            assert_eq!((promote(a, b), promote(b, a)), (want, want), "{a:?} {b:?}");
        }
        assert_eq!(promote_weak(Weak::Float, F32), F32);
        assert_eq!(promote_weak(Weak::Int, I8), I8);
        assert_eq!(promote_weak(Weak::Int, Bool), I64);
        assert_eq!(promote_weak(Weak::Float, I32), F64);
        assert_eq!(promote_weak(Weak::Complex, F32), C64);
    }

    #[test]
    fn shapes_broadcast_from_the_right() {
        let (n, m) = (Dim::Sym(0), Dim::Sym(1));
        assert_eq!(broadcast_dims(&[&[n, Dim::Const(1)], &[m]]), Some(vec![n, m]));
        assert_eq!(broadcast_dims(&[&[Dim::Const(3)], &[Dim::Const(4)]]), None);
        assert_eq!(broadcast_sizes(&[&[3, 1], &[4]]), Some(vec![3, 4]));
        assert_eq!(broadcast_sizes(&[&[0], &[1]]), Some(vec![0]));
        assert_eq!(broadcast_sizes(&[&[3], &[4]]), None);
    }
}
