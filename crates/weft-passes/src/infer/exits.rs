//! Ways out of loops, blocks and functions: `break`, `continue`, `return` under conditions known only at run time.
//!
//! An exit brings values to where it goes. What type they have there is known only when all ways there have been walked, so an
//! exit stays *pending*: its region has no terminator until then.

use super::Infer;
use super::abs::Abs;
use super::branch::has_values;
use super::join::Ty;
use std::collections::HashMap;
use weft_diag::{Diagnostic, Span};
use weft_ir::{Op, RegionId, Type, ValueId};

/// An exit that waits for its terminator.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    /// The region it ends.
    pub region: RegionId,
    /// Loops and blocks around that region.
    pub level: u32,
    /// Counts exits, in the order they were walked.
    pub number: u32,
    pub span: Span,
    pub values: Vec<Abs>,
    /// What was known of arrays there ([`Infer::refined`]): what was found out since is not visible in that region.
    pub refined: HashMap<ValueId, ValueId>,
}

/// A loop or block that is being walked.
#[derive(Debug, Default)]
pub(super) struct Target {
    pub breaks: Vec<Pending>,
    pub continues: Vec<Pending>,
}

/// What an exit is where it goes.
#[derive(Clone, Copy)]
pub(super) enum Leave {
    Break,
    Continue,
    Yield,
    Return,
}

