//! Syntax tree → IR at stage `py`: untyped SSA, one op per Python operation, structured control flow.
//!
//! **Names.** Locals become values. A name that an `if` arm rebinds is a result of its `scf.if`, one that a loop body
//! rebinds is carried by its loop: but only where it is read afterwards ([`live`]), so that temporaries of different
//! types in two arms never meet. A name that some path leaves unassigned is `py.unbound` there. Names that must be read
//! and written by place are cells: for the whole function where nested functions or generators share them ([`cells`]),
//! and for the time of a `try` where its body binds what is read after an exception.
//!
//! **Control flow.** Every region ends with a terminator, and statements after one are not lowered. Where the first arm
//! of an `if` leaves, what stands in its `else` follows the `scf.if` instead. Where both arms return, they yield and one
//! `return` follows. What never ends is followed by `py.unreachable`. The shapes:
//!
//! ```text
//! while t: B  else: E     scf.loop(carried) { ^(carried): t; scf.if(t) {yield()} {E; break 0 (results)}; B; yield(carried) }
//! for x in i: B           py.for(i, carried) { ^(x, carried): B; yield(carried) }
//! for … break … else: E   scf.block { py.for(i, carried) { … break 1 (results) … }; E; yield(results) }
//! try: B except C: H      scf.block { py.try {B; yield()} {scf.if(py.catch(C)) {H; break 0 (results)} {yield()}; py.raise()};
//!   else: E                           E; yield(results) }
//! try: T finally: F       py.try {T; yield()} {F; py.raise()}; F
//!   with jumps in T       scf.block { r = scf.block { py.try {… break 0 (value) …} {F; py.raise()}; F; break 1 }; F; return(r) }
//! match s: case P: B      scf.if(P fits s) {names of P; B} {the other cases}; with guards: scf.block { … B; break … }
//! assert t, m             scf.if(t) {yield()} {py.raise(AssertionError(m))}
//! [e for x in i if t]     l = py.list(); py.for(i) { ^(x): scf.if(t) {py.append(l, e)} … }
//! ```
//!
//! In: a [`Function`] of `weft-syntax`. Out: a [`PyFunction`], or a `Diagnostic` at the first statement or expression
//! that the ops do not cover. In the order data flows: statements here, `assign`, `branch`, `loops`, `errors` (`raise`,
//! `try`), `matching`, `expr`, `comprehend`, `closure`.

mod assign;
mod branch;
mod cells;
mod closure;
mod comprehend;
mod errors;
mod expr;
mod live;
mod loops;
mod matching;
mod refuse;
#[cfg(test)]
mod tests;
mod walk;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use weft_diag::{Diagnostic, Span};
use weft_ir::attr::Const;
use weft_ir::{Builder, Func, Op, RegionId, Type, ValueId};
pub use weft_syntax::ParamKind;
use weft_syntax::{Expr, ExprKind, Function, Stmt, StmtKind};

use live::{Exits, Names};
use loops::Frame;
use refuse::{refused, unsupported};

/// A function at stage `py`, with what calls of it need.
#[derive(Clone, Debug)]
pub struct PyFunction {
    /// Its ops. Parameters are the captured values, in the order of `captures`, and then one for each declared
    /// parameter (`*args` is one tuple).
    pub func: Func,
    /// The declared parameters.
    pub params: Vec<PyParam>,
    /// Names of enclosing functions that it reads or rebinds; none for a function that stands alone.
    pub captures: Vec<String>,
    /// The functions defined in it, as `py.closure` counts them.
    pub nested: Vec<Arc<PyFunction>>,
    /// What was assigned to which name, and where: for messages.
    pub assigned: Vec<(String, ValueId, Span)>,
    /// From `def` or `lambda` to the end of the body.
    pub span: Span,
}

impl PyFunction {
    /// Where a name got a value: the last assignment of it, or the operation that made it.
    pub fn assigned_at(&self, name: &str, value: ValueId) -> Option<Span> {
        let assigned = self.assigned.iter().rfind(|(n, v, _)| n == name && *v == value).map(|(.., span)| *span);
        let made = || self.func.ops.iter().find(|op| op.results.contains(&value)).map(|op| op.span);
        assigned.or_else(made).filter(|span| span.is_known())
    }
}

/// A declared parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct PyParam {
    /// Its name.
    pub name: String,
    /// How arguments reach it.
    pub kind: ParamKind,
    /// Whether calls may leave it out. The defaults of a nested function are operands of its `py.closure`.
    pub has_default: bool,
}

