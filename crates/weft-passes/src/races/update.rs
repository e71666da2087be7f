//! Operators that may be applied in parts: in any grouping, but in order.

use weft_ir::attr::{CmpOp, Const};
use weft_ir::{Builder, DType, Op, Type, ValueId};

/// An operator that accumulates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Update {
    Add,
    Mul,
    And,
    Or,
    Xor,
    /// NumPy's, which keep nan.
    Minimum,
    Maximum,
    /// Python's `min` and `max`: the first, unless the other is beyond it.
    Least,
    Greatest,
}

impl Update {
    /// What changes nothing; `None` where numbers of this dtype have nothing like that.
    pub(crate) fn neutral(self, dtype: DType) -> Option<Const> {
        let greatest = matches!(self, Update::Maximum | Update::Greatest);
        Some(match (self, dtype) {
            (Update::Add | Update::Or | Update::Xor, DType::Bool) => Const::Bool(false),
            (Update::Mul | Update::And, DType::Bool) => Const::Bool(true),
            (_, DType::Bool) => Const::Bool(!greatest),
            (Update::And, d) if d.is_int() => {
                Const::Int(if d.is_unsigned() { d.int_bounds().map_or(0, |b| b.1) } else { -1 })
            }
            (Update::Mul, d) if d.is_int() => Const::Int(1),
            (Update::Add | Update::Or | Update::Xor, d) if d.is_int() => Const::Int(0),
            (Update::Mul, d) if d.is_float() => Const::Float(1.0),
            // Minus zero: with it even a sum of minus zeros stays one.
            (Update::Add, d) if d.is_float() => Const::Float(-0.0),
            (Update::Add, d) if d.is_complex() => Const::Complex(-0.0, -0.0),
            (Update::Minimum | Update::Maximum | Update::Least | Update::Greatest, d) if d.is_int() => {
                let (low, high) = d.int_bounds()?;
                Const::Int(if greatest { low } else { high })
            }
            (Update::Minimum | Update::Maximum | Update::Least | Update::Greatest, d) if d.is_float() => {
                Const::Float(if greatest { f64::NEG_INFINITY } else { f64::INFINITY })
            }
            _ => return None,
        })
    }

    /// Whether it picks one of two values.
    pub(super) fn is_extreme(self) -> bool {
        matches!(self, Update::Minimum | Update::Maximum | Update::Least | Update::Greatest)
    }

    /// `a` updated by `b`.
    pub(super) fn apply(self, b: &mut Builder<'_>, into: ValueId, part: ValueId) -> ValueId {
        let ty = b.ty(into);
        let op = match self {
            Update::Add => Op::Add,
            Update::Mul => Op::Mul,
            Update::And => Op::And,
            Update::Or => Op::Or,
            Update::Xor => Op::Xor,
            Update::Minimum => Op::Min,
            Update::Maximum => Op::Max,
            Update::Least | Update::Greatest => {
                let is = if self == Update::Least { CmpOp::Lt } else { CmpOp::Gt };
                let beyond = b.value(Op::Cmp { is }, &[part, into], Type::BOOL);
                return b.value(Op::Select, &[beyond, part, into], ty);
            }
        };
        b.value(op, &[into, part], ty)
    }
}
