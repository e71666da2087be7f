//! `infer`: stage `py` → stage `ntensor`.
//!
//! Conditional constant propagation over (type, constant?, integer range?): one walk over the
//! untyped function with the parameters' types, which emits typed ops as it goes. Conditions that
//! are known decide branches, and dead arms are never typed. Library functions are walked with
//! their arguments' types right where they are called, and so come out inlined.
//!
//! In: a function at stage `py`, parameter types, a [`Resolver`] for global names.
//! Out: a module at stage `ntensor`, and how its results are put together for Python.
//!
//! What a loop or a variable holds may turn out to be more general than what the walk assumed: then the fact is noted and the
//! walk begins anew (`restart`); the forms are finite, and so are the walks.
//!
//! Files: `abs` (abstract values), `join` (where paths meet), `clash` (where they cannot), `exits`, `branch`, `turns`, `variables` (control flow), `function`
//! (inlining), `builtins`, `emit` (typed emission), `weak` (weak scalars entering a
//! dtype), `scalar` (operators on scalars), `array` (operators on arrays, broadcasting), `index`
//! (element access), `assume` (slices inside their axis), `walk` (statements and control flow), `call` (functions), `prim` (what the
//! library is written in), `library` (the registry), `identity` (which results are objects of their own).

mod abs;
mod alike;
mod array;
mod assume;
mod atomic;
mod branch;
mod builtins;
mod call;
mod carried;
mod clash;
mod complex;
mod create;
mod emit;
mod exits;
mod facts;
mod fancy;
mod function;
mod generic;
mod growth;
mod identity;
mod index;
mod join;
mod library;
mod list;
mod masked;
mod narrow;
mod objects;
mod once;
mod parallel;
mod pow;
mod prim;
mod reduce;
mod resolver;
mod scalar;
mod setattr;
mod store;
#[cfg(test)]
mod tests;
mod turns;
mod variables;
mod view;
mod walk;
mod weak;

pub use assume::{Assumption, Known};
pub use library::{is_known_function, known_functions};
pub(crate) use parallel::{BLOCKS, LONGEST};
pub use resolver::{FunctionRef, Param, Resolved, Resolver, UserFunction};

use crate::py::PyFunction;
use abs::Abs;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use weft_diag::{Diagnostic, Span};
use weft_ir::attr::Const;
use weft_ir::{Dim, Func, Module, Place, RegionId, Site, Stage, TensorType, Type, ValueId};

/// How the function is entered, which decides what its ops mean.
#[derive(Clone, Debug, PartialEq)]
pub enum Door {
    /// `@njit`: 0-d results of operators become scalars.
    Njit,
    /// `@kernel`: one work-item; `dims` is the rank of the launch.
    Kernel {
        /// Rank of the index space.
        dims: u32,
    },
    /// Recorded tensor operations: results stay arrays, new ones live at `place`.
    Tensor {
        /// Where the recorded arrays live.
        place: Place,
    },
}

/// How the results of the entry make up what Python gets. Results are consumed in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Returns {
    /// `None`; consumes nothing.
    Nothing,
    /// The next result.
    One,
    /// The next result, a view that was made where it is returned: an object of its own, even beside a view that shows the same.
    View,
    /// A tuple of these.
    Tuple(Vec<Returns>),
    /// The next result is a bool: whether it is there, and not None. What is inside consumes its results either way.
    Optional(Box<Returns>),
    /// A constant; consumes nothing.
    Const(Const),
    /// One of these strings: the next result is its position.
    Text(Vec<String>),
    /// A list: the next result is one. Each item consumes values of the list's type as results are.
    List(Box<Returns>),
}

impl Returns {
    /// Says which strings there are, when all are known.
    fn name_strings(&mut self, strings: &[String]) {
        match self {
            Returns::Text(names) => *names = strings.to_vec(),
            Returns::Tuple(parts) => parts.iter_mut().for_each(|part| part.name_strings(strings)),
            Returns::Optional(inner) | Returns::List(inner) => inner.name_strings(strings),
            Returns::Nothing | Returns::One | Returns::View | Returns::Const(_) => {}
        }
    }
}

/// What [`run`] makes.
#[derive(Clone, Debug)]
pub struct Output {
    /// Stage `ntensor`. The entry's parameters are the values among the arguments, then the hidden ones.
    pub module: Module,
    /// How results go back.
    pub returns: Returns,
    /// Hidden arguments ([`Resolved::Hidden`]) in the order of their parameters.
    pub hidden: Vec<u32>,
    /// Parameters of the entry that are lists, by position, and what they are ([`Returns::List`]).
    pub lists: Vec<(usize, Returns)>,
    /// What must be so of the arguments of a call, for the code to be right for it. Nothing, unless [`Resolver::may_assume`].
    pub assumed: Vec<Assumption>,
    /// How many dimensions of its launch a kernel names: one more than the largest. `u32::MAX` where it may be any.
    pub dimensions: u32,
}

