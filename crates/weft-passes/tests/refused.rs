//! What the passes refuse, in which words, and with which spans.

use weft_diag::{Diagnostic, ErrorKind};
use weft_ir::Place;
use weft_ir::read::read_module;
use weft_passes::{PassCx, pipeline};

fn refused(text: &str, kernel_dims: u32) -> Diagnostic {
    let m = read_module(&format!("weft 1 stage ntensor\n{text}")).expect("the text reads");
    let cx = PassCx { place: Place::Host, kernel_dims, verify: true };
    pipeline::lower(m, &cx).expect_err("it is refused")
}

#[test]
fn arrays_of_two_places_do_not_meet_in_one_operation() {
    let d = refused(
        "func @f(%x: tensor<?0xf32, C>, %y: tensor<?0xf32, C, #cuda:gpu:0>) -> tensor<?0xf32, C> {
          %1 = nt.elementwise(%x) { ^(%e: f32): %s = arith.neg(%e) : f32  yield(%s) } : tensor<?0xf32, C> @4:6
          %2 = nt.elementwise(%1, %y) { ^(%p: f32, %q: f32): %s = arith.add(%p, %q) : f32  yield(%s) } : tensor<?0xf32, C> @4:10
          return(%2)
        }",
        0,
    );
    assert_eq!(d.kind, ErrorKind::Placement);
    assert_eq!((d.primary.span.start, d.primary.span.end), (4, 10));
    assert_eq!((d.others[0].span.start, d.others[0].span.end), (4, 6));
    assert_eq!(d.others[0].text, "this array (float32[:]) lives at host");
    assert_eq!(d.notes, ["`y` (float32[:]) lives at cuda:gpu:0"]);
}

#[test]
fn arrays_of_two_places_do_not_meet_in_one_launch() {
    let d = refused("kernel @k(%x: tensor<?0xf32, C>, %y: tensor<?0xf32, C, #cuda:gpu:0>) { return() }", 1);
    assert_eq!(d.kind, ErrorKind::Placement);
    assert_eq!(d.notes, ["`x` (float32[:]) lives at host", "`y` (float32[:]) lives at cuda:gpu:0"]);
}

#[test]
fn a_kernel_asks_only_for_dimensions_of_its_launch() {
    let d = refused(
        "kernel @k(%x: tensor<?0xi64, C>) {
          %i = simt.global_id() <{dim=1}> : pyint @20:31
          %v = arith.cast(%i) : i64
          nt.store(%v, %x, %i) <{wrap=false}>
          return()
        }",
        1,
    );
    assert_eq!(d.message, "the kernel asks for dimension 1 of its index; the launch has 1 dimension");
    assert_eq!(d.primary.span.start, 20);
}
