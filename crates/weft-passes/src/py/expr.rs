//! Expressions.

use weft_diag::{Diagnostic, Span};
use weft_ir::attr::{CmpOp, Const, UnaryOp};
use weft_ir::{Op, ValueId};
use weft_syntax::{Binding, BoolOp, Constant, Expr, ExprKind, dotted};

use super::refuse::{refused, unsupported};
use super::{Flow, Lower, binop};

impl<'a> Lower<'a, '_> {
    pub(super) fn exprs(&mut self, exprs: &'a [Expr]) -> Result<Vec<ValueId>, Diagnostic> {
        exprs.iter().map(|e| self.expr(e)).collect()
    }

    /// Lowers an expression to its value.
    pub(super) fn expr(&mut self, expr: &'a Expr) -> Result<ValueId, Diagnostic> {
        let span = expr.span;
        match &expr.kind {
            ExprKind::Constant(constant) => {
                let value = literal(constant, span)?;
                Ok(self.value(span, Op::PyConst { value }, &[]))
            }
            ExprKind::Name { ident, binding: Binding::Local } => Ok(self.local(ident, span)),
            ExprKind::Name { ident, .. } => Ok(self.value(span, Op::PyGlobal { path: ident.clone() }, &[])),
            ExprKind::Attribute { value, attr, .. } => match global_path(expr) {
                Some(path) => Ok(self.value(span, Op::PyGlobal { path }, &[])),
                None => {
                    let value = self.expr(value)?;
                    Ok(self.value(span, Op::PyAttr { name: attr.clone() }, &[value]))
                }
            },
            ExprKind::BinOp { op, left, right } => {
                let operands = [self.expr(left)?, self.expr(right)?];
                Ok(self.value(span, Op::PyBinop { op: binop(*op), inplace: false }, &operands))
            }
            ExprKind::UnaryOp { op: weft_syntax::UnaryOp::Not, .. } => self.condition(expr),
            ExprKind::UnaryOp { op, operand } => {
                let operand = self.expr(operand)?;
                Ok(self.unary(span, *op, operand))
            }
            ExprKind::BoolOp { op, values } => self.bool_op(*op, values, span, Want::Value),
            ExprKind::Compare { left, rest } => {
                let left = self.expr(left)?;
                self.compare(left, rest, span, Want::Value)
            }
            ExprKind::Call { func, args, keywords } => {
                let mut operands = vec![self.expr(func)?];
                for arg in args {
                    operands.push(self.expr(arg)?);
                }
                let mut names = Vec::with_capacity(keywords.len());
                for keyword in keywords {
                    let Some(name) = &keyword.name else {
                        return Err(unsupported(keyword.span, "`**` in a call", "name each keyword argument"));
                    };
                    operands.push(self.expr(&keyword.value)?);
                    names.push(name.clone());
                }
                Ok(self.value(span, Op::PyCall { keywords: names }, &operands))
            }
            ExprKind::Subscript { value, indices, tuple } => {
                let place = self.place(value, indices, *tuple, span)?;
                Ok(self.value(span, Op::PyIndex, &place))
            }
            ExprKind::Tuple(items) => {
                let items = self.exprs(items)?;
                Ok(self.value(span, Op::PyTuple, &items))
            }
            ExprKind::IfExp { test, body, orelse } => {
                let test = self.condition(test)?;
                self.either(span, test, |l| l.expr(body), |l| l.expr(orelse))
            }
            ExprKind::Named { target, value } => {
                let value = self.expr(value)?;
                self.assign(target, value, span)?;
                Ok(value)
            }
            ExprKind::Slice { .. } => Err(unsupported(span, "a slice", "index one element at a time in a loop")),
            ExprKind::List(_) => Err(unsupported(span, "a list display", "write a tuple")),
            ExprKind::Starred(_) => Err(unsupported(span, "`*` here", "write out each value")),
            ExprKind::Lambda(_) => Err(unsupported(span, "a lambda", "write its expression where it is called")),
            ExprKind::Unsupported { what } => Err(refused(span, what)),
        }
    }

    /// Lowers an expression of which only the truth matters. No operand of `and` or `or` then needs
    /// to have the type of another.
    pub(super) fn condition(&mut self, expr: &'a Expr) -> Result<ValueId, Diagnostic> {
        let span = expr.span;
        match &expr.kind {
            ExprKind::UnaryOp { op: op @ weft_syntax::UnaryOp::Not, operand } => {
                let operand = self.condition(operand)?;
                Ok(self.unary(span, *op, operand))
            }
            ExprKind::BoolOp { op, values } => self.bool_op(*op, values, span, Want::Truth),
            ExprKind::Compare { left, rest } => {
                let left = self.expr(left)?;
                self.compare(left, rest, span, Want::Truth)
            }
            _ => {
                let value = self.expr(expr)?;
                Ok(self.value(span, Op::PyTruth, &[value]))
            }
        }
    }

    /// The base and index operands of a subscript. An index tuple of one or no element stays a tuple.
    pub(super) fn place(
        &mut self,
        base: &'a Expr,
        indices: &'a [Expr],
        tuple: bool,
        span: Span,
    ) -> Result<Vec<ValueId>, Diagnostic> {
        let base = self.expr(base)?;
        let indices = self.exprs(indices)?;
        if tuple && indices.len() < 2 {
            return Ok(vec![base, self.value(span, Op::PyTuple, &indices)]);
        }
        Ok([&[base], &indices[..]].concat())
    }

    fn unary(&mut self, span: Span, op: weft_syntax::UnaryOp, operand: ValueId) -> ValueId {
        // Both enums hold all of Python's operators, spelled as Python does (a test goes through them).
        let op = UnaryOp::from_text(op.as_str()).unwrap();
        self.value(span, Op::PyUnary { op }, &[operand])
    }

    /// `a and b and c`, from left to right; what decides is the result.
    fn bool_op(&mut self, op: BoolOp, values: &'a [Expr], span: Span, want: Want) -> Result<ValueId, Diagnostic> {
        let (first, rest) = values.split_first().ok_or_else(|| Diagnostic::internal(span, "no operands"))?;
        let value = match want {
            Want::Value => self.expr(first)?,
            Want::Truth => self.condition(first)?,
        };
        if rest.is_empty() {
            return Ok(value);
        }
        let test = match want {
            Want::Value => self.value(first.span, Op::PyTruth, &[value]),
            Want::Truth => value,
        };
        match op {
            BoolOp::And => self.either(span, test, |l| l.bool_op(op, rest, span, want), |_| Ok(value)),
            BoolOp::Or => self.either(span, test, |_| Ok(value), |l| l.bool_op(op, rest, span, want)),
        }
    }

    /// `left < b < c`: the second link is compared only if the first holds; `b` is evaluated once.
    fn compare(
        &mut self,
        left: ValueId,
        rest: &'a [(weft_syntax::CmpOp, Expr)],
        span: Span,
        want: Want,
    ) -> Result<ValueId, Diagnostic> {
        let ((op, right), rest) = rest.split_first().ok_or_else(|| Diagnostic::internal(span, "no comparison"))?;
        let right = self.expr(right)?;
        // As in `unary`.
        let op = CmpOp::from_text(op.as_str()).unwrap();
        let link = self.value(span, Op::PyCompare { op }, &[left, right]);
        if rest.is_empty() && want == Want::Value {
            return Ok(link);
        }
        let test = self.value(span, Op::PyTruth, &[link]);
        if rest.is_empty() {
            return Ok(test);
        }
        let failed = if want == Want::Value { link } else { test };
        self.either(span, test, |l| l.compare(right, rest, span, want), |_| Ok(failed))
    }

    /// An `scf.if` with one value.
    fn either(
        &mut self,
        span: Span,
        test: ValueId,
        then: impl FnOnce(&mut Self) -> Result<ValueId, Diagnostic>,
        orelse: impl FnOnce(&mut Self) -> Result<ValueId, Diagnostic>,
    ) -> Result<ValueId, Diagnostic> {
        let falls = |value| (Flow::Falls, vec![value]);
        // What a `:=` binds may be read later in the same expression: everything is joined.
        let (_, values) = self.branch(span, test, None, |l| then(l).map(falls), |l| orelse(l).map(falls))?;
        Ok(values[0])
    }
}

/// What an operand of `and`, `or` or a comparison is needed for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Want {
    Value,
    Truth,
}

/// The path of a global with attributes: `np.linalg.norm`.
fn global_path(expr: &Expr) -> Option<String> {
    let mut root = expr;
    while let ExprKind::Attribute { value, .. } = &root.kind {
        root = value;
    }
    match root.kind {
        ExprKind::Name { binding: Binding::Local, .. } => None,
        _ => dotted(expr),
    }
}

fn literal(constant: &Constant, span: Span) -> Result<Const, Diagnostic> {
    Ok(match constant {
        Constant::None => Const::None,
        Constant::Bool(value) => Const::Bool(*value),
        Constant::Int { value: Some(value), .. } => Const::Int(*value),
        Constant::Int { value: None, .. } => {
            return Err(unsupported(span, "an integer beyond 128 bits", "compute it in Python and pass it as a float"));
        }
        Constant::Float(value) => Const::Float(*value),
        Constant::Str(value) => Const::Str(value.clone()),
        Constant::Complex(_) => return Err(unsupported(span, "a complex literal", "pass it as an argument")),
        Constant::Ellipsis => return Err(unsupported(span, "`...`", "write out each index")),
    })
}
