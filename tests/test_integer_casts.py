"""Chains of casts between integer types, and operators on what comes out, through both doors and on every device."""

import itertools

import pytest

import numpy as np
from doors import DOORS, plain

INTEGERS = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
OPERATORS = "+-*&|^"
EDGES = [0, 1, -1, 127, 128, -129, 255, 256, 32768, -32769, 65535, 65536, 2**31 - 1, 2**31, 2**32, 2**40 + 300]
# Few programs, each with as many results as a driver takes as arguments of one.
AT_ONCE = 27


def casts(dtype):
    return [f"x.astype(np.{a}).astype(np.{b})" for a, b in itertools.product(INTEGERS, INTEGERS) if a != dtype]


def operations(dtype):
    """Every operator between every two types, in turn: all of them from int64, one for each pair from others."""
    found = []
    for k, (a, b) in enumerate(itertools.product(INTEGERS, INTEGERS)):
        for op in OPERATORS if dtype == "int64" else OPERATORS[k % len(OPERATORS)]:
            if not ((op == "-" and a == b == "bool") or (op in "&|^" and np.result_type(a, b).kind == "f")):
                found.append(f"x.astype(np.{a}) {op} x.astype(np.{b})")
    return found


def check(expressions, dtype, door, device):
    arrays = {"x": np.array(EDGES, np.int64).astype(dtype)}
    for first in range(0, len(expressions), AT_ONCE):
        some = expressions[first : first + AT_ONCE]
        for expression, have, want in zip(some, DOORS[door](some, arrays, device), plain(some, arrays)):
            assert have.dtype == want.dtype and np.array_equal(have, want), (dtype, expression, have, want)


# spec: K5
@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("door", ["njit", "kernel"])
def test_a_cast_after_a_cast(device, dtype, door):
    check(casts(dtype), dtype, door, device)


# spec: K5
@pytest.mark.parametrize("dtype", ["int64", "uint64", "int32", "int16"])
def test_operators_on_casts(device, dtype):
    check(operations(dtype), dtype, "kernel", device)


# spec: K5
def test_casts_of_floats_and_three_in_a_row(device):
    some = [f"x.astype(np.{a}).astype(np.{b})" for a, b in itertools.product(INTEGERS[1:5], INTEGERS[3:])]
    for dtype in ("float32", "float64"):
        arrays = {"x": np.array([0, 1, 100, 127, -1, -128], dtype)}
        narrow = [e for e in some if "np.uint" not in e.split(").")[0]]
        for have, want in zip(DOORS["kernel"](narrow, arrays, device), plain(narrow, arrays)):
            assert np.array_equal(have, want)
    chains = [
        f"x.astype(np.{a}).astype(np.{b}).astype(np.{c})"
        for a, b, c in itertools.product(["int8", "uint8", "uint16"], ["int16", "uint32"], ["uint8", "int32", "uint64"])
    ]
    check(chains, "int64", "kernel", device)
