//! Memory and arrays in it.

use crate::scalar::Scalar;
use crate::value::Failure;
use crate::watch::{Access, Now, Watched};
use std::cell::{Cell, Ref, RefCell};
use std::rc::Rc;
use weft_ir::{DType, Layout};

/// A block of bytes that arrays and pointers share.
#[derive(Clone, Debug)]
pub struct Memory(Rc<Block>);

#[derive(Debug)]
struct Block {
    bytes: RefCell<Vec<u8>>,
    /// Owners that are left; without any, an access is a fault. Memory lent by the caller starts with one of the caller's.
    count: Cell<usize>,
    /// What work-items did to it, if anybody wants to know.
    watched: Option<Watched>,
}

impl Memory {
    fn new(bytes: Vec<u8>, count: usize) -> Memory {
        Memory(Rc::new(Block { bytes: RefCell::new(bytes), count: Cell::new(count), watched: None }))
    }

    /// Memory lent by the caller that work-items share: an access at which two of them meet is a [`Failure::Race`].
    pub fn watched(bytes: Vec<u8>, now: &Now) -> Memory {
        let (bytes, count) = (RefCell::new(bytes), Cell::new(usize::MAX / 2));
        Memory(Rc::new(Block { bytes, count, watched: Some(Watched::new(now)) }))
    }

    /// Memory lent by the caller, whose own count no program drops.
    pub fn borrowed(bytes: Vec<u8>) -> Memory {
        Memory::new(bytes, usize::MAX / 2)
    }

    /// Fresh memory of a program with one owner, filled with what nobody would take for a result.
    pub fn fresh(bytes: usize) -> Result<Memory, Failure> {
        let mut all = vec![];
        all.try_reserve_exact(bytes).map_err(|_| Failure::Exhausted(bytes))?;
        all.resize(bytes, 0xa5);
        Ok(Memory::new(all, 1))
    }

    /// Another block with the same bytes and one owner.
    pub fn copy(&self) -> Memory {
        Memory::new(self.to_bytes(), 1)
    }

    /// One more owner of the same block.
    pub fn share(&self) -> Memory {
        self.0.count.set(self.0.count.get() + 1);
        self.clone()
    }

    /// One owner less.
    pub fn release(&self) -> Result<(), Failure> {
        let left = self.0.count.get().checked_sub(1).ok_or_else(|| Failure::fault("memory released twice"))?;
        self.0.count.set(left);
        Ok(())
    }

    /// Owners that are left.
    pub fn owners(&self) -> usize {
        self.0.count.get()
    }

    /// A number that differs between blocks by more than their sizes.
    pub fn address(&self) -> i64 {
        self.0.bytes.borrow().as_ptr() as i64
    }

