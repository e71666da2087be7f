//! Elements where a mask is true: what compiled code calls to count them, bring them together and put them back.

/// Bools that are looked at together.
const WORD: usize = 8;
const ALL: u64 = 0x0101_0101_0101_0101;

/// How many of `n` bools are true.
///
/// # Safety
/// So many bools may be read.
pub(crate) unsafe extern "C" fn count(mask: *const u8, n: u64) -> u64 {
    // SAFETY: passed on to the caller.
    let mask = unsafe { std::slice::from_raw_parts(mask, n as usize) };
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has the instructions.
        return unsafe { count_wide(mask) };
    }
    count_any(mask)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn count_wide(mask: &[u8]) -> u64 {
    count_any(mask)
}

#[inline(always)]
fn count_any(mask: &[u8]) -> u64 {
    // A sum of fewer than 256 bools is a byte: vectors of bytes are added.
    let sums = mask.chunks(32 * 255).map(|part| {
        let mut lanes = [0u8; 32];
        let (rows, rest) = part.as_chunks::<32>();
        for row in rows {
            lanes.iter_mut().zip(row).for_each(|(sum, m)| *sum += m);
        }
        lanes.iter().chain(rest).map(|&m| u64::from(m)).sum::<u64>()
    });
    sums.sum()
}

/// What compiled code calls: the bytes of an element, whether elements go back to where the mask is true, and the operands of
/// `mem.compress` in words.
///
/// # Safety
/// The words describe memory that may be written and read, and does not overlap.
pub(crate) unsafe extern "C" fn compress(item: u64, back: u64, words: *const u64) {
    // SAFETY: as many words as lowering wrote.
    let words = unsafe { std::slice::from_raw_parts(words, 4) };
    let (to, from) = (words[0] as *mut u8, words[1] as *const u8);
    // SAFETY: passed on to the caller.
    unsafe {
        let mask = std::slice::from_raw_parts(words[2] as *const u8, words[3] as usize);
        match item {
            1 => elements(to.cast::<u8>(), from.cast(), mask, back != 0),
            2 => elements(to.cast::<u16>(), from.cast(), mask, back != 0),
            4 => elements(to.cast::<u32>(), from.cast(), mask, back != 0),
            8 => elements(to.cast::<u64>(), from.cast(), mask, back != 0),
            16 => elements(to.cast::<[u64; 2]>(), from.cast(), mask, back != 0),
            _ => {}
        }
    }
}

/// # Safety
/// As for [`compress`].
unsafe fn elements<T: Copy>(to: *mut T, from: *const T, mask: &[u8], back: bool) {
    let mut k = 0;
    let mut one = |i: usize| {
        // SAFETY: element `i` of the mask is true, and `k` are before it.
        unsafe {
            match back {
                false => to.add(k).write_unaligned(from.add(i).read_unaligned()),
                true => to.add(i).write_unaligned(from.add(k).read_unaligned()),
            }
        }
        k += 1;
    };
    let (words, rest) = mask.as_chunks::<WORD>();
    for (w, &word) in words.iter().enumerate() {
        let first = w * WORD;
        match u64::from_le_bytes(word) {
            0 => {}
            ALL => (first..first + WORD).for_each(&mut one),
            mut left => {
                while left != 0 {
                    one(first + left.trailing_zeros() as usize / 8);
                    left &= left - 1;
                }
            }
        }
    }
    let first = words.len() * WORD;
    rest.iter().enumerate().filter(|(_, m)| **m != 0).for_each(|(i, _)| one(first + i));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_come_together_and_go_back() {
        for n in [0usize, 1, 7, 8, 9, 100, 9000] {
            let mask: Vec<u8> = (0..n).map(|i| u8::from(i % 3 == 0 || (16..40).contains(&i))).collect();
            let from: Vec<u32> = (0..n as u32).collect();
            let wanted: Vec<u32> = from.iter().zip(&mask).filter(|(_, m)| **m == 1).map(|(v, _)| *v).collect();
            // SAFETY: vectors of these sizes.
            unsafe {
                assert_eq!(count(mask.as_ptr(), n as u64), wanted.len() as u64);
                let mut to = vec![0u32; wanted.len()];
                elements(to.as_mut_ptr(), from.as_ptr(), &mask, false);
                assert_eq!(to, wanted);
                let mut all = vec![u32::MAX; n];
                elements(all.as_mut_ptr(), to.as_ptr(), &mask, true);
                for (i, v) in all.iter().enumerate() {
                    assert_eq!(*v, if mask[i] == 1 { i as u32 } else { u32::MAX });
                }
            }
        }
    }
}
