//! Random control flow: loops and blocks that are left and continued at any depth, early returns, handlers, variables in memory,
//! functions that call each other; scalars and arrays, of sizes that change, go through all of it.

use crate::rng::Rng;
use crate::scalars::{SITES, Var, Writer};

/// What goes through control flow: an `i64`, or an array of them with this size symbol.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Number,
    Array(u32),
}

impl Kind {
    fn text(self) -> String {
        match self {
            Kind::Number => "i64".into(),
            Kind::Array(n) => format!("tensor<?{n}xi64, C>"),
        }
    }
}

/// A loop or block around, for exits.
struct Exit {
    results: Vec<Kind>,
    /// What a loop carries; a block carries nothing.
    carried: Option<Vec<Kind>>,
    /// The turn after this one, which the first carried value of an endless loop counts.
    next_turn: Option<String>,
}

/// What code at some point can name.
#[derive(Clone, Default)]
struct Scope {
    numbers: Vec<Var>,
    arrays: Vec<(String, u32)>,
    cells: Vec<(String, Kind)>,
    handler: bool,
}

struct Flows {
    w: Writer,
    exits: Vec<Exit>,
    results: Vec<Kind>,
    /// The next size symbol.
    symbol: u32,
    /// Statements that are left to write.
    budget: usize,
    /// Whether the other function may be called. In that one, arrays may be empty.
    calls: bool,
    elements: bool,
}

/// The text of a random module.
pub fn program(seed: u64) -> String {
    let mut rng = Rng::new(seed);
    let calls = rng.chance(40);
    let w = Writer::new(rng);
    let mut p = Flows { w, exits: vec![], results: vec![], symbol: 0, budget: 26, calls, elements: true };
    let entry = p.function("f");
    let mut text = format!("weft 1 stage ntensor\n{SITES}{entry}");
    if calls {
        (p.budget, p.calls, p.elements) = (10, false, false);
        text += &p.function("g");
    }
    text
}

fn list(items: impl IntoIterator<Item = String>) -> String {
    items.into_iter().collect::<Vec<_>>().join(", ")
}

impl Flows {
    /// A function of two arrays and two numbers; the called one gives an array and a number.
    fn function(&mut self, name: &str) -> String {
        self.symbol = 3;
        let mut kinds = vec![self.fresh_array(), Kind::Number];
        if name == "f" && self.w.rng.chance(60) {
            kinds.push(self.fresh_array());
        }
        self.results = kinds;
        let mut scope = Scope::default();
        let prefix = format!("%{name}");
        scope.arrays = vec![(format!("{prefix}x"), 0), (format!("{prefix}y"), if name == "f" { 2 } else { 1 })];
        for n in ["a", "b"] {
            scope.numbers.push(Var { name: format!("{prefix}{n}"), ty: "i64", near: false });
        }
        let head = scope.arrays.iter().map(|(a, n)| format!("{a}: {}", Kind::Array(*n).text()));
        let head = list(head.chain(scope.numbers.iter().map(|v| format!("{}: i64", v.name))));
        let (body, ()) = self.aside(|p| {
            p.block(&mut scope, 3);
            p.give_back(&scope);
        });
        let results = list(self.results.iter().map(|k| k.text()));
        format!("func @{name}({head}) -> {results} {{\n{body}}}\n")
    }

    fn aside<T>(&mut self, write: impl FnOnce(&mut Flows) -> T) -> (String, T) {
        let outer = std::mem::take(&mut self.w.text);
        let out = write(self);
        (std::mem::replace(&mut self.w.text, outer), out)
    }

    fn fresh_array(&mut self) -> Kind {
        self.symbol += 1;
        Kind::Array(self.symbol - 1)
    }

    fn kinds(&mut self) -> Vec<Kind> {
        let n = self.w.rng.below(3);
        (0..n).map(|_| if self.w.rng.chance(60) { self.fresh_array() } else { Kind::Number }).collect()
    }

    fn number(&mut self, scope: &Scope) -> String {
        self.w.exact(&scope.numbers, "i64")
    }

    /// A value of a kind, whose symbol the place it goes to binds.
    fn value(&mut self, scope: &Scope, kind: Kind) -> String {
        let Kind::Array(n) = kind else { return self.number(scope) };
        if self.w.rng.chance(6) {
            return self.w.define("nt.null()", &kind.text());
        }
        let (name, own) = self.w.rng.pick(&scope.arrays);
        if own == n { name } else { self.w.define(format!("nt.weaken({name})"), &kind.text()) }
    }

