//! Functions and statements: the parser's tree → ours, with names resolved on the way.

use ruff_python_ast::{self as ast, ParameterWithDefault, Parameters};
use ruff_text_size::{Ranged, TextRange};
use weft_diag::{Diagnostic, Span};

use crate::scope::{Body, Declared, Names, declared};
use crate::source::Source;
use crate::tree::{Binding, Expr, ExprKind, Function, Handler, Param, ParamKind, Stmt, StmtKind};

/// Converts one function and those nested in it.
pub(crate) struct Converter<'a> {
    pub(crate) source: &'a Source<'a>,
    /// The functions around the node at hand, innermost last; empty in module scope.
    scopes: Vec<Scope>,
    /// The comprehensions around the node at hand, innermost last.
    pub(crate) comprehensions: Vec<Inside>,
    /// How many names of comprehensions there are.
    renamed: u32,
}

/// One function being converted.
#[derive(Default)]
struct Scope {
    declared: Declared,
    globals: Names,
    captures: Names,
}

/// One comprehension being converted.
pub(crate) struct Inside {
    /// How many functions are around it.
    depth: usize,
    /// Each name of its own, and what it is called in our tree.
    pub(crate) names: Vec<(String, String)>,
}

impl<'a> Converter<'a> {
    /// Starts in module scope, where every name is free.
    pub(crate) fn new(source: &'a Source<'a>) -> Self {
        Converter { source, scopes: Vec::new(), comprehensions: Vec::new(), renamed: 0 }
    }

    /// Converts a `def`.
    pub(crate) fn def(&mut self, def: &ast::StmtFunctionDef) -> Result<Function, Diagnostic> {
        if def.is_async {
            let message = format!("`{}` is a coroutine: `async def` is not supported", def.name);
            return Err(Diagnostic::unsupported(self.span(def.name.range), message).help("write a plain `def`"));
        }
        let span = self.source.def_span(def);
        let name_span = self.span(def.name.range);
        self.function(&def.name, Some(&def.parameters), Body::Block(&def.body), span, name_span)
    }

    /// Converts a `lambda`.
    pub(crate) fn lambda(&mut self, lambda: &ast::ExprLambda) -> Result<Function, Diagnostic> {
        let span = self.span(lambda.range);
        let keyword = Span { end: span.start + "lambda".len() as u32, ..span };
        self.function("<lambda>", lambda.parameters.as_deref(), Body::Value(&lambda.body), span, keyword)
    }

    fn function(
        &mut self,
        name: &str,
        params: Option<&Parameters>,
        body: Body,
        span: Span,
        name_span: Span,
    ) -> Result<Function, Diagnostic> {
        let declared = declared(self.source, params, body)?;
        // Defaults are evaluated where the function is defined: before its own scope opens.
        let params = self.params(params)?;
        self.scopes.push(Scope { declared, ..Scope::default() });
        let converted = match body {
            Body::Block(body) => self.body(without_docstring(body)),
            Body::Value(value) => {
                self.expr(value).map(|value| vec![Stmt { span: value.span, kind: StmtKind::Return(Some(value)) }])
            }
        };
        // Cannot fail: pushed above, and nested functions pop what they push.
        let scope = self.scopes.pop().unwrap();
        Ok(Function {
            name: name.to_string(),
            params,
            body: converted?,
            span,
            name_span,
            locals: scope.declared.locals.ordered,
            globals: scope.globals.ordered,
            captures: scope.captures.ordered,
            is_lambda: matches!(body, Body::Value(_)),
        })
    }

    fn params(&mut self, params: Option<&Parameters>) -> Result<Vec<Param>, Diagnostic> {
        let Some(params) = params else { return Ok(vec![]) };
        let mut out = Vec::new();
        for param in &params.posonlyargs {
            out.push(self.param(param, ParamKind::PositionalOnly)?);
        }
        for param in &params.args {
            out.push(self.param(param, ParamKind::Ordinary)?);
        }
        out.extend(params.vararg.as_deref().map(|p| self.variadic(p, ParamKind::Star)));
        for param in &params.kwonlyargs {
            out.push(self.param(param, ParamKind::KeywordOnly)?);
        }
        out.extend(params.kwarg.as_deref().map(|p| self.variadic(p, ParamKind::DoubleStar)));
        Ok(out)
    }

