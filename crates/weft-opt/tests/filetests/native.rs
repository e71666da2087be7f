//! Compiled host code under a minimal runtime: checked memory, and parallel loops in an order of their own.
//!
//! Every block has guards on both sides that must survive; every block that the program allocated and did not return
//! must have been released. A parallel loop runs as three chunks, the last first, each with its own `CallCtx`: results
//! and exceptions may not depend on that.

use crate::backends::Backend;
use std::cell::RefCell;
use weft_codegen::abi::{CallCtx, Chunk, ExcRecord, ListHeader, RuntimeTable, VIEW_BITS, no_signal};
use weft_codegen::{compile_host, load};
use weft_interp::{Failure, Memory, Pointer, Scalar, Value};
use weft_ir::{Module, Op, Stage, Type};
use weft_opt::call::Call;

/// Compiles the entry for this machine and calls it.
pub struct Native;

impl Backend for Native {
    fn name(&self) -> &str {
        "native"
    }

    fn takes(&self, m: &Module) -> bool {
        let mut host = m.stage == Stage::Loops && m.funcs.iter().all(|f| !f.kernel);
        m.entry().walk(&mut |op| {
            if let Op::MemAlloc { at } | Op::MemNeed { at, .. } = &m.entry().op(op).op {
                host &= at.is_host();
            }
        });
        host
    }

    fn run(&self, m: &Module, call: &Call) -> Result<Vec<Value>, Failure> {
        let code = compile_host(m, &m.entry().name).map_err(|e| Failure::fault(e.to_string()))?;
        let loaded = load(&code.object).map_err(|e| Failure::fault(e.to_string()))?;
        let entry = loaded.entry().map_err(|e| Failure::fault(e.to_string()))?;
        let sizes = call.launch.iter().flatten().map(|&n| Value::Scalar(Scalar::i64(n)));
        let mut heap = Heap::default();
        let mut slots = vec![];
        for value in sizes.chain(call.args.iter().cloned()).flat_map(Value::explode) {
            slots.push(heap.slot(&value));
            if let Value::Scalar(s @ Scalar::C128(_)) = value {
                slots.push((s.to_bits() >> 64) as u64);
            }
        }
        let mut results = vec![0u64; m.entry().results.iter().map(Type::slots).sum()];
        let heap = RefCell::new(heap);
        let table = RuntimeTable {
            version: RuntimeTable::VERSION,
            alloc,
            release,
            par_for,
            par_blocks: par_for,
            launch,
            need,
            retain,
            list_new,
            list_reserve,
            keep: retain,
            drop_kept: release,
            print,
            zero,
            exhausted,
            poll: never,
        };
        let call_state = (&raw const heap).cast_mut().cast();
        let here = 0u8;
        // Half a megabyte of stack for functions that call themselves.
        let stack_limit = (&raw const here as u64).saturating_sub(1 << 19);
        let mut ctx = CallCtx {
            rt: &table,
            call: call_state,
            exc: ExcRecord::default(),
            stack_limit,
            alone: 0,
            signal: no_signal(),
            stopped: 0,
        };
        // SAFETY: the entry was compiled for these slots; the context, the table and the heap outlive the call.
        let status = unsafe { entry(&mut ctx, slots.as_ptr(), results.as_mut_ptr()) };
        let heap = heap.into_inner();
        heap.write_back()?;
        if status != 0 {
            let args = ctx.exc.args[..ctx.exc.nargs as usize].to_vec();
            return match ctx.exc.site {
                ExcRecord::RUNTIME => Err(Failure::fault("the runtime refused")),
                site => Err(Failure::Raised { site, args }),
            };
        }
        let types = m.entry().results.iter();
        let mut rest = results.iter().map(|&word| u128::from(word));
        let mut words = vec![];
        for ty in types.clone() {
            let low = rest.next().unwrap_or(0);
            words.push(if ty.slots() == 2 { low | rest.next().unwrap_or(0) << 64 } else { low });
        }
        let owners = types.clone().zip(&words).filter(|(ty, _)| **ty == Type::Owner).map(|(_, &word)| word as u64);
        // A handler is entered past releases: what it left behind ends with the call.
        if !m.funcs.iter().any(|f| f.ops.iter().any(|o| o.op == Op::ScfTry)) {
            heap.check_released(&owners.collect::<Vec<_>>())?;
        }
        let values = types.zip(&words).map(|(ty, &bits)| heap.value(ty, bits));
        call.collect(values.collect::<Result<Vec<_>, _>>()?)
    }
}

