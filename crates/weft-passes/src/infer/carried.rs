//! What the iterations of a `prange` pass on: nothing, a reduction, or the last value. Read off the untyped body.

mod best;

use super::resolver::FunctionRef;
use super::walk::Here;
use std::collections::{BTreeSet, HashMap, HashSet};
use weft_diag::Span;
use weft_ir::attr::{BinOp, CmpOp, Const};
use weft_ir::{Op, OpData, OpId, RegionId, ValueId};

/// How a name that a loop carries goes from one iteration to the next.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Carried {
    /// Updated by one operator, and not looked at otherwise.
    Reduction(Update),
    /// A reduction that is only updated by `op=`: if it is an array, the name keeps it.
    InPlace(BinOp),
    /// An array that all iterations update in place.
    Kept,
    /// The best of all: in these `if`s a value takes its place if it `is` better (`v < best`).
    Best { is: CmpOp, ifs: BTreeSet<OpId> },
    /// Assigned where the best is, which is the name at this position, and nowhere else.
    With(usize),
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
    /// `if v < acc: acc = v`, by how `v` is compared.
    Best(CmpOp),
    /// A function of the user's that was declared to be a reduction, and what changes nothing.
    User(FunctionRef, Const),
}

/// A function that a body calls.
pub(super) enum Callee {
    /// A known one, by canonical name.
    Known(String),
    /// A declared reduction, with what changes nothing.
    Reduction(FunctionRef, Const),
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

/// What each carried name of a `py.for` is. `global` gives the function that a path stands for.
pub(super) fn classify(py: Here<'_>, data: &OpData, global: &mut dyn FnMut(&str) -> Option<Callee>) -> Vec<Carried> {
    let names = py.func.region(data.regions[0]).args.len() - 1;
    let mut kinds: Vec<Carried> = (0..names).map(|at| Chain::new(py, data, at, None, global).run()).collect();
    // What goes with the best of all is no reduction of its own.
    for at in 0..names {
        let companion = (0..names).find(|&best| {
            let Carried::Best { ifs, .. } = &kinds[best] else { return false };
            matches!(kinds[at], Carried::Chain(_)) && Chain::new(py, data, at, Some(ifs), global).goes_along()
        });
        if let Some(best) = companion {
            kinds[at] = Carried::With(best);
        }
    }
    kinds
}

/// The values that one name has in the body, from where an iteration begins to where it ends.
struct Chain<'a, 'g> {
    py: Here<'a>,
    defs: HashMap<ValueId, OpId>,
    members: HashSet<ValueId>,
    body: RegionId,
    /// Which of the carried values it is.
    at: usize,
    update: Option<Update>,
    /// Whether all updates are by `op=`.
    in_place: bool,
    /// Truth values of members, and the choices that `and` and `or` make by them.
    truths: HashSet<ValueId>,
    choices: HashSet<OpId>,
    /// Comparisons with members: how the other value is compared, and which it is.
    tests: HashMap<ValueId, (CmpOp, ValueId)>,
    /// The `if`s in which a better value takes the place; given, where the name only goes along with another.
    ifs: BTreeSet<OpId>,
    leader: Option<&'g BTreeSet<OpId>>,
    global: &'g mut dyn FnMut(&str) -> Option<Callee>,
}

/// What values go to.
#[derive(Clone, Copy)]
enum Around {
    /// The `prange` itself.
    Whole,
    Op(OpId),
}

impl<'a, 'g> Chain<'a, 'g> {
    fn new(
        py: Here<'a>,
        data: &OpData,
        at: usize,
        leader: Option<&'g BTreeSet<OpId>>,
        global: &'g mut dyn FnMut(&str) -> Option<Callee>,
    ) -> Chain<'a, 'g> {
        let body = data.regions[0];
        let mut defs = HashMap::new();
        py.func.walk(&mut |id| defs.extend(py.func.op(id).results.iter().map(|&v| (v, id))));
        Chain {
            py,
            defs,
            members: HashSet::from([py.func.region(body).args[1 + at]]),
            body,
            at,
            update: None,
            in_place: true,
            truths: HashSet::new(),
            choices: HashSet::new(),
            tests: HashMap::new(),
            ifs: BTreeSet::new(),
            leader,
            global,
        }
    }

    /// Whether the name is only assigned where the leader is, and in all those places.
    fn goes_along(&mut self) -> bool {
        self.follow().is_ok() && self.update.is_none() && self.leader == Some(&self.ifs)
    }