    fn param(&mut self, param: &ParameterWithDefault, kind: ParamKind) -> Result<Param, Diagnostic> {
        let default = param.default().map(|d| self.expr(d)).transpose()?;
        Ok(Param { name: param.name().to_string(), default, kind, span: self.span(param.range) })
    }

    fn variadic(&self, param: &ast::Parameter, kind: ParamKind) -> Param {
        Param { name: param.name.to_string(), default: None, kind, span: self.span(param.range) }
    }

    /// Whose `name` is, seen from the innermost scope.
    pub(crate) fn resolve(&mut self, name: &str) -> ExprKind {
        let mut comprehensions = self.comprehensions.iter().rev().peekable();
        // The depth of the function that owns the name (0 is the module), and what we call it.
        let mut found = None;
        for depth in (0..=self.scopes.len()).rev() {
            while let Some(inside) = comprehensions.next_if(|c| c.depth == depth) {
                if let (Some((_, renamed)), None) = (inside.names.iter().find(|(n, _)| n == name), &found) {
                    found = Some((depth, renamed.clone()));
                }
            }
            let Some(scope) = depth.checked_sub(1).and_then(|d| self.scopes.get(d)) else { break };
            if found.is_some() || scope.declared.globals.contains(name) {
                break;
            }
            if scope.declared.locals.contains(name) {
                found = Some((depth, name.to_string()));
                break;
            }
        }
        self.named(name, found)
    }

    /// As `resolve`, past the comprehensions around: where a `:=` in one binds.
    pub(crate) fn resolve_in_function(&mut self, name: &str) -> ExprKind {
        let depth = self.scopes.len();
        let here = self.comprehensions.iter().rposition(|c| c.depth < depth).map_or(0, |k| k + 1);
        let around = self.comprehensions.split_off(here);
        let kind = self.resolve(name);
        self.comprehensions.extend(around);
        kind
    }

    /// A name of the function at this depth. The use is noted in every function it reaches.
    fn named(&mut self, name: &str, owner: Option<(usize, String)>) -> ExprKind {
        let Some((depth, ident)) = owner else {
            self.scopes.iter_mut().for_each(|s| s.globals.add(name));
            return ExprKind::Name { ident: name.to_string(), binding: Binding::Free };
        };
        let inner = &mut self.scopes[depth..];
        inner.iter_mut().for_each(|s| s.captures.add(&ident));
        let binding = if inner.is_empty() { Binding::Local } else { Binding::Enclosing };
        ExprKind::Name { ident, binding }
    }

    /// A name at a place, as an expression.
    pub(crate) fn name(&mut self, name: &ast::Identifier) -> Expr {
        Expr { span: self.span(name.range), kind: self.resolve(name) }
    }

    /// Enters a comprehension with these names of its own.
    pub(crate) fn enter(&mut self, names: Names) {
        let mut pairs = Vec::with_capacity(names.ordered.len());
        for name in names.ordered {
            let renamed = format!("{name}.{}", self.renamed);
            self.renamed += 1;
            if let Some(scope) = self.scopes.last_mut() {
                scope.declared.locals.add(&renamed);
            }
            pairs.push((name, renamed));
        }
        self.comprehensions.push(Inside { depth: self.scopes.len(), names: pairs });
    }

    pub(crate) fn span(&self, range: TextRange) -> Span {
        self.source.span(range)
    }

    pub(crate) fn body(&mut self, body: &[ast::Stmt]) -> Result<Vec<Stmt>, Diagnostic> {
        body.iter().map(|stmt| self.stmt(stmt)).collect()
    }

    fn stmt(&mut self, stmt: &ast::Stmt) -> Result<Stmt, Diagnostic> {
        let span = self.span(stmt.range());
        Ok(Stmt { span, kind: self.stmt_kind(stmt)? })
    }