    fn values(&mut self, scope: &Scope, kinds: &[Kind]) -> String {
        list(kinds.iter().map(|&k| self.value(scope, k)).collect::<Vec<_>>())
    }

    /// Names for values of these kinds, which the scope has from now on.
    fn define(&mut self, scope: &mut Scope, kinds: &[Kind]) -> Vec<String> {
        let mut names = vec![];
        for &kind in kinds {
            let name = self.w.fresh();
            names.push(name.clone());
            match kind {
                Kind::Number => scope.numbers.push(Var { name, ty: "i64", near: false }),
                Kind::Array(n) => scope.arrays.push((name, n)),
            }
        }
        names
    }

    fn condition(&mut self, scope: &Scope) -> String {
        self.w.condition(&scope.numbers)
    }

    fn give_back(&mut self, scope: &Scope) {
        let values = self.values(scope, &self.results.clone());
        self.w.line(format!("return({values})"));
    }

    fn block(&mut self, scope: &mut Scope, depth: usize) {
        for _ in 0..1 + self.w.rng.below(5) {
            if self.budget == 0 {
                return;
            }
            self.budget -= 1;
            self.statement(scope, depth);
        }
    }

    fn statement(&mut self, scope: &mut Scope, depth: usize) {
        match self.w.rng.below(if depth > 0 { 20 } else { 11 }) {
            0 | 1 => {
                let (a, b) = (self.number(scope), self.number(scope));
                let op = self.w.rng.pick(&["add", "sub", "mul", "mod", "xor", "min"]);
                let name = self.w.define(format!("arith.{op}({a}, {b})"), "i64");
                scope.numbers.push(Var { name, ty: "i64", near: false });
            }
            2..=4 => self.elementwise(scope),
            5 if self.elements => self.element(scope),
            6 => {
                let kind = if self.w.rng.chance(60) { self.fresh_array() } else { Kind::Number };
                let init = self.value(scope, kind);
                let name = self.w.define(format!("scf.cell({init})"), &format!("cell<{}>", kind.text()));
                scope.cells.push((name, kind));
            }
            7 | 8 if !scope.cells.is_empty() => {
                let (cell, kind) = self.w.rng.pick(&scope.cells);
                if self.w.rng.chance(60) {
                    let v = self.value(scope, kind);
                    self.w.line(format!("scf.set({v}, {cell})"));
                } else {
                    // Each time the array may have other sizes: they get a symbol of their own.
                    let got = if kind == Kind::Number { kind } else { self.fresh_array() };
                    let names = self.define(scope, &[got]);
                    self.w.line(format!("{} = scf.get({cell}) : {}", names[0], got.text()));
                }
            }
            9 => self.exit_if(scope),
            10 if self.calls => {
                let ((x, _), (y, _)) = (self.w.rng.pick(&scope.arrays), self.w.rng.pick(&scope.arrays));
                let (a, b) = (self.number(scope), self.number(scope));
                let kinds = [self.fresh_array(), Kind::Number];
                let names = self.define(scope, &kinds);
                let types = list(kinds.iter().map(|k| k.text()));
                self.w.line(format!("{} = scf.call({x}, {y}, {a}, {b}) <{{function=\"g\"}}> : {types}", list(names)));
            }
            11..=13 => self.choice(scope, depth - 1),
            14 | 15 => self.counted(scope, depth - 1),
            16 => self.endless(scope, depth - 1),
            17 => self.plain_block(scope, depth - 1),
            18 | 19 => self.handled(scope, depth - 1),
            _ => self.elementwise(scope),
        }
    }

