//! Statements: one walk over the `py` ops of a function. `branch` has the ifs, `turns` the loops, `variables` cells and exceptions.

use super::abs::{Abs, Closure, Generator, Iter, Shared};
use super::exits::{Pending, Target};
use super::{Infer, Key, Scope};
use crate::py::PyFunction;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use weft_diag::{Diagnostic, ErrorKind, Span};
use weft_ir::attr::{Const, UnaryOp};
use weft_ir::{ExcClass, Op, OpId, RegionId, Type};

/// Abstract value of each `py` value so far.
pub(super) type Env = Vec<Option<Abs>>;

/// The function being walked.
pub(super) type Here<'p> = &'p Arc<PyFunction>;

/// How a region ended.
pub(super) enum Flow {
    /// With these values.
    Yield(Vec<Abs>),
    /// By returning this from the function being walked, with nothing undecided in between.
    Return(Abs),
    /// By an exit that is pending, or that has its terminator.
    Left,
}

/// One function being walked: the entry, or one that is inlined.
#[derive(Debug)]
pub(super) struct Frame {
    /// Where its global names are looked up.
    pub scope: Scope,
    pub returns: Vec<Pending>,
    /// Loops and blocks being walked, innermost last.
    pub targets: Vec<Target>,
    /// Which function it is.
    pub identity: usize,
    /// The function itself, where it is a nested one.
    pub this: Option<Abs>,
    /// The call of it; nothing for the entry.
    pub called_at: Span,
}

impl Frame {
    pub(super) fn new(scope: Scope, py: Here<'_>) -> Frame {
        Frame {
            scope,
            returns: vec![],
            targets: vec![],
            identity: Arc::as_ptr(py) as usize,
            this: None,
            called_at: Span::NONE,
        }
    }

    /// Whether control may have left before it comes here.
    fn may_have_left(&self) -> bool {
        !self.returns.is_empty() || self.targets.iter().any(|t| !t.breaks.is_empty() || !t.continues.is_empty())
    }
}

