//! Random array programs: elementwise ops with random bodies over broadcasting arrays, scalars, refinements, stores,
//! raises and early returns.

use crate::rng::Rng;
use crate::scalars::{DTYPES, SITES, Var, Writer};
use weft_ir::{DType, Dim, Layout, Place, TensorType};

/// An array that later code may use.
#[derive(Clone)]
struct Array {
    name: String,
    ty: TensorType,
    /// As [`Var::near`].
    near: bool,
}

struct Program {
    w: Writer,
    params: Vec<Array>,
    arrays: Vec<Array>,
    scalars: Vec<Var>,
    /// Where the parameters live.
    home: Place,
    raises: bool,
}

/// The text of a random module. A quarter of them have their arrays on a device.
pub fn program(seed: u64) -> String {
    let mut rng = Rng::new(seed);
    let home = if rng.chance(25) { Place::device("cuda:gpu:0") } else { Place::Host };
    let raises = rng.chance(50);
    let mut p = Program { w: Writer::new(rng), params: vec![], arrays: vec![], scalars: vec![], home, raises };
    let head = p.parameters();
    let steps = 2 + p.w.rng.below(12);
    let middle = p.w.rng.below(2 * steps);
    let mut results = None;
    for i in 0..steps {
        p.step();
        if i == middle {
            results = Some(p.early_return());
        }
    }
    let results = results.unwrap_or_else(|| p.pick_results());
    let names: Vec<String> = results.iter().map(|ty| p.value_of(ty)).collect();
    p.w.line(format!("return({})", names.join(", ")));
    format!("weft 1 stage ntensor\n{SITES}func @f({head}) -> {} {{\n{}}}\n", results.join(", "), p.w.text)
}

/// Sizes of two arrays broadcast together; `None` where they do not.
fn broadcast(a: &[Dim], b: &[Dim]) -> Option<Vec<Dim>> {
    let rank = a.len().max(b.len());
    let at = |dims: &[Dim], k: usize| if k < rank - dims.len() { Dim::Const(1) } else { dims[k + dims.len() - rank] };
    let join = |k| match (at(a, k), at(b, k)) {
        (x, y) if x == y => Some(x),
        (Dim::Const(1), y) => Some(y),
        (x, Dim::Const(1)) => Some(x),
        _ => None,
    };
    (0..rank).map(join).collect()
}

impl Program {
    fn parameters(&mut self) -> String {
        use Dim::{Const, Sym};
        let shapes: [&[Dim]; 8] = [
            &[Sym(0)],
            &[Sym(2)],
            &[Sym(0), Sym(1)],
            &[Const(1), Sym(1)],
            &[Sym(0), Const(1)],
            &[],
            &[Sym(2), Sym(1)],
            &[Sym(1)],
        ];
        let mut head = vec![];
        for i in 0..4 {
            // The first two have every symbol between them.
            let dims = if i < 2 { shapes[2 - i].to_vec() } else { self.w.rng.pick(&shapes).to_vec() };
            let layout = self.w.rng.pick(if two_axes(&dims) {
                &[Layout::C, Layout::F, Layout::A][..]
            } else {
                &[Layout::C, Layout::A]
            });
            let dtype = self.dtype();
            let ty = TensorType { layout, ..TensorType::fresh(dims, dtype, self.home.clone()) };
            head.push(format!("%x{i}: {ty}"));
            self.params.push(Array { name: format!("%x{i}"), ty, near: false });
        }
        self.arrays = self.params.clone();
        for (i, ty) in ["f64", "i64", self.w.dtype()].into_iter().enumerate() {
            head.push(format!("%s{i}: {ty}"));
            self.scalars.push(Var { name: format!("%s{i}"), ty, near: false });
        }
        head.join(", ")
    }

    fn dtype(&mut self) -> DType {
        DType::from_name(self.w.dtype()).expect("a dtype")
    }

    /// An array, rather one of the latest.
    fn pick(&mut self) -> Array {
        let n = self.arrays.len();
        let back = if self.w.rng.chance(60) { n.min(4) } else { n };
        self.arrays[n - 1 - self.w.rng.below(back)].clone()
    }

    fn step(&mut self) {
        match self.w.rng.below(12) {
            0..=6 => self.elementwise(),
            7 => self.refine(),
            8 => self.size(),
            9 => self.element(),
            10 => self.store(),
            _ => self.w.step(&mut self.scalars, 1, self.raises),
        }
    }

