//! What `infer` asks about the world around a function: names, other functions, hidden arguments.
//!
//! The Python layer implements [`Resolver`] over a function's globals and closure. A function of the user's is known by
//! a [`FunctionRef`], which means something for one compilation.

use std::sync::Arc;

use weft_diag::Diagnostic;
use weft_ir::attr::Const;
use weft_ir::{DType, Dim, ExcClass, FastMath, Type};

use crate::py::PyFunction;

/// A function of the user's, plain or jitted, for the length of one compilation. 0 is the function being compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionRef(pub u32);

impl FunctionRef {
    /// The function being compiled.
    pub const ENTRY: FunctionRef = FunctionRef(0);
}

/// What a global or closure name (or dotted path from one) stands for.
#[derive(Clone, Debug, PartialEq)]
pub enum Resolved {
    /// A Python number, bool, string or None.
    Const(Const),
    /// A NumPy scalar.
    Scalar(DType, Const),
    /// A tuple of such things.
    Tuple(Vec<Resolved>),
    /// A function or type Weft knows, by canonical name: `numpy.sin`, `builtins.range`, `numpy.float32`. A dtype object
    /// is its scalar type.
    Function(String),
    /// A function of the user's.
    UserFunction(FunctionRef),
    /// A builtin exception class.
    Exception(ExcClass),
    /// An exception class of the user's: its number in the resolver's table, and its nearest builtin base.
    UserException(u32, ExcClass),
    /// Read anew at every call: a global array. `infer` appends a parameter for each `index` it meets, in the order of
    /// [`super::Output::hidden`]. The sizes of `ty` other than one are symbols from 0 on, which `infer` renumbers.
    Hidden {
        /// Number of the object in the resolver's table; the same name twice is the same number.
        index: u32,
        /// Its type.
        ty: Type,
    },
    /// Attributes, one after the other, of what the beginning of the path stands for: `TABLE.shape` of a global array.
    Attributes(Box<Resolved>, Vec<String>),
    /// A module or another namespace: only its attributes (longer paths) are something.
    Module(String),
    /// No such name or attribute.
    Missing {
        /// The nearest name that exists.
        nearest: Option<String>,
    },
    /// A function of NumPy's that is not there yet.
    NotYet {
        /// Its name in NumPy: `linalg.inv`.
        name: String,
    },
    /// Something Weft cannot use; `what` describes it to the user.
    Other {
        /// A noun phrase: "the module `os`".
        what: String,
    },
}

/// A function of the user's, ready to be walked.
#[derive(Debug)]
pub struct UserFunction {
    /// Its `__name__`.
    pub name: String,
    /// Its body. Names that are not its own are asked for with [`Resolver::resolve_in`], closure variables too.
    pub py: Arc<PyFunction>,
    /// The default of each declared parameter.
    pub defaults: Vec<Option<Resolved>>,
    /// Index of its text among the sources of this compilation; its spans carry it.
    pub file: u32,
}

/// Looks names and functions up.
pub trait Resolver {
    /// What `path` stands for now, seen from the function being compiled.
    fn resolve(&mut self, path: &str) -> Resolved;

    /// What `path` stands for, seen from that function.
    fn resolve_in(&mut self, f: FunctionRef, path: &str) -> Resolved {
        let _ = f;
        self.resolve(path)
    }

    /// Whether an index beyond an array raises, in the function being compiled and in all that it calls.
    fn checks_bounds(&self) -> bool {
        true
    }

    /// Whether Python's integers wrap at 64 bits instead of raising, in the function being compiled and in all that it calls.
    fn wraps_overflow(&self) -> bool {
        false
    }

    /// Whether Python's numbers are divided by zero as NumPy's are, without an exception, in the function being compiled and in all
    /// that it calls.
    fn divides_by_zero(&self) -> bool {
        false
    }

    /// The version of CPython whose ways are followed: 11 of 3.11.
    fn python_minor(&self) -> u8 {
        11
    }

    /// What float arithmetic may do.
    fn fast_math(&self) -> FastMath {
        FastMath::default()
    }

    /// Whether what a `prange` takes on trust is checked at run time, and the indices of a kernel are.
    fn is_debugging(&self) -> bool {
        false
    }

    /// Whether slices may be taken to lie inside their axis: the caller looks at what was assumed before each call
    /// ([`super::Output::assumed`]).
    fn may_assume(&self) -> bool {
        false
    }

    /// What a function that was declared to be a reduction begins with: with it, the other argument comes out.
    fn identity(&mut self, f: FunctionRef) -> Option<Const> {
        let _ = f;
        None
    }

    /// The classes that an exception class of the user's is or derives from, by [`ExcClass::number`].
    fn exception_bases(&self, user: u32) -> Vec<u32> {
        vec![ExcClass::number(user)]
    }

    /// The function behind a reference.
    ///
    /// # Errors
    /// Where its text cannot be had, or cannot be compiled.
    fn function(&mut self, f: FunctionRef) -> Result<Arc<UserFunction>, Diagnostic> {
        let message = format!("there is no function {} here", f.0);
        Err(Diagnostic::internal(weft_diag::Span::NONE, message))
    }
}

/// What an argument of the entry is.
#[derive(Clone, Debug, PartialEq)]
pub enum Param {
    /// A run-time value: a parameter of the entry.
    Value(Type),
    /// A Python int that is the size of an axis.
    Size(Dim),
    /// A tuple, by parts; those that are values follow each other as parameters of the entry.
    Tuple(Vec<Param>),
    /// A list of these: one parameter. Nothing is known of the items of an empty one.
    List(Option<Box<Param>>),
    /// A constant that the specialisation is for: None, a string.
    Const(Const),
    /// A function of the user's that the specialisation is for.
    Function(FunctionRef),
    /// A function or type Weft knows, by canonical name; a dtype is its scalar type.
    Known(String),
}
