//! Ring three: what each stage promises.

use super::{Checked, broken, broken_func};
use crate::attr::{Access, Level};
use crate::func::{Func, Module, OpId, RegionId, Stage};
use crate::ops::Op;
use crate::types::{Place, Space, Type};

pub(super) fn check(m: &Module, f: &Func) -> Checked {
    let ring = Ring { stage: m.stage, f };
    for ty in &f.results {
        if !ring.type_allowed(ty) {
            return Err(broken_func(
                f,
                "stage.2",
                format!("result type {ty} does not occur at stage {}", m.stage.name()),
            ));
        }
    }
    ring.region(f.body, None, Around { parallel: false, inside: Inside::Function, place: None })?;
    ring.transfers_to_read()
}

/// What stands around a region.
#[derive(Clone, Copy)]
struct Around<'a> {
    /// A parallel loop.
    parallel: bool,
    /// What the region is a part of.
    inside: Inside,
    /// An `env.region` at this place.
    place: Option<&'a Place>,
}

/// Where an op stands among the levels of parallel loops.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    /// In no parallel loop.
    Function,
    /// In the body of a loop over groups.
    Grid,
    /// Under control flow of it, which is the same for all items.
    GridFlow,
    /// In the body of a loop over a group's items.
    Group,
    /// In any other parallel loop, or deeper.
    Items,
}

impl Inside {
    fn of(op: &Op, around: Inside) -> Inside {
        match (op, around) {
            (Op::ParFor { level: Level::Grid(_), .. }, _) => Inside::Grid,
            (Op::ParFor { level: Level::Group, .. }, _) => Inside::Group,
            (Op::ParFor { .. } | Op::ParBlocks { .. } | Op::MemProduct, _) => Inside::Items,
            (_, Inside::Grid) => Inside::GridFlow,
            (_, Inside::Group) => Inside::Items,
            (_, same) => same,
        }
    }

    fn is_grid(self) -> bool {
        matches!(self, Inside::Grid | Inside::GridFlow)
    }
}

struct Ring<'f> {
    stage: Stage,
    f: &'f Func,
}

impl<'f> Ring<'f> {
    fn region(&self, id: RegionId, holder: Option<OpId>, around: Around<'f>) -> Checked {
        let data = self.f.region(id);
        for &v in &data.args {
            let ty = self.f.ty(v);
            if !self.type_allowed(ty) {
                let message = format!("type {ty} does not occur at stage {}", self.stage.name());
                return Err(match holder {
                    Some(op) => broken(self.f, op, "stage.2", message),
                    None => broken_func(self.f, "stage.2", message),
                });
            }
        }
        data.ops.iter().try_for_each(|&op| self.op(op, around))
    }

    fn op(&self, id: OpId, around: Around<'f>) -> Checked {
        let data = self.f.op(id);
        let fail = |invariant: &str, message: &str| Err(broken(self.f, id, invariant, message));
        if !self.op_allowed(&data.op) {
            return fail("stage.1", &format!("the op does not occur at stage {}", self.stage.name()));
        }
        for &v in &data.results {
            let ty = self.f.ty(v);
            if !self.type_allowed(ty) {
                return fail("stage.2", &format!("type {ty} does not occur at stage {}", self.stage.name()));
            }
        }
        let mut inner = around;
        match &data.op {
            Op::SimtGlobalId { .. } | Op::SimtGlobalSize { .. } if !self.f.kernel => {
                return fail("stage.3", "work-items exist in kernels only");
            }
            Op::SimtLaunch { .. }
            | Op::MemAlloc { .. }
            | Op::MemZero
            | Op::MemNeed { .. }
            | Op::MemRelease
            | Op::MemList { .. }
            | Op::MemReserve
                if self.f.kernel || around.parallel =>
            {
                return fail("stage.3", "kernels and parallel loops neither allocate, move memory nor launch");
            }
            Op::ParFor { level: Level::Grid(0), .. } => return fail("stage.9", "groups without items"),
            Op::ParFor { level: Level::Grid(_), .. } if around.parallel => {
                return fail("stage.9", "groups inside a parallel loop");
            }
            Op::ParFor { level: Level::Group, .. } if !around.inside.is_grid() => {
                return fail("stage.9", "the items of no group");
            }
            Op::ParFor { level: Level::Item, .. } if around.inside.is_grid() => {
                return fail("stage.9", "a loop over groups holds loops over their items only");
            }
            Op::MemLocal { .. } if around.inside != Inside::Grid => {
                return fail("stage.9", "local memory is made in the body of a loop over groups");
            }
            Op::SimtBarrier { .. } if around.inside != Inside::Group => {
                return fail("stage.9", "a barrier stands in the body of a loop over a group's items");
            }
            op if around.inside.is_grid()
                && !matches!(op, Op::MemLocal { .. } | Op::MemOffset)
                && (op.dialect() == "mem" || op.effects().may_raise || *op == Op::Return) =>
            {
                return fail(
                    "stage.9",
                    "what is the same for all items of a group touches no memory and raises nothing",
                );
            }
            Op::ParFor { .. } | Op::MemProduct => inner.parallel = true,
            Op::EnvRegion { .. } if around.place.is_some() => {
                return fail("stage.6", "an env.region inside another");
            }
            Op::EnvRegion { at } => inner.place = Some(at),
            Op::MemLoad { .. } | Op::MemAtomic { .. } if !self.f.kernel => self.host_pointer(id, 0)?,
            Op::MemStore { .. } if !self.f.kernel => self.host_pointer(id, 1)?,
            op if self.stage >= Stage::Placed && op.dialect() == "nt" => self.placed(id, around)?,
            _ => {}
        }
        inner.inside = Inside::of(&data.op, around.inside);
        data.regions.iter().try_for_each(|&r| self.region(r, Some(id), inner))
    }