/// Lowers one function.
pub fn lower(function: &Function) -> Result<PyFunction, Diagnostic> {
    lower_function(function, &[], vec![], None)
}

/// Lowers a function with its captured names (whether each is a cell), those of them that may be unbound, and the name by which
/// it calls itself.
fn lower_function(
    function: &Function,
    captures: &[(&str, bool)],
    unsure: Vec<String>,
    own: Option<&str>,
) -> Result<PyFunction, Diagnostic> {
    let mut func = Func::new(if function.is_lambda { "lambda" } else { &function.name });
    let mut lower = Lower::new(&mut func, function);
    for &(name, cell) in captures {
        let value = lower.arg(name);
        lower.env.insert(name, if cell { Slot::Cell(value) } else { Slot::Value(value) });
        if cell {
            lower.cells.insert(name);
        }
        lower.free.insert(name);
    }
    lower.unsure.extend(unsure);
    for param in &function.params {
        if param.kind == ParamKind::DoubleStar {
            let message = format!("a `**{}` parameter is not supported", param.name);
            return Err(Diagnostic::unsupported(param.span, message).help("name each parameter"));
        }
        let value = lower.arg(&param.name);
        lower.env.insert(&param.name, Slot::Value(value));
    }
    if let Some(name) = own {
        let value = lower.value(function.name_span, Op::PySelf, &[]);
        lower.env.insert(name, Slot::Value(value));
    }
    // Those of comprehensions begin with these.
    let cells = function.locals.iter().map(String::as_str).filter(|name| !name.contains('.'));
    let cells: Vec<&str> = cells.filter(|name| lower.cells.contains(name)).collect();
    lower.enter_cells(&cells, function.name_span);
    if lower.block(&function.body, &Names::new())? == Flow::Falls {
        let end = Span { start: function.span.end, ..function.span };
        let none = lower.none(end);
        lower.effect(end, Op::Return, &[none]);
    }
    let (nested, assigned) = (lower.nested, lower.assigned);
    let param =
        |p: &weft_syntax::Param| PyParam { name: p.name.clone(), kind: p.kind, has_default: p.default.is_some() };
    Ok(PyFunction {
        func,
        params: function.params.iter().map(param).collect(),
        captures: captures.iter().map(|(name, _)| plain(name).to_string()).collect(),
        nested,
        assigned,
        span: function.span,
    })
}

/// Whether control reaches what follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    Falls,
    Leaves,
}

/// Where a name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    Value(ValueId),
    Cell(ValueId),
}

/// The place of each local name; one that is missing is unbound.
type Env<'a> = BTreeMap<&'a str, Slot>;

struct Lower<'a, 'f> {
    b: Builder<'f>,
    function: &'a Function,
    env: Env<'a>,
    /// Names that are cells wherever they are seen.
    cells: Names<'a>,
    /// Names of nested functions that stand for themselves inside.
    own: Names<'a>,
    /// Names that were seen unbound on some path so far.
    unsure: HashSet<String>,
    /// Names that are captured.
    free: Names<'a>,
    /// How many comprehensions are around.
    comprehensions: u32,
    /// What is live where `break` and `continue` go.
    exits: Exits<'a>,
    /// The loops and `finally`s that jumps go through, innermost last.
    frames: Vec<Frame<'a>>,
    /// How many loops and blocks are around, as exits count them.
    depth: u32,
    /// How many handlers are around.
    handlers: u32,
    nested: Vec<Arc<PyFunction>>,
    assigned: Vec<(String, ValueId, Span)>,
}

impl<'a, 'f> Lower<'a, 'f> {
    fn new(func: &'f mut Func, function: &'a Function) -> Self {
        let captured = cells::captured(function);
        Lower {
            b: Builder::new(func),
            function,
            env: Env::new(),
            cells: captured.cells,
            own: captured.own,
            unsure: HashSet::new(),
            free: Names::new(),
            comprehensions: 0,
            exits: Exits::default(),
            frames: vec![],
            depth: 0,
            handlers: 0,
            nested: vec![],
            assigned: vec![],
        }
    }

    fn value(&mut self, span: Span, op: Op, operands: &[ValueId]) -> ValueId {
        self.b.span = span;
        self.b.value(op, operands, Type::Untyped)
    }

    fn effect(&mut self, span: Span, op: Op, operands: &[ValueId]) {
        self.b.span = span;
        self.b.effect(op, operands);
    }

    /// An op with regions.
    fn held(&mut self, span: Span, op: Op, operands: &[ValueId], results: usize, regions: &[RegionId]) -> Vec<ValueId> {
        self.b.span = span;
        let op = self.b.op(op, operands, &vec![Type::Untyped; results], regions);
        self.b.func.op(op).results.to_vec()
    }

