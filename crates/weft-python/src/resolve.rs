//! What the names in a function stand for: the compiler's `Resolver` over Python's namespaces.
//!
//! Every name that was looked up becomes an assumption ([`Guards`]). Functions of the user's are numbered as they are
//! met, and read when they are called.

use std::collections::HashMap;
use std::sync::Arc;

use pyo3::exceptions::{PyAttributeError, PyBaseException};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyComplex, PyComplexMethods, PyDict, PyFloat, PyInt, PyModule, PyString, PyTuple, PyType};
use weft_diag::{Diagnostic, ErrorKind, Sources, Span};
use weft_ir::attr::Const;
use weft_ir::{DType, ExcClass, FastMath, half};
use weft_passes::infer::{FunctionRef, Resolved, Resolver, UserFunction, is_known_function, known_functions};

use crate::arguments::array_word;
use crate::array_like::plain_array;
use crate::constants::is_function;
use crate::dispatcher::Dispatcher;
use crate::guards::{Expected, Guards, Numbers, Place, Scope, lookup, word_of};
use crate::key::Word;
use crate::numpy::{ArrayView, read_scalar, scalar_dtype};
use crate::text::Text;

/// A number that has changed so often is read at every call.
const MAX_CHANGES: u32 = 2;

/// Most values in a tuple that a name stands for.
const MAX_TUPLE: usize = 256;

/// Looks names up for one compilation, and notes what it found.
pub(crate) struct Names<'a, 'py> {
    py: Python<'py>,
    /// What is known of changing numbers; `None` to compile all of them in.
    numbers: Option<&'a Numbers>,
    functions: Vec<Seen<'py>>,
    /// What paths stand for, by function: inference asks again for each of its walks.
    resolved: HashMap<FunctionRef, HashMap<String, Resolved>>,
    /// Every assumption made.
    pub(crate) guards: Guards,
    /// The text of every function read.
    pub(crate) sources: Sources,
    /// Name of the function that each text is of.
    pub(crate) names: Vec<String>,
    /// Exception classes of the user's, by number.
    pub(crate) exceptions: Vec<UserException>,
    /// Elements of arrays are taken without a check.
    pub(crate) unchecked: bool,
    /// Python's integers wrap.
    pub(crate) wraps: bool,
    /// Python's numbers are divided by zero as NumPy's are.
    pub(crate) divides_by_zero: bool,
    /// What float arithmetic may do.
    pub(crate) fast: FastMath,
    /// Slices may be taken to lie inside their axis.
    pub(crate) assumes: bool,
    pub(crate) debug: bool,
    /// What was raised where an attribute was looked up.
    pub(crate) raised: Option<PyErr>,
}

/// An exception class of the user's.
pub(crate) struct UserException {
    pub(crate) class: Py<PyAny>,
    /// What it is and derives from, by [`ExcClass::number`].
    bases: Vec<u32>,
}

/// A function that was met.
struct Seen<'py> {
    /// The plain function.
    function: Bound<'py, PyAny>,
    /// A `weft._source.Source`; found when the function is read.
    source: Option<Bound<'py, PyAny>>,
    scope: Scope,
    /// Closure variables and their cells.
    cells: Vec<(String, Py<PyAny>)>,
    read: Option<Arc<UserFunction>>,
}

impl<'a, 'py> Names<'a, 'py> {
    pub(crate) fn new(py: Python<'py>, numbers: Option<&'a Numbers>) -> Names<'a, 'py> {
        let (guards, sources) = (Guards::default(), Sources::default());
        Names {
            py,
            numbers,
            functions: vec![],
            resolved: HashMap::new(),
            guards,
            sources,
            names: vec![],
            exceptions: vec![],
            unchecked: false,
            wraps: false,
            divides_by_zero: false,
            fast: FastMath::default(),
            assumes: false,
            debug: false,
            raised: None,
        }
    }

