//! Arithmetic whose results NumPy or Python defines and no instruction gives: floor division, remainder, shifts, integer
//! powers, checked operations. All but the power's loop is branch-free, so that it vectorises.

use weft_ir::attr::BinOp;
use weft_ir::{DType, MathFn, OpData};

use super::{Lowering, Target, malformed, types};
use crate::error::Result;
use crate::llvm::Value;
use crate::llvm::builder::{Builder, IntIs, Opcode, RealIs};
use crate::llvm::module::Linkage;
use crate::mvec::declare;
use crate::spirv;

impl Lowering<'_, '_> {
    /// A divisor that never traps (`x / 0` and `min / -1` divide by 1), and whether the given one is 0.
    fn safe_divisor(&self, d: DType, x: Value, y: Value) -> (Value, Value) {
        let b = &self.b;
        let ty = b.type_of(y);
        let zero = b.icmp(IntIs::LLVMIntEQ, y, b.zero(ty));
        let mut replace = zero;
        if d.is_signed() {
            let min = b.int(ty, 1 << (types::bits(d) - 1));
            let wraps = b.op(
                Opcode::LLVMAnd,
                b.icmp(IntIs::LLVMIntEQ, x, min),
                b.icmp(IntIs::LLVMIntEQ, y, b.int(ty, u64::MAX)),
            );
            replace = b.op(Opcode::LLVMOr, zero, wraps);
        }
        (b.select(replace, b.int(ty, 1), y), zero)
    }

    /// Whether a truncated division must be corrected: the remainder is not 0 and has the other sign.
    fn rounds_up(&self, remainder: Value, divisor: Value) -> Value {
        let b = &self.b;
        let zero = b.zero(b.type_of(remainder));
        let signs = b.icmp(IntIs::LLVMIntSLT, b.op(Opcode::LLVMXor, remainder, divisor), zero);
        b.op(Opcode::LLVMAnd, signs, b.icmp(IntIs::LLVMIntNE, remainder, zero))
    }

    /// `x // y`: floor; by zero 0; min // -1 is min.
    pub(crate) fn int_floordiv(&self, d: DType, x: Value, y: Value) -> Value {
        let b = &self.b;
        let (divisor, by_zero) = self.safe_divisor(d, x, y);
        let mut q = b.op(if d.is_signed() { Opcode::LLVMSDiv } else { Opcode::LLVMUDiv }, x, divisor);
        if d.is_signed() {
            let up = self.rounds_up(b.op(Opcode::LLVMSRem, x, divisor), divisor);
            q = b.op(Opcode::LLVMAdd, q, b.cast(Opcode::LLVMSExt, up, b.type_of(q)));
        }
        b.select(by_zero, b.zero(b.type_of(q)), q)
    }

    /// `x % y`: the divisor's sign; by zero 0.
    pub(crate) fn int_mod(&self, d: DType, x: Value, y: Value) -> Value {
        let b = &self.b;
        let (divisor, by_zero) = self.safe_divisor(d, x, y);
        let mut r = b.op(if d.is_signed() { Opcode::LLVMSRem } else { Opcode::LLVMURem }, x, divisor);
        if d.is_signed() {
            let up = self.rounds_up(r, divisor);
            r = b.select(up, b.op(Opcode::LLVMAdd, r, divisor), r);
        }
        b.select(by_zero, b.zero(b.type_of(r)), r)
    }

    /// `x << y` and `x >> y`: counts outside the width shift everything out.
    pub(crate) fn shift(&self, left: bool, d: DType, x: Value, count: Value) -> Value {
        let b = &self.b;
        let ty = b.type_of(x);
        let last = b.int(ty, u64::from(types::bits(d)) - 1);
        let inside = b.icmp(IntIs::LLVMIntULE, count, last);
        // Not `select(inside, count, last)`, which LLVM would fold away: its NVPTX backend then takes the pattern for PTX's own
        // clamped shift, whose count is the low 32 bits.
        let safe = b.op(Opcode::LLVMAnd, count, last);
        match (left, d.is_signed()) {
            (true, _) => b.select(inside, b.op(Opcode::LLVMShl, x, safe), b.zero(ty)),
            (false, true) => b.op(Opcode::LLVMAShr, x, b.select(inside, safe, last)),
            (false, false) => b.select(inside, b.op(Opcode::LLVMLShr, x, safe), b.zero(ty)),
        }
    }

