//! A kernel fault loses the device for the process: a test file of its own, so that no other test shares the process.

mod common;

use common::{Args, run};
use weft_hal::{HalError, ProgramSource, QueueOptions, UsmKind, find_device};

#[test]
fn a_fault_loses_the_device_and_nothing_else() {
    let device = match find_device("cuda") {
        Ok(device) => device,
        Err(error) => {
            assert!(std::env::var_os("WEFT_REQUIRE_CUDA").is_none_or(|v| v != "1"), "{error}");
            eprintln!("SKIPPED, no CUDA device: {error}");
            return;
        }
    };
    let program = device.load_program(ProgramSource::Ptx(include_bytes!("data/kernels.ptx"))).unwrap();
    let kernel = program.kernel("where").unwrap();
    let queue = device.create_queue(QueueOptions::default()).unwrap();
    let native = find_device("native").unwrap();
    let survivor = native.alloc(64, UsmKind::Device).unwrap();
    let memory = device.alloc(64, UsmKind::Device).unwrap();
    // An address that nobody has allocated.
    let event = run(&*queue, &kernel, [1, 1, 1], [1, 1, 1], &Args::new().pointer(0x1000), &[]);
    let lost = event.wait().unwrap_err();
    assert!(matches!(&lost, HalError::DeviceLost { device, cause } if device == "cuda:gpu:0" && cause.contains("700")));
    assert!(event.is_complete());
    // Sticky: the same answer to everything.
    assert_eq!(queue.wait(), Err(lost.clone()));
    assert_eq!(device.alloc(1, UsmKind::Device), Err(lost.clone()));
    assert_eq!(device.create_queue(QueueOptions::default()).err(), Some(lost.clone()));
    assert_eq!(program.kernel("where").err(), Some(lost.clone()));
    // SAFETY: made above.
    assert_eq!(unsafe { device.free(memory, UsmKind::Device) }, Err(lost));
    drop((event, queue, kernel, program));
    // SAFETY: made above.
    unsafe {
        *(survivor as *mut u8) = 1;
        native.free(survivor, UsmKind::Device).unwrap();
    }
}
