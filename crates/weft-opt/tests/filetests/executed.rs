//! Whether what passes make of a program does what the program did.

use crate::arguments::{Numbers, arguments, sizes};
use crate::backends::Backend;
use weft_interp::{Failure, Value};
use weft_ir::{Module, Type};
use weft_opt::call::{Call, Expect, Match, compare};

/// Calls that are tried.
const SEEDS: u64 = 12;

/// Runs both on the interpreter, with several sizes and numbers: results, exceptions and what arguments hold afterwards must
/// be the same, bit for bit. The numbers are small, since passes may choose the order of a product's sums.
/// What the program itself may not do with its arguments, says nothing.
pub fn agree(before: &Module, after: &Module, dims: usize) -> Result<(), String> {
    let f = before.entry();
    let simple = |ty: &Type| ty.as_tensor().is_some() || ty.scalar_dtype().is_some();
    if !f.params().iter().all(|&p| simple(f.ty(p))) {
        return Ok(());
    }
    let backends = crate::backends::all();
    let interpreter = &*backends[0];
    let mut faults = vec![];
    for seed in 0..SEEDS {
        let said = |e: String| format!("with the arguments of seed {seed}: {e}");
        let (want, wanted_args) = run(interpreter, before, before, (seed, dims), vec![]);
        let expected = want.as_ref().map_or(vec![], Clone::clone);
        let (found, args) = run(interpreter, after, before, (seed, dims), expected);
        match (&want, &found) {
            (Ok(want), Ok(found)) if want.len() == found.len() => {
                want.iter().zip(found).try_for_each(|(w, f)| compare(w, f, Match::Exact)).map_err(said)?;
            }
            (Err(Failure::Raised { site, .. }), Err(Failure::Raised { site: other, .. })) if site == other => {}
            (Err(fault), _) if !matches!(fault, Failure::Raised { .. }) => {
                faults.push(said(fault.to_string()));
                continue;
            }
            _ => return Err(said(format!("{found:?}, not {want:?}"))),
        }
        let mut arrays = wanted_args.iter().zip(&args).filter(|(w, _)| matches!(w, Value::Array(_)));
        arrays.try_for_each(|(w, f)| compare(w, f, Match::Exact)).map_err(said)?;
    }
    // A file that only faults needs calls of its own.
    if faults.len() < SEEDS as usize {
        Ok(())
    } else {
        Err(format!("no call runs; give some in `; run:` lines\n{}", faults[0]))
    }
}

/// How a call of `m` ends, with arguments of the types that `source` takes, and those arguments afterwards.
fn run(
    interpreter: &dyn Backend,
    m: &Module,
    source: &Module,
    (seed, dims): (u64, usize),
    expected: Vec<Value>,
) -> (Result<Vec<Value>, Failure>, Vec<Value>) {
    let args = arguments(source, seed, Numbers::Small);
    let launch = source.entry().kernel.then(|| sizes(source, seed)[..dims].to_vec());
    let expect = Expect::Values(expected, Match::Exact);
    let call = Call { func: m.entry().name.clone(), launch, args, expect, after: vec![] };
    (interpreter.run(m, &call), call.args)
}
