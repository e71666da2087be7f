//! List comprehensions and generator expressions: loops in place, around what takes each item.

use weft_diag::{Diagnostic, Span};
use weft_ir::{Op, ValueId};
use weft_syntax::Comprehension;

use super::live::{self, Names};
use super::walk::Walk;
use super::{Flow, Lower};

/// A comprehension on its way.
struct Items<'a> {
    comprehension: &'a Comprehension,
    /// The list that takes the items; without, they are those of a generator.
    list: Option<ValueId>,
    /// Names of the function that a `:=` inside binds.
    carried: Vec<&'a str>,
    span: Span,
}

impl<'a> Lower<'a, '_> {
    pub(super) fn comprehension(
        &mut self,
        comprehension: &'a Comprehension,
        span: Span,
    ) -> Result<ValueId, Diagnostic> {
        let Some(outer) = comprehension.loops.first() else {
            return Err(Diagnostic::internal(span, "a comprehension without a loop"));
        };
        let iter = self.expr(&outer.iter)?;
        let own: Vec<&str> = comprehension.locals.iter().map(String::as_str).collect();
        let cells: Vec<&str> = own.iter().copied().filter(|name| self.cells.contains(name)).collect();
        self.enter_cells(&cells, span);
        let assigned = live::assigned(|w| w.loops(comprehension));
        // Those with a dot are of comprehensions: this one's or of those inside.
        let carried = self.by_value(|name| assigned.contains(name) && !name.contains('.'));
        let mut items = Items { comprehension, list: None, carried, span };
        // The first iterable is evaluated outside.
        self.comprehensions += 1;
        let made = self.made(&mut items, iter);
        self.comprehensions -= 1;
        made
    }

    /// The list, or the generator, behind its first iterable.
    fn made(&mut self, items: &mut Items<'a>, iter: ValueId) -> Result<ValueId, Diagnostic> {
        let span = items.span;
        if !items.comprehension.is_generator {
            let list = self.value(span, Op::PyList, &[]);
            items.list = Some(list);
            self.each(items, 0, iter)?;
            return Ok(list);
        }
        let (region, (), _) = self.region(|l| {
            l.each(items, 0, iter)?;
            l.effect(span, Op::Yield, &[]);
            Ok(())
        })?;
        Ok(self.held(span, Op::PyGenerator, &[], 1, &[region])[0])
    }

    /// The `k`-th loop.
    fn each(&mut self, items: &Items<'a>, k: usize, iter: ValueId) -> Result<(), Diagnostic> {
        let Items { comprehension, carried, span, .. } = items;
        let target = &comprehension.loops[k].target;
        let inits = self.locals(carried, *span);
        let (region, ()) = self.breakable(|l, _| {
            let item = l.item(target);
            l.carry(carried);
            l.assign(target, item, target.span)?;
            l.where_all(items, k, 0)?;
            let values = l.locals(carried, *span);
            l.effect(*span, Op::Yield, &values);
            Ok(())
        })?;
        let results = self.held(*span, Op::PyFor, &[&[iter], &inits[..]].concat(), carried.len(), &[region]);
        self.set_results(carried, &results);
        Ok(())
    }

    /// The tests of the `k`-th loop from the `t`-th on, and what is inside.
    fn where_all(&mut self, items: &Items<'a>, k: usize, t: usize) -> Result<(), Diagnostic> {
        let here = &items.comprehension.loops[k];
        if let Some(test) = here.tests.get(t) {
            let span = test.span;
            let test = self.condition(test)?;
            let then = self.arm(|l| l.where_all(items, k, t + 1).map(|()| (Flow::Falls, vec![])))?;
            let not = self.arm(|_| Ok((Flow::Falls, vec![])))?;
            let live: Names = items.carried.iter().copied().collect();
            self.join(span, test, Some(&live), [then, not]);
            return Ok(());
        }
        if let Some(next) = items.comprehension.loops.get(k + 1) {
            let iter = self.expr(&next.iter)?;
            return self.each(items, k + 1, iter);
        }
        let element = &items.comprehension.element;
        let value = self.expr(element)?;
        match items.list {
            Some(list) => self.effect(element.span, Op::PyAppend, &[list, value]),
            None => self.effect(element.span, Op::PyEmit, &[value]),
        }
        Ok(())
    }
}
