//! NumPy at the level of its C API: what an array is, what a scalar is, and how results are made.
//!
//! Nothing here calls a NumPy function that computes. Arrays are read through their C struct (stable since NumPy 1.22,
//! the same in 2.x); only making results goes through NumPy's function table.

mod api;
mod array;
mod memory;
mod scalar;

pub(crate) use api::Api;
pub(crate) use array::{ArrayView, new_array, new_view};
pub(crate) use memory::pool_array;
pub(crate) use scalar::{make_scalar, read_scalar, scalar_dtype};

use weft_ir::DType;

/// NumPy's type numbers, by the dtypes Weft names. `long` is 64 bits on every platform we build for.
const TYPE_NUMS: [(i32, DType); 16] = [
    (0, DType::Bool),
    (1, DType::I8),
    (2, DType::U8),
    (3, DType::I16),
    (4, DType::U16),
    (5, DType::I32),
    (6, DType::U32),
    (7, DType::I64),
    (8, DType::U64),
    (9, DType::I64),
    (10, DType::U64),
    (11, DType::F32),
    (12, DType::F64),
    (14, DType::C64),
    (15, DType::C128),
    (23, DType::F16),
];

/// The dtype of a type number, or `None` for what Weft has no name for (long double, objects, strings, dates …).
#[inline]
pub(crate) fn dtype_of(type_num: i32) -> Option<DType> {
    const BY_NUMBER: [Option<DType>; 24] = {
        let mut table = [None; 24];
        let mut i = 0;
        while i < TYPE_NUMS.len() {
            table[TYPE_NUMS[i].0 as usize] = Some(TYPE_NUMS[i].1);
            i += 1;
        }
        table
    };
    BY_NUMBER.get(type_num as usize).copied().flatten()
}

/// The type number NumPy itself uses for a dtype.
pub(crate) fn type_num(dtype: DType) -> i32 {
    // Every dtype is in the table; of two numbers the first is the one that NumPy's names mean.
    TYPE_NUMS.iter().find(|(_, d)| *d == dtype).map_or(12, |&(n, _)| n)
}
