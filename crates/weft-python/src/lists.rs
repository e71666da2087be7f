//! Python lists among the arguments: copied in before a call, and back after it where compiled code may have changed them.
//!
//! Items of a list have one type. Python ints and floats in one list are floats (a documented deviation); other mixtures are
//! refused. A list that is there twice is one list, and keeps being the same Python object.

use std::collections::HashMap;
use std::sync::Arc;

use pyo3::exceptions::PyOverflowError;
use pyo3::ffi;
use pyo3::prelude::*;
use smallvec::SmallVec;
use weft_ir::{DType, Layout, Type, Weak, half};
use weft_passes::infer::Returns;
use weft_runtime::{Buffer, list};

use crate::arguments::Arguments;
use crate::array_like::plain_array;
use crate::errors;
use crate::grow::Grow;
use crate::key::{Key, Word};
use crate::numpy::{ArrayView, read_scalar, scalar_dtype};
use crate::results::slots_of;
use crate::specialisation::Specialisation;

/// Most lists and tuples inside each other.
const MAX_DEPTH: usize = 16;

/// A list among the arguments.
pub(crate) struct ListArgument {
    /// Its number among the values.
    pub(crate) value: usize,
    /// Where its slots begin.
    pub(crate) slot: usize,
}

/// What the items of a list are.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Shape {
    /// Nothing is known: the list is empty.
    Unknown,
    Weak(Weak),
    Strong(DType),
    Array {
        dtype: DType,
        rank: usize,
        layout: Layout,
        readonly: bool,
    },
    Tuple(Vec<Shape>),
    List(Box<Shape>),
}

impl Shape {
    /// What items are that are one or the other.
    fn join(self, other: Shape) -> Option<Shape> {
        use Shape::{Array, List, Tuple, Unknown};
        let number = |w: Weak| matches!(w, Weak::Int | Weak::Float | Weak::Complex);
        Some(match (self, other) {
            (a, b) if a == b => a,
            (Unknown, known) | (known, Unknown) => known,
            (Shape::Weak(a), Shape::Weak(b)) if number(a) && number(b) => Shape::Weak(a.max(b)),
            (Array { dtype, rank, layout, readonly }, Array { dtype: d, rank: r, layout: other, readonly: ro })
                if dtype == d && rank == r =>
            {
                let layout = match (layout, other) {
                    (a, b) if a == b => a,
                    (Layout::C | Layout::I, Layout::C | Layout::I) => Layout::I,
                    _ => Layout::A,
                };
                Array { dtype, rank, layout, readonly: readonly || ro }
            }
            (Tuple(a), Tuple(b)) if a.len() == b.len() => {
                Tuple(a.into_iter().zip(b).map(|(a, b)| a.join(b)).collect::<Option<_>>()?)
            }
            (List(a), List(b)) => List(Box::new(a.join(*b)?)),
            _ => return None,
        })
    }

    fn words(&self, key: &mut Key) {
        match self {
            Shape::Unknown => {}
            Shape::Weak(w) => key.push(Word::weak(*w)),
            Shape::Strong(d) => key.push(Word::strong(*d)),
            Shape::Array { dtype, rank, layout, readonly } => {
                key.push(Word::array_of(*dtype, *rank, *layout, *readonly, 0));
            }
            Shape::Tuple(parts) => {
                key.push(Word::tuple(parts.len()));
                parts.iter().for_each(|part| part.words(key));
            }
            Shape::List(item) => {
                key.push(Word::list(**item != Shape::Unknown));
                item.words(key);
            }
        }
    }

    /// In a user's words.
    fn name(&self) -> String {
        match self {
            Shape::Unknown => "nothing".into(),
            Shape::Weak(w) => w.python_name().into(),
            Shape::Strong(d) => format!("np.{}", d.numpy_name()),
            Shape::Array { dtype, rank, .. } => format!("{rank}-dimensional arrays of {}", dtype.numpy_name()),
            Shape::Tuple(parts) => format!("tuples of {} items", parts.len()),
            Shape::List(_) => "lists".into(),
        }
    }
}

