//! Raise sites: what an exception will say, kept beside the code so that code carries no strings.
//!
//! A `raise` op names a site by index and passes the values its message shows. The message
//! template consumes them in order: `{i}` an integer, `{u}` an unsigned one, `{b}` a bool, `{f}` a float (its bits), `{f32}`
//! a float32 (widened), each with an optional format as in an f-string (`{f:.3f}`); `{shape n}` the next `n` integers as a
//! tuple; `{s a,b}` an integer that is the position of a text among these. `{{` and `}}` are braces.
//!
//! A template is the arguments of the exception, with `{,}` between them; nothing at all is no argument. Text with its slots is
//! one. `{=…}` is one that is no text: `{=i}` and the like a number, `{=int8}` one of NumPy's, `{=None}`, `{=True}` and `{=7}`
//! what they say, and `{(}` … `{)}` a tuple. A slot that begins with `?` consumes a bool first, and is None where that is false.
//! `{''}` is no text, which makes an argument of nothing.

use crate::show;
use crate::types::DType;
use weft_diag::Span;

macro_rules! classes {
    ($($name:ident),* $(,)?) => {
        /// The class of a raised exception.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs)]
        pub enum ExcClass { $($name),* }

        impl ExcClass {
            /// Every class; their numbers are their positions.
            pub const ALL: &'static [ExcClass] = &[$(ExcClass::$name),*];

            /// Python's name of it.
            pub fn name(self) -> &'static str {
                match self { $(ExcClass::$name => stringify!($name)),* }
            }
        }
    };
}

classes! {
    ValueError, TypeError, IndexError, OverflowError, ZeroDivisionError, UnboundLocalError, UnsupportedError, BaseException, Exception, ArithmeticError, AssertionError, AttributeError, BufferError, EOFError, FloatingPointError, ImportError, KeyError, KeyboardInterrupt, LookupError, MemoryError, NameError, NotImplementedError, OSError, RecursionError, RuntimeError, StopIteration, SystemError, UnicodeError, UFuncTypeError, LinAlgError, AxisError,
}

impl ExcClass {
    /// The class with this name.
    pub fn from_name(name: &str) -> Option<ExcClass> {
        ExcClass::ALL.iter().copied().find(|c| c.name() == name)
    }

    /// The classes it derives from; none for the root.
    pub fn parents(self) -> &'static [ExcClass] {
        use ExcClass::*;
        match self {
            BaseException => &[],
            Exception | KeyboardInterrupt => &[BaseException],
            OverflowError | ZeroDivisionError | FloatingPointError => &[ArithmeticError],
            IndexError | KeyError => &[LookupError],
            UnboundLocalError => &[NameError],
            NotImplementedError | RecursionError => &[RuntimeError],
            UnicodeError | LinAlgError => &[ValueError],
            UFuncTypeError => &[TypeError],
            AxisError => &[ValueError, IndexError],
            _ => &[Exception],
        }
    }

    /// The number of a class of the user's; those of builtin classes are their positions.
    pub fn number(user: u32) -> u32 {
        ExcClass::ALL.len() as u32 + user
    }

    /// Whether it is `other` or derives from it.
    pub fn is_a(self, other: ExcClass) -> bool {
        self == other || self.parents().iter().any(|p| p.is_a(other))
    }
}

/// One place that can raise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// What is raised.
    pub class: ExcClass,
    /// Message with slots.
    pub template: String,
    /// The user's expression.
    pub span: Span,
    /// An exception class of the user's, by its number in the resolver's table; `class` is then its builtin base.
    pub user: Option<u32>,
    /// Other classes that this one derives from, by [`ExcClass::number`]: the user's, and builtin ones beside `class`.
    pub also: Vec<u32>,
    /// The calls of inlined functions that led here, outermost first.
    pub callers: Vec<Span>,
}

impl Site {
    /// Most values a raise may carry: the slots of the exception record.
    pub const MAX_ARGS: usize = 16;

    /// What is raised where functions call each other too deeply.
    pub fn recursion() -> Site {
        let template = "maximum recursion depth exceeded".into();
        Site { class: ExcClass::RecursionError, template, span: Span::NONE, user: None, also: vec![], callers: vec![] }
    }

