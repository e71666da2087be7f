//! Reading a module of the library (`python/weft/lib/*.py`) whole.

use std::collections::BTreeMap;

use ruff_python_ast::{self as ast, Stmt};
use ruff_text_size::Ranged;
use weft_diag::{Diagnostic, Span};

use crate::convert::Converter;
use crate::source::Source;
use crate::tree::{Expr, ExprKind, Function, Keyword};

/// A module of the library.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Library {
    /// Its functions in source order, each with its decorators from top to bottom.
    pub functions: Vec<(Function, Vec<Decorator>)>,
    /// What each imported name stands for: `np` → `numpy`, `prim` → `weft.lib.prim`. Relative
    /// imports keep their dots: `from . import prim` gives `.prim`.
    pub imports: BTreeMap<String, String>,
    /// Module-level `NAME = expression`, in source order.
    pub constants: Vec<(String, Expr)>,
}

/// A decorator `@path`, or `@path(args, keywords)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Decorator {
    /// The dotted name as written: `overload`, `lib.overload`.
    pub path: String,
    /// Positional arguments, resolved in module scope.
    pub args: Vec<Expr>,
    /// Keyword arguments.
    pub keywords: Vec<Keyword>,
    /// Without the `@`.
    pub span: Span,
}

/// Parses a module of the library: docstrings, imports, constants and functions, nothing else.
pub fn parse_library(file: u32, text: &str) -> Result<Library, Diagnostic> {
    let (source, parsed) = Source::parse(file, text)?;
    let mut converter = Converter::new(&source);
    let mut library = Library::default();
    for stmt in parsed.suite() {
        match stmt {
            Stmt::FunctionDef(def) => {
                let decorators = def.decorator_list.iter().map(|d| decorator(&mut converter, d));
                let decorators = decorators.collect::<Result<_, _>>()?;
                library.functions.push((converter.def(def)?, decorators));
            }
            Stmt::Import(import) => import.names.iter().for_each(|alias| plain_import(&mut library, alias)),
            Stmt::ImportFrom(import) => from_import(&mut library, &source, import)?,
            Stmt::Expr(expr) if expr.value.is_string_literal_expr() => {}
            Stmt::Assign(assign) => match &*assign.targets {
                [ast::Expr::Name(name)] => {
                    library.constants.push((name.id.to_string(), converter.expr(&assign.value)?));
                }
                _ => return Err(refused(&source, stmt)),
            },
            _ => return Err(refused(&source, stmt)),
        }
    }
    Ok(library)
}

fn refused(source: &Source, stmt: &Stmt) -> Diagnostic {
    let message = "a library module holds imports, constants and functions only";
    Diagnostic::unsupported(source.span(stmt.range()), message).help("put this into a function")
}

/// `import a.b` binds `a`; `import a.b as c` binds `c` to `a.b`.
fn plain_import(library: &mut Library, alias: &ast::Alias) {
    let path = alias.name.as_str();
    let (name, path) = match (&alias.asname, path.split_once('.')) {
        (Some(name), _) => (name.as_str(), path),
        (None, Some((first, _))) => (first, first),
        (None, None) => (path, path),
    };
    library.imports.insert(name.to_string(), path.to_string());
}

fn from_import(library: &mut Library, source: &Source, import: &ast::StmtImportFrom) -> Result<(), Diagnostic> {
    let dots = ".".repeat(import.level as usize);
    let module = import.module.as_ref().map(|m| format!("{m}.")).unwrap_or_default();
    for alias in &import.names {
        if alias.name == *"*" {
            let message = "`import *` is not supported in a library module";
            return Err(Diagnostic::unsupported(source.span(alias.range), message).help("name what is imported"));
        }
        let name = alias.asname.as_ref().unwrap_or(&alias.name);
        library.imports.insert(name.to_string(), format!("{dots}{module}{}", alias.name));
    }
    Ok(())
}

fn decorator(converter: &mut Converter, decorator: &ast::Decorator) -> Result<Decorator, Diagnostic> {
    let expr = converter.expr(&decorator.expression)?;
    let span = expr.span;
    let (func, args, keywords) = match expr.kind {
        ExprKind::Call { func, args, keywords } => (*func, args, keywords),
        kind => (Expr { span, kind }, vec![], vec![]),
    };
    match dotted(&func) {
        Some(path) => Ok(Decorator { path, args, keywords, span }),
        None => Err(Diagnostic::unsupported(func.span, "a decorator in a library module is a dotted name")
            .help("write `@name` or `@module.name(arguments)`")),
    }
}

/// The text of a name with attributes: `np.linalg.norm`.
pub fn dotted(expr: &Expr) -> Option<String> {
    match &expr.kind {
        ExprKind::Name { ident, .. } => Some(ident.clone()),
        ExprKind::Attribute { value, attr, .. } => Some(format!("{}.{attr}", dotted(value)?)),
        _ => None,
    }
}
