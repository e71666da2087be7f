//! The table of passes, in the order they run, and the module of every stage.
//!
//! `lower` runs the whole table; `weft-opt` runs parts of it by name, and `inspect("after:rows")` shows what stands behind an
//! entry. The verifier runs after every entry where `PassCx::verify` asks for it, and its first ring after every stage
//! otherwise. A pass that breaks the IR is an internal error that names it; what came into it is written to a file that
//! `weft-opt` reads.

use crate::{PassCx, blocks, canon, comprehend, fuse, loops, panels, place, products, raise, rows, sides, together};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use weft_diag::{Diagnostic, Span};
use weft_ir::print::print_module;
use weft_ir::{Func, Module, Stage, verify};

/// An entry of the table.
#[derive(Clone, Copy, Debug)]
pub struct Pass {
    /// What it is called everywhere.
    pub name: &'static str,
    /// The stage it works at. Only a pass that [`Pass::gives`] another one changes it.
    pub takes: Stage,
    /// The stage it leaves.
    pub gives: Stage,
    /// What it does, in a line.
    pub does: &'static str,
    run: Run,
}

/// How a pass is run.
#[derive(Clone, Copy, Debug)]
enum Run {
    /// On each function by itself.
    Functions(fn(&mut Func)),
    /// On each function that is not a kernel: kernels hold no structured ops yet.
    Hosted(fn(&mut Func)),
    /// On the whole module: crosses a border between stages.
    Module(fn(Module, &PassCx) -> Result<Module, Diagnostic>),
}

const fn within(stage: Stage, name: &'static str, run: Run, does: &'static str) -> Pass {
    Pass { name, takes: stage, gives: stage, does, run }
}

const fn fused(name: &'static str, run: fn(&mut Func), does: &'static str) -> Pass {
    within(Stage::Fused, name, Run::Hosted(run), does)
}

/// Every pass, in order.
pub const PASSES: &[Pass] = &[
    within(
        Stage::Ntensor,
        "canonicalise",
        Run::Functions(canon::run),
        "folds constants, computes equal scalars once, drops what is not used and checks that ranges make idle",
    ),
    within(
        Stage::Ntensor,
        "raise",
        Run::Hosted(raise::run),
        "loops of array statements whose iterations are independent become array statements",
    ),
    Pass {
        name: "place",
        takes: Stage::Ntensor,
        gives: Stage::Placed,
        does: "gives every array op a place, and makes transfers explicit",
        run: Run::Module(place::run),
    },
    Pass {
        name: "fuse",
        takes: Stage::Placed,
        gives: Stage::Fused,
        does: "makes neighbouring elementwise ops one; computes what is only folded or copied where it goes",
        run: Run::Module(fuse::run),
    },
    fused(
        "rows",
        rows::run,
        "statements that reduce rows, and use what came out, go through the array by blocks of rows",
    ),
    fused("products", products::run, "what is made of a product of matrices is made piece by piece"),
    fused(
        "blocks",
        blocks::run,
        "loops of array statements that keep to their rows become blocks of rows with the loop inside",
    ),
    // After blocks, which take out of loops what is the same in every iteration.
    fused("panels", panels::run, "a loop's products of a vector and a matrix become products of matrices"),
    fused("comprehend", comprehend::run, "loops that append a number in each iteration set the items of a list"),
    fused("sides", sides::run, "products of a matrix with vectors on both sides read it once"),
    // After all others: they know statements that write one array.
    fused("together", together::run, "statements that write into arrays that share no memory become one loop"),
    fused("store-products", products::store, "products that are only copied are computed where they go"),
    Pass {
        name: "loops",
        takes: Stage::Fused,
        gives: Stage::Loops,
        does: "arrays become pointers, sizes and strides; ops become loops, calls of routines and kernels",
        run: Run::Module(loops::run),
    },
];

impl Pass {
    /// The pass of this name.
    pub fn named(name: &str) -> Option<&'static Pass> {
        PASSES.iter().find(|pass| pass.name == name)
    }

    /// Runs it, without looking at what comes out.
    ///
    /// # Errors
    /// What it refuses.
    pub fn apply(&self, mut m: Module, cx: &PassCx) -> Result<Module, Diagnostic> {
        match self.run {
            Run::Functions(run) => m.funcs.iter_mut().for_each(run),
            Run::Hosted(run) => m.funcs.iter_mut().filter(|f| !f.kernel).for_each(run),
            Run::Module(run) => return run(m, cx),
        }
        Ok(m)
    }

    /// Whether the next pass of the table works at another stage: what this one leaves is the module of its stage.
    fn ends_stage(&self) -> bool {
        let next = PASSES.iter().skip_while(|pass| pass.name != self.name).nth(1);
        next.is_none_or(|next| next.gives != self.gives)
    }
}

