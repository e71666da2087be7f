//! The dispatch key: what a specialisation depends on, one word per argument.
//!
//! A word packs kind, dtype, rank, layout, read-only, unit dimensions and place class, so that looking a specialisation
//! up is a comparison of bytes, and the type of a parameter is read back from its word alone.

use smallvec::SmallVec;
use weft_ir::{DType, Dim, Layout, Place, TensorType, Type, Weak};

use crate::numpy::ArrayView;

/// One argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Word(u64);

/// The arguments of a call, and after them the id of the open device context's queue (0: none).
pub(crate) type Key = SmallVec<[Word; 10]>;

/// Most dimensions of an array: as many as the unit mask has bits.
pub(crate) const MAX_RANK: usize = 32;

const ARRAY: u64 = 1;
const STRONG: u64 = 2;
const WEAK: u64 = 3;
const CONTEXT: u64 = 4;

const KIND: u32 = 0; // 4 bits
const DTYPE: u32 = 4; // 4 bits
const RANK: u32 = 8; // 6 bits
const LAYOUT: u32 = 14; // 2 bits
const READONLY: u32 = 16; // 1 bit
const PLACE: u32 = 17; // 15 bits: 0 is the host, else a queue's id
const UNITS: u32 = 32; // 32 bits

const WEAKS: [Weak; 4] = [Weak::None, Weak::Bool, Weak::Int, Weak::Float];

impl Word {
    /// A Python scalar.
    pub(crate) fn weak(weak: Weak) -> Word {
        let index = WEAKS.iter().position(|&w| w == weak).unwrap_or(0);
        Word(WEAK | (index as u64) << DTYPE)
    }

    /// A NumPy scalar.
    pub(crate) fn strong(dtype: DType) -> Word {
        Word(STRONG | (dtype as u64) << DTYPE)
    }

    /// A NumPy array of a supported dtype and rank.
    pub(crate) fn array(view: ArrayView<'_>, dtype: DType) -> Word {
        let mut units = 0;
        for (i, &n) in view.shape().iter().enumerate() {
            units |= u64::from(n == 1) << i;
        }
        let layout = match view.layout() {
            Layout::C => 0,
            Layout::F => 1,
            Layout::A => 2,
            Layout::I => 3,
        };
        Word(
            ARRAY
                | (dtype as u64) << DTYPE
                | (view.shape().len() as u64) << RANK
                | layout << LAYOUT
                | u64::from(view.is_readonly()) << READONLY
                | units << UNITS,
        )
    }

    /// A C-ordered array of these sizes on the queue with this id.
    pub(crate) fn tensor(shape: &[i64], dtype: DType, id: u32) -> Word {
        let units = shape.iter().enumerate().fold(0, |units, (i, &n)| units | u64::from(n == 1) << i);
        let rank = shape.len() as u64;
        Word(ARRAY | (dtype as u64) << DTYPE | rank << RANK | u64::from(id) << PLACE | units << UNITS)
    }

    /// The open device context of a call.
    pub(crate) fn context(id: u32) -> Word {
        Word(CONTEXT | u64::from(id) << PLACE)
    }

    /// The open device context of a kernel launch of so many dimensions.
    pub(crate) fn launch(id: u32, dims: u32) -> Word {
        Word(Word::context(id).0 | u64::from(dims) << RANK)
    }

    fn bits(self, at: u32, count: u32) -> u64 {
        (self.0 >> at) & ((1 << count) - 1)
    }

    /// The type of a parameter with this argument. Sizes other than one become symbols from `next` on; `place` is where
    /// arrays of this word live.
    pub(crate) fn ty(self, next: &mut u32, place: &Place) -> Type {
        let dtype = DType::ALL[self.bits(DTYPE, 4) as usize % DType::ALL.len()];
        match self.bits(KIND, 4) {
            WEAK => Type::Py(WEAKS[self.bits(DTYPE, 4) as usize % WEAKS.len()]),
            STRONG => Type::Num(dtype),
            _ => {
                let dim = |i: u64| match self.bits(UNITS, 32) >> i & 1 {
                    1 => Dim::Const(1),
                    _ => {
                        *next += 1;
                        Dim::Sym(*next - 1)
                    }
                };
                Type::tensor(TensorType {
                    dims: (0..self.bits(RANK, 6)).map(dim).collect(),
                    dtype,
                    layout: [Layout::C, Layout::F, Layout::A, Layout::I][self.bits(LAYOUT, 2) as usize],
                    readonly: self.bits(READONLY, 1) == 1,
                    place: place.clone(),
                })
            }
        }
    }
}
