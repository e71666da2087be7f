//! The registry of library functions: Python source in the compiled subset, by the function it stands for.
//!
//! The build script parses `python/weft/lib/*.py`; the trees are embedded in the binary, and each is decoded when it is
//! first called. A function decorated `@overload(np.sin)` is what a call of NumPy's `sin` compiles to; `@elementwise`
//! says its body is about one element. Nothing in Rust lists NumPy's functions.

use crate::py::PyFunction;
use std::sync::Arc;
use std::sync::OnceLock;
use weft_diag::{Diagnostic, Span};
use weft_syntax::{Function, Param};

include!(concat!(env!("OUT_DIR"), "/library.rs"));

/// The functions, as the build script wrote them.
static TREES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/library.bin"));

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
    "weft.atomic.add",
    "weft.atomic.and_",
    "weft.atomic.cas",
    "weft.atomic.exchange",
    "weft.atomic.max",
    "weft.atomic.min",
    "weft.atomic.or_",
    "weft.atomic.sub",
    "weft.atomic.xor",
    "weft.get_global_id",
    "weft.get_global_size",
    "weft.prange",
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
}

/// Canonical names of every function a program may call.
pub fn known_functions() -> impl Iterator<Item = &'static str> {
    BUILTINS.iter().copied().chain(NAMES.iter().map(|(name, _)| *name))
}

/// Whether a program may call a function of this canonical name.
pub fn is_known_function(name: &str) -> bool {
    BUILTINS.binary_search(&name).is_ok() || number(name).is_some()
}

/// What computes the same as a function of NumPy that is not there yet, for one array `x`. Sorted.
const IN_OTHER_WORDS: [(&str, &str); 15] = [
    ("cumulative_prod", "np.cumprod(x)"),
    ("cumulative_sum", "np.cumsum(x)"),
    ("diagflat", "np.diag(x.ravel())"),
    ("ediff1d", "np.diff(x.ravel())"),
    ("iscomplex", "np.imag(x) != 0"),
    ("isreal", "np.imag(x) == 0"),
    ("nancumprod", "np.cumprod(np.where(np.isnan(x), 1, x))"),
    ("nancumsum", "np.cumsum(np.where(np.isnan(x), 0, x))"),
    ("nanmax", "np.max(x[~np.isnan(x)])"),
    ("nanmean", "np.mean(x[~np.isnan(x)])"),
    ("nanmin", "np.min(x[~np.isnan(x)])"),
    ("nanprod", "np.prod(x[~np.isnan(x)])"),
    ("nanstd", "np.std(x[~np.isnan(x)])"),
    ("nansum", "np.sum(x[~np.isnan(x)])"),
    ("nanvar", "np.var(x[~np.isnan(x)])"),
];

/// How to write a function of NumPy that is not there yet. Functions whose names look alike mean something else.
pub(super) fn in_other_words(name: &str) -> Option<&'static str> {
    IN_OTHER_WORDS.binary_search_by_key(&name, |(name, _)| *name).ok().map(|at| IN_OTHER_WORDS[at].1)
}

fn number(name: &str) -> Option<usize> {
    NAMES.binary_search_by_key(&name, |(name, _)| *name).ok().map(|at| NAMES[at].1)
}

/// Whether the library has a function of this canonical name.
pub(super) fn has(name: &str) -> bool {
    number(name).is_some()
}

/// The overload of a canonical name. It is decoded when it is first asked for.
pub(super) fn find(name: &str) -> Result<Option<&'static Overload>, Diagnostic> {
    static DECODED: [OnceLock<Result<Overload, Diagnostic>>; FUNCTIONS.len()] =
        [const { OnceLock::new() }; FUNCTIONS.len()];
    let Some(number) = number(name) else { return Ok(None) };
    match DECODED[number].get_or_init(|| decode(number)) {
        Ok(overload) => Ok(Some(overload)),
        Err(d) => Err(d.clone()),
    }
}

fn decode(number: usize) -> Result<Overload, Diagnostic> {
    let (module, start, end) = FUNCTIONS[number];
    let decoded: Result<(Vec<&str>, Function), _> = postcard::from_bytes(&TREES[start..end]);
    let (decorators, function) =
        decoded.map_err(|e| Diagnostic::internal(Span::NONE, format!("a library function is damaged: {e}")))?;
    let mut form = Form::Whole;
    let mut attribute = false;
    for decorator in decorators {
        match decorator {
            "elementwise" => form = Form::Elementwise,
            "elementwise_array" => form = Form::ElementwiseArray,
            "generate" => form = Form::Generate,
            "attribute" => attribute = true,
            other => {
                let message = format!("the library decorator `{other}` is unknown");
                return Err(Diagnostic::internal(Span::NONE, message));
            }
        }
    }
    let py = Arc::new(crate::py::lower(&function)?);
    Ok(Overload { py, attribute, module, params: function.params, form })
}

/// A dotted path as a module of the library sees it, its first name replaced by what was imported under it.
pub(super) fn canonical(module: &str, path: &str) -> String {
    let (first, rest) = path.split_once('.').map_or((path, None), |(f, r)| (f, Some(r)));
    let imported = IMPORTS.iter().find(|(m, name, _)| *m == module && *name == first);
    let base = imported.map_or_else(|| format!("builtins.{first}"), |(.., path)| (*path).to_owned());
    match rest {
        Some(rest) => format!("{base}.{rest}"),
        None => base,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::Path;
    use weft_syntax::{dotted, parse_library};

    /// The tree and the decorators of a function of the snapshot.
    fn decoded(name: &str) -> (Vec<&'static str>, Function) {
        let (_, start, end) = FUNCTIONS[number(name).unwrap()];
        postcard::from_bytes(&TREES[start..end]).unwrap()
    }

    #[test]
    fn the_snapshot_is_what_a_fresh_parse_gives() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/weft/lib");
        let mut found = BTreeSet::new();
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let module = path.file_stem().unwrap().to_str().unwrap().to_owned();
            if path.extension().is_none_or(|e| e != "py") || module == "__init__" || module == "prim" {
                continue;
            }
            let library = parse_library(u32::MAX, &std::fs::read_to_string(&path).unwrap()).unwrap();
            for (name, path) in &library.imports {
                assert!(IMPORTS.contains(&(&module, name, path)), "{module}: {name}");
            }
            for (function, decorators) in library.functions {
                let own = format!("weft.lib.{module}.{}", function.name);
                let (paths, tree) = decoded(&own);
                assert_eq!(tree, function);
                let (overloads, others): (Vec<_>, Vec<_>) = decorators.iter().partition(|d| d.path == "overload");
                assert!(paths.iter().eq(others.iter().map(|d| &d.path)), "{own}");
                for path in overloads.iter().flat_map(|d| &d.args).filter_map(dotted) {
                    let name = canonical(&module, &path);
                    assert_eq!(number(&name), number(&own), "{name}");
                    found.insert(name);
                }
                found.insert(own);
            }
        }
        assert!(found.len() > 300, "{}", found.len());
        assert!(found.iter().eq(NAMES.iter().map(|(name, _)| name)), "a name without a function");
    }

    #[test]
    fn every_function_of_the_library_can_be_read() {
        for (name, _) in NAMES {
            assert!(find(name).unwrap().is_some(), "{name}");
        }
    }

    #[test]
    fn names_are_found() {
        assert!(BUILTINS.is_sorted());
        assert!(known_functions().all(is_known_function));
        assert!(!is_known_function("numpy.no_such_function"));
    }
}