    /// An attribute, if there is one. What the user's code raises when it is asked for is kept for the one who asked for the
    /// function to be compiled.
    fn attribute(&mut self, object: &Bound<'py, PyAny>, name: &Bound<'py, PyString>) -> Option<Bound<'py, PyAny>> {
        match object.getattr(name) {
            Ok(found) => Some(found),
            Err(error) => {
                if !error.is_instance_of::<PyAttributeError>(self.py) {
                    self.raised.get_or_insert(error);
                }
                None
            }
        }
    }

    /// The number of a function, plain or jitted. The first is the one being compiled.
    pub(crate) fn number(&mut self, object: &Bound<'py, PyAny>) -> PyResult<FunctionRef> {
        let (function, source) = match object.cast::<Dispatcher>() {
            Ok(jitted) => {
                let inner = jitted.get().function();
                (inner.py_func.bind(self.py).clone(), Some(inner.source.bind(self.py).clone()))
            }
            Err(_) => (object.clone(), None),
        };
        if let Some(at) = self.functions.iter().position(|seen| seen.function.is(&function)) {
            return Ok(FunctionRef(at as u32));
        }
        let (scope, cells) = (scope_of(&function)?, cells_of(&function)?);
        self.functions.push(Seen { function, source, scope, cells, read: None });
        Ok(FunctionRef(self.functions.len() as u32 - 1))
    }

    /// The function being compiled, with the text that was taken when it was decorated.
    pub(crate) fn entry(&mut self, function: &Bound<'py, PyAny>, source: &Bound<'py, PyAny>) -> PyResult<()> {
        let number = self.number(function)?;
        self.functions[number.0 as usize].source = Some(source.clone());
        Ok(())
    }

    /// The text of a function, added to the sources, and its number among them.
    pub(crate) fn text(&mut self, f: FunctionRef) -> PyResult<(Text, u32)> {
        let seen = &mut self.functions[f.0 as usize];
        let source = match &seen.source {
            Some(source) => source.clone(),
            None => {
                let capture = self.py.import("weft._source")?.getattr("capture")?;
                let found = capture.call1((&seen.function, self.py.None()))?;
                seen.source = Some(found.clone());
                found
            }
        };
        let (text, file) = Text::of(&seen.function, &source)?;
        self.names.push(seen.function.getattr("__name__")?.extract()?);
        Ok((text, self.sources.add(file)))
    }

    /// Notes how a function was read.
    pub(crate) fn set_read(&mut self, f: FunctionRef, read: Arc<UserFunction>) {
        self.functions[f.0 as usize].read = Some(read);
    }

    /// What the defaults of a function's parameters are, in declaration order.
    pub(crate) fn defaults(&mut self, f: FunctionRef, parameters: &[String]) -> Vec<Option<Resolved>> {
        let function = self.functions[f.0 as usize].function.clone();
        let found = defaults_of(&function, parameters).unwrap_or_default();
        let mut resolved = vec![];
        for k in 0..parameters.len() {
            resolved.push(found.get(k).cloned().flatten().map(|object| self.describe_or_other(&object, None)));
        }
        resolved
    }

    fn root(&self, f: FunctionRef, name: &str) -> Place {
        let seen = &self.functions[f.0 as usize];
        match seen.cells.iter().find(|(cell, _)| cell == name) {
            Some((_, cell)) => Place::Cell(cell.clone_ref(self.py)),
            None => Place::Dict(seen.scope.globals.clone_ref(self.py), PyString::intern(self.py, name).unbind()),
        }
    }

    /// Names in scope, for suggestions.
    fn candidates(&self, f: FunctionRef) -> Vec<String> {
        let seen = &self.functions[f.0 as usize];
        let mut names: Vec<String> = seen.cells.iter().map(|(name, _)| name.clone()).collect();
        for dict in [&seen.scope.globals, &seen.scope.builtins] {
            names.extend(dict.bind(self.py).keys().iter().filter_map(|k| k.extract::<String>().ok()));
        }
        names
    }

    /// What a name stands for, and where it was found.
    fn first(&mut self, f: FunctionRef, name: &str) -> Result<(Bound<'py, PyAny>, Place), Resolved> {
        let place = self.root(f, name);
        if let Some(object) = place.get(self.py) {
            return Ok((object, place));
        }
        // A name that is not a global must stay none for the builtin to be meant.
        let is_global = matches!(place, Place::Dict(..));
        self.guards.add(place, Expected::Absent);
        let builtins = self.functions[f.0 as usize].scope.builtins.clone_ref(self.py);
        let key = PyString::intern(self.py, name).unbind();
        match is_global.then(|| lookup(self.py, &builtins, &key)).flatten() {
            Some(object) => Ok((object, Place::Dict(builtins, key))),
            None => {
                self.guards.add(Place::Dict(builtins, key), Expected::Absent);
                let candidates = self.candidates(f);
                let nearest = weft_diag::nearest(name, candidates.iter().map(String::as_str)).map(str::to_owned);
                Err(Resolved::Missing { nearest })
            }
        }
    }

    /// Follows a path. What modules of libraries hold is taken as constant, all else is assumed.
    fn follow(&mut self, f: FunctionRef, path: &str) -> Result<Resolved, Resolved> {
        let mut parts = path.split('.');
        let (mut object, place) = self.first(f, parts.next().unwrap_or_default())?;
        let mut place = Some(place);
        while let Some(part) = parts.next() {
            if !is_namespace(&object) {
                let value = self.describe_or_other(&object, place.take());
                let rest = std::iter::once(part).chain(parts).map(str::to_owned).collect();
                return Ok(match value {
                    Resolved::Other { .. } => return self.plain_attributes(object, rest),
                    value => Resolved::Attributes(Box::new(value), rest),
                });
            }
            if let Some(place) = place.take() {
                self.guards.add(place, Expected::Object(object.clone().unbind()));
            }
            let name = PyString::intern(self.py, part);
            let Some(next) = self.attribute(&object, &name) else {
                return Err(Resolved::Missing { nearest: nearest_attribute(&object, part) });
            };
            place = match object.cast::<PyModule>() {
                Ok(module) if !is_library(module) => {
                    let dict = module.dict();
                    match dict.contains(&name).unwrap_or(false) {
                        true => Some(Place::Dict(dict.unbind(), name.unbind())),
                        // A module with a `__getattr__` of its own.
                        false => Some(Place::Attribute(object.clone().unbind(), name.unbind())),
                    }
                }
                Ok(_) => None,
                Err(_) => Some(Place::Attribute(object.clone().unbind(), name.unbind())),
            };
            object = next;
        }
        Ok(self.describe_or_other(&object, place))
    }

    /// Attributes of an object that is no value itself: an enum member, a settings object.
    fn plain_attributes(&mut self, mut object: Bound<'py, PyAny>, rest: Vec<String>) -> Result<Resolved, Resolved> {
        for (k, part) in rest.iter().enumerate() {
            let name = PyString::intern(self.py, part);
            let Some(next) = self.attribute(&object, &name) else {
                return Err(Resolved::Missing { nearest: nearest_attribute(&object, part) });
            };
            let place = Place::Attribute(object.clone().unbind(), name.unbind());
            if k + 1 == rest.len() {
                return Ok(self.describe_or_other(&next, Some(place)));
            }
            self.guards.add(place, Expected::Object(next.clone().unbind()));
            object = next;
        }
        Ok(self.describe_or_other(&object, None))
    }

    fn describe_or_other(&mut self, object: &Bound<'py, PyAny>, place: Option<Place>) -> Resolved {
        self.describe(object, place).unwrap_or_else(|_| Resolved::Other { what: "an object".into() })
    }

    /// What an object is to the compiler. That `place` holds it is assumed.
    fn describe(&mut self, object: &Bound<'py, PyAny>, mut place: Option<Place>) -> PyResult<Resolved> {
        // SAFETY: a live object, under the GIL.
        if let Some(view) = unsafe { plain_array(object.as_ptr()) } {
            return Ok(self.array(view, place));
        }
        let number = object.is_exact_instance_of::<PyFloat>() || object.is_exact_instance_of::<PyInt>();
        let changing = |place: &Place| self.numbers.is_some_and(|n| n.changes(place, object) >= MAX_CHANGES);
        if let Some(word) = word_of(object).filter(|_| number && place.as_ref().is_some_and(changing))
            && let Some(place) = place.take()
        {
            return Ok(self.hidden(place, word));
        }
        if let Some(place) = place {
            self.guards.add(place, Expected::Object(object.clone().unbind()));
        }
        if let Some(value) = constant(object)? {
            return Ok(value);
        }
        if let Some(implementation) = overloaded(object)? {
            return Ok(Resolved::UserFunction(self.number(&implementation)?));
        }
        if let Some(name) = known_name(self.py, object)? {
            return Ok(Resolved::Function(name));
        }
        if let Ok(tuple) = object.cast_exact::<PyTuple>()
            && tuple.len() <= MAX_TUPLE
        {
            return Ok(Resolved::Tuple(tuple.iter().map(|part| self.describe(&part, None)).collect::<PyResult<_>>()?));
        }
        if let Some(name) = name_in_numpy(&original(object)) {
            return Ok(Resolved::NotYet { name });
        }
        if is_function(object) || object.is_instance_of::<Dispatcher>() {
            return Ok(Resolved::UserFunction(self.number(object)?));
        }
        if let Ok(class) = object.cast::<PyType>()
            && class.is_subclass_of::<PyBaseException>()?
        {
            return self.exception(class);
        }
        if let Ok(module) = object.cast::<PyModule>() {
            return Ok(Resolved::Module(format!("the module `{}`", module.name()?)));
        }
        let what = match object.is_callable() {
            true => {
                let name = object.getattr("__qualname__").or_else(|_| object.getattr("__name__"));
                name.map_or_else(|_| "a callable".into(), |n| format!("the function `{n}`"))
            }
            false => format!("an object of type `{}`", object.get_type().qualname()?),
        };
        Ok(Resolved::Other { what })
    }

    /// A global array: read at every call.
    fn array(&mut self, view: ArrayView<'_>, place: Option<Place>) -> Resolved {
        let Some(place) = place else {
            return Resolved::Other { what: "an array in a tuple or a default (pass it as an argument)".into() };
        };
        let Some(word) = array_word(view) else {
            return Resolved::Other { what: "an array that Weft does not take (convert it with .astype)".into() };
        };
        self.hidden(place, word)
    }

    /// What compiled code reads at every call.
    fn hidden(&mut self, place: Place, word: Word) -> Resolved {
        let index = match self.guards.hidden.iter().position(|(p, _)| p.is_same(&place)) {
            Some(index) => index,
            None => {
                self.guards.hidden.push((place, word));
                self.guards.hidden.len() - 1
            }
        };
        Resolved::Hidden { index: index as u32, ty: word.ty(&mut 0, &weft_ir::Place::Host) }
    }

    fn exception(&mut self, class: &Bound<'py, PyType>) -> PyResult<Resolved> {
        let mut own = vec![];
        let mut builtin = None;
        let mut bases = vec![];
        for base in class.mro().iter() {
            let base = base.cast_into::<PyType>()?;
            match builtin_exception(&base)? {
                Some(known) => {
                    builtin.get_or_insert(known);
                    bases.extend(ExcClass::ALL.iter().position(|&c| c == known).map(|k| k as u32));
                }
                None if base.is_subclass_of::<PyBaseException>()? => own.push(base),
                None => {}
            }
        }
        match (builtin, own.is_empty()) {
            (Some(known), true) => Ok(Resolved::Exception(known)),
            (Some(known), false) => {
                let numbers: Vec<u32> = own.iter().map(|class| self.exception_number(class)).collect();
                bases.extend(numbers.iter().map(|&k| ExcClass::number(k)));
                self.exceptions[numbers[0] as usize].bases = bases;
                Ok(Resolved::UserException(numbers[0], known))
            }
            (None, _) => Ok(Resolved::Other { what: format!("the class `{}`", class.qualname()?) }),
        }
    }

    /// The number of a class of the user's, which may be a base of an exception only.
    fn exception_number(&mut self, class: &Bound<'py, PyType>) -> u32 {
        let known = self.exceptions.iter().position(|seen| seen.class.is(class));
        known.unwrap_or_else(|| {
            self.exceptions.push(UserException { class: class.clone().into_any().unbind(), bases: vec![] });
            self.exceptions.len() - 1
        }) as u32
    }
}

