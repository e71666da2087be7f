//! Names across `if`, `for` and `return`.

use super::{check, try_lower};

#[test]
fn names_read_later_are_joined_and_temporaries_are_not() {
    check(
        r"
        def f(a, b):
            if a < b:
                t = a
                c = t
            else:
                t = 'x'
                c = b
            return c
",
        r#"
        func @f(%a.0, %b.1) {
          %2 = py.compare(%a.0, %b.1) <{op="<"}>
          %3 = py.truth(%2)
          %c.4 = scf.if(%3) {
            yield(%a.0)
          } {
            %5 = py.const() <{value="x"}>
            yield(%b.1)
          }
          return(%c.4)
        }
        "#,
    );
}

#[test]
fn a_path_that_assigns_nothing_yields_unbound() {
    check(
        r"
        def f(a):
            if a: b = 1
            return b
",
        r#"
        func @f(%a.0) {
          %1 = py.truth(%a.0)
          %b.2 = scf.if(%1) {
            %3 = py.const() <{value=1}>
            yield(%3)
          } {
            %4 = py.unbound() <{name="b"}>
            yield(%4)
          }
          %5 = py.read(%b.2)
          return(%5)
        }
        "#,
    );
}

#[test]
fn an_early_return_ends_its_arm() {
    check(
        r"
        def f(n):
            if n < 2: return n
            return f(n - 1)
",
        r#"
        func @f(%n.0) {
          %1 = py.const() <{value=2}>
          %2 = py.compare(%n.0, %1) <{op="<"}>
          %3 = py.truth(%2)
          scf.if(%3) {
            return(%n.0)
          } {
            yield()
          }
          %4 = py.global() <{path="f"}>
          %5 = py.const() <{value=1}>
          %6 = py.binop(%n.0, %5) <{op="-", inplace=false}>
          %7 = py.call(%4, %6) <{keywords=[]}>
          return(%7)
        }
        "#,
    );
}

#[test]
fn when_both_arms_return_they_yield_and_one_return_follows_and_dead_code_is_not_lowered() {
    check(
        r"
        def f(n):
            if n: return 1
            elif n > 2: return 2
            else: return 3
            dead[:]
",
        r#"
        func @f(%n.0) {
          %1 = py.truth(%n.0)
          %2 = scf.if(%1) {
            %3 = py.const() <{value=1}>
            yield(%3)
          } {
            %4 = py.const() <{value=2}>
            %5 = py.compare(%n.0, %4) <{op=">"}>
            %6 = py.truth(%5)
            %7 = scf.if(%6) {
              %8 = py.const() <{value=2}>
              yield(%8)
            } {
              %9 = py.const() <{value=3}>
              yield(%9)
            }
            yield(%7)
          }
          return(%2)
        }
        "#,
    );
}

#[test]
fn a_loop_carries_what_is_read_again_or_later_and_its_else_follows_it() {
    check(
        r"
        def f(x):
            s = 0
            for i, v in enumerate(x):
                t = v * v
                s += t
                last = i
            else:
                s = -s
            return s, last
",
        r#"
        func @f(%x.0) {
          %1 = py.const() <{value=0}>
          %2 = py.global() <{path="enumerate"}>
          %3 = py.call(%2, %x.0) <{keywords=[]}>
          %4 = py.unbound() <{name="last"}>
          %s.5, %last.6 = py.for(%3, %1, %4) { ^(%7, %s.8, %last.9):
            %10, %11 = py.unpack(%7)
            %12 = py.binop(%11, %11) <{op="*", inplace=false}>
            %13 = py.binop(%s.8, %12) <{op="+", inplace=true}>
            yield(%13, %10)
          }
          %14 = py.unary(%s.5) <{op="-"}>
          %15 = py.read(%last.6)
          %16 = py.tuple(%14, %15)
          return(%16)
        }
        "#,
    );
}

#[test]
fn a_return_may_leave_loops() {
    check(
        r"
        def f(x):
            for i in x:
                for j in x:
                    if j: return i
                    k = j
            return k
",
        r#"
        func @f(%x.0) {
          %1 = py.unbound() <{name="k"}>
          %k.2 = py.for(%x.0, %1) { ^(%i.3, %k.4):
            %k.5 = py.for(%x.0, %k.4) { ^(%j.6, %k.7):
              %8 = py.truth(%j.6)
              scf.if(%8) {
                return(%i.3)
              } {
                yield()
              }
              yield(%j.6)
            }
            yield(%k.5)
          }
          %9 = py.read(%k.2)
          return(%9)
        }
        "#,
    );
}

#[test]
fn an_arm_that_returns_joins_nothing() {
    check(
        r"
        def f(x):
            if x:
                y = 1
            else:
                return
            return y
",
        r#"
        func @f(%x.0) {
          %1 = py.truth(%x.0)
          %y.2 = scf.if(%1) {
            %3 = py.const() <{value=1}>
            yield(%3)
          } {
            %4 = py.const() <{value=none}>
            return(%4)
          }
          return(%y.2)
        }
        "#,
    );
}

