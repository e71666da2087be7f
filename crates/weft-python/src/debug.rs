//! `kernel(f, debug=True)`: the reference interpreter runs the work-items on the host, one after the other.
//!
//! Its memory is its own: what the arguments touch is copied in and, of arrays that the kernel writes, back, also after a
//! failure. Arguments that overlap share one block, so that work-items meet there whatever names they use.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use pyo3::prelude::*;
use weft_interp::watch::{Access, Now, Race};
use weft_interp::{Array, Failure, Memory, Scalar, Value, run_items};
use weft_ir::{Argument, DType, ExcClass, Type};
use weft_runtime::trace::{self, Item, Kind};
use weft_runtime::{Buffer, CallError, HostSpan, Raised, extent, pool};

use crate::arguments::Arguments;
use crate::function::Function;
use crate::results::slots_of;
use crate::sizes::{Size, tuple};
use crate::specialisation::Specialisation;
use crate::{errors, run};

/// How many turns of loops there are between looking for signals, and letting other threads run.
const TURNS: u32 = 1 << 12;

/// An array among the arguments.
struct Given {
    /// Where element 0 is, on the host or on a device.
    address: u64,
    dtype: DType,
    shape: Vec<i64>,
    strides: Vec<i64>,
    /// The memory of one on a device.
    device: Option<Arc<Buffer>>,
    /// Whether the kernel may store into it.
    written: bool,
    /// Position among the values.
    value: usize,
}

impl Given {
    fn span(&self) -> Option<HostSpan> {
        extent(self.address, &self.shape, &self.strides, self.dtype.size())
    }
}

/// A block of the interpreter's, and what it stands for.
struct Block {
    span: HostSpan,
    on_device: bool,
    memory: Memory,
}

/// Runs the items of a launch.
///
/// # Safety
/// As for [`run::run_or_launch`].
pub(crate) unsafe fn launch(
    py: Python<'_>,
    function: &Function,
    made: &Specialisation,
    call: &mut Arguments,
    size: &Size,
) -> PyResult<()> {
    // SAFETY: passed on to the caller.
    unsafe { run::prepare(py, made, call) }?;
    let (arrays, mut values) = read(made, call, size.global.len());
    let now = Now::default();
    // SAFETY: the caller keeps the arrays alive.
    let blocks = unsafe { copy_in(py, &arrays, &now) }?;
    for array in &arrays {
        let block = blocks.iter().find(|block| array.span().is_some_and(|span| block.holds(array, span)));
        let (memory, offset) = match block {
            Some(block) => (block.memory.clone(), (array.address - block.span.lo) as i64),
            None => (Memory::borrowed(vec![]), 0),
        };
        let (shape, strides) = (array.shape.clone(), array.strides.clone());
        values[array.value] = Value::Array(Array { memory, offset, dtype: array.dtype, shape, strides });
    }
    let shape: Vec<i64> = size.global.iter().map(|&n| n as i64).collect();
    let (turns, interruption) = (Cell::new(0), RefCell::new(None));
    let goes_on = || {
        turns.set(turns.get() + 1);
        if turns.get() % TURNS != 0 {
            return true;
        }
        py.detach(std::thread::yield_now);
        *interruption.borrow_mut() = py.check_signals().err();
        interruption.borrow().is_none()
    };
    let watch = trace::stopwatch();
    let done = run_items(&made.stages.ntensor, &shape, &values, &now, &goes_on);
    watch.record(Kind::Launch, || Item {
        name: format!("{}, interpreted", function.name),
        device: "native:cpu:0".into(),
        bytes: 0,
        seconds: 0.0,
        span: None,
    });
    // SAFETY: as above; the kernel is written in place of the arrays only where it may be.
    unsafe { copy_back(py, &arrays, &blocks) }?;
    done.map_err(|failure| match interruption.take() {
        Some(error) => error,
        None => explain(py, function, made, size, now.item(), failure),
    })
}

/// The arrays among the arguments, and all arguments with a number in place of each array.
fn read(made: &Specialisation, call: &Arguments, first: usize) -> (Vec<Given>, Vec<Value>) {
    let entry = made.stages.ntensor.entry();
    let (mut arrays, mut values, mut at) = (vec![], vec![], first);
    for (value, &p) in entry.params().iter().enumerate() {
        let ty = entry.ty(p);
        let slots = &call.slots[at..at + slots_of(ty)];
        if let Type::Tensor(t) = ty {
            let rank = t.rank();
            let words = |from: usize| slots[from..from + rank].iter().map(|&n| n as i64).collect::<Vec<i64>>();
            let tensor = call.tensors.iter().find(|tensor| tensor.slot == at);
            arrays.push(Given {
                address: slots[0],
                dtype: t.dtype,
                shape: words(2),
                strides: words(2 + rank),
                device: tensor.map(|tensor| tensor.buffer().clone()),
                written: made.written.get(value).copied().unwrap_or(true) && !t.readonly,
                value,
            });
            values.push(Value::Scalar(Scalar::None));
        } else {
            let wide = slots.iter().rev().fold(0, |bits, &slot| bits << 64 | u128::from(slot));
            let scalar = ty.scalar_dtype().map_or(Scalar::None, |dtype| Scalar::from_bits(wide, dtype));
            values.push(Value::Scalar(scalar));
        }
        at += slots.len();
    }
    (arrays, values)
}

impl Block {
    fn holds(&self, array: &Given, span: HostSpan) -> bool {
        self.on_device == array.device.is_some() && self.span.lo <= span.lo && span.hi <= self.span.hi
    }

