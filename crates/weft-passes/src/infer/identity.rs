//! Which results are objects of their own.
//!
//! Arrays go back to Python by where they lie, and one that is returned twice is one object, as it is in Python. But two views
//! that show the same are two objects: here stands which views those are, as far as the program's text says it.

use std::collections::{HashMap, HashSet};

use weft_ir::ops::Op;
use weft_ir::{Func, RegionId, ValueId};

use super::Returns;

impl Returns {
    /// Says which results are views that are no other result ([`views_apart`]). Consumes results.
    pub(super) fn name_views(&mut self, apart: &mut impl Iterator<Item = bool>) {
        match self {
            Returns::Nothing | Returns::Const(_) => {}
            Returns::Tuple(parts) => parts.iter_mut().for_each(|part| part.name_views(apart)),
            Returns::Optional(inner) => {
                apart.next();
                inner.name_views(apart);
            }
            Returns::Text(_) => drop(apart.next()),
            Returns::List(item) => {
                if apart.next() == Some(true) {
                    item.name_views(&mut std::iter::repeat(true));
                }
            }
            Returns::One | Returns::View => {
                if apart.next() == Some(true) {
                    *self = Returns::View;
                }
            }
        }
    }
}

/// By position among the results: whether every way out gives a view that is no other result, or a list of such views.
pub(super) fn views_apart(entry: &Func) -> Vec<bool> {
    let origins = Origins::new(entry);
    let count = origins.ways.first().map_or(0, |way| way.len());
    let apart = |k: usize| origins.ways.iter().all(|way| way.len() == count && origins.is_apart(way[k]));
    (0..count).map(apart).collect()
}

/// Where the arrays of a function come from, and where they go.
struct Origins<'a> {
    entry: &'a Func,
    /// What every `return` gives.
    ways: Vec<&'a [ValueId]>,
    /// Views, and the region they are made in.
    views: HashMap<ValueId, RegionId>,
    /// The same array, seen with another type.
    others: HashMap<ValueId, ValueId>,
    /// How often an array goes somewhere as the object it is.
    passed: HashMap<ValueId, u32>,
    /// What is appended to a new list, and where.
    appended: HashMap<ValueId, Vec<(&'a [ValueId], RegionId)>>,
    /// Lists that more happens to than appending and returning.
    touched: HashSet<ValueId>,
}

impl<'a> Origins<'a> {
    fn new(entry: &'a Func) -> Origins<'a> {
        let mut origins = Origins {
            entry,
            ways: vec![],
            views: HashMap::new(),
            others: HashMap::new(),
            passed: HashMap::new(),
            appended: HashMap::new(),
            touched: HashSet::new(),
        };
        origins.read(entry.body);
        origins
    }

    fn read(&mut self, region: RegionId) {
        let entry = self.entry;
        for &op in &entry.region(region).ops {
            let data = entry.op(op);
            match data.op {
                Op::NtView { .. } | Op::NtReshape => self.views.extend(data.results.iter().map(|&v| (v, region))),
                Op::NtWeaken | Op::NtRefine { .. } => {
                    self.others.extend(data.results.iter().copied().zip(data.operands.iter().copied()));
                }
                Op::Return => self.ways.push(&data.operands),
                Op::ListNew => self.appended.extend(data.results.iter().map(|&v| (v, vec![]))),
                Op::ListPush => {
                    if let Some(places) = self.appended.get_mut(&data.operands[0]) {
                        places.push((&data.operands[1..], region));
                    }
                }
                _ => {}
            }
            let retyped = matches!(data.op, Op::NtWeaken | Op::NtRefine { .. });
            // Ops on whole arrays make something else of their operands.
            if data.op.dialect() != "nt" {
                data.operands.iter().for_each(|&v| *self.passed.entry(self.origin(v)).or_default() += 1);
            }
            if !retyped && !matches!(data.op, Op::Return | Op::ListPush | Op::ListLen) {
                self.touched.extend(data.operands.iter().filter(|&&v| entry.ty(v).as_list().is_some()));
            }
            data.regions.iter().for_each(|&inner| self.read(inner));
        }
    }

    /// The array that this is, as it was made.
    fn origin(&self, v: ValueId) -> ValueId {
        let mut v = v;
        while let Some(&other) = self.others.get(&v) {
            v = other;
        }
        v
    }

    /// Whether a result goes nowhere else, or is a list of what does not.
    fn is_apart(&self, result: ValueId) -> bool {
        let v = self.origin(result);
        if let Some(places) = self.appended.get(&v) {
            return self.passed.get(&v).is_some_and(|&n| n as usize == places.len() + 1)
                && !self.touched.contains(&v)
                && places.iter().all(|(items, region)| items.iter().all(|&item| self.is_made_in(item, *region)));
        }
        self.views.contains_key(&v) && self.passed.get(&v) == Some(&1)
    }

    /// Whether what a list gets is a number, or a view that is made each time and goes nowhere else.
    fn is_made_in(&self, item: ValueId, region: RegionId) -> bool {
        let v = self.origin(item);
        let ty = self.entry.ty(v);
        let is_new = self.views.get(&v) == Some(&region) && self.passed.get(&v) == Some(&1);
        is_new || (ty.as_tensor().is_none() && ty.as_list().is_none())
    }
}
