//! A pending graph as a function at stage `py`, with the key of its structure.

use crate::TensorError;
use crate::node::{Node, Operand, Operation};
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;
use weft_ir::attr::{Attr, Const};
use weft_ir::{Builder, DType, Dim, Func, Op, Place, TensorType, Type, ValueId};
use weft_passes::infer::{self, Door, Resolved, Resolver};
use weft_runtime::Buffer;

/// Recorded names are canonical already.
pub(crate) struct Canonical;

impl Resolver for Canonical {
    fn resolve(&mut self, path: &str) -> Resolved {
        Resolved::Function(path.to_string())
    }
}

/// A C-ordered array type.
pub(crate) fn leaf_type(dtype: DType, dims: Vec<Dim>, place: Place) -> Type {
    Type::tensor(TensorType::fresh(dims, dtype, place))
}

/// The dtype of one operation on operands of these types.
pub(crate) fn infer_one(op: &Operation, operands: &[Operand], types: &[Type]) -> Result<DType, TensorError> {
    let mut func = Func::new("tensor");
    let mut b = Builder::new(&mut func);
    let mut values = vec![];
    let mut params = vec![];
    for (operand, ty) in operands.iter().zip(types) {
        values.push(match operand {
            Operand::Const(c) => b.value(Op::PyConst { value: c.clone() }, &[], Type::Untyped),
            _ => {
                params.push(ty.clone());
                b.arg(Type::Untyped)
            }
        });
    }
    let v = emit(&mut b, op, None, &values);
    b.effect(Op::Return, &[v]);
    let out = infer::run(&func, &params, Door::Tensor { place: Place::Host }, &mut Canonical)?;
    match out.module.entry().results.first().and_then(Type::as_tensor) {
        Some(t) => Ok(t.dtype),
        None => Err(TensorError::Type("the operation does not give an array".into())),
    }
}

/// One op of the function for one node. `shape` is the new array's, for generators.
fn emit(b: &mut Builder<'_>, op: &Operation, shape: Option<ValueId>, operands: &[ValueId]) -> ValueId {
    let any = Type::Untyped;
    match op {
        Operation::Binary(op) => b.value(Op::PyBinop { op: *op, inplace: false }, operands, any),
        Operation::Unary(op) => b.value(Op::PyUnary { op: *op }, operands, any),
        Operation::Compare(op) => b.value(Op::PyCompare { op: *op }, operands, any),
        Operation::Call(name) | Operation::Generate(name) => {
            let f = b.value(Op::PyGlobal { path: name.to_string() }, &[], Type::Untyped);
            let mut all = vec![f];
            all.extend(shape);
            all.extend_from_slice(operands);
            b.value(Op::PyCall { keywords: vec![] }, &all, any)
        }
    }
}

/// What a flush computes, in a form that does not depend on values or sizes.
pub(crate) struct Graph {
    /// Names the structure: equal keys, equal functions.
    pub key: String,
    /// Stage `py`.
    pub func: Func,
    /// Types of the function's parameters.
    pub params: Vec<Type>,
    /// Slots of the parameters.
    pub slots: Vec<u64>,
    /// Memory the parameters point into.
    pub leaves: Vec<Arc<Buffer>>,
    /// Nodes that the results are stored in, in order.
    pub outputs: Vec<Arc<Node>>,
}

/// The pending graph of `root`: it and every held node below it are stored.
pub(crate) fn collect(root: &Arc<Node>) -> Graph {
    let order = pending_order(root);
    let mut c = Collector::new(root.place());
    // Leaves come first: their parameters define the size symbols that generators refer to.
    for node in &order {
        for operand in &node.pending().map(|p| p.operands).unwrap_or_default() {
            if let Operand::Tensor(n) = operand
                && n.stored().is_some()
            {
                c.leaf(n);
            }
        }
    }
    for node in &order {
        c.node(node);
    }
    let outputs: Vec<Arc<Node>> = order.iter().filter(|n| Arc::ptr_eq(n, root) || n.is_held()).cloned().collect();
    c.finish(outputs)
}

/// Pending nodes below `root` and itself, operands first.
fn pending_order(root: &Arc<Node>) -> Vec<Arc<Node>> {
    let mut order: Vec<Arc<Node>> = vec![];
    let mut seen: HashMap<*const Node, ()> = HashMap::new();
    let mut stack = vec![(root.clone(), false)];
    while let Some((node, ready)) = stack.pop() {
        if ready {
            order.push(node);
            continue;
        }
        if seen.insert(Arc::as_ptr(&node), ()).is_some() {
            continue;
        }
        let Some(pending) = node.pending() else { continue };
        stack.push((node, true));
        for operand in pending.operands.into_iter().rev() {
            if let Operand::Tensor(n) = operand {
                stack.push((n, false));
            }
        }
    }
    order
}

struct Collector {
    place: Place,
    key: String,
    func: Func,
    params: Vec<Type>,
    slots: Vec<u64>,
    leaves: Vec<Arc<Buffer>>,
    /// Value of each node seen.
    values: HashMap<*const Node, ValueId>,
    /// Size → symbol, by equality.
    symbols: HashMap<i64, u32>,
    /// Size → a leaf and dimension that have it, or the parameter that holds it.
    sizes: HashMap<i64, Size>,
}