/// Bytes on each side of a block that no program may touch.
const GUARD: usize = 64;
const PATTERN: u8 = 0x5a;

/// Memory that compiled code can reach.
#[derive(Default)]
struct Heap {
    blocks: Vec<Block>,
}

struct Block {
    /// Guard, bytes, guard; in words, so that it is aligned.
    words: Vec<u128>,
    len: usize,
    /// The argument it is a copy of.
    lent: Option<Memory>,
    /// Owners that are left.
    count: usize,
    /// The header of a list.
    list: bool,
}

impl Block {
    fn new(bytes: &[u8], lent: Option<Memory>) -> Block {
        let mut words = vec![0u128; (bytes.len() + 2 * GUARD).div_ceil(16)];
        let at = words.as_mut_ptr().cast::<u8>();
        // SAFETY: `words` holds the two guards and the bytes.
        unsafe {
            at.write_bytes(PATTERN, words.len() * 16);
            at.add(GUARD).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        }
        Block { words, len: bytes.len(), lent, count: 1, list: false }
    }

    fn address(&self) -> u64 {
        self.words.as_ptr() as u64 + GUARD as u64
    }

    fn all_bytes(&self) -> &[u8] {
        // SAFETY: the words are initialised memory of this length.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast(), self.words.len() * 16) }
    }

    fn bytes(&self) -> &[u8] {
        &self.all_bytes()[GUARD..GUARD + self.len]
    }
}

impl Heap {
    /// The 8 bytes that stand for an argument. Owners of arguments are odd, as those of Python's are.
    fn slot(&mut self, value: &Value) -> u64 {
        match value {
            Value::Scalar(s) => s.to_bits() as u64,
            Value::Array(_) | Value::Cell(_) | Value::List(_) => 0,
            Value::Pointer(p) => {
                let known = self.blocks.iter().position(|b| b.lent.as_ref().is_some_and(|l| l.same(&p.memory)));
                let at = known.unwrap_or_else(|| {
                    self.blocks.push(Block::new(&p.memory.to_bytes(), Some(p.memory.clone())));
                    self.blocks.len() - 1
                });
                self.blocks[at].address().wrapping_add_signed(p.offset)
            }
            Value::Owner(_) => 1,
        }
    }

    /// Owner word of a block that the program allocated: even and not 0.
    fn owner(at: usize) -> u64 {
        2 * (at as u64 + 1)
    }

    fn owned(&mut self, owner: u64) -> Option<&mut Block> {
        let owner = array_of(owner);
        let at = (owner != 0 && owner.is_multiple_of(2)).then(|| owner as usize / 2 - 1)?;
        self.blocks.get_mut(at)
    }

    /// One owner less; with the last one of a list go its items.
    fn release(&mut self, owner: u64) {
        let Some(b) = self.owned(owner) else { return };
        // One too many shows as a wrong count at the end.
        b.count = b.count.wrapping_sub(1);
        if b.count > 0 || !b.list {
            return;
        }
        // SAFETY: the block holds a header, which `list_new` wrote, and so many words lie where it says.
        let (list, words) = unsafe {
            let list = *(b.address() as *const ListHeader);
            let count = if list.items == 0 { 0 } else { (list.len * list.words) as usize };
            (list, (0..count).map(|k| *(list.items as *const u64).add(k)).collect::<Vec<u64>>())
        };
        self.blocks.iter_mut().filter(|b| b.address() == list.items).for_each(|b| b.count -= 1);
        for item in words.chunks(list.words.max(1) as usize) {
            let held = item.iter().enumerate().filter(|(k, _)| list.owners >> k & 1 == 1);
            held.for_each(|(_, &word)| self.release(word));
        }
    }

