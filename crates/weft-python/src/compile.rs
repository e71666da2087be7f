//! A miss: source text → specialisation. The one place where the stages of the compiler are put together.

use std::sync::Arc;
use std::time::Instant;

use pyo3::prelude::*;
use weft_diag::{Diagnostic, SourceFile, Sources};
use weft_ir::print::print_module;
use weft_ir::{Func, Module, Op, Place, Stage, Type};
use weft_passes::infer::{self, Door};
use weft_passes::{PassCx, pipeline};
use weft_runtime::{Executable, Queue};
use weft_syntax::{Pick, parse_function};

use crate::errors;
use crate::function::Function;
use crate::key::Key;
use crate::resolve::Names;
use crate::settings;
use crate::specialisation::Specialisation;

/// What to compile for.
pub(crate) struct Request {
    pub(crate) key: Key,
    pub(crate) door: Door,
    /// Where parallel work runs; native without a device context.
    pub(crate) queue: Arc<Queue>,
    /// Where array arguments live.
    pub(crate) home: Place,
}

impl Request {
    /// The place of parallel work, as the passes name it.
    fn place(&self) -> Place {
        match self.queue.is_native() {
            true => Place::Host,
            false => Place::device(self.queue.filter()),
        }
    }
}

/// Compiles `function` for a request.
pub(crate) fn compile(py: Python<'_>, function: &Function, request: Request) -> PyResult<Specialisation> {
    let start = Instant::now();
    let text = Text::of(py, function)?;
    let refused = |d: Diagnostic| errors::from_diagnostic(py, &d, &text.sources);

    let tree = parse_function(0, &text.text, text.pick()).map_err(refused)?;
    let py_func = weft_passes::py::lower(&tree).map_err(refused)?;

    let mut next = 0;
    let arguments = &request.key[..function.parameters.len()];
    let params: Vec<Type> = arguments.iter().map(|word| word.ty(&mut next, &request.home)).collect();

    let mut names = Names::new(py, &function.scope, &function.cells);
    let typed = infer::run(&py_func, &params, request.door.clone(), &mut names).map_err(refused)?;
    let guards = names.guards;
    let results = typed.module.entry().results.clone();
    let written = written(typed.module.entry());

    let kernel_dims = match request.door {
        Door::Kernel { dims } => dims,
        _ => 1,
    };
    let mut cx = PassCx::new(request.place());
    cx.kernel_dims = kernel_dims;
    cx.verify |= settings::verify();
    let queue = request.queue;
    // From here on nothing is Python's: other threads may run while LLVM works.
    let (stages, executable) = py
        .detach(|| -> Result<_, CompileError> {
            let stages = pipeline::lower(typed.module, &cx)?;
            let executable = Executable::build(&stages.loops, Some(&queue), Some(&text.sources))?;
            Ok((stages, executable))
        })
        .map_err(|e| match e {
            CompileError::Refused(d) => refused(d),
            CompileError::Failed(e) => errors::from_runtime(py, &e, &text.sources),
        })?;
    Ok(Specialisation {
        number: Specialisation::number(),
        key: request.key,
        guards,
        params,
        results,
        written,
        returns: typed.returns,
        executable: Arc::new(executable),
        queue,
        py_text: print_module(&Module::new(Stage::Py, py_func), false),
        sources: text.sources,
        stages,
        kernel_dims,
        seconds: start.elapsed().as_secs_f64(),
    })
}

/// Which parameters a function stores into, by position.
fn written(entry: &Func) -> Vec<bool> {
    let mut stored = vec![];
    let mut refined = vec![];
    entry.walk(&mut |id| match &entry.op(id).op {
        Op::NtStore { .. } => stored.push(entry.op(id).operands[1]),
        Op::NtRefine { .. } => refined.push((entry.op(id).results[0], entry.op(id).operands[0])),
        _ => {}
    });
    // A refined array is the array it refines.
    for (result, array) in refined.into_iter().rev() {
        if stored.contains(&result) {
            stored.push(array);
        }
    }
    entry.params().iter().map(|p| stored.contains(p)).collect()
}

enum CompileError {
    Refused(Diagnostic),
    Failed(weft_runtime::RuntimeError),
}

impl From<Diagnostic> for CompileError {
    fn from(d: Diagnostic) -> CompileError {
        CompileError::Refused(d)
    }
}

impl From<weft_runtime::RuntimeError> for CompileError {
    fn from(e: weft_runtime::RuntimeError) -> CompileError {
        CompileError::Failed(e)
    }
}

/// The text of a function, from `weft._source.excerpt`.
struct Text {
    text: String,
    sources: Sources,
    name: Option<String>,
    line: u32,
    col: u32,
}

impl Text {
    fn of(py: Python<'_>, function: &Function) -> PyResult<Text> {
        let helper = py.import("weft._source")?.getattr("excerpt")?;
        let found = helper.call1((&function.py_func, &function.source)).inspect_err(|error| {
            // A refusal shows the user's call, not how it was found.
            if errors::is(py, error, "CompileError") {
                error.set_traceback(py, None);
            }
        })?;
        let (text, name, first_line, def, line, col): (String, String, u32, Option<String>, u32, u32) =
            found.extract()?;
        let mut sources = Sources::default();
        sources.add(SourceFile { name, text: text.clone(), first_line });
        Ok(Text { text, sources, name: def, line, col })
    }

    fn pick(&self) -> Pick<'_> {
        match &self.name {
            None => Pick::LambdaAt { line: self.line, col: self.col },
            Some(name) if self.line == 0 => Pick::Named(name),
            Some(name) => Pick::DefAtLine { line: self.line, name },
        }
    }
}