/// The class of Python's, NumPy's or ours that compiled code knows.
fn builtin_exception(class: &Bound<'_, PyType>) -> PyResult<Option<ExcClass>> {
    let Some(known) = ExcClass::from_name(&class.name()?.to_string()) else { return Ok(None) };
    let module = class.module()?.to_string();
    Ok(["builtins", "numpy._core._exceptions", "numpy.exceptions", "numpy.linalg", "weft.errors"]
        .contains(&module.as_str())
        .then_some(known))
}

impl Resolver for Names<'_, '_> {
    fn resolve(&mut self, path: &str) -> Resolved {
        self.resolve_in(FunctionRef::ENTRY, path)
    }

    fn exception_bases(&self, user: u32) -> Vec<u32> {
        self.exceptions.get(user as usize).map_or(vec![], |class| class.bases.clone())
    }

    fn checks_bounds(&self) -> bool {
        !self.unchecked
    }

    fn may_assume(&self) -> bool {
        self.assumes
    }

    fn wraps_overflow(&self) -> bool {
        self.wraps
    }

    fn divides_by_zero(&self) -> bool {
        self.divides_by_zero
    }

    fn python_minor(&self) -> u8 {
        self.py.version_info().minor
    }

    fn fast_math(&self) -> FastMath {
        self.fast
    }

