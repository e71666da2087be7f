//! Numbers as Python writes them: `repr`, and the format specifications of f-strings.

/// A slot of a message: `i`, `u`, `b`, `f` or `f32`, with an optional conversion and format (`f:.3f`).
pub(crate) fn slot(slot: &str, bits: u64) -> Option<String> {
    let (kind, spec) = match slot.find([':', '!']) {
        Some(at) => slot.split_at(at),
        None => (slot, ""),
    };
    let spec = spec.strip_prefix("!r").or(spec.strip_prefix("!s")).unwrap_or(spec);
    let spec = spec.strip_prefix(':').unwrap_or(spec);
    Some(match kind {
        "i" => integer(&(bits as i64).to_string(), bits as i64 as f64, spec),
        "u" => integer(&bits.to_string(), bits as f64, spec),
        "b" if spec.is_empty() => (if bits & 1 == 1 { "True" } else { "False" }).to_string(),
        "b" => integer(&(bits & 1).to_string(), (bits & 1) as f64, spec),
        "f" => float(f64::from_bits(bits), || repr(f64::from_bits(bits)), spec),
        // The record holds f32 widened; its shortest form is that of the f32.
        "f32" => float(f64::from_bits(bits), || repr_f32(f64::from_bits(bits) as f32), spec),
        _ => return None,
    })
}

/// `repr(str)`, as far as quotes, backslashes and line ends go.
pub(crate) fn quoted(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut out = String::from(quote);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out.push(quote);
    out
}

/// A text in the list of a slot, where some characters mean something.
pub fn escaped(text: &str) -> String {
    let special = |c: char| matches!(c, '%' | ',' | '{' | '}');
    text.chars().map(|c| if special(c) { format!("%{:02x}", c as u32) } else { c.to_string() }).collect()
}

/// What [`escaped`] was made of.
pub(crate) fn unescaped(text: &str) -> String {
    let mut parts = text.split('%');
    let mut out = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let (code, rest) = part.split_at(part.len().min(2));
        out.extend(u32::from_str_radix(code, 16).ok().and_then(char::from_u32));
        out.push_str(rest);
    }
    out
}

/// `repr(float)`.
pub fn repr(v: f64) -> String {
    special(v).unwrap_or_else(|| python_exponent(&format!("{v:e}")))
}

fn repr_f32(v: f32) -> String {
    special(v.into()).unwrap_or_else(|| python_exponent(&format!("{v:e}")))
}

fn special(v: f64) -> Option<String> {
    match v {
        v if v.is_nan() => Some("nan".into()),
        v if v.is_infinite() => Some(if v > 0.0 { "inf" } else { "-inf" }.into()),
        _ => None,
    }
}

/// Shortest digits, as Python lays them out: a point between 1e-4 and 1e16, else an exponent of two digits or more.
fn python_exponent(shortest: &str) -> String {
    let (digits, exponent) = shortest.split_once('e').unwrap_or((shortest, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |d| ("-", d));
    let digits: String = digits.chars().filter(|c| *c != '.').collect();
    if (-4..16).contains(&exponent) {
        let text = if exponent < 0 {
            format!("0.{}{digits}", "0".repeat((-exponent - 1) as usize))
        } else {
            let whole = exponent as usize + 1;
            match digits.len() > whole {
                true => format!("{}.{}", &digits[..whole], &digits[whole..]),
                false => format!("{digits}{}.0", "0".repeat(whole - digits.len())),
            }
        };
        return format!("{sign}{text}");
    }
    let (first, rest) = digits.split_at(1);
    let point = if rest.is_empty() { String::new() } else { format!(".{rest}") };
    let (side, size) = if exponent < 0 { ('-', -exponent) } else { ('+', exponent) };
    format!("{sign}{first}{point}e{side}{size:02}")
}

/// A format specification, as far as numbers use it.
#[derive(Default)]
struct Spec {
    fill: Option<char>,
    align: Option<char>,
    sign: Option<char>,
    zero: bool,
    width: usize,
    comma: bool,
    precision: Option<usize>,
    kind: Option<char>,
}

fn parse(text: &str) -> Spec {
    let mut spec = Spec::default();
    let chars: Vec<char> = text.chars().collect();
    let mut at = 0;
    let aligns = |c: Option<&char>| c.is_some_and(|c| "<>^=".contains(*c));
    if aligns(chars.get(1)) {
        (spec.fill, spec.align, at) = (Some(chars[0]), Some(chars[1]), 2);
    } else if aligns(chars.first()) {
        (spec.align, at) = (Some(chars[0]), 1);
    }
    if let Some(c @ ('+' | '-' | ' ')) = chars.get(at) {
        spec.sign = Some(*c);
        at += 1;
    }
    if chars.get(at) == Some(&'0') {
        spec.zero = true;
        at += 1;
    }
    let number = |at: &mut usize| {
        let start = *at;
        while chars.get(*at).is_some_and(char::is_ascii_digit) {
            *at += 1;
        }
        chars[start..*at].iter().collect::<String>().parse::<usize>().ok()
    };
    spec.width = number(&mut at).unwrap_or(0);
    if chars.get(at) == Some(&',') {
        spec.comma = true;
        at += 1;
    }
    if chars.get(at) == Some(&'.') {
        at += 1;
        spec.precision = number(&mut at);
    }
    spec.kind = chars.get(at).copied();
    spec
}

fn integer(decimal: &str, value: f64, text: &str) -> String {
    let spec = parse(text);
    match spec.kind {
        None | Some('d') => padded(&spec, decimal),
        Some('x') => padded(&spec, &based(decimal, 16)),
        Some('b') => padded(&spec, &based(decimal, 2)),
        Some('o') => padded(&spec, &based(decimal, 8)),
        _ => float(value, || repr(value), text),
    }
}

fn based(decimal: &str, base: u32) -> String {
    let value: i128 = decimal.parse().unwrap_or(0);
    let size = value.unsigned_abs();
    let digits = match base {
        16 => format!("{size:x}"),
        8 => format!("{size:o}"),
        _ => format!("{size:b}"),
    };
    if value < 0 { format!("-{digits}") } else { digits }
}

fn float(v: f64, shortest: impl Fn() -> String, text: &str) -> String {
    let spec = parse(text);
    let plain = special(v).unwrap_or_else(|| match spec.kind {
        Some('f' | 'F') => format!("{v:.*}", spec.precision.unwrap_or(6)),
        Some('%') => format!("{:.*}%", spec.precision.unwrap_or(6), v * 100.0),
        Some('e' | 'E') => scientific(v, spec.precision.unwrap_or(6)),
        Some('g' | 'G') => general(v, spec.precision.unwrap_or(6).max(1)),
        _ => match spec.precision {
            Some(p) => general(v, p.max(1)),
            None => shortest(),
        },
    });
    padded(&spec, &plain)
}

fn scientific(v: f64, precision: usize) -> String {
    let text = format!("{v:.precision$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (side, size) = if exponent < 0 { ('-', -exponent) } else { ('+', exponent) };
    format!("{digits}e{side}{size:02}")
}

/// `g`: so many digits, without trailing zeros.
fn general(v: f64, digits: usize) -> String {
    let text = format!("{v:.*e}", digits - 1);
    let exponent: i32 = text.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
    let trim = |s: &str| match s.contains('.') {
        true => s.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => s.to_string(),
    };
    if exponent < -4 || exponent >= digits as i32 {
        let text = scientific(v, digits - 1);
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "+00"));
        return format!("{}e{exponent}", trim(mantissa));
    }
    trim(&format!("{v:.*}", (digits as i32 - 1 - exponent).max(0) as usize))
}

