//! Device code is accepted by the tools that will read it: `ptxas` (where `WEFT_PTXAS` names it) and `spirv-val`.

mod common;

use std::path::PathBuf;
use std::process::Command;

use common::module;
use weft_codegen::{CodegenError, DeviceTarget, compile_kernels, infos, inspect, ptx};

fn sm_90() -> DeviceTarget {
    DeviceTarget::Ptx { arch: "sm_90".into() }
}

fn temporary(name: &str, bytes: &[u8]) -> PathBuf {
    let path = std::env::temp_dir().join(format!("weft-{}-{name}", std::process::id()));
    std::fs::write(&path, bytes).unwrap();
    path
}

fn accepted(tool: &mut Command, what: &str) {
    let out = tool.output().unwrap();
    assert!(
        out.status.success(),
        "{what}: {}{}",
        String::from_utf8_lossy(&out.stdout),
        String::from_utf8_lossy(&out.stderr)
    );
}

/// PTX of a module, assembled if there is an assembler.
fn ptx_of(name: &str, text: &str) -> String {
    let code = compile_kernels(&module(text), &sm_90()).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let ptx = String::from_utf8(code.text_or_binary).unwrap();
    for kernel in &code.kernels {
        assert!(ptx.contains(&format!(".entry {}(", kernel.name)), "{ptx}");
    }
    if let Some(ptxas) = std::env::var_os("WEFT_PTXAS") {
        let file = temporary(&format!("{name}.ptx"), ptx.as_bytes());
        accepted(Command::new(ptxas).args(["-arch=sm_90", "-o", "/dev/null"]).arg(file), &ptx);
    }
    ptx
}

/// SPIR-V of a module, validated.
fn spirv_of(name: &str, text: &str) -> String {
    let m = module(text);
    let code = compile_kernels(&m, &DeviceTarget::SpirV).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let file = temporary(&format!("{name}.spv"), &code.text_or_binary);
    let listing = inspect(&m, "spirv").unwrap();
    match Command::new("spirv-val").args(["--target-env", "spv1.4"]).arg(&file).output() {
        Ok(out) => assert!(out.status.success(), "{}\n{listing}", String::from_utf8_lossy(&out.stderr)),
        Err(e) => panic!("spirv-val cannot be run (install spirv-tools): {e}"),
    }
    listing
}

fn has_libdevice() -> bool {
    let found = ptx::find_libdevice();
    if let Err(e) = &found {
        eprintln!("SKIPPED: {e}");
    }
    found.is_ok()
}

