//! CUDA on a real driver. Skips loudly without one, unless `WEFT_REQUIRE_CUDA=1`.

mod common;

use std::sync::Arc;

use common::{Args, memory_promises, run};
use weft_hal::{
    BackendKind, Device, HalError, Launch, ProgramSource, QueueOptions, UsmKind, discovery, find_device, native,
};

const PTX: &str = include_str!("data/kernels.ptx");

fn device() -> Option<Arc<dyn Device>> {
    match find_device("cuda") {
        Ok(device) => Some(device),
        Err(error) if std::env::var_os("WEFT_REQUIRE_CUDA").is_some_and(|v| v == "1") => {
            panic!("WEFT_REQUIRE_CUDA=1, but: {error}\n{:#?}", discovery().reports)
        }
        Err(error) => {
            eprintln!("SKIPPED, no CUDA device: {error}");
            None
        }
    }
}

#[test]
fn the_report_says_what_was_found_or_what_to_install() {
    let report = discovery().reports.iter().find(|r| r.backend == BackendKind::Cuda).unwrap();
    assert!(report.looked_for[0].starts_with("libcuda.so.1"), "{report:?}");
    match find_device("cuda") {
        Ok(device) => {
            eprintln!("{:#?}\n{report:#?}", device.info());
            assert!(report.found.is_some() && report.problem.is_none(), "{report:?}");
            assert!(device.info().arch.starts_with("sm_") && device.info().global_mem_bytes > 0);
        }
        Err(error) => {
            assert!(report.problem.as_ref().is_some_and(|p| p.contains("NVIDIA driver")), "{report:?}");
            assert!(error.to_string().contains("NVIDIA driver"), "{error}");
        }
    }
}

#[test]
fn memory() {
    let Some(device) = device() else { return };
    memory_promises(&*device);
}

#[test]
fn a_kernel_computes() {
    let Some(device) = device() else { return };
    let program = device.load_program(ProgramSource::Ptx(PTX.as_bytes())).unwrap();
    let kernel = program.kernel("saxpy").unwrap();
    assert!(kernel.max_work_group_size() > 0);
    drop(program);
    for options in common::all_options() {
        for kind in UsmKind::ALL {
            common::saxpy(&*device, &kernel, options, kind);
        }
    }
}

#[test]
fn index_zero_is_the_fastest_dimension() {
    let Some(device) = device() else { return };
    let kernel = device.load_program(ProgramSource::Ptx(PTX.as_bytes())).unwrap().kernel("where").unwrap();
    common::grid_order(&*device, &kernel);
}

#[test]
fn queues_wait_for_each_others_events() {
    let Some(device) = device() else { return };
    let kernel = device.load_program(ProgramSource::Ptx(PTX.as_bytes())).unwrap().kernel("saxpy").unwrap();
    const N: usize = 1 << 22;
    let queues: Vec<_> = (0..3).map(|_| device.create_queue(QueueOptions::default()).unwrap()).collect();
    let (x, y) = (device.alloc(4 * N, UsmKind::Device).unwrap(), device.alloc(4 * N, UsmKind::Device).unwrap());
    let args = Args::new().pointer(y).pointer(x).bytes(&1_f32.to_ne_bytes()).bytes(&(N as u64).to_ne_bytes());
    let mut back = vec![0_f32; N];
    // SAFETY: N numbers each, ours, freed after the last wait.
    unsafe {
        let one = queues[0].fill(x, &1_f32.to_ne_bytes(), 4 * N, &[]).unwrap();
        let mut last = vec![one, queues[1].fill(y, &0_f32.to_ne_bytes(), 4 * N, &[]).unwrap()];
        for i in 0..30 {
            last = vec![run(&*queues[i % 3], &kernel, [(N / 256) as u32, 1, 1], [256, 1, 1], &args, &last)];
        }
        // A queue of another backend waits on the host.
        let host = native::device().create_queue(QueueOptions::default()).unwrap();
        host.barrier(&last).unwrap();
        assert!(last[0].is_complete());
        queues[1].memcpy(back.as_mut_ptr() as u64, y, 4 * N, &[]).unwrap().wait().unwrap();
        device.free(x, UsmKind::Device).unwrap();
        device.free(y, UsmKind::Device).unwrap();
    }
    assert!(back.iter().all(|&v| v == 30.0));
}

#[test]
fn threads_share_a_queue() {
    let Some(device) = device() else { return };
    let kernel = device.load_program(ProgramSource::Ptx(PTX.as_bytes())).unwrap().kernel("where").unwrap();
    let queue = device.create_queue(QueueOptions::default()).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let out = device.alloc(4 * 64, UsmKind::Host).unwrap();
                for _ in 0..200 {
                    run(&*queue, &kernel, [4, 1, 1], [16, 1, 1], &Args::new().pointer(out), &[]).wait().unwrap();
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
fn refused_programs_carry_the_log() {
    let Some(device) = device() else { return };
    let load = |source| device.load_program(source).err().unwrap();
    let error = load(ProgramSource::Ptx(b".version 7.0\n.target sm_75\n.address_size 64\nnonsense;"));
    assert!(matches!(&error, HalError::BadProgram { log, .. } if log.contains("nonsense")), "{error}");
    let error = load(ProgramSource::OpenClC(""));
    assert!(matches!(&error, HalError::Unsupported(text) if text.contains("takes PTX")), "{error}");
    let error = device.load_program(ProgramSource::Ptx(PTX.as_bytes())).unwrap().kernel("daxpy").err().unwrap();
    assert!(matches!(&error, HalError::NoSuchKernel { name, .. } if name == "daxpy"), "{error}");
}

#[test]
fn wrong_launches_are_refused() {
    let Some(device) = device() else { return };
    let queue = device.create_queue(QueueOptions::default()).unwrap();
    let kernel = device.load_program(ProgramSource::Ptx(PTX.as_bytes())).unwrap().kernel("where").unwrap();
    let strange = weft_hal::null::device().load_program(ProgramSource::Ptx(b"")).unwrap().kernel("where").unwrap();
    let args = Args::new().pointer(0);
    for (kernel, groups, local, says) in [
        (&kernel, [1, 1, 1], [2048, 1, 1], "2048 work-items"),
        (&kernel, [1, 1 << 20, 1], [1, 1, 1], "over the limits"),
        (&strange, [1, 1, 1], [1, 1, 1], "was not loaded on cuda:gpu:0"),
    ] {
        let launch = Launch { kernel, groups, local, args: &args.bytes, fields: &args.fields };
        // SAFETY: refused before anything runs.
        let error = unsafe { queue.launch(&launch, &[]) }.unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
    }
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
