//! Bytes arrive wherever they are sent, in order.

mod common;

use std::sync::Arc;

use common::memory_queues;
use weft_runtime::{Buffer, HalError, Queue, QueueOptions, UsmKind, queue_for, trace};

fn content(n: usize) -> Vec<u8> {
    (0..n).map(|i| (i * 7 % 251) as u8).collect()
}

fn read(buffer: &Buffer) -> Vec<u8> {
    let mut out = vec![0; buffer.bytes()];
    buffer.to_host(0, &mut out).unwrap();
    out
}

// spec: D4
#[test]
fn bytes_go_there_and_back() {
    for queue in memory_queues() {
        for &kind in &queue.info().usm {
            for n in [0, 1, 1000, 100_000] {
                let buffer = Buffer::from_host(Some(&queue), &content(n), kind).unwrap();
                assert_eq!((buffer.bytes(), buffer.kind()), (n, kind));
                assert!(buffer.address().is_multiple_of(64));
                assert_eq!(read(&buffer), content(n), "{queue} {kind}");
            }
            let buffer = Buffer::from_host(Some(&queue), &content(100), kind).unwrap();
            buffer.write(10, &[1, 2, 3]).unwrap();
            let mut part = [0; 5];
            buffer.to_host(9, &mut part).unwrap();
            assert_eq!(part, [content(100)[9], 1, 2, 3, content(100)[13]]);
        }
    }
}

#[test]
fn bytes_go_from_any_place_to_any_other() {
    let mut places: Vec<Option<Arc<Queue>>> = memory_queues().into_iter().map(Some).collect();
    places.push(None);
    for from in &places {
        for to in &places {
            let original = Buffer::from_host(from.as_ref(), &content(5000), UsmKind::Device).unwrap();
            let copy = original.copy_to(to.as_ref(), UsmKind::Device).unwrap();
            original.write(0, &[9; 5000]).unwrap();
            drop(original);
            assert_eq!(read(&copy), content(5000), "{from:?} to {to:?}");
        }
    }
}

#[test]
fn fills_repeat_their_pattern() {
    for queue in memory_queues().iter().map(Some).chain([None]) {
        let buffer = Buffer::alloc(queue, 24, UsmKind::Device).unwrap();
        buffer.fill(&[1, 2, 3, 4]).unwrap();
        assert_eq!(read(&buffer), [1, 2, 3, 4].repeat(6));
        assert!(matches!(buffer.fill(&[1, 2, 3]), Err(HalError::InvalidArgument(_))) || queue.is_none());
    }
}

#[test]
fn ranges_outside_a_buffer_are_refused() {
    let buffer = Buffer::alloc_host(10).unwrap();
    assert!(buffer.to_host(8, &mut [0; 3]).is_err());
    assert!(buffer.write(usize::MAX, &[0; 3]).is_err());
}

// spec: D7
#[test]
fn queues_of_one_device_wait_for_each_others_writes() {
    for queue in memory_queues() {
        let other = Queue::new(queue.device(), QueueOptions { in_order: false, profiling: false }).unwrap();
        let n = 1 << 20;
        let buffer = Buffer::alloc(Some(&queue), n, UsmKind::Device).unwrap();
        for round in 0..10_u8 {
            buffer.fill(&[round]).unwrap();
            // Reads on another queue; the next fill must wait for it, and it for this one.
            let copy = buffer.copy_to(Some(&other), UsmKind::Device).unwrap();
            buffer.fill(&[255]).unwrap();
            assert!(read(&copy).iter().all(|&b| b == round), "{queue}");
        }
    }
}

#[test]
fn unique_host_memory_becomes_somebody_elses() {
    let native = queue_for("native").unwrap();
    for queue in [None, Some(&native)] {
        let buffer = Buffer::from_host(queue, b"mine", UsmKind::Device).unwrap();
        let second = buffer.clone();
        let buffer = buffer.into_host_memory().unwrap_err();
        drop(second);
        let memory = buffer.into_host_memory().unwrap();
        unsafe {
            assert_eq!(std::slice::from_raw_parts(memory, 4), b"mine");
            weft_runtime::pool::host_free(memory);
        }
    }
    let null = Queue::default_on(&weft_hal::null::device()).unwrap();
    let buffer = Buffer::alloc(Some(&null), 8, UsmKind::Device).unwrap();
    assert!(buffer.into_host_memory().is_err(), "device memory stays");
}

#[test]
fn owner_words_carry_counts() {
    let buffer = Buffer::alloc_host(8).unwrap();
    let word = buffer.clone().into_owner();
    assert!(word.is_multiple_of(2) && word != 0);
    assert_eq!(Arc::strong_count(&buffer), 2);
    unsafe {
        let again = Buffer::from_owner_ref(word).unwrap();
        assert_eq!(Arc::strong_count(&again), 3);
        drop(Buffer::from_owner(word).unwrap());
        assert!(Buffer::from_owner(0).is_none() && Buffer::from_owner(7).is_none());
    }
    assert_eq!(Arc::strong_count(&buffer), 1);
}

#[test]
fn foreign_memory_lives_as_long_as_its_buffer() {
    let keep = Arc::new(content(100));
    let address = keep.as_ptr() as u64;
    let buffer = unsafe { Buffer::foreign(None, address, 100, UsmKind::Host, Box::new(keep.clone())) };
    assert_eq!(read(&buffer), content(100));
    assert!(buffer.clone().into_host_memory().is_err(), "it is not the pool's");
    assert_eq!(Arc::strong_count(&keep), 2);
    drop(buffer);
    assert_eq!(Arc::strong_count(&keep), 1);
}

#[test]
fn copies_are_in_the_trace_with_their_bytes() {
    let null = Queue::new(&weft_hal::null::device(), QueueOptions::default()).unwrap();
    let trace = trace::start();
    let buffer = Buffer::from_host(Some(&null), &content(12_321), UsmKind::Device).unwrap();
    read(&buffer);
    let copies = trace.finish().copies;
    let mine: Vec<_> = copies.iter().filter(|c| c.bytes == 12_321).map(|c| (&*c.name, &*c.device)).collect();
    let device = null.filter();
    assert_eq!(mine, [("host to device", device), ("device to host", device)]);
}
