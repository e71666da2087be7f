//! Running sums and products that compiled code calls, in the order of [`weft_ir::reduce::SCAN`].
//!
//! Some blocks at a time are scanned, and then gone through again while they are near, to bring in what came before each.

use weft_ir::DType;
use weft_ir::attr::Fold;
use weft_ir::reduce::SCAN;

use crate::abi::CallCtx;
use crate::each::each;
use crate::reduce::{And, Combine, Complex, FOLDS, Max, Min, Or, Ordered, Prod, Sum};

/// Blocks that are gone through twice while they are near.
const TOGETHER: usize = 64;

/// A vector and where its scan goes. Steps are in bytes.
#[derive(Clone, Copy)]
#[repr(C)]
struct Line {
    to: *mut u8,
    from: *const u8,
    n: usize,
    step: isize,
}

// SAFETY: threads write to blocks of their own.
unsafe impl Sync for Line {}

/// What compiled code calls: the number of a fold, the number of a dtype, and a [`Line`] in words.
///
/// # Safety
/// The line describes memory that may be read and written.
pub(crate) unsafe extern "C" fn scan(ctx: *mut CallCtx, fold: u64, dtype: u64, line: *const u64) {
    // SAFETY: words in the order of the fields, as lowering wrote them.
    let line = &unsafe { line.cast::<Line>().read_unaligned() };
    let (Some(&fold), Some(&dtype)) = (FOLDS.get(fold as usize), DType::ALL.get(dtype as usize)) else { return };
    match dtype {
        DType::Bool => match fold {
            Fold::Sum | Fold::Max | Fold::Any => run::<u8, Or>(ctx, line),
            _ => run::<u8, And>(ctx, line),
        },
        DType::I8 => ordered::<i8>(ctx, fold, line),
        DType::I16 => ordered::<i16>(ctx, fold, line),
        DType::I32 => ordered::<i32>(ctx, fold, line),
        DType::I64 => ordered::<i64>(ctx, fold, line),
        DType::U8 => ordered::<u8>(ctx, fold, line),
        DType::U16 => ordered::<u16>(ctx, fold, line),
        DType::U32 => ordered::<u32>(ctx, fold, line),
        DType::U64 => ordered::<u64>(ctx, fold, line),
        DType::F32 => ordered::<f32>(ctx, fold, line),
        DType::F64 => ordered::<f64>(ctx, fold, line),
        DType::C64 => ordered::<Complex<f32>>(ctx, fold, line),
        DType::C128 => ordered::<Complex<f64>>(ctx, fold, line),
        DType::F16 => match fold {
            Fold::Sum => run::<Half, Sum>(ctx, line),
            Fold::Prod => run::<Half, Prod>(ctx, line),
            Fold::Min => run::<Half, Min>(ctx, line),
            _ => run::<Half, Max>(ctx, line),
        },
    }
}

fn ordered<T: Ordered + Sync>(ctx: *mut CallCtx, fold: Fold, line: &Line) {
    match fold {
        Fold::Sum => run::<T, Sum>(ctx, line),
        Fold::Prod => run::<T, Prod>(ctx, line),
        Fold::Min => run::<T, Min>(ctx, line),
        _ => run::<T, Max>(ctx, line),
    }
}

fn run<T: Copy + Sync, C: Combine<T>>(ctx: *mut CallCtx, l: &Line) {
    let blocks = l.n.div_ceil(SCAN);
    // What all elements before a block come to.
    let mut so_far: Option<T> = None;
    for first in (0..blocks).step_by(TOGETHER) {
        let some = TOGETHER.min(blocks - first);
        // SAFETY: the caller's memory; the block is this thread's.
        each(ctx, some, SCAN as u32, &|k| unsafe { scan_block::<T, C>(l, first + k) });
        let mut before = [so_far; TOGETHER];
        for (block, before) in (first..).zip(&mut before[..some]) {
            *before = so_far;
            // SAFETY: the last element of a block.
            let last = unsafe { l.to.cast::<T>().add(l.n.min((block + 1) * SCAN) - 1).read_unaligned() };
            so_far = Some(so_far.map_or(last, |so_far| C::fold(so_far, last)));
        }
        each(ctx, some, (SCAN / 4) as u32, &|k| {
            let Some(before) = before[k] else { return };
            // SAFETY: the block is this thread's.
            unsafe { fold_with::<T, C>(l, first + k, before) };
        });
    }
}

/// Scans a block by itself.
///
/// # Safety
/// It is a block of the line.
unsafe fn scan_block<T: Copy, C: Combine<T>>(l: &Line, block: usize) {
    let (first, end) = (block * SCAN, l.n.min((block + 1) * SCAN));
    // SAFETY: elements of the block.
    unsafe {
        let from = |i: usize| l.from.offset(i as isize * l.step).cast::<T>().read_unaligned();
        let to = |i: usize| l.to.cast::<T>().add(i);
        let mut so_far = from(first);
        to(first).write_unaligned(so_far);
        for i in first + 1..end {
            so_far = C::fold(so_far, from(i));
            to(i).write_unaligned(so_far);
        }
    }
}

/// Folds what came before a block with each of its elements.
///
/// # Safety
/// It is a block of the line.
unsafe fn fold_with<T: Copy, C: Combine<T>>(l: &Line, block: usize, before: T) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has the instructions; the rest is the caller's.
        return unsafe { fold_wide::<T, C>(l, block, before) };
    }
    // SAFETY: passed on to the caller.
    unsafe { fold_all::<T, C>(l, block, before) };
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn fold_wide<T: Copy, C: Combine<T>>(l: &Line, block: usize, before: T) {
    // SAFETY: passed on to the caller.
    unsafe { fold_all::<T, C>(l, block, before) };
}

#[inline(always)]
unsafe fn fold_all<T: Copy, C: Combine<T>>(l: &Line, block: usize, before: T) {
    for i in block * SCAN..l.n.min((block + 1) * SCAN) {
        // SAFETY: an element of the block.
        unsafe {
            let at = l.to.cast::<T>().add(i);
            at.write_unaligned(C::fold(before, at.read_unaligned()));
        }
    }
}

/// A half: computed as a single, and rounded after every step.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Half(u16);

impl Half {
    fn wide(self) -> f32 {
        weft_ir::half::from_bits(self.0) as f32
    }

    fn of(v: f32) -> Half {
        Half(weft_ir::half::to_bits(v.into()))
    }
}

macro_rules! halves {
    ($($fold:ident)*) => {$(
        impl Combine<Half> for $fold {
            // Scans begin with their first element.
            const IDENTITY: Half = Half(0);
            fn fold(a: Half, b: Half) -> Half {
                Half::of(<$fold as Combine<f32>>::fold(a.wide(), b.wide()))
            }
        }
    )*};
}

halves!(Sum Prod Min Max);
