//! Running a function: one match per op.

use crate::array::{Array, Memory, indices};
use crate::list::Heap;
use crate::nt::Lies;
use crate::scalar::{Scalar, binary, checked, compare, unary};
use crate::value::{Failure, Pointer, Value};
use crate::watch::{Met, Now, Race};
use std::cell::RefCell;
use std::rc::Rc;
use weft_ir::attr::{Access, Level, Order, Unit};
use weft_ir::{DType, Dim, Func, Module, Op, OpId, RegionId, Stage, Type, ValueId};

/// Runs the entry. Arrays among the arguments are exploded for a module at stage `loops`, whose results come back
/// exploded too ([`Value::implode`] puts them together).
pub fn run(m: &Module, args: Vec<Value>) -> Result<Vec<Value>, Failure> {
    let mut frame = Frame::new(m, m.entry(), explode(m, args))?;
    let results = frame.call()?;
    // A handler may have been entered past releases; what it left behind ends with the call.
    if m.stage == Stage::Loops && !frame.caught {
        check_released(&frame.fresh, &results)?;
    }
    Ok(results)
}

/// Of all memory that a program made, as many owners are left as results carry.
fn check_released(fresh: &[Memory], results: &[Value]) -> Result<(), Failure> {
    for memory in fresh {
        let carried = results.iter().filter(|v| matches!(v, Value::Owner(m) if m.same(memory))).count();
        if memory.owners() != carried {
            let message = format!("memory with {} owners left, of which {carried} are returned", memory.owners());
            return Err(Failure::fault(message));
        }
    }
    Ok(())
}

/// Runs a kernel that is the entry once per work-item, row-major. At stage `loops` it is a host function that holds or
/// launches the work-items itself, and its first parameters are the sizes of the launch.
pub fn run_kernel(m: &Module, global_size: &[i64], args: Vec<Value>) -> Result<(), Failure> {
    if m.stage == Stage::Loops {
        let sizes = global_size.iter().map(|&n| Value::Scalar(Scalar::i64(n)));
        return run(m, sizes.chain(args).collect()).map(drop);
    }
    for item in indices(global_size) {
        let mut frame = Frame::new(m, m.entry(), args.clone())?;
        frame.item = item;
        frame.launch = global_size.into();
        frame.call()?;
    }
    Ok(())
}

/// Runs a kernel that is the entry of a module before stage `loops` once per work-item, row-major, for somebody who looks
/// for faults: `now` says which work-item runs or, after a failure, ran. Every turn of a loop asks whether to go on.
pub fn run_items(
    m: &Module,
    global_size: &[i64],
    args: &[Value],
    now: &Now,
    goes_on: &dyn Fn() -> bool,
) -> Result<(), Failure> {
    for (number, item) in indices(global_size).enumerate() {
        now.set(number as u64);
        let mut frame = Frame::new(m, m.entry(), args.to_vec())?;
        frame.item = item;
        frame.launch = global_size.into();
        frame.goes_on = Some(goes_on);
        frame.turn()?;
        frame.call()?;
    }
    Ok(())
}

fn explode(m: &Module, args: Vec<Value>) -> Vec<Value> {
    if m.stage != Stage::Loops {
        return args;
    }
    args.into_iter().flat_map(Value::explode).collect()
}

/// How a region was left, but by an exception.
pub(crate) enum Flow {
    Yield(Vec<Value>),
    Return(Vec<Value>),
    /// Out of the loop or block so many further out.
    Break(u32, Vec<Value>),
    /// To the next turn of the loop so many further out.
    Continue(u32, Vec<Value>),
}

/// Calls inside calls that are run; deeper ones are a fault. Compiled code goes on until its stack ends.
const MAX_DEPTH: usize = 50;

/// A flow as the region around a loop or block sees it.
fn outwards(flow: Flow) -> Flow {
    match flow {
        Flow::Break(depth, values) => Flow::Break(depth - 1, values),
        Flow::Continue(depth, values) => Flow::Continue(depth - 1, values),
        other => other,
    }
}

/// A function being run.
pub(crate) struct Frame<'m> {
    m: &'m Module,
    pub(crate) f: &'m Func,
    /// Latest definition of each value.
    values: Vec<Option<Value>>,
    /// Sizes bound to symbols.
    symbols: Vec<Option<i64>>,
    /// Position in the enclosing `nt.elementwise`.
    pub(crate) position: Vec<i64>,
    /// Index of this work-item, before stage `loops`.
    item: Vec<i64>,
    /// Size of the launch, before stage `loops`.
    launch: Vec<i64>,
    /// Exceptions being handled, innermost last.
    handled: Vec<(u32, Vec<u64>)>,
    /// Whether any exception was handled so far.
    caught: bool,
    /// Memory that was made so far, at stage `loops`.
    pub(crate) fresh: Vec<Memory>,
    /// What memory of lists refers to.
    pub(crate) heap: Rc<RefCell<Heap>>,
    /// How many calls this one is inside of.
    depth: usize,
    /// Asked at every turn of a loop.
    goes_on: Option<&'m dyn Fn() -> bool>,
}

