//! Scalars, and NumPy's arithmetic on them.
//!
//! An integer of any width is an `i128` that every operation brings back to its dtype's range, so
//! wrapping is written once. Weak Python scalars compute as the dtype with their bits.

use crate::complex::Complex;
use crate::math::Math;
use crate::value::Failure;
use weft_ir::attr::{BinOp, CmpOp, Const, Rmw};
use weft_ir::{DType, Op, half};

/// A scalar of any dtype, or `None`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    /// `bool`, `pybool`.
    Bool(bool),
    /// An integer dtype and a value in its range; `pyint` is an `i64`.
    Int(DType, i128),
    /// `f16`, by its value.
    F16(f32),
    /// `f32`.
    F32(f32),
    /// `f64`, `pyfloat`.
    F64(f64),
    /// `c64`.
    C64(Complex<f32>),
    /// `c128`, `pycomplex`.
    C128(Complex<f64>),
    /// Python's `None`.
    None,
}

use Scalar::{Bool, C64, C128, F16, F32, F64, Int};

type Computed = Result<Scalar, Failure>;

impl Scalar {
    /// An `i64` (or `pyint`).
    pub fn i64(v: i64) -> Scalar {
        Int(DType::I64, v.into())
    }

    /// Its dtype; `None` has none.
    pub fn dtype(self) -> Option<DType> {
        match self {
            Bool(_) => Some(DType::Bool),
            Int(d, _) => Some(d),
            F16(_) => Some(DType::F16),
            F32(_) => Some(DType::F32),
            F64(_) => Some(DType::F64),
            C64(_) => Some(DType::C64),
            C128(_) => Some(DType::C128),
            Scalar::None => None,
        }
    }

    /// The integer, if it is one.
    pub fn as_int(self) -> Option<i64> {
        match self {
            Int(_, v) => i64::try_from(v).ok(),
            _ => None,
        }
    }

    /// The 64 bits that a `raise` stores: integers sign-extended, floats as `f64`.
    pub fn raise_bits(self) -> u64 {
        match self {
            Bool(v) => v.into(),
            Int(_, v) => v as u64,
            F16(v) | F32(v) => f64::from(v).to_bits(),
            F64(v) => v.to_bits(),
            // No message shows one.
            C64(_) | C128(_) | Scalar::None => 0,
        }
    }

    /// The `f16` nearest to a number.
    pub fn f16(v: f64) -> Scalar {
        F16(half::round(v) as f32)
    }

    /// The bytes of an element, in the low ones of a word.
    pub fn to_bits(self) -> u128 {
        let both = |re: u64, im: u64, bits: u32| u128::from(re) | u128::from(im) << bits;
        match self {
            Bool(v) => v.into(),
            Int(_, v) => v as u128,
            F16(v) => half::to_bits(v.into()).into(),
            F32(v) => v.to_bits().into(),
            F64(v) => v.to_bits().into(),
            C64(z) => both(z.re.to_bits().into(), z.im.to_bits().into(), 32),
            C128(z) => both(z.re.to_bits(), z.im.to_bits(), 64),
            Scalar::None => 0,
        }
    }

    /// The scalar of `dtype` with these bytes.
    pub fn from_bits(bits: u128, dtype: DType) -> Scalar {
        match dtype {
            DType::Bool => Bool(bits as u8 != 0),
            DType::F16 => F16(half::from_bits(bits as u16) as f32),
            DType::F32 => F32(f32::from_bits(bits as u32)),
            DType::F64 => F64(f64::from_bits(bits as u64)),
            DType::C64 => C64(Complex::new(f32::from_bits(bits as u32), f32::from_bits((bits >> 32) as u32))),
            DType::C128 => C128(Complex::new(f64::from_bits(bits as u64), f64::from_bits((bits >> 64) as u64))),
            d => {
                let unused = 128 - 8 * d.size();
                let narrow = bits << unused;
                Int(d, if d.is_signed() { narrow as i128 >> unused } else { (narrow >> unused) as i128 })
            }
        }
    }

    /// The constant as a scalar of `dtype`.
    pub fn from_const(value: &Const, dtype: DType) -> Computed {
        let wide = match value {
            Const::Int(v) if dtype.is_int() => Int(dtype, *v),
            // Straight from the integer: by way of f64 an f32 would be rounded twice.
            Const::Int(v) if dtype == DType::F32 => F32(*v as f32),
            Const::Int(v) => F64(*v as f64),
            Const::Float(v) => F64(*v),
            Const::Bool(v) => Bool(*v),
            Const::None => return Ok(Scalar::None),
            Const::Complex(re, im) => C128(Complex::new(*re, *im)),
            Const::Str(_) | Const::Ellipsis => return Err(Failure::fault("a constant that is no number")),
        };
        wide.cast(dtype)
    }

