//! Result slots → Python objects (COMPILER 2.15, 3.6).
//!
//! An array is its address, its owner word, sizes and strides. What the owner word says decides what the object is:
//! an argument itself, a view of one, an array that owns its memory, or a view of such an array.

use std::collections::HashMap;
use std::sync::Arc;

use pyo3::exceptions::PyMemoryError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};
use smallvec::SmallVec;
use weft_ir::attr::Const;
use weft_ir::{DType, TensorType, Type, Weak};
use weft_passes::infer::Returns;
use weft_runtime::{Buffer, Queue, UsmKind, list};
use weft_tensor::Tensor;

use crate::errors;
use crate::grow::Grow;
use crate::lists::CopiedList;
use crate::numpy::{ArrayView, make_scalar, new_array, new_view};
use crate::tensor::UsmNdarray;

/// In an owner word: not the array itself, but a view of it.
const VIEW: u64 = 1 << weft_codegen::abi::VIEW_BIT;

/// Slots that values of this type take.
pub(crate) fn slots_of(ty: &Type) -> usize {
    match ty {
        Type::Py(Weak::None) => 0,
        Type::Tensor(t) => 2 + 2 * t.rank(),
        Type::List(_) => 2,
        scalar => scalar.slots(),
    }
}

/// What arrays that a call made become.
#[derive(Clone, Copy)]
pub(crate) enum Home<'a> {
    /// NumPy arrays.
    NumPy,
    /// Device arrays in memory of that kind on a queue: some argument was one.
    Queue(&'a Arc<Queue>, UsmKind),
}

/// The Python object of a call's results. Takes the counts that the slots own, also when it fails.
///
/// # Safety
/// The slots are those that a call with these live arguments filled, for results of these types. `lenders[k]` is the
/// object that owner word `2k + 1` names.
pub(crate) unsafe fn to_python(
    py: Python<'_>,
    types: &[Type],
    returns: &Returns,
    slots: &[u64],
    lenders: &[*mut ffi::PyObject],
    home: Home<'_>,
) -> PyResult<Py<PyAny>> {
    // SAFETY: passed on to the caller.
    unsafe { with_lists(py, types, returns, slots, lenders, home, &[]) }
}

/// [`to_python`] after a call with lists among its arguments: those that it may have changed get their items back.
///
/// # Safety
/// As for [`to_python`].
pub(crate) unsafe fn with_lists(
    py: Python<'_>,
    types: &[Type],
    returns: &Returns,
    slots: &[u64],
    lenders: &[*mut ffi::PyObject],
    home: Home<'_>,
    copied: &[CopiedList<'_>],
) -> PyResult<Py<PyAny>> {
    let changed = || copied.iter().filter(|list| list.written);
    match (returns, types) {
        (Returns::Nothing, []) if changed().next().is_none() => return Ok(py.None()),
        (Returns::One, [ty]) if ty.is_scalar() && changed().next().is_none() => return scalar(py, ty, slots),
        _ => {}
    }
    let mut found = Found::default();
    found.collect(types, slots);
    for list in changed() {
        // One count more, which is given up as those of results are.
        found.collect_list(list.types, list.buffer.clone().into_owner());
    }
    let (fresh, short) = fresh_blocks(&found.arrays);
    if short || found.short {
        return Err(no_room(py, &found));
    }
    let (made, lists) = (ByOwner::default(), ByOwner::default());
    let mut results = Results { py, lenders, home, found, fresh, made, lists };
    for list in copied {
        // SAFETY: a live argument.
        let object = unsafe { Bound::from_borrowed_ptr(py, list.object) };
        if !results.lists.push(Arc::as_ptr(&list.buffer) as u64, object) {
            return Err(no_room(py, &results.found));
        }
    }
    for list in changed() {
        let items = PyList::empty(py);
        results.fill(&items, list.types, list.item, list.buffer.address())?;
        // SAFETY: both are lists.
        let status = unsafe { ffi::PyList_SetSlice(list.object, 0, ffi::PY_SSIZE_T_MAX, items.as_ptr()) };
        if status != 0 {
            return Err(PyErr::fetch(py));
        }
    }
    results.object(returns, &mut Row { types, slots }).map(Bound::unbind)
}

/// Things by owner word: few are gone through, many are hashed.
struct ByOwner<T> {
    few: SmallVec<[(u64, T); 2]>,
    many: HashMap<u64, Vec<T>>,
}

impl<T> Default for ByOwner<T> {
    fn default() -> ByOwner<T> {
        ByOwner { few: SmallVec::new(), many: HashMap::new() }
    }
}

impl<T> ByOwner<T> {
    /// Adds one, or drops it and says false where there is no memory for it.
    fn push(&mut self, owner: u64, thing: T) -> bool {
        if self.few.len() < 8 {
            self.few.push((owner, thing));
            return true;
        }
        if !self.many.has_room() {
            return false;
        }
        let same = self.many.entry(owner).or_default();
        let room = same.has_room();
        if room {
            same.push(thing);
        }
        room
    }

    /// All that have this owner word, the first first.
    fn of(&self, owner: u64) -> impl Iterator<Item = &T> {
        let few = self.few.iter().filter(move |(word, _)| *word == owner).map(|(_, thing)| thing);
        let many = if self.many.is_empty() { None } else { self.many.get(&owner) };
        few.chain(many.into_iter().flatten())
    }

    /// The first that has this owner word.
    fn first(&mut self, owner: u64) -> Option<&mut T> {
        if let Some(at) = self.few.iter().position(|(word, _)| *word == owner) {
            return Some(&mut self.few[at].1);
        }
        self.many.get_mut(&owner)?.first_mut()
    }
}

/// Arrays and lists among the results, also inside lists, with the counts that lists had of them.
#[derive(Default)]
struct Found<'a> {
    arrays: ByOwner<(&'a TensorType, &'a [u64])>,
    /// One count for each place where a list is, so that its items stay.
    lists: ByOwner<Arc<Buffer>>,
    /// There was no memory for all of them: those that are not here are let go.
    short: bool,
}

