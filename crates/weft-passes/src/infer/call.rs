//! Calls: builtins, library functions, primitives.

use super::abs::{Abs, Exc, INT64, Iter, SIZE};
use super::array::ZeroD;
use super::library::{self, Form, Overload};
use super::{Door, FunctionRef, Infer, Resolved, Scope};
use std::collections::HashMap;
use weft_diag::{Diagnostic, ErrorKind};
use weft_ir::attr::{CmpOp, Const};
use weft_ir::{DType, ExcClass, Func, Op, RegionId, Type, Weak};
use weft_syntax::{Constant, ExprKind, ParamKind};

/// What to do with an array where a number is needed.
const TAKE_ONE: &str = "take one element, as in x[0], or convert with .astype";

impl Infer<'_> {
    /// What a global name stands for. Inside the library, names are its module's own and its imports.
    pub(super) fn global(&mut self, path: &str) -> Result<Abs, Diagnostic> {
        let found = match self.scope().clone() {
            Scope::Library(function) => return self.library_name(&function, path),
            Scope::User(FunctionRef::ENTRY) => self.resolver.resolve(path),
            Scope::User(f) => self.resolver.resolve_in(f, path),
        };
        self.resolved(found, path)
    }

    /// What a name in a library function stands for.
    fn library_name(&self, function: &str, path: &str) -> Result<Abs, Diagnostic> {
        let overload = library::find(function)?.ok_or_else(|| self.internal("an unknown library function"))?;
        let own = format!("weft.lib.{}.{path}", overload.module);
        if library::has(&own) {
            return Ok(Abs::Function(own));
        }
        let name = library::canonical(overload.module, path);
        let float = |v| Ok(Abs::Const(Const::Float(v)));
        match name.as_str() {
            "numpy.pi" | "math.pi" => return float(std::f64::consts::PI),
            "numpy.e" | "math.e" => return float(std::f64::consts::E),
            "math.tau" => return float(std::f64::consts::TAU),
            "numpy.inf" | "math.inf" => return float(f64::INFINITY),
            "numpy.nan" | "math.nan" => return float(f64::NAN),
            _ => {}
        }
        let modules = ["builtins.", "numpy.linalg.", "numpy.exceptions."];
        let class = modules.iter().find_map(|m| name.strip_prefix(m)).and_then(ExcClass::from_name);
        Ok(match class {
            Some(class) => Abs::ExceptionClass(Exc { class, user: None }),
            None => Abs::Function(name),
        })
    }

    /// What the resolver found.
    pub(super) fn resolved(&mut self, found: Resolved, path: &str) -> Result<Abs, Diagnostic> {
        match found {
            Resolved::Const(c) => Ok(Abs::Const(c)),
            Resolved::Scalar(dtype, c) => {
                let weak = Abs::Const(c);
                Ok(Abs::Value(self.as_dtype(&weak, dtype)?))
            }
            Resolved::Function(name) => Ok(Abs::Function(name)),
            Resolved::UserFunction(f) => Ok(Abs::UserFunction(f)),
            Resolved::Hidden { index, ty } => Ok(self.hidden(index, &ty)),
            Resolved::Tuple(items) => {
                let items = items.into_iter().map(|i| self.resolved(i, path)).collect::<Result<_, _>>()?;
                Ok(Abs::Tuple(items))
            }
            Resolved::Attributes(of, names) => {
                let mut value = self.resolved(*of, path)?;
                for name in &names {
                    value = self.attribute(&value, name)?;
                }
                Ok(value)
            }
            Resolved::Exception(class) => Ok(Abs::ExceptionClass(Exc { class, user: None })),
            Resolved::UserException(k, class) => Ok(Abs::ExceptionClass(Exc { class, user: Some(k) })),
            Resolved::Module(what) => Err(self.refuse(format!("`{path}` is {what}, which is not a value"))),
            Resolved::Missing { nearest } => {
                let (kind, message) = match path.rsplit_once('.') {
                    Some((base, name)) => (ErrorKind::Attribute, format!("`{base}` has no attribute `{name}`")),
                    None => (ErrorKind::Name, format!("name `{path}` is not defined")),
                };
                let d = Diagnostic::new(kind, self.span, message);
                Err(match nearest {
                    Some(near) => d.help(format!("did you mean `{near}`?")),
                    None => d,
                })
            }
            Resolved::NotYet { name } => {
                let d = self.refuse(format!("`np.{name}` is not supported yet"));
                let outside = "call it outside and pass the result, or write it out";
                Err(match library::in_other_words(&name) {
                    Some(words) => d.help(format!("write `{words}`, where no axis is given; or {outside}")),
                    None => d.help(outside),
                })
            }
            Resolved::Other { what } => {
                let d = self.refuse(format!("`{path}` is {what}, which Weft cannot compile yet"));
                Err(match what.starts_with("the function") {
                    true => d.help("call it outside and pass the result, or write it out"),
                    false => d.help("pass what is needed of it as an argument"),
                })
            }
        }
    }

    /// `f(args…)`; the last `keywords.len()` of `args` are by keyword.
    pub(super) fn call(&mut self, f: &Abs, args: &[Abs], keywords: &[String]) -> Result<Abs, Diagnostic> {
        let name = match f {
            Abs::Function(name) => name,
            Abs::UserFunction(_) | Abs::Closure(_) => return self.call_user(f, args, keywords),
            Abs::Method(x, name) => {
                let all: Vec<Abs> = [(**x).clone()].into_iter().chain(args.iter().cloned()).collect();
                return self.call(&Abs::Function(name.clone()), &all, keywords);
            }
            Abs::ExceptionClass(exc) if keywords.is_empty() => return Ok(Abs::Exception(*exc, args.to_vec())),
            _ => return Err(self.typing(format!("{} is not callable", self.describe(f)))),
        };
        if let Some(prim) = name.strip_prefix("weft.lib.prim.") {
            return self.primitive(prim, args);
        }
        if let Some(method) = name.strip_prefix("weft.array.") {
            return self.variadic(method, args, keywords);
        }
        if let Some(overload) = library::find(name)? {
            return self.call_overload(name, overload, args, keywords);
        }
        if name == "builtins.print" {
            return self.print(args, keywords);
        }
        if !keywords.is_empty() {
            return self.call_with_keywords(name, args, keywords);
        }
        // These take None as any other value.
        let any = matches!(name.as_str(), "builtins.bool" | "builtins.isinstance" | "builtins.str");
        let ready = args.iter().map(|a| if any { self.assigned(a) } else { self.present(a) });
        let args: Vec<Abs> = ready.collect::<Result<_, _>>()?;
        let args = args.as_slice();
        if let Some(update) = name.strip_prefix("weft.atomic.") {
            return self.atomic(update, args);
        }
        match (name.as_str(), args) {
            ("builtins.range", [_] | [_, _] | [_, _, _]) => self.range_object(args),
            ("weft.prange", [_] | [_, _] | [_, _, _]) => {
                Ok(Abs::Iter(Box::new(Iter::Parallel(self.range_object(args)?))))
            }
            ("builtins.len", [x]) => self.builtin_len(x),
            ("builtins.abs", [x]) => self.builtin_abs(x),
            ("builtins.min", [_, _, ..]) => self.builtin_extreme(CmpOp::Lt, args),
            ("builtins.max", [_, _, ..]) => self.builtin_extreme(CmpOp::Gt, args),
            ("builtins.float", [x]) => self.builtin_float(x),
            ("builtins.int", [x]) => self.builtin_int(x),
            ("builtins.bool", [x]) => self.truth(x),
            ("builtins.complex", [] | [_] | [_, _]) => self.builtin_complex(args),
            ("builtins.enumerate" | "builtins.zip" | "builtins.reversed" | "builtins.map" | "builtins.filter", _) => {
                self.iterator(short(name), args)
            }
            ("builtins.slice", [stop]) => {
                let none = || Abs::Const(Const::None);
                Ok(Abs::Slice(Box::new([none(), stop.clone(), none()])))
            }
            ("builtins.slice", [start, stop]) => {
                Ok(Abs::Slice(Box::new([start.clone(), stop.clone(), Abs::Const(Const::None)])))
            }
            ("builtins.slice", [start, stop, step]) => {
                Ok(Abs::Slice(Box::new([start.clone(), stop.clone(), step.clone()])))
            }
            ("builtins.str", []) => Ok(Abs::Const(Const::Str(String::new()))),
            ("builtins.str", [x]) if matches!(x, Abs::Const(Const::Str(_)) | Abs::Format(..)) => Ok(x.clone()),
            ("builtins.str", [x]) => Ok(Abs::Format(vec![String::new(); 2], vec![(x.clone(), String::new())])),
            ("builtins.tuple", []) => Ok(Abs::Tuple(vec![])),
            ("builtins.tuple", [x]) => Ok(Abs::Tuple(self.sequence(x)?)),
            ("builtins.list", []) => self.new_list(vec![]),
            ("builtins.list", [x]) => self.list_of(x),
            ("builtins.isinstance", [x, classes]) => self.is_instance(x, classes),
            ("weft.get_global_id", [d]) => self.work_item(d, true),
            ("weft.get_global_size", [d]) => self.work_item(d, false),
            _ => {
                let given = counted(args.len());
                Err(self.typing(format!("{}() does not take {given} here", self.known_as(name))))
            }
        }
    }

    /// Inlines a library function with these arguments.
    fn call_overload(
        &mut self,
        name: &str,
        overload: &'static Overload,
        args: &[Abs],
        keywords: &[String],
    ) -> Result<Abs, Diagnostic> {
        if overload.form == Form::Elementwise && overload.params.iter().all(|p| p.name != "out") {
            // Ufuncs take `out` by name, or after the other arguments.
            let positional = args.len() - keywords.len();
            let named = keywords.iter().position(|k| k == "out").map(|k| positional + k);
            if let Some(at) = named.or_else(|| (positional == overload.params.len() + 1).then_some(positional - 1)) {
                return self.call_into(name, overload, args, keywords, at);
            }
        }
        let mut bound = self.bind(name, overload, args, keywords)?;
        for (value, _) in
            bound.iter_mut().zip(&overload.params).filter(|(_, p)| matches!(p.name.as_str(), "shape" | "axes" | "reps"))
        {
            // `np.empty([n, m])`: the rank must be known.
            if let Some(sizes) = self.literal(value) {
                *value = sizes;
            }
        }
        if self.frames.len() > 64 {
            return Err(self.internal("the library calls itself too deeply"));
        }
        if overload.form == Form::Whole {
            return self.inline(name, overload, bound);
        }
        let (space, bound) = match (overload.form, bound.split_first()) {
            (Form::Generate, Some((Abs::Tuple(sizes), rest))) => (Some(self.space(sizes)?), rest.to_vec()),
            (Form::Generate, _) => return Err(self.typing(format!("{}() takes a shape", self.known_as(name)))),
            _ => (None, bound),
        };
        let mut bound = bound;
        for a in &mut bound {
            if matches!(a, Abs::Tuple(_)) || self.as_list(a).is_some() {
                *a = self.array_from(a, &Abs::Const(Const::None))?;
            }
            if self.as_tensor(a).is_none() && self.type_of(a).is_none_or(|t| !t.is_scalar()) {
                let message = format!("{}() takes numbers and arrays, found {}", self.known_as(name), self.describe(a));
                return Err(self.typing(message));
            }
        }
        // Where all are Python's own, none is weak: they become NumPy's first.
        let strong = |a: &Abs| !matches!(self.type_of(a), Some(Type::Py(_)));
        // A conversion looks at the number itself: it may be beyond what NumPy's default holds.
        let converts = name.strip_prefix("numpy.").is_some_and(|n| DType::ALL.iter().any(|d| d.numpy_name() == n));
        if overload.form != Form::Generate && !converts && !bound.iter().any(strong) {
            for a in &mut bound {
                *a = Abs::Value(self.strengthen(a)?);
            }
        }
        let zero_d = if overload.form == Form::Elementwise { ZeroD::Scalar } else { ZeroD::Array };
        let shape = (overload.form == Form::Generate).then(|| Abs::Tuple(vec![]));
        // In NumPy these have three operands, all of which its messages show.
        let shows = std::mem::replace(
            &mut self.shows_scalars,
            matches!(name, "weft.lib.choosing._where" | "weft.lib.choosing._clip"),
        );
        let made = self.elementwise(&bound, space, zero_d, &mut |s, e| {
            let args = shape.iter().cloned().chain(e.iter().cloned()).collect();
            let result = s.inline(name, overload, args)?;
            // A NumPy function of Python scalars gives a NumPy scalar.
            Ok(Abs::Value(s.strengthen(&result)?))
        });
        self.shows_scalars = shows;
        made
    }

    /// A ufunc that writes its result into an array: argument `at` is `out`.
    fn call_into(
        &mut self,
        name: &str,
        overload: &'static Overload,
        args: &[Abs],
        keywords: &[String],
        at: usize,
    ) -> Result<Abs, Diagnostic> {
        let (mut args, mut keywords) = (args.to_vec(), keywords.to_vec());
        if let Some(k) = at.checked_sub(args.len() - keywords.len()) {
            keywords.remove(k);
        }
        let out = args.remove(at);
        let to = self.as_tensor(&out);
        let result = self.with_output(to, |s| s.call_overload(name, overload, &args, &keywords))?;
        match self.as_tensor(&out) {
            Some(to) => {
                self.assign_result(short(name), to, &result, true)?;
                Ok(out)
            }
            None if out == Abs::Const(Const::None) => Ok(result),
            None => Err(self.typing("return arrays must be of ArrayType").label(self.describe(&out))),
        }
    }

    fn inline(&mut self, name: &str, overload: &Overload, args: Vec<Abs>) -> Result<Abs, Diagnostic> {
        self.inline_function(&overload.py, args, Scope::Library(name.to_string()))
    }

    /// Arguments in the order of the parameters, defaults filled in.
    fn bind(&self, name: &str, overload: &Overload, args: &[Abs], keywords: &[String]) -> Result<Vec<Abs>, Diagnostic> {
        let positional = args.len() - keywords.len();
        let params = &overload.params;
        let kind = |p: &weft_syntax::Param, kinds: &[ParamKind]| kinds.contains(&p.kind);
        let star = params.iter().position(|p| kind(p, &[ParamKind::Star]));
        let most = params.iter().filter(|p| kind(p, &[ParamKind::PositionalOnly, ParamKind::Ordinary])).count();
        if positional > most && star.is_none() {
            return Err(self.too_many(name, overload, positional));
        }
        let mut bound: Vec<Option<Abs>> = args[..positional.min(most)].iter().cloned().map(Some).collect();
        bound.resize(params.len(), None);
        if let Some(star) = star {
            bound[star] = Some(Abs::Tuple(args[positional.min(most)..positional].to_vec()));
        }
        for (keyword, value) in keywords.iter().zip(&args[positional..]) {
            let Some(k) = params.iter().position(|p| p.name == *keyword) else {
                let d = self.refuse(format!("{}() has no keyword `{keyword}` that Weft supports", self.known_as(name)));
                return Err(match weft_diag::nearest(keyword, params.iter().map(|p| p.name.as_str())) {
                    Some(near) => d.help(format!("did you mean `{near}`?")),
                    None => {
                        let names: Vec<&str> = params.iter().map(|p| p.name.as_str()).collect();
                        d.help(format!("it takes {}", names.join(", ")))
                    }
                });
            };
            if bound[k].replace(value.clone()).is_some() {
                return Err(self.typing(format!("{}() got two values for `{keyword}`", self.known_as(name))));
            }
        }
        let mut out = vec![];
        for (value, param) in bound.into_iter().zip(params) {
            let default = || param.default.as_ref().and_then(|e| literal(&e.kind));
            match value.or_else(default) {
                Some(a) => out.push(a),
                None => {
                    return Err(self.typing(format!(
                        "{}() is missing the argument `{}`",
                        self.known_as(name),
                        param.name
                    )));
                }
            }
        }
        Ok(out)
    }

    fn too_many(&self, name: &str, overload: &Overload, given: usize) -> Diagnostic {
        let positional = [ParamKind::PositionalOnly, ParamKind::Ordinary];
        let params: Vec<_> = overload.params.iter().filter(|p| positional.contains(&p.kind)).collect();
        let least = params.iter().filter(|p| p.default.is_none()).count();
        // Ufuncs take `out` after the others.
        let out = overload.form == Form::Elementwise && overload.params.iter().all(|p| p.name != "out");
        let most = params.len() + usize::from(out);
        // The object of a method is not counted.
        let own = usize::from(is_method(name));
        let (least, most, given) = (least.saturating_sub(own), most.saturating_sub(own), given.saturating_sub(own));
        let takes = if least == most { counted(most) } else { format!("from {least} to {most} arguments") };
        let were = if given == 1 { "was" } else { "were" };
        self.typing(format!("{}() takes {takes}, {given} {were} given", self.known_as(name)))
    }

    /// The name a user knows of a library function: inside the library, that of the function which the program called.
    fn known_as(&self, name: &str) -> String {
        let inside = self.frames.iter().rev().map_while(|f| match &f.scope {
            Scope::Library(function) => Some(function.as_str()),
            _ => None,
        });
        short(inside.last().unwrap_or(name)).to_owned()
    }

    fn range_object(&mut self, args: &[Abs]) -> Result<Abs, Diagnostic> {
        for a in args {
            let integer = match self.type_of(a) {
                Some(Type::Py(w)) => matches!(w, Weak::Int | Weak::Bool),
                Some(Type::Num(d)) => d.is_int(),
                _ => false,
            };
            if !integer {
                let d = self.typing(format!("range() takes integers, found {}", self.describe(a)));
                return Err(d.help("convert it first: int(…)"));
            }
        }
        let constant = |v| Abs::Const(Const::Int(v));
        let bounds = match args {
            [hi] => [constant(0), hi.clone(), constant(1)],
            [lo, hi] => [lo.clone(), hi.clone(), constant(1)],
            [lo, hi, step] => [lo.clone(), hi.clone(), step.clone()],
            _ => return Err(self.internal("range")),
        };
        match &bounds[2] {
            Abs::Const(Const::Int(0)) => {
                Err(Diagnostic::new(ErrorKind::Value, self.span, "range() arg 3 must not be zero"))
            }
            Abs::Const(_) => Ok(Abs::Range(Box::new(bounds))),
            step => {
                let range = self.range(step);
                if range.0 <= 0 && range.1 >= 0 {
                    let v = self.pyint(step)?;
                    let zero = self.constant(Const::Int(0), Type::PYINT);
                    let is_zero = self.test(CmpOp::Eq, v, zero);
                    self.raise_if(is_zero, ExcClass::ValueError, "range() arg 3 must not be zero", &[]);
                }
                Ok(Abs::Range(Box::new(bounds)))
            }
        }
    }

    fn builtin_abs(&mut self, x: &Abs) -> Result<Abs, Diagnostic> {
        if self.as_tensor(x).is_some() || matches!(self.type_of(x), Some(Type::Num(_))) {
            return self.call(&Abs::Function("numpy.absolute".into()), std::slice::from_ref(x), &[]);
        }
        match self.as_weak(x) {
            Some(Weak::Complex) => self.complex_abs(x),
            Some(Weak::Float) => {
                let v = self.materialise(x)?;
                Ok(Abs::Value(self.emit(Op::Abs, &[v], Type::PYFLOAT)))
            }
            Some(Weak::Int | Weak::Bool) => {
                let negated = self.int_binop(weft_ir::attr::BinOp::Sub, &Abs::Const(Const::Int(0)), x)?;
                self.builtin_extreme(CmpOp::Gt, &[x.clone(), negated])
            }
            _ => Err(self.typing(format!("bad operand for abs(): {}", self.describe(x)))),
        }
    }

    /// `min` and `max` of scalars: Python's comparisons, first one wins, the common type.
    pub(super) fn builtin_extreme(&mut self, is: CmpOp, args: &[Abs]) -> Result<Abs, Diagnostic> {
        let mut best = args[0].clone();
        for a in &args[1..] {
            if self.as_tensor(a).is_some() || self.as_tensor(&best).is_some() {
                return Err(self
                    .refuse("min() and max() of arrays are not supported")
                    .help("use np.minimum or np.maximum"));
            }
            if let (Abs::Const(Const::Int(x)), Abs::Const(Const::Int(y))) = (a, &best) {
                let better = if is == CmpOp::Lt { x < y } else { x > y };
                best = Abs::Const(Const::Int(if better { *x } else { *y }));
                continue;
            }
            let better = self.scalar_compare(is, a, &best)?;
            let better = self.materialise(&better)?;
            let (ra, rb) = (self.range(a), self.range(&best));
            let (x, y) = match (self.as_weak(a), self.as_weak(&best)) {
                (Some(v), Some(w)) if v == Weak::Float || w == Weak::Float => (self.pyfloat(a)?, self.pyfloat(&best)?),
                (Some(Weak::Bool), Some(Weak::Bool)) => (self.materialise(a)?, self.materialise(&best)?),
                (Some(_), Some(_)) => (self.pyint(a)?, self.pyint(&best)?),
                _ => {
                    let d = self.meet(a, &best)?;
                    (self.as_dtype(a, d)?, self.as_dtype(&best, d)?)
                }
            };
            let ty = self.out.ty(x).clone();
            let v = self.emit(Op::Select, &[better, x, y], ty);
            let range =
                if is == CmpOp::Lt { (ra.0.min(rb.0), ra.1.min(rb.1)) } else { (ra.0.max(rb.0), ra.1.max(rb.1)) };
            let bound =
                if is == CmpOp::Lt { self.least_bound(a, &best) } else { self.joined_bound([a, &best].into_iter()) };
            best = Abs::Value(v);
            if *self.out.ty(v) == Type::PYINT {
                self.ranges.insert(v, range);
                self.put_affine(v, bound);
            }
        }
        Ok(best)
    }

    fn builtin_float(&mut self, x: &Abs) -> Result<Abs, Diagnostic> {
        match self.type_of(x) {
            Some(t) if t.is_scalar() && t.part().is_none() => Ok(Abs::Value(self.pyfloat(x)?)),
            _ => Err(self.typing(format!("float() takes a number, found {}", self.describe(x))).help(TAKE_ONE)),
        }
    }

    fn builtin_int(&mut self, x: &Abs) -> Result<Abs, Diagnostic> {
        match self.type_of(x) {
            Some(Type::Py(Weak::Int | Weak::Bool)) => Ok(Abs::Value(self.pyint(x)?)),
            Some(Type::Num(d)) if !d.is_float() && !d.is_complex() => {
                let range = self.range(x);
                let v = self.materialise(x)?;
                let v = self.integer_as_pyint(v);
                Ok(self.with_range(v, (range.0, range.1.min(INT64.1))))
            }
            Some(Type::Py(Weak::Float) | Type::Num(DType::F16 | DType::F32 | DType::F64)) => {
                Ok(Abs::Value(self.checked_int(x)?))
            }
            _ => Err(self.typing(format!("int() takes a number, found {}", self.describe(x))).help(TAKE_ONE)),
        }
    }

    /// `get_global_id(d)` and `get_global_size(d)`.
    fn work_item(&mut self, d: &Abs, id: bool) -> Result<Abs, Diagnostic> {
        let name = if id { "get_global_id" } else { "get_global_size" };
        let Door::Kernel { dims } = self.door else {
            return Err(self.refuse(format!("{name}() means something only in a @weft.kernel function")));
        };
        let op = |dim: u32| if id { Op::SimtGlobalId { dim } } else { Op::SimtGlobalSize { dim } };
        let Abs::Const(Const::Int(d)) = d else { return self.any_dimension(name, d, dims, op) };
        if *d < 0 || *d >= dims.into() {
            let message = format!("dimension {d} is outside the launch, which has {dims}");
            return Err(Diagnostic::new(ErrorKind::Value, self.span, message)
                .help("launch with f[n0, n1](…) or f[(n0, n1)](…) for two dimensions"));
        }
        let dim = *d as u32;
        self.dimensions = self.dimensions.max(dim + 1);
        let v = self.emit(op(dim), &[], Type::PYINT);
        Ok(self.with_range(v, SIZE))
    }

    /// What a work-item asks along a dimension that is known when it runs.
    fn any_dimension(&mut self, name: &str, d: &Abs, dims: u32, op: impl Fn(u32) -> Op) -> Result<Abs, Diagnostic> {
        let integer = match self.type_of(d) {
            Some(Type::Py(w)) => w == Weak::Int,
            Some(Type::Num(dtype)) => dtype.is_int(),
            _ => false,
        };
        if !integer {
            return Err(self.typing(format!("{name}() takes a dimension, an int, found {}", self.describe(d))));
        }
        self.dimensions = u32::MAX;
        let range = self.range(d);
        let d = self.pyint(d)?;
        let number = |s: &mut Self, n: u32| s.constant(Const::Int(n.into()), Type::PYINT);
        if range.0 < 0 || range.1 >= dims.into() {
            let (least, most) = (number(self, 0), number(self, dims - 1));
            let (below, beyond) = (self.test(CmpOp::Lt, d, least), self.test(CmpOp::Gt, d, most));
            let outside = self.emit(Op::Or, &[below, beyond], Type::PYBOOL);
            let template = format!("dimension {{i}} is outside the launch, which has {dims}");
            self.raise_if(outside, ExcClass::ValueError, &template, &[d]);
        }
        let mut v = self.emit(op(dims - 1), &[], Type::PYINT);
        for dim in (0..dims - 1).rev() {
            let this = number(self, dim);
            let (is, here) = (self.test(CmpOp::Eq, d, this), self.emit(op(dim), &[], Type::PYINT));
            v = self.emit(Op::Select, &[is, here, v], Type::PYINT);
        }
        Ok(self.with_range(v, SIZE))
    }

    /// Notes the dimensions of a launch that a part of a kernel names which is never walked: a condition is known.
    pub(super) fn note_dimensions(&mut self, f: &Func, region: RegionId) {
        let Door::Kernel { .. } = self.door else { return };
        let (mut calls, mut paths, mut numbers) = (vec![], HashMap::new(), HashMap::new());
        f.walk(&mut |id| match &f.op(id).op {
            Op::PyGlobal { path } => _ = paths.insert(f.op(id).results[0], path.clone()),
            Op::PyConst { value: Const::Int(n) } => _ = numbers.insert(f.op(id).results[0], *n),
            _ => {}
        });
        f.walk_region(region, &mut |id| {
            if let Op::PyCall { .. } = f.op(id).op {
                calls.push(f.op(id).operands.clone());
            }
        });
        for operands in calls {
            let Some(path) = paths.get(&operands[0]) else { continue };
            match self.global(path) {
                Ok(Abs::Function(name)) if matches!(name.as_str(), "weft.get_global_id" | "weft.get_global_size") => {
                    let dim = operands.get(1).and_then(|d| numbers.get(d));
                    let named = dim.and_then(|&d| u32::try_from(d + 1).ok()).unwrap_or(u32::MAX);
                    self.dimensions = self.dimensions.max(named);
                }
                // What it names is not looked for.
                Ok(Abs::UserFunction(_)) => self.dimensions = u32::MAX,
                _ => {}
            }
        }
    }
}

