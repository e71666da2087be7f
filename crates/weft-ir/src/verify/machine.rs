//! Ring two for scalars and pointers: the ops that machines have.

use super::Checked;
use super::rules::{Rule, is_condition, is_index, list};
use crate::attr::{BinOp, CmpOp, Const, Fold};
use crate::ops::Op;
use crate::types::{DType, Place, Space, Type, Weak};

/// Families of scalar types that an op can be for.
#[derive(Clone, Copy)]
struct Family {
    bools: bool,
    ints: bool,
    floats: bool,
    complex: bool,
}

const NUMBERS: Family = Family { bools: true, ints: true, floats: true, complex: true };
const BITS: Family = Family { bools: true, ints: true, floats: false, complex: false };
const INTS: Family = Family { bools: false, ..BITS };
const REALS: Family = Family { bools: false, ints: true, floats: true, complex: false };
const FLOATS: Family = Family { bools: false, ints: false, floats: true, complex: false };

impl Family {
    fn admits(self, ty: &Type) -> bool {
        ty.scalar_dtype().is_some_and(|d| match d {
            DType::Bool => self.bools,
            d if d.is_int() => self.ints,
            d if d.is_float() => self.floats,
            _ => self.complex,
        })
    }
}

fn space_of(place: &Place) -> Space {
    if place.is_host() { Space::Host } else { Space::Global }
}