    /// Whether both are the same block.
    pub fn same(&self, other: &Memory) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    /// All bytes.
    pub fn bytes(&self) -> Ref<'_, Vec<u8>> {
        self.0.bytes.borrow()
    }

    /// A copy of all bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.0.bytes.borrow().clone()
    }

    /// Overwrites all bytes.
    pub fn set_bytes(&self, bytes: Vec<u8>) {
        *self.0.bytes.borrow_mut() = bytes;
    }

    fn range(&self, offset: i64, size: usize) -> Result<std::ops::Range<usize>, Failure> {
        if self.0.count.get() == 0 {
            return Err(Failure::fault("memory used after its release"));
        }
        let len = self.0.bytes.borrow().len();
        match usize::try_from(offset) {
            Ok(start) if start + size <= len => Ok(start..start + size),
            _ => Err(Failure::fault(format!("byte {offset} is outside of a block of {len} bytes"))),
        }
    }

    /// The element at a byte offset.
    pub fn load(&self, offset: i64, dtype: DType) -> Result<Scalar, Failure> {
        let value = self.peek(offset, dtype)?;
        self.0.watched.as_ref().map_or(Ok(()), |watched| watched.note(offset, Access::Read, false))?;
        Ok(value)
    }

    /// Writes an element at a byte offset.
    pub fn store(&self, offset: i64, value: Scalar) -> Result<(), Failure> {
        if let Some(watched) = &self.0.watched {
            let dtype = value.dtype().ok_or_else(|| Failure::fault("None is no element"))?;
            let same = self.peek(offset, dtype)?.to_bits() == value.to_bits();
            watched.note(offset, Access::Write, same)?;
        }
        self.poke(offset, value)
    }

    /// Puts what `update` makes of the element at a byte offset in its place, and gives the old one.
    pub fn update(
        &self,
        offset: i64,
        dtype: DType,
        update: impl FnOnce(Scalar) -> Result<Scalar, Failure>,
    ) -> Result<Scalar, Failure> {
        let old = self.peek(offset, dtype)?;
        self.0.watched.as_ref().map_or(Ok(()), |watched| watched.note(offset, Access::Update, false))?;
        self.poke(offset, update(old)?)?;
        Ok(old)
    }

    fn peek(&self, offset: i64, dtype: DType) -> Result<Scalar, Failure> {
        let range = self.range(offset, dtype.size())?;
        let bytes = self.0.bytes.borrow();
        let raw = &bytes[range];
        let mut wide = [0; 16];
        wide[..raw.len()].copy_from_slice(raw);
        Ok(Scalar::from_bits(u128::from_le_bytes(wide), dtype))
    }

    fn poke(&self, offset: i64, value: Scalar) -> Result<(), Failure> {
        let dtype = value.dtype().ok_or_else(|| Failure::fault("None is no element"))?;
        let range = self.range(offset, dtype.size())?;
        self.0.bytes.borrow_mut()[range].copy_from_slice(&value.to_bits().to_le_bytes()[..dtype.size()]);
        Ok(())
    }

    /// Makes so many bytes 0.
    pub fn clear(&self, offset: i64, bytes: i64) -> Result<(), Failure> {
        let bytes = usize::try_from(bytes).map_err(|_| Failure::fault(format!("{bytes} bytes to clear")))?;
        let range = self.range(offset, bytes)?;
        self.0.bytes.borrow_mut()[range].fill(0);
        Ok(())
    }
}

/// A view of memory: what a descriptor of COMPILER 3.1 says.
#[derive(Clone, Debug)]
pub struct Array {
    /// The block.
    pub memory: Memory,
    /// Byte offset of element `[0, …]`.
    pub offset: i64,
    /// Element type.
    pub dtype: DType,
    /// Sizes.
    pub shape: Vec<i64>,
    /// Byte strides; may be negative.
    pub strides: Vec<i64>,
}

/// Byte strides of contiguous memory.
pub fn strides_of(shape: &[i64], dtype: DType, layout: Layout) -> Vec<i64> {
    let mut strides = vec![0; shape.len()];
    let mut step = dtype.size() as i64;
    let mut fill = |i: usize| {
        strides[i] = step;
        step *= shape[i].max(1);
    };
    match layout {
        Layout::F => (0..shape.len()).for_each(&mut fill),
        _ => (0..shape.len()).rev().for_each(&mut fill),
    }
    strides
}

impl Array {
    /// Fresh, contiguous memory.
    pub fn fresh(shape: &[i64], dtype: DType, layout: Layout) -> Result<Array, Failure> {
        let count: i64 = shape.iter().product();
        let memory = Memory::fresh(count as usize * dtype.size())?;
        Ok(Array { memory, offset: 0, dtype, shape: shape.into(), strides: strides_of(shape, dtype, layout) })
    }

    /// A C-ordered array that the caller owns, from its elements in C order.
    pub fn from_elements(shape: &[i64], dtype: DType, elements: &[Scalar]) -> Result<Array, Failure> {
        let memory = Memory::borrowed(vec![0; elements.len() * dtype.size()]);
        for (i, &e) in elements.iter().enumerate() {
            memory.store((i * dtype.size()) as i64, e.cast(dtype)?)?;
        }
        Ok(Array { memory, offset: 0, dtype, shape: shape.into(), strides: strides_of(shape, dtype, Layout::C) })
    }

