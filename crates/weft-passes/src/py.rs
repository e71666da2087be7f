//! Syntax tree → IR at stage `py`: untyped SSA, one op per Python operation, structured control flow.
//!
//! Locals become values. A name that an `if` arm rebinds is a result of its `scf.if`; one that a loop
//! body rebinds is carried by its `py.for`: but only where it is read afterwards ([`live`]), so that
//! temporaries of different types in two arms never meet. A name that some path leaves unassigned is
//! `py.unbound` there. `return` ends its region; where both arms of an `if` return, they yield and one
//! `return` follows, so that every region ends with a terminator and no dead op is made. Statements
//! after a `return` are not lowered.
//!
//! In: a [`Function`] of `weft-syntax`. Out: a [`Func`], or a `Diagnostic` at the first statement or
//! expression that the ops do not cover.

mod expr;
mod live;
mod refuse;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use weft_diag::{Diagnostic, Span};
use weft_ir::attr::{BinOp, Const};
use weft_ir::{Builder, Func, Op, RegionId, Type, ValueId};
use weft_syntax::{Expr, ExprKind, Function, ParamKind, Stmt, StmtKind};

use live::{Exits, Names};
use refuse::{attribute_target, refused, unsupported};

/// Lowers one function.
pub fn lower(function: &Function) -> Result<Func, Diagnostic> {
    let mut func = Func::new(if function.is_lambda { "lambda" } else { &function.name });
    let mut lower = Lower { b: Builder::new(&mut func), function, env: BTreeMap::new(), exits: Exits::default() };
    for param in &function.params {
        if matches!(param.kind, ParamKind::Star | ParamKind::DoubleStar) {
            let stars = if param.kind == ParamKind::Star { "*" } else { "**" };
            let message = format!("a `{stars}{}` parameter is not supported", param.name);
            return Err(Diagnostic::unsupported(param.span, message).help("name each parameter"));
        }
        let value = lower.arg(&param.name);
        lower.env.insert(&param.name, value);
    }
    if lower.block(&function.body, &Names::new())? == Flow::Falls {
        let end = Span { start: function.span.end, ..function.span };
        let none = lower.none(end);
        lower.effect(end, Op::Return, &[none]);
    }
    Ok(func)
}

/// Whether control reaches what follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    Falls,
    Leaves,
}

struct Lower<'a, 'f> {
    b: Builder<'f>,
    function: &'a Function,
    /// The value of each local name here; a name that is missing is unbound.
    env: BTreeMap<&'a str, ValueId>,
    /// What is live where `break` and `continue` go.
    exits: Exits<'a>,
}

/// One lowered arm of an `scf.if`, not yet terminated if it falls.
struct Arm<'a> {
    region: RegionId,
    flow: Flow,
    /// What it yields besides rebound names.
    values: Vec<ValueId>,
    env: BTreeMap<&'a str, ValueId>,
}

