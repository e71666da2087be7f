//! Expressions: the parser's tree → ours.

use ruff_python_ast::{self as ast, Number};
use ruff_text_size::{Ranged, TextRange};
use weft_diag::Diagnostic;

use crate::convert::Converter;
use crate::scope::{Names, target_names};
use crate::tree::{BinOp, BoolOp, CmpOp, Comprehension, ComprehensionLoop, Constant, Expr, ExprKind, Keyword, UnaryOp};

impl Converter<'_> {
    pub(crate) fn expr(&mut self, expr: &ast::Expr) -> Result<Expr, Diagnostic> {
        let span = self.span(expr.range());
        Ok(Expr { span, kind: self.expr_kind(expr)? })
    }

    pub(crate) fn exprs(&mut self, exprs: &[ast::Expr]) -> Result<Vec<Expr>, Diagnostic> {
        exprs.iter().map(|e| self.expr(e)).collect()
    }

    pub(crate) fn optional(&mut self, expr: Option<&ast::Expr>) -> Result<Option<Expr>, Diagnostic> {
        expr.map(|e| self.expr(e)).transpose()
    }

    fn boxed(&mut self, expr: &ast::Expr) -> Result<Box<Expr>, Diagnostic> {
        self.expr(expr).map(Box::new)
    }

    fn expr_kind(&mut self, expr: &ast::Expr) -> Result<ExprKind, Diagnostic> {
        use ast::Expr as E;
        Ok(match expr {
            E::NoneLiteral(_) => ExprKind::Constant(Constant::None),
            E::BooleanLiteral(e) => ExprKind::Constant(Constant::Bool(e.value)),
            E::EllipsisLiteral(_) => ExprKind::Constant(Constant::Ellipsis),
            E::StringLiteral(e) => ExprKind::Constant(Constant::Str(e.value.to_str().to_string())),
            E::NumberLiteral(e) => ExprKind::Constant(self.number(&e.value, e.range)),
            E::Name(e) => self.resolve(&e.id),
            E::BinOp(e) => {
                let left = self.boxed(&e.left)?;
                ExprKind::BinOp { op: e.op.into(), left, right: self.boxed(&e.right)? }
            }
            E::UnaryOp(e) => ExprKind::UnaryOp { op: e.op.into(), operand: self.boxed(&e.operand)? },
            E::BoolOp(e) => ExprKind::BoolOp { op: e.op.into(), values: self.exprs(&e.values)? },
            E::Compare(e) => {
                let left = self.boxed(&e.left)?;
                let rest = e.ops.iter().zip(&e.comparators);
                let rest = rest.map(|(op, e)| Ok(((*op).into(), self.expr(e)?))).collect::<Result<_, Diagnostic>>()?;
                ExprKind::Compare { left, rest }
            }
            E::Call(e) => {
                let func = self.boxed(&e.func)?;
                let args = self.exprs(&e.arguments.args)?;
                ExprKind::Call { func, args, keywords: self.keywords(&e.arguments.keywords)? }
            }
            E::Attribute(e) => {
                let value = self.boxed(&e.value)?;
                ExprKind::Attribute { value, attr: e.attr.to_string(), attr_span: self.span(e.attr.range) }
            }
            E::Subscript(e) => {
                let value = self.boxed(&e.value)?;
                let (indices, tuple) = match &*e.slice {
                    E::Tuple(t) => (self.exprs(&t.elts)?, true),
                    index => (vec![self.expr(index)?], false),
                };
                ExprKind::Subscript { value, indices, tuple }
            }
            E::Slice(e) => {
                let mut part = |e: &Option<Box<ast::Expr>>| e.as_deref().map(|e| self.boxed(e)).transpose();
                ExprKind::Slice { lower: part(&e.lower)?, upper: part(&e.upper)?, step: part(&e.step)? }
            }
            E::Tuple(e) => ExprKind::Tuple(self.exprs(&e.elts)?),
            E::List(e) => ExprKind::List(self.exprs(&e.elts)?),
            E::Starred(e) => ExprKind::Starred(self.boxed(&e.value)?),
            E::If(e) => {
                let test = self.boxed(&e.test)?;
                ExprKind::IfExp { test, body: self.boxed(&e.body)?, orelse: self.boxed(&e.orelse)? }
            }
            E::Named(e) => {
                let value = self.boxed(&e.value)?;
                let target = match &*e.target {
                    E::Name(name) => Expr { span: self.span(name.range), kind: self.resolve_in_function(&name.id) },
                    target => self.expr(target)?,
                };
                ExprKind::Named { target: Box::new(target), value }
            }
            E::Lambda(e) => ExprKind::Lambda(Box::new(self.lambda(e)?)),
            E::Dict(_) => ExprKind::Unsupported { what: "a dict display" },
            E::Set(_) => ExprKind::Unsupported { what: "a set display" },
            E::ListComp(c) => self.comprehension(&c.elt, &c.generators, false)?,
            E::Generator(c) => self.comprehension(&c.elt, &c.generators, true)?,
            E::SetComp(_) => ExprKind::Unsupported { what: "a set comprehension" },
            E::DictComp(_) => ExprKind::Unsupported { what: "a dict comprehension" },
            E::Await(_) => ExprKind::Unsupported { what: "an `await` expression" },
            E::Yield(_) | E::YieldFrom(_) => ExprKind::Unsupported { what: "a `yield` expression" },
            E::FString(e) => self.f_string(e)?,
            E::TString(_) => ExprKind::Unsupported { what: "a t-string" },
            E::BytesLiteral(_) => ExprKind::Unsupported { what: "a bytes literal" },
            E::IpyEscapeCommand(_) => ExprKind::Unsupported { what: "an IPython command" },
        })
    }

    pub(crate) fn keywords(&mut self, keywords: &[ast::Keyword]) -> Result<Vec<Keyword>, Diagnostic> {
        let convert = |k: &ast::Keyword| {
            let name = k.arg.as_ref().map(ToString::to_string);
            Ok(Keyword { name, value: self.expr(&k.value)?, span: self.span(k.range) })
        };
        keywords.iter().map(convert).collect()
    }

    fn comprehension(
        &mut self,
        element: &ast::Expr,
        loops: &[ast::Comprehension],
        is_generator: bool,
    ) -> Result<ExprKind, Diagnostic> {
        if loops.iter().any(|l| l.is_async) {
            return Ok(ExprKind::Unsupported { what: "an `async` comprehension" });
        }
        // Evaluated around the comprehension: before its own names are known.
        let mut first = self.optional(loops.first().map(|l| &l.iter))?;
        let mut names = Names::default();
        loops.iter().for_each(|l| target_names(&l.target, &mut names));
        self.enter(names);
        let made = self.inside(element, loops, &mut first);
        // Cannot fail: pushed above, and what is inside pops what it pushes.
        let locals = self.comprehensions.pop().unwrap().names.into_iter().map(|(_, renamed)| renamed).collect();
        let (element, loops) = made?;
        Ok(ExprKind::Comprehension(Box::new(Comprehension { is_generator, element, loops, locals })))
    }

    fn inside(
        &mut self,
        element: &ast::Expr,
        loops: &[ast::Comprehension],
        first: &mut Option<Expr>,
    ) -> Result<(Expr, Vec<ComprehensionLoop>), Diagnostic> {
        let mut made = Vec::with_capacity(loops.len());
        for each in loops {
            let iter = match first.take() {
                Some(iter) => iter,
                None => self.expr(&each.iter)?,
            };
            let target = self.expr(&each.target)?;
            made.push(ComprehensionLoop { target, iter, tests: self.exprs(&each.ifs)? });
        }
        Ok((self.expr(element)?, made))
    }

    fn number(&self, number: &Number, range: TextRange) -> Constant {
        match number {
            Number::Float(value) => Constant::Float(*value),
            Number::Complex { imag, .. } => Constant::Complex(*imag),
            Number::Int(int) => {
                let text = match int.as_u64() {
                    Some(small) => small.to_string(),
                    None => decimal(self.source.slice(range)),
                };
                Constant::Int { value: text.parse().ok(), text }
            }
        }
    }
}

