//! Random scalar code: what bodies of `nt.elementwise`, kernels and host code have in common.

use crate::rng::Rng;
use std::fmt::Display;

/// Every dtype that programs compute with.
pub const DTYPES: [&str; 14] =
    ["f64", "f32", "i64", "i32", "bool", "i8", "i16", "u8", "u16", "u32", "u64", "f16", "c64", "c128"];

/// The sites that programs raise; `nt.refine` has one of its own.
pub const SITES: &str = "\
site 0 = ValueError \"sizes\"
site 1 = ValueError \"one\"
site 2 = ValueError \"two\"
site 3 = OverflowError \"three\"
";

const COMPARISONS: [&str; 6] = ["<", "<=", ">", ">=", "==", "!="];

/// A scalar that later code may use.
#[derive(Clone)]
pub struct Var {
    pub name: String,
    pub ty: &'static str,
    /// Computed by a `math.*` or a float power: backends agree within a few ulps, so it takes part in nothing that could
    /// make the difference larger.
    pub near: bool,
}

/// The text of a function as it grows.
pub struct Writer {
    pub rng: Rng,
    pub text: String,
    next: usize,
    /// Dtypes that occur more often than others, so that values meet.
    often: [&'static str; 2],
}

impl Writer {
    pub fn new(mut rng: Rng) -> Writer {
        let often = [rng.pick(&DTYPES), rng.pick(&DTYPES)];
        Writer { rng, text: String::new(), next: 0, often }
    }

    /// A dtype.
    pub fn dtype(&mut self) -> &'static str {
        if self.rng.chance(65) { self.rng.pick(&self.often) } else { self.rng.pick(&DTYPES) }
    }

    /// A name that nothing has yet.
    pub fn fresh(&mut self) -> String {
        self.next += 1;
        format!("%v{}", self.next)
    }

    pub fn line(&mut self, text: impl Display) {
        self.text += &format!("{text}\n");
    }

    /// The text that `write` writes, on its own.
    pub fn aside<T>(&mut self, write: impl FnOnce(&mut Writer) -> T) -> (String, T) {
        let outer = std::mem::take(&mut self.text);
        let out = write(self);
        (std::mem::replace(&mut self.text, outer), out)
    }

    /// Writes an op with one result.
    pub fn define(&mut self, op: impl Display, ty: &str) -> String {
        let name = self.fresh();
        self.line(format!("{name} = {op} : {ty}"));
        name
    }

    fn push(&mut self, scope: &mut Vec<Var>, op: impl Display, ty: &'static str, near: bool) {
        let name = self.define(op, ty);
        scope.push(Var { name, ty, near });
    }

    /// A constant, where arithmetic is interesting; some by way of a Python number.
    pub fn constant(&mut self, ty: &'static str) -> String {
        let ints = ["0", "1", "-1", "2", "3", "-7", "31", "32", "63", "64", "2147483647", "-2147483648"];
        let long = ["9007199254740993", "9223372036854775807", "-9223372036854775808", "4294967296", "16777217"];
        let floats = ["0.0", "-0.0", "0.5", "-1.5", "0.1", "3.0", "1e30", "-1e-40", "2147483648.0", "1e300"];
        let odd = ["float 0x7ff0000000000000", "float 0xfff0000000000000", "float 0x7ff8000000000000"];
        let any_int = |rng: &mut Rng| if rng.chance(70) { rng.pick(&ints) } else { rng.pick(&long) };
        let (value, weak) = match ty {
            "bool" => (self.rng.pick(&["true", "false"]), "pybool"),
            "i8" | "i16" => (self.rng.pick(&["0", "1", "-1", "3", "7", "16", "127", "-128"]), "pyint"),
            "u8" | "u16" | "u32" => (self.rng.pick(&["0", "1", "2", "5", "31", "200", "255"]), "pyint"),
            "u64" => (self.rng.pick(&["0", "1", "2", "63", "64", "9223372036854775807"]), "pyint"),
            "c64" | "c128" => {
                let values = ["0.0 0.0", "1.0 -2.0", "-0.0 0.5", "0.1 1e30", "3.0 float 0x7ff0000000000000"];
                let value = self.rng.pick(&values);
                return self.define(format!("arith.const() <{{value=complex {value}}}>"), ty);
            }
            "i32" => (self.rng.pick(&ints), "pyint"),
            "i64" | "pyint" => (any_int(&mut self.rng), "pyint"),
            _ if self.rng.chance(25) => (any_int(&mut self.rng), "pyint"),
            _ if self.rng.chance(80) => (self.rng.pick(&floats), "pyfloat"),
            _ => (self.rng.pick(&odd), "pyfloat"),
        };
        let op = format!("arith.const() <{{value={value}}}>");
        if self.rng.chance(60) || ty == weak {
            return self.define(op, ty);
        }
        let python = self.define(op, weak);
        self.define(format!("arith.cast({python})"), ty)
    }