/// What an item is.
///
/// # Safety
/// `object` is a live object.
unsafe fn shape_of(py: Python<'_>, object: *mut ffi::PyObject, name: &str, depth: usize) -> PyResult<Shape> {
    // SAFETY: passed on to the caller; tuples and lists keep their items alive.
    unsafe {
        let ty = ffi::Py_TYPE(object);
        for (known, weak) in [
            (&raw mut ffi::PyFloat_Type, Weak::Float),
            (&raw mut ffi::PyLong_Type, Weak::Int),
            (&raw mut ffi::PyBool_Type, Weak::Bool),
            (&raw mut ffi::PyComplex_Type, Weak::Complex),
        ] {
            if ty == known {
                return Ok(Shape::Weak(weak));
            }
        }
        if object == ffi::Py_None() {
            return Ok(Shape::Weak(Weak::None));
        }
        if let Some(view) = plain_array(object) {
            let usable = view.is_native_order() && view.is_aligned();
            if let Some(dtype) = view.dtype().filter(|_| usable) {
                let (rank, layout, readonly) = (view.shape().len(), view.layout(), view.is_readonly());
                return Ok(Shape::Array { dtype, rank, layout, readonly });
            }
        }
        if let Some(dtype) = scalar_dtype(object) {
            return Ok(Shape::Strong(dtype));
        }
        if depth > MAX_DEPTH {
            let message = format!("the argument `{name}` has lists inside each other more than {MAX_DEPTH} deep");
            return Err(errors::new(py, "UnsupportedError", message));
        }
        if ty == &raw mut ffi::PyTuple_Type {
            let items = (0..ffi::PyTuple_Size(object)).map(|i| ffi::PyTuple_GetItem(object, i));
            return Ok(Shape::Tuple(items.map(|i| shape_of(py, i, name, depth + 1)).collect::<PyResult<_>>()?));
        }
        if ty == &raw mut ffi::PyList_Type {
            return Ok(Shape::List(Box::new(items_of(py, object, name, depth)?)));
        }
        let what = Bound::from_borrowed_ptr(py, object).get_type().fully_qualified_name()?;
        let message = format!(
            "the argument `{name}` is a list that holds a {what}; lists hold numbers, tuples, arrays and lists of these"
        );
        Err(errors::new(py, "TypingError", message))
    }
}

/// What the items of a list are.
///
/// # Safety
/// `object` is a live list.
unsafe fn items_of(py: Python<'_>, object: *mut ffi::PyObject, name: &str, depth: usize) -> PyResult<Shape> {
    let mut all = Shape::Unknown;
    let mut last: *mut ffi::PyTypeObject = std::ptr::null_mut();
    // SAFETY: passed on to the caller; the index is in range.
    unsafe {
        for i in 0..ffi::PyList_Size(object) {
            let item = ffi::PyList_GetItem(object, i);
            let ty = ffi::Py_TYPE(item);
            let plain = ty == &raw mut ffi::PyFloat_Type || ty == &raw mut ffi::PyLong_Type;
            if plain && ty == last {
                continue;
            }
            last = ty;
            let here = shape_of(py, item, name, depth + 1)?;
            let (a, b) = (all.name(), here.name());
            all = all.join(here).ok_or_else(|| {
                let message = format!(
                    "the argument `{name}` is a list of {a} and {b}: items of a list have one type in compiled code"
                );
                errors::new(py, "TypingError", message)
            })?;
        }
    }
    Ok(all)
}

impl Arguments {
    /// Notes a list: its words, and room for its slots, which [`Copied::copy_in`] fills.
    ///
    /// # Safety
    /// `object` is a live list.
    pub(crate) unsafe fn push_list(&mut self, py: Python<'_>, object: *mut ffi::PyObject, name: &str) -> PyResult<()> {
        // SAFETY: passed on to the caller.
        let shape = unsafe { items_of(py, object, name, 0) }?;
        Shape::List(Box::new(shape)).words(&mut self.key);
        self.lists.push(ListArgument { value: self.values.len(), slot: self.slots.len() });
        self.values.push(object);
        self.slots.extend([0, 0]);
        Ok(())
    }
}

/// A list while it is compiled code's.
pub(crate) struct CopiedList<'a> {
    pub(crate) object: *mut ffi::PyObject,
    pub(crate) buffer: Arc<Buffer>,
    /// Types of an item's values, and how they make up an item.
    pub(crate) types: &'a [Type],
    pub(crate) item: &'a Returns,
    /// Whether compiled code may change it.
    pub(crate) written: bool,
}

/// The lists of a call.
#[derive(Default)]
pub(crate) struct Copied<'a> {
    pub(crate) lists: Vec<CopiedList<'a>>,
    known: HashMap<*mut ffi::PyObject, usize>,
}