    fn run(&mut self) -> Carried {
        let mut used = false;
        self.py.func.walk_region(self.body, &mut |id| {
            used |= self.py.func.op(id).operands.iter().any(|v| self.members.contains(v));
        });
        if !used {
            return Carried::Last;
        }
        if let Err(span) = self.follow() {
            return Carried::Chain(span);
        }
        match self.update.take() {
            Some(Update::Best(is)) => Carried::Best { is, ifs: std::mem::take(&mut self.ifs) },
            Some(Update::Binop(op)) if self.in_place => Carried::InPlace(op),
            Some(update) => Carried::Reduction(update),
            None => Carried::Chain(None),
        }
    }

    /// Finds all members, which only become more; then all uses are looked at.
    fn follow(&mut self) -> Result<(), Option<Span>> {
        loop {
            let before = self.members.len();
            self.region(self.body, &mut vec![Around::Whole], false)?;
            if self.members.len() == before {
                break;
            }
        }
        self.region(self.body, &mut vec![Around::Whole], true)
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
            let tested = data.operands.iter().any(|v| self.tests.contains_key(v));
            // An `and` yields what it found.
            let whole = matches!(around.last(), Some(Around::Op(id)) if self.choices.contains(id));
            if data.op != Op::ScfIf && data.operands.iter().any(|v| self.truths.contains(v))
                || tested && !matches!(data.op, Op::ScfIf | Op::PyTruth) && !(data.op == Op::Yield && whole)
            {
                return Err(span);
            }
            match &data.op {
                Op::ScfIf if let Some(test) = self.conjunction(&data) => {
                    self.tests.insert(data.results[0], test);
                    self.choices.insert(id);
                }
                Op::PyCompare { .. } if members == 1 => {
                    let test = self.comparison(data.results[0]).ok_or(span)?;
                    self.tests.insert(data.results[0], test);
                }
                Op::PyTruth if tested => {
                    let test = self.tests[&data.operands[0]];
                    self.tests.insert(data.results[0], test);
                }
                Op::ScfIf if tested => {
                    let (is, better) = self.tests[&data.operands[0]];
                    let position = self.taken(&data, Some(better)).ok_or(span)?;
                    self.updated(Update::Best(is), &[data.results[position]], data.span)?;
                    self.choices.insert(id);
                    self.ifs.insert(id);
                }
                Op::ScfIf if self.leader.is_some_and(|ifs| ifs.contains(&id)) => {
                    if let Some(position) = self.taken(&data, None) {
                        self.members.insert(data.results[position]);
                        self.choices.insert(id);
                        self.ifs.insert(id);
                    }
                }
                Op::PyTruth if members > 0 => self.truths.extend(&data.results),
                Op::ScfIf if self.truths.contains(&data.operands[0]) => {
                    self.choices.insert(id);
                    let update = self.choice(&data).ok_or(span)?;
                    self.updated(update, &data.results, data.span)?;
                }
                Op::PyBinop { op, inplace } if members > 0 => {
                    let update = match op {
                        BinOp::Add | BinOp::Sub => BinOp::Add,
                        BinOp::Mul | BinOp::And | BinOp::Or | BinOp::Xor => *op,
                        _ => return Err(span),
                    };
                    let second = !self.is_member(data.operands[0]);
                    self.in_place &= *inplace && !second;
                    if members > 1 || second && *op == BinOp::Sub {
                        return Err(span);
                    }
                    self.updated(Update::Binop(update), &data.results, data.span)?;
                }
                Op::PyCall { keywords } if members > 0 => {
                    let callee = self.py.func.ops.iter().find(|o| o.results.first() == Some(&data.operands[0]));
                    let Some(Op::PyGlobal { path }) = callee.map(|o| &o.op) else { return Err(span) };
                    let fits = data.operands.len() == 3 && keywords.is_empty() && self.is_member(data.operands[1]);
                    let update = match (self.global)(path) {
                        Some(Callee::Known(name)) => {
                            EXTREMES.into_iter().find(|known| name == *known).map(Update::Call)
                        }
                        Some(Callee::Reduction(f, neutral)) => Some(Update::User(f, neutral)),
                        None => None,
                    };
                    let update = update.filter(|_| fits && members == 1).ok_or(span)?;
                    self.updated(update, &data.results, data.span)?;
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

    fn updated(&mut self, update: Update, results: &[ValueId], span: Span) -> Result<(), Option<Span>> {
        if self.update.get_or_insert_with(|| update.clone()) != &update {
            return Err(Some(span));
        }
        self.members.extend(results);
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