    /// C's `fmod`, which is exact: libm natively, libdevice and OpenCL on devices.
    fn fmod(&self, data: &OpData, d: DType, x: Value, y: Value) -> Result<Value> {
        if !matches!(d, DType::F32 | DType::F64) {
            return Err(self.unsupported(data, d));
        }
        Ok(match self.unit.target {
            Target::Native => self.b.op(Opcode::LLVMFRem, x, y),
            Target::Ptx => self.device_call(if d == DType::F32 { "__nv_fmodf" } else { "__nv_fmod" }, d, &[x, y], 0),
            Target::SpirV => {
                self.device_call(if d == DType::F32 { "_Z4fmodff" } else { "_Z4fmoddd" }, d, &[x, y], spirv::FUNCTION)
            }
        })
    }

    /// NumPy's `npy_divmod`: quotient and remainder before the case `y == 0`.
    fn divmod(&self, data: &OpData, d: DType, x: Value, y: Value) -> Result<(Value, Value)> {
        let rem = self.fmod(data, d, x, y)?;
        let b = &self.b;
        let zero = b.zero(b.type_of(x));
        let less = |v| b.fcmp(RealIs::LLVMRealOLT, v, zero);
        let not_zero = |v| b.fcmp(RealIs::LLVMRealUNE, v, zero);
        let div = self.divide(d, b.op(Opcode::LLVMFSub, x, rem), y)?;
        let other_sign = b.op(Opcode::LLVMXor, less(y), less(rem));
        let adjust = b.op(Opcode::LLVMAnd, not_zero(rem), other_sign);
        let one = b.real(b.type_of(x), 1.0);
        let div = b.select(adjust, b.op(Opcode::LLVMFSub, div, one), div);
        let adjusted = b.select(adjust, b.op(Opcode::LLVMFAdd, rem, y), rem);
        let remainder = b.select(not_zero(rem), adjusted, self.intrinsic("llvm.copysign", d, &[zero, y]));
        let floor = self.intrinsic("llvm.floor", d, &[div]);
        let half = b.real(b.type_of(x), 0.5);
        let up = b.fcmp(RealIs::LLVMRealOGT, b.op(Opcode::LLVMFSub, div, floor), half);
        let snapped = b.select(up, b.op(Opcode::LLVMFAdd, floor, one), floor);
        let signed_zero = self.intrinsic("llvm.copysign", d, &[zero, self.divide(d, x, y)?]);
        Ok((b.select(not_zero(div), snapped, signed_zero), remainder))
    }

    /// `np.floor_divide` of floats.
    pub(crate) fn float_floordiv(&self, data: &OpData, d: DType, x: Value, y: Value) -> Result<Value> {
        let (quotient, _) = self.divmod(data, d, x, y)?;
        let by_zero = self.b.fcmp(RealIs::LLVMRealOEQ, y, self.b.zero(self.b.type_of(y)));
        Ok(self.b.select(by_zero, self.divide(d, x, y)?, quotient))
    }

    /// `np.remainder` of floats.
    pub(crate) fn float_mod(&self, data: &OpData, d: DType, x: Value, y: Value) -> Result<Value> {
        let (_, remainder) = self.divmod(data, d, x, y)?;
        let nan = self.fmod(data, d, x, y)?;
        let by_zero = self.b.fcmp(RealIs::LLVMRealOEQ, y, self.b.zero(self.b.type_of(y)));
        Ok(self.b.select(by_zero, nan, remainder))
    }

    /// `x ** y`: the target's routine for floats, squaring with wrap for integers.
    pub(crate) fn power(&self, data: &OpData, d: DType, x: Value, y: Value) -> Result<Value> {
        match d {
            _ if d.is_float() => self.math_call(MathFn::Pow, data, d, &[x, y]),
            DType::Bool => Ok(self.b.op(Opcode::LLVMOr, x, self.b.not(y))),
            _ => Ok(self.int_power(d, x, y)),
        }
    }

    fn int_power(&self, d: DType, x: Value, y: Value) -> Value {
        let module = self.unit.module;
        let ty = self.b.type_of(x);
        let name = format!("weft.ipow.{}", types::bits(d));
        let fresh = module.find(&name).is_none();
        let (f, fty) = declare(module, &name, ty, 2);
        if fresh {
            module.make_internal(f);
            write_int_power(&Builder::new(self.b.context), f, ty);
        }
        let call = self.b.call(fty, f, &[x, y]);
        if self.unit.target == Target::SpirV {
            module.convention(f, spirv::FUNCTION);
            self.b.call_convention(call, spirv::FUNCTION);
        }
        call
    }