/// An integer literal of any size and base in plain decimal.
fn decimal(literal: &str) -> String {
    let digits: String = literal.chars().filter(|&c| c != '_').collect();
    let (radix, digits) = match digits.get(..2).map(str::to_ascii_lowercase).as_deref() {
        Some("0x") => (16, &digits[2..]),
        Some("0o") => (8, &digits[2..]),
        Some("0b") => (2, &digits[2..]),
        _ => return digits,
    };
    // Little-endian limbs of nine decimal digits each.
    const BASE: u64 = 1_000_000_000;
    let mut limbs = vec![0u64];
    for digit in digits.chars() {
        // The lexer has accepted the literal, so every character is a digit of its base.
        let mut carry = u64::from(digit.to_digit(radix).unwrap_or(0));
        for limb in &mut limbs {
            let next = *limb * u64::from(radix) + carry;
            (*limb, carry) = (next % BASE, next / BASE);
        }
        if carry > 0 {
            limbs.push(carry);
        }
    }
    let mut limbs = limbs.iter().rev();
    let first = limbs.next().map(u64::to_string).unwrap_or_default();
    limbs.fold(first, |text, limb| text + &format!("{limb:09}"))
}

impl From<ast::Operator> for BinOp {
    fn from(op: ast::Operator) -> BinOp {
        use ast::Operator as O;
        match op {
            O::Add => BinOp::Add,
            O::Sub => BinOp::Sub,
            O::Mult => BinOp::Mul,
            O::MatMult => BinOp::MatMul,
            O::Div => BinOp::Div,
            O::Mod => BinOp::Mod,
            O::Pow => BinOp::Pow,
            O::LShift => BinOp::LShift,
            O::RShift => BinOp::RShift,
            O::BitOr => BinOp::BitOr,
            O::BitXor => BinOp::BitXor,
            O::BitAnd => BinOp::BitAnd,
            O::FloorDiv => BinOp::FloorDiv,
        }
    }
}

