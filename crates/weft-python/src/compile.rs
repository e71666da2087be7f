//! A miss: source text → specialisation. The one place where the stages of the compiler are put together.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use pyo3::prelude::*;
use weft_diag::Diagnostic;
use weft_ir::print::print_module;
use weft_ir::{Func, Module, Op, Place, Stage, Type, ValueId};
use weft_passes::infer::{self, Door, FunctionRef, Param, UserFunction};
use weft_passes::py::PyFunction;
use weft_passes::{PassCx, pipeline};
use weft_runtime::{Executable, Queue};

use crate::assumed::{Assumed, Calls};
use crate::constants::Constant;
use crate::errors::{self, Origin};
use crate::function::Function;
use crate::key::{Key, Words};
use crate::pace::Pace;
use crate::resolve::Names;
use crate::results::slots_of;
use crate::settings;
use crate::sizes::Size;
use crate::specialisation::Specialisation;
use crate::timings::Timings;

/// What to compile for.
pub(crate) struct Request<'a> {
    pub(crate) key: Key,
    pub(crate) door: Door,
    /// Where parallel work runs; native without a device context.
    pub(crate) queue: Arc<Queue>,
    /// Where array arguments live.
    pub(crate) home: Place,
    /// Which calls with this key.
    pub(crate) calls: Calls<'a>,
    /// The launch of a kernel, if it must not have more dimensions than the kernel names.
    pub(crate) launch: Option<&'a Size>,
}

impl Request<'_> {
    /// The place of parallel work, as the passes name it.
    fn place(&self) -> Place {
        match self.queue.is_native() {
            true => Place::Host,
            false => Place::device(self.queue.filter()),
        }
    }
}

/// Compiles `function` for a request.
pub(crate) fn compile(py: Python<'_>, function: &Function, request: Request<'_>) -> PyResult<Specialisation> {
    let mut timings = Timings::start();
    let mut names = Names::new(py, Some(&function.numbers));
    let read = match read(py, function, &request, &mut names, &mut timings) {
        // A number that is read at every call cannot stand where a constant must.
        Err(_) if !names.guards.hidden.is_empty() => {
            names = Names::new(py, None);
            read(py, function, &request, &mut names, &mut timings)
        }
        read => read,
    };
    let Read { py_func, params, typed, assumed } = read?;
    if let Some(size) = request.launch {
        size.check_dimensions(&function.name, typed.dimensions)?;
    }
    let Names { mut guards, sources, names, exceptions, .. } = names;
    guards.keep_hidden(&typed.hidden);
    let results = typed.module.entry().results.clone();
    let written = written(typed.module.entry());
    let written_lists = written_lists(&typed.module);

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
            timings.end("passes");
            let code = weft_runtime::compile(&stages.loops, Some(&queue))?;
            timings.end("code");
            let executable = Executable::load(&code, &stages.loops, Some(&queue), Some(&sources))?;
            timings.end("load");
            Ok((stages, executable))
        })
        .map_err(|e| match e {
            CompileError::Refused(d) => errors::from_diagnostic(py, &d, &sources),
            CompileError::Failed(e) => errors::from_runtime(py, &e, &sources),
        })?;
    Ok(Specialisation {
        key: request.key,
        retired: AtomicBool::new(false),
        guards,
        assumed,
        params,
        result_slots: results.iter().map(slots_of).sum(),
        results,
        written,
        returns: typed.returns,
        lists: typed.lists,
        written_lists,
        native: queue.is_native(),
        executable: Arc::new(executable),
        queue,
        py_text: print_module(&Module::new(Stage::Py, py_func.func.clone()), false),
        origin: Origin { sources, names, exceptions: exceptions.into_iter().map(|seen| seen.class).collect() },
        stages,
        cx,
        timings,
        pace: Pace::default(),
    })
}

/// A function that was read and typed.
struct Read {
    py_func: Arc<PyFunction>,
    params: Vec<Param>,
    typed: infer::Output,
    assumed: Assumed,
}

fn read<'py>(
    py: Python<'py>,
    function: &Function,
    request: &Request<'_>,
    names: &mut Names<'_, 'py>,
    timings: &mut Timings,
) -> PyResult<Read> {
    names.unchecked = function.unchecked;
    names.wraps = function.modes.wraps;
    names.divides_by_zero = function.modes.divides_by_zero;
    names.fast = function.modes.fast;
    names.debug = function.modes.debug;
    names.entry(function.py_func.bind(py), function.source.bind(py))?;
    let (text, file) = names.text(FunctionRef::ENTRY)?;
    timings.end("source");
    let py_func = text.parse(file).map(Arc::new).map_err(|d| errors::from_diagnostic(py, &d, &names.sources))?;
    timings.end("parse");
    let defaults = names.defaults(FunctionRef::ENTRY, &function.parameters);
    let entry = UserFunction { name: function.name.clone(), py: py_func.clone(), defaults, file };
    names.set_read(FunctionRef::ENTRY, Arc::new(entry));
    let params = parameters(py, function, request, names)?;
    let (typed, assumed) = typed(&py_func, &params, request, names).map_err(|d| match names.raised.take() {
        Some(raised) => raised,
        None => errors::from_diagnostic(py, &d, &names.sources),
    })?;
    timings.end("infer");
    Ok(Read { py_func, params, typed, assumed })
}