    /// `arith.cast`: COMPILER 2.6.
    pub fn cast(self, to: DType) -> Computed {
        Ok(match (self, to) {
            (Scalar::None, _) => return Err(Failure::fault("None is no number")),
            (Bool(v), DType::Bool) => Bool(v),
            (Int(_, v), DType::Bool) => Bool(v != 0),
            (F16(v) | F32(v), DType::Bool) => Bool(v != 0.0),
            (F64(v), DType::Bool) => Bool(v != 0.0),
            (C64(z), DType::Bool) => Bool(z.re != 0.0 || z.im != 0.0),
            (C128(z), DType::Bool) => Bool(z.re != 0.0 || z.im != 0.0),
            (C64(z), DType::C64) => C64(z),
            (C64(z), DType::C128) => C128(Complex::new(z.re.into(), z.im.into())),
            (C128(z), DType::C64) => C64(Complex::new(z.re as f32, z.im as f32)),
            (C128(z), DType::C128) => C128(z),
            (C64(z), d) => F32(z.re).cast(d)?,
            (C128(z), d) => F64(z.re).cast(d)?,
            (Bool(v), d) => Int(DType::I64, v.into()).cast(d)?,
            (Int(_, v), d) if d.is_int() => wrapped(d, v),
            (F16(v) | F32(v), d) if d.is_int() => wrapped(d, truncated(v.into(), d)),
            (F64(v), d) if d.is_int() => wrapped(d, truncated(v, d)),
            (Int(_, v), DType::F16) => Scalar::f16(v as f64),
            (F16(v) | F32(v), DType::F16) => Scalar::f16(v.into()),
            (F64(v), DType::F16) => Scalar::f16(v),
            (Int(_, v), DType::F32) => F32(v as f32),
            (F16(v) | F32(v), DType::F32) => F32(v),
            (F64(v), DType::F32) => F32(v as f32),
            (Int(_, v), DType::F64) => F64(v as f64),
            (F16(v) | F32(v), DType::F64) => F64(v.into()),
            (F64(v), DType::F64) => F64(v),
            (v, DType::C64) => match v.cast(DType::F32)? {
                F32(re) => C64(Complex::new(re, 0.0)),
                other => other,
            },
            (v, _) => match v.cast(DType::F64)? {
                F64(re) => C128(Complex::new(re, 0.0)),
                other => other,
            },
        })
    }
}

/// An integer brought back to its dtype's range.
fn wrapped(d: DType, v: i128) -> Scalar {
    let (lo, hi) = d.int_bounds().unwrap_or((i64::MIN.into(), i64::MAX.into()));
    Int(d, lo + (v.wrapping_sub(lo)).rem_euclid(hi - lo + 1))
}

/// A float on its way to an integer dtype: truncated into the intermediate of COMPILER 2.6, which is at its
/// minimum for nan and where it overflows.
fn truncated(v: f64, to: DType) -> i128 {
    let (lo, hi): (i128, i128) = match to {
        DType::I8 | DType::I16 | DType::U8 | DType::U16 | DType::I32 => (i32::MIN.into(), i32::MAX.into()),
        DType::U64 if v >= 0.0 => (i64::MIN.into(), u64::MAX.into()),
        _ => (i64::MIN.into(), i64::MAX.into()),
    };
    // i128 holds every truncated float that could be in range; `as` saturates the others and makes nan 0.
    let whole = v.trunc() as i128;
    if v.is_nan() || !(lo..=hi).contains(&whole) { lo } else { whole }
}

/// A float dtype, with what differs between the two.
trait Float: Copy + PartialOrd {
    fn divmod(self, b: Self) -> (Self, Self);
    fn smaller(self, b: Self) -> Self;
    fn larger(self, b: Self) -> Self;
}

