//! The tree: what later passes see of a Python function. Owned, independent of the parser's types.
//!
//! Every node carries the [`Span`] of its own text (without surrounding parentheses). Names are
//! resolved; constructs that are not compiled yet are kept as `Unsupported` nodes, so that they
//! are refused where they stand, and only if they are live.
//!
//! The tree can be kept as bytes (serde): that is how the library comes with the compiler.

use serde::{Deserialize, Serialize};
use weft_diag::Span;

/// A function or lambda, with its names resolved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Function {
    /// The name after `def`; `<lambda>` for a lambda, as in CPython.
    pub name: String,
    /// Parameters in declaration order: positional-only, ordinary, `*args`, keyword-only, `**kwargs`.
    pub params: Vec<Param>,
    /// The body without its docstring. A lambda's is one `return`.
    pub body: Vec<Stmt>,
    /// From `def` (decorators excluded) or `lambda` to the end of the body.
    pub span: Span,
    /// Where the name stands (for a lambda: the keyword).
    pub name_span: Span,
    /// Every local name: parameters first, then the others in order of first binding, then those of comprehensions.
    pub locals: Vec<String>,
    /// Names that are neither local nor of an enclosing function in this tree, in order of first
    /// use: globals, builtins or closure cells. Those of nested functions are included.
    pub globals: Vec<String>,
    /// Locals of enclosing functions in this tree that this one reads or rebinds, in order of first use.
    pub captures: Vec<String>,
    /// Whether this came from a `lambda`.
    pub is_lambda: bool,
}

/// One parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Param {
    /// Its name.
    pub name: String,
    /// The default as written, resolved in the scope around the function.
    pub default: Option<Expr>,
    /// How arguments reach it.
    pub kind: ParamKind,
    /// Name, annotation and default.
    pub span: Span,
}

/// How arguments reach a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ParamKind {
    /// Before `/`.
    PositionalOnly,
    /// By position or by keyword.
    Ordinary,
    /// `*args`.
    Star,
    /// After `*`.
    KeywordOnly,
    /// `**kwargs`.
    DoubleStar,
}

/// A statement with its place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stmt {
    /// Its text.
    pub span: Span,
    /// What it is.
    pub kind: StmtKind,
}

/// Statements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum StmtKind {
    /// `a = b, c = value`: the value is bound to each target from left to right. Targets are
    /// `Name`, `Attribute`, `Subscript`, `Tuple`, `List` or `Starred` expressions.
    Assign {
        /// At least one.
        targets: Vec<Expr>,
        /// Evaluated first.
        value: Expr,
    },
    /// `target op= value`.
    AugAssign {
        /// `Name`, `Attribute` or `Subscript`.
        target: Expr,
        /// The operator.
        op: BinOp,
        /// The right side.
        value: Expr,
    },
    /// `target: annotation = value`; Python does not evaluate annotations inside functions.
    AnnAssign {
        /// `Name`, `Attribute` or `Subscript`.
        target: Expr,
        /// Absent in a bare declaration, which still makes the name local.
        value: Option<Expr>,
    },
    /// An expression for its effects.
    Expr(Expr),
    /// `return`, with or without a value.
    Return(Option<Expr>),
    /// `if`; an `elif` is an `If` alone in `orelse`.
    If {
        /// The condition.
        test: Expr,
        /// Where it holds.
        body: Vec<Stmt>,
        /// Where it does not; may be empty.
        orelse: Vec<Stmt>,
    },
    /// `for target in iter`.
    For {
        /// As in `Assign`.
        target: Expr,
        /// The iterable.
        iter: Expr,
        /// The loop body.
        body: Vec<Stmt>,
        /// Runs when the loop was not left by `break`; may be empty.
        orelse: Vec<Stmt>,
    },
    /// `while test`.
    While {
        /// The condition.
        test: Expr,
        /// The loop body.
        body: Vec<Stmt>,
        /// Runs when the loop was not left by `break`; may be empty.
        orelse: Vec<Stmt>,
    },
    /// `pass`.
    Pass,
    /// `break`.
    Break,
    /// `continue`.
    Continue,
    /// `assert test, message`.
    Assert {
        /// The condition.
        test: Expr,
        /// Evaluated only when it fails.
        message: Option<Expr>,
    },
    /// `raise exception from cause`.
    Raise {
        /// Absent in a bare `raise`.
        exception: Option<Expr>,
        /// After `from`.
        cause: Option<Expr>,
    },
    /// A nested function without decorators; binds its name.
    Function(Box<Function>),
    /// `try`, with at least one handler or a `finally`.
    Try {
        /// What may raise.
        body: Vec<Stmt>,
        /// In order; the first that fits runs.
        handlers: Vec<Handler>,
        /// Runs when the body did not raise; may be empty.
        orelse: Vec<Stmt>,
        /// Runs on every way out; may be empty.
        finalbody: Vec<Stmt>,
    },
    /// `match subject`.
    Match {
        /// Evaluated once.
        subject: Expr,
        /// In order; the first that fits runs.
        cases: Vec<Case>,
    },
    /// `del a, b[0]`.
    Delete(Vec<Expr>),
    /// Anything else. The library has none.
    #[serde(skip)]
    Unsupported {
        /// What it is, as a noun phrase: "a class definition".
        #[serde(skip)]
        what: &'static str,
    },
}

