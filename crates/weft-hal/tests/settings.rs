//! Environment variables, in a process of their own: one test, because they and discovery are the process's.

use weft_hal::{HalError, add_library_dir, default_device, discovery, find_device, native};

fn set(name: &str, value: &str) {
    // SAFETY: this process runs one test on one thread at a time.
    unsafe { std::env::set_var(name, value) }
}

#[test]
fn settings_are_honoured() {
    set("WEFT_NULL_DEVICE", "1");
    set("WEFT_NUM_THREADS", "3");
    set("WEFT_DEVICE", "cuda:99,null");
    set("WEFT_OPENCL_LIB", "/nowhere/libopencl-of-ours.so");
    assert!(add_library_dir("/nowhere/at/all"));

    assert_eq!(native::pool::num_threads(), 3);
    let name = |filter: &str| find_device(filter).map(|d| d.info().filter_string());
    assert_eq!(name("null").as_deref(), Ok("null:accelerator:0"));
    assert_eq!(name("").as_deref(), Ok("null:accelerator:0"));
    assert_eq!(name("default").as_deref(), Ok("null:accelerator:0"));
    assert_eq!(default_device().unwrap().info().filter_string(), "null:accelerator:0");

    assert!(!add_library_dir("/too/late"));
    let looked_for: Vec<&String> = discovery().reports.iter().flat_map(|r| &r.looked_for).collect();
    for path in ["/nowhere/libopencl-of-ours.so", "libOpenCL.so.1", "/nowhere/at/all/libintelocl.so", "libcuda.so.1"] {
        assert!(looked_for.iter().any(|line| line.starts_with(path)), "{path}: {looked_for:?}");
    }

    set("WEFT_DEVICE", "coda");
    assert!(matches!(default_device().err(), Some(HalError::BadFilter { .. })));
    set("WEFT_DEVICE", "cuda:99");
    assert!(matches!(name("default"), Err(HalError::NoSuchDevice { .. })));
    set("WEFT_DEVICE", "default");
    assert!(default_device().is_ok());
    assert_eq!(name("native").as_deref(), Ok("native:cpu:0"));
}
