//! Ring one: ids, definitions, dominance, terminators, counts.

use super::{Checked, broken, broken_func};
use crate::attr::Level;
use crate::func::{Func, OpId, RegionId, ValueId};
use crate::ops::Op;

pub(super) fn check(f: &Func) -> Checked {
    let mut ring = Ring {
        f,
        defined: vec![false; f.values.len()],
        visible: vec![false; f.values.len()],
        placed: vec![false; f.ops.len()],
        held: vec![false; f.regions.len()],
    };
    ring.region(f.body, None, Exits { return_: true, yield_: false, around: 0, handler: false, items: false })
}

/// Which terminators may stand in a region besides `raise`.
#[derive(Clone, Copy)]
struct Exits {
    return_: bool,
    yield_: bool,
    /// Loops and blocks around that `break` may leave.
    around: u32,
    /// Inside the handler of a `try`.
    handler: bool,
    /// Inside the items of a kernel.
    items: bool,
}

struct Ring<'f> {
    f: &'f Func,
    /// Values with a definition somewhere.
    defined: Vec<bool>,
    /// Values that an op at this point may use.
    visible: Vec<bool>,
    /// Ops that stand in a region.
    placed: Vec<bool>,
    /// Regions that an op holds.
    held: Vec<bool>,
}

impl Ring<'_> {
    fn region(&mut self, id: RegionId, holder: Option<OpId>, exits: Exits) -> Checked {
        let fail = |invariant: &str, message: String| match holder {
            Some(op) => broken(self.f, op, invariant, message),
            None => broken_func(self.f, invariant, message),
        };
        match self.held.get_mut(id.index()) {
            None => return Err(fail("structure.1", format!("{id:?} does not exist"))),
            Some(held) if *held => return Err(fail("structure.2", format!("{id:?} is held twice"))),
            Some(held) => *held = true,
        }
        let data = self.f.region(id);
        if data.ops.is_empty() {
            return Err(fail("structure.5", "an empty region has no terminator".into()));
        }
        let mut mine = vec![];
        for &arg in &data.args {
            self.define(arg, &mut mine, holder)?;
        }
        for (i, &op) in data.ops.iter().enumerate() {
            let fail = |invariant: &str, message: String| match holder {
                Some(op) => broken(self.f, op, invariant, message),
                None => broken_func(self.f, invariant, message),
            };
            match self.placed.get_mut(op.index()) {
                None => return Err(fail("structure.1", format!("{op:?} does not exist"))),
                Some(placed) if *placed => {
                    return Err(broken(self.f, op, "structure.2", "the op stands in two places"));
                }
                Some(placed) => *placed = true,
            }
            let last = i + 1 == data.ops.len();
            self.terminator(op, last, exits)?;
            self.op(op, exits, &mut mine)?;
        }
        for v in mine {
            self.visible[v.index()] = false;
        }
        Ok(())
    }

    fn define(&mut self, v: ValueId, mine: &mut Vec<ValueId>, holder: Option<OpId>) -> Checked {
        let fail = |invariant: &str, message: String| match holder {
            Some(op) => broken(self.f, op, invariant, message),
            None => broken_func(self.f, invariant, message),
        };
        match self.defined.get_mut(v.index()) {
            None => return Err(fail("structure.1", format!("{v:?} does not exist"))),
            Some(defined) if *defined => return Err(fail("structure.3", format!("{v:?} is defined twice"))),
            Some(defined) => *defined = true,
        }
        self.visible[v.index()] = true;
        mine.push(v);
        Ok(())
    }

    fn terminator(&self, id: OpId, last: bool, exits: Exits) -> Checked {
        let op = &self.f.op(id).op;
        if op.is_terminator() != last {
            let what = if last { "the last op is no terminator" } else { "a terminator before the end of its region" };
            return Err(broken(self.f, id, "structure.5", what));
        }
        let allowed = match op {
            Op::Return => exits.return_,
            Op::Yield => exits.yield_,
            Op::Break { depth } | Op::Continue { depth } => *depth < exits.around,
            Op::ScfReraise => exits.handler,
            _ => true,
        };
        if !allowed {
            return Err(broken(self.f, id, "structure.7", "this region may not be left so"));
        }
        Ok(())
    }

    fn op(&mut self, id: OpId, exits: Exits, mine: &mut Vec<ValueId>) -> Checked {
        let data = self.f.op(id);
        let (ins, outs, regions) = data.op.counts();
        for (what, count, n) in [
            ("operands", ins, data.operands.len()),
            ("results", outs, data.results.len()),
            ("regions", regions, data.regions.len()),
        ] {
            if !count.admits(n) {
                return Err(broken(self.f, id, "structure.6", format!("{n} {what} where the table has {count:?}")));
            }
        }
        for &v in &data.operands {
            match self.visible.get(v.index()) {
                None => return Err(broken(self.f, id, "structure.1", format!("operand {v:?} does not exist"))),
                Some(false) => {
                    return Err(broken(self.f, id, "structure.4", format!("operand {v:?} is not visible here")));
                }
                Some(true) => {}
            }
        }
        let isolated = matches!(data.op, Op::NtElementwise | Op::EnvRegion { .. });
        // Parallel items and whole-array bodies are left by `raise` only.
        let parallel = matches!(data.op, Op::ParFor { .. } | Op::ParBlocks { .. } | Op::NtProduct | Op::MemProduct);
        // A kernel's items may end early.
        let items = self.f.kernel && !exits.items && matches!(data.op, Op::ParFor { level: Level::Item, .. });
        let return_ = exits.return_ && !isolated && (!parallel || items);
        let around = if isolated || parallel { 0 } else { exits.around + u32::from(data.op.is_breakable()) };
        let outer =
            if isolated { std::mem::replace(&mut self.visible, vec![false; self.f.values.len()]) } else { vec![] };
        for (i, &r) in data.regions.iter().enumerate() {
            let handler = exits.handler || i == 1 && matches!(data.op, Op::ScfTry | Op::PyTry);
            self.region(r, Some(id), Exits { return_, yield_: true, around, handler, items: exits.items || parallel })?;
        }
        if isolated {
            self.visible = outer;
        }
        for &v in &data.results {
            self.define(v, mine, Some(id))?;
        }
        Ok(())
    }
}
