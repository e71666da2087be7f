//! OpenCL on a real driver. Set `WEFT_OPENCL_DIR` to the folder of pip's `libintelocl.so`; with
//! `WEFT_REQUIRE_OPENCL=1` a machine without a device fails instead of skipping.

mod common;

use std::sync::Arc;

use common::{Args, memory_promises, run};
use weft_hal::{Device, HalError, Launch, ProgramSource, QueueOptions, UsmKind, discovery, find_device};

const SOURCE: &str = "
kernel void saxpy(global float *y, global const float *x, float a, ulong n) {
    size_t i = get_global_id(0);
    if (i < n) y[i] += a * x[i];
}
kernel void where(global uint *out) {
    size_t g = get_group_id(0) + get_num_groups(0) * (get_group_id(1) + get_num_groups(1) * get_group_id(2));
    size_t l = get_local_id(0) + get_local_size(0) * (get_local_id(1) + get_local_size(1) * get_local_id(2));
    out[g * get_local_size(0) * get_local_size(1) * get_local_size(2) + l] =
        get_global_id(0) + 100 * get_global_id(1) + 10000 * get_global_id(2);
}";

/// A device, or a loud reason why the test says nothing.
fn device() -> Option<Arc<dyn Device>> {
    match find_device("opencl") {
        Ok(device) => Some(device),
        Err(error) if std::env::var_os("WEFT_REQUIRE_OPENCL").is_some_and(|v| v == "1") => {
            panic!("WEFT_REQUIRE_OPENCL=1, but: {error}\n{:#?}", discovery().reports)
        }
        Err(error) => {
            eprintln!("SKIPPED, no OpenCL device: {error}");
            None
        }
    }
}

#[test]
fn the_device_is_described() {
    let Some(device) = device() else { return };
    let info = device.info();
    eprintln!("{info:#?}\n{:#?}", discovery().reports);
    assert!(!info.name.is_empty() && info.global_mem_bytes > 0 && info.compute_units > 0);
    assert!(info.max_work_group_size > 0 && info.max_argument_bytes >= 1024 && !info.usm.is_empty());
    let names: Vec<String> = discovery().devices.iter().map(|d| d.info().filter_string()).collect();
    let mut distinct = names.clone();
    distinct.dedup();
    assert_eq!(names, distinct);
    assert_eq!(names.iter().filter(|n| n.starts_with("opencl:cpu")).count(), 1, "{names:?}");
}

#[test]
fn memory() {
    let Some(device) = device() else { return };
    memory_promises(&*device);
}

#[test]
fn a_kernel_computes() {
    let Some(device) = device() else { return };
    let program = device.load_program(ProgramSource::OpenClC(SOURCE)).unwrap();
    let kernel = program.kernel("saxpy").unwrap();
    assert_eq!(kernel.name(), "saxpy");
    drop(program);
    for options in common::all_options() {
        for kind in UsmKind::ALL {
            common::saxpy(&*device, &kernel, options, kind);
        }
    }
}

#[test]
fn spir_v_runs() {
    let Some(device) = device() else { return };
    let module = include_bytes!("data/double.spv");
    let kernel = device.load_program(ProgramSource::SpirV(module)).unwrap().kernel("double").unwrap();
    let queue = device.create_queue(QueueOptions::default()).unwrap();
    let out = device.alloc(4 * 32, UsmKind::Shared).unwrap();
    // SAFETY: 32 numbers, ours, untouched while the kernel runs.
    let values = unsafe { std::slice::from_raw_parts_mut(out as *mut u32, 32) };
    (0..).zip(&mut *values).for_each(|(i, v)| *v = i);
    run(&*queue, &kernel, [4, 1, 1], [8, 1, 1], &Args::new().pointer(out), &[]).wait().unwrap();
    assert!((0..).zip(&*values).all(|(i, &v)| v == 2 * i), "{values:?}");
    // SAFETY: ours, and the kernel is complete.
    unsafe { device.free(out, UsmKind::Shared) }.unwrap();
}

#[test]
fn index_zero_is_the_fastest_dimension() {
    let Some(device) = device() else { return };
    let kernel = device.load_program(ProgramSource::OpenClC(SOURCE)).unwrap().kernel("where").unwrap();
    common::grid_order(&*device, &kernel);
}

