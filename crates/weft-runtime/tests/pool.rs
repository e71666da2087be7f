//! Memory is recycled, aligned, counted, and safe to use from many threads.

use std::sync::{Arc, Mutex, PoisonError};

use weft_hal::{Event, EventImpl, HalError, QueueOptions};
use weft_runtime::pool::{self, PoolStats};
use weft_runtime::{Buffer, Queue, UsmKind};

/// The statistics are the process's: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn host() -> PoolStats {
    pool::stats().into_iter().find(|s| s.place == "host").unwrap()
}

#[test]
fn a_freed_block_is_the_next_of_its_class() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for bytes in [0, 1, 1000, 100_000, 3 << 20, 20 << 20] {
        let first = pool::host_alloc(bytes);
        assert!(first.addr().is_multiple_of(64) && !first.is_null());
        let before = host();
        unsafe { pool::host_free(first) };
        assert_eq!(pool::host_alloc(bytes), first);
        let after = host();
        assert_eq!((after.live, after.fresh), (before.live, before.fresh));
        assert_eq!(after.allocations, before.allocations + 1);
        unsafe { pool::host_free(first) };
    }
}

#[test]
fn counts_and_trim() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    pool::trim();
    let start = host();
    assert_eq!(start.pooled, 0);
    let blocks: Vec<_> = (0..4).map(|_| pool::host_alloc(1 << 20)).collect();
    assert_eq!(host().live, start.live + (4 << 20));
    assert!(host().peak >= start.live + (4 << 20));
    blocks.into_iter().for_each(|b| unsafe { pool::host_free(b) });
    assert_eq!((host().live, host().pooled), (start.live, 4 << 20));
    assert!(pool::trim() >= 4 << 20);
    assert_eq!(host().pooled, 0);
}

#[test]
fn no_more_is_kept_than_the_limit() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    pool::trim();
    pool::set_host_limit(3 << 20);
    let blocks: Vec<_> = (0..4).map(|_| pool::host_alloc(1 << 20)).collect();
    blocks.into_iter().for_each(|b| unsafe { pool::host_free(b) });
    assert_eq!(host().pooled, 3 << 20);
    pool::set_host_limit(1 << 30);
}

#[test]
fn realloc_keeps_the_content_and_calloc_clears() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    unsafe {
        let small = pool::host_realloc(std::ptr::null_mut(), 100);
        for i in 0..100 {
            small.add(i).write(i as u8);
        }
        assert_eq!(pool::host_realloc(small, 110), small, "it fits the class");
        let large = pool::host_realloc(small, 1 << 20);
        let content: Vec<u8> = (0..100).collect();
        assert_eq!(std::slice::from_raw_parts(large, 100), content);
        let shrunk = pool::host_realloc(large, 100);
        assert!(pool::host_capacity(shrunk) < 1 << 20);
        assert_eq!(std::slice::from_raw_parts(shrunk, 100), content);
        pool::host_free(shrunk);
        for bytes in [1000, 8 << 20] {
            let dirty = pool::host_alloc(bytes);
            dirty.write_bytes(0xff, bytes);
            pool::host_free(dirty);
            let clean = pool::host_calloc(bytes);
            assert!(std::slice::from_raw_parts(clean, bytes).iter().all(|&b| b == 0));
            pool::host_free(clean);
        }
    }
}

#[test]
fn impossible_requests_are_refused() {
    // They trim.
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    assert!(pool::host_alloc(usize::MAX).is_null());
    assert!(pool::host_alloc(1 << 47).is_null());
    let error = Buffer::alloc_host(1 << 47).unwrap_err();
    assert!(matches!(error, HalError::OutOfMemory { requested, .. } if requested == 1 << 47), "{error}");
}

#[test]
fn threads_never_share_a_block() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let live = host().live;
    std::thread::scope(|scope| {
        for thread in 0..8_u8 {
            scope.spawn(move || {
                let mut mine: Vec<(*mut u8, usize)> = Vec::new();
                for round in 0..2000_usize {
                    let bytes = 64 << (round % 8);
                    let block = pool::host_alloc(bytes);
                    unsafe { block.write_bytes(thread, bytes) };
                    mine.push((block, bytes));
                    if mine.len() > 16 {
                        let (block, bytes) = mine.swap_remove(round % 16);
                        let content = unsafe { std::slice::from_raw_parts(block, bytes) };
                        assert!(content.iter().all(|&b| b == thread));
                        unsafe { pool::host_free(block) };
                    }
                }
                mine.into_iter().for_each(|(block, _)| unsafe { pool::host_free(block) });
            });
        }
    });
    assert_eq!(host().live, live);
}

/// An operation that ends when it is told to.
struct Pending(std::sync::atomic::AtomicBool);

struct Handle(Arc<Pending>);

impl EventImpl for Handle {
    fn is_complete(&self) -> bool {
        self.0.0.load(std::sync::atomic::Ordering::Relaxed)
    }

    fn wait(&self) -> Result<(), HalError> {
        assert!(self.is_complete(), "nothing should wait here");
        Ok(())
    }

    fn profiling(&self) -> Option<(u64, u64)> {
        None
    }
}

#[test]
fn device_memory_is_reused_in_queue_order() {
    let device = weft_hal::null::device();
    let home = Queue::new(&device, QueueOptions::default()).unwrap();
    let other = Queue::new(&device, QueueOptions::default()).unwrap();
    let memory = home.pool(UsmKind::Device);
    let pending = Arc::new(Pending(false.into()));
    let event = || Event::new(Handle(pending.clone()));
    let size = 12_345;
    // Freed while its own queue still works on it: that queue may have it, another may not.
    let block = memory.alloc(size, home.id()).unwrap();
    assert!(block.size >= size && block.address.is_multiple_of(64));
    unsafe { memory.free(block, home.id(), Some(event()), Default::default()) };
    let elsewhere = memory.alloc(size, other.id()).unwrap();
    assert_ne!(elsewhere.address, block.address);
    assert_eq!(memory.alloc(size, home.id()).unwrap(), block);
    // Freed while another queue still reads it: nobody may.
    unsafe { memory.free(block, home.id(), None, [event()].into_iter().collect()) };
    let new = memory.alloc(size, home.id()).unwrap();
    assert_ne!(new.address, block.address);
    // Complete: anybody may.
    pending.0.store(true, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(memory.alloc(size, other.id()).unwrap(), block);
    for block in [block, elsewhere, new] {
        unsafe { memory.free(block, home.id(), None, Default::default()) };
    }
    assert!(memory.stats().pooled >= 3 * size as u64);
    memory.trim();
    assert_eq!(memory.stats().pooled, 0);
}

#[test]
fn a_forked_child_finds_the_pool_usable() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    unsafe { pool::host_free(pool::host_alloc(4096)) };
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Another thread holds the locks as often as it can.
        scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                unsafe { pool::host_free(pool::host_alloc(4096)) };
            }
        });
        for _ in 0..50 {
            let child = unsafe { libc::fork() };
            if child == 0 {
                unsafe {
                    let block = pool::host_alloc(4096);
                    pool::host_free(block);
                    libc::_exit(i32::from(block.is_null()));
                }
            }
            let mut status = -1;
            assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
            assert_eq!(status, 0);
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}