    fn elementwise(&mut self) {
        let first = self.pick();
        let mut dims = first.ty.dims.clone();
        let mut operands: Vec<(String, Var)> = vec![];
        let mut inputs = if self.w.rng.chance(93) { vec![first] } else { vec![] };
        for _ in 0..self.w.rng.below(3) {
            if self.w.rng.chance(30) {
                let s = self.w.rng.pick(&self.scalars);
                operands.push((s.name, Var { name: self.w.fresh(), ..s }));
                continue;
            }
            let other = self.pick();
            if let Some(joined) = broadcast(&dims, &other.ty.dims) {
                dims = joined;
                inputs.push(other);
            }
        }
        for a in &inputs {
            operands.push((a.name.clone(), Var { name: self.w.fresh(), ty: a.ty.dtype.name(), near: a.near }));
        }
        let mut scope: Vec<Var> = operands.iter().map(|(_, v)| v.clone()).collect();
        let raises = self.raises && self.w.rng.chance(60);
        let (body, out) = self.w.aside(|w| {
            if !dims.is_empty() && (w.rng.chance(15) || scope.is_empty()) {
                let dim = w.rng.below(dims.len());
                let name = w.define(format!("nt.position() <{{dim={dim}}}>"), "i64");
                scope.push(Var { name, ty: "i64", near: false });
            }
            for _ in 0..1 + w.rng.below(5) {
                w.step(&mut scope, 1, raises);
            }
            let mut out = vec![scope[scope.len() - 1].clone()];
            for _ in 0..w.rng.below(3) {
                out.push(w.rng.pick(&scope));
            }
            w.line(format!("yield({})", crate::scalars::names(&out)));
            out
        });
        let mut results = vec![];
        for v in &out {
            let layout = if two_axes(&dims) && self.w.rng.chance(25) { Layout::F } else { Layout::C };
            let dtype = DType::from_name(v.ty).expect("a dtype");
            let ty = TensorType { layout, ..TensorType::fresh(dims.clone(), dtype, self.home.clone()) };
            results.push(Array { name: self.w.fresh(), ty, near: v.near });
        }
        let list = |items: Vec<String>| items.join(", ");
        let to = list(results.iter().map(|r| r.name.clone()).collect());
        let types = list(results.iter().map(|r| r.ty.to_string()).collect());
        let from = list(operands.iter().map(|(name, _)| name.clone()).collect());
        let args = list(operands.iter().map(|(_, v)| format!("{}: {}", v.name, v.ty)).collect());
        let args = if args.is_empty() { args } else { format!(" ^({args}):") };
        self.w.line(format!("{to} = nt.elementwise({from}) {{{args}\n{body}}} : {types}"));
        self.arrays.extend(results);
    }

    /// The array with `?2` taken for `?0`, which arguments do not always grant.
    fn refine(&mut self) {
        let (a, shown) = (self.pick(), self.pick());
        if !a.ty.dims.contains(&Dim::Sym(2)) {
            return;
        }
        let better = |&d: &Dim| if d == Dim::Sym(2) { Dim::Sym(0) } else { d };
        let ty = TensorType { dims: a.ty.dims.iter().map(better).collect(), ..a.ty.clone() };
        let name =
            self.w.define(format!("nt.refine({}, {}, {}) <{{site=0}}>", a.name, a.name, shown.name), &ty.to_string());
        self.arrays.push(Array { name, ty, near: a.near });
    }

    fn size(&mut self) {
        let a = self.pick();
        if a.ty.rank() > 0 {
            let dim = self.w.rng.below(a.ty.rank());
            let size = self.w.define(format!("nt.dim({}) <{{dim={dim}}}>", a.name), "pyint");
            let ty = self.w.dtype();
            let name = self.w.define(format!("arith.cast({size})"), ty);
            self.scalars.push(Var { name, ty, near: false });
        }
    }

    /// Constant indices of an element, and whether negative ones count from the end.
    fn indices(&mut self, rank: usize) -> (String, bool) {
        let wrap = self.w.rng.chance(60);
        let at = |w: &mut Writer| if wrap { w.rng.pick(&["0", "-1"]) } else { "0" };
        let mut all = String::new();
        for _ in 0..rank {
            let value = at(&mut self.w);
            all += &format!(", {}", self.w.define(format!("arith.const() <{{value={value}}}>"), "i64"));
        }
        (all, wrap)
    }

    fn element(&mut self) {
        let a = self.pick();
        if !self.home.is_host() {
            return;
        }
        let (indices, wrap) = self.indices(a.ty.rank());
        let op = match a.ty.rank() == 0 && self.w.rng.chance(70) {
            true => format!("nt.item({})", a.name),
            false => format!("nt.load({}{indices}) <{{wrap={wrap}}}>", a.name),
        };
        let ty = a.ty.dtype.name();
        let name = self.w.define(op, ty);
        self.scalars.push(Var { name, ty, near: a.near });
    }

    fn store(&mut self) {
        if !self.home.is_host() {
            return;
        }
        let to = self.w.rng.pick(&self.params);
        let value = self.w.exact(&self.scalars, to.ty.dtype.name());
        let (indices, wrap) = self.indices(to.ty.rank());
        self.w.line(format!("nt.store({value}, {}{indices}) <{{wrap={wrap}}}>", to.name));
    }

    /// Types of what the function returns.
    fn pick_results(&mut self) -> Vec<String> {
        let one = |p: &mut Program| match p.w.rng.chance(75) {
            true => p.pick().ty.to_string(),
            false => p.w.rng.pick(&p.scalars).ty.to_string(),
        };
        (0..1 + self.w.rng.below(5)).map(|_| one(self)).collect()
    }

    /// A value of this type; there is one, or it is a scalar's.
    fn value_of(&mut self, ty: &str) -> String {
        let arrays: Vec<String> =
            self.arrays.iter().filter(|a| a.ty.to_string() == ty).map(|a| a.name.clone()).collect();
        match arrays.is_empty() {
            false => self.w.rng.pick(&arrays),
            true => {
                let ty = DTYPES.into_iter().find(|d| *d == ty).expect("a type that was picked");
                self.w.any(&self.scalars, ty).name
            }
        }
    }

    /// `if …: return …`; the types of the results.
    fn early_return(&mut self) -> Vec<String> {
        let types = self.pick_results();
        let condition = self.w.condition(&self.scalars);
        let names: Vec<String> = types.iter().map(|ty| self.value_of(ty)).collect();
        self.w.line(format!("scf.if({condition}) {{ return({}) }} {{ yield() }}", names.join(", ")));
        types
    }
}

/// Whether C and F order differ.
fn two_axes(dims: &[Dim]) -> bool {
    dims.len() > 1 && !dims.contains(&Dim::Const(1))
}
