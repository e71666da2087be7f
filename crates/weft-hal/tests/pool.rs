//! What the thread pool promises.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex, MutexGuard, PoisonError};

use weft_hal::native::pool::{num_threads, run_chunks, set_num_threads};

/// The number of threads is the process's: tests that set it take turns.
fn with_threads(n: usize) -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    set_num_threads(n);
    turn
}

fn counts(chunks: usize) -> Vec<usize> {
    let counts: Vec<AtomicUsize> = (0..chunks).map(|_| AtomicUsize::new(0)).collect();
    run_chunks(chunks, &|i| {
        counts[i].fetch_add(1, Ordering::Relaxed);
    });
    counts.into_iter().map(AtomicUsize::into_inner).collect()
}

#[test]
fn every_chunk_runs_once() {
    let _turn = with_threads(4);
    for chunks in [0, 1, 2, 3, 7, 64, 10_000] {
        assert_eq!(counts(chunks), vec![1; chunks]);
    }
    for _ in 0..20_000 {
        assert_eq!(counts(5), [1; 5]);
    }
}

#[test]
fn chunks_run_at_the_same_time() {
    let _turn = with_threads(3);
    let meet = Barrier::new(3);
    run_chunks(3, &|_| {
        meet.wait();
    });
}

#[test]
fn nested_regions_run_on_the_calling_thread() {
    let _turn = with_threads(4);
    let ran = AtomicUsize::new(0);
    run_chunks(8, &|_| {
        let outer = std::thread::current().id();
        run_chunks(16, &|_| {
            assert_eq!(std::thread::current().id(), outer);
            ran.fetch_add(1, Ordering::Relaxed);
        });
    });
    assert_eq!(ran.into_inner(), 8 * 16);
}

#[test]
fn regions_of_several_threads_do_not_mix() {
    let _turn = with_threads(3);
    std::thread::scope(|scope| {
        // More threads than slots, so that some run alone.
        for _ in 0..24 {
            scope.spawn(|| {
                for chunks in 0..200 {
                    assert_eq!(counts(chunks), vec![1; chunks]);
                }
            });
        }
    });
}

#[test]
fn panics_reach_the_caller_and_the_pool_survives() {
    let _turn = with_threads(4);
    for bad in 0..4 {
        let caught = catch_unwind(AssertUnwindSafe(|| {
            run_chunks(4, &|i| {
                if i == bad {
                    std::panic::panic_any(i);
                }
            });
        }));
        assert_eq!(caught.unwrap_err().downcast_ref::<usize>(), Some(&bad));
        assert_eq!(counts(100), [1; 100]);
    }
}

#[test]
fn one_thread_means_the_caller_alone() {
    let _turn = with_threads(1);
    assert_eq!(num_threads(), 1);
    let me = std::thread::current().id();
    run_chunks(50, &|_| assert_eq!(std::thread::current().id(), me));
    set_num_threads(0);
    assert_eq!(num_threads(), 1);
    set_num_threads(usize::MAX);
    assert_eq!(num_threads(), 1024);
}

#[test]
fn a_forked_child_has_a_pool_of_its_own() {
    let _turn = with_threads(3);
    assert_eq!(counts(100), [1; 100]);
    common::in_child(|| {
        let meet = Barrier::new(3);
        run_chunks(3, &|_| {
            meet.wait();
        });
        counts(1000) == vec![1; 1000]
    });
    assert_eq!(counts(100), [1; 100]);
}

#[test]
fn an_idle_pool_uses_no_processor_time() {
    let _turn = with_threads(4);
    counts(100);
    let asleep = |name: &str| {
        let stat = std::fs::read_to_string(format!("/proc/self/task/{name}/stat")).unwrap_or_default();
        // The state comes after the thread's name, which ends with the last parenthesis.
        !stat.contains("(weft-") || stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('S'))
    };
    let all_asleep = || {
        let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
        tasks.map(|t| t.file_name().to_string_lossy().into_owned()).all(|name| asleep(&name))
    };
    // No time limit of its own: workers that never sleep hang the test.
    while !all_asleep() {
        std::thread::yield_now();
    }
}
