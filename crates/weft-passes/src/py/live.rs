//! Which locals are still read: liveness over the syntax tree, backwards.
//!
//! The tree is structured, so there is no fixed point to look for: what a loop body needs from its
//! own earlier iterations is what it reads before writing, found in one walk. Where an exception may
//! go, the answer errs on the side of too many names.

use std::collections::BTreeSet;

use weft_syntax::{Binding, Case, Expr, Function, Handler, Stmt, StmtKind};

use super::walk::Walk;

/// Local names.
pub(super) type Names<'a> = BTreeSet<&'a str>;

/// What is live where the jumps of the innermost loop go.
#[derive(Clone, Debug, Default)]
pub(super) struct Exits<'a> {
    pub broke: Names<'a>,
    pub continued: Names<'a>,
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
    let mut head = Flow::default().targets(target).behind(again);
    head.extend(ends);
    let head = Flow::default().reads(test).behind(head);
    let exits = Exits { broke: after.clone(), continued: head.clone() };
    (head, exits)
}

/// The names that these may bind.
pub(super) fn assigned<'a>(walk: impl FnOnce(&mut Flow<'a>)) -> Names<'a> {
    let mut flow = Flow { every: true, ..Flow::default() };
    walk(&mut flow);
    flow.bound
}

/// What is live before these statements if `after` is behind them.
pub(super) fn before_block<'a>(stmts: &'a [Stmt], after: &Names<'a>, exits: &Exits<'a>) -> Names<'a> {
    stmts.iter().rev().fold(after.clone(), |live, stmt| before(stmt, &live, exits))
}

/// What is live when these handlers are entered.
pub(super) fn before_handlers<'a>(handlers: &'a [Handler], after: &Names<'a>, exits: &Exits<'a>) -> Names<'a> {
    let mut live = Names::new();
    for handler in handlers {
        let body = before_block(&handler.body, after, exits);
        live.extend(Flow::default().reads(&handler.class).targets(&handler.name).behind(body));
    }
    live
}

/// What is live before these cases.
pub(super) fn before_cases<'a>(cases: &'a [Case], after: &Names<'a>, exits: &Exits<'a>) -> Names<'a> {
    cases.iter().rev().fold(after.clone(), |mut rest, case| {
        let mut flow = Flow::default();
        flow.pattern(&case.pattern);
        rest.extend(flow.reads(&case.guard).behind(before_block(&case.body, after, exits)));
        rest
    })
}

/// What is live on any way out of a `try` whose `finally` this is.
pub(super) fn before_finally<'a>(finalbody: &'a [Stmt], after: &Names<'a>, exits: &Exits<'a>) -> Names<'a> {
    let ways = [after, &exits.broke, &exits.continued].into_iter().flatten().copied().collect();
    before_block(finalbody, &ways, exits)
}

fn before<'a>(stmt: &'a Stmt, after: &Names<'a>, exits: &Exits<'a>) -> Names<'a> {
    match &stmt.kind {
        StmtKind::Return(value) => Flow::default().reads(value).behind(Names::new()),
        StmtKind::Raise { exception, cause } => Flow::default().reads(exception).reads(cause).behind(Names::new()),
        StmtKind::Break => exits.broke.clone(),
        StmtKind::Continue => exits.continued.clone(),
        StmtKind::If { test, body, orelse } => {
            let mut live = before_block(body, after, exits);
            live.extend(before_block(orelse, after, exits));
            Flow::default().reads(Some(test)).behind(live)
        }
        StmtKind::For { target, iter, body, orelse } => {
            let (head, _) = loop_head(Some(target), None, body, orelse, after, exits);
            Flow::default().reads(Some(iter)).behind(head)
        }
        StmtKind::While { test, body, orelse } => loop_head(None, Some(test), body, orelse, after, exits).0,
        StmtKind::Try { body, handlers, orelse, finalbody } => {
            let ends = if finalbody.is_empty() { after.clone() } else { before_finally(finalbody, after, exits) };
            let exits = match finalbody.is_empty() {
                true => exits.clone(),
                false => Exits { broke: ends.clone(), continued: ends.clone() },
            };
            let mut live = before_block(body, &before_block(orelse, &ends, &exits), &exits);
            live.extend(before_handlers(handlers, &ends, &exits));
            if !finalbody.is_empty() {
                live.extend(ends);
            }
            live
        }
        StmtKind::Match { subject, cases } => {
            Flow::default().reads(Some(subject)).behind(before_cases(cases, after, exits))
        }
        _ => {
            let mut flow = Flow::default();
            flow.stmt(stmt);
            flow.behind(after.clone())
        }
    }
}