fn padded(spec: &Spec, plain: &str) -> String {
    let (minus, digits) = plain.strip_prefix('-').map_or((false, plain), |d| (true, d));
    let sign = match (minus, spec.sign) {
        (true, _) => "-",
        (false, Some('+')) => "+",
        (false, Some(' ')) => " ",
        _ => "",
    };
    let mut digits = digits.to_string();
    if spec.comma {
        let whole = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        let grouped: Vec<String> =
            digits.as_bytes()[..whole].rchunks(3).rev().map(|c| String::from_utf8_lossy(c).into_owned()).collect();
        digits = format!("{}{}", grouped.join(","), &digits[whole..]);
    }
    let missing = spec.width.saturating_sub(sign.len() + digits.chars().count());
    let align = spec.align.unwrap_or(if spec.zero { '=' } else { '>' });
    let fill = spec.fill.unwrap_or(if spec.zero { '0' } else { ' ' });
    let fill = |n: usize| std::iter::repeat_n(fill, n).collect::<String>();
    match align {
        '<' => format!("{sign}{digits}{}", fill(missing)),
        '=' => format!("{sign}{}{digits}", fill(missing)),
        '^' => format!("{}{sign}{digits}{}", fill(missing / 2), fill(missing - missing / 2)),
        _ => format!("{}{sign}{digits}", fill(missing)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_written_as_python_writes_them() {
        let cases = [
            (0.1, "0.1"),
            (1.0, "1.0"),
            (-0.0, "-0.0"),
            (1e16, "1e+16"),
            (123456789012345680.0, "1.2345678901234568e+17"),
            (1e15, "1000000000000000.0"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (1.5e300, "1.5e+300"),
            (f64::INFINITY, "inf"),
            (f64::NAN, "nan"),
        ];
        for (v, text) in cases {
            assert_eq!(repr(v), text);
        }
    }

    #[test]
    fn formats_are_pythons() {
        let cases = [
            ("f:.3f", 2.0f64.to_bits(), "2.000"),
            ("f:8.2f", (-1.005f64).to_bits(), "   -1.00"),
            ("f:g", 1e-5f64.to_bits(), "1e-05"),
            ("f:.3g", 1234.5f64.to_bits(), "1.23e+03"),
            ("f:.1%", 0.256f64.to_bits(), "25.6%"),
            ("f:e", 12345.678f64.to_bits(), "1.234568e+04"),
            ("i:05d", -42i64 as u64, "-0042"),
            ("i:,", 1234567, "1,234,567"),
            ("i:>4", 7, "   7"),
            ("i:<4", 7, "7   "),
            ("i:x", 255, "ff"),
            ("i", -3i64 as u64, "-3"),
            ("b", 1, "True"),
        ];
        for (what, bits, text) in cases {
            assert_eq!(slot(what, bits).as_deref(), Some(text), "{what}");
        }
    }
}