impl From<ast::UnaryOp> for UnaryOp {
    fn from(op: ast::UnaryOp) -> UnaryOp {
        match op {
            ast::UnaryOp::Invert => UnaryOp::Invert,
            ast::UnaryOp::Not => UnaryOp::Not,
            ast::UnaryOp::UAdd => UnaryOp::Pos,
            ast::UnaryOp::USub => UnaryOp::Neg,
        }
    }
}

impl From<ast::BoolOp> for BoolOp {
    fn from(op: ast::BoolOp) -> BoolOp {
        match op {
            ast::BoolOp::And => BoolOp::And,
            ast::BoolOp::Or => BoolOp::Or,
        }
    }
}

impl From<ast::CmpOp> for CmpOp {
    fn from(op: ast::CmpOp) -> CmpOp {
        match op {
            ast::CmpOp::Eq => CmpOp::Eq,
            ast::CmpOp::NotEq => CmpOp::NotEq,
            ast::CmpOp::Lt => CmpOp::Lt,
            ast::CmpOp::LtE => CmpOp::LtE,
            ast::CmpOp::Gt => CmpOp::Gt,
            ast::CmpOp::GtE => CmpOp::GtE,
            ast::CmpOp::Is => CmpOp::Is,
            ast::CmpOp::IsNot => CmpOp::IsNot,
            ast::CmpOp::In => CmpOp::In,
            ast::CmpOp::NotIn => CmpOp::NotIn,
        }
    }
}
