//! Expressions.

use weft_diag::{Diagnostic, Span};
use weft_ir::attr::{CmpOp, Const, UnaryOp};
use weft_ir::{Op, ValueId};
use weft_syntax::{Binding, BoolOp, Constant, Expr, ExprKind, Keyword, dotted};

use super::Lower;
use super::assign::{binop, is_starred};
use super::refuse::{refused, unsupported};

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
            ExprKind::Name { ident, binding: Binding::Free } => {
                Ok(self.value(span, Op::PyGlobal { path: ident.clone() }, &[]))
            }
            ExprKind::Name { ident, .. } => Ok(self.read(ident, span)),
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
            ExprKind::Call { func, args, keywords } => self.call(span, func, args, keywords),
            ExprKind::Subscript { value, indices, tuple } => {
                let place = self.place(value, indices, *tuple, span)?;
                Ok(self.value(span, Op::PyIndex, &place))
            }
            ExprKind::Tuple(items) if items.iter().any(is_starred) => self.concat(items, span),
            ExprKind::Tuple(items) => {
                let items = self.exprs(items)?;
                Ok(self.value(span, Op::PyTuple, &items))
            }
            ExprKind::List(items) => self.list(items, span),
            ExprKind::IfExp { test, body, orelse } => {
                let test = self.condition(test)?;
                self.either(span, test, |l| l.expr(body), |l| l.expr(orelse))
            }
            ExprKind::Named { target, value } => {
                let value = self.expr(value)?;
                self.assign(target, value, span)?;
                Ok(value)
            }
            ExprKind::Slice { lower, upper, step } => {
                let mut parts = [None; 3];
                for (part, value) in parts.iter_mut().zip([lower, upper, step]) {
                    *part = Some(match value {
                        Some(value) => self.expr(value)?,
                        None => self.none(span),
                    });
                }
                let parts: Vec<ValueId> = parts.into_iter().flatten().collect();
                Ok(self.value(span, Op::PySlice, &parts))
            }
            ExprKind::Format { parts, values } => {
                let operands = values.iter().map(|(value, _)| self.expr(value)).collect::<Result<Vec<_>, _>>()?;
                let specs = values.iter().map(|(_, spec)| spec.clone()).collect();
                Ok(self.value(span, Op::PyFormat { parts: parts.clone(), specs }, &operands))
            }
            ExprKind::Lambda(lambda) => self.closure(lambda, None),
            ExprKind::Comprehension(comprehension) => self.comprehension(comprehension, span),
            ExprKind::Starred(_) => Err(unsupported(span, "`*` here", "write out each value")),
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
        if indices.iter().any(is_starred) {
            return Ok(vec![base, self.concat(indices, span)?]);
        }
        let indices = self.exprs(indices)?;
        if tuple && indices.len() < 2 {
            return Ok(vec![base, self.value(span, Op::PyTuple, &indices)]);
        }
        Ok([&[base], &indices[..]].concat())
    }

    /// `func(args, keywords)`. With `*` in it, all positional arguments are one tuple.
    fn call(
        &mut self,
        span: Span,
        func: &'a Expr,
        args: &'a [Expr],
        keywords: &'a [Keyword],
    ) -> Result<ValueId, Diagnostic> {
        let starred = args.iter().any(is_starred);
        let mut operands = vec![self.expr(func)?];
        match starred {
            true => operands.push(self.concat(args, span)?),
            false => operands.extend(self.exprs(args)?),
        }
        let mut names = Vec::with_capacity(keywords.len());
        for keyword in keywords {
            let Some(name) = &keyword.name else {
                return Err(unsupported(keyword.span, "`**` in a call", "name each keyword argument"));
            };
            operands.push(self.expr(&keyword.value)?);
            names.push(name.clone());
        }
        let op = match starred {
            true => Op::PyCallStar { keywords: names },
            false => Op::PyCall { keywords: names },
        };
        Ok(self.value(span, op, &operands))
    }

    /// A tuple of values among which some are `*values`.
    fn concat(&mut self, items: &'a [Expr], span: Span) -> Result<ValueId, Diagnostic> {
        let mut parts = vec![];
        for run in items.chunk_by(|a, b| !is_starred(a) && !is_starred(b)) {
            parts.push(match run {
                [Expr { kind: ExprKind::Starred(value), .. }] => self.expr(value)?,
                _ => {
                    let values = self.exprs(run)?;
                    self.value(span, Op::PyTuple, &values)
                }
            });
        }
        Ok(self.value(span, Op::PyConcat, &parts))
    }

    /// A new list. With `*` in it, its items are appended in order.
    fn list(&mut self, items: &'a [Expr], span: Span) -> Result<ValueId, Diagnostic> {
        if !items.iter().any(is_starred) {
            let items = self.exprs(items)?;
            return Ok(self.value(span, Op::PyList, &items));
        }
        let list = self.value(span, Op::PyList, &[]);
        for item in items {
            let ExprKind::Starred(values) = &item.kind else {
                let value = self.expr(item)?;
                self.effect(item.span, Op::PyAppend, &[list, value]);
                continue;
            };
            let values = self.expr(values)?;
            let (region, ()) = self.breakable(|l, _| {
                let value = l.b.arg(weft_ir::Type::Untyped);
                l.effect(item.span, Op::PyAppend, &[list, value]);
                l.effect(item.span, Op::Yield, &[]);
                Ok(())
            })?;
            self.held(item.span, Op::PyFor, &[values], 0, &[region]);
        }
        Ok(list)
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
        ExprKind::Name { binding: Binding::Free, .. } => dotted(expr),
        _ => None,
    }
}

/// The value of a literal.
pub(super) fn literal(constant: &Constant, span: Span) -> Result<Const, Diagnostic> {
    Ok(match constant {
        Constant::None => Const::None,
        Constant::Bool(value) => Const::Bool(*value),
        Constant::Int { value: Some(value), .. } => Const::Int(*value),
        Constant::Int { value: None, .. } => {
            return Err(unsupported(span, "an integer beyond 128 bits", "compute it in Python and pass it as a float"));
        }
        Constant::Float(value) => Const::Float(*value),
        Constant::Str(value) => Const::Str(value.clone()),
        Constant::Complex(value) => Const::Complex(0.0, *value),
        Constant::Ellipsis => Const::Ellipsis,
    })
}
