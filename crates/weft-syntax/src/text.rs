//! A function as canonical text: an S-expression without positions, comments or docstrings.
//!
//! Two functions with equal text compile to the same code under the same types and globals, so
//! it is what cache keys hash. Unsupported nodes print only what they are: a function in which
//! one is live is never compiled, so it has no key.

use crate::tree::{
    Binding, Constant, Expr, ExprKind, Function, Keyword, Param, ParamKind, Pattern, PatternKind, Stmt, StmtKind,
};

/// The canonical text of a function. Equal for functions that differ only in layout, comments,
/// docstrings, annotations and redundant parentheses.
pub fn tree_text(function: &Function) -> String {
    let mut writer = Writer { out: String::new() };
    writer.function(function);
    writer.out
}

struct Writer {
    out: String,
}

impl Writer {
    /// `(head …)`, where `rest` writes each part with a blank before it.
    fn node(&mut self, head: &str, rest: impl FnOnce(&mut Self)) {
        self.out.push('(');
        self.out.push_str(head);
        rest(self);
        self.out.push(')');
    }

    fn word(&mut self, word: &str) {
        self.out.push(' ');
        self.out.push_str(word);
    }

    fn function(&mut self, function: &Function) {
        let head = if function.is_lambda { "lambda" } else { "def" };
        self.node(head, |w| {
            if !function.is_lambda {
                w.word(&function.name);
            }
            w.out.push(' ');
            w.node("params", |w| function.params.iter().for_each(|p| w.param(p)));
            w.block("body", &function.body);
        });
    }

    fn param(&mut self, param: &Param) {
        let head = match param.kind {
            ParamKind::PositionalOnly => "positional",
            ParamKind::Ordinary => "param",
            ParamKind::Star => "star",
            ParamKind::KeywordOnly => "keyword",
            ParamKind::DoubleStar => "double-star",
        };
        self.out.push(' ');
        self.node(head, |w| {
            w.word(&param.name);
            w.optional(param.default.as_ref());
        });
    }

    fn block(&mut self, head: &str, body: &[Stmt]) {
        self.out.push(' ');
        self.node(head, |w| body.iter().for_each(|s| w.stmt(s)));
    }

    fn stmt(&mut self, stmt: &Stmt) {
        self.out.push(' ');
        match &stmt.kind {
            StmtKind::Assign { targets, value } => self.node("=", |w| {
                w.list("targets", targets);
                w.expr(value);
            }),
            StmtKind::AugAssign { target, op, value } => self.node(&format!("{}=", op.as_str()), |w| {
                w.expr(target);
                w.expr(value);
            }),
            // A declaration with a value is an assignment; without one it has done its work in
            // making the name local.
            StmtKind::AnnAssign { target, value: Some(value) } => self.node("=", |w| {
                w.list("targets", std::slice::from_ref(target));
                w.expr(value);
            }),
            StmtKind::AnnAssign { target, value: None } => self.node("declare", |w| w.expr(target)),
            StmtKind::Expr(value) => self.node("do", |w| w.expr(value)),
            StmtKind::Return(value) => self.node("return", |w| w.optional(value.as_ref())),
            StmtKind::If { test, body, orelse } => self.node("if", |w| {
                w.expr(test);
                w.block("then", body);
                w.block("else", orelse);
            }),
            StmtKind::For { target, iter, body, orelse } => self.node("for", |w| {
                w.expr(target);
                w.expr(iter);
                w.block("body", body);
                w.block("else", orelse);
            }),
            StmtKind::While { test, body, orelse } => self.node("while", |w| {
                w.expr(test);
                w.block("body", body);
                w.block("else", orelse);
            }),
            StmtKind::Pass => self.node("pass", |_| {}),
            StmtKind::Break => self.node("break", |_| {}),
            StmtKind::Continue => self.node("continue", |_| {}),
            StmtKind::Assert { test, message } => self.node("assert", |w| {
                w.expr(test);
                w.optional(message.as_ref());
            }),
            StmtKind::Raise { exception, cause } => self.node("raise", |w| {
                w.optional(exception.as_ref());
                w.optional(cause.as_ref());
            }),
            StmtKind::Function(function) => self.function(function),
            StmtKind::Delete(targets) => self.node("del", |w| targets.iter().for_each(|t| w.expr(t))),
            StmtKind::Try { body, handlers, orelse, finalbody } => self.node("try", |w| {
                w.block("body", body);
                for handler in handlers {
                    w.out.push(' ');
                    w.node("except", |w| {
                        w.or_nothing(handler.class.as_ref());
                        w.or_nothing(handler.name.as_ref());
                        w.block("body", &handler.body);
                    });
                }
                w.block("else", orelse);
                w.block("finally", finalbody);
            }),
            StmtKind::Match { subject, cases } => self.node("match", |w| {
                w.expr(subject);
                for case in cases {
                    w.out.push(' ');
                    w.node("case", |w| {
                        w.pattern(&case.pattern);
                        w.or_nothing(case.guard.as_ref());
                        w.block("body", &case.body);
                    });
                }
            }),
            StmtKind::Unsupported { what } => self.node("unsupported", |w| w.word(&format!("{what:?}"))),
        }
    }

