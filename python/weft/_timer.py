"""Timing what a queue does, on the host and on the device."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import NamedTuple

from weft._core import Event, Queue


class Durations(NamedTuple):
    """How long timed blocks took: `(host_dt, device_dt)`."""

    host_dt: float
    device_dt: float


class Timer:
    """Measures blocks of work on a queue that was made with `profiling=True`.

        timer = weft.Timer()
        with timer(queue):
            y = weft.tensor.sin(x)
        host_dt, device_dt = timer.dt

    What tensors have recorded on the queue runs at entry, so that it is not measured, and at exit, so that it is. The
    device's time is from the end of what was submitted before the block to the end of what the block submitted. The
    host's is that of the block itself, which need not wait for the device. Several blocks add up. `dt` waits for them.

    `host_timer` is a clock in seconds, `device_timer` is `"queue_barrier"` (the one way there is), and times are
    multiplied by `time_scale`: 1000 for milliseconds.
    """

    def __init__(
        self,
        host_timer: Callable[[], float] = time.perf_counter,
        device_timer: str | None = None,
        time_scale: float = 1,
    ) -> None:
        if not callable(host_timer):
            raise TypeError(f"host_timer is a function that returns seconds, not {type(host_timer).__name__}")
        if device_timer not in (None, "queue_barrier", "order_manager"):
            raise ValueError(f'device_timer is "queue_barrier", not {device_timer!r}')
        self.timer = host_timer
        self.time_scale = time_scale
        self._host: list[float] = []
        self._device: list[tuple[Event, Event]] = []

    def __call__(self, queue: Queue) -> _Block:
        if not isinstance(queue, Queue):
            raise TypeError(f"a timer measures a weft.Queue, not {type(queue).__name__}")
        if not queue.has_profiling:
            raise ValueError(
                f"{queue!r} has no device times: make it with weft.Queue(where, profiling=True), and move arrays there "
                "with x.to_device(queue), which copies nothing"
            )
        return _Block(self, queue)

    @property
    def dt(self) -> Durations:
        """Seconds on the host and on the device, times `time_scale`, of all blocks so far."""
        device = 0
        for start, end in self._device:
            device += max(0, end.profiling_info_start - start.profiling_info_end)
        return Durations(sum(self._host) * self.time_scale, device * 1e-9 * self.time_scale)


class _Block:
    """One timed block."""

    def __init__(self, timer: Timer, queue: Queue) -> None:
        self._timer = timer
        self._queue = queue
        self._open: list[tuple[Event, float]] = []

    def __enter__(self) -> Timer:
        # A barrier runs what is recorded first.
        start = self._queue.barrier()
        self._open.append((start, self._timer.timer()))
        return self._timer

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        start, began = self._open.pop()
        end = self._queue.barrier()
        self._timer._host.append(self._timer.timer() - began)
        self._timer._device.append((start, end))
