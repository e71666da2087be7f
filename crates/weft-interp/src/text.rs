//! Values as tests write them.
//!
//! ```text
//! 3  -1.5  true  none          pyint, pyfloat, pybool, None
//! f32(1.5)  c64(1.5, -2)       a NumPy scalar; complex ones by their parts
//! complex(1.5, -2)             pycomplex
//! f32[1, 2]  i64[[1], [2]]     arrays; nan, inf and -inf are numbers; complex elements are (re, im)
//! f32[].shape(0, 3)            elements in C order with an explicit shape; `.shape()` is 0-d
//! f32[1, 2].F  .rev  .gap      stored in Fortran order; backwards along every axis; in every second element
//! [1, 2]  [(1, f32(2))]        a list; items that are tuples by their parts
//! ```

use crate::array::{Array, Memory, strides_of};
use crate::scalar::Scalar;
use crate::value::{Failure, Value};
use std::cell::RefCell;
use std::rc::Rc;
use weft_ir::{DType, Layout, Op};

/// A cursor over the text of values.
pub struct Parser<'t> {
    rest: &'t str,
}

type Parsed<T> = Result<T, Failure>;

impl<'t> Parser<'t> {
    /// A parser of `text`.
    pub fn new(text: &'t str) -> Parser<'t> {
        Parser { rest: text }
    }

    /// What is not yet parsed.
    pub fn rest(&self) -> &'t str {
        self.rest.trim_start()
    }

    /// Takes `token` if it comes next.
    pub fn eat(&mut self, token: &str) -> bool {
        match self.rest().strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Takes `token` or fails.
    pub fn expect(&mut self, token: &str) -> Parsed<()> {
        if self.eat(token) { Ok(()) } else { Err(Failure::fault(format!("expected `{token}` at `{}`", self.rest()))) }
    }

    /// A run of letters, digits, `_`, `.`, and signs.
    pub fn word(&mut self) -> Parsed<&'t str> {
        let rest = self.rest();
        let end = rest.find(|c: char| !(c.is_alphanumeric() || "_.+-".contains(c))).unwrap_or(rest.len());
        if end == 0 {
            return Err(Failure::fault(format!("expected a word at `{rest}`")));
        }
        self.rest = &rest[end..];
        Ok(&rest[..end])
    }

    /// A quoted string without escapes.
    pub fn quoted(&mut self) -> Parsed<&'t str> {
        self.expect("\"")?;
        let (text, rest) = self.rest.split_once('"').ok_or_else(|| Failure::fault("expected a closing quote"))?;
        self.rest = rest;
        Ok(text)
    }

    /// `item (sep item)*` up to `close`.
    pub fn list<T>(&mut self, close: &str, mut item: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut out = vec![];
        while !self.eat(close) {
            if !out.is_empty() {
                self.expect(",")?;
            }
            out.push(item(self)?);
        }
        Ok(out)
    }

    /// A value.
    pub fn value(&mut self) -> Parsed<Value> {
        if self.eat("[") {
            let items = self.list("]", |p| if p.eat("(") { p.list(")", Self::value) } else { Ok(vec![p.value()?]) })?;
            return Ok(Value::List(Rc::new(RefCell::new(items))));
        }
        let word = self.word()?;
        let word = if word == "complex" { "c128" } else { word };
        let Some(dtype) = DType::from_name(word) else { return Ok(Value::Scalar(weak(word)?)) };
        if self.rest().starts_with('(') && dtype.is_complex() {
            return Ok(Value::Scalar(self.number(dtype)?));
        }
        if self.eat("(") {
            let value = self.number(dtype)?;
            self.expect(")")?;
            return Ok(Value::Scalar(value));
        }
        self.expect("[")?;
        let mut shape = vec![];
        let mut elements = vec![];
        self.nested(dtype, 0, &mut shape, &mut elements)?;
        let mut a = Array::from_elements(&shape, dtype, &elements)?;
        while self.eat(".") {
            a = self.modifier(a)?;
        }
        Ok(Value::Array(a))
    }

    fn number(&mut self, dtype: DType) -> Parsed<Scalar> {
        if let Some(part) = dtype.part() {
            self.expect("(")?;
            let re = self.number(part)?;
            self.expect(",")?;
            let im = self.number(part)?;
            self.expect(")")?;
            return crate::scalar::binary(&Op::Complex, re, im);
        }
        let word = self.word()?;
        let value = weak(word)?;
        // Straight from the text: by way of f64 an f32 would be rounded twice.
        match (dtype, value) {
            (DType::F32, _) => word.parse().map(Scalar::F32).map_err(|_| Failure::fault(format!("`{word}` is no f32"))),
            _ => value.cast(dtype),
        }
    }

    fn nested(&mut self, dtype: DType, depth: usize, shape: &mut Vec<i64>, elements: &mut Vec<Scalar>) -> Parsed<()> {
        if shape.len() == depth {
            shape.push(-1);
        }
        let items = self.list("]", |p| match p.eat("[") {
            true => p.nested(dtype, depth + 1, shape, elements),
            false => p.number(dtype).map(|e| elements.push(e)),
        })?;
        let n = items.len() as i64;
        if shape[depth] >= 0 && shape[depth] != n {
            return Err(Failure::fault("a ragged array"));
        }
        shape[depth] = n;
        Ok(())
    }

    fn modifier(&mut self, a: Array) -> Parsed<Array> {
        let size = a.dtype.size() as i64;
        let contiguous = |layout, spread: i64| {
            let strides = strides_of(&a.shape, a.dtype, layout).iter().map(|s| s * spread).collect();
            let bytes = vec![0xee; a.memory.to_bytes().len() * spread as usize];
            Array { memory: Memory::borrowed(bytes), offset: 0, dtype: a.dtype, shape: a.shape.clone(), strides }
        };
        let target = if self.eat("shape(") {
            let shape = self.list(")", |p| p.word()?.parse().map_err(|_| Failure::fault("a size is a number")))?;
            return Array::from_elements(&shape, a.dtype, &a.elements()?);
        } else if self.eat("F") {
            contiguous(Layout::F, 1)
        } else if self.eat("gap") {
            contiguous(Layout::C, 2)
        } else if self.eat("rev") {
            let mut t = contiguous(Layout::C, 1);
            t.strides.iter_mut().for_each(|s| *s = -*s);
            t.offset = (t.memory.to_bytes().len() as i64 - size).max(0);
            t
        } else {
            return Err(Failure::fault(format!("expected a modifier at `{}`", self.rest())));
        };
        for index in crate::array::indices(&a.shape) {
            target.store(&index, a.load(&index)?)?;
        }
        Ok(target)
    }
}

