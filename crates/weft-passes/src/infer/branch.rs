//! `if`: one arm where the condition is known, else both and what they leave behind.

use super::abs::{Abs, Absent};
use super::join::Ty;
use super::walk::{Env, Flow, Here};
use super::{Infer, exits::Leave};
use weft_diag::Diagnostic;
use weft_ir::attr::{CmpOp, Const};
use weft_ir::{Op, OpId, RegionId, Type, ValueId};

impl Infer<'_> {
    pub(super) fn walk_if(
        &mut self,
        py: Here<'_>,
        op: OpId,
        cond: &Abs,
        env: &mut Env,
    ) -> Result<Option<Flow>, Diagnostic> {
        let data = py.func.op(op).clone();
        let truth = self.truth(cond)?;
        if let Abs::Const(Const::Bool(known)) = truth {
            let (arm, other) = (data.regions[usize::from(!known)], data.regions[usize::from(known)]);
            self.note_dimensions(&py.func, other);
            if known {
                self.note_entered(py, op);
            }
            return match self.walk_region(py, arm, env)? {
                Flow::Yield(values) => {
                    for (&r, a) in data.results.iter().zip(values) {
                        env[r.index()] = Some(a);
                    }
                    Ok(None)
                }
                flow => Ok(Some(flow)),
            };
        }
        let cond = self.materialise(&truth)?;
        let span = self.span;
        let mut arms: Vec<(RegionId, Option<Vec<Abs>>)> = vec![];
        for (i, &region) in data.regions.iter().enumerate() {
            let target = self.out.new_region();
            // Facts found in one arm do not hold in the other.
            let refined = self.refined.clone();
            let mut inner = env.clone();
            narrow(py, data.operands[0], i == 0, &mut inner);
            self.undecided += 1;
            let flow = self.inside(target, |s| {
                if i == 0 {
                    s.note_entered(py, op);
                }
                s.grant(cond, i == 0);
                s.walk_region(py, region, &mut inner)
            });
            self.undecided -= 1;
            let flow = flow?;
            self.refined = refined;
            let values = match flow {
                Flow::Yield(values) => Some(values),
                Flow::Left => None,
                Flow::Return(value) => {
                    self.inside(target, |s| s.leave(value))?;
                    None
                }
            };
            arms.push((target, values));
        }
        self.span = span;
        let regions: Vec<RegionId> = arms.iter().map(|(r, _)| *r).collect();
        // Where only one arm goes on, what is known in it stays known.
        if let [(_, None), (_, Some(_))] | [(_, Some(_)), (_, None)] = arms.as_slice() {
            narrow(py, data.operands[0], arms[0].1.is_some(), env);
            self.grant(cond, arms[0].1.is_some());
        }
        let live: Vec<(RegionId, Vec<Abs>)> = arms.into_iter().filter_map(|(r, v)| Some((r, v?))).collect();
        let mut forms = vec![];
        for k in 0..live.first().map_or(0, |(_, v)| v.len()) {
            let joined = self.join_arms(&live, k);
            forms.push(joined.map_err(|d| {
                let arms: Vec<Ty> = live.iter().map(|(_, v)| self.ty_of(&v[k])).collect();
                self.arms_clash(py, &data, k, &arms, d)
            })?);
        }
        for (region, values) in &live {
            let (values, refined) = (values.clone(), self.refined.clone());
            let exit = super::exits::Pending { region: *region, level: self.level, number: 0, span, values, refined };
            self.settle(&exit, Leave::Yield, self.level, &forms)?;
        }
        let results = self.structured(Op::ScfIf, &[cond], &forms, &regions)?;
        for (k, (&r, a)) in data.results.iter().zip(results).enumerate() {
            match (&a, live.as_slice()) {
                (&Abs::Value(v), live) if *self.out.ty(v) == Type::PYINT => {
                    let ranges = live.iter().map(|(_, values)| self.range(&values[k]));
                    if let Some(range) = ranges.reduce(super::growth::hull) {
                        self.ranges.insert(v, range);
                    }
                    let values = || live.iter().map(|(_, values)| &values[k]);
                    self.grow_joined(values(), v);
                    self.put_affine(v, self.joined_bound(values()));
                }
                (&Abs::Value(v), [(_, first), (_, second)]) if *self.out.ty(v) == Type::PYBOOL => {
                    self.said_by_choice(cond, &first[k], &second[k], v);
                }
                _ => {}
            }
            env[r.index()] = Some(a);
        }
        if live.is_empty() {
            // Control never comes here. The pending exits of the arms end them; what follows is not walked.
            self.unreachable();
            return Ok(Some(Flow::Left));
        }
        Ok(None)
    }

    /// The form of a name after an `if`. What is the same in both arms, and was there before, passes by it.
    fn join_arms(&mut self, live: &[(RegionId, Vec<Abs>)], k: usize) -> Result<Ty, Diagnostic> {
        let first = &live[0].1[k];
        if live.iter().all(|(_, v)| v[k] == *first) && (live.len() > 1 || !has_values(first)) {
            return Ok(Ty::Fixed(first.clone()));
        }
        let mut joined: Option<Ty> = None;
        for (_, values) in live {
            let ty = self.ty_of(&values[k]);
            joined = Some(match joined {
                None => ty,
                Some(so_far) => self.join(&so_far, &ty)?,
            });
        }
        let joined = joined.unwrap_or(Ty::Fixed(Abs::Const(Const::None)));
        let joined = self.outer_form(&joined);
        Ok(self.instantiate(&joined))
    }
}

/// Whether run-time values are in it.
pub(super) fn has_values(a: &Abs) -> bool {
    match a {
        Abs::Value(_) | Abs::Tagged(..) => true,
        Abs::Tuple(items) => items.iter().any(has_values),
        Abs::Const(_) | Abs::Function(_) | Abs::UserFunction(_) | Abs::Unbound(_) => false,
        _ => true,
    }
}

/// `x is None` says in each arm what `x` is there.
fn narrow(py: Here<'_>, cond: ValueId, holds: bool, env: &mut Env) {
    let def = |v: ValueId| py.func.ops.iter().find(|o| o.results.contains(&v));
    let Some(mut data) = def(cond) else { return };
    let mut holds = holds;
    loop {
        match data.op {
            Op::PyTruth => {}
            Op::PyUnary { op: weft_ir::attr::UnaryOp::Not } => holds = !holds,
            _ => break,
        }
        let Some(next) = def(data.operands[0]) else { return };
        data = next;
    }
    let Op::PyCompare { op } = data.op else { return };
    let absent = match op {
        CmpOp::Is => holds,
        CmpOp::IsNot => !holds,
        _ => return,
    };
    let is_none = |v: ValueId| matches!(env[v.index()], Some(Abs::Const(Const::None)));
    if !is_none(data.operands[1]) {
        return;
    }
    let value = data.operands[0];
    if let Some(Abs::Tagged(Absent::None, _, inner)) = &env[value.index()] {
        let known = if absent { Abs::Const(Const::None) } else { (**inner).clone() };
        // What was read to be compared is what the name holds.
        if let Some(read) = def(value).filter(|data| matches!(data.op, Op::PyRead | Op::PyReadFree)) {
            env[read.operands[0].index()] = Some(known.clone());
        }
        env[value.index()] = Some(known);
    }
}
