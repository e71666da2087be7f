//! Lists. What is more than creating, reading and writing items is library Python (`lib/list.py`).
//!
//! A list value carries a *site*: where in the program lists like it are made. All lists of a site have items of one form, which
//! is that of everything ever put into one of them. Where two lists meet their sites become one. Something more general than the
//! form, once found, is noted, and the walk begins anew.

use super::abs::{Abs, Iter, SIZE};
use super::exits::{Leave, Pending};
use super::join::Ty;
use super::walk::{Env, Flow, Here};
use super::{Infer, Key, Param};
use std::collections::HashMap;
use std::sync::Arc;
use weft_diag::Diagnostic;
use weft_ir::attr::{CmpOp, Const};
use weft_ir::{ExcClass, Op, OpId, Type, ValueId, Weak};

/// Lists that are alike.
#[derive(Clone, Debug)]
struct Site {
    /// The site it has become one with; itself if none.
    of: u32,
    /// The form of an item; none was ever put in if it is not known.
    form: Option<Ty>,
}

/// Every site so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Sites {
    all: Vec<Site>,
    made: HashMap<Key, u32>,
}

impl Sites {
    fn root(&self, mut site: u32) -> u32 {
        while let Some(s) = self.all.get(site as usize).filter(|s| s.of != site) {
            site = s.of;
        }
        site
    }

    /// The site of lists made at this place.
    fn at(&mut self, key: Key) -> u32 {
        let next = self.all.len() as u32;
        let site = *self.made.entry(key).or_insert(next);
        if site == next {
            self.all.push(Site { of: site, form: None });
        }
        self.root(site)
    }
}