    fn is_debugging(&self) -> bool {
        self.debug
    }

    fn identity(&mut self, f: FunctionRef) -> Option<Const> {
        let function = &self.functions.get(f.0 as usize)?.function;
        let identity = function.getattr_opt("__weft_identity__").ok()??;
        match constant(&identity).ok()?? {
            Resolved::Const(value) | Resolved::Scalar(_, value) => Some(value),
            _ => None,
        }
    }

    fn resolve_in(&mut self, f: FunctionRef, path: &str) -> Resolved {
        if let Some(known) = self.resolved.get(&f).and_then(|paths| paths.get(path)) {
            return known.clone();
        }
        let found = self.follow(f, path).unwrap_or_else(|missing| missing);
        self.resolved.entry(f).or_default().insert(path.to_owned(), found.clone());
        found
    }

    fn function(&mut self, f: FunctionRef) -> Result<Arc<UserFunction>, Diagnostic> {
        let Some(seen) = self.functions.get(f.0 as usize) else {
            return Err(Diagnostic::internal(Span::NONE, format!("there is no function {}", f.0)));
        };
        if let Some(read) = &seen.read {
            return Ok(read.clone());
        }
        let py = self.py;
        let (text, file) =
            self.text(f).map_err(|e| Diagnostic::new(ErrorKind::Source, Span::NONE, e.value(py).to_string()))?;
        let parsed = text.parse(file)?;
        let parameters: Vec<String> = parsed.params.iter().map(|p| p.name.clone()).collect();
        let defaults = self.defaults(f, &parameters);
        let name = self.names.last().cloned().unwrap_or_default();
        let read = Arc::new(UserFunction { name, py: Arc::new(parsed), defaults, file });
        self.set_read(f, read.clone());
        Ok(read)
    }
}