impl<'a> Copied<'a> {
    /// Copies every list among the arguments, and fills their slots.
    ///
    /// # Safety
    /// The objects that `call` was read from are alive.
    pub(crate) unsafe fn copy_in(
        py: Python<'_>,
        made: &'a Specialisation,
        call: &mut Arguments,
    ) -> PyResult<Copied<'a>> {
        let mut copied = Copied::default();
        for k in 0..call.lists.len() {
            let ListArgument { value, slot } = call.lists[k];
            let entry = made.stages.ntensor.entry();
            let types = entry.params().get(value).and_then(|&p| entry.ty(p).as_list());
            let item = made.lists.iter().find(|(number, _)| *number == value).map(|(_, item)| item);
            let (Some(types), Some(Returns::List(item))) = (types, item) else {
                return Err(errors::internal(py, "a list among the arguments is no parameter"));
            };
            let object = call.values[value];
            // SAFETY: passed on to the caller.
            let buffer = unsafe { copied.list(py, object, types, item, made, call) }?;
            call.slots[slot] = buffer.address();
            call.slots[slot + 1] = Arc::as_ptr(&buffer) as u64;
        }
        Ok(copied)
    }

    /// # Safety
    /// `object` is a live list.
    unsafe fn list(
        &mut self,
        py: Python<'_>,
        object: *mut ffi::PyObject,
        types: &'a [Type],
        item: &'a Returns,
        made: &'a Specialisation,
        call: &mut Arguments,
    ) -> PyResult<Arc<Buffer>> {
        if let Some(&known) = self.known.get(&object) {
            return Ok(self.lists[known].buffer.clone());
        }
        let size = types.iter().map(slots_of).sum::<usize>();
        let mut owners = 0u64;
        let mut at = 0;
        for ty in types {
            if matches!(ty, Type::Tensor(_) | Type::List(_)) {
                owners |= 1 << (at + 1);
            }
            at += slots_of(ty);
        }
        let buffer = list::new_list(size as u64, owners).map_err(|e| errors::from_hal(py, &e))?;
        let written = made.written_lists.iter().any(|t| t.as_list() == Some(types));
        if !self.known.has_room() || !self.lists.has_room() {
            return Err(errors::no_memory(py, 2 * size_of_val(&self.lists[..])));
        }
        self.known.insert(object, self.lists.len());
        self.lists.push(CopiedList { object, buffer: buffer.clone(), types, item, written });
        let Some(header) = buffer.list() else { return Err(errors::internal(py, "a list without header")) };
        // SAFETY: the list is new and nobody else's; the index is in range, and the items are the Python list's.
        unsafe {
            let len = ffi::PyList_Size(object);
            list::reserve(header, len as u64).map_err(|e| errors::from_hal(py, &e))?;
            let mut row: SmallVec<[u64; 16]> = SmallVec::new();
            for i in 0..len {
                row.clear();
                let put = self.put(py, ffi::PyList_GetItem(object, i), item, &mut &types[..], &mut row, (made, call));
                if let Err(error) = put {
                    // No list has these counts yet.
                    let held = row.iter().enumerate().filter(|(k, _)| owners >> k & 1 == 1);
                    held.for_each(|(_, &word)| drop(Buffer::from_owner(word)));
                    return Err(error);
                }
                list::push(header, &row).map_err(|e| errors::from_hal(py, &e))?;
            }
        }
        Ok(buffer)
    }

    /// Appends the words of an item.
    ///
    /// # Safety
    /// `object` is a live object.
    unsafe fn put(
        &mut self,
        py: Python<'_>,
        object: *mut ffi::PyObject,
        item: &'a Returns,
        types: &mut &'a [Type],
        row: &mut SmallVec<[u64; 16]>,
        (made, call): (&'a Specialisation, &mut Arguments),
    ) -> PyResult<()> {
        let unexpected = || errors::internal(py, "an item of a list is not what the list was looked at for");
        let next = |types: &mut &'a [Type]| {
            let (first, rest) = types.split_first()?;
            *types = rest;
            Some(first)
        };
        // SAFETY: passed on to the caller; tuples keep their parts alive.
        unsafe {
            match item {
                Returns::Nothing | Returns::Const(_) => Ok(()),
                Returns::Tuple(parts) => {
                    if ffi::PyTuple_Check(object) == 0 || ffi::PyTuple_Size(object) as usize != parts.len() {
                        return Err(unexpected());
                    }
                    for (i, part) in parts.iter().enumerate() {
                        let object = ffi::PyTuple_GetItem(object, i as ffi::Py_ssize_t);
                        self.put(py, object, part, types, row, (made, call))?;
                    }
                    Ok(())
                }
                Returns::Optional(inner) => {
                    next(types).ok_or_else(unexpected)?;
                    let there = object != ffi::Py_None();
                    row.push(u64::from(there));
                    if there {
                        return self.put(py, object, inner, types, row, (made, call));
                    }
                    let absent = types.len() - left_after(inner, types).len();
                    for ty in &types[..absent] {
                        row.extend(std::iter::repeat_n(0, slots_of(ty)));
                    }
                    *types = &types[absent..];
                    Ok(())
                }
                Returns::List(inner) => {
                    let items = next(types).and_then(Type::as_list).ok_or_else(unexpected)?;
                    if ffi::PyList_Check(object) == 0 {
                        return Err(unexpected());
                    }
                    let buffer = self.list(py, object, items, inner, made, call)?;
                    row.push(buffer.address());
                    row.push(buffer.into_owner());
                    Ok(())
                }
                Returns::Text(_) => Err(unexpected()),
                Returns::One | Returns::View => match next(types).ok_or_else(unexpected)? {
                    Type::Tensor(_) => {
                        let view = ArrayView::of_any(object).ok_or_else(unexpected)?;
                        row.extend([view.data() as u64, 2 * call.values.len() as u64 + 1]);
                        row.extend(view.shape().iter().chain(view.strides()).map(|&n| n as u64));
                        if !call.values.has_room() {
                            return Err(errors::no_memory(py, 2 * size_of_val(&call.values[..])));
                        }
                        call.values.push(object);
                        Ok(())
                    }
                    ty => {
                        let dtype = ty.scalar_dtype().ok_or_else(unexpected)?;
                        let bits = encode(number(object)?.ok_or_else(unexpected)?, dtype);
                        row.push(bits as u64);
                        if dtype == DType::C128 {
                            row.push((bits >> 64) as u64);
                        }
                        Ok(())
                    }
                },
            }
        }
    }
}

