//! Calls as tests write them, and how results are compared.
//!
//! ```text
//! f(3.0, f32[1, 2]) == f32[4, 5]              results, bit for bit (every nan equals every nan)
//! f(f64[0.5]) ~= f64[0.479425538604203]       results within 4 ulps
//! f(x = f32[0, 0]) after x == f32[1, 2]       what an argument holds afterwards
//! f(1) raises OverflowError "too large"       the exception and its message
//! f(i64[1]) faults "out of bounds"            the interpreter refuses: nothing else runs this
//! k[4, 2](x = i64[…]) after x == …            a kernel, launched over these sizes
//! ```

use weft_interp::text::{Parser, print};
use weft_interp::{Failure, Scalar, Value};
use weft_ir::{ExcClass, Module, half};

/// What a call should do.
#[derive(Clone, Debug)]
pub enum Expect {
    /// Return these, exactly or within a few ulps.
    Values(Vec<Value>, Match),
    /// Raise this class with this message.
    Raises(ExcClass, String),
    /// Be refused by the interpreter with a message that contains this.
    Faults(String),
}

/// How near a result must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Match {
    /// Equal bits; any nan for any nan.
    Exact,
    /// Within 4 ulps.
    Near,
}

/// A call with its expectation.
#[derive(Clone, Debug)]
pub struct Call {
    /// Name of the function.
    pub func: String,
    /// Sizes of the launch of a kernel.
    pub launch: Option<Vec<i64>>,
    /// Arguments; fresh memory for every parse.
    pub args: Vec<Value>,
    /// What should come of it; nothing where only a call was written.
    pub expect: Expect,
    /// Arguments by position, with what they should hold afterwards.
    pub after: Vec<(usize, Value, Match)>,
}

impl Call {
    /// Reads one line.
    pub fn parse(text: &str) -> Result<Call, Failure> {
        let mut p = Parser::new(text);
        let func = p.word()?.to_string();
        let size = |p: &mut Parser<'_>| p.word()?.parse().map_err(|_| Failure::fault("a launch size is a number"));
        let launch = if p.eat("[") { Some(p.list("]", size)?) } else { None };
        p.expect("(")?;
        let mut names = vec![];
        let args = p.list(")", |p| {
            names.push(name_of_argument(p)?);
            p.value()
        })?;
        let expect = if p.eat("raises") {
            let word = p.word()?;
            let class = ExcClass::from_name(word).ok_or_else(|| Failure::fault(format!("no class `{word}`")))?;
            Expect::Raises(class, p.quoted()?.into())
        } else if p.eat("faults") {
            Expect::Faults(p.quoted()?.into())
        } else if let Some(near) = comparison(&mut p) {
            let mut values = vec![p.value()?];
            while p.eat(",") {
                values.push(p.value()?);
            }
            Expect::Values(values, near)
        } else {
            Expect::Values(vec![], Match::Exact)
        };
        let mut after = vec![];
        while p.eat("after") {
            let name = p.word()?;
            let at = names.iter().position(|n| n.as_deref() == Some(name));
            let at = at.ok_or_else(|| Failure::fault(format!("no argument `{name}`")))?;
            let near = comparison(&mut p).ok_or_else(|| Failure::fault("expected == or ~="))?;
            after.push((at, p.value()?, near));
        }
        if !p.rest().is_empty() {
            return Err(Failure::fault(format!("unexpected `{}`", p.rest())));
        }
        Ok(Call { func, launch, args, expect, after })
    }

    /// Puts together what stage `loops` returned: arrays where arrays are expected; `none` has no slot.
    pub fn collect(&self, mut slots: Vec<Value>) -> Result<Vec<Value>, Failure> {
        let Expect::Values(wanted, _) = &self.expect else { return Ok(slots) };
        let mut out = vec![];
        for want in wanted {
            out.push(match want {
                Value::Scalar(Scalar::None) => want.clone(),
                Value::Array(a) => Value::implode(&mut slots, Some(a.shape.len()))?,
                _ => Value::implode(&mut slots, None)?,
            });
        }
        out.append(&mut slots);
        Ok(out)
    }

