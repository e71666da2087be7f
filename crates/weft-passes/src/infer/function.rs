//! Functions of the user's: arguments are bound to parameters, and the body is walked where it is called.

use super::abs::{Abs, Cell, Closure, Exc, Shared, VariableId};
use super::join::Ty;
use super::variables::Made;
use super::walk::{Flow, Frame, Here};
use super::{Infer, Scope};
use crate::py::{ParamKind, PyParam};
use std::sync::Arc;
use weft_diag::Diagnostic;
use weft_ir::attr::Const;
use weft_ir::{Func, Op, Type, ValueId};

/// Functions inside each other that are inlined at most.
const MAX_DEPTH: usize = 64;

/// A function that calls itself, for arguments of these forms.
#[derive(Clone, Debug)]
pub(super) struct Instance {
    /// The variables by place of functions among the arguments; they are passed by place, before the arguments.
    pub variables: Vec<Passed>,
    pub arguments: Vec<Ty>,
    /// What it returns, as far as is known.
    pub returns: Option<Ty>,
    pub name: String,
}

/// A variable by place that a function is given.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Passed {
    pub id: VariableId,
    pub name: String,
    pub key: super::Key,
    pub ty: Ty,
}

impl Infer<'_> {
    /// Calls a function of the user's.
    pub(super) fn call_user(&mut self, f: &Abs, args: &[Abs], keywords: &[String]) -> Result<Abs, Diagnostic> {
        let span = self.span;
        let (py, captured, defaults, scope, name) = match f {
            Abs::UserFunction(r) => {
                let found = self.resolver.function(*r)?;
                let mut defaults = vec![];
                for d in &found.defaults {
                    defaults.push(match d {
                        Some(d) => Some(self.resolved(d.clone(), &found.name)?),
                        None => None,
                    });
                }
                (found.py.clone(), vec![], defaults, Scope::User(*r), found.name.clone())
            }
            Abs::Closure(closure) => {
                let c = &closure.0;
                let (captured, given) = c.operands.split_at(c.py.captures.len().min(c.operands.len()));
                let mut given = given.iter();
                let defaults = c.py.params.iter().map(|p| p.has_default.then(|| given.next().cloned()).flatten());
                (c.py.clone(), captured.to_vec(), defaults.collect(), c.scope.clone(), c.py.func.name.clone())
            }
            _ => return Err(self.internal("a call of no function")),
        };
        let bound = self.bind_parameters(&name, &py.params, &defaults, args, keywords)?;
        let all: Vec<Abs> = captured.into_iter().chain(bound).collect();
        let defaults: Vec<Abs> = defaults.into_iter().flatten().collect();
        let result = self.enter(&py, all, scope, defaults);
        self.span = span;
        result
    }

    /// Inlines a function, or calls it where it calls itself.
    fn enter(&mut self, py: Here<'_>, args: Vec<Abs>, scope: Scope, defaults: Vec<Abs>) -> Result<Abs, Diagnostic> {
        let identity = Arc::as_ptr(py) as usize;
        if self.found.recursive.contains_key(&identity) {
            return self.call_recursive(py, args, scope, defaults);
        }
        if self.frames.iter().any(|f| f.identity == identity) {
            self.found.recursive.insert(identity, vec![]);
            return Err(self.restart());
        }
        if self.frames.len() > MAX_DEPTH {
            return Err(self.refuse("functions call each other too deeply to be inlined"));
        }
        let this = itself(py, &args, &scope, defaults);
        self.inline_frame(py, args, Frame { this: Some(this), ..Frame::new(scope, py) })
    }

    /// Walks a library function at the cursor.
    pub(super) fn inline_function(&mut self, py: Here<'_>, args: Vec<Abs>, scope: Scope) -> Result<Abs, Diagnostic> {
        self.inline_frame(py, args, Frame::new(scope, py))
    }

    /// Walks a function at the cursor. A function that may return early becomes a block.
    fn inline_frame(&mut self, py: Here<'_>, args: Vec<Abs>, frame: Frame) -> Result<Abs, Diagnostic> {
        let region = self.out.new_region();
        let first_exit = self.exits;
        self.level += 1;
        self.frames.push(Frame { called_at: self.span, ..frame });
        let refined = self.refined.clone();
        let flow = self.inside(region, |s| s.walk_body(py, args));
        let frame = self.frames.pop();
        self.level -= 1;
        let end = match flow? {
            Flow::Return(a) => Some(vec![a]),
            Flow::Yield(_) => Some(vec![Abs::Const(Const::None)]),
            Flow::Left => None,
        };
        let returns = frame.map(|f| f.returns).unwrap_or_default();
        if !returns.is_empty() {
            self.refined = refined;
        }
        match self.finish_block(region, first_exit, end, returns)? {
            Some(mut values) => Ok(values.pop().unwrap_or(Abs::Const(Const::None))),
            // Never comes back: the region has its terminator, and the walk stops there.
            None => {
                self.unreachable();
                Ok(Abs::Const(Const::None))
            }
        }
    }

    /// Whether arguments are of the same forms, with lists of any site whose items are the same or not known yet.
    fn alike(&self, a: &[Ty], b: &[Ty]) -> bool {
        let same = |(a, b): (&Ty, &Ty)| match (a, b) {
            (Ty::List(x), Ty::List(y)) if self.list_site(*x) != self.list_site(*y) => {
                match (self.item_form(*x), self.item_form(*y)) {
                    (Some(x), Some(y)) => self.alike(&[x], &[y]),
                    _ => true,
                }
            }
            (Ty::List(_), Ty::List(_)) => true,
            (Ty::Tuple(x), Ty::Tuple(y)) => self.alike(x, y),
            (Ty::Tagged(p, x), Ty::Tagged(q, y)) if p == q => {
                self.alike(std::slice::from_ref(&**x), std::slice::from_ref(&**y))
            }
            (a, b) => a == b,
        };
        a.len() == b.len() && a.iter().zip(b).all(same)
    }

    /// Calls a function that is compiled on its own.
    fn call_recursive(
        &mut self,
        py: Here<'_>,
        args: Vec<Abs>,
        scope: Scope,
        defaults: Vec<Abs>,
    ) -> Result<Abs, Diagnostic> {
        let identity = Arc::as_ptr(py) as usize;
        let arguments: Vec<Ty> = args.iter().map(|a| general(&self.ty_of(a))).collect();
        let given = self.given_variables(&arguments)?;
        let (variables, arguments) = self.passed(&given, &arguments);
        let all = self.found.recursive.get(&identity);
        let fits = |i: &&Instance| i.variables == variables && self.alike(&i.arguments, &arguments);
        let instance = all.and_then(|all| all.iter().find(fits)).cloned();
        if let Some(i) = &instance {
            for (x, y) in i.arguments.iter().zip(&arguments) {
                self.join(x, y)?;
            }
        }
        let instance = match instance {
            Some(i) => i,
            None => {
                let count: usize = self.found.recursive.values().map(Vec::len).sum();
                if count > 50 {
                    return Err(self
                        .typing(format!("the types of `{}` change with every call of itself", py.func.name))
                        .help("convert its arguments to one type before the call"));
                }
                let name = format!("{}.{count}", py.func.name);
                let new = Instance { variables, arguments: arguments.clone(), returns: None, name };
                self.found.recursive.entry(identity).or_default().push(new.clone());
                new
            }
        };
        if !self.funcs.iter().any(|f| f.name == instance.name) && !self.compiling.contains(&instance.name) {
            self.compile_instance(py, &instance, scope, defaults)?;
        }
        let mut operands: Vec<ValueId> = given.iter().flat_map(|cell| cell.0.leaves.iter().copied()).collect();
        for (a, ty) in args.iter().zip(&instance.arguments) {
            let form = self.instantiate(ty);
            self.flatten(a, &form, &mut operands)?;
        }
        let known = self.found.recursive.get(&identity).and_then(|all| all.iter().find(|i| i.name == instance.name));
        let Some(returns) = known.and_then(|i| i.returns.clone()) else {
            // What it returns is not known yet: other ways through the function say so, and the walk begins anew. Where
            // there are none, the call never comes back.
            self.structured(Op::Call { function: instance.name }, &operands, &[], &[])?;
            self.unreachable();
            return Ok(Abs::Const(Const::None));
        };
        let form = self.instantiate(&returns);
        let function = instance.name;
        let mut results = self.structured(Op::Call { function }, &operands, std::slice::from_ref(&form), &[])?;
        results.pop().ok_or_else(|| self.internal("a call without result"))
    }

    /// Walks a function into a function of its own.
    fn compile_instance(
        &mut self,
        py: Here<'_>,
        instance: &Instance,
        scope: Scope,
        defaults: Vec<Abs>,
    ) -> Result<(), Diagnostic> {
        self.compiling.push(instance.name.clone());
        let outer = std::mem::replace(&mut self.out, Func::new(&instance.name));
        let frames = std::mem::replace(&mut self.frames, vec![Frame::new(scope.clone(), py)]);
        let saved = (self.region, self.level, self.body.take());
        let kept =
            (std::mem::take(&mut self.ranges), std::mem::take(&mut self.refined), std::mem::take(&mut self.facts));
        let told = (std::mem::take(&mut self.said), std::mem::take(&mut self.granted), std::mem::take(&mut self.grown));
        let open = std::mem::take(&mut self.open);
        // Lists made in it are of the same sites from wherever it is first called.
        let path = std::mem::replace(&mut self.path, instance.name.bytes().map(u32::from).collect());
        let sinks = std::mem::take(&mut self.sinks);
        let variables = std::mem::take(&mut self.variables);
        (self.region, self.level) = (self.out.body, 0);
        instance.variables.iter().for_each(|passed| self.take_variable(passed));
        let forms: Vec<Ty> = instance.arguments.iter().map(|ty| self.instantiate(ty)).collect();
        let body = self.out.body;
        let args = self.region_values(body, &forms)?;
        let this = itself(py, &args, &scope, defaults);
        self.frames.iter_mut().for_each(|f| f.this = Some(this.clone()));
        let flow = self.walk_body(py, args)?;
        let mut returns = self.frames.pop().map(|f| f.returns).unwrap_or_default();
        match flow {
            Flow::Return(a) => returns.push(self.pending(vec![a])),
            Flow::Yield(_) => returns.push(self.pending(vec![Abs::Const(Const::None)])),
            Flow::Left => {}
        }
        let joined = self.join_exits(None, returns.iter()).map_err(|d| self.returns_clash(&returns, d))?;
        let returned = joined.first().map(general);
        let mut ids = vec![];
        returned.iter().for_each(|ty| Self::variables_of(ty, &mut ids));
        if !ids.is_empty() {
            return Err(self.refuse("a recursive function that returns a function with variables is not supported"));
        }
        let identity = Arc::as_ptr(py) as usize;
        let all = self.found.recursive.entry(identity).or_default();
        let Some(entry) = all.iter_mut().find(|i| i.name == instance.name) else {
            return Err(self.internal("a function that is gone"));
        };
        if entry.returns != returned {
            if let (Some(old), Some(new)) = (entry.returns.clone(), returned.clone()) {
                let both = self.join(&old, &new)?;
                let all = self.found.recursive.entry(identity).or_default();
                all.iter_mut().filter(|i| i.name == instance.name).for_each(|i| i.returns = Some(both.clone()));
                if both != old {
                    return Err(self.restart());
                }
            } else {
                entry.returns = returned;
                return Err(self.restart());
            }
        }
        let all = self.found.recursive.get(&identity);
        let returned = all.and_then(|all| all.iter().find(|i| i.name == instance.name)).and_then(|i| i.returns.clone());
        if let Some(form) = returned {
            let form = self.instantiate(&form);
            let mut types: Vec<Type> = vec![];
            self.leaf_types(&form, &mut types);
            self.out.results = types;
            self.settle_returns(&returns, &form)?;
        }
        let made = std::mem::replace(&mut self.out, outer);
        self.funcs.push(made);
        self.frames = frames;
        (self.region, self.level, self.body) = saved;
        (self.ranges, self.refined, self.facts) = kept;
        (self.said, self.granted, self.grown) = told;
        self.open = open;
        self.path = path;
        self.sinks = sinks;
        self.variables = variables;
        self.compiling.pop();
        Ok(())
    }

    /// The variables by place that arguments of these forms bring along, also by way of what such variables hold. No
    /// size of what they hold stays known: the function may put anything there.
    fn given_variables(&mut self, arguments: &[Ty]) -> Result<Vec<Shared<Cell>>, Diagnostic> {
        let mut ids = vec![];
        for ty in arguments {
            if let Ty::List(site) = ty {
                self.item_form(*site).iter().for_each(|item| Self::variables_of(item, &mut ids));
                if !ids.is_empty() {
                    return Err(
                        self.refuse("a list of functions as an argument of a recursive function is not supported")
                    );
                }
            }
        }
        arguments.iter().for_each(|ty| Self::variables_of(ty, &mut ids));
        let mut given: Vec<Shared<Cell>> = vec![];
        while !ids.is_empty() {
            let id = ids.remove(0);
            if given.iter().any(|cell| cell.0.id == id) {
                continue;
            }
            let Some(made) = self.variables.get(&id) else { return Err(self.internal("a variable that is gone")) };
            let cell = made.cell.clone();
            let ty = general(&cell.0.ty);
            if ty != cell.0.ty {
                self.found.forms.insert(cell.0.key, vec![ty]);
                return Err(self.restart());
            }
            Self::variables_of(&ty, &mut ids);
            given.push(cell);
        }
        Ok(given)
    }

    /// Variables and arguments as the function that gets them knows them.
    fn passed(&self, given: &[Shared<Cell>], arguments: &[Ty]) -> (Vec<Passed>, Vec<Ty>) {
        let renamed = |id: VariableId| match given.iter().position(|cell| cell.0.id == id) {
            Some(k) => (id.0, k + 1),
            None => id,
        };
        let passed = |cell: &Shared<Cell>| {
            let cell = &cell.0;
            Passed { id: renamed(cell.id), name: cell.name.clone(), key: cell.key, ty: rename(&cell.ty, &renamed) }
        };
        (given.iter().map(passed).collect(), arguments.iter().map(|ty| rename(ty, &renamed)).collect())
    }

    /// A variable by place that the function being emitted is given.
    fn take_variable(&mut self, passed: &Passed) {
        let form = self.instantiate(&passed.ty);
        let (mut types, mut leaves) = (vec![], vec![]);
        self.leaf_types(&form, &mut types);
        let body = self.out.body;
        for ty in types {
            let leaf = self.out.new_value(Type::Cell(Arc::new(ty)));
            self.out.regions[body.index()].args.push(leaf);
            leaves.push(leaf);
        }
        let Passed { id, name, key, ty } = passed.clone();
        let cell = Shared(Arc::new(Cell { id, name, key, ty, form, leaves }));
        self.variables.insert(id, Made { cell, region: body });
    }

    /// Arguments in the order of the parameters, by Python's rules and with its messages.
    fn bind_parameters(
        &mut self,
        name: &str,
        params: &[PyParam],
        defaults: &[Option<Abs>],
        args: &[Abs],
        keywords: &[String],
    ) -> Result<Vec<Abs>, Diagnostic> {
        let (positional, named) = args.split_at(args.len() - keywords.len());
        let mut bound: Vec<Option<Abs>> = vec![None; params.len()];
        let mut rest = positional.iter();
        let by_position = |p: &PyParam| matches!(p.kind, ParamKind::PositionalOnly | ParamKind::Ordinary);
        for (slot, _) in bound.iter_mut().zip(params).filter(|(_, p)| by_position(p)) {
            *slot = rest.next().cloned();
        }
        let extra: Vec<Abs> = rest.cloned().collect();
        match params.iter().position(|p| p.kind == ParamKind::Star) {
            Some(star) => bound[star] = Some(Abs::Tuple(extra)),
            None if !extra.is_empty() => {
                let most = params.iter().filter(|p| by_position(p)).count();
                let least = params.iter().filter(|p| by_position(p) && !p.has_default).count();
                let takes = match least == most {
                    true => format!("{most} positional argument{}", if most == 1 { "" } else { "s" }),
                    false => format!("from {least} to {most} positional arguments"),
                };
                let given = positional.len();
                let were = if given == 1 { "was" } else { "were" };
                return Err(self.typing(format!("{name}() takes {takes} but {given} {were} given")));
            }
            None => {}
        }
        for (keyword, value) in keywords.iter().zip(named) {
            let can =
                |p: &PyParam| p.name == *keyword && matches!(p.kind, ParamKind::Ordinary | ParamKind::KeywordOnly);
            let Some(k) = params.iter().position(can) else {
                return Err(self.typing(format!("{name}() got an unexpected keyword argument '{keyword}'")));
            };
            if bound[k].replace(value.clone()).is_some() {
                return Err(self.typing(format!("{name}() got multiple values for argument '{keyword}'")));
            }
        }
        let mut missing = vec![];
        let mut out = vec![];
        for (k, param) in params.iter().enumerate() {
            match bound[k].clone().or_else(|| defaults.get(k).cloned().flatten()) {
                Some(a) => out.push(a),
                None => missing.push(format!("'{}'", param.name)),
            }
        }
        if let [first, others @ ..] = missing.as_slice() {
            let (count, plural) = (missing.len(), if others.is_empty() { "" } else { "s" });
            let names = match others {
                [] => first.clone(),
                [second] => format!("{first} and {second}"),
                [middle @ .., last] => format!("{first}, {}, and {last}", middle.join(", ")),
            };
            let message = format!("{name}() missing {count} required positional argument{plural}: {names}");
            return Err(self.typing(message));
        }
        Ok(out)
    }

    /// `x.name` where the library has a function for it: its value, or a method to be called.
    pub(super) fn library_attribute(&mut self, x: &Abs, name: &str) -> Result<Option<Abs>, Diagnostic> {
        for class in self.classes_of(x) {
            let full = format!("{class}.{name}");
            if let Some(overload) = super::library::find(&full)? {
                if overload.attribute {
                    let f = Abs::Function(full);
                    return self.call(&f, std::slice::from_ref(x), &[]).map(Some);
                }
                return Ok(Some(Abs::Method(Box::new(x.clone()), full)));
            }
        }
        Ok(None)
    }

    /// Python's classes of a value, the most special first, by canonical name.
    pub(super) fn classes_of(&self, x: &Abs) -> Vec<String> {
        let names: &[&str] = match x {
            Abs::Const(Const::Str(_)) | Abs::Format(..) | Abs::Text(_) => &["builtins.str"],
            Abs::Tuple(_) => &["builtins.tuple"],
            Abs::Exception(Exc { .. }, _) | Abs::Caught => &["builtins.BaseException"],
            _ if self.as_list(x).is_some() => &["builtins.list"],
            _ => match self.type_of(x) {
                Some(Type::Tensor(_)) => &["numpy.ndarray"],
                Some(Type::Py(w)) => return vec![format!("builtins.{}", w.python_name())],
                Some(Type::Num(d)) => {
                    return vec![format!("numpy.{}", d.numpy_name()), "numpy.generic".into(), "numpy.ndarray".into()];
                }
                _ => &[],
            },
        };
        names.iter().map(|s| s.to_string()).collect()
    }
}

