//! The passes by name.

use weft_diag::Diagnostic;
use weft_ir::{Module, Stage};
use weft_passes::{PassCx, canon, fuse, loops, place};

/// Every pass, in the order of the pipeline.
pub const NAMES: [&str; 4] = ["canon", "place", "fuse", "loops"];

/// Runs the pass called `name`.
pub fn apply(name: &str, mut m: Module, cx: &PassCx) -> Result<Module, String> {
    let lowered: Result<Module, Diagnostic> = match name {
        "canon" => {
            m.funcs.iter_mut().for_each(canon::run);
            Ok(m)
        }
        "place" => place::run(m, cx),
        "fuse" => fuse::run(m, cx),
        "loops" => loops::run(m, cx),
        _ => return Err(format!("no pass `{name}`; there are {}", NAMES.join(", "))),
    };
    lowered.map_err(|d| format!("{name}: {}", d.message))
}

/// The passes that take a module of this stage to `loops`.
pub fn remaining(stage: Stage) -> &'static [&'static str] {
    match stage {
        Stage::Py => &[],
        Stage::Ntensor => &NAMES,
        Stage::Placed => &["fuse", "loops"],
        Stage::Fused => &["loops"],
        Stage::Loops => &[],
    }
}