    /// `arith.truediv`: a plain division where both are exact doubles, else long division.
    pub(crate) fn true_quotient(&self, x: Value, y: Value) -> Value {
        let (module, cx) = (self.unit.module, self.b.context);
        let (word, double) = (cx.int(64), cx.float(64));
        let name = "weft.truediv";
        let ty = cx.function(double, &[word, word]);
        let f = module.find(name).unwrap_or_else(|| {
            let f = module.function(name, ty, Linkage::Internal);
            write_true_quotient(&Builder::new(cx), f, |b, v| {
                let int1 = cx.int(1);
                let fty = cx.function(word, &[word, int1]);
                let clz = module.function("llvm.ctlz.i64", fty, Linkage::External);
                b.call(fty, clz, &[v, b.int(int1, 0)])
            });
            f
        });
        let call = self.b.call(ty, f, &[x, y]);
        if self.unit.target == Target::SpirV {
            module.convention(f, spirv::FUNCTION);
            self.b.call_convention(call, spirv::FUNCTION);
        }
        call
    }

    /// `arith.checked`: Python's int arithmetic, which raises where the result leaves int64.
    pub(crate) fn checked(&mut self, data: &OpData, op: BinOp, site: u32) -> Result<()> {
        let (x, y) = (self.operand(data, 0)?, self.operand(data, 1)?);
        let d = self.dtype(data.results[0], data.span)?;
        if !d.is_signed() {
            return Err(malformed(format!("`arith.checked` does not take {}", d.name()), data.span));
        }
        let b = &self.b;
        let ty = b.type_of(x);
        match op {
            BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::FloorDiv => {}
            BinOp::Mod => {
                let v = self.int_mod(d, x, y);
                self.define(data, 0, v);
                return Ok(());
            }
            _ => return Err(malformed(format!("`{}` is no checked operator", op.text()), data.span)),
        };
        let (value, overflow) = if op == BinOp::FloorDiv {
            let min = b.int(ty, 1 << (types::bits(d) - 1));
            let is_min = b.icmp(IntIs::LLVMIntEQ, x, min);
            let is_minus_one = b.icmp(IntIs::LLVMIntEQ, y, b.int(ty, u64::MAX));
            (self.int_floordiv(d, x, y), b.op(Opcode::LLVMAnd, is_min, is_minus_one))
        } else if let (BinOp::Add | BinOp::Sub, Some(c)) = (op, self.constant_operand(data.operands[1])) {
            // A comparison with a constant: what a loop's own test says of its counter decides it.
            let (lo, hi) = d.int_bounds().unwrap_or((0, 0));
            let (opcode, up) = if op == BinOp::Add { (Opcode::LLVMAdd, c) } else { (Opcode::LLVMSub, -c) };
            let limit = |n: i128| b.int(ty, n as u64);
            let overflow = match up >= 0 {
                true => b.icmp(IntIs::LLVMIntSGT, x, limit(hi - up)),
                false => b.icmp(IntIs::LLVMIntSLT, x, limit(lo - up)),
            };
            (b.op(opcode, x, y), overflow)
        } else {
            self.with_overflow(op, d, x, y)
        };
        let (raise, next) = (b.block(b.function(), c"overflow"), b.block(b.function(), c"fits"));
        let branch = b.branch(overflow, raise, next);
        if self.unit.target == Target::Native {
            b.annotate(branch, "prof", b.context.branch_weights(false));
        }
        b.at_end(raise);
        self.raise_values(site, &[], data.span)?;
        self.b.at_end(next);
        self.define(data, 0, value);
        Ok(())
    }

    /// Result and overflow of `+`, `-`, `*`.
    pub(crate) fn with_overflow(&self, op: BinOp, d: DType, x: Value, y: Value) -> (Value, Value) {
        if self.unit.target == Target::SpirV {
            return self.overflow_by_hand(op, d, x, y);
        }
        let name = match op {
            BinOp::Add => "sadd",
            BinOp::Sub => "ssub",
            _ => "smul",
        };
        let b = &self.b;
        let ty = b.type_of(x);
        let pair = b.context.structure(&[ty, b.context.int(1)]);
        let fty = b.context.function(pair, &[ty, ty]);
        let name = format!("llvm.{name}.with.overflow.i{}", types::bits(d));
        let both = b.call(fty, self.unit.module.function(&name, fty, Linkage::External), &[x, y]);
        (b.field(both, 0), b.field(both, 1))
    }

