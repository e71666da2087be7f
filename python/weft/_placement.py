"""Where calls run: the devices there are, how one is chosen, and device contexts."""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar
from typing import Any

from weft import _core
from weft._scopes import Scope, Variable
from weft._tables import Devices
from weft.errors import DeviceError

_current: ContextVar[_core.Queue | None] = ContextVar("weft.device_context", default=None)
_core.set_context_variable(_current)

_by_context: ContextVar[bool] = ContextVar("weft.placement", default=False)
_core.set_placement_variable(_by_context)


class device_context(Scope["_core.Queue | None"]):
    """`with weft.device_context(where):` offloads jitted calls on NumPy arrays to a device.

    `where` is a filter string (`"cuda"`, `"opencl:cpu:0"`), a `Device` or a `Queue`. Contexts nest; the innermost wins,
    for this thread and this async task only. A generator that is suspended inside one leaves it open for its caller.
    """

    _variable = Variable(_current, None)

    def __init__(self, where: str | _core.Device | _core.Queue) -> None:
        self.queue = self._value = _core.queue_of(where)

    def __enter__(self) -> _core.Queue:
        _core.context_opened()
        self._enter()
        return self.queue

    def __repr__(self) -> str:
        return f"weft.device_context({self.queue.device.filter_string!r})"


class placement(Scope[bool]):
    """`with weft.placement("context"):` lets arrays meet that share a context, though not a queue.

    A call, a launch or a tensor operation then runs on the queue of its first array argument, which reads the others
    where they are. `"queue"`, the rule everywhere else, refuses them. For this thread and this async task only.
    """

    _variable = Variable(_by_context, False)

    def __init__(self, rule: str) -> None:
        if rule not in ("queue", "context"):
            raise ValueError(f'a placement rule is "queue" or "context", not {rule!r}')
        self.rule = rule
        self._value = rule == "context"

    def __enter__(self) -> placement:
        self._enter()
        return self

    def __repr__(self) -> str:
        return f"weft.placement({self.rule!r})"


def current_queue() -> _core.Queue | None:
    """The queue of the innermost open device context, or None."""
    return _current.get()


def default_device() -> _core.Device:
    """The device for new arrays where nothing names one: `weft.config.device`, else the first GPU, else native."""
    return _core.Device()


BACKENDS = ("native", "cuda", "opencl", "null", "level_zero")
TYPES = ("cpu", "gpu", "accelerator")


def devices(backend: str | None = None, type: str | None = None) -> list[_core.Device]:
    """Every device found: native, then CUDA, then OpenCL. With a backend or a type, those only.

    The first may also be a type or several parts of a filter string: `devices("gpu")`, `devices("opencl:cpu")`. The
    list shows itself as a table.
    """
    found = _core.devices()
    for part in [part.strip().lower() for text in (backend, type) if text is not None for part in text.split(":")]:
        if part in BACKENDS:
            found = [d for d in found if d.backend == part]
        elif part in TYPES:
            found = [d for d in found if d.device_type == part]
        elif part.isdigit():
            found = [d for d in found if d.index == int(part)]
        elif part not in ("", "all", "default"):
            _core.Device(part)  # says what is wrong with it
    return Devices(found)


def _aspects(names: str | Iterable[str]) -> list[str]:
    """Names of aspects; one that there is not is refused."""
    known = [name.removeprefix("has_aspect_") for name in dir(_core.Device) if name.startswith("has_aspect_")]
    wanted = [names] if isinstance(names, str) else list(names)
    for name in wanted:
        if name not in known:
            from difflib import get_close_matches

            near = get_close_matches(str(name), known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
            raise ValueError(f"{name!r} is no aspect of a device; {hint}")
    return wanted


def select_device(
    *filters: str | _core.Device | _core.Queue,
    aspects: str | Iterable[str] = (),
    excluded_aspects: str | Iterable[str] = (),
) -> _core.Device:
    """The best device that a filter names and that has all `aspects` and none of `excluded_aspects`.

    The first filter that such a device answers to wins; without filters, any device may be the answer: the default one
    before others, and GPUs before CPUs. Aspects are the names of the `has_aspect_…` properties: "gpu", "fp64",
    "usm_shared_allocations".
    """
    wanted, unwanted = _aspects(aspects), _aspects(excluded_aspects)

    def misses(device: _core.Device) -> str:
        has = set(device.aspects)
        lacks = [f"has no {name}" for name in wanted if name not in has]
        return ", ".join(lacks + [f"has {name}" for name in unwanted if name in has])

    if filters:
        looked_at = []
        for filter in filters:
            looked_at += _answers(filter)
        if not looked_at:
            asked = ",".join(str(f) for f in filters)
            return _core.Device(asked)  # the refusal, with the nearest devices
    else:
        looked_at = [default_device(), *sorted(_core.devices(), key=lambda d: -d.default_selector_score)]
    for device in looked_at:
        if not misses(device):
            return device
    reasons = dict.fromkeys(f"{device.filter_string} {misses(device)}" for device in looked_at)
    raise DeviceError(f"no device is what was asked for: {'; '.join(reasons)}")


def _answers(filter: str | _core.Device | _core.Queue) -> list[_core.Device]:
    """The devices that a filter names, best first."""
    if not isinstance(filter, str):
        return [_core.Device(filter)]
    found: list[_core.Device] = []
    for text in filter.split(","):
        parts = text.strip().split(":")
        if any(part[:1].isdigit() for part in parts) or text.strip() in ("", "default"):
            try:
                found.append(_core.Device(text))
            except DeviceError as error:
                if not str(error).startswith("no device matches"):
                    raise
        else:
            found += sorted(devices(text), key=lambda d: -d.default_selector_score)
    return found


def work_item(name: str) -> Any:
    """A function that only means something inside a kernel."""

    def outside(dimension: int = 0) -> int:
        raise RuntimeError(f"weft.{name} is the place of a work-item: it can only be called inside a @weft.kernel")

    outside.__name__ = outside.__qualname__ = name
    outside.__doc__ = f"Inside a kernel: `{name}(d)` along dimension `d` of the launch."
    return outside


get_global_id = work_item("get_global_id")
get_global_size = work_item("get_global_size")