/// A nested function as it knows itself: its captures are what it got as first arguments.
fn itself(py: Here<'_>, args: &[Abs], scope: &Scope, defaults: Vec<Abs>) -> Abs {
    let captured = args.iter().take(py.captures.len()).cloned();
    let operands = captured.chain(defaults).collect();
    Abs::Closure(Shared(Arc::new(Closure { py: py.clone(), operands, scope: scope.clone() })))
}

/// The form with no size known: calls of one function share it.
pub(super) fn general(ty: &Ty) -> Ty {
    match ty {
        Ty::Leaf(Type::Tensor(t)) => {
            let mut t = (**t).clone();
            t.dims.iter_mut().for_each(|d| *d = super::join::ANY);
            Ty::Leaf(Type::tensor(t))
        }
        Ty::Tuple(items) => Ty::Tuple(items.iter().map(general).collect()),
        Ty::Range(bounds) => Ty::Range(bounds.iter().map(general).collect()),
        Ty::Tagged(absent, inner) => Ty::Tagged(absent.clone(), Box::new(general(inner))),
        Ty::Closure(f, scope, operands) => {
            Ty::Closure(f.clone(), scope.clone(), operands.iter().map(general).collect())
        }
        other => other.clone(),
    }
}

/// The form with its variables called by other names.
fn rename(ty: &Ty, renamed: &dyn Fn(VariableId) -> VariableId) -> Ty {
    let all = |types: &[Ty]| types.iter().map(|t| rename(t, renamed)).collect();
    match ty {
        Ty::Variable(id) => Ty::Variable(renamed(*id)),
        Ty::Tuple(items) => Ty::Tuple(all(items)),
        Ty::Tagged(absent, inner) => Ty::Tagged(absent.clone(), Box::new(rename(inner, renamed))),
        Ty::Closure(f, scope, operands) => Ty::Closure(f.clone(), scope.clone(), all(operands)),
        Ty::Leaf(_) | Ty::Text | Ty::Fixed(_) | Ty::List(_) | Ty::Range(_) => ty.clone(),
    }
}
