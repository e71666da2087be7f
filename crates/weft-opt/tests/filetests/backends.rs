//! Who runs the calls of a filetest.

use weft_interp::{Failure, Value, run, run_kernel};
use weft_ir::{Module, Stage};
use weft_opt::call::Call;

/// A way to run a module.
pub trait Backend {
    /// For messages.
    fn name(&self) -> &str;

    /// Whether it can run this module: its stage, its places.
    fn takes(&self, m: &Module) -> bool;

    /// Whether what no program may do is noticed.
    fn checks_everything(&self) -> bool {
        false
    }

    /// Runs the call; arrays among its arguments hold afterwards what the program wrote.
    fn run(&self, m: &Module, call: &Call) -> Result<Vec<Value>, Failure>;
}

/// Every backend that was built.
pub fn all() -> Vec<Box<dyn Backend>> {
    vec![Box::new(Interpreter), Box::new(crate::native::Native)]
}

/// The reference.
struct Interpreter;

impl Backend for Interpreter {
    fn name(&self) -> &str {
        "interpreter"
    }

    fn takes(&self, m: &Module) -> bool {
        m.stage != Stage::Py
    }

    fn checks_everything(&self) -> bool {
        true
    }

    fn run(&self, m: &Module, call: &Call) -> Result<Vec<Value>, Failure> {
        let results = match &call.launch {
            Some(sizes) => run_kernel(m, sizes, call.args.clone()).map(|()| vec![]),
            None => run(m, call.args.clone()),
        }?;
        if m.stage == Stage::Loops { call.collect(results) } else { Ok(results) }
    }
}
