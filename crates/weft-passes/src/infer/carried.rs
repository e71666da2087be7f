//! What the iterations of a `prange` pass on: nothing, a reduction, or the last value. Read off the untyped body.

use super::walk::Here;
use std::collections::HashSet;
use weft_diag::Span;
use weft_ir::attr::BinOp;
use weft_ir::{Op, OpData, OpId, RegionId, ValueId};

/// How a name that a loop carries goes from one iteration to the next.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Carried {
    /// Updated by one operator, and not looked at otherwise.
    Reduction(Update),
    /// Assigned in every iteration before it is read: the last one's value is left.
    Last,
    /// Anything else; the place that makes it so.
    Chain(Option<Span>),
}

/// An update that may be done in parts.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Update {
    /// `+`, `-` (of what the parts sum up), `*`, `&`, `|`, `^`.
    Binop(BinOp),
    /// `acc and x`.
    All,
    /// `acc or x`.
    Any,
    /// `min`, `max`, `np.minimum`, `np.maximum`, by canonical name.
    Call(&'static str),
}

/// Functions that are reductions of two values.
const EXTREMES: [&str; 4] = ["builtins.min", "builtins.max", "numpy.minimum", "numpy.maximum"];

/// A jump out of a loop's body: what is written there, and where.
pub(super) fn jump_out(py: Here<'_>, body: RegionId) -> Option<(&'static str, Span)> {
    fn find(py: Here<'_>, region: RegionId, depth: u32) -> Option<(&'static str, Span)> {
        py.func.region(region).ops.iter().find_map(|&id| {
            let data = py.func.op(id);
            match data.op {
                Op::Return => Some(("return", data.span)),
                Op::Break { depth: d } if d >= depth => Some(("break", data.span)),
                Op::Continue { depth: d } if d > depth => Some(("continue", data.span)),
                _ => {
                    let inner = depth + u32::from(data.op.is_breakable());
                    data.regions.iter().find_map(|&r| find(py, r, inner))
                }
            }
        })
    }
    find(py, body, 0)
}

/// What each carried name of a `py.for` is. `global` gives the canonical name of the function that a path stands for.
pub(super) fn classify(py: Here<'_>, data: &OpData, global: &mut dyn FnMut(&str) -> Option<String>) -> Vec<Carried> {
    let args = &py.func.region(data.regions[0]).args;
    (1..args.len())
        .map(|k| {
            let mut chain = Chain {
                py,
                members: HashSet::from([args[k]]),
                body: data.regions[0],
                at: k - 1,
                update: None,
                truths: HashSet::new(),
                choices: HashSet::new(),
                global,
            };
            chain.run()
        })
        .collect()
}

/// The values that one name has in the body, from where an iteration begins to where it ends.
struct Chain<'a, 'g> {
    py: Here<'a>,
    members: HashSet<ValueId>,
    body: RegionId,
    /// Which of the carried values it is.
    at: usize,
    update: Option<Update>,
    /// Truth values of members, and the choices that `and` and `or` make by them.
    truths: HashSet<ValueId>,
    choices: HashSet<OpId>,
    global: &'g mut dyn FnMut(&str) -> Option<String>,
}

/// What values go to.
#[derive(Clone, Copy)]
enum Around {
    /// The `prange` itself.
    Whole,
    Op(OpId),
}

impl Chain<'_, '_> {
    fn run(&mut self) -> Carried {
        let mut used = false;
        self.py.func.walk_region(self.body, &mut |id| {
            used |= self.py.func.op(id).operands.iter().any(|v| self.members.contains(v));
        });
        if !used {
            return Carried::Last;
        }
        // Members only become more; then all uses are looked at.
        loop {
            let before = self.members.len();
            if let Err(span) = self.region(self.body, &mut vec![Around::Whole], false) {
                return Carried::Chain(span);
            }
            if self.members.len() == before {
                break;
            }
        }
        if let Err(span) = self.region(self.body, &mut vec![Around::Whole], true) {
            return Carried::Chain(span);
        }
        match self.update.take() {
            Some(update) => Carried::Reduction(update),
            None => Carried::Chain(None),
        }
    }

    fn is_member(&self, v: ValueId) -> bool {
        self.members.contains(&v)
    }

