//! Complex numbers as NumPy computes with them.

use weft_ir::{MathFn, Op};

/// A complex number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Complex<T> {
    /// Real part.
    pub re: T,
    /// Imaginary part.
    pub im: T,
}

impl<T> Complex<T> {
    /// From its parts.
    pub fn new(re: T, im: T) -> Complex<T> {
        Complex { re, im }
    }
}

macro_rules! complex {
    ($($ty:ident),*) => {$(
        impl Complex<$ty> {
            fn times(self, b: Self) -> Self {
                Complex::new(self.re * b.re - self.im * b.im, self.re * b.im + self.im * b.re)
            }

            /// As NumPy's loops do it.
            fn fused_times(self, b: Self) -> Self {
                Complex::new(self.re.mul_add(b.re, -(self.im * b.im)), self.re.mul_add(b.im, self.im * b.re))
            }

            /// Smith's method.
            fn over(self, b: Self) -> Self {
                let (x, y) = (b.re.abs(), b.im.abs());
                if x >= y && x == 0.0 && y == 0.0 {
                    return Complex::new(self.re / x, self.im / x);
                }
                if x >= y {
                    let ratio = b.im / b.re;
                    let scale = 1.0 / (b.re + b.im * ratio);
                    return Complex::new((self.re + self.im * ratio) * scale, (self.im - self.re * ratio) * scale);
                }
                let ratio = b.re / b.im;
                let scale = 1.0 / (b.im + b.re * ratio);
                Complex::new((self.re * ratio + self.im) * scale, (self.im * ratio - self.re) * scale)
            }

            fn exp(self) -> Self {
                let size = self.re.exp();
                Complex::new(size * self.im.cos(), size * self.im.sin())
            }

            fn ln(self) -> Self {
                Complex::new(self.re.hypot(self.im).ln(), self.im.atan2(self.re))
            }

            fn sqrt(self) -> Self {
                if self.re == 0.0 && self.im == 0.0 {
                    return Complex::new(0.0, self.im);
                }
                let root = ((self.re.abs() + self.re.hypot(self.im)) / 2.0).sqrt();
                let other = self.im.abs() / (2.0 * root);
                if self.re >= 0.0 {
                    Complex::new(root, other.copysign(self.im))
                } else {
                    Complex::new(other, root.copysign(self.im))
                }
            }

            /// `npy_cpow`: whole exponents below 100 by multiplication, others by logarithms.
            fn power(self, b: Self) -> Self {
                if b.re == 0.0 && b.im == 0.0 {
                    return Complex::new(1.0, 0.0);
                }
                if self.re == 0.0 && self.im == 0.0 {
                    let v = if b.re > 0.0 { 0.0 } else { $ty::NAN };
                    return Complex::new(v, v);
                }
                if b.im != 0.0 || b.re.abs() >= 100.0 || b.re.fract() != 0.0 {
                    return b.times(self.ln()).exp();
                }
                let mut left = b.re.abs() as u32;
                let one: Self = Complex::new(1.0, 0.0);
                let (mut product, mut square) = (one, self);
                while left > 0 {
                    if left & 1 == 1 {
                        product = product.times(square);
                    }
                    square = square.times(square);
                    left >>= 1;
                }
                if b.re < 0.0 { one.over(product) } else { product }
            }

            /// An op of two complex numbers.
            pub fn binary(self, op: &Op, b: Self) -> Option<Self> {
                Some(match op {
                    Op::Add => Complex::new(self.re + b.re, self.im + b.im),
                    Op::Sub => Complex::new(self.re - b.re, self.im - b.im),
                    Op::Cmul if weft_ir::math::fuses_products() => self.fused_times(b),
                    Op::Mul | Op::Cmul => self.times(b),
                    Op::Div => self.over(b),
                    Op::Pow => self.power(b),
                    _ => return None,
                })
            }

            /// An op of one complex number that gives another.
            pub fn unary(self, op: &Op) -> Option<Self> {
                Some(match op {
                    Op::Neg => Complex::new(-self.re, -self.im),
                    Op::Math { function, .. } => match function {
                        MathFn::Exp => self.exp(),
                        MathFn::Log => self.ln(),
                        MathFn::Sqrt => self.sqrt(),
                        MathFn::Sin => Complex::new(self.re.sin() * self.im.cosh(), self.re.cos() * self.im.sinh()),
                        MathFn::Cos => Complex::new(self.re.cos() * self.im.cosh(), -self.re.sin() * self.im.sinh()),
                        _ => return None,
                    },
                    _ => return None,
                })
            }
        }
    )*};
}

complex!(f32, f64);