pub(crate) type Done<T = ()> = Result<T, Failure>;

impl<'m> Frame<'m> {
    fn new(m: &'m Module, f: &'m Func, args: Vec<Value>) -> Done<Frame<'m>> {
        let mut frame = Frame {
            m,
            f,
            values: vec![None; f.values.len()],
            symbols: vec![None; f.symbols as usize],
            position: vec![],
            item: vec![],
            launch: vec![],
            handled: vec![],
            caught: false,
            fresh: vec![],
            heap: Rc::default(),
            depth: 0,
            goes_on: None,
        };
        if args.len() != f.params().len() {
            let message = format!("@{} takes {} arguments, not {}", f.name, f.params().len(), args.len());
            return Err(Failure::fault(message));
        }
        for (&p, arg) in f.params().iter().zip(args) {
            frame.check_argument(f.ty(p), &arg)?;
            frame.set(p, arg);
        }
        Ok(frame)
    }

    /// A turn of a loop begins.
    fn turn(&self) -> Done {
        match self.goes_on.is_none_or(|goes_on| goes_on()) {
            true => Ok(()),
            false => Err(Failure::Interrupted),
        }
    }

    fn call(&mut self) -> Done<Vec<Value>> {
        match self.region(self.f.body, vec![])? {
            Flow::Return(values) => Ok(values),
            _ => Err(Failure::fault("a function is left without a return")),
        }
    }

    /// Whether an argument keeps what its parameter's type promises; binds the type's symbols.
    fn check_argument(&mut self, ty: &Type, arg: &Value) -> Done {
        let fits = match (ty, arg) {
            (Type::Mem(d, _), Value::Pointer(p)) => p.dtype == *d,
            (Type::Owner, Value::Owner(_)) | (Type::Cell(_), Value::Cell(_)) | (Type::List(_), Value::List(_)) => true,
            (_, Value::Scalar(s)) => ty.scalar_dtype() == s.dtype(),
            (Type::Tensor(t), Value::Array(a)) => {
                t.dtype == a.dtype
                    && t.rank() == a.shape.len()
                    && a.has_layout(t.layout)
                    && t.dims.iter().zip(&a.shape).all(|(d, &n)| match *d {
                        Dim::Const(c) => c as i64 == n,
                        Dim::Sym(s) => *self.symbols[s as usize].get_or_insert(n) == n,
                    })
            }
            _ => false,
        };
        if fits { Ok(()) } else { Err(Failure::fault(format!("argument {arg:?} does not fit its type {ty}"))) }
    }

    pub(crate) fn get(&self, v: ValueId) -> Done<&Value> {
        self.values[v.index()].as_ref().ok_or_else(|| Failure::fault(format!("{v:?} has no value yet")))
    }

    fn set(&mut self, v: ValueId, value: Value) {
        self.values[v.index()] = Some(value);
    }

    /// Binds the symbols of an array that came through control flow to its sizes.
    fn bind_sizes(&mut self, v: ValueId, value: &Value) {
        if let (Some(t), Value::Array(a)) = (self.f.ty(v).as_tensor(), value) {
            for (d, &n) in t.dims.iter().zip(&a.shape) {
                if let Dim::Sym(s) = d {
                    self.symbols[*s as usize] = Some(n);
                }
            }
        }
    }

    pub(crate) fn operand(&self, op: OpId, i: usize) -> Done<&Value> {
        self.get(self.f.op(op).operands[i])
    }

    fn operands(&self, values: &[ValueId]) -> Done<Vec<Value>> {
        values.iter().map(|&v| self.get(v).cloned()).collect()
    }

    /// The size a dimension of a type stands for.
    pub(crate) fn size(&self, d: Dim) -> Done<i64> {
        match d {
            Dim::Const(n) => Ok(n as i64),
            Dim::Sym(s) => self.symbols[s as usize].ok_or_else(|| Failure::fault(format!("{d} is not bound"))),
        }
    }

    pub(crate) fn region(&mut self, id: RegionId, args: Vec<Value>) -> Done<Flow> {
        let data = self.f.region(id);
        // The body's arguments are the parameters, which have their values already.
        for (&v, arg) in data.args.iter().zip(args) {
            self.bind_sizes(v, &arg);
            self.set(v, arg);
        }
        for &op in &data.ops {
            if let Some(flow) = self.op(op)? {
                return Ok(flow);
            }
        }
        Err(Failure::fault("a region without terminator"))
    }

    /// Runs one op; a flow leaves the region.
    fn op(&mut self, id: OpId) -> Done<Option<Flow>> {
        let data = self.f.op(id);
        let results = match &data.op {
            Op::Yield => return Ok(Some(Flow::Yield(self.operands(&data.operands)?))),
            Op::Return => return Ok(Some(Flow::Return(self.operands(&data.operands)?))),
            Op::Break { depth } => return Ok(Some(Flow::Break(*depth, self.operands(&data.operands)?))),
            Op::Continue { depth } => return Ok(Some(Flow::Continue(*depth, self.operands(&data.operands)?))),
            Op::Raise { site } => {
                let args = self.operands(&data.operands)?;
                let args = args.iter().map(|v| Ok(v.scalar()?.raise_bits())).collect::<Done<Vec<u64>>>()?;
                return Err(Failure::Raised { site: *site, args });
            }
            Op::ScfIf => {
                let Scalar::Bool(c) = self.operand(id, 0)?.scalar()? else {
                    return Err(Failure::fault("a condition that is no bool"));
                };
                match self.region(data.regions[usize::from(!c)], vec![])? {
                    Flow::Yield(values) => values,
                    leave => return Ok(Some(leave)),
                }
            }
            Op::ScfFor => match self.counted_loop(id)? {
                Flow::Yield(values) => values,
                leave => return Ok(Some(leave)),
            },
            Op::ScfLoop => match self.endless_loop(id)? {
                Flow::Yield(values) => values,
                leave => return Ok(Some(leave)),
            },
            Op::ScfBlock => match self.region(data.regions[0], vec![])? {
                Flow::Yield(values) | Flow::Break(0, values) => values,
                leave => return Ok(Some(outwards(leave))),
            },
            Op::ScfTry => match self.guarded(id)? {
                Flow::Yield(values) => values,
                leave => return Ok(Some(leave)),
            },
            Op::ScfReraise => {
                let (site, args) = self.exception()?.clone();
                return Err(Failure::Raised { site, args });
            }
            Op::Call { function } => self.called(id, function)?,
            Op::NtElementwise => self.elementwise(id)?,
            Op::NtInto => match self.region(data.regions[0], vec![])? {
                Flow::Yield(values) if values.len() == 1 => {
                    let to = self.operand(id, 0)?.array()?;
                    match data.operands.len() {
                        1 => crate::nt::copy(to, &values[0])?,
                        _ => crate::nt::copy_where(to, self.operand(id, 1)?.array()?, values[0].array()?)?,
                    }
                    vec![]
                }
                _ => return Err(Failure::fault("an nt.into yields no array")),
            },
            Op::NtIntoAll => match self.region(data.regions[0], vec![])? {
                Flow::Yield(values) => {
                    for (k, value) in values.iter().enumerate() {
                        crate::nt::copy(self.operand(id, k)?.array()?, value)?;
                    }
                    vec![]
                }
                _ => return Err(Failure::fault("an nt.into_all yields nothing")),
            },
            Op::NtFold { fold, axes, order } => match self.region(data.regions[0], vec![])? {
                Flow::Yield(values) if values.len() == 1 => {
                    let last = self.f.region(data.regions[0]).ops.last();
                    let yielded = last.map(|&op| self.f.op(op).operands[0]);
                    let ty = yielded.and_then(|v| self.f.ty(v).as_tensor());
                    let ty = ty.ok_or_else(|| Failure::fault("an nt.fold yields no array"))?;
                    vec![Value::Array(self.reduce(id, values[0].array()?, ty, *fold, axes, *order)?)]
                }
                _ => return Err(Failure::fault("an nt.fold yields no array")),
            },
            Op::EnvRegion { .. } => match self.region(data.regions[0], self.operands(&data.operands)?)? {
                Flow::Yield(values) => values,
                _ => return Err(Failure::fault("an env.region is left from inside")),
            },
            Op::ParFor { level, .. } => {
                let sizes = &data.operands[..self.f.region(data.regions[0]).args.len()];
                let sizes = self.operands(sizes)?.iter().map(Value::int).collect::<Done<Vec<i64>>>()?;
                let ty = self.f.ty(data.operands[0]).scalar_dtype().unwrap_or(DType::I64);
                let all = indices(&sizes).map(|index| {
                    let index = index.into_iter().map(|i| Value::Scalar(Scalar::Int(ty, i.into())));
                    index.collect::<Vec<Value>>()
                });
                match level {
                    Level::Group => self.group(data.regions[0], all.collect())?,
                    // A return ends this work-item only.
                    _ => all.into_iter().try_for_each(|index| self.region(data.regions[0], index).map(drop))?,
                }
                vec![]
            }
            Op::ParBlocks { .. } => {
                let blocks = self.operand(id, 0)?.int()?;
                let ty = self.f.ty(data.operands[0]).scalar_dtype().unwrap_or(DType::I64);
                for block in 0..blocks {
                    self.region(data.regions[0], vec![Value::Scalar(Scalar::Int(ty, block.into()))])?;
                }
                vec![]
            }
            Op::NtProduct | Op::MemProduct => {
                let sizes = match data.op {
                    Op::NtProduct => self.product(id)?,
                    _ => self.matrices(id)?,
                };
                // All of it is one piece.
                let piece = [0, sizes[0], 0, sizes[1]].map(|n| Value::Scalar(Scalar::i64(n)));
                self.region(data.regions[0], piece.to_vec())?;
                vec![]
            }
            Op::SimtLaunch { kernel, dims } => {
                let args = self.operands(&data.operands[*dims as usize..])?;
                let callee = self.m.func(kernel).ok_or_else(|| Failure::fault(format!("no kernel @{kernel}")))?;
                Frame::new(self.m, callee, args)?.call()?
            }
            Op::CellNew => vec![Value::Cell(Rc::new(RefCell::new(self.operand(id, 0)?.clone())))],
            Op::CellGet => {
                let held = self.operand(id, 0)?.cell()?.borrow().clone();
                vec![held]
            }
            Op::CellSet => {
                let value = self.operand(id, 0)?.clone();
                self.operand(id, 1)?.cell()?.replace(value);
                vec![]
            }
            Op::ScfCatch { classes } => {
                let site = self.m.sites.get(self.exception()?.0 as usize);
                let fits = site.is_some_and(|s| s.is_a(classes));
                vec![Value::Scalar(Scalar::Bool(fits))]
            }
            _ => self.leaf(id).map_err(|failure| match failure {
                Failure::Fault(message) => Failure::Fault(format!("{} in @{}: {message}", data.op.name(), self.f.name)),
                Failure::Race(race) if race.place.is_none() => {
                    Failure::Race(Box::new(Race { place: self.met(id), ..*race }))
                }
                failure => failure,
            })?,
        };
        if results.len() != data.results.len() {
            return Err(Failure::fault(format!("{} gave {} results", data.op.name(), results.len())));
        }
        let binds = data.op.dialect() == "scf" || data.op == Op::ListGet;
        for (&v, value) in data.results.iter().zip(results) {
            if binds {
                self.bind_sizes(v, &value);
            }
            self.set(v, value);
        }
        Ok(None)
    }

    /// The items of a group: all of them up to a barrier, before one goes on.
    fn group(&mut self, region: RegionId, items: Vec<Vec<Value>>) -> Done {
        let data = self.f.region(region);
        let is_barrier = |op: &OpId| matches!(self.f.op(*op).op, Op::SimtBarrier { .. });
        if !data.ops.iter().any(is_barrier) {
            return items.into_iter().try_for_each(|item| self.region(region, item).map(drop));
        }
        let outer = self.values.clone();
        let mut own: Vec<Vec<Option<Value>>> = vec![];
        for item in items {
            data.args.iter().zip(item).for_each(|(&v, arg)| self.set(v, arg));
            own.push(std::mem::replace(&mut self.values, outer.clone()));
        }
        for part in data.ops.split(is_barrier) {
            for values in &mut own {
                std::mem::swap(&mut self.values, values);
                for &op in part {
                    self.op(op)?;
                }
                std::mem::swap(&mut self.values, values);
            }
        }
        Ok(())
    }

    fn counted_loop(&mut self, id: OpId) -> Done<Flow> {
        let data = self.f.op(id);
        let [lo, hi, step] = [0, 1, 2].map(|i| self.operand(id, i).and_then(Value::int));
        let (mut i, hi, step) = (i128::from(lo?), i128::from(hi?), i128::from(step?));
        let dtype = self.f.ty(data.operands[0]).scalar_dtype().unwrap_or(DType::I64);
        let mut carried = self.operands(&data.operands[3..])?;
        if step == 0 {
            return Err(Failure::fault("scf.for with step 0"));
        }
        while if step > 0 { i < hi } else { i > hi } {
            let mut args = vec![Value::Scalar(Scalar::Int(dtype, i))];
            args.append(&mut carried);
            self.turn()?;
            match self.region(data.regions[0], args)? {
                Flow::Yield(values) | Flow::Continue(0, values) => carried = values,
                Flow::Break(0, values) => return Ok(Flow::Yield(values)),
                leave => return Ok(outwards(leave)),
            }
            i += step;
        }
        Ok(Flow::Yield(carried))
    }

    fn endless_loop(&mut self, id: OpId) -> Done<Flow> {
        let data = self.f.op(id);
        let mut carried = self.operands(&data.operands)?;
        loop {
            self.turn()?;
            match self.region(data.regions[0], carried)? {
                Flow::Yield(values) | Flow::Continue(0, values) => carried = values,
                Flow::Break(0, values) => return Ok(Flow::Yield(values)),
                leave => return Ok(outwards(leave)),
            }
        }
    }

    /// `scf.try`.
    fn guarded(&mut self, id: OpId) -> Done<Flow> {
        let data = self.f.op(id);
        let position = self.position.clone();
        match self.region(data.regions[0], vec![]) {
            Err(Failure::Raised { site, args }) => {
                self.position = position;
                self.caught = true;
                self.handled.push((site, args));
                let flow = self.region(data.regions[1], vec![]);
                self.handled.pop();
                flow
            }
            other => other,
        }
    }

    /// The exception that the handler around is for.
    fn exception(&self) -> Done<&(u32, Vec<u64>)> {
        self.handled.last().ok_or_else(|| Failure::fault("no exception is being handled"))
    }

    /// `scf.call`.
    fn called(&mut self, id: OpId, function: &str) -> Done<Vec<Value>> {
        let callee = self.m.func(function).ok_or_else(|| Failure::fault(format!("no function @{function}")))?;
        let mut frame = Frame::new(self.m, callee, self.operands(&self.f.op(id).operands)?)?;
        frame.depth = self.depth + 1;
        frame.heap = self.heap.clone();
        frame.goes_on = self.goes_on;
        (frame.item, frame.launch) = (self.item.clone(), self.launch.clone());
        if frame.depth > MAX_DEPTH {
            return Err(Failure::fault("calls are nested too deeply for the interpreter"));
        }
        let results = frame.call();
        self.caught |= frame.caught;
        self.fresh.append(&mut frame.fresh);
        results
    }

    /// Ops without regions and without control flow.
    fn leaf(&mut self, id: OpId) -> Done<Vec<Value>> {
        let data = self.f.op(id);
        let scalar = |i: usize| self.operand(id, i)?.scalar();
        let result_dtype = || {
            let ty = self.f.ty(data.results[0]);
            ty.scalar_dtype().ok_or_else(|| Failure::fault(format!("{ty} is no scalar")))
        };
        let one = |s: Scalar| vec![Value::Scalar(s)];
        Ok(match &data.op {
            Op::ShapeBind { dim } => {
                let n = self.operand(id, 0)?.int()?;
                let Dim::Sym(s) = dim else { return Err(Failure::fault("a constant is bound")) };
                if n < 0 {
                    return Err(Failure::fault(format!("{dim} bound to {n}")));
                }
                self.symbols[*s as usize] = Some(n);
                vec![]
            }
            Op::Const { value } => match self.f.ty(data.results[0]) {
                Type::Py(weft_ir::Weak::None) => one(Scalar::None),
                _ => one(Scalar::from_const(value, result_dtype()?)?),
            },
            Op::Cmp { is } => one(compare(*is, scalar(0)?, scalar(1)?)?),
            Op::Select => {
                let Scalar::Bool(c) = scalar(0)? else { return Err(Failure::fault("a condition that is no bool")) };
                vec![self.operand(id, if c { 1 } else { 2 })?.clone()]
            }
            Op::Wrap => {
                let (i, n) = (self.operand(id, 0)?.int()?, self.operand(id, 1)?.int()?);
                one(Scalar::Int(result_dtype()?, if i < 0 { i + n } else { i }.into()))
            }
            Op::Cast => one(scalar(0)?.cast(result_dtype()?)?),
            Op::Checked { op, site } => match checked(*op, scalar(0)?, scalar(1)?)? {
                Some(value) => one(value),
                None => return Err(Failure::Raised { site: *site, args: vec![] }),
            },
            // Output is no result: the interpreter checks values.
            Op::Print { .. } => vec![],
            Op::SimtGlobalId { dim } => one(Scalar::i64(self.of_launch(&self.item, *dim)?)),
            Op::SimtGlobalSize { dim } => one(Scalar::i64(self.of_launch(&self.launch, *dim)?)),
            Op::NtIndex { wrap, site } => {
                let (i, n) = (self.operand(id, 0)?.int()?, self.operand(id, 1)?.int()?);
                let at = if *wrap && i < 0 { i + n } else { i };
                if !(0..n).contains(&at) {
                    return Err(Failure::Raised { site: *site, args: vec![i as u64, n as u64] });
                }
                one(Scalar::Int(result_dtype()?, at.into()))
            }
            Op::NtWeaken => vec![self.operand(id, 0)?.clone()],
            Op::NtNull => {
                let ty = self.f.ty(data.results[0]);
                let t = ty.as_tensor().ok_or_else(|| Failure::fault(format!("{ty} is no array type")))?;
                let shape: Vec<i64> =
                    t.dims.iter().map(|d| if let Dim::Const(n) = d { *n as i64 } else { 0 }).collect();
                let strides = vec![0; t.rank()];
                vec![Value::Array(Array {
                    memory: Memory::borrowed(vec![]),
                    offset: 0,
                    dtype: t.dtype,
                    shape,
                    strides,
                })]
            }
            op if op.dialect() == "nt" || matches!(op, Op::EnvTransfer { .. }) => self.nt(id)?,
            op if op.dialect() == "list" => self.list(id)?,
            Op::MemList { .. } | Op::MemReserve | Op::MemPointer | Op::MemKeep | Op::MemShare | Op::MemDrop => {
                self.list_memory(id)?
            }
            op if op.dialect() == "mem" => self.mem(id)?,
            Op::Bits => one(Scalar::from_bits(scalar(0)?.to_bits(), result_dtype()?)),
            op if matches!(op.dialect(), "arith" | "math") => match data.operands.len() {
                1 => one(unary(op, scalar(0)?)?),
                _ => one(binary(op, scalar(0)?, scalar(1)?)?),
            },
            _ => return Err(Failure::fault("the interpreter does not know the op")),
        })
    }

    /// The element that an op was about to use.
    fn met(&self, id: OpId) -> Option<Met> {
        let data = self.f.op(id);
        let (array, indices, wrap) = match &data.op {
            Op::NtLoad { wrap } => (0, 1, *wrap),
            Op::NtStore { wrap } => (1, 2, *wrap),
            Op::NtAtomic { rmw, wrap } => (0, 1 + rmw.values(), *wrap),
            _ => return None,
        };
        let index = self.index(self.operand(id, array).ok()?.array().ok()?, &data.operands[indices..], wrap).ok()?;
        let name = self.f.values[data.operands[array].index()].name.clone();
        Some(Met { array: name, index, span: data.span })
    }

    fn of_launch(&self, sizes: &[i64], dim: u32) -> Done<i64> {
        sizes.get(dim as usize).copied().ok_or_else(|| Failure::fault("the launch has no such dimension"))
    }

    /// `mem.matmul`: gives the rows and columns.
    fn matrices(&self, id: OpId) -> Done<[i64; 2]> {
        let pointer = |i: usize| match self.operand(id, i)? {
            Value::Pointer(p) => Ok(p.clone()),
            other => Err(Failure::fault(format!("{other:?} where a pointer belongs"))),
        };
        let (to, a, b) = (pointer(0)?, pointer(1)?, pointer(2)?);
        let word = |i: usize| self.operand(id, i).and_then(Value::int);
        let steps = |i: usize| Ok::<_, Failure>((word(i)?, word(i + 1)?));
        let (of_to, of_a, of_b) = (steps(6)?, steps(8)?, steps(10)?);
        for i in 0..word(3)? {
            for j in 0..word(4)? {
                let mut get = |l: usize| {
                    let x = a.offset + i * of_a.0 + l as i64 * of_a.1;
                    let y = b.offset + l as i64 * of_b.0 + j * of_b.1;
                    Ok((a.memory.load(x, a.dtype)?, b.memory.load(y, b.dtype)?))
                };
                let v = crate::nt::sum_of_products(word(5)? as usize, to.dtype, &mut get)?;
                to.memory.store(to.offset + i * of_to.0 + j * of_to.1, v)?;
            }
        }
        Ok([word(3)?, word(4)?])
    }

    /// Pointers and owners.
    fn mem(&mut self, id: OpId) -> Done<Vec<Value>> {
        let data = self.f.op(id);
        let pointer = |i: usize| match self.operand(id, i)? {
            Value::Pointer(p) => Ok(p.clone()),
            other => Err(Failure::fault(format!("{other:?} where a pointer belongs"))),
        };
        let address = |p: &Pointer, index: i64, unit: Unit| match unit {
            Unit::Element => p.offset + index * p.dtype.size() as i64,
            Unit::Byte => p.offset + index,
        };
        Ok(match &data.op {
            Op::MemLoad { unit } => {
                let p = pointer(0)?;
                let at = address(&p, self.operand(id, 1)?.int()?, *unit);
                vec![Value::Scalar(p.memory.load(at, p.dtype)?)]
            }
            Op::MemStore { unit } => {
                let p = pointer(1)?;
                let at = address(&p, self.operand(id, 2)?.int()?, *unit);
                p.memory.store(at, self.operand(id, 0)?.scalar()?)?;
                vec![]
            }
            Op::MemAtomic { rmw, unit } => {
                let p = pointer(0)?;
                let at = address(&p, self.operand(id, 1)?.int()?, *unit);
                let (v, last) = (self.operand(id, 2)?.scalar()?, self.operand(id, 1 + rmw.values())?.scalar()?);
                let old = p.memory.update(at, p.dtype, |old| crate::scalar::atomic(*rmw, old, v, last))?;
                vec![Value::Scalar(old)]
            }
            Op::MemAlloc { .. } => {
                let bytes = self.operand(id, 0)?.int()?;
                let bytes = usize::try_from(bytes).map_err(|_| Failure::fault(format!("{bytes} bytes asked for")))?;
                let memory = Memory::fresh(bytes)?;
                self.fresh.push(memory.clone());
                self.made(id, memory, 0)?
            }
            Op::MemZero => {
                let (p, bytes) = (pointer(0)?, self.operand(id, 1)?.int()?);
                p.memory.clear(p.offset, bytes)?;
                vec![]
            }
            Op::MemNull => {
                let nothing = Memory::borrowed(vec![]);
                self.made(id, nothing, 0)?
            }
            Op::MemOffset => {
                let p = pointer(0)?;
                let offset = p.offset + self.operand(id, 1)?.int()?;
                vec![Value::Pointer(Pointer { offset, ..p })]
            }
            Op::MemAddress => {
                let p = pointer(0)?;
                vec![Value::Scalar(Scalar::i64(p.memory.address() + p.offset))]
            }
            Op::MemStack { bytes } | Op::MemLocal { bytes } => {
                // Nobody counts on what is in it.
                let memory = Memory::borrowed(vec![0xa5; *bytes as usize]);
                let Type::Mem(dtype, _) = *self.f.ty(data.results[0]) else {
                    return Err(Failure::fault("memory of nothing"));
                };
                vec![Value::Pointer(Pointer { memory, offset: 0, dtype })]
            }
            Op::MemReduce { fold, order } => {
                let (from, to) = (pointer(0)?, pointer(1)?);
                let word = |i: usize| self.operand(id, i).and_then(Value::int);
                let (n, stride, m, in_step, out_step) = (word(2)?, word(3)?, word(4)?, word(5)?, word(6)?);
                let order = match order {
                    Order::Pairs => Lies::Pairs,
                    Order::Auto if in_step != 0 && stride.abs() >= in_step.abs() => Lies::Across,
                    _ => Lies::Along,
                };
                for k in 0..m {
                    let mut get =
                        |i: usize| from.memory.load(from.offset + k * in_step + i as i64 * stride, from.dtype);
                    let v = crate::nt::reduce_line(*fold, n as usize, from.dtype, order, &mut get)?;
                    to.memory.store(to.offset + k * out_step, v)?;
                }
                vec![]
            }
            Op::MemScan { fold } => {
                let (to, from) = (pointer(0)?, pointer(1)?);
                let word = |i: usize| self.operand(id, i).and_then(Value::int);
                let (n, step, size) = (word(2)?, word(3)?, to.dtype.size() as i64);
                let mut get = |i: usize| from.memory.load(from.offset + i as i64 * step, from.dtype);
                for (i, v) in crate::nt::scan_line(*fold, n as usize, &mut get)?.into_iter().enumerate() {
                    to.memory.store(to.offset + i as i64 * size, v)?;
                }
                vec![]
            }
            Op::MemCopy { rank } => {
                let (to, from) = (pointer(0)?, pointer(1)?);
                let words = (2..2 + 3 * *rank as usize).map(|i| self.operand(id, i).and_then(Value::int));
                let words = words.collect::<Done<Vec<i64>>>()?;
                let parts: Vec<&[i64]> = words.chunks(*rank as usize).collect();
                let at = |index: &[i64], strides: &[i64]| index.iter().zip(strides).map(|(i, s)| i * s).sum::<i64>();
                for index in indices(parts.first().unwrap_or(&&[][..])) {
                    let (there, here) = match parts[..] {
                        [_, to, from] => (at(&index, to), at(&index, from)),
                        _ => (0, 0),
                    };
                    to.memory.store(to.offset + there, from.memory.load(from.offset + here, from.dtype)?)?;
                }
                vec![]
            }
            Op::MemCount => {
                let (mask, n) = (pointer(0)?, self.operand(id, 1)?.int()?);
                let mut count = 0;
                for i in 0..n {
                    count += i64::from(mask.memory.load(mask.offset + i, DType::Bool)? == Scalar::Bool(true));
                }
                vec![Value::Scalar(Scalar::i64(count))]
            }
            Op::MemCompress { back } => {
                let (to, from, mask, n) = (pointer(0)?, pointer(1)?, pointer(2)?, self.operand(id, 3)?.int()?);
                let (item, mut k) = (to.dtype.size() as i64, 0);
                for i in 0..n {
                    if mask.memory.load(mask.offset + i, DType::Bool)? == Scalar::Bool(true) {
                        let (there, here) = if *back { (i, k) } else { (k, i) };
                        let v = from.memory.load(from.offset + here * item, from.dtype)?;
                        to.memory.store(to.offset + there * item, v)?;
                        k += 1;
                    }
                }
                vec![]
            }
            Op::MemMatmul => {
                self.matrices(id)?;
                vec![]
            }
            Op::MemBothSides => {
                let word = |i: usize| self.operand(id, i).and_then(Value::int);
                let array = |p: Pointer, shape: [i64; 2], strides: [i64; 2]| Array {
                    memory: p.memory,
                    offset: p.offset,
                    dtype: p.dtype,
                    shape: shape.to_vec(),
                    strides: strides.to_vec(),
                };
                let (rows, columns) = (word(5)?, word(6)?);
                let a = array(pointer(2)?, [rows, columns], [word(7)?, word(8)?]);
                let vector = |k: usize, n: i64, step: i64| Ok::<_, Failure>(array(pointer(k)?, [n, 1], [step, 0]));
                crate::nt::both_sides(&a, &vector(3, word(13)?, word(11)?)?, &vector(0, rows, word(9)?)?, false)?;
                crate::nt::both_sides(&a, &vector(4, word(14)?, word(12)?)?, &vector(1, columns, word(10)?)?, true)?;
                vec![]
            }
            Op::MemCholesky | Op::MemSolve => {
                let word = |i: usize| self.operand(id, i).and_then(Value::int);
                let matrix = |p: Pointer, shape: [i64; 2], row: i64| Array {
                    strides: vec![row, p.dtype.size() as i64],
                    memory: p.memory,
                    offset: p.offset,
                    dtype: p.dtype,
                    shape: shape.to_vec(),
                };
                let outcome = if data.op == Op::MemCholesky {
                    let n = word(1)?;
                    let a = matrix(pointer(0)?, [n, n], word(2)?);
                    crate::linalg::cholesky(&a, &a)?
                } else {
                    let n = word(2)?;
                    let a = matrix(pointer(0)?, [n, n], word(4)?);
                    let b = matrix(pointer(1)?, [n, word(3)?], word(5)?);
                    crate::linalg::solve(&a, &b, [&a, &b])?
                };
                vec![Value::Scalar(Scalar::i64(outcome))]
            }
            Op::MemDot => {
                let (a, b) = (pointer(0)?, pointer(1)?);
                let word = |i: usize| self.operand(id, i).and_then(Value::int);
                let (n, of_a, of_b) = (word(2)?, word(3)?, word(4)?);
                let mut get = |l: usize| {
                    let at = l as i64;
                    let (x, y) = (a.offset + at * of_a, b.offset + at * of_b);
                    Ok((a.memory.load(x, a.dtype)?, b.memory.load(y, b.dtype)?))
                };
                vec![Value::Scalar(crate::nt::sum_of_products(n as usize, a.dtype, &mut get)?)]
            }
            Op::MemViewOwner { .. } => vec![self.operand(id, 0)?.clone()],
            Op::MemRetain => {
                let Value::Owner(memory) = self.operand(id, 0)? else {
                    return Err(Failure::fault("a count of no owner"));
                };
                memory.share();
                vec![]
            }
            Op::MemRelease => {
                let Value::Owner(memory) = self.operand(id, 0)? else {
                    return Err(Failure::fault("a release of no owner"));
                };
                self.release(memory)?;
                vec![]
            }
            Op::MemNeed { mode, .. } => {
                let p = pointer(0)?;
                // As for env.transfer: a copy to read, the array itself to write.
                let memory = if *mode == Access::Read { p.memory.copy() } else { p.memory.share() };
                if *mode == Access::Read {
                    self.fresh.push(memory.clone());
                }
                self.made(id, memory, p.offset)?
            }
            _ => return Err(Failure::fault("the interpreter does not know the op")),
        })
    }

    pub(crate) fn made(&self, id: OpId, memory: Memory, offset: i64) -> Done<Vec<Value>> {
        let Type::Mem(dtype, _) = *self.f.ty(self.f.op(id).results[0]) else {
            return Err(Failure::fault("the result is no pointer"));
        };
        Ok(vec![Value::Pointer(Pointer { memory: memory.clone(), offset, dtype }), Value::Owner(memory)])
    }
}
