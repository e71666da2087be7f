//! Lists of compiled code: a header in a buffer of its own, and the items in a block behind it.
//!
//! A list's items may hold counts of other buffers (arrays, lists); when the list's own count ends, so do those.

use std::sync::Arc;

use weft_codegen::abi::ListHeader;
pub use weft_codegen::abi::ListHeader as Header;
use weft_hal::HalError;

use crate::buffer::Buffer;
use crate::pool;

/// Bytes of the header's block: what is left of it is room for the first items, so that short lists need no other.
const BLOCK: usize = 128;

/// A list without items.
pub fn new_list(words: u64, owners: u64) -> Result<Arc<Buffer>, HalError> {
    let buffer = Buffer::alloc_list(BLOCK)?;
    let room = (BLOCK - size_of::<ListHeader>()) as u64 / 8;
    let items = buffer.address() + size_of::<ListHeader>() as u64;
    let header = ListHeader { len: 0, capacity: room / words.max(1), items, words, owners };
    // SAFETY: the memory is new, large enough and aligned to 64 bytes.
    unsafe { (buffer.address() as *mut ListHeader).write(header) };
    Ok(buffer)
}

/// Makes room for so many items.
///
/// # Safety
/// `header` is that of a live list, which nobody else uses meanwhile.
pub unsafe fn reserve(header: *mut ListHeader, items: u64) -> Result<(), HalError> {
    // SAFETY: passed on to the caller.
    let list = unsafe { &mut *header };
    if items <= list.capacity {
        return Ok(());
    }
    let capacity = items.max(list.capacity.saturating_mul(2)).max(16);
    let bytes = usize::try_from(capacity).ok().and_then(|n| n.checked_mul(8 * list.words.max(1) as usize));
    let old = list.items as *mut u8;
    // SAFETY: a block of its own is the list's; what stands behind the header is copied to the first one.
    let moved = bytes.map(|bytes| unsafe {
        if !is_inline(header) {
            return pool::host_realloc(old, bytes);
        }
        let data = pool::host_alloc(bytes);
        if !data.is_null() {
            std::ptr::copy_nonoverlapping(old, data, (8 * list.len * list.words) as usize);
        }
        data
    });
    match moved {
        Some(data) if !data.is_null() => {
            list.items = data as u64;
            list.capacity = capacity;
            Ok(())
        }
        _ => Err(pool::host_exhausted("host", bytes.unwrap_or(usize::MAX))),
    }
}

/// Whether the items stand behind the header.
///
/// # Safety
/// `header` is that of a live list.
unsafe fn is_inline(header: *const ListHeader) -> bool {
    // SAFETY: passed on to the caller.
    unsafe { (*header).items == header.add(1) as u64 }
}

/// The words of all items, one item after the other.
///
/// # Safety
/// `header` is that of a live list, which nobody changes while the words are used.
pub unsafe fn words<'a>(header: *const ListHeader) -> &'a [u64] {
    // SAFETY: passed on to the caller; there are so many items.
    unsafe {
        let list = &*header;
        std::slice::from_raw_parts(list.items as *const u64, (list.len * list.words) as usize)
    }
}

/// Adds an item.
///
/// # Safety
/// As for [`reserve`]; `item` has the list's number of words, and the counts of its owner words pass to the list.
pub unsafe fn push(header: *mut ListHeader, item: &[u64]) -> Result<(), HalError> {
    // SAFETY: passed on to the caller; there is room after `reserve`.
    unsafe {
        reserve(header, (*header).len + 1)?;
        let list = &mut *header;
        let at = (list.items as *mut u64).add((list.len * list.words) as usize);
        std::ptr::copy_nonoverlapping(item.as_ptr(), at, item.len());
        list.len += 1;
    }
    Ok(())
}

/// Drops the counts that the items hold, and their memory.
///
/// # Safety
/// Nobody can name the list any more.
pub(crate) unsafe fn free(header: *mut ListHeader) {
    // SAFETY: passed on to the caller; owner words of items hold counts.
    unsafe {
        let list = &*header;
        if list.owners != 0 {
            for item in words(header).chunks_exact(list.words.max(1) as usize) {
                let held = item.iter().enumerate().filter(|(k, _)| list.owners >> k & 1 == 1);
                held.for_each(|(_, &word)| drop(Buffer::from_owner(word)));
            }
        }
        if !is_inline(header) {
            pool::host_free(list.items as *mut u8);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_move_out_of_the_header_and_stay() {
        let list = new_list(2, 0).unwrap();
        let header = list.list().unwrap();
        for i in 0..1000 {
            // SAFETY: the list is ours alone.
            unsafe { push(header, &[i, 2 * i]) }.unwrap();
        }
        // SAFETY: as above.
        let all = unsafe { words(header) };
        assert!(all.chunks(2).enumerate().all(|(i, item)| item == [i as u64, 2 * i as u64]));
        assert_eq!(all.len(), 2000);
    }

    #[test]
    fn what_items_hold_ends_with_the_list() {
        let block = Buffer::alloc_host(8).unwrap();
        let (inner, outer) = (new_list(1, 1).unwrap(), new_list(2, 0b10).unwrap());
        // SAFETY: the lists are ours alone, and get a count for each owner word.
        unsafe {
            for _ in 0..40 {
                push(inner.list().unwrap(), &[block.clone().into_owner()]).unwrap();
            }
            push(outer.list().unwrap(), &[inner.address(), inner.clone().into_owner()]).unwrap();
        }
        drop(inner);
        assert_eq!(Arc::strong_count(&block), 41);
        drop(outer);
        assert_eq!(Arc::strong_count(&block), 1);
    }
}