    fn stmt_kind(&mut self, stmt: &ast::Stmt) -> Result<StmtKind, Diagnostic> {
        use ast::Stmt as S;
        Ok(match stmt {
            S::Assign(s) => {
                let value = self.expr(&s.value)?;
                StmtKind::Assign { targets: self.exprs(&s.targets)?, value }
            }
            S::AugAssign(s) => {
                let target = self.expr(&s.target)?;
                StmtKind::AugAssign { target, op: s.op.into(), value: self.expr(&s.value)? }
            }
            S::AnnAssign(s) => {
                let value = s.value.as_deref().map(|v| self.expr(v)).transpose()?;
                StmtKind::AnnAssign { target: self.expr(&s.target)?, value }
            }
            S::Expr(s) => StmtKind::Expr(self.expr(&s.value)?),
            S::Return(s) => StmtKind::Return(self.optional(s.value.as_deref())?),
            S::If(s) => {
                let (test, body) = (self.expr(&s.test)?, self.body(&s.body)?);
                StmtKind::If { test, body, orelse: self.clauses(&s.elif_else_clauses, s.range)? }
            }
            S::For(s) if s.is_async => StmtKind::Unsupported { what: "an `async for` loop" },
            S::For(s) => {
                let iter = self.expr(&s.iter)?;
                let target = self.expr(&s.target)?;
                StmtKind::For { target, iter, body: self.body(&s.body)?, orelse: self.body(&s.orelse)? }
            }
            S::While(s) => {
                let test = self.expr(&s.test)?;
                StmtKind::While { test, body: self.body(&s.body)?, orelse: self.body(&s.orelse)? }
            }
            S::Pass(_) => StmtKind::Pass,
            S::Break(_) => StmtKind::Break,
            S::Continue(_) => StmtKind::Continue,
            S::Assert(s) => {
                let test = self.expr(&s.test)?;
                StmtKind::Assert { test, message: self.optional(s.msg.as_deref())? }
            }
            S::Raise(s) => {
                let exception = self.optional(s.exc.as_deref())?;
                StmtKind::Raise { exception, cause: self.optional(s.cause.as_deref())? }
            }
            S::FunctionDef(s) if s.is_async => StmtKind::Unsupported { what: "a nested `async def`" },
            S::FunctionDef(s) if !s.decorator_list.is_empty() => {
                StmtKind::Unsupported { what: "a nested function with decorators" }
            }
            S::FunctionDef(s) => StmtKind::Function(Box::new(self.def(s)?)),
            S::ClassDef(_) => StmtKind::Unsupported { what: "a class definition" },
            S::Delete(s) => StmtKind::Delete(self.exprs(&s.targets)?),
            S::TypeAlias(_) => StmtKind::Unsupported { what: "a `type` statement" },
            S::With(s) if s.is_async => StmtKind::Unsupported { what: "an `async with` statement" },
            S::With(_) => StmtKind::Unsupported { what: "a `with` statement" },
            S::Match(s) => self.match_stmt(s)?,
            S::Try(s) if s.is_star => StmtKind::Unsupported { what: "an `except*` clause" },
            S::Try(s) => {
                let body = self.body(&s.body)?;
                let handlers = s.handlers.iter().map(|h| self.handler(h)).collect::<Result<_, _>>()?;
                let orelse = self.body(&s.orelse)?;
                StmtKind::Try { body, handlers, orelse, finalbody: self.body(&s.finalbody)? }
            }
            S::Import(_) | S::ImportFrom(_) => StmtKind::Unsupported { what: "an `import` inside a function" },
            // They have done their work in saying whose the names are.
            S::Global(_) | S::Nonlocal(_) => StmtKind::Pass,
            S::IpyEscapeCommand(_) => StmtKind::Unsupported { what: "an IPython command" },
        })
    }

    fn handler(&mut self, handler: &ast::ExceptHandler) -> Result<Handler, Diagnostic> {
        let ast::ExceptHandler::ExceptHandler(handler) = handler;
        let class = self.optional(handler.type_.as_deref())?;
        let name = handler.name.as_ref().map(|name| self.name(name));
        Ok(Handler { class, name, body: self.body(&handler.body)?, span: self.span(handler.range) })
    }

    /// `elif` and `else` clauses, as nested `if`s. Each `elif` spans to the end of the whole chain.
    fn clauses(&mut self, clauses: &[ast::ElifElseClause], whole: TextRange) -> Result<Vec<Stmt>, Diagnostic> {
        let Some((first, rest)) = clauses.split_first() else { return Ok(vec![]) };
        let Some(test) = &first.test else { return self.body(&first.body) };
        let span = self.span(first.range.cover_offset(whole.end()));
        let (test, body) = (self.expr(test)?, self.body(&first.body)?);
        Ok(vec![Stmt { span, kind: StmtKind::If { test, body, orelse: self.clauses(rest, whole)? } }])
    }
}

/// A body without the string that documents it.
fn without_docstring(body: &[ast::Stmt]) -> &[ast::Stmt] {
    match body.split_first() {
        Some((ast::Stmt::Expr(first), rest)) if first.value.is_string_literal_expr() => rest,
        _ => body,
    }
}
