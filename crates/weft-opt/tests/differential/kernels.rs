//! Random kernels: scalar code, loads and stores at the work-item's own index, branches, loops and early returns.

use crate::rng::Rng;
use crate::scalars::{SITES, Var, Writer, names};

/// The arrays of a kernel, and what they hold; `%out` is only written, so it may hold what is not exact.
struct Kernel {
    w: Writer,
    arrays: Vec<(&'static str, &'static str)>,
    out: &'static str,
    raises: bool,
}

/// The text of a random module whose entry is a kernel over one dimension.
pub fn kernel(seed: u64) -> String {
    let mut rng = Rng::new(seed ^ 0x6b65_726e);
    let raises = rng.chance(20);
    let mut w = Writer::new(rng);
    let (b, out, t) = (w.dtype(), w.dtype(), w.dtype());
    let mut k = Kernel { w, arrays: vec![("%a", "i64"), ("%b", b)], out, raises };
    for (python, name, op) in [("%i0", "%i", "global_id"), ("%g0", "%g", "global_size")] {
        k.w.line(format!("{python} = simt.{op}() <{{dim=0}}> : pyint\n{name} = arith.cast({python}) : i64"));
    }
    let mut scope: Vec<Var> = [("%i", "i64"), ("%g", "i64"), ("%s", "i64"), ("%t", t)]
        .map(|(n, ty)| Var { name: n.into(), ty, near: false })
        .to_vec();
    let steps = 4 + k.w.rng.below(9);
    if !k.block(&mut scope, 3, steps) {
        k.store_out(&scope);
        k.w.line("return()");
    }
    format!(
        "weft 1 stage ntensor\n{SITES}kernel @k(%a: tensor<?0xi64, C>, %b: tensor<?0x{b}, A>, %out: tensor<?0x{out}, C>, \
         %s: i64, %t: {t}) {{\n{}}}\n",
        k.w.text
    )
}

impl Kernel {
    /// Statements; whether the last one leaves the kernel.
    fn block(&mut self, scope: &mut Vec<Var>, depth: usize, steps: usize) -> bool {
        for _ in 0..steps {
            match self.w.rng.below(10) {
                0 => {
                    let (array, ty) = self.w.rng.pick(&self.arrays);
                    let value = self.w.exact(scope, ty);
                    self.w.line(format!("nt.store({value}, {array}, %i) <{{wrap=true}}>"));
                }
                1 => {
                    let (array, ty) = self.w.rng.pick(&self.arrays);
                    let wrap = self.w.rng.chance(50);
                    let name = self.w.define(format!("nt.load({array}, %i) <{{wrap={wrap}}}>"), ty);
                    scope.push(Var { name, ty, near: false });
                }
                2 => self.store_out(scope),
                3 | 4 if depth > 0 => self.choice(scope, depth - 1),
                5 if depth > 0 => self.repeat(scope, depth - 1),
                6 if depth < 3 && self.w.rng.chance(50) => {
                    self.w.line("return()");
                    return true;
                }
                _ => self.w.step(scope, 1, self.raises),
            }
        }
        false
    }

    fn store_out(&mut self, scope: &[Var]) {
        let value = self.w.any(scope, self.out);
        self.w.line(format!("nt.store({}, %out, %i) <{{wrap=true}}>", value.name));
    }

    /// A region of statements that yields exact values of these types, if it is not left by a return.
    fn region(&mut self, mut scope: Vec<Var>, depth: usize, types: &[&'static str]) -> String {
        let outer = std::mem::take(&mut self.w.text);
        let steps = self.w.rng.below(4);
        if !self.block(&mut scope, depth, steps) {
            let out: Vec<String> = types.iter().map(|ty| self.w.exact(&scope, ty)).collect();
            self.w.line(format!("yield({})", out.join(", ")));
        }
        std::mem::replace(&mut self.w.text, outer)
    }

    fn vars(&mut self, types: &[&'static str]) -> Vec<Var> {
        types.iter().map(|&ty| Var { name: self.w.fresh(), ty, near: false }).collect()
    }

    fn types(&mut self) -> Vec<&'static str> {
        (0..self.w.rng.below(3)).map(|_| self.w.dtype()).collect()
    }

    fn choice(&mut self, scope: &mut Vec<Var>, depth: usize) {
        let (condition, types) = (self.w.condition(scope), self.types());
        let then = self.region(scope.clone(), depth, &types);
        let other = self.region(scope.clone(), depth, &types);
        self.finish(scope, &types, format!("scf.if({condition}) {{\n{then}}} {{\n{other}}}"));
    }

    fn repeat(&mut self, scope: &mut Vec<Var>, depth: usize) {
        let types = self.types();
        let bounds = [0, 3, 1].map(|n| self.w.define(format!("arith.const() <{{value={n}}}>"), "i64"));
        let inits: Vec<String> = types.iter().map(|ty| self.w.exact(scope, ty)).collect();
        let args = self.vars(&[&["i64"], &types[..]].concat());
        let body = self.region([&scope[..], &args[..]].concat(), depth, &types);
        let operands = [bounds.to_vec(), inits].concat().join(", ");
        let args: Vec<String> = args.iter().map(|v| format!("{}: {}", v.name, v.ty)).collect();
        self.finish(scope, &types, format!("scf.for({operands}) {{ ^({}):\n{body}}}", args.join(", ")));
    }

    /// Writes an op with results of these types.
    fn finish(&mut self, scope: &mut Vec<Var>, types: &[&'static str], op: String) {
        let results = self.vars(types);
        match types.is_empty() {
            true => self.w.line(op),
            false => self.w.line(format!("{} = {op} : {}", names(&results), types.join(", "))),
        }
        scope.extend(results);
    }
}
