//! The dispatch key: what a specialisation depends on, one word per value among the arguments.
//!
//! A word packs kind, dtype, rank, layout, read-only, unit dimensions and place class, so that looking a specialisation
//! up is a comparison of bytes, and what an argument is can be read back from its words alone. A tuple is a word with
//! its length, followed by the words of its parts. What a word cannot hold (a function, a string) is a number in the
//! function's own table ([`crate::constants`]).
//!
//! The last word also says which sizes are equal ([`Alike`]): code for arrays that go together needs no checks that they do,
//! and its loops fuse. After a few such patterns of one function, code for any sizes serves all further ones.

use smallvec::SmallVec;
use weft_ir::attr::Const;
use weft_ir::{DType, Dim, Layout, Place, TensorType, Type, Weak};
use weft_passes::infer::Param;

use crate::numpy::ArrayView;

/// One value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Word(u64);

/// The arguments of a call, and after them the id of the open device context's queue (0: none).
pub(crate) type Key = SmallVec<[Word; 12]>;

/// Most dimensions of an array: as many as the unit mask has bits.
pub(crate) const MAX_RANK: usize = 32;

const ARRAY: u64 = 1;
const STRONG: u64 = 2;
const WEAK: u64 = 3;
const CONTEXT: u64 = 4;
const TUPLE: u64 = 5;
const CONSTANT: u64 = 6;
const LIST: u64 = 7;

const KIND: u32 = 0; // 4 bits
const DTYPE: u32 = 4; // 4 bits
const RANK: u32 = 8; // 6 bits
const LAYOUT: u32 = 14; // 2 bits
const READONLY: u32 = 16; // 1 bit
const PLACE: u32 = 17; // 15 bits: 0 is the host, else a queue's id
const UNITS: u32 = 32; // 32 bits; of tuples the length, of constants the number

/// In the last word: the code is for any sizes.
const GENERAL: u64 = 1 << DTYPE;
const PATTERN: u64 = 0xffff_ffff << UNITS | GENERAL;

const WEAKS: [Weak; 5] = [Weak::None, Weak::Bool, Weak::Int, Weak::Float, Weak::Complex];

impl Word {
    /// A Python scalar.
    pub(crate) const fn weak(weak: Weak) -> Word {
        let index = match weak {
            Weak::None => 0,
            Weak::Bool => 1,
            Weak::Int => 2,
            Weak::Float => 3,
            Weak::Complex => 4,
        };
        Word(WEAK | index << DTYPE)
    }

    /// A NumPy scalar.
    pub(crate) fn strong(dtype: DType) -> Word {
        Word(STRONG | (dtype as u64) << DTYPE)
    }

    /// A NumPy array of a supported dtype and rank.
    pub(crate) fn array(view: ArrayView<'_>, dtype: DType) -> Word {
        let units = view.shape().iter().enumerate().fold(0, |units, (i, &n)| units | u32::from(n == 1) << i);
        Word::array_of(dtype, view.shape().len(), view.layout(), view.is_readonly(), units)
    }

    /// An array of the host, by what its word holds.
    pub(crate) fn array_of(dtype: DType, rank: usize, layout: Layout, readonly: bool, units: u32) -> Word {
        let layout = match layout {
            Layout::C => 0,
            Layout::F => 1,
            Layout::A => 2,
            Layout::I => 3,
        };
        Word(
            ARRAY
                | (dtype as u64) << DTYPE
                | (rank as u64) << RANK
                | layout << LAYOUT
                | u64::from(readonly) << READONLY
                | u64::from(units) << UNITS,
        )
    }

    /// A C-ordered array of these sizes on the queue with this id.
    pub(crate) fn tensor(shape: &[i64], dtype: DType, id: u32) -> Word {
        let units = shape.iter().enumerate().fold(0, |units, (i, &n)| units | u64::from(n == 1) << i);
        let rank = shape.len() as u64;
        Word(ARRAY | (dtype as u64) << DTYPE | rank << RANK | u64::from(id) << PLACE | units << UNITS)
    }

    /// A tuple of so many parts, whose words follow.
    pub(crate) fn tuple(parts: usize) -> Word {
        Word(TUPLE | (parts as u64) << UNITS)
    }

    /// A list; the word of its items follows, if anything is known of them.
    pub(crate) fn list(known: bool) -> Word {
        Word(LIST | u64::from(known) << UNITS)
    }

    /// What the specialisation is for, by its number in the function's table.
    pub(crate) fn constant(number: u32) -> Word {
        Word(CONSTANT | u64::from(number) << UNITS)
    }

    /// The number of [`Word::constant`].
    pub(crate) fn as_constant(self) -> Option<u32> {
        (self.bits(KIND, 4) == CONSTANT).then(|| self.bits(UNITS, 32) as u32)
    }