    /// Position in the block of a span that it holds.
    fn part(&self, span: HostSpan) -> std::ops::Range<usize> {
        (span.lo - self.span.lo) as usize..(span.hi - self.span.lo) as usize
    }
}

/// Blocks with what the arrays hold: one for all that overlap.
///
/// # Safety
/// The arrays are alive.
unsafe fn copy_in(py: Python<'_>, arrays: &[Given], now: &Now) -> PyResult<Vec<Block>> {
    let mut spans: Vec<(bool, HostSpan)> =
        arrays.iter().filter_map(|array| Some((array.device.is_some(), array.span()?))).collect();
    spans.sort_unstable();
    let mut merged: Vec<(bool, HostSpan)> = vec![];
    for (on_device, span) in spans {
        match merged.last_mut() {
            Some((there, last)) if *there == on_device && span.lo < last.hi => last.hi = last.hi.max(span.hi),
            _ => merged.push((on_device, span)),
        }
    }
    let mut blocks = vec![];
    for (on_device, span) in merged {
        let bytes = pool::zeros((span.hi - span.lo) as usize);
        let mut bytes = bytes.map_err(|e| errors::from_hal(py, &e))?;
        let mut block = Block { span, on_device, memory: Memory::borrowed(vec![]) };
        for array in arrays {
            let Some(own) = array.span().filter(|&own| block.holds(array, own)) else { continue };
            let part = &mut bytes[block.part(own)];
            match &array.device {
                Some(buffer) => {
                    let done = py.detach(|| buffer.to_host((own.lo - buffer.address()) as usize, part));
                    done.map_err(|e| errors::from_hal(py, &e))?;
                }
                // SAFETY: the bytes between the first and the last element of a live array.
                None => unsafe { std::ptr::copy_nonoverlapping(own.lo as *const u8, part.as_mut_ptr(), part.len()) },
            }
        }
        block.memory = Memory::watched(bytes, now);
        blocks.push(block);
    }
    Ok(blocks)
}

/// Brings back what the arrays that may be written hold now.
///
/// # Safety
/// The arrays are alive.
unsafe fn copy_back(py: Python<'_>, arrays: &[Given], blocks: &[Block]) -> PyResult<()> {
    for block in blocks {
        let bytes = block.memory.bytes();
        for array in arrays.iter().filter(|array| array.written) {
            let Some(own) = array.span().filter(|&own| block.holds(array, own)) else { continue };
            if let Some(buffer) = &array.device {
                let (at, content) = ((own.lo - buffer.address()) as usize, &bytes[block.part(own)]);
                py.detach(|| buffer.write(at, content)).map_err(|e| errors::from_hal(py, &e))?;
                continue;
            }
            // Not what lies between the elements: it may be somebody else's.
            let size = array.dtype.size();
            for index in weft_interp::array::indices(&array.shape) {
                let offset: i64 = index.iter().zip(&array.strides).map(|(i, stride)| i * stride).sum();
                let at = array.address.wrapping_add_signed(offset);
                let from = (at - block.span.lo) as usize;
                // SAFETY: an element of a live array that may be written, and its place in the block.
                unsafe { std::ptr::copy_nonoverlapping(bytes[from..from + size].as_ptr(), at as *mut u8, size) };
            }
        }
    }
    Ok(())
}

/// The exception for a failure of a work-item, which is named in a note.
fn explain(
    py: Python<'_>,
    function: &Function,
    made: &Specialisation,
    size: &Size,
    item: u64,
    failure: Failure,
) -> PyErr {
    let name = &function.name;
    let raised = match failure {
        Failure::Raised { site, args } => {
            let Some(site) = made.stages.ntensor.sites.get(site as usize) else {
                return errors::internal(py, "a kernel raised at a site that it does not have");
            };
            Raised {
                class: site.class,
                user: site.user,
                message: site.message(&args),
                arguments: site.arguments(&args),
                span: site.span,
                callers: site.callers.clone(),
                iteration: item as i64,
            }
        }
        Failure::Race(race) => {
            let message = meeting(&race, size);
            Raised {
                class: ExcClass::RuntimeError,
                user: None,
                arguments: vec![Argument::Text(message.clone())],
                message,
                span: race.place.map_or(weft_diag::Span::NONE, |met| met.span),
                callers: vec![],
                iteration: item as i64,
            }
        }
        Failure::Fault(why) => {
            let message = format!("`{name}` does what debug=True cannot follow: {why}");
            return errors::new(py, "UnsupportedError", message);
        }
        Failure::Interrupted => return errors::internal(py, "work-items ended without a reason"),
        Failure::Exhausted(bytes) => return errors::no_memory(py, bytes),
    };
    let exception = errors::from_call(py, &CallError::Raised(raised), &made.origin);
    size.name_item(py, exception, name, item)
}

/// Two work-items that meet, in words.
fn meeting(race: &Race, size: &Size) -> String {
    let ((first, did), (second, does)) = (race.first, race.second);
    let element = match &race.place {
        Some(met) => {
            let index: Vec<u64> = met.index.iter().map(|&i| i as u64).collect();
            let array = if met.array.is_empty() { "an array".to_owned() } else { format!("`{}`", met.array) };
            format!("{} of {array}", tuple(&index))
        }
        None => "of an array".to_owned(),
    };
    let (first, second) = (tuple(&size.index(first)), tuple(&size.index(second)));
    let word = |access| match access {
        Access::Read => "reads",
        Access::Write => "writes",
        Access::Update => "updates",
    };
    match did == does {
        true => format!("work-items {first} and {second} both write the same element, {element}"),
        false => {
            format!("work-item {first} {} and work-item {second} {} the same element, {element}", word(did), word(does))
        }
    }
}