impl<'a> Found<'a> {
    fn collect(&mut self, types: &'a [Type], slots: &'a [u64]) {
        let mut at = 0;
        for ty in types {
            let mine = &slots[at..at + slots_of(ty)];
            at += mine.len();
            match ty {
                Type::Tensor(t) if !self.arrays.push(Buffer::owner_of(mine[1]), (t, mine)) => {
                    self.short = true;
                    // SAFETY: the slot owns a count of the buffer, if it is not borrowed.
                    drop(unsafe { Buffer::from_owner(mine[1]) });
                }
                Type::List(items) => self.collect_list(items, mine[1]),
                _ => {}
            }
        }
    }

    /// A list, which is held from here on; what its items hold is taken over once.
    fn collect_list(&mut self, items: &'a [Type], owner: u64) {
        // SAFETY: the slot owns a count of the list.
        let Some(buffer) = (unsafe { Buffer::from_owner(owner) }) else { return };
        let known = self.lists.first(owner).is_some();
        let header = buffer.list();
        // A list that goes lets go of what its items hold.
        if !self.lists.push(owner, buffer) {
            self.short = true;
            return;
        }
        let Some(header) = header.filter(|_| !known) else { return };
        // SAFETY: the call is over: nobody changes the list, and it is held for as long as the words are used.
        let words: &'a [u64] = unsafe {
            (*header).owners = 0;
            list::words(header)
        };
        let size: usize = items.iter().map(slots_of).sum();
        words.chunks_exact(size.max(1)).for_each(|item| self.collect(items, item));
    }
}

/// What is left of a row of values: the results, or an item of a list.
struct Row<'a> {
    types: &'a [Type],
    slots: &'a [u64],
}

impl<'a> Row<'a> {
    /// Type and slots of the next value.
    fn take(&mut self) -> (&'a Type, &'a [u64]) {
        let Some((ty, types)) = self.types.split_first() else { return (&Type::NONE, &[]) };
        let (mine, slots) = self.slots.split_at(slots_of(ty));
        (self.types, self.slots) = (types, slots);
        (ty, mine)
    }

    /// Passes over what would have been there.
    fn skip(&mut self, returns: &Returns) {
        match returns {
            Returns::Nothing | Returns::Const(_) => {}
            Returns::One | Returns::View | Returns::Text(_) | Returns::List(_) => drop(self.take()),
            Returns::Tuple(parts) => parts.iter().for_each(|part| self.skip(part)),
            Returns::Optional(inner) => {
                self.take();
                self.skip(inner);
            }
        }
    }
}

/// Dtype and slots of the result that shows all of a block.
type Whole<'a> = Option<(DType, &'a [u64])>;

/// The object of an array.
struct Made<'a, 'py> {
    dtype: DType,
    slots: &'a [u64],
    object: Bound<'py, PyAny>,
}

