//! Functions: arenas of ops, values and regions, addressed by `u32` ids.
//!
//! A region is one list of ops with arguments; there is no CFG and no phi. Ids are never reused:
//! a removed op is simply in no region's list any more, and the next lowering rebuilds without it.

use crate::attr::Const;
use crate::fast::FastMath;
use crate::ops::{Effects, Op};
use crate::site::Site;
use crate::types::Type;
use smallvec::SmallVec;
use weft_diag::Span;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub u32);

        impl $name {
            /// Position in its arena.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}{}", stringify!($name), self.0)
            }
        }
    )*};
}

ids! {
    /// An op of a function.
    OpId;
    /// A value of a function.
    ValueId;
    /// A region of a function.
    RegionId;
}

/// How far a module has been lowered, and so which dialects it may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Stage {
    Py,
    Ntensor,
    Placed,
    Fused,
    Loops,
}

impl Stage {
    /// Every stage, in order.
    pub const ALL: [Stage; 5] = [Stage::Py, Stage::Ntensor, Stage::Placed, Stage::Fused, Stage::Loops];

    /// Name in text.
    pub fn name(self) -> &'static str {
        ["py", "ntensor", "placed", "fused", "loops"][self as usize]
    }

    /// The stage with this name.
    pub fn from_name(name: &str) -> Option<Stage> {
        Stage::ALL.into_iter().find(|s| s.name() == name)
    }
}

/// An op: attributes in `op`, everything else in uniform lists.
#[derive(Clone, Debug, PartialEq)]
pub struct OpData {
    /// Kind and attributes.
    pub op: Op,
    /// Values used.
    pub operands: SmallVec<[ValueId; 4]>,
    /// Values defined.
    pub results: SmallVec<[ValueId; 2]>,
    /// Regions held.
    pub regions: SmallVec<[RegionId; 2]>,
    /// The user's expression.
    pub span: Span,
}

impl OpData {
    /// The operands whose memory the op itself writes. What its regions write, their ops say.
    pub fn written(&self) -> &[ValueId] {
        self.op.effects().operands.writes.of(&self.operands)
    }

    /// The operands whose elements the op itself reads, and those of them that are no arrays.
    pub fn read(&self) -> &[ValueId] {
        self.op.effects().operands.reads.of(&self.operands)
    }

    /// The operand that the result is a view of: another name for some or all of its elements.
    pub fn viewed(&self) -> Option<ValueId> {
        self.op.effects().operands.views.of(&self.operands).first().copied()
    }

    /// Whether array operands go on under names that [`OpData::viewed`] does not know: into cells, lists and calls, around
    /// loops, out of regions. Whoever has such a name may write. What is returned goes on too, but nobody in this function has it.
    pub fn passes_on(&self) -> bool {
        let known = matches!(self.op.dialect(), "scf" | "list" | "par" | "simt");
        known && self.op != Op::Return
    }
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueData {
    /// Its type.
    pub ty: Type,
    /// A name to print, unique or empty (then the id is printed).
    pub name: String,
}

/// One list of ops with arguments.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct RegionData {
    /// Arguments.
    pub args: Vec<ValueId>,
    /// Ops in order; the last one is a terminator.
    pub ops: Vec<OpId>,
}

/// A function.
#[derive(Clone, Debug)]
pub struct Func {
    /// Name without `@`.
    pub name: String,
    /// A kernel: its body runs once per work-item.
    pub kernel: bool,
    /// No array parameter that the function writes shares memory with another: callers see to it.
    pub apart: bool,
    /// Result types (empty at stage `py`).
    pub results: Vec<Type>,
    /// Body; its arguments are the parameters.
    pub body: RegionId,
    /// Ops.
    pub ops: Vec<OpData>,
    /// Values.
    pub values: Vec<ValueData>,
    /// Regions.
    pub regions: Vec<RegionData>,
    /// Number of size symbols in use: the next fresh one.
    pub symbols: u32,
}

impl Func {
    /// An empty function.
    pub fn new(name: &str) -> Func {
        Func {
            name: name.into(),
            kernel: false,
            apart: false,
            results: vec![],
            body: RegionId(0),
            ops: vec![],
            values: vec![],
            regions: vec![RegionData::default()],
            symbols: 0,
        }
    }

