//! Memory of small temporaries, in host functions at stage `loops` after owners were counted.
//!
//! Comes in: `mem.alloc` whose owner is only released, so that nobody has the memory after its region. Goes out: memory on the
//! stack where the size is a small number; and in a loop, where asking the runtime costs more than working on a few elements,
//! the stack or the runtime's by what the size is.

use std::collections::BTreeSet;

use weft_ir::attr::CmpOp;
use weft_ir::{Builder, DType, Func, Op, OpData, OpId, Place, RegionId, Type, ValueId};

/// Most bytes of a temporary on the stack.
const SMALL: i64 = 512;
/// Most bytes that all of them have in one function.
const ALL: i64 = 16 << 10;

/// The pass. Functions that others call may be deep in a recursion, and leave the stack alone.
pub(super) fn run(f: &mut Func) {
    let Some(only_released) = only_released(f) else { return };
    let body = f.body;
    let mut small = Small { f, only_released, left: ALL, gone: BTreeSet::new(), chosen: vec![] };
    small.region(body, false);
    let Small { gone, chosen, .. } = small;
    rewrite_releases(f, &gone, &chosen);
}

/// Owners of allocated host memory that are released and not used otherwise; `None` where there are none.
fn only_released(f: &Func) -> Option<BTreeSet<ValueId>> {
    let mut owners = BTreeSet::new();
    f.walk(&mut |id| {
        if matches!(&f.op(id).op, Op::MemAlloc { at } if at.is_host()) {
            owners.insert(f.op(id).results[1]);
        }
    });
    if owners.is_empty() {
        return None;
    }
    f.walk(&mut |id| {
        if f.op(id).op != Op::MemRelease {
            owners.retain(|owner| !f.op(id).operands.contains(owner));
        }
    });
    Some(owners)
}

struct Small<'f> {
    f: &'f mut Func,
    only_released: BTreeSet<ValueId>,
    /// Bytes that are left.
    left: i64,
    /// Owners of what is on the stack now.
    gone: BTreeSet<ValueId>,
    /// Owners of what may be, and whether it is not.
    chosen: Vec<(ValueId, ValueId)>,
}

impl Small<'_> {
    fn region(&mut self, region: RegionId, in_loop: bool) {
        let ops = std::mem::take(&mut self.f.regions[region.index()].ops);
        for id in ops {
            let data = self.f.op(id).clone();
            let repeats = matches!(data.op, Op::ScfFor | Op::ScfLoop | Op::ParBlocks { .. });
            data.regions.iter().for_each(|&r| self.region(r, in_loop || repeats));
            let temporary = matches!(data.op, Op::MemAlloc { .. }) && self.only_released.contains(&data.results[1]);
            let bytes = temporary.then(|| self.f.constant_int(data.operands[0]).and_then(|n| i64::try_from(n).ok()));
            match bytes {
                Some(Some(bytes)) if (0..=SMALL).contains(&bytes) && bytes <= self.left => {
                    self.on_stack(region, id, bytes.max(1));
                }
                Some(None) if in_loop && SMALL <= self.left => self.by_size(region, id, &data),
                _ => self.f.regions[region.index()].ops.push(id),
            }
        }
    }

    /// The memory on the stack.
    fn on_stack(&mut self, region: RegionId, id: OpId, bytes: i64) {
        self.left -= bytes;
        let op = &mut self.f.ops[id.index()];
        self.gone.insert(op.results[1]);
        op.op = Op::MemStack { bytes: bytes as u32 };
        op.operands.clear();
        op.results.truncate(1);
        self.f.regions[region.index()].ops.push(id);
    }

    /// The memory on the stack if it fits there.
    fn by_size(&mut self, region: RegionId, id: OpId, data: &OpData) {
        self.left -= SMALL;
        let types: Vec<Type> = data.results.iter().map(|&v| self.f.ty(v).clone()).collect();
        let unsigned = Type::Num(DType::U64);
        let mut b = Builder { func: self.f, region, span: data.span };
        let most = b.i64(SMALL);
        // No number of bytes is negative, but one that is would not be small.
        let (bytes, most) = (b.cast(data.operands[0], unsigned.clone()), b.cast(most, unsigned));
        let large = b.value(Op::Cmp { is: CmpOp::Gt }, &[bytes, most], Type::BOOL);
        let stack = b.value(Op::MemStack { bytes: SMALL as u32 }, &[], types[0].clone());
        let (small, ()) = b.region(|b| {
            let null = b.op(Op::MemNull, &[], &types, &[]);
            let nobody = b.func.op(null).results[1];
            b.effect(Op::Yield, &[stack, nobody]);
        });
        let (asked, ()) = b.region(|b| {
            let made = b.op(Op::MemAlloc { at: Place::Host }, &data.operands, &types, &[]);
            let made = b.func.op(made).results.clone();
            b.effect(Op::Yield, &made);
        });
        self.chosen.push((data.results[1], large));
        let op = &mut self.f.ops[id.index()];
        op.op = Op::ScfIf;
        op.operands = vec![large].into();
        op.regions = vec![asked, small].into();
        self.f.regions[region.index()].ops.push(id);
    }
}

/// Releases only what the runtime gave.
fn rewrite_releases(f: &mut Func, gone: &BTreeSet<ValueId>, chosen: &[(ValueId, ValueId)]) {
    let mut releases = vec![];
    f.walk(&mut |id| {
        if f.op(id).op == Op::MemRelease {
            releases.push(id);
        }
    });
    let removed: BTreeSet<OpId> = releases.iter().copied().filter(|&id| gone.contains(&f.op(id).operands[0])).collect();
    f.regions.iter_mut().for_each(|r| r.ops.retain(|op| !removed.contains(op)));
    for id in releases {
        let data = f.op(id).clone();
        let Some(&(_, large)) = chosen.iter().find(|(owner, _)| *owner == data.operands[0]) else { continue };
        let nothing = f.new_region();
        let mut b = Builder { func: f, region: nothing, span: data.span };
        let (releases, ()) = b.region(|b| {
            b.effect(Op::MemRelease, &data.operands);
            b.effect(Op::Yield, &[]);
        });
        b.effect(Op::Yield, &[]);
        let op = &mut f.ops[id.index()];
        op.op = Op::ScfIf;
        op.operands = vec![large].into();
        op.regions = vec![releases, nothing].into();
    }
}
