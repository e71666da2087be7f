//! Executables: compiled host code, the kernels it launches, and what its exceptions say.

use std::ffi::c_void;
use std::sync::Arc;

use weft_codegen::abi::{CallCtx, Entry, ExcRecord, no_signal};
use weft_codegen::{DeviceCode, DeviceTarget, HostCode, LoadedCode};
use weft_diag::{Sources, Span};
use weft_hal::{ArgField, ArgKind, BackendKind, ProgramSource};
use weft_ir::{DType, Module, Op, Site, Stage, Type};

use crate::call::{Call, TABLE, Touched};
use crate::error::{CallError, Raised, RuntimeError};
use crate::interrupt;
use crate::launch::LoadedKernel;
use crate::parallel::Sharing;
use crate::queue::Queue;
use crate::stack;
use crate::trace::{self, Kind, Location};

/// Code of a module, not yet loaded: what a disk cache keeps.
#[derive(Clone, Debug, PartialEq)]
pub struct Compiled {
    /// The entry, for this machine's CPU.
    pub host: HostCode,
    /// The kernels, for the device of the queue it was compiled for.
    pub device: Option<DeviceCode>,
}

/// A function ready to be called, from any thread.
pub struct Executable {
    name: String,
    entry: Entry,
    /// Keeps the entry's code mapped.
    _code: LoadedCode,
    queue: Option<Arc<Queue>>,
    kernels: Vec<LoadedKernel>,
    /// Whether its queue is a device with memory and kernels of its own.
    on_device: bool,
    sites: Vec<Site>,
    args: usize,
    results: usize,
    /// The result slots that are owner words.
    owners: Vec<usize>,
    /// Whether functions of it call each other, maybe themselves.
    calls: bool,
    /// Whether parallel regions of it print.
    prints: bool,
    /// Whether a call may take so long that somebody wants to end it.
    ends: bool,
}

/// What kernels are compiled to for a queue; `None` where compiled host code does the work.
pub fn device_target(queue: &Queue) -> Option<DeviceTarget> {
    let info = queue.info();
    match info.backend {
        BackendKind::Native => None,
        BackendKind::Cuda => Some(DeviceTarget::Ptx { arch: info.arch.clone() }),
        BackendKind::OpenCl | BackendKind::Null => Some(DeviceTarget::SpirV),
    }
}

/// Compiles a module at stage `loops` for a queue, or for the host alone.
pub fn compile(module: &Module, queue: Option<&Arc<Queue>>) -> Result<Compiled, RuntimeError> {
    if module.stage != Stage::Loops {
        let text = format!("a module at stage {} cannot be compiled", module.stage.name());
        return Err(RuntimeError::Internal(text));
    }
    let watch = trace::stopwatch();
    let host = weft_codegen::compile_host(module, &module.entry().name)?;
    let mut device = None;
    if module.funcs.iter().any(|f| f.kernel) {
        let target = queue.and_then(|q| device_target(q)).ok_or_else(|| {
            RuntimeError::Internal(format!("@{} has kernels and no device to launch them on", module.entry().name))
        })?;
        device = Some(weft_codegen::compile_kernels(module, &target)?);
    }
    let bytes = host.object.len() + device.as_ref().map_or(0, |d| d.text_or_binary.len());
    watch.record(Kind::Compile, || trace::item(&*module.entry().name, place(queue), bytes as u64));
    Ok(Compiled { host, device })
}

fn place(queue: Option<&Arc<Queue>>) -> &str {
    queue.map_or("native:cpu:0", |q| q.filter())
}

impl Executable {
    /// Compiles a module at stage `loops` and loads it. `sources` tells the trace where kernels come from.
    pub fn build(
        module: &Module,
        queue: Option<&Arc<Queue>>,
        sources: Option<&Sources>,
    ) -> Result<Executable, RuntimeError> {
        Executable::load(&compile(module, queue)?, module, queue, sources)
    }