    /// Whether a handler of these classes (by number) wants what is raised here.
    pub fn is_a(&self, classes: &[u32]) -> bool {
        let is = |&n: &u32| {
            ExcClass::ALL.get(n as usize).is_some_and(|&wanted| self.class.is_a(wanted)) || self.also.contains(&n)
        };
        classes.iter().any(is)
    }

    /// The message for the values a raise stored: what `str` of the exception gives, but for KeyError.
    pub fn message(&self, args: &[u64]) -> String {
        match self.arguments(args).as_slice() {
            [] => String::new(),
            [one] => one.to_string(),
            all => Argument::Tuple(all.to_vec()).to_string(),
        }
    }

    /// The exception's arguments for the values a raise stored.
    pub fn arguments(&self, args: &[u64]) -> Vec<Argument> {
        let mut filling = Filling { values: args.iter(), done: vec![vec![]], text: None };
        let mut rest = self.template.as_str();
        while let Some(at) = rest.find(['{', '}']) {
            filling.push(&rest[..at]);
            let brace = &rest[at..at + 1];
            if rest[at + 1..].starts_with(brace) {
                filling.push(brace);
                rest = &rest[at + 2..];
                continue;
            }
            let Some(close) = rest[at..].find('}') else { break };
            filling.slot(&rest[at + 1..at + close]);
            rest = &rest[at + close + 1..];
        }
        filling.push(rest);
        filling.end_argument();
        filling.done.swap_remove(0)
    }
}

/// An argument of an exception.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// `None`.
    None,
    /// A bool.
    Bool(bool),
    /// An int.
    Int(i128),
    /// A float.
    Float(f64),
    /// A number of NumPy's; floats as their double.
    Num(DType, u64),
    /// A text.
    Text(String),
    /// A tuple.
    Tuple(Vec<Argument>),
}

impl std::fmt::Display for Argument {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Argument::None => f.write_str("None"),
            Argument::Bool(v) => f.write_str(if *v { "True" } else { "False" }),
            Argument::Int(v) => write!(f, "{v}"),
            Argument::Float(v) => f.write_str(&show::repr(*v)),
            Argument::Num(d, bits) => f.write_str(&show::slot(kind_of(*d), *bits).unwrap_or_default()),
            Argument::Text(text) => f.write_str(text),
            Argument::Tuple(items) => {
                let shown: Vec<String> = items
                    .iter()
                    .map(|item| match item {
                        Argument::Text(text) => show::quoted(text),
                        Argument::Num(DType::Bool, _) => format!("np.{item}_"),
                        Argument::Num(d, _) => format!("np.{}({item})", d.numpy_name()),
                        item => item.to_string(),
                    })
                    .collect();
                write!(f, "({}{})", shown.join(", "), if items.len() == 1 { "," } else { "" })
            }
        }
    }
}

/// The slot that shows a number of NumPy's.
fn kind_of(d: DType) -> &'static str {
    match d {
        DType::Bool => "b",
        DType::F32 => "f32",
        DType::U64 => "u",
        d if d.is_int() => "i",
        _ => "f",
    }
}

/// A template being filled.
struct Filling<'a> {
    values: std::slice::Iter<'a, u64>,
    /// Arguments so far; the items so far of each tuple that is open.
    done: Vec<Vec<Argument>>,
    /// The text being put together.
    text: Option<String>,
}