impl Rule<'_> {
    /// `arith` and `math`: rule 4.
    pub(super) fn scalar(&self) -> Checked {
        use Op::*;
        let same = |family: Family| {
            let ty = self.result(0);
            let one = self.data.operands.iter().all(|&v| self.f.ty(v) == ty);
            let found = list(&self.types(&self.data.operands));
            self.ensure(4, one, &format!("operands {found} and result {ty} are not one type"))?;
            self.ensure(4, family.admits(ty), &format!("the op is not for {ty}"))
        };
        match &self.data.op {
            Const { value } => {
                let ty = self.result(0);
                self.ensure(4, constant_fits(value, ty), &format!("the constant is no {ty}"))
            }
            Real | Imag => self.parts(self.operand(0), self.result(0)),
            Complex => {
                self.parts(self.result(0), self.operand(0))?;
                self.ensure(4, self.operand(0) == self.operand(1), "the parts differ in type")
            }
            TrueDiv => {
                let python = *self.operand(0) == Type::PYINT && *self.result(0) == Type::PYFLOAT;
                let strong = *self.operand(0) == Type::I64 && *self.result(0) == Type::F64;
                let one = self.operand(0) == self.operand(1);
                self.ensure(4, one && (python || strong), "divides two Python ints, which gives a float")
            }
            Add | Mul => same(NUMBERS),
            Cmul => same(Family { floats: false, complex: true, ..FLOATS }),
            Sub | Pow | Neg => same(Family { bools: false, ..NUMBERS }),
            Div => same(Family { complex: true, ..FLOATS }),
            FloorDiv | Mod | Abs => same(REALS),
            Min | Max => same(Family { bools: true, ..REALS }),
            And | Or | Xor | Not => same(BITS),
            Shl | Shr | Wrap => same(INTS),
            Math { function, .. } => {
                let arity = function.arity();
                self.ensure(4, self.data.operands.len() == arity, &format!("the function takes {arity} arguments"))?;
                same(Family { complex: function.has_complex(), ..FLOATS })
            }
            Bits => {
                let size = |ty: &Type| ty.scalar_dtype().filter(|d| d.is_int() || d.is_float()).map(DType::size);
                let (from, to) = (size(self.operand(0)), size(self.result(0)));
                self.ensure(4, from.is_some() && from == to, "the bits of a number are one of the same size")
            }
            Cmp { is } => {
                let ty = self.operand(0);
                self.ensure(4, ty == self.operand(1), "two types are compared")?;
                let ordered = Family { bools: true, ..REALS };
                let family = match is {
                    CmpOp::Eq | CmpOp::Ne => NUMBERS,
                    CmpOp::Lt | CmpOp::Le | CmpOp::Gt | CmpOp::Ge => ordered,
                    _ => return Err(self.fail(4, "objects are not compared after stage py")),
                };
                self.ensure(4, family.admits(ty), &format!("the comparison is not for {ty}"))?;
                self.ensure(4, is_condition(self.result(0)), "the result is no bool")
            }
            Select => {
                self.ensure(4, is_condition(self.operand(0)), "the condition is no bool")?;
                let ty = self.result(0);
                self.ensure(4, self.operand(1) == ty && self.operand(2) == ty, "the choices and the result differ")
            }
            Cast => self.ensure(
                4,
                self.operand(0).is_scalar() && self.result(0).is_scalar(),
                "a cast goes from scalar to scalar",
            ),
            Checked { op, site } => {
                self.site(*site)?;
                let known = matches!(op, BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::FloorDiv);
                self.ensure(4, known, "this operator is not checked")?;
                same(INTS)?;
                let ty = self.result(0);
                self.ensure(4, *ty == Type::PYINT || *ty == Type::I64, "only Python ints are checked")
            }
            _ => Ok(()),
        }
    }

    /// A complex number's parts are floats of half its size, of the same family.
    fn parts(&self, whole: &Type, part: &Type) -> Checked {
        let fits = match (whole, part) {
            (Type::Py(Weak::Complex), Type::Py(Weak::Float)) => true,
            (Type::Num(w), Type::Num(p)) => w.part() == Some(*p),
            _ => false,
        };
        self.ensure(4, fits, &format!("{part} is no part of {whole}"))
    }

    /// Pointers and owners: rule 10.
    pub(super) fn mem(&self) -> Checked {
        let ins = &self.data.operands;
        let pointer = |ty: &Type| match ty {
            Type::Mem(d, s) => Ok((*d, *s)),
            other => Err(self.fail(10, format!("{other} is no pointer"))),
        };
        let made = |at: &Place| {
            let (dtype, space) = pointer(self.result(0))?;
            self.ensure(10, space == space_of(at), "the pointer's space is not that of the place")?;
            self.ensure(10, *self.result(1) == Type::Owner, "the second result is no owner")?;
            Ok(dtype)
        };
        match &self.data.op {
            Op::MemLoad { .. } => {
                let (dtype, _) = pointer(self.operand(0))?;
                self.ensure(10, is_index(self.operand(1)), "the index is no i64 or i32")?;
                self.ensure(10, *self.result(0) == Type::Num(dtype), "the result is not what the pointer points to")
            }
            Op::MemStore { .. } => {
                let (dtype, _) = pointer(self.operand(1))?;
                self.ensure(10, is_index(self.operand(2)), "the index is no i64 or i32")?;
                self.ensure(10, *self.operand(0) == Type::Num(dtype), "the value is not what the pointer points to")
            }
            Op::MemAtomic { rmw, .. } => {
                let (dtype, _) = pointer(self.operand(0))?;
                self.ensure(10, is_index(self.operand(1)), "the index is no i64 or i32")?;
                self.ensure(10, rmw.fits(dtype), "elements of this dtype have no such update")?;
                let values = &self.data.operands[2..];
                let fit = values.iter().all(|&v| *self.f.ty(v) == Type::Num(dtype)) && values.len() == rmw.values();
                self.ensure(10, fit, "the values are not what the pointer points to")?;
                self.ensure(10, *self.result(0) == Type::Num(dtype), "the result is not what the pointer points to")
            }
            Op::MemAlloc { at } => {
                self.ensure(10, *self.operand(0) == Type::I64, "a number of bytes is i64")?;
                made(at).map(drop)
            }
            Op::MemZero => {
                self.ensure(10, *self.operand(1) == Type::I64, "a number of bytes is i64")?;
                let host = matches!(self.operand(0), Type::Mem(_, Space::Host));
                self.ensure(10, host, "memory that is made 0 is the host's")
            }
            Op::MemPointer => {
                self.ensure(10, *self.operand(0) == Type::I64, "an address is i64")?;
                pointer(self.operand(1)).and(pointer(self.result(0))).map(drop)
            }
            Op::MemShare => {
                let words = *self.operand(0) == Type::I64 && *self.operand(1) == Type::I64;
                self.ensure(10, words, "an address and a word are i64")?;
                made(&Place::Host).map(drop)
            }
            Op::MemKeep => {
                let fits = *self.operand(0) == Type::Owner && *self.result(0) == Type::I64;
                self.ensure(10, fits, "keeps no owner")
            }
            Op::MemDrop => self.ensure(10, *self.operand(0) == Type::I64, "a word is i64"),
            Op::MemList { .. } => made(&Place::Host).map(drop),
            Op::MemReserve => {
                pointer(self.operand(0))?;
                self.ensure(10, *self.operand(1) == Type::I64, "a number of items is i64")
            }
            Op::MemStack { .. } => {
                let own = if self.f.kernel { Space::Private } else { Space::Host };
                let fits = matches!(self.result(0), Type::Mem(_, space) if *space == own);
                self.ensure(10, fits, "memory of a region is the host's, or private to an item of a kernel")
            }
            Op::MemLocal { bytes } => {
                let fits =
                    matches!(self.result(0), Type::Mem(d, Space::Local) if (*bytes as usize).is_multiple_of(d.size()));
                self.ensure(10, fits, "memory of a group is local, and holds whole elements")
            }
            Op::MemReduce { fold, .. } => {
                let (from, _) = pointer(self.operand(0))?;
                let (to, _) = pointer(self.operand(1))?;
                let index = matches!(fold, Fold::ArgMin | Fold::ArgMax);
                self.ensure(10, to == if index { DType::I64 } else { from }, "the results are not the elements'")?;
                let words = self.data.operands[2..].iter().all(|&v| *self.f.ty(v) == Type::I64);
                self.ensure(10, words, "a number or step is no i64")
            }
            Op::MemScan { .. } => {
                let (to, _) = pointer(self.operand(0))?;
                let (from, _) = pointer(self.operand(1))?;
                self.ensure(10, to == from, "the results are not the elements'")?;
                let words = self.data.operands[2..].iter().all(|&v| *self.f.ty(v) == Type::I64);
                self.ensure(10, words, "a number or step is no i64")
            }
            Op::MemCopy { rank } => {
                let (to, _) = pointer(self.operand(0))?;
                let (from, _) = pointer(self.operand(1))?;
                self.ensure(10, to == from, "the dtypes differ")?;
                self.ensure(10, ins.len() == 2 + 3 * *rank as usize, "not a size and two strides per dimension")?;
                let words = ins[2..].iter().all(|&v| *self.f.ty(v) == Type::I64);
                self.ensure(10, words, "sizes and strides are i64")
            }
            Op::MemCount => {
                let (mask, _) = pointer(self.operand(0))?;
                let numbers = *self.operand(1) == Type::I64 && *self.result(0) == Type::I64;
                self.ensure(10, mask == DType::Bool && numbers, "counts no bools")
            }
            Op::MemCompress { .. } => {
                let (to, _) = pointer(self.operand(0))?;
                let (from, _) = pointer(self.operand(1))?;
                let (mask, _) = pointer(self.operand(2))?;
                self.ensure(10, to == from && mask == DType::Bool, "the dtypes differ, or the mask is none")?;
                self.ensure(10, *self.operand(3) == Type::I64, "the number is no i64")
            }
            Op::MemMatmul | Op::MemProduct => {
                let (to, _) = pointer(self.operand(0))?;
                let (a, _) = pointer(self.operand(1))?;
                let (b, _) = pointer(self.operand(2))?;
                self.ensure(10, to == a && to == b, "the matrices are of different dtypes")?;
                let words = self.data.operands[3..].iter().all(|&v| *self.f.ty(v) == Type::I64);
                self.ensure(10, words, "a number or step is no i64")
            }
            Op::MemBothSides => {
                let (to, _) = pointer(self.operand(0))?;
                for k in 1..5 {
                    self.ensure(10, pointer(self.operand(k))?.0 == to, "the arrays are of different dtypes")?;
                }
                let words = self.data.operands[5..].iter().all(|&v| *self.f.ty(v) == Type::I64);
                self.ensure(10, words, "a number or step is no i64")
            }
            Op::MemCholesky => {
                pointer(self.operand(0))?;
                let words = self.data.operands[1..].iter().all(|&v| *self.f.ty(v) == Type::I64);
                self.ensure(10, words && *self.result(0) == Type::I64, "a number or step is no i64")
            }
            Op::MemSolve => {
                let (a, _) = pointer(self.operand(0))?;
                let (b, _) = pointer(self.operand(1))?;
                self.ensure(10, a == b, "the matrices are of different dtypes")?;
                let words = self.data.operands[2..].iter().all(|&v| *self.f.ty(v) == Type::I64);
                self.ensure(10, words && *self.result(0) == Type::I64, "a number or step is no i64")
            }
            Op::MemDot => {
                let (a, _) = pointer(self.operand(0))?;
                let (b, _) = pointer(self.operand(1))?;
                self.ensure(10, a == b, "the vectors are of different dtypes")?;
                let words = self.data.operands[2..].iter().all(|&v| *self.f.ty(v) == Type::I64);
                self.ensure(10, words, "a number or step is no i64")?;
                self.ensure(10, *self.result(0) == Type::Num(a), "the result is not the vectors' element")
            }
            Op::MemRelease => self.ensure(10, *self.operand(0) == Type::Owner, "releases no owner"),
            Op::MemNeed { at, rank, .. } => {
                let (dtype, _) = pointer(self.operand(0))?;
                self.ensure(10, *self.operand(1) == Type::Owner, "the second operand is no owner")?;
                self.ensure(10, ins.len() == 2 + 2 * *rank as usize, "not a size and a stride per dimension")?;
                let all = ins[2..].iter().all(|&v| *self.f.ty(v) == Type::I64);
                self.ensure(10, all, "sizes and strides are i64")?;
                self.ensure(10, made(at)? == dtype, "the pointer changes its dtype")
            }
            _ => Ok(()),
        }
    }
}

fn constant_fits(value: &Const, ty: &Type) -> bool {
    match (value, ty) {
        (Const::None, _) => *ty == Type::NONE,
        (Const::Bool(_), _) => is_condition(ty),
        (Const::Str(_) | Const::Ellipsis, _) | (_, Type::Py(Weak::None)) => false,
        (Const::Complex(..), _) => ty.scalar_dtype().is_some_and(DType::is_complex),
        (Const::Float(_), _) => FLOATS.admits(ty),
        (Const::Int(v), _) => ty.scalar_dtype().is_some_and(|d| match d.int_bounds() {
            Some((lo, hi)) => (lo..=hi).contains(v),
            None => d.is_float(),
        }),
    }
}
