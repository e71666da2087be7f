//! A runtime small enough to read: allocates from the heap, cuts parallel loops into chunks of a chosen size, and records
//! launches and transfers. Compiled functions of the tests run on it.
#![allow(dead_code)]

use std::cell::RefCell;
use std::ffi::c_void;

use weft_codegen::abi::{CallCtx, Chunk, ExcRecord, ListHeader, RuntimeTable, no_signal};
use weft_codegen::{LoadedCode, compile_host, load};
use weft_ir::Module;

/// A transfer asked for: data, owner, shape, strides, item size, place, mode.
pub type Need = (u64, u64, Vec<i64>, Vec<i64>, u32, u32, u32);

/// What happened during a call.
#[derive(Default)]
pub struct Log {
    pub chunk: u64,
    pub par_for: Vec<(u64, u32)>,
    pub live: Vec<(u64, Vec<u64>)>,
    pub fail_alloc_after: Option<usize>,
    pub allocs: usize,
    pub launches: Vec<(u32, Vec<u64>, Vec<u8>)>,
    pub needs: Vec<Need>,
}

fn log(ctx: *mut CallCtx) -> &'static RefCell<Log> {
    // SAFETY: `Code::call` keeps the log alive during the call.
    unsafe { &*(*ctx).call.cast::<RefCell<Log>>() }
}

unsafe extern "C" fn alloc(ctx: *mut CallCtx, _place: u32, bytes: u64, out: *mut [u64; 2]) -> u32 {
    let mut l = log(ctx).borrow_mut();
    if l.fail_alloc_after.is_some_and(|n| l.allocs >= n) {
        unsafe { (*ctx).exc.site = ExcRecord::RUNTIME };
        return 1;
    }
    l.allocs += 1;
    let mut block = vec![0u64; bytes.div_ceil(8) as usize];
    let owner = 0x1000 + 2 * l.allocs as u64;
    unsafe { *out = [block.as_mut_ptr() as u64, owner] };
    l.live.push((owner, block));
    0
}

unsafe extern "C" fn release(ctx: *mut CallCtx, owner: u64) {
    let mut l = log(ctx).borrow_mut();
    let i = l.live.iter().position(|(o, _)| *o == owner).expect("released twice, or never allocated");
    l.live.remove(i);
}

unsafe extern "C" fn retain(ctx: *mut CallCtx, owner: u64) {
    let mut l = log(ctx).borrow_mut();
    let again = l.live.iter().find(|(o, _)| *o == owner).cloned().expect("a count of what was never allocated");
    l.live.push(again);
}

unsafe extern "C" fn par_for(ctx: *mut CallCtx, body: Chunk, env: *const u64, n: u64, cost: u32) -> u32 {
    let chunk = {
        let mut l = log(ctx).borrow_mut();
        l.par_for.push((n, cost));
        if l.chunk == 0 { n.max(1) } else { l.chunk }
    };
    let mut lo = 0;
    while lo < n {
        let hi = (lo + chunk).min(n);
        let status = unsafe { body(ctx, env, lo, hi) };
        if status != 0 {
            return status;
        }
        lo = hi;
    }
    0
}

unsafe extern "C" fn launch(
    ctx: *mut CallCtx,
    site: u32,
    sizes: *const u64,
    dims: u32,
    args: *const u8,
    bytes: u32,
) -> u32 {
    let (sizes, args) =
        unsafe { (std::slice::from_raw_parts(sizes, dims as usize), std::slice::from_raw_parts(args, bytes as usize)) };
    log(ctx).borrow_mut().launches.push((site, sizes.to_vec(), args.to_vec()));
    0
}

#[allow(clippy::too_many_arguments)]
unsafe extern "C" fn need(
    ctx: *mut CallCtx,
    data: u64,
    owner: u64,
    rank: u32,
    shape: *const i64,
    strides: *const i64,
    itemsize: u32,
    place: u32,
    mode: u32,
    out: *mut [u64; 2],
) -> u32 {
    let list = |p| unsafe { std::slice::from_raw_parts(p, rank as usize) }.to_vec();
    log(ctx).borrow_mut().needs.push((data, owner, list(shape), list(strides), itemsize, place, mode));
    unsafe { *out = [data + 0x10000, owner] };
    0
}

unsafe extern "C" fn no_list(_: *mut CallCtx, _: u64, _: u64, _: *mut [u64; 2]) -> u32 {
    1
}