#[test]
fn a_loop_that_rebinds_an_argument_carries_it() {
    check(
        r"
        def f(x, n):
            for i in range(n):
                if i:
                    x = x + i
            return x
        ",
        r#"
        func @f(%x.0, %n.1) {
          %2 = py.global() <{path="range"}>
          %3 = py.call(%2, %n.1) <{keywords=[]}>
          %x.4 = py.for(%3, %x.0) { ^(%i.5, %x.6):
            %7 = py.truth(%i.5)
            %x.8 = scf.if(%7) {
              %9 = py.binop(%x.6, %i.5) <{op="+", inplace=false}>
              yield(%9)
            } {
              yield(%x.6)
            }
            yield(%x.8)
          }
          return(%x.4)
        }
        "#,
    );
}

#[test]
fn a_name_written_before_it_is_read_in_every_iteration_is_not_carried() {
    let text = try_lower("def f(x):\n    for v in x:\n        t = v\n        t += 1\n        x[0] = t\n").unwrap();
    assert!(text.contains("py.for(%x.0) { ^(%v.1):"), "{text}");
}

#[test]
fn while_tests_in_its_region_and_runs_its_else_on_the_way_out() {
    check(
        r"
        def f(n):
            s = 0
            while n > 0:
                n -= 1
                if n == 3: continue
                if n == 1: break
                s += n
            else:
                s = -s
            return s
",
        r#"
        func @f(%n.0) {
          %1 = py.const() <{value=0}>
          %s.2 = scf.loop(%n.0, %1) { ^(%n.3, %s.4):
            %5 = py.const() <{value=0}>
            %6 = py.compare(%n.3, %5) <{op=">"}>
            %7 = py.truth(%6)
            scf.if(%7) {
              yield()
            } {
              %8 = py.unary(%s.4) <{op="-"}>
              break(%8) <{depth=0}>
            }
            %9 = py.const() <{value=1}>
            %10 = py.binop(%n.3, %9) <{op="-", inplace=true}>
            %11 = py.const() <{value=3}>
            %12 = py.compare(%10, %11) <{op="=="}>
            %13 = py.truth(%12)
            scf.if(%13) {
              continue(%10, %s.4) <{depth=0}>
            } {
              yield()
            }
            %14 = py.const() <{value=1}>
            %15 = py.compare(%10, %14) <{op="=="}>
            %16 = py.truth(%15)
            scf.if(%16) {
              break(%s.4) <{depth=0}>
            } {
              yield()
            }
            %17 = py.binop(%s.4, %10) <{op="+", inplace=true}>
            yield(%10, %17)
          }
          return(%s.2)
        }
        "#,
    );
}

#[test]
fn for_with_else_and_break_is_a_block() {
    check(
        r"
        def f(xs):
            for i, x in enumerate(xs):
                if x < 0: break
            else:
                i = None
            return i
",
        r#"
        func @f(%xs.0) {
          %1 = py.global() <{path="enumerate"}>
          %2 = py.call(%1, %xs.0) <{keywords=[]}>
          %i.3 = scf.block() {
            py.for(%2) { ^(%4):
              %5, %6 = py.unpack(%4)
              %7 = py.const() <{value=0}>
              %8 = py.compare(%6, %7) <{op="<"}>
              %9 = py.truth(%8)
              scf.if(%9) {
                break(%5) <{depth=1}>
              } {
                yield()
              }
              yield()
            }
            %10 = py.const() <{value=none}>
            yield(%10)
          }
          return(%i.3)
        }
        "#,
    );
}

#[test]
fn a_loop_that_only_returns_ends_nowhere_else() {
    check(
        r"
        def f(n):
            while True:
                n += 1
                if n > 10: return n
",
        r#"
        func @f(%n.0) {
          scf.loop(%n.0) { ^(%n.1):
            %2 = py.const() <{value=1}>
            %3 = py.binop(%n.1, %2) <{op="+", inplace=true}>
            %4 = py.const() <{value=10}>
            %5 = py.compare(%3, %4) <{op=">"}>
            %6 = py.truth(%5)
            scf.if(%6) {
              return(%3)
            } {
              yield()
            }
            yield(%3)
          }
          py.unreachable()
        }
        "#,
    );
}

#[test]
fn jumps_count_loops_from_the_inside() {
    check(
        r"
        def f(x):
            for a in x:
                for b in a:
                    if b: continue
                    while b: break
                else:
                    break
            return a
",
        r#"
        func @f(%x.0) {
          %1 = py.unbound() <{name="a"}>
          %a.2 = py.for(%x.0, %1) { ^(%a.3, %a.4):
            %5 = py.read(%a.3)
            py.for(%5) { ^(%b.6):
              %7 = py.truth(%b.6)
              scf.if(%7) {
                continue() <{depth=0}>
              } {
                yield()
              }
              scf.loop() {
                %8 = py.truth(%b.6)
                scf.if(%8) {
                  yield()
                } {
                  break() <{depth=0}>
                }
                break() <{depth=0}>
              }
              yield()
            }
            break(%a.3) <{depth=0}>
          }
          %9 = py.read(%a.2)
          return(%9)
        }
        "#,
    );
}
