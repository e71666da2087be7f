//! Memory of one call: the counts of owners that compiled code holds (after an error, or past a handler, nobody else would
//! release them), and blocks that it gave back and may soon want again.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use smallvec::SmallVec;

use crate::buffer::Buffer;

/// Blocks that are kept for the rest of the call.
const SPARES: usize = 12;
/// Largest of them.
const LARGEST_SPARE: usize = 1 << 20;

/// Plain host memory that compiled code gave back: a loop that makes temporary arrays has the same ones in every turn,
/// without asking the pool. They go back to it when the call ends.
#[derive(Default)]
pub(crate) struct Spare(SmallVec<[Arc<Buffer>; SPARES]>);

impl Spare {
    /// A block of exactly this size.
    pub(crate) fn take(&mut self, bytes: usize) -> Option<Arc<Buffer>> {
        let at = self.0.iter().rposition(|b| b.bytes() == bytes)?;
        Some(self.0.swap_remove(at))
    }

    /// Keeps a block that nobody else has, if it is of the kind; else drops it.
    pub(crate) fn put(&mut self, buffer: Arc<Buffer>) {
        if buffer.bytes() <= LARGEST_SPARE && buffer.is_plain_host() && Arc::strong_count(&buffer) == 1 {
            if self.0.len() == SPARES {
                self.0.remove(0);
            }
            self.0.push(buffer);
        }
    }
}

/// Owner words with the counts that compiled code has of each. A buffer that the call made knows its place in the list, so
/// adding and taking away do not depend on how many there are.
#[derive(Default)]
pub(crate) struct Handed(SmallVec<[(u64, u32); 8]>);

/// The buffer behind an even owner word other than 0.
///
/// # Safety
/// The word holds a count, and does so for as long as the reference is used.
unsafe fn buffer<'a>(owner: u64) -> &'a Buffer {
    // SAFETY: by the caller's word; owner words are addresses of counted buffers.
    unsafe { &*(owner as *const Buffer) }
}

impl Handed {
    /// One count more.
    ///
    /// # Safety
    /// The word holds the count.
    pub(crate) unsafe fn add(&mut self, owner: u64) {
        // SAFETY: passed on to the caller.
        let hint = &unsafe { buffer(owner) }.handed;
        match self.0.get_mut(hint.load(Ordering::Relaxed) as usize) {
            Some((word, count)) if *word == owner => *count += 1,
            _ => {
                hint.store(self.0.len() as u32, Ordering::Relaxed);
                self.0.push((owner, 1));
            }
        }
    }

    /// One count less; false if there is none.
    ///
    /// # Safety
    /// The word holds a count, as do all words in the list.
    pub(crate) unsafe fn take(&mut self, owner: u64) -> bool {
        // SAFETY: passed on to the caller.
        let hint = unsafe { buffer(owner) }.handed.load(Ordering::Relaxed) as usize;
        let at = match self.0.get(hint) {
            Some((word, _)) if *word == owner => Some(hint),
            // Several calls share the buffer, and another one noted its place.
            _ => self.0.iter().rposition(|(word, _)| *word == owner),
        };
        let Some(at) = at else { return false };
        self.0[at].1 -= 1;
        if self.0[at].1 == 0 {
            self.0.swap_remove(at);
            if let Some(&(moved, _)) = self.0.get(at) {
                // SAFETY: as above.
                unsafe { buffer(moved) }.handed.store(at as u32, Ordering::Relaxed);
            }
        }
        true
    }

    /// Everything that is left, with its counts.
    pub(crate) fn drain(&mut self) -> SmallVec<[(u64, u32); 8]> {
        std::mem::take(&mut self.0)
    }

    /// Whether nothing is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
