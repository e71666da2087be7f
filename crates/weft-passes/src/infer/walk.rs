//! Statements and control flow: one walk over the `py` ops of a function.

use super::Infer;
use super::abs::Abs;
use weft_diag::{Diagnostic, ErrorKind};
use weft_ir::attr::Const;
use weft_ir::rules::{promote, promote_weak};
use weft_ir::{Func, Op, OpId, RegionId, Type, ValueId, Weak};

/// Abstract value of each `py` value so far.
type Env = Vec<Option<Abs>>;

/// How a region ended.
pub(super) enum Flow {
    /// With these values.
    Yield(Vec<Abs>),
    /// By returning this from the function being walked.
    Return(Abs),
    /// By leaving the whole function; the terminator is emitted.
    Left,
}

impl Infer<'_> {
    /// Walks a whole function; None if control falls off the end or returns nothing.
    pub(super) fn walk_function(&mut self, py: &Func, args: Vec<Abs>) -> Result<Option<Abs>, Diagnostic> {
        let mut env: Env = vec![None; py.values.len()];
        for (&p, a) in py.params().iter().zip(args) {
            env[p.index()] = Some(a);
        }
        match self.walk_region(py, py.body, &mut env)? {
            Flow::Return(a) => Ok(Some(a)),
            Flow::Yield(_) | Flow::Left => Ok(None),
        }
    }

    fn walk_region(&mut self, py: &Func, region: RegionId, env: &mut Env) -> Result<Flow, Diagnostic> {
        for &op in &py.region(region).ops {
            if let Some(flow) = self.walk_op(py, op, env)? {
                return Ok(flow);
            }
        }
        Ok(Flow::Yield(vec![]))
    }

    fn walk_op(&mut self, py: &Func, op: OpId, env: &mut Env) -> Result<Option<Flow>, Diagnostic> {
        let data = py.op(op);
        // Library code is not the user's: inside it, the call's span stays.
        if self.inlined.is_empty() && data.span.is_known() {
            self.span = data.span;
        }
        let args: Vec<Abs> = data
            .operands
            .iter()
            .map(|v| env[v.index()].clone().ok_or_else(|| self.internal("a value before its definition")))
            .collect::<Result<_, _>>()?;
        let result = match &data.op {
            Op::PyConst { value } => Abs::Const(value.clone()),
            Op::PyGlobal { path } => self.global(path)?,
            Op::PyUnbound { name } => Abs::Unbound(name.clone()),
            Op::PyAttr { name } => self.attribute(&args[0], name)?,
            Op::PyBinop { op, inplace } => {
                if *inplace && self.as_tensor(&args[0]).is_some() {
                    // NumPy would write into the array, which others may see.
                    let text = op.text();
                    return Err(self
                        .refuse(format!("`{text}=` on an array, which writes into it, is not supported yet"))
                        .label(self.describe(&args[0]))
                        .help(format!("write `x = x {text} …`, which makes a new array")));
                }
                self.binop(*op, &args[0], &args[1])?
            }
            Op::PyUnary { op } => self.unary(*op, &args[0])?,
            Op::PyCompare { op } => self.compare(*op, &args[0], &args[1])?,
            Op::PyTruth => self.truth(&args[0])?,
            Op::PyCall { keywords } => self.call(&args[0], &args[1..], keywords)?,
            Op::PyIndex => self.index(&args[0], &args[1..])?,
            Op::PySetIndex => {
                self.set_index(&args[0], &args[1], &args[2..])?;
                return Ok(None);
            }
            Op::PyTuple => Abs::Tuple(args),
            Op::PyUnpack => {
                for (&r, a) in data.results.iter().zip(self.unpack(&args[0], data.results.len())?) {
                    env[r.index()] = Some(a);
                }
                return Ok(None);
            }
            Op::PyFor => return self.walk_for(py, op, args, env),
            Op::ScfIf => return self.walk_if(py, op, &args[0], env),
            Op::Yield => return Ok(Some(Flow::Yield(args))),
            Op::Return => return Ok(Some(Flow::Return(args.into_iter().next().unwrap_or(Abs::Const(Const::None))))),
            other => return Err(self.internal(&format!("{} at stage py", other.name()))),
        };
        if let Some(&r) = data.results.first() {
            env[r.index()] = Some(result);
        }
        Ok(None)
    }

    pub(super) fn internal(&self, what: &str) -> Diagnostic {
        Diagnostic::internal(self.span, format!("internal error in infer: {what}"))
    }

    fn unpack(&self, a: &Abs, n: usize) -> Result<Vec<Abs>, Diagnostic> {
        match a {
            Abs::Tuple(items) if items.len() == n => Ok(items.clone()),
            Abs::Tuple(items) => {
                let few = if items.len() < n { "not enough" } else { "too many" };
                let message = format!("{few} values to unpack (expected {n}, got {})", items.len());
                Err(Diagnostic::new(ErrorKind::Value, self.span, message))
            }
            other => Err(self.refuse(format!("unpacking {} is not supported yet", self.describe(other)))),
        }
    }

    fn walk_if(&mut self, py: &Func, op: OpId, cond: &Abs, env: &mut Env) -> Result<Option<Flow>, Diagnostic> {
        let data = py.op(op).clone();
        if let Abs::Const(Const::Bool(known)) = self.truth(cond)? {
            let arm = data.regions[usize::from(!known)];
            return match self.walk_region(py, arm, env)? {
                Flow::Yield(values) => {
                    for (&r, a) in data.results.iter().zip(values) {
                        env[r.index()] = Some(a);
                    }
                    Ok(None)
                }
                flow => Ok(Some(flow)),
            };
        }
        let cond = self.truth(cond)?;
        let cond = self.materialise(&cond)?;
        let span = self.span;
        let mut arms = vec![];
        for &region in &data.regions {
            let target = self.out.new_region();
            // Facts found in one arm do not hold in the other.
            let refined = self.refined.clone();
            let flow = self.inside(target, |s| -> Result<Option<Vec<Abs>>, Diagnostic> {
                match s.walk_region(py, region, &mut env.clone())? {
                    Flow::Yield(values) => Ok(Some(values)),
                    Flow::Left => Ok(None),
                    Flow::Return(value) => s.leave(value).map(|()| None),
                }
            })?;
            self.refined = refined;
            arms.push((target, flow));
        }
        self.span = span;
        let joined = self.join_arms(&arms)?;
        let mut types = vec![];
        for (k, plan) in joined.iter().enumerate() {
            if let Plan::Value(ty) = plan {
                types.push((k, ty.clone()));
            }
        }
        for (region, values) in &arms {
            if let Some(values) = values {
                self.inside(*region, |s| -> Result<(), Diagnostic> {
                    let mut yields = vec![];
                    for (k, ty) in &types {
                        yields.push(s.coerce(&values[*k], ty)?);
                    }
                    s.terminate(Op::Yield, &yields);
                    Ok(())
                })?;
            }
        }
        let result_types: Vec<Type> = types.iter().map(|(_, t)| t.clone()).collect();
        let regions: Vec<RegionId> = arms.iter().map(|(r, _)| *r).collect();
        let id = self.builder().op(Op::ScfIf, &[cond], &result_types, &regions);
        let mut produced = self.out.op(id).results.clone().into_iter();
        for (&r, plan) in data.results.iter().zip(joined) {
            env[r.index()] = Some(match plan {
                Plan::Same(a) => a,
                Plan::Value(_) => Abs::Value(produced.next().ok_or_else(|| self.internal("if results"))?),
            });
        }
        if arms.iter().all(|(_, values)| values.is_none()) {
            // Both arms left: what follows is dead, but the region still needs its terminator.
            let nothing: [ValueId; 0] = [];
            self.terminate(Op::Return, &nothing);
            return Ok(Some(Flow::Left));
        }
        Ok(None)
    }

    /// A return under a run-time condition.
    fn leave(&mut self, value: Abs) -> Result<(), Diagnostic> {
        if self.is_kernel() && self.inlined.is_empty() && value == Abs::Const(Const::None) {
            self.terminate(Op::Return, &[]);
            return Ok(());
        }
        if self.is_kernel() && self.inlined.is_empty() {
            return Err(self.typing("a kernel returns nothing").help("write results into an array argument"));
        }
        Err(self
            .refuse("`return` under a condition that is not known at compile time is not supported in @njit yet")
            .help("assign to a name in both branches and return it at the end, or use np.where"))
    }

    /// What each result of an `if` is: the same in both arms, or a joined value.
    fn join_arms(&mut self, arms: &[(RegionId, Option<Vec<Abs>>)]) -> Result<Vec<Plan>, Diagnostic> {
        let live: Vec<&Vec<Abs>> = arms.iter().filter_map(|(_, v)| v.as_ref()).collect();
        let Some(first) = live.first() else { return Ok(vec![]) };
        let mut plans = vec![];
        for k in 0..first.len() {
            let mut plan = self.plan_of(&live, k, &first[k])?;
            // A value made inside the only live arm must come out through the `if`.
            if let (Plan::Same(Abs::Value(v)), 1) = (&plan, live.len()) {
                plan = Plan::Value(self.out.ty(*v).clone());
            }
            plans.push(plan);
        }
        Ok(plans)
    }

    fn plan_of(&self, live: &[&Vec<Abs>], k: usize, first: &Abs) -> Result<Plan, Diagnostic> {
        if live.iter().all(|v| v[k] == *first) {
            return Ok(Plan::Same(first.clone()));
        }
        if let Some(name) = live.iter().find_map(|v| if let Abs::Unbound(n) = &v[k] { Some(n.clone()) } else { None }) {
            return Ok(Plan::Same(Abs::Unbound(name)));
        }
        let mut joined: Option<Type> = None;
        for v in live {
            let Some(ty) = self.type_of(&v[k]) else {
                let what = self.describe(&v[k]);
                return Err(self.refuse(format!("a name holds {what} on one path and something else on another")));
            };
            joined = Some(match joined {
                None => ty,
                Some(t) => self.join_types(&t, &ty)?,
            });
        }
        Ok(Plan::Value(joined.unwrap_or(Type::NONE)))
    }

    /// The type of a name that is `a` on one path and `b` on another.
    fn join_types(&self, a: &Type, b: &Type) -> Result<Type, Diagnostic> {
        Ok(match (a, b) {
            _ if a == b => a.clone(),
            (Type::Py(x), Type::Py(y)) if *x != Weak::None && *y != Weak::None => Type::Py(*x.max(y)),
            (Type::Py(w), Type::Num(d)) | (Type::Num(d), Type::Py(w)) if *w != Weak::None => {
                let common = if *w == Weak::Bool { promote(weft_ir::DType::Bool, *d) } else { promote_weak(*w, *d) };
                Type::Num(common)
            }
            _ => {
                let (x, y) = (a.user_name(), b.user_name());
                return Err(self
                    .typing(format!("a name is {x} on one path and {y} on another"))
                    .help("give it one type: convert on one of the paths"));
            }
        })
    }

    fn coerce(&mut self, a: &Abs, ty: &Type) -> Result<ValueId, Diagnostic> {
        match ty {
            Type::Num(d) => self.as_dtype(a, *d),
            Type::Py(Weak::Float) => self.pyfloat(a),
            Type::Py(Weak::Int) => self.pyint(a),
            _ => self.materialise(a),
        }
    }

    fn walk_for(&mut self, py: &Func, op: OpId, args: Vec<Abs>, env: &mut Env) -> Result<Option<Flow>, Diagnostic> {
        let data = py.op(op).clone();
        let Abs::Range(bounds) = &args[0] else {
            return Err(self
                .refuse(format!("a loop over {} is not supported yet", self.describe(&args[0])))
                .help("loop over range(…)"));
        };
        let inits = &args[1..];
        let span = self.span;
        let (lo, hi, step) = (self.pyint(&bounds[0])?, self.pyint(&bounds[1])?, self.pyint(&bounds[2])?);
        let item_range = match &bounds[2] {
            Abs::Const(Const::Int(s)) if *s > 0 => (self.range(&bounds[0]).0, self.range(&bounds[1]).1 - 1),
            Abs::Const(Const::Int(_)) => (self.range(&bounds[1]).0 + 1, self.range(&bounds[0]).1),
            _ => super::abs::INT64,
        };
        // Names that keep one meaning (functions, unassigned names) are not carried; numbers are, in a type that the
        // body's own assignments may widen.
        let mut types: Vec<Option<Type>> = inits.iter().map(|a| self.type_of(a)).collect();
        let before = (self.out.clone(), self.sites.len(), self.refined.clone());
        loop {
            let attempt = self.loop_body(py, data.regions[0], inits, &types, item_range, env)?;
            let mut widened = types.clone();
            for (k, a) in attempt.values.iter().enumerate() {
                match (&types[k], self.type_of(a)) {
                    (Some(t), Some(u)) => widened[k] = Some(self.join_types(t, &u)?),
                    (Some(_), None) | (None, _)
                        if matches!(a, Abs::Unbound(_)) || matches!(inits[k], Abs::Unbound(_)) => {}
                    (None, _) if *a == inits[k] => {}
                    _ => {
                        let what = self.describe(a);
                        return Err(self
                            .refuse(format!("a name becomes {what} inside the loop, and was something else before")));
                    }
                }
            }
            if widened == types {
                return self.finish_for(&data, [lo, hi, step], inits, &types, attempt, span, env);
            }
            types = widened;
            self.out = before.0.clone();
            self.sites.truncate(before.1);
            self.refined = before.2.clone();
        }
    }

    fn loop_body(
        &mut self,
        py: &Func,
        source: RegionId,
        inits: &[Abs],
        types: &[Option<Type>],
        item_range: (i128, i128),
        env: &Env,
    ) -> Result<LoopBody, Diagnostic> {
        let region = self.out.new_region();
        let item = self.out.new_value(Type::PYINT);
        self.out.regions[region.index()].args.push(item);
        self.ranges.insert(item, item_range);
        let mut inner = env.clone();
        let params = &py.region(source).args;
        inner[params[0].index()] = Some(Abs::Value(item));
        for (k, ty) in types.iter().enumerate() {
            inner[params[k + 1].index()] = Some(match ty {
                Some(ty) => {
                    let v = self.out.new_value(ty.clone());
                    self.out.regions[region.index()].args.push(v);
                    self.ranges.remove(&v);
                    Abs::Value(v)
                }
                None => inits[k].clone(),
            });
        }
        let refined = self.refined.clone();
        let flow = self.inside(region, |s| s.walk_region(py, source, &mut inner))?;
        self.refined = refined;
        match flow {
            Flow::Yield(values) => Ok(LoopBody { region, values }),
            Flow::Return(_) | Flow::Left => Err(self.refuse("a loop whose body always returns is not supported yet")),
        }
    }

    fn finish_for(
        &mut self,
        data: &weft_ir::OpData,
        bounds: [ValueId; 3],
        inits: &[Abs],
        types: &[Option<Type>],
        body: LoopBody,
        span: weft_diag::Span,
        env: &mut Env,
    ) -> Result<Option<Flow>, Diagnostic> {
        self.span = span;
        let carried: Vec<(usize, Type)> =
            types.iter().enumerate().filter_map(|(k, t)| t.clone().map(|t| (k, t))).collect();
        self.inside(body.region, |s| -> Result<(), Diagnostic> {
            let mut yields = vec![];
            for (k, ty) in &carried {
                yields.push(s.coerce(&body.values[*k], ty)?);
            }
            s.terminate(Op::Yield, &yields);
            Ok(())
        })?;
        let mut operands = bounds.to_vec();
        for (k, ty) in &carried {
            operands.push(self.coerce(&inits[*k], ty)?);
        }
        let result_types: Vec<Type> = carried.iter().map(|(_, t)| t.clone()).collect();
        let id = self.builder().op(Op::ScfFor, &operands, &result_types, &[body.region]);
        let mut produced = self.out.op(id).results.clone().into_iter();
        for (k, &r) in data.results.iter().enumerate() {
            env[r.index()] = Some(match (&types[k], &inits[k]) {
                (Some(_), _) => Abs::Value(produced.next().ok_or_else(|| self.internal("for results"))?),
                // Assigned only in the body: whether it ever ran is not known.
                (None, other) => other.clone(),
            });
        }
        Ok(None)
    }
}

enum Plan {
    Same(Abs),
    Value(Type),
}

struct LoopBody {
    region: RegionId,
    values: Vec<Abs>,
}
