//! Loops: over ranges, over what has a length and items, over tuples (one copy of the body per item), and `while`.

use super::Infer;
use super::abs::{Abs, INT64, Iter};
use super::exits::{Leave, Pending, Target};
use super::join::Ty;
use super::walk::{Env, Flow, Here};
use weft_diag::Diagnostic;
use weft_ir::attr::{BinOp, CmpOp, Const};
use weft_ir::{ExcClass, Op, OpData, OpId, RegionId, Type, ValueId};

/// Most items of a tuple that a loop is unrolled for.
const MAX_UNROLLED: i128 = 256;

impl Infer<'_> {
    pub(super) fn walk_for(
        &mut self,
        py: Here<'_>,
        op: OpId,
        args: Vec<Abs>,
        env: &mut Env,
    ) -> Result<Option<Flow>, Diagnostic> {
        let mut iter = self.present_or(&args[0], ExcClass::TypeError, "'NoneType' object is not iterable")?;
        let inits = &args[1..];
        if let Abs::Iter(it) = &iter
            && let Iter::Parallel(range) = &**it
        {
            let range = range.clone();
            if self.may_run_at_once() {
                return self.walk_parallel(py, op, &range, inits, env);
            }
            iter = range;
        }
        match &iter {
            Abs::Iter(it) => match &**it {
                Iter::Generator(_) | Iter::Filter(..) => return self.walk_generated(py, op, &iter, inits, env),
                _ => {}
            },
            // The items of a generator that becomes a tuple are written out.
            Abs::Range(_) if !self.collected.is_empty() && self.sinks.is_empty() && self.is_static(&iter) => {}
            Abs::Range(bounds) => {
                let bounds = [self.pyint(&bounds[0])?, self.pyint(&bounds[1])?, self.pyint(&bounds[2])?];
                return self.walk_counted(py, op, bounds, inits, env, &mut |_, i| Ok(Abs::Value(i)));
            }
            _ => {}
        }
        if self.is_static(&iter) {
            return self.walk_unrolled(py, op, &iter, inits, env);
        }
        if self.is_growing(&iter) || self.is_empty(&iter) {
            return self.walk_list(py, op, &iter, inits, env);
        }
        let len = self.iter_len(&iter)?;
        let zero = self.constant(Const::Int(0), Type::PYINT);
        let one = self.constant(Const::Int(1), Type::PYINT);
        let bounds = [zero, self.pyint(&len)?, one];
        self.walk_counted(py, op, bounds, inits, env, &mut |s, i| s.item_at(&iter, &Abs::Value(i)))
    }

    /// Values an index can have.
    pub(super) fn index_range(&self, [lo, hi, step]: [ValueId; 3]) -> (i128, i128) {
        let (lo, hi, step) = (self.range(&Abs::Value(lo)), self.range(&Abs::Value(hi)), self.range(&Abs::Value(step)));
        match step {
            (1.., _) => (lo.0, (hi.1 - 1).max(lo.0)),
            (_, ..0) => ((hi.0 + 1).min(lo.1), lo.1),
            _ => INT64,
        }
    }

    pub(super) fn walk_counted(
        &mut self,
        py: Here<'_>,
        op: OpId,
        bounds: [ValueId; 3],
        inits: &[Abs],
        env: &mut Env,
        item: &mut dyn FnMut(&mut Self, ValueId) -> Result<Abs, Diagnostic>,
    ) -> Result<Option<Flow>, Diagnostic> {
        let data = py.func.op(op).clone();
        let span = self.span;
        let mut turn = self.turn(op, inits)?;
        let index = self.out.new_value(Type::PYINT);
        self.out.regions[turn.region.index()].args.push(index);
        let range = self.index_range(bounds);
        self.ranges.insert(index, range);
        match self.range(&Abs::Value(bounds[2])) {
            (1.., _) => self.below(index, &Abs::Value(bounds[1])),
            (_, ..0) => self.at_most(index, &Abs::Value(bounds[0])),
            _ => {}
        }
        let rises = self.range(&Abs::Value(bounds[2])).0 > 0;
        let carried = self.region_values(turn.region, &turn.forms)?;
        self.grow_from(turn.key, inits, &carried);
        self.undecided += 1;
        let (end, target) = self.in_loop(turn.region, |s| {
            if rises {
                s.grant_counter(index, bounds[1]);
            }
            let item = item(s, index)?;
            s.walk_turn(py, &data, item, carried.clone(), env)
        })?;
        self.undecided -= 1;
        turn.exits(target, end);
        let all: Vec<&Pending> = turn.continues.iter().chain(&turn.breaks).collect();
        let joined = self.join_exits(Some(turn.declared.clone()), all.into_iter());
        let exits = [&turn.continues[..], &turn.breaks[..]].concat();
        let joined = joined.map_err(|d| self.turns_clash(py, &data, &turn.declared, &exits, d))?;
        self.widen(turn.key, &turn.declared, joined)?;
        // An iteration that leaves has changed values too, and they are what the loop gives.
        let turns = self.range(&Abs::Value(bounds[1])).1 - self.range(&Abs::Value(bounds[0])).0;
        let turns = if self.range(&Abs::Value(bounds[2])).0 > 0 { turns.max(0) } else { 1 << 64 };
        let all: Vec<Pending> = turn.continues.iter().chain(&turn.breaks).cloned().collect();
        let growths = self.grow_through(turn.key, turns, inits, &carried, &all)?;
        self.span = span;
        let mut operands = bounds.to_vec();
        operands.extend(&turn.inits);
        self.settle_turn(&turn)?;
        for exit in &turn.breaks {
            self.settle(exit, Leave::Break, self.level + 1, &turn.forms)?;
        }
        let results = self.structured(Op::ScfFor, &operands, &turn.forms, &[turn.region])?;
        self.grow_results(&growths, &results);
        self.run_course(turn.key, inits, &results);
        bind_results(&data, results, env);
        Ok(None)
    }

    /// `while`: the region decides itself when to leave.
    pub(super) fn walk_while(
        &mut self,
        py: Here<'_>,
        op: OpId,
        inits: Vec<Abs>,
        env: &mut Env,
    ) -> Result<Option<Flow>, Diagnostic> {
        let data = py.func.op(op).clone();
        let span = self.span;
        let mut turn = self.turn(op, &inits)?;
        let carried = self.region_values(turn.region, &turn.forms)?;
        self.grow_from(turn.key, &inits, &carried);
        self.undecided += 1;
        let (end, target) = self.in_loop(turn.region, |s| {
            let mut inner = env.clone();
            for (&p, a) in py.func.region(data.regions[0]).args.iter().zip(&carried) {
                inner[p.index()] = Some(a.clone());
            }
            let flow = s.walk_region(py, data.regions[0], &mut inner)?;
            s.end_of_turn(flow)
        })?;
        self.undecided -= 1;
        turn.exits(target, end);
        let joined = self.join_exits(Some(turn.declared.clone()), turn.continues.iter());
        let joined = joined.map_err(|d| self.turns_clash(py, &data, &turn.declared, &turn.continues, d))?;
        self.widen(turn.key, &turn.declared, joined)?;
        let continues = turn.continues.clone();
        let growths = self.grow_through(turn.key, i128::MAX >> 8, &inits, &carried, &continues)?;
        self.span = span;
        self.settle_turn(&turn)?;
        let breaks = std::mem::take(&mut turn.breaks);
        let joined = self.join_exits(None, breaks.iter())?;
        let joined: Vec<Ty> = joined.iter().map(|ty| self.outer_form(ty)).collect();
        let forms: Vec<Ty> = joined.iter().map(|ty| self.instantiate(ty)).collect();
        for exit in &breaks {
            self.settle(exit, Leave::Break, self.level + 1, &forms)?;
        }
        let results = self.structured(Op::ScfLoop, &turn.inits, &forms, &[turn.region])?;
        self.grow_left(&growths, &carried, &breaks, &results);
        if breaks.is_empty() {
            self.unreachable();
            return Ok(Some(Flow::Left));
        }
        bind_results(&data, results, env);
        Ok(None)
    }

    /// A block that `break` leaves.
    pub(super) fn walk_block(&mut self, py: Here<'_>, op: OpId, env: &mut Env) -> Result<Option<Flow>, Diagnostic> {
        let data = py.func.op(op).clone();
        let region = self.out.new_region();
        let first_exit = self.exits;
        let (flow, target) = self.in_loop(region, |s| s.walk_region(py, data.regions[0], env))?;
        let end = match flow {
            Flow::Yield(values) => Some(values),
            Flow::Left => None,
            Flow::Return(value) if target.breaks.is_empty() => {
                self.finish_block(region, first_exit, Some(vec![]), vec![])?;
                return Ok(Some(Flow::Return(value)));
            }
            Flow::Return(value) => {
                self.level += 1;
                let left = self.inside(region, |s| s.leave(value));
                self.level -= 1;
                left?;
                None
            }
        };
        match self.finish_block(region, first_exit, end, target.breaks)? {
            Some(results) => {
                bind_results(&data, results, env);
                Ok(None)
            }
            None => Ok(Some(Flow::Left)),
        }
    }

    /// One copy of the body for each item.
    fn walk_unrolled(
        &mut self,
        py: Here<'_>,
        op: OpId,
        iter: &Abs,
        inits: &[Abs],
        env: &mut Env,
    ) -> Result<Option<Flow>, Diagnostic> {
        let data = py.func.op(op).clone();
        let Abs::Const(Const::Int(count)) = self.iter_len(iter)? else {
            return Err(self.internal("a length that is not known"));
        };
        if count > MAX_UNROLLED {
            return Err(self
                .refuse(format!("a loop over a tuple of {count} items is too long to be written out"))
                .help("make it an array: np.array(…)"));
        }
        let outer = self.out.new_region();
        let first_exit = self.exits;
        let mut carried = Some(inits.to_vec());
        let (returned, target) = self.in_loop(outer, |s| -> Result<Option<Abs>, Diagnostic> {
            for k in 0..count {
                let Some(values) = carried.take() else { break };
                let region = s.out.new_region();
                let first_exit = s.exits;
                s.path.push(u32::MAX - k as u32);
                s.level += 1;
                let flow = s.inside(region, |s| {
                    let item = s.item_at(iter, &Abs::Const(Const::Int(k)))?;
                    s.walk_body_region(py, &data, item, values, env)
                });
                s.level -= 1;
                s.path.pop();
                let continues = s.frames.last_mut().and_then(|f| f.targets.last_mut());
                let continues = continues.map(|t| std::mem::take(&mut t.continues)).unwrap_or_default();
                let end = match flow? {
                    Flow::Yield(values) => Some(values),
                    Flow::Left => None,
                    Flow::Return(value) => {
                        let broken =
                            s.frames.last().and_then(|f| f.targets.last()).is_some_and(|t| !t.breaks.is_empty());
                        if continues.is_empty() && !broken {
                            s.finish_block(region, first_exit, Some(vec![]), vec![])?;
                            return Ok(Some(value));
                        }
                        s.level += 1;
                        let left = s.inside(region, |s| s.leave(value));
                        s.level -= 1;
                        left?;
                        None
                    }
                };
                carried = s.finish_block(region, first_exit, end, continues)?;
            }
            Ok(None)
        })?;
        if let Some(value) = returned {
            self.finish_block(outer, first_exit, Some(vec![]), vec![])?;
            return Ok(Some(Flow::Return(value)));
        }
        match self.finish_block(outer, first_exit, carried, target.breaks)? {
            Some(results) => {
                bind_results(&data, results, env);
                Ok(None)
            }
            None => Ok(Some(Flow::Left)),
        }
    }

    /// Walks inside the region of a loop or block; returns the exits found with it.
    pub(super) fn in_loop<R>(
        &mut self,
        region: RegionId,
        walk: impl FnOnce(&mut Self) -> Result<R, Diagnostic>,
    ) -> Result<(R, Target), Diagnostic> {
        self.level += 1;
        if let Some(f) = self.frames.last_mut() {
            f.targets.push(Target::default());
        }
        let refined = self.refined.clone();
        let result = self.inside(region, walk);
        self.refined = refined;
        let target = self.frames.last_mut().and_then(|f| f.targets.pop()).unwrap_or_default();
        self.level -= 1;
        Ok((result?, target))
    }

    /// One turn of a `for` with this item; returns the exit at its end, if control gets there.
    pub(super) fn walk_turn(
        &mut self,
        py: Here<'_>,
        data: &OpData,
        item: Abs,
        carried: Vec<Abs>,
        env: &Env,
    ) -> Result<Option<Pending>, Diagnostic> {
        let flow = self.walk_body_region(py, data, item, carried, env)?;
        self.end_of_turn(flow)
    }

    pub(super) fn walk_body_region(
        &mut self,
        py: Here<'_>,
        data: &OpData,
        item: Abs,
        carried: Vec<Abs>,
        env: &Env,
    ) -> Result<Flow, Diagnostic> {
        let mut inner = env.clone();
        let params = &py.func.region(data.regions[0]).args;
        for (&p, a) in params.iter().zip([item].into_iter().chain(carried)) {
            inner[p.index()] = Some(a);
        }
        self.walk_region(py, data.regions[0], &mut inner)
    }

    fn end_of_turn(&mut self, flow: Flow) -> Result<Option<Pending>, Diagnostic> {
        match flow {
            Flow::Yield(values) => Ok(Some(self.pending(values))),
            Flow::Left => Ok(None),
            Flow::Return(value) => self.leave(value).map(|()| None),
        }
    }

    /// What a loop starts from: the forms of what it carries, from an earlier walk and from the values before it, which may be
    /// more general by now.
    pub(super) fn turn(&mut self, op: OpId, inits: &[Abs]) -> Result<Turn, Diagnostic> {
        let key = self.key(op.0);
        let mut declared: Vec<Ty> = inits.iter().map(|a| self.ty_of(a)).collect();
        if let Some(known) = self.found.forms.get(&key).cloned() {
            declared = known.iter().zip(&declared).map(|(a, b)| self.join(a, b)).collect::<Result<_, _>>()?;
        }
        self.made_before(&declared)?;
        let forms: Vec<Ty> = declared.iter().map(|ty| self.instantiate(ty)).collect();
        let mut values = vec![];
        for (a, ty) in inits.iter().zip(&forms) {
            self.flatten(a, ty, &mut values)?;
        }
        let region = self.out.new_region();
        Ok(Turn { key, declared, forms, inits: values, region, continues: vec![], breaks: vec![] })
    }

    /// Begins anew where the body makes more of a name than the loop was walked with.
    pub(super) fn widen(&mut self, key: super::Key, declared: &[Ty], joined: Vec<Ty>) -> Result<(), Diagnostic> {
        let joined: Vec<Ty> = joined.iter().map(|ty| self.outer_form(ty)).collect();
        if joined == declared {
            return Ok(());
        }
        self.found.forms.insert(key, joined);
        Err(self.restart())
    }

    fn settle_turn(&mut self, turn: &Turn) -> Result<(), Diagnostic> {
        for exit in &turn.continues {
            let how = if exit.region == turn.region { Leave::Yield } else { Leave::Continue };
            self.settle(exit, how, self.level + 1, &turn.forms)?;
        }
        Ok(())
    }

    /// Whether items are produced by running.
    pub(super) fn is_generated(&self, a: &Abs) -> bool {
        matches!(a, Abs::Iter(it) if matches!(**it, Iter::Filter(..) | Iter::Generator(_)))
    }

    /// Whether the number of items is known now, and few: tuples, and what goes through them.
    pub(super) fn is_static(&self, a: &Abs) -> bool {
        match a {
            Abs::Tuple(_) => true,
            Abs::Range(bounds) => bounds.iter().all(|b| matches!(b, Abs::Const(_))),
            Abs::Iter(it) => match &**it {
                Iter::Enumerate(it, _) | Iter::Reversed(it, _) | Iter::Parallel(it) => self.is_static(it),
                Iter::Zip(all) | Iter::Map(_, all) => all.iter().all(|a| self.is_static(a)),
                Iter::Filter(..) | Iter::Generator(_) => false,
            },
            _ => false,
        }
    }

    /// Number of items.
    pub(super) fn iter_len(&mut self, a: &Abs) -> Result<Abs, Diagnostic> {
        if let Some(t) = self.as_tensor(a) {
            if self.tensor(t).is_none_or(|t| t.rank() == 0) {
                return Err(self.typing("iteration over a 0-d array"));
            }
            return Ok(self.size(t, 0));
        }
        if self.as_list(a).is_some() {
            return self.list_len(a);
        }
        match a {
            Abs::Tuple(items) => Ok(Abs::Const(Const::Int(items.len() as i128))),
            Abs::Range(bounds) => self.range_len(bounds),
            Abs::Iter(it) => match &**it {
                Iter::Enumerate(it, _) | Iter::Parallel(it) => self.iter_len(it),
                Iter::Reversed(it, was) if self.is_growing(it) => {
                    // It begins where the end was, and ends at once if that is beyond the end now.
                    let (len, was) = (self.list_len(it)?, self.pyint(was)?);
                    let (len, zero) = (self.pyint(&len)?, self.constant(Const::Int(0), Type::PYINT));
                    let fits = self.test(CmpOp::Le, was, len);
                    Ok(Abs::Value(self.emit(Op::Select, &[fits, was, zero], Type::PYINT)))
                }
                Iter::Reversed(_, len) => Ok(len.clone()),
                Iter::Zip(all) | Iter::Map(_, all) => {
                    let mut lens = vec![];
                    for a in all {
                        lens.push(self.iter_len(a)?);
                    }
                    match lens.len() {
                        0 => Ok(Abs::Const(Const::Int(0))),
                        1 => Ok(lens.remove(0)),
                        _ => self.builtin_extreme(CmpOp::Lt, &lens),
                    }
                }
                Iter::Filter(..) | Iter::Generator(_) => {
                    let what = self.describe(a);
                    Err(self.refuse(format!("the length of a {what} is not known")).help("make it a list first"))
                }
            },
            other => Err(self.not_iterable(other)),
        }
    }

    /// `len(range(lo, hi, step))`.
    fn range_len(&mut self, [lo, hi, step]: &[Abs; 3]) -> Result<Abs, Diagnostic> {
        let zero = Abs::Const(Const::Int(0));
        let one = Abs::Const(Const::Int(1));
        let (from, to, step) = match self.range(step) {
            (1.., _) => (lo, hi, step.clone()),
            (_, ..0) => (hi, lo, self.int_binop(BinOp::Sub, &zero, step)?),
            _ => return Err(self.refuse("the length of a range whose step may be of either sign is not supported yet")),
        };
        let distance = self.int_binop(BinOp::Sub, to, from)?;
        let distance = self.builtin_extreme(CmpOp::Gt, &[distance, zero])?;
        if step == one {
            return Ok(distance);
        }
        let rest = self.int_binop(BinOp::Sub, &step, &one)?;
        let up = self.int_binop(BinOp::Add, &distance, &rest)?;
        self.int_binop(BinOp::FloorDiv, &up, &step)
    }

    /// The item at a position that is not negative and below the length.
    pub(super) fn item_at(&mut self, a: &Abs, i: &Abs) -> Result<Abs, Diagnostic> {
        if self.as_tensor(a).is_some() || self.as_list(a).is_some() {
            return self.index(a, std::slice::from_ref(i));
        }
        match a {
            Abs::Tuple(items) => match i {
                Abs::Const(Const::Int(k)) => {
                    items.get(*k as usize).cloned().ok_or_else(|| self.internal("an item beyond the end"))
                }
                i => self.choose_item(items, i),
            },
            Abs::Range(bounds) => {
                let offset = self.int_binop(BinOp::Mul, i, &bounds[2])?;
                self.int_binop(BinOp::Add, &bounds[0], &offset)
            }
            Abs::Iter(it) => match &**it {
                Iter::Enumerate(it, start) => {
                    let count = self.int_binop(BinOp::Add, start, i)?;
                    Ok(Abs::Tuple(vec![count, self.item_at(it, i)?]))
                }
                Iter::Parallel(it) => self.item_at(it, i),
                Iter::Zip(all) => Ok(Abs::Tuple(all.iter().map(|a| self.item_at(a, i)).collect::<Result<_, _>>()?)),
                Iter::Reversed(it, len) => {
                    let last = self.int_binop(BinOp::Sub, len, &Abs::Const(Const::Int(1)))?;
                    let k = self.int_binop(BinOp::Sub, &last, i)?;
                    self.item_at(it, &k)
                }
                Iter::Map(f, all) => {
                    let items = all.iter().map(|a| self.item_at(a, i)).collect::<Result<Vec<_>, _>>()?;
                    self.call(f, &items, &[])
                }
                Iter::Filter(..) | Iter::Generator(_) => Err(self.internal("an item of a generator")),
            },
            other => Err(self.internal(&format!("an item of {}", self.describe(other)))),
        }
    }

    /// The item of a tuple at a position known only at run time: all items must have one type.
    pub(super) fn choose_item(&mut self, items: &[Abs], i: &Abs) -> Result<Abs, Diagnostic> {
        let mut ty: Option<Ty> = None;
        for a in items {
            let here = self.ty_of(a);
            ty = Some(match ty {
                None => here,
                Some(t) if t == here => t,
                Some(_) => {
                    return Err(self
                        .typing("a tuple of different types can only be indexed by a constant")
                        .help("use an array, or write out the cases"));
                }
            });
        }
        let Some(ty) = ty else { return Err(self.internal("an item of an empty tuple")) };
        if let Ty::Tuple(parts) = &ty {
            let mut chosen = vec![];
            for k in 0..parts.len() {
                let column: Vec<Abs> =
                    items.iter().filter_map(|t| if let Abs::Tuple(t) = t { t.get(k).cloned() } else { None }).collect();
                chosen.push(self.choose_item(&column, i)?);
            }
            return Ok(Abs::Tuple(chosen));
        }
        if !matches!(&ty, Ty::Leaf(t) if t.is_scalar()) {
            return Err(self.refuse("a tuple of anything but numbers can only be indexed by a constant"));
        }
        let mut chosen = self.materialise(&items[items.len() - 1])?;
        for (k, a) in items.iter().enumerate().rev().skip(1) {
            let here = self.scalar_compare(CmpOp::Eq, i, &Abs::Const(Const::Int(k as i128)))?;
            let (here, v) = (self.materialise(&here)?, self.materialise(a)?);
            let ty = self.out.ty(v).clone();
            chosen = self.emit(Op::Select, &[here, v, chosen], ty);
        }
        Ok(Abs::Value(chosen))
    }
}

/// A loop being walked.
pub(super) struct Turn {
    pub key: super::Key,
    /// Forms before symbols were chosen.
    pub declared: Vec<Ty>,
    pub forms: Vec<Ty>,
    pub inits: Vec<ValueId>,
    pub region: RegionId,
    pub continues: Vec<Pending>,
    pub breaks: Vec<Pending>,
}

impl Turn {
    pub(super) fn exits(&mut self, target: Target, end: Option<Pending>) {
        self.continues = target.continues;
        self.breaks = target.breaks;
        self.continues.extend(end);
    }
}

pub(super) fn bind_results(data: &OpData, results: Vec<Abs>, env: &mut Env) {
    for (&r, a) in data.results.iter().zip(results) {
        env[r.index()] = Some(a);
    }
}
