//! Writing instructions. One method per instruction that lowering uses; names of values are left to LLVM.

use std::ffi::CStr;

use llvm_sys::LLVMAtomicOrdering;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use super::context::Context;
use super::{Block, Metadata, Type, Value};

pub(crate) use llvm_sys::LLVMAtomicRMWBinOp as Rmw;
pub(crate) use llvm_sys::LLVMIntPredicate as IntIs;
pub(crate) use llvm_sys::LLVMOpcode as Opcode;
pub(crate) use llvm_sys::LLVMRealPredicate as RealIs;

const NO_NAME: &CStr = c"";

/// An insertion point.
pub(crate) struct Builder<'c> {
    raw: LLVMBuilderRef,
    pub(crate) context: &'c Context,
}

impl<'c> Builder<'c> {
    /// A builder that points nowhere yet.
    pub(crate) fn new(context: &'c Context) -> Builder<'c> {
        // SAFETY: the context outlives the builder by the lifetime.
        Builder { raw: unsafe { LLVMCreateBuilderInContext(context.raw) }, context }
    }

    // --- blocks ---

    /// Adds a block at the end of a function.
    pub(crate) fn block(&self, f: Value, name: &CStr) -> Block {
        // SAFETY: `f` is a function of the current module.
        Block(unsafe { LLVMAppendBasicBlockInContext(self.context.raw, f.0, name.as_ptr()) })
    }

    /// Writes at the end of a block from now on.
    pub(crate) fn at_end(&self, block: Block) {
        // SAFETY: the block is of the current module.
        unsafe { LLVMPositionBuilderAtEnd(self.raw, block.0) }
    }

    /// Writes at the start of a function's entry block, before whatever is there.
    pub(crate) fn at_entry_start(&self, f: Value) {
        // SAFETY: `f` has an entry block.
        unsafe {
            let entry = LLVMGetEntryBasicBlock(f.0);
            match LLVMGetFirstInstruction(entry) {
                first if first.is_null() => LLVMPositionBuilderAtEnd(self.raw, entry),
                first => LLVMPositionBuilderBefore(self.raw, first),
            }
        }
    }

    /// The block being written.
    pub(crate) fn here(&self) -> Block {
        // SAFETY: the builder points somewhere.
        Block(unsafe { LLVMGetInsertBlock(self.raw) })
    }

    /// The function being written.
    pub(crate) fn function(&self) -> Value {
        // SAFETY: as above.
        Value(unsafe { LLVMGetBasicBlockParent(self.here().0) })
    }

    // --- constants ---

    /// An integer, by its low bits.
    pub(crate) fn int(&self, ty: Type, value: u64) -> Value {
        // SAFETY: `ty` is an integer type.
        Value(unsafe { LLVMConstInt(ty.0, value, 0) })
    }

    /// Whether a value is the same wherever it is used.
    pub(crate) fn is_constant(&self, v: Value) -> bool {
        // SAFETY: a value of this context.
        unsafe { LLVMIsConstant(v.0) != 0 }
    }

    /// `i64`.
    pub(crate) fn i64(&self, value: u64) -> Value {
        self.int(self.context.int(64), value)
    }

    /// `i32`.
    pub(crate) fn i32(&self, value: u32) -> Value {
        self.int(self.context.int(32), value.into())
    }

    /// A float, by value (exact for f32 constants that came from f32).
    pub(crate) fn real(&self, ty: Type, value: f64) -> Value {
        // SAFETY: `ty` is a float type.
        Value(unsafe { LLVMConstReal(ty.0, value) })
    }

    /// A float, by its bits.
    pub(crate) fn real_bits(&self, ty: Type, bits: u32, value: u64) -> Value {
        // SAFETY: a constant of the same width.
        Value(unsafe { LLVMConstBitCast(self.int(self.context.int(bits), value).0, ty.0) })
    }

    /// Zero of any type.
    pub(crate) fn zero(&self, ty: Type) -> Value {
        // SAFETY: `ty` is sized.
        Value(unsafe { LLVMConstNull(ty.0) })
    }

    /// `poison` of a type.
    pub(crate) fn poison(&self, ty: Type) -> Value {
        // SAFETY: `ty` is sized.
        Value(unsafe { LLVMGetPoison(ty.0) })
    }

    /// The type of a value.
    pub(crate) fn type_of(&self, v: Value) -> Type {
        // SAFETY: the value is alive.
        Type(unsafe { LLVMTypeOf(v.0) })
    }

    /// Parameter `i` of a function.
    pub(crate) fn param(&self, f: Value, i: u32) -> Value {
        // SAFETY: the caller declared that many.
        Value(unsafe { LLVMGetParam(f.0, i) })
    }

    // --- arithmetic ---

    /// A two-operand instruction.
    pub(crate) fn op(&self, opcode: Opcode, a: Value, b: Value) -> Value {
        // SAFETY: both operands have one type that the instruction takes; LLVM's verifier checks it.
        Value(unsafe { LLVMBuildBinOp(self.raw, opcode, a.0, b.0, NO_NAME.as_ptr()) })
    }

    /// Integer addition that does not wrap (signed): for loop counters and offsets below 2⁴⁸.
    pub(crate) fn add_nsw(&self, a: Value, b: Value) -> Value {
        // SAFETY: integers of one type.
        Value(unsafe { LLVMBuildNSWAdd(self.raw, a.0, b.0, NO_NAME.as_ptr()) })
    }

    /// Float negation.
    pub(crate) fn fneg(&self, a: Value) -> Value {
        // SAFETY: a float.
        Value(unsafe { LLVMBuildFNeg(self.raw, a.0, NO_NAME.as_ptr()) })
    }

    /// Bitwise not.
    pub(crate) fn not(&self, a: Value) -> Value {
        // SAFETY: an integer.
        Value(unsafe { LLVMBuildNot(self.raw, a.0, NO_NAME.as_ptr()) })
    }

    /// A conversion.
    pub(crate) fn cast(&self, opcode: Opcode, a: Value, to: Type) -> Value {
        // SAFETY: the verifier checks the pair of types.
        Value(unsafe { LLVMBuildCast(self.raw, opcode, a.0, to.0, NO_NAME.as_ptr()) })
    }

    /// Integer comparison.
    pub(crate) fn icmp(&self, is: IntIs, a: Value, b: Value) -> Value {
        // SAFETY: integers or pointers of one type.
        Value(unsafe { LLVMBuildICmp(self.raw, is, a.0, b.0, NO_NAME.as_ptr()) })
    }

    /// Float comparison.
    pub(crate) fn fcmp(&self, is: RealIs, a: Value, b: Value) -> Value {
        // SAFETY: floats of one type.
        Value(unsafe { LLVMBuildFCmp(self.raw, is, a.0, b.0, NO_NAME.as_ptr()) })
    }

    /// `c ? a : b`.
    pub(crate) fn select(&self, c: Value, a: Value, b: Value) -> Value {
        // SAFETY: `c` is i1, the others have one type.
        Value(unsafe { LLVMBuildSelect(self.raw, c.0, a.0, b.0, NO_NAME.as_ptr()) })
    }

    // --- vectors and structs ---

    /// All lanes equal to a scalar.
    pub(crate) fn splat(&self, a: Value, lanes: u32) -> Value {
        let one = self.context.vector(self.type_of(a), 1);
        // SAFETY: lane 0 of a one-lane vector of `a`'s type.
        let one = Value(unsafe {
            LLVMBuildInsertElement(self.raw, self.poison(one).0, a.0, self.i32(0).0, NO_NAME.as_ptr())
        });
        self.shuffle(one, std::iter::repeat_n(0, lanes as usize))
    }

    /// The lanes of a vector in another order or number.
    pub(crate) fn shuffle(&self, v: Value, lanes: impl Iterator<Item = u32>) -> Value {
        let mut mask: Vec<LLVMValueRef> = lanes.map(|l| self.i32(l).0).collect();
        // SAFETY: a vector, and a constant mask of its lanes.
        Value(unsafe {
            let mask = LLVMConstVector(mask.as_mut_ptr(), mask.len() as u32);
            LLVMBuildShuffleVector(self.raw, v.0, self.poison(self.type_of(v)).0, mask, NO_NAME.as_ptr())
        })
    }

    /// Lane 0.
    pub(crate) fn lane0(&self, v: Value) -> Value {
        self.lane(v, 0)
    }

    /// A lane of a vector.
    pub(crate) fn lane(&self, v: Value, k: u32) -> Value {
        // SAFETY: a vector of more than `k` lanes.
        Value(unsafe { LLVMBuildExtractElement(self.raw, v.0, self.i32(k).0, NO_NAME.as_ptr()) })
    }

    /// A vector with another lane `k`.
    pub(crate) fn with_lane(&self, v: Value, a: Value, k: u32) -> Value {
        // SAFETY: a vector of more than `k` lanes of `a`'s type.
        Value(unsafe { LLVMBuildInsertElement(self.raw, v.0, a.0, self.i32(k).0, NO_NAME.as_ptr()) })
    }

    /// Field `i` of a struct value.
    pub(crate) fn field(&self, v: Value, i: u32) -> Value {
        // SAFETY: a struct with that many fields.
        Value(unsafe { LLVMBuildExtractValue(self.raw, v.0, i, NO_NAME.as_ptr()) })
    }

    /// A struct value with another field `i`.
    pub(crate) fn with_field(&self, v: Value, a: Value, i: u32) -> Value {
        // SAFETY: a struct whose field `i` has `a`'s type.
        Value(unsafe { LLVMBuildInsertValue(self.raw, v.0, a.0, i, NO_NAME.as_ptr()) })
    }

    /// A constant struct of two constants.
    pub(crate) fn constant_pair(&self, a: Value, b: Value) -> Value {
        let mut both = [a.0, b.0];
        // SAFETY: constants of this context; LLVM copies the list.
        Value(unsafe { LLVMConstStructInContext(self.context.raw, both.as_mut_ptr(), 2, 0) })
    }

    // --- memory ---

    /// Stack memory in the function's entry block.
    pub(crate) fn stack(&self, ty: Type, align: u32) -> Value {
        let here = self.here();
        self.at_entry_start(self.function());
        // SAFETY: the builder points at the entry block; afterwards it points where it did.
        let v = unsafe {
            let v = LLVMBuildAlloca(self.raw, ty.0, NO_NAME.as_ptr());
            LLVMSetAlignment(v, align);
            v
        };
        self.at_end(here);
        Value(v)
    }

    /// `p + i * sizeof(ty)`, inside one object.
    pub(crate) fn element(&self, ty: Type, p: Value, i: Value) -> Value {
        let mut index = i.0;
        // SAFETY: `p` is a pointer, `i` an integer.
        Value(unsafe { LLVMBuildInBoundsGEP2(self.raw, ty.0, p.0, &mut index, 1, NO_NAME.as_ptr()) })
    }

    /// `p + n` bytes.
    pub(crate) fn bytes_past(&self, p: Value, n: u64) -> Value {
        self.element(self.context.int(8), p, self.i64(n))
    }

    /// A load.
    pub(crate) fn load(&self, ty: Type, p: Value, align: u32) -> Value {
        // SAFETY: `p` is a pointer.
        Value(unsafe {
            let v = LLVMBuildLoad2(self.raw, ty.0, p.0, NO_NAME.as_ptr());
            LLVMSetAlignment(v, align);
            v
        })
    }

    /// A load that is done each time, of what another thread may change. Loads around it may be moved past it.
    pub(crate) fn load_again(&self, ty: Type, p: Value, align: u32) -> Value {
        let v = self.load(ty, p, align);
        // SAFETY: a load.
        unsafe { LLVMSetVolatile(v.0, 1) };
        v
    }

    /// A store.
    pub(crate) fn store(&self, value: Value, p: Value, align: u32) -> Value {
        // SAFETY: `p` is a pointer.
        Value(unsafe {
            let v = LLVMBuildStore(self.raw, value.0, p.0);
            LLVMSetAlignment(v, align);
            v
        })
    }

    /// A relaxed atomic update visible to the whole device and the host; gives the old value.
    pub(crate) fn atomic(&self, op: Rmw, p: Value, value: Value) -> Value {
        // SAFETY: `p` points to a naturally aligned integer of the value's type.
        Value(unsafe {
            LLVMBuildAtomicRMW(self.raw, op, p.0, value.0, LLVMAtomicOrdering::LLVMAtomicOrderingMonotonic, 0)
        })
    }

    /// An atomic update in one order with all others; gives the old value.
    pub(crate) fn ordered_atomic(&self, op: Rmw, p: Value, value: Value) -> Value {
        let order = LLVMAtomicOrdering::LLVMAtomicOrderingSequentiallyConsistent;
        // SAFETY: `p` points to a number of the value's type.
        Value(unsafe { LLVMBuildAtomicRMW(self.raw, op, p.0, value.0, order, 0) })
    }

    /// Writes `new` if the integer behind `p` is `expected`, in one order with all other updates; gives the old value.
    pub(crate) fn compare_and_swap(&self, p: Value, expected: Value, new: Value) -> Value {
        let order = LLVMAtomicOrdering::LLVMAtomicOrderingSequentiallyConsistent;
        // SAFETY: `p` points to an integer of the values' type; the result is the old value and whether it was swapped.
        Value(unsafe {
            let both = LLVMBuildAtomicCmpXchg(self.raw, p.0, expected.0, new.0, order, order, 0);
            LLVMBuildExtractValue(self.raw, both, 0, NO_NAME.as_ptr())
        })
    }

    /// Attaches metadata to an instruction.
    pub(crate) fn annotate(&self, instruction: Value, kind: &str, node: Metadata) {
        // SAFETY: the instruction is of the current module, the node of the current context.
        unsafe {
            let id = LLVMGetMDKindIDInContext(self.context.raw, kind.as_ptr().cast(), kind.len() as u32);
            LLVMSetMetadata(instruction.0, id, LLVMMetadataAsValue(self.context.raw, node.0));
        }
    }

    // --- control ---

    /// A call. `ty` is the function type.
    pub(crate) fn call(&self, ty: Type, f: Value, args: &[Value]) -> Value {
        let mut raw: Vec<LLVMValueRef> = args.iter().map(|v| v.0).collect();
        // SAFETY: the arguments fit the type; the verifier checks it.
        Value(unsafe { LLVMBuildCall2(self.raw, ty.0, f.0, raw.as_mut_ptr(), raw.len() as u32, NO_NAME.as_ptr()) })
    }

    /// Sets the calling convention of a call.
    pub(crate) fn call_convention(&self, call: Value, cc: u32) {
        // SAFETY: a call instruction.
        unsafe { LLVMSetInstructionCallConv(call.0, cc) }
    }

    /// Says of a call that it touches only memory that nothing else in the module can, and returns.
    pub(crate) fn touches_nothing_here(&self, call: Value) {
        // Two bits for each kind of memory, of which the second is the one meant: it may be read and written.
        const INACCESSIBLE: u64 = 3 << 2;
        for (name, number) in [("memory", INACCESSIBLE), ("nounwind", 0), ("willreturn", 0)] {
            // SAFETY: a call instruction; the names are LLVM's own.
            unsafe {
                let kind = LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len());
                let attribute = LLVMCreateEnumAttribute(self.context.raw, kind, number);
                LLVMAddCallSiteAttribute(call.0, u32::MAX, attribute);
            }
        }
    }

