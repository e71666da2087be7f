//! The dispatch key: what a specialisation depends on, one word per value among the arguments.
//!
//! A word packs kind, dtype, rank, layout, read-only, unit dimensions and place class, so that looking a specialisation
//! up is a comparison of bytes, and what an argument is can be read back from its words alone. A tuple is a word with
//! its length, followed by the words of its parts. What a word cannot hold (a function, a string) is a number in the
//! function's own table ([`crate::constants`]).
//!
//! The last word says which sizes are equal, and which integers are sizes ([`Alike`]): code for arrays that go together needs no
//! checks that they do, and its loops fuse. After a few such patterns of one function, code for any sizes serves all further
//! ones.

use smallvec::SmallVec;
use weft_ir::attr::Const;
use weft_ir::{DType, Dim, Layout, Place, TensorType, Type, Weak};
use weft_passes::infer::Param;

use crate::numpy::ArrayView;

/// One value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Word(u64);

/// The arguments of a call, after them the id of the open device context's queue (0: none), and which sizes are equal.
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

    /// The last word of code for any sizes.
    pub(crate) const GENERAL: Word = Word(1 << 63);

    /// Whether code with this last word serves a call with that one.
    #[inline]
    pub(crate) fn serves(self, call: Word) -> bool {
        self == call || self == Word::GENERAL
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

/// Most sizes that are told apart.
const SIZES: usize = 7;
/// Most integers that are compared with sizes, and the bits of each.
const INTS: usize = 4;
const INT_BITS: u32 = 3;
/// Bits of all of them, below those of the axes; the highest bit of a word says that there is no pattern.
const ALL_INTS: u32 = INTS as u32 * INT_BITS;
const AXES: u32 = 63 - ALL_INTS;

/// Bits of a code among so many known sizes: 0 for a size that is told apart from none, the number of a known one, or one more
/// for a size that is known from then on.
fn code_bits(known: usize) -> u32 {
    usize::BITS - (known + usize::from(known < SIZES)).leading_zeros()
}

/// Which sizes of the arguments are equal: codes of the integers, then of every axis in order.
#[derive(Clone, Copy, Default)]
pub(crate) struct Alike {
    pattern: u64,
    /// Bits of the axes so far.
    bits: u32,
    sizes: [u64; SIZES],
    known: usize,
    /// Where integers are among the slots.
    ints: [u32; INTS],
    int_count: usize,
}

impl Alike {
    /// Adds an array whose sizes are at a place among the slots.
    #[inline]
    pub(crate) fn add(&mut self, slots: &[u64], at: usize, rank: usize) {
        for &size in &slots[at..at + rank] {
            let bits = code_bits(self.known);
            if self.bits + bits > AXES {
                return;
            }
            let code = match self.number(size) {
                // The array's word says so.
                _ if size == 1 => 0,
                None if self.known < SIZES => {
                    self.sizes[self.known] = size;
                    self.known += 1;
                    self.known
                }
                number => number.unwrap_or(0),
            };
            self.pattern |= (code as u64) << self.bits;
            self.bits += bits;
        }
    }

    /// Adds a Python integer at a place among the slots.
    #[inline]
    pub(crate) fn add_int(&mut self, at: usize) {
        if self.int_count < INTS {
            self.ints[self.int_count] = at as u32;
            self.int_count += 1;
        }
    }

    /// The last word of the call's key.
    #[inline]
    pub(crate) fn word(&self, slots: &[u64]) -> Word {
        let mut word = self.pattern << ALL_INTS;
        for (k, &at) in self.ints[..self.int_count].iter().enumerate() {
            word |= (self.number(slots[at as usize]).unwrap_or(0) as u64) << (k as u32 * INT_BITS);
        }
        Word(word)
    }

    /// The number of a known size, from 1.
    #[inline]
    fn number(&self, size: u64) -> Option<usize> {
        self.sizes[..self.known].iter().position(|&s| s == size).map(|k| k + 1)
    }
}

/// Reads the words of a key back, one argument after the other.
pub(crate) struct Words<'a> {
    rest: &'a [Word],
    /// The next symbol of a size.
    next: u32,
    /// Where arrays live.
    place: &'a Place,
    /// The codes of axes and of integers that are left; nothing in code for any sizes.
    pattern: Option<(u64, u64)>,
    bits: u32,
    sizes: Vec<Dim>,
}

impl<'a> Words<'a> {
    pub(crate) fn new(key: &'a Key, place: &'a Place) -> Words<'a> {
        let last = key.last().filter(|last| **last != Word::GENERAL);
        let pattern = last.map(|last| (last.0 >> ALL_INTS, last.0 & ((1 << ALL_INTS) - 1)));
        Words { rest: key, next: 0, place, pattern, bits: 0, sizes: vec![] }
    }

    /// The type of an array or number. Sizes that are equal have one symbol.
    fn ty(&mut self, word: Word) -> Type {
        let ty = word.ty(&mut self.next, self.place);
        let (Some(t), Some((codes, _))) = (ty.as_tensor(), &mut self.pattern) else { return ty };
        let mut dims = t.dims.clone();
        for dim in dims.iter_mut() {
            let bits = code_bits(self.sizes.len());
            if self.bits + bits > AXES {
                break;
            }
            let code = (*codes & ((1 << bits) - 1)) as usize;
            *codes >>= bits;
            self.bits += bits;
            match code.checked_sub(1) {
                None => {}
                Some(new) if new == self.sizes.len() => self.sizes.push(*dim),
                Some(known) => *dim = self.sizes.get(known).copied().unwrap_or(*dim),
            }
        }
        Type::tensor(TensorType { dims, ..t.clone() })
    }

    /// Python integers that are sizes. To be called when all arguments have been read.
    pub(crate) fn name_sizes(&self, params: &mut [Param]) {
        let Some((_, mut codes)) = self.pattern else { return };
        each_int(params, &mut |param| {
            let code = (codes & ((1 << INT_BITS) - 1)) as usize;
            codes >>= INT_BITS;
            if let Some(&dim) = code.checked_sub(1).and_then(|k| self.sizes.get(k)) {
                *param = Param::Size(dim);
            }
        });
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
                let outer = self.pattern.take();
                let item = self.param(constant)?;
                self.pattern = outer;
                Param::List(Some(Box::new(item)))
            }
            CONSTANT => constant(word.as_constant()?)?,
            _ if word == Word::weak(Weak::None) => Param::Const(Const::None),
            _ => Param::Value(self.ty(word)),
        })
    }
}

/// Every Python integer among the arguments, in order; those in lists are none.
fn each_int(params: &mut [Param], visit: &mut dyn FnMut(&mut Param)) {
    for param in params {
        match param {
            Param::Value(Type::Py(Weak::Int)) => visit(param),
            Param::Tuple(parts) => each_int(parts, visit),
            _ => {}
        }
    }
}