#[derive(Clone, Copy)]
enum Size {
    Of(ValueId, u32),
    Param(ValueId),
}

impl Collector {
    fn new(place: Place) -> Collector {
        let key = format!("{place};");
        Collector {
            place,
            key,
            func: Func::new("tensor"),
            params: vec![],
            slots: vec![],
            leaves: vec![],
            values: HashMap::new(),
            symbols: HashMap::new(),
            sizes: HashMap::new(),
        }
    }

    fn builder(&mut self) -> Builder<'_> {
        Builder::new(&mut self.func)
    }

    fn param(&mut self, ty: Type) -> ValueId {
        let _ = write!(self.key, "{ty},");
        self.params.push(ty);
        self.builder().arg(Type::Untyped)
    }

    fn leaf(&mut self, node: &Arc<Node>) {
        let Some(buffer) = node.stored() else { return };
        if self.values.contains_key(&Arc::as_ptr(node)) {
            return;
        }
        let mut dims = vec![];
        for &n in &node.shape {
            let next = self.symbols.len() as u32;
            dims.push(if n == 1 { Dim::Const(1) } else { Dim::Sym(*self.symbols.entry(n).or_insert(next)) });
        }
        let v = self.param(leaf_type(node.dtype, dims, self.place.clone()));
        self.values.insert(Arc::as_ptr(node), v);
        for (k, &n) in node.shape.iter().enumerate() {
            self.sizes.entry(n).or_insert(Size::Of(v, k as u32));
        }
        // Borrowed: the flush keeps the buffer alive.
        let owner = 2 * (self.params.len() as u64 - 1) + 1;
        self.slots.extend([buffer.address(), owner]);
        self.slots.extend(node.shape.iter().map(|&n| n as u64));
        let mut stride = node.dtype.size() as i64;
        let mut strides = vec![0; node.shape.len()];
        for k in (0..node.shape.len()).rev() {
            strides[k] = stride;
            stride *= node.shape[k].max(1);
        }
        self.slots.extend(strides.iter().map(|&s| s as u64));
        self.leaves.push(buffer);
    }

    fn node(&mut self, node: &Arc<Node>) {
        let Some(pending) = node.pending() else { return };
        let mut operands = vec![];
        let _ = write!(self.key, "{:?}(", pending.op);
        for operand in &pending.operands {
            let v = match operand {
                Operand::Tensor(n) => self.values[&Arc::as_ptr(n)],
                Operand::Scalar(ty, bits) => {
                    self.slots.push(*bits);
                    // The second one of a c128, which only stands for its dtype here.
                    self.slots.extend((1..ty.slots()).map(|_| 0));
                    self.param(ty.clone())
                }
                Operand::Const(c) => self.constant(c.clone()),
            };
            let _ = write!(self.key, "{},", v.0);
            operands.push(v);
        }
        let shape = matches!(pending.op, Operation::Generate(_)).then(|| self.shape(&node.shape));
        let v = emit(&mut self.builder(), &pending.op, shape, &operands);
        let _ = write!(self.key, ")={};", v.0);
        self.values.insert(Arc::as_ptr(node), v);
    }

    fn constant(&mut self, c: Const) -> ValueId {
        c.print(&mut self.key);
        self.builder().value(Op::PyConst { value: c }, &[], Type::Untyped)
    }

    /// A tuple of sizes: of a leaf where one has that size, so that symbols agree.
    fn shape(&mut self, shape: &[i64]) -> ValueId {
        let mut items = vec![];
        for &n in shape {
            if n == 1 {
                items.push(self.constant(Const::Int(1)));
                continue;
            }
            let size = match self.sizes.get(&n) {
                Some(size) => *size,
                None => {
                    self.slots.push(n as u64);
                    let size = Size::Param(self.param(Type::PYINT));
                    self.sizes.insert(n, size);
                    size
                }
            };
            let v = match size {
                Size::Param(v) => v,
                Size::Of(leaf, k) => {
                    let mut b = self.builder();
                    let sizes = b.value(Op::PyAttr { name: "shape".into() }, &[leaf], Type::Untyped);
                    let k = b.value(Op::PyConst { value: Const::Int(k.into()) }, &[], Type::Untyped);
                    b.value(Op::PyIndex, &[sizes, k], Type::Untyped)
                }
            };
            let _ = write!(self.key, "x{}", v.0);
            items.push(v);
        }
        self.builder().value(Op::PyTuple, &items, Type::Untyped)
    }

    fn finish(mut self, outputs: Vec<Arc<Node>>) -> Graph {
        let results: Vec<ValueId> = outputs.iter().map(|n| self.values[&Arc::as_ptr(n)]).collect();
        let _ = write!(self.key, "->{:?}", results.iter().map(|v| v.0).collect::<Vec<_>>());
        let mut b = self.builder();
        let tuple = b.value(Op::PyTuple, &results, Type::Untyped);
        b.effect(Op::Return, &[tuple]);
        let Collector { key, func, params, slots, leaves, .. } = self;
        Graph { key, func, params, slots, leaves, outputs }
    }
}
