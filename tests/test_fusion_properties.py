"""Random array programs: fused and not, on 1, 2 and 7 threads, always the same bits.

What is not fused is computed operation by operation, each by a compiled function of its own, so that every step makes
an array. The order of a sum is a promise that depends on neither.
"""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import numpy as np
import weft
from support import function

THREADS = (1, 2, 7)

# The operations, as they are written and as functions of their own.
BINARY = ["{} + {}", "{} - {}", "{} * {}", "{} / {}", "np.minimum({}, {})", "np.maximum({}, {})", "np.hypot({}, {})"]
UNARY = ["-{}", "np.sqrt(np.abs({}))", "np.sin({})", "np.exp(-np.abs({}))", "np.floor({})", "({}).T.T", "({})[::-1]"]
CHOICES = ["np.where({} > {}, {}, {})"]
REDUCTIONS = [
    "np.sum({})",
    "np.max({})",
    "np.sum({}, axis=0)",
    "np.mean({}, axis=-1, keepdims=True)",
    "np.min({}, axis=0)",
]
# Of square matrices: what comes out fits both axes.
SQUARE = ["np.sum({}, axis=1)", "np.max({}, axis=-1)", "np.mean({}, axis=0)", "({}).T", "({})[:, None]", "({})[::-1]"]


pytestmark = pytest.mark.usefixtures("threads_kept")


STEPS = {
    form: function(form.format(*"abcd"[: form.count("{}")]), "abcd"[: form.count("{}")])
    for form in BINARY + UNARY + CHOICES + REDUCTIONS + SQUARE
}

LEAVES = st.sampled_from(["x", "y", "t", "2.5", "-1.0"])
EXPRESSIONS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(BINARY), inner, inner),
        st.tuples(st.sampled_from(UNARY), inner),
        st.tuples(st.sampled_from(CHOICES), inner, inner, inner, inner),
        st.tuples(st.sampled_from(REDUCTIONS), inner),
    ),
    max_leaves=8,
)


def text_of(tree):
    return tree if isinstance(tree, str) else tree[0].format(*(f"({text_of(part)})" for part in tree[1:]))


def is_valid(tree):
    """Reversing, transposing and reductions are of arrays: of numbers NumPy has other rules."""
    if isinstance(tree, str):
        return tree in "xyt"
    arrays = [is_valid(part) for part in tree[1:]]
    if None in arrays or (tree[0] in UNARY[-2:] + REDUCTIONS and not all(arrays)):
        return None
    return any(arrays) and not tree[0].startswith(("np.sum({})", "np.max({})"))


def step_by_step(tree, values):
    if isinstance(tree, str):
        return values[tree] if tree in values else float(tree)
    return STEPS[tree[0]](*(step_by_step(part, values) for part in tree[1:]))


def bits(value):
    value = np.asarray(value)
    return value.dtype, value.shape, np.ascontiguousarray(value).tobytes()


def some(n, m, seed):
    chosen = np.random.default_rng(seed)
    x, y, t = chosen.normal(size=(n, m)), chosen.normal(size=m), chosen.normal(size=(n, 1))
    return {"x": x, "y": y, "t": t}


# spec: N7
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(EXPRESSIONS.filter(is_valid), st.sampled_from([(1, 5), (3, 700), (900, 40), (40_000, 3)]))
def test_fused_and_step_by_step(tree, sizes):
    values = some(*sizes, 3)
    fused = function(text_of(tree), "xyt")
    with np.errstate(all="ignore"):
        wanted = bits(step_by_step(tree, values))
        for threads in THREADS:
            weft.set_num_threads(threads)
            assert bits(fused(*values.values())) == wanted, (text_of(tree), threads)


MATRICES, VECTORS = st.deferred(lambda: matrices), st.deferred(lambda: vectors)
matrices = st.one_of(
    st.just("x"),
    st.tuples(st.sampled_from(BINARY[:6]), MATRICES, MATRICES | VECTORS),
    st.tuples(st.sampled_from(BINARY[:6]), st.tuples(st.just(SQUARE[4]), VECTORS), MATRICES | VECTORS),
    st.tuples(st.sampled_from([UNARY[1], SQUARE[3], SQUARE[5]]), MATRICES),
)
vectors = st.one_of(
    st.just("y"),
    st.tuples(st.sampled_from(SQUARE[:3]), MATRICES),
    st.tuples(st.sampled_from(BINARY[:6]), VECTORS, VECTORS),
    st.tuples(st.sampled_from([UNARY[1], SQUARE[5]]), VECTORS),
)


# spec: N7, N6
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(MATRICES, st.sampled_from([95, 128, 300]))
def test_axes_of_one_size_are_not_mixed_up(tree, n):
    values = some(n, n, 3) | {"x": np.random.default_rng(n).uniform(-2, 2, size=(n, n))}
    fused = function(text_of(tree), "xyt")
    with np.errstate(all="ignore"):
        wanted = bits(step_by_step(tree, values))
        assert bits(fused(*values.values())) == wanted, text_of(tree)


UPDATES = {
    "a sum": ("r{n} = 0.0", "r{n} += {e}", "r{n}"),
    "a product": ("r{n} = 1.0", "r{n} *= 1.0 + {e} / 1e6", "r{n}"),
    "the greatest": ("r{n} = -1e300", "r{n} = max(r{n}, {e})", "r{n}"),
    "the least, and where": (
        "r{n}, at{n} = 1e300, -1",
        "v{n} = {e}\n    if v{n} < r{n}:\n        r{n}, at{n} = v{n}, i",
        "r{n}, at{n}",
    ),
    "by label": ("r{n} = np.zeros(7)", "r{n}[k[i] % 7] += {e}", "r{n}"),
    "the greatest by label": ("r{n} = np.zeros(7)", "r{n}[k[i] % 7] = max(r{n}[k[i] % 7], {e})", "r{n}"),
    "rows": ("r{n} = np.zeros(x.shape[1])", "r{n} += x[i] * {e}", "r{n}"),
    "rows by label": ("r{n} = np.zeros((5, x.shape[1]))", "r{n}[k[i] % 5] -= x[i] + {e}", "r{n}"),
    "an array": ("r{n} = np.zeros(len(x))", "r{n}[i] = {e}", "r{n}"),
}
TERMS = ["x[i, 0]", "np.sum(x[i])", "math.sin(x[i, -1]) * i", "np.max(x[i] * y)", "float(k[i])"]


# spec: N14
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(
    st.lists(st.tuples(st.sampled_from(sorted(UPDATES)), st.sampled_from(TERMS)), min_size=1, max_size=3, unique=True),
    st.sampled_from([0, 1, 255, 300, 5000]),
)
def test_loops_on_any_number_of_threads(updates, n):
    lines = [[line.format(e=term, n=n) for line in UPDATES[kind]] for n, (kind, term) in enumerate(updates)]
    before, inside, after = zip(*lines, strict=True)
    body = [*before, "for i in prange(len(x)):", *(f"    {line}" for line in inside)]
    f = function(", ".join(after), "xyk", "\n".join(body))
    values = some(n, 6, n)
    k = np.random.default_rng(n).integers(0, 1000, n)
    found = set()
    for threads in THREADS:
        weft.set_num_threads(threads)
        result = f(values["x"], values["y"], k)
        parts = result if isinstance(result, tuple) else (result,)
        found.add(tuple(map(bits, parts)))
        # The rounding of sums differs from Python's order.
        wanted = f.py_func(values["x"], values["y"], k)
        wanted = wanted if isinstance(wanted, tuple) else (wanted,)
        for got, want in zip(parts, wanted, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9)
    assert len(found) == 1, body
