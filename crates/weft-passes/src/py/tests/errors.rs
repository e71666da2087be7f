//! `try`, `raise` and `assert`.

use super::check;

#[test]
fn what_a_try_binds_is_a_cell_and_handlers_leave_a_block() {
    check(
        r"
        def f(a, b):
            try:
                x = a // b
            except ZeroDivisionError:
                x = 0
                ok = False
            else:
                ok = True
            return x, ok
",
        r#"
        func @f(%a.0, %b.1) {
          %2 = py.unbound() <{name="x"}>
          %x.3 = py.cell(%2) <{name="x"}>
          %ok.4 = scf.block() {
            py.try() {
              %5 = py.binop(%a.0, %b.1) <{op="//", inplace=false}>
              py.set(%5, %x.3)
              yield()
            } {
              %6 = py.global() <{path="ZeroDivisionError"}>
              %7 = py.catch(%6)
              scf.if(%7) {
                %8 = py.const() <{value=0}>
                py.set(%8, %x.3)
                %9 = py.const() <{value=false}>
                break(%9) <{depth=0}>
              } {
                yield()
              }
              py.raise()
            }
            %10 = py.const() <{value=true}>
            yield(%10)
          }
          %11 = py.take(%x.3)
          %12 = py.read(%11)
          %13 = py.tuple(%12, %ok.4)
          return(%13)
        }
        "#,
    );
}

#[test]
fn handlers_that_leave_need_no_block() {
    check(
        r"
        def f(a):
            try:
                return g(a)
            except (KeyError, ValueError) as e:
                raise TypeError(1) from e
            except:
                raise
",
        r#"
        func @f(%a.0) {
          py.try() {
            %1 = py.global() <{path="g"}>
            %2 = py.call(%1, %a.0) <{keywords=[]}>
            return(%2)
          } {
            %3 = py.global() <{path="KeyError"}>
            %4 = py.global() <{path="ValueError"}>
            %5 = py.tuple(%3, %4)
            %6 = py.catch(%5)
            scf.if(%6) {
              %7 = py.caught()
              %8 = py.global() <{path="TypeError"}>
              %9 = py.const() <{value=1}>
              %10 = py.call(%8, %9) <{keywords=[]}>
              py.raise(%10)
            } {
              yield()
            }
            py.raise()
          }
          py.unreachable()
        }
        "#,
    );
}

#[test]
fn finally_stands_on_every_way_out_and_outside_of_the_try() {
    check(
        r"
        def f(xs):
            for x in xs:
                try:
                    if x: break
                    return g(x)
                finally:
                    h()
",
        r#"
        func @f(%xs.0) {
          py.for(%xs.0) { ^(%x.1):
            scf.block() {
              scf.block() {
                %2 = scf.block() {
                  py.try() {
                    %3 = py.truth(%x.1)
                    scf.if(%3) {
                      break() <{depth=1}>
                    } {
                      yield()
                    }
                    %4 = py.global() <{path="g"}>
                    %5 = py.call(%4, %x.1) <{keywords=[]}>
                    break(%5) <{depth=0}>
                  } {
                    %6 = py.global() <{path="h"}>
                    %7 = py.call(%6) <{keywords=[]}>
                    py.raise()
                  }
                  py.unreachable()
                }
                %8 = py.global() <{path="h"}>
                %9 = py.call(%8) <{keywords=[]}>
                return(%2)
              }
              %10 = py.global() <{path="h"}>
              %11 = py.call(%10) <{keywords=[]}>
              break() <{depth=1}>
            }
            py.unreachable()
          }
          %12 = py.const() <{value=none}>
          return(%12)
        }
        "#,
    );
}

#[test]
fn finally_without_jumps() {
    check(
        r"
        def f(x):
            try:
                n = g(x)
            finally:
                h()
            return n
",
        r#"
        func @f(%x.0) {
          %1 = py.unbound() <{name="n"}>
          %n.2 = py.cell(%1) <{name="n"}>
          py.try() {
            %3 = py.global() <{path="g"}>
            %4 = py.call(%3, %x.0) <{keywords=[]}>
            py.set(%4, %n.2)
            yield()
          } {
            %5 = py.global() <{path="h"}>
            %6 = py.call(%5) <{keywords=[]}>
            py.raise()
          }
          %7 = py.global() <{path="h"}>
          %8 = py.call(%7) <{keywords=[]}>
          %9 = py.take(%n.2)
          %10 = py.read(%9)
          return(%10)
        }
        "#,
    );
}

#[test]
fn assert_and_raise() {
    check(
        r"
        def f(x):
            assert x > 0, 'm'
            raise ValueError
",
        r#"
        func @f(%x.0) {
          %1 = py.const() <{value=0}>
          %2 = py.compare(%x.0, %1) <{op=">"}>
          %3 = py.truth(%2)
          scf.if(%3) {
            yield()
          } {
            %4 = py.const() <{value="m"}>
            %5 = py.global() <{path="AssertionError"}>
            %6 = py.call(%5, %4) <{keywords=[]}>
            py.raise(%6)
          }
          %7 = py.global() <{path="ValueError"}>
          py.raise(%7)
        }
        "#,
    );
}
