"""How long `import weft` takes in a process that has NumPy."""

from measure import Result, collect, in_fresh_process, result

PROCESSES = 10
SCRIPT = """
import json, time
import numpy
wall, cpu = time.perf_counter(), time.process_time()
import weft
print(json.dumps({"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}))
"""


def run() -> list[Result]:
    in_fresh_process(SCRIPT)  # writes the .pyc files, and brings the extension into the page cache
    samples = collect([in_fresh_process(SCRIPT) for _ in range(PROCESSES)])
    return [
        result("import weft", "ms", samples["cpu"], 1e3, at_most=30),
        result("import weft, by the clock", "ms", samples["wall"], 1e3),
    ]
