//! The order in which a reduction combines elements: one for every machine, thread count and vector width.
//!
//! Along the fastest axis: a row is 512 bytes of accumulators; element `i` of a block goes to lane `i mod lanes`, in order; a
//! block is 32 rows; lanes fold by halves; block results are reduced by the same rule again. Missing elements are the
//! identity. Along other axes: runs of 128 elements in order, and the run results folded pairwise.

/// Bytes of accumulators.
pub const ROW: usize = 512;
/// Rows of a block.
pub const ROWS: usize = 32;
/// Elements of a block of a scan. Blocks are scanned in order, each by itself; then the last of all elements before a block is
/// folded with each of its own, so that a block goes on from the very number where the one before it ended.
pub const SCAN: usize = 4096;
/// Elements of a run along an axis that is not the fastest.
pub const RUN: usize = 128;

/// Lanes for elements of so many bytes.
pub const fn lanes(item: usize) -> usize {
    ROW / item
}

/// Elements of a block.
pub const fn block(item: usize) -> usize {
    lanes(item) * ROWS
}

/// Along the fastest axis. `get` gives elements, `fold` combines two.
pub fn along<T: Clone, E>(
    n: usize,
    item: usize,
    identity: &T,
    get: &mut dyn FnMut(usize) -> Result<T, E>,
    fold: &mut dyn FnMut(T, T) -> Result<T, E>,
) -> Result<T, E> {
    let size = block(item);
    if n <= size {
        let mut lanes = vec![identity.clone(); lanes(item)];
        for i in 0..n {
            let k = i % lanes.len();
            lanes[k] = fold(lanes[k].clone(), get(i)?)?;
        }
        let mut half = lanes.len() / 2;
        while half > 0 {
            for k in 0..half {
                lanes[k] = fold(lanes[k].clone(), lanes[k + half].clone())?;
            }
            half /= 2;
        }
        return Ok(lanes[0].clone());
    }
    let mut results = vec![];
    for start in (0..n).step_by(size) {
        results.push(along(size.min(n - start), item, identity, &mut |i| get(start + i), fold)?);
    }
    along(results.len(), item, identity, &mut |i| Ok(results[i].clone()), fold)
}

/// Along another axis, with runs of so many elements: [`RUN`], or 1 where they are results of runs.
pub fn across<T: Clone, E>(
    n: usize,
    run: usize,
    identity: &T,
    get: &mut dyn FnMut(usize) -> Result<T, E>,
    fold: &mut dyn FnMut(T, T) -> Result<T, E>,
) -> Result<T, E> {
    if n <= run {
        let mut sum = identity.clone();
        for i in 0..n {
            sum = fold(sum, get(i)?)?;
        }
        return Ok(sum);
    }
    let left = split(n, run);
    let first = across(left, run, identity, get, fold)?;
    let second = across(n - left, run, identity, &mut |i| get(left + i), fold)?;
    fold(first, second)
}

/// Elements of the first half, where more than one run is folded pairwise: a power of two of runs.
pub fn split(n: usize, run: usize) -> usize {
    n.div_ceil(run).next_power_of_two() / 2 * run
}
