//! Operators on what is no number: tuples, strings, None, ranges, functions.

use super::Infer;
use super::abs::{Abs, Absent};
use weft_diag::Diagnostic;
use weft_ir::attr::{BinOp, CmpOp, Const};
use weft_ir::{Op, Type, ValueId};

impl Infer<'_> {
    /// `a op b`, if one of them is no number or array.
    pub(super) fn object_binop(&mut self, op: BinOp, a: &Abs, b: &Abs) -> Result<Option<Abs>, Diagnostic> {
        Ok(Some(match (op, a, b) {
            (BinOp::Add, Abs::Tuple(x), Abs::Tuple(y)) => Abs::Tuple(x.iter().chain(y).cloned().collect()),
            (BinOp::Mul, Abs::Tuple(items), Abs::Const(Const::Int(n)))
            | (BinOp::Mul, Abs::Const(Const::Int(n)), Abs::Tuple(items)) => {
                if items.len() as i128 * n.max(&0) > 4096 {
                    return Err(self.refuse("a tuple of so many items is not supported").help("use an array"));
                }
                Abs::Tuple((0..*n).flat_map(|_| items.iter().cloned()).collect())
            }
            (BinOp::Add, Abs::Const(Const::Str(x)), Abs::Const(Const::Str(y))) => {
                Abs::Const(Const::Str(format!("{x}{y}")))
            }
            (BinOp::Add, x, y) if self.is_text(x) && self.is_text(y) => {
                let parts = vec![String::new(); 3];
                Abs::Format(parts, vec![(x.clone(), String::new()), (y.clone(), String::new())])
            }
            _ => return Ok(None),
        }))
    }

    fn is_text(&self, a: &Abs) -> bool {
        matches!(a, Abs::Const(Const::Str(_)) | Abs::Format(..) | Abs::Text(_))
    }

    /// The position of a string among those that are told apart at run time.
    pub(super) fn text_position(&mut self, a: &Abs) -> Result<ValueId, Diagnostic> {
        match a {
            Abs::Text(v) => Ok(*v),
            Abs::Const(Const::Str(text)) => {
                let known = self.found.strings.iter().position(|s| s == text);
                let at = known.unwrap_or_else(|| {
                    self.found.strings.push(text.clone());
                    self.found.strings.len() - 1
                });
                Ok(self.constant(Const::Int(at as i128), Type::PYINT))
            }
            other => Err(self.internal(&format!("{} among strings", self.describe(other)))),
        }
    }

    /// `a op b`, if it is about identity or membership, or one of them is no number or array.
    pub(super) fn object_compare(&mut self, op: CmpOp, a: &Abs, b: &Abs) -> Result<Option<Abs>, Diagnostic> {
        let known = |holds: bool| Ok(Some(Abs::Const(Const::Bool(holds))));
        match op {
            CmpOp::Is | CmpOp::IsNot => {
                let same = self.identical(a, b)?;
                return if op == CmpOp::Is { Ok(Some(same)) } else { self.logical_not(&same).map(Some) };
            }
            CmpOp::In | CmpOp::NotIn => {
                let found = self.contains(b, a)?;
                return if op == CmpOp::In { Ok(Some(found)) } else { self.logical_not(&found).map(Some) };
            }
            _ => {}
        }
        let equality = matches!(op, CmpOp::Eq | CmpOp::Ne);
        match (a, b) {
            (Abs::Tuple(x), Abs::Tuple(y)) => self.compare_tuples(op, x, y).map(Some),
            (Abs::List(..), Abs::List(..)) => self.compare_lists(op, a, b).map(Some),
            (Abs::List(..), x) | (x, Abs::List(..)) if self.as_tensor(x).is_some() => {
                let both = self.lists_as_arrays(&[a.clone(), b.clone()])?;
                self.compare(op, &both[0], &both[1]).map(Some)
            }
            (Abs::Tagged(Absent::None, _, inner), other) | (other, Abs::Tagged(Absent::None, _, inner))
                if equality && (self.as_tensor(inner).is_some() || self.holds_array(other)) =>
            {
                let d = self.refuse(format!("`{}` of what may be None beside an array is not supported", op.text()));
                Err(d.help("its result is an array or a bool: ask `is None` first"))
            }
            (Abs::Tagged(Absent::None, p, x), Abs::Tagged(Absent::None, q, y)) if equality => {
                let (p, q) = (Abs::Value(*p), Abs::Value(*q));
                let values = self.equals(x, y)?;
                let values = self.both(&q, &values)?;
                let (there, absent) = (self.both(&p, &values)?, self.logical_not(&q)?);
                let (not_there, there) = (self.logical_not(&p)?, there);
                let absent = self.both(&not_there, &absent)?;
                let same = self.either(&absent, &there)?;
                if op == CmpOp::Eq { Ok(Some(same)) } else { self.logical_not(&same).map(Some) }
            }
            (Abs::Tagged(Absent::None, flag, inner), other) | (other, Abs::Tagged(Absent::None, flag, inner))
                if equality =>
            {
                let there = Abs::Value(*flag);
                let same = match other {
                    Abs::Const(Const::None) => self.logical_not(&there)?,
                    other => {
                        let same = self.equals(inner, other)?;
                        self.both(&there, &same)?
                    }
                };
                if op == CmpOp::Eq { Ok(Some(same)) } else { self.logical_not(&same).map(Some) }
            }
            (Abs::Tagged(Absent::None, ..), _) | (_, Abs::Tagged(Absent::None, ..)) => {
                let text = op.text();
                let (a, b) = self.both_present(a, b, |a, b| {
                    format!("'{text}' not supported between instances of '{a}' and '{b}'")
                })?;
                self.compare(op, &a, &b).map(Some)
            }
            (Abs::Const(Const::Str(x)), Abs::Const(Const::Str(y))) => known(match op {
                CmpOp::Eq => x == y,
                CmpOp::Ne => x != y,
                CmpOp::Lt => x < y,
                CmpOp::Le => x <= y,
                CmpOp::Gt => x > y,
                _ => x >= y,
            }),
            (Abs::Text(_), Abs::Text(_) | Abs::Const(Const::Str(_))) | (Abs::Const(Const::Str(_)), Abs::Text(_)) => {
                if !equality {
                    return Err(self
                        .refuse("the order of strings that are known only at run time is not supported")
                        .help("compare numbers instead"));
                }
                let (x, y) = (self.text_position(a)?, self.text_position(b)?);
                Ok(Some(Abs::Value(self.test(op, x, y))))
            }
            // Things of different kinds are never equal; what they are is known.
            (x, y) if equality && (self.sort(x) != Kind::Number || self.sort(y) != Kind::Number) => {
                if self.as_tensor(x).is_some() || self.as_tensor(y).is_some() {
                    return Ok(None);
                }
                match (self.sort(x), self.sort(y)) {
                    (Kind::Unknown, _) | (_, Kind::Unknown) => Ok(None),
                    (p, q) if p != q => known(op == CmpOp::Ne),
                    _ => known((x == y) == (op == CmpOp::Eq)),
                }
            }
            _ => Ok(None),
        }
    }

    /// Whether it is an array, or may be one.
    fn holds_array(&self, a: &Abs) -> bool {
        match a {
            Abs::Tagged(_, _, inner) => self.as_tensor(inner).is_some(),
            a => self.as_tensor(a).is_some(),
        }
    }

    fn sort(&self, a: &Abs) -> Kind {
        match a {
            Abs::Const(Const::None) => Kind::None,
            Abs::Const(Const::Str(_)) | Abs::Text(_) => Kind::Str,
            Abs::Const(Const::Ellipsis) => Kind::Ellipsis,
            Abs::Tuple(_) => Kind::Tuple,
            Abs::List(..) => Kind::List,
            Abs::Function(_) | Abs::UserFunction(_) | Abs::Closure(_) | Abs::ExceptionClass(_) => Kind::Function,
            a if self.type_of(a).is_some_and(|t| t.is_scalar()) => Kind::Number,
            _ => Kind::Unknown,
        }
    }

    /// `a is b`.
    fn identical(&mut self, a: &Abs, b: &Abs) -> Result<Abs, Diagnostic> {
        let none = |x: &Abs| matches!(x, Abs::Const(Const::None));
        match (a, b) {
            (Abs::Tagged(Absent::None, flag, _), n) | (n, Abs::Tagged(Absent::None, flag, _)) if none(n) => {
                self.logical_not(&Abs::Value(*flag))
            }
            (a, b) if none(a) || none(b) => Ok(Abs::Const(Const::Bool(none(a) && none(b)))),
            (Abs::Value(x), Abs::Value(y)) | (Abs::List(x, _), Abs::List(y, _)) if x == y => {
                Ok(Abs::Const(Const::Bool(true)))
            }
            (a, b) if self.sort(a) == Kind::Function || self.sort(b) == Kind::Function => {
                Ok(Abs::Const(Const::Bool(a == b)))
            }
            (Abs::Const(Const::Bool(x)), Abs::Const(Const::Bool(y))) => Ok(Abs::Const(Const::Bool(x == y))),
            (x, known @ Abs::Const(Const::Bool(_))) | (known @ Abs::Const(Const::Bool(_)), x)
                if self.type_of(x) == Some(Type::PYBOOL) =>
            {
                self.equals(x, known)
            }
            (x, Abs::Const(Const::Bool(_))) | (Abs::Const(Const::Bool(_)), x) if self.type_of(x).is_some() => {
                Ok(Abs::Const(Const::Bool(false)))
            }
            _ => Err(self.refuse("`is` is supported only with None").help("compare with ==")),
        }
    }

    /// `a == b`, as a truth value.
    pub(super) fn equals(&mut self, a: &Abs, b: &Abs) -> Result<Abs, Diagnostic> {
        let same = match self.object_compare(CmpOp::Eq, a, b)? {
            Some(same) => same,
            None => self.compare(CmpOp::Eq, a, b)?,
        };
        self.truth(&same)
    }

    /// `a and b` of truth values, both of which are known.
    pub(super) fn both(&mut self, a: &Abs, b: &Abs) -> Result<Abs, Diagnostic> {
        self.logic(Op::And, true, a, b)
    }

    /// `a or b` of truth values, both of which are known.
    pub(super) fn either(&mut self, a: &Abs, b: &Abs) -> Result<Abs, Diagnostic> {
        self.logic(Op::Or, false, a, b)
    }

    fn logic(&mut self, op: Op, neutral: bool, a: &Abs, b: &Abs) -> Result<Abs, Diagnostic> {
        for (x, y) in [(a, b), (b, a)] {
            if let Abs::Const(Const::Bool(known)) = x {
                return Ok(if *known == neutral { y.clone() } else { Abs::Const(Const::Bool(!neutral)) });
            }
        }
        let (x, y): (ValueId, ValueId) = (self.materialise(a)?, self.materialise(b)?);
        Ok(Abs::Value(self.emit(op, &[x, y], Type::PYBOOL)))
    }

    /// Tuples compare item by item: the first difference decides.
    fn compare_tuples(&mut self, op: CmpOp, x: &[Abs], y: &[Abs]) -> Result<Abs, Diagnostic> {
        if matches!(op, CmpOp::Eq | CmpOp::Ne) {
            let mut same = Abs::Const(Const::Bool(x.len() == y.len()));
            if x.len() == y.len() {
                for (a, b) in x.iter().zip(y) {
                    let here = self.equals(a, b)?;
                    same = self.both(&same, &here)?;
                }
            }
            return if op == CmpOp::Eq { Ok(same) } else { self.logical_not(&same) };
        }
        let (Some((a, x)), Some((b, y))) = (x.split_first(), y.split_first()) else {
            let holds = match op {
                CmpOp::Lt => x.len() < y.len(),
                CmpOp::Le => x.len() <= y.len(),
                CmpOp::Gt => x.len() > y.len(),
                _ => x.len() >= y.len(),
            };
            return Ok(Abs::Const(Const::Bool(holds)));
        };
        let strict = if matches!(op, CmpOp::Lt | CmpOp::Le) { CmpOp::Lt } else { CmpOp::Gt };
        let same = self.equals(a, b)?;
        if may_be_none(a) || may_be_none(b) || x.iter().chain(y).any(may_be_none) {
            // None has no order: only the first items that differ are asked for theirs.
            return self.choose_truth(&same, |s| s.compare_tuples(op, x, y), |s| s.ordered(strict, a, b));
        }
        let decided = self.ordered(strict, a, b)?;
        let rest = self.compare_tuples(op, x, y)?;
        let later = self.both(&same, &rest)?;
        self.either(&decided, &later)
    }

    /// `a < b` or `a > b`, as a truth value.
    fn ordered(&mut self, op: CmpOp, a: &Abs, b: &Abs) -> Result<Abs, Diagnostic> {
        let holds = match self.object_compare(op, a, b)? {
            Some(holds) => holds,
            None => self.compare(op, a, b)?,
        };
        self.truth(&holds)
    }

    /// `then()` where the condition, a truth value, holds, else `other()`; both are truth values, and only one is computed.
    fn choose_truth(
        &mut self,
        condition: &Abs,
        then: impl FnOnce(&mut Self) -> Result<Abs, Diagnostic>,
        other: impl FnOnce(&mut Self) -> Result<Abs, Diagnostic>,
    ) -> Result<Abs, Diagnostic> {
        if let Abs::Const(Const::Bool(known)) = condition {
            return if *known { then(self) } else { other(self) };
        }
        let condition = self.materialise(condition)?;
        let regions = [self.out.new_region(), self.out.new_region()];
        let refined = self.refined.clone();
        self.undecided += 1;
        let first = self.inside(regions[0], |s| s.yield_truth(then));
        self.refined = refined.clone();
        let second = self.inside(regions[1], |s| s.yield_truth(other));
        self.refined = refined;
        self.undecided -= 1;
        first.and(second)?;
        let op = self.builder().op(Op::ScfIf, &[condition], &[Type::PYBOOL], &regions);
        Ok(Abs::Value(self.out.op(op).results[0]))
    }

    fn yield_truth(&mut self, f: impl FnOnce(&mut Self) -> Result<Abs, Diagnostic>) -> Result<(), Diagnostic> {
        let truth = f(self)?;
        let truth = self.materialise(&truth)?;
        self.effect(Op::Yield, &[truth]);
        Ok(())
    }

    /// `item in container`.
    fn contains(&mut self, container: &Abs, item: &Abs) -> Result<Abs, Diagnostic> {
        match container {
            Abs::Tuple(items) => {
                let mut found = Abs::Const(Const::Bool(false));
                for x in items {
                    // The same object is found, also if it is not equal to itself.
                    if item == x {
                        return Ok(Abs::Const(Const::Bool(true)));
                    }
                    let here = self.equals(item, x)?;
                    found = self.either(&found, &here)?;
                }
                Ok(found)
            }
            Abs::Range(bounds) => {
                let low = self.compare(CmpOp::Ge, item, &bounds[0])?;
                let high = self.compare(CmpOp::Lt, item, &bounds[1])?;
                let inside = self.both(&low, &high)?;
                if bounds[2] == Abs::Const(Const::Int(1)) {
                    return Ok(inside);
                }
                Err(self.refuse("`in` with a range of another step than 1 is not supported yet"))
            }
            Abs::Const(Const::Str(text)) => match item {
                Abs::Const(Const::Str(part)) => Ok(Abs::Const(Const::Bool(text.contains(part.as_str())))),
                other => Err(self.typing(format!("'in <string>' requires string, not {}", self.describe(other)))),
            },
            other => {
                for class in self.classes_of(other) {
                    let name = format!("{class}.__contains__");
                    if super::library::has(&name) {
                        return self.call(&Abs::Function(name), &[other.clone(), item.clone()], &[]);
                    }
                }
                Err(self.typing(format!("argument of type '{}' is not iterable", self.describe(other))))
            }
        }
    }
}

/// Whether it is None, or may be.
fn may_be_none(a: &Abs) -> bool {
    match a {
        Abs::Tagged(Absent::None, ..) | Abs::Const(Const::None) => true,
        Abs::Tuple(items) => items.iter().any(may_be_none),
        _ => false,
    }
}

/// What sort of thing an abstract value is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    None,
    Str,
    Ellipsis,
    Tuple,
    List,
    Function,
    Number,
    Unknown,
}
