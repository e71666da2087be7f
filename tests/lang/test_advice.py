"""What messages advise is true: other words for a NumPy function compute the same, and no name means something else."""

import re

import pytest

import numpy as np
import weft
from support import function, same

X = np.array([0.5, np.nan, -2.0, 3.0])
MATRIX = np.array([[1.0, 2.0, np.nan], [0.25, -1.0, 4.0]])


def refusal(name):
    """The message about a function of NumPy that is not there yet, or None."""
    compiled = weft.njit(function(f"np.{name}(x)", ["x"]))
    try:
        compiled(X)
    except weft.UnsupportedError as error:
        return str(error)
    except Exception:
        pass
    return None


def functions():
    return [
        name
        for name in sorted(set(dir(np)))
        if not name.startswith("_") and callable(getattr(np, name)) and not isinstance(getattr(np, name), type)
    ]


# spec: N3
def test_other_words_for_a_function_compute_the_same():
    advised = {}
    for name in functions():
        text = refusal(name) or ""
        if found := re.search(r"write `(.*)`, where", text):
            advised[name] = found[1]
        # Other functions are named nowhere.
        assert not re.search(r"help: `np\.", text), text
    assert len(advised) > 10
    for name, words in advised.items():
        compiled = weft.njit(function(words, ["x"]))
        for x in (X, MATRIX) if "cum" not in name else (X,):
            same(compiled(x), getattr(np, name)(x))


# spec: N3
@pytest.mark.parametrize(
    ("wrong", "advice"),
    [
        ("np.meen(x)", "mean"),
        ("np.apend(x, 1)", "append"),
        ("np.int(3)", "int"),
        ("np.sni(x)", "sin"),
        ("np.shift(x)", None),
    ],
)
def test_names_are_advised_for_slips_alone(wrong, advice):
    with pytest.raises(AttributeError) as raised:
        weft.njit(function(wrong, ["x"]))(X)
    found = re.search(r"did you mean `(.*)`", str(raised.value))
    assert (found and found[1]) == advice
