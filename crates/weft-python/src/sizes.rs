//! Sizes of launches, as Python writes them.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyList, PyTuple};
use smallvec::SmallVec;

/// Sizes of an index space.
pub(crate) type Sizes = SmallVec<[u64; 3]>;

/// Most work-items of a launch, those that only fill up work-groups included: what compiled code takes an index of a
/// work-item to be below, and what an exception has room for beside its site.
const MOST_ITEMS: u64 = 1 << 48;

/// What a launch was asked for.
pub(crate) struct Size {
    /// Work-items, slowest dimension first.
    pub(crate) global: Sizes,
    /// Work-items of a work-group; empty where the runtime chooses.
    pub(crate) local: Sizes,
}

impl Size {
    /// These sizes, if a launch can have them.
    pub(crate) fn new(global: Sizes, local: Sizes) -> PyResult<Size> {
        if local.contains(&0) {
            return Err(PyValueError::new_err("a local size has no zeros"));
        }
        if !local.is_empty() && local.len() != global.len() {
            return Err(PyValueError::new_err(format!(
                "the local size has {} dimensions and the global size {}",
                local.len(),
                global.len()
            )));
        }
        let items = global.iter().enumerate().map(|(d, &n)| match local.get(d) {
            Some(&group) => u128::from(n.div_ceil(group)) * u128::from(group),
            None => n.into(),
        });
        // An empty launch has none, whatever its other sizes.
        let count = match global.contains(&0) {
            true => 0,
            false => items.fold(1, u128::saturating_mul),
        };
        if count > MOST_ITEMS.into() {
            let (global, groups) = (tuple(&global), tuple(&local));
            let groups = if local.is_empty() { String::new() } else { format!(" in work-groups of {groups}") };
            return Err(PyValueError::new_err(format!(
                "a launch of {global}{groups} is too large: it has at most {MOST_ITEMS} (2**48) work-items"
            )));
        }
        Ok(Size { global, local })
    }

    /// The sizes of `f[index]`. Ints alone are one global size, since `f[a.shape]` is the same to Python as `f[n, m]`; a
    /// local size is recognised by being a tuple.
    pub(crate) fn of_index(index: &Bound<'_, PyAny>) -> PyResult<Size> {
        let Ok(tuple) = index.cast::<PyTuple>() else {
            return Size::new(one_or_more(index, "global", false)?, Sizes::new());
        };
        if tuple.len() == 2
            && let Ok(local) = tuple.get_item(1)?.cast::<PyTuple>()
        {
            return Size::new(one_or_more(&tuple.get_item(0)?, "global", true)?, local_size(local.as_any())?);
        }
        let nested = |item: Bound<'_, PyAny>| item.is_instance_of::<PyTuple>() || item.is_instance_of::<PyList>();
        if tuple.len() > 1 && tuple.iter().any(nested) {
            return Err(PyTypeError::new_err(
                "a launch is kernel[global_size] or kernel[global_size, local_size], with a tuple as the local size: \
                 kernel[8, (4,)], kernel[(8, 6), (4, 2)]",
            ));
        }
        Size::new(one_or_more(index, "global", true)?, Sizes::new())
    }

    /// The sizes of `f[index]` where two things are always a global and a local size, as in numba-dppy and Numba-MLIR.
    pub(crate) fn of_pair(index: &Bound<'_, PyAny>) -> PyResult<Size> {
        let Ok(tuple) = index.cast::<PyTuple>() else {
            return Size::new(one_or_more(index, "global", true)?, Sizes::new());
        };
        match tuple.len() {
            1 => Size::new(one_or_more(&tuple.get_item(0)?, "global", true)?, Sizes::new()),
            2 => Size::new(one_or_more(&tuple.get_item(0)?, "global", true)?, local_size(&tuple.get_item(1)?)?),
            n => Err(PyValueError::new_err(format!(
                "a launch is kernel[global_size] or kernel[global_size, local_size], each an int or a tuple; {n} were given"
            ))),
        }
    }