    /// Goes through a region. `around` are the op that holds it and those that jumps count; `checks`: refuses what fits no
    /// reduction, with its place.
    fn region(&mut self, region: RegionId, around: &mut Vec<Around>, checks: bool) -> Result<(), Option<Span>> {
        for id in self.py.func.region(region).ops.clone() {
            let data = self.py.func.op(id).clone();
            let span = Some(data.span).filter(|s| s.is_known());
            let members = data.operands.iter().filter(|&&v| self.is_member(v)).count();
            if data.op != Op::ScfIf && data.operands.iter().any(|v| self.truths.contains(v)) {
                return Err(span);
            }
            match &data.op {
                Op::PyTruth if members > 0 => self.truths.extend(&data.results),
                Op::ScfIf if self.truths.contains(&data.operands[0]) => {
                    self.choices.insert(id);
                    let update = self.choice(&data).ok_or(span)?;
                    self.updated(update, &data)?;
                }
                Op::PyBinop { op, .. } if members > 0 => {
                    let update = match op {
                        BinOp::Add | BinOp::Sub => BinOp::Add,
                        BinOp::Mul | BinOp::And | BinOp::Or | BinOp::Xor => *op,
                        _ => return Err(span),
                    };
                    let second = !self.is_member(data.operands[0]);
                    if members > 1 || second && *op == BinOp::Sub {
                        return Err(span);
                    }
                    self.updated(Update::Binop(update), &data)?;
                }
                Op::PyCall { keywords } if members > 0 => {
                    let callee = self.py.func.ops.iter().find(|o| o.results.first() == Some(&data.operands[0]));
                    let Some(Op::PyGlobal { path }) = callee.map(|o| &o.op) else { return Err(span) };
                    let name = (self.global)(path);
                    let known = EXTREMES.into_iter().find(|known| name.as_deref() == Some(known));
                    let fits = data.operands.len() == 3 && keywords.is_empty() && self.is_member(data.operands[1]);
                    match known.filter(|_| fits && members == 1) {
                        Some(name) => self.updated(Update::Call(name), &data)?,
                        None => return Err(span),
                    }
                }
                Op::Yield => {
                    let target = around.last().copied().unwrap_or(Around::Whole);
                    self.passed(target, &data, true, checks)?;
                }
                Op::Break { depth } | Op::Continue { depth } => {
                    let loops = around.iter().rev().filter(|a| match a {
                        Around::Whole => true,
                        Around::Op(id) => self.py.func.op(*id).op.is_breakable(),
                    });
                    let Some(&target) = loops.clone().nth(*depth as usize) else { return Err(span) };
                    let again = matches!(data.op, Op::Continue { .. });
                    self.passed(target, &data, again, checks)?;
                }
                Op::PyFor | Op::ScfLoop => self.entered(&data, checks)?,
                _ if members > 0 => return Err(span),
                _ => {}
            }
            for &r in &data.regions {
                around.push(Around::Op(id));
                let walked = self.region(r, around, checks);
                around.pop();
                walked?;
            }
        }
        Ok(())
    }

    /// `and` and `or`: one arm leaves the name as it is, the other has another value.
    fn choice(&self, data: &OpData) -> Option<Update> {
        let left = |k: usize| {
            let last = self.py.func.op(*self.py.func.region(data.regions[k]).ops.last()?);
            (last.op == Op::Yield && last.operands.len() == 1).then(|| self.is_member(last.operands[0]))
        };
        match (left(0)?, left(1)?) {
            (false, true) => Some(Update::All),
            (true, false) => Some(Update::Any),
            _ => None,
        }
    }

    fn updated(&mut self, update: Update, data: &OpData) -> Result<(), Option<Span>> {
        if self.update.get_or_insert_with(|| update.clone()) != &update {
            return Err(Some(data.span));
        }
        self.members.extend(&data.results);
        Ok(())
    }

    /// A value goes to another name of the same variable, or none of them is one.
    fn flows(&mut self, from: ValueId, to: Option<ValueId>, span: Span, checks: bool) -> Result<(), Option<Span>> {
        let Some(to) = to else {
            return if self.is_member(from) { Err(Some(span)) } else { Ok(()) };
        };
        if self.is_member(from) {
            self.members.insert(to);
        } else if checks && self.is_member(to) {
            return Err(Some(span));
        }
        Ok(())
    }

    /// What the end of a region, or a jump, brings to the next turn (`again`) and to the results.
    fn passed(&mut self, target: Around, data: &OpData, again: bool, checks: bool) -> Result<(), Option<Span>> {
        let span = data.span;
        for (k, &v) in data.operands.iter().enumerate() {
            match target {
                Around::Whole => {
                    let mine = k == self.at;
                    if mine != self.is_member(v) && (checks || !mine) {
                        return Err(Some(span).filter(|s| s.is_known()));
                    }
                }
                // Looked at as a whole.
                Around::Op(id) if self.choices.contains(&id) => {}
                Around::Op(id) => {
                    let to = self.py.func.op(id).clone();
                    let first = usize::from(to.op == Op::PyFor);
                    let is_loop = matches!(to.op, Op::PyFor | Op::ScfLoop);
                    if is_loop && again {
                        let arg = self.py.func.region(to.regions[0]).args.get(first + k).copied();
                        self.flows(v, arg, span, checks)?;
                    }
                    // A `for` also gives what its last turn brings; an endless loop only what `break` does.
                    if to.op != Op::ScfLoop || !again {
                        self.flows(v, to.results.get(k).copied(), span, checks)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// What a loop inside begins with.
    fn entered(&mut self, data: &OpData, checks: bool) -> Result<(), Option<Span>> {
        let first = usize::from(data.op == Op::PyFor);
        if first == 1 && self.is_member(data.operands[0]) {
            return Err(Some(data.span));
        }
        for (k, &v) in data.operands[first..].iter().enumerate() {
            let arg = self.py.func.region(data.regions[0]).args.get(first + k).copied();
            self.flows(v, arg, data.span, checks)?;
            if first == 1 {
                self.flows(v, data.results.get(k).copied(), data.span, checks)?;
            }
        }
        Ok(())
    }
}
