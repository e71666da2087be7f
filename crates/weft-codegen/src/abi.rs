//! The binary interface between compiled code and the runtime: layouts that object code in caches relies on.
//!
//! A specialisation is an [`Entry`]. It reads parameter `k` from `args[k]` and writes result `k` to `ret[k]`, in 8-byte slots
//! (an f32 in the low 4 bytes, a bool as 0 or 1, a c64 as its two parts, a `mem` as its address, an `owner` as its word; a
//! c128 takes two slots, real part first). It returns 0, or 1 when
//! it raised: then `ctx.exc` says what. The runtime is reached only through [`RuntimeTable`], which grows at its end; a
//! change of any layout here changes [`RuntimeTable::VERSION`], which is part of every cache key.
//!
//! Every table entry that returns a status has filled `ctx.exc` when it is not 0 ([`ExcRecord::RUNTIME`] as the site, when the
//! error is the runtime's own); compiled code then returns 1 at once. Owners that it held are the runtime's to release.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering};

/// A compiled function.
pub type Entry = unsafe extern "C" fn(ctx: *mut CallCtx, args: *const u64, ret: *mut u64) -> u32;

/// A chunk of a parallel loop: iterations `lo..hi` with the captured values in `env`. Not 0: it raised.
pub type Chunk = unsafe extern "C" fn(ctx: *mut CallCtx, env: *const u64, lo: u64, hi: u64) -> u32;

/// What was raised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct ExcRecord {
    /// Index into the module's sites, or [`ExcRecord::RUNTIME`].
    pub site: u32,
    /// How many of `args` are filled.
    pub nargs: u32,
    /// The iteration (row-major position) of the parallel loop that raised; -1 outside of one.
    pub iteration: i64,
    /// The values that the message shows: integers sign-extended, floats as f64 bits.
    pub args: [u64; 16],
}

impl ExcRecord {
    /// The site of an error that the runtime keeps in its own call state; the first word of `args` is the number of its
    /// class ([`weft_ir::ExcClass::ALL`]).
    pub const RUNTIME: u32 = u32::MAX;
}

impl Default for ExcRecord {
    fn default() -> ExcRecord {
        ExcRecord { site: 0, nargs: 0, iteration: -1, args: [0; 16] }
    }
}

/// One call, as compiled code sees it. Chunks of a parallel loop may get a `CallCtx` each.
#[derive(Debug)]
#[repr(C)]
pub struct CallCtx {
    /// The runtime's entries.
    pub rt: *const RuntimeTable,
    /// The runtime's state of this call: queue, residency, launch sites.
    pub call: *mut c_void,
    /// What was raised, if the status says so.
    pub exc: ExcRecord,
    /// The stack may not grow below this address: calls beyond it raise RecursionError. 0 where nothing recurses.
    pub stack_limit: u64,
    /// Parallel regions of less work than this, in nanoseconds, are not worth asking the runtime for.
    pub alone: u64,
    /// What loops look at where they turn back: not 0 when they are to call [`RuntimeTable::poll`].
    pub signal: *const AtomicU32,
    /// Not 0 where a routine that gives no status was ended by [`RuntimeTable::poll`]: then `exc` is filled.
    pub stopped: u32,
}

/// The [`CallCtx::signal`] of calls that nobody ends.
pub fn no_signal() -> *const AtomicU32 {
    static NONE: AtomicU32 = AtomicU32::new(0);
    &NONE
}

impl CallCtx {
    /// Asks the runtime whether the call is to end, if there may be a reason; `exc` is filled then.
    ///
    /// # Safety
    /// `ctx` is the context of a call that is running, on this thread.
    pub unsafe fn ends(ctx: *mut CallCtx) -> bool {
        // SAFETY: passed on to the caller.
        unsafe { (*(*ctx).signal).load(Ordering::Relaxed) != 0 && ((*(*ctx).rt).poll)(ctx) != 0 }
    }
}

/// The bit of an owner word that says: a view of the array, not the array itself.
pub const VIEW_BIT: u32 = 62;
/// The lowest of the bits that number a view: two views of the same elements are two arrays.
pub const VIEW_NUMBER: u32 = 48;
/// All bits that say something of views. The rest is the owner.
pub const VIEW_BITS: u64 = (1 << (VIEW_BIT + 1)) - (1 << VIEW_NUMBER);

/// Where memory is: `place` of [`RuntimeTable::alloc`] and [`RuntimeTable::need`].
pub mod place {
    /// Host memory.
    pub const HOST: u32 = 0;
    /// The call's device.
    pub const DEVICE: u32 = 1;
}

/// How an array will be used: `mode` of [`RuntimeTable::need`].
pub mod mode {
    /// Only read.
    pub const READ: u32 = 0;
    /// Overwritten as a whole: its old contents need not be there.
    pub const WRITE_ALL: u32 = 1;
    /// Read and written.
    pub const UPDATE: u32 = 2;
}