    /// Gives arguments what the program wrote into them; no guard may have changed.
    fn write_back(&self) -> Result<(), Failure> {
        for b in &self.blocks {
            let (all, end) = (b.all_bytes(), GUARD + b.len);
            if all[..GUARD].iter().chain(&all[end..]).any(|&byte| byte != PATTERN) {
                return Err(Failure::fault(format!("a write outside of a block of {} bytes", b.len)));
            }
            if let Some(memory) = &b.lent {
                memory.set_bytes(b.bytes().to_vec());
            }
        }
        Ok(())
    }

    /// Of every block that the program allocated as many owners are left as are among the `owners` returned.
    fn check_released(&self, owners: &[u64]) -> Result<(), Failure> {
        for (i, b) in self.blocks.iter().enumerate().filter(|(_, b)| b.lent.is_none()) {
            let returned = owners.iter().filter(|&&o| array_of(o) == Heap::owner(i)).count();
            if b.count != returned {
                return Err(Failure::fault(format!("a block of {} bytes has {} owners left", b.len, b.count)));
            }
        }
        Ok(())
    }

    fn value(&self, ty: &Type, word: u128) -> Result<Value, Failure> {
        let scalar = match ty {
            Type::Mem(dtype, _) => {
                let bits = word as u64;
                if bits == 0 {
                    // What `mem.null` gives.
                    let memory = Memory::borrowed(vec![]);
                    return Ok(Value::Pointer(Pointer { memory, offset: 0, dtype: *dtype }));
                }
                let inside = |b: &&Block| (b.address()..=b.address() + b.len as u64).contains(&bits);
                let b = self.blocks.iter().find(inside).ok_or_else(|| Failure::fault("a pointer to no block"))?;
                let memory = Memory::borrowed(b.bytes().to_vec());
                return Ok(Value::Pointer(Pointer { memory, offset: (bits - b.address()) as i64, dtype: *dtype }));
            }
            Type::Owner => return Ok(Value::Owner(Memory::borrowed(vec![]))),
            Type::Num(dtype) => Scalar::from_bits(word, *dtype),
            other => return Err(Failure::fault(format!("a result of type {other}"))),
        };
        Ok(Value::Scalar(scalar))
    }
}

/// The heap of a call.
///
/// # Safety
/// `ctx` is the context that [`Native::run`] made, or a copy of it.
unsafe fn heap_of<'a>(ctx: *mut CallCtx) -> &'a RefCell<Heap> {
    // SAFETY: `call` points to the heap, which outlives the call.
    unsafe { &*(*ctx).call.cast::<RefCell<Heap>>() }
}

unsafe extern "C" fn never(_: *mut CallCtx) -> u32 {
    0
}

unsafe extern "C" fn alloc(ctx: *mut CallCtx, _place: u32, bytes: u64, out: *mut [u64; 2]) -> u32 {
    // SAFETY: compiled code passes its context and room for two words.
    let (heap, out) = unsafe { (&mut *heap_of(ctx).borrow_mut(), &mut *out) };
    heap.blocks.push(Block::new(&vec![0xa5; bytes as usize], None));
    let at = heap.blocks.len() - 1;
    *out = [heap.blocks[at].address(), Heap::owner(at)];
    0
}

/// An owner word without what it says of views.
fn array_of(owner: u64) -> u64 {
    owner & !VIEW_BITS
}

unsafe extern "C" fn release(ctx: *mut CallCtx, owner: u64) {
    // SAFETY: compiled code passes its context.
    let heap = unsafe { &mut *heap_of(ctx).borrow_mut() };
    heap.release(owner);
}

unsafe extern "C" fn list_new(ctx: *mut CallCtx, words: u64, owners: u64, out: *mut [u64; 2]) -> u32 {
    // SAFETY: compiled code passes its context and room for two words.
    unsafe {
        alloc(ctx, 0, size_of::<ListHeader>() as u64, out);
        ((*out)[0] as *mut ListHeader).write(ListHeader { len: 0, capacity: 0, items: 0, words, owners });
        let heap = &mut *heap_of(ctx).borrow_mut();
        heap.owned((*out)[1]).into_iter().for_each(|b| b.list = true);
    }
    0
}

