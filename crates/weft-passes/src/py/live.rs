//! Which locals are still read: liveness over the syntax tree, backwards.
//!
//! The tree is structured, so there is no fixed point to look for: what a loop body needs from its
//! own earlier iterations is what it reads before writing, found in one walk.

use std::collections::BTreeSet;

use weft_syntax::{Binding, Expr, ExprKind, Function, Stmt, StmtKind};

/// Local names.
pub(super) type Names<'a> = BTreeSet<&'a str>;

/// What is live where the jumps of the innermost loop go.
#[derive(Clone, Debug, Default)]
pub(super) struct Exits<'a> {
    broke: Names<'a>,
    continued: Names<'a>,
}

/// What is live behind each of these statements, if `after` is behind the last.
pub(super) fn behind_each<'a>(stmts: &'a [Stmt], after: &Names<'a>, exits: &Exits<'a>) -> Vec<Names<'a>> {
    let mut behind = Vec::with_capacity(stmts.len());
    let mut live = after.clone();
    for stmt in stmts.iter().rev() {
        let before = before(stmt, &live, exits);
        behind.push(std::mem::replace(&mut live, before));
    }
    behind.reverse();
    behind
}

/// What is live at the head of a loop (before the next item is taken or the test made, so also
/// when it ends), and where its jumps go. `target` for a `for` loop, `test` for a `while` loop.
pub(super) fn loop_head<'a>(
    target: Option<&'a Expr>,
    test: Option<&'a Expr>,
    body: &'a [Stmt],
    orelse: &'a [Stmt],
    after: &Names<'a>,
    exits: &Exits<'a>,
) -> (Names<'a>, Exits<'a>) {
    let ends = before_block(orelse, after, exits);
    // One walk is enough: a body needs G ∪ (X ∩ K) of what is live behind it, X; the least
    // X = ends ∪ G ∪ (X ∩ K) is ends ∪ G.
    let inside = Exits { broke: after.clone(), continued: ends.clone() };
    let again = before_block(body, &ends, &inside);
    let mut head = Flow::default().target(target).behind(again);
    head.extend(ends);
    let head = Flow::default().read(test).behind(head);
    let exits = Exits { broke: after.clone(), continued: head.clone() };
    (head, exits)
}

/// The names a loop's target and body may bind.
pub(super) fn assigned<'a>(target: Option<&'a Expr>, body: &'a [Stmt]) -> Names<'a> {
    let mut flow = Flow { every: true, ..Flow::default() }.target(target);
    flow.block(body);
    flow.bound
}

fn before_block<'a>(stmts: &'a [Stmt], after: &Names<'a>, exits: &Exits<'a>) -> Names<'a> {
    stmts.iter().rev().fold(after.clone(), |live, stmt| before(stmt, &live, exits))
}

fn before<'a>(stmt: &'a Stmt, after: &Names<'a>, exits: &Exits<'a>) -> Names<'a> {
    match &stmt.kind {
        StmtKind::Return(value) => Flow::default().read(value.as_ref()).behind(Names::new()),
        StmtKind::Raise { exception, cause } => {
            Flow::default().read(exception.as_ref()).read(cause.as_ref()).behind(Names::new())
        }
        StmtKind::Break => exits.broke.clone(),
        StmtKind::Continue => exits.continued.clone(),
        StmtKind::If { test, body, orelse } => {
            let mut live = before_block(body, after, exits);
            live.extend(before_block(orelse, after, exits));
            Flow::default().read(Some(test)).behind(live)
        }
        StmtKind::For { target, iter, body, orelse } => {
            let (head, _) = loop_head(Some(target), None, body, orelse, after, exits);
            Flow::default().read(Some(iter)).behind(head)
        }
        StmtKind::While { test, body, orelse } => loop_head(None, Some(test), body, orelse, after, exits).0,
        _ => {
            let mut flow = Flow::default();
            flow.stmt(stmt);
            flow.behind(after.clone())
        }
    }
}

/// What straight-line code reads before it binds it, and what it surely binds.
#[derive(Default)]
struct Flow<'a> {
    read: Names<'a>,
    bound: Names<'a>,
    /// Collect every binding, also those that happen on some paths only.
    every: bool,
}

