//! `for i in prange(…)`: blocks of iterations that run at once.
//!
//! The iterations, by number, are cut into blocks whose size depends on their number alone. A block is an ordinary loop; what
//! it leaves of a name that goes on from iteration to iteration is put into an array, and after all blocks those are
//! combined in order. So the bits are the same however many threads there are, also for one, and in the interpreter.

use super::Infer;
use super::abs::Abs;
use super::carried::{self, Callee, Carried, Update};
use super::join::Ty;
use super::turns::bind_results;
use super::walk::{Env, Flow, Here};
use crate::races::update::Update as Operator;
use std::sync::Arc;
use weft_diag::{Diagnostic, Span};
use weft_ir::attr::{BinOp, CmpOp, Const};
use weft_ir::{DType, Op, OpData, OpId, Type, ValueId};

/// Blocks that a loop is cut into at most, as long as they are not too long.
pub(crate) const BLOCKS: i128 = 256;

/// Iterations of a block at most.
pub(crate) const LONGEST: i128 = 4096;

/// What the blocks of a loop leave of the names that it carries.
struct Left<'a> {
    kinds: &'a [Carried],
    forms: &'a [Ty],
    inits: &'a [Abs],
    /// An array for each run-time value of those forms, with an element for each block.
    parts: &'a [ValueId],
    types: &'a [Type],
    /// For each name: whether a block found anything better, where that is kept.
    found: &'a [Option<ValueId>],
}