    /// Loads code that [`compile`] made of this module, on a queue of the same kind.
    pub fn load(
        code: &Compiled,
        module: &Module,
        queue: Option<&Arc<Queue>>,
        sources: Option<&Sources>,
    ) -> Result<Executable, RuntimeError> {
        let loaded = weft_codegen::load(&code.host.object)?;
        let entry = loaded.entry()?;
        let mut kernels = Vec::new();
        if let Some(device) = &code.device {
            let queue = queue.ok_or_else(|| RuntimeError::Invalid("kernels are loaded on a queue".to_owned()))?;
            let source = match device_target(queue) {
                Some(DeviceTarget::Ptx { .. }) => ProgramSource::Ptx(&device.text_or_binary),
                _ => ProgramSource::SpirV(&device.text_or_binary),
            };
            let program = queue.device().load_program(source)?;
            for info in &device.kernels {
                let kind = |pointer: bool| if pointer { ArgKind::Pointer } else { ArgKind::Value };
                let fields =
                    info.fields.iter().map(|f| ArgField { offset: f.offset, size: f.size, kind: kind(f.is_pointer) });
                kernels.push(LoadedKernel {
                    kernel: program.kernel(&info.name)?,
                    name: info.name.clone(),
                    fields: fields.collect(),
                    may_raise: info.may_raise,
                    items_per_thread: info.items_per_thread,
                    group: info.group,
                    span: None,
                });
            }
            for (kernel, func) in kernels.iter_mut().zip(module.funcs.iter().filter(|f| f.kernel)) {
                kernel.name.clone_from(&func.name);
                kernel.span = launch_location(module, &func.name, sources);
            }
        }
        let func = module.entry();
        Ok(Executable {
            name: func.name.clone(),
            entry,
            _code: loaded,
            queue: queue.cloned(),
            on_device: queue.is_some_and(|q| !q.is_native()),
            kernels,
            sites: module.sites.clone(),
            args: func.params().iter().map(|&p| slots(func.ty(p))).sum(),
            results: func.results.iter().map(slots).sum(),
            owners: owner_slots(&func.results),
            calls: func.ops.iter().any(|o| matches!(o.op, Op::Call { .. })),
            prints: prints_in_parallel(module),
            ends: module.funcs.iter().filter(|f| !f.kernel).any(|f| f.ops.iter().any(|o| may_take_long(&o.op))),
        })
    }

    /// Name of the entry.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The queue it was built for.
    pub fn queue(&self) -> Option<&Arc<Queue>> {
        self.queue.as_ref()
    }

    /// Names of its kernels.
    pub fn kernel_names(&self) -> impl Iterator<Item = &str> {
        self.kernels.iter().map(|k| k.name.as_str())
    }

    /// Slots that a call takes and fills: arguments and results.
    pub fn slots(&self) -> (usize, usize) {
        (self.args, self.results)
    }

    /// Whether a kernel of it may raise, and so is waited for.
    pub fn may_raise(&self) -> bool {
        self.kernels.iter().any(|kernel| kernel.may_raise)
    }

    /// Whether parallel regions of it print.
    pub fn prints(&self) -> bool {
        self.prints
    }

    pub(crate) fn kernels(&self) -> &[LoadedKernel] {
        &self.kernels
    }

    /// Calls it. Even owner words among the results carry a count each ([`crate::Buffer::from_owner`]); after an error
    /// there are no results. Host arrays are complete on return; device arrays are in the order of their queue.
    ///
    /// # Safety
    /// `args` are slots of the entry's parameters: every address in them is memory of the size its sizes say, where the
    /// module says it is, and alive and unwritten by others for as long as the call and what it submits run. `touched`
    /// names every device buffer among them.
    pub unsafe fn call(&self, args: &[u64], ret: &mut [u64], touched: &Touched<'_>) -> Result<(), CallError> {
        if args.len() < self.args || ret.len() < self.results {
            let text = format!("@{} takes {} and fills {} slots", self.name, self.args, self.results);
            return Err(RuntimeError::Internal(text).into());
        }
        let queue = touched.queue.or(self.queue.as_ref());
        if let (Some(given), Some(own)) = (touched.queue, &self.queue)
            && !Arc::ptr_eq(given.device(), own.device())
        {
            let text = format!("@{} was compiled for {own} and cannot run on {given}", self.name);
            return Err(RuntimeError::Invalid(text).into());
        }
        let mut call = Call::new(self, queue, touched);
        // Host code on host arrays has nothing to wait for.
        let Touched { queue: given, reads, writes, .. } = touched;
        let plain = !self.on_device && given.is_none() && reads.is_empty() && writes.is_empty();
        if !plain {
            call.begin()?;
        }
        let state = (&raw mut call).cast::<c_void>();
        let stack_limit = if self.calls { stack::limit() } else { 0 };
        // Whoever traces wants to see every region.
        let all = trace::is_active() || touched.sharing == Sharing::Always;
        let alone = if all { 0 } else { crate::parallel::PARALLEL_FROM };
        let signal = if self.ends { interrupt::signal() } else { no_signal() };
        let exc = ExcRecord::default();
        let mut ctx = CallCtx { rt: &raw const TABLE, call: state, exc, stack_limit, alone, signal, stopped: 0 };
        // SAFETY: the slots are the entry's, by the caller's word and the checks above; the context outlives the call.
        let status = unsafe { (self.entry)(&mut ctx, args.as_ptr(), ret.as_mut_ptr()) };
        let failed = status != 0 && ctx.exc.site == ExcRecord::RUNTIME;
        let ended = if plain { Ok(()) } else { call.end(failed) };
        if status == 0 && ended.is_ok() {
            call.settle(self.owners.iter().map(|&at| ret[at]));
            return Ok(());
        }
        call.release_all();
        if status != 0 {
            return Err(self.error(&ctx.exc, &call));
        }
        Ok(ended?)
    }

