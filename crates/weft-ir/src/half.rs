//! 16-bit floats, which Rust has no type for: their bits, and rounding to them.

/// The bits of the half nearest to `v`; ties to even. A nan stays one.
pub fn to_bits(v: f64) -> u16 {
    let sign = if v.is_sign_negative() { 0x8000 } else { 0 };
    let size = v.abs();
    if size.is_nan() {
        return sign | 0x7e00;
    }
    // Halfway between the largest half and the next power of two.
    if size >= 65520.0 {
        return sign | 0x7c00;
    }
    // Below 2^-14 halves are as far apart as just above it.
    let exponent = ((size.to_bits() >> 52) as i32 - 1023).max(-14);
    let steps = (size * 2f64.powi(10 - exponent)).round_ties_even() as u16;
    // 1024 steps are the exponent's own bit; 2048 carry into the next one.
    sign | ((((exponent + 14) as u16) << 10) + steps)
}

/// The value of a half, exactly.
pub fn from_bits(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let size = match exponent {
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        0 => fraction * 2f64.powi(-24),
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    };
    size.copysign(if bits & 0x8000 == 0 { 1.0 } else { -1.0 })
}

/// The half nearest to `v`.
pub fn round(v: f64) -> f64 {
    from_bits(to_bits(v))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_is_its_own_rounding() {
        for bits in 0..=u16::MAX {
            let v = from_bits(bits);
            assert!(v.is_nan() || to_bits(v) == bits, "{bits:#x}");
        }
    }

    #[test]
    fn ties_go_to_even_and_the_far_end_is_infinite() {
        assert_eq!(round(2049.0), 2048.0);
        assert_eq!(round(2051.0), 2052.0);
        assert_eq!(round(65519.99), 65504.0);
        assert_eq!(round(65520.0), f64::INFINITY);
        assert_eq!(round(2f64.powi(-25)), 0.0);
        assert_eq!(round(2f64.powi(-25) * 1.0001), 2f64.powi(-24));
        // By way of f32 this would round twice, to 1.
        assert_eq!(round(1.0 + 2f64.powi(-11) + 2f64.powi(-40)), 1.0 + 2f64.powi(-10));
    }
}
