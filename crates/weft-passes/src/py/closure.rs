//! Nested functions and lambdas.

use std::sync::Arc;

use weft_diag::Diagnostic;
use weft_ir::{Op, ValueId};
use weft_syntax::Function;

use super::refuse::outer_target;
use super::{Lower, Slot, lower_function};

impl<'a> Lower<'a, '_> {
    /// `def`.
    pub(super) fn define(&mut self, function: &'a Function) -> Result<(), Diagnostic> {
        if !self.function.locals.contains(&function.name) {
            return Err(outer_target(function.name_span, &function.name));
        }
        let value = self.closure(function, Some(&function.name))?;
        self.set_local(&function.name, value, function.name_span);
        Ok(())
    }

    /// The value of a nested function; `own` is the name it is bound to next.
    pub(super) fn closure(&mut self, function: &'a Function, own: Option<&'a str>) -> Result<ValueId, Diagnostic> {
        let own = own.filter(|name| self.own.contains(name) && function.captures.iter().any(|c| c == name));
        let mut operands = vec![];
        for default in function.params.iter().filter_map(|p| p.default.as_ref()) {
            operands.push(self.expr(default)?);
        }
        let mut captures = vec![];
        let mut captured = vec![];
        for name in function.captures.iter().map(String::as_str).filter(|name| Some(*name) != own) {
            match self.env.get(name) {
                Some(&Slot::Cell(cell)) if self.cells.contains(name) => {
                    captured.push(cell);
                    captures.push((name, true));
                }
                _ => {
                    captured.push(self.local(name, function.name_span));
                    captures.push((name, false));
                }
            }
        }
        let unsure = captures.iter().map(|(name, _)| (*name).to_owned()).filter(|name| self.unsure.contains(name));
        let nested = lower_function(function, &captures, unsure.collect(), own)?;
        self.nested.push(Arc::new(nested));
        let op = Op::PyClosure { function: (self.nested.len() - 1) as u32 };
        Ok(self.value(function.span, op, &[captured, operands].concat()))
    }
}
