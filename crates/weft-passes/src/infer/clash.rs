//! Types that do not meet: which name has them, and where it got each.

use super::Infer;
use super::exits::Pending;
use super::join::Ty;
use super::walk::Here;
use weft_diag::{Diagnostic, ErrorKind, Span};
use weft_ir::{Op, OpData, RegionId, ValueId};

/// What [`Infer::no_join`] begins with.
pub(super) const A_NAME: &str = "a name";

impl Infer<'_> {
    /// Of result `k` of an `if` whose arms leave these forms.
    pub(super) fn arms_clash(&self, py: Here<'_>, data: &OpData, k: usize, forms: &[Ty], d: Diagnostic) -> Diagnostic {
        let [first, .., last] = forms else { return d };
        let name = &py.func.values[data.results[k].index()].name;
        let [a, b] = [0, 1].map(|arm| data.regions.get(arm).and_then(|&r| yielded(py, r, k)));
        let place = |v: Option<ValueId>| v.and_then(|v| py.assigned_at(name, v));
        self.clash(name, (place(a), first), (place(b), last), d)
    }

    /// Of a name that a loop carries, which starts with one form and comes back with another.
    pub(super) fn turns_clash(
        &mut self,
        py: Here<'_>,
        data: &OpData,
        declared: &[Ty],
        exits: &[Pending],
        d: Diagnostic,
    ) -> Diagnostic {
        if self.restarts {
            return d;
        }
        let body = data.regions[0];
        // A `for` has its iterable before, and its item among the arguments of the region.
        let first = usize::from(data.op == Op::PyFor);
        for (k, was) in declared.iter().enumerate() {
            let Some(&arg) = py.func.region(body).args.get(first + k) else { continue };
            let name = &py.func.values[arg.index()].name;
            for exit in exits {
                let Some(is) = exit.values.get(k).map(|a| self.ty_of(a)) else { continue };
                if self.join(was, &is).is_ok() {
                    continue;
                }
                let before = data.operands.get(first + k).and_then(|&v| py.assigned_at(name, v));
                let after = yielded(py, body, k).and_then(|v| py.assigned_at(name, v));
                return self.clash(name, (before, was), (after.or(Some(exit.span)), &is), d);
            }
        }
        d
    }

    /// Of what a function returns.
    pub(super) fn returns_clash(&self, returns: &[Pending], d: Diagnostic) -> Diagnostic {
        if self.restarts || d.kind != ErrorKind::Typing {
            return d;
        }
        let mut d = d;
        d.message = d.message.replacen(A_NAME, "what this function returns", 1);
        let other = returns.iter().map(|exit| exit.span).find(|span| *span != d.primary.span);
        match other {
            Some(span) if span.is_known() => d.other(span, "another way out").help("return one type on every path"),
            _ => d.help("return one type on every path"),
        }
    }

    fn clash(&self, name: &str, a: (Option<Span>, &Ty), b: (Option<Span>, &Ty), d: Diagnostic) -> Diagnostic {
        if self.restarts || self.in_library() || !d.message.starts_with(A_NAME) {
            return d;
        }
        let mut d = d;
        let what = if name.is_empty() { "this expression".into() } else { format!("`{name}`") };
        d.message = d.message.replacen(A_NAME, &what, 1);
        let texts = [a, b].map(|(span, ty)| Some((span?, self.describe_ty(ty))));
        match texts {
            [Some((first, was)), Some((second, is))] if first != second => {
                d.primary.span = second;
                d.label(is).other(first, was)
            }
            [Some((span, text)), _] | [None, Some((span, text))] => d.other(span, text),
            [None, None] => d,
        }
    }
}

/// What a region of the untyped function yields for result `k`.
fn yielded(py: Here<'_>, region: RegionId, k: usize) -> Option<ValueId> {
    let last = py.func.op(*py.func.region(region).ops.last()?);
    if last.op == Op::Yield { last.operands.get(k).copied() } else { None }
}
