//! `match`.

use super::check;

#[test]
fn patterns_are_tested_and_then_bind() {
    check(
        r"
        def f(x):
            match x:
                case 0 | None: r = 1
                case [1, y, *_]: r = y
                case int(n): r = n
                case _: r = 2
            return r
",
        r#"
        func @f(%x.0) {
          %1 = py.const() <{value=0}>
          %2 = py.compare(%x.0, %1) <{op="=="}>
          %3 = py.truth(%2)
          %4 = scf.if(%3) {
            yield(%3)
          } {
            %5 = py.const() <{value=none}>
            %6 = py.compare(%x.0, %5) <{op="is"}>
            %7 = py.truth(%6)
            yield(%7)
          }
          %r.8 = scf.if(%4) {
            %9 = py.const() <{value=1}>
            yield(%9)
          } {
            %10 = py.match_len(%x.0) <{len=2, star=true}>
            %11 = scf.if(%10) {
              %12, %13, %14 = py.unpack_star(%x.0) <{star=2}>
              %15 = py.const() <{value=1}>
              %16 = py.compare(%12, %15) <{op="=="}>
              %17 = py.truth(%16)
              yield(%17)
            } {
              yield(%10)
            }
            %r.18 = scf.if(%11) {
              %19, %20, %21 = py.unpack_star(%x.0) <{star=2}>
              yield(%20)
            } {
              %22 = py.global() <{path="isinstance"}>
              %23 = py.global() <{path="int"}>
              %24 = py.call(%22, %x.0, %23) <{keywords=[]}>
              %25 = py.truth(%24)
              %r.26 = scf.if(%25) {
                yield(%x.0)
              } {
                %27 = py.const() <{value=2}>
                yield(%27)
              }
              yield(%r.26)
            }
            yield(%r.18)
          }
          return(%r.8)
        }
        "#,
    );
}

#[test]
fn a_guard_that_fails_goes_on_to_the_next_case() {
    check(
        r"
        def f(x):
            match x:
                case [y, 0] if y > 3: return y
                case z: return z
",
        r#"
        func @f(%x.0) {
          scf.block() {
            %1 = py.match_len(%x.0) <{len=2, star=false}>
            %2 = scf.if(%1) {
              %3, %4 = py.unpack(%x.0)
              %5 = py.const() <{value=0}>
              %6 = py.compare(%4, %5) <{op="=="}>
              %7 = py.truth(%6)
              yield(%7)
            } {
              yield(%1)
            }
            scf.if(%2) {
              %8, %9 = py.unpack(%x.0)
              %10 = py.const() <{value=3}>
              %11 = py.compare(%8, %10) <{op=">"}>
              %12 = py.truth(%11)
              scf.if(%12) {
                return(%8)
              } {
                yield()
              }
              yield()
            } {
              yield()
            }
            return(%x.0)
          }
          py.unreachable()
        }
        "#,
    );
}
