//! What the tests share: the queues there are, and modules from text.
#![allow(dead_code)]

use std::sync::Arc;

use weft_hal::BackendKind;
use weft_ir::read::read_module;
use weft_runtime::{CallError, Executable, Queue, RuntimeError, Touched, queue_for};

/// The default queues of devices that run kernels. An OpenCL device must be there under `WEFT_REQUIRE_OPENCL=1`.
pub fn device_queues() -> Vec<Arc<Queue>> {
    let devices = &weft_hal::discovery().devices;
    let runs = |backend| matches!(backend, BackendKind::OpenCl | BackendKind::Cuda);
    let queues: Vec<_> = devices.iter().filter(|d| runs(d.info().backend)).collect();
    let opencl = queues.iter().any(|d| d.info().backend == BackendKind::OpenCl);
    let required = std::env::var_os("WEFT_REQUIRE_OPENCL").is_some_and(|v| v == "1");
    assert!(opencl || !required, "WEFT_REQUIRE_OPENCL=1, and there is no OpenCL device");
    if queues.is_empty() {
        eprintln!("skipped: no device that runs kernels");
    }
    queues.into_iter().map(|d| Queue::default_on(d).unwrap()).collect()
}

/// All queues with memory of their own: the null device and those that run kernels.
pub fn memory_queues() -> Vec<Arc<Queue>> {
    let mut queues = device_queues();
    queues.push(Queue::default_on(&weft_hal::null::device()).unwrap());
    queues.push(queue_for("native").unwrap());
    queues
}

/// An executable from text, in which `#dev` stands for the queue's device.
pub fn build(text: &str, queue: Option<&Arc<Queue>>) -> Executable {
    let place = format!("#{}", queue.map_or("native:cpu:0", |q| q.filter()));
    let module = read_module(&text.replace("#dev", &place)).unwrap();
    Executable::build(&module, queue, None).unwrap()
}

/// Calls an executable with host arrays only.
pub fn call(f: &Executable, args: &[u64], results: usize) -> Result<Vec<u64>, CallError> {
    call_with(f, args, results, &Touched::default())
}

/// Calls an executable.
pub fn call_with(f: &Executable, args: &[u64], results: usize, touched: &Touched<'_>) -> Result<Vec<u64>, CallError> {
    let mut ret = vec![0; results];
    // SAFETY: the tests pass slots that fit their modules, and arrays that outlive the call.
    unsafe { f.call(args, &mut ret, touched) }.map(|()| ret)
}

/// The address of an array.
pub fn at<T>(array: &[T]) -> u64 {
    array.as_ptr() as u64
}

/// The address of an array that will be written.
pub fn at_mut<T>(array: &mut [T]) -> u64 {
    array.as_mut_ptr() as u64
}

/// The message of a program's own exception.
pub fn message(result: Result<Vec<u64>, CallError>) -> String {
    match result {
        Err(CallError::Raised(raised)) => raised.to_string(),
        other => panic!("nothing was raised: {other:?}"),
    }
}

/// The runtime's own error.
pub fn failure(result: Result<Vec<u64>, CallError>) -> RuntimeError {
    match result {
        Err(CallError::Runtime(error)) => error,
        other => panic!("nothing failed: {other:?}"),
    }
}
