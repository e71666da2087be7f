//! The bytes a strided view touches.

/// A half-open range of host addresses: what an argument may touch. Arguments whose spans overlap share one copy on a
/// device (spec A8), so a call is told all of them at its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostSpan {
    /// First byte.
    pub lo: u64,
    /// One past the last byte.
    pub hi: u64,
}

/// The bytes between the first and the last element of a view, gaps included; `None` for a view without elements.
/// Strides are in bytes and may be zero or negative.
pub fn extent(data: u64, shape: &[i64], strides: &[i64], itemsize: usize) -> Option<HostSpan> {
    if shape.iter().any(|&n| n <= 0) {
        return None;
    }
    let (mut lo, mut hi) = (data, data + itemsize as u64);
    for (&n, &stride) in shape.iter().zip(strides) {
        let reach = (n - 1).wrapping_mul(stride);
        if reach < 0 {
            lo = lo.wrapping_add_signed(reach);
        } else {
            hi = hi.wrapping_add_signed(reach);
        }
    }
    Some(HostSpan { lo, hi })
}

/// Whether a view touches every byte of its extent exactly once: then overwriting it leaves nothing of the old content.
pub fn is_dense(shape: &[i64], strides: &[i64], itemsize: usize) -> bool {
    let mut dims: smallvec::SmallVec<[(u64, i64); 8]> =
        shape.iter().zip(strides).filter(|&(&n, _)| n > 1).map(|(&n, &s)| (s.unsigned_abs(), n)).collect();
    dims.sort_unstable();
    let mut next = itemsize as u64;
    dims.iter().all(|&(stride, n)| {
        let fits = stride == next;
        next = next.wrapping_mul(n as u64);
        fits
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(data: u64, shape: &[i64], strides: &[i64], itemsize: usize) -> (u64, u64) {
        let span = extent(data, shape, strides, itemsize).unwrap();
        (span.lo, span.hi)
    }

    #[test]
    fn extents_of_strided_negative_and_empty_views() {
        assert_eq!(span(1000, &[], &[], 8), (1000, 1008));
        assert_eq!(span(1000, &[10], &[8], 8), (1000, 1080));
        // a[::2], a[::-1], a.T, a broadcast row
        assert_eq!(span(1000, &[5], &[16], 8), (1000, 1072));
        assert_eq!(span(1072, &[10], &[-8], 8), (1000, 1080));
        assert_eq!(span(1000, &[4, 3], &[8, 32], 8), (1000, 1096));
        assert_eq!(span(1000, &[7, 3], &[0, 4], 4), (1000, 1012));
        // a[::-1, 1:] of a 4 x 3 array of f64 at 1000
        assert_eq!(span(1000 + 72 + 8, &[4, 2], &[-24, 8], 8), (1008, 1096));
        assert_eq!(extent(1000, &[3, 0], &[8, 8], 8), None);
    }

    #[test]
    fn dense_views_touch_every_byte_once() {
        assert!(is_dense(&[], &[], 8));
        assert!(is_dense(&[4, 3], &[24, 8], 8));
        assert!(is_dense(&[4, 3], &[8, 32], 8));
        assert!(is_dense(&[10], &[-8], 8));
        assert!(is_dense(&[4, 1, 3], &[24, 999, 8], 8));
        assert!(!is_dense(&[5], &[16], 8));
        assert!(!is_dense(&[4, 2], &[24, 8], 8));
        assert!(!is_dense(&[2, 3], &[0, 20], 8));
    }
}
