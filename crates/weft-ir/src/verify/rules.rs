//! Ring two: the types of each op's operands, results and regions, and bound symbols.

use super::{Checked, VerifyError, broken, broken_func};
use crate::attr::{Fold, Order};
use crate::func::{Func, Module, OpData, OpId, RegionId, Stage, ValueId};
use crate::ops::Op;
use crate::site::Site;
use crate::types::{Dim, Layout, Space, TensorType, Type};

pub(super) fn check(m: &Module, f: &Func) -> Checked {
    let mut ring = Ring { m, f, bound: vec![], rank: None, around: vec![] };
    for &p in f.params() {
        let symbols = f.ty(p).as_tensor().into_iter().flat_map(|t| &t.dims);
        ring.bound.extend(symbols.filter(|d| matches!(d, Dim::Sym(_))));
    }
    let near = |ty: &Type| matches!(ty, Type::Mem(_, Space::Local | Space::Private));
    if f.params().iter().any(|&p| near(f.ty(p))) || f.results.iter().any(near) {
        return Err(broken_func(f, "rules.10", "memory of a group or an item goes in or out of a function"));
    }
    if f.kernel && !f.results.is_empty() {
        return Err(broken_func(f, "rules.2", "a kernel has results"));
    }
    ring.region(f.body, None)
}

struct Ring<'f> {
    m: &'f Module,
    f: &'f Func,
    /// Symbols bound at this point.
    bound: Vec<Dim>,
    /// Rank of the enclosing `nt.elementwise`.
    rank: Option<usize>,
    /// The loops and blocks around, innermost last.
    around: Vec<OpId>,
}

impl Ring<'_> {
    fn region(&mut self, id: RegionId, holder: Option<OpId>) -> Checked {
        let f = self.f;
        let bound = self.bound.len();
        for &v in &f.region(id).args {
            self.bind_fresh(v);
            self.symbols(v).map_err(|message| match holder {
                Some(op) => broken(f, op, "rules.12", message),
                None => broken_func(f, "rules.12", message),
            })?;
        }
        for &op in &f.region(id).ops {
            let around = &self.around;
            Rule { m: self.m, f, holder, op, data: f.op(op), rank: self.rank, around }.check()?;
            for &v in &f.op(op).results {
                if f.op(op).op.dialect() == "scf" || matches!(f.op(op).op, Op::NtWeaken | Op::NtNull | Op::ListGet) {
                    self.bind_fresh(v);
                }
                self.symbols(v).map_err(|message| broken(f, op, "rules.12", message))?;
            }
            if let Op::ShapeBind { dim } = f.op(op).op {
                self.bound.push(dim);
            }
            let outer = self.rank;
            if f.op(op).op == Op::NtElementwise {
                self.rank = f.ty(f.op(op).results[0]).as_tensor().map(TensorType::rank);
            }
            let breakable = f.op(op).op.is_breakable();
            if breakable {
                self.around.push(op);
            }
            f.op(op).regions.iter().try_for_each(|&r| self.region(r, Some(op)))?;
            if breakable {
                self.around.pop();
            }
            self.rank = outer;
        }
        self.bound.truncate(bound);
        Ok(())
    }

    /// Symbols that an array passing through control flow, or out of a cell or a call, is the first to have.
    fn bind_fresh(&mut self, v: ValueId) {
        let symbols = self.f.ty(v).as_tensor().into_iter().flat_map(|t| &t.dims);
        self.bound.extend(symbols.filter(|d| matches!(d, Dim::Sym(_))));
    }

    fn symbols(&self, v: ValueId) -> Result<(), String> {
        for dim in self.f.ty(v).as_tensor().into_iter().flat_map(|t| &t.dims) {
            if let Dim::Sym(n) = dim {
                if !self.bound.contains(dim) {
                    return Err(format!("symbol {dim} is not bound here"));
                }
                if *n >= self.f.symbols {
                    return Err(format!("symbol {dim} is not counted by the function"));
                }
            }
        }
        Ok(())
    }
}