    fn pattern(&mut self, pattern: &Pattern) {
        self.out.push(' ');
        match &pattern.kind {
            PatternKind::Value(value) => self.node("value", |w| w.expr(value)),
            PatternKind::Singleton(constant) => self.constant(constant),
            PatternKind::Sequence(items) => self.node("sequence", |w| items.iter().for_each(|p| w.pattern(p))),
            PatternKind::Star(name) => self.node("star", |w| w.or_nothing(name.as_ref())),
            PatternKind::As { pattern, name } => self.node("as", |w| {
                pattern.iter().for_each(|p| w.pattern(p));
                w.or_nothing(name.as_ref());
            }),
            PatternKind::Or(items) => self.node("or", |w| items.iter().for_each(|p| w.pattern(p))),
            PatternKind::Class { class, inner } => self.node("class", |w| {
                w.expr(class);
                inner.iter().for_each(|p| w.pattern(p));
            }),
            PatternKind::Unsupported { what } => self.node("unsupported", |w| w.word(&format!("{what:?}"))),
        }
    }

    /// An expression that may be absent, where others follow.
    fn or_nothing(&mut self, expr: Option<&Expr>) {
        match expr {
            Some(expr) => self.expr(expr),
            None => self.word("_"),
        }
    }

    fn optional(&mut self, expr: Option<&Expr>) {
        if let Some(expr) = expr {
            self.expr(expr);
        }
    }

    fn list(&mut self, head: &str, exprs: &[Expr]) {
        self.out.push(' ');
        self.node(head, |w| exprs.iter().for_each(|e| w.expr(e)));
    }

    fn keyword(&mut self, keyword: &Keyword) {
        self.out.push(' ');
        match &keyword.name {
            Some(name) => self.node("keyword", |w| {
                w.word(name);
                w.expr(&keyword.value);
            }),
            None => self.node("double-star", |w| w.expr(&keyword.value)),
        }
    }

    fn expr(&mut self, expr: &Expr) {
        self.out.push(' ');
        match &expr.kind {
            ExprKind::Constant(constant) => self.constant(constant),
            ExprKind::Name { ident, binding } => {
                let head = match binding {
                    Binding::Local => "local",
                    Binding::Enclosing => "enclosing",
                    Binding::Free => "free",
                };
                self.node(head, |w| w.word(ident));
            }
            ExprKind::BinOp { op, left, right } => self.node(op.as_str(), |w| {
                w.expr(left);
                w.expr(right);
            }),
            ExprKind::UnaryOp { op, operand } => self.node(&format!("unary {}", op.as_str()), |w| w.expr(operand)),
            ExprKind::BoolOp { op, values } => self.node(op.as_str(), |w| values.iter().for_each(|v| w.expr(v))),
            ExprKind::Compare { left, rest } => self.node("compare", |w| {
                w.expr(left);
                for (op, operand) in rest {
                    w.word(op.as_str());
                    w.expr(operand);
                }
            }),
            ExprKind::Call { func, args, keywords } => self.node("call", |w| {
                w.expr(func);
                args.iter().for_each(|a| w.expr(a));
                keywords.iter().for_each(|k| w.keyword(k));
            }),
            ExprKind::Attribute { value, attr, .. } => self.node("attribute", |w| {
                w.expr(value);
                w.word(attr);
            }),
            ExprKind::Subscript { value, indices, tuple } => {
                self.node("index", |w| {
                    w.expr(value);
                    match tuple {
                        true => w.list("tuple", indices),
                        false => indices.iter().for_each(|i| w.expr(i)),
                    }
                });
            }
            ExprKind::Slice { lower, upper, step } => self.node("slice", |w| {
                [lower, upper, step].into_iter().for_each(|part| w.or_nothing(part.as_deref()));
            }),
            ExprKind::Tuple(items) => self.node("tuple", |w| items.iter().for_each(|i| w.expr(i))),
            ExprKind::List(items) => self.node("list", |w| items.iter().for_each(|i| w.expr(i))),
            ExprKind::Starred(value) => self.node("star", |w| w.expr(value)),
            ExprKind::IfExp { test, body, orelse } => self.node("if", |w| {
                w.expr(test);
                w.expr(body);
                w.expr(orelse);
            }),
            ExprKind::Named { target, value } => self.node(":=", |w| {
                w.expr(target);
                w.expr(value);
            }),
            ExprKind::Lambda(function) => self.function(function),
            ExprKind::Comprehension(c) => self.node(if c.is_generator { "generator" } else { "comprehension" }, |w| {
                w.expr(&c.element);
                for each in &c.loops {
                    w.out.push(' ');
                    w.node("for", |w| {
                        w.expr(&each.target);
                        w.expr(&each.iter);
                        w.list("if", &each.tests);
                    });
                }
            }),
            ExprKind::Format { parts, values } => self.node("format", |w| {
                w.word(&format!("{parts:?}"));
                for (value, spec) in values {
                    w.expr(value);
                    w.word(&format!("{spec:?}"));
                }
            }),
            ExprKind::Unsupported { what } => self.node("unsupported", |w| w.word(&format!("{what:?}"))),
        }
    }

    fn constant(&mut self, constant: &Constant) {
        let text = match constant {
            Constant::None => "None".to_string(),
            Constant::Bool(true) => "True".to_string(),
            Constant::Bool(false) => "False".to_string(),
            Constant::Int { text, .. } => text.clone(),
            // Rust's debug form of a float is the shortest that reads back, and has a point or exponent.
            Constant::Float(value) => format!("{value:?}"),
            Constant::Complex(value) => format!("{value:?}j"),
            Constant::Str(value) => format!("{value:?}"),
            Constant::Ellipsis => "...".to_string(),
        };
        self.out.push_str(&text);
    }
}
