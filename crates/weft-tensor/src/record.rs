//! Recording: metadata and errors at once, work later.

use crate::graph;
use crate::node::{Node, Operand, Operation, Pending, State, Tensor};
use crate::{TensorError, flush};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};
use weft_ir::attr::{BinOp, Const};
use weft_ir::rules::{broadcast_message, broadcast_sizes, can_cast_same_kind};
use weft_ir::{DType, Type, Weak};
use weft_runtime::{Queue, UsmKind};

/// Pending work beyond this many operations runs at once: fusion has its own limit, and recursion needs one.
const MAX_PENDING: usize = 64;

/// Records `op`; at least one operand is a tensor.
///
/// # Errors
/// What NumPy would raise for these dtypes and shapes, or operands on different queues.
pub fn record(op: Operation, mut operands: Vec<Operand>) -> Result<Arc<Node>, TensorError> {
    let Some(queue) = operands.iter().find_map(tensor).map(|node| node.queue.clone()) else {
        return Err(TensorError::Type("at least one operand must be a tensor".into()));
    };
    gather(&queue, &mut operands)?;
    let tensors: Vec<&Arc<Node>> = operands.iter().filter_map(tensor).collect();
    let shapes: Vec<&[i64]> = tensors.iter().map(|t| t.shape.as_slice()).collect();
    let shape = broadcast_sizes(&shapes).ok_or_else(|| TensorError::Value(broadcast_message(&shapes)))?;
    let usm = tensors.iter().map(|t| t.usm).min_by_key(|u| usm_rank(*u)).unwrap_or(UsmKind::Device);
    // Exponents decide which routine NumPy uses, so a Python number there is part of the program.
    if let (Operation::Binary(BinOp::Pow), Some(exponent)) = (&op, operands.get_mut(1))
        && let Operand::Scalar(Type::Py(w), bits) = exponent
    {
        *exponent = Operand::Const(constant(*w, *bits));
    }
    let dtype = result_dtype(&op, &operands)?;
    check_weak_ints(&op, &operands, dtype)?;
    let raises = op == Operation::Binary(BinOp::Pow) && dtype.is_int() && matches!(operands[1], Operand::Tensor(_));
    let node = pending(op, operands, shape, dtype, queue, usm);
    if raises || node.weight() > MAX_PENDING {
        flush::force(&node)?;
    }
    Ok(node)
}

/// Records a library function that makes a new array.
pub fn generate(
    function: &'static str,
    operands: Vec<Operand>,
    shape: Vec<i64>,
    dtype: DType,
    queue: Arc<Queue>,
    usm: UsmKind,
) -> Arc<Node> {
    pending(Operation::Generate(function), operands, shape, dtype, queue, usm)
}

/// Records `x op= y`: the new content of `x`, in its dtype and shape.
pub fn update(op: BinOp, x: &Arc<Node>, y: Operand) -> Result<Arc<Node>, TensorError> {
    let result = record(Operation::Binary(op), vec![Operand::Tensor(x.clone()), y])?;
    if result.shape != x.shape {
        let tuple = |s: &[i64]| {
            let dims: Vec<String> = s.iter().map(i64::to_string).collect();
            format!("({}{})", dims.join(","), if dims.len() == 1 { "," } else { "" })
        };
        return Err(TensorError::Value(format!(
            "non-broadcastable output operand with shape {} doesn't match the broadcast shape {}",
            tuple(&x.shape),
            tuple(&result.shape)
        )));
    }
    if result.dtype == x.dtype {
        return Ok(result);
    }
    if !can_cast_same_kind(result.dtype, x.dtype) {
        return Err(TensorError::Type(format!(
            "cannot cast the result of `{}=` from dtype('{}') to dtype('{}') with casting rule 'same_kind'",
            op.text(),
            result.dtype.numpy_name(),
            x.dtype.numpy_name()
        )));
    }
    let like = Operand::Scalar(Type::Num(x.dtype), 0);
    record(Operation::Call("weft.lib.tensor.cast"), vec![Operand::Tensor(result), like])
}

fn tensor(operand: &Operand) -> Option<&Arc<Node>> {
    match operand {
        Operand::Tensor(node) => Some(node),
        _ => None,
    }
}