    /// The parameters.
    pub fn params(&self) -> &[ValueId] {
        &self.region(self.body).args
    }

    /// An op.
    pub fn op(&self, id: OpId) -> &OpData {
        &self.ops[id.index()]
    }

    /// The integer that a value is, where a constant defines it.
    pub fn constant_int(&self, v: ValueId) -> Option<i128> {
        match self.ops.iter().rev().find(|op| op.results.first() == Some(&v))?.op {
            Op::Const { value: Const::Int(n) } => Some(n),
            _ => None,
        }
    }

    /// A region.
    pub fn region(&self, id: RegionId) -> &RegionData {
        &self.regions[id.index()]
    }

    /// A value's type.
    pub fn ty(&self, id: ValueId) -> &Type {
        &self.values[id.index()].ty
    }

    /// A new value that nothing defines yet.
    pub fn new_value(&mut self, ty: Type) -> ValueId {
        self.values.push(ValueData { ty, name: String::new() });
        ValueId((self.values.len() - 1) as u32)
    }

    /// A new, empty region.
    pub fn new_region(&mut self) -> RegionId {
        self.regions.push(RegionData::default());
        RegionId((self.regions.len() - 1) as u32)
    }

    /// A fresh size symbol.
    pub fn new_symbol(&mut self) -> u32 {
        self.symbols += 1;
        self.symbols - 1
    }

    /// Effects of an op with those of its regions. Exits count only where they leave the op.
    pub fn effects(&self, id: OpId) -> Effects {
        let mut all = self.effects_at(id, 0);
        if let Op::Yield | Op::Raise { .. } | Op::PyRaise | Op::ScfReraise = self.op(id).op {
            all.exits = true;
        }
        all
    }

    /// [`Func::effects`] of an op that stands inside so many loops and blocks of the op that is asked about.
    fn effects_at(&self, id: OpId, inside: u32) -> Effects {
        let data = self.op(id);
        let mut all = data.op.effects();
        match data.op {
            Op::Break { depth } | Op::Continue { depth } => all.exits = depth >= inside,
            Op::Yield | Op::Raise { .. } | Op::PyRaise | Op::ScfReraise => all.exits = false,
            _ => {}
        }
        let inside = inside + u32::from(data.op.is_breakable());
        for &region in &data.regions {
            for &inner in &self.region(region).ops {
                all = all.union(self.effects_at(inner, inside));
            }
        }
        all
    }

    /// Calls `visit` on every live op, outer before inner, in order.
    pub fn walk(&self, visit: &mut dyn FnMut(OpId)) {
        self.walk_region(self.body, visit);
    }

    /// [`Func::walk`] below one region.
    pub fn walk_region(&self, region: RegionId, visit: &mut dyn FnMut(OpId)) {
        for &op in &self.region(region).ops {
            visit(op);
            for &inner in &self.op(op).regions {
                self.walk_region(inner, visit);
            }
        }
    }

    /// How often each value is used by a live op, by value index.
    pub fn use_counts(&self) -> Vec<u32> {
        let mut counts = vec![0; self.values.len()];
        self.walk(&mut |op| {
            for v in &self.op(op).operands {
                counts[v.index()] += 1;
            }
        });
        counts
    }

    /// Number of live ops.
    pub fn op_count(&self) -> usize {
        let mut n = 0;
        self.walk(&mut |_| n += 1);
        n
    }
}

/// Functions at one stage, with the sites their raises name. Function 0 is the entry.
#[derive(Clone, Debug)]
pub struct Module {
    /// How far lowered.
    pub stage: Stage,
    /// Functions; the first is the entry, the others are kernels it launches.
    pub funcs: Vec<Func>,
    /// Raise sites.
    pub sites: Vec<Site>,
    /// What float arithmetic may do.
    pub fast: FastMath,
}

impl Module {
    /// A module of one function.
    pub fn new(stage: Stage, func: Func) -> Module {
        Module { stage, funcs: vec![func], sites: vec![], fast: FastMath::default() }
    }

    /// The entry.
    pub fn entry(&self) -> &Func {
        &self.funcs[0]
    }

    /// A function by name.
    pub fn func(&self, name: &str) -> Option<&Func> {
        self.funcs.iter().find(|f| f.name == name)
    }
}