impl<'a> Lower<'a, '_> {
    fn value(&mut self, span: Span, op: Op, operands: &[ValueId]) -> ValueId {
        self.b.span = span;
        self.b.value(op, operands, Type::Untyped)
    }

    fn effect(&mut self, span: Span, op: Op, operands: &[ValueId]) {
        self.b.span = span;
        self.b.effect(op, operands);
    }

    fn none(&mut self, span: Span) -> ValueId {
        self.value(span, Op::PyConst { value: Const::None }, &[])
    }

    /// A new argument of the current region, printed with a local's name.
    fn arg(&mut self, name: &str) -> ValueId {
        let value = self.b.arg(Type::Untyped);
        self.name(value, name);
        value
    }

    /// Names a value in text and messages.
    fn name(&mut self, value: ValueId, name: &str) {
        if name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            self.b.func.values[value.index()].name = name.to_string();
        }
    }

    /// What a local name holds here.
    fn local(&mut self, name: &str, span: Span) -> ValueId {
        match self.env.get(name) {
            Some(&value) => value,
            None => self.value(span, Op::PyUnbound { name: name.to_string() }, &[]),
        }
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
            StmtKind::Return(value) => {
                let value = match value {
                    Some(value) => self.expr(value)?,
                    None => self.none(span),
                };
                self.effect(span, Op::Return, &[value]);
                return Ok(Flow::Leaves);
            }
            StmtKind::If { test, body, orelse } => {
                let test = self.condition(test)?;
                let (flow, _) = self.branch(
                    span,
                    test,
                    Some(after),
                    |l| Ok((l.block(body, after)?, vec![])),
                    |l| Ok((l.block(orelse, after)?, vec![])),
                )?;
                return Ok(flow);
            }
            StmtKind::For { target, iter, body, orelse } => {
                let iter = self.expr(iter)?;
                self.for_loop(span, target, iter, body, orelse, after)?;
                // Without `break` the `else` of a loop always runs.
                return self.block(orelse, after);
            }
            StmtKind::While { .. } => {
                return Err(unsupported(span, "a `while` loop", "write a `for` loop over a range"));
            }
            StmtKind::Break => return Err(unsupported(span, "`break`", "let the loop run, under an `if`")),
            StmtKind::Continue => {
                return Err(unsupported(span, "`continue`", "put the rest of the loop body under an `if`"));
            }
            StmtKind::Assert { .. } => return Err(unsupported(span, "`assert`", "check before the call")),
            StmtKind::Raise { .. } => return Err(unsupported(span, "`raise`", "check before the call")),
            StmtKind::Function(function) => {
                let help = "define it outside and pass what it needs as arguments";
                return Err(unsupported(function.name_span, "a nested function", help));
            }
            StmtKind::Unsupported { what } => return Err(refused(span, what)),
        }
        Ok(Flow::Falls)
    }

    /// `a = b = value`. `a, b = x, y` needs no tuple: values are made first, then bound in order.
    fn assign_all(&mut self, targets: &'a [Expr], value: &'a Expr, span: Span) -> Result<(), Diagnostic> {
        if let ([target], ExprKind::Tuple(values)) = (targets, &value.kind)
            && let ExprKind::Tuple(targets) | ExprKind::List(targets) = &target.kind
            && targets.len() == values.len()
            && !targets.iter().chain(values).any(|e| matches!(e.kind, ExprKind::Starred(_)))
        {
            let values = self.exprs(values)?;
            return targets.iter().zip(values).try_for_each(|(t, v)| self.assign(t, v, span));
        }
        let value = self.expr(value)?;
        targets.iter().try_for_each(|target| self.assign(target, value, span))
    }

    fn assign(&mut self, target: &'a Expr, value: ValueId, span: Span) -> Result<(), Diagnostic> {
        match &target.kind {
            ExprKind::Name { ident, .. } => {
                self.env.insert(ident, value);
            }
            ExprKind::Tuple(targets) | ExprKind::List(targets) => {
                if targets.is_empty() {
                    return Err(unsupported(target.span, "an empty target", "leave the assignment out"));
                }
                self.b.span = target.span;
                let op = self.b.op(Op::PyUnpack, &[value], &vec![Type::Untyped; targets.len()], &[]);
                let parts = self.b.func.op(op).results.clone();
                for (target, part) in targets.iter().zip(parts) {
                    self.assign(target, part, span)?;
                }
            }
            ExprKind::Subscript { value: base, indices, tuple } => {
                let place = self.place(base, indices, *tuple, target.span)?;
                self.effect(span, Op::PySetIndex, &[&[value], &place[..]].concat());
            }
            ExprKind::Attribute { .. } => return Err(attribute_target(target.span)),
            ExprKind::Starred(_) => {
                return Err(unsupported(target.span, "a starred target", "unpack into one name for each value"));
            }
            _ => return Err(Diagnostic::internal(target.span, "the parser made this a target")),
        }
        Ok(())
    }

    /// `target op= value`: base and indices are evaluated once, and the old value is read before `value`.
    fn augment(
        &mut self,
        target: &'a Expr,
        op: weft_syntax::BinOp,
        value: &'a Expr,
        span: Span,
    ) -> Result<(), Diagnostic> {
        let op = Op::PyBinop { op: binop(op), inplace: true };
        match &target.kind {
            ExprKind::Name { ident, .. } => {
                let old = self.local(ident, target.span);
                let value = self.expr(value)?;
                let new = self.value(span, op, &[old, value]);
                self.env.insert(ident, new);
            }
            ExprKind::Subscript { value: base, indices, tuple } => {
                let place = self.place(base, indices, *tuple, target.span)?;
                let old = self.value(target.span, Op::PyIndex, &place);
                let value = self.expr(value)?;
                let new = self.value(span, op, &[old, value]);
                self.effect(span, Op::PySetIndex, &[&[new], &place[..]].concat());
            }
            _ => return Err(attribute_target(target.span)),
        }
        Ok(())
    }

    /// Lowers both arms of a condition and joins what they rebind. `live` limits the join to names read later.
    /// Returns the values both arms yield (or the one that falls).
    fn branch(
        &mut self,
        span: Span,
        test: ValueId,
        live: Option<&Names<'a>>,
        then: impl FnOnce(&mut Self) -> Result<(Flow, Vec<ValueId>), Diagnostic>,
        orelse: impl FnOnce(&mut Self) -> Result<(Flow, Vec<ValueId>), Diagnostic>,
    ) -> Result<(Flow, Vec<ValueId>), Diagnostic> {
        let arms = [self.arm(then)?, self.arm(orelse)?];
        let regions = [arms[0].region, arms[1].region];
        let falling: Vec<&Arm> = arms.iter().filter(|a| a.flow == Flow::Falls).collect();
        if falling.is_empty() {
            let results = if self.return_to_yield(regions) { vec![Type::Untyped] } else { vec![] };
            self.b.span = span;
            let op = self.b.op(Op::ScfIf, &[test], &results, &regions);
            if let Some(&value) = self.b.func.op(op).results.first() {
                self.effect(span, Op::Return, &[value]);
            }
            return Ok((Flow::Leaves, vec![]));
        }
        let rebound = |name: &&'a str| falling.iter().any(|arm| arm.env.get(name) != self.env.get(name));
        let wanted = |name: &&'a str| live.is_none_or(|live| live.contains(name));
        let joined: Vec<&'a str> =
            self.function.locals.iter().map(String::as_str).filter(wanted).filter(rebound).collect();
        for arm in &falling {
            let here = std::mem::replace(&mut self.b.region, arm.region);
            let around = std::mem::replace(&mut self.env, arm.env.clone());
            let names: Vec<ValueId> = joined.iter().map(|name| self.local(name, span)).collect();
            self.effect(span, Op::Yield, &[&arm.values[..], &names].concat());
            self.env = around;
            self.b.region = here;
        }
        let count = falling[0].values.len();
        self.b.span = span;
        let op = self.b.op(Op::ScfIf, &[test], &vec![Type::Untyped; count + joined.len()], &regions);
        let results = self.b.func.op(op).results.to_vec();
        for (&name, &value) in joined.iter().zip(&results[count..]) {
            self.name(value, name);
            self.env.insert(name, value);
        }
        Ok((Flow::Falls, results[..count].to_vec()))
    }

    /// Lowers one arm into a region of its own; the names around it are as before afterwards.
    fn arm(
        &mut self,
        fill: impl FnOnce(&mut Self) -> Result<(Flow, Vec<ValueId>), Diagnostic>,
    ) -> Result<Arm<'a>, Diagnostic> {
        let region = self.b.func.new_region();
        let here = std::mem::replace(&mut self.b.region, region);
        let around = self.env.clone();
        let filled = fill(self);
        let env = std::mem::replace(&mut self.env, around);
        self.b.region = here;
        let (flow, values) = filled?;
        Ok(Arm { region, flow, values, env })
    }

    /// Makes the `return`s that end these regions yield instead. False if none of them returns.
    fn return_to_yield(&mut self, regions: [RegionId; 2]) -> bool {
        let mut any = false;
        for region in regions {
            if let Some(&last) = self.b.func.region(region).ops.last() {
                let op = &mut self.b.func.ops[last.index()].op;
                if *op == Op::Return {
                    *op = Op::Yield;
                    any = true;
                }
            }
        }
        any
    }

    fn for_loop(
        &mut self,
        span: Span,
        target: &'a Expr,
        iter: ValueId,
        body: &'a [Stmt],
        orelse: &'a [Stmt],
        after: &Names<'a>,
    ) -> Result<(), Diagnostic> {
        let (head, exits) = live::loop_head(Some(target), None, body, orelse, after, &self.exits);
        let assigned = live::assigned(Some(target), body);
        let carried = self.function.locals.iter().map(String::as_str);
        let carried: Vec<&'a str> = carried.filter(|n| assigned.contains(n) && head.contains(n)).collect();
        let inits: Vec<ValueId> = carried.iter().map(|name| self.local(name, span)).collect();

        let region = self.b.func.new_region();
        let here = std::mem::replace(&mut self.b.region, region);
        let around = self.env.clone();
        let outer = std::mem::replace(&mut self.exits, exits);
        let item = self.b.arg(Type::Untyped);
        if let ExprKind::Name { ident, .. } = &target.kind {
            self.name(item, ident);
        }
        // A name that may be unbound before the loop is, for the body, whatever the loop carries.
        for &name in &carried {
            let value = self.arg(name);
            self.env.insert(name, value);
        }
        self.assign(target, item, target.span)?;
        if self.block(body, &head)? == Flow::Falls {
            let values: Vec<ValueId> = carried.iter().map(|name| self.local(name, span)).collect();
            self.effect(span, Op::Yield, &values);
        }
        self.exits = outer;
        self.env = around;
        self.b.region = here;

        self.b.span = span;
        let operands = [&[iter], &inits[..]].concat();
        let op = self.b.op(Op::PyFor, &operands, &vec![Type::Untyped; carried.len()], &[region]);
        let results = self.b.func.op(op).results.clone();
        for (&name, value) in carried.iter().zip(results) {
            self.name(value, name);
            self.env.insert(name, value);
        }
        Ok(())
    }
}

/// The IR's name of an operator.
fn binop(op: weft_syntax::BinOp) -> BinOp {
    // Both enums hold all of Python's operators, spelled as Python does (a test goes through them).
    BinOp::from_text(op.as_str()).unwrap()
}