    /// Result and overflow of `+`, `-`, `*` from their signs: LLVM's SPIR-V backend has no instruction for it.
    fn overflow_by_hand(&self, op: BinOp, d: DType, x: Value, y: Value) -> (Value, Value) {
        let b = &self.b;
        let ty = b.type_of(x);
        let xor = |p, q| b.op(Opcode::LLVMXor, p, q);
        let negative = |v| b.icmp(IntIs::LLVMIntSLT, v, b.zero(ty));
        match op {
            BinOp::Add => {
                let r = b.op(Opcode::LLVMAdd, x, y);
                (r, negative(b.op(Opcode::LLVMAnd, xor(x, r), xor(y, r))))
            }
            BinOp::Sub => {
                let r = b.op(Opcode::LLVMSub, x, y);
                (r, negative(b.op(Opcode::LLVMAnd, xor(x, y), xor(x, r))))
            }
            _ => {
                let r = b.op(Opcode::LLVMMul, x, y);
                let name = if types::bits(d) == 64 { "_Z6mul_hill" } else { "_Z6mul_hiii" };
                let (f, fty) = declare(self.unit.module, name, ty, 2);
                let high = b.call(fty, f, &[x, y]);
                self.unit.module.convention(f, spirv::FUNCTION);
                b.call_convention(high, spirv::FUNCTION);
                let sign = b.op(Opcode::LLVMAShr, r, b.int(ty, u64::from(types::bits(d)) - 1));
                (r, b.icmp(IntIs::LLVMIntNE, high, sign))
            }
        }
    }

    /// Calls an overloaded intrinsic of one float type (`llvm.floor` → `llvm.floor.f64`).
    pub(crate) fn intrinsic(&self, name: &str, d: DType, args: &[Value]) -> Value {
        let of = self.b.context.float(types::bits(d));
        let ty = self.b.context.function(of, &vec![of; args.len()]);
        let f = self.unit.module.function(&format!("{name}.f{}", types::bits(d)), ty, Linkage::External);
        self.b.call(ty, f, args)
    }

    /// Calls an overloaded intrinsic of one integer type.
    pub(crate) fn integer_intrinsic(&self, name: &str, ty: crate::llvm::Type, args: &[Value]) -> Value {
        let of = self.b.context.function(ty, &vec![ty; args.len()]);
        let f = self.unit.module.function(&format!("{name}.i{}", self.b.context.bits(ty)), of, Linkage::External);
        self.b.call(of, f, args)
    }

    /// Calls a device library's function on floats of one type.
    pub(crate) fn device_call(&self, name: &str, d: DType, args: &[Value], convention: u32) -> Value {
        let of = self.b.context.float(types::bits(d));
        let (f, ty) = declare(self.unit.module, name, of, args.len());
        let call = self.b.call(ty, f, args);
        if convention != 0 {
            self.unit.module.convention(f, convention);
            self.b.call_convention(call, convention);
        }
        call
    }
}

/// The body of `weft.ipow`: squaring; exponents are not negative.
fn write_int_power(b: &Builder, f: Value, ty: crate::llvm::Type) {
    let (entry, step, done) = (b.block(f, c"entry"), b.block(f, c"step"), b.block(f, c"done"));
    let (x, y) = (b.param(f, 0), b.param(f, 1));
    let (zero, one) = (b.zero(ty), b.int(ty, 1));
    b.at_end(entry);
    b.branch(b.icmp(IntIs::LLVMIntEQ, y, zero), done, step);
    b.at_end(step);
    let (base, left, power) = (b.phi(ty), b.phi(ty), b.phi(ty));
    let odd = b.icmp(IntIs::LLVMIntNE, b.op(Opcode::LLVMAnd, left, one), zero);
    let next_power = b.select(odd, b.op(Opcode::LLVMMul, power, base), power);
    let next_base = b.op(Opcode::LLVMMul, base, base);
    let next_left = b.op(Opcode::LLVMLShr, left, one);
    b.incoming(base, &[(x, entry), (next_base, step)]);
    b.incoming(left, &[(y, entry), (next_left, step)]);
    b.incoming(power, &[(one, entry), (next_power, step)]);
    b.branch(b.icmp(IntIs::LLVMIntEQ, next_left, zero), done, step);
    b.at_end(done);
    let result = b.phi(ty);
    b.incoming(result, &[(one, entry), (next_power, step)]);
    b.ret(Some(result));
}

