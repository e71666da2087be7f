//! The registry of library functions: Python source in the compiled subset, by the function it stands for.
//!
//! `python/weft/lib/*.py` is embedded in the binary. A function decorated `@overload(np.sin)` is
//! what a call of NumPy's `sin` compiles to; `@elementwise` says its body is about one element.
//! Nothing in Rust lists NumPy's functions.

use crate::py::PyFunction;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::OnceLock;
use weft_diag::Diagnostic;
use weft_syntax::{Param, parse_library};

/// Library modules, by name.
const SOURCES: &[(&str, &str)] = &[
    ("builtins", include_str!("../../../../python/weft/lib/builtins.py")),
    ("creation", include_str!("../../../../python/weft/lib/creation.py")),
    ("list", include_str!("../../../../python/weft/lib/list.py")),
    ("cmath", include_str!("../../../../python/weft/lib/cmath.py")),
    ("math", include_str!("../../../../python/weft/lib/math.py")),
    ("arrays", include_str!("../../../../python/weft/lib/arrays.py")),
    ("generic", include_str!("../../../../python/weft/lib/generic.py")),
    ("indexing", include_str!("../../../../python/weft/lib/indexing.py")),
    ("joining", include_str!("../../../../python/weft/lib/joining.py")),
    ("linalg", include_str!("../../../../python/weft/lib/linalg.py")),
    ("parts", include_str!("../../../../python/weft/lib/parts.py")),
    ("products", include_str!("../../../../python/weft/lib/products.py")),
    ("reductions", include_str!("../../../../python/weft/lib/reductions.py")),
    ("tensor", include_str!("../../../../python/weft/lib/tensor.py")),
    ("ufuncs", include_str!("../../../../python/weft/lib/ufuncs.py")),
];

/// Functions `infer` itself gives meaning to.
const BUILTINS: &[&str] = &[
    "builtins.abs",
    "builtins.bool",
    "builtins.complex",
    "builtins.enumerate",
    "builtins.filter",
    "builtins.float",
    "builtins.int",
    "builtins.isinstance",
    "builtins.len",
    "builtins.list",
    "builtins.map",
    "builtins.max",
    "builtins.min",
    "builtins.print",
    "builtins.range",
    "builtins.reversed",
    "builtins.slice",
    "builtins.str",
    "builtins.tuple",
    "builtins.zip",
    "weft.get_global_id",
    "weft.get_global_size",
];

/// How an overload applies to arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// The body is about whole values.
    Whole,
    /// The body is about one element; a 0-d result is a scalar.
    Elementwise,
    /// The body is about one element; a 0-d result stays an array.
    ElementwiseArray,
    /// The body is about one element of a new array; the first parameter is its shape.
    Generate,
}

/// A library function at stage `py`.
pub(super) struct Overload {
    pub py: Arc<PyFunction>,
    pub params: Vec<Param>,
    pub form: Form,
    /// Read like a value: `x.T`.
    pub attribute: bool,
    /// Its module: functions there are known to each other by name.
    pub module: &'static str,
    /// Imported names of its module: `np` → `numpy`.
    pub imports: Arc<BTreeMap<String, String>>,
}

/// Canonical names of every function a program may call.
pub fn known_functions() -> Vec<String> {
    let library = index().iter().flat_map(|r| r.keys().cloned());
    BUILTINS.iter().map(|s| s.to_string()).chain(library).collect()
}

/// The overload of a canonical name. Its text is parsed when it is first asked for.
pub(super) fn find(name: &str) -> Result<Option<&'static Overload>, Diagnostic> {
    let index = index().as_ref().map_err(Clone::clone)?;
    let Some(entry) = index.get(name) else { return Ok(None) };
    match entry.parsed.get_or_init(|| entry.parse()) {
        Ok(overload) => Ok(Some(overload)),
        Err(d) => Err(d.clone()),
    }
}

/// Where a function stands.
struct Entry {
    module: &'static str,
    /// From its first decorator to its end.
    text: &'static str,
    imports: Arc<BTreeMap<String, String>>,
    parsed: OnceLock<Result<Overload, Diagnostic>>,
}

type Index = BTreeMap<String, Arc<Entry>>;

