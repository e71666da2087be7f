//! Lists of compiled code: a header in a buffer of its own, and the items in a block behind it.
//!
//! A list's items may hold counts of other buffers (arrays, lists); when the list's own count ends, so do those.

use std::sync::Arc;

use weft_codegen::abi::ListHeader;
pub use weft_codegen::abi::ListHeader as Header;
use weft_hal::HalError;

use crate::buffer::Buffer;
use crate::pool;

/// Items that the first block has room for.
const FIRST: u64 = 8;

/// A list without items.
pub fn new_list(words: u64, owners: u64) -> Result<Arc<Buffer>, HalError> {
    let buffer = Buffer::alloc_list(size_of::<ListHeader>())?;
    let header = ListHeader { len: 0, capacity: 0, items: 0, words, owners };
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
    let capacity = items.max(list.capacity.saturating_mul(2)).max(FIRST);
    let bytes = usize::try_from(capacity).ok().and_then(|n| n.checked_mul(8 * list.words.max(1) as usize));
    // SAFETY: the block is the list's, or null.
    let moved = bytes.map(|bytes| unsafe { pool::host_realloc(list.items as *mut u8, bytes) });
    match moved {
        Some(data) if !data.is_null() => {
            list.items = data as u64;
            list.capacity = capacity;
            Ok(())
        }
        _ => Err(pool::host_exhausted("host", bytes.unwrap_or(usize::MAX))),
    }
}

/// The words of all items, one item after the other.
///
/// # Safety
/// `header` is that of a live list, which nobody changes while the words are used.
pub unsafe fn words<'a>(header: *const ListHeader) -> &'a [u64] {
    // SAFETY: passed on to the caller; there are so many items.
    unsafe {
        let list = &*header;
        match list.items {
            0 => &[],
            items => std::slice::from_raw_parts(items as *const u64, (list.len * list.words) as usize),
        }
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
        pool::host_free(list.items as *mut u8);
    }
}