macro_rules! floats {
    ($($ty:ident),*) => {$(
        impl Float for $ty {
            /// NumPy's `npy_divmod`: floor quotient and remainder with the divisor's sign.
            fn divmod(self, b: $ty) -> ($ty, $ty) {
                let mut rest = self % b;
                if b == 0.0 {
                    return (self / b, rest);
                }
                let mut div = (self - rest) / b;
                if rest == 0.0 {
                    rest = (0.0 as $ty).copysign(b);
                } else if (b < 0.0) != (rest < 0.0) {
                    rest += b;
                    div -= 1.0;
                }
                if div == 0.0 {
                    return ((0.0 as $ty).copysign(self / b), rest);
                }
                let floor = div.floor();
                (if div - floor > 0.5 { floor + 1.0 } else { floor }, rest)
            }

            fn smaller(self, b: $ty) -> $ty {
                if self < b || self.is_nan() { self } else { b }
            }

            fn larger(self, b: $ty) -> $ty {
                if self > b || self.is_nan() { self } else { b }
            }
        }
    )*};
}

floats!(f32, f64);

/// A scalar op with two operands of one dtype.
pub fn binary(op: &Op, a: Scalar, b: Scalar) -> Computed {
    match (a, b) {
        (F32(re), F32(im)) if *op == Op::Complex => Ok(C64(Complex::new(re, im))),
        (F64(re), F64(im)) if *op == Op::Complex => Ok(C128(Complex::new(re, im))),
        (Int(_, x), Int(_, y)) if *op == Op::TrueDiv => Ok(F64(true_quotient(x, y))),
        (Bool(x), Bool(y)) => Ok(Bool(match op {
            Op::Add | Op::Or | Op::Max => x | y,
            Op::Mul | Op::And | Op::Min => x & y,
            Op::Xor => x ^ y,
            _ => return Err(no_such(op, a)),
        })),
        (Int(d, x), Int(e, y)) if d == e => integer(op, d, x, y).ok_or_else(|| no_such(op, a)),
        // NumPy computes halves as floats and rounds.
        (F32(x), F32(y)) if let Op::Math { function, .. } = op => Ok(F32(f32::call(*function, &[x, y]))),
        (F64(x), F64(y)) if let Op::Math { function, .. } = op => Ok(F64(f64::call(*function, &[x, y]))),
        (F16(x), F16(y)) => match binary(op, F32(x), F32(y))? {
            F32(v) => Ok(Scalar::f16(v.into())),
            other => Ok(other),
        },
        (F32(x), F32(y)) => Ok(F32(match op {
            Op::Add => x + y,
            Op::Sub => x - y,
            Op::Mul => x * y,
            Op::Div => x / y,
            Op::FloorDiv => x.divmod(y).0,
            Op::Mod => x.divmod(y).1,
            Op::Pow => x.powf(y),
            Op::Min => x.smaller(y),
            Op::Max => x.larger(y),
            _ => return Err(no_such(op, a)),
        })),
        (F64(x), F64(y)) => Ok(F64(match op {
            Op::Add => x + y,
            Op::Sub => x - y,
            Op::Mul => x * y,
            Op::Div => x / y,
            Op::FloorDiv => x.divmod(y).0,
            Op::Mod => x.divmod(y).1,
            Op::Pow => x.powf(y),
            Op::Min => x.smaller(y),
            Op::Max => x.larger(y),
            _ => return Err(no_such(op, a)),
        })),
        (C64(x), C64(y)) => x.binary(op, y).map(C64).ok_or_else(|| no_such(op, a)),
        (C128(x), C128(y)) => x.binary(op, y).map(C128).ok_or_else(|| no_such(op, a)),
        _ => Err(no_such(op, a)),
    }
}

/// `arith.truediv`: 128 bits of quotient, of which the last also stands for what is left, round as the whole would.
/// What an atomic update makes of an element; `last` is its last value.
pub fn atomic(rmw: Rmw, old: Scalar, v: Scalar, last: Scalar) -> Computed {
    let op = match rmw {
        Rmw::Add => Op::Add,
        Rmw::Sub => Op::Sub,
        Rmw::Min => Op::Min,
        Rmw::Max => Op::Max,
        Rmw::And => Op::And,
        Rmw::Or => Op::Or,
        Rmw::Xor => Op::Xor,
        Rmw::Exchange => return Ok(v),
        Rmw::Cas => return Ok(if old.to_bits() == v.to_bits() { last } else { old }),
    };
    binary(&op, old, v)
}

fn true_quotient(x: i128, y: i128) -> f64 {
    let (a, b) = (x.unsigned_abs(), y.unsigned_abs());
    let zero = if (x < 0) != (y < 0) { -0.0 } else { 0.0 };
    if a == 0 || b == 0 {
        return zero;
    }
    let shift = a.leading_zeros();
    let (quotient, rest) = ((a << shift) / b, (a << shift) % b);
    ((quotient | u128::from(rest != 0)) as f64 * 2f64.powi(-(shift as i32))).copysign(zero)
}

