//! Elements where a mask is true: what compiled code calls to count them, bring them together and put them back.

/// Bools that are looked at together: each is one bit of a word.
const GROUP: usize = 64;
/// Bools whose words are found before their elements are moved.
const CHUNK: usize = 64 * GROUP;
/// Most elements of a group that are too few to be read ahead by the processor itself.
const FEW: u32 = 8;

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
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has the instructions; else passed on to the caller.
        return unsafe { elements_wide(to, from, mask, back) };
    }
    // SAFETY: passed on to the caller.
    unsafe { elements_any(to, from, mask, back, bits) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1")]
unsafe fn elements_wide<T: Copy>(to: *mut T, from: *const T, mask: &[u8], back: bool) {
    // SAFETY: passed on to the caller.
    unsafe { elements_any(to, from, mask, back, |group| bits_wide(group)) }
}

/// # Safety
/// As for [`compress`].
#[inline(always)]
unsafe fn elements_any<T: Copy>(
    to: *mut T,
    from: *const T,
    mask: &[u8],
    back: bool,
    bits: impl Fn(&[u8; GROUP]) -> u64,
) {
    let mut k = 0;
    let mut some = |first: usize, mut left: u64| {
        // SAFETY: these elements of the mask are true, and `k` are before them.
        unsafe {
            if left == u64::MAX {
                let (there, here) = if back { (first, k) } else { (k, first) };
                let (from, to) = (from.add(here).cast::<u8>(), to.add(there).cast::<u8>());
                std::ptr::copy_nonoverlapping(from, to, GROUP * size_of::<T>());
                k += GROUP;
                return;
            }
            while left != 0 {
                let i = first + left.trailing_zeros() as usize;
                let (there, here) = if back { (i, k) } else { (k, i) };
                to.add(there).write_unaligned(from.add(here).read_unaligned());
                k += 1;
                left &= left - 1;
            }
        }
    };
    for (c, chunk) in mask.chunks(CHUNK).enumerate() {
        let (groups, rest) = chunk.as_chunks::<GROUP>();
        let mut words = [0; CHUNK / GROUP];
        for (word, group) in words.iter_mut().zip(groups) {
            *word = bits(group);
        }
        if !rest.is_empty() {
            let mut last = [0; GROUP];
            last[..rest.len()].copy_from_slice(rest);
            words[groups.len()] = bits(&last);
        }
        let placed = || words.iter().enumerate().filter(|(_, w)| **w != 0).map(|(k, w)| (c * CHUNK + k * GROUP, *w));
        if !back {
            // Lone elements are far from each other: all are asked for before the first is waited for.
            for (first, mut left) in placed().filter(|(_, w)| w.count_ones() <= FEW) {
                while left != 0 {
                    prefetch(from.wrapping_add(first + left.trailing_zeros() as usize).cast());
                    left &= left - 1;
                }
            }
        }
        placed().for_each(|(first, word)| some(first, word));
    }
}

#[inline(always)]
fn prefetch(_at: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint, which reads nothing.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(_at.cast());
    }
}

/// Bool `i` as bit `i`.
fn bits(group: &[u8; GROUP]) -> u64 {
    let (words, _) = group.as_chunks::<8>();
    // The product adds the lowest bit of every byte to the highest byte, each in a place of its own.
    let byte = |word: &[u8; 8]| u64::from_le_bytes(*word).wrapping_mul(0x0102_0408_1020_4080) >> 56;
    words.iter().enumerate().fold(0, |bits, (k, word)| bits | byte(word) << (8 * k))
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline]
fn bits_wide(group: &[u8; GROUP]) -> u64 {
    use std::arch::x86_64::{__m256i, _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_slli_epi16};
    let half = |at: usize| {
        // SAFETY: 32 of the 64 bytes.
        let bools = unsafe { _mm256_loadu_si256(group.as_ptr().add(at).cast::<__m256i>()) };
        u64::from(_mm256_movemask_epi8(_mm256_slli_epi16::<7>(bools)) as u32)
    };
    half(0) | half(32) << 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bools_are_bits() {
        let mut group = [0u8; GROUP];
        group.iter_mut().enumerate().for_each(|(i, m)| *m = u8::from(i % 5 == 0 || i > 57));
        let wanted = group.iter().enumerate().fold(0, |w, (i, &m)| w | u64::from(m) << i);
        assert_eq!(bits(&group), wanted);
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has the instructions.
            assert_eq!(unsafe { bits_wide(&group) }, wanted);
        }
    }

    #[test]
    fn elements_come_together_and_go_back() {
        for n in [0usize, 1, 7, 63, 64, 65, 300, 9000] {
            let mask: Vec<u8> =
                (0..n).map(|i| u8::from(i % 3 == 0 || (16..40).contains(&i) || (128..256).contains(&i))).collect();
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