impl Infer<'_> {
    /// An exit from here with these values.
    pub(super) fn pending(&mut self, values: Vec<Abs>) -> Pending {
        self.exits += 1;
        Pending {
            region: self.region,
            level: self.level,
            number: self.exits,
            span: self.span,
            values,
            refined: self.refined.clone(),
        }
    }

    /// Goes on where an exit is.
    pub(super) fn at_exit<R>(&mut self, exit: &Pending, go_on: impl FnOnce(&mut Self) -> R) -> R {
        let refined = std::mem::replace(&mut self.refined, exit.refined.clone());
        let result = self.inside(exit.region, go_on);
        self.refined = refined;
        result
    }

    /// Writes the terminator of an exit to a place of this level.
    pub(super) fn settle(&mut self, exit: &Pending, how: Leave, level: u32, types: &[Ty]) -> Result<(), Diagnostic> {
        let span = std::mem::replace(&mut self.span, exit.span);
        let done = self.at_exit(exit, |s| -> Result<(), Diagnostic> {
            let mut values = vec![];
            for (a, ty) in exit.values.iter().zip(types) {
                if let Err(d) = s.flatten(a, ty, &mut values) {
                    // An int that is too large for a name that others may hold: it is so only on this path.
                    let on_this_path = u32::from(!matches!(how, Leave::Return) || exit.region != s.out.body);
                    s.undecided += on_this_path;
                    let raised = s.raise_later(d);
                    s.undecided -= on_this_path;
                    return raised.map(drop);
                }
            }
            let depth = exit.level - level;
            let op = match how {
                Leave::Break => Op::Break { depth },
                Leave::Continue => Op::Continue { depth },
                Leave::Yield => Op::Yield,
                Leave::Return => Op::Return,
            };
            s.terminate(op, &values);
            Ok(())
        });
        self.span = span;
        done
    }

    /// Writes all ways out of a function. Where there are several, none of them is the one that every call takes.
    pub(super) fn settle_returns(&mut self, returns: &[Pending], form: &Ty) -> Result<(), Diagnostic> {
        let several = u32::from(returns.len() > 1);
        self.undecided += several;
        let types = std::slice::from_ref(form);
        let done = returns.iter().try_for_each(|exit| self.settle(exit, Leave::Return, 0, types));
        self.undecided -= several;
        done
    }

    /// Forms that all exits fit, name by name, starting from `first`.
    pub(super) fn join_exits<'p>(
        &mut self,
        first: Option<Vec<Ty>>,
        exits: impl Iterator<Item = &'p Pending>,
    ) -> Result<Vec<Ty>, Diagnostic> {
        let mut joined = first;
        for exit in exits {
            let here: Vec<Ty> = self.at_exit(exit, |s| exit.values.iter().map(|a| s.ty_of(a)).collect());
            joined = Some(match joined {
                None => here,
                Some(so_far) => {
                    let span = std::mem::replace(&mut self.span, exit.span);
                    let all = so_far.iter().zip(&here).map(|(a, b)| self.join(a, b)).collect::<Result<_, _>>();
                    self.span = span;
                    all?
                }
            });
        }
        Ok(joined.unwrap_or_default())
    }

    /// Walks something that may be left early, as a block of its own. `walk` fills the block's region and says what
    /// control has there at its end; `exits` are the ways out. Where there is no early way out, no block is made.
    pub(super) fn finish_block(
        &mut self,
        region: RegionId,
        first_exit: u32,
        end: Option<Vec<Abs>>,
        mut exits: Vec<Pending>,
    ) -> Result<Option<Vec<Abs>>, Diagnostic> {
        // The only way out stands at the end of the block itself: control just goes on.
        if end.is_none() && exits.len() == 1 && exits[0].region == region {
            let only = exits.remove(0);
            self.splice(region, first_exit);
            return Ok(Some(only.values));
        }
        if exits.is_empty() {
            self.splice(region, first_exit);
            return Ok(end);
        }
        let level = self.level + 1;
        if let Some(values) = end {
            let mut last = self.pending(values);
            (last.region, last.level) = (region, level);
            exits.push(last);
        }
        let same = self.same_everywhere(&exits);
        let joined = self.join_exits(None, exits.iter())?;
        let joined: Vec<Ty> = joined
            .iter()
            .zip(same)
            .map(|(ty, same)| match same {
                Some(a) => Ty::Fixed(a),
                None => {
                    let outer = self.outer_form(ty);
                    self.instantiate(&outer)
                }
            })
            .collect();
        for exit in &exits {
            let how = if exit.region == region { Leave::Yield } else { Leave::Break };
            self.settle(exit, how, level, &joined)?;
        }
        let results = self.structured(Op::ScfBlock, &[], &joined, &[region])?;
        Ok(Some(results))
    }

    /// For each value, whether all exits bring the same one, and it is known outside: constants and the like.
    fn same_everywhere(&self, exits: &[Pending]) -> Vec<Option<Abs>> {
        let count = exits.first().map_or(0, |e| e.values.len());
        let known = |a: &Abs| match a {
            Abs::Const(_) | Abs::Function(_) | Abs::UserFunction(_) => true,
            // What it captured may have been made inside.
            Abs::Closure(c) => !c.0.operands.iter().any(has_values),
            _ => false,
        };
        (0..count)
            .map(|k| {
                let first = &exits[0].values[k];
                (known(first) && exits.iter().all(|e| e.values[k] == *first)).then(|| first.clone())
            })
            .collect()
    }

    /// An op whose results have these forms.
    pub(super) fn structured(
        &mut self,
        op: Op,
        operands: &[ValueId],
        forms: &[Ty],
        regions: &[RegionId],
    ) -> Result<Vec<Abs>, Diagnostic> {
        self.outlast(forms)?;
        let mut types: Vec<Type> = vec![];
        forms.iter().for_each(|ty| self.leaf_types(ty, &mut types));
        let id = self.builder().op(op, operands, &types, regions);
        let mut results = self.out.op(id).results.iter().copied();
        let made: Option<Vec<Abs>> = forms.iter().map(|ty| self.rebuild(ty, &mut results)).collect();
        made.ok_or_else(|| self.internal("results of a structured op"))
    }

    /// Puts the ops of a block that is not needed where the block would stand.
    fn splice(&mut self, region: RegionId, first_exit: u32) {
        let ops = std::mem::take(&mut self.out.regions[region.index()].ops);
        let here = self.region;
        self.out.regions[here.index()].ops.extend(ops);
        self.facts.moved(region, here);
        self.variables.values_mut().filter(|made| made.region == region).for_each(|made| made.region = here);
        // Exits from inside stand one level less deep.
        let frames = self.frames.iter_mut();
        let lists = frames.flat_map(|f| {
            let targets = f.targets.iter_mut().flat_map(|t| [&mut t.breaks, &mut t.continues]);
            targets.chain([&mut f.returns])
        });
        for exit in lists.flatten().filter(|e| e.number > first_exit) {
            exit.level -= 1;
            if exit.region == region {
                exit.region = here;
            }
        }
    }
}
