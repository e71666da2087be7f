//! Results that no cache will hold go past it.
//!
//! To write a line of memory, a processor reads it first, unless it is told that all of it will be written. So a loop whose arrays are
//! larger than the last cache writes some results to a near place, and copies them from there in that way.

use std::sync::OnceLock;

/// Bytes up to which nobody need be asked.
pub(crate) const NEAR: u64 = 8 << 20;

/// What is taken for the size of the last cache where nothing is known of it.
const USUAL: u64 = 32 << 20;

/// Cores of others that are taken to use the last cache too. Going past it is as fast as through it, in the mean of results that
/// are not read again and such that are read next, from 56 MiB on with two cores that see a cache of 260 MiB, and from 80, 130
/// and 150 MiB on with two, eight and sixteen that see 300 MiB (virtual machines both).
const OTHERS: u64 = 7;

/// Whether arrays of so many bytes do not fit this process's share of the last cache. `WEFT_STREAM_FROM` says it in bytes.
pub(crate) extern "C" fn is_far(bytes: u64) -> u32 {
    static FAR: OnceLock<u64> = OnceLock::new();
    let far = FAR.get_or_init(|| {
        let asked = std::env::var("WEFT_STREAM_FROM").ok().and_then(|v| v.parse().ok());
        // SAFETY: a question.
        let known = || u64::try_from(unsafe { libc::sysconf(libc::_SC_LEVEL3_CACHE_SIZE) }).ok().filter(|&n| n > 0);
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
        asked.unwrap_or_else(|| known().unwrap_or(USUAL) * cores / (cores + OTHERS))
    });
    u32::from(bytes > *far)
}

/// Copies bytes past the caches.
///
/// # Safety
/// The memory may be written and read, and does not overlap.
pub(crate) unsafe extern "C" fn stream(to: *mut u8, from: *const u8, bytes: u64) {
    // SAFETY: the caller's.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f") {
                return x86::by_64(to, from, bytes as usize);
            }
            if is_x86_feature_detected!("avx") {
                return x86::by_32(to, from, bytes as usize);
            }
        }
        to.copy_from_nonoverlapping(from, bytes as usize);
    }
}

/// What was copied is there for other threads too.
pub(crate) extern "C" fn streamed() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has it.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{_mm256_loadu_si256, _mm256_stream_si256, _mm512_loadu_si512, _mm512_stream_si512};

    /// The bytes before the next whole vector, whole vectors by `vector`, and the rest.
    #[inline(always)]
    unsafe fn copy(to: *mut u8, from: *const u8, bytes: usize, width: usize, vector: impl Fn(*mut u8, *const u8)) {
        let head = to.align_offset(width).min(bytes);
        let whole = (bytes - head) / width * width;
        // SAFETY: parts of the memory.
        unsafe {
            to.copy_from_nonoverlapping(from, head);
            for at in (head..head + whole).step_by(width) {
                vector(to.add(at), from.add(at));
            }
            to.add(head + whole).copy_from_nonoverlapping(from.add(head + whole), bytes - head - whole);
        }
    }

    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn by_64(to: *mut u8, from: *const u8, bytes: usize) {
        // SAFETY: `to` is aligned where it is written as vectors.
        unsafe { copy(to, from, bytes, 64, |to, from| _mm512_stream_si512(to.cast(), _mm512_loadu_si512(from.cast()))) }
    }

    #[target_feature(enable = "avx")]
    pub(super) unsafe fn by_32(to: *mut u8, from: *const u8, bytes: usize) {
        // SAFETY: as above.
        unsafe { copy(to, from, bytes, 32, |to, from| _mm256_stream_si256(to.cast(), _mm256_loadu_si256(from.cast()))) }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_byte_is_copied_and_no_other() {
        let from: Vec<u8> = (0..700).map(|i| i as u8 | 1).collect();
        for start in [0, 1, 31, 63, 64] {
            for bytes in [0, 1, 5, 63, 64, 65, 130, 600] {
                let mut to = vec![0u8; 700];
                // SAFETY: parts of both.
                unsafe { super::stream(to.as_mut_ptr().add(start), from.as_ptr(), bytes as u64) };
                super::streamed();
                assert_eq!(to[start..start + bytes], from[..bytes]);
                assert!(to[..start].iter().chain(&to[start + bytes..]).all(|&b| b == 0));
            }
        }
    }
}
