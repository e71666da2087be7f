//! Host arrays in: strided memory packed into C order.

/// Copies a strided array into C order.
///
/// # Safety
/// `data` with these sizes and byte strides is readable memory, and `out` holds the product of sizes × `item` bytes.
pub unsafe fn pack(data: *const u8, shape: &[i64], strides: &[i64], item: usize, out: &mut [u8]) {
    let Some((&n, outer)) = shape.split_last() else {
        // SAFETY: a 0-d array is one item.
        unsafe { std::ptr::copy_nonoverlapping(data, out.as_mut_ptr(), item) };
        return;
    };
    if shape.contains(&0) {
        return;
    }
    let step = strides[outer.len()];
    let rows: i64 = outer.iter().product();
    let row_bytes = n as usize * item;
    let mut index = vec![0i64; outer.len()];
    for row in 0..rows as usize {
        let start: i64 = index.iter().zip(strides).map(|(i, s)| i * s).sum();
        let target = &mut out[row * row_bytes..(row + 1) * row_bytes];
        // SAFETY: every index is inside the shape, so every address is inside the array.
        unsafe {
            let source = data.offset(start as isize);
            if step == item as i64 {
                std::ptr::copy_nonoverlapping(source, target.as_mut_ptr(), row_bytes);
            } else {
                for (k, element) in target.chunks_exact_mut(item).enumerate() {
                    let from = source.offset(k as isize * step as isize);
                    std::ptr::copy_nonoverlapping(from, element.as_mut_ptr(), item);
                }
            }
        }
        for (i, &size) in index.iter_mut().zip(outer).rev() {
            *i += 1;
            if *i < size {
                break;
            }
            *i = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packs_transposed_and_reversed_arrays() {
        let data: Vec<i32> = (0..6).collect();
        let mut out = vec![0u8; 24];
        // The transpose of a 2 × 3 array.
        // SAFETY: sizes and strides are those of `data`.
        unsafe { pack(data.as_ptr().cast(), &[3, 2], &[4, 12], 4, &mut out) };
        let values: Vec<i32> = out.chunks(4).map(|c| i32::from_ne_bytes([c[0], c[1], c[2], c[3]])).collect();
        assert_eq!(values, [0, 3, 1, 4, 2, 5]);
        // Reversed.
        // SAFETY: starts at the last element and goes down.
        unsafe { pack(data.as_ptr().add(5).cast(), &[6], &[-4], 4, &mut out) };
        let values: Vec<i32> = out.chunks(4).map(|c| i32::from_ne_bytes([c[0], c[1], c[2], c[3]])).collect();
        assert_eq!(values, [5, 4, 3, 2, 1, 0]);
    }
}
