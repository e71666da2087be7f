//! Sub-devices: native ones on this machine's real topology, OpenCL's where there is a driver.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use weft_hal::{Device, HalError, Partition, PartitionKind, QueueOptions, UsmKind, find_device, native, null};

fn names(devices: &[Arc<dyn Device>]) -> Vec<String> {
    devices.iter().map(|d| d.info().filter_string()).collect()
}

/// Cores on which chunks of a region ran.
fn seen(device: &dyn Device, chunks: usize) -> BTreeSet<usize> {
    let cores = Mutex::new(BTreeSet::new());
    device.team().unwrap().run_chunks(chunks, &|_| {
        let until = std::time::Instant::now() + std::time::Duration::from_micros(200);
        while std::time::Instant::now() < until {
            // SAFETY: asks for a number.
            cores.lock().unwrap().insert(unsafe { libc::sched_getcpu() } as usize);
        }
    });
    cores.into_inner().unwrap()
}

fn allowed() -> Vec<usize> {
    // SAFETY: a set of bits is valid when zero, and the call writes at most its size.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        assert_eq!(libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set), 0);
        (0..1024).filter(|&c| libc::CPU_ISSET(c, &set)).collect()
    }
}

// spec: C3
#[test]
fn native_parts_stay_on_their_cores() {
    let device = native::device();
    assert!(device.team().is_none());
    let before = allowed();
    let parts = device.partition(&Partition::Equally(1)).unwrap();
    assert_eq!(parts.len(), device.info().compute_units as usize);
    for part in &parts {
        let cores = part.team().unwrap().cores().to_vec();
        assert_eq!((cores.len(), part.info().compute_units), (1, 1));
        assert_eq!(seen(&**part, 8), cores.into_iter().collect());
        assert_eq!(allowed(), before, "the caller gets its cores back");
        assert!(Arc::ptr_eq(&part.parent().unwrap(), &device));
        assert!(Arc::ptr_eq(&find_device(&part.info().filter_string()).unwrap(), part));
    }
    let all = device.partition(&Partition::Along(PartitionKind::Numa)).unwrap();
    for node in &all {
        let cores: BTreeSet<usize> = node.team().unwrap().cores().iter().copied().collect();
        assert!(seen(&**node, 64).is_subset(&cores));
    }
}

// spec: C3
#[test]
fn parts_of_parts_and_the_same_cut_twice() {
    let device = native::device();
    let units = device.info().compute_units;
    let whole = device.partition(&Partition::ByCounts(vec![units])).unwrap();
    assert_eq!(whole.len(), 1);
    let again = device.partition(&Partition::Equally(units)).unwrap();
    assert!(Arc::ptr_eq(&whole[0], &again[0]), "the same cores are the same sub-device");
    let inner = whole[0].partition(&Partition::Equally(1)).unwrap();
    assert_eq!(inner.len(), units as usize);
    let name = format!("{}.0", whole[0].info().filter_string());
    assert_eq!(names(&inner)[0], name);
    assert!(Arc::ptr_eq(&find_device(&name).unwrap(), &inner[0]));
    // A queue, memory, copies: a device in every respect.
    let queue = inner[0].create_queue(QueueOptions::default()).unwrap();
    assert!(Arc::ptr_eq(queue.device(), &inner[0]));
    let memory = inner[0].alloc(64, UsmKind::Device).unwrap();
    // SAFETY: 64 bytes, ours, freed after the fill.
    unsafe {
        queue.fill(memory, &[7], 64, &[]).unwrap().wait().unwrap();
        assert_eq!(std::slice::from_raw_parts(memory as *const u8, 64), [7; 64]);
        inner[0].free(memory, UsmKind::Device).unwrap();
    }
}

// spec: C3
#[test]
fn what_does_not_fit_is_refused() {
    let device = native::device();
    let units = device.info().compute_units;
    for (how, says) in [
        (Partition::Equally(units + 1), format!("it has {units}")),
        (Partition::Equally(0), "at least one".to_owned()),
        (Partition::ByCounts(vec![1, 0]), "at least one".to_owned()),
        (Partition::ByCounts(vec![units, 1]), format!("it has {units}")),
        (Partition::ByCounts(vec![u32::MAX; 3]), format!("it has {units}")),
    ] {
        let error = device.partition(&how).err().unwrap();
        assert!(matches!(error, HalError::BadPartition { .. }), "{error}");
        assert!(error.to_string().contains(&says), "{error}");
    }
    let error = null::device().partition(&Partition::Equally(1)).err().unwrap();
    assert!(error.to_string().contains("offers no partitions"), "{error}");
}

// spec: C3
#[test]
fn opencl_parts_share_memory_in_a_context() {
    let Ok(device) = find_device("opencl:cpu") else {
        assert!(std::env::var_os("WEFT_REQUIRE_OPENCL").is_none(), "WEFT_REQUIRE_OPENCL, and no device");
        return eprintln!("SKIPPED, no OpenCL device");
    };
    let parts = device.partition(&Partition::Equally(1)).unwrap();
    assert_eq!(parts.len(), device.info().compute_units as usize);
    assert_eq!(parts[0].info().compute_units, 1);
    assert!(parts[0].info().filter_string().starts_with(&format!("{}.", device.info().filter_string())));
    assert!(Arc::ptr_eq(&parts[0].parent().unwrap(), &device));
    let again = device.partition(&Partition::ByCounts(vec![1; parts.len()])).unwrap();
    assert!(parts.iter().zip(&again).all(|(a, b)| Arc::ptr_eq(a, b)));

    let handles: Vec<_> = parts.iter().map(|p| p.among(&parts).unwrap().unwrap()).collect();
    assert!(handles.iter().zip(&parts).all(|(h, p)| Arc::ptr_eq(&h.itself().unwrap(), p)));
    let (first, last) = (&handles[0], &handles[handles.len() - 1]);
    assert!(Arc::ptr_eq(first, &parts[0].among(&parts).unwrap().unwrap()), "the same list, the same handle");
    let (memory, mut back) = (first.alloc(4096, UsmKind::Device).unwrap(), vec![0_u8; 4096]);
    let write = first.create_queue(QueueOptions::default()).unwrap();
    let read = last.create_queue(QueueOptions::default()).unwrap();
    // SAFETY: 4096 bytes on both sides, which outlive the wait.
    unsafe {
        let filled = write.fill(memory, &[42], 4096, &[]).unwrap();
        read.memcpy(back.as_mut_ptr() as u64, memory, 4096, &[filled]).unwrap().wait().unwrap();
        first.free(memory, UsmKind::Device).unwrap();
    }
    assert!(back.iter().all(|&b| b == 42));
    let error = parts[0].among(&[parts[0].clone(), native::device()]).err().unwrap();
    assert!(error.to_string().contains("different drivers"), "{error}");
}