    fn elementwise(&mut self, scope: &mut Scope) {
        let (a, n) = self.w.rng.pick(&scope.arrays);
        let same: Vec<String> = scope.arrays.iter().filter(|(_, m)| *m == n).map(|(b, _)| b.clone()).collect();
        let (b, s) = (self.w.rng.pick(&same), self.number(scope));
        let [p, q, r, t, u] = [(); 5].map(|()| self.w.fresh());
        let op = self.w.rng.pick(&["add", "sub", "mul", "xor"]);
        let last = match self.w.rng.chance(15) {
            true => format!("{u} = arith.checked({t}, {q}) <{{op=\"*\", site=3}}> : i64"),
            false => format!("{u} = arith.sub({t}, {q}) : i64"),
        };
        let ty = Kind::Array(n).text();
        let name = self.w.define(
            format!(
                "nt.elementwise({a}, {b}, {s}) {{ ^({p}: i64, {q}: i64, {r}: i64):\n{t} = arith.{op}({p}, {r}) : i64\n{last}\nyield({u})\n}}"
            ),
            &ty,
        );
        scope.arrays.push((name, n));
    }

    /// An element of a parameter, read or written: others may be empty.
    fn element(&mut self, scope: &mut Scope) {
        let (a, _) = scope.arrays[self.w.rng.below(2)].clone();
        let at = self.w.define("arith.const() <{value=0}>", "i64");
        if self.w.rng.chance(50) {
            let v = self.number(scope);
            self.w.line(format!("nt.store({v}, {a}, {at}) <{{wrap=false}}>"));
        } else {
            let name = self.w.define(format!("nt.load({a}, {at}) <{{wrap=false}}>"), "i64");
            scope.numbers.push(Var { name, ty: "i64", near: false });
        }
    }

    /// Leaves what is around, one way or another.
    fn exit(&mut self, scope: &Scope) {
        let depth = if self.exits.is_empty() { 0 } else { self.w.rng.below(self.exits.len()) };
        let around = self.exits.len().checked_sub(1 + depth);
        let exit = around.map(|at| &self.exits[at]);
        match (self.w.rng.below(10), exit) {
            (0..=4, Some(exit)) => {
                let kinds = exit.results.clone();
                let values = self.values(scope, &kinds);
                self.w.line(format!("break({values}) <{{depth={depth}}}>"));
            }
            (5..=7, Some(Exit { carried: Some(carried), next_turn, .. })) => {
                let (kinds, next) = (carried.clone(), next_turn.clone());
                let values = self.carried(scope, &kinds, next.as_deref());
                self.w.line(format!("continue({values}) <{{depth={depth}}}>"));
            }
            (8, _) if scope.handler => self.w.line("reraise()"),
            (8 | 9, _) => {
                let site = 1 + self.w.rng.below(3);
                self.w.line(format!("raise() <{{site={site}}}>"));
            }
            _ => self.give_back(scope),
        }
    }

    fn exit_if(&mut self, scope: &Scope) {
        let condition = self.condition(scope);
        let (leaves, ()) = self.aside(|p| p.exit(scope));
        self.w.line(format!("scf.if({condition}) {{\n{leaves}}} {{ yield() }}"));
    }

    fn carried(&mut self, scope: &Scope, kinds: &[Kind], next: Option<&str>) -> String {
        let mut values: Vec<String> = next.map(str::to_owned).into_iter().collect();
        for &k in &kinds[values.len()..] {
            values.push(self.value(scope, k));
        }
        values.join(", ")
    }

    /// `results = op : types`.
    fn finish(&mut self, scope: &mut Scope, op: String, results: &[Kind]) {
        let names = self.define(scope, results);
        match names.is_empty() {
            true => self.w.line(op),
            false => self.w.line(format!("{} = {op} : {}", list(names), list(results.iter().map(|k| k.text())))),
        }
    }

    fn choice(&mut self, scope: &mut Scope, depth: usize) {
        let condition = self.condition(scope);
        let results = self.kinds();
        let mut arms = String::new();
        for k in 0..2 {
            let mut inner = scope.clone();
            let (arm, ()) = self.aside(|p| {
                p.block(&mut inner, depth);
                if k == 0 && p.w.rng.chance(25) {
                    p.exit(&inner);
                } else {
                    let values = p.values(&inner, &results);
                    p.w.line(format!("yield({values})"));
                }
            });
            arms += &format!(" {{\n{arm}}}");
        }
        self.finish(scope, format!("scf.if({condition}){arms}"), &results);
    }

    /// The body of a loop, which ends with the next turn or leaves.
    fn body(&mut self, scope: &mut Scope, depth: usize, kinds: &[Kind], next: Option<&str>) {
        self.block(scope, depth);
        if self.w.rng.chance(20) {
            return self.exit(scope);
        }
        let values = self.carried(scope, kinds, next);
        self.w.line(format!("yield({values})"));
    }

