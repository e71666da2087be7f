"""What the runtime costs on every device there is: launches, waits, allocations; and memory over many cycles."""

import resource

import weft
from measure import Result, result, turns
from weft import tensor

CALLS = 500
ROUNDS = 21
CYCLES = 20_000


@weft.kernel
def nothing(a, b, c):
    i = weft.get_global_id(0)
    if i < 0:
        c[i] = a[i] + b[i]


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

    contenders = {
        "launch of a kernel with three arrays": lambda: launch(a, b, c),
        "launch and wait": wait,
        "1 MiB from the pool and back": lambda: weft.memory.DeviceMemory(1 << 20, queue=queue),
    }
    samples = turns(contenders, ROUNDS, CALLS)
    rows = [result(f"{place}: {name}", "µs", samples[name], 1e6) for name in contenders]

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(CYCLES):
        memory = weft.memory.DeviceMemory(4096, queue=queue)
        launch(a, b, c)
        del memory
    queue.wait()
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    rows.append(result(f"{place}: memory grown over {CYCLES:,} allocate, launch, free", "KiB", [float(grown)]))
    return rows
