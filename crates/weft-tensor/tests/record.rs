//! Recording and flushing on the native device.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use weft_ir::attr::BinOp;
use weft_ir::{DType, Type};
use weft_runtime::{Buffer, UsmKind, queue_for, trace};
use weft_tensor::{Operand, Operation, Tensor, TensorError, flush_count, flush_queue, generate, record};

/// Trace and counters are the process's: tests that read them run one at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn tensor(values: &[f64]) -> Tensor {
    let queue = queue_for("native").unwrap();
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_ne_bytes()).collect();
    let buffer = Buffer::from_host(Some(&queue), &bytes, UsmKind::Device).unwrap();
    Tensor::stored(vec![values.len() as i64], DType::F64, queue, buffer)
}

fn values(t: &Tensor) -> Vec<f64> {
    let mut bytes = vec![0; t.size() * 8];
    t.buffer().unwrap().to_host(0, &mut bytes).unwrap();
    bytes.chunks(8).map(|c| f64::from_ne_bytes(c.try_into().unwrap())).collect()
}

fn operand(t: &Tensor) -> Operand {
    Operand::Tensor(t.node().clone())
}

fn float(v: f64) -> Operand {
    Operand::Scalar(Type::PYFLOAT, v.to_bits())
}

/// `2*sin(x) + y*y - x`.
fn expression(x: &Tensor, y: &Tensor) -> Tensor {
    let sin = record(Operation::Call("numpy.sin"), vec![operand(x)]).unwrap();
    let two = record(Operation::Binary(BinOp::Mul), vec![float(2.0), Operand::Tensor(sin)]).unwrap();
    let square = record(Operation::Binary(BinOp::Mul), vec![operand(y), operand(y)]).unwrap();
    let sum = record(Operation::Binary(BinOp::Add), vec![Operand::Tensor(two), Operand::Tensor(square)]).unwrap();
    Tensor::new(record(Operation::Binary(BinOp::Sub), vec![Operand::Tensor(sum), operand(x)]).unwrap())
}

// spec: T4
#[test]
fn an_expression_is_one_kernel_and_compiles_once() {
    let _alone = alone();
    let (x, y) = (tensor(&[0.0, 1.0, 2.0]), tensor(&[3.0, 4.0, 5.0]));
    let z = expression(&x, &y);
    assert!(z.is_pending());
    let collector = trace::start();
    let got = values(&z);
    let again = values(&expression(&tensor(&[1.0; 5]), &tensor(&[2.0; 5])));
    let records = collector.finish();
    assert_eq!(records.launches.len(), 2, "{records:?}");
    assert_eq!(records.compiles.len(), 1, "{records:?}");
    for (k, got) in got.iter().enumerate() {
        let (x, y) = (k as f64, 3.0 + k as f64);
        assert!((got - (2.0 * x.sin() + y * y - x)).abs() < 1e-14);
    }
    assert!((again[4] - (2.0 * 1f64.sin() + 4.0 - 1.0)).abs() < 1e-14);
}

#[test]
fn held_intermediates_are_stored_once_and_dropped_ones_never() {
    let _alone = alone();
    let x = tensor(&[1.0, 2.0]);
    let kept = Tensor::new(record(Operation::Binary(BinOp::Add), vec![operand(&x), float(1.0)]).unwrap());
    let z = Tensor::new(record(Operation::Binary(BinOp::Mul), vec![operand(&kept), operand(&kept)]).unwrap());
    let before = flush_count();
    assert_eq!(values(&z), [4.0, 9.0]);
    assert!(!kept.is_pending());
    assert_eq!(values(&kept), [2.0, 3.0]);
    assert_eq!(flush_count(), before + 1);
}

#[test]
fn generators_fuse_with_arrays_of_their_size() {
    let _alone = alone();
    let x = tensor(&[1.0, 2.0, 3.0]);
    let operands = vec![float(10.0), Operand::Scalar(Type::F64, 0)];
    let queue = x.queue().clone();
    let full = generate("weft.lib.tensor.full", operands, vec![3], DType::F64, queue.clone(), UsmKind::Device);
    let sum = Tensor::new(record(Operation::Binary(BinOp::Add), vec![operand(&x), Operand::Tensor(full)]).unwrap());
    let collector = trace::start();
    assert_eq!(values(&sum), [11.0, 12.0, 13.0]);
    assert_eq!(collector.finish().launches.len(), 1);
    let (first, second) = (Operand::Scalar(Type::PYINT, 2), Operand::Scalar(Type::PYINT, 5));
    let operands = vec![first, second, Operand::Scalar(Type::F64, 0)];
    let arange = generate("weft.lib.tensor.arange", operands, vec![4], DType::F64, queue, UsmKind::Device);
    assert_eq!(values(&Tensor::new(arange)), [2.0, 5.0, 8.0, 11.0]);
}

#[test]
fn errors_are_immediate() {
    let _alone = alone();
    let (x, y) = (tensor(&[1.0, 2.0]), tensor(&[1.0, 2.0, 3.0]));
    let shapes = record(Operation::Binary(BinOp::Add), vec![operand(&x), operand(&y)]).err().unwrap();
    assert_eq!(shapes.to_string(), "operands could not be broadcast together with shapes (2,) (3,) ");
    let floats = record(Operation::Binary(BinOp::And), vec![operand(&x), operand(&x)]).err().unwrap();
    assert!(matches!(floats, TensorError::Refused(_)), "{floats}");
}

#[test]
fn long_chains_run_in_bounded_pieces() {
    let _alone = alone();
    let x = tensor(&[0.0; 4]);
    let mut t = x.node().clone();
    for _ in 0..5000 {
        t = record(Operation::Binary(BinOp::Add), vec![Operand::Tensor(t), float(1.0)]).unwrap();
    }
    assert_eq!(values(&Tensor::new(t)), [5000.0; 4]);
    assert_eq!(Arc::strong_count(x.node()), 1, "finished work lets its operands go");
}

#[test]
fn waiting_for_a_queue_runs_what_is_held() {
    let _alone = alone();
    let x = tensor(&[1.0]);
    let held = Tensor::new(record(Operation::Binary(BinOp::Add), vec![operand(&x), float(1.0)]).unwrap());
    let before = flush_count();
    drop(Tensor::new(record(Operation::Binary(BinOp::Mul), vec![operand(&x), float(3.0)]).unwrap()));
    flush_queue(x.queue()).unwrap();
    assert!(!held.is_pending());
    assert_eq!(flush_count(), before + 1, "what nobody holds is not computed");
}
