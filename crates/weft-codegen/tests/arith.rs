//! Scalar arithmetic has NumPy's and Python's results, bit for bit.

mod common;

use common::scalar_fn;

const INTS: [i64; 13] = [0, 1, -1, 2, -2, 3, 7, -7, 10, i64::MIN, i64::MAX, 1 << 40, -(1 << 33)];

fn np_floordiv(a: i64, b: i64) -> i64 {
    match b {
        0 => 0,
        _ => {
            let q = a.wrapping_div(b);
            if a.wrapping_rem(b) != 0 && (a < 0) != (b < 0) { q - 1 } else { q }
        }
    }
}

fn np_mod(a: i64, b: i64) -> i64 {
    match b {
        0 => 0,
        _ => {
            let r = a.wrapping_rem(b);
            if r != 0 && (r < 0) != (b < 0) { r + b } else { r }
        }
    }
}

#[test]
fn integer_division_is_numpys() {
    let div = scalar_fn("i64", "i64", "%r = arith.floordiv(%x, %y) : i64");
    let rem = scalar_fn("i64", "i64", "%r = arith.mod(%x, %y) : i64");
    let div32 = scalar_fn("i32", "i32", "%r = arith.floordiv(%x, %y) : i32");
    for a in INTS {
        for b in INTS {
            assert_eq!(div.value(&[a as u64, b as u64]) as i64, np_floordiv(a, b), "{a} // {b}");
            assert_eq!(rem.value(&[a as u64, b as u64]) as i64, np_mod(a, b), "{a} % {b}");
            let (a, b) = (a as i32, b as i32);
            let want = np_floordiv(a.into(), b.into()) as i32;
            assert_eq!(div32.value(&[a as u32 as u64, b as u32 as u64]) as i32, want, "{a} // {b}");
        }
    }
}

#[test]
fn integers_wrap_shift_and_raise_to_powers() {
    let op = |name: &str| scalar_fn("i64", "i64", &format!("%r = arith.{name}(%x, %y) : i64"));
    let (add, mul, shl, shr, pow) = (op("add"), op("mul"), op("shl"), op("shr"), op("pow"));
    let (min, max) = (op("min"), op("max"));
    for a in INTS {
        for b in INTS {
            let args = [a as u64, b as u64];
            assert_eq!(add.value(&args) as i64, a.wrapping_add(b));
            assert_eq!(mul.value(&args) as i64, a.wrapping_mul(b));
            assert_eq!((min.value(&args) as i64, max.value(&args) as i64), (a.min(b), a.max(b)));
            let inside = (0..64).contains(&b);
            assert_eq!(shl.value(&args) as i64, if inside { a << b } else { 0 }, "{a} << {b}");
            assert_eq!(shr.value(&args) as i64, if inside { a >> b } else { a >> 63 }, "{a} >> {b}");
            if (0..64).contains(&b) {
                assert_eq!(pow.value(&args) as i64, a.wrapping_pow(b as u32), "{a} ** {b}");
            }
        }
    }
    let un = |name: &str| scalar_fn("i64", "i64", &format!("%r = arith.{name}(%x) : i64"));
    let (neg, abs, not) = (un("neg"), un("abs"), un("not"));
    for a in INTS {
        let args = [a as u64, 0];
        assert_eq!(neg.value(&args) as i64, a.wrapping_neg());
        assert_eq!(abs.value(&args) as i64, a.wrapping_abs());
        assert_eq!(not.value(&args) as i64, !a);
    }
}