    /// Whether the outcome of running these very `args` is what was expected; else what it was.
    pub fn judge(&self, m: &Module, outcome: Result<Vec<Value>, Failure>) -> Result<(), String> {
        match (&self.expect, outcome) {
            (Expect::Values(want, near), Ok(found)) => {
                if want.len() != found.len() {
                    return Err(format!("gave {} results, not {}", found.len(), want.len()));
                }
                want.iter().zip(&found).try_for_each(|(w, f)| compare(w, f, *near))?;
            }
            (Expect::Raises(class, message), Err(Failure::Raised { site, args })) => {
                let s = &m.sites[site as usize];
                let found = s.message(&args);
                if s.class != *class || found != *message {
                    return Err(format!("raised {} {found:?}", s.class.name()));
                }
            }
            (Expect::Faults(message), Err(Failure::Fault(found))) if found.contains(message) => {}
            (_, Ok(found)) => return Err(format!("gave {}", shown(&found))),
            (_, Err(Failure::Raised { site, args })) => {
                let s = &m.sites[site as usize];
                return Err(format!("raised {} {:?}", s.class.name(), s.message(&args)));
            }
            (_, Err(failure)) => return Err(failure.to_string()),
        }
        for (at, want, near) in &self.after {
            compare(want, &self.args[*at], *near).map_err(|e| format!("argument {at} afterwards: {e}"))?;
        }
        Ok(())
    }
}

/// `name =` before an argument.
fn name_of_argument(p: &mut Parser<'_>) -> Result<Option<String>, Failure> {
    let end = p.rest().find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(0);
    let (name, rest) = p.rest().split_at(end);
    if !rest.trim_start().starts_with('=') {
        return Ok(None);
    }
    p.word()?;
    p.expect("=")?;
    Ok(Some(name.into()))
}

fn comparison(p: &mut Parser<'_>) -> Option<Match> {
    if p.eat("==") {
        Some(Match::Exact)
    } else if p.eat("~=") {
        Some(Match::Near)
    } else {
        None
    }
}

/// Values in one line.
pub fn shown(values: &[Value]) -> String {
    if values.is_empty() {
        return "nothing".into();
    }
    values.iter().map(print).collect::<Vec<_>>().join(", ")
}

/// Whether two values agree; else what the second is.
pub fn compare(want: &Value, found: &Value, near: Match) -> Result<(), String> {
    let parts = |v: &Value| match v {
        Value::Array(a) => Ok((Some(a.shape.clone()), a.elements().map_err(|e| e.to_string())?)),
        Value::Scalar(s) => Ok((None, vec![*s])),
        _ => Err("is a pointer or an owner".to_string()),
    };
    let ((shape, wants), (got, founds)) = (parts(want)?, parts(found)?);
    if shape == got && wants.len() == founds.len() && wants.iter().zip(&founds).all(|(&w, &f)| same(w, f, near)) {
        return Ok(());
    }
    Err(format!("gave {}", print(found)))
}

fn same(want: Scalar, found: Scalar, near: Match) -> bool {
    // Floats in order of value are integers in order, once the negative ones are turned around.
    let ordered = |bits: i64, low: i64| if bits < 0 { low.wrapping_sub(bits) } else { bits };
    let parts = |s| match s {
        Scalar::C64(z) => Some([Scalar::F32(z.re), Scalar::F32(z.im)]),
        Scalar::C128(z) => Some([Scalar::F64(z.re), Scalar::F64(z.im)]),
        _ => None,
    };
    if let (Some(w), Some(f)) = (parts(want), parts(found)) {
        return w.into_iter().zip(f).all(|(w, f)| same(w, f, near));
    }
    let ulps = match (want, found) {
        (Scalar::F16(w), Scalar::F16(f)) => {
            let position = |v: f32| ordered(i64::from(half::to_bits(v.into()) as i16), i64::from(i16::MIN));
            if w.is_nan() && f.is_nan() { 0 } else { position(w).abs_diff(position(f)) }
        }
        (Scalar::F32(w), Scalar::F32(f)) => {
            let position = |v: f32| ordered(i64::from(v.to_bits() as i32), i64::from(i32::MIN));
            if w.is_nan() && f.is_nan() { 0 } else { position(w).abs_diff(position(f)) }
        }
        (Scalar::F64(w), Scalar::F64(f)) => {
            let position = |v: f64| ordered(v.to_bits() as i64, i64::MIN);
            if w.is_nan() && f.is_nan() { 0 } else { position(w).abs_diff(position(f)) }
        }
        _ => return want == found,
    };
    let zeros = |s| matches!(s, Scalar::F16(0.0) | Scalar::F32(0.0) | Scalar::F64(0.0));
    // Exact tells 0.0 from -0.0, whose positions are the same.
    let signs = near == Match::Near || !zeros(want) || sign(want) == sign(found);
    ulps <= if near == Match::Near { 4 } else { 0 } && signs
}

fn sign(s: Scalar) -> bool {
    match s {
        Scalar::F16(v) | Scalar::F32(v) => v.is_sign_negative(),
        Scalar::F64(v) => v.is_sign_negative(),
        _ => false,
    }
}