/// What compiled code can ask of the runtime. Append only.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct RuntimeTable {
    /// [`RuntimeTable::VERSION`].
    pub version: u32,
    /// Fresh memory at a place: address and owner in `out`.
    pub alloc: unsafe extern "C" fn(ctx: *mut CallCtx, place: u32, bytes: u64, out: *mut [u64; 2]) -> u32,
    /// Drops one count of an owner.
    pub release: unsafe extern "C" fn(ctx: *mut CallCtx, owner: u64),
    /// Runs `body` over `0..n` in chunks, inline when that is cheaper. `cost`: nanoseconds of one item; items take the same time.
    pub par_for: unsafe extern "C" fn(ctx: *mut CallCtx, body: Chunk, env: *const u64, n: u64, cost: u32) -> u32,
    /// The same for items of which some may take longer.
    pub par_blocks: unsafe extern "C" fn(ctx: *mut CallCtx, body: Chunk, env: *const u64, n: u64, cost: u32) -> u32,
    /// Launches kernel `site` (its position among the module's kernels) over `sizes`, with the packed arguments of
    /// [`crate::KernelInfo::fields`]. If the kernel may raise, the last field is left 0 for the error buffer's address.
    pub launch: unsafe extern "C" fn(
        ctx: *mut CallCtx,
        site: u32,
        sizes: *const u64,
        ndims: u32,
        args: *const u8,
        bytes: u32,
    ) -> u32,
    /// Makes an array valid at a place: its address and owner there in `out`. Strides are in bytes.
    pub need: unsafe extern "C" fn(
        ctx: *mut CallCtx,
        data: u64,
        owner: u64,
        rank: u32,
        shape: *const i64,
        strides: *const i64,
        itemsize: u32,
        place: u32,
        mode: u32,
        out: *mut [u64; 2],
    ) -> u32,
    /// Adds one count to an owner.
    pub retain: unsafe extern "C" fn(ctx: *mut CallCtx, owner: u64),
    /// A new list, with the address of its [`ListHeader`] and its owner in `out`.
    pub list_new: unsafe extern "C" fn(ctx: *mut CallCtx, words: u64, owners: u64, out: *mut [u64; 2]) -> u32,
    /// Makes room for so many items.
    pub list_reserve: unsafe extern "C" fn(ctx: *mut CallCtx, header: *mut ListHeader, items: u64) -> u32,
    /// Adds a count that memory will hold: the call does not give it back when it fails.
    pub keep: unsafe extern "C" fn(ctx: *mut CallCtx, owner: u64),
    /// Drops a count that memory held.
    pub drop_kept: unsafe extern "C" fn(ctx: *mut CallCtx, owner: u64),
    /// Writes the text of a site, with so many values in its slots, to Python's standard output.
    pub print: unsafe extern "C" fn(ctx: *mut CallCtx, site: u32, values: *const u64, count: u32) -> u32,
    /// Makes so many bytes of host memory 0.
    pub zero: unsafe extern "C" fn(ctx: *mut CallCtx, address: *mut u8, bytes: u64),
    /// Raises MemoryError: a routine found no host memory for so many bytes. Always returns 1.
    pub exhausted: unsafe extern "C" fn(ctx: *mut CallCtx, bytes: u64) -> u32,
    /// Lets handlers of signals run, where this thread is the one for it: 1 if the call is to end.
    pub poll: unsafe extern "C" fn(ctx: *mut CallCtx) -> u32,
}

/// A list: items of so many 8-byte words each, behind the header or in a block of their own.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ListHeader {
    /// Items.
    pub len: u64,
    /// Items that there is room for.
    pub capacity: u64,
    /// Address of the first item; in the header's own block while there is room.
    pub items: u64,
    /// Words of one item.
    pub words: u64,
    /// Bit `k`: word `k` of an item is an owner word that holds a count.
    pub owners: u64,
}

impl RuntimeTable {
    /// Version of everything in this module.
    pub const VERSION: u32 = 7;
}

impl std::fmt::Debug for RuntimeTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RuntimeTable").field("version", &self.version).finish_non_exhaustive()
    }
}

/// The error buffer of a kernel that may raise, in 64-bit words of memory that host and device see.
pub mod device_error {
    /// Words in the buffer: the key, then the values of the raise.
    pub const WORDS: usize = 8;
    /// Word 0 before a launch; afterwards the least `item << 16 | site`.
    pub const NONE: u64 = i64::MAX as u64;
    /// Word 1 holds the key of the item whose values follow: believe them only if it equals word 0.
    pub const KEY_OF_ARGS: usize = 1;
    /// First value of the raise.
    pub const FIRST_ARG: usize = 2;

    /// The item (row-major position) of a key.
    pub fn item(key: u64) -> u64 {
        key >> 16
    }

    /// The site of a key.
    pub fn site(key: u64) -> u32 {
        (key & 0xffff) as u32
    }
}
