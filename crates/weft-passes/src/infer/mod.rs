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
//! Files: `abs` (abstract values), `emit` (typed emission), `weak` (weak scalars entering a
//! dtype), `scalar` (operators on scalars), `array` (operators on arrays, broadcasting), `index`
//! (element access), `walk` (statements and control flow), `call` (functions), `prim` (what the
//! library is written in), `library` (the registry).

mod abs;
mod array;
mod call;
mod emit;
mod index;
mod library;
mod pow;
mod prim;
mod scalar;
#[cfg(test)]
mod tests;
mod walk;
mod weak;

pub use library::known_functions;

use abs::Abs;
use std::collections::HashMap;
use weft_diag::{Diagnostic, Span};
use weft_ir::attr::Const;
use weft_ir::{DType, Dim, Func, Module, Place, RegionId, Site, Stage, TensorType, Type, ValueId};

/// What a global or closure name (or dotted path from one) stands for.
#[derive(Clone, Debug, PartialEq)]
pub enum Resolved {
    /// A Python number, bool or None.
    Const(Const),
    /// A NumPy scalar.
    Scalar(DType, Const),
    /// A function Weft knows, by canonical name: `numpy.sin`, `builtins.range`, `weft.get_global_id`.
    Function(String),
    /// No such name or attribute.
    Missing {
        /// The nearest name that exists.
        nearest: Option<String>,
    },
    /// Something Weft cannot use; `what` describes it to the user.
    Other {
        /// A noun phrase: "the module `os`".
        what: String,
    },
}

/// Looks global names up. The Python layer implements it over the function's globals and closure.
pub trait Resolver {
    /// What `path` stands for now.
    fn resolve(&mut self, path: &str) -> Resolved;
}

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

/// How the results of the entry make up what Python gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returns {
    /// `None`.
    Nothing,
    /// The one result.
    One,
    /// A tuple of the results.
    Tuple,
}

/// What [`run`] makes.
#[derive(Clone, Debug)]
pub struct Output {
    /// Stage `ntensor`.
    pub module: Module,
    /// How results go back.
    pub returns: Returns,
}

/// Types `py` for parameters of these types.
///
/// # Errors
/// What the user must change, with the place.
pub fn run(py: &Func, params: &[Type], door: Door, resolver: &mut dyn Resolver) -> Result<Output, Diagnostic> {
    let mut infer = Infer::new(&py.name, door, resolver);
    infer.out.kernel = matches!(infer.door, Door::Kernel { .. });
    let mut args = vec![];
    for (i, ty) in params.iter().enumerate() {
        let v = infer.out.new_value(ty.clone());
        infer.out.values[v.index()].name =
            py.params().get(i).map_or(String::new(), |&p| py.values[p.index()].name.clone());
        infer.out.regions[0].args.push(v);
        args.push(if *ty == Type::NONE { Abs::Const(Const::None) } else { Abs::Value(v) });
    }
    infer.out.symbols =
        params.iter().filter_map(Type::as_tensor).flat_map(|t| &t.dims).map(symbol_end).max().unwrap_or(0);
    infer.entry(py, args)
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
    /// What is known of pyint values.
    ranges: HashMap<ValueId, (i128, i128)>,
    /// Tensors that were found to have better sizes, and the value that says so.
    refined: HashMap<ValueId, ValueId>,
    /// Symbols that run-time sizes were bound to.
    bound: HashMap<ValueId, Dim>,
    /// Set while the body of an `nt.elementwise` is emitted.
    body: Option<Body>,
    /// Library calls being inlined, to stop a library that calls itself.
    inlined: Vec<String>,
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
            ranges: HashMap::new(),
            refined: HashMap::new(),
            bound: HashMap::new(),
            body: None,
            inlined: vec![],
        }
    }

    fn is_kernel(&self) -> bool {
        matches!(self.door, Door::Kernel { .. })
    }

    fn entry(mut self, py: &Func, args: Vec<Abs>) -> Result<Output, Diagnostic> {
        let returned = self.walk_function(py, args)?;
        let (values, returns) = match returned {
            None | Some(Abs::Const(Const::None)) => (vec![], Returns::Nothing),
            Some(Abs::Tuple(items)) => (items, Returns::Tuple),
            Some(one) => (vec![one], Returns::One),
        };
        if self.is_kernel() && returns != Returns::Nothing {
            return Err(
                Diagnostic::typing(self.span, "a kernel returns nothing").help("write results into an array argument")
            );
        }
        let mut operands = vec![];
        for v in values {
            operands.push(self.materialise(&v)?);
        }
        self.out.results = operands.iter().map(|&v| self.out.ty(v).clone()).collect();
        self.terminate(weft_ir::Op::Return, &operands);
        let module = Module { stage: Stage::Ntensor, funcs: vec![self.out], sites: self.sites };
        Ok(Output { module, returns })
    }

    /// Type of a tensor value.
    fn tensor(&self, v: ValueId) -> Option<&TensorType> {
        self.out.ty(v).as_tensor()
    }
}
