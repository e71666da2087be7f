//! Copies of arrays that compiled code calls: any strides, no overlap. Of one element, with strides of 0, they are fills.

use smallvec::SmallVec;

use crate::abi::CallCtx;
use crate::each::each;
use crate::stream::{is_far, stream, streamed};

/// Elements that one thread copies at a time, and the bytes that it does in a nanosecond, about.
const PART: usize = 1 << 15;
const PACE: usize = 64;

/// Bytes of a filled piece that is copied on.
const PIECE: usize = 1 << 11;

/// One axis: its size, and the bytes from one element to the next on both sides.
#[derive(Clone, Copy)]
struct Axis {
    size: usize,
    to: isize,
    from: isize,
}

/// Where an array is copied to, and from.
#[derive(Clone, Copy)]
struct Places {
    to: *mut u8,
    from: *const u8,
    /// No cache holds what is written.
    far: bool,
}

// SAFETY: parts of the arrays that do not overlap are written by several threads.
unsafe impl Sync for Places {}

impl Places {
    /// # Safety
    /// The element is one of the arrays'.
    unsafe fn at(self, axis: Axis, i: usize) -> Places {
        // SAFETY: the caller's.
        let (to, from) = unsafe { (self.to.offset(i as isize * axis.to), self.from.offset(i as isize * axis.from)) };
        Places { to, from, ..self }
    }
}

/// What compiled code calls: the bytes of an element, the rank, and the operands of `mem.copy` in words. Without a context, it is
/// done by one thread.
///
/// # Safety
/// The words describe memory that may be written and read, and does not overlap.
pub(crate) unsafe extern "C" fn copy(ctx: *mut CallCtx, item: u64, rank: u64, words: *const u64) {
    let (item, rank) = (item as usize, rank as usize);
    // SAFETY: as many words as lowering wrote.
    let words = unsafe { std::slice::from_raw_parts(words, 2 + 3 * rank) };
    let places = Places { to: words[0] as *mut u8, from: words[1] as *const u8, far: false };
    let axis = |k: usize| Axis {
        size: words[2 + k] as usize,
        to: words[2 + rank + k] as isize,
        from: words[2 + 2 * rank + k] as isize,
    };
    if rank == 1 && (1..=PART).contains(&axis(0).size) {
        // SAFETY: passed on to the caller.
        return unsafe { walk(item, &[axis(0)], places) };
    }
    let mut axes: SmallVec<[Axis; 8]> = (0..rank).map(axis).filter(|a| a.size != 1).collect();
    if axes.iter().any(|a| a.size == 0) {
        return;
    }
    // The axis along which writing is densest goes innermost; then what is one run in both becomes one axis.
    axes.sort_by_key(|a| std::cmp::Reverse(a.to.unsigned_abs()));
    let mut merged: SmallVec<[Axis; 8]> = SmallVec::new();
    for axis in axes {
        match merged.last_mut() {
            Some(outer) if outer.to == axis.to * axis.size as isize && outer.from == axis.from * axis.size as isize => {
                *outer = Axis { size: outer.size * axis.size, ..axis };
            }
            _ => merged.push(axis),
        }
    }
    let Some((&outer, inner)) = merged.split_first() else {
        // SAFETY: passed on to the caller.
        return unsafe { walk(item, &merged, places) };
    };
    let row = inner.iter().map(|a| a.size).product::<usize>();
    let rows = (PART / row).clamp(1, outer.size);
    let touched = 2 * outer.size * row * item;
    let places = Places { far: is_far(touched as u64) != 0, ..places };
    let cost = u32::try_from(rows * row * item / PACE).unwrap_or(u32::MAX);
    each(ctx, outer.size.div_ceil(rows), cost, &|k| {
        let part = Axis { size: rows.min(outer.size - k * rows), ..outer };
        let axes: SmallVec<[Axis; 8]> = std::iter::once(part).chain(inner.iter().copied()).collect();
        // Captured as a whole: pointers by themselves may not go to other threads.
        // SAFETY: passed on to the caller; each part has rows of its own.
        unsafe { walk(item, &axes, { places }.at(outer, k * rows)) }
        if places.far {
            streamed();
        }
    });
}

/// # Safety
/// As for [`copy`].
unsafe fn walk(item: usize, axes: &[Axis], places: Places) {
    let Places { to, from, far } = places;
    // SAFETY: all of it is inside the two arrays.
    unsafe {
        match *axes {
            [] => std::ptr::copy_nonoverlapping(from, to, item),
            [line] => match item {
                1 => run::<u8>(line, to, from, far),
                2 => run::<u16>(line, to, from, far),
                4 => run::<u32>(line, to, from, far),
                8 => run::<u64>(line, to, from, far),
                _ => run::<u128>(line, to, from, far),
            },
            [outer, ref inner @ ..] => (0..outer.size).for_each(|i| walk(item, inner, places.at(outer, i))),
        }
    }
}

