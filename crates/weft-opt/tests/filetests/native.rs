//! Compiled host code under a minimal runtime: checked memory, and parallel loops in an order of their own.
//!
//! Every block has guards on both sides that must survive; every block that the program allocated and did not return
//! must have been released. A parallel loop runs as three chunks, the last first, each with its own `CallCtx`: results
//! and exceptions may not depend on that.

use crate::backends::Backend;
use std::cell::RefCell;
use weft_codegen::abi::{CallCtx, Chunk, ExcRecord, RuntimeTable};
use weft_codegen::{compile_host, load};
use weft_interp::{Failure, Memory, Pointer, Scalar, Value};
use weft_ir::{DType, Module, Op, Stage, Type};
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
        }
        let mut results = vec![0u64; m.entry().results.len()];
        let heap = RefCell::new(heap);
        let table = RuntimeTable { version: RuntimeTable::VERSION, alloc, release, par_for, launch, need };
        let mut ctx = CallCtx { rt: &table, call: (&raw const heap).cast_mut().cast(), exc: ExcRecord::default() };
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
        let owners = types.clone().zip(&results).filter(|(ty, _)| **ty == Type::Owner).map(|(_, &word)| word);
        heap.check_released(&owners.collect::<Vec<_>>())?;
        let values = types.zip(&results).map(|(ty, &bits)| heap.value(ty, bits));
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
        Block { words, len: bytes.len(), lent, count: 1 }
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
            Value::Scalar(Scalar::Bool(v)) => (*v).into(),
            Value::Scalar(Scalar::Int(_, v)) => *v as u64,
            Value::Scalar(Scalar::F32(v)) => v.to_bits().into(),
            Value::Scalar(Scalar::F64(v)) => v.to_bits(),
            Value::Scalar(Scalar::None) | Value::Array(_) => 0,
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
        let at = (owner != 0 && owner.is_multiple_of(2)).then(|| owner as usize / 2 - 1)?;
        self.blocks.get_mut(at)
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

    /// Of every block that the program allocated one owner is left if it is among the `owners` returned, else none.
    fn check_released(&self, owners: &[u64]) -> Result<(), Failure> {
        for (i, b) in self.blocks.iter().enumerate().filter(|(_, b)| b.lent.is_none()) {
            let returned = usize::from(owners.contains(&Heap::owner(i)));
            if b.count != returned {
                return Err(Failure::fault(format!("a block of {} bytes has {} owners left", b.len, b.count)));
            }
        }
        Ok(())
    }

    fn value(&self, ty: &Type, bits: u64) -> Result<Value, Failure> {
        let scalar = match ty {
            Type::Mem(dtype, _) => {
                let inside = |b: &&Block| (b.address()..=b.address() + b.len as u64).contains(&bits);
                let b = self.blocks.iter().find(inside).ok_or_else(|| Failure::fault("a pointer to no block"))?;
                let memory = Memory::borrowed(b.bytes().to_vec());
                return Ok(Value::Pointer(Pointer { memory, offset: (bits - b.address()) as i64, dtype: *dtype }));
            }
            Type::Owner => return Ok(Value::Owner(Memory::borrowed(vec![]))),
            Type::Num(DType::Bool) => Scalar::Bool(bits != 0),
            Type::Num(DType::F32) => Scalar::F32(f32::from_bits(bits as u32)),
            Type::Num(DType::F64) => Scalar::F64(f64::from_bits(bits)),
            Type::Num(DType::I32) => Scalar::Int(DType::I32, (bits as i32).into()),
            Type::Num(DType::I64) => Scalar::i64(bits as i64),
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

unsafe extern "C" fn alloc(ctx: *mut CallCtx, _place: u32, bytes: u64, out: *mut [u64; 2]) -> u32 {
    // SAFETY: compiled code passes its context and room for two words.
    let (heap, out) = unsafe { (&mut *heap_of(ctx).borrow_mut(), &mut *out) };
    heap.blocks.push(Block::new(&vec![0xa5; bytes as usize], None));
    let at = heap.blocks.len() - 1;
    *out = [heap.blocks[at].address(), Heap::owner(at)];
    0
}

unsafe extern "C" fn release(ctx: *mut CallCtx, owner: u64) {
    // SAFETY: compiled code passes its context.
    let heap = unsafe { &mut *heap_of(ctx).borrow_mut() };
    if let Some(b) = heap.owned(owner) {
        // One too many shows as a wrong count at the end.
        b.count = b.count.wrapping_sub(1);
    }
}

unsafe extern "C" fn par_for(ctx: *mut CallCtx, body: Chunk, env: *const u64, n: u64, _cost: u32) -> u32 {
    let third = n.div_ceil(3).max(1);
    let mut failed: Option<ExcRecord> = None;
    let chunks = (0..3).map(|k| (k * third, ((k + 1) * third).min(n))).filter(|(lo, hi)| lo < hi);
    for (lo, hi) in chunks.collect::<Vec<_>>().into_iter().rev() {
        // SAFETY: compiled code passes its context, and a body for this environment.
        let mut own = unsafe { CallCtx { rt: (*ctx).rt, call: (*ctx).call, exc: ExcRecord::default() } };
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
