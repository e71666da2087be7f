"""`if x` of an array: its one element decides, and any other number of elements is an error."""

import pytest

import numpy as np
import weft


def truth(x):
    return 1 if x else 2


def not_truth(x):
    return not x


def while_truth(x):
    turns = 0
    while x:
        x -= 1
        turns += 1
    return turns


# spec: N2
@pytest.mark.parametrize("function", [truth, not_truth, while_truth])
@pytest.mark.parametrize(
    "x",
    [
        np.array([3]),
        np.array([0]),
        np.array(2),
        np.array(0),
        np.array([[5]]),
        np.zeros(0),
        np.zeros((0, 1)),
        np.ones(2),
    ],
    ids=repr,
)
def test_the_truth_of_arrays_is_that_of_their_one_element(function, x):
    outcomes = []
    for f in (function, weft.njit(function)):
        try:
            outcomes.append(f(x.copy()))
        except ValueError as e:
            outcomes.append(str(e))
    assert outcomes[0] == outcomes[1]


# spec: N2
def test_the_truth_of_nan_and_of_complex_arrays():
    compiled = weft.njit(truth)
    for x in (np.array([np.nan]), np.array([1j]), np.array([0j]), np.array([False]), np.array([-0.0])):
        assert compiled(x) == truth(x)
