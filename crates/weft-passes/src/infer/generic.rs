//! `weft.generic`: a contraction, stated by its iterators, its maps and the body of one step.
//!
//! The last parallel iterator is walked by an array expression, the others by loops around it: parallel ones outside, then
//! reductions. An element's steps are taken in the order of the reductions, so its bits do not depend on threads.

use super::Infer;
use super::abs::Abs;
use super::array::ZeroD;
use super::view::Part;
use weft_diag::{Diagnostic, ErrorKind};
use weft_ir::attr::{CmpOp, Const};
use weft_ir::{ExcClass, Op, TensorType, Type, ValueId};

/// A map: the iterator along each axis of an array.
type Map = Vec<usize>;

impl Infer<'_> {
    /// `prim.generic(inputs, init, iterators, maps, body)`.
    pub(super) fn generic(&mut self, args: [&Abs; 5]) -> Result<Abs, Diagnostic> {
        let [inputs, init, iterators, maps, body] = args;
        let Abs::Tuple(inputs) = inputs else {
            return Err(self.typing(format!("generic() takes a tuple of arrays, found {}", self.describe(inputs))));
        };
        let iterators = self.texts("iterators", iterators)?;
        let texts = self.texts("maps", maps)?;
        let maps: Vec<Map> = texts.iter().map(|t| self.map(t, iterators.len())).collect::<Result<_, _>>()?;
        if maps.len() != inputs.len() + 1 {
            let (have, want) = (maps.len(), inputs.len() + 1);
            return Err(
                self.value(format!("generic() needs a map for each input and one for the result: {want}, not {have}"))
            );
        }
        let mut parallel = vec![];
        for (k, iterator) in iterators.iter().enumerate() {
            match iterator.as_str() {
                "parallel" => parallel.push(k),
                "reduction" => {}
                other => {
                    let d = self.value(format!("generic(): {other:?} is no kind of iterator"));
                    return Err(d.help("an iterator is \"parallel\" or \"reduction\""));
                }
            }
        }
        let result_map = &maps[inputs.len()];
        let mut sorted = result_map.clone();
        sorted.sort_unstable();
        if sorted != parallel {
            let d = self.value("generic(): the result's map must name each parallel iterator once, and no other");
            return Err(d.label(texts[inputs.len()].clone()));
        }
        let result = self.copied(init)?;
        let arrays: Vec<Abs> = inputs.iter().chain([&result]).cloned().collect();
        for ((x, map), text) in arrays.iter().zip(&maps).zip(&texts) {
            let rank = self.as_tensor(x).and_then(|t| self.tensor(t)).map(TensorType::rank);
            if rank != Some(map.len()) {
                let message =
                    format!("generic(): the map {text:?} has {} axes, its array is {}", map.len(), self.describe(x));
                return Err(self.value(message));
            }
        }
        // The loops, outermost first; what is left is one axis at most.
        let vector = parallel.pop();
        let reductions = (0..iterators.len()).filter(|&k| iterators[k] == "reduction");
        let loops: Vec<usize> = parallel.into_iter().chain(reductions).collect();
        let order: Vec<usize> = loops.iter().copied().chain(vector).collect();
        let mut turned = vec![];
        for (x, map) in arrays.iter().zip(&maps) {
            let axes = order.iter().filter_map(|k| map.iter().position(|m| m == k));
            let axes = axes.map(|a| Abs::Const(Const::Int(a as i128))).collect();
            turned.push(self.permute(x, &Abs::Tuple(axes))?);
        }
        let mut sizes = vec![];
        for &k in &order {
            sizes.push(self.iterator_size(k, &arrays, &maps)?);
        }
        let has = |k: usize| Abs::Tuple(maps.iter().map(|m| Abs::Const(Const::Bool(m.contains(&k)))).collect());
        let walked: Vec<Abs> = loops.iter().map(|&k| has(k)).collect();
        sizes.truncate(loops.len());
        let nest = Abs::Function("weft.lib.generic.nest".into());
        self.call(&nest, &[Abs::Tuple(turned), Abs::Tuple(walked), Abs::Tuple(sizes), body.clone()], &[])?;
        Ok(result)
    }

    fn value(&self, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(ErrorKind::Value, self.span, message)
    }

    /// A tuple of strings.
    fn texts(&self, what: &str, x: &Abs) -> Result<Vec<String>, Diagnostic> {
        let text = |a: &Abs| match a {
            Abs::Const(Const::Str(s)) => Some(s.clone()),
            _ => None,
        };
        let found = match x {
            Abs::Tuple(items) => items.iter().map(text).collect(),
            _ => None,
        };
        let message = format!("generic() takes a tuple of constant strings as {what}, found {}", self.describe(x));
        found.ok_or_else(|| self.typing(message))
    }

    /// Reads `(d0, d1, d2) -> (d0, d2)`.
    fn map(&self, text: &str, iterators: usize) -> Result<Map, Diagnostic> {
        let names = |part: &str| -> Option<Vec<String>> {
            let inside = part.trim().strip_prefix('(')?.strip_suffix(')')?.trim();
            let all = inside.split(',').map(|n| n.trim().to_owned());
            Some(if inside.is_empty() { vec![] } else { all.collect() })
        };
        let read = || {
            let (from, to) = text.split_once("->")?;
            let (from, to) = (names(from)?, names(to)?);
            let map: Map = to.iter().map(|n| from.iter().position(|f| f == n)).collect::<Option<_>>()?;
            let twice = (1..map.len()).any(|k| map[..k].contains(&map[k]));
            (from.len() == iterators && !twice).then_some(map)
        };
        read().ok_or_else(|| {
            let d = self.value(format!("generic(): {text:?} is no map of {iterators} iterators"));
            d.help("a map names the iterators, and those along the axes of its array: \"(d0, d1, d2) -> (d0, d2)\"")
        })
    }

    /// How often an iterator turns: all arrays that have it must agree.
    fn iterator_size(&mut self, k: usize, arrays: &[Abs], maps: &[Map]) -> Result<Abs, Diagnostic> {
        let mut first: Option<(Abs, ValueId)> = None;
        for (x, map) in arrays.iter().zip(maps) {
            let (Some(t), Some(axis)) = (self.as_tensor(x), map.iter().position(|m| *m == k)) else { continue };
            let size = self.size_i64(t, axis);
            match first {
                None => first = Some((self.size(t, axis), size)),
                Some((_, known)) => {
                    let differ = self.test(CmpOp::Ne, known, size);
                    let message = format!("generic(): iterator d{k} has the sizes {{i}} and {{i}}");
                    self.raise_if(differ, ExcClass::ValueError, &message, &[known, size]);
                }
            }
        }
        let none = || self.value(format!("generic(): no map names iterator d{k}, so it has no size"));
        first.map(|(size, _)| size).ok_or_else(none)
    }

    /// `prim.walked(arrays, has, k)`: item `k` of those arrays that have the iterator, the others as they are.
    pub(super) fn walked(&mut self, arrays: &Abs, has: &Abs, k: &Abs) -> Result<Abs, Diagnostic> {
        let (Abs::Tuple(arrays), Abs::Tuple(has)) = (arrays, has) else { return Err(self.internal("no arrays")) };
        let mut out = vec![];
        for (x, has) in arrays.iter().zip(has) {
            let Some(t) = self.as_tensor(x).filter(|_| *has == Abs::Const(Const::Bool(true))) else {
                out.push(x.clone());
                continue;
            };
            let none = || Abs::Const(Const::None);
            let rank = self.tensor(t).map_or(0, TensorType::rank);
            let rest = (1..rank).map(|_| Part::Slice(Box::new([none(), none(), none()])));
            let parts: Vec<Part> = std::iter::once(Part::At(k.clone())).chain(rest).collect();
            out.push(Abs::Value(self.view(t, &parts)?));
        }
        Ok(Abs::Tuple(out))
    }

    /// `prim.step(arrays, body)`: the last array becomes what the body makes of the elements of all.
    pub(super) fn step(&mut self, arrays: &Abs, body: &Abs) -> Result<Abs, Diagnostic> {
        let Abs::Tuple(arrays) = arrays else { return Err(self.internal("no arrays")) };
        let mut elements = vec![];
        for x in arrays {
            let ty = self.as_tensor(x).and_then(|t| Some((t, self.tensor(t)?.clone())));
            elements.push(match ty {
                Some((t, ty)) if ty.rank() == 0 => Abs::Value(self.emit(Op::NtItem, &[t], Type::Num(ty.dtype))),
                _ => x.clone(),
            });
        }
        let result = self.elementwise(&elements, None, ZeroD::Scalar, &mut |s, e| s.call(body, e, &[]))?;
        let to = arrays.last().and_then(|x| self.as_tensor(x));
        let Some(to) = to else { return Err(self.internal("no array to write")) };
        self.assign(to, &result)?;
        Ok(Abs::Const(Const::None))
    }
}