/// One op under the rules.
pub(super) struct Rule<'f> {
    m: &'f Module,
    pub(super) f: &'f Func,
    holder: Option<OpId>,
    op: OpId,
    pub(super) data: &'f OpData,
    rank: Option<usize>,
    around: &'f [OpId],
}

pub(super) fn is_index(ty: &Type) -> bool {
    *ty == Type::I64 || *ty == Type::I32 || *ty == Type::PYINT
}

pub(super) fn is_condition(ty: &Type) -> bool {
    *ty == Type::BOOL || *ty == Type::PYBOOL
}

impl<'f> Rule<'f> {
    pub(super) fn fail(&self, rule: u32, message: impl Into<String>) -> VerifyError {
        broken(self.f, self.op, &format!("rules.{rule}"), message)
    }

    pub(super) fn ensure(&self, rule: u32, holds: bool, message: &str) -> Checked {
        if holds { Ok(()) } else { Err(self.fail(rule, message)) }
    }

    pub(super) fn operand(&self, i: usize) -> &'f Type {
        self.f.ty(self.data.operands[i])
    }

    pub(super) fn result(&self, i: usize) -> &'f Type {
        self.f.ty(self.data.results[i])
    }

    pub(super) fn types(&self, values: &[ValueId]) -> Vec<&'f Type> {
        values.iter().map(|&v| self.f.ty(v)).collect()
    }

    /// Operands 0 and 1 are an array and a mask of its sizes, both C-ordered.
    fn masked(&self) -> Checked {
        let (array, mask) = (self.tensor(14, self.operand(0))?, self.tensor(14, self.operand(1))?);
        let fits = array.dims == mask.dims && mask.dtype == crate::DType::Bool;
        self.ensure(14, fits && [array.layout, mask.layout] == [crate::Layout::C; 2], "no mask of a C-ordered array")
    }

    fn tensor(&self, rule: u32, ty: &'f Type) -> Result<&'f TensorType, VerifyError> {
        ty.as_tensor().ok_or_else(|| self.fail(rule, format!("{ty} is no array")))
    }

    /// Region `i` takes arguments of these types.
    fn region_args(&self, i: usize, want: &[&Type]) -> Checked {
        let args = &self.f.region(self.data.regions[i]).args;
        let found = self.types(args);
        self.ensure(1, found == want, &format!("region arguments are {}, not {}", list(&found), list(want)))
    }

    fn check(&self) -> Checked {
        use Op::*;
        let ins = &self.data.operands;
        let typed = self.m.stage != Stage::Py;
        match &self.data.op {
            PyFor => {
                let carried = self.types(&ins[1..]);
                let args = [vec![&Type::Untyped], carried.clone()].concat();
                self.region_args(0, &args)?;
                self.ensure(1, carried == self.types(&self.data.results), "results are not what is carried")
            }
            op if op.dialect() == "py" => Ok(()),
            ScfIf => {
                self.region_args(0, &[])?;
                self.region_args(1, &[])?;
                self.ensure(5, !typed || is_condition(self.operand(0)), "the condition is no bool")
            }
            ScfFor => {
                let index = self.operand(0);
                self.ensure(5, !typed || is_index(index), "the bounds are no i64, i32 or pyint")?;
                self.ensure(5, ins[1..3].iter().all(|&v| self.f.ty(v) == index), "the bounds differ in type")?;
                let carried = self.types(&ins[3..]);
                self.region_args(0, &[vec![index], carried.clone()].concat())?;
                self.ensure(1, carried == self.types(&self.data.results), "results are not what is carried")
            }
            ScfLoop => self.region_args(0, &self.types(ins)),
            ScfBlock => self.region_args(0, &[]),
            ScfTry => {
                self.region_args(0, &[])?;
                self.region_args(1, &[])
            }
            Break { depth } => self.exit(*depth, true),
            Continue { depth } => self.exit(*depth, false),
            CellNew if typed => {
                let held = Type::Cell(self.operand(0).clone().into());
                self.ensure(13, *self.result(0) == held, "the cell holds another type")
            }
            CellGet if typed => {
                // Sizes may differ from one time to the next: they get symbols of their own.
                let fits = matches!(self.operand(0), Type::Cell(held) if like(self.result(0), held));
                self.ensure(13, fits, "the cell holds another type")
            }
            CellSet if typed => {
                let held = Type::Cell(self.operand(0).clone().into());
                self.ensure(13, *self.operand(1) == held, "the cell holds another type")
            }
            Call { function } => self.call(function),
            Yield => self.yields(),
            Return if !typed => Ok(()),
            Return => {
                let want: Vec<&Type> = self.f.results.iter().collect();
                let found = self.types(ins);
                self.ensure(2, found == want, &format!("returns {}, not {}", list(&found), list(&want)))
            }
            Raise { site } => {
                self.site(*site)?;
                self.ensure(3, ins.len() <= Site::MAX_ARGS, "more values than an exception record holds")?;
                self.ensure(3, !typed || ins.iter().all(|&v| self.f.ty(v).is_scalar()), "carries more than scalars")
            }
            Print { site } => {
                self.site(*site)?;
                self.ensure(3, !typed || ins.iter().all(|&v| self.f.ty(v).is_scalar()), "prints more than scalars")
            }
            ShapeBind { dim } => {
                self.ensure(12, matches!(dim, Dim::Sym(_)), "binds a constant")?;
                self.ensure(12, is_index(self.operand(0)), "a size is i64, i32 or pyint")
            }
            op if op.dialect() == "nt" => self.nt(),
            op if op.dialect() == "list" => self.list(),
            op if matches!(op.dialect(), "arith" | "math") => self.scalar(),
            EnvRegion { .. } => self.region_args(0, &self.types(ins)),
            EnvTransfer { .. } => {
                let from = self.tensor(8, self.operand(0))?;
                let to = self.tensor(8, self.result(0))?;
                self.ensure(8, from.dims == to.dims && from.dtype == to.dtype, "a transfer changes sizes or dtype")
            }
            op if op.dialect() == "mem" => self.mem(),
            ParFor { .. } => {
                let in_order = ins.len() > 1 && ins.last().is_some_and(|&v| *self.f.ty(v) == Type::BOOL);
                let sizes = &ins[..ins.len() - usize::from(in_order)];
                let index = self.operand(0);
                // Kernels may count in 32 bits.
                self.ensure(5, *index == Type::I64 || self.f.kernel && is_index(index), "the sizes are not all i64")?;
                self.ensure(5, sizes.iter().all(|&v| self.f.ty(v) == index), "the sizes differ in type")?;
                self.region_args(0, &self.types(sizes))
            }
            ParBlocks { .. } => {
                let index = self.operand(0);
                self.ensure(5, is_index(index) && self.operand(1) == index, "the numbers are no i64 or pyint")?;
                self.region_args(0, &[index])
            }
            SimtLaunch { kernel, dims } => self.launch(kernel, *dims as usize),
            SimtGlobalId { .. } | SimtGlobalSize { .. } => {
                self.ensure(9, *self.result(0) == Type::PYINT, "the result is no pyint")
            }
            _ => Ok(()),
        }
    }

    /// `break` brings the results of what it leaves, `continue` what the loop carries.
    fn exit(&self, depth: u32, leaves: bool) -> Checked {
        // The structure ring has checked that there are so many.
        let Some(&target) = self.around.iter().rev().nth(depth as usize) else { return Ok(()) };
        let target = self.f.op(target);
        let want = match (&target.op, leaves) {
            (Op::ScfBlock, false) => return Err(self.fail(1, "continues a block")),
            (Op::ScfLoop, false) => self.types(&target.operands),
            _ => self.types(&target.results),
        };
        let found = self.types(&self.data.operands);
        self.ensure(1, found == want, &format!("leaves with {}, not {}", list(&found), list(&want)))
    }

    fn call(&self, function: &str) -> Checked {
        let Some(callee) = self.m.func(function).filter(|f| !f.kernel) else {
            return Err(self.fail(11, format!("the module has no function @{function}")));
        };
        let want: Vec<&Type> = callee.params().iter().map(|&v| callee.ty(v)).collect();
        let found = self.types(&self.data.operands);
        // Each function has its own symbols: sizes are compared where values are used.
        let same = found.len() == want.len() && found.iter().zip(&want).all(|(a, b)| like(a, b));
        self.ensure(11, same, &format!("passes {}, the function takes {}", list(&found), list(&want)))?;
        let found = self.types(&self.data.results);
        let same = found.len() == callee.results.len() && found.iter().zip(&callee.results).all(|(a, b)| like(a, b));
        self.ensure(11, same, "the results are not the function's")
    }

    /// `yield` fits the op that holds its region.
    fn yields(&self) -> Checked {
        // The structure ring refuses a yield in a function's body.
        let Some(holder) = self.holder else { return Ok(()) };
        let holder = self.f.op(holder);
        let found = self.types(&self.data.operands);
        let results = self.types(&holder.results);
        let want: Vec<Type> = match holder.op {
            Op::ScfLoop => self.types(&holder.operands).into_iter().cloned().collect(),
            Op::PyGenerator => vec![],
            // What fits the array written is a rule of the op.
            Op::NtInto | Op::NtFold { .. } => return self.ensure(1, found.len() == 1, "yields not one array"),
            // Likewise.
            Op::NtIntoAll => return Ok(()),
            Op::NtElementwise => results.iter().filter_map(|t| t.as_tensor()).map(|t| Type::Num(t.dtype)).collect(),
            _ => results.into_iter().cloned().collect(),
        };
        let want: Vec<&Type> = want.iter().collect();
        self.ensure(1, found == want, &format!("yields {}, not {}", list(&found), list(&want)))
    }

    /// The result has the axes of `from` that are not in `axes`.
    fn folded(&self, from: &TensorType, axes: &[u32], order: Order) -> Checked {
        self.ensure(14, order != Order::Pairs, "an array's elements are no results of runs")?;
        let to = self.tensor(14, self.result(0))?;
        let left = from.dims.iter().enumerate().filter(|(k, _)| !axes.contains(&(*k as u32)));
        self.ensure(14, left.map(|(_, d)| d).eq(&to.dims), "the result's sizes are not those left")?;
        let neighbours = axes.windows(2).all(|w| w[0] + 1 == w[1]) && (axes.len() == 1 || from.layout == Layout::C);
        self.ensure(14, neighbours && !axes.is_empty(), "the axes are not neighbours in memory")
    }

    pub(super) fn site(&self, site: u32) -> Checked {
        self.ensure(3, (site as usize) < self.m.sites.len(), "the site does not exist")
    }

    fn nt(&self) -> Checked {
        use Op::*;
        let ins = &self.data.operands;
        match &self.data.op {
            NtElementwise => self.elementwise(),
            NtPosition { dim } => {
                let inside = self.rank.is_some_and(|rank| (*dim as usize) < rank);
                self.ensure(7, inside, "no enclosing nt.elementwise has this dimension")?;
                self.ensure(7, *self.result(0) == Type::I64, "a position is i64")
            }
            NtRefine { site } => {
                self.site(*site)?;
                let from = self.tensor(8, self.operand(0))?;
                let to = self.tensor(8, self.result(0))?;
                self.ensure(8, from.rank() == to.rank() && from.dtype == to.dtype, "refine changes rank or dtype")?;
                let stays = |(a, b): (&Dim, &Dim)| a == b || matches!(a, Dim::Sym(_)) || matches!(b, Dim::Sym(_));
                self.ensure(8, from.dims.iter().zip(&to.dims).all(stays), "refine changes a constant size")
            }
            NtDim { dim } | NtStride { dim } => {
                let t = self.tensor(9, self.operand(0))?;
                self.ensure(9, (*dim as usize) < t.rank(), "the array has no such dimension")?;
                self.ensure(9, *self.result(0) == Type::PYINT, "the result is no pyint")
            }
            NtOverlaps => {
                self.tensor(9, self.operand(0))?;
                self.tensor(9, self.operand(1))?;
                self.ensure(9, *self.result(0) == Type::BOOL, "the result is no bool")
            }
            NtKeep => {
                self.tensor(14, self.operand(1))?;
                self.tensor(14, self.operand(0))?;
                self.ensure(14, self.result(0) == self.operand(0), "what is kept has another type")
            }
            NtItem => {
                let t = self.tensor(9, self.operand(0))?;
                self.ensure(9, t.rank() == 0, "only a 0-d array is an item")?;
                self.ensure(9, *self.result(0) == Type::Num(t.dtype), "the result is not the array's element")
            }
            NtLoad { .. } => {
                let t = self.tensor(9, self.operand(0))?;
                self.indices(t, &ins[1..])?;
                self.ensure(9, *self.result(0) == Type::Num(t.dtype), "the result is not the array's element")
            }
            NtStore { .. } => {
                let t = self.tensor(9, self.operand(1))?;
                self.ensure(9, !t.readonly, "the array is read-only")?;
                self.indices(t, &ins[2..])?;
                self.ensure(9, *self.operand(0) == Type::Num(t.dtype), "the value is not the array's element")
            }
            NtAtomic { rmw, .. } => {
                let t = self.tensor(9, self.operand(0))?;
                self.ensure(9, !t.readonly, "the array is read-only")?;
                self.ensure(9, rmw.fits(t.dtype), "elements of this dtype have no such update")?;
                self.ensure(9, ins.len() > rmw.values(), "values are missing")?;
                let element = Type::Num(t.dtype);
                let fit = ins[1..=rmw.values()].iter().all(|&v| *self.f.ty(v) == element) && *self.result(0) == element;
                self.ensure(9, fit, "a value, or the result, is not the array's element")?;
                self.indices(t, &ins[1 + rmw.values()..])
            }
            NtIndex { site, .. } => {
                self.site(*site)?;
                let index = self.operand(0);
                self.ensure(9, is_index(index) && self.operand(1) == index, "an index and a size of one type")?;
                self.ensure(9, self.result(0) == index, "the result is no index")
            }
            NtView { axes } => {
                let t = self.tensor(14, self.operand(0))?;
                let to = self.tensor(14, self.result(0))?;
                self.ensure(14, ins.len() == 1 + 2 * t.rank(), "a start and a step for each axis")?;
                self.ensure(14, ins[1..].iter().all(|&v| *self.f.ty(v) == Type::I64), "starts and steps are i64")?;
                self.ensure(14, axes.len() == to.rank() && t.dtype == to.dtype, "the axes are not the result's")?;
                let known = |&a: &i32| a == -1 || (a >= 0 && (a as usize) < t.rank());
                self.ensure(14, axes.iter().all(known), "the array has no such axis")
            }
            NtExpand { site } => {
                self.site(*site)?;
                let from = self.tensor(14, self.operand(0))?;
                let to = self.tensor(14, self.result(0))?;
                self.ensure(14, from.rank() <= to.rank() && from.dtype == to.dtype, "expands to fewer dimensions")
            }
            NtWeaken => {
                let from = self.tensor(14, self.operand(0))?;
                let to = self.tensor(14, self.result(0))?;
                let alike = from.dtype == to.dtype && from.rank() == to.rank();
                let known = to.layout == from.layout
                    || to.layout == crate::Layout::A
                    || (from.layout, to.layout) == (crate::Layout::C, crate::Layout::I);
                self.ensure(14, alike && known, "the result says more of the array than is known")
            }
            NtReshape => {
                let from = self.tensor(14, self.operand(0))?;
                let to = self.tensor(14, self.result(0))?;
                let fits = from.dtype == to.dtype && to.layout == crate::Layout::C;
                self.ensure(14, fits, "reshaped arrays are C-ordered")
            }
            NtCopy => {
                let to = self.tensor(14, self.operand(0))?;
                self.ensure(14, !to.readonly, "the array is read-only")?;
                if *self.operand(1) == Type::Num(to.dtype) {
                    return Ok(());
                }
                let from = self.tensor(14, self.operand(1))?;
                self.ensure(14, from.dims == to.dims && from.dtype == to.dtype, "sizes or dtypes differ")
            }
            NtIntoAll => {
                self.region_args(0, &[])?;
                let last = self.f.region(self.data.regions[0]).ops.last();
                let yielded = last.map(|&op| self.f.op(op).operands.to_vec()).unwrap_or_default();
                self.ensure(14, yielded.len() == self.data.operands.len(), "not an array for each that is written")?;
                for (k, &v) in yielded.iter().enumerate() {
                    let (to, from) = (self.tensor(14, self.operand(k))?, self.tensor(14, self.f.ty(v))?);
                    self.ensure(14, !to.readonly, "an array is read-only")?;
                    self.ensure(14, from.dims == to.dims && from.dtype == to.dtype, "sizes or dtypes differ")?;
                }
                Ok(())
            }
            NtInto => {
                let to = self.tensor(14, self.operand(0))?;
                self.ensure(14, !to.readonly, "the array is read-only")?;
                self.region_args(0, &[])?;
                let last = self.f.region(self.data.regions[0]).ops.last();
                let yielded = last.and_then(|&op| self.f.op(op).operands.first());
                let from = yielded.and_then(|&v| self.f.ty(v).as_tensor());
                let fits = from.is_some_and(|from| from.dims == to.dims && from.dtype == to.dtype);
                self.ensure(14, fits, "sizes or dtypes differ")?;
                self.ensure(14, self.data.operands.len() <= 2, "more than an array and a mask")?;
                if self.data.operands.len() < 2 {
                    return Ok(());
                }
                let mask = self.tensor(14, self.operand(1))?;
                self.ensure(
                    14,
                    mask.dims == to.dims && mask.dtype == crate::DType::Bool,
                    "the mask is none of the array",
                )
            }
            NtCount => {
                let mask = self.tensor(14, self.operand(0))?;
                let fits = mask.dtype == crate::DType::Bool && mask.layout == crate::Layout::C;
                self.ensure(14, fits && *self.result(0) == Type::I64, "counts no C-ordered bools")
            }
            NtCompress => {
                self.masked()?;
                self.ensure(14, *self.operand(2) == Type::I64, "the number is no i64")?;
                let (from, to) = (self.tensor(14, self.operand(0))?, self.tensor(14, self.result(0))?);
                let fits = to.rank() == 1 && to.dtype == from.dtype && to.layout == crate::Layout::C;
                self.ensure(14, fits, "the result is no line of such elements")
            }
            NtPut => {
                self.masked()?;
                let to = self.tensor(14, self.operand(0))?;
                self.ensure(14, !to.readonly, "the array is read-only")?;
                if *self.operand(2) == Type::Num(to.dtype) {
                    return Ok(());
                }
                let from = self.tensor(14, self.operand(2))?;
                self.ensure(14, from.rank() == 1 && from.dtype == to.dtype, "the values are no line of such elements")
            }
            NtScan { fold } => {
                let from = self.tensor(14, self.operand(0))?;
                let to = self.tensor(14, self.result(0))?;
                let fits = from.rank() == 1 && from.dims == to.dims && from.dtype == to.dtype;
                self.ensure(14, fits && to.layout == Layout::C, "the result is no vector of the operand's type")?;
                self.ensure(14, !matches!(fold, Fold::ArgMin | Fold::ArgMax), "positions are not scanned")
            }
            NtReduce { axes, order, .. } => self.folded(self.tensor(14, self.operand(0))?, axes, *order),
            NtFold { axes, order, .. } => {
                self.region_args(0, &[])?;
                let last = self.f.region(self.data.regions[0]).ops.last();
                let yielded = last.and_then(|&op| self.f.op(op).operands.first());
                let Some(from) = yielded.and_then(|&v| self.f.ty(v).as_tensor()) else {
                    return Err(self.fail(14, "yields no array".to_owned()));
                };
                self.ensure(14, from.layout == Layout::C, "the array is not C-ordered")?;
                self.folded(from, axes, *order)
            }
            NtMatmul => {
                let a = self.tensor(14, self.operand(0))?;
                let b = self.tensor(14, self.operand(1))?;
                let to = self.tensor(14, self.result(0))?;
                let rank = to.rank();
                self.ensure(14, rank >= 2 && a.rank() == rank && b.rank() == rank, "no matrices of one rank")?;
                self.ensure(14, a.dtype == to.dtype && b.dtype == to.dtype, "the matrices are of different dtypes")?;
                let outer = rank - 2;
                let fits = a.dims[..outer] == to.dims[..outer]
                    && b.dims[..outer] == to.dims[..outer]
                    && a.dims[outer] == to.dims[outer]
                    && b.dims[rank - 1] == to.dims[rank - 1];
                self.ensure(14, fits, "the result's sizes are not those of the factors")
            }
            NtBothSides => {
                let a = self.tensor(14, self.operand(0))?;
                self.ensure(14, a.rank() == 2 && self.data.operands.len() <= 3, "no matrix, or too many vectors")?;
                for &v in self.data.operands[1..].iter().chain(&self.data.results) {
                    let vector = self.tensor(14, self.f.ty(v))?;
                    let thin = vector.rank() == 2 && vector.dims.contains(&Dim::Const(1));
                    self.ensure(14, thin && vector.dtype == a.dtype, "no vector of the matrix's dtype")?;
                }
                Ok(())
            }
            NtProduct => {
                let [to, a, b] = [0, 1, 2].map(|k| self.tensor(14, self.operand(k)));
                let (to, a, b) = (to?, a?, b?);
                self.ensure(14, [to, a, b].iter().all(|t| t.rank() == 2), "no matrices")?;
                self.ensure(14, a.dtype == to.dtype && b.dtype == to.dtype, "the matrices are of different dtypes")?;
                let fits = a.dims[0] == to.dims[0] && b.dims[1] == to.dims[1] && !to.readonly;
                self.ensure(14, fits, "the sizes are not those of the factors")?;
                self.region_args(0, &[&Type::I64; 4])
            }
            NtCholesky => {
                let a = self.tensor(14, self.operand(0))?;
                let to = self.tensor(14, self.result(0))?;
                let fits = a.rank() == 2 && a.dims == to.dims && a.dtype == to.dtype;
                self.ensure(14, fits, "the factor is not of the matrix's type")?;
                self.ensure(14, to.layout == Layout::C, "the factor is not C-ordered")?;
                self.ensure(14, *self.result(1) == Type::I64, "the outcome is no i64")
            }
            NtSolve => {
                for k in 0..2 {
                    let from = self.tensor(14, self.operand(k))?;
                    let to = self.tensor(14, self.result(k))?;
                    let fits = from.rank() == 2 && from.dims == to.dims && from.dtype == to.dtype;
                    self.ensure(14, fits, "results are not of the operands' types")?;
                    self.ensure(14, to.layout == Layout::C, "a result is not C-ordered")?;
                }
                self.ensure(14, *self.result(2) == Type::I64, "the sign is no i64")
            }
            NtDot => {
                let a = self.tensor(14, self.operand(0))?;
                let b = self.tensor(14, self.operand(1))?;
                self.ensure(14, a.rank() == 1 && b.rank() == 1, "no vectors")?;
                self.ensure(14, a.dtype == b.dtype, "the vectors are of different dtypes")?;
                self.ensure(14, *self.result(0) == Type::Num(a.dtype), "the result is not the vectors' element")
            }
            _ => Ok(()),
        }
    }

    fn list(&self) -> Checked {
        let of = |ty: &'f Type| ty.as_list().ok_or_else(|| self.fail(15, format!("{ty} is no list")));
        let item = |values: &[ValueId], want: &[Type]| {
            let same = values.len() == want.len() && values.iter().zip(want).all(|(&v, t)| like(self.f.ty(v), t));
            self.ensure(15, same, "the values are not those of an item")
        };
        if self.data.op == Op::ListNew {
            return of(self.result(0)).map(drop);
        }
        let items = of(self.operand(0))?;
        match self.data.op {
            Op::ListLen => self.ensure(15, *self.result(0) == Type::PYINT, "the result is no pyint"),
            Op::ListPush => item(&self.data.operands[1..], items),
            _ => {
                self.ensure(15, is_index(self.operand(1)), "an index is i64, i32 or pyint")?;
                match self.data.op {
                    Op::ListGet => item(&self.data.results, items),
                    Op::ListSet => item(&self.data.operands[2..], items),
                    Op::ListRoom => self.ensure(15, items.iter().all(Type::is_scalar), "items are not numbers alone"),
                    _ => Ok(()),
                }
            }
        }
    }

    fn indices(&self, t: &TensorType, indices: &[ValueId]) -> Checked {
        self.ensure(9, indices.len() == t.rank(), "the number of indices is not the array's rank")?;
        self.ensure(9, indices.iter().all(|&v| is_index(self.f.ty(v))), "an index is no i64, i32 or pyint")
    }

    fn elementwise(&self) -> Checked {
        let space = self.tensor(6, self.result(0))?;
        for &v in &self.data.results {
            let t = self.tensor(6, self.f.ty(v))?;
            self.ensure(6, t.dims == space.dims, "the results differ in sizes")?;
        }
        let mut args = vec![];
        for &v in &self.data.operands {
            match self.f.ty(v) {
                Type::Tensor(t) => {
                    let aligned = t.rank() <= space.rank()
                        && t.dims
                            .iter()
                            .rev()
                            .zip(space.dims.iter().rev())
                            .all(|(have, want)| have == want || *have == Dim::Const(1));
                    self.ensure(6, aligned, &format!("operand {t} does not broadcast to the results' sizes"))?;
                    args.push(Type::Num(t.dtype));
                }
                ty if ty.is_scalar() => args.push(ty.clone()),
                ty => return Err(self.fail(6, format!("operand {ty} is neither array nor scalar"))),
            }
        }
        self.region_args(0, &args.iter().collect::<Vec<_>>())?;
        let mut inner = None;
        self.f.walk_region(self.data.regions[0], &mut |op| {
            let o = &self.f.op(op).op;
            if o.effects().writes || *o == Op::NtElementwise {
                inner.get_or_insert(op);
            }
        });
        match inner {
            Some(op) => Err(broken(self.f, op, "rules.6", "not allowed in the body of an nt.elementwise")),
            None => Ok(()),
        }
    }

    fn launch(&self, kernel: &str, dims: usize) -> Checked {
        let Some(callee) = self.m.func(kernel).filter(|f| f.kernel) else {
            return Err(self.fail(11, format!("the module has no kernel @{kernel}")));
        };
        let ins = &self.data.operands;
        self.ensure(11, (1..=ins.len()).contains(&dims), "fewer operands than dimensions")?;
        self.ensure(11, ins[..dims].iter().all(|&v| *self.f.ty(v) == Type::I64), "launch sizes are i64")?;
        let want: Vec<&Type> = callee.params().iter().map(|&v| callee.ty(v)).collect();
        let found = self.types(&ins[dims..]);
        self.ensure(11, found == want, &format!("passes {}, the kernel takes {}", list(&found), list(&want)))
    }
}

/// Equal but for sizes.
fn like(a: &Type, b: &Type) -> bool {
    if let (Type::Cell(a), Type::Cell(b)) = (a, b) {
        return like(a, b);
    }
    match (a.as_tensor(), b.as_tensor()) {
        (Some(a), Some(b)) => TensorType { dims: b.dims.clone(), ..a.clone() } == *b && a.rank() == b.rank(),
        _ => a == b,
    }
}

pub(super) fn list(types: &[&Type]) -> String {
    if types.is_empty() {
        return "nothing".into();
    }
    types.iter().map(|t| t.to_string()).collect::<Vec<_>>().join(", ")
}
