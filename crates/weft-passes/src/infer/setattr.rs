//! `x.shape = sizes`, the one attribute that can be assigned.
//!
//! Arrays are values here: the name holds another view of the memory from then on. That is what Python does as long as nobody
//! else holds the array, so what was passed in, comes out of control flow, or has another name that is used later is refused.

use std::collections::BTreeMap;

use weft_diag::Diagnostic;
use weft_ir::{Layout, Op, OpId, ValueId};

use super::Infer;
use super::abs::Abs;
use super::walk::{Env, Here};

impl Infer<'_> {
    /// `x.name = value`: what `x` is from then on.
    pub(super) fn set_attribute(
        &mut self,
        py: Here<'_>,
        op: OpId,
        env: &Env,
        args: &[Abs],
        name: &str,
    ) -> Result<Abs, Diagnostic> {
        let (x, value) = (&args[0], &args[1]);
        let refused = |what: String| Diagnostic::unsupported(self.span, format!("{what} is not supported"));
        let Some(array) = self.as_tensor(x).filter(|_| name == "shape") else {
            let d = refused(format!("assigning to the attribute `{name}` of {}", self.describe(x)));
            return Err(d.help("return the new value instead"));
        };
        let help = "write `x = x.reshape(sizes)`";
        if !self.is_made_here(array) || is_held_elsewhere(py, op, env, array) {
            return Err(refused("assigning to the shape of an array that may have another name".into()).help(help));
        }
        if self.out.ty(array).as_tensor().is_none_or(|t| t.layout != Layout::C) {
            return Err(refused("assigning to the shape of an array that is not in C order".into()).help(help));
        }
        self.call(&Abs::Method(Box::new(x.clone()), "weft.array.reshape".into()), std::slice::from_ref(value), &[])
    }

    /// Whether an operation on arrays made it, and no list has it.
    fn is_made_here(&self, array: ValueId) -> bool {
        let made = self.out.ops.iter().find(|o| o.results.contains(&array)).map(|o| &o.op);
        let listed = self.out.ops.iter().any(|o| o.op.dialect() == "list" && o.operands.contains(&array));
        made.is_some_and(|op| op.dialect() == "nt" && !matches!(op, Op::NtRefine { .. })) && !listed
    }
}

/// Whether something but the operand of `op` holds the array and is used after it.
fn is_held_elsewhere(py: Here<'_>, op: OpId, env: &Env, array: ValueId) -> bool {
    let f = &py.func;
    let own = f.op(op).operands[0];
    let (mut order, mut defined) = (vec![], BTreeMap::new());
    f.walk(&mut |id| {
        defined.extend(f.op(id).results.iter().map(|&v| (v, order.len())));
        order.push(id);
    });
    let at = order.iter().position(|&id| id == op).unwrap_or(0);
    // What comes round again: the outermost loop around it.
    let round = order.iter().position(|&id| {
        let mut inside = false;
        if f.op(id).op.is_breakable() {
            f.op(id).regions.iter().for_each(|&r| f.walk_region(r, &mut |inner| inside |= inner == op));
        }
        inside
    });
    let again = |v: ValueId| round.filter(|&start| defined.get(&v).is_none_or(|&d| d < start));
    let used = |v: ValueId| {
        let from = again(v).unwrap_or(at + 1);
        order[from..].iter().any(|&id| id != op && f.op(id).operands.contains(&v))
    };
    f.params().contains(&own)
        || (0..env.len()).map(|k| ValueId(k as u32)).any(|v| {
            let holds = env[v.index()].as_ref().is_some_and(|a| holds(a, array));
            holds && (f.params().contains(&v) || (v != own && used(v)))
        })
}

/// Whether a value is or has the array, as far as can be seen.
fn holds(value: &Abs, array: ValueId) -> bool {
    match value {
        Abs::Value(v) => *v == array,
        Abs::Tuple(parts) => parts.iter().any(|p| holds(p, array)),
        Abs::Tagged(_, _, inner) | Abs::Method(inner, _) => holds(inner, array),
        Abs::Closure(_) | Abs::Cell(_) | Abs::Iter(_) => true,
        _ => false,
    }
}