/// Types `py` for parameters of these types.
///
/// # Errors
/// What the user must change, with the place.
pub fn run(py: &Func, params: &[Type], door: Door, resolver: &mut dyn Resolver) -> Result<Output, Diagnostic> {
    let params: Vec<Param> = params.iter().cloned().map(Param::Value).collect();
    let py = PyFunction {
        func: py.clone(),
        params: vec![],
        captures: vec![],
        nested: vec![],
        assigned: vec![],
        span: Span::NONE,
    };
    run_with(&Arc::new(py), &params, door, resolver)
}

/// Most walks over one function: each begins anew because something became more general.
const MAX_WALKS: usize = 500;

/// Types `py` for these arguments.
///
/// # Errors
/// What the user must change, with the place.
pub fn run_with(
    py: &Arc<PyFunction>,
    params: &[Param],
    door: Door,
    resolver: &mut dyn Resolver,
) -> Result<Output, Diagnostic> {
    let mut found = Found::default();
    for _ in 0..MAX_WALKS {
        let mut infer = Infer::new(&py.func.name, door.clone(), resolver);
        infer.found = found;
        infer.out.kernel = matches!(infer.door, Door::Kernel { .. });
        let mut args = vec![];
        for (i, param) in params.iter().enumerate() {
            let name = py.func.params().get(i).map_or(String::new(), |&p| py.func.values[p.index()].name.clone());
            args.push(infer.parameter(param, &name));
        }
        infer.declared = infer.out.params().len();
        infer.know_arguments();
        if infer.is_kernel() && params.iter().any(|p| matches!(p, Param::List(_))) {
            return Err(Diagnostic::unsupported(py.span, "a kernel takes no lists").help("pass an array"));
        }
        let walked = infer.entry(py, args.clone());
        if let Some(next) = infer.next {
            found = *next;
            continue;
        }
        match walked {
            _ if infer.again => found = infer.found,
            Err(_) if infer.restarts => found = infer.found,
            Err(d) => return Err(d),
            Ok(mut returns) => {
                let mut lists = vec![];
                for a in &args {
                    infer.list_arguments(a, &mut lists)?;
                }
                let assumed = infer.assumptions();
                let strings = infer.found.strings;
                returns.name_strings(&strings);
                returns.name_views(&mut identity::views_apart(&infer.out).into_iter());
                lists.iter_mut().for_each(|(_, list): &mut (usize, Returns)| list.name_strings(&strings));
                let texts = strings.iter().map(|s| weft_ir::show::escaped(s)).collect::<Vec<_>>().join(",");
                for site in &mut infer.sites {
                    for (slot, filled) in [("s}", "s "), ("s!r}", "s!r ")] {
                        for mark in ["{", "{?", "{=", "{=?"] {
                            let (slot, filled) = (format!("{mark}{slot}"), format!("{mark}{filled}{texts}}}"));
                            site.template = site.template.replace(&slot, &filled);
                        }
                    }
                }
                let mut funcs = vec![infer.out];
                crate::sizes::rename(&mut funcs[0], &infer.same_sizes);
                funcs.extend(infer.funcs);
                funcs.iter_mut().for_each(masked::run);
                let (debug, fast, mut sites) = (infer.resolver.is_debugging(), infer.resolver.fast_math(), infer.sites);
                funcs.iter_mut().try_for_each(|f| crate::races::run(f, debug, &mut sites))?;
                let module = Module { stage: Stage::Ntensor, funcs, sites, fast };
                let (hidden, dimensions) = (infer.hidden, infer.dimensions);
                return Ok(Output { module, returns, hidden, lists, assumed, dimensions });
            }
        }
    }
    let recursive = found.recursive.values().flatten().next();
    let name = recursive.map_or(py.func.name.clone(), |i| i.name.split('.').next().unwrap_or_default().to_owned());
    let d = Diagnostic::typing(py.span, format!("the types in `{name}` do not settle: each is made of the one before"));
    Err(d.help("give names, items and results one type: a tuple or a list that holds more at every iteration has none"))
}

