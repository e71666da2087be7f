//! Builtins that are about iteration, types and text.

use super::Infer;
use super::abs::{Abs, Absent, Iter};
use weft_diag::Diagnostic;
use weft_ir::attr::Const;
use weft_ir::{ExcClass, Op};

impl Infer<'_> {
    pub(super) fn builtin_len(&mut self, x: &Abs) -> Result<Abs, Diagnostic> {
        match x {
            Abs::Tuple(_) | Abs::Range(_) => self.iter_len(x),
            Abs::Const(Const::Str(s)) => Ok(Abs::Const(Const::Int(s.chars().count() as i128))),
            x if self.as_list(x).is_some() => self.list_len(x),
            x => match self.as_tensor(x) {
                Some(t) if self.tensor(t).is_some_and(|t| t.rank() > 0) => Ok(self.size(t, 0)),
                Some(_) => Err(self.typing("len() of unsized object")),
                None => Err(self.typing(format!("object of type '{}' has no len()", self.describe(x)))),
            },
        }
    }

    /// `enumerate`, `zip`, `reversed`, `map`, `filter`.
    pub(super) fn iterator(&mut self, name: &str, args: &[Abs]) -> Result<Abs, Diagnostic> {
        let iter = match (name, args) {
            ("enumerate", [it]) => Iter::Enumerate(self.iterable(it)?, Abs::Const(Const::Int(0))),
            ("enumerate", [it, start]) => Iter::Enumerate(self.iterable(it)?, start.clone()),
            ("zip", all) => Iter::Zip(all.iter().map(|a| self.iterable(a)).collect::<Result<_, _>>()?),
            ("reversed", [Abs::Iter(it)]) if !matches!(**it, Iter::Parallel(_)) => {
                return Err(self.typing(format!("'{}' object is not reversible", self.describe(&args[0]))));
            }
            ("reversed", [it]) => {
                let it = self.iterable(it)?;
                let len = self.iter_len(&it)?;
                Iter::Reversed(it, len)
            }
            ("map", [f, all @ ..]) if !all.is_empty() => {
                Iter::Map(f.clone(), all.iter().map(|a| self.iterable(a)).collect::<Result<_, _>>()?)
            }
            ("filter", [f, it]) => Iter::Filter(f.clone(), self.iterable(it)?),
            _ => return Err(self.typing(format!("{name}() does not take {}", super::call::counted(args.len())))),
        };
        Ok(Abs::Iter(Box::new(iter)))
    }

    /// A value that has no items, or none that can be had.
    pub(super) fn not_iterable(&self, a: &Abs) -> Diagnostic {
        if matches!(a, Abs::Const(Const::Str(_)) | Abs::Format(..)) {
            return self.refuse("the characters of a string are not supported yet").help("use a tuple of strings");
        }
        self.typing(format!("'{}' object is not iterable", self.describe(a)))
    }

    /// Something with a length and items: generators become lists first.
    fn iterable(&mut self, a: &Abs) -> Result<Abs, Diagnostic> {
        match a {
            Abs::Iter(it) if matches!(**it, Iter::Generator(_) | Iter::Filter(..)) => self.list_of(a),
            Abs::Tuple(_) | Abs::Range(_) | Abs::Iter(_) => Ok(a.clone()),
            a if self.as_tensor(a).is_some() || self.as_list(a).is_some() => Ok(a.clone()),
            other => Err(self.not_iterable(other)),
        }
    }

    /// Calls of builtins by keyword.
    pub(super) fn call_with_keywords(
        &mut self,
        name: &str,
        args: &[Abs],
        keywords: &[String],
    ) -> Result<Abs, Diagnostic> {
        let short = name.strip_prefix("builtins.").unwrap_or(name);
        let by_keyword: Vec<&str> = keywords.iter().map(String::as_str).collect();
        match (short, by_keyword.as_slice(), args) {
            ("enumerate", ["start"], [it, start]) => self.iterator("enumerate", &[it.clone(), start.clone()]),
            ("zip", ["strict"], [all @ .., Abs::Const(Const::Bool(false))]) => self.iterator("zip", all),
            _ => Err(self.typing(format!("{short}() takes no keyword argument `{}`", keywords.join("`, `")))),
        }
    }

    /// `isinstance(x, classes)`: types are known, and so is the answer.
    pub(super) fn is_instance(&mut self, x: &Abs, classes: &Abs) -> Result<Abs, Diagnostic> {
        if let Abs::Tagged(Absent::None, there, inner) = x {
            let (value, none) =
                (self.is_instance(inner, classes)?, self.is_instance(&Abs::Const(Const::None), classes)?);
            return match (value == none, &value) {
                (true, _) => Ok(value),
                (false, Abs::Const(Const::Bool(true))) => Ok(Abs::Value(*there)),
                _ => self.logical_not(&Abs::Value(*there)),
            };
        }
        let list = match classes {
            Abs::Tuple(items) => items.clone(),
            one => vec![one.clone()],
        };
        let own = self.classes_of(x);
        let mut holds = false;
        for class in &list {
            let Abs::Function(name) = class else {
                let message = "isinstance() arg 2 must be a type, a tuple of types, or a union";
                return Err(self.typing(message).label(self.describe(class)));
            };
            holds |= own.iter().any(|c| derives(c, name));
        }
        Ok(Abs::Const(Const::Bool(holds)))
    }

    /// `print(…)` of numbers, strings and tuples of them.
    pub(super) fn print(&mut self, args: &[Abs], keywords: &[String]) -> Result<Abs, Diagnostic> {
        if self.is_kernel() || self.body.is_some() {
            return Err(self
                .refuse("print() in a kernel is not supported")
                .help("return the value and print it outside"));
        }
        let (shown, named) = args.split_at(args.len() - keywords.len());
        let (mut sep, mut end) = (" ".to_string(), "\n".to_string());
        for (keyword, value) in keywords.iter().zip(named) {
            match (keyword.as_str(), value) {
                ("sep", Abs::Const(Const::Str(s))) => sep = s.clone(),
                ("end", Abs::Const(Const::Str(s))) => end = s.clone(),
                ("sep" | "end", Abs::Const(Const::None)) => {}
                _ => return Err(self.refuse(format!("print() with `{keyword}` is not supported in compiled code"))),
            }
        }
        let escape = |text: &str| text.replace('{', "{{").replace('}', "}}");
        let (mut template, mut values) = (String::new(), vec![]);
        for (k, a) in shown.iter().enumerate() {
            if k > 0 {
                template.push_str(&escape(&sep));
            }
            self.show(a, "", &mut template, &mut values)?;
        }
        template.push_str(&escape(&end));
        let site = self.site(ExcClass::Exception, template);
        self.effect(Op::Print { site }, &values);
        Ok(Abs::Const(Const::None))
    }
}

/// Whether a class is `other` or derives from it.
fn derives(class: &str, other: &str) -> bool {
    if class == other || other == "builtins.object" {
        return true;
    }
    let parents: &[&str] = match class {
        "builtins.bool" => &["builtins.int"],
        "numpy.float64" => &["builtins.float", "numpy.floating"],
        "numpy.complex128" => &["builtins.complex", "numpy.complexfloating"],
        "numpy.float16" | "numpy.float32" => &["numpy.floating"],
        "numpy.complex64" => &["numpy.complexfloating"],
        "numpy.int8" | "numpy.int16" | "numpy.int32" | "numpy.int64" => &["numpy.signedinteger"],
        "numpy.uint8" | "numpy.uint16" | "numpy.uint32" | "numpy.uint64" => &["numpy.unsignedinteger"],
        "numpy.signedinteger" | "numpy.unsignedinteger" => &["numpy.integer"],
        "numpy.floating" | "numpy.complexfloating" => &["numpy.inexact"],
        "numpy.integer" | "numpy.inexact" => &["numpy.number"],
        "numpy.number" | "numpy.bool" => &["numpy.generic"],
        _ => &[],
    };
    parents.iter().any(|p| derives(p, other))
}
