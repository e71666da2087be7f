//! A walk over the syntax tree in the order Python evaluates it: who reads and who binds a name.

use weft_syntax::{Binding, Comprehension, Expr, ExprKind, Function, Handler, Pattern, PatternKind, Stmt, StmtKind};

/// What is told on the way. The provided methods do the walking.
pub(super) trait Walk<'a>: Sized {
    /// A name is read.
    fn read(&mut self, name: &'a str, binding: Binding);

    /// A name is bound, or unbound by `del`.
    fn bind(&mut self, name: &'a str, binding: Binding);

    /// A nested function or lambda is made; its defaults have been walked. `own` is the name it is bound to next.
    fn function(&mut self, function: &'a Function, own: Option<&'a str>);

    /// Code that may not run.
    fn maybe(&mut self, walk: impl FnOnce(&mut Self)) {
        walk(self);
    }

    /// Code that may run any number of times.
    fn repeat(&mut self, walk: impl FnOnce(&mut Self)) {
        self.maybe(walk);
    }

    /// A generator expression, behind its first iterable. `consumed`: what it is an argument of takes all its items.
    fn generator(&mut self, comprehension: &'a Comprehension, _consumed: bool) {
        self.loops(comprehension);
    }

    fn block(&mut self, stmts: &'a [Stmt]) {
        stmts.iter().for_each(|s| self.stmt(s));
    }

    fn exprs(&mut self, exprs: impl IntoIterator<Item = &'a Expr>) {
        exprs.into_iter().for_each(|e| self.expr(e));
    }

    fn stmt(&mut self, stmt: &'a Stmt) {
        match &stmt.kind {
            StmtKind::Assign { targets, value } => {
                match (&value.kind, targets.as_slice()) {
                    (ExprKind::Lambda(lambda), [Expr { kind: ExprKind::Name { ident, .. }, .. }]) => {
                        self.defaults(lambda);
                        self.function(lambda, Some(ident));
                    }
                    _ => self.expr(value),
                }
                targets.iter().for_each(|t| self.target(t));
            }
            StmtKind::AugAssign { target, value, .. } => {
                self.exprs([target, value]);
                self.target(target);
            }
            StmtKind::AnnAssign { target, value } => {
                if let Some(value) = value {
                    self.expr(value);
                    self.target(target);
                }
            }
            StmtKind::Expr(value) => self.expr(value),
            StmtKind::Return(value) => self.exprs(value),
            StmtKind::Raise { exception, cause } => self.exprs(exception.iter().chain(cause)),
            StmtKind::Assert { test, message } => {
                self.expr(test);
                self.maybe(|w| w.exprs(message));
            }
            StmtKind::If { test, body, orelse } => {
                self.expr(test);
                self.maybe(|w| w.block(body));
                self.maybe(|w| w.block(orelse));
            }
            StmtKind::For { target, iter, body, orelse } => {
                self.expr(iter);
                self.repeat(|w| {
                    w.target(target);
                    w.block(body);
                });
                self.maybe(|w| w.block(orelse));
            }
            StmtKind::While { test, body, orelse } => {
                self.repeat(|w| {
                    w.expr(test);
                    w.block(body);
                });
                self.maybe(|w| w.block(orelse));
            }
            StmtKind::Try { body, handlers, orelse, finalbody } => {
                self.maybe(|w| w.block(body));
                handlers.iter().for_each(|h| self.maybe(|w| w.handler(h)));
                self.maybe(|w| w.block(orelse));
                self.block(finalbody);
            }
            StmtKind::Match { subject, cases } => {
                self.expr(subject);
                for case in cases {
                    self.maybe(|w| {
                        w.pattern(&case.pattern);
                        w.exprs(&case.guard);
                        w.block(&case.body);
                    });
                }
            }
            StmtKind::Function(function) => {
                self.defaults(function);
                self.function(function, Some(&function.name));
                self.bind(&function.name, Binding::Local);
            }
            StmtKind::Delete(targets) => {
                self.exprs(targets);
                targets.iter().for_each(|t| self.target(t));
            }
            StmtKind::Pass | StmtKind::Break | StmtKind::Continue | StmtKind::Unsupported { .. } => {}
        }
    }

    /// A handler's name is unbound again at its end.
    fn handler(&mut self, handler: &'a Handler) {
        self.exprs(&handler.class);
        handler.name.iter().for_each(|name| self.target(name));
        self.block(&handler.body);
        handler.name.iter().for_each(|name| self.target(name));
    }

    fn pattern(&mut self, pattern: &'a Pattern) {
        match &pattern.kind {
            PatternKind::Value(value) => self.expr(value),
            PatternKind::Sequence(items) => items.iter().for_each(|p| self.pattern(p)),
            PatternKind::Star(name) => name.iter().for_each(|n| self.target(n)),
            PatternKind::As { pattern, name } => {
                pattern.iter().for_each(|p| self.pattern(p));
                name.iter().for_each(|n| self.target(n));
            }
            PatternKind::Or(items) => items.iter().for_each(|p| self.pattern(p)),
            PatternKind::Class { class, inner } => {
                self.expr(class);
                inner.iter().for_each(|p| self.pattern(p));
            }
            PatternKind::Singleton(_) | PatternKind::Unsupported { .. } => {}
        }
    }

    fn target(&mut self, target: &'a Expr) {
        match &target.kind {
            ExprKind::Name { ident, binding } => self.bind(ident, *binding),
            ExprKind::Tuple(targets) | ExprKind::List(targets) => targets.iter().for_each(|t| self.target(t)),
            ExprKind::Starred(target) => self.target(target),
            // What it holds is used, and another from here on.
            ExprKind::Attribute { value, .. } => {
                self.expr(value);
                self.target(value);
            }
            _ => self.expr(target),
        }
    }

    fn defaults(&mut self, function: &'a Function) {
        self.exprs(function.params.iter().filter_map(|p| p.default.as_ref()));
    }

    fn expr(&mut self, expr: &'a Expr) {
        match &expr.kind {
            ExprKind::Name { ident, binding } => self.read(ident, *binding),
            ExprKind::BinOp { left, right, .. } => self.exprs([&**left, &**right]),
            ExprKind::UnaryOp { operand, .. } => self.expr(operand),
            ExprKind::BoolOp { values, .. } => {
                self.exprs(values.first());
                self.maybe(|w| w.exprs(values.iter().skip(1)));
            }
            ExprKind::Compare { left, rest } => {
                self.expr(left);
                self.exprs(rest.first().map(|(_, e)| e));
                self.maybe(|w| w.exprs(rest.iter().skip(1).map(|(_, e)| e)));
            }
            ExprKind::Call { func, args, keywords } => {
                self.expr(func);
                for arg in args {
                    match &arg.kind {
                        ExprKind::Comprehension(c) if c.is_generator => {
                            self.exprs(c.loops.first().map(|l| &l.iter));
                            self.generator(c, takes_all(func));
                        }
                        _ => self.expr(arg),
                    }
                }
                self.exprs(keywords.iter().map(|k| &k.value));
            }
            ExprKind::Attribute { value, .. } | ExprKind::Starred(value) => self.expr(value),
            ExprKind::Subscript { value, indices, .. } => {
                self.expr(value);
                self.exprs(indices);
            }
            ExprKind::Slice { lower, upper, step } => {
                self.exprs([lower, upper, step].into_iter().flatten().map(|e| &**e));
            }
            ExprKind::Tuple(items) | ExprKind::List(items) => self.exprs(items),
            ExprKind::IfExp { test, body, orelse } => {
                self.expr(test);
                self.maybe(|w| w.expr(body));
                self.maybe(|w| w.expr(orelse));
            }
            ExprKind::Named { target, value } => {
                self.expr(value);
                self.target(target);
            }
            ExprKind::Lambda(function) => {
                self.defaults(function);
                self.function(function, None);
            }
            ExprKind::Comprehension(c) => {
                self.exprs(c.loops.first().map(|l| &l.iter));
                match c.is_generator {
                    true => self.generator(c, false),
                    false => self.loops(c),
                }
            }
            ExprKind::Format { values, .. } => self.exprs(values.iter().map(|(e, _)| e)),
            ExprKind::Constant(_) | ExprKind::Unsupported { .. } => {}
        }
    }

    /// A comprehension behind its first iterable.
    fn loops(&mut self, comprehension: &'a Comprehension) {
        self.repeat(|w| {
            for (k, each) in comprehension.loops.iter().enumerate() {
                if k > 0 {
                    w.expr(&each.iter);
                }
                w.target(&each.target);
                w.exprs(&each.tests);
            }
            w.expr(&comprehension.element);
        });
    }
}

/// Whether a function takes all items of its argument before it returns: methods and functions of modules do, and these
/// builtins (others, as `zip`, keep it).
fn takes_all(func: &Expr) -> bool {
    const TAKERS: [&str; 9] = ["sum", "min", "max", "any", "all", "sorted", "list", "tuple", "len"];
    match &func.kind {
        ExprKind::Name { ident, binding: Binding::Free } => TAKERS.contains(&ident.as_str()),
        ExprKind::Attribute { .. } => true,
        _ => false,
    }
}