/// A number, string, None or NumPy scalar.
fn constant(object: &Bound<'_, PyAny>) -> PyResult<Option<Resolved>> {
    let value = if object.is_none() {
        Const::None
    } else if object.is(object.py().Ellipsis()) {
        Const::Ellipsis
    } else if object.is_exact_instance_of::<PyBool>() {
        Const::Bool(object.extract()?)
    } else if object.is_exact_instance_of::<PyInt>() {
        match object.extract::<i128>() {
            Ok(value) => Const::Int(value),
            Err(_) => return Ok(Some(Resolved::Other { what: "an int of more than 128 bits".into() })),
        }
    } else if object.is_exact_instance_of::<PyFloat>() {
        Const::Float(object.extract()?)
    } else if object.is_exact_instance_of::<PyString>() {
        Const::Str(object.extract()?)
    } else if object.is_instance_of::<PyInt>() && object.get_type().hasattr("__members__")? {
        // A member of an IntEnum computes as its value.
        Const::Int(object.extract::<i64>()?.into())
    } else if let Ok(z) = object.cast_exact::<PyComplex>() {
        Const::Complex(z.real(), z.imag())
    } else {
        // SAFETY: a live object, under the GIL; read as a scalar of the dtype that it has.
        return Ok(unsafe {
            scalar_dtype(object.as_ptr())
                .map(|dtype| Resolved::Scalar(dtype, scalar_const(dtype, read_scalar(object.as_ptr(), dtype))))
        });
    };
    Ok(Some(Resolved::Const(value)))
}