#[test]
fn checked_arithmetic_raises_where_int64_ends() {
    type Checked = fn(i64, i64) -> Option<i64>;
    let cases: [(&str, Checked); 4] = [
        ("+", i64::checked_add),
        ("-", i64::checked_sub),
        ("*", i64::checked_mul),
        ("//", |a, b| if a == i64::MIN && b == -1 { None } else { Some(np_floordiv(a, b)) }),
    ];
    for (op, want) in cases {
        let code = common::Code::new(&format!(
            "weft 1 stage loops\nsite 0 = ValueError \"a\"\nsite 1 = OverflowError \"too large\"
func @f(%x: i64, %y: i64) -> i64 {{ %r = arith.checked(%x, %y) <{{op=\"{op}\", site=1}}> : i64 return(%r) }}"
        ));
        for a in INTS {
            for b in INTS {
                let out = code.call(&[a as u64, b as u64]);
                match want(a, b) {
                    Some(v) => assert_eq!((out.status, out.results[0] as i64), (0, v), "{a} {op} {b}"),
                    None => assert_eq!((out.status, out.exc.site, out.exc.nargs), (1, 1, 0), "{a} {op} {b}"),
                }
            }
        }
    }
}

/// NumPy's `npy_divmod`, line by line.
fn npy_divmod(a: f64, b: f64) -> (f64, f64) {
    let mut rem = a % b;
    if b == 0.0 {
        return (a / b, rem);
    }
    let mut div = (a - rem) / b;
    if rem != 0.0 {
        if (b < 0.0) != (rem < 0.0) {
            rem += b;
            div -= 1.0;
        }
    } else {
        rem = 0f64.copysign(b);
    }
    let floor = if div != 0.0 {
        let f = div.floor();
        if div - f > 0.5 { f + 1.0 } else { f }
    } else {
        0f64.copysign(a / b)
    };
    (floor, rem)
}

fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

const FLOATS: [f64; 17] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.1,
    -0.3,
    2.5,
    -7.25,
    1e300,
    -1e-300,
    5e-324,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    9.007199254740993e15,
    3.0,
    2147483648.0,
];

#[test]
fn float_division_and_extrema_are_numpys() {
    let op = |name: &str| scalar_fn("f64", "f64", &format!("%r = arith.{name}(%x, %y) : f64"));
    let (div, rem, min, max) = (op("floordiv"), op("mod"), op("min"), op("max"));
    for a in FLOATS {
        for b in FLOATS {
            let args = [a.to_bits(), b.to_bits()];
            let (q, r) = npy_divmod(a, b);
            assert!(same(f64::from_bits(div.value(&args)), q), "{a} // {b} is {q}");
            assert!(same(f64::from_bits(rem.value(&args)), r), "{a} % {b} is {r}");
            let first = |better: bool| if better || a.is_nan() { a } else { b };
            assert!(same(f64::from_bits(min.value(&args)), first(a < b)), "min({a}, {b})");
            assert!(same(f64::from_bits(max.value(&args)), first(a > b)), "max({a}, {b})");
        }
    }
}

#[test]
fn comparisons_are_ieees() {
    type Compare = fn(&f64, &f64) -> bool;
    let cases: [(&str, Compare); 6] =
        [("<", f64::lt), ("<=", f64::le), (">", f64::gt), (">=", f64::ge), ("==", f64::eq), ("!=", f64::ne)];
    for (is, want) in cases {
        let code = scalar_fn("f64", "bool", &format!("%r = arith.cmp(%x, %y) <{{is=\"{is}\"}}> : bool"));
        for a in FLOATS {
            for b in FLOATS {
                assert_eq!(code.value(&[a.to_bits(), b.to_bits()]), want(&a, &b).into(), "{a} {is} {b}");
            }
        }
    }
}

#[test]
fn casts_are_defined_for_every_input() {
    let cast = |from: &str, to: &str| scalar_fn(from, to, &format!("%r = arith.cast(%x) : {to}"));
    let (i64s, i32s, u8s, u32s, u64s) =
        (cast("f64", "i64"), cast("f64", "i32"), cast("f64", "u8"), cast("f64", "u32"), cast("f64", "u64"));
    let (bools, f32s) = (cast("f64", "bool"), cast("f64", "f32"));
    for v in FLOATS.into_iter().chain([300.0, -1.0, -2147483648.9, 2147483647.5, 9.3e18, 1.8e19, 1.9e19]) {
        let args = [v.to_bits(), 0];
        let fits = |bits: i32| v >= -(2f64.powi(bits - 1)) && v < 2f64.powi(bits - 1);
        let wide = if fits(64) { v as i64 } else { i64::MIN };
        let narrow = if fits(32) { v as i32 } else { i32::MIN };
        assert_eq!(i64s.value(&args) as i64, wide, "int64({v})");
        assert_eq!(i32s.value(&args) as i32, narrow, "int32({v})");
        assert_eq!(u8s.value(&args), (narrow as u8).into(), "uint8({v})");
        assert_eq!(u32s.value(&args), (wide as u32).into(), "uint32({v})");
        let high = (9223372036854775808.0..18446744073709551616.0).contains(&v);
        assert_eq!(u64s.value(&args), if high { v as u64 } else { wide as u64 }, "uint64({v})");
        assert_eq!(bools.value(&args), (v != 0.0).into());
        assert!(same(f32::from_bits(f32s.value(&args) as u32).into(), f64::from(v as f32)));
    }
    let (widen, truth, real) = (cast("i32", "i64"), cast("i32", "bool"), cast("i64", "f64"));
    for v in INTS {
        assert_eq!(widen.value(&[v as i32 as u32 as u64, 0]) as i64, i64::from(v as i32));
        assert_eq!(truth.value(&[v as i32 as u32 as u64, 0]), (v as i32 != 0).into());
        assert_eq!(f64::from_bits(real.value(&[v as u64, 0])), v as f64);
    }
    let count = scalar_fn("bool", "i64", "%r = arith.cast(%x) : i64");
    assert_eq!((count.value(&[1, 0]), count.value(&[0, 0])), (1, 0));
}

#[test]
fn constants_keep_their_bits() {
    for bits in [0x7ff8000000000123u64, 0x8000000000000000, 1, 0x3fb999999999999a] {
        let v = f64::from_bits(bits);
        let text = if v.is_finite() { format!("{v:?}") } else { format!("float 0x{bits:016x}") };
        let code = scalar_fn("f64", "f64", &format!("%r = arith.const() <{{value={text}}}> : f64"));
        assert_eq!(code.value(&[0, 0]), bits);
    }
}

#[test]
fn bool_arithmetic_is_logic() {
    type Logic = fn(bool, bool) -> bool;
    let cases: [(&str, Logic); 4] =
        [("add", |a, b| a | b), ("mul", |a, b| a & b), ("xor", |a, b| a ^ b), ("max", |a, b| a | b)];
    for (op, want) in cases {
        let code = scalar_fn("bool", "bool", &format!("%r = arith.{op}(%x, %y) : bool"));
        for (a, b) in [(false, false), (false, true), (true, false), (true, true)] {
            assert_eq!(code.value(&[a.into(), b.into()]), want(a, b).into(), "{a} {op} {b}");
        }
    }
}

#[test]
fn products_and_sums_are_not_fused() {
    // With a fused multiply-add the result would be -2^-104 instead of 0.
    let code = scalar_fn("f64", "f64", "%t = arith.mul(%x, %x) : f64 %r = arith.add(%t, %y) : f64");
    let x = 1.0 + f64::EPSILON;
    assert_eq!(f64::from_bits(code.value(&[x.to_bits(), (-(x * x)).to_bits()])), 0.0);
}
