"""Every function of the corpus, compiled, against itself in CPython with NumPy.

Both get arguments of their own from the same maker. Compared are the result (type, dtype, shape, value), what became of
the arguments, and the exception with its message.
"""

import importlib
import math
from pathlib import Path
from typing import Any

import pytest
from _case import CASES, Case

import numpy as np
import weft

for _path in sorted(Path(__file__).parent.glob("corpus_*.py")):
    importlib.import_module(_path.stem)

# A function of the corpus is a long chain of roundings, some of them of transcendental functions, so these are wider
# than the ulps that hold for a single operation.
TOLERANCE = {"double": 1e-12, "single": 1e-5, "half": 1e-2}


# Functions with a number that is a Python float where a loop never ran and NumPy's where it did: compiled code gives
# the common type, np.float64, on both paths (V2 of docs/deviations.md).
JOINED = {
    "monte_carlo_european",
    "drawdowns",
    "kruskal",
    "prim_dense",
    "clustering_coefficients",
    "normal_tail",
    "kalman_track",
    "burgers",
}

# Functions that are refused, why, and what the message says to do (V13 of docs/deviations.md).
REFUSED = {
    "pairs_trading": ("returns tuple(exits), a tuple as long as a list", "or keep it a list"),
    "delaunay": ("compares tuple(row), a tuple as long as an array's row", "or keep it a list or an array"),
    "halton_box": ("loops over primes[:dims], a tuple cut at an argument", "= help: use an array"),
    "vegas": ("calls integrand(*at), with as many arguments as a list has items", "write the items out"),
}


def _precision(dtype: np.dtype) -> str:
    return {2: "half", 4: "single"}.get(np.empty(0, dtype).real.itemsize, "double")


def _coarsest(values: Any) -> str:
    """The least precise floating-point type among the arguments: Python floats computed from it are no better."""
    if isinstance(values, tuple | list):
        found = {_coarsest(value) for value in values}
        return next((name for name in ("half", "single") if name in found), "double")
    if isinstance(values, np.ndarray | np.generic) and values.dtype.kind in "fc":
        return _precision(values.dtype)
    return "double"


def _scalar_close(ours: complex, theirs: complex, rtol: float) -> bool:
    if isinstance(theirs, complex):
        scale = abs(theirs)
        return _real_close(ours.real, theirs.real, rtol, scale) and _real_close(ours.imag, theirs.imag, rtol, scale)
    return _real_close(ours, theirs, rtol, abs(theirs))


def _real_close(ours: float, theirs: float, rtol: float, scale: float) -> bool:
    if math.isnan(theirs):
        return math.isnan(ours)
    if math.isinf(theirs):
        return ours == theirs
    # What is left of a cancellation has no correct digits: below the rounding of numbers about one, all is zero.
    return abs(ours - theirs) <= rtol * (scale if math.isfinite(scale) else 0.0) + rtol * 1e-3


def _array_close(ours: np.ndarray, theirs: np.ndarray, rtol: float) -> None:
    # An element that is nearly zero beside large ones is what a cancellation left: measure it by the largest.
    finite = np.abs(theirs[np.isfinite(theirs)])
    scale = float(finite.max()) if finite.size else 0.0
    np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=rtol * 1e-2 * max(scale, 0.1), equal_nan=True)