/// How a value goes back; the run-time values in it are appended to `values`.
fn how_returned(returned: &Abs, values: &mut Vec<Abs>) -> Returns {
    match returned {
        Abs::Const(Const::None) => Returns::Nothing,
        Abs::Const(c @ (Const::Str(_) | Const::Ellipsis)) => Returns::Const(c.clone()),
        Abs::Const(Const::Int(v)) if i64::try_from(*v).is_err() => Returns::Const(Const::Int(*v)),
        Abs::Tuple(items) => Returns::Tuple(items.iter().map(|i| how_returned(i, values)).collect()),
        one => {
            values.push(one.clone());
            Returns::One
        }
    }
}

fn symbol_end(d: &Dim) -> u32 {
    match d {
        Dim::Sym(n) => n + 1,
        Dim::Const(_) => 0,
    }
}

/// The state of one inference.
struct Infer<'r> {
    /// The function being emitted.
    out: Func,
    sites: Vec<Site>,
    /// Where ops go.
    region: RegionId,
    /// Span of new ops and of diagnostics.
    span: Span,
    door: Door,
    resolver: &'r mut dyn Resolver,
    /// What pyint values are beside those that a loop carries.
    grown: HashMap<ValueId, growth::Growth>,
    /// What is known of pyint values.
    ranges: HashMap<ValueId, (i128, i128)>,
    /// What truths say.
    said: HashMap<ValueId, narrow::Said>,
    /// What was known before the conditions around this place, in their order.
    granted: Vec<narrow::Before>,
    /// Tensors that were found to have better sizes, and the value that says so.
    refined: HashMap<ValueId, ValueId>,
    /// The array that the operation being typed writes to: it is part of the message where shapes do not fit.
    output: Option<ValueId>,
    /// What is known of sizes.
    facts: facts::Facts,
    /// Sums that are taken to be no less than 0.
    assumed: Vec<assume::Linear>,
    /// Sizes that are taken to be an argument's.
    same_sizes: BTreeMap<Dim, Dim>,
    /// The regions around the one where ops go.
    open: Vec<RegionId>,
    /// Set while the body of an `nt.elementwise` is emitted.
    body: Option<Body>,
    /// The functions being walked, innermost last.
    frames: Vec<walk::Frame>,
    /// Loops and blocks around the place where ops go.
    level: u32,
    /// Exits walked so far.
    exits: u32,
    /// The way to this place: calls that were inlined, items that were unrolled.
    path: Vec<u32>,
    /// Loops over generators whose items are being produced.
    sinks: Vec<Sink>,
    /// Generators whose items are collected, and how much was undecided where that began.
    collected: Vec<(u32, Vec<Abs>)>,
    /// Loops and ifs around this place that are decided at run time.
    undecided: u32,
    /// Lists that were written out, and how much was undecided there.
    written_out: HashMap<ValueId, u32>,
    /// Whether the op that is walked reads a name of the function around.
    reads_free: bool,
    /// Inside a loop whose iterations run at once.
    at_once: bool,
    /// Messages about shapes show scalars too.
    shows_scalars: bool,
    /// Cells that say which `if`s of a loop were entered, by function and op.
    entered: HashMap<(usize, u32), Vec<ValueId>>,
    /// What earlier walks found.
    found: Found,
    /// What the next walk begins with, where this one goes on though it knows that there is one.
    next: Option<Box<Found>>,
    /// The walk goes on, but what it emits is of no use.
    again: bool,
    /// Variables by place made so far in the function being emitted, or given to it.
    variables: HashMap<abs::VariableId, variables::Made>,
    /// Whether the walk has to begin anew.
    restarts: bool,
    /// Names of functions that are being walked into functions of their own.
    compiling: Vec<String>,
    /// Functions that are called, not inlined.
    funcs: Vec<Func>,
    /// Parameters of the entry that are arguments; hidden ones follow.
    declared: usize,
    /// Hidden arguments met so far.
    hidden: Vec<u32>,
    /// How many dimensions of the launch were named so far ([`Output::dimensions`]).
    dimensions: u32,
}

/// Names a place in the program: the way there, and an op.
type Key = (u64, u32);

/// What walks over one function find out for the next one.
#[derive(Clone, Default)]
struct Found {
    /// Forms of what loops carry and of what cells hold.
    forms: HashMap<Key, Vec<join::Ty>>,
    /// What is assumed of integers that loops carry, by position.
    courses: HashMap<(Key, usize), growth::Course>,
    /// Functions that call themselves, with what they return for arguments of these forms, once known.
    recursive: HashMap<usize, Vec<function::Instance>>,
    /// Lists, by where they are made.
    lists: list::Sites,
    /// The strings of the program that are told apart at run time.
    strings: Vec<String>,
    /// Variables by place that functions take out of the branch or loop that makes them.
    outlasting: HashSet<abs::VariableId>,
}