/// `except class as name:`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Handler {
    /// A class or a tuple of classes; absent: any exception.
    pub class: Option<Expr>,
    /// A `Name`, bound to the exception while the handler runs.
    pub name: Option<Expr>,
    /// The handler.
    pub body: Vec<Stmt>,
    /// Its text.
    pub span: Span,
}

/// `case pattern if guard:`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// What the subject is compared with.
    pub pattern: Pattern,
    /// Evaluated when the pattern fits, after its names are bound.
    pub guard: Option<Expr>,
    /// The statements.
    pub body: Vec<Stmt>,
    /// Its text.
    pub span: Span,
}

/// A pattern with its place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pattern {
    /// Its text.
    pub span: Span,
    /// What it is.
    pub kind: PatternKind,
}

/// Patterns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum PatternKind {
    /// A literal or dotted name: equal to it.
    Value(Expr),
    /// `None`, `True` or `False`: the same object.
    Singleton(Constant),
    /// `[a, *rest, b]`: a sequence whose items fit; at most one is a `Star`.
    Sequence(Vec<Pattern>),
    /// `*name` (or `*_`) in a sequence.
    Star(Option<Expr>),
    /// `pattern as name`; without pattern anything fits, without name (`_`) nothing is bound.
    As {
        /// What must fit.
        pattern: Option<Box<Pattern>>,
        /// A `Name`.
        name: Option<Expr>,
    },
    /// `a | b`: the first that fits; all bind the same names.
    Or(Vec<Pattern>),
    /// `int()` or `int(pattern)`: an instance of the class that fits the pattern.
    Class {
        /// The class.
        class: Expr,
        /// What the value itself must fit.
        inner: Option<Box<Pattern>>,
    },
    /// Anything else. The library has none.
    #[serde(skip)]
    Unsupported {
        /// What it is, as a noun phrase.
        #[serde(skip)]
        what: &'static str,
    },
}

/// An expression with its place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Expr {
    /// Its text, without parentheses around it.
    pub span: Span,
    /// What it is.
    pub kind: ExprKind,
}

/// Expressions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ExprKind {
    /// A literal.
    Constant(Constant),
    /// A name, read or bound.
    Name {
        /// As Python sees it (NFKC-normalised).
        ident: String,
        /// Whose it is.
        binding: Binding,
    },
    /// `left op right`.
    BinOp {
        /// The operator.
        op: BinOp,
        /// Evaluated first.
        left: Box<Expr>,
        /// Evaluated second.
        right: Box<Expr>,
    },
    /// `op operand`.
    UnaryOp {
        /// The operator.
        op: UnaryOp,
        /// The operand.
        operand: Box<Expr>,
    },
    /// `a and b and c`: at least two values, short-circuiting.
    BoolOp {
        /// Which.
        op: BoolOp,
        /// From left to right.
        values: Vec<Expr>,
    },
    /// `a < b <= c`: each operand is evaluated at most once, from left to right.
    Compare {
        /// The first operand.
        left: Box<Expr>,
        /// At least one comparison with the operand before it.
        rest: Vec<(CmpOp, Expr)>,
    },
    /// `func(args, keywords)`.
    Call {
        /// What is called.
        func: Box<Expr>,
        /// Positional arguments; `*xs` is `Starred`.
        args: Vec<Expr>,
        /// Keyword arguments and `**xs`; Python evaluates them after all of `args`.
        keywords: Vec<Keyword>,
    },
    /// `value.attr`.
    Attribute {
        /// The object.
        value: Box<Expr>,
        /// The name after the dot.
        attr: String,
        /// Where that name stands.
        attr_span: Span,
    },
    /// `value[indices]`.
    Subscript {
        /// What is indexed.
        value: Box<Expr>,
        /// The index, or the elements of an index tuple.
        indices: Vec<Expr>,
        /// Whether the index is a tuple: true for `a[i, j]`, `a[i,]`, `a[()]`; false for `a[i]`.
        tuple: bool,
    },
    /// `lower:upper:step`, only inside `Subscript`.
    Slice {
        /// The start.
        lower: Option<Box<Expr>>,
        /// The stop.
        upper: Option<Box<Expr>>,
        /// The step.
        step: Option<Box<Expr>>,
    },
    /// A tuple display or target.
    Tuple(Vec<Expr>),
    /// A list display or target.
    List(Vec<Expr>),
    /// `*value` in a call, display, index or target.
    Starred(Box<Expr>),
    /// `body if test else orelse`.
    IfExp {
        /// Evaluated first.
        test: Box<Expr>,
        /// The value where it holds.
        body: Box<Expr>,
        /// The value where it does not.
        orelse: Box<Expr>,
    },
    /// `(target := value)`.
    Named {
        /// Always a `Name`.
        target: Box<Expr>,
        /// The value, also of the whole.
        value: Box<Expr>,
    },
    /// A lambda.
    Lambda(Box<Function>),
    /// A list comprehension or generator expression.
    Comprehension(Box<Comprehension>),
    /// An f-string, its implicitly concatenated parts joined.
    Format {
        /// The text before, between and behind the values: one more than these.
        parts: Vec<String>,
        /// Each value with its conversion and format as written: `!r:>8`.
        values: Vec<(Expr, String)>,
    },
    /// Anything else. The library has none.
    #[serde(skip)]
    Unsupported {
        /// What it is, as a noun phrase: "a set comprehension".
        #[serde(skip)]
        what: &'static str,
    },
}