fn scalar_const(dtype: DType, bits: u128) -> Const {
    let single = |bits: u128| f64::from(f32::from_bits(bits as u32));
    let double = |bits: u128| f64::from_bits(bits as u64);
    match dtype {
        DType::Bool => Const::Bool(bits & 1 == 1),
        DType::F16 => Const::Float(half::from_bits(bits as u16)),
        DType::F32 => Const::Float(single(bits)),
        DType::F64 => Const::Float(double(bits)),
        DType::C64 => Const::Complex(single(bits), single(bits >> 32)),
        DType::C128 => Const::Complex(double(bits), double(bits >> 64)),
        d => {
            let unused = 128 - 8 * d.size();
            let high = bits << unused;
            Const::Int(if d.is_signed() { high as i128 >> unused } else { (high >> unused) as i128 })
        }
    }
}

/// Whether a dot after this object means one of its own names: modules and classes.
fn is_namespace(object: &Bound<'_, PyAny>) -> bool {
    object.cast::<PyModule>().is_ok() || object.cast::<PyType>().is_ok()
}

/// Whether attributes of this module are taken as constant: those that are nobody's to change.
fn is_library(module: &Bound<'_, PyModule>) -> bool {
    let Ok(name) = module.name() else { return false };
    let name = name.to_string();
    let top = name.split('.').next().unwrap_or_default();
    ["numpy", "math", "cmath", "weft", "builtins", "operator"].contains(&top)
}

fn nearest_attribute(object: &Bound<'_, PyAny>, wanted: &str) -> Option<String> {
    // `np.int` and `np.float` were Python's own.
    if object.cast::<PyModule>().is_ok() && object.py().import("builtins").ok()?.hasattr(wanted).ok()? {
        return Some(wanted.to_owned());
    }
    let names: Vec<String> = object.dir().ok()?.iter().filter_map(|n| n.extract().ok()).collect();
    weft_diag::nearest(wanted, names.iter().map(String::as_str)).map(str::to_owned)
}

