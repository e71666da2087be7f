//! Random modules, run every way there is: by the interpreter as they are and after every pass, for the host and for a
//! device, and as native code. All must agree on results, exceptions and what the arguments hold afterwards: exactly, but
//! for `math.*` and float powers in native code, which agree within 4 ulps.
//!
//! ```text
//! WEFT_FUZZ_SECONDS=60      new modules for so long, every one of them as native code too
//! WEFT_FUZZ_SEED=123        the module of one seed, which a failure prints
//! WEFT_FUZZ_KIND=flow       only modules of this kind
//! ```
//!
//! A failure prints the seed, what differs, and the module with every op dropped that the failure does not need.
//!
//! Read in this order: `scalars` (random scalar code), `programs`, `kernels`, `flows`, `compare` (the runs), `precision` (what is
//! exact), `shrink`.

#[path = "../common/arguments.rs"]
mod arguments;
#[path = "../filetests/backends.rs"]
mod backends;
mod compare;
mod flows;
mod kernels;
#[path = "../filetests/native.rs"]
mod native;
mod precision;
mod programs;
#[path = "../common/rng.rs"]
mod rng;
mod scalars;
mod shrink;

use backends::Backend;
use compare::{Verdict, check};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use weft_ir::print::print_module;
use weft_ir::read::read_module;

/// Kinds of modules.
const KINDS: [&str; 4] = ["program", "kernel", "flow", "program"];

/// Counts of what was tried.
#[derive(Debug, Default)]
struct Tally {
    modules: usize,
    raised: usize,
    refused: usize,
    native: usize,
}

/// Checks the module of a seed; panics with a small one that fails.
fn try_one(kind: &str, seed: u64, backends: &[Box<dyn Backend>], native: bool, tally: &mut Tally) {
    let text = match kind {
        "kernel" => kernels::kernel(seed),
        "flow" => flows::program(seed),
        _ => programs::program(seed),
    };
    let m = read_module(&text).unwrap_or_else(|e| panic!("the {kind} of seed {seed} does not read: {e}\n{text}"));
    tally.modules += 1;
    match check(&m, seed, backends, native) {
        Verdict::Same { raised, native, refused } => {
            tally.raised += usize::from(raised);
            tally.native += native;
            tally.refused += refused;
        }
        Verdict::Invalid(e) => panic!("the {kind} of seed {seed} is no program: {e}\n{text}"),
        Verdict::Different(_) => {
            let hook = std::panic::take_hook();
            std::panic::set_hook(Box::new(|_| {}));
            let fails = |m: &_| matches!(check(m, seed, backends, native), Verdict::Different(_));
            let small = shrink::shrink(m, &fails);
            let why = check(&small, seed, backends, native);
            std::panic::set_hook(hook);
            let Verdict::Different(why) = why else { unreachable!("it failed a moment ago") };
            let text = print_module(&small, false);
            panic!("the {kind} of seed {seed} (WEFT_FUZZ_SEED={seed}), shrunk:\n{text}\n{why}");
        }
    }
}

/// A number in the environment.
fn setting(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok().filter(|v| !v.is_empty())?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is a number, not {text:?}")))
}

#[test]
fn random_modules_agree() {
    let backends = backends::all();
    let only = std::env::var("WEFT_FUZZ_KIND").unwrap_or_default();
    let kinds: Vec<&str> = KINDS.into_iter().filter(|k| only.is_empty() || *k == only).collect();
    let mut tally = Tally::default();
    if let Some(seed) = setting("WEFT_FUZZ_SEED") {
        for kind in kinds {
            try_one(kind, seed, &backends, true, &mut tally);
        }
    } else if let Some(seconds) = setting("WEFT_FUZZ_SECONDS") {
        let first = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_millis() as u64);
        println!("seeds from {first}");
        let end = Instant::now() + Duration::from_secs(seconds);
        for seed in (first..).take_while(|_| Instant::now() < end) {
            let kind = kinds[seed as usize % kinds.len()];
            try_one(kind, seed, &backends, true, &mut tally);
        }
    } else {
        for seed in 0..600 {
            let kind = kinds[seed as usize % kinds.len()];
            try_one(kind, seed, &backends, seed % 7 == 0, &mut tally);
        }
        assert!(tally.native >= 50 && tally.raised >= 20 && tally.refused < 100, "a poor mix: {tally:?}");
    }
    println!("{tally:?}");
}
