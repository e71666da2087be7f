//! Runs one module every way there is and compares: results, exceptions, and what the arguments hold afterwards.

use crate::arguments::{Numbers, arguments, sizes};
use crate::backends::Backend;
use crate::precision::{Precision, precision};
use std::panic::{AssertUnwindSafe, catch_unwind};
use weft_diag::ErrorKind;
use weft_interp::{Array, Failure, Value};
use weft_ir::print::print_module;
use weft_ir::verify::verify;
use weft_ir::{Module, Place};
use weft_opt::call::{Call, Expect, Match, compare};
use weft_passes::pipeline::PASSES;
use weft_passes::{PassCx, pipeline};

/// What came of a module.
pub enum Verdict {
    /// Everything agrees.
    Same {
        /// It left by an exception.
        raised: bool,
        /// Times that it ran as native code.
        native: usize,
        /// Places that it may not run at.
        refused: usize,
    },
    /// No program: it does not verify, does what no program may, or makes differences of a few ulps larger.
    Invalid(String),
    /// Two ways differ, or a pass refuses what it should not.
    Different(String),
}

/// Lowers and runs the module with the arguments of `seed`; as native code too if `native`.
pub fn check(m: &Module, seed: u64, backends: &[Box<dyn Backend>], native: bool) -> Verdict {
    if let Err(e) = verify(m) {
        return Verdict::Invalid(e.to_string());
    }
    let Some(precision) = precision(m.entry()) else {
        return Verdict::Invalid("what is not exact is computed with".into());
    };
    let oracle = &backends[0];
    let want = Ran::new(&**oracle, m, seed, vec![]);
    let expected = match &want.outcome {
        Ok(values) => values.clone(),
        Err(Failure::Raised { .. }) => vec![],
        Err(fault) => return Verdict::Invalid(fault.to_string()),
    };
    let compared = Compared { m, seed, want: &want, expected, precision, backends, native };
    let found = catch_unwind(AssertUnwindSafe(|| compared.everywhere()));
    let panicked = |e: Box<dyn std::any::Any + Send>| {
        let text = e.downcast_ref::<String>().cloned().or_else(|| e.downcast_ref::<&str>().map(|s| s.to_string()));
        Err(format!("panicked: {}", text.unwrap_or_default()))
    };
    match found.unwrap_or_else(panicked) {
        Ok((native, refused)) => Verdict::Same { raised: want.outcome.is_err(), native, refused },
        Err(difference) => Verdict::Different(difference),
    }
}

/// A run: how it ended, and its arguments afterwards.
struct Ran {
    outcome: Result<Vec<Value>, Failure>,
    args: Vec<Value>,
}

impl Ran {
    fn new(backend: &dyn Backend, m: &Module, seed: u64, expected: Vec<Value>) -> Ran {
        Ran::with(backend, m, m, seed, expected)
    }

    /// Runs `m` with the arguments that `source` takes before it is lowered.
    fn with(backend: &dyn Backend, m: &Module, source: &Module, seed: u64, expected: Vec<Value>) -> Ran {
        let args = arguments(source, seed, Numbers::Any);
        let launch = source.entry().kernel.then(|| vec![sizes(source, seed)[0]]);
        let expect = Expect::Values(expected, Match::Exact);
        let call = Call { func: m.entry().name.clone(), launch, args, expect, after: vec![] };
        Ran { outcome: backend.run(m, &call), args: call.args }
    }
}

struct Compared<'a> {
    m: &'a Module,
    seed: u64,
    want: &'a Ran,
    /// Results, or nothing where it raises.
    expected: Vec<Value>,
    precision: Precision,
    backends: &'a [Box<dyn Backend>],
    native: bool,
}

impl Compared<'_> {
    /// What every pass leaves, on every backend for every place; how often natively, and how many places are refused.
    fn everywhere(&self) -> Result<(usize, usize), String> {
        let (mut native, mut refused) = (0, 0);
        for place in [Place::Host, Place::device("cuda:gpu:0")] {
            let cx = PassCx { place: place.clone(), kernel_dims: 1, verify: true };
            // What each pass leaves, if it changed anything.
            let (mut left, mut text) = (vec![], print_module(self.m, false));
            let lowered = pipeline::run(self.m, PASSES, &cx, &mut |pass, m| {
                let now = print_module(m, false);
                if now != text {
                    left.push((pass.name, m.clone()));
                    text = now;
                }
            });
            match lowered {
                Ok(_) => {}
                Err(d) if d.kind == ErrorKind::Placement => {
                    refused += 1;
                    continue;
                }
                Err(d) => return Err(format!("for {place}: {}", d.message)),
            };
            for (pass, m) in &left {
                for backend in self.backends.iter().filter(|b| b.takes(m)) {
                    let exact = backend.checks_everything();
                    if !exact && !self.native {
                        continue;
                    }
                    let got = Ran::with(&**backend, m, self.m, self.seed, self.expected.clone());
                    self.agree(&got, exact).map_err(|e| {
                        format!("{} after {pass} for {place}: {e}\n{}", backend.name(), print_module(m, false))
                    })?;
                    native += usize::from(!exact);
                }
            }
        }
        Ok((native, refused))
    }

    fn agree(&self, got: &Ran, exact: bool) -> Result<(), String> {
        let near = |inexact: bool| if exact || !inexact { Match::Exact } else { Match::Near };
        match (&self.want.outcome, &got.outcome) {
            (Ok(want), Ok(found)) => {
                if want.len() != found.len() {
                    return Err(format!("{} results, not {}", found.len(), want.len()));
                }
                for (i, (w, f)) in want.iter().zip(found).enumerate() {
                    compare(w, f, near(self.precision.results[i])).map_err(|e| told(&format!("result {i}"), w, &e))?;
                }
            }
            (Err(Failure::Raised { site, args }), Err(Failure::Raised { site: s, args: a })) => {
                if site != s || args.len() != a.len() || !args.iter().zip(a).all(|(w, f)| same_bits(*w, *f)) {
                    return Err(format!("raised {s} with {a:?}, not {site} with {args:?}"));
                }
                // Items after the one that raises may have run.
                if self.m.entry().kernel && !exact {
                    return Ok(());
                }
            }
            (_, Err(e)) => return Err(format!("{e}, not {:?}", self.want.outcome)),
            (Err(e), Ok(_)) => return Err(format!("did not fail with: {e}")),
        }
        for (i, (w, f)) in self.want.args.iter().zip(&got.args).enumerate() {
            if let (Value::Array(w), Value::Array(f)) = (w, f) {
                let (w, f) = (Value::Array(whole(w)), Value::Array(whole(f)));
                let near = near(self.precision.params[i]);
                compare(&w, &f, near).map_err(|e| told(&format!("argument {i} afterwards"), &w, &e))?;
            }
        }
        Ok(())
    }
}

fn told(what: &str, want: &Value, e: &str) -> String {
    format!("{what} {e}\nwant {}", weft_interp::text::print(want))
}

/// Bits that an exception carries: every nan is every nan.
fn same_bits(a: u64, b: u64) -> bool {
    a == b || (f64::from_bits(a).is_nan() && f64::from_bits(b).is_nan())
}

/// All memory of an array, what lies between its elements too.
fn whole(a: &Array) -> Array {
    let size = a.dtype.size() as i64;
    let count = a.memory.to_bytes().len() as i64 / size;
    Array { memory: a.memory.clone(), offset: 0, dtype: a.dtype, shape: vec![count], strides: vec![size] }
}
