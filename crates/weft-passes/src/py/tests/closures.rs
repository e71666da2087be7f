//! Nested functions, comprehensions and generator expressions.

use super::check;

#[test]
fn captures_are_values_cells_or_the_function_itself() {
    check(
        r"
        def f(n, k):
            c = 0
            def add(x, y=k):
                nonlocal c
                c += x * n
                return add
            return add, lambda z: k + z
",
        r#"
        func @f(%n.0, %k.1) {
          %2 = py.unbound() <{name="c"}>
          %c.3 = py.cell(%2) <{name="c"}>
          %4 = py.const() <{value=0}>
          py.set(%4, %c.3)
          %5 = py.closure(%c.3, %n.0, %k.1) <{function=0}>
          %6 = py.closure(%k.1) <{function=1}>
          %7 = py.tuple(%5, %6)
          return(%7)
        }

        func @add(%c.0, %n.1, %x.2, %y.3) {
          %4 = py.self()
          %5 = py.take(%c.0)
          %6 = py.read_free(%5)
          %7 = py.binop(%x.2, %n.1) <{op="*", inplace=false}>
          %8 = py.binop(%6, %7) <{op="+", inplace=true}>
          py.set(%8, %c.0)
          return(%4)
        }

        func @lambda(%k.0, %z.1) {
          %2 = py.binop(%k.0, %z.1) <{op="+", inplace=false}>
          return(%2)
        }
        "#,
    );
}

#[test]
fn a_function_defined_later_is_captured_as_a_cell() {
    check(
        r"
        def f(n):
            def even(k): return odd(k)
            def odd(k): return even(k)
            return even
",
        r#"
        func @f(%n.0) {
          %1 = py.unbound() <{name="odd"}>
          %odd.2 = py.cell(%1) <{name="odd"}>
          %3 = py.closure(%odd.2) <{function=0}>
          %4 = py.closure(%3) <{function=1}>
          py.set(%4, %odd.2)
          return(%3)
        }

        func @even(%odd.0, %k.1) {
          %2 = py.take(%odd.0)
          %3 = py.read_free(%2)
          %4 = py.call(%3, %k.1) <{keywords=[]}>
          return(%4)
        }

        func @odd(%even.0, %k.1) {
          %2 = py.call(%even.0, %k.1) <{keywords=[]}>
          return(%2)
        }
        "#,
    );
}

#[test]
fn a_comprehension_is_loops_around_append() {
    check(
        r"
        def f(xs, k):
            return [x * k for y in xs if y for x in y if (w := x)], w
",
        r#"
        func @f(%xs.0, %k.1) {
          %2 = py.list()
          %3 = py.unbound() <{name="w"}>
          %w.4 = py.for(%xs.0, %3) { ^(%y.5, %w.6):
            %7 = py.truth(%y.5)
            %w.8 = scf.if(%7) {
              %w.9 = py.for(%y.5, %w.6) { ^(%x.10, %w.11):
                %12 = py.truth(%x.10)
                scf.if(%12) {
                  %13 = py.binop(%x.10, %k.1) <{op="*", inplace=false}>
                  py.append(%2, %13)
                  yield()
                } {
                  yield()
                }
                yield(%x.10)
              }
              yield(%w.9)
            } {
              yield(%w.6)
            }
            yield(%w.8)
          }
          %14 = py.read(%w.4)
          %15 = py.tuple(%2, %14)
          return(%15)
        }
        "#,
    );
}

#[test]
fn a_generator_that_is_kept_sees_names_as_they_are_when_it_runs() {
    check(
        r"
        def f(xs, k):
            g = (x + k for x in xs)
            k = 2
            return sum(x for x in xs), g
",
        r#"
        func @f(%xs.0, %k.1) {
          %k.2 = py.cell(%k.1) <{name="k"}>
          %3 = py.generator() {
            py.for(%xs.0) { ^(%x.4):
              %5 = py.take(%k.2)
              %6 = py.read_free(%5)
              %7 = py.binop(%x.4, %6) <{op="+", inplace=false}>
              py.emit(%7)
              yield()
            }
            yield()
          }
          %8 = py.const() <{value=2}>
          py.set(%8, %k.2)
          %9 = py.global() <{path="sum"}>
          %10 = py.generator() {
            py.for(%xs.0) { ^(%x.11):
              py.emit(%x.11)
              yield()
            }
            yield()
          }
          %12 = py.call(%9, %10) <{keywords=[]}>
          %13 = py.tuple(%12, %3)
          return(%13)
        }
        "#,
    );
}

#[test]
fn a_lambda_in_a_comprehension_shares_its_variable() {
    check(
        r"
        def f(xs):
            return [lambda: x for x in xs]
",
        r#"
        func @f(%xs.0) {
          %1 = py.unbound() <{name="x"}>
          %x.2 = py.cell(%1) <{name="x"}>
          %3 = py.list()
          py.for(%xs.0) { ^(%x.4):
            py.set(%x.4, %x.2)
            %5 = py.closure(%x.2) <{function=0}>
            py.append(%3, %5)
            yield()
          }
          return(%3)
        }

        func @lambda(%x.0) {
          %1 = py.take(%x.0)
          %2 = py.read_free(%1)
          return(%2)
        }
        "#,
    );
}
