//! Runs one module every way there is and compares: results, exceptions, and what the arguments hold afterwards.

use crate::backends::Backend;
use crate::precision::{Precision, precision};
use crate::rng::Rng;
use std::panic::{AssertUnwindSafe, catch_unwind};
use weft_diag::ErrorKind;
use weft_interp::array::strides_of;
use weft_interp::{Array, Failure, Memory, Scalar, Value};
use weft_ir::print::print_module;
use weft_ir::verify::verify;
use weft_ir::{DType, Dim, Layout, Module, Op, Place, TensorType, Type};
use weft_opt::call::{Call, Expect, Match, compare};
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
        let args = arguments(source, seed);
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
    /// Every stage on every backend for every place; how often natively, and how many places are refused.
    fn everywhere(&self) -> Result<(usize, usize), String> {
        let (mut native, mut refused) = (0, 0);
        for place in [Place::Host, Place::device("cuda:gpu:0")] {
            let cx = PassCx { place: place.clone(), kernel_dims: 1, verify: true };
            let stages = match pipeline::lower(self.m.clone(), &cx) {
                Ok(stages) => stages,
                Err(d) if d.kind == ErrorKind::Placement => {
                    refused += 1;
                    continue;
                }
                Err(d) => return Err(format!("for {place}: {}", d.message)),
            };
            for m in [&stages.placed, &stages.fused, &stages.loops] {
                for backend in self.backends.iter().filter(|b| b.takes(m)) {
                    let exact = backend.checks_everything();
                    if !exact && !self.native {
                        continue;
                    }
                    let got = Ran::with(&**backend, m, self.m, self.seed, self.expected.clone());
                    self.agree(&got, exact).map_err(|e| {
                        let stage = m.stage.name();
                        format!("{} at stage {stage} for {place}: {e}\n{}", backend.name(), print_module(m, false))
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

/// Sizes of the symbols. None is 1, which types would say; none is 0 where an element is read.
fn sizes(m: &Module, seed: u64) -> [i64; 3] {
    let mut rng = Rng::new(seed ^ 0x73697a65);
    let mut elements = false;
    m.entry().walk(&mut |op| elements |= matches!(m.entry().op(op).op, Op::NtLoad { .. } | Op::NtStore { .. }));
    let may_be_empty = !elements || m.entry().kernel;
    let mut size = |from: &[i64]| if rng.chance(5) && may_be_empty { 0 } else { rng.pick(from) };
    let (first, second, third) = (size(&[2, 3, 7, 17, 35]), size(&[2, 3, 9]), size(&[2, 3, 7]));
    [first, second, if rng.chance(80) { first } else { third }]
}

/// Fresh arguments for the entry: the same for the same types and seed.
fn arguments(m: &Module, seed: u64) -> Vec<Value> {
    let f = m.entry();
    let sizes = sizes(m, seed);
    let one = |(i, ty): (usize, &Type)| {
        let mut rng = Rng::new(seed.wrapping_mul(31).wrapping_add(i as u64));
        match ty {
            Type::Tensor(t) => Value::Array(array(t, &sizes, &mut rng)),
            ty => Value::Scalar(number(ty.scalar_dtype().expect("a parameter is an array or a scalar"), &mut rng)),
        }
    };
    f.params().iter().map(|&v| f.ty(v)).enumerate().map(one).collect()
}

fn array(t: &TensorType, sizes: &[i64], rng: &mut Rng) -> Array {
    let size = |d: &Dim| match *d {
        Dim::Const(n) => n as i64,
        Dim::Sym(k) => sizes[k as usize],
    };
    let shape: Vec<i64> = t.dims.iter().map(size).collect();
    // Any strides: every second element, in either order, from either end.
    let any = t.layout == Layout::A;
    let (gap, backwards) = if any { (1 + rng.below(2) as i64, rng.chance(40)) } else { (1, false) };
    let order = if any { rng.pick(&[Layout::C, Layout::F]) } else { t.layout };
    let sign = if backwards { -gap } else { gap };
    let strides = strides_of(&shape, t.dtype, order).iter().map(|s| s * sign).collect();
    let (bytes, count) = (t.dtype.size() as i64, shape.iter().product::<i64>() * gap);
    let memory = Memory::borrowed(vec![0; (count * bytes) as usize]);
    for i in 0..count {
        memory.store(i * bytes, number(t.dtype, rng)).expect("inside the block");
    }
    let offset = if backwards { (count - gap).max(0) * bytes } else { 0 };
    Array { memory, offset, dtype: t.dtype, shape, strides }
}

/// A number, often one where arithmetic is interesting.
fn number(dtype: DType, rng: &mut Rng) -> Scalar {
    let small = rng.below(23) as i64 - 11;
    let odd = rng.chance(35);
    let wide = match dtype {
        d if d.is_complex() => {
            let part = d.part().expect("complex");
            return weft_interp::scalar::binary(&Op::Complex, number(part, rng), number(part, rng)).expect("two parts");
        }
        DType::F16 | DType::F32 | DType::F64 if odd => {
            let values =
                [0.0, -0.0, 0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e300, -1e-310, 2147483648.0, 1e19];
            Scalar::F64(rng.pick(&values))
        }
        DType::F16 | DType::F32 | DType::F64 if rng.chance(40) => Scalar::F64(rng.bits() as f64 / 1e12 - 2000.0),
        DType::F16 | DType::F32 | DType::F64 => Scalar::F64(small as f64 / 2.0),
        DType::Bool => Scalar::Bool(small > 0),
        _ if odd => {
            let (lo, hi) = dtype.int_bounds().expect("an integer dtype");
            Scalar::Int(dtype, rng.pick(&[lo, hi, lo + 1, 31, 32, 63, 64, (1 << 30).min(hi)]))
        }
        _ => Scalar::Int(DType::I64, small.into()),
    };
    wide.cast(dtype).expect("a dtype that the interpreter has")
}
