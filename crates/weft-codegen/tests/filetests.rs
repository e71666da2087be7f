//! Every program of `filetests/loops` compiles for the host and, where it has kernels, for every device.

mod common;

use weft_codegen::{DeviceTarget, compile_host, compile_kernels};

#[test]
fn every_loops_file_compiles_for_every_target() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../filetests/loops");
    let mut seen = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let module = common::module(&std::fs::read_to_string(&path).unwrap());
        compile_host(&module, &module.entry().name).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        if module.funcs.iter().any(|f| f.kernel) {
            for target in [DeviceTarget::Ptx { arch: "sm_90".into() }, DeviceTarget::SpirV] {
                compile_kernels(&module, &target).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            }
        }
        seen += 1;
    }
    assert!(seen > 0, "no files in {}", folder.display());
}