/// Always a new block, and room for no more than was asked for.
unsafe extern "C" fn list_reserve(ctx: *mut CallCtx, header: *mut ListHeader, items: u64) -> u32 {
    // SAFETY: compiled code passes its context and the header of a list.
    unsafe {
        let mut out = [0; 2];
        alloc(ctx, 0, items * (*header).words * 8, &mut out);
        let (old, bytes) = ((*header).items as *const u8, (*header).len * (*header).words * 8);
        if !old.is_null() {
            std::ptr::copy_nonoverlapping(old, out[0] as *mut u8, bytes as usize);
        }
        let heap = &mut *heap_of(ctx).borrow_mut();
        heap.blocks.iter_mut().filter(|b| b.address() == old as u64).for_each(|b| b.count -= 1);
        (*header).items = out[0];
        (*header).capacity = items;
    }
    0
}

unsafe extern "C" fn retain(ctx: *mut CallCtx, owner: u64) {
    // SAFETY: compiled code passes its context.
    let heap = unsafe { &mut *heap_of(ctx).borrow_mut() };
    if let Some(b) = heap.owned(owner) {
        b.count += 1;
    }
}

unsafe extern "C" fn par_for(ctx: *mut CallCtx, body: Chunk, env: *const u64, n: u64, _cost: u32) -> u32 {
    let third = n.div_ceil(3).max(1);
    let mut failed: Option<ExcRecord> = None;
    let chunks = (0..3).map(|k| (k * third, ((k + 1) * third).min(n))).filter(|(lo, hi)| lo < hi);
    for (lo, hi) in chunks.collect::<Vec<_>>().into_iter().rev() {
        // SAFETY: compiled code passes its context, and a body for this environment.
        let mut own = unsafe {
            CallCtx {
                rt: (*ctx).rt,
                call: (*ctx).call,
                exc: ExcRecord::default(),
                stack_limit: 0,
                alone: 0,
                signal: no_signal(),
                stopped: 0,
            }
        };
        if unsafe { body(&mut own, env, lo, hi) } != 0 && failed.is_none_or(|f| own.exc.iteration < f.iteration) {
            failed = Some(own.exc);
        }
    }
    if let Some(exc) = failed {
        // SAFETY: as above.
        unsafe { (*ctx).exc = exc };
    }
    u32::from(failed.is_some())
}

unsafe extern "C" fn launch(
    ctx: *mut CallCtx,
    _site: u32,
    _sizes: *const u64,
    _ndims: u32,
    _args: *const u8,
    _bytes: u32,
) -> u32 {
    // SAFETY: compiled code passes its context.
    unsafe { (*ctx).exc.site = ExcRecord::RUNTIME };
    1
}

/// Host memory is valid on the host: the same address, and one more owner of it.
unsafe extern "C" fn need(
    ctx: *mut CallCtx,
    data: u64,
    owner: u64,
    _rank: u32,
    _shape: *const i64,
    _strides: *const i64,
    _itemsize: u32,
    _place: u32,
    _mode: u32,
    out: *mut [u64; 2],
) -> u32 {
    // SAFETY: compiled code passes its context and room for two words.
    let (heap, out) = unsafe { (&mut *heap_of(ctx).borrow_mut(), &mut *out) };
    if let Some(b) = heap.owned(owner) {
        b.count += 1;
    }
    *out = [data, owner];
    0
}

unsafe extern "C" fn zero(_: *mut CallCtx, address: *mut u8, bytes: u64) {
    // SAFETY: compiled code passes memory that it holds.
    unsafe { address.write_bytes(0, bytes as usize) };
}

unsafe extern "C" fn exhausted(_: *mut CallCtx, _: u64) -> u32 {
    1
}

unsafe extern "C" fn print(_: *mut CallCtx, _: u32, _: *const u64, _: u32) -> u32 {
    0
}