impl Infer<'_> {
    pub(super) fn as_list(&self, a: &Abs) -> Option<ValueId> {
        match a {
            Abs::List(v, _) => Some(*v),
            _ => None,
        }
    }

    fn list_parts(&self, a: &Abs) -> Result<(ValueId, u32), Diagnostic> {
        match a {
            Abs::List(v, site) => Ok((*v, self.list_site(*site))),
            other => Err(self.typing(format!("expected a list, found {}", self.describe(other)))),
        }
    }

    /// The site that a site has become one with.
    pub(super) fn list_site(&self, site: u32) -> u32 {
        self.found.lists.root(site)
    }

    /// The form of an item, if it is known.
    pub(super) fn item_form(&self, site: u32) -> Option<Ty> {
        self.found.lists.all.get(self.list_site(site) as usize).and_then(|s| s.form.clone())
    }

    /// The type of lists of a site.
    pub(super) fn list_type(&self, site: u32) -> Type {
        let mut types = vec![];
        if let Some(form) = self.item_form(site) {
            self.leaf_types(&form, &mut types);
        }
        Type::List(Arc::new(types))
    }

    fn set_form(&mut self, site: u32, form: Ty) -> Result<(), Diagnostic> {
        if self.mentions(&form, site) {
            return Err(self.refuse("a list that contains itself is not supported"));
        }
        let root = self.list_site(site) as usize;
        self.found.lists.all[root].form = Some(form);
        Ok(())
    }

    /// Whether lists of a site are part of this form.
    fn mentions(&self, form: &Ty, site: u32) -> bool {
        match form {
            Ty::List(other) => {
                self.list_site(*other) == self.list_site(site)
                    || self.item_form(*other).is_some_and(|f| self.mentions(&f, site))
            }
            Ty::Tuple(items) => items.iter().any(|t| self.mentions(t, site)),
            Ty::Tagged(_, inner) => self.mentions(inner, site),
            Ty::Leaf(_) | Ty::Text | Ty::Fixed(_) | Ty::Variable(_) | Ty::Range(_) | Ty::Closure(..) => false,
        }
    }

    /// Makes items of this form possible in the lists of a site; if it is fresh, there are no lists of it yet.
    fn admit(&mut self, site: u32, item: &Ty, fresh: bool) -> Result<(), Diagnostic> {
        let item = super::function::general(item);
        self.lasting_variables(&item)?;
        let known = self.item_form(site);
        let joined = match &known {
            None => item,
            Some(form) => self.join(form, &item).map_err(|d| match self.restarts {
                true => d,
                false => {
                    let (a, b) = (self.describe_ty(form), self.describe_ty(&item));
                    self.typing(format!("a list holds {a} and {b}"))
                        .help("items of a list have one type in compiled code: use a tuple, or a list for each type")
                }
            })?,
        };
        if known.as_ref() == Some(&joined) {
            return Ok(());
        }
        self.set_form(site, joined)?;
        if fresh {
            return Ok(());
        }
        if known.is_none() {
            // The lists so far are of nothing. What follows goes well with that, but for them, and has more to find.
            self.again = true;
            return Ok(());
        }
        Err(self.restart())
    }

    /// Makes two sites one.
    pub(super) fn unify(&mut self, a: u32, b: u32) -> Result<u32, Diagnostic> {
        let (a, b) = (self.list_site(a), self.list_site(b));
        if a == b {
            return Ok(a);
        }
        let (first, second) = (a.min(b), a.max(b));
        let (x, y) = (self.item_form(first), self.item_form(second));
        let joined = match (&x, &y) {
            (Some(x), Some(y)) if x != y => Some(self.join(x, y)?),
            (Some(form), _) | (None, Some(form)) => Some(form.clone()),
            (None, None) => None,
        };
        self.found.lists.all[second as usize].of = first;
        if let Some(form) = joined.clone() {
            self.set_form(first, form)?;
        }
        // Lists that were made with another type are made anew.
        if joined != x || joined != y {
            return Err(self.restart());
        }
        Ok(first)
    }

    // ---- lists and their items ---------------------------------------------------------------

    /// `[a, b, …]`.
    pub(super) fn new_list(&mut self, items: Vec<Abs>) -> Result<Abs, Diagnostic> {
        if self.is_kernel() {
            return Err(self.refuse("a kernel has no lists").help("use an array that is passed to it, or a tuple"));
        }
        let key = self.key(u32::MAX - 1);
        let fresh = !self.found.lists.made.contains_key(&key);
        let site = self.found.lists.at(key);
        for item in &items {
            let ty = self.ty_of(item);
            self.admit(site, &ty, fresh)?;
        }
        let v = self.emit(Op::ListNew, &[], self.list_type(site));
        self.written_out.insert(v, self.undecided);
        let list = Abs::List(v, site);
        for item in &items {
            self.append(&list, item)?;
        }
        Ok(list)
    }

    /// The items of a list that was written out, of which nothing else has happened since, as tuples: numbers, and tuples and lists
    /// of numbers that have one shape. No loop may lie between: what comes later in it may have happened already.
    pub(super) fn literal(&self, x: &Abs) -> Option<Abs> {
        self.literal_in(x, 0)
    }

    /// [`Infer::literal`] of a list that so many others hold.
    fn literal_in(&self, x: &Abs, held: usize) -> Option<Abs> {
        let Abs::List(list, site) = x else { return None };
        let still = self.written_out.get(list) == Some(&self.undecided);
        let mut regions = self.out.regions.iter().filter(|_| still);
        let makes = |op: &OpId| self.out.op(*op).op == Op::ListNew && self.out.op(*op).results.contains(list);
        let here = regions.find(|region| region.ops.iter().any(makes))?;
        let pushed = here.ops.iter().map(|&op| self.out.op(op));
        let pushed = pushed.filter(|data| data.op == Op::ListPush && data.operands[0] == *list);
        let rows: Vec<&[ValueId]> = pushed.map(|data| &data.operands[1..]).collect();
        let uses = self.out.ops.iter().filter(|data| data.operands.contains(list)).count();
        if rows.len() + held != uses {
            return None;
        }
        let number = |ty: &Ty| matches!(ty, Ty::Leaf(t) if t.is_scalar());
        let form = self.item_form(*site)?;
        let mut items = vec![];
        for values in rows {
            items.push(match &form {
                Ty::List(inner) => self.literal_in(&Abs::List(values[0], *inner), 1)?,
                Ty::Tuple(parts) if parts.iter().all(number) => {
                    Abs::Tuple(values.iter().map(|&v| Abs::Value(v)).collect())
                }
                form if number(form) => Abs::Value(values[0]),
                _ => return None,
            });
        }
        let regular = items.windows(2).all(|pair| sizes(&pair[0]) == sizes(&pair[1]));
        regular.then_some(Abs::Tuple(items))
    }

    /// `list(a)`.
    pub(super) fn list_of(&mut self, a: &Abs) -> Result<Abs, Diagnostic> {
        match a {
            Abs::Tuple(items) => self.new_list(items.clone()),
            a => self.call(&Abs::Function("weft.lib.list.made_of".into()), std::slice::from_ref(a), &[]),
        }
    }

    /// A parameter that is a list.
    pub(super) fn list_parameter(&mut self, item: Option<&Param>, name: &str) -> Abs {
        let number = self.out.params().len() as u32;
        let site = self.argument_site(item, number, 0);
        let v = self.out.new_value(self.list_type(site));
        self.out.values[v.index()].name = name.to_owned();
        self.out.regions[0].args.push(v);
        Abs::List(v, site)
    }

    /// The site of a list among the arguments, so many lists deep.
    fn argument_site(&mut self, item: Option<&Param>, number: u32, depth: u64) -> u32 {
        let site = self.found.lists.at((u64::MAX - depth, number));
        if self.item_form(site).is_none()
            && let Some(form) = item.and_then(|item| self.argument_form(item, number, depth))
        {
            self.found.lists.all[site as usize].form = Some(form);
        }
        site
    }

    fn argument_form(&mut self, item: &Param, number: u32, depth: u64) -> Option<Ty> {
        Some(match item {
            Param::Value(ty) => super::function::general(&Ty::Leaf(ty.clone())),
            Param::Size(_) => Ty::Leaf(weft_ir::Type::PYINT),
            Param::Const(c) => Ty::Fixed(Abs::Const(c.clone())),
            Param::Tuple(parts) => {
                Ty::Tuple(parts.iter().map(|p| self.argument_form(p, number, depth)).collect::<Option<_>>()?)
            }
            Param::List(item) => Ty::List(self.argument_site(item.as_deref(), number, depth + 1)),
            Param::Function(_) | Param::Known(_) => return None,
        })
    }

    /// Adds an item.
    pub(super) fn append(&mut self, list: &Abs, item: &Abs) -> Result<(), Diagnostic> {
        let (v, site) = self.list_parts(list)?;
        let mut operands = vec![v];
        operands.extend(self.item_values(site, item)?);
        self.effect(Op::ListPush, &operands);
        Ok(())
    }

    /// The run-time values of an item.
    fn item_values(&mut self, site: u32, item: &Abs) -> Result<Vec<ValueId>, Diagnostic> {
        let ty = self.ty_of(item);
        self.admit(site, &ty, false)?;
        let form = self.item_form(site).ok_or_else(|| self.internal("a list of nothing"))?;
        let form = self.instantiate(&form);
        let mut values = vec![];
        self.flatten(item, &form, &mut values)?;
        Ok(values)
    }

    /// The number of items.
    pub(super) fn list_len(&mut self, list: &Abs) -> Result<Abs, Diagnostic> {
        let (v, _) = self.list_parts(list)?;
        let len = self.emit(Op::ListLen, &[v], Type::PYINT);
        Ok(self.with_range(len, SIZE))
    }

    /// The item at a position that is known to be one.
    pub(super) fn list_item(&mut self, list: &Abs, at: &Abs) -> Result<Abs, Diagnostic> {
        let (v, site) = self.list_parts(list)?;
        let Some(form) = self.item_form(site) else {
            // As above: control does not come here.
            self.unreachable();
            return Ok(Abs::Const(Const::None));
        };
        let form = self.instantiate(&form);
        let mut types = vec![];
        self.leaf_types(&form, &mut types);
        let at = self.pyint(at)?;
        let op = self.builder().op(Op::ListGet, &[v, at], &types, &[]);
        let mut values = self.out.op(op).results.iter().copied();
        self.rebuild(&form, &mut values).ok_or_else(|| self.internal("an item of a list"))
    }

    /// Replaces the item at a position that is known to be one.
    fn set_item(&mut self, list: &Abs, at: &Abs, item: &Abs) -> Result<(), Diagnostic> {
        let (v, site) = self.list_parts(list)?;
        let mut operands = vec![v, self.pyint(at)?];
        operands.extend(self.item_values(site, item)?);
        self.effect(Op::ListSet, &operands);
        Ok(())
    }

    /// An index counted from the front, checked.
    fn list_index(&mut self, list: &Abs, i: &Abs, message: &str) -> Result<Abs, Diagnostic> {
        let integer = match self.type_of(i) {
            Some(Type::Py(w)) => matches!(w, Weak::Int | Weak::Bool),
            Some(Type::Num(d)) => d.is_int(),
            _ => false,
        };
        if !integer {
            let what = self.describe(i);
            return Err(self.typing(format!("list indices must be integers or slices, not {what}")));
        }
        let site = self.site(ExcClass::IndexError, message);
        let (_, of) = self.list_parts(list)?;
        if self.item_form(of).is_none() {
            // Nothing was ever put in: there is no such item.
            self.terminate(Op::Raise { site }, &[]);
            return Ok(Abs::Const(Const::Int(0)));
        }
        let wrap = self.range(i).0 < 0;
        let (len, i) = (self.list_len(list)?, self.pyint(i)?);
        let len = self.materialise(&len)?;
        let at = self.emit(Op::NtIndex { wrap, site }, &[i, len], Type::PYINT);
        Ok(self.with_range(at, SIZE))
    }

    /// `list[i]`.
    pub(super) fn index_list(&mut self, list: &Abs, indices: &[Abs]) -> Result<Abs, Diagnostic> {
        match indices {
            [Abs::Slice(parts)] => self.list_function("get_slice", list, &parts[..]),
            [i] => {
                let at = self.list_index(list, i, "list index out of range")?;
                self.list_item(list, &at)
            }
            _ => Err(self.typing("list indices must be integers or slices, not tuple")),
        }
    }

    /// `list[i] = v`.
    pub(super) fn set_index_list(&mut self, v: &Abs, list: &Abs, indices: &[Abs]) -> Result<(), Diagnostic> {
        match indices {
            [Abs::Slice(parts)] => {
                let [lo, hi, step] = &**parts;
                self.list_function("set_slice", list, &[lo.clone(), hi.clone(), step.clone(), v.clone()]).map(drop)
            }
            [i] => {
                let at = self.list_index(list, i, "list assignment index out of range")?;
                self.set_item(list, &at, v)
            }
            _ => Err(self.typing("list indices must be integers or slices, not tuple")),
        }
    }

    /// `del list[i]`.
    pub(super) fn delete_index_list(&mut self, list: &Abs, indices: &[Abs]) -> Result<(), Diagnostic> {
        match indices {
            [Abs::Slice(parts)] => self.list_function("delete_slice", list, &parts[..]).map(drop),
            [i] => {
                let at = self.list_index(list, i, "list assignment index out of range")?;
                // A list that never has items: every index is outside.
                if self.is_terminated() {
                    return Ok(());
                }
                self.list_function("remove_at", list, &[at]).map(drop)
            }
            _ => Err(self.typing("list indices must be integers or slices, not tuple")),
        }
    }

    /// A function of `lib/list.py`.
    pub(super) fn list_function(&mut self, name: &str, list: &Abs, args: &[Abs]) -> Result<Abs, Diagnostic> {
        let all: Vec<Abs> = [list].into_iter().chain(args).cloned().collect();
        self.call(&Abs::Function(format!("weft.lib.list.{name}")), &all, &[])
    }

    /// A call of `weft.lib.prim.list_<name>`.
    pub(super) fn list_primitive(&mut self, name: &str, args: &[Abs]) -> Result<Abs, Diagnostic> {
        match (name, args) {
            ("len", [list]) => return self.list_len(list),
            ("get", [list, i]) => return self.list_item(list, i),
            ("set", [list, i, item]) => self.set_item(list, i, item)?,
            ("push", [list, item]) => self.append(list, item)?,
            ("truncate", [list, n]) => {
                let (v, _) = self.list_parts(list)?;
                let n = self.pyint(n)?;
                self.effect(Op::ListTruncate, &[v, n]);
            }
            ("reserve", [list, n]) => {
                let (v, _) = self.list_parts(list)?;
                let n = self.pyint(n)?;
                self.effect(Op::ListReserve, &[v, n]);
            }
            ("is", [x]) => return Ok(Abs::Const(Const::Bool(self.as_list(x).is_some()))),
            _ => return Err(self.internal(&format!("prim.list_{name} of {} arguments", args.len()))),
        }
        Ok(Abs::Const(Const::None))
    }

    /// What NumPy makes of lists beside arrays, also in tuples: arrays.
    pub(super) fn lists_as_arrays(&mut self, items: &[Abs]) -> Result<Vec<Abs>, Diagnostic> {
        let mut out = vec![];
        for a in items {
            out.push(match a {
                Abs::List(..) => self.array_from(a, &Abs::Const(Const::None))?,
                Abs::Tuple(parts) => Abs::Tuple(self.lists_as_arrays(parts)?),
                other => other.clone(),
            });
        }
        Ok(out)
    }

    /// `a op b` where one is a list; `inplace` for augmented assignment.
    pub(super) fn list_binop(&mut self, op: &str, a: &Abs, b: &Abs, inplace: bool) -> Result<Abs, Diagnostic> {
        match (op, self.as_list(a).is_some(), self.as_list(b).is_some()) {
            ("+", true, _) if inplace => {
                self.list_function("extend", a, std::slice::from_ref(b))?;
                Ok(a.clone())
            }
            ("+", true, true) => self.list_function("add", a, std::slice::from_ref(b)),
            ("+", true, false) => {
                let what = self.class_name(b);
                Err(self.typing(format!("can only concatenate list (not \"{what}\") to list")))
            }
            ("*", true, false) | ("*", false, true) => {
                let (list, n) = if self.as_list(a).is_some() { (a, b) } else { (b, a) };
                let integer = match self.type_of(n) {
                    Some(Type::Py(w)) => matches!(w, Weak::Int | Weak::Bool),
                    Some(Type::Num(d)) => d.is_int(),
                    _ => false,
                };
                if !integer {
                    let what = self.class_name(n);
                    return Err(self.typing(format!("can't multiply sequence by non-int of type '{what}'")));
                }
                let n = Abs::Value(self.pyint(n)?);
                if inplace && self.as_list(a).is_some() {
                    self.list_function("multiply_in_place", list, &[n])?;
                    return Ok(list.clone());
                }
                self.list_function("multiply", list, &[n])
            }
            _ => {
                let (x, y) = (self.class_name(a), self.class_name(b));
                let op = if inplace { format!("{op}=") } else { op.to_owned() };
                Err(self.typing(format!("unsupported operand type(s) for {op}: '{x}' and '{y}'")))
            }
        }
    }

    /// What Python calls the type of a value.
    fn class_name(&self, a: &Abs) -> String {
        match self.classes_of(a).first() {
            Some(name) => name.rsplit('.').next().unwrap_or(name).to_owned(),
            None => self.describe(a),
        }
    }

    /// `a op b`, a comparison of two lists.
    pub(super) fn compare_lists(&mut self, op: CmpOp, a: &Abs, b: &Abs) -> Result<Abs, Diagnostic> {
        let name = match op {
            CmpOp::Eq => "equal",
            CmpOp::Ne => "not_equal",
            CmpOp::Lt => "less",
            CmpOp::Le => "less_equal",
            CmpOp::Gt => "greater",
            _ => "greater_equal",
        };
        self.list_function(name, a, std::slice::from_ref(b))
    }

    /// `a, *rest, b = list`.
    pub(super) fn unpack_star_list(&mut self, list: &Abs, star: usize, n: usize) -> Result<Vec<Abs>, Diagnostic> {
        let constant = |n: usize| Abs::Const(Const::Int(n as i128));
        let (_, site) = self.list_parts(list)?;
        if self.item_form(site).is_none() && n > 1 {
            let message = format!("not enough values to unpack (expected at least {}, got 0)", n - 1);
            let site = self.site(ExcClass::ValueError, message);
            self.terminate(Op::Raise { site }, &[]);
            return Ok(vec![Abs::Const(Const::None); n]);
        }
        let len = self.list_len(list)?;
        let short = self.scalar_compare(CmpOp::Lt, &len, &constant(n - 1))?;
        if let Abs::Value(short) = short {
            let message = format!("not enough values to unpack (expected at least {}, got {{i}})", n - 1);
            let len = self.materialise(&len)?;
            self.raise_if(short, ExcClass::ValueError, &message, &[len]);
        }
        let after = n - 1 - star;
        let end = self.int_binop(weft_ir::attr::BinOp::Sub, &len, &constant(after))?;
        let mut items = vec![];
        for k in 0..star {
            items.push(self.index_list(list, &[constant(k)])?);
        }
        items.push(self.list_function("get_slice", list, &[constant(star), end, Abs::Const(Const::None)])?);
        for k in 0..after {
            items.push(self.index_list(list, &[Abs::Const(Const::Int(k as i128 - after as i128))])?);
        }
        Ok(items)
    }

    // ---- loops -------------------------------------------------------------------------------

    /// Whether the number of items is asked for at every turn: lists, and what goes through them, may grow meanwhile.
    pub(super) fn is_growing(&self, a: &Abs) -> bool {
        match a {
            Abs::List(..) => true,
            Abs::Iter(it) => match &**it {
                Iter::Enumerate(it, _) | Iter::Reversed(it, _) => self.is_growing(it),
                Iter::Zip(all) | Iter::Map(_, all) => all.iter().any(|a| self.is_growing(a)),
                _ => false,
            },
            _ => false,
        }
    }

    /// Whether it goes through a list that nothing was ever put into.
    pub(super) fn is_empty(&self, a: &Abs) -> bool {
        match a {
            Abs::List(_, site) => self.item_form(*site).is_none(),
            Abs::Iter(it) => match &**it {
                Iter::Enumerate(it, _) | Iter::Reversed(it, _) => self.is_empty(it),
                Iter::Zip(all) | Iter::Map(_, all) => all.iter().any(|a| self.is_empty(a)),
                _ => false,
            },
            _ => false,
        }
    }

    /// Whether there is no item at a position now.
    fn has_ended(&mut self, iter: &Abs, index: ValueId) -> Result<ValueId, Diagnostic> {
        let inner = match iter {
            Abs::Iter(it) => match &**it {
                Iter::Enumerate(it, _) => std::slice::from_ref(it),
                Iter::Zip(all) | Iter::Map(_, all) => &all[..],
                // A list that has become too short has no item at a position counted from what was its end.
                Iter::Reversed(it, was) if self.is_growing(it) => {
                    let (len, was) = (self.list_len(it)?, self.pyint(was)?);
                    let len = self.pyint(&len)?;
                    let left = self.emit(Op::Sub, &[was, index], Type::PYINT);
                    let zero = self.constant(Const::Int(0), Type::PYINT);
                    let at_end = self.test(CmpOp::Le, left, zero);
                    let beyond = self.test(CmpOp::Gt, left, len);
                    return Ok(self.emit(Op::Or, &[at_end, beyond], Type::PYBOOL));
                }
                _ => &[],
            },
            _ => &[],
        };
        let mut ended = None;
        for it in inner {
            let this = self.has_ended(it, index)?;
            ended = Some(ended.map_or(this, |before| self.emit(Op::Or, &[before, this], Type::PYBOOL)));
        }
        if let Some(ended) = ended {
            return Ok(ended);
        }
        let len = self.iter_len(iter)?;
        let len = self.pyint(&len)?;
        Ok(self.test(CmpOp::Ge, index, len))
    }

    /// A loop over a list, or over what goes through one.
    pub(super) fn walk_list(
        &mut self,
        py: Here<'_>,
        op: OpId,
        iter: &Abs,
        inits: &[Abs],
        env: &mut Env,
    ) -> Result<Option<Flow>, Diagnostic> {
        let data = py.func.op(op).clone();
        if self.is_empty(iter) {
            super::turns::bind_results(&data, inits.to_vec(), env);
            return Ok(None);
        }
        let span = self.span;
        let mut turn = self.turn(op, inits)?;
        let index = self.out.new_value(Type::PYINT);
        self.out.regions[turn.region.index()].args.push(index);
        self.ranges.insert(index, SIZE);
        let carried = self.region_values(turn.region, &turn.forms)?;
        self.undecided += 1;
        let ((next, ended, end), target) = self.in_loop(turn.region, |s| {
            let one = s.constant(Const::Int(1), Type::PYINT);
            let next = s.emit(Op::Add, &[index, one], Type::PYINT);
            let done = s.has_ended(iter, index)?;
            let (leaves, stays) = (s.out.new_region(), s.out.new_region());
            let ended = s.inside(leaves, |s| s.pending(carried.clone()));
            s.inside(stays, |s| s.terminate(Op::Yield, &[]));
            s.builder().op(Op::ScfIf, &[done], &[], &[leaves, stays]);
            let item = match iter {
                Abs::List(..) => s.list_item(iter, &Abs::Value(index))?,
                iter => s.item_at(iter, &Abs::Value(index))?,
            };
            let end = s.walk_turn(py, &data, item, carried, env)?;
            Ok((next, ended, end))
        })?;
        self.undecided -= 1;
        turn.exits(target, end);
        turn.breaks.push(ended);
        let all: Vec<&Pending> = turn.continues.iter().chain(&turn.breaks).collect();
        let joined = self.join_exits(Some(turn.declared.clone()), all.into_iter());
        let joined = joined.map_err(|d| self.turns_clash(py, &data, &turn.declared, &turn.continues, d))?;
        self.widen(turn.key, &turn.declared, joined)?;
        self.span = span;
        // The position goes along with what the loop carries.
        let mut forms = vec![Ty::Leaf(Type::PYINT)];
        forms.extend(turn.forms.iter().cloned());
        for exit in &mut turn.continues {
            exit.values.insert(0, Abs::Value(next));
            let how = if exit.region == turn.region { Leave::Yield } else { Leave::Continue };
            self.settle(exit, how, self.level + 1, &forms)?;
        }
        for exit in &turn.breaks {
            self.settle(exit, Leave::Break, self.level + 1, &turn.forms)?;
        }
        let mut operands = vec![self.constant(Const::Int(0), Type::PYINT)];
        operands.extend(&turn.inits);
        let results = self.structured(Op::ScfLoop, &operands, &turn.forms, &[turn.region])?;
        super::turns::bind_results(&data, results, env);
        Ok(None)
    }
}

/// The shape of tuples in tuples that all have one.
fn sizes(a: &Abs) -> Vec<usize> {
    match a {
        Abs::Tuple(items) => [items.len()].into_iter().chain(items.first().map(sizes).unwrap_or_default()).collect(),
        _ => vec![],
    }
}