/// Every function by its names, found by the lines that begin at the margin: nothing is parsed but imports.
fn index() -> &'static Result<Index, Diagnostic> {
    static INDEX: OnceLock<Result<Index, Diagnostic>> = OnceLock::new();
    INDEX.get_or_init(|| {
        let mut all = BTreeMap::new();
        for (module, text) in SOURCES {
            scan(module, text, &mut all)?;
        }
        Ok(all)
    })
}

fn scan(module: &'static str, text: &'static str, all: &mut Index) -> Result<(), Diagnostic> {
    // Functions begin with their first decorator, or with `def`, at the margin.
    let mut starts = vec![];
    let (mut at, mut decorated) = (0, false);
    for line in text.split_inclusive('\n') {
        if line.starts_with('@') || line.starts_with("def ") {
            if !decorated {
                starts.push(at);
            }
            decorated = line.starts_with('@');
        }
        at += line.len();
    }
    let first = starts.first().copied().unwrap_or(text.len());
    let imports = Arc::new(parse_library(u32::MAX, &text[..first])?.imports);
    for (k, &start) in starts.iter().enumerate() {
        let text = &text[start..starts.get(k + 1).copied().unwrap_or(text.len())];
        let Some(def) = text.find("def ").filter(|&at| at == 0 || text[..at].ends_with('\n')) else { continue };
        let head = &text[..def];
        let name = text[def + 4..].split('(').next().unwrap_or_default();
        // Without an overload, a function is known by its module: what the library calls itself.
        let mut names = vec![format!("weft.lib.{module}.{name}")];
        if let Some(list) = head.split_once("@overload(").and_then(|(_, rest)| rest.split_once(')')) {
            let paths = list.0.split(',').map(str::trim).filter(|p| !p.is_empty());
            names.extend(paths.map(|p| canonical(&imports, p)));
        }
        let entry = Arc::new(Entry { module, text, imports: imports.clone(), parsed: OnceLock::new() });
        all.extend(names.into_iter().map(|name| (name, entry.clone())));
    }
    Ok(())
}

impl Entry {
    fn parse(&self) -> Result<Overload, Diagnostic> {
        let library = parse_library(u32::MAX, self.text)?;
        let Some((function, decorators)) = library.functions.into_iter().next() else {
            return Err(Diagnostic::internal(weft_diag::Span::NONE, "a library function without text"));
        };
        let mut form = Form::Whole;
        let mut attribute = false;
        for d in decorators {
            match d.path.as_str() {
                "overload" => {}
                "elementwise" => form = Form::Elementwise,
                "elementwise_array" => form = Form::ElementwiseArray,
                "generate" => form = Form::Generate,
                "attribute" => attribute = true,
                other => {
                    let message = format!("the library decorator `{other}` is unknown");
                    return Err(Diagnostic::internal(d.span, message));
                }
            }
        }
        let py = Arc::new(crate::py::lower(&function)?);
        Ok(Overload {
            py,
            attribute,
            module: self.module,
            params: function.params,
            form,
            imports: self.imports.clone(),
        })
    }
}

/// A dotted path with its first name replaced by what was imported under it.
pub(super) fn canonical(imports: &BTreeMap<String, String>, path: &str) -> String {
    let (first, rest) = path.split_once('.').map_or((path, None), |(f, r)| (f, Some(r)));
    let base = imports.get(first).cloned().unwrap_or_else(|| format!("builtins.{first}"));
    match rest {
        Some(rest) => format!("{base}.{rest}"),
        None => base,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_of_the_library_can_be_read() {
        let names = index().as_ref().unwrap();
        assert!(names.len() > 300, "{}", names.len());
        for name in names.keys() {
            assert!(find(name).unwrap().is_some(), "{name}");
        }
        // What the scan finds is what the parser finds.
        for (module, text) in SOURCES {
            for (function, decorators) in parse_library(0, text).unwrap().functions {
                assert!(names.contains_key(&format!("weft.lib.{module}.{}", function.name)), "{}", function.name);
                let overloads = decorators.iter().filter(|d| d.path == "overload").flat_map(|d| &d.args);
                let imports = parse_library(0, text).unwrap().imports;
                for path in overloads.filter_map(weft_syntax::dotted) {
                    assert!(names.contains_key(&canonical(&imports, &path)), "{path}");
                }
            }
        }
    }
}