    /// Refuses a launch over more dimensions than a kernel names, which is how `f[8, 4]` reads to those who mean work-items
    /// and groups.
    pub(crate) fn check_dimensions(&self, name: &str, named: u32) -> PyResult<()> {
        let n = self.global.len();
        if n <= 1 || n <= named as usize {
            return Ok(());
        }
        let names = match named {
            0 => "no dimension".to_owned(),
            1 => "only dimension 0".to_owned(),
            _ => "only dimensions 0 and 1".to_owned(),
        };
        let plain = |sizes: &[u64]| sizes.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        let first = self.global[0];
        let (written, other) = match (&self.global[..], &self.local[..]) {
            (&[global, group], []) if named < 2 => (
                plain(&self.global),
                format!("{global} work-items in groups of {group} are {name}[({global},), ({group},)]"),
            ),
            (all, []) if named < 2 => (plain(all), format!("{first} work-items are {name}[{first}]")),
            (all, []) => (plain(all), format!("two dimensions are {name}[{}]", plain(&all[..2]))),
            (all, local) => (
                format!("{}, {}", tuple(all), tuple(local)),
                match named {
                    0 | 1 => format!("one dimension is {name}[({first},), ({},)]", local[0]),
                    _ => format!("two dimensions are {name}[{}, {}]", tuple(&all[..2]), tuple(&local[..2])),
                },
            ),
        };
        let missing: Vec<String> = (named as usize..n).map(|d| format!("weft.get_global_id({d})")).collect();
        let missing = if named == 0 { &missing[1..] } else { &missing[..] };
        Err(PyValueError::new_err(format!(
            "{name}[{written}] is a launch of {n} dimensions, and the kernel `{name}` names {names}: {other}; for {n} \
             dimensions, name {} in the kernel",
            missing.join(" and ")
        )))
    }
}

impl Size {
    /// The index of a work-item, from its position among all.
    pub(crate) fn index(&self, mut item: u64) -> Sizes {
        let mut index = self.global.clone();
        for (i, &n) in index.iter_mut().zip(&self.global).rev() {
            (*i, item) = (item % n.max(1), item / n.max(1));
        }
        index
    }

    /// An exception with a note that says which work-item of a kernel raised it.
    pub(crate) fn name_item(&self, py: Python<'_>, exception: PyErr, kernel: &str, item: u64) -> PyErr {
        let (item, global) = (tuple(&self.index(item)), tuple(&self.global));
        let note = format!("in work-item {item} of `{kernel}`, launched over {global}");
        match exception.value(py).call_method1("add_note", (note,)) {
            Ok(_) => exception,
            Err(other) => other,
        }
    }
}

/// Sizes as Python writes a tuple.
pub(crate) fn tuple(sizes: &[u64]) -> String {
    match sizes {
        [one] => format!("({one},)"),
        all => format!("({})", all.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")),
    }
}

/// A local size; an empty one is DEFAULT_LOCAL_SIZE: the runtime chooses.
pub(crate) fn local_size(object: &Bound<'_, PyAny>) -> PyResult<Sizes> {
    match object.len() {
        Ok(0) => Ok(Sizes::new()),
        _ => one_or_more(object, "local", true),
    }
}

/// One to three sizes: an int or, where they may be `several`, a tuple or list of ints.
pub(crate) fn one_or_more(object: &Bound<'_, PyAny>, what: &str, several: bool) -> PyResult<Sizes> {
    if !several || !object.is_instance_of::<PyTuple>() && !object.is_instance_of::<PyList>() {
        return one(object, what).map(|n| SmallVec::from_slice(&[n]));
    }
    let sizes: Sizes = object.try_iter()?.map(|n| one(&n?, what)).collect::<PyResult<_>>()?;
    match sizes.len() {
        1..=3 => Ok(sizes),
        0 => Err(PyValueError::new_err(format!("a {what} size has one to three dimensions, not none"))),
        n => Err(PyValueError::new_err(format!("a {what} size has one to three dimensions, not {n}"))),
    }
}

fn one(object: &Bound<'_, PyAny>, what: &str) -> PyResult<u64> {
    let size: Option<i64> = if object.is_instance_of::<PyBool>() { None } else { object.extract().ok() };
    let Some(size) = size else {
        if object.is_instance_of::<PyInt>() && !object.is_instance_of::<PyBool>() {
            let text = match object.lt(0)? {
                true => format!("a size is not negative, and {object} is"),
                false => format!(
                    "a {what} size of {object} is too large: a launch has at most {MOST_ITEMS} (2**48) work-items"
                ),
            };
            return Err(PyValueError::new_err(text));
        }
        let ty = object.get_type().qualname().map_or_else(|_| "?".to_owned(), |s| s.to_string());
        let text = format!("a {what} size is an int or a tuple of up to three, not {ty}");
        return Err(PyTypeError::new_err(text));
    };
    u64::try_from(size).map_err(|_| PyValueError::new_err(format!("a size is not negative, and {size} is")))
}