impl<'a> Flow<'a> {
    /// What is live before this code if `after` is behind it.
    fn behind(self, mut after: Names<'a>) -> Names<'a> {
        after.retain(|name| !self.bound.contains(name));
        after.extend(self.read);
        after
    }

    fn read(mut self, expr: Option<&'a Expr>) -> Self {
        expr.into_iter().for_each(|e| self.expr(e));
        self
    }

    fn target(mut self, target: Option<&'a Expr>) -> Self {
        target.into_iter().for_each(|t| self.bind(t));
        self
    }

    fn bind(&mut self, target: &'a Expr) {
        match &target.kind {
            ExprKind::Name { ident, .. } => {
                self.bound.insert(ident);
            }
            ExprKind::Tuple(targets) | ExprKind::List(targets) => targets.iter().for_each(|t| self.bind(t)),
            ExprKind::Starred(target) => self.bind(target),
            _ => self.expr(target),
        }
    }

    /// Code that may not run: what it reads counts, what it binds does not.
    fn maybe(&mut self, walk: impl FnOnce(&mut Self)) {
        let bound = self.bound.clone();
        walk(self);
        if !self.every {
            self.bound = bound;
        }
    }

    fn block(&mut self, stmts: &'a [Stmt]) {
        stmts.iter().for_each(|s| self.stmt(s));
    }

    fn stmt(&mut self, stmt: &'a Stmt) {
        match &stmt.kind {
            StmtKind::Assign { targets, value } => {
                self.expr(value);
                targets.iter().for_each(|t| self.bind(t));
            }
            StmtKind::AugAssign { target, value, .. } => {
                self.expr(target);
                self.expr(value);
                self.bind(target);
            }
            StmtKind::AnnAssign { target, value } => {
                if let Some(value) = value {
                    self.expr(value);
                    self.bind(target);
                }
            }
            StmtKind::Expr(value) => self.expr(value),
            StmtKind::Return(value) => value.iter().for_each(|e| self.expr(e)),
            StmtKind::Raise { exception, cause } => exception.iter().chain(cause).for_each(|e| self.expr(e)),
            StmtKind::Assert { test, message } => {
                self.expr(test);
                self.maybe(|f| message.iter().for_each(|e| f.expr(e)));
            }
            StmtKind::If { test, body, orelse } => {
                self.expr(test);
                self.maybe(|f| f.block(body));
                self.maybe(|f| f.block(orelse));
            }
            StmtKind::For { target, iter, body, orelse } => {
                self.expr(iter);
                self.maybe(|f| {
                    f.bind(target);
                    f.block(body);
                });
                self.maybe(|f| f.block(orelse));
            }
            StmtKind::While { test, body, orelse } => {
                self.expr(test);
                self.maybe(|f| f.block(body));
                self.maybe(|f| f.block(orelse));
            }
            StmtKind::Function(function) => {
                self.function(function);
                self.bound.insert(&function.name);
            }
            StmtKind::Pass | StmtKind::Break | StmtKind::Continue | StmtKind::Unsupported { .. } => {}
        }
    }

    /// A nested function reads its defaults now and its captures whenever it is called.
    fn function(&mut self, function: &'a Function) {
        function.params.iter().filter_map(|p| p.default.as_ref()).for_each(|d| self.expr(d));
        self.read.extend(function.captures.iter().map(String::as_str));
    }

    fn expr(&mut self, expr: &'a Expr) {
        match &expr.kind {
            ExprKind::Name { ident, binding } => {
                if *binding == Binding::Local && !self.bound.contains(ident.as_str()) {
                    self.read.insert(ident);
                }
            }
            ExprKind::BinOp { left, right, .. } => {
                self.expr(left);
                self.expr(right);
            }
            ExprKind::UnaryOp { operand, .. } => self.expr(operand),
            ExprKind::BoolOp { values, .. } => {
                self.expr(&values[0]);
                self.maybe(|f| values[1..].iter().for_each(|v| f.expr(v)));
            }
            ExprKind::Compare { left, rest } => {
                self.expr(left);
                self.expr(&rest[0].1);
                self.maybe(|f| rest[1..].iter().for_each(|(_, v)| f.expr(v)));
            }
            ExprKind::Call { func, args, keywords } => {
                self.expr(func);
                args.iter().for_each(|a| self.expr(a));
                keywords.iter().for_each(|k| self.expr(&k.value));
            }
            ExprKind::Attribute { value, .. } | ExprKind::Starred(value) => self.expr(value),
            ExprKind::Subscript { value, indices, .. } => {
                self.expr(value);
                indices.iter().for_each(|i| self.expr(i));
            }
            ExprKind::Slice { lower, upper, step } => {
                [lower, upper, step].into_iter().flatten().for_each(|e| self.expr(e));
            }
            ExprKind::Tuple(items) | ExprKind::List(items) => items.iter().for_each(|e| self.expr(e)),
            ExprKind::IfExp { test, body, orelse } => {
                self.expr(test);
                self.maybe(|f| f.expr(body));
                self.maybe(|f| f.expr(orelse));
            }
            ExprKind::Named { target, value } => {
                self.expr(value);
                self.bind(target);
            }
            ExprKind::Lambda(function) => self.function(function),
            ExprKind::Constant(_) | ExprKind::Unsupported { .. } => {}
        }
    }
}