#[test]
fn refused_programs_carry_the_log() {
    let Some(device) = device() else { return };
    let load = |source| device.load_program(source).err().unwrap();
    let error = load(ProgramSource::OpenClC("kernel void f(global int *a) { a[0] = nonsense; }"));
    assert!(matches!(&error, HalError::BadProgram { log, .. } if log.contains("nonsense")), "{error}");
    let error = load(ProgramSource::SpirV(b"not SPIR-V"));
    assert!(matches!(&error, HalError::BadProgram { log, .. } if log.contains("magic")), "{error}");
    let error = load(ProgramSource::Ptx(b".version 8.3"));
    assert!(matches!(&error, HalError::Unsupported(text) if text.contains("not PTX")), "{error}");
}

#[test]
fn unknown_kernels_list_the_known() {
    let Some(device) = device() else { return };
    let error = device.load_program(ProgramSource::OpenClC(SOURCE)).unwrap().kernel("daxpy").err().unwrap();
    let HalError::NoSuchKernel { name, mut known } = error else { panic!("{error}") };
    known.sort();
    assert_eq!((name.as_str(), known), ("daxpy", vec!["saxpy".to_owned(), "where".to_owned()]));
}

#[test]
fn wrong_launches_are_refused() {
    let Some(device) = device() else { return };
    let queue = device.create_queue(QueueOptions::default()).unwrap();
    let kernel = device.load_program(ProgramSource::OpenClC(SOURCE)).unwrap().kernel("where").unwrap();
    let one = Args::new().pointer(0);
    let two = Args::new().pointer(0).bytes(&0_u32.to_ne_bytes());
    let too_many = [kernel.max_work_group_size() + 1, 1, 1];
    let strange = weft_hal::null::device().load_program(ProgramSource::OpenClC("")).unwrap().kernel("where").unwrap();
    for (kernel, local, args, says) in [
        (&kernel, [1, 1, 1], &two, "has 1 parameters; 2 arguments"),
        (&kernel, too_many, &one, "work-items; it can have"),
        (&strange, [1, 1, 1], &one, "was not loaded on opencl:cpu:0"),
    ] {
        let launch = Launch { kernel, groups: [1, 1, 1], local, args: &args.bytes, fields: &args.fields };
        // SAFETY: refused before anything runs.
        let error = unsafe { queue.launch(&launch, &[]) }.unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
    }
}

#[test]
fn threads_share_a_kernel() {
    let Some(device) = device() else { return };
    let kernel = device.load_program(ProgramSource::OpenClC(SOURCE)).unwrap().kernel("where").unwrap();
    let queue = device.create_queue(QueueOptions::default()).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let out = device.alloc(4 * 64, UsmKind::Host).unwrap();
                for _ in 0..200 {
                    let args = Args::new().pointer(out);
                    run(&*queue, &kernel, [4, 1, 1], [16, 1, 1], &args, &[]).wait().unwrap();
                    // SAFETY: 64 numbers, ours, complete; host memory.
                    let seen = unsafe { std::slice::from_raw_parts_mut(out as *mut u32, 64) };
                    assert!(seen.iter().enumerate().all(|(i, &v)| v == i as u32));
                    seen.fill(0);
                }
                // SAFETY: ours, and everything is complete.
                unsafe { device.free(out, UsmKind::Host) }.unwrap();
            });
        }
    });
}

#[test]
fn a_forked_child_gets_a_sentence() {
    let Some(device) = device() else { return };
    let queue = device.create_queue(QueueOptions::default()).unwrap();
    let event = queue.barrier(&[]).unwrap();
    common::in_child(move || {
        let refused = |r: Result<(), HalError>| matches!(r, Err(HalError::Unsupported(t)) if t.contains("forked"));
        let alloc = device.alloc(1, UsmKind::Device).map(|_| ());
        let native = find_device("native").and_then(|d| d.alloc(1, UsmKind::Device)).is_ok();
        let refused = refused(alloc) && refused(queue.wait()) && refused(event.wait());
        drop((event, queue));
        refused && native
    });
}