fn integer(op: &Op, d: DType, x: i128, y: i128) -> Option<Scalar> {
    let bits = 8 * d.size() as i128;
    let v = match op {
        Op::Add => x + y,
        Op::Sub => x - y,
        Op::Mul => x.wrapping_mul(y),
        Op::FloorDiv | Op::Mod if y == 0 => 0,
        Op::FloorDiv => floor_div(x, y),
        Op::Mod => x - y * floor_div(x, y),
        Op::Pow => return (y >= 0).then(|| power(d, x, y)),
        Op::Min => x.min(y),
        Op::Max => x.max(y),
        Op::And => x & y,
        Op::Or => x | y,
        Op::Xor => x ^ y,
        Op::Shl if (0..bits).contains(&y) => x << y,
        Op::Shl => 0,
        Op::Shr => x >> if (0..bits).contains(&y) { y } else { 127 },
        _ => return None,
    };
    Some(wrapped(d, v))
}

fn floor_div(x: i128, y: i128) -> i128 {
    let q = x / y;
    if x % y != 0 && (x < 0) != (y < 0) { q - 1 } else { q }
}

/// Square and multiply, wrapped at every step.
fn power(d: DType, mut base: i128, mut exponent: i128) -> Scalar {
    let value = |s| if let Int(_, v) = s { v } else { 0 };
    let mut product = 1i128;
    while exponent > 0 {
        if exponent & 1 == 1 {
            product = value(wrapped(d, product.wrapping_mul(base)));
        }
        base = value(wrapped(d, base.wrapping_mul(base)));
        exponent >>= 1;
    }
    wrapped(d, product)
}

/// A scalar op with one operand.
pub fn unary(op: &Op, a: Scalar) -> Computed {
    Ok(match (op, a) {
        (Op::Neg, Int(d, v)) => wrapped(d, -v),
        (Op::Neg, F32(v)) => F32(-v),
        (Op::Neg, F64(v)) => F64(-v),
        (Op::Abs, Int(d, v)) => wrapped(d, v.abs()),
        (Op::Abs, F32(v)) => F32(v.abs()),
        (Op::Abs, F64(v)) => F64(v.abs()),
        (Op::Not, Bool(v)) => Bool(!v),
        (Op::Not, Int(d, v)) => wrapped(d, !v),
        (Op::Math { function, .. }, F32(v)) => F32(f32::call(*function, &[v])),
        (Op::Math { function, .. }, F64(v)) => F64(f64::call(*function, &[v])),
        (_, F16(v)) => match unary(op, F32(v))? {
            F32(v) => Scalar::f16(v.into()),
            other => other,
        },
        (Op::Real, C64(z)) => F32(z.re),
        (Op::Imag, C64(z)) => F32(z.im),
        (Op::Real, C128(z)) => F64(z.re),
        (Op::Imag, C128(z)) => F64(z.im),
        (_, C64(z)) => C64(z.unary(op).ok_or_else(|| no_such(op, a))?),
        (_, C128(z)) => C128(z.unary(op).ok_or_else(|| no_such(op, a))?),
        _ => return Err(no_such(op, a)),
    })
}

/// A comparison of two scalars of one dtype.
pub fn compare(is: CmpOp, a: Scalar, b: Scalar) -> Computed {
    let order = match (a, b) {
        (Bool(x), Bool(y)) => x.partial_cmp(&y),
        (Int(_, x), Int(_, y)) => x.partial_cmp(&y),
        (F16(x), F16(y)) | (F32(x), F32(y)) => x.partial_cmp(&y),
        (C64(_) | C128(_), C64(_) | C128(_)) if matches!(is, CmpOp::Eq | CmpOp::Ne) => {
            return Ok(Bool((a == b) == (is == CmpOp::Eq)));
        }
        (F64(x), F64(y)) => x.partial_cmp(&y),
        _ => return Err(Failure::fault("a comparison of two types")),
    };
    // Unordered (nan): only `!=` holds.
    Ok(Bool(match is {
        CmpOp::Lt => order.is_some_and(|o| o.is_lt()),
        CmpOp::Le => order.is_some_and(|o| o.is_le()),
        CmpOp::Gt => order.is_some_and(|o| o.is_gt()),
        CmpOp::Ge => order.is_some_and(|o| o.is_ge()),
        CmpOp::Eq => order.is_some_and(|o| o.is_eq()),
        CmpOp::Ne => !order.is_some_and(|o| o.is_eq()),
        _ => return Err(Failure::fault("a comparison of objects")),
    }))
}

