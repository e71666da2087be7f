//! Work that routines in Rust give to threads.

use crate::abi::CallCtx;
use crate::room::Raised;

/// Wakes workers for work of so many nanoseconds that comes soon: they look for it for a while before they sleep again.
pub(crate) fn awaken(ctx: *mut CallCtx, cost: u32) {
    each(ctx, 2, cost / 2, &|_| ());
}

/// Runs `work` for every number below `n`, on threads where there is a call to ask for them. `cost`: nanoseconds of one.
///
/// Where the call is ended meanwhile ([`CallCtx::stopped`]) some of it is not done, nor what comes later in the routine:
/// nobody will look at the results.
pub(crate) fn each(ctx: *mut CallCtx, n: usize, cost: u32, work: &(dyn Fn(usize) + Sync)) {
    unsafe extern "C" fn chunk(ctx: *mut CallCtx, env: *const u64, lo: u64, hi: u64) -> u32 {
        // SAFETY: the reference below, which outlives the chunks.
        let work = unsafe { *env.cast::<&(dyn Fn(usize) + Sync)>() };
        for i in lo..hi {
            // SAFETY: the context of this chunk.
            if unsafe { CallCtx::ends(ctx) } {
                return 1;
            }
            work(i as usize);
        }
        0
    }
    if ctx.is_null() {
        return (0..n).for_each(work);
    }
    // SAFETY: the context of a running call; the chunks end before this returns.
    unsafe {
        if (*ctx).stopped != 0 {
            return;
        }
        if n < 2 {
            return (0..n).for_each(work);
        }
        (*ctx).stopped = ((*(*ctx).rt).par_blocks)(ctx, chunk, (&raw const work).cast(), n as u64, cost);
    }
}

/// What [`try_each`] runs: with the context of the thread it is on.
type Work<'a> = &'a (dyn Fn(*mut CallCtx, usize) -> Result<(), Raised> + Sync);

/// As [`each`], for work that may raise.
pub(crate) fn try_each(ctx: *mut CallCtx, n: usize, cost: u32, work: Work<'_>) -> Result<(), Raised> {
    unsafe extern "C" fn chunk(ctx: *mut CallCtx, env: *const u64, lo: u64, hi: u64) -> u32 {
        // SAFETY: the reference below, which outlives the chunks.
        let work = unsafe { *env.cast::<Work<'_>>() };
        Raised::status((lo..hi).try_for_each(|i| work(ctx, i as usize)))
    }
    if ctx.is_null() || n < 2 {
        return (0..n).try_for_each(|i| work(ctx, i));
    }
    // SAFETY: the context of a running call; the chunks end before this returns.
    match unsafe { ((*(*ctx).rt).par_blocks)(ctx, chunk, (&raw const work).cast(), n as u64, cost) } {
        0 => Ok(()),
        _ => Err(Raised),
    }
}
