//! One smallest program per ring; the filetests hold the rest.

use super::*;
use crate::read::read_module;

fn broken_by(text: &str) -> String {
    let m = read_module(text).unwrap();
    verify(&m).unwrap_err().invariant
}

#[test]
fn a_typed_function_verifies() {
    let text = "weft 1 stage ntensor
        func @f(%a: pyfloat, %x: tensor<?0xf32, C>) -> tensor<?0xf32, C> {
          %w = arith.cast(%a) : f32
          %y = nt.elementwise(%w, %x) { ^(%p: f32, %q: f32): %s = arith.mul(%p, %q) : f32 yield(%s) } : tensor<?0xf32, C>
          return(%y)
        }";
    assert_eq!(verify(&read_module(text).unwrap()), Ok(()));
}

#[test]
fn each_ring_names_what_is_broken() {
    assert_eq!(broken_by("weft 1 stage ntensor func @f() { %a = arith.const() <{value=1}> : i64 }"), "structure.5");
    assert_eq!(broken_by("weft 1 stage ntensor func @f(%a: f32) -> f64 { return(%a) }"), "rules.2");
    assert_eq!(broken_by("weft 1 stage loops func @f(%a: pyint) { return() }"), "stage.2");
}

#[test]
fn a_value_of_an_inner_region_is_not_visible_outside() {
    let text = "weft 1 stage ntensor func @f(%c: pybool) -> i64 {
        scf.if(%c) { %a = arith.const() <{value=1}> : i64 yield() } { yield() }
        return(%a) }";
    assert_eq!(broken_by(text), "structure.4");
}

#[test]
fn the_message_shows_function_op_and_invariant() {
    let text = "weft 1 stage ntensor func @f(%a: f32, %b: f64) { %c = arith.add(%a, %b) : f32 return() }";
    let error = verify(&read_module(text).unwrap()).unwrap_err().to_string();
    let want =
        "rules.4 broken in @f: operands f32, f64 and result f32 are not one type\n  %c.2 = arith.add(%a.0, %b.1) : f32";
    assert_eq!(error, want);
}

/// A function at stage `placed` that brings an array to a device, and what it does with the copy.
fn transfer(mode: &str, then: &str) -> Result<(), String> {
    let text = format!(
        "weft 1 stage placed func @f(%x: tensor<?0xf64, C>, %c: bool) {{
           %z = arith.const() <{{value=0}}> : i64
           %o = arith.const() <{{value=1}}> : i64
           %v = arith.const() <{{value=9.0}}> : f64
           %y = env.transfer(%x) <{{mode=\"{mode}\"}}> : tensor<?0xf64, C>
           {then}
           return()
         }}"
    );
    verify(&read_module(&text).unwrap()).map_err(|e| e.invariant)
}

#[test]
fn what_a_transfer_gives_to_read_is_not_written() {
    let writes = [
        "nt.store(%v, %y, %z) <{wrap=false}>",
        "nt.copy(%y, %v)",
        "scf.if(%c) { nt.copy(%y, %v) yield() } { yield() }",
        "%w = nt.view(%y, %z, %o) <{axes=[0]}> : tensor<?0xf64, A> nt.copy(%w, %v)",
        "%w = scf.cell(%y) : cell<tensor<?0xf64, C>>",
    ];
    for then in writes {
        assert_eq!(transfer("read", then), Err("stage.8".into()), "{then}");
        assert_eq!(transfer("update", then), Ok(()), "{then}");
    }
    assert_eq!(transfer("read", "%w = nt.load(%y, %z) <{wrap=false}> : f64"), Ok(()));
}
