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
use weft_syntax::{Param, dotted, parse_library};

/// Library modules, by name.
const SOURCES: &[(&str, &str)] = &[
    ("builtins", include_str!("../../../../python/weft/lib/builtins.py")),
    ("creation", include_str!("../../../../python/weft/lib/creation.py")),
    ("list", include_str!("../../../../python/weft/lib/list.py")),
    ("cmath", include_str!("../../../../python/weft/lib/cmath.py")),
    ("math", include_str!("../../../../python/weft/lib/math.py")),
    ("arrays", include_str!("../../../../python/weft/lib/arrays.py")),
    ("indexing", include_str!("../../../../python/weft/lib/indexing.py")),
    ("numpy", include_str!("../../../../python/weft/lib/numpy.py")),
    ("parts", include_str!("../../../../python/weft/lib/parts.py")),
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
    pub imports: BTreeMap<String, String>,
}

/// Canonical names of every function a program may call.
pub fn known_functions() -> Vec<String> {
    let library = registry().iter().flat_map(|r| r.keys().cloned());
    BUILTINS.iter().map(|s| s.to_string()).chain(library).collect()
}

/// The overload of a canonical name.
pub(super) fn find(name: &str) -> Result<Option<&'static Overload>, Diagnostic> {
    match registry() {
        Ok(r) => Ok(r.get(name)),
        Err(d) => Err(d.clone()),
    }
}

fn registry() -> &'static Result<BTreeMap<String, Overload>, Diagnostic> {
    static REGISTRY: OnceLock<Result<BTreeMap<String, Overload>, Diagnostic>> = OnceLock::new();
    REGISTRY.get_or_init(|| {
        let mut all = BTreeMap::new();
        for (module, text) in SOURCES {
            load(module, text, &mut all)?;
        }
        Ok(all)
    })
}

fn load(module: &'static str, text: &str, all: &mut BTreeMap<String, Overload>) -> Result<(), Diagnostic> {
    let library = parse_library(u32::MAX, text)?;
    for (function, decorators) in library.functions {
        let mut form = Form::Whole;
        let mut attribute = false;
        // Without an overload, a function is known by its module: what the library calls itself.
        let mut names = vec![format!("weft.lib.{module}.{}", function.name)];
        for d in decorators {
            match d.path.as_str() {
                "overload" => names.extend(d.args.iter().filter_map(dotted).map(|p| canonical(&library.imports, &p))),
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
        for name in names {
            let overload = Overload {
                py: py.clone(),
                attribute,
                module,
                params: function.params.clone(),
                form,
                imports: library.imports.clone(),
            };
            all.insert(name, overload);
        }
    }
    Ok(())
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
