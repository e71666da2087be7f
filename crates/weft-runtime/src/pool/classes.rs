//! Size classes: powers of two and three steps between each, so that at most a fifth of a block is unused.

/// Smallest class in bytes.
const SMALLEST: usize = 64;

/// Number of classes.
pub(crate) const COUNT: usize = 168;

/// Largest request in bytes.
pub(crate) const LARGEST: usize = size(COUNT - 1);

/// The class that holds so many bytes, or `None` if none is large enough.
pub(crate) const fn of(bytes: usize) -> Option<usize> {
    if bytes <= SMALLEST {
        return Some(0);
    }
    if bytes > LARGEST {
        return None;
    }
    let last = bytes - 1;
    let log = last.ilog2() as usize;
    let quarter = (last >> (log - 2)) & 3;
    Some((log - 6) * 4 + quarter + 1)
}

/// Bytes that a class holds.
pub(crate) const fn size(class: usize) -> usize {
    if class == 0 {
        return SMALLEST;
    }
    let (log, quarter) = ((class - 1) / 4 + 6, (class - 1) % 4);
    (5 + quarter) << (log - 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_the_smallest_that_holds_the_request() {
        assert_eq!([64, 65, 80, 81, 128, 129].map(|n| size(of(n).unwrap())), [64, 80, 80, 96, 128, 160]);
        for class in 0..COUNT {
            assert_eq!(of(size(class)), Some(class));
            if class + 1 < COUNT {
                assert_eq!(of(size(class) + 1), Some(class + 1));
                assert!(size(class) * 5 >= size(class + 1) * 4);
            }
        }
        assert_eq!(of(LARGEST + 1), None);
        const { assert!(LARGEST >= 1 << 47) };
    }
}
