//! `weft.atomic`: updates of one element that nothing comes between.

use super::Infer;
use super::abs::Abs;
use super::index::Place;
use weft_diag::Diagnostic;
use weft_ir::attr::Rmw;
use weft_ir::rules::can_cast_same_kind;
use weft_ir::{DType, Op, Type, Weak};

impl Infer<'_> {
    /// `weft.atomic.add(x, index, value)` and the others; the result is the old element.
    pub(super) fn atomic(&mut self, name: &str, args: &[Abs]) -> Result<Abs, Diagnostic> {
        let Some(rmw) = Rmw::from_text(name.trim_end_matches('_')) else {
            return Err(self.internal("an atomic update of no name"));
        };
        let (x, index, values) = match args {
            [x, index, values @ ..] if values.len() == rmw.values() => (x, index, values),
            _ => {
                let needs = if rmw == Rmw::Cas { "expected, desired" } else { "value" };
                return Err(self.typing(format!("atomic.{name}() takes an array, an index, {needs}")));
            }
        };
        let Some(t) = self.as_tensor(x) else {
            let message = format!("atomic.{name}() updates an element of an array, found {}", self.describe(x));
            return Err(self.typing(message));
        };
        if self.is_kernel() {
            return Err(self.refuse("atomic updates in a kernel are not supported yet"));
        }
        self.writable(t)?;
        let dtype = self.tensor(t).map_or(DType::F64, |t| t.dtype);
        if !rmw.fits(dtype) {
            let message = format!("elements of dtype {} have no atomic.{name}", dtype.numpy_name());
            return Err(self.typing(message).help("use an array of integers, float32 or float64"));
        }
        let indices = match index {
            Abs::Tuple(items) => items.clone(),
            one => vec![one.clone()],
        };
        let Place::Element(places, wrap) = self.place(t, &indices)? else {
            let message = format!("atomic.{name}() updates one element, and needs an index for each axis");
            return Err(self.typing(message));
        };
        let mut operands = vec![t];
        for v in values {
            let from = match self.type_of(v) {
                Some(Type::Num(d)) => Some(d),
                Some(Type::Tensor(t)) => Some(t.dtype),
                Some(Type::Py(w)) if w != Weak::None => Some(w.default_dtype()),
                _ => None,
            };
            if !from.is_some_and(|from| can_cast_same_kind(from, dtype) || from.is_int() && dtype.is_int()) {
                let message = format!("{} does not go into an array of {}", self.describe(v), dtype.numpy_name());
                return Err(self.typing(message).help("convert it first"));
            }
            operands.push(self.stored(v, dtype)?);
        }
        operands.extend(places);
        Ok(Abs::Value(self.emit(Op::NtAtomic { rmw, wrap }, &operands, Type::Num(dtype))))
    }
}
