//! Sizes of a launch, and the work-groups that cover them exactly.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList, PyTuple};
use smallvec::SmallVec;
use weft_hal::{DeviceInfo, Kernel};

/// Work-items of a work-group where nobody says.
const GROUP: u32 = 256;

type Sizes = SmallVec<[u64; 3]>;

/// What a launch was asked for; index 0 is dimension 0 of the program.
pub(crate) struct Size {
    global: Sizes,
    local: Option<Sizes>,
}

/// Work-groups and work-items along each dimension.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Grid {
    pub(crate) groups: [u32; 3],
    pub(crate) local: [u32; 3],
}

impl Size {
    /// From a `Range`, an `NdRange`, an int, or ints; with the local size beside it or in it.
    pub(crate) fn read(range: &Bound<'_, PyAny>, local: Option<&Bound<'_, PyAny>>) -> PyResult<Size> {
        let local = local.filter(|l| !l.is_none());
        // Looking for an attribute that is not there costs as much as all the rest.
        let plain = range.is_exact_instance_of::<PyInt>() || range.is_instance_of::<PyTuple>();
        let nd = if plain { None } else { range.getattr_opt("global_range")? };
        if let Some(global) = nd {
            if local.is_some() {
                return Err(PyTypeError::new_err("an NdRange has a local size: give it once"));
            }
            return Size::read(&global, Some(&range.getattr("local_range")?));
        }
        let global = sizes(range, "global")?;
        // An empty one is DEFAULT_LOCAL_SIZE.
        let local = match local {
            Some(local) if local.len().is_ok_and(|n| n == 0) => None,
            Some(local) => Some(sizes(local, "local")?),
            None => None,
        };
        if let Some(local) = &local {
            if local.len() != global.len() {
                let text =
                    format!("the local size has {} dimensions and the global size {}", local.len(), global.len());
                return Err(PyValueError::new_err(text));
            }
            if local.contains(&0) {
                return Err(PyValueError::new_err("a local size has no zeros"));
            }
        }
        Ok(Size { global, local })
    }
}

fn sizes(object: &Bound<'_, PyAny>, what: &str) -> PyResult<Sizes> {
    let one = |n: &Bound<'_, PyAny>| -> PyResult<u64> {
        let size: i64 = n.extract().map_err(|_| {
            let ty = n.get_type().qualname().map_or_else(|_| "?".to_owned(), |s| s.to_string());
            PyTypeError::new_err(format!("a {what} size is an int or up to three of them, not {ty}"))
        })?;
        u64::try_from(size).map_err(|_| PyValueError::new_err(format!("a size is not negative, and {size} is")))
    };
    if !object.is_instance_of::<PyTuple>() && !object.is_instance_of::<PyList>() {
        return one(object).map(|n| SmallVec::from_slice(&[n]));
    }
    let list: Sizes = object.try_iter()?.map(|n| one(&n?)).collect::<PyResult<_>>()?;
    match list.len() {
        1..=3 => Ok(list),
        n => Err(PyValueError::new_err(format!("a {what} size has one to three dimensions, not {n}"))),
    }
}

/// Work-groups that cover the global size exactly: a program sees no item that was not asked for.
pub(crate) fn grid(size: &Size, kernel: &dyn Kernel, required: Option<[u32; 3]>, info: &DeviceInfo) -> PyResult<Grid> {
    let (mut groups, mut local) = ([1; 3], [1; 3]);
    let mut left = GROUP.min(kernel.max_work_group_size()).max(1);
    for (d, &n) in size.global.iter().enumerate() {
        let chosen = match (&size.local, required) {
            (Some(given), _) => given[d],
            (None, Some(required)) => u64::from(required[d]),
            (None, None) => largest_divisor(n, left.min(info.max_work_item_sizes[d])),
        };
        if !n.is_multiple_of(chosen) {
            let text = format!(
                "kernel `{}`: the global size {n} is not a multiple of the local size {chosen} in dimension {d}",
                kernel.name()
            );
            return Err(PyValueError::new_err(text));
        }
        let too_many = || PyValueError::new_err(format!("kernel `{}`: a size of {n} is too large", kernel.name()));
        local[d] = u32::try_from(chosen).map_err(|_| too_many())?;
        groups[d] = u32::try_from(n / chosen).map_err(|_| too_many())?;
        left = (left / local[d]).max(1);
    }
    Ok(Grid { groups, local })
}

/// The largest number up to `most` that divides `n`.
fn largest_divisor(n: u64, most: u32) -> u64 {
    (1..=u64::from(most.max(1))).rev().find(|k| n.is_multiple_of(*k)).unwrap_or(1)
}