/// `[element for target in iter if test …]`.
///
/// Its targets are names of its own. In this tree they are locals of the function around it, each with a name that no
/// other has (`i.0`: Python's names have no dots).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comprehension {
    /// Whether it stands in parentheses: its items are then made when they are asked for.
    pub is_generator: bool,
    /// The value of each item.
    pub element: Expr,
    /// From the outermost loop inwards. The first iterable is evaluated in the scope around the comprehension.
    pub loops: Vec<ComprehensionLoop>,
    /// The names of its targets.
    pub locals: Vec<String>,
}

/// `for target in iter if test …`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComprehensionLoop {
    /// As in `Assign`.
    pub target: Expr,
    /// The iterable.
    pub iter: Expr,
    /// What must hold, in order.
    pub tests: Vec<Expr>,
}

/// A keyword argument.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Keyword {
    /// The name, or `None` for `**value`.
    pub name: Option<String>,
    /// The value.
    pub value: Expr,
    /// Name and value.
    pub span: Span,
}

/// Whose a name is, by Python's scope rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Binding {
    /// A parameter, or bound somewhere in the function itself.
    Local,
    /// A local of an enclosing function in this tree (only inside nested functions).
    Enclosing,
    /// Global, builtin, or a closure cell of a function outside this tree: the caller decides.
    Free,
}

/// A literal's value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Constant {
    /// `None`.
    None,
    /// `True` or `False`.
    Bool(bool),
    /// An integer of any size, never negative.
    Int {
        /// In decimal, without underscores or leading zeros.
        text: String,
        /// Its value where it fits.
        value: Option<i128>,
    },
    /// A float.
    Float(f64),
    /// An imaginary literal: `2j` is `Complex(2.0)`.
    Complex(f64),
    /// A string, its implicitly concatenated parts joined.
    Str(String),
    /// `...`.
    Ellipsis,
}

macro_rules! operators {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum $name { $(#[doc = concat!("`", $text, "`")] $variant,)* }

        impl $name {
            /// The operator as Python writes it.
            pub fn as_str(self) -> &'static str {
                match self { $($name::$variant => $text,)* }
            }
        }
    };
}

operators!(
    /// Binary operators.
    BinOp {
        Add = "+", Sub = "-", Mul = "*", MatMul = "@", Div = "/", FloorDiv = "//", Mod = "%",
        Pow = "**", LShift = "<<", RShift = ">>", BitOr = "|", BitXor = "^", BitAnd = "&",
    }
);
operators!(
    /// Unary operators.
    UnaryOp { Invert = "~", Not = "not", Pos = "+", Neg = "-", }
);
operators!(
    /// Short-circuiting operators.
    BoolOp { And = "and", Or = "or", }
);
operators!(
    /// Comparisons.
    CmpOp {
        Eq = "==", NotEq = "!=", Lt = "<", LtE = "<=", Gt = ">", GtE = ">=", Is = "is",
        IsNot = "is not", In = "in", NotIn = "not in",
    }
);