/// What straight-line code reads before it binds it, and what it surely binds.
#[derive(Default)]
pub(super) struct Flow<'a> {
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

    fn reads(mut self, expr: impl IntoIterator<Item = &'a Expr>) -> Self {
        self.exprs(expr);
        self
    }

    fn targets(mut self, target: impl IntoIterator<Item = &'a Expr>) -> Self {
        target.into_iter().for_each(|t| self.target(t));
        self
    }
}

impl<'a> Walk<'a> for Flow<'a> {
    fn read(&mut self, name: &'a str, binding: Binding) {
        if binding == Binding::Local && !self.bound.contains(name) {
            self.read.insert(name);
        }
    }

    fn bind(&mut self, name: &'a str, binding: Binding) {
        if binding == Binding::Local {
            self.bound.insert(name);
        }
    }

    /// A nested function reads its captures whenever it is called.
    fn function(&mut self, function: &'a Function, _own: Option<&'a str>) {
        let read = function.captures.iter().map(String::as_str).filter(|name| !self.bound.contains(name));
        self.read.extend(read.collect::<Vec<_>>());
    }

    /// What it reads counts, what it binds does not.
    fn maybe(&mut self, walk: impl FnOnce(&mut Self)) {
        let bound = self.bound.clone();
        walk(self);
        if !self.every {
            self.bound = bound;
        }
    }
}

/// The ways out of statements other than falling out of their end.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Jumps {
    pub returns: bool,
    /// Of a loop around them.
    pub breaks: bool,
    /// Of a loop around them.
    pub continues: bool,
}

impl Jumps {
    pub(super) fn of(stmts: &[Stmt]) -> Jumps {
        stmts.iter().fold(Jumps::default(), |all, stmt| all.or(Jumps::of_stmt(stmt)))
    }

    pub(super) fn or(self, o: Jumps) -> Jumps {
        Jumps {
            returns: self.returns || o.returns,
            breaks: self.breaks || o.breaks,
            continues: self.continues || o.continues,
        }
    }

    fn of_stmt(stmt: &Stmt) -> Jumps {
        match &stmt.kind {
            StmtKind::Return(_) => Jumps { returns: true, ..Jumps::default() },
            StmtKind::Break => Jumps { breaks: true, ..Jumps::default() },
            StmtKind::Continue => Jumps { continues: true, ..Jumps::default() },
            StmtKind::If { body, orelse, .. } => Jumps::of(body).or(Jumps::of(orelse)),
            StmtKind::For { body, orelse, .. } | StmtKind::While { body, orelse, .. } => {
                Jumps { returns: Jumps::of(body).returns, ..Jumps::default() }.or(Jumps::of(orelse))
            }
            StmtKind::Try { body, handlers, orelse, finalbody } => {
                let jumps = [body, orelse, finalbody].into_iter().fold(Jumps::default(), |j, b| j.or(Jumps::of(b)));
                handlers.iter().fold(jumps, |j, h| j.or(Jumps::of(&h.body)))
            }
            StmtKind::Match { cases, .. } => cases.iter().fold(Jumps::default(), |j, c| j.or(Jumps::of(&c.body))),
            _ => Jumps::default(),
        }
    }
}

/// Whether control surely does not come out of the end of these statements. Lowering them finds the same.
pub(super) fn surely_leaves(stmts: &[Stmt]) -> bool {
    stmts.iter().any(|stmt| match &stmt.kind {
        StmtKind::Return(_) | StmtKind::Raise { .. } | StmtKind::Break | StmtKind::Continue => true,
        StmtKind::If { body, orelse, .. } => surely_leaves(body) && surely_leaves(orelse),
        _ => false,
    })
}
