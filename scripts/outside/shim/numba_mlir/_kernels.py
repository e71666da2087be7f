"""Stands for `numba_mlir.kernel`: Weft's kernels on one device, and the same functions run item by item in CPython."""

import itertools
import sys
import types

from weft_outside import Inside, NeedsInternals

import numpy as np
import weft
from weft import DEFAULT_LOCAL_SIZE, get_global_id, get_global_size

_IN_KERNELS = (
    "atomic", "kernel_func", "barrier", "mem_fence", "LOCAL_MEM_FENCE", "GLOBAL_MEM_FENCE", "local", "private", "group",
    "get_local_id", "get_group_id", "get_local_size",
)  # fmt: skip
_item = {"id": (), "size": ()}
_stand_ins = {get_global_id: lambda axis: _item["id"][axis], get_global_size: lambda axis: _item["size"][axis]}


def _sizes(sizes):
    return (sizes,) if isinstance(sizes, int) else tuple(sizes)


class Kernel:
    """A kernel, launched with a global and a local size."""

    def __init__(self, function, options=None):
        self.py_func = function
        self.kernel = weft.kernel(function)
        self.sizes = ()

    def __getitem__(self, sizes):
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        whole, *local = sizes if isinstance(sizes, tuple) else (sizes,)
        if not isinstance(whole, tuple) and isinstance(sizes, tuple) and len(sizes) != 2:
            whole, local = sizes, []
        local = _sizes(local[0]) if local else ()
        made.sizes = (_sizes(whole), local) if local else (_sizes(whole),)
        return made

    def check_call_args(self, arguments, options):
        if options:
            raise NeedsInternals("keywords of kernels")

    def __call__(self, *arguments, **options):
        self.kernel[self.sizes if len(self.sizes) == 2 else self.sizes[0]](*arguments)


class _Simulated:
    """The same function, item by item."""

    def __init__(self, function):
        self.function, self.sizes = function, ()

    def __getitem__(self, sizes):
        made = _Simulated(self.function)
        whole = sizes[0] if isinstance(sizes, tuple) and len(sizes) == 2 else sizes
        made.sizes = _sizes(whole)
        return made

    def __call__(self, *arguments):
        run = _standing_in(self.function)
        _item["size"] = self.sizes
        for place in itertools.product(*map(range, self.sizes)):
            _item["id"] = place
            with np.errstate(all="ignore"):
                run(*arguments)


def _standing_in(function):
    """A copy of a function that asks CPython which item it is."""
    names = {name: _simulated(value) for name, value in function.__globals__.items()}
    cells = tuple(types.CellType(_simulated(cell.cell_contents)) for cell in function.__closure__ or ())
    return types.FunctionType(function.__code__, names, function.__name__, function.__defaults__, cells)


def _simulated(value):
    try:
        if value in _stand_ins:
            return _stand_ins[value]
    except (TypeError, ValueError):
        return value
    return value


def kernel(function=None, **options):
    return Kernel(function, options) if function is not None else lambda function: Kernel(function, options)


KERNEL = {
    "kernel": kernel,
    "kernel_sim": _Simulated,
    "Kernel": Kernel,
    "get_global_id": get_global_id,
    "get_global_size": get_global_size,
    "DEFAULT_LOCAL_SIZE": DEFAULT_LOCAL_SIZE,
    **{name: Inside(f"kernel.{name}") for name in _IN_KERNELS},
}
KERNEL["__all__"] = list(KERNEL)


def dpctl():
    """Weft's own stand-in for `dpctl`."""
    import weft.compat.dpctl as package
    import weft.compat.dpctl.tensor as tensor

    own = types.ModuleType("dpctl.tensor")
    own.__dict__.update(tensor.__dict__)
    own.asarray = lambda value, order=None, **options: tensor.asarray(value, **options)
    outer = types.ModuleType("dpctl")
    outer.__dict__.update(package.__dict__)
    outer.tensor = own
    sys.modules.update({"dpctl": outer, "dpctl.tensor": own})