def agree(ours: Any, theirs: Any, coarsest: str, where: str, joined: bool = False) -> None:
    """Asserts that two values are the same: type, dtype, shape, value; `where` names the value in the message.

    Where `joined`, np.float64 may stand for a Python float.
    """
    if joined and type(ours) is np.float64 and type(theirs) is float:
        ours = float(ours)
    assert type(ours) is type(theirs), f"{where}: {type(ours)} is not {type(theirs)}"
    if isinstance(theirs, tuple | list):
        assert len(ours) == len(theirs), f"{where}: {len(ours)} items, not {len(theirs)}"
        for i, (mine, other) in enumerate(zip(ours, theirs)):
            agree(mine, other, coarsest, f"{where}[{i}]", joined)
    elif isinstance(theirs, np.ndarray | np.generic):
        assert ours.dtype == theirs.dtype, f"{where}: dtype {ours.dtype} is not {theirs.dtype}"
        assert ours.shape == theirs.shape, f"{where}: shape {ours.shape} is not {theirs.shape}"
        if theirs.dtype.kind in "fc":
            single = {_precision(theirs.dtype), coarsest} & {"half", "single"}
            rtol = TOLERANCE["half" if "half" in single else "single" if single else "double"]
            _array_close(np.asarray(ours), np.asarray(theirs), rtol)
        else:
            np.testing.assert_array_equal(ours, theirs, err_msg=where)
    elif isinstance(theirs, float | complex):
        assert _scalar_close(ours, theirs, TOLERANCE[coarsest]), f"{where}: {ours!r} is not {theirs!r}"
    elif callable(theirs):
        pass
    else:
        assert ours == theirs, f"{where}: {ours!r} is not {theirs!r}"


def outcome(function: Any, arguments: tuple[Any, ...]) -> tuple[Any, BaseException | None]:
    """What a call returned, and what it raised."""
    try:
        return function(*arguments), None
    except Exception as error:
        return None, error


def _calls() -> list[Any]:
    """Every call of every function that compiles."""
    return [
        pytest.param(case, i, id=f"{case.function.__module__.removeprefix('corpus_')}-{case.function.__name__}-{i}")
        for case in CASES
        if case.function.__name__ not in REFUSED
        for i in range(len(case.makers))
    ]


# spec: N1, N2, N3, N9, N10
@pytest.mark.parametrize(("case", "index"), _calls())
def test_as_in_cpython(case: Case, index: int) -> None:
    for_python, for_weft = case.makers[index](), case.makers[index]()
    coarsest = _coarsest(for_python)
    with np.errstate(all="ignore"):
        expected, error = outcome(case.function, for_python)
    if error is not None:
        assert case.raises is not None and isinstance(error, case.raises), f"not a case of the corpus: {error!r}"
    result, raised = outcome(weft.njit(case.function), for_weft)
    if error is None and raised is not None:
        raise raised
    assert type(raised) is type(error), f"{raised!r} is not {error!r}"
    assert str(raised) == str(error)
    agree(result, expected, coarsest, "result", joined=case.function.__name__ in JOINED)
    agree(for_weft, for_python, coarsest, "arguments")


# spec: G2
@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_the_line_and_a_way_out(name: str) -> None:
    [case] = [case for case in CASES if case.function.__name__ == name]
    with pytest.raises(weft.UnsupportedError) as caught:
        weft.njit(case.function)(*case.makers[0]())
    message, (_, help_text) = str(caught.value), REFUSED[name]
    file = case.function.__code__.co_filename
    assert f"--> {file}:" in message and "^" in message and help_text in message, message


def test_exceptions_to_the_rule_are_few() -> None:
    """Those that are refused or joined are there, and something of each that is joined does differ."""
    names = {case.function.__name__: case for case in CASES}
    assert REFUSED.keys() | JOINED <= names.keys() and len(REFUSED) <= 5
    for name in JOINED:
        differs = False
        for maker in names[name].makers:
            with np.errstate(all="ignore"):
                theirs, error = outcome(names[name].function, maker())
            ours, _ = outcome(weft.njit(names[name].function), maker())
            differs |= error is None and [type(v) for v in ours] != [type(v) for v in theirs]
        assert differs, f"{name} agrees now: take it off the list"


@pytest.mark.parametrize("case", [case for case in CASES if case.raises], ids=lambda case: case.function.__name__)
def test_raises_somewhere(case: Case) -> None:
    """A case that says it raises has a maker that makes it so, in CPython."""
    with np.errstate(all="ignore"):
        errors = [outcome(case.function, maker())[1] for maker in case.makers]
    assert any(isinstance(error, case.raises) for error in errors)