unsafe extern "C" fn no_room(_: *mut CallCtx, _: *mut ListHeader, _: u64) -> u32 {
    1
}

unsafe extern "C" fn no_print(_: *mut CallCtx, _: u32, _: *const u64, _: u32) -> u32 {
    0
}

unsafe extern "C" fn zero(_: *mut CallCtx, address: *mut u8, bytes: u64) {
    unsafe { address.write_bytes(0, bytes as usize) };
}

unsafe extern "C" fn exhausted(_: *mut CallCtx, _: u64) -> u32 {
    1
}

unsafe extern "C" fn never(_: *mut CallCtx) -> u32 {
    0
}

static TABLE: RuntimeTable = RuntimeTable {
    version: RuntimeTable::VERSION,
    alloc,
    release,
    par_for,
    par_blocks: par_for,
    launch,
    need,
    retain,
    list_new: no_list,
    list_reserve: no_room,
    keep: retain,
    drop_kept: release,
    print: no_print,
    zero,
    exhausted,
    poll: never,
};

/// The text of a module, read.
pub fn module(text: &str) -> Module {
    weft_ir::read::read_module(text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// A compiled and loaded function.
pub struct Code {
    pub loaded: LoadedCode,
    pub log: RefCell<Log>,
}

/// What a call gave back.
pub struct Outcome {
    pub status: u32,
    pub results: Vec<u64>,
    pub exc: ExcRecord,
}

impl Code {
    /// Compiles the first function of a module.
    pub fn new(text: &str) -> Code {
        let m = module(text);
        let code = compile_host(&m, &m.entry().name.clone()).unwrap_or_else(|e| panic!("{e}\n{text}"));
        Code { loaded: load(&code.object).unwrap(), log: RefCell::default() }
    }

    /// The same with parallel loops cut into chunks of so many items.
    pub fn chunked(text: &str, chunk: u64) -> Code {
        let code = Code::new(text);
        code.log.borrow_mut().chunk = chunk;
        code
    }

    /// Calls it.
    pub fn call(&self, args: &[u64]) -> Outcome {
        let mut results = vec![u64::MAX; 8];
        let call = (&raw const self.log).cast_mut().cast::<c_void>();
        let mut ctx = CallCtx {
            rt: &TABLE,
            call,
            exc: ExcRecord::default(),
            stack_limit: 0,
            alone: 0,
            signal: no_signal(),
            stopped: 0,
        };
        // SAFETY: the tests pass what their functions take.
        let status = unsafe { self.loaded.entry().unwrap()(&mut ctx, args.as_ptr(), results.as_mut_ptr()) };
        Outcome { status, results, exc: ctx.exc }
    }

    /// Calls it and takes the first result.
    pub fn value(&self, args: &[u64]) -> u64 {
        let out = self.call(args);
        assert_eq!(out.status, 0);
        out.results[0]
    }
}

/// The slot of a pointer.
pub fn ptr<T>(p: &[T]) -> u64 {
    p.as_ptr() as u64
}

/// The slot of a pointer that compiled code writes through.
pub fn ptr_mut<T>(p: &mut [T]) -> u64 {
    p.as_mut_ptr() as u64
}

/// An f64 function of one or two arguments, from its ops (`%x`, `%y` in, `%r` out).
pub fn scalar_fn(dtype: &str, result: &str, ops: &str) -> Code {
    Code::new(&format!("weft 1 stage loops\nfunc @f(%x: {dtype}, %y: {dtype}) -> {result} {{\n{ops}\nreturn(%r)\n}}\n"))
}

/// `out[i] = ops(a[i], b[i])` as a parallel loop.
pub fn elementwise(dtype: &str, ops: &str) -> String {
    format!(
        "weft 1 stage loops
func @f(%a: mem<{dtype}, host>, %b: mem<{dtype}, host>, %o: mem<{dtype}, host>, %n: i64) {{
  par.for(%n) <{{cost=10}}> {{ ^(%i: i64):
    %x = mem.load(%a, %i) <{{unit=\"element\"}}> : {dtype}
    %y = mem.load(%b, %i) <{{unit=\"element\"}}> : {dtype}
    {ops}
    mem.store(%r, %o, %i) <{{unit=\"element\"}}>
    yield()
  }}
  return()
}}
"
    )
}