    /// Sets a string attribute on a call.
    pub(crate) fn call_attribute(&self, call: Value, key: &str, value: &str) {
        // SAFETY: a call instruction.
        unsafe { LLVMAddCallSiteAttribute(call.0, u32::MAX, self.context.text_attribute(key, value)) }
    }

    /// An unconditional jump.
    pub(crate) fn jump(&self, to: Block) -> Value {
        // SAFETY: a block of this function.
        Value(unsafe { LLVMBuildBr(self.raw, to.0) })
    }

    /// A conditional jump.
    pub(crate) fn branch(&self, c: Value, yes: Block, no: Block) -> Value {
        // SAFETY: `c` is i1, blocks of this function.
        Value(unsafe { LLVMBuildCondBr(self.raw, c.0, yes.0, no.0) })
    }

    /// `ret`.
    pub(crate) fn ret(&self, v: Option<Value>) {
        // SAFETY: fits the function's type.
        unsafe {
            match v {
                Some(v) => LLVMBuildRet(self.raw, v.0),
                None => LLVMBuildRetVoid(self.raw),
            };
        }
    }

    /// `unreachable`.
    pub(crate) fn unreachable(&self) {
        // SAFETY: closes the block.
        unsafe {
            LLVMBuildUnreachable(self.raw);
        }
    }

    /// A phi whose inputs come later.
    pub(crate) fn phi(&self, ty: Type) -> Value {
        // SAFETY: the builder is at the start of a block.
        Value(unsafe { LLVMBuildPhi(self.raw, ty.0, NO_NAME.as_ptr()) })
    }

    /// Adds inputs to a phi.
    pub(crate) fn incoming(&self, phi: Value, from: &[(Value, Block)]) {
        let mut values: Vec<LLVMValueRef> = from.iter().map(|(v, _)| v.0).collect();
        let mut blocks: Vec<LLVMBasicBlockRef> = from.iter().map(|(_, b)| b.0).collect();
        // SAFETY: lists of equal length, copied.
        unsafe { LLVMAddIncoming(phi.0, values.as_mut_ptr(), blocks.as_mut_ptr(), from.len() as u32) }
    }
}

impl Drop for Builder<'_> {
    fn drop(&mut self) {
        // SAFETY: ours.
        unsafe { LLVMDisposeBuilder(self.raw) }
    }
}
