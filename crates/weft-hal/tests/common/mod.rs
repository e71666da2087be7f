//! Promises that every backend with kernels keeps, and helpers to launch.
#![allow(dead_code)]

use std::sync::Arc;

use weft_hal::{ArgField, ArgKind, Device, Event, HalError, Kernel, Launch, Queue, QueueOptions, UsmKind};

/// A packed argument buffer under construction.
pub struct Args {
    pub bytes: Vec<u8>,
    pub fields: Vec<ArgField>,
}

impl Args {
    pub fn new() -> Self {
        Self { bytes: Vec::new(), fields: Vec::new() }
    }

    pub fn pointer(self, address: u64) -> Self {
        let mut args = self.bytes(&address.to_ne_bytes());
        args.fields.last_mut().unwrap().kind = ArgKind::Pointer;
        args
    }

    pub fn bytes(mut self, value: &[u8]) -> Self {
        self.bytes.resize(self.bytes.len().next_multiple_of(value.len()), 0);
        let (offset, size) = (self.bytes.len() as u32, value.len() as u32);
        self.fields.push(ArgField { offset, size, kind: ArgKind::Value });
        self.bytes.extend_from_slice(value);
        self
    }
}

pub fn run(
    queue: &dyn Queue,
    kernel: &Arc<dyn Kernel>,
    groups: [u32; 3],
    local: [u32; 3],
    args: &Args,
    waits: &[Event],
) -> Event {
    let launch = Launch { kernel, groups, local, args: &args.bytes, fields: &args.fields };
    // SAFETY: the tests' kernels stay inside the arrays that the tests allocate and free after waiting.
    unsafe { queue.launch(&launch, waits) }.unwrap()
}

pub fn all_options() -> [QueueOptions; 4] {
    [(true, false), (true, true), (false, false), (false, true)]
        .map(|(in_order, profiling)| QueueOptions { in_order, profiling })
}

/// Memory of each kind: aligned, distinct, copied in every direction, filled with every pattern, freed.
pub fn memory_promises(device: &dyn Device) {
    let queue = device.create_queue(QueueOptions { in_order: false, profiling: false }).unwrap();
    // More than one step of any driver's fill, and no power of two.
    const BYTES: usize = (1 << 18) + 4096 + 72;
    for kind in UsmKind::ALL {
        let (a, b) = (device.alloc(BYTES, kind).unwrap(), device.alloc(BYTES, UsmKind::Device).unwrap());
        let empty = device.alloc(0, kind).unwrap();
        assert!(a % 64 == 0 && b % 64 == 0 && empty != 0 && empty != a && empty != b);
        let source: Vec<u8> = (0..BYTES).map(|i| (i * 7) as u8).collect();
        let mut back = vec![0_u8; BYTES];
        let host = back.as_mut_ptr() as u64;
        // SAFETY: all ranges have BYTES bytes, are ours, and outlive the waits.
        unsafe {
            let up = queue.memcpy(a, source.as_ptr() as u64, BYTES, &[]).unwrap();
            let over = queue.memcpy(b, a, BYTES, &[up]).unwrap();
            queue.memcpy(host, b, BYTES, &[over]).unwrap().wait().unwrap();
            assert_eq!(back, source, "{kind}");
            for pattern in [&[7][..], &[1, 2], &[1, 2, 3, 4], &[1, 2, 3, 4, 5, 6, 7, 8], &[9, 8, 7, 6, 9, 8, 7, 6]] {
                let filled = queue.fill(a + 64, pattern, BYTES - 64, &[]).unwrap();
                let barrier = queue.barrier(&[filled]).unwrap();
                queue.memcpy(host, a, BYTES, &[barrier]).unwrap().wait().unwrap();
                assert_eq!(back[..64], source[..64], "{kind}");
                assert_eq!(back[64..], pattern.repeat((BYTES - 64) / pattern.len()), "{kind}");
            }
            for nothing in [queue.memcpy(b, a, 0, &[]), queue.fill(a, &[1], 0, &[]), queue.barrier(&[])] {
                nothing.unwrap().wait().unwrap();
            }
            queue.wait().unwrap();
            device.free(a, kind).unwrap();
            device.free(b, UsmKind::Device).unwrap();
            device.free(empty, kind).unwrap();
            device.free(0, kind).unwrap();
        }
    }
    let error = device.alloc(1 << 50, UsmKind::Device).unwrap_err();
    let HalError::OutOfMemory { requested, total, .. } = &error else { panic!("{error}") };
    assert_eq!((*requested, *total > 0), (1 << 50, true), "{error}");
    // Everything else survives.
    let after = device.alloc(BYTES, UsmKind::Device).unwrap();
    // SAFETY: made above, never used.
    unsafe { device.free(after, UsmKind::Device) }.unwrap();
}