/// The passes that a module of this stage goes through next, up to and with the one of this name, or all that leave the
/// stage of this name. `None` where nothing is called so, or it lies behind.
pub fn until(from: Stage, name: &str) -> Option<&'static [Pass]> {
    let first = PASSES.iter().position(|pass| pass.takes == from)?;
    let wanted = |pass: &&Pass| pass.name == name || pass.gives.name() == name && pass.ends_stage();
    let last = PASSES.len() - 1 - PASSES.iter().rev().position(|pass| wanted(&pass))?;
    PASSES.get(first..=last)
}

/// The module at every stage from `ntensor` on, for `inspect` and for code generation (`loops`).
#[derive(Clone, Debug)]
pub struct Stages {
    /// Typed, as it came in.
    pub ntensor: Module,
    /// With places and transfers.
    pub placed: Module,
    /// With fewer, larger ops.
    pub fused: Module,
    /// With loops and pointers.
    pub loops: Module,
}

/// Lowers a typed module to loops.
///
/// # Errors
/// What a pass refuses, or that one broke the IR.
pub fn lower(ntensor: Module, cx: &PassCx) -> Result<Stages, Diagnostic> {
    check(&ntensor, cx).map_err(|why| broke(&ntensor, "infer", &why, None))?;
    let (mut placed, mut fused) = (None, None);
    let loops = run(&ntensor, PASSES, cx, &mut |pass, m| match pass.gives {
        Stage::Placed if pass.ends_stage() => placed = Some(m.clone()),
        Stage::Fused if pass.ends_stage() => fused = Some(m.clone()),
        _ => {}
    })?;
    let (placed, fused) = (placed.expect("the table has `place`"), fused.expect("the table has `fuse`"));
    Ok(Stages { ntensor, placed, fused, loops })
}

/// Runs a part of the table on a module, and shows `after` what each pass leaves.
///
/// # Errors
/// What a pass refuses, or that one broke the IR.
pub fn run(
    from: &Module,
    passes: &[Pass],
    cx: &PassCx,
    after: &mut dyn FnMut(&Pass, &Module),
) -> Result<Module, Diagnostic> {
    let mut m = from.clone();
    for (k, pass) in passes.iter().enumerate() {
        m = pass.apply(m, cx)?;
        if cx.verify || pass.ends_stage() {
            check(&m, cx).map_err(|why| {
                // Passes are functions of what comes in: it can be had again.
                let before = run(from, &passes[..k], cx, &mut |_, _| {}).ok();
                broke(from, pass.name, &why, before.as_ref())
            })?;
        }
        after(pass, &m);
    }
    Ok(m)
}

/// What a pass broke, if it did. The first ring is cheap enough for every call.
fn check(m: &Module, cx: &PassCx) -> Result<(), String> {
    let verified = if cx.verify { verify::verify(m) } else { verify::verify_structure(m) };
    verified.map_err(|e| e.to_string())
}

/// An internal error that names the pass that broke an invariant, and the file that holds what came into it.
fn broke(m: &Module, pass: &str, why: &str, before: Option<&Module>) -> Diagnostic {
    let span = m.funcs.first().map_or(Span::NONE, first_span);
    let d = Diagnostic::internal(span, format!("the pass `{pass}` broke the IR: {why}"));
    match before.and_then(|before| write(before, pass)) {
        Some(path) => d.note(format!("what came into it: weft-opt --pass {pass} {}", path.display())),
        None => d,
    }
}

/// Writes a module to a new file among the temporary ones. `None`: it could not be written.
fn write(m: &Module, pass: &str) -> Option<PathBuf> {
    static WRITTEN: AtomicU32 = AtomicU32::new(0);
    let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("weft-{pass}-{}-{number}.weft", std::process::id()));
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).open(&path).ok()?;
    std::io::Write::write_all(&mut file, print_module(m, true).as_bytes()).ok()?;
    Some(path)
}

fn first_span(f: &Func) -> Span {
    f.ops.iter().map(|op| op.span).find(|s| s.is_known()).unwrap_or(Span::NONE)
}
