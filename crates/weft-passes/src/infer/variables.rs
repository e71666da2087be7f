//! Variables by place, exceptions, and loops over generators: what passes values through cells.

use super::abs::{Abs, Absent, Cell, Exc, Iter, Shared};
use super::join::Ty;
use super::turns::bind_results;
use super::walk::{Env, Flow, Frame, Here};
use super::{Infer, Sink};
use std::sync::Arc;
use weft_diag::Diagnostic;
use weft_ir::attr::Const;
use weft_ir::{ExcClass, Op, OpId, RegionId, Site, Type, ValueId, Weak};

/// A variable by place of the function being emitted.
pub(super) struct Made {
    pub cell: Shared<Cell>,
    /// Where its cells are made.
    pub region: RegionId,
}

impl Infer<'_> {
    /// A variable by place. Its form is that of everything ever put into it.
    pub(super) fn new_cell(&mut self, name: &str, init: &Abs) -> Result<Abs, Diagnostic> {
        let key = self.key(u32::MAX);
        let id = (key, 0);
        let ty = match self.found.forms.get(&key) {
            Some(known) => known[0].clone(),
            None => self.lasting_form(&self.ty_of(init)),
        };
        let mut leaves = vec![];
        let (form, region) = match self.found.outlasting.contains(&id) {
            true => {
                let form = self.cells_at_start(&ty, &mut leaves);
                let mut values = vec![];
                self.flatten(init, &form, &mut values)?;
                for (v, &leaf) in values.into_iter().zip(&leaves) {
                    self.effect(Op::CellSet, &[v, leaf]);
                }
                (form, self.out.body)
            }
            false => {
                let form = self.instantiate(&ty);
                let mut values = vec![];
                self.flatten(init, &form, &mut values)?;
                self.cells_of(values, &mut leaves);
                (form, self.region)
            }
        };
        let cell = Shared(Arc::new(Cell { id, name: name.into(), key, ty, form, leaves }));
        self.variables.insert(id, Made { cell: cell.clone(), region });
        Ok(Abs::Cell(cell))
    }

    fn cells_of(&mut self, values: Vec<ValueId>, leaves: &mut Vec<ValueId>) {
        for v in values {
            let held = Type::Cell(Arc::new(self.out.ty(v).clone()));
            leaves.push(self.emit(Op::CellNew, &[v], held));
        }
    }

    /// Cells for something of this form, made where the function begins, which hold nothing yet.
    fn cells_at_start(&mut self, ty: &Ty, leaves: &mut Vec<ValueId>) -> Ty {
        let (region, body) = (self.out.new_region(), self.out.body);
        let form = self.inside(region, |s| {
            let form = s.instantiate(ty);
            let mut values = vec![];
            s.stand_ins(&form, &mut values);
            s.cells_of(values, leaves);
            form
        });
        let ops = std::mem::take(&mut self.out.regions[region.index()].ops);
        self.out.regions[body.index()].ops.splice(0..0, ops);
        self.facts.moved(region, body);
        form
    }

    /// Sees to it that the variables of functions that leave a branch or loop are there where control goes on.
    pub(super) fn outlast(&mut self, forms: &[Ty]) -> Result<(), Diagnostic> {
        let mut ids = vec![];
        forms.iter().for_each(|ty| Self::variables_of(ty, &mut ids));
        for id in ids {
            let Some(made) = self.variables.get(&id) else { return Err(self.internal("a variable that is gone")) };
            if made.region != self.region && !self.open.contains(&made.region) {
                self.found.outlasting.insert(id);
                return Err(self.restart());
            }
        }
        Ok(())
    }

    /// Refuses lists of functions with variables that may be made more than once: each item would have its own.
    pub(super) fn lasting_variables(&self, item: &Ty) -> Result<(), Diagnostic> {
        let mut ids = vec![];
        Self::variables_of(item, &mut ids);
        let lasts =
            |id| self.variables.get(id).is_some_and(|made| made.region == self.out.body && self.compiling.is_empty());
        match ids.iter().all(lasts) {
            true => Ok(()),
            false => Err(self
                .refuse("a list of functions with variables of their own is not supported")
                .help("use a tuple of functions")),
        }
    }

    /// What a loop carries from turn to turn: each turn would make the variables of these functions anew.
    pub(super) fn made_before(&self, forms: &[Ty]) -> Result<(), Diagnostic> {
        let mut ids = vec![];
        forms.iter().for_each(|ty| Self::variables_of(ty, &mut ids));
        match ids.iter().all(|id| self.variables.contains_key(id)) {
            true => Ok(()),
            false => Err(self
                .refuse("a function with variables of its own that is made in one turn of a loop and used in a later one is not supported")
                .help("make the function before the loop")),
        }
    }

    pub(super) fn get_cell(&mut self, cell: &Abs) -> Result<Abs, Diagnostic> {
        let value = self.read_cell(cell)?;
        self.assigned(&value)
    }

    pub(super) fn set_cell(&mut self, value: &Abs, cell: &Abs) -> Result<(), Diagnostic> {
        let Abs::Cell(cell) = cell else { return Err(self.internal("no cell to write to")) };
        let cell = cell.0.clone();
        let here = self.lasting_form(&self.ty_of(value));
        let joined = self.join(&cell.ty, &here)?;
        if joined != cell.ty {
            let mut ids = vec![];
            Self::variables_of(&joined, &mut ids);
            if cell.id.1 > 0 && !ids.is_empty() {
                return Err(
                    self.refuse("a recursive function that puts a function into a variable around it is not supported")
                );
            }
            self.found.forms.insert(cell.key, vec![joined]);
            return Err(self.restart());
        }
        let mut values = vec![];
        self.flatten(value, &cell.form, &mut values)?;
        for (v, &leaf) in values.into_iter().zip(&cell.leaves) {
            self.effect(Op::CellSet, &[v, leaf]);
        }
        Ok(())
    }

    // ---- exceptions --------------------------------------------------------------------------

    pub(super) fn walk_try(&mut self, py: Here<'_>, op: OpId, env: &mut Env) -> Result<Option<Flow>, Diagnostic> {
        let data = py.func.op(op).clone();
        let mut regions = vec![];
        let mut falls = false;
        for &region in &data.regions {
            let target = self.out.new_region();
            let refined = self.refined.clone();
            // A handler may want what is raised here.
            self.undecided += 1;
            let flow = self.inside(target, |s| s.walk_region(py, region, &mut env.clone()));
            self.undecided -= 1;
            let flow = flow?;
            self.refined = refined;
            match flow {
                Flow::Yield(_) => {
                    falls = true;
                    self.inside(target, |s| s.terminate(Op::Yield, &[]));
                }
                Flow::Left => {}
                Flow::Return(value) => self.inside(target, |s| s.leave(value))?,
            }
            regions.push(target);
        }
        self.builder().op(Op::ScfTry, &[], &[], &regions);
        if falls {
            return Ok(None);
        }
        self.unreachable();
        Ok(Some(Flow::Left))
    }

    /// In a handler: whether the exception is one of these.
    pub(super) fn catch(&mut self, classes: &Abs) -> Result<Abs, Diagnostic> {
        let mut wanted = vec![];
        let list = match classes {
            Abs::Tuple(items) => items.clone(),
            one => vec![one.clone()],
        };
        for class in list {
            match class {
                Abs::ExceptionClass(Exc { class, user: None }) => wanted
                    .extend(ExcClass::ALL.iter().enumerate().filter(|(_, c)| c.is_a(class)).map(|(k, _)| k as u32)),
                Abs::ExceptionClass(Exc { user: Some(user), .. }) => wanted.push(ExcClass::number(user)),
                other => {
                    let message = "catching classes that do not inherit from BaseException is not allowed";
                    return Err(self.typing(message).label(self.describe(&other)));
                }
            }
        }
        wanted.sort_unstable();
        wanted.dedup();
        Ok(Abs::Value(self.emit(Op::ScfCatch { classes: wanted }, &[], Type::PYBOOL)))
    }

    /// `raise x`, or the handled exception again.
    pub(super) fn raise(&mut self, exception: Option<&Abs>) -> Result<(), Diagnostic> {
        let (exc, args) = match exception {
            None | Some(Abs::Caught) => {
                self.terminate(Op::ScfReraise, &[]);
                return Ok(());
            }
            Some(Abs::ExceptionClass(exc)) => (*exc, vec![]),
            Some(Abs::Exception(exc, args)) => (*exc, args.clone()),
            Some(other) => {
                return Err(self.typing("exceptions must derive from BaseException").label(self.describe(other)));
            }
        };
        let mut template = String::new();
        let mut values = vec![];
        self.arguments(&args, &mut template, &mut values)?;
        if values.len() > Site::MAX_ARGS {
            return Err(self.refuse("a message with so many values is not supported"));
        }
        let site = self.site(exc.class, template);
        if let Some(user) = exc.user {
            self.sites[site as usize].also = self.resolver.exception_bases(user);
            self.sites[site as usize].user = Some(user);
        }
        self.terminate(Op::Raise { site }, &values);
        Ok(())
    }

    /// Adds the arguments of an exception, or the items of a tuple among them.
    fn arguments(&mut self, args: &[Abs], template: &mut String, values: &mut Vec<ValueId>) -> Result<(), Diagnostic> {
        for (k, a) in args.iter().enumerate() {
            if k > 0 {
                template.push_str("{,}");
            }
            match a {
                Abs::Const(Const::None) => template.push_str("{=None}"),
                Abs::Const(Const::Bool(b)) => template.push_str(if *b { "{=True}" } else { "{=False}" }),
                Abs::Const(Const::Int(v)) => template.push_str(&format!("{{={v}}}")),
                Abs::Tuple(items) => {
                    template.push_str("{(}");
                    self.arguments(items, template, values)?;
                    template.push_str("{)}");
                }
                Abs::Const(Const::Str(_)) | Abs::Format(..) => {
                    template.push_str("{''}");
                    self.show(a, "", template, values)?;
                }
                a => {
                    let optional = self.optional_slot(a, values);
                    let a = optional.as_ref().unwrap_or(a);
                    let kind = match (a, self.type_of(a)) {
                        (Abs::Text(_), _) => "s",
                        (_, Some(Type::Py(Weak::Bool))) => "b",
                        (_, Some(Type::Py(Weak::Int))) => "i",
                        (_, Some(Type::Py(Weak::Float))) => "f",
                        (_, Some(Type::Num(d))) if !d.is_complex() => d.numpy_name(),
                        _ => {
                            let what = self.describe(a);
                            return Err(self
                                .refuse(format!("an exception with {what} among its arguments is not supported yet"))
                                .help("put what it says into a message: raise ValueError(f\"…\")"));
                        }
                    };
                    template.push_str(&format!("{{={}{kind}}}", if optional.is_some() { "?" } else { "" }));
                    values.push(self.slot_value(a)?);
                }
            }
        }
        Ok(())
    }

    /// Where a value may be None, puts down whether it is there, and gives the value.
    fn optional_slot(&self, a: &Abs, values: &mut Vec<ValueId>) -> Option<Abs> {
        let Abs::Tagged(Absent::None, flag, inner) = a else { return None };
        values.push(*flag);
        Some((**inner).clone())
    }

    /// What fills a slot.
    fn slot_value(&mut self, a: &Abs) -> Result<ValueId, Diagnostic> {
        match a {
            Abs::Text(v) => Ok(*v),
            a => self.materialise(a),
        }
    }

    /// Adds a value to a message: text, and slots for what is known at run time only.
    pub(super) fn show(
        &mut self,
        a: &Abs,
        spec: &str,
        template: &mut String,
        values: &mut Vec<ValueId>,
    ) -> Result<(), Diagnostic> {
        let escape = |text: &str| text.replace('{', "{{").replace('}', "}}");
        match a {
            Abs::Const(Const::Str(s)) if spec.is_empty() => template.push_str(&escape(s)),
            Abs::Format(parts, items) => {
                for (k, part) in parts.iter().enumerate() {
                    template.push_str(&escape(part));
                    if let Some((item, spec)) = items.get(k) {
                        self.show(item, spec, template, values)?;
                    }
                }
            }
            Abs::Const(Const::None) => template.push_str("None"),
            Abs::Const(Const::Bool(b)) if spec.is_empty() => template.push_str(if *b { "True" } else { "False" }),
            Abs::Const(Const::Int(v)) if spec.is_empty() => template.push_str(&v.to_string()),
            Abs::Tuple(items) if spec.is_empty() || spec == "!r" => {
                template.push('(');
                for (k, item) in items.iter().enumerate() {
                    if k > 0 {
                        template.push_str(", ");
                    }
                    self.show(item, "!r", template, values)?;
                }
                template.push_str(if items.len() == 1 { ",)" } else { ")" });
            }
            a => {
                let optional = self.optional_slot(a, values);
                let may_be_none = if optional.is_some() { "?" } else { "" };
                let a = optional.as_ref().unwrap_or(a);
                if let (Abs::Text(v), "" | "!r" | "!s") = (a, spec) {
                    template.push_str(&format!("{{{may_be_none}s{}}}", if spec == "!r" { spec } else { "" }));
                    values.push(*v);
                    return Ok(());
                }
                let ty = self.type_of(a).filter(Type::is_scalar);
                let Some(ty) = ty else {
                    let what = self.describe(a);
                    return Err(self
                        .refuse(format!("{what} in a message is not supported yet"))
                        .help("show a number of it"));
                };
                let kind = match (&ty, ty.scalar_dtype()) {
                    (_, Some(weft_ir::DType::Bool)) => "b",
                    (Type::Num(weft_ir::DType::F32), _) => "f32",
                    (_, Some(d)) if d.is_float() => "f",
                    (_, Some(weft_ir::DType::U64)) => "u",
                    (_, Some(d)) if d.is_int() => "i",
                    _ => return Err(self.refuse("a complex number in a message is not supported yet")),
                };
                // NumPy's scalars show their type where Python shows representations.
                let slot = format!("{{{may_be_none}{kind}{spec}}}");
                template.push_str(&match &ty {
                    Type::Num(d) if spec.starts_with("!r") && optional.is_none() => match d {
                        weft_ir::DType::Bool => format!("np.{slot}_"),
                        d => format!("np.{}({slot})", d.numpy_name()),
                    },
                    _ => slot,
                });
                values.push(self.materialise(a)?);
            }
        }
        Ok(())
    }

    // ---- generators --------------------------------------------------------------------------

    /// A loop over what produces items by running: what the loop carries goes into cells, and each item runs the loop's
    /// body where it is produced.
    pub(super) fn walk_generated(
        &mut self,
        py: Here<'_>,
        op: OpId,
        iter: &Abs,
        inits: &[Abs],
        env: &mut Env,
    ) -> Result<Option<Flow>, Diagnostic> {
        let data = py.func.op(op).clone();
        let mut cells = vec![];
        for (k, init) in inits.iter().enumerate() {
            self.path.extend([op.0, k as u32]);
            let cell = self.new_cell("", init);
            self.path.truncate(self.path.len() - 2);
            cells.push(cell?);
        }
        // The loop itself is a block that `break` leaves; each item is a block that `continue` leaves.
        let region = self.out.new_region();
        let first_exit = self.exits;
        let sink = Sink { py: py.clone(), op, cells: cells.clone(), env: env.clone(), frame: self.frames.len() - 1 };
        let (flow, target) = self.in_loop(region, |s| {
            s.sinks.push(sink);
            let flow = s.produce(iter);
            s.sinks.pop();
            flow
        })?;
        let end = match flow {
            Flow::Yield(_) => Some(vec![]),
            Flow::Left => None,
            Flow::Return(_) => return Err(self.internal("a generator that returns")),
        };
        // Values are in the cells already.
        let breaks = target.breaks.into_iter().map(|mut exit| {
            exit.values.clear();
            exit
        });
        let Some(_) = self.finish_block(region, first_exit, end, breaks.collect())? else {
            return Ok(Some(Flow::Left));
        };
        let mut results = vec![];
        for cell in &cells {
            results.push(self.read_cell(cell)?);
        }
        bind_results(&data, results, env);
        Ok(None)
    }

    /// What a cell holds, assigned or not.
    pub(super) fn read_cell(&mut self, cell: &Abs) -> Result<Abs, Diagnostic> {
        let Abs::Cell(cell) = cell else { return Err(self.internal("no cell")) };
        let cell = cell.0.clone();
        // Sizes that differ from one time to the next have symbols of their own each time.
        let form = self.instantiate(&cell.ty);
        let (mut types, mut values) = (vec![], vec![]);
        self.leaf_types(&form, &mut types);
        for (&leaf, ty) in cell.leaves.iter().zip(types) {
            values.push(self.emit(Op::CellGet, &[leaf], ty));
        }
        self.rebuild(&form, &mut values.into_iter()).ok_or_else(|| self.internal("a cell"))
    }

    /// Runs a generator: every item goes to the innermost sink.
    fn produce(&mut self, iter: &Abs) -> Result<Flow, Diagnostic> {
        let Abs::Iter(it) = iter else { return Err(self.internal("no generator")) };
        match &**it {
            Iter::Generator(generator) => {
                let generator = generator.0.clone();
                let frame = Frame::new(generator.scope.clone(), &generator.py);
                self.frames.push(frame);
                let flow = self.walk_region(&generator.py, generator.region, &mut generator.env.clone());
                self.frames.pop();
                flow
            }
            Iter::Filter(f, inner) => self.produce_filtered(f, inner),
            _ => Err(self.internal("no generator")),
        }
    }

    /// The items of a generator whose loops are all known now.
    pub(super) fn collect(&mut self, iter: &Abs) -> Result<Vec<Abs>, Diagnostic> {
        self.collected.push((self.undecided, vec![]));
        let sinks = std::mem::take(&mut self.sinks);
        let flow = self.produce(iter);
        self.sinks = sinks;
        let items = self.collected.pop().map(|(_, items)| items).unwrap_or_default();
        flow.map(|_| items)
    }

    /// `filter(f, it)` over something with a length.
    fn produce_filtered(&mut self, f: &Abs, inner: &Abs) -> Result<Flow, Diagnostic> {
        let len = self.iter_len(inner)?;
        if let Abs::Const(Const::Int(0)) = len {
            return Ok(Flow::Yield(vec![]));
        }
        let zero = self.constant(Const::Int(0), Type::PYINT);
        let one = self.constant(Const::Int(1), Type::PYINT);
        let hi = self.pyint(&len)?;
        let region = self.out.new_region();
        let index = self.out.new_value(Type::PYINT);
        self.out.regions[region.index()].args.push(index);
        self.ranges.insert(index, super::abs::SIZE);
        let refined = self.refined.clone();
        self.level += 1;
        self.undecided += 1;
        let walked = self.inside(region, |s| -> Result<(), Diagnostic> {
            let item = s.item_at(inner, &Abs::Value(index))?;
            // A list that stays empty has no items to speak of.
            if s.is_terminated() {
                return Ok(());
            }
            let keep = match f {
                Abs::Const(Const::None) => item.clone(),
                f => s.call(f, std::slice::from_ref(&item), &[])?,
            };
            if s.is_terminated() {
                return Ok(());
            }
            let keep = s.truth(&keep)?;
            let keep = s.materialise(&keep)?;
            let (yes, no) = (s.out.new_region(), s.out.new_region());
            s.inside(yes, |s| -> Result<(), Diagnostic> {
                if s.emit_item(&item)?.is_none() {
                    s.terminate(Op::Yield, &[]);
                }
                Ok(())
            })?;
            s.inside(no, |s| s.terminate(Op::Yield, &[]));
            s.builder().op(Op::ScfIf, &[keep], &[], &[yes, no]);
            s.terminate(Op::Yield, &[]);
            Ok(())
        });
        self.undecided -= 1;
        self.level -= 1;
        self.refined = refined;
        walked?;
        self.builder().op(Op::ScfFor, &[zero, hi, one], &[], &[region]);
        Ok(Flow::Yield(vec![]))
    }

    /// One item of the generator that is running: the body of the loop that goes through it.
    pub(super) fn emit_item(&mut self, item: &Abs) -> Result<Option<Flow>, Diagnostic> {
        let Some(sink) = self.sinks.pop() else {
            let undecided = self.undecided;
            return match self.collected.last_mut() {
                Some((at, items)) if *at == undecided => {
                    items.push(item.clone());
                    Ok(None)
                }
                Some(_) => Err(self
                    .refuse("the number of items of this generator is not known at compile time")
                    .help("make a list: list(…) or [… for …]")),
                None => Err(self.internal("an item for nobody")),
            };
        };
        // The body belongs to the function that has the loop.
        let inner = self.frames.split_off(sink.frame + 1);
        let done = self.consume(&sink, item);
        self.frames.extend(inner);
        self.sinks.push(sink);
        done
    }

    fn consume(&mut self, sink: &Sink, item: &Abs) -> Result<Option<Flow>, Diagnostic> {
        let data = sink.py.func.op(sink.op).clone();
        let region = self.out.new_region();
        let first_exit = self.exits;
        self.level += 1;
        let refined = self.refined.clone();
        let flow = self.inside(region, |s| -> Result<Option<Vec<Abs>>, Diagnostic> {
            let mut carried = vec![];
            for cell in &sink.cells {
                carried.push(s.read_cell(cell)?);
            }
            match s.walk_body_region(&sink.py, &data, item.clone(), carried, &sink.env)? {
                Flow::Yield(values) => Ok(Some(values)),
                Flow::Left => Ok(None),
                Flow::Return(value) => s.leave(value).map(|()| None),
            }
        });
        self.refined = refined;
        self.level -= 1;
        let end = flow?;
        let target = self.frames.last_mut().and_then(|f| f.targets.last_mut());
        let (mut continues, breaks) = match target {
            Some(t) => {
                let fresh = t.breaks.iter().position(|e| e.number > first_exit).unwrap_or(t.breaks.len());
                (std::mem::take(&mut t.continues), fresh..t.breaks.len())
            }
            None => return Err(self.internal("a loop that is gone")),
        };
        // Before an exit, what it brings goes into the cells.
        for k in breaks {
            let exit = self.frames.last().and_then(|f| f.targets.last()).map(|t| t.breaks[k].clone());
            if let Some(exit) = exit {
                self.at_exit(&exit, |s| s.put_cells(&sink.cells, &exit.values))?;
            }
        }
        for exit in &mut continues {
            self.at_exit(exit, |s| s.put_cells(&sink.cells, &exit.values))?;
            exit.values.clear();
        }
        let end = match end {
            Some(values) => {
                self.inside(region, |s| s.put_cells(&sink.cells, &values))?;
                Some(vec![])
            }
            None => None,
        };
        // Where nothing comes back from this item, what follows it in the generator is dead.
        let falls = self.finish_block(region, first_exit, end, continues)?.is_some();
        Ok(if falls { None } else { Some(Flow::Left) })
    }

    fn put_cells(&mut self, cells: &[Abs], values: &[Abs]) -> Result<(), Diagnostic> {
        for (cell, value) in cells.iter().zip(values) {
            self.set_cell(value, cell)?;
        }
        Ok(())
    }
}