    /// An exact scalar of this type: one in scope, or a constant.
    pub fn exact(&mut self, scope: &[Var], ty: &'static str) -> String {
        let found: Vec<&Var> = scope.iter().filter(|v| v.ty == ty && !v.near).collect();
        match found.is_empty() || self.rng.chance(20) {
            true => self.constant(ty),
            false => self.rng.pick(&found).name.clone(),
        }
    }

    /// Two exact scalars of this type, rather different ones.
    fn pair(&mut self, scope: &[Var], ty: &'static str) -> (String, String) {
        let (a, b) = (self.exact(scope, ty), self.exact(scope, ty));
        if a == b { (a, self.exact(scope, ty)) } else { (a, b) }
    }

    /// A scalar of this type, exact or not.
    pub fn any(&mut self, scope: &[Var], ty: &'static str) -> Var {
        let found: Vec<&Var> = scope.iter().filter(|v| v.ty == ty).collect();
        if found.is_empty() {
            return Var { name: self.constant(ty), ty, near: false };
        }
        self.rng.pick(&found).clone()
    }

    /// One random op, or a structured one with `depth` more inside. `raises`: it may leave by an exception.
    pub fn step(&mut self, scope: &mut Vec<Var>, depth: usize, raises: bool) {
        let ty = if scope.is_empty() { self.dtype() } else { self.rng.pick(scope).ty };
        match self.rng.below(20) {
            0..=6 => self.binary(scope, ty),
            7..=9 => self.unary(scope, ty),
            10 | 11 => {
                let (a, to) = (self.exact(scope, ty), self.dtype());
                self.push(scope, format!("arith.cast({a})"), to, false);
            }
            12 | 13 => {
                let condition = self.condition(scope);
                scope.push(Var { name: condition, ty: "bool", near: false });
            }
            14 | 15 => {
                let (c, a, b) = (self.exact(scope, "bool"), self.any(scope, ty), self.any(scope, ty));
                self.push(scope, format!("arith.select({c}, {}, {})", a.name, b.name), ty, a.near | b.near);
            }
            16 if raises => {
                let (a, b) = self.pair(scope, "i64");
                let op = self.rng.pick(&["+", "-", "*", "//"]);
                let checked = format!("<{{op=\"{op}\", site={}}}>", 1 + self.rng.below(3));
                if self.rng.chance(50) {
                    return self.push(scope, format!("arith.checked({a}, {b}) {checked}"), "i64", false);
                }
                let a = self.define(format!("arith.cast({a})"), "pyint");
                let b = self.define(format!("arith.cast({b})"), "pyint");
                let v = self.define(format!("arith.checked({a}, {b}) {checked}"), "pyint");
                self.push(scope, format!("arith.cast({v})"), "i64", false);
            }
            17 if raises && self.rng.chance(40) => {
                let condition = self.condition(scope);
                let shown = self.exact(scope, if is_complex(ty) { "i64" } else { ty });
                let site = 1 + self.rng.below(3);
                self.line(format!("scf.if({condition}) {{ raise({shown}) <{{site={site}}}> }} {{ yield() }}"));
            }
            18 if depth > 0 => self.choice(scope, depth - 1, raises),
            19 if depth > 0 => self.repeat(scope, depth - 1, raises),
            _ => self.binary(scope, ty),
        }
    }

    /// A comparison.
    pub fn condition(&mut self, scope: &[Var]) -> String {
        let ty = if scope.is_empty() { "i64" } else { self.rng.pick(scope).ty };
        let comparisons = if is_complex(ty) { &COMPARISONS[4..] } else { &COMPARISONS[..] };
        let ((a, b), is) = (self.pair(scope, ty), self.rng.pick(comparisons));
        self.define(format!("arith.cmp({a}, {b}) <{{is=\"{is}\"}}>"), "bool")
    }

    fn binary(&mut self, scope: &mut Vec<Var>, ty: &'static str) {
        let ops: &[&str] = match ty {
            "bool" => &["add", "mul", "min", "max", "and", "or", "xor"],
            "c64" | "c128" => &["add", "sub", "mul", "div", "add", "mul"],
            "f16" | "f32" | "f64" => {
                &["add", "sub", "mul", "div", "floordiv", "mod", "min", "max", "add", "mul", "pow"]
            }
            _ => &["add", "sub", "mul", "floordiv", "mod", "pow", "min", "max", "and", "or", "xor", "shl", "shr"],
        };
        let (op, float) = (self.rng.pick(ops), ty.starts_with('f'));
        let (a, mut b) = self.pair(scope, ty);
        if op == "pow" && !float {
            // Exponents are not negative.
            let mask = self.rng.pick(&["3", "7", "63"]);
            let mask = self.define(format!("arith.const() <{{value={mask}}}>"), ty);
            b = self.define(format!("arith.and({b}, {mask})"), ty);
        }
        self.push(scope, format!("arith.{op}({a}, {b})"), ty, op == "pow" && float);
    }