/// Types a function: with assumptions, if the calls it is for keep them.
fn typed(
    py_func: &Arc<PyFunction>,
    params: &[Param],
    request: &Request<'_>,
    names: &mut Names<'_, '_>,
) -> Result<(infer::Output, Assumed), Diagnostic> {
    let mut assumed = Assumed::default();
    names.assumes = !matches!(request.calls, Calls::Any);
    if names.assumes {
        // What is refused may be so because of an assumption.
        if let Ok(mut typed) = infer::run_with(py_func, params, request.door.clone(), names) {
            let written = written(typed.module.entry());
            if let Some(entry) = typed.module.funcs.first_mut().filter(|_| typed.hidden.is_empty()) {
                entry.apart = may_be_apart(entry, &written);
            }
            assumed = Assumed::new(&typed.assumed, typed.module.entry(), &written);
            if assumed.serves(request.calls) {
                return Ok((typed, assumed));
            }
            assumed = assumed.broken();
        }
        names.assumes = false;
    }
    let typed = infer::run_with(py_func, params, request.door.clone(), names)?;
    Ok((typed, assumed))
}

/// What the arguments are, by the words of the key.
fn parameters<'py>(
    py: Python<'py>,
    function: &Function,
    request: &Request<'_>,
    names: &mut Names<'_, 'py>,
) -> PyResult<Vec<Param>> {
    let mut words = Words::new(&request.key, &request.home);
    let mut failed = None;
    let mut constant = |number: u32| {
        let param = function.constants.get(number, |constant| match constant {
            Constant::Text(text) => Ok(Param::Const(weft_ir::attr::Const::Str(text.clone()))),
            Constant::Known(name) => Ok(Param::Known(name.clone())),
            Constant::Number(value) => Ok(Param::Const(value.clone())),
            Constant::Function(closure) => Err(closure.function.clone_ref(py)),
        })?;
        match param {
            Ok(param) => Some(param),
            Err(object) => match names.number(object.bind(py)) {
                Ok(number) => Some(Param::Function(number)),
                Err(error) => {
                    failed = Some(error);
                    None
                }
            },
        }
    };
    let params: Option<Vec<Param>> = function.parameters.iter().map(|_| words.param(&mut constant)).collect();
    match (params, failed) {
        (Some(mut params), _) => {
            words.name_sizes(&mut params);
            Ok(params)
        }
        (None, Some(error)) => Err(error),
        (None, None) => Err(errors::internal(py, "a dispatch key is shorter than the parameters")),
    }
}

/// Which parameters of the entry a function may store into, by position. Where an array's way cannot be followed, all.
fn written(entry: &Func) -> Vec<bool> {
    let mut stored: Vec<ValueId> = vec![];
    let mut same: Vec<(ValueId, ValueId)> = vec![];
    let mut fresh: Vec<ValueId> = vec![];
    entry.walk(&mut |id| {
        let data = entry.op(id);
        match &data.op {
            Op::NtStore { .. } => stored.extend(data.operands.get(1)),
            Op::NtCopy | Op::NtInto | Op::NtPut | Op::NtAtomic { .. } => stored.extend(data.operands.first()),
            Op::NtRefine { .. } | Op::NtView { .. } | Op::NtExpand { .. } | Op::NtKeep | Op::NtReshape => {
                same.push((data.results[0], data.operands[0]));
            }
            op if op.effects().fresh => fresh.extend(&data.results),
            _ => {}
        }
    });
    // Definitions come before uses: from the last to the first, each way is followed to its end.
    for (result, array) in same.into_iter().rev() {
        if stored.contains(&result) {
            stored.push(array);
            fresh.push(result);
        }
    }
    let params = entry.params();
    let known = stored.iter().all(|v| fresh.contains(v) || params.contains(v));
    params.iter().map(|p| !known || stored.contains(p)).collect()
}

/// Whether something is gained where the arrays among the parameters share no memory: one is written, beside another.
fn may_be_apart(entry: &Func, written: &[bool]) -> bool {
    let is_array = |(p, _): &(&ValueId, &bool)| entry.ty(**p).as_tensor().is_some_and(|t| t.place.is_host());
    let arrays = || entry.params().iter().zip(written).filter(is_array);
    arrays().count() > 1 && arrays().any(|(_, written)| *written)
}

/// Types of lists that a module changes.
fn written_lists(module: &Module) -> Vec<Type> {
    let mut types = vec![];
    for func in &module.funcs {
        func.walk(&mut |id| {
            let data = func.op(id);
            if let Op::ListSet | Op::ListPush | Op::ListReserve | Op::ListRoom | Op::ListTruncate = data.op {
                let ty = func.ty(data.operands[0]);
                if !types.contains(ty) {
                    types.push(ty.clone());
                }
            }
        });
    }
    types
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