impl Infer<'_> {
    /// Whether a `prange` here is one: not in a kernel, in another one, or where a generator runs.
    pub(super) fn may_run_at_once(&self) -> bool {
        !self.is_kernel() && !self.at_once && self.sinks.is_empty() && self.collected.is_empty() && self.body.is_none()
    }

    pub(super) fn walk_parallel(
        &mut self,
        py: Here<'_>,
        op: OpId,
        range: &Abs,
        inits: &[Abs],
        env: &mut Env,
    ) -> Result<Option<Flow>, Diagnostic> {
        let data = py.func.op(op).clone();
        let span = self.span;
        if let Some((word, at)) = carried::jump_out(py, data.regions[0]) {
            let message = format!("`{word}` cannot leave a prange: its iterations run at once");
            let d = Diagnostic::typing(at, message).other(span, "the prange");
            return Err(d.help("write it as a plain loop: range"));
        }
        let mut kinds = carried::classify(py, &data, &mut |path| match self.global(path) {
            Ok(Abs::Function(name)) => Some(Callee::Known(name)),
            Ok(Abs::UserFunction(f)) => self.resolver.identity(f).map(|neutral| Callee::Reduction(f, neutral)),
            _ => None,
        });
        let names: Vec<String> =
            py.func.region(data.regions[0]).args[1..].iter().map(|v| py.func.values[v.index()].name.clone()).collect();
        if let Some(k) = kinds.iter().position(|kind| matches!(kind, Carried::Chain(_))) {
            return Err(self.refuse_chain(py, &data, k, &names[k], &kinds[k]));
        }
        let Abs::Range(bounds) = range else { return Err(self.internal("a prange of no range")) };
        let bounds = [self.pyint(&bounds[0])?, self.pyint(&bounds[1])?, self.pyint(&bounds[2])?];
        let known = self.found.forms.get(&self.key(op.0)).cloned();
        let mut forms = known.unwrap_or_else(|| inits.iter().map(|a| self.ty_of(a)).collect());
        for ((kind, form), init) in kinds.iter_mut().zip(&mut forms).zip(inits) {
            let Carried::InPlace(op) = *kind else { continue };
            let is_array = matches!(form, Ty::Leaf(Type::Tensor(_)));
            *kind = if is_array { Carried::Kept } else { Carried::Reduction(Update::Binop(op)) };
            if is_array {
                *form = Ty::Fixed(init.clone());
            }
        }
        let mut types = vec![];
        for (k, ty) in forms.iter().enumerate() {
            let first = types.len();
            self.leaf_types(ty, &mut types);
            if let Some(bad) = types[first..].iter().find(|t| !t.is_scalar()) {
                let message = format!("`{}` goes out of a prange, and is no number", names[k]);
                let at = assigned_at(py, &data, k, &names[k]).unwrap_or(span);
                let d = Diagnostic::unsupported(at, message).label(bad.user_name()).other(span, "the prange");
                return Err(
                    d.help("write into an array that is made before the loop, or update it in place: `acc += …`")
                );
            }
        }

        let n = self.iter_len(range)?;
        let int = |v: i128| Abs::Const(Const::Int(v));
        let up = self.int_binop(BinOp::Add, &n, &int(BLOCKS - 1))?;
        let block = self.int_binop(BinOp::FloorDiv, &up, &int(BLOCKS))?;
        let block = self.builtin_extreme(CmpOp::Gt, &[block, int(1)])?;
        let block = self.builtin_extreme(CmpOp::Lt, &[block, int(LONGEST)])?;
        let less = self.int_binop(BinOp::Sub, &block, &int(1))?;
        let up = self.int_binop(BinOp::Add, &n, &less)?;
        let blocks = self.int_binop(BinOp::FloorDiv, &up, &block)?;
        let blocks_v = self.pyint(&blocks)?;
        self.ranges.insert(blocks_v, (0, super::abs::SIZE.1));
        let blocks = Abs::Value(blocks_v);
        let mut parts = vec![];
        if !types.is_empty() {
            let dim = self.new_size(&blocks)?;
            for ty in &types {
                let dtype = ty.scalar_dtype().unwrap_or(DType::F64);
                parts.push(self.allocate(vec![dim], dtype, false));
            }
        }

        // Where an equal value is better too, it is not seen from the best of a block whether any was.
        let mut found = vec![None; kinds.len()];
        for (k, kind) in kinds.iter().enumerate() {
            if matches!(kind, Carried::Best { is: CmpOp::Le | CmpOp::Ge, .. }) {
                let dim = self.new_size(&blocks)?;
                found[k] = Some(self.allocate(vec![dim], DType::Bool, false));
            }
        }

        let region = self.out.new_region();
        let number = self.out.new_value(Type::PYINT);
        self.out.regions[region.index()].args.push(number);
        self.ranges.insert(number, (0, super::abs::SIZE.1));
        let entered = self.entered.clone();
        let refined = self.refined.clone();
        self.at_once = true;
        let walked = self.inside(region, |s| -> Result<(), Diagnostic> {
            let own = s.block_bounds(bounds, &n, &block, number)?;
            let mut starts = vec![];
            for ((init, ty), kind) in inits.iter().zip(&forms).zip(&kinds) {
                starts.push(match kind {
                    Carried::Reduction(update) => s.identity(update, ty)?,
                    _ => init.clone(),
                });
            }
            let mut cells = vec![];
            for (kind, to) in kinds.iter().zip(&found) {
                let (Carried::Best { ifs, .. }, Some(to)) = (kind, to) else { continue };
                let none = s.constant(Const::Bool(false), Type::BOOL);
                let cell = s.emit(Op::CellNew, &[none], Type::Cell(Arc::new(Type::BOOL)));
                let function = Arc::as_ptr(py) as usize;
                ifs.iter().for_each(|op| s.entered.entry((function, op.0)).or_default().push(cell));
                cells.push((cell, *to));
            }
            let mut inner = env.clone();
            let above = s.range(&Abs::Value(bounds[2])).0 > 0;
            s.walk_counted(py, op, own, &starts, &mut inner, &mut |s, i| {
                // It is below the end of all, of which more may be known than of the end of a block.
                if above {
                    s.below(i, &Abs::Value(bounds[1]));
                }
                Ok(Abs::Value(i))
            })?;
            s.span = span;
            let mut values = vec![];
            for (&r, ty) in data.results.iter().zip(&forms) {
                let left = inner[r.index()].clone().ok_or_else(|| s.internal("a result of a prange"))?;
                s.flatten(&left, ty, &mut values)?;
            }
            let at = s.cast(number, Type::I64);
            for (cell, to) in cells {
                let any = s.emit(Op::CellGet, &[cell], Type::BOOL);
                s.effect(Op::NtStore { wrap: false }, &[any, to, at]);
            }
            for (&v, &to) in values.iter().zip(&parts) {
                let dtype = s.tensor(to).map_or(DType::F64, |t| t.dtype);
                let v = s.cast(v, Type::Num(dtype));
                s.effect(Op::NtStore { wrap: false }, &[v, to, at]);
            }
            s.effect(Op::Yield, &[]);
            Ok(())
        });
        self.at_once = false;
        self.refined = refined;
        self.entered = entered;
        walked?;
        self.span = span;
        let turns = self.careful(bounds, &n, &block)?;
        self.builder().op(Op::ParBlocks { cost: 0 }, &[blocks_v, turns], &[], &[region]);
        let left = Left { kinds: &kinds, forms: &forms, inits, parts: &parts, types: &types, found: &found };
        let results = self.combined(&left, blocks_v)?;
        bind_results(&data, results, env);
        Ok(None)
    }

    /// The bounds of the loop over one block. All items are those of the whole range, which fit.
    fn block_bounds(
        &mut self,
        bounds: [ValueId; 3],
        n: &Abs,
        block: &Abs,
        number: ValueId,
    ) -> Result<[ValueId; 3], Diagnostic> {
        let (n, block) = (self.pyint(n)?, self.pyint(block)?);
        let pyint = Type::PYINT;
        let [lo, hi, step] = bounds;
        let first = self.emit(Op::Mul, &[number, block], pyint.clone());
        let next = self.emit(Op::Add, &[first, block], pyint.clone());
        let is_last = self.test(CmpOp::Ge, next, n);
        let item = |s: &mut Self, k: ValueId| {
            let offset = s.emit(Op::Mul, &[k, step], pyint.clone());
            s.emit(Op::Add, &[lo, offset], pyint.clone())
        };
        let (from, to) = (item(self, first), item(self, next));
        let to = self.emit(Op::Select, &[is_last, hi, to], pyint);
        let (least, most) = self.index_range(bounds);
        self.ranges.insert(from, (least, most));
        let ends = if self.range(&Abs::Value(step)).0 > 0 { (least, most + 1) } else { (least - 1, most) };
        self.ranges.insert(to, ends);
        Ok([from, to, step])
    }

    /// Iterations of a block; 0, for all of them on the caller's thread, if an index of the loop is negative: one that counts
    /// from the end may be the same element as another. Where that does not matter, `races` takes it back.
    fn careful(&mut self, bounds: [ValueId; 3], n: &Abs, block: &Abs) -> Result<ValueId, Diagnostic> {
        let (n, block) = (self.pyint(n)?, self.pyint(block)?);
        if self.index_range(bounds).0 >= 0 {
            return Ok(block);
        }
        let [lo, _, step] = bounds;
        let (zero, one) = (self.constant(Const::Int(0), Type::PYINT), self.constant(Const::Int(1), Type::PYINT));
        let turns = self.emit(Op::Sub, &[n, one], Type::PYINT);
        let offset = self.emit(Op::Mul, &[turns, step], Type::PYINT);
        let last = self.emit(Op::Add, &[lo, offset], Type::PYINT);
        let least = self.emit(Op::Min, &[lo, last], Type::PYINT);
        let negative = self.test(CmpOp::Lt, least, zero);
        Ok(self.emit(Op::Select, &[negative, zero, block], Type::PYINT))
    }

    /// What changes nothing: a block starts its part of a reduction with it.
    fn identity(&mut self, update: &Update, ty: &Ty) -> Result<Abs, Diagnostic> {
        let Ty::Leaf(ty) = ty else {
            return Err(self.refuse("a prange can only sum up numbers").label(self.describe_ty(ty)));
        };
        let Some(dtype) = ty.scalar_dtype() else {
            return Err(self.refuse("a prange can only sum up numbers").label(ty.user_name()));
        };
        let operator = match update {
            Update::All => Operator::And,
            Update::Any => Operator::Or,
            Update::Binop(BinOp::Mul) => Operator::Mul,
            Update::Binop(BinOp::And) => Operator::And,
            Update::Binop(BinOp::Or) => Operator::Or,
            Update::Binop(BinOp::Xor) => Operator::Xor,
            Update::Binop(_) => Operator::Add,
            Update::Call("builtins.max" | "numpy.maximum") => Operator::Greatest,
            Update::Call(_) | Update::Best(_) => Operator::Least,
            Update::User(_, neutral) => {
                let mut values = vec![];
                self.flatten(&Abs::Const(neutral.clone()), &Ty::Leaf(ty.clone()), &mut values)?;
                return values.first().map(|&v| Abs::Value(v)).ok_or_else(|| self.internal("an identity"));
            }
        };
        let is_flag = !matches!(update, Update::All | Update::Any) || dtype == DType::Bool;
        let Some(value) = operator.neutral(dtype).filter(|_| is_flag) else {
            return Err(self.refuse(format!("this reduction of {} in a prange is not supported yet", ty.user_name())));
        };
        Ok(Abs::Value(self.constant(value, ty.clone())))
    }

    /// What the loop leaves: what the names had before it, with the parts of all blocks in order.
    fn combined(&mut self, left: &Left<'_>, blocks: ValueId) -> Result<Vec<Abs>, Diagnostic> {
        let Left { kinds, forms, inits, parts, types, found } = *left;
        if kinds.is_empty() {
            return Ok(vec![]);
        }
        let zero = self.constant(Const::Int(0), Type::PYINT);
        let one = self.constant(Const::Int(1), Type::PYINT);
        let mut operands = vec![zero, blocks, one];
        for (a, ty) in inits.iter().zip(forms) {
            self.flatten(a, ty, &mut operands)?;
        }
        let region = self.out.new_region();
        let number = self.out.new_value(Type::PYINT);
        self.out.regions[region.index()].args.push(number);
        let before = self.region_values(region, forms)?;
        let refined = self.refined.clone();
        self.inside(region, |s| -> Result<(), Diagnostic> {
            let at = s.cast(number, Type::I64);
            let mut loaded = vec![];
            for (&from, ty) in parts.iter().zip(types) {
                let dtype = ty.scalar_dtype().unwrap_or(DType::F64);
                let v = s.emit(Op::NtLoad { wrap: false }, &[from, at], Type::Num(dtype));
                loaded.push(s.cast(v, ty.clone()));
            }
            let mut loaded = loaded.into_iter();
            let made: Option<Vec<Abs>> = forms.iter().map(|ty| s.rebuild(ty, &mut loaded)).collect();
            let made = made.ok_or_else(|| s.internal("a part of a prange"))?;
            let mut better = vec![None; kinds.len()];
            for (k, kind) in kinds.iter().enumerate() {
                let Carried::Best { is, .. } = kind else { continue };
                let is_better = s.compare(*is, &made[k], &before[k])?;
                let is_better = s.truth(&is_better)?;
                let mut is_better = s.materialise(&is_better)?;
                if let Some(found) = found[k] {
                    let any = s.emit(Op::NtLoad { wrap: false }, &[found, at], Type::BOOL);
                    let any = s.cast(any, Type::PYBOOL);
                    is_better = s.emit(Op::And, &[is_better, any], Type::PYBOOL);
                }
                better[k] = Some(is_better);
            }
            let mut after = vec![];
            for (k, (kind, ty)) in kinds.iter().zip(forms).enumerate() {
                let (acc, part) = (&before[k], made[k].clone());
                let next = match kind {
                    Carried::Reduction(Update::Binop(op)) => s.binop(*op, acc, &part)?,
                    Carried::Reduction(Update::All) => s.binop(BinOp::And, acc, &part)?,
                    Carried::Reduction(Update::Any) => s.binop(BinOp::Or, acc, &part)?,
                    Carried::Reduction(Update::Call(name)) => {
                        s.call(&Abs::Function((*name).into()), &[acc.clone(), part], &[])?
                    }
                    Carried::Reduction(Update::User(f, _)) => {
                        s.call(&Abs::UserFunction(*f), &[acc.clone(), part], &[])?
                    }
                    Carried::Best { .. } | Carried::With(_) => {
                        let leader = if let Carried::With(leader) = kind { *leader } else { k };
                        let Some(is_better) = better[leader] else { return Err(s.internal("the best of a prange")) };
                        let (mut new, mut old) = (vec![], vec![]);
                        s.flatten(&part, ty, &mut new)?;
                        s.flatten(acc, ty, &mut old)?;
                        for (new, old) in new.into_iter().zip(old) {
                            let ty = s.out.ty(old).clone();
                            after.push(s.emit(Op::Select, &[is_better, new, old], ty));
                        }
                        continue;
                    }
                    _ => part,
                };
                s.flatten(&next, ty, &mut after)?;
            }
            s.effect(Op::Yield, &after);
            Ok(())
        })?;
        self.refined = refined;
        self.structured(Op::ScfFor, &operands, forms, &[region])
    }

    /// Says in a cell, where one is kept for it, that control entered an `if`.
    pub(super) fn note_entered(&mut self, py: Here<'_>, op: OpId) {
        for cell in self.entered.get(&(Arc::as_ptr(py) as usize, op.0)).cloned().unwrap_or_default() {
            let yes = self.constant(Const::Bool(true), Type::BOOL);
            self.effect(Op::CellSet, &[yes, cell]);
        }
    }

    /// A value that goes from one iteration to the next, and is no reduction: the place that says so, and the loop's.
    fn refuse_chain(&self, py: Here<'_>, data: &OpData, k: usize, name: &str, kind: &Carried) -> Diagnostic {
        let assigned = assigned_at(py, data, k, name);
        let used = if let Carried::Chain(span) = kind { *span } else { None };
        let primary = used.or(assigned).unwrap_or(self.span);
        let message = format!("`{name}` goes from one iteration of a prange to the next, and is no reduction");
        let d = Diagnostic::typing(primary, message).label("here it is not only updated");
        let d = match assigned.filter(|&s| s != primary) {
            Some(span) => d.other(span, "assigned here, for the next iteration"),
            None => d.other(self.span, "the prange"),
        };
        d.help(
            "a reduction is updated by one operator alone (`acc += x`, `acc = min(acc, x)`, see weft.reduction); \
             else write a plain loop: range",
        )
    }
}

/// Where the body of a loop assigns carried name `k`.
fn assigned_at(py: Here<'_>, data: &OpData, k: usize, name: &str) -> Option<Span> {
    let last = py.func.region(data.regions[0]).ops.last().map(|&op| py.func.op(op))?;
    if last.op != Op::Yield {
        return None;
    }
    last.operands.get(k).and_then(|&v| py.assigned_at(name, v))
}