/// What the user made stand for a function (`weft.overload`).
fn overloaded<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    static OVERLOADS: PyOnceLock<Py<PyDict>> = PyOnceLock::new();
    let py = object.py();
    let table = OVERLOADS.get_or_try_init(py, || -> PyResult<Py<PyDict>> {
        Ok(py.import("weft._overload")?.getattr("_OVERLOADS")?.cast_into::<PyDict>()?.unbind())
    })?;
    match table.bind(py).get_item(object.as_ptr() as usize)? {
        Some(entry) => entry.get_item(1).map(Some),
        None => Ok(None),
    }
}

/// The canonical name of a function or type that the compiler knows, by its identity. A dtype is its scalar type.
pub(crate) fn known_name(py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    static KNOWN: PyOnceLock<HashMap<usize, (Py<PyAny>, String)>> = PyOnceLock::new();
    let object = match is_dtype(object) {
        true if object.getattr("isnative")?.extract()? => object.getattr("type")?,
        true => return Ok(None),
        false => original(object),
    };
    // An object that is indexed, not called.
    if object.get_type().name()? == "MGridClass" {
        return Ok(Some("numpy.mgrid".to_owned()));
    }
    // Most say themselves where they are found; the table of all names takes milliseconds to make.
    if let Some(name) = by_own_name(&object) {
        return Ok(Some(name));
    }
    if !object.is_callable() || is_of_another_package(&object) {
        return Ok(None);
    }
    let table = KNOWN.get_or_try_init(py, || {
        let mut table = HashMap::new();
        // `weft.lib` is reached through what it overloads.
        let names = known_functions().filter(|n| !n.starts_with("weft.lib.")).map(str::to_owned);
        let dtypes = DType::ALL.iter().map(|d| match d {
            DType::Bool => "numpy.bool".to_owned(),
            d => format!("numpy.{}", d.numpy_name()),
        });
        for name in names.chain(dtypes) {
            if let Some(function) = import_path(py, &name) {
                let function = original(&function);
                table.entry(function.as_ptr() as usize).or_insert((function.unbind(), name));
            }
        }
        PyResult::Ok(table)
    })?;
    Ok(table.get(&(object.as_ptr() as usize)).map(|(_, name)| name.clone()))
}

/// The name that a function or type gives itself, if that is what the compiler knows it by.
fn by_own_name(object: &Bound<'_, PyAny>) -> Option<String> {
    if !object.is_callable() || object.cast::<PyModule>().is_ok() {
        return None;
    }
    let part = |name: &str| object.getattr_opt(name).ok().flatten()?.extract::<String>().ok();
    let (module, name) = (part("__module__")?, part("__qualname__").or_else(|| part("__name__"))?);
    // Programs that come from Numba keep their imports: it means the same there.
    if module.starts_with("numba.") && name == "prange" {
        return Some("weft.prange".to_owned());
    }
    let name = format!("{module}.{name}");
    let found = is_known_function(&name).then(|| import_path(object.py(), &name)).flatten()?;
    original(&found).is(object).then_some(name)
}

/// Whether an object says that it is of a package of which the compiler knows nothing: the user's own functions.
fn is_of_another_package(object: &Bound<'_, PyAny>) -> bool {
    let module = object.getattr_opt("__module__").ok().flatten().and_then(|m| m.extract::<String>().ok());
    let top = module.as_deref().and_then(|m| m.split('.').next());
    top.is_some_and(|top| !["numpy", "math", "cmath", "builtins", "weft", "_operator", "operator"].contains(&top))
}

