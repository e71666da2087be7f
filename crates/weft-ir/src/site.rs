//! Raise sites: what an exception will say, kept beside the code so that code carries no strings.
//!
//! A `raise` op names a site by index and passes the values its message shows. The message
//! template consumes them in order: `{i}` an integer, `{u}` an unsigned one, `{b}` a bool, `{f}` a float (its bits), `{f32}`
//! a float32 (widened), each with an optional format as in an f-string (`{f:.3f}`); `{shape n}` the next `n` integers as a
//! tuple. `{{` and `}}` are braces.

use crate::show;
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
    ValueError, TypeError, IndexError, OverflowError, ZeroDivisionError, UnboundLocalError, UnsupportedError, BaseException, Exception, ArithmeticError, AssertionError, AttributeError, BufferError, EOFError, FloatingPointError, ImportError, KeyError, KeyboardInterrupt, LookupError, MemoryError, NameError, NotImplementedError, OSError, RecursionError, RuntimeError, StopIteration, SystemError, UnicodeError, UFuncTypeError, LinAlgError,
}

impl ExcClass {
    /// The class with this name.
    pub fn from_name(name: &str) -> Option<ExcClass> {
        ExcClass::ALL.iter().copied().find(|c| c.name() == name)
    }

    /// The class it derives from; none for the root.
    pub fn parent(self) -> Option<ExcClass> {
        use ExcClass::*;
        Some(match self {
            BaseException => return None,
            Exception | KeyboardInterrupt => BaseException,
            OverflowError | ZeroDivisionError | FloatingPointError => ArithmeticError,
            IndexError | KeyError => LookupError,
            UnboundLocalError => NameError,
            NotImplementedError | RecursionError => RuntimeError,
            UnicodeError | LinAlgError => ValueError,
            UFuncTypeError => TypeError,
            _ => Exception,
        })
    }

    /// Whether it is `other` or derives from it.
    pub fn is_a(self, other: ExcClass) -> bool {
        self == other || self.parent().is_some_and(|p| p.is_a(other))
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
    /// The calls of inlined functions that led here, outermost first.
    pub callers: Vec<Span>,
}

impl Site {
    /// Most values a raise may carry: the slots of the exception record.
    pub const MAX_ARGS: usize = 16;

    /// What is raised where functions call each other too deeply.
    pub fn recursion() -> Site {
        let template = "maximum recursion depth exceeded".into();
        Site { class: ExcClass::RecursionError, template, span: Span::NONE, user: None, callers: vec![] }
    }

    /// The message for the values a raise stored.
    pub fn message(&self, args: &[u64]) -> String {
        let mut out = String::new();
        let mut args = args.iter();
        let mut rest = self.template.as_str();
        while let Some(at) = rest.find(['{', '}']) {
            out.push_str(&rest[..at]);
            let brace = &rest[at..at + 1];
            if rest[at + 1..].starts_with(brace) {
                out.push_str(brace);
                rest = &rest[at + 2..];
                continue;
            }
            let Some(close) = rest[at..].find('}') else { break };
            let slot = &rest[at + 1..at + close];
            rest = &rest[at + close + 1..];
            if let Some(n) = slot.strip_prefix("shape ").and_then(|n| n.parse().ok()) {
                let dims: Vec<String> = args.by_ref().take(n).map(|&v| (v as i64).to_string()).collect();
                let comma = if dims.len() == 1 { "," } else { "" };
                out.push_str(&format!("({}{comma})", dims.join(",")));
            } else {
                let shown = args.next().and_then(|&v| show::slot(slot, v));
                out.push_str(shown.as_deref().unwrap_or("?"));
            }
        }
        out.push_str(rest);
        out
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
            callers: vec![],
        };
        assert_eq!(site.message(&[3, 4, 5, -7i64 as u64, 1.5f64.to_bits()]), "shapes (3,) (4,5): -7 and 1.5");
    }
}