fn elementwise(t: &str, body: &str) -> String {
    format!(
        "weft 1 stage loops
func @f() {{ return() }}
kernel @f.k0(%n: i32, %w: {t}, %a: mem<{t}, global>, %b: mem<{t}, global>, %o: mem<{t}, global>) {{
  par.for(%n) <{{cost=1}}> {{ ^(%i: i32):
    %x = mem.load(%a, %i) <{{unit=\"element\"}}> : {t}
    %y = mem.load(%b, %i) <{{unit=\"element\"}}> : {t}
    {body}
    mem.store(%r, %o, %i) <{{unit=\"element\"}}>
    yield()
  }}
  return()
}}
"
    )
}

#[test]
fn plain_arithmetic_is_never_fused() {
    for t in ["f32", "f64"] {
        let body = format!(
            "%t = arith.mul(%x, %y) : {t} %u = arith.add(%t, %w) : {t} %v = arith.div(%u, %y) : {t} %r = math.sqrt(%v) : {t}"
        );
        let ptx = ptx_of(&format!("plain-{t}"), &elementwise(t, &body));
        for instruction in ["mul.rn", "add.rn", "div.rn", "sqrt.rn"] {
            assert!(ptx.contains(&format!("{instruction}.{t}")), "{ptx}");
        }
        assert!(!ptx.contains("fma"), "{ptx}");
        let listing = spirv_of(&format!("plain-{t}"), &elementwise(t, &body));
        assert!(listing.contains("ContractionOff"), "{listing}");
        assert!(listing.contains("OpFDiv %"), "{listing}");
    }
}

/// A kernel over one dimension: `body` is given `%n`, `%i`, the array `%a` and the result array `%o`.
fn items(t: &str, result: &str, body: &str) -> String {
    format!(
        "weft 1 stage loops
site 0 = OverflowError \"too large\"
func @f() {{ return() }}
kernel @f.k0(%a: mem<{t}, global>, %o: mem<{result}, global>, %n: i64) {{
  par.for(%n) <{{cost=1}}> {{ ^(%i: i64):
    %x = mem.load(%a, %i) <{{unit=\"element\"}}> : {t}
    {body}
    yield()
  }}
  return()
}}
"
    )
}

/// Items of a work-item of a module's only kernel.
fn lanes(text: &str, target: &DeviceTarget) -> u32 {
    infos(&module(text), target)[0].items_per_thread
}

#[test]
fn a_work_item_takes_16_bytes_of_items_where_arrays_are_accessed_in_order() {
    let wide = [("f32", 4, "v4.b32"), ("f64", 2, "v2.b64"), ("i64", 2, "v2.b64"), ("i32", 4, "v4.b32")];
    for (t, count, suffix) in wide {
        let text = elementwise(t, &format!("%r = arith.mul(%x, %y) : {t}"));
        assert_eq!((lanes(&text, &sm_90()), lanes(&text, &DeviceTarget::SpirV)), (count, 1), "{t}");
        let ptx = ptx_of(&format!("lanes-{t}"), &text);
        assert_eq!(ptx.matches(&format!("ld.global.{suffix}")).count(), 2, "{ptx}");
        assert_eq!(ptx.matches(&format!("st.global.{suffix}")).count(), 1, "{ptx}");
    }
    let store = "mem.store(%r, %o, %i) <{unit=\"element\"}>";
    let text = items("f32", "bool", &format!("%r = arith.cmp(%x, %x) <{{is=\"==\"}}> : bool {store}"));
    let ptx = ptx_of("lanes-mixed", &text);
    assert_eq!(lanes(&text, &sm_90()), 4);
    assert!(ptx.contains("ld.global.v4.b32") && ptx.contains("st.global.b32"), "{ptx}");
    let text = items("bool", "bool", &format!("%r = arith.not(%x) : bool {store}"));
    assert_eq!(lanes(&text, &sm_90()), 16);
    assert!(ptx_of("lanes-bool", &text).contains("ld.global.v4.b32"));
}

#[test]
fn lanes_are_apart_or_none_where_they_must() {
    let store = "mem.store(%r, %o, %i) <{unit=\"element\"}>";
    let one = "%one = arith.const() <{value=1}> : i64 %j = arith.add(%i, %one) : i64";
    let next = format!("{one} %y = mem.load(%a, %j) <{{unit=\"element\"}}> : f32 %r = arith.add(%x, %y) : f32 {store}");
    let text = items("f32", "f32", &next);
    assert_eq!(lanes(&text, &sm_90()), 4);
    assert!(!ptx_of("lanes-apart", &text).contains(".v4"));
    // Items that may raise go one by one: their numbers are in the report.
    let checked = "%r = arith.checked(%x, %x) <{op=\"*\", site=0}> : i64";
    assert_eq!(lanes(&items("i64", "i64", &format!("{checked} {store}")), &sm_90()), 1);
    let branches = r#"%c = arith.cmp(%x, %x) <{is="=="}> : bool
        scf.if(%c) { mem.store(%x, %o, %i) <{unit="element"}> yield() } { yield() }"#;
    assert_eq!(lanes(&items("f32", "f32", branches), &sm_90()), 1);
    assert_eq!(lanes(MANY_DIMENSIONS, &sm_90()), 1);
    // A large body is not copied.
    let mut body = String::from("%m0 = arith.add(%x, %x) : f32");
    (0..20).for_each(|k| body += &format!(" %m{} = math.sin(%m{k}) : f32", k + 1));
    let text = items("f32", "f32", &format!("{body} %r = arith.add(%m20, %x) : f32 {store}"));
    assert_eq!(lanes(&text, &sm_90()), 1);
}

#[test]
fn loads_come_before_the_arithmetic_that_does_not_wait_for_them() {
    let text = "weft 1 stage loops
func @f() { return() }
kernel @f.k0(%a: mem<f64, global>, %b: mem<f64, global>, %o: mem<f64, global>, %n: i64) {
  par.for(%n) <{cost=1}> { ^(%i: i64):
    %x = mem.load(%a, %i) <{unit=\"element\"}> : f64
    %q = math.sqrt(%x) : f64
    %y = mem.load(%b, %i) <{unit=\"element\"}> : f64
    %r = arith.mul(%q, %y) : f64
    mem.store(%r, %o, %i) <{unit=\"element\"}>
    %z = mem.load(%o, %i) <{unit=\"element\"}> : f64
    %s = arith.add(%z, %x) : f64
    mem.store(%s, %b, %i) <{unit=\"element\"}>
    yield()
  }
  return()
}
";
    let ptx = ptx_of("hoisted", text);
    let at = |what: &str| ptx.match_indices(what).map(|(k, _)| k).collect::<Vec<_>>();
    let (loads, roots, stores) = (at("ld.global.v2"), at("sqrt.rn"), at("st.global.v2"));
    // `%z` may be `%r` again or a load, but nothing is read early that a store before it may have written.
    assert!(loads.len() >= 2 && loads[1] < roots[0], "{ptx}");
    assert!(loads.iter().skip(2).all(|&l| l > stores[0]), "{ptx}");
}

#[test]
fn math_is_libdevices_and_opencls() {
    for t in ["f32", "f64"] {
        let body = format!(
            "%s = math.sin(%x) : {t} %c = math.cos(%s) : {t} %e = math.exp(%c) : {t} %l = math.log(%e) : {t} %r = arith.pow(%l, %y) : {t}"
        );
        let listing = spirv_of(&format!("math-{t}"), &elementwise(t, &body));
        for name in ["sin", "cos", "exp", "log", "pow"] {
            assert!(listing.contains(&format!(" {name} ")), "{name}\n{listing}");
        }
        if has_libdevice() {
            let ptx = ptx_of(&format!("math-{t}"), &elementwise(t, &body));
            assert!(!ptx.contains("__nv_") && !ptx.contains("__nvvm_reflect"), "{ptx}");
        }
    }
}

#[test]
fn numpys_division_and_casts_compile_everywhere() {
    let ints = "%q = arith.floordiv(%x, %y) : i64 %m = arith.mod(%x, %y) : i64 %p = arith.pow(%q, %m) : i64
        %h = arith.shl(%p, %y) : i64 %g = arith.shr(%h, %w) : i64 %a1 = arith.abs(%g) : i64 %f = arith.cast(%a1) : f32
        %b1 = arith.cast(%f) : bool %i2 = arith.cast(%f) : i64 %r = arith.select(%b1, %i2, %q) : i64";
    let floats = "%q = arith.floordiv(%x, %y) : T %m = arith.mod(%x, %y) : T %n1 = arith.min(%q, %m) : T
        %i2 = arith.cast(%n1) : i32 %f = arith.cast(%i2) : T %r = arith.max(%f, %w) : T";
    for (t, body) in [("i64", ints), ("f32", floats), ("f64", floats)] {
        let text = elementwise(t, &body.replace('T', t));
        spirv_of(&format!("numpy-{t}"), &text);
        if t == "i64" || has_libdevice() {
            ptx_of(&format!("numpy-{t}"), &text);
        }
    }
}

const MANY_DIMENSIONS: &str = r#"weft 1 stage loops
func @f() { return() }
kernel @f.k0(%a: i64, %b: i64, %c: i64, %d: i64, %flag: bool, %o: mem<bool, global>) {
  par.for(%a, %b, %c, %d) <{cost=1}> { ^(%i: i64, %j: i64, %k: i64, %l: i64):
    %t = arith.mul(%i, %b) : i64
    %u = arith.add(%t, %j) : i64
    %v = arith.mul(%u, %c) : i64
    %w = arith.add(%v, %k) : i64
    %x = arith.mul(%w, %d) : i64
    %y = arith.add(%x, %l) : i64
    mem.store(%flag, %o, %y) <{unit="byte"}>
    yield()
  }
  return()
}
"#;

const RAISES: &str = r#"weft 1 stage loops
site 0 = ValueError "no"
site 1 = IndexError "index {i} is out of bounds for size {i}"
site 2 = OverflowError "too large"
func @f() { return() }
kernel @f.k0(%n: i64, %m: i64, %p: mem<i64, global>, %o: mem<f32, global>) {
  par.for(%n) <{cost=1}> { ^(%i: i64):
    %j = mem.load(%p, %i) <{unit="element"}> : i64
    %j2 = arith.checked(%j, %j) <{op="+", site=2}> : i64
    %j3 = arith.checked(%j2, %i) <{op="*", site=2}> : i64
    %j4 = arith.checked(%j3, %j) <{op="-", site=2}> : i64
    mem.store(%j4, %p, %i) <{unit="element"}>
    %c = arith.cmp(%j2, %m) <{is=">="}> : bool
    scf.if(%c) { raise(%j2, %m) <{site=1}> } { yield() }
    %zero = arith.const() <{value=0}> : i64
    %d = arith.cmp(%j2, %zero) <{is="<"}> : bool
    scf.if(%d) { return() } { yield() }
    %one = arith.const() <{value=1.0}> : f32
    %s = scf.for(%zero, %j2, %i, %one) { ^(%k: i64, %acc: f32):
      %t = arith.add(%acc, %one) : f32
      yield(%t)
    } : f32
    mem.store(%s, %o, %j2) <{unit="element"}>
    yield()
  }
  return()
}
"#;

#[test]
fn any_number_of_dimensions_and_raises_compile_everywhere() {
    spirv_of("dims", MANY_DIMENSIONS);
    let ptx = ptx_of("dims", MANY_DIMENSIONS);
    assert!(ptx.contains("%tid.z") && ptx.contains("%tid.y") && ptx.contains("%tid.x"), "{ptx}");
    let ptx = ptx_of("raises", RAISES);
    assert!(ptx.contains("min.u64"), "{ptx}");
    let listing = spirv_of("raises", RAISES);
    assert!(listing.contains("OpAtomicUMin"), "{listing}");
}

#[test]
fn what_a_device_cannot_do_is_refused_by_name() {
    let handler = elementwise("f32", "scf.try() { yield() } { yield() } @10:20 %r = arith.add(%x, %y) : f32");
    let complex = elementwise("c64", "%r = arith.add(%x, %y) : c64");
    let half = elementwise("f16", "%r = arith.add(%x, %y) : f16");
    let cuda = |text| (text, sm_90(), "CUDA devices");
    let opencl = |text| (text, DeviceTarget::SpirV, "OpenCL devices");
    for ((text, target, name), op, place) in [
        (cuda(&handler), "scf.try", Some((10, 20))),
        (opencl(&handler), "scf.try", Some((10, 20))),
        (cuda(&complex), "arithmetic in complex64", None),
        (opencl(&complex), "arithmetic in complex64", None),
        (opencl(&half), "arithmetic in float16", None),
    ] {
        match compile_kernels(&module(text), &target) {
            Err(CodegenError::Unsupported { op: found, target, span }) => {
                assert_eq!((found.as_str(), target), (op, name));
                assert_eq!(span.is_known().then_some((span.start, span.end)), place);
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn the_same_module_gives_the_same_spirv_every_time_from_every_thread() {
    let text = "weft 1 stage loops
func @f(%n: i64, %x: mem<f64, global>, %y: mem<f64, global>) {
  simt.launch(%n, %n, %x, %y) <{kernel=\"f.k0\", dims=1}>
  return()
}
kernel @f.k0(%n: i64, %x: mem<f64, global>, %y: mem<f64, global>) {
  par.for(%n) <{cost=1}> { ^(%i: i64):
    %v = mem.load(%x, %i) <{unit=\"element\"}> : f64
    %s = math.sin(%v) : f64
    mem.store(%s, %y, %i) <{unit=\"element\"}>
    yield()
  }
  return()
}
";
    let one = || compile_kernels(&module(text), &DeviceTarget::SpirV).unwrap().text_or_binary;
    let first = one();
    let again = || (0..40).for_each(|k| assert!(one() == first, "emission {k} differs"));
    std::thread::scope(|s| (0..3).for_each(|_| drop(s.spawn(again))));
}

#[test]
fn groups_share_memory_and_their_items_wait_for_each_other() {
    let text = "weft 1 stage loops
site 0 = OverflowError \"too large\"
func @f() { return() }
kernel @f.k0(%x: mem<i64, global>, %y: mem<i64, global>, %n: i64, %m: i64) {
  par.for(%n, %m) <{cost=1, level=\"grid of 64\"}> { ^(%g: i64, %h: i64):
    %shared = mem.local() <{bytes=512}> : mem<i64, local>
    %all = arith.const() <{value=64}> : i64
    %half = arith.const() <{value=32}> : i64
    %row = arith.mul(%g, %m) : i64
    %at = arith.add(%row, %h) : i64
    par.for(%all) <{cost=1, level=\"group\"}> { ^(%i: i64):
      %own = mem.stack() <{bytes=16}> : mem<i64, private>
      %e = mem.load(%x, %i) <{unit=\"element\"}> : i64
      %r = arith.checked(%e, %e) <{op=\"*\", site=0}> : i64
      mem.store(%r, %own, %g) <{unit=\"element\"}>
      simt.barrier() <{fence=\"all\"}>
      %o = mem.load(%own, %h) <{unit=\"element\"}> : i64
      mem.store(%o, %shared, %i) <{unit=\"element\"}>
      yield()
    }
    par.for(%half) <{cost=1, level=\"group\"}> { ^(%i: i64):
      %j = arith.add(%i, %half) : i64
      %a = mem.load(%shared, %i) <{unit=\"element\"}> : i64
      %b = mem.load(%shared, %j) <{unit=\"element\"}> : i64
      %s = arith.add(%a, %b) : i64
      mem.store(%s, %y, %at) <{unit=\"element\"}>
      yield()
    }
    yield()
  }
  return()
}
";
    assert_eq!(infos(&module(text), &sm_90())[0].group, 64);
    let ptx = ptx_of("groups", text);
    for part in [".shared .align 16", ".reqntid 64", "bar.sync", "ld.shared", "st.shared"] {
        assert!(ptx.contains(part), "{part}\n{ptx}");
    }
    let listing = spirv_of("groups", text);
    for part in ["OpControlBarrier", "OpVariable %", "Workgroup"] {
        assert!(listing.contains(part), "{part}\n{listing}");
    }
}