    /// The table of `stage.1`.
    fn op_allowed(&self, op: &Op) -> bool {
        let before_loops = matches!(op, Op::SimtGlobalId { .. } | Op::SimtGlobalSize { .. });
        match (self.stage, op.dialect()) {
            (_, "scf") => true,
            (stage, "par") if matches!(op, Op::ParBlocks { .. }) => stage != Stage::Py && !self.f.kernel,
            (Stage::Py, dialect) => dialect == "py",
            (Stage::Loops, "simt") => !before_loops,
            (Stage::Loops, dialect) => matches!(dialect, "arith" | "math" | "mem" | "par"),
            (_, "simt") => before_loops,
            (Stage::Ntensor, dialect) => matches!(dialect, "nt" | "list" | "arith" | "math" | "shape"),
            (Stage::Placed | Stage::Fused, dialect) => {
                matches!(dialect, "nt" | "list" | "arith" | "math" | "shape" | "env")
            }
        }
    }

    fn type_allowed(&self, ty: &Type) -> bool {
        match (self.stage, ty) {
            (Stage::Py, _) => *ty == Type::Untyped,
            (_, Type::Cell(held)) => !matches!(**held, Type::Cell(_)) && self.type_allowed(held),
            (Stage::Loops, _) => matches!(ty, Type::Num(_) | Type::Mem(..) | Type::Owner),
            (_, Type::Tuple(items) | Type::List(items)) => items.iter().all(|t| self.type_allowed(t)),
            _ => matches!(ty, Type::Py(_) | Type::Num(_) | Type::Tensor(_)),
        }
    }

    /// `stage.4` and `stage.5`.
    fn placed(&self, id: OpId, around: Around<'f>) -> Checked {
        let data = self.f.op(id);
        // Sizes are known everywhere; what refine merely mentions is not touched.
        let operands = match data.op {
            Op::NtDim { .. } | Op::NtStride { .. } => return Ok(()),
            Op::NtRefine { .. } | Op::NtExpand { .. } => &data.operands[..1],
            _ => &data.operands[..],
        };
        let mut places =
            operands.iter().chain(&data.results).filter_map(|&v| self.f.ty(v).as_tensor()).map(|t| &t.place);
        let Some(first) = places.next() else { return Ok(()) };
        if let Some(other) = places.find(|&p| p != first) {
            return Err(broken(self.f, id, "stage.4", format!("arrays at {first} and at {other}")));
        }
        let here = around.place.unwrap_or(&Place::Host);
        let metadata = [Op::NtReshape, Op::NtWeaken, Op::NtNull].contains(&data.op)
            || matches!(data.op, Op::NtRefine { .. } | Op::NtExpand { .. } | Op::NtView { .. });
        let touches = !metadata;
        if touches && !self.f.kernel && first != here {
            return Err(broken(self.f, id, "stage.5", format!("an op on arrays at {first} runs at {here}")));
        }
        Ok(())
    }

    /// `stage.8`.
    fn transfers_to_read(&self) -> Checked {
        let f = self.f;
        // Values that show memory which a transfer gave to read. Definitions come before uses.
        let mut to_read = vec![false; f.values.len()];
        let mut found = Ok(());
        f.walk(&mut |id| {
            let data = f.op(id);
            match &data.op {
                Op::EnvTransfer { mode: Access::Read } => to_read[data.results[0].index()] = true,
                Op::EnvRegion { .. } => {
                    for (&v, &arg) in data.operands.iter().zip(&f.region(data.regions[0]).args) {
                        to_read[arg.index()] = to_read[v.index()];
                    }
                }
                _ => {}
            }
            if data.viewed().is_some_and(|v| to_read[v.index()]) {
                to_read[data.results[0].index()] = true;
            }
            let writes = data.written().iter().any(|v| to_read[v.index()]);
            let passes_on = data.passes_on() && data.operands.iter().any(|v| to_read[v.index()]);
            if found.is_ok() && (writes || passes_on) {
                let what = if writes { "writes to" } else { "passes on" };
                found = Err(broken(f, id, "stage.8", format!("the op {what} what a transfer gave to read")));
            }
        });
        found
    }

    fn host_pointer(&self, id: OpId, operand: usize) -> Checked {
        match self.f.ty(self.f.op(id).operands[operand]) {
            Type::Mem(_, Space::Global) => Err(broken(self.f, id, "stage.7", "the host touches device memory")),
            _ => Ok(()),
        }
    }
}