/// # Safety
/// As for [`copy`].
unsafe fn run<T: Copy>(line: Axis, to: *mut u8, from: *const u8, far: bool) {
    let item = size_of::<T>();
    // SAFETY: passed on to the caller; elements need not be aligned.
    unsafe {
        if line.to == item as isize && line.from == item as isize {
            return std::ptr::copy_nonoverlapping(from, to, line.size * item);
        }
        if line.to == item as isize && line.from == 0 {
            return fill(line.size, to.cast::<T>(), from.cast::<T>().read_unaligned(), far);
        }
        for i in 0..line.size as isize {
            let v = from.offset(i * line.from).cast::<T>().read_unaligned();
            to.offset(i * line.to).cast::<T>().write_unaligned(v);
        }
    }
}

/// # Safety
/// So many elements may be written.
unsafe fn fill<T: Copy>(n: usize, to: *mut T, v: T, far: bool) {
    let (item, bytes) = (size_of::<T>(), n * size_of::<T>());
    let first = n.min(PIECE / item);
    // SAFETY: the caller's. The piece that is filled first is not written again.
    unsafe {
        (0..first).for_each(|i| to.add(i).write_unaligned(v));
        let mut at = first * item;
        while at < bytes {
            let more = PIECE.min(bytes - at);
            let (piece, next) = (to.cast::<u8>(), to.cast::<u8>().add(at));
            match far {
                true => stream(next, piece, more as u64),
                false => std::ptr::copy_nonoverlapping(piece, next, more),
            }
            at += more;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copied(rank: u64, sizes: &[i64], to: &[i64], from: &[i64], source: &[u32], start: usize) -> Vec<u32> {
        let mut out = vec![0_u32; 12];
        let mut words = vec![out.as_mut_ptr() as u64, &raw const source[start] as u64];
        words.extend(sizes.iter().chain(to).chain(from).map(|&n| n as u64));
        // SAFETY: the sizes below stay inside both.
        unsafe { copy(std::ptr::null_mut(), 4, rank, words.as_ptr()) };
        out
    }

    #[test]
    fn copies_follow_any_strides() {
        let source: Vec<u32> = (1..=12).collect();
        assert_eq!(copied(2, &[3, 4], &[16, 4], &[16, 4], &source, 0), source);
        // A transposed one, a reversed one, a repeated one, an empty one, a single element.
        assert_eq!(copied(2, &[4, 3], &[12, 4], &[4, 16], &source, 0), [1, 5, 9, 2, 6, 10, 3, 7, 11, 4, 8, 12]);
        assert_eq!(copied(1, &[12], &[4], &[-4], &source, 11), (1..=12).rev().collect::<Vec<_>>());
        assert_eq!(copied(2, &[3, 4], &[16, 4], &[0, 4], &source, 4), [5, 6, 7, 8].repeat(3));
        assert_eq!(copied(2, &[0, 4], &[16, 4], &[16, 4], &source, 0), [0; 12]);
        assert_eq!(copied(0, &[], &[], &[], &source, 2)[0], 3);
        // One element everywhere.
        assert_eq!(copied(2, &[3, 4], &[16, 4], &[0, 0], &source, 4), [5; 12]);
        assert_eq!(copied(1, &[6], &[8], &[0], &source, 4), [5, 0].repeat(6));
    }

    #[test]
    fn long_arrays_are_filled_to_the_end() {
        for n in [0, 1, 511, 512, 513, 1024, 1025, 40_000] {
            let (mut out, v) = (vec![0_u32; n + 1], 7_u32);
            let words = [out.as_mut_ptr() as u64, &raw const v as u64, n as u64, 4, 0];
            // SAFETY: so many elements are there.
            unsafe { copy(std::ptr::null_mut(), 4, 1, words.as_ptr()) };
            assert!(out[..n].iter().all(|&x| x == 7) && out[n] == 0, "{n}");
        }
    }

    #[test]
    fn of_nothing_nothing_is_read() {
        for (rank, sizes) in [(1, &[0][..]), (2, &[0, 5]), (2, &[5, 0])] {
            let mut words = vec![0; 2];
            words.extend(sizes.iter().copied().chain(vec![4; rank]).chain(vec![0; rank]));
            // SAFETY: arrays without elements have no memory.
            unsafe { copy(std::ptr::null_mut(), 4, rank as u64, words.as_ptr()) };
        }
    }
}
