"""What the runtime costs on every device there is: launches, waits, allocations; and memory over many cycles.

A launch from Python is compared with the driver's own `cuLaunchKernel` in a loop of machine code, turn by turn. Peers
run in turns with it where they are installed. Each turn starts with nothing pending, and is short enough that no queue
is full.
"""

import random
import resource
import timeit
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import weft
from measure import Result, result
from runtime_peers import peers
from weft import _core, tensor

CALLS = 200
ROUNDS = 51
CYCLES = 20_000
MIB = 1 << 20

# The least that a kernel with three arrays can be.
EMPTY_PTX = """
.version 7.0
.target sm_52
.address_size 64
.visible .entry nothing(.param .u64 a, .param .u64 b, .param .u64 c) { ret; }
"""


@weft.kernel
def nothing(a, b, c):
    i = weft.get_global_id(0)
    if i < 0:
        c[i] = a[i] + b[i]


class Contender(NamedTuple):
    """`seconds(calls)` is how long one call takes on average; `settle` ends what it left pending."""

    seconds: Callable[[int], float]
    settle: Callable[[], Any]


def in_python(call: Callable[..., Any], arguments: tuple[Any, ...], settle: Callable[[], Any]) -> Contender:
    """Calls from a Python loop, by the clock: all of them are work of this thread."""
    names = {f"a{i}": argument for i, argument in enumerate(arguments)}
    # The loop of timeit has nothing but the call in it.
    timer = timeit.Timer(f"call({', '.join(names)})", globals={"call": call} | names)
    return Contender(lambda calls: timer.timeit(calls) / calls, settle)


def turns(contenders: dict[str, Contender]) -> dict[str, list[float]]:
    """Times of each contender, one for each round; the order changes from round to round."""
    samples: dict[str, list[float]] = {name: [] for name in contenders}
    for contender in contenders.values():
        contender.seconds(3)  # compiles, and fills caches
        contender.settle()
    order = list(contenders)
    for _ in range(ROUNDS):
        random.shuffle(order)
        for name in order:
            samples[name].append(contenders[name].seconds(CALLS))
            contenders[name].settle()
    return samples


def run() -> list[Result]:
    return [row for device in weft.devices() for row in of(device)]


def of(device: weft.Device) -> list[Result]:
    """The figures of one device."""
    place = device.filter_string
    queue = weft.Queue(place)
    a, b, c = (tensor.ones(64, queue=queue) for _ in range(3))
    launch = nothing[64]

    def wait() -> None:
        launch(a, b, c)
        queue.wait()

    ours = "launch of a kernel with three arrays, from Python"
    drivers = "cuLaunchKernel with three arrays, in a loop of machine code"
    native_pool = "1 MiB from the pool and back, in a loop of machine code"
    contenders = {
        ours: in_python(launch, (a, b, c), queue.wait),
        "launch and wait": in_python(wait, (), queue.wait),
        "1 MiB from the pool and back, from Python": in_python(
            partial(weft.memory.DeviceMemory, queue=queue), (MIB,), queue.wait
        ),
        native_pool: Contender(lambda calls: _core._pool_seconds(queue, MIB, calls), queue.wait),
    }
    if device.backend == "cuda":
        program = weft.program.create_program_from_ptx(queue, EMPTY_PTX)
        kernel = program.get_kernel("nothing")
        contenders[drivers] = Contender(
            lambda calls: kernel._driver_launch_seconds(64, (a, b, c), calls) or 0.0, queue.wait
        )
        contenders["launch of a PTX kernel with three arrays, with its event, from Python"] = in_python(
            kernel.launch, (64, (a, b, c)), queue.wait
        )
        contenders |= {name: in_python(*peer) for name, peer in peers()}
    samples = turns(contenders)
    rows = []
    for name, times in samples.items():
        budget = {"at_most": 0.5} if name == native_pool else {}
        rows.append(result(f"{place}: {name}", "µs", times, 1e6, **budget))
    if drivers in samples:
        beyond = [mine - bare for mine, bare in zip(samples[ours], samples[drivers])]
        rows.append(result(f"{place}: launch from Python beyond cuLaunchKernel", "µs", beyond, 1e6, at_most=1.5))

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(CYCLES):
        memory = weft.memory.DeviceMemory(4096, queue=queue)
        launch(a, b, c)
        del memory
    queue.wait()
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    rows.append(result(f"{place}: memory grown over {CYCLES:,} allocate, launch, free", "KiB", [float(grown)]))
    return rows


if __name__ == "__main__":
    from measure import table

    print(table(run()))