/// The body of `weft.truediv`. Where an operand is beyond 2⁵³: both are shifted up to 64 bits, 64 bits of the quotient are
/// found one by one, the last of them also stands for what is left, and rounding that to 53 bits rounds the quotient.
fn write_true_quotient(b: &Builder, f: Value, leading_zeros: impl Fn(&Builder, Value) -> Value) {
    let (word, double) = (b.context.int(64), b.context.float(64));
    let blocks = [c"entry", c"exact", c"long", c"step", c"done"].map(|name| b.block(f, name));
    let [entry, exact, long, step, done] = blocks;
    let (x, y) = (b.param(f, 0), b.param(f, 1));
    let (zero, one) = (b.i64(0), b.i64(1));
    let op = |opcode, p, q| b.op(opcode, p, q);
    let size = |v| b.select(b.icmp(IntIs::LLVMIntSLT, v, zero), op(Opcode::LLVMSub, zero, v), v);

    b.at_end(entry);
    let (p, q) = (size(x), size(y));
    let limit = b.i64(1 << 53);
    let small = |v| b.icmp(IntIs::LLVMIntULE, v, limit);
    let plain = op(Opcode::LLVMOr, op(Opcode::LLVMAnd, small(p), small(q)), b.icmp(IntIs::LLVMIntEQ, x, zero));
    b.branch(plain, exact, long);

    b.at_end(exact);
    let (dx, dy) = (b.cast(Opcode::LLVMSIToFP, x, double), b.cast(Opcode::LLVMSIToFP, y, double));
    b.ret(Some(op(Opcode::LLVMFDiv, dx, dy)));

    b.at_end(long);
    // The divisor is not 0; `| 1` keeps the shift defined all the same.
    let up_p = leading_zeros(b, op(Opcode::LLVMOr, p, one));
    let up_q = leading_zeros(b, op(Opcode::LLVMOr, q, one));
    let (top, divisor) = (op(Opcode::LLVMShl, p, up_p), op(Opcode::LLVMShl, q, up_q));
    let fits = b.icmp(IntIs::LLVMIntUGE, top, divisor);
    let first = b.cast(Opcode::LLVMZExt, fits, word);
    let rest = b.select(fits, op(Opcode::LLVMSub, top, divisor), top);
    b.jump(step);

    b.at_end(step);
    let (k, quotient, left) = (b.phi(word), b.phi(word), b.phi(word));
    let carry = b.icmp(IntIs::LLVMIntSLT, left, zero);
    let twice = op(Opcode::LLVMShl, left, one);
    let goes = op(Opcode::LLVMOr, carry, b.icmp(IntIs::LLVMIntUGE, twice, divisor));
    let next_left = b.select(goes, op(Opcode::LLVMSub, twice, divisor), twice);
    let bit = b.cast(Opcode::LLVMZExt, goes, word);
    let next_quotient = op(Opcode::LLVMOr, op(Opcode::LLVMShl, quotient, one), bit);
    let next_k = op(Opcode::LLVMAdd, k, one);
    b.incoming(k, &[(zero, long), (next_k, step)]);
    b.incoming(quotient, &[(first, long), (next_quotient, step)]);
    b.incoming(left, &[(rest, long), (next_left, step)]);
    b.branch(b.icmp(IntIs::LLVMIntULT, next_k, b.i64(63)), step, done);

    b.at_end(done);
    let inexact = b.cast(Opcode::LLVMZExt, b.icmp(IntIs::LLVMIntNE, next_left, zero), word);
    let rounded = b.cast(Opcode::LLVMUIToFP, op(Opcode::LLVMOr, next_quotient, inexact), double);
    // The power of two, by its exponent's bits.
    let exponent = op(Opcode::LLVMAdd, op(Opcode::LLVMSub, up_q, up_p), b.i64(1023 - 63));
    let scale = b.cast(Opcode::LLVMBitCast, op(Opcode::LLVMShl, exponent, b.i64(52)), double);
    let result = op(Opcode::LLVMFMul, rounded, scale);
    let negative = b.icmp(IntIs::LLVMIntSLT, op(Opcode::LLVMXor, x, y), zero);
    b.ret(Some(b.select(negative, b.fneg(result), result)));
}
