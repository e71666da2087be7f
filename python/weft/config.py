"""The settings of Weft: one module, and one environment variable for each.

    weft.config.num_threads = 4          # or WEFT_NUM_THREADS=4 in the environment

Assignments are checked: an unknown name or a value of the wrong kind raises at once. What is assigned here wins over
the environment. These variables only matter before devices are first looked for, and have no attribute here:
`WEFT_OPENCL_LIB` (an OpenCL library to try first), `WEFT_OPENCL_DIR` (folders to look for OpenCL drivers in),
`WEFT_LIBDEVICE` (NVIDIA's `libdevice.10.bc`), `WEFT_NULL_DEVICE=1` (list the null device, which runs nothing).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

from weft import _core

device: str
num_threads: int
verify: bool
offload_conflict: str
memory_limit: int | None


class Setting(NamedTuple):
    """One setting: its variable, its default, and how text and values become it."""

    env: str
    default: Any
    read: Callable[[str], Any]
    check: Callable[[Any], Any]
    apply: Callable[[Any], None]
    doc: str


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected a string, not {type(value).__name__}")
    return value


def _positive(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"expected an int, not {type(value).__name__}")
    if value < 1:
        raise ValueError(f"expected a positive number, not {value}")
    return value


_UNITS = {"": 1, "K": 1000, "M": 1000**2, "G": 1000**3, "T": 1000**4}
_UNITS |= {f"{unit}i": 1024**power for power, unit in enumerate("KMGT", start=1)}


def _size(value: Any) -> int | None:
    """Bytes, as an int or as text: 4096, "512MB", "4 GiB". None is no limit."""
    if value is None:
        return None
    if isinstance(value, str):
        text = value.strip().removesuffix("B").removesuffix("b").strip()
        number = text.rstrip("KMGTi").strip()
        unit = _UNITS.get(text[len(number) :].strip())
        try:
            value = int(float(number) * unit) if unit else -1
        except (ValueError, OverflowError):
            value = -1
        if value < 1:
            raise ValueError(f"expected a number of bytes such as 4096, '512MB' or '4GiB', not {text!r}")
    return _positive(value)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"expected a bool, not {type(value).__name__}")
    return value


def _read_flag(text: str) -> bool:
    return text not in ("", "0")


def _one_of(*choices: str) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        if value not in choices:
            raise ValueError(f"expected one of {', '.join(map(repr, choices))}, not {value!r}")
        return str(value)

    return check


SETTINGS: dict[str, Setting] = {
    "device": Setting(
        "WEFT_DEVICE",
        "",
        str,
        _text,
        _core.set_default_device,
        "A filter string: the device for new arrays where nothing else names one. Empty: the first GPU, else native.",
    ),
    "num_threads": Setting(
        "WEFT_NUM_THREADS",
        None,
        int,
        _positive,
        _core.set_num_threads,
        "Threads of the native pool, the caller's included. Default: the cores this process may use.",
    ),
    "verify": Setting(
        "WEFT_VERIFY",
        False,
        _read_flag,
        _flag,
        _core.set_verify,
        "Check every invariant of the IR after each pass, not only its structure.",
    ),
    "optimise": Setting(
        "WEFT_OPTIMISE",
        True,
        _read_flag,
        _flag,
        _core.set_optimise,
        "Optimise native code. Without, code is made sooner and runs slower: for tests of many small programs.",
    ),
    "offload_conflict": Setting(
        "WEFT_OFFLOAD_CONFLICT",
        "error",
        str,
        _one_of("error", "ignore", "host"),
        _core.set_offload_conflict,
        "What a device context does to a function with parallel=False: raise, offload anyway, or stay on the host.",
    ),
    "memory_limit": Setting(
        "WEFT_MEMORY_LIMIT",
        None,
        str,
        _size,
        _core.set_memory_limit,
        "Most bytes that the pools of each device, and of the host, may hold: an int, or text such as '4GB', '512MiB'.",
    ),
}


class _Config(ModuleType):
    """A module whose attributes are checked when assigned."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            super().__setattr__(name, value)
            return
        setting = SETTINGS.get(name)
        if setting is None:
            raise AttributeError(f"weft.config has no setting {name!r}; it has {', '.join(SETTINGS)}")
        try:
            value = setting.check(value)
        except (TypeError, ValueError) as error:
            raise type(error)(f"weft.config.{name}: {error}") from None
        setting.apply(value)
        super().__setattr__(name, value)


def _start() -> None:
    """Takes the environment; a value that cannot be read is refused by the name of its variable."""
    values = vars(sys.modules[__name__])
    for name, setting in SETTINGS.items():
        value = setting.default
        text = os.environ.get(setting.env)
        if text:
            try:
                value = setting.check(setting.read(text))
            except (TypeError, ValueError) as error:
                raise ValueError(f"{setting.env}={text!r}: {error}") from None
            setting.apply(value)
        elif name == "num_threads":
            value = _core.num_threads()
        values[name] = value
    sys.modules[__name__].__class__ = _Config


_start()
