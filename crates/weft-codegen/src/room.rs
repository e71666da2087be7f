//! Scratch memory of the routines in Rust. Where there is none, the call raises MemoryError.

use std::cell::Cell;
use std::thread::LocalKey;

use crate::abi::CallCtx;
use crate::shortage;

/// The call's context says what was raised.
#[derive(Debug)]
pub(crate) struct Raised;

impl Raised {
    /// What a routine returns to compiled code.
    pub(crate) fn status(result: Result<(), Raised>) -> u32 {
        u32::from(result.is_err())
    }
}

/// As much as a cache holds together.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(#[expect(dead_code, reason = "only its size matters")] [u8; 64]);

/// Most lines that a thread keeps: 8 MB.
const KEPT: usize = 1 << 17;

/// Memory that a thread keeps from one product to the next.
pub(crate) struct Room {
    lines: Vec<Line>,
    kept: &'static LocalKey<Cell<Vec<Line>>>,
}

thread_local! {
    static FOR_ROWS: Cell<Vec<Line>> = const { Cell::new(Vec::new()) };
    static FOR_COLUMNS: Cell<Vec<Line>> = const { Cell::new(Vec::new()) };
}

impl Room {
    /// For rows of the first factor.
    pub(crate) fn for_rows(ctx: *mut CallCtx, bytes: usize) -> Result<Room, Raised> {
        Room::new(ctx, bytes, &FOR_ROWS)
    }

    /// For columns of the second factor.
    pub(crate) fn for_columns(ctx: *mut CallCtx, bytes: usize) -> Result<Room, Raised> {
        Room::new(ctx, bytes, &FOR_COLUMNS)
    }

    // Taken away while it is used: a thread that waits for others may begin a product of its own.
    fn new(ctx: *mut CallCtx, bytes: usize, kept: &'static LocalKey<Cell<Vec<Line>>>) -> Result<Room, Raised> {
        let mut lines = kept.try_with(Cell::take).unwrap_or_default();
        let wanted = bytes.div_ceil(size_of::<Line>());
        // What a thread has kept is asked for as if it were new: otherwise a test would depend on those before it.
        if shortage::strikes() || lines.try_reserve_exact(wanted).is_err() {
            return Err(exhausted(ctx, bytes));
        }
        Ok(Room { lines, kept })
    }

    pub(crate) fn start(&mut self) -> *mut u8 {
        self.lines.as_mut_ptr().cast()
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if self.lines.capacity() > KEPT {
            return;
        }
        let lines = std::mem::take(&mut self.lines);
        // At the thread's end there is nowhere to keep it.
        let _ = self.kept.try_with(|kept| kept.set(lines));
    }
}

/// Looks whether there is memory for so many bytes, for a crate that ends the process where there is none.
pub(crate) fn probe(ctx: *mut CallCtx, bytes: usize) -> Result<(), Raised> {
    let mut memory = Vec::<u8>::new();
    let failed = shortage::strikes() || memory.try_reserve_exact(bytes).is_err();
    // Otherwise the compiler sees that nobody uses it.
    std::hint::black_box(memory.as_mut_ptr());
    if failed { Err(exhausted(ctx, bytes)) } else { Ok(()) }
}

/// Notes in the context that there is no memory.
fn exhausted(ctx: *mut CallCtx, bytes: usize) -> Raised {
    if !ctx.is_null() {
        // SAFETY: the context of a running call, of this thread.
        unsafe { ((*(*ctx).rt).exhausted)(ctx, bytes as u64) };
    }
    Raised
}