impl Filling<'_> {
    fn push(&mut self, text: &str) {
        if !text.is_empty() {
            self.text.get_or_insert_default().push_str(text);
        }
    }

    fn argument(&mut self, argument: Argument) {
        self.done.last_mut().into_iter().for_each(|all| all.push(argument.clone()));
    }

    fn end_argument(&mut self) {
        if let Some(text) = self.text.take() {
            self.argument(Argument::Text(text));
        }
    }

    fn slot(&mut self, slot: &str) {
        match slot {
            "," => self.end_argument(),
            "''" => drop(self.text.get_or_insert_default()),
            "(" => self.done.push(vec![]),
            ")" => {
                self.end_argument();
                let items = if self.done.len() > 1 { self.done.pop() } else { None };
                self.argument(Argument::Tuple(items.unwrap_or_default()));
            }
            slot => match slot.strip_prefix('=') {
                Some(value) => {
                    let value = self.value(value);
                    self.argument(value);
                }
                None => {
                    let shown = self.shown(slot);
                    self.text.get_or_insert_default().push_str(&shown);
                }
            },
        }
    }

    /// Whether a slot that may be None is there, and the slot itself. What is not there is passed over.
    fn optional<'s>(&mut self, slot: &'s str) -> (bool, &'s str) {
        match slot.strip_prefix('?') {
            Some(slot) => {
                let there = self.values.next().is_some_and(|v| v & 1 == 1);
                if !there {
                    self.values.next();
                }
                (there, slot)
            }
            None => (true, slot),
        }
    }

    fn shown(&mut self, slot: &str) -> String {
        let (there, slot) = self.optional(slot);
        if !there {
            return "None".into();
        }
        if let Some(n) = slot.strip_prefix("shape ").and_then(|n| n.parse().ok()) {
            let dims: Vec<String> = self.values.by_ref().take(n).map(|&v| (v as i64).to_string()).collect();
            let comma = if dims.len() == 1 { "," } else { "" };
            return format!("({}{comma})", dims.join(","));
        }
        let value = self.values.next().copied();
        let shown = match slot.strip_prefix('s').and_then(|rest| rest.split_once(' ')) {
            Some((conversion, texts)) => {
                let text = value.and_then(|k| texts.split(',').nth(k as usize)).map(show::unescaped);
                text.map(|text| if conversion == "!r" { show::quoted(&text) } else { text })
            }
            None => value.and_then(|v| show::slot(slot, v)),
        };
        shown.unwrap_or_else(|| "?".into())
    }

    fn value(&mut self, kind: &str) -> Argument {
        let (there, kind) = self.optional(kind);
        match kind {
            _ if !there => return Argument::None,
            "None" => return Argument::None,
            "True" | "False" => return Argument::Bool(kind == "True"),
            kind => {
                if let Ok(n) = kind.parse() {
                    return Argument::Int(n);
                }
            }
        }
        if kind.starts_with("s ") {
            return Argument::Text(self.shown(kind));
        }
        let bits = self.values.next().copied().unwrap_or(0);
        match kind {
            "b" => Argument::Bool(bits & 1 == 1),
            "f" => Argument::Float(f64::from_bits(bits)),
            "i" => Argument::Int((bits as i64).into()),
            name => match DType::ALL.into_iter().find(|d| d.numpy_name() == name) {
                Some(d) => Argument::Num(d, bits),
                None => Argument::Text("?".into()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_take_their_slots_in_order() {
        let site = Site {
            class: ExcClass::ValueError,
            template: "shapes {shape 1} {shape 2}: {i} and {f}".into(),
            span: Span::NONE,
            user: None,
            also: vec![],
            callers: vec![],
        };
        assert_eq!(site.message(&[3, 4, 5, -7i64 as u64, 1.5f64.to_bits()]), "shapes (3,) (4,5): -7 and 1.5");
    }

    #[test]
    fn arguments_keep_their_types() {
        let template = "no {s up,do%2cwn}{,}{=i}{,}{=?f}{,}{(}{=int8}{,}{''}{)}{,}{=None}".into();
        let site = Site { template, ..Site::recursion() };
        let values = [1, -7i64 as u64, 0, 0, 3];
        let tuple = Argument::Tuple(vec![Argument::Num(DType::I8, 3), Argument::Text(String::new())]);
        let texts = Argument::Text("no do,wn".into());
        assert_eq!(site.arguments(&values), [texts, Argument::Int(-7), Argument::None, tuple, Argument::None]);
        assert_eq!(site.message(&values), "('no do,wn', -7, None, (np.int8(3), ''), None)");
        assert_eq!(Site { template: String::new(), ..Site::recursion() }.arguments(&[]), []);
    }
}
