//! Which locals of a function live in cells.
//!
//! A nested function sees its captured names as they are when it runs. A name that is bound once, before the function is
//! made and not in a loop, has one value from there on, and that value is captured. Every other captured name is a
//! cell, shared by all who name it. A nested function's own name, bound by nothing but its `def`, is the function itself.
//! What is made late, as the items of a generator expression that is not consumed at once, sees names in the same way.

use std::collections::BTreeMap;

use weft_syntax::{Binding, Comprehension, Function};

use super::live::Names;
use super::walk::Walk;

/// What is found.
#[derive(Default)]
pub(super) struct Captured<'a> {
    /// Locals that are cells.
    pub cells: Names<'a>,
    /// Locals that are, in the nested function of that name, this function itself.
    pub own: Names<'a>,
}

pub(super) fn captured(function: &Function) -> Captured<'_> {
    let mut finder = Finder::default();
    function.params.iter().for_each(|p| finder.bind(&p.name, Binding::Local));
    finder.block(&function.body);
    let mut found = Captured::default();
    for Use { name, at, by } in &finder.uses {
        let Some(bound) = finder.bindings.get(name) else { continue };
        let once = bound.times == 1 && !finder.shared.contains(name);
        if let By::Itself(function) = by
            && once
            && (!bound.in_loop || function.params.iter().all(|p| p.default.is_none()))
        {
            found.own.insert(name);
        } else if !once || bound.in_loop || bound.at > *at {
            found.cells.insert(name);
        }
    }
    let rebound = finder.shared.iter().filter(|name| function.locals.iter().any(|l| l == *name));
    found.cells.extend(rebound);
    found
}

#[derive(Default)]
struct Finder<'a> {
    /// Counts bindings and captures in the order of evaluation.
    now: u32,
    loops: u32,
    generators: u32,
    bindings: BTreeMap<&'a str, Bound>,
    uses: Vec<Use<'a>>,
    /// Names that something captured rebinds.
    shared: Names<'a>,
}

/// A name that is captured, and when.
struct Use<'a> {
    name: &'a str,
    at: u32,
    by: By<'a>,
}

/// What captures a name.
#[derive(Clone, Copy)]
enum By<'a> {
    Generator,
    Function,
    /// The nested function of this name.
    Itself(&'a Function),
}

#[derive(Clone, Copy)]
struct Bound {
    times: u32,
    in_loop: bool,
    at: u32,
}

impl<'a> Walk<'a> for Finder<'a> {
    fn read(&mut self, name: &'a str, binding: Binding) {
        if self.generators > 0 && binding == Binding::Local {
            self.uses.push(Use { name, at: self.now, by: By::Generator });
        }
    }

    fn bind(&mut self, name: &'a str, binding: Binding) {
        if binding != Binding::Local {
            return;
        }
        self.now += 1;
        let here = Bound { times: 0, in_loop: false, at: self.now };
        let bound = self.bindings.entry(name).or_insert(here);
        *bound = Bound { times: bound.times + 1, in_loop: bound.in_loop || self.loops > 0, at: self.now };
    }

    fn function(&mut self, function: &'a Function, own: Option<&'a str>) {
        self.now += 1;
        for name in &function.captures {
            let by = if own == Some(name) { By::Itself(function) } else { By::Function };
            self.uses.push(Use { name, at: self.now, by });
            if rebinds(function, name) {
                self.shared.insert(name);
            }
        }
    }

    fn repeat(&mut self, walk: impl FnOnce(&mut Self)) {
        self.loops += 1;
        walk(self);
        self.loops -= 1;
    }

    /// What a `:=` in a generator binds, it binds when it is asked for items.
    fn generator(&mut self, comprehension: &'a Comprehension, consumed: bool) {
        let mut inside = Rebound::default();
        inside.loops(comprehension);
        // Names with a dot are those of comprehensions, which run in place here.
        let (own, named): (Names, Names) = inside.locals.into_iter().partition(|name| name.contains('.'));
        self.shared.extend(named);
        let outer = self.uses.len();
        self.now += 1;
        self.generators += u32::from(!consumed);
        self.loops(comprehension);
        self.generators -= u32::from(!consumed);
        let read_in_place = |u: &Use| matches!(u.by, By::Generator) && own.contains(u.name);
        let kept: Vec<Use> = self.uses.drain(outer..).filter(|u| !read_in_place(u)).collect();
        self.uses.extend(kept);
    }
}

/// Whether a function, or one nested in it, rebinds a name that it captures.
fn rebinds(function: &Function, name: &str) -> bool {
    let mut inside = Rebound::default();
    inside.block(&function.body);
    inside.captured.contains(name)
}

/// The names that code binds: its function's, and those that it captures.
#[derive(Default)]
struct Rebound<'a> {
    locals: Names<'a>,
    captured: Names<'a>,
}

impl<'a> Walk<'a> for Rebound<'a> {
    fn read(&mut self, _: &'a str, _: Binding) {}

    fn bind(&mut self, name: &'a str, binding: Binding) {
        match binding {
            Binding::Local => self.locals.insert(name),
            Binding::Enclosing => self.captured.insert(name),
            Binding::Free => false,
        };
    }

    /// What a nested function captures is either captured here too, or a local here.
    fn function(&mut self, function: &'a Function, _own: Option<&'a str>) {
        let mut inside = Rebound::default();
        inside.block(&function.body);
        self.captured.extend(inside.captured);
    }
}
