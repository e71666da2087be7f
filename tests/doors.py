"""One program through any of the three doors: expressions over arrays, as text, run where a test says.

Each door takes expressions of named arrays and returns what NumPy would. `njit` returns them as a tuple, `kernel` has
one work-item store each of them into an array of its own, `tensor` records them over tensors.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import weft

Arrays = dict[str, np.ndarray]


def plain(expressions: Sequence[str], arrays: Arrays) -> tuple[Any, ...]:
    """What NumPy computes."""
    with np.errstate(all="ignore"):
        return tuple(eval(e, {"np": np} | arrays) for e in expressions)


def function(text: str, name: str, decorator: Callable[..., Any]) -> Any:
    """The function that `text` defines, decorated; `np` and `weft` are its globals."""
    scope: dict[str, Any] = {"np": np, "weft": weft, "__name__": "program"}
    exec(text, scope)
    return decorator(scope[name], source=text)


def jitted(expressions: Sequence[str], names: Sequence[str]) -> Any:
    """`def f(x, y): return (e0, e1, …)`, compiled."""
    return function(f"def f({', '.join(names)}):\n    return {', '.join(expressions)},\n", "f", weft.njit)


def kernelised(expressions: Sequence[str], ranks: dict[str, int], rank: int) -> Any:
    """A kernel of `rank` dimensions; arrays of a lower rank are indexed by the last of its indices."""
    ids = [f"i{d}" for d in range(rank)]
    outs = [f"out{k}" for k in range(len(expressions))]
    lines = [f"def f({', '.join([f'{n}_' for n in ranks] + outs)}):"]
    lines += [f"{i} = weft.get_global_id({d})" for d, i in enumerate(ids)]
    lines += [f"{n} = {n}_[{', '.join(ids[rank - r :])}]" for n, r in ranks.items()]
    lines += [f"{o}[{', '.join(ids)}] = {e}" for o, e in zip(outs, expressions)]
    return function("\n    ".join(lines) + "\n", "f", weft.kernel)


def njit(expressions: Sequence[str], arrays: Arrays, device: str) -> tuple[Any, ...]:
    """Through `@weft.njit`, inside a device context."""
    f = jitted(expressions, list(arrays))
    with weft.device_context(device):
        return f(*arrays.values())


def kernel(expressions: Sequence[str], arrays: Arrays, device: str) -> tuple[Any, ...]:
    """Through `@weft.kernel`, one work-item for each element; inside a device context."""
    expected = plain(expressions, arrays)
    shape = np.broadcast_shapes(*(x.shape for x in arrays.values()))
    f = kernelised(expressions, {n: x.ndim for n, x in arrays.items()}, len(shape))
    outs = tuple(np.empty_like(e) for e in expected)
    with weft.device_context(device):
        f[shape](*arrays.values(), *outs)
    return outs


def tensor(expressions: Sequence[str], arrays: Arrays, device: str) -> tuple[Any, ...]:
    """Through `weft.tensor`."""
    tensors = {n: weft.tensor.asarray(x, device=device) for n, x in arrays.items()}
    return tuple(weft.tensor.asnumpy(eval(e, {"np": weft.tensor} | tensors)) for e in expressions)


DOORS = {"njit": njit, "kernel": kernel, "tensor": tensor}