/// What a function of NumPy's is called there, without the `numpy`. Many are written in Python: that is not compiled.
fn name_in_numpy(object: &Bound<'_, PyAny>) -> Option<String> {
    if !object.is_callable() || object.cast::<PyType>().is_ok() {
        return None;
    }
    let text = |of: &Bound<'_, PyAny>, name: &str| of.getattr_opt(name).ok().flatten()?.extract::<String>().ok();
    let is_numpy = |module: &str| module == "numpy" || module.starts_with("numpy.");
    // A method of an object of NumPy's (`np.random.rand`), or a ufunc, is known by its class alone.
    let classes = [object.getattr_opt("__self__").ok().flatten().map(|of| of.get_type()), Some(object.get_type())];
    let module = text(object, "__module__")
        .or_else(|| classes.iter().flatten().find_map(|c| text(c, "__module__").filter(|m| is_numpy(m))))
        .filter(|m| is_numpy(m))?;
    let name = text(object, "__name__")?;
    // Private modules are nobody's way to it.
    let public = module.split('.').skip(1).take_while(|part| !part.starts_with('_') && *part != "mtrand");
    Some(public.chain([name.as_str()]).collect::<Vec<_>>().join("."))
}

/// Whether an object is a `numpy.dtype`.
pub(crate) fn is_dtype(object: &Bound<'_, PyAny>) -> bool {
    static CLASS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = object.py();
    let class = CLASS.get_or_try_init(py, || py.import("numpy")?.getattr("dtype").map(Bound::unbind));
    class.is_ok_and(|class| object.is_instance(class.bind(py)).unwrap_or(false))
}

/// The function that a test's stand-in stands for, or the object itself.
fn original<'py>(object: &Bound<'py, PyAny>) -> Bound<'py, PyAny> {
    // Functions only: asking arrays or modules for an attribute may run code.
    if object.is_callable() && object.cast::<PyModule>().is_err() {
        let name = pyo3::intern!(object.py(), "__weft_stands_for__");
        if let Ok(Some(found)) = object.getattr_opt(name) {
            return found;
        }
    }
    object.clone()
}

/// The object behind a canonical name (`numpy.linalg.norm`), if this NumPy has it.
fn import_path<'py>(py: Python<'py>, path: &str) -> Option<Bound<'py, PyAny>> {
    let mut parts = path.split('.');
    let mut object = py.import(parts.next()?).ok()?.into_any();
    for part in parts {
        object = object.getattr(part).ok()?;
    }
    Some(object)
}

/// The namespaces of a Python function.
fn scope_of(function: &Bound<'_, PyAny>) -> PyResult<Scope> {
    let globals = function.getattr("__globals__")?.cast_into::<PyDict>()?;
    let builtins = function.getattr("__builtins__")?.cast_into::<PyDict>()?;
    Ok(Scope { globals: globals.unbind(), builtins: builtins.unbind() })
}

/// The closure of a Python function: variable names and their cells.
fn cells_of(function: &Bound<'_, PyAny>) -> PyResult<Vec<(String, Py<PyAny>)>> {
    let closure = function.getattr("__closure__")?;
    if closure.is_none() {
        return Ok(vec![]);
    }
    let names: Vec<String> = function.getattr("__code__")?.getattr("co_freevars")?.extract()?;
    let cells: Vec<Py<PyAny>> = closure.extract()?;
    Ok(names.into_iter().zip(cells).collect())
}

/// The default of each parameter.
fn defaults_of<'py>(function: &Bound<'py, PyAny>, parameters: &[String]) -> PyResult<Vec<Option<Bound<'py, PyAny>>>> {
    let code = function.getattr("__code__")?;
    let names: Vec<String> = code.getattr("co_varnames")?.extract()?;
    let positional = &names[..code.getattr("co_argcount")?.extract::<usize>()?];
    let given: Vec<Bound<'py, PyAny>> = match function.getattr("__defaults__")? {
        none if none.is_none() => vec![],
        given => given.extract()?,
    };
    let keyword = function.getattr("__kwdefaults__")?;
    let without = positional.len().saturating_sub(given.len());
    parameters
        .iter()
        .map(|name| {
            if let Some(k) = positional.iter().position(|p| p == name) {
                return Ok(k.checked_sub(without).and_then(|k| given.get(k)).cloned());
            }
            match keyword.cast::<PyDict>() {
                Ok(keyword) => keyword.get_item(name),
                Err(_) => Ok(None),
            }
        })
        .collect()
}