/// Where the global names of a function are looked up.
#[derive(Clone, Debug, PartialEq)]
enum Scope {
    /// A function of the user's.
    User(FunctionRef),
    /// A library function, by canonical name.
    Library(String),
}

impl Scope {
    const ENTRY: Scope = Scope::User(FunctionRef::ENTRY);
}

/// A loop over a generator: its body runs where the generator produces an item.
struct Sink {
    py: Arc<PyFunction>,
    op: weft_ir::OpId,
    /// What the loop carries.
    cells: Vec<Abs>,
    env: walk::Env,
    /// The frame of the function that has the loop.
    frame: usize,
}

/// Emission into an elementwise body: what depends on no element goes before the op instead.
#[derive(Clone, Copy)]
struct Body {
    /// The region that will hold the `nt.elementwise`.
    outer: RegionId,
    /// Values below this were there before the body.
    first_value: usize,
    /// Rank of the iteration space.
    rank: usize,
}

impl<'r> Infer<'r> {
    fn new(name: &str, door: Door, resolver: &'r mut dyn Resolver) -> Infer<'r> {
        Infer {
            out: Func::new(name),
            sites: vec![],
            region: RegionId(0),
            span: Span::NONE,
            door,
            resolver,
            grown: HashMap::new(),
            ranges: HashMap::new(),
            said: HashMap::new(),
            granted: vec![],
            refined: HashMap::new(),
            output: None,
            facts: facts::Facts::default(),
            assumed: vec![],
            same_sizes: BTreeMap::new(),
            open: vec![],
            body: None,
            frames: vec![],
            level: 0,
            exits: 0,
            path: vec![],
            sinks: vec![],
            collected: vec![],
            undecided: 0,
            written_out: HashMap::new(),
            reads_free: false,
            at_once: false,
            entered: HashMap::new(),
            found: Found::default(),
            variables: HashMap::new(),
            shows_scalars: false,
            next: None,
            again: false,
            restarts: false,
            dimensions: 0,
            compiling: vec![],
            funcs: vec![],
            declared: 0,
            hidden: vec![],
        }
    }

    /// What an argument is to the walk; the values in it become parameters.
    fn parameter(&mut self, param: &Param, name: &str) -> Abs {
        match param {
            Param::Value(ty) => {
                let v = self.out.new_value(ty.clone());
                self.out.values[v.index()].name = name.to_owned();
                self.out.regions[0].args.push(v);
                let symbols = ty.as_tensor().into_iter().flat_map(|t| &t.dims).map(symbol_end).max();
                self.out.symbols = self.out.symbols.max(symbols.unwrap_or(0));
                if *ty == Type::NONE { Abs::Const(Const::None) } else { Abs::Value(v) }
            }
            Param::Size(dim) => {
                let size = self.parameter(&Param::Value(Type::PYINT), name);
                if let Abs::Value(v) = size {
                    self.ranges.insert(v, (0, i128::from(i64::MAX)));
                    self.set_affine(v, facts::Affine::size(*dim));
                }
                size
            }
            Param::Tuple(parts) => Abs::Tuple(parts.iter().map(|p| self.parameter(p, name)).collect()),
            Param::List(item) => self.list_parameter(item.as_deref(), name),
            Param::Const(c) => Abs::Const(c.clone()),
            Param::Function(f) => Abs::UserFunction(*f),
            Param::Known(name) => Abs::Function(name.clone()),
        }
    }

    /// The lists among the arguments.
    fn list_arguments(&self, a: &Abs, out: &mut Vec<(usize, Returns)>) -> Result<(), Diagnostic> {
        match a {
            Abs::Tuple(parts) => parts.iter().try_for_each(|p| self.list_arguments(p, out)),
            Abs::List(v, site) => {
                let position = self.out.params().iter().position(|p| p == v);
                out.push((position.unwrap_or(0), self.how_form_returned(&join::Ty::List(*site))?));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The parameter of a hidden argument. Those met by a walk that was undone are met again in any order.
    fn hidden(&mut self, index: u32, ty: &Type) -> Abs {
        let known = self.out.params().len() - self.declared;
        if let Some(k) = self.hidden[..known].iter().position(|&i| i == index) {
            return Abs::Value(self.out.params()[self.declared + k]);
        }
        self.hidden.truncate(known);
        self.hidden.push(index);
        let mut ty = ty.clone();
        if let Some(tensor) = ty.as_tensor() {
            let mut tensor = tensor.clone();
            let first = self.out.symbols;
            for dim in tensor.dims.iter_mut() {
                if let Dim::Sym(n) = dim {
                    *dim = Dim::Sym(first + *n);
                }
            }
            ty = Type::tensor(tensor);
        }
        self.parameter(&Param::Value(ty), "")
    }

    fn is_kernel(&self) -> bool {
        matches!(self.door, Door::Kernel { .. })
    }

    fn entry(&mut self, py: &Arc<PyFunction>, args: Vec<Abs>) -> Result<Returns, Diagnostic> {
        self.frames.push(walk::Frame::new(Scope::ENTRY, py));
        let flow = self.walk_body(py, args)?;
        let frame = self.frames.pop();
        let mut returns = frame.map(|f| f.returns).unwrap_or_default();
        let end = match flow {
            walk::Flow::Return(a) => Some(a),
            walk::Flow::Yield(_) => Some(Abs::Const(Const::None)),
            walk::Flow::Left => None,
        };
        if let Some(a) = &end
            && returns.is_empty()
        {
            // One way out: constants may stay constants.
            let mut values = vec![];
            let how = how_returned(a, &mut values);
            if values.iter().all(|v| matches!(v, Abs::Value(_) | Abs::Const(_))) {
                return self.return_values(how, values);
            }
        }
        if let Some(a) = end {
            let last = self.pending(vec![a]);
            returns.push(last);
        }
        let joined = self.join_exits(None, returns.iter()).map_err(|d| self.returns_clash(&returns, d))?;
        let Some(form) = joined.first().map(|ty| self.instantiate(ty)) else {
            // Every way out raises.
            return Ok(Returns::Nothing);
        };
        let how = self.how_form_returned(&form)?;
        self.refuse_kernel_result(&how)?;
        let mut types = vec![];
        self.leaf_types(&form, &mut types);
        self.out.results = types;
        self.settle_returns(&returns, &form)?;
        Ok(how)
    }

    fn return_values(&mut self, how: Returns, values: Vec<Abs>) -> Result<Returns, Diagnostic> {
        self.refuse_kernel_result(&how)?;
        let mut operands = vec![];
        for v in values {
            operands.push(self.materialise(&v)?);
        }
        self.out.results = operands.iter().map(|&v| self.out.ty(v).clone()).collect();
        self.terminate(weft_ir::Op::Return, &operands);
        Ok(how)
    }

    fn refuse_kernel_result(&self, how: &Returns) -> Result<(), Diagnostic> {
        if self.is_kernel() && *how != Returns::Nothing {
            return Err(
                Diagnostic::typing(self.span, "a kernel returns nothing").help("write results into an array argument")
            );
        }
        Ok(())
    }

    /// How a value of this form goes back.
    fn how_form_returned(&self, form: &join::Ty) -> Result<Returns, Diagnostic> {
        use join::Ty;
        Ok(match form {
            Ty::Leaf(_) => Returns::One,
            Ty::Text => Returns::Text(vec![]),
            Ty::Fixed(Abs::Const(Const::None)) => Returns::Nothing,
            Ty::Fixed(Abs::Const(c)) => Returns::Const(c.clone()),
            Ty::Fixed(other) => {
                let what = self.describe(other);
                let d = self.refuse(format!("{what} cannot be returned from compiled code"));
                return Err(d.help("return numbers, arrays, None, and tuples and lists of these"));
            }
            Ty::Tuple(items) => {
                Returns::Tuple(items.iter().map(|t| self.how_form_returned(t)).collect::<Result<_, _>>()?)
            }
            Ty::List(site) => Returns::List(Box::new(match self.item_form(*site) {
                Some(item) => self.how_form_returned(&item)?,
                None => Returns::Nothing,
            })),
            Ty::Tagged(abs::Absent::None, inner) => Returns::Optional(Box::new(self.how_form_returned(inner)?)),
            Ty::Tagged(abs::Absent::Unbound(name), _) => return Err(self.unbound(name)),
            Ty::Variable(_) => return Err(self.internal("a variable is returned")),
            Ty::Range(_) | Ty::Closure(..) => {
                let what = self.describe_ty(form);
                let d = self.refuse(format!("{what} cannot be returned from compiled code"));
                return Err(d.help("return numbers, arrays, None, and tuples and lists of these"));
            }
        })
    }

    /// Type of a tensor value.
    fn tensor(&self, v: ValueId) -> Option<&TensorType> {
        self.out.ty(v).as_tensor()
    }
}