impl Infer<'_> {
    /// Walks a function's body at the cursor with these arguments (captured values first).
    pub(super) fn walk_body(&mut self, py: Here<'_>, args: Vec<Abs>) -> Result<Flow, Diagnostic> {
        let mut env: Env = vec![None; py.func.values.len()];
        for (&p, a) in py.func.params().iter().zip(args) {
            self.used_once(py, p, &a)?;
            env[p.index()] = Some(a);
        }
        self.walk_region(py, py.func.body, &mut env)
    }

    pub(super) fn walk_region(&mut self, py: Here<'_>, region: RegionId, env: &mut Env) -> Result<Flow, Diagnostic> {
        for &op in &py.func.region(region).ops {
            let flow = match self.walk_op(py, op, env) {
                Ok(flow) => flow,
                Err(d) => self.raise_later(d)?,
            };
            if let Some(flow) = flow {
                return Ok(flow);
            }
            if self.is_terminated() {
                return Ok(Flow::Left);
            }
        }
        Ok(Flow::Yield(vec![]))
    }

    /// What Python raises when control gets there is raised when control gets there. On the unconditional path, it is an
    /// error now.
    pub(super) fn raise_later(&mut self, d: Diagnostic) -> Result<Option<Flow>, Diagnostic> {
        let class = match d.kind {
            ErrorKind::Value => ExcClass::ValueError,
            ErrorKind::Overflow => ExcClass::OverflowError,
            ErrorKind::ZeroDivision => ExcClass::ZeroDivisionError,
            ErrorKind::Index => ExcClass::IndexError,
            ErrorKind::Axis => ExcClass::AxisError,
            ErrorKind::Unbound => self.unbound_class(),
            _ => return Err(d),
        };
        if !self.can_raise_later() {
            return Err(d);
        }
        let message = match d.kind {
            ErrorKind::Unbound => {
                let name = d.message.split('`').nth(1).unwrap_or_default();
                self.unbound_text(name)
            }
            _ => d.message.replace('{', "{{").replace('}', "}}"),
        };
        let site = self.site(class, message);
        self.terminate(Op::Raise { site }, &[]);
        Ok(Some(Flow::Left))
    }

    /// Whether what surely raises here is raised when control gets here.
    pub(super) fn can_raise_later(&self) -> bool {
        let conditional = self.undecided > 0 || self.frames.iter().any(Frame::may_have_left);
        conditional && !self.restarts && self.body.is_none() && !self.is_kernel()
    }

    /// Whether the current region has its terminator: what was emitted last never comes back.
    pub(super) fn is_terminated(&self) -> bool {
        self.out.region(self.region).ops.last().is_some_and(|&o| self.out.op(o).op.is_terminator())
    }

    fn walk_op(&mut self, py: Here<'_>, op: OpId, env: &mut Env) -> Result<Option<Flow>, Diagnostic> {
        self.at_op(op, |s| s.walk_here(py, op, env))
    }

    fn walk_here(&mut self, py: Here<'_>, op: OpId, env: &mut Env) -> Result<Option<Flow>, Diagnostic> {
        let data = py.func.op(op);
        self.reads_free = data.op == Op::PyReadFree;
        // Library code is not the user's: inside it, the call's span stays.
        if !self.in_library() && data.span.is_known() {
            self.span = data.span;
        }
        let mut args: Vec<Abs> = data
            .operands
            .iter()
            .map(|v| env[v.index()].clone().ok_or_else(|| self.internal("a value before its definition")))
            .collect::<Result<_, _>>()?;
        // These pass values on without looking; everything else uses them.
        let passes = data.op.is_breakable()
            || matches!(data.op, Op::Yield | Op::Break { .. } | Op::Continue { .. } | Op::PyCell { .. } | Op::PySet)
            || matches!(data.op, Op::PyClosure { .. });
        if !passes {
            for a in &mut args {
                *a = self.assigned(a)?;
            }
        }
        let result = match &data.op {
            Op::PyConst { value } => Abs::Const(value.clone()),
            Op::PyGlobal { path } => self.global(path)?,
            Op::PyUnbound { name } => Abs::Unbound(name.clone()),
            Op::PyAttr { name } => {
                let missing = format!("'NoneType' object has no attribute '{name}'");
                let x = self.present_or(&args[0], ExcClass::AttributeError, &missing)?;
                self.attribute(&x, name)?
            }
            Op::PyBinop { op, inplace } => {
                let (mut a, mut b) = self.present_operands(*op, *inplace, &args[0], &args[1])?;
                if self.as_tensor(&a).is_some() && self.as_list(&b).is_some() {
                    b = self.array_from(&b, &Abs::Const(Const::None))?;
                } else if self.as_list(&a).is_some() && self.as_tensor(&b).is_some() {
                    a = self.array_from(&a, &Abs::Const(Const::None))?;
                }
                match self.object_binop(*op, &a, &b)? {
                    _ if self.as_list(&a).is_some() || self.as_list(&b).is_some() => {
                        self.list_binop(op.text(), &a, &b, *inplace)?
                    }
                    Some(result) => result,
                    None if *inplace && self.as_tensor(&a).is_some() => self.inplace(*op, &a, &b)?,
                    None => self.binop(*op, &a, &b)?,
                }
            }
            Op::PyUnary { op } => {
                let a = match op {
                    UnaryOp::Not => args[0].clone(),
                    op => {
                        let missing = format!("bad operand type for unary {}: 'NoneType'", op.text());
                        self.present_or(&args[0], ExcClass::TypeError, &missing)?
                    }
                };
                self.unary(*op, &a)?
            }
            Op::PyCompare { op } => match self.object_compare(*op, &args[0], &args[1])? {
                Some(result) => result,
                None => self.compare(*op, &args[0], &args[1])?,
            },
            Op::PyTruth => self.truth(&args[0])?,
            Op::PyCall { keywords } => self.at_op(op, |s| s.call(&args[0], &args[1..], keywords))?,
            Op::PyCallStar { keywords } => {
                let mut all = self.sequence(&args[1])?;
                all.extend(args[2..].iter().cloned());
                self.at_op(op, |s| s.call(&args[0], &all, keywords))?
            }
            Op::PyIndex => {
                let missing = "'NoneType' object is not subscriptable";
                let x = self.present_or(&args[0], ExcClass::TypeError, missing)?;
                self.index(&x, &args[1..])?
            }
            Op::PySetIndex => {
                let missing = "'NoneType' object does not support item assignment";
                let x = self.present_or(&args[1], ExcClass::TypeError, missing)?;
                self.set_index(&args[0], &x, &args[2..])?;
                return Ok(None);
            }
            Op::PySetAttr { name } => self.set_attribute(py, op, env, &args, name)?,
            // What is unbound has raised above.
            Op::PyDelete => return Ok(None),
            Op::PyDelIndex => {
                let missing = "'NoneType' object doesn't support item deletion";
                let x = self.present_or(&args[0], ExcClass::TypeError, missing)?;
                if self.as_list(&x).is_none() {
                    return Err(self.typing(format!("{} doesn't support item deletion", self.describe(&x))));
                }
                self.delete_index_list(&x, &args[1..])?;
                return Ok(None);
            }
            Op::PyUnreachable => {
                self.unreachable();
                return Ok(Some(Flow::Left));
            }
            Op::PySlice => {
                let [lo, hi, step] = [args[0].clone(), args[1].clone(), args[2].clone()];
                Abs::Slice(Box::new([lo, hi, step]))
            }
            Op::PyTuple => Abs::Tuple(args),
            Op::PyConcat => {
                let mut all = vec![];
                for a in &args {
                    all.extend(self.sequence(a)?);
                }
                Abs::Tuple(all)
            }
            Op::PyList => self.at_op(op, |s| s.new_list(args.clone()))?,
            Op::PyAppend => {
                self.append(&args[0], &args[1])?;
                return Ok(None);
            }
            Op::PyUnpack => {
                let missing = "cannot unpack non-iterable NoneType object";
                let x = self.present_or(&args[0], ExcClass::TypeError, missing)?;
                for (&r, a) in data.results.iter().zip(self.unpack(&x, data.results.len())?) {
                    env[r.index()] = Some(a);
                }
                return Ok(None);
            }
            Op::PyUnpackStar { star } => {
                let missing = "cannot unpack non-iterable NoneType object";
                let x = self.present_or(&args[0], ExcClass::TypeError, missing)?;
                let parts = self.unpack_star(&x, *star as usize, data.results.len())?;
                for (&r, a) in data.results.iter().zip(parts) {
                    env[r.index()] = Some(a);
                }
                return Ok(None);
            }
            Op::PyMatchLen { len: wanted, star } => {
                if self.as_list(&args[0]).is_some() {
                    let len = self.list_len(&args[0])?;
                    let is = if *star { weft_ir::attr::CmpOp::Ge } else { weft_ir::attr::CmpOp::Eq };
                    let fits = self.scalar_compare(is, &len, &Abs::Const(Const::Int((*wanted).into())))?;
                    if let Some(&r) = data.results.first() {
                        env[r.index()] = Some(fits);
                    }
                    return Ok(None);
                }
                let fits = match &args[0] {
                    Abs::Tuple(items) if *star => items.len() >= *wanted as usize,
                    Abs::Tuple(items) => items.len() == *wanted as usize,
                    _ => false,
                };
                Abs::Const(Const::Bool(fits))
            }
            Op::PyFormat { parts, specs } => {
                Abs::Format(parts.clone(), args.into_iter().zip(specs.iter().cloned()).collect())
            }
            Op::PyClosure { function } => {
                let nested = py.nested.get(*function as usize);
                let nested = nested.ok_or_else(|| self.internal("a nested function that is not there"))?;
                let closure = Closure { py: nested.clone(), operands: args, scope: self.scope().clone() };
                Abs::Closure(Shared(Arc::new(closure)))
            }
            Op::PySelf => {
                let this = self.frames.last().and_then(|f| f.this.clone());
                this.ok_or_else(|| self.internal("a function without itself"))?
            }
            Op::PyGenerator => {
                let (region, scope) = (data.regions[0], self.scope().clone());
                let generator = Generator { py: py.clone(), region, env: env.clone(), scope };
                Abs::Iter(Box::new(Iter::Generator(Shared(Arc::new(generator)))))
            }
            Op::PyEmit => return self.emit_item(&args[0]),
            Op::PyCell { name } => self.at_op(op, |s| s.new_cell(name, &args[0]))?,
            Op::PyRead | Op::PyReadFree => args.swap_remove(0),
            Op::PyGet => self.get_cell(&args[0])?,
            Op::PyTake => self.read_cell(&args[0])?,
            Op::PySet => {
                self.set_cell(&args[0], &args[1])?;
                return Ok(None);
            }
            Op::PyTry => return self.walk_try(py, op, env),
            Op::PyCatch => self.catch(&args[0])?,
            Op::PyCaught => Abs::Caught,
            Op::PyRaise => {
                self.raise(args.first())?;
                return Ok(Some(Flow::Left));
            }
            Op::PyFor => return self.walk_for(py, op, args, env),
            Op::ScfLoop => return self.walk_while(py, op, args, env),
            Op::ScfBlock => return self.walk_block(py, op, env),
            Op::ScfIf => return self.walk_if(py, op, &args[0], env),
            Op::Yield => return Ok(Some(Flow::Yield(args))),
            Op::Break { depth } | Op::Continue { depth } => {
                let exit = self.pending(args);
                let leaves = matches!(data.op, Op::Break { .. });
                let targets = self.frames.last_mut().map(|f| &mut f.targets);
                let target = targets.and_then(|t| t.iter_mut().rev().nth(*depth as usize));
                match target {
                    Some(target) if leaves => target.breaks.push(exit),
                    Some(target) => target.continues.push(exit),
                    None => return Err(self.internal("an exit from nothing")),
                }
                return Ok(Some(Flow::Left));
            }
            Op::Return => return Ok(Some(Flow::Return(args.into_iter().next().unwrap_or(Abs::Const(Const::None))))),
            other => return Err(self.internal(&format!("{} at stage py", other.name()))),
        };
        if let Some(&r) = data.results.first() {
            self.used_once(py, r, &result)?;
            env[r.index()] = Some(result);
        }
        Ok(None)
    }

    pub(super) fn internal(&self, what: &str) -> Diagnostic {
        Diagnostic::internal(self.span, format!("internal error in infer: {what}"))
    }

    /// Runs `f` with this op as the last step of the path.
    fn at_op<R>(&mut self, op: OpId, f: impl FnOnce(&mut Self) -> R) -> R {
        self.path.push(op.0);
        let result = f(self);
        self.path.pop();
        result
    }

    /// What names this place in the program, over inlining and unrolling.
    pub(super) fn key(&self, op: u32) -> Key {
        let mut hasher = DefaultHasher::new();
        self.path.hash(&mut hasher);
        (hasher.finish(), op)
    }

    /// Says that a fact has become known that what was walked before depends on: the walk begins anew.
    pub(super) fn restart(&mut self) -> Diagnostic {
        self.restarts = true;
        Diagnostic::internal(self.span, "the walk begins anew")
    }

    /// Control never comes here.
    pub(super) fn unreachable(&mut self) {
        let site = self.site(ExcClass::SystemError, "control came where it cannot");
        self.terminate(Op::Raise { site }, &[]);
    }

    /// A return under something undecided.
    pub(super) fn leave(&mut self, value: Abs) -> Result<(), Diagnostic> {
        let in_kernel = self.is_kernel() && self.frames.len() == 1;
        if in_kernel && value != Abs::Const(Const::None) {
            return Err(self.typing("a kernel returns nothing").help("write results into an array argument"));
        }
        let exit = self.pending(vec![value]);
        match self.frames.last_mut() {
            Some(frame) => frame.returns.push(exit),
            None => return Err(self.internal("a return from nothing")),
        }
        Ok(())
    }

    pub(super) fn scope(&self) -> &Scope {
        self.frames.last().map_or(&Scope::ENTRY, |f| &f.scope)
    }

    pub(super) fn in_library(&self) -> bool {
        matches!(self.scope(), Scope::Library(_))
    }

    fn unpack(&mut self, a: &Abs, n: usize) -> Result<Vec<Abs>, Diagnostic> {
        if self.as_tensor(a).is_some() {
            return self.unpack_array(a, n);
        }
        if self.as_list(a).is_some() {
            return self.unpack_array(a, n);
        }
        if matches!(a, Abs::Iter(_) | Abs::Range(_)) && !self.is_static(a) && !self.is_generated(a) {
            return self.unpack_array(a, n);
        }
        let items = match self.sequence(a) {
            Ok(items) => items,
            Err(_) if matches!(a, Abs::Const(Const::Str(_)) | Abs::Format(..)) => return Err(self.not_iterable(a)),
            Err(_) => {
                let what = self.describe(a);
                return Err(self.typing(format!("cannot unpack non-iterable {what} object")));
            }
        };
        if items.len() != n {
            let message = match items.len() < n {
                true => format!("not enough values to unpack (expected {n}, got {})", items.len()),
                false => format!("too many values to unpack (expected {n})"),
            };
            return Err(Diagnostic::new(ErrorKind::Value, self.span, message));
        }
        Ok(items)
    }

    /// Items of an array along its first axis, whose length must be `n`.
    pub(super) fn unpack_array(&mut self, a: &Abs, n: usize) -> Result<Vec<Abs>, Diagnostic> {
        let len = self.iter_len(a)?;
        let wanted = Abs::Const(Const::Int(n as i128));
        for (is, message) in [
            (weft_ir::attr::CmpOp::Lt, format!("not enough values to unpack (expected {n}, got {{i}})")),
            (weft_ir::attr::CmpOp::Gt, format!("too many values to unpack (expected {n})")),
        ] {
            match self.scalar_compare(is, &len, &wanted)? {
                Abs::Const(Const::Bool(false)) => {}
                Abs::Const(_) => {
                    let got = self.range(&len).0.to_string();
                    let message = message.replace("{i}", &got);
                    return Err(Diagnostic::new(ErrorKind::Value, self.span, message));
                }
                wrong => {
                    let (wrong, len) = (self.materialise(&wrong)?, self.pyint(&len)?);
                    let shown = if message.contains("{i}") { vec![len] } else { vec![] };
                    self.raise_if(wrong, ExcClass::ValueError, &message, &shown);
                }
            }
        }
        (0..n).map(|k| self.item_at(a, &Abs::Const(Const::Int(k as i128)))).collect()
    }

    fn unpack_star(&mut self, a: &Abs, star: usize, n: usize) -> Result<Vec<Abs>, Diagnostic> {
        if self.as_list(a).is_some() {
            return self.unpack_star_list(a, star, n);
        }
        if (matches!(a, Abs::Iter(_) | Abs::Range(_)) || self.as_tensor(a).is_some()) && !self.is_static(a) {
            let items = self.list_of(a)?;
            return self.unpack_star_list(&items, star, n);
        }
        let mut items = self.sequence(a)?;
        if items.len() + 1 < n {
            let (least, got) = (n - 1, items.len());
            let message = format!("not enough values to unpack (expected at least {least}, got {got})");
            return Err(Diagnostic::new(ErrorKind::Value, self.span, message));
        }
        let tail = items.split_off(items.len() - (n - 1 - star));
        let middle = items.split_off(star);
        items.push(self.new_list(middle)?);
        items.extend(tail);
        Ok(items)
    }

    /// The items of something whose number of items is known now.
    pub(super) fn sequence(&mut self, a: &Abs) -> Result<Vec<Abs>, Diagnostic> {
        if let Abs::Tuple(items) = a {
            return Ok(items.clone());
        }
        if let Abs::Iter(it) = a
            && let Iter::Generator(_) = **it
        {
            return self.collect(a);
        }
        if matches!(a, Abs::Const(Const::Str(_)) | Abs::Format(..)) {
            return Err(self.not_iterable(a));
        }
        if !self.is_static(a) {
            let what = self.describe(a);
            return Err(self
                .refuse(format!("the number of items of {what} is not known at compile time"))
                .help("write the items out, as in (x[0], x[1]), or keep it a list or an array"));
        }
        match self.iter_len(a)? {
            Abs::Const(Const::Int(n)) => (0..n).map(|k| self.item_at(a, &Abs::Const(Const::Int(k)))).collect(),
            _ => Err(self.internal("a length that is not known")),
        }
    }

    /// Values of these forms as arguments of a region.
    pub(super) fn region_values(
        &mut self,
        region: RegionId,
        forms: &[super::join::Ty],
    ) -> Result<Vec<Abs>, Diagnostic> {
        let mut types: Vec<Type> = vec![];
        forms.iter().for_each(|ty| self.leaf_types(ty, &mut types));
        let mut values = vec![];
        for ty in types {
            let v = self.out.new_value(ty);
            self.out.regions[region.index()].args.push(v);
            self.ranges.remove(&v);
            values.push(v);
        }
        let mut values = values.into_iter();
        let made: Option<Vec<Abs>> = forms.iter().map(|ty| self.rebuild(ty, &mut values)).collect();
        made.ok_or_else(|| self.internal("values of a region"))
    }
}