/// `arith.checked`: nothing when the result leaves int64.
pub fn checked(op: BinOp, a: Scalar, b: Scalar) -> Result<Option<Scalar>, Failure> {
    let (Int(_, x), Int(_, y)) = (a, b) else { return Err(Failure::fault("checked arithmetic on no ints")) };
    let exact = match op {
        BinOp::Add => x + y,
        BinOp::Sub => x - y,
        BinOp::Mul => x * y,
        BinOp::FloorDiv if y == 0 => 0,
        BinOp::FloorDiv => floor_div(x, y),
        _ => return Err(Failure::fault("an operator that is not checked")),
    };
    Ok(i64::try_from(exact).ok().map(Scalar::i64))
}

fn no_such(op: &Op, a: Scalar) -> Failure {
    Failure::fault(format!("{} of {a:?}", op.name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int(d: DType, v: i128) -> Scalar {
        Int(d, v)
    }

    #[test]
    fn integers_wrap_and_floor_like_numpy() {
        let min = int(DType::I32, i32::MIN.into());
        let minus = int(DType::I32, -1);
        assert_eq!(binary(&Op::FloorDiv, min, minus).unwrap(), min);
        assert_eq!(binary(&Op::Mod, int(DType::I32, -7), int(DType::I32, 3)).unwrap(), int(DType::I32, 2));
        assert_eq!(binary(&Op::FloorDiv, min, int(DType::I32, 0)).unwrap(), int(DType::I32, 0));
        assert_eq!(binary(&Op::Shr, minus, int(DType::I32, 40)).unwrap(), minus);
        assert_eq!(binary(&Op::Shl, minus, int(DType::I32, -1)).unwrap(), int(DType::I32, 0));
        assert_eq!(binary(&Op::Pow, int(DType::I32, 3), int(DType::I32, 40)).unwrap(), int(DType::I32, 689_956_897));
        assert_eq!(unary(&Op::Neg, min).unwrap(), min);
    }

    #[test]
    fn ints_divide_as_python_does() {
        let (big, max) = ((1i128 << 53) + 1, i128::from(i64::MAX));
        for (x, y, want) in [(big, 3, 3002399751580331.0), (max, max - 1, 1.0), (max - 2, big + 4, 1023.9999999999994)]
        {
            assert_eq!(true_quotient(x, y), want);
            assert_eq!(true_quotient(-x, y), -want);
        }
        assert!(true_quotient(0, -big).is_sign_negative());
    }

    #[test]
    fn halves_round_after_every_operation() {
        let two = |op, x: f64, y: f64| binary(&op, Scalar::f16(x), Scalar::f16(y)).unwrap();
        assert_eq!(two(Op::Add, 2048.0, 1.0), F16(2048.0));
        assert_eq!(two(Op::Mul, 300.0, 300.0), F16(f32::INFINITY));
        assert_eq!(F64(0.1).cast(DType::F16).unwrap(), F16(0.099975586));
    }

    #[test]
    fn floats_divide_by_numpys_divmod() {
        let both = |a: f64, b: f64| {
            let f = |op| binary(&op, F64(a), F64(b)).unwrap();
            (f(Op::FloorDiv), f(Op::Mod))
        };
        assert_eq!(both(-1.0, f64::INFINITY), (F64(-1.0), F64(f64::INFINITY)));
        assert_eq!(both(1.0, 0.1), (F64(9.0), F64(0.09999999999999995)));
        assert_eq!(both(-7.5, 2.0), (F64(-4.0), F64(0.5)));
        assert_eq!(both(1.0, 0.0).0, F64(f64::INFINITY));
    }

    #[test]
    fn floats_become_integers_through_their_intermediates() {
        let cast = |v: f64, d| F64(v).cast(d).unwrap();
        assert_eq!(cast(300.0, DType::U8), int(DType::U8, 44));
        assert_eq!(cast(-1.0, DType::U8), int(DType::U8, 255));
        assert_eq!(cast(3e9, DType::I32), int(DType::I32, i32::MIN.into()));
        assert_eq!(cast(f64::NAN, DType::I64), int(DType::I64, i64::MIN.into()));
        assert_eq!(cast(1.8e19, DType::U64), int(DType::U64, 18_000_000_000_000_000_000));
        assert_eq!(cast(-1.0, DType::U64), int(DType::U64, u64::MAX.into()));
    }
}
