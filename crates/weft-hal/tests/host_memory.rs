//! Memory, copies and fills of the backends whose memory is the host's, and the null backend's launches.

use weft_hal::{
    ArgField, ArgKind, Device, Event, HalError, Launch, ProgramSource, QueueOptions, UsmKind, find_device, native, null,
};

fn options(profiling: bool) -> QueueOptions {
    QueueOptions { in_order: true, profiling }
}

fn copy_and_fill(device: &dyn Device) {
    let queue = device.create_queue(options(false)).unwrap();
    assert_eq!(queue.device().info(), device.info());
    for kind in UsmKind::ALL {
        let (a, b) = (device.alloc(64, kind).unwrap(), device.alloc(64, kind).unwrap());
        assert!(a % 64 == 0 && b % 64 == 0);
        // SAFETY: 64 bytes each, ours, freed after use.
        unsafe {
            let seen = || std::slice::from_raw_parts(b as *const u8, 64);
            for pattern in [&[7][..], &[1, 2], &[1, 2, 3, 4], &[1, 2, 3, 4, 5, 6, 7, 8]] {
                let filled = queue.fill(a, pattern, 64, &[Event::ready()]).unwrap();
                queue.memcpy(b, a, 64, &[filled]).unwrap().wait().unwrap();
                assert_eq!(seen(), pattern.repeat(64 / pattern.len()));
            }
            let host = [9_u8; 64];
            assert!(queue.memcpy(b, host.as_ptr() as u64, 64, &[]).unwrap().is_complete());
            assert_eq!(seen(), host);
            queue.memcpy(b, a, 0, &[]).unwrap();
            queue.fill(b, &[0], 0, &[]).unwrap();
            assert_eq!(seen(), host);
            device.free(a, kind).unwrap();
            device.free(b, kind).unwrap();
        }
    }
    queue.wait().unwrap();
}

#[test]
fn native_memory() {
    copy_and_fill(&*native::device());
}

#[test]
fn null_memory_is_real() {
    copy_and_fill(&*null::device());
}

#[test]
fn empty_allocations_are_blocks_of_their_own() {
    let device = native::device();
    let (a, b) = (device.alloc(0, UsmKind::Device).unwrap(), device.alloc(0, UsmKind::Device).unwrap());
    assert!(a != 0 && b != 0 && a != b);
    // SAFETY: made above.
    unsafe {
        device.free(a, UsmKind::Device).unwrap();
        device.free(b, UsmKind::Device).unwrap();
        device.free(0, UsmKind::Device).unwrap();
    }
}

#[test]
fn out_of_memory_has_the_sizes() {
    let device = native::device();
    let error = device.alloc(isize::MAX as usize, UsmKind::Device).unwrap_err();
    let HalError::OutOfMemory { requested, total, .. } = error else { panic!("{error}") };
    assert_eq!((requested, total), (isize::MAX as u64, device.info().global_mem_bytes));
}

#[test]
fn a_fill_is_whole_and_aligned() {
    let queue = native::device().create_queue(options(false)).unwrap();
    let mut memory = [0_u64; 2];
    let address = memory.as_mut_ptr() as u64;
    for (dst, pattern, bytes) in [(address, &[0; 3][..], 6), (address, &[0; 4], 6), (address + 1, &[0; 2], 4)] {
        // SAFETY: inside `memory`.
        let error = unsafe { queue.fill(dst, pattern, bytes, &[]) }.unwrap_err();
        assert!(matches!(error, HalError::InvalidArgument(_)), "{error}");
    }
}

#[test]
fn events_have_times_when_asked() {
    for device in [native::device(), null::device()] {
        let mut memory = [0_u8; 8];
        let address = memory.as_mut_ptr() as u64;
        // SAFETY: inside `memory`.
        let times = |profiling| unsafe {
            let queue = device.create_queue(options(profiling)).unwrap();
            queue.fill(address, &[1], 8, &[]).unwrap().profiling()
        };
        assert_eq!(times(false), None);
        assert!(times(true).is_some_and(|(start, end)| start <= end));
    }
}

#[test]
fn native_runs_no_programs() {
    let error = native::device().load_program(ProgramSource::OpenClC("")).err().unwrap();
    assert!(matches!(&error, HalError::Unsupported(text) if text.contains("OpenCL C")), "{error}");
}

#[test]
fn null_accepts_launches_and_checks_them() {
    let device = null::device();
    let queue = device.create_queue(QueueOptions::default()).unwrap();
    let kernel = device.load_program(ProgramSource::SpirV(b"anything")).unwrap().kernel("any").unwrap();
    let args = [0_u8; 12];
    let fields = [
        ArgField { offset: 0, size: 8, kind: ArgKind::Pointer },
        ArgField { offset: 8, size: 4, kind: ArgKind::Value },
    ];
    let good = Launch { kernel: &kernel, groups: [3, 2, 1], local: [64, 2, 1], args: &args, fields: &fields };
    // SAFETY: nothing runs.
    let launch = |l: Launch<'_>| unsafe { queue.launch(&l, &[]) };
    assert!(launch(good).unwrap().is_complete());
    assert!(launch(Launch { groups: [0, 1, 1], ..good }).unwrap().is_complete());
    let outside = [ArgField { offset: 8, size: 8, kind: ArgKind::Value }];
    let short_pointer = [ArgField { offset: 8, size: 4, kind: ArgKind::Pointer }];
    for (bad, says) in [
        (Launch { local: [1024, 2, 1], ..good }, "2048 work-items"),
        (Launch { local: [0, 1, 1], ..good }, "0 work-items"),
        (Launch { fields: &outside, ..good }, "outside the 12 argument bytes"),
        (Launch { fields: &short_pointer, ..good }, "pointer of 4 bytes"),
        (Launch { args: &[0; 5000], ..good }, "5000 bytes of arguments"),
    ] {
        let error = launch(bad).unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
    }
}

#[test]
fn native_is_found_by_every_name() {
    for filter in ["native", "cpu", "native:cpu:0", "cpu:0", "level_zero,native"] {
        assert_eq!(find_device(filter).unwrap().info().filter_string(), "native:cpu:0", "{filter}");
    }
}