    /// The open device context of a call.
    pub(crate) fn context(id: u32) -> Word {
        Word(CONTEXT | u64::from(id) << PLACE)
    }

    /// The last word of a call whose sizes are equal as this pattern says.
    pub(crate) fn sized(self, alike: Alike) -> Word {
        Word(self.0 | u64::from(alike.pattern) << UNITS)
    }

    /// The last word of code for any sizes.
    pub(crate) fn general(self) -> Word {
        Word(self.0 & !PATTERN | GENERAL)
    }

    /// Whether this is the last word of calls and code for the host.
    pub(crate) fn is_of_host(self) -> bool {
        self.0 & !PATTERN == Word::context(0).0
    }

    /// Whether code with this last word serves a call with that one.
    #[inline]
    pub(crate) fn serves(self, call: Word) -> bool {
        self == call || (self.0 & GENERAL != 0 && self.0 & !PATTERN == call.0 & !PATTERN)
    }

    /// The open device context of a kernel launch of so many dimensions.
    pub(crate) fn launch(id: u32, dims: u32) -> Word {
        Word(Word::context(id).0 | u64::from(dims) << RANK)
    }

    fn bits(self, at: u32, count: u32) -> u64 {
        (self.0 >> at) & ((1 << count) - 1)
    }

    /// The type of a value with this word. Sizes other than one become symbols from `next` on; `place` is where arrays
    /// of this word live.
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

/// Which sizes of the arguments are equal. The first array of each rank leads: every later one of that rank has a bit for each
/// of its axes, set where its size is the leader's (and not 1, which the array's word says).
#[derive(Clone, Copy, Default)]
pub(crate) struct Alike {
    pattern: u32,
    bits: u32,
    /// For ranks 1 to 4, where the leader's sizes are among the slots, plus one.
    leaders: [u32; 4],
}

impl Alike {
    /// Adds an array whose sizes are at a place among the slots.
    #[inline]
    pub(crate) fn add(&mut self, slots: &[u64], at: usize, rank: usize) {
        let Some(leader) = self.leaders.get_mut(rank.wrapping_sub(1)) else { return };
        if *leader == 0 {
            *leader = at as u32 + 1;
            return;
        }
        let first = *leader as usize - 1;
        for k in 0..rank {
            let equal = slots[at + k] == slots[first + k] && slots[at + k] != 1;
            if self.bits < u32::BITS {
                self.pattern |= u32::from(equal) << self.bits;
                self.bits += 1;
            }
        }
    }
}

/// Reads the words of a key back, one argument after the other.
pub(crate) struct Words<'a> {
    rest: &'a [Word],
    /// The next symbol of a size.
    next: u32,
    /// Where arrays live.
    place: &'a Place,
    /// The pattern of equal sizes that is left, and the sizes of the leaders.
    pattern: u32,
    leaders: [Vec<Dim>; 4],
}

impl<'a> Words<'a> {
    pub(crate) fn new(key: &'a Key, place: &'a Place) -> Words<'a> {
        let pattern = key.last().map_or(0, |last| last.bits(UNITS, 32) as u32);
        Words { rest: key, next: 0, place, pattern, leaders: Default::default() }
    }

    /// The type of an array or number. Sizes that are equal have one symbol.
    fn ty(&mut self, word: Word) -> Type {
        let ty = word.ty(&mut self.next, self.place);
        let Some(t) = ty.as_tensor() else { return ty };
        let Some(leader) = self.leaders.get_mut(t.rank().wrapping_sub(1)) else { return ty };
        if leader.is_empty() {
            leader.clone_from(&t.dims);
            return ty;
        }
        let mut dims = t.dims.clone();
        for (dim, &known) in dims.iter_mut().zip(&*leader) {
            if self.pattern & 1 == 1 {
                *dim = known;
            }
            self.pattern >>= 1;
        }
        Type::tensor(TensorType { dims, ..t.clone() })
    }

    /// What the next argument is. `constant` says what a number in the function's table stands for.
    pub(crate) fn param(&mut self, constant: &mut dyn FnMut(u32) -> Option<Param>) -> Option<Param> {
        let (&word, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(match word.bits(KIND, 4) {
            TUPLE => {
                let parts = (0..word.bits(UNITS, 32)).map(|_| self.param(constant));
                Param::Tuple(parts.collect::<Option<_>>()?)
            }
            LIST if word.bits(UNITS, 32) == 0 => Param::List(None),
            LIST => {
                // The sizes of arrays in lists are not compared.
                let outer = (std::mem::take(&mut self.pattern), std::mem::take(&mut self.leaders));
                let item = self.param(constant)?;
                (self.pattern, self.leaders) = outer;
                Param::List(Some(Box::new(item)))
            }
            CONSTANT => constant(word.as_constant()?)?,
            _ if word == Word::weak(Weak::None) => Param::Const(Const::None),
            _ => Param::Value(self.ty(word)),
        })
    }
}
