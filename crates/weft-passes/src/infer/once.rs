//! Iterators are gone through once.
//!
//! `enumerate`, `zip` and generators are abstract: each use of one would begin at its first item. In Python the second use finds what
//! the first has left over, which is nothing mostly, so that only those are compiled that cannot be used twice.

use super::Infer;
use super::abs::{Abs, Iter};
use super::walk::Here;
use weft_diag::{Diagnostic, Span};
use weft_ir::attr::CmpOp;
use weft_ir::{Func, Op, OpId, RegionId, ValueId};

/// A use, with the ops around it, outermost first, and which of their regions it is in.
struct Use {
    op: OpId,
    around: Vec<(OpId, usize)>,
}

impl Infer<'_> {
    /// Refuses an iterator that may be used twice.
    pub(super) fn used_once(&self, py: Here<'_>, value: ValueId, a: &Abs) -> Result<(), Diagnostic> {
        let Abs::Iter(it) = a else { return Ok(()) };
        if self.in_library() || matches!(**it, Iter::Parallel(_)) {
            return Ok(());
        }
        let f = &py.func;
        let (mut uses, mut depth) = (vec![], 0);
        find(f, f.body, value, &mut vec![], &mut uses, &mut depth);
        let span = |of: &Use| f.op(of.op).span;
        let what = self.describe(a);
        let refused = |at: Span| {
            Diagnostic::unsupported(at, format!("this {what} may have been used up before"))
                .note("an iterator is gone through once: in Python, what comes after finds only what is left over")
                .help("keep its items, as in `items = list(…)`, or make the iterator anew here")
        };
        for (k, later) in uses.iter().enumerate() {
            if later.around[depth.min(later.around.len())..].iter().any(|&(op, _)| is_loop(f, op)) {
                return Err(refused(span(later)).label("used at every turn of the loop"));
            }
            if let Some(first) = uses[..k].iter().find(|first| !are_apart(f, first, later)) {
                return Err(refused(span(later)).label("used again").other(span(first), "used here"));
            }
        }
        Ok(())
    }
}

fn is_loop(f: &Func, op: OpId) -> bool {
    matches!(f.op(op).op, Op::PyFor | Op::ScfLoop)
}

/// Whether at most one of two uses is come by: they are in different branches.
fn are_apart(f: &Func, a: &Use, b: &Use) -> bool {
    let parting = a.around.iter().zip(&b.around).find(|(a, b)| a != b);
    parting.is_some_and(|(a, b)| a.0 == b.0 && f.op(a.0).op == Op::ScfIf)
}

/// The uses of a value, and how many ops there are around its definition.
fn find(
    f: &Func,
    region: RegionId,
    value: ValueId,
    around: &mut Vec<(OpId, usize)>,
    uses: &mut Vec<Use>,
    depth: &mut usize,
) {
    if f.region(region).args.contains(&value) {
        *depth = around.len();
    }
    for &op in &f.region(region).ops {
        let data = f.op(op);
        if data.results.contains(&value) {
            *depth = around.len();
        }
        let used = match data.op {
            // What a loop begins with is handed on; what it goes through is used.
            Op::PyFor => &data.operands[..1],
            // Nobody looks into it.
            Op::PyCompare { op: CmpOp::Is | CmpOp::IsNot } => &[],
            _ => &data.operands[..],
        };
        for _ in used.iter().filter(|&&v| v == value) {
            uses.push(Use { op, around: around.clone() });
        }
        for (k, &inner) in data.regions.iter().enumerate() {
            around.push((op, k));
            find(f, inner, value, around, uses, depth);
            around.pop();
        }
    }
}