    fn counted(&mut self, scope: &mut Scope, depth: usize) {
        let kinds = self.kinds();
        let (lo, hi, step) = self.w.rng.pick(&[(0, 3, 1), (2, -3, -2), (1, 1, 1), (-1, 4, 3)]);
        let bounds = [lo, hi, step].map(|n| self.w.define(format!("arith.const() <{{value={n}}}>"), "i64"));
        let inits = list(bounds.into_iter().chain(kinds.iter().map(|&k| self.value(scope, k)).collect::<Vec<_>>()));
        let mut inner = scope.clone();
        let all = [&[Kind::Number], &kinds[..]].concat();
        let names = self.define(&mut inner, &all);
        let args = list(names.iter().zip(&all).map(|(n, k)| format!("{n}: {}", k.text())));
        self.exits.push(Exit { results: kinds.clone(), carried: Some(kinds.clone()), next_turn: None });
        let (body, ()) = self.aside(|p| p.body(&mut inner, depth, &kinds, None));
        self.exits.pop();
        self.finish(scope, format!("scf.for({inits}) {{ ^({args}):\n{body}}}"), &kinds);
    }

    fn endless(&mut self, scope: &mut Scope, depth: usize) {
        let (others, results) = (self.kinds(), self.kinds());
        let kinds = [&[Kind::Number], &others[..]].concat();
        let zero = self.w.define("arith.const() <{value=0}>", "i64");
        let inits = self.carried(scope, &kinds, Some(&zero));
        let mut inner = scope.clone();
        let names = self.define(&mut inner, &kinds);
        let args = list(names.iter().zip(&kinds).map(|(n, k)| format!("{n}: {}", k.text())));
        let (body, ()) = self.aside(|p| {
            let one = p.w.define("arith.const() <{value=1}>", "i64");
            let most = p.w.define("arith.const() <{value=3}>", "i64");
            let next = p.w.define(format!("arith.add({}, {one})", names[0]), "i64");
            let end = p.w.define(format!("arith.cmp({}, {most}) <{{is=\">=\"}}>", names[0]), "bool");
            let (leaves, ()) = p.aside(|p| {
                let values = p.values(&inner, &results);
                p.w.line(format!("break({values}) <{{depth=0}}>"));
            });
            p.w.line(format!("scf.if({end}) {{\n{leaves}}} {{ yield() }}"));
            let exit = Exit { results: results.clone(), carried: Some(kinds.clone()), next_turn: Some(next.clone()) };
            p.exits.push(exit);
            p.body(&mut inner, depth, &kinds, Some(&next));
            p.exits.pop();
        });
        let args = if args.is_empty() { args } else { format!(" ^({args}):") };
        self.finish(scope, format!("scf.loop({inits}) {{{args}\n{body}}}"), &results);
    }

    fn plain_block(&mut self, scope: &mut Scope, depth: usize) {
        let results = self.kinds();
        let mut inner = scope.clone();
        self.exits.push(Exit { results: results.clone(), carried: None, next_turn: None });
        let (body, ()) = self.aside(|p| {
            p.block(&mut inner, depth);
            let values = p.values(&inner, &results);
            p.w.line(format!("yield({values})"));
        });
        self.exits.pop();
        self.finish(scope, format!("scf.block() {{\n{body}}}"), &results);
    }

    fn handled(&mut self, scope: &mut Scope, depth: usize) {
        let mut inner = scope.clone();
        let (body, ()) = self.aside(|p| {
            p.block(&mut inner, depth);
            if p.w.rng.chance(30) {
                p.exit(&inner);
            } else {
                p.w.line("yield()");
            }
        });
        let mut inner = Scope { handler: true, ..scope.clone() };
        let (handler, ()) = self.aside(|p| {
            if p.w.rng.chance(50) {
                // ValueError, or what OverflowError derives from.
                let class = p.w.rng.pick(&[0, 9, 8]);
                let is = p.w.define(format!("scf.catch() <{{classes=[{class}]}}>"), "bool");
                p.w.line(format!("scf.if({is}) {{ yield() }} {{ reraise() }}"));
            }
            p.block(&mut inner, depth);
            p.w.line("yield()");
        });
        self.w.line(format!("scf.try() {{\n{body}}} {{\n{handler}}}"));
    }
}
