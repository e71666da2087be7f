//! `debug=True`: stores of a `prange` that are taken not to meet are watched. Beside the array there is one of the same sizes
//! that holds for each element which iteration wrote it; a second one that does so raises.

use super::private::place_of;
use super::root;
use crate::canon;
use std::collections::{BTreeMap, BTreeSet};
use weft_ir::attr::{CmpOp, Rmw};
use weft_ir::{Builder, DType, ExcClass, Func, Layout, Op, OpData, OpId, RegionId, Site, TensorType, Type, ValueId};

/// What no iteration is.
const NOBODY: i64 = i64::MIN;

/// Watches all stores to elements of these arrays in the loop `body` of the blocks `id`, whose iterations `index` counts.
pub(super) fn rewrite(
    f: &mut Func,
    id: OpId,
    body: RegionId,
    index: ValueId,
    arrays: &BTreeSet<ValueId>,
    sites: &mut Vec<Site>,
) {
    let defs = canon::definitions(f);
    let before = f.new_region();
    let span = f.op(id).span;
    let mut shadows = BTreeMap::new();
    for &array in arrays {
        let Some(ty) = f.ty(array).as_tensor().cloned() else { continue };
        let ty = TensorType { dtype: DType::I64, layout: Layout::C, readonly: false, ..ty };
        let mut b = Builder { func: f, region: before, span };
        let shadow = b.value(Op::NtAlloc { zero: false }, &[], Type::tensor(ty));
        let nobody = b.i64(NOBODY);
        b.effect(Op::NtCopy, &[shadow, nobody]);
        shadows.insert(array, shadow);
    }
    insert(f, before, id);
    let mut stores = vec![];
    f.walk_region(body, &mut |id| {
        if let Op::NtStore { .. } = f.op(id).op {
            stores.push(id);
        }
    });
    for id in stores {
        let data = f.op(id).clone();
        let array = root(f, &defs, data.operands[1]);
        let Some(&shadow) = shadows.get(&array) else { continue };
        let checks = f.new_region();
        watch(f, checks, &data, &defs, (array, shadow), index, sites);
        insert(f, checks, id);
    }
}

/// Moves the ops of a region to where another op stands, before it.
fn insert(f: &mut Func, from: RegionId, before: OpId) {
    let ops = std::mem::take(&mut f.regions[from.index()].ops);
    if let Some((region, position)) = place_of(f, before) {
        f.regions[region.index()].ops.splice(position..position, ops);
    }
}

/// Notes which iteration writes an element, and raises if another one has.
fn watch(
    f: &mut Func,
    region: RegionId,
    store: &OpData,
    defs: &[Option<OpId>],
    (array, shadow): (ValueId, ValueId),
    index: ValueId,
    sites: &mut Vec<Site>,
) {
    let Op::NtStore { wrap } = store.op else { return };
    let (to, indices) = (store.operands[1], &store.operands[2..]);
    let name = match f.values[array.index()].name.as_str() {
        "" => "an array".to_owned(),
        name => format!("`{name}`"),
    };
    let part = if to == array { "" } else { "a part of " };
    let mut b = Builder { func: f, region, span: store.span };
    let Some(beside) = mirrored(&mut b, defs, to, array, shadow) else { return };
    let nobody = b.i64(NOBODY);
    let own = b.cast(index, Type::I64);
    let operands: Vec<ValueId> = [beside, nobody, own].into_iter().chain(indices.iter().copied()).collect();
    let who = b.value(Op::NtAtomic { rmw: Rmw::Cas, wrap }, &operands, Type::I64);
    let [other, not_own] = [nobody, own].map(|v| b.value(Op::Cmp { is: CmpOp::Ne }, &[who, v], Type::BOOL));
    let meet = b.value(Op::And, &[other, not_own], Type::BOOL);
    let template = format!(
        "iterations {{i}} and {{i}} of a prange write the same element, {{shape {}}} of {part}{name}",
        indices.len()
    );
    let site = sites.len() as u32;
    let shown: Vec<ValueId> = [who, own].into_iter().chain(indices.iter().copied()).collect();
    let (raises, _) = b.region(|b| b.effect(Op::Raise { site }, &shown));
    let (goes_on, _) = b.region(|b| b.effect(Op::Yield, &[]));
    b.op(Op::ScfIf, &[meet], &[], &[raises, goes_on]);
    let class = ExcClass::RuntimeError;
    sites.push(Site { class, template, span: store.span, user: None, also: vec![], callers: vec![] });
}

/// The part of the shadow that a part of the array has beside it.
fn mirrored(
    b: &mut Builder<'_>,
    defs: &[Option<OpId>],
    v: ValueId,
    array: ValueId,
    shadow: ValueId,
) -> Option<ValueId> {
    if v == array {
        return Some(shadow);
    }
    let data = b.func.op(defs[v.index()]?).clone();
    if !matches!(data.op, Op::NtView { .. } | Op::NtRefine { .. }) {
        return None;
    }
    let mut operands = data.operands.to_vec();
    operands[0] = mirrored(b, defs, operands[0], array, shadow)?;
    let ty = b.func.ty(v).as_tensor()?.clone();
    let ty = TensorType { dtype: DType::I64, layout: Layout::A, readonly: false, ..ty };
    Some(b.value(data.op, &operands, Type::tensor(ty)))
}