    /// Elements in C order.
    pub fn elements(&self) -> Result<Vec<Scalar>, Failure> {
        indices(&self.shape).map(|index| self.load(&index)).collect()
    }

    /// Byte offset of an element, bounds checked.
    fn address(&self, index: &[i64]) -> Result<i64, Failure> {
        if index.len() != self.shape.len() || index.iter().zip(&self.shape).any(|(i, n)| !(0..*n).contains(i)) {
            return Err(Failure::fault(format!("index {index:?} is out of bounds for sizes {:?}", self.shape)));
        }
        Ok(self.offset + index.iter().zip(&self.strides).map(|(i, s)| i * s).sum::<i64>())
    }

    /// One element.
    pub fn load(&self, index: &[i64]) -> Result<Scalar, Failure> {
        self.memory.load(self.address(index)?, self.dtype)
    }

    /// The element that a position of a larger iteration space reads: sizes are aligned right, size 1 stays at 0.
    pub fn load_broadcast(&self, position: &[i64]) -> Result<Scalar, Failure> {
        let skip = position.len() - self.shape.len();
        let index: Vec<i64> =
            position[skip..].iter().zip(&self.shape).map(|(&i, &n)| if n == 1 { 0 } else { i }).collect();
        self.load(&index)
    }

    /// Writes one element.
    pub fn store(&self, index: &[i64], value: Scalar) -> Result<(), Failure> {
        if value.dtype() != Some(self.dtype) {
            return Err(Failure::fault(format!("{value:?} stored into an array of {}", self.dtype.name())));
        }
        self.memory.store(self.address(index)?, value)
    }

    /// Puts what `update` makes of an element in its place, and gives the old one.
    pub fn update(
        &self,
        index: &[i64],
        update: impl FnOnce(Scalar) -> Result<Scalar, Failure>,
    ) -> Result<Scalar, Failure> {
        self.memory.update(self.address(index)?, self.dtype, update)
    }

    /// Whether the bytes from the first to the last of two arrays meet.
    pub fn overlaps(&self, other: &Array) -> bool {
        let (a, b) = (self.extent(), other.extent());
        self.memory.same(&other.memory) && a.0 < b.1 && b.0 < a.1
    }

    /// Where the first byte is, and the one after the last.
    fn extent(&self) -> (i64, i64) {
        if self.shape.contains(&0) {
            return (self.offset, self.offset);
        }
        let reach = self.shape.iter().zip(&self.strides).map(|(n, stride)| (n - 1) * stride);
        let (down, up) = reach.fold((0, 0), |(down, up), r| (down + r.min(0), up + r.max(0)));
        (self.offset + down, self.offset + up + self.dtype.size() as i64)
    }

    /// Whether the strides are those of `layout`; sizes of 1 do not count, as in NumPy.
    pub fn has_layout(&self, layout: Layout) -> bool {
        if layout == Layout::A || self.shape.contains(&0) {
            return true;
        }
        if layout == Layout::I {
            let last = self.shape.iter().zip(&self.strides).next_back();
            return last.is_none_or(|(&n, &stride)| n == 1 || stride == self.dtype.size() as i64);
        }
        let want = strides_of(&self.shape, self.dtype, layout);
        let mut dims = self.shape.iter().zip(self.strides.iter().zip(&want));
        dims.all(|(&n, (have, want))| n == 1 || have == want)
    }
}

/// All indices of a shape, the last fastest.
pub fn indices(shape: &[i64]) -> impl Iterator<Item = Vec<i64>> + use<> {
    let shape = shape.to_vec();
    let count: i64 = shape.iter().map(|&n| n.max(0)).product();
    (0..count).map(move |mut flat| {
        let mut index = vec![0; shape.len()];
        for (i, &n) in index.iter_mut().zip(&shape).rev() {
            *i = flat % n;
            flat /= n;
        }
        index
    })
}
