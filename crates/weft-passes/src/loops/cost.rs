//! A static estimate of what one item costs, for the choice between one thread and many.

use weft_ir::math::By;
use weft_ir::{Func, MathFn, Op, OpId, RegionId, ValueId};

/// Nanoseconds of one run of a region: at least 1.
pub fn of_region(f: &Func, region: RegionId) -> u32 {
    (tenths(f, region) / 10).clamp(1, u64::from(u32::MAX)) as u32
}

/// In tenths of a nanosecond. Arms of a branch count half; a loop of unknown length counts 16 turns.
pub fn tenths(f: &Func, region: RegionId) -> u64 {
    let ops = &f.region(region).ops;
    ops.iter().fold(0u64, |sum, &id| sum.saturating_add(op(f, id)))
}

fn op(f: &Func, id: OpId) -> u64 {
    let data = f.op(id);
    let inner: u64 = data.regions.iter().fold(0, |sum: u64, &r| sum.saturating_add(tenths(f, r)));
    match &data.op {
        Op::Pow => 50,
        Op::Math { function: MathFn::Sqrt, .. } | Op::Div | Op::FloorDiv | Op::Mod => 10,
        Op::Math { function, .. } if function.by() == By::Instruction => 1,
        Op::Math { .. } => 20,
        Op::MemLoad { .. } | Op::MemStore { .. } => 3,
        Op::MemAtomic { .. } => 20,
        Op::ScfIf => 1 + inner / 2,
        Op::ScfLoop => inner.saturating_mul(16),
        Op::ScfBlock | Op::ScfTry | Op::ParBlocks { .. } => inner,
        Op::ScfFor => inner.saturating_mul(turns(f, data.operands[0], data.operands[1])),
        Op::Const { .. } | Op::Yield | Op::Return => 0,
        _ => 1,
    }
}

fn turns(f: &Func, lo: ValueId, hi: ValueId) -> u64 {
    match (f.constant_int(lo), f.constant_int(hi)) {
        (Some(lo), Some(hi)) => (hi - lo).clamp(1, 1 << 32) as u64,
        _ => 16,
    }
}

/// Whether what an iteration of a block takes depends on lengths that are not known: of loops in the loop over the block's
/// iterations, of arrays, or of what functions do.
pub fn is_unknown(f: &Func, block: RegionId) -> bool {
    let mut found = false;
    for &turns in f.region(block).ops.iter().filter(|&&id| f.op(id).op == Op::ScfFor) {
        f.walk_region(f.op(turns).regions[0], &mut |id| {
            let data = f.op(id);
            let known = |some: &[ValueId]| some.iter().all(|&v| f.constant_int(v).is_some());
            found |= match data.op {
                Op::ScfLoop | Op::Call { .. } => true,
                Op::ScfFor => !known(&data.operands[..2]),
                Op::ParFor { .. } => !known(&data.operands),
                Op::MemReduce { .. }
                | Op::MemCopy { .. }
                | Op::MemMatmul
                | Op::MemProduct
                | Op::MemBothSides
                | Op::MemDot => true,
                Op::MemScan { .. } | Op::MemCholesky | Op::MemSolve => true,
                _ => false,
            };
        });
    }
    found
}