/// A Python scalar.
fn weak(word: &str) -> Parsed<Scalar> {
    Ok(match word {
        "true" => Scalar::Bool(true),
        "false" => Scalar::Bool(false),
        "none" => Scalar::None,
        _ => match word.parse::<i128>() {
            Ok(v) => Scalar::Int(DType::I64, v),
            Err(_) => Scalar::F64(word.parse().map_err(|_| Failure::fault(format!("`{word}` is no value")))?),
        },
    })
}

/// The text of a scalar without its dtype.
pub fn number(s: Scalar) -> String {
    match s {
        Scalar::Bool(v) => v.to_string(),
        Scalar::Int(_, v) => v.to_string(),
        Scalar::F16(v) | Scalar::F32(v) => format!("{v:?}"),
        Scalar::F64(v) => format!("{v:?}"),
        Scalar::C64(z) => format!("({:?}, {:?})", z.re, z.im),
        Scalar::C128(z) => format!("({:?}, {:?})", z.re, z.im),
        Scalar::None => "none".into(),
    }
}

/// The text of a value; what a scalar's dtype does not show is left out (pointers, owners).
pub fn print(v: &Value) -> String {
    match v {
        Value::Scalar(Scalar::None) => "none".into(),
        Value::Scalar(s @ (Scalar::C64(_) | Scalar::C128(_))) => {
            format!("{}{}", s.dtype().map_or("", DType::name), number(*s))
        }
        Value::Scalar(s) => format!("{}({})", s.dtype().map_or("", DType::name), number(*s)),
        Value::Array(a) => match a.elements() {
            Ok(elements) => format!("{}{}", a.dtype.name(), nested(a, &a.shape, &elements)),
            Err(failure) => failure.to_string(),
        },
        Value::Pointer(_) => "a pointer".into(),
        Value::Owner(_) => "an owner".into(),
        Value::Cell(_) => "a cell".into(),
        Value::List(items) => {
            let row = |item: &Vec<Value>| match &item[..] {
                [one] => print(one),
                all => format!("({})", all.iter().map(print).collect::<Vec<_>>().join(", ")),
            };
            format!("[{}]", items.borrow().iter().map(row).collect::<Vec<_>>().join(", "))
        }
    }
}

fn nested(a: &Array, shape: &[i64], elements: &[Scalar]) -> String {
    let explicit = a.shape.is_empty() || a.shape.contains(&0);
    let list = |items: Vec<String>| format!("[{}]", items.join(", "));
    if explicit {
        let sizes: Vec<String> = a.shape.iter().map(i64::to_string).collect();
        let elements = list(elements.iter().map(|&e| number(e)).collect());
        return format!("{elements}.shape({})", sizes.join(", "));
    }
    match shape {
        [] | [_] => list(elements.iter().map(|&e| number(e)).collect()),
        [n, inner @ ..] => {
            let chunk = elements.len() / *n as usize;
            list(elements.chunks(chunk).map(|c| nested(a, inner, c)).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_print_as_they_are_written() {
        for text in [
            "f32[[1.0, 2.0], [3.0, NaN]]",
            "c128[(1.0, 2.0), (0.5, inf)]",
            "f16[0.5]",
            "i64[7].shape()",
            "f64[].shape(0, 3)",
            "bool(true)",
            "none",
            "c64(1.5, -0.0)",
            "[i64(1), i64(2)]",
            "[(i64(1), f32(0.5))]",
            "[]",
        ] {
            assert_eq!(print(&Parser::new(text).value().unwrap()), text);
        }
    }

    #[test]
    fn storage_does_not_change_elements() {
        for storage in ["F", "rev", "gap", "gap.rev"] {
            let text = format!("i32[[1, 2, 3], [4, 5, 6]].{storage}");
            assert_eq!(print(&Parser::new(&text).value().unwrap()), "i32[[1, 2, 3], [4, 5, 6]]", "{storage}");
        }
    }
}
