//! Functions that compiled code calls by name and no library has.

use weft_ir::DType;

use crate::abi::CallCtx;

/// A complex number as C passes it: c128 in two registers, c64 packed in one.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Complex<T> {
    re: T,
    im: T,
}

unsafe extern "C" {
    fn cpow(a: Complex<f64>, b: Complex<f64>) -> Complex<f64>;
    fn cpowf(a: Complex<f32>, b: Complex<f32>) -> Complex<f32>;
    fn sincos(x: f64, sin: *mut f64, cos: *mut f64);
}

/// The address of a helper.
pub(crate) fn address(name: &str) -> Option<u64> {
    Some(match name {
        "weft_ends" => ends as *const () as u64,
        "weft_copy" => crate::copy::copy as *const () as u64,
        "weft_reduce" => crate::reduce::reduce as *const () as u64,
        "weft_scan" => crate::scan::scan as *const () as u64,
        "weft_count" => crate::masks::count as *const () as u64,
        "weft_compress" => crate::masks::compress as *const () as u64,
        "weft_matmul" => crate::matmul::matmul as *const () as u64,
        "weft_both_sides" => crate::both_sides::both_sides as *const () as u64,
        "weft_cholesky" => crate::linalg::cholesky_in_place as *const () as u64,
        "weft_solve" => crate::linalg::solve_in_place as *const () as u64,
        "weft_is_far" => crate::stream::is_far as *const () as u64,
        "weft_stream" => crate::stream::stream as *const () as u64,
        "weft_streamed" => crate::stream::streamed as *const () as u64,
        "weft_sincos" => sin_and_cos as *const () as u64,
        "weft_cpow" => power_c128 as *const () as u64,
        "weft_cpowf" => power_c64 as *const () as u64,
        // Where the processor has no instructions for halves.
        "__extendhfsf2" => half_to_single as *const () as u64,
        "__truncsfhf2" => single_to_half as *const () as u64,
        _ => return dot(name),
    })
}

/// What the routine is called that sums the products of vectors of a dtype.
pub(crate) fn dot_name(dtype: DType) -> String {
    format!("weft_dot_{}", dtype.name())
}

fn dot(name: &str) -> Option<u64> {
    let dtype = DType::ALL.iter().find(|d| name.strip_prefix("weft_dot_") == Some(d.name()))?;
    Some(crate::matvec::dot(*dtype)? as *const () as u64)
}

/// Whether the call is to end: after compiled code has seen that a signal came.
extern "C" fn ends(ctx: *mut CallCtx) -> u32 {
    // SAFETY: compiled code passes its context.
    unsafe { CallCtx::ends(ctx) }.into()
}

/// Both in the time of one and a bit, with the bits of each.
extern "C" fn sin_and_cos(x: f64) -> Complex<f64> {
    let (mut sin, mut cos) = (0.0, 0.0);
    // SAFETY: a function of libm that writes its two results.
    unsafe { sincos(x, &raw mut sin, &raw mut cos) };
    Complex { re: sin, im: cos }
}

/// A half travels in the low bits of a vector register, as a float does.
extern "C" fn half_to_single(half: f32) -> f32 {
    weft_ir::half::from_bits(half.to_bits() as u16) as f32
}

extern "C" fn single_to_half(v: f32) -> f32 {
    f32::from_bits(weft_ir::half::to_bits(v.into()).into())
}

macro_rules! powers {
    ($($name:ident $ty:ident $libm:ident;)*) => {$(
        /// NumPy's power: small whole exponents by multiplication, everything else by libm.
        extern "C" fn $name(a: Complex<$ty>, b: Complex<$ty>) -> Complex<$ty> {
            type Z = Complex<$ty>;
            let times = |x: Z, y: Z| Z { re: x.re * y.re - x.im * y.im, im: x.re * y.im + x.im * y.re };
            let one = Z { re: 1.0, im: 0.0 };
            if b.re == 0.0 && b.im == 0.0 {
                return one;
            }
            if a.re == 0.0 && a.im == 0.0 {
                let v = if b.re > 0.0 { 0.0 } else { $ty::NAN };
                return Z { re: v, im: v };
            }
            let whole = b.im == 0.0 && b.re.abs() < 100.0 && b.re.fract() == 0.0;
            if !whole {
                // SAFETY: a pure function of libm.
                return unsafe { $libm(a, b) };
            }
            let n = b.re.abs() as u32;
            let power = match b.re as i32 {
                1 => a,
                2 => times(a, a),
                3 => times(a, times(a, a)),
                _ => {
                    let (mut product, mut square, mut left) = (one, a, n);
                    loop {
                        if left & 1 == 1 {
                            product = times(product, square);
                        }
                        left >>= 1;
                        if left == 0 {
                            break product;
                        }
                        square = times(square, square);
                    }
                }
            };
            if b.re > 0.0 {
                return power;
            }
            // Smith's method, with 1 above.
            let (x, y) = (power.re, power.im);
            if x.abs() >= y.abs() {
                let ratio = y / x;
                let scale = 1.0 / (x + y * ratio);
                return Z { re: (1.0 + 0.0 * ratio) * scale, im: (0.0 - ratio) * scale };
            }
            let ratio = x / y;
            let scale = 1.0 / (y + x * ratio);
            Z { re: (ratio + 0.0) * scale, im: (0.0 * ratio - 1.0) * scale }
        }
    )*};
}

powers! {
    power_c128 f64 cpow;
    power_c64 f32 cpowf;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_whole_powers_are_products() {
        let z = |re: f64, im: f64| Complex { re, im };
        assert_eq!(power_c128(z(1.0, 2.0), z(2.0, 0.0)), z(-3.0, 4.0));
        assert_eq!(power_c128(z(0.0, 1.0), z(7.0, 0.0)), z(0.0, -1.0));
        let short = |re, im| Complex { re, im };
        assert_eq!(power_c64(short(0.0, 2.0), short(-2.0, 0.0)), short(-0.25, 0.0));
        assert_eq!(power_c128(z(0.0, 0.0), z(3.0, 0.0)), z(0.0, 0.0));
        assert_eq!(power_c128(z(5.0, 0.0), z(0.0, 0.0)), z(1.0, 0.0));
    }

    #[test]
    fn halves_travel_as_bits() {
        assert_eq!(half_to_single(single_to_half(1.5)), 1.5);
        assert_eq!(single_to_half(65520.0).to_bits(), 0x7c00);
    }
}