    fn constant(&mut self, span: Span, value: Const) -> ValueId {
        self.value(span, Op::PyConst { value }, &[])
    }

    fn none(&mut self, span: Span) -> ValueId {
        self.constant(span, Const::None)
    }

    /// A new argument of the current region, printed with a local's name.
    fn arg(&mut self, name: &str) -> ValueId {
        let value = self.b.arg(Type::Untyped);
        self.name(value, name);
        value
    }

    /// Names a value in text and messages.
    fn name(&mut self, value: ValueId, name: &str) {
        let name = plain(name);
        if name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            self.b.func.values[value.index()].name = name.to_string();
        }
    }

    /// What a local or captured name holds here.
    fn local(&mut self, name: &str, span: Span) -> ValueId {
        match self.env.get(name) {
            Some(&Slot::Value(value)) => value,
            Some(&Slot::Cell(cell)) => self.value(span, Op::PyGet, &[cell]),
            None => {
                self.unsure.insert(name.to_owned());
                self.value(span, Op::PyUnbound { name: plain(name).to_string() }, &[])
            }
        }
    }

    /// What a name holds in an expression: it must be bound there, also if nothing is done with the value.
    fn read(&mut self, name: &str, span: Span) -> ValueId {
        // Names with a dot are the comprehensions' own.
        let is_free = self.free.contains(name) || (self.comprehensions > 0 && !name.contains('.'));
        if let Some(&Slot::Cell(cell)) = self.env.get(name) {
            if !is_free {
                return self.value(span, Op::PyGet, &[cell]);
            }
            let held = self.value(span, Op::PyTake, &[cell]);
            return self.value(span, Op::PyReadFree, &[held]);
        }
        let value = self.local(name, span);
        match self.unsure.contains(name) {
            true => self.value(span, if is_free { Op::PyReadFree } else { Op::PyRead }, &[value]),
            false => value,
        }
    }

    /// What names hold, to be passed on: they need not be bound.
    fn locals(&mut self, names: &[&str], span: Span) -> Vec<ValueId> {
        names.iter().map(|name| self.passed_on(name, span)).collect()
    }

    /// What a name holds, if it is bound.
    fn passed_on(&mut self, name: &str, span: Span) -> ValueId {
        match self.env.get(name) {
            Some(&Slot::Cell(cell)) => self.value(span, Op::PyTake, &[cell]),
            _ => self.local(name, span),
        }
    }

    /// Binds a name.
    fn set_local(&mut self, name: &'a str, value: ValueId, span: Span) {
        self.assigned.push((plain(name).to_string(), value, span));
        match self.env.get(name) {
            Some(&Slot::Cell(cell)) => self.effect(span, Op::PySet, &[value, cell]),
            _ => {
                self.env.insert(name, Slot::Value(value));
            }
        }
    }

    /// Binds names to the results of an op.
    fn set_results(&mut self, names: &[&'a str], values: &[ValueId]) {
        for (&name, &value) in names.iter().zip(values) {
            self.name(value, name);
            self.env.insert(name, Slot::Value(value));
        }
    }

    /// Unbinds a name.
    fn unset(&mut self, name: &'a str, span: Span) {
        match self.env.get(name) {
            Some(&Slot::Cell(cell)) => {
                let unbound = self.value(span, Op::PyUnbound { name: plain(name).to_string() }, &[]);
                self.effect(span, Op::PySet, &[unbound, cell]);
            }
            _ => {
                self.env.remove(name);
            }
        }
    }

    /// Makes these names cells that hold what the names held.
    fn enter_cells(&mut self, names: &[&'a str], span: Span) {
        for &name in names {
            let value = self.local(name, span);
            let cell = self.value(span, Op::PyCell { name: plain(name).to_string() }, &[value]);
            self.name(cell, name);
            self.env.insert(name, Slot::Cell(cell));
        }
    }

    /// Makes these names values again. Those that nobody reads any more are not.
    fn leave_cells(&mut self, names: &[&'a str], live: &Names<'a>, span: Span) {
        for &name in names {
            if live.contains(name) {
                let value = self.passed_on(name, span);
                self.env.insert(name, Slot::Value(value));
            } else {
                self.env.remove(name);
            }
        }
    }

    /// Of these names, in the order of the function's locals, those that are values here.
    fn by_value(&self, wanted: impl Fn(&str) -> bool) -> Vec<&'a str> {
        let locals = self.function.locals.iter().map(String::as_str);
        locals.filter(|n| wanted(n) && !matches!(self.env.get(n), Some(Slot::Cell(_)))).collect()
    }

    /// Fills a region of its own; the names around it are as before afterwards.
    fn region<R>(
        &mut self,
        fill: impl FnOnce(&mut Self) -> Result<R, Diagnostic>,
    ) -> Result<(RegionId, R, Env<'a>), Diagnostic> {
        let region = self.b.func.new_region();
        let here = std::mem::replace(&mut self.b.region, region);
        let around = self.env.clone();
        let filled = fill(self);
        let env = std::mem::replace(&mut self.env, around);
        self.b.region = here;
        Ok((region, filled?, env))
    }

    /// As `region`, of a loop or block: `fill` is told its level, which is what `break_to` takes.
    fn breakable<R>(
        &mut self,
        fill: impl FnOnce(&mut Self, u32) -> Result<R, Diagnostic>,
    ) -> Result<(RegionId, R), Diagnostic> {
        let level = self.depth;
        self.depth += 1;
        let filled = self.region(|l| fill(l, level));
        self.depth -= 1;
        filled.map(|(region, filled, _)| (region, filled))
    }

    /// Lowers statements in order. `after` is what is live behind them.
    fn block(&mut self, stmts: &'a [Stmt], after: &Names<'a>) -> Result<Flow, Diagnostic> {
        let behind = live::behind_each(stmts, after, &self.exits);
        for (stmt, after) in stmts.iter().zip(&behind) {
            if self.stmt(stmt, after)? == Flow::Leaves {
                return Ok(Flow::Leaves);
            }
        }
        Ok(Flow::Falls)
    }

    fn stmt(&mut self, stmt: &'a Stmt, after: &Names<'a>) -> Result<Flow, Diagnostic> {
        let span = stmt.span;
        match &stmt.kind {
            StmtKind::Pass => {}
            // A literal alone is a comment, whatever its type.
            StmtKind::Expr(Expr { kind: ExprKind::Constant(_), .. }) => {}
            StmtKind::Expr(value) => {
                self.expr(value)?;
            }
            StmtKind::Assign { targets, value } => self.assign_all(targets, value, span)?,
            StmtKind::AugAssign { target, op, value } => self.augment(target, *op, value, span)?,
            StmtKind::AnnAssign { target, value: Some(value) } => {
                self.assign_all(std::slice::from_ref(target), value, span)?;
            }
            StmtKind::AnnAssign { target, value: None } => {
                if !matches!(target.kind, ExprKind::Name { .. }) {
                    return Err(unsupported(span, "a declaration without a value", "assign a value, or leave it out"));
                }
            }
            StmtKind::Delete(targets) => targets.iter().try_for_each(|t| self.delete(t))?,
            StmtKind::Return(value) => {
                let value = match value {
                    Some(value) => self.expr(value)?,
                    None => self.none(span),
                };
                self.leave_function(span, value);
                return Ok(Flow::Leaves);
            }
            StmtKind::If { test, body, orelse } => {
                let test = self.condition(test)?;
                return self.choose(span, test, after, |l| l.block(body, after), |l| l.block(orelse, after));
            }
            StmtKind::For { target, iter, body, orelse } => {
                let iter = self.expr(iter)?;
                return self.for_loop(span, target, iter, body, orelse, after);
            }
            StmtKind::While { test, body, orelse } => return self.while_loop(span, test, body, orelse, after),
            StmtKind::Break => return self.jump(span, true),
            StmtKind::Continue => return self.jump(span, false),
            StmtKind::Assert { test, message } => self.assert(span, test, message.as_ref())?,
            StmtKind::Raise { exception, cause } => {
                return self.raise(span, exception.as_ref(), cause.as_ref());
            }
            StmtKind::Try { body, handlers, orelse, finalbody } if finalbody.is_empty() => {
                return self.try_except(span, body, handlers, orelse, after);
            }
            StmtKind::Try { body, handlers, orelse, finalbody } => {
                return self.try_finally(span, body, handlers, orelse, finalbody, after);
            }
            StmtKind::Match { subject, cases } => return self.match_stmt(span, subject, cases, after),
            StmtKind::Function(function) => self.define(function)?,
            StmtKind::Unsupported { what } => return Err(refused(span, what)),
        }
        Ok(Flow::Falls)
    }
}

/// A name as the user wrote it: those of comprehensions have a number in this tree.
fn plain(name: &str) -> &str {
    name.split_once('.').map_or(name, |(name, _)| name)
}