    fn unary(&mut self, scope: &mut Vec<Var>, ty: &'static str) {
        let part = if ty == "c64" { "f32" } else { "f64" };
        if is_complex(ty) && self.rng.chance(60) {
            let (op, a) = (self.rng.pick(&["arith.real", "arith.imag"]), self.exact(scope, ty));
            return self.push(scope, format!("{op}({a})"), part, false);
        }
        if is_complex(ty) && self.rng.chance(50) {
            let (re, im) = self.pair(scope, part);
            return self.push(scope, format!("arith.complex({re}, {im})"), ty, false);
        }
        let ops: &[&str] = match ty {
            "bool" => &["arith.not"],
            "c64" | "c128" => &["arith.neg"],
            "f16" | "f32" | "f64" => {
                &["arith.neg", "arith.abs", "math.sqrt", "math.sin", "math.cos", "math.exp", "math.log"]
            }
            _ => &["arith.neg", "arith.abs", "arith.not"],
        };
        let (op, a) = (self.rng.pick(ops), self.any(scope, ty));
        // A change of sign is all that an inexact value may go through.
        let op = if a.near && op.starts_with("math") { "arith.neg" } else { op };
        let near = a.near || (op.starts_with("math") && op != "math.sqrt");
        self.push(scope, format!("{op}({})", a.name), ty, near);
    }

    /// Some ops of their own, then `yield` of values with these types; which of them are inexact.
    fn arm(&mut self, scope: &[Var], yields: &[&'static str], depth: usize, raises: bool) -> (String, Vec<bool>) {
        let mut inner = scope.to_vec();
        self.aside(|w| {
            for _ in 0..w.rng.below(4) {
                w.step(&mut inner, depth, raises);
            }
            let out: Vec<Var> = yields.iter().map(|ty| w.any(&inner, ty)).collect();
            w.line(format!("yield({})", names(&out)));
            out.iter().map(|v| v.near).collect()
        })
    }

    fn choice(&mut self, scope: &mut Vec<Var>, depth: usize, raises: bool) {
        let condition = self.condition(scope);
        let types: Vec<&'static str> = (0..1 + self.rng.below(2)).map(|_| self.dtype()).collect();
        let (then, near) = self.arm(scope, &types, depth, raises);
        let (other, also) = self.arm(scope, &types, depth, raises);
        let near: Vec<bool> = near.iter().zip(&also).map(|(a, b)| a | b).collect();
        let results = self.results(&types, &near);
        self.line(format!(
            "{} = scf.if({condition}) {{\n{then}}} {{\n{other}}} : {}",
            names(&results),
            types.join(", ")
        ));
        scope.extend(results);
    }

    fn repeat(&mut self, scope: &mut Vec<Var>, depth: usize, raises: bool) {
        let types: Vec<&'static str> = (0..1 + self.rng.below(2)).map(|_| self.dtype()).collect();
        let index = self.rng.pick(&["i64", "i32"]);
        let (lo, hi, step) = self.rng.pick(&[(0, 3, 1), (2, -3, -2), (1, 1, 1), (-1, 4, 3)]);
        let bounds: Vec<String> =
            [lo, hi, step].iter().map(|n| self.define(format!("arith.const() <{{value={n}}}>"), index)).collect();
        let inits: Vec<String> = types.iter().map(|ty| self.exact(scope, ty)).collect();
        let counter = Var { name: self.fresh(), ty: index, near: false };
        let carried = self.results(&types, &[false, false]);
        let args: Vec<String> =
            [&counter].into_iter().chain(&carried).map(|v| format!("{}: {}", v.name, v.ty)).collect();
        let mut inner = scope.clone();
        inner.push(counter);
        inner.extend(carried);
        // What is carried round would grow less exact with every turn.
        let (body, ()) = self.aside(|w| {
            for _ in 0..1 + w.rng.below(3) {
                w.step(&mut inner, depth, raises);
            }
            let out: Vec<String> = types.iter().map(|ty| w.exact(&inner, ty)).collect();
            w.line(format!("yield({})", out.join(", ")));
        });
        let results = self.results(&types, &[false, false]);
        let operands = [bounds, inits].concat().join(", ");
        let (to, args, ty) = (names(&results), args.join(", "), types.join(", "));
        self.line(format!("{to} = scf.for({operands}) {{ ^({args}):\n{body}}} : {ty}"));
        scope.extend(results);
    }

    /// Names for the results of an op.
    fn results(&mut self, types: &[&'static str], near: &[bool]) -> Vec<Var> {
        types.iter().zip(near).map(|(&ty, &near)| Var { name: self.fresh(), ty, near }).collect()
    }
}

fn is_complex(ty: &str) -> bool {
    ty.starts_with('c')
}

/// Names with commas.
pub fn names(vars: &[Var]) -> String {
    vars.iter().map(|v| v.name.as_str()).collect::<Vec<_>>().join(", ")
}