/// A block of memory that the call made and gives away.
struct Block<'py> {
    /// Until an object has it.
    buffer: Option<Arc<Buffer>>,
    /// The array that owns it.
    base: Option<Bound<'py, PyAny>>,
}

struct Results<'a, 'py> {
    py: Python<'py>,
    lenders: &'a [*mut ffi::PyObject],
    home: Home<'a>,
    found: Found<'a>,
    fresh: ByOwner<Block<'py>>,
    /// Arrays so far: one that is returned twice is one object, as it is in Python.
    made: ByOwner<Made<'a, 'py>>,
    /// Lists so far.
    lists: ByOwner<Bound<'py, PyAny>>,
}

/// There is no memory to note one more array or list in.
fn no_room(py: Python<'_>, found: &Found<'_>) -> PyErr {
    let many = found.arrays.many.len().max(found.lists.many.len());
    errors::no_memory(py, 2 * many.max(1) * size_of::<(u64, Vec<Block<'_>>)>())
}

/// Every block that the results own, each with one count, and whether there was no memory for all: the others are let go.
fn fresh_blocks<'py>(arrays: &ByOwner<(&TensorType, &[u64])>) -> (ByOwner<Block<'py>>, bool) {
    let (mut blocks, mut short) = (ByOwner::<Block<'py>>::default(), false);
    let few = arrays.few.iter().map(|(owner, _)| (*owner, 1));
    for (owner, count) in few.chain(arrays.many.iter().map(|(owner, all)| (*owner, all.len()))) {
        for _ in 0..count {
            // SAFETY: each slot owns a count of the buffer.
            let Some(buffer) = (unsafe { Buffer::from_owner(owner) }) else { continue };
            // A block that is there twice needs one count only.
            if blocks.first(owner).is_none() {
                short |= !blocks.push(owner, Block { buffer: Some(buffer), base: None });
            }
        }
    }
    (blocks, short)
}

/// Sizes and strides of an array.
fn dims(slots: &[u64]) -> SmallVec<[isize; 16]> {
    slots[2..].iter().map(|&n| n as isize).collect()
}

impl<'a, 'py> Results<'a, 'py> {
    fn object(&mut self, returns: &Returns, row: &mut Row<'a>) -> PyResult<Bound<'py, PyAny>> {
        match returns {
            Returns::Nothing => Ok(self.py.None().into_bound(self.py)),
            Returns::Const(c) => Ok(constant(self.py, c)?.into_bound(self.py)),
            Returns::One => self.one(row, false),
            Returns::View => self.one(row, true),
            Returns::Text(strings) => {
                let (_, position) = row.take();
                let text = position.first().and_then(|&k| strings.get(k as usize));
                Ok(PyString::new(self.py, text.map_or("", String::as_str)).into_any())
            }
            Returns::List(item) => self.list(item, row),
            Returns::Tuple(parts) => {
                let objects =
                    parts.iter().map(|part| self.object(part, row)).collect::<PyResult<SmallVec<[_; 8]>>>()?;
                Ok(PyTuple::new(self.py, objects)?.into_any())
            }
            Returns::Optional(inner) => {
                let (_, there) = row.take();
                if there.first().is_none_or(|bits| bits & 1 == 0) {
                    row.skip(inner);
                    return Ok(self.py.None().into_bound(self.py));
                }
                self.object(inner, row)
            }
        }
    }

    /// A list, the same object wherever it is.
    fn list(&mut self, item: &Returns, row: &mut Row<'a>) -> PyResult<Bound<'py, PyAny>> {
        let (ty, mine) = row.take();
        if let Some(list) = self.lists.first(mine[1]) {
            return Ok(list.clone());
        }
        let list = PyList::empty(self.py);
        if !self.lists.push(mine[1], list.clone().into_any()) {
            return Err(no_room(self.py, &self.found));
        }
        self.fill(&list, ty.as_list().unwrap_or_default(), item, mine[0])?;
        Ok(list.into_any())
    }

    /// Appends the items of the list with this header.
    fn fill(&mut self, list: &Bound<'py, PyList>, types: &'a [Type], item: &Returns, header: u64) -> PyResult<()> {
        let header = header as *const list::Header;
        // SAFETY: held by `found`, and nobody changes it.
        let (len, words): (u64, &'a [u64]) = unsafe { ((*header).len, list::words(header)) };
        let size: usize = types.iter().map(slots_of).sum();
        for k in 0..len as usize {
            let slots = &words[k * size..(k + 1) * size];
            list.append(self.object(item, &mut Row { types, slots })?)?;
        }
        Ok(())
    }

    /// A number, or an array: the same object wherever it is, unless it is `apart`.
    fn one(&mut self, row: &mut Row<'a>, apart: bool) -> PyResult<Bound<'py, PyAny>> {
        let (ty, mine) = row.take();
        let Some(tensor) = ty.as_tensor() else { return Ok(scalar(self.py, ty, mine)?.into_bound(self.py)) };
        let same = |m: &&Made<'_, '_>| !apart && m.dtype == tensor.dtype && m.slots == mine;
        if let Some(made) = self.made.of(Buffer::owner_of(mine[1])).find(same) {
            return Ok(made.object.clone());
        }
        let object = match mine[1] & 1 {
            1 => self.of_argument(tensor, mine),
            _ => self.of_fresh(tensor, mine, apart),
        }?;
        // What is apart is nothing else's object.
        if !apart {
            let made = Made { dtype: tensor.dtype, slots: mine, object: object.clone() };
            if !self.made.push(Buffer::owner_of(mine[1]), made) {
                return Err(no_room(self.py, &self.found));
            }
        }
        Ok(object)
    }

    /// An argument, or a view of one.
    fn of_argument(&self, ty: &TensorType, slots: &[u64]) -> PyResult<Bound<'py, PyAny>> {
        let (data, owner) = (slots[0], slots[1]);
        let Some(&lender) = self.lenders.get((Buffer::owner_of(owner) >> 1) as usize) else {
            return Err(errors::internal(self.py, "a result is an argument that was not given"));
        };
        // SAFETY: the caller of `to_python` keeps the arguments alive.
        let (lender, view) = unsafe { (Bound::from_borrowed_ptr(self.py, lender), ArrayView::of_any(lender)) };
        if owner & VIEW == 0 {
            return Ok(lender);
        }
        let Some(view) = view else {
            let message = "a view of a device array cannot be returned yet: return a copy of it";
            return Err(errors::new(self.py, "UnsupportedError", message));
        };
        let dims = dims(slots);
        let (shape, strides) = dims.split_at(ty.rank());
        let writable = !view.is_readonly() && !ty.readonly;
        // SAFETY: compiled code made the view from the argument, whose memory it is in.
        unsafe { new_view(lender, ty.dtype, shape, strides, data as *mut u8, writable) }
    }

    /// An array in memory that the call made, or a view of one.
    fn of_fresh(&mut self, ty: &TensorType, slots: &[u64], apart: bool) -> PyResult<Bound<'py, PyAny>> {
        let (py, owner) = (self.py, Buffer::owner_of(slots[1]));
        let Some(block) = self.fresh.first(owner) else {
            return Err(errors::internal(py, "a result array has no owner"));
        };
        if let Some(buffer) = block.buffer.take() {
            if let Home::Queue(queue, usm) = self.home {
                return on_queue(py, ty, slots, buffer, queue, usm);
            }
            let (base, whole) = self.owning_array(ty, owner, buffer)?;
            self.fresh.first(owner).into_iter().for_each(|block| block.base = Some(base.clone()));
            if let Some((dtype, whole)) = whole {
                let is_it = whole == slots && dtype == ty.dtype;
                let made = Made { dtype, slots: whole, object: base.clone() };
                let is_handed_out = is_it && apart;
                if !is_handed_out && !self.made.push(owner, made) {
                    return Err(no_room(py, &self.found));
                }
                if is_it {
                    return Ok(base);
                }
            }
        }
        let Some(base) = self.fresh.first(owner).and_then(|block| block.base.as_ref()) else {
            return Err(errors::internal(py, "a result is a view of a fresh device array"));
        };
        let dims = dims(slots);
        let (shape, strides) = dims.split_at(ty.rank());
        // SAFETY: the memory is the base's, and compiled code made the view of it.
        unsafe { new_view(base.clone(), ty.dtype, shape, strides, slots[0] as *mut u8, !ty.readonly) }
    }

    /// The array that owns a block, and the slots of the result that it is: the first that is all of the memory. Where
    /// only parts are returned it is an array of all elements, as `base` of the parts shows.
    fn owning_array(
        &self,
        ty: &TensorType,
        owner: u64,
        buffer: Arc<Buffer>,
    ) -> PyResult<(Bound<'py, PyAny>, Whole<'a>)> {
        let (address, bytes) = (buffer.address(), buffer.bytes());
        let is_whole = |(t, s): &&(&TensorType, &[u64])| {
            let elements = s[2..2 + t.rank()].iter().product::<u64>() as usize;
            s[0] == address && (elements * t.dtype.size() == bytes || elements == 0) && !t.readonly
        };
        let all = || self.found.arrays.of(owner).filter(is_whole);
        let whole = all().find(|(_, s)| s[1] & VIEW == 0).or_else(|| all().next());
        let memory = host_memory(self.py, buffer)?;
        match whole {
            Some(&(t, slots)) => {
                let dims = dims(slots);
                let (shape, strides) = dims.split_at(t.rank());
                // SAFETY: memory of the host pool that is now ours alone, described by the code that filled it.
                let base = unsafe { new_array(self.py, t.dtype, shape, strides, memory) }?;
                Ok((base, Some((t.dtype, slots))))
            }
            None => {
                let size = ty.dtype.size();
                // SAFETY: as above; as many elements as there are bytes for.
                let base =
                    unsafe { new_array(self.py, ty.dtype, &[(bytes / size) as isize], &[size as isize], memory) }?;
                Ok((base, None))
            }
        }
    }
}

/// A fresh array as a device array.
fn on_queue<'py>(
    py: Python<'py>,
    ty: &TensorType,
    slots: &[u64],
    buffer: Arc<Buffer>,
    queue: &Arc<Queue>,
    usm: UsmKind,
) -> PyResult<Bound<'py, PyAny>> {
    let buffer = match buffer.queue() {
        Some(_) => buffer,
        // Host code made it, in plain host memory, for the native queue.
        // SAFETY: the buffer itself keeps its memory alive.
        None => unsafe { Buffer::foreign(Some(queue), slots[0], buffer.bytes(), usm, Box::new(buffer)) },
    };
    let shape = slots[2..2 + ty.rank()].iter().map(|&n| n as i64).collect();
    let tensor = Tensor::stored(shape, ty.dtype, queue.clone(), buffer);
    Ok(Bound::new(py, UsmNdarray::new(tensor))?.into_any())
}

fn host_memory(py: Python<'_>, buffer: Arc<Buffer>) -> PyResult<*mut u8> {
    buffer.into_host_memory().map_err(|buffer| match buffer.queue().is_some_and(|q| !q.is_native()) {
        true => errors::internal(py, "a result array is on a device"),
        false => PyMemoryError::new_err("a result array is still in use"),
    })
}

fn scalar(py: Python<'_>, ty: &Type, slots: &[u64]) -> PyResult<Py<PyAny>> {
    // SAFETY: each call gives a new reference or null with an exception set; the GIL is held.
    let object = unsafe {
        match ty {
            Type::Py(Weak::None) => return Ok(py.None()),
            Type::Py(Weak::Bool) => ffi::PyBool_FromLong((slots[0] & 1) as std::ffi::c_long),
            Type::Py(Weak::Int) => ffi::PyLong_FromLongLong(slots[0] as i64),
            Type::Py(Weak::Float) => ffi::PyFloat_FromDouble(f64::from_bits(slots[0])),
            Type::Py(Weak::Complex) => ffi::PyComplex_FromDoubles(f64::from_bits(slots[0]), f64::from_bits(slots[1])),
            Type::Num(dtype) => {
                let high = slots.get(1).filter(|_| ty.slots() == 2).map_or(0, |&s| u128::from(s) << 64);
                return make_scalar(py, *dtype, u128::from(slots[0]) | high);
            }
            other => return Err(errors::internal(py, &format!("a result of type {other} has no Python form"))),
        }
    };
    // SAFETY: as above.
    Ok(unsafe { Bound::from_owned_ptr_or_err(py, object)? }.unbind())
}

/// The object of a constant.
pub(crate) fn constant(py: Python<'_>, value: &Const) -> PyResult<Py<PyAny>> {
    Ok(match value {
        Const::None => py.None(),
        Const::Ellipsis => py.Ellipsis(),
        Const::Bool(v) => v.into_pyobject(py)?.to_owned().into_any().unbind(),
        Const::Int(v) => v.into_pyobject(py)?.into_any().unbind(),
        Const::Float(v) => v.into_pyobject(py)?.into_any().unbind(),
        Const::Str(v) => PyString::new(py, v).into_any().unbind(),
        Const::Complex(re, im) => pyo3::types::PyComplex::from_doubles(py, *re, *im).into_any().unbind(),
    })
}
