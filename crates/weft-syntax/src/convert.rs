//! Functions and statements: the parser's tree → ours, with names resolved on the way.

use ruff_python_ast::{self as ast, ParameterWithDefault, Parameters};
use ruff_text_size::{Ranged, TextRange};
use weft_diag::{Diagnostic, Span};

use crate::scope::{Body, Names, local_names};
use crate::source::Source;
use crate::tree::{Binding, Function, Param, ParamKind, Stmt, StmtKind};

/// Converts one function and those nested in it.
pub(crate) struct Converter<'a> {
    pub(crate) source: &'a Source<'a>,
    /// The functions around the node at hand, innermost last; empty in module scope.
    scopes: Vec<Scope>,
}

/// One function being converted.
struct Scope {
    locals: Names,
    globals: Names,
    captures: Names,
}

impl<'a> Converter<'a> {
    /// Starts in module scope, where every name is free.
    pub(crate) fn new(source: &'a Source<'a>) -> Self {
        Converter { source, scopes: Vec::new() }
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
        let locals = local_names(self.source, params, body)?;
        // Defaults are evaluated where the function is defined: before its own scope opens.
        let params = self.params(params)?;
        self.scopes.push(Scope { locals, globals: Names::default(), captures: Names::default() });
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
            locals: scope.locals.ordered,
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

    /// Whose `name` is, seen from the innermost scope. A use is noted in every function it reaches.
    pub(crate) fn resolve(&mut self, name: &str) -> Binding {
        let Some(owner) = self.scopes.iter().rposition(|s| s.locals.contains(name)) else {
            self.scopes.iter_mut().for_each(|s| s.globals.add(name));
            return Binding::Free;
        };
        let inner = &mut self.scopes[owner + 1..];
        inner.iter_mut().for_each(|s| s.captures.add(name));
        if inner.is_empty() { Binding::Local } else { Binding::Enclosing }
    }

    pub(crate) fn span(&self, range: TextRange) -> Span {
        self.source.span(range)
    }

    fn body(&mut self, body: &[ast::Stmt]) -> Result<Vec<Stmt>, Diagnostic> {
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
            S::Delete(_) => StmtKind::Unsupported { what: "a `del` statement" },
            S::TypeAlias(_) => StmtKind::Unsupported { what: "a `type` statement" },
            S::With(s) if s.is_async => StmtKind::Unsupported { what: "an `async with` statement" },
            S::With(_) => StmtKind::Unsupported { what: "a `with` statement" },
            S::Match(_) => StmtKind::Unsupported { what: "a `match` statement" },
            S::Try(_) => StmtKind::Unsupported { what: "a `try` statement" },
            S::Import(_) | S::ImportFrom(_) => StmtKind::Unsupported { what: "an `import` inside a function" },
            // Refused by `local_names` before we come here.
            S::Global(_) | S::Nonlocal(_) => StmtKind::Unsupported { what: "a `global` or `nonlocal` statement" },
            S::IpyEscapeCommand(_) => StmtKind::Unsupported { what: "an IPython command" },
        })
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
