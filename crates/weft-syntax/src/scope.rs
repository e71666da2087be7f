//! Which names a function binds: Python's scope rules, over the parser's tree, so that constructs
//! we do not compile (a `with`, a `match`) still make their names local.

use std::collections::HashSet;

use ruff_python_ast::visitor::{Visitor, walk_except_handler, walk_expr, walk_pattern, walk_stmt};
use ruff_python_ast::{Comprehension, ExceptHandler, Expr, ExprContext, Parameters, Pattern, Stmt};
use ruff_text_size::TextRange;
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
}

/// The names bound by a function with these parameters and this body.
///
/// `global` and `nonlocal` are refused here: they change whose a name is, wherever they stand.
pub(crate) fn local_names(source: &Source, params: Option<&Parameters>, body: Body) -> Result<Names, Diagnostic> {
    let mut collector = Collector { names: Names::default(), refused: None };
    for param in params.iter().flat_map(|p| p.iter_source_order()) {
        collector.names.add(param.name().as_str());
    }
    match body {
        Body::Block(body) => collector.visit_body(body),
        Body::Value(value) => collector.visit_expr(value),
    }
    match collector.refused {
        None => Ok(collector.names),
        Some((keyword, range)) => {
            let message = format!("`{keyword}` is not supported in a compiled function");
            Err(Diagnostic::unsupported(source.span(range), message)
                .label("this rebinds a variable outside the function")
                .help("return the new value and assign it where the function is called"))
        }
    }
}

/// The body of a `def` or of a `lambda`.
#[derive(Clone, Copy)]
pub(crate) enum Body<'a> {
    Block(&'a [Stmt]),
    Value(&'a Expr),
}

struct Collector {
    names: Names,
    refused: Option<(&'static str, TextRange)>,
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
            Stmt::Global(global) => self.refused = self.refused.or(Some(("global", global.range))),
            Stmt::Nonlocal(nonlocal) => self.refused = self.refused.or(Some(("nonlocal", nonlocal.range))),
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
