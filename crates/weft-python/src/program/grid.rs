//! Sizes of a launch, and the work-groups that cover them exactly.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyTuple};
use weft_hal::{DeviceInfo, Kernel};

use crate::sizes::{Size, Sizes, local_size, one_or_more};

/// Work-items of a work-group where nobody says.
const GROUP: u32 = 256;

/// Work-groups and work-items along each dimension.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Grid {
    pub(crate) groups: [u32; 3],
    pub(crate) local: [u32; 3],
}

/// The size of a launch, from a `Range`, an `NdRange`, an int, or ints; with the local size beside it or in it. Index 0 is
/// dimension 0 of the program.
pub(crate) fn read(range: &Bound<'_, PyAny>, local: Option<&Bound<'_, PyAny>>) -> PyResult<Size> {
    let local = local.filter(|l| !l.is_none());
    // Looking for an attribute that is not there costs as much as all the rest.
    let plain = range.is_exact_instance_of::<PyInt>() || range.is_instance_of::<PyTuple>();
    let nd = if plain { None } else { range.getattr_opt("global_range")? };
    if let Some(global) = nd {
        if local.is_some() {
            return Err(PyTypeError::new_err("an NdRange has a local size: give it once"));
        }
        return read(&global, Some(&range.getattr("local_range")?));
    }
    Size::new(one_or_more(range, "global", true)?, local.map_or(Ok(Sizes::new()), local_size)?)
}

/// Work-groups that cover the global size exactly: a program sees no item that was not asked for.
pub(crate) fn grid(size: &Size, kernel: &dyn Kernel, required: Option<[u32; 3]>, info: &DeviceInfo) -> PyResult<Grid> {
    let (mut groups, mut local) = ([1; 3], [1; 3]);
    let mut left = GROUP.min(kernel.max_work_group_size()).max(1);
    for (d, &n) in size.global.iter().enumerate() {
        let chosen = match (size.local.get(d), required) {
            (Some(&given), _) => given,
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
