//! Values that programs compute with, and the ways a run can fail.

use crate::array::{Array, Memory};
use crate::list::Items;
use crate::scalar::Scalar;
use crate::watch::Race;
use std::cell::RefCell;
use std::rc::Rc;
use weft_ir::DType;

/// A pointer to elements (stage `loops`).
#[derive(Clone, Debug)]
pub struct Pointer {
    /// What it points into.
    pub memory: Memory,
    /// Byte offset there.
    pub offset: i64,
    /// Element type.
    pub dtype: DType,
}

/// A value.
#[derive(Clone, Debug)]
pub enum Value {
    /// A scalar of either family.
    Scalar(Scalar),
    /// An array (up to stage `fused`).
    Array(Array),
    /// A pointer (stage `loops`).
    Pointer(Pointer),
    /// An owner (stage `loops`) of memory, borrowed or counted.
    Owner(Memory),
    /// A list (up to stage `fused`).
    List(Rc<Items>),
    /// A variable that is read and written by place.
    Cell(Rc<RefCell<Value>>),
}

impl Value {
    /// The scalar, or a fault.
    pub fn scalar(&self) -> Result<Scalar, Failure> {
        match self {
            Value::Scalar(s) => Ok(*s),
            other => Err(Failure::fault(format!("{other:?} where a scalar belongs"))),
        }
    }

    /// The integer, or a fault.
    pub fn int(&self) -> Result<i64, Failure> {
        self.scalar()?.as_int().ok_or_else(|| Failure::fault(format!("{self:?} where an integer belongs")))
    }

    /// The array, or a fault.
    pub fn array(&self) -> Result<&Array, Failure> {
        match self {
            Value::Array(a) => Ok(a),
            other => Err(Failure::fault(format!("{other:?} where an array belongs"))),
        }
    }

    /// The list, or a fault.
    pub fn list(&self) -> Result<Rc<Items>, Failure> {
        match self {
            Value::List(items) => Ok(items.clone()),
            other => Err(Failure::fault(format!("{other:?} where a list belongs"))),
        }
    }

    /// The variable, or a fault.
    pub fn cell(&self) -> Result<&RefCell<Value>, Failure> {
        match self {
            Value::Cell(c) => Ok(c),
            other => Err(Failure::fault(format!("{other:?} where a cell belongs"))),
        }
    }

    /// The values that stand for this one at stage `loops`: an array is pointer, owner, sizes, byte strides.
    pub fn explode(self) -> Vec<Value> {
        let Value::Array(a) = self else { return vec![self] };
        let pointer = Pointer { memory: a.memory.clone(), offset: a.offset, dtype: a.dtype };
        let mut out = vec![Value::Pointer(pointer), Value::Owner(a.memory)];
        out.extend(a.shape.into_iter().chain(a.strides).map(|n| Value::Scalar(Scalar::i64(n))));
        out
    }

    /// Takes one value of `rank` (`None`: a scalar) from the front of what stage `loops` returned.
    pub fn implode(values: &mut Vec<Value>, rank: Option<usize>) -> Result<Value, Failure> {
        let n = rank.map_or(1, |r| 2 + 2 * r);
        if values.len() < n {
            return Err(Failure::fault("fewer results than expected"));
        }
        let parts: Vec<Value> = values.drain(..n).collect();
        match (rank, &parts[0]) {
            (None, _) => Ok(parts[0].clone()),
            (Some(rank), Value::Pointer(p)) => {
                let sizes = parts[2..].iter().map(Value::int).collect::<Result<Vec<_>, _>>()?;
                Ok(Value::Array(Array {
                    memory: p.memory.clone(),
                    offset: p.offset,
                    dtype: p.dtype,
                    shape: sizes[..rank].to_vec(),
                    strides: sizes[rank..].to_vec(),
                }))
            }
            (Some(_), other) => Err(Failure::fault(format!("{other:?} where a pointer belongs"))),
        }
    }
}

/// Why a run gave no results.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The program raised: the site and the bits its message shows.
    #[error("raised site {site} with {args:?}")]
    Raised {
        /// Index into the module's sites.
        site: u32,
        /// Values of the message.
        args: Vec<u64>,
    },
    /// The program did what no program may, or the interpreter cannot.
    #[error("{0}")]
    Fault(String),
    /// Two work-items met at an element.
    #[error("work-items {} and {} meet", .0.first.0, .0.second.0)]
    Race(Box<Race>),
    /// There is no memory for so many bytes.
    #[error("no memory for {0} bytes")]
    Exhausted(usize),
    /// Whoever wanted the run wants it no more.
    #[error("interrupted")]
    Interrupted,
}

impl Failure {
    /// A fault.
    pub fn fault(message: impl Into<String>) -> Failure {
        Failure::Fault(message.into())
    }
}
