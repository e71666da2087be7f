//! Copies of arrays that compiled code calls: any strides, no overlap.

use smallvec::SmallVec;

/// One axis: its size, and the bytes from one element to the next on both sides.
#[derive(Clone, Copy)]
struct Axis {
    size: usize,
    to: isize,
    from: isize,
}

/// What compiled code calls: the bytes of an element, the rank, and the operands of `mem.copy` in words.
///
/// # Safety
/// The words describe memory that may be written and read, and does not overlap.
pub(crate) unsafe extern "C" fn copy(item: u64, rank: u64, words: *const u64) {
    let rank = rank as usize;
    // SAFETY: as many words as lowering wrote.
    let words = unsafe { std::slice::from_raw_parts(words, 2 + 3 * rank) };
    let (to, from) = (words[0] as *mut u8, words[1] as *const u8);
    let axis = |k: usize| Axis {
        size: words[2 + k] as usize,
        to: words[2 + rank + k] as isize,
        from: words[2 + 2 * rank + k] as isize,
    };
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
    // SAFETY: passed on to the caller.
    unsafe { walk(item as usize, &merged, to, from) }
}

/// # Safety
/// As for [`copy`].
unsafe fn walk(item: usize, axes: &[Axis], to: *mut u8, from: *const u8) {
    // SAFETY: all of it is inside the two arrays.
    unsafe {
        match *axes {
            [] => std::ptr::copy_nonoverlapping(from, to, item),
            [line] => match item {
                1 => run::<u8>(line, to, from),
                2 => run::<u16>(line, to, from),
                4 => run::<u32>(line, to, from),
                8 => run::<u64>(line, to, from),
                _ => run::<u128>(line, to, from),
            },
            [outer, ref inner @ ..] => {
                for i in 0..outer.size as isize {
                    walk(item, inner, to.offset(i * outer.to), from.offset(i * outer.from));
                }
            }
        }
    }
}

/// # Safety
/// As for [`copy`].
unsafe fn run<T>(line: Axis, to: *mut u8, from: *const u8) {
    let item = size_of::<T>();
    // SAFETY: passed on to the caller; elements need not be aligned.
    unsafe {
        if line.to == item as isize && line.from == item as isize {
            return std::ptr::copy_nonoverlapping(from, to, line.size * item);
        }
        for i in 0..line.size as isize {
            let v = from.offset(i * line.from).cast::<T>().read_unaligned();
            to.offset(i * line.to).cast::<T>().write_unaligned(v);
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
        unsafe { copy(4, rank, words.as_ptr()) };
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
    }
}
