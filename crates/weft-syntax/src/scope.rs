//! Which names a function binds: Python's scope rules, over the parser's tree, so that constructs
//! we do not compile (a `with`, a class) still make their names local.

use std::collections::HashSet;

use ruff_python_ast::visitor::{Visitor, walk_except_handler, walk_expr, walk_pattern, walk_stmt};
use ruff_python_ast::{Comprehension, ExceptHandler, Expr, ExprContext, Parameters, Pattern, Stmt};
use ruff_text_size::{Ranged, TextRange};
use weft_diag::Diagnostic;

use crate::source::Source;

/// The local names of one function, in order of first binding.
#[derive(Default)]
pub(crate) struct Names {
    pub(crate) ordered: Vec<String>,
    seen: HashSet<String>,
}

impl Names {
    /// Adds a name, once.
    pub(crate) fn add(&mut self, name: &str) {
        if !self.seen.contains(name) {
            self.seen.insert(name.to_string());
            self.ordered.push(name.to_string());
        }
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.seen.contains(name)
    }

    fn remove(&mut self, name: &str) {
        if self.seen.remove(name) {
            self.ordered.retain(|n| n != name);
        }
    }
}

/// Whose the names of one function are.
#[derive(Default)]
pub(crate) struct Declared {
    /// Bound in it, and declared neither `global` nor `nonlocal`.
    pub(crate) locals: Names,
    /// Declared `global`.
    pub(crate) globals: Names,
}

/// The names declared by a function with these parameters and this body.
///
/// A `yield` is refused here: it makes the whole function a generator, wherever it stands.
pub(crate) fn declared(source: &Source, params: Option<&Parameters>, body: Body) -> Result<Declared, Diagnostic> {
    let mut collector = Collector::default();
    for param in params.iter().flat_map(|p| p.iter_source_order()) {
        collector.names.add(param.name().as_str());
    }
    match body {
        Body::Block(body) => collector.visit_body(body),
        Body::Value(value) => collector.visit_expr(value),
    }
    if let Some(range) = collector.yields {
        return Err(Diagnostic::unsupported(source.span(range), "a `yield` expression is not supported")
            .label("this makes the function a generator")
            .help("fill an array or a list and return it"));
    }
    let Collector { names: mut locals, globals, nonlocals, .. } = collector;
    globals.ordered.iter().chain(&nonlocals.ordered).for_each(|name| locals.remove(name));
    Ok(Declared { locals, globals })
}

/// The body of a `def` or of a `lambda`.
#[derive(Clone, Copy)]
pub(crate) enum Body<'a> {
    Block(&'a [Stmt]),
    Value(&'a Expr),
}

#[derive(Default)]
struct Collector {
    names: Names,
    globals: Names,
    nonlocals: Names,
    yields: Option<TextRange>,
}

impl<'a> Collector {
    /// Defaults are evaluated in this scope; parameters and body belong to the nested function.
    fn visit_defaults(&mut self, params: &'a Parameters) {
        for default in params.iter_non_variadic_params().filter_map(|p| p.default()) {
            self.visit_expr(default);
        }
    }

    /// A comprehension's targets are its own, but a `:=` inside it binds in the function.
    fn visit_generators(&mut self, values: &[&'a Expr], generators: &'a [Comprehension]) {
        for generator in generators {
            self.visit_expr(&generator.iter);
            generator.ifs.iter().for_each(|test| self.visit_expr(test));
        }
        values.iter().for_each(|value| self.visit_expr(value));
    }
}

impl<'a> Visitor<'a> for Collector {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(def) => {
                def.decorator_list.iter().for_each(|d| self.visit_expr(&d.expression));
                self.visit_defaults(&def.parameters);
                self.names.add(&def.name);
            }
            Stmt::ClassDef(class) => {
                class.decorator_list.iter().for_each(|d| self.visit_expr(&d.expression));
                if let Some(arguments) = &class.arguments {
                    self.visit_arguments(arguments);
                }
                self.names.add(&class.name);
            }
            Stmt::Import(import) => {
                for alias in &import.names {
                    let first = alias.name.split('.').next().unwrap_or_default();
                    self.names.add(alias.asname.as_deref().unwrap_or(first));
                }
            }
            Stmt::ImportFrom(import) => {
                for alias in &import.names {
                    self.names.add(alias.asname.as_deref().unwrap_or(&alias.name));
                }
            }
            Stmt::Global(global) => global.names.iter().for_each(|name| self.globals.add(name)),
            Stmt::Nonlocal(nonlocal) => nonlocal.names.iter().for_each(|name| self.nonlocals.add(name)),
            // The value of a type alias is evaluated in a scope of its own, and lazily.
            Stmt::TypeAlias(alias) => self.visit_expr(&alias.name),
            _ => walk_stmt(self, stmt),
        }
    }

    /// Annotations are not evaluated inside functions.
    fn visit_annotation(&mut self, _: &'a Expr) {}

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(name) if matches!(name.ctx, ExprContext::Store | ExprContext::Del) => self.names.add(&name.id),
            Expr::Lambda(lambda) => {
                if let Some(params) = &lambda.parameters {
                    self.visit_defaults(params);
                }
            }
            Expr::ListComp(c) => self.visit_generators(&[&c.elt], &c.generators),
            Expr::SetComp(c) => self.visit_generators(&[&c.elt], &c.generators),
            Expr::Generator(c) => self.visit_generators(&[&c.elt], &c.generators),
            Expr::DictComp(c) => match &c.key {
                Some(key) => self.visit_generators(&[key, &c.value], &c.generators),
                None => self.visit_generators(&[&c.value], &c.generators),
            },
            Expr::Yield(_) | Expr::YieldFrom(_) => {
                self.yields = self.yields.or(Some(expr.range()));
                walk_expr(self, expr);
            }
            _ => walk_expr(self, expr),
        }
    }

    fn visit_except_handler(&mut self, handler: &'a ExceptHandler) {
        let ExceptHandler::ExceptHandler(inner) = handler;
        if let Some(name) = &inner.name {
            self.names.add(name);
        }
        walk_except_handler(self, handler);
    }

    fn visit_pattern(&mut self, pattern: &'a Pattern) {
        let name = match pattern {
            Pattern::MatchAs(p) => p.name.as_ref(),
            Pattern::MatchStar(p) => p.name.as_ref(),
            Pattern::MatchMapping(p) => p.rest.as_ref(),
            _ => None,
        };
        if let Some(name) = name {
            self.names.add(name);
        }
        walk_pattern(self, pattern);
    }
}

/// The names a target of a comprehension binds, in order.
pub(crate) fn target_names(target: &Expr, names: &mut Names) {
    let mut collector = Collector { names: std::mem::take(names), ..Collector::default() };
    collector.visit_expr(target);
    *names = collector.names;
}