/// The name of a function without where the library has it.
fn short(name: &str) -> &str {
    match name.strip_prefix("weft.lib.") {
        Some(inside) => inside.rsplit('.').next().unwrap_or(inside).trim_start_matches('_'),
        None => name.strip_prefix("builtins.").unwrap_or(name),
    }
}

/// Whether a canonical name is that of a method.
fn is_method(name: &str) -> bool {
    let (class, _) = name.rsplit_once('.').unwrap_or_default();
    ["numpy.ndarray", "numpy.generic"].contains(&class) || (class.starts_with("builtins.") && class != "builtins")
}

/// `1 argument`, `2 arguments`.
pub(super) fn counted(arguments: usize) -> String {
    format!("{arguments} argument{}", if arguments == 1 { "" } else { "s" })
}

/// A default value written as a literal.
fn literal(e: &ExprKind) -> Option<Abs> {
    match e {
        ExprKind::Constant(Constant::None) => Some(Abs::Const(Const::None)),
        ExprKind::Constant(Constant::Bool(b)) => Some(Abs::Const(Const::Bool(*b))),
        ExprKind::Constant(Constant::Float(f)) => Some(Abs::Const(Const::Float(*f))),
        ExprKind::Constant(Constant::Str(s)) => Some(Abs::Const(Const::Str(s.clone()))),
        ExprKind::UnaryOp { op: weft_syntax::UnaryOp::Neg, operand } => match literal(&operand.kind)? {
            Abs::Const(Const::Int(v)) => Some(Abs::Const(Const::Int(-v))),
            _ => None,
        },
        ExprKind::Constant(Constant::Ellipsis) => Some(Abs::Const(Const::Ellipsis)),
        ExprKind::Constant(Constant::Int { value: Some(v), .. }) => Some(Abs::Const(Const::Int(*v))),
        _ => None,
    }
}
