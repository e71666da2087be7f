//! The functions of floats that `math.*` ops call, by C's names.

use crate::attr::Attr;
use crate::read::{ReadError, Reader};

/// Whether this machine multiplies and adds in one step, so that NumPy does where it multiplies complex arrays.
pub fn fuses_products() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma");
    #[cfg(not(target_arch = "x86_64"))]
    cfg!(target_arch = "aarch64")
}

macro_rules! functions {
    ($($variant:ident $name:literal $arity:literal $by:ident,)*) => {
        /// A function of floats.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs)]
        pub enum MathFn { $($variant),* }

        impl MathFn {
            /// Every function.
            pub const ALL: &'static [MathFn] = &[$(MathFn::$variant),*];

            /// C's name of the f64 function.
            pub fn name(self) -> &'static str {
                match self { $(MathFn::$variant => $name),* }
            }

            /// Number of arguments.
            pub fn arity(self) -> usize {
                match self { $(MathFn::$variant => $arity),* }
            }

            /// How machines compute it.
            pub fn by(self) -> By {
                match self { $(MathFn::$variant => By::$by),* }
            }

            /// Name of the op that calls it.
            pub(crate) fn op_name(self, exact: bool) -> &'static str {
                match (self, exact) { $(
                    (MathFn::$variant, false) => concat!("math.", $name),
                    (MathFn::$variant, true) => concat!("math.libm.", $name),
                )* }
            }
        }
    };
}

/// How machines compute a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// By a routine that exists for vectors.
    Vector,
    /// By an instruction, or as good as one: exact everywhere.
    Instruction,
    /// By a routine for one value.
    Scalar,
}

functions! {
    Sin "sin" 1 Vector, Cos "cos" 1 Vector, Tan "tan" 1 Vector,
    Asin "asin" 1 Vector, Acos "acos" 1 Vector, Atan "atan" 1 Vector, Atan2 "atan2" 2 Vector,
    Sinh "sinh" 1 Vector, Cosh "cosh" 1 Vector, Tanh "tanh" 1 Vector,
    Asinh "asinh" 1 Vector, Acosh "acosh" 1 Vector, Atanh "atanh" 1 Vector,
    Exp "exp" 1 Vector, Exp2 "exp2" 1 Vector, Expm1 "expm1" 1 Vector,
    Log "log" 1 Vector, Log2 "log2" 1 Vector, Log10 "log10" 1 Vector, Log1p "log1p" 1 Vector,
    Pow "pow" 2 Vector, Cbrt "cbrt" 1 Vector, Hypot "hypot" 2 Vector, Erf "erf" 1 Vector, Erfc "erfc" 1 Vector,
    Sqrt "sqrt" 1 Instruction, Floor "floor" 1 Instruction, Ceil "ceil" 1 Instruction, Trunc "trunc" 1 Instruction,
    Rint "rint" 1 Instruction, Copysign "copysign" 2 Instruction,
    Fmod "fmod" 2 Scalar, Remainder "remainder" 2 Scalar, Gamma "tgamma" 1 Scalar, Lgamma "lgamma" 1 Scalar,
}

impl MathFn {
    /// The function with this name.
    pub fn from_name(name: &str) -> Option<MathFn> {
        MathFn::ALL.iter().copied().find(|f| f.name() == name)
    }

    /// The function and the form that an op's name stands for.
    pub(crate) fn from_op_name(name: &str) -> Option<(MathFn, bool)> {
        let name = name.strip_prefix("math.")?;
        let (name, exact) = name.strip_prefix("libm.").map_or((name, false), |n| (n, true));
        MathFn::from_name(name).map(|f| (f, exact))
    }

    /// Whether C has it for complex numbers too.
    pub fn has_complex(self) -> bool {
        use MathFn::*;
        let trigonometric = matches!(self, Sin | Cos | Tan | Asin | Acos | Atan);
        let hyperbolic = matches!(self, Sinh | Cosh | Tanh | Asinh | Acosh | Atanh);
        trigonometric || hyperbolic || matches!(self, Exp | Log | Sqrt)
    }
}

impl Attr for MathFn {
    fn print(&self, out: &mut String) {
        out.push_str(self.name());
    }

    fn read(r: &mut Reader<'_>) -> Result<MathFn, ReadError> {
        MathFn::from_name(r.word()?).ok_or_else(|| r.error("a function of floats"))
    }
}
