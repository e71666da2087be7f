//! Links LLVM 22 statically: asks `llvm-config-22` (or `$LLVM_CONFIG`) which archives the components below need.
//!
//! Every archive is linked `static:-bundle`, so rlibs stay small and the final link does its own garbage collection.

use std::process::Command;

/// The parts of LLVM that Weft uses. A component missing here shows as an undefined symbol at import.
const COMPONENTS: &[&str] = &[
    "x86codegen",
    "x86desc",
    "x86info",
    "nvptxcodegen",
    "nvptxdesc",
    "nvptxinfo",
    "spirvcodegen",
    "spirvdesc",
    "spirvinfo",
    "passes",
    "ipo",
    "linker",
    "bitreader",
    "irreader",
    "target",
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=LLVM_CONFIG");
    if let Err(why) = link_llvm() {
        println!("cargo::error={why}");
        std::process::exit(1);
    }
}

fn link_llvm() -> Result<(), String> {
    let config = std::env::var("LLVM_CONFIG").unwrap_or_else(|_| "llvm-config-22".into());
    let ask = |args: &[&str]| run(&config, args);
    let version = ask(&["--version"]).map_err(|_| {
        format!("Weft needs LLVM 22 and `{config}` cannot be run: install llvm-22-dev, or set LLVM_CONFIG to its llvm-config")
    })?;
    if !version.starts_with("22.") {
        return Err(format!(
            "Weft needs LLVM 22, but `{config}` is LLVM {version}: set LLVM_CONFIG to the llvm-config of LLVM 22"
        ));
    }
    let mut args = vec!["--link-static", "--libs"];
    args.extend(COMPONENTS);
    let libs = ask(&args)?;
    let libdir = ask(&["--link-static", "--libdir"])?;
    println!("cargo::rustc-link-search=native={libdir}");
    find_spirv_analysis(&libdir)?;
    for lib in libs.split_whitespace().filter_map(|l| l.strip_prefix("-l")) {
        println!("cargo::rustc-link-lib=static:-bundle={lib}");
    }
    for archive in ["libz.a", "libzstd.a", "libstdc++.a"] {
        let dir = archive_dir(archive).ok_or_else(|| {
            format!("{archive} was not found: install zlib1g-dev, libzstd-dev and g++ (LLVM 22 is linked statically)")
        })?;
        println!("cargo::rustc-link-search=native={dir}");
    }
    for lib in ["z", "zstd", "stdc++"] {
        println!("cargo::rustc-link-lib=static:-bundle={lib}");
    }
    println!("cargo::rustc-link-lib=dylib=m");
    println!("cargo::metadata=cdylib_link_args=-Wl,--gc-sections -Wl,--icf=all");
    Ok(())
}

/// Tells `llvm/spirv_state.rs` the size of the SPIR-V backend's static module analysis, where this LLVM still has it.
fn find_spirv_analysis(libdir: &str) -> Result<(), String> {
    println!("cargo::rustc-check-cfg=cfg(spirv_static_analysis)");
    let symbols = run("nm", &["-S", "--defined-only", &format!("{libdir}/libLLVMSPIRVCodeGen.a")])?;
    let Some(line) = symbols.lines().find(|l| l.ends_with(" _ZN4llvm19SPIRVModuleAnalysis3MAIE")) else {
        return Ok(());
    };
    let size = line.split_whitespace().nth(1).and_then(|hex| usize::from_str_radix(hex, 16).ok());
    let size = size.ok_or("`nm` did not tell the size of LLVM's SPIRVModuleAnalysis::MAI")?;
    println!("cargo::rustc-cfg=spirv_static_analysis");
    println!("cargo::rustc-env=WEFT_SPIRV_ANALYSIS_BYTES={size}");
    Ok(())
}

/// Where the C++ compiler finds a static library.
fn archive_dir(name: &str) -> Option<String> {
    let path = run("c++", &[&format!("-print-file-name={name}")]).ok()?;
    let (dir, _) = path.rsplit_once('/')?;
    Some(dir.to_string())
}

fn run(program: &str, args: &[&str]) -> Result<String, String> {
    let out = Command::new(program).args(args).output().map_err(|e| format!("`{program}` cannot be run: {e}"))?;
    if !out.status.success() {
        return Err(format!("`{program} {}` failed: {}", args.join(" "), String::from_utf8_lossy(&out.stderr).trim()));
    }
    Ok(String::from_utf8_lossy(&out.stdout).trim().to_string())
}
