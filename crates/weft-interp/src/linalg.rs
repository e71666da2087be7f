//! Cholesky factors and solutions of systems, in complex doubles: what `nt.cholesky`, `nt.solve` and their `mem` ops mean.

use crate::array::Array;
use crate::complex::Complex;
use crate::scalar::{Scalar, binary};
use crate::value::Failure;
use weft_ir::{DType, Op};

type Done<T> = Result<T, Failure>;

/// A matrix of complex doubles, in rows.
struct Matrix {
    rows: Vec<Vec<Scalar>>,
}

fn compute(op: Op, a: Scalar, b: Scalar) -> Done<Scalar> {
    binary(&op, a, b)
}

fn parts(v: Scalar) -> Done<Complex<f64>> {
    match v {
        Scalar::C128(v) => Ok(v),
        _ => Err(Failure::fault("no complex number")),
    }
}

/// By which the largest pivot is found.
fn size(v: Scalar) -> Done<f64> {
    parts(v).map(|v| v.re.abs() + v.im.abs())
}

fn conjugate(v: Scalar) -> Done<Scalar> {
    parts(v).map(|v| Scalar::C128(Complex::new(v.re, -v.im)))
}

impl Matrix {
    fn of(a: &Array) -> Done<Matrix> {
        let row = |i: i64| (0..a.shape[1]).map(|j| a.load(&[i, j])?.cast(DType::C128)).collect::<Done<_>>();
        Ok(Matrix { rows: (0..a.shape[0]).map(row).collect::<Done<_>>()? })
    }

    fn store(&self, to: &Array) -> Done<()> {
        for (i, row) in self.rows.iter().enumerate() {
            for (j, &v) in row.iter().enumerate() {
                to.store(&[i as i64, j as i64], v.cast(to.dtype)?)?;
            }
        }
        Ok(())
    }

    /// `self[i][from..] -= factor * other`.
    fn subtract(&mut self, i: usize, from: usize, factor: Scalar, other: &[Scalar]) -> Done<()> {
        for (v, &w) in self.rows[i][from..].iter_mut().zip(&other[from..]) {
            *v = compute(Op::Sub, *v, compute(Op::Mul, factor, w)?)?;
        }
        Ok(())
    }
}

/// The lower factor of `a` in `to`; 1, or 0 where there is none.
pub(crate) fn cholesky(a: &Array, to: &Array) -> Done<i64> {
    let mut m = Matrix::of(a)?;
    let n = m.rows.len();
    for j in 0..n {
        for i in j..n {
            let mut sum = m.rows[i][j];
            for k in 0..j {
                let product = compute(Op::Mul, m.rows[i][k], conjugate(m.rows[j][k])?)?;
                sum = compute(Op::Sub, sum, product)?;
            }
            m.rows[i][j] = if i > j {
                compute(Op::Div, sum, m.rows[j][j])?
            } else {
                let square = parts(sum)?.re;
                if square.is_nan() || square <= 0.0 {
                    return Ok(0);
                }
                Scalar::C128(Complex::new(square.sqrt(), 0.0))
            };
        }
        m.rows[j][j + 1..].fill(Scalar::C128(Complex::new(0.0, 0.0)));
    }
    m.store(to)?;
    Ok(1)
}

/// The factors of `a` and the solution for `b`, in `to`; the sign of the exchanges, or 0.
pub(crate) fn solve(a: &Array, b: &Array, to: [&Array; 2]) -> Done<i64> {
    let (mut m, mut x) = (Matrix::of(a)?, Matrix::of(b)?);
    let n = m.rows.len();
    let mut sign = 1;
    for k in 0..n {
        let mut pivot = k;
        for i in k + 1..n {
            if size(m.rows[i][k])? > size(m.rows[pivot][k])? {
                pivot = i;
            }
        }
        if size(m.rows[pivot][k])? == 0.0 {
            return Ok(0);
        }
        if pivot != k {
            sign = -sign;
            m.rows.swap(pivot, k);
            x.rows.swap(pivot, k);
        }
        let (row, right) = (m.rows[k].clone(), x.rows[k].clone());
        for i in k + 1..n {
            let factor = compute(Op::Div, m.rows[i][k], row[k])?;
            m.subtract(i, k + 1, factor, &row)?;
            m.rows[i][k] = factor;
            x.subtract(i, 0, factor, &right)?;
        }
    }
    for i in (0..n).rev() {
        for k in i + 1..n {
            let other = x.rows[k].clone();
            x.subtract(i, 0, m.rows[i][k], &other)?;
        }
        for v in &mut x.rows[i] {
            *v = compute(Op::Div, *v, m.rows[i][i])?;
        }
    }
    m.store(to[0])?;
    x.store(to[1])?;
    Ok(sign)
}