/// The types that are left after those of an item.
fn left_after<'t>(item: &Returns, types: &'t [Type]) -> &'t [Type] {
    let rest = |types: &'t [Type]| types.get(1..).unwrap_or_default();
    match item {
        Returns::Nothing | Returns::Const(_) => types,
        Returns::One | Returns::View | Returns::Text(_) | Returns::List(_) => rest(types),
        Returns::Tuple(parts) => parts.iter().fold(types, |types, part| left_after(part, types)),
        Returns::Optional(inner) => left_after(inner, rest(types)),
    }
}

/// A number of any type.
#[derive(Clone, Copy)]
enum Number {
    Int(i128),
    Float(f64),
    Complex(f64, f64),
}

/// The number that an object is, if it is one.
///
/// # Safety
/// `object` is a live object.
unsafe fn number(object: *mut ffi::PyObject) -> PyResult<Option<Number>> {
    // SAFETY: passed on to the caller.
    unsafe {
        let ty = ffi::Py_TYPE(object);
        if ty == &raw mut ffi::PyFloat_Type {
            return Ok(Some(Number::Float(ffi::PyFloat_AsDouble(object))));
        }
        if ty == &raw mut ffi::PyLong_Type {
            let mut overflow = 0;
            let value = ffi::PyLong_AsLongLongAndOverflow(object, &mut overflow);
            if overflow != 0 {
                let message = "an int in a list is outside the 64 bits that compiled code computes in";
                return Err(PyOverflowError::new_err(message));
            }
            return Ok(Some(Number::Int(value.into())));
        }
        if ty == &raw mut ffi::PyBool_Type {
            return Ok(Some(Number::Int(i128::from(object == ffi::Py_True()))));
        }
        if ty == &raw mut ffi::PyComplex_Type {
            let parts = (ffi::PyComplex_RealAsDouble(object), ffi::PyComplex_ImagAsDouble(object));
            return Ok(Some(Number::Complex(parts.0, parts.1)));
        }
        let Some(dtype) = scalar_dtype(object) else { return Ok(None) };
        let bits = read_scalar(object, dtype);
        let f32_at = |shift: u32| f64::from(f32::from_bits((bits >> shift) as u32));
        Ok(Some(match dtype {
            DType::F16 => Number::Float(half::from_bits(bits as u16)),
            DType::F32 => Number::Float(f32_at(0)),
            DType::F64 => Number::Float(f64::from_bits(bits as u64)),
            DType::C64 => Number::Complex(f32_at(0), f32_at(32)),
            DType::C128 => Number::Complex(f64::from_bits(bits as u64), f64::from_bits((bits >> 64) as u64)),
            d => {
                let (size, value) = (8 * d.size() as u32, bits as i128);
                let sign = d.is_signed() && value >> (size - 1) & 1 == 1;
                Number::Int(if sign { value - (1i128 << size) } else { value })
            }
        }))
    }
}

/// The bits of a number in a dtype that holds it, or the nearest.
fn encode(number: Number, dtype: DType) -> u128 {
    let (re, im) = match number {
        Number::Int(v) => (v as f64, 0.0),
        Number::Float(v) => (v, 0.0),
        Number::Complex(re, im) => (re, im),
    };
    let single = |v: f64| u128::from((v as f32).to_bits());
    match (dtype, number) {
        (DType::F16, _) => half::to_bits(re).into(),
        (DType::F32, _) => single(re),
        (DType::F64, _) => re.to_bits().into(),
        (DType::C64, _) => single(re) | single(im) << 32,
        (DType::C128, _) => u128::from(re.to_bits()) | u128::from(im.to_bits()) << 64,
        (DType::Bool, Number::Int(v)) => u128::from(v != 0),
        (_, Number::Int(v)) => v as u64 as u128,
        _ => u128::from(re as i64 as u64),
    }
}