    /// The text of a site with these values in it.
    pub(crate) fn text(&self, site: u32, values: &[u64]) -> String {
        self.sites.get(site as usize).map_or_else(String::new, |s| s.message(values))
    }

    fn error(&self, exc: &ExcRecord, call: &Call<'_>) -> CallError {
        // A failure that is not what was raised last has been handled.
        if let Some(error) = call.failure().filter(|_| exc.site == ExcRecord::RUNTIME) {
            return error.into();
        }
        let Some(site) = self.sites.get(exc.site as usize) else {
            return RuntimeError::Internal(format!("@{} raised at site {}, which it has not", self.name, exc.site))
                .into();
        };
        let values = &exc.args[..(exc.nargs as usize).min(exc.args.len())];
        let raised = Raised {
            class: site.class,
            user: site.user,
            message: site.message(values),
            arguments: site.arguments(values),
            span: site.span,
            callers: site.callers.clone(),
            iteration: exc.iteration.max(0),
        };
        raised.into()
    }
}

/// Whether a parallel region of the host prints.
fn prints_in_parallel(module: &Module) -> bool {
    let any = |wanted: fn(&Op) -> bool| module.funcs.iter().any(|f| !f.kernel && f.ops.iter().any(|o| wanted(&o.op)));
    any(|op| matches!(op, Op::Print { .. })) && any(|op| matches!(op, Op::ParFor { .. } | Op::ParBlocks { .. }))
}

/// Whether an op is a loop, or a routine that goes through arrays.
fn may_take_long(op: &Op) -> bool {
    use Op::*;
    matches!(op, ScfFor | ScfLoop | ParFor { .. } | ParBlocks { .. } | Call { .. })
        || matches!(
            op,
            MemScan { .. } | MemCopy { .. } | MemMatmul | MemProduct | MemBothSides | MemDot | MemCholesky | MemSolve
        )
}

/// 8-byte slots of a value.
fn slots(ty: &Type) -> usize {
    if ty.scalar_dtype() == Some(DType::C128) { 2 } else { 1 }
}

/// Which slots of results of these types are owner words.
fn owner_slots(results: &[Type]) -> Vec<usize> {
    let mut at = 0;
    let mut found = vec![];
    for ty in results {
        if *ty == Type::Owner {
            found.push(at);
        }
        at += slots(ty);
    }
    found
}

/// Where the launch of a kernel stands in the user's source.
fn launch_location(module: &Module, kernel: &str, sources: Option<&Sources>) -> Option<Location> {
    let (entry, sources) = (module.entry(), sources?);
    let mut span = Span::NONE;
    entry.walk(&mut |id| {
        let data = entry.op(id);
        if matches!(&data.op, Op::SimtLaunch { kernel: k, .. } if k == kernel) && !span.is_known() {
            span = data.span;
        }
    });
    sources.location(span)
}

impl std::fmt::Debug for Executable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Executable")
            .field("name", &self.name)
            .field("place", &place(self.queue.as_ref()))
            .field("kernels", &self.kernels.len())
            .finish_non_exhaustive()
    }
}
