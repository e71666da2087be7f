//! The order of the passes, and the module of every stage.

use crate::{PassCx, canon, fuse, loops, place};
use weft_diag::{Diagnostic, Span};
use weft_ir::{Func, Module, verify};

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

/// Lowers a typed module to loops. Verifies after every pass: fully when `cx.verify`, else only the structure.
pub fn lower(ntensor: Module, cx: &PassCx) -> Result<Stages, Diagnostic> {
    check(&ntensor, "infer", cx)?;
    let mut canonical = ntensor.clone();
    canonical.funcs.iter_mut().for_each(canon::run);
    check(&canonical, "canon", cx)?;
    let placed = place::run(canonical, cx)?;
    check(&placed, "place", cx)?;
    let fused = fuse::run(placed.clone(), cx)?;
    check(&fused, "fuse", cx)?;
    let loops = loops::run(fused.clone(), cx)?;
    check(&loops, "loops", cx)?;
    Ok(Stages { ntensor, placed, fused, loops })
}

/// An internal error that names the pass that broke an invariant.
fn check(m: &Module, pass: &str, cx: &PassCx) -> Result<(), Diagnostic> {
    // The first ring is cheap enough for every call.
    let verified = if cx.verify { verify::verify(m) } else { verify::verify_structure(m) };
    verified.map_err(|e| {
        let span = m.funcs.first().map_or(Span::NONE, first_span);
        Diagnostic::internal(span, format!("the pass `{pass}` broke the IR: {e}"))
    })
}

fn first_span(f: &Func) -> Span {
    f.ops.iter().map(|op| op.span).find(|s| s.is_known()).unwrap_or(Span::NONE)
}
