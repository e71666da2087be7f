//! Finding one function in a parsed text.

use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_ast::{Expr, ExprLambda, Stmt, StmtFunctionDef, Suite};
use ruff_text_size::Ranged;
use weft_diag::{Diagnostic, ErrorKind, Span};

use crate::source::Source;

/// Which function of a text is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick<'a> {
    /// The `def` of this name at this line: that of the keyword or of any of its decorators, so
    /// that `co_firstlineno` will do. Lines count from 1 at the start of the given text.
    DefAtLine {
        /// 1-based line in the text.
        line: u32,
        /// Its name.
        name: &'a str,
    },
    /// The lambda at this place. Tried in this order: a lambda whose body begins there (the
    /// smallest position in `co_positions` of its code), one whose keyword stands there, the
    /// innermost one that contains it.
    LambdaAt {
        /// 1-based line in the text.
        line: u32,
        /// 0-based column in UTF-8 bytes, as in `co_positions`.
        col: u32,
    },
    /// The `def` of this name that is nested least deep; of several, the last.
    Named(&'a str),
}

/// What was found.
pub(crate) enum Found<'a> {
    Def(&'a StmtFunctionDef),
    Lambda(&'a ExprLambda),
}

/// Finds the function, or says that it is not there.
pub(crate) fn find<'a>(source: &Source, suite: &'a Suite, pick: Pick) -> Result<Found<'a>, Diagnostic> {
    let mut all = All::default();
    all.visit_body(suite);
    let found = match pick {
        Pick::DefAtLine { line, name } => {
            all.defs.iter().find(|(_, d)| d.name == *name && at_line(source, d, line)).map(|(_, d)| Found::Def(d))
        }
        Pick::LambdaAt { line, col } => {
            source.offset_at(line, col).and_then(|at| lambda_at(source, &all.lambdas, at)).map(Found::Lambda)
        }
        // `max_by_key` takes the last of equals.
        Pick::Named(name) => all
            .defs
            .iter()
            .filter(|(_, d)| d.name == *name)
            .max_by_key(|(depth, _)| std::cmp::Reverse(*depth))
            .map(|(_, d)| Found::Def(d)),
    };
    found.ok_or_else(|| not_found(source, pick))
}

fn at_line(source: &Source, def: &StmtFunctionDef, line: u32) -> bool {
    let first = def.decorator_list.iter().map(|d| source.offset(d.start()));
    first.chain([source.def_span(def).start]).any(|start| source.line(start) == line)
}

fn lambda_at<'a>(source: &Source, lambdas: &[&'a ExprLambda], at: u32) -> Option<&'a ExprLambda> {
    let start = |e: &dyn Ranged| source.offset(e.start());
    let body = lambdas.iter().find(|l| start(&*l.body) == at);
    let keyword = lambdas.iter().find(|l| start(**l) == at);
    // Pre-order: of those that contain a place, the innermost comes last.
    let inside = lambdas.iter().rfind(|l| (start(**l)..source.offset(l.range.end())).contains(&at));
    body.or(keyword).or(inside).copied()
}

fn not_found(source: &Source, pick: Pick) -> Diagnostic {
    let (message, at) = match pick {
        Pick::DefAtLine { line, name } => {
            (format!("there is no `def {name}` at line {line} of the source"), source.offset_at(line, 0))
        }
        Pick::LambdaAt { line, col } => (
            format!("there is no lambda at line {line}, column {} of the source", col + 1),
            source.offset_at(line, col),
        ),
        Pick::Named(name) => (format!("there is no `def {name}` in the source"), None),
    };
    let at = at.unwrap_or(0).min(source.text.len() as u32);
    let span = Span { start: at, end: at, ..source.span(Default::default()) };
    Diagnostic::new(ErrorKind::Source, span, message)
        .help("if the file has changed since it was imported, import it again")
}

/// Every function of a text in source order, with its depth.
#[derive(Default)]
struct All<'a> {
    depth: u32,
    defs: Vec<(u32, &'a StmtFunctionDef)>,
    lambdas: Vec<&'a ExprLambda>,
}

impl<'a> Visitor<'a> for All<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        if let Stmt::FunctionDef(def) = stmt {
            self.defs.push((self.depth, def));
        }
        let nests = matches!(stmt, Stmt::FunctionDef(_) | Stmt::ClassDef(_));
        self.depth += u32::from(nests);
        walk_stmt(self, stmt);
        self.depth -= u32::from(nests);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Lambda(lambda) = expr {
            self.lambdas.push(lambda);
        }
        walk_expr(self, expr);
    }
}
