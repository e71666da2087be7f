//! Arguments for any function, from a seed.

use crate::rng::Rng;
use weft_interp::array::strides_of;
use weft_interp::{Array, Memory, Scalar, Value};
use weft_ir::{DType, Dim, Layout, Module, Op, TensorType, Type};

/// Which numbers there are among the arguments.
#[derive(Clone, Copy, PartialEq, Eq)]
#[allow(dead_code, reason = "each of the tests that share this file has its own use")]
pub enum Numbers {
    /// Any, often such where arithmetic is interesting.
    Any,
    /// Integers so small that sums and products of floats are exact, in whatever order.
    Small,
}

/// Sizes of the symbols. None is 1, which types would say; none is 0 where an element is read.
pub fn sizes(m: &Module, seed: u64) -> [i64; 3] {
    let mut rng = Rng::new(seed ^ 0x73697a65);
    let mut elements = false;
    m.entry().walk(&mut |op| elements |= matches!(m.entry().op(op).op, Op::NtLoad { .. } | Op::NtStore { .. }));
    let may_be_empty = !elements || m.entry().kernel;
    let mut size = |from: &[i64]| if rng.chance(5) && may_be_empty { 0 } else { rng.pick(from) };
    let (first, second, third) = (size(&[2, 3, 7, 17, 35]), size(&[2, 3, 9]), size(&[2, 3, 7]));
    [first, second, if rng.chance(80) { first } else { third }]
}

/// Fresh arguments for the entry: the same for the same types and seed.
pub fn arguments(m: &Module, seed: u64, numbers: Numbers) -> Vec<Value> {
    let f = m.entry();
    let sizes = sizes(m, seed);
    let one = |(i, ty): (usize, &Type)| {
        let mut rng = Rng::new(seed.wrapping_mul(31).wrapping_add(i as u64));
        match ty {
            Type::Tensor(t) => Value::Array(array(t, &sizes, numbers, &mut rng)),
            ty => Value::Scalar(number(
                ty.scalar_dtype().expect("a parameter is an array or a scalar"),
                numbers,
                &mut rng,
            )),
        }
    };
    f.params().iter().map(|&v| f.ty(v)).enumerate().map(one).collect()
}

fn array(t: &TensorType, sizes: &[i64], numbers: Numbers, rng: &mut Rng) -> Array {
    let size = |d: &Dim| match *d {
        Dim::Const(n) => n as i64,
        Dim::Sym(k) => sizes[k as usize % sizes.len()],
    };
    let shape: Vec<i64> = t.dims.iter().map(size).collect();
    // Any strides: every second element, in either order, from either end.
    let any = t.layout == Layout::A;
    let (gap, backwards) = if any { (1 + rng.below(2) as i64, rng.chance(40)) } else { (1, false) };
    let order = if any { rng.pick(&[Layout::C, Layout::F]) } else { t.layout };
    let sign = if backwards { -gap } else { gap };
    let strides = strides_of(&shape, t.dtype, order).iter().map(|s| s * sign).collect();
    let (bytes, count) = (t.dtype.size() as i64, shape.iter().product::<i64>() * gap);
    let memory = Memory::borrowed(vec![0; (count * bytes) as usize]);
    for i in 0..count {
        memory.store(i * bytes, number(t.dtype, numbers, rng)).expect("inside the block");
    }
    let offset = if backwards { (count - gap).max(0) * bytes } else { 0 };
    Array { memory, offset, dtype: t.dtype, shape, strides }
}

/// A number, often one where arithmetic is interesting.
fn number(dtype: DType, numbers: Numbers, rng: &mut Rng) -> Scalar {
    let small = rng.below(23) as i64 - 11;
    let odd = rng.chance(35) && numbers == Numbers::Any;
    let wide = match dtype {
        d if d.is_complex() => {
            let part = d.part().expect("complex");
            return weft_interp::scalar::binary(&Op::Complex, number(part, numbers, rng), number(part, numbers, rng))
                .expect("two parts");
        }
        DType::F16 | DType::F32 | DType::F64 if odd => {
            let values =
                [0.0, -0.0, 0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e300, -1e-310, 2147483648.0, 1e19];
            Scalar::F64(rng.pick(&values))
        }
        DType::F16 | DType::F32 | DType::F64 if numbers == Numbers::Any && rng.chance(40) => {
            Scalar::F64(rng.bits() as f64 / 1e12 - 2000.0)
        }
        DType::F16 | DType::F32 | DType::F64 if numbers == Numbers::Any => Scalar::F64(small as f64 / 2.0),
        DType::F16 | DType::F32 | DType::F64 => Scalar::F64(small as f64),
        DType::Bool => Scalar::Bool(small > 0),
        _ if odd => {
            let (lo, hi) = dtype.int_bounds().expect("an integer dtype");
            Scalar::Int(dtype, rng.pick(&[lo, hi, lo + 1, 31, 32, 63, 64, (1 << 30).min(hi)]))
        }
        _ => Scalar::Int(DType::I64, small.into()),
    };
    wide.cast(dtype).expect("a dtype that the interpreter has")
}
