//! `math.*`: C's functions, which are also what the exact forms are compiled to.

use weft_ir::MathFn;

/// A float that C computes functions of.
pub(crate) trait Math: Sized {
    /// The function of these arguments, as many as it takes.
    fn call(function: MathFn, args: &[Self]) -> Self;
}

mod c {
    unsafe extern "C" {
        pub(super) safe fn erf(x: f64) -> f64;
        pub(super) safe fn erff(x: f32) -> f32;
        pub(super) safe fn erfc(x: f64) -> f64;
        pub(super) safe fn erfcf(x: f32) -> f32;
        pub(super) safe fn tgamma(x: f64) -> f64;
        pub(super) safe fn tgammaf(x: f32) -> f32;
        pub(super) safe fn lgamma(x: f64) -> f64;
        pub(super) safe fn lgammaf(x: f32) -> f32;
        pub(super) safe fn remainder(x: f64, y: f64) -> f64;
        pub(super) safe fn remainderf(x: f32, y: f32) -> f32;
        pub(super) safe fn asinh(x: f64) -> f64;
        pub(super) safe fn asinhf(x: f32) -> f32;
        pub(super) safe fn acosh(x: f64) -> f64;
        pub(super) safe fn acoshf(x: f32) -> f32;
        pub(super) safe fn atanh(x: f64) -> f64;
        pub(super) safe fn atanhf(x: f32) -> f32;
    }
}

macro_rules! math {
    ($ty:ident, $erf:ident, $erfc:ident, $tgamma:ident, $lgamma:ident, $remainder:ident, $asinh:ident, $acosh:ident, $atanh:ident) => {
        impl Math for $ty {
            fn call(function: MathFn, args: &[$ty]) -> $ty {
                use MathFn::*;
                let x = args.first().copied().unwrap_or($ty::NAN);
                let y = args.get(1).copied().unwrap_or($ty::NAN);
                match function {
                    Sin => x.sin(),
                    Cos => x.cos(),
                    Tan => x.tan(),
                    Asin => x.asin(),
                    Acos => x.acos(),
                    Atan => x.atan(),
                    Atan2 => x.atan2(y),
                    Sinh => x.sinh(),
                    Cosh => x.cosh(),
                    Tanh => x.tanh(),
                    // Rust's own forms of these are not C's.
                    Asinh => c::$asinh(x),
                    Acosh => c::$acosh(x),
                    Atanh => c::$atanh(x),
                    Exp => x.exp(),
                    Exp2 => x.exp2(),
                    Expm1 => x.exp_m1(),
                    Log => x.ln(),
                    Log2 => x.log2(),
                    Log10 => x.log10(),
                    Log1p => x.ln_1p(),
                    Pow => x.powf(y),
                    Cbrt => x.cbrt(),
                    Hypot => x.hypot(y),
                    Erf => c::$erf(x),
                    Erfc => c::$erfc(x),
                    Sqrt => x.sqrt(),
                    Floor => x.floor(),
                    Ceil => x.ceil(),
                    Trunc => x.trunc(),
                    Rint => x.round_ties_even(),
                    Copysign => x.copysign(y),
                    Fmod => x % y,
                    Remainder => c::$remainder(x, y),
                    Gamma => c::$tgamma(x),
                    Lgamma => c::$lgamma(x),
                }
            }
        }
    };
}

math!(f32, erff, erfcf, tgammaf, lgammaf, remainderf, asinhf, acoshf, atanhf);
math!(f64, erf, erfc, tgamma, lgamma, remainder, asinh, acosh, atanh);
