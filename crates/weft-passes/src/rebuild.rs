//! Copying a function into a new one through a value map: what every pass that crosses a stage border does.

use weft_diag::Span;
use weft_ir::{Builder, Func, Op, OpId, RegionId, Type, ValueId};

/// A function being rebuilt: where new ops go, and what each old value has become.
pub struct Rebuild<'s> {
    /// The old function.
    pub src: &'s Func,
    /// The new one.
    pub dst: Func,
    /// Region that receives ops.
    pub at: RegionId,
    /// Span given to new ops.
    pub span: Span,
    map: Vec<Option<ValueId>>,
}

impl<'s> Rebuild<'s> {
    /// An empty copy of `src`: same name, kind and symbols, no parameters yet.
    pub fn new(src: &'s Func) -> Rebuild<'s> {
        let mut dst = Func::new(&src.name);
        dst.kernel = src.kernel;
        dst.apart = src.apart;
        dst.symbols = src.symbols;
        let at = dst.body;
        Rebuild { src, dst, at, span: Span::NONE, map: vec![None; src.values.len()] }
    }

    /// A builder at the cursor.
    pub fn b(&mut self) -> Builder<'_> {
        Builder { func: &mut self.dst, region: self.at, span: self.span }
    }

    /// What an old value has become, if anything yet.
    pub fn find(&self, old: ValueId) -> Option<ValueId> {
        self.map[old.index()]
    }

    /// What an old value has become. The verifier has checked that definitions come before uses.
    pub fn get(&self, old: ValueId) -> ValueId {
        self.map[old.index()].expect("the old function defines values before it uses them")
    }

    /// Says what an old value has become; the name goes along.
    pub fn set(&mut self, old: ValueId, new: ValueId) {
        self.map[old.index()] = Some(new);
        if self.dst.values[new.index()].name.is_empty() {
            self.dst.values[new.index()].name.clone_from(&self.src.values[old.index()].name);
        }
    }

    /// The whole map, to put back with [`Rebuild::restore`] when a nested region ends.
    pub fn snapshot(&self) -> Vec<Option<ValueId>> {
        self.map.clone()
    }

    /// Forgets what was mapped since the snapshot.
    pub fn restore(&mut self, snapshot: Vec<Option<ValueId>>) {
        self.map = snapshot;
    }

    /// Adds an argument to the region at the cursor for an old value.
    pub fn arg(&mut self, old: ValueId, ty: Type) -> ValueId {
        let new = self.b().arg(ty);
        self.set(old, new);
        new
    }

    /// Appends an op in place of an old one: same span, results mapped.
    pub fn emit(&mut self, old: OpId, op: Op, operands: &[ValueId], types: &[Type], regions: &[RegionId]) -> OpId {
        self.span = self.src.op(old).span;
        let new = self.b().op(op, operands, types, regions);
        for i in 0..types.len() {
            let (from, to) = (self.src.op(old).results[i], self.dst.op(new).results[i]);
            self.set(from, to);
        }
        new
    }

    /// Copies an op with its regions, types changed by `ty`.
    pub fn copy(&mut self, old: OpId, ty: &dyn Fn(&Type) -> Type) -> OpId {
        let data = self.src.op(old).clone();
        let operands: Vec<ValueId> = data.operands.iter().map(|&v| self.get(v)).collect();
        let types: Vec<Type> = data.results.iter().map(|&v| ty(self.src.ty(v))).collect();
        let regions: Vec<RegionId> = data.regions.iter().map(|&r| self.copy_region(r, ty)).collect();
        self.emit(old, data.op, &operands, &types, &regions)
    }

    /// Copies a region: its arguments and ops.
    pub fn copy_region(&mut self, old: RegionId, ty: &dyn Fn(&Type) -> Type) -> RegionId {
        let new = self.dst.new_region();
        let outer = std::mem::replace(&mut self.at, new);
        for &a in &self.src.region(old).args {
            self.arg(a, ty(self.src.ty(a)));
        }
        for &op in &self.src.region(old).ops {
            self.copy(op, ty);
        }
        self.at = outer;
        new
    }
}