/// `saxpy(y: pointer, x: pointer, a: f32, n: u64)`: copies up, a launch that waits, a copy back, compared exactly.
pub fn saxpy(device: &dyn Device, kernel: &Arc<dyn Kernel>, options: QueueOptions, kind: UsmKind) {
    const N: usize = 1000;
    let queue = device.create_queue(options).unwrap();
    assert_eq!(queue.options(), options);
    let (x, mut y): (Vec<f32>, Vec<f32>) = (0..N).map(|i| (i as f32, 0.5 * i as f32)).unzip();
    let (dx, dy) = (device.alloc(4 * N, kind).unwrap(), device.alloc(4 * N, kind).unwrap());
    // SAFETY: ranges of N numbers, ours, and used up to the last wait.
    unsafe {
        let up = [
            queue.memcpy(dx, x.as_ptr() as u64, 4 * N, &[]).unwrap(),
            queue.memcpy(dy, y.as_ptr() as u64, 4 * N, &[]).unwrap(),
        ];
        let args = Args::new().pointer(dy).pointer(dx).bytes(&2_f32.to_ne_bytes()).bytes(&(N as u64).to_ne_bytes());
        let ran = run(&*queue, kernel, [N.div_ceil(64) as u32, 1, 1], [64, 1, 1], &args, &up);
        let none = run(&*queue, kernel, [0, 1, 1], [64, 1, 1], &args, std::slice::from_ref(&ran));
        let down = queue.memcpy(y.as_mut_ptr() as u64, dy, 4 * N, &[none]).unwrap();
        down.wait().unwrap();
        assert!(ran.is_complete() && down.is_complete());
        match ran.profiling() {
            Some((start, end)) => assert!(options.profiling && start < end, "{start} {end}"),
            None => assert!(!options.profiling),
        }
        device.free(dx, kind).unwrap();
        device.free(dy, kind).unwrap();
    }
    for (i, &y) in y.iter().enumerate() {
        assert_eq!(y, 2.5 * i as f32);
    }
}

/// `where(out: pointer)`: out[group * size + local] = gid0 + 100 gid1 + 10000 gid2, both counted with dimension 0 fastest.
pub fn grid_order(device: &dyn Device, kernel: &Arc<dyn Kernel>) {
    let (groups, local) = ([3, 2, 4], [4, 3, 2]);
    let total = (3 * 2 * 4) * (4 * 3 * 2);
    let queue = device.create_queue(QueueOptions::default()).unwrap();
    let out = device.alloc(4 * total, UsmKind::Device).unwrap();
    let mut seen = vec![0_u32; total];
    run(&*queue, kernel, groups, local, &Args::new().pointer(out), &[]);
    // SAFETY: `total` numbers on both sides.
    unsafe {
        queue.memcpy(seen.as_mut_ptr() as u64, out, 4 * total, &[]).unwrap().wait().unwrap();
        device.free(out, UsmKind::Device).unwrap();
    }
    let split = |i: usize, n: [u32; 3]| {
        let i = i as u32;
        [i % n[0], i / n[0] % n[1], i / n[0] / n[1]]
    };
    for (i, &value) in seen.iter().enumerate() {
        let (group, item) = (split(i / 24, groups), split(i % 24, local));
        let global: [u32; 3] = std::array::from_fn(|d| group[d] * local[d] + item[d]);
        assert_eq!(value, global[0] + 100 * global[1] + 10000 * global[2], "position {i}");
    }
}

/// Runs `f` in a forked child and fails unless it returns true there.
pub fn in_child(f: impl FnOnce() -> bool) {
    // SAFETY: the child runs `f` and leaves without running destructors of the test harness.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let fine = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).unwrap_or(false);
        // SAFETY: ends the child at once.
        unsafe { libc::_exit(if fine { 0 } else { 1 }) };
    }
    assert!(child > 0, "fork failed");
    let mut status = 0;
    // SAFETY: waits for the child made above.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, "the child ended with status {status:#x}");
}