fn pending(
    op: Operation,
    operands: Vec<Operand>,
    shape: Vec<i64>,
    dtype: DType,
    queue: Arc<Queue>,
    usm: UsmKind,
) -> Arc<Node> {
    let weight = 1 + operands.iter().filter_map(tensor).map(|n| n.weight()).sum::<usize>();
    Node::new(shape, dtype, queue, usm, State::Pending(Pending { op, operands, weight }), None)
}

/// Spec B4: the result is of the lowest kind, device < shared < host.
fn usm_rank(usm: UsmKind) -> u8 {
    match usm {
        UsmKind::Device => 0,
        UsmKind::Shared => 1,
        UsmKind::Host => 2,
    }
}

/// Whether operands that share only a context may meet (spec C3). Asked where queues differ.
static BY_CONTEXT: OnceLock<fn() -> bool> = OnceLock::new();

/// Names who decides whether operands whose queues differ may meet in their common context. The first one stays.
pub fn set_context_rule(by_context: fn() -> bool) {
    let _ = BY_CONTEXT.set(by_context);
}

/// Spec B3: all on queues equal to the first one's, which is used. Where the context decides (C3), the others are seen
/// from there.
fn gather(queue: &Arc<Queue>, operands: &mut [Operand]) -> Result<(), TensorError> {
    let apart = |operand: &Operand| tensor(operand).filter(|node| *node.queue != **queue).cloned();
    if !operands.iter().any(|operand| apart(operand).is_some()) {
        return Ok(());
    }
    let near = operands.iter().filter_map(tensor).all(|node| node.queue.context() == queue.context());
    let meet = near && BY_CONTEXT.get().is_some_and(|by_context| by_context());
    for (k, operand) in operands.iter_mut().enumerate() {
        let Some(node) = apart(operand) else { continue };
        if !meet {
            let other = &node.queue;
            return Err(TensorError::Placement(format!(
                "operands are on different queues: operand 0 is on {queue}, operand {k} is on {other}\n   = help: move one of them: `.to_device(\"{}\")`",
                queue.filter()
            )));
        }
        *operand = Operand::Tensor(Tensor::new(node).seen_from(queue)?.node().clone());
    }
    Ok(())
}

/// What decides a result's dtype.
type DTypeKey = (String, Vec<Type>);

/// The dtype the compiler gives this operation, found once per combination.
fn result_dtype(op: &Operation, operands: &[Operand]) -> Result<DType, TensorError> {
    static KNOWN: LazyLock<Mutex<HashMap<DTypeKey, DType>>> = LazyLock::new(Mutex::default);
    let types: Vec<Type> = operands
        .iter()
        .map(|o| match o {
            Operand::Tensor(node) => graph::leaf_type(node.dtype, vec![weft_ir::Dim::Sym(0)], weft_ir::Place::Host),
            Operand::Scalar(ty, _) => ty.clone(),
            Operand::Const(Const::Int(_)) => Type::PYINT,
            Operand::Const(_) => Type::PYFLOAT,
        })
        .collect();
    // A constant exponent may be refused by its value (negative, beside integers).
    let constants =
        operands.iter().filter_map(|o| if let Operand::Const(c) = o { Some(format!("{c:?}")) } else { None });
    let name = format!("{op:?}{}", constants.collect::<String>());
    let key = (name, types);
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(&dtype) = known().get(&key) {
        return Ok(dtype);
    }
    let dtype = graph::infer_one(op, operands, &key.1)?;
    known().insert(key, dtype);
    Ok(dtype)
}

/// Spec T4: a Python int that does not fit the dtype it meets is an error at the call.
fn check_weak_ints(op: &Operation, operands: &[Operand], dtype: DType) -> Result<(), TensorError> {
    let (Operation::Binary(_) | Operation::Call(_), Some((lo, hi))) = (op, dtype.int_bounds()) else { return Ok(()) };
    for o in operands {
        if let Operand::Scalar(Type::Py(Weak::Int), bits) = o {
            let v = i128::from(*bits as i64);
            if v < lo || v > hi {
                let name = dtype.numpy_name();
                return Err(TensorError::Overflow(format!("Python integer {v} out of bounds for {name}")));
            }
        }
    }
    Ok(())
}

fn constant(weak: Weak, bits: u64) -> Const {
    match weak {
        Weak::Float => Const::Float(f64::from_bits(bits)),
        Weak::Bool => Const::Bool(bits != 0),
        _ => Const::Int((bits as i64).into()),
    }
}
