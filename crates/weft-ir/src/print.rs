//! The text form of modules. `read` takes it back.
//!
//! ```text
//! module := "weft" INT "stage" NAME fast? site* func*
//! site   := "site" INT "=" NAME STRING
//! func   := ("func" | "kernel") SYM "(" (VAL (":" type)?),* ")" ("->" type,+)? "apart"? region
//! region := "{" ("^" "(" (VAL (":" type)?),* ")" ":")? op* "}"
//! op     := (VAL,+ "=")? NAME "(" VAL,* ")" ("<{" (NAME "=" attr),* "}>")? region* (":" type,+)? ("@" INT ":" INT)?
//! ```

use crate::fast::FastMath;
use crate::func::{Func, Module, OpId, RegionId, ValueId};
use crate::types::Type;
use std::fmt::Write;

/// Version of the text form.
pub const VERSION: u32 = 1;

/// Text of a module. `spans` adds `@start:end` to ops that have one.
pub fn print_module(m: &Module, spans: bool) -> String {
    let mut out = format!("weft {VERSION} stage {}\n", m.stage.name());
    if m.fast != FastMath::default() {
        let _ = writeln!(out, "fast = {}", m.fast.names().collect::<Vec<_>>().join(", "));
    }
    for (i, s) in m.sites.iter().enumerate() {
        let _ = writeln!(out, "site {i} = {} {:?}", s.class.name(), s.template);
    }
    for f in &m.funcs {
        print_func(f, spans, &mut out);
    }
    out
}

/// Appends the text of one function.
pub fn print_func(f: &Func, spans: bool, out: &mut String) {
    let mut p = Printer { f, out, spans, numbers: vec![u32::MAX; f.values.len()], next: 0 };
    p.func();
}

struct Printer<'a> {
    f: &'a Func,
    out: &'a mut String,
    spans: bool,
    /// Printed number of each value: dense, in order of definition, so that text does not depend on dead values.
    numbers: Vec<u32>,
    next: u32,
}

impl Printer<'_> {
    fn func(&mut self) {
        let head = if self.f.kernel { "kernel" } else { "func" };
        let _ = write!(self.out, "{head} @{}", self.f.name);
        self.args(self.f.body);
        for (i, t) in self.f.results.iter().enumerate() {
            let _ = write!(self.out, "{} {t}", if i == 0 { " ->" } else { "," });
        }
        self.out.push_str(if self.f.apart { " apart {\n" } else { " {\n" });
        self.ops(self.f.body, 1);
        self.out.push_str("}\n");
    }

    fn args(&mut self, region: RegionId) {
        self.out.push('(');
        for (i, &v) in self.f.region(region).args.iter().enumerate() {
            if i > 0 {
                self.out.push_str(", ");
            }
            self.define(v);
            self.typed(v);
        }
        self.out.push(')');
    }

    fn typed(&mut self, v: ValueId) {
        if *self.f.ty(v) != Type::Untyped {
            let _ = write!(self.out, ": {}", self.f.ty(v));
        }
    }

    fn define(&mut self, v: ValueId) {
        self.numbers[v.index()] = self.next;
        self.next += 1;
        self.name(v);
    }

    fn name(&mut self, v: ValueId) {
        let data = &self.f.values[v.index()];
        let _ = match (data.name.as_str(), self.numbers[v.index()]) {
            ("", u32::MAX) => write!(self.out, "%undefined{}", v.0),
            ("", n) => write!(self.out, "%{n}"),
            (name, n) => write!(self.out, "%{name}.{n}"),
        };
    }

    fn ops(&mut self, region: RegionId, depth: usize) {
        for &op in &self.f.region(region).ops {
            for _ in 0..depth {
                self.out.push_str("  ");
            }
            self.op(op, depth);
            self.out.push('\n');
        }
    }

    fn op(&mut self, id: OpId, depth: usize) {
        let data = self.f.op(id);
        for (i, &v) in data.results.iter().enumerate() {
            if i > 0 {
                self.out.push_str(", ");
            }
            self.define(v);
        }
        if !data.results.is_empty() {
            self.out.push_str(" = ");
        }
        let _ = write!(self.out, "{}(", data.op.name());
        for (i, &v) in data.operands.iter().enumerate() {
            if i > 0 {
                self.out.push_str(", ");
            }
            self.name(v);
        }
        self.out.push(')');
        let mark = self.out.len();
        self.out.push_str(" <{");
        data.op.print_attrs(self.out);
        if self.out.ends_with("<{") {
            self.out.truncate(mark);
        } else {
            self.out.push_str("}>");
        }
        for &r in &data.regions {
            self.out.push_str(" {");
            if !self.f.region(r).args.is_empty() {
                self.out.push_str(" ^");
                self.args(r);
                self.out.push(':');
            }
            self.out.push('\n');
            self.ops(r, depth + 1);
            for _ in 0..depth {
                self.out.push_str("  ");
            }
            self.out.push('}');
        }
        if data.results.iter().any(|&v| *self.f.ty(v) != Type::Untyped) {
            for (i, &v) in data.results.iter().enumerate() {
                let _ = write!(self.out, "{} {}", if i == 0 { " :" } else { "," }, self.f.ty(v));
            }
        }
        if self.spans && data.span.is_known() {
            let _ = write!(self.out, " @{}:{}", data.span.start, data.span.end);
        }
    }
}
