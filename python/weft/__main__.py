"""`python -m weft devices [--all] [--json] | doctor | report MODULE:FUNCTION [--call EXPRESSION] [-o PAGE]`."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from typing import Any

import numpy
import weft
from weft import _core, _tables


def _default() -> tuple[_core.Device | None, str | None]:
    """The default device, or why there is none: a WEFT_DEVICE that names nothing must not hide what there is."""
    try:
        return weft.default_device(), None
    except weft.DeviceError as error:
        return None, f"{error} (WEFT_DEVICE)"


def _unlisted() -> list[dict[str, str]]:
    """What cannot be used, and why."""
    seen = []
    for report in _core.backend_reports():
        reasons = [report["problem"]] if report["problem"] else []
        seen += [{"backend": report["backend"], "reason": reason} for reason in [*reasons, *report["notes"]]]
    if not weft.devices("null"):
        reason = f"{_core._null_device().filter_string} runs nothing, and is listed with WEFT_NULL_DEVICE=1"
        seen.append({"backend": "null", "reason": reason})
    seen.append({"backend": "level_zero", "reason": "the name is reserved; Intel devices are reached through opencl"})
    return seen


def _json(device: _core.Device) -> dict[str, Any]:
    properties = device.get_info()
    parent = properties["parent_device"]
    return {**properties, "parent_device": parent and parent.filter_string}


def devices(arguments: list[str]) -> int:
    """A line for each device; the default one is marked. --all: every property, and what cannot be used and why."""
    every, as_json = "--all" in arguments, "--json" in arguments
    default, problem = _default()
    found = weft.devices()
    if as_json:
        listed: dict[str, Any] = {
            "default": default.filter_string if default else None,
            "devices": [_json(device) for device in found],
        }
        if every:
            listed["unusable"] = _unlisted()
        print(json.dumps(listed, indent=2))
    elif every:
        for device in found:
            device.print_device_info()
        print("\nnot usable:")
        for seen in _unlisted():
            print(f"    {seen['backend']:<12}{seen['reason']}")
    else:
        print(_tables.text(_tables.device_rows(found)))
    if problem:
        print(f"no default device: {problem}", file=sys.stderr)
    return 0


def _native_works() -> str | None:
    """Why compiled code does not run here, or None if it does."""

    def double(x: Any) -> Any:
        return x + x

    try:
        doubled = weft.njit(double)
        array = weft.tensor.asnumpy(doubled(weft.tensor.ones(3, device="native")))
        answer = [doubled(21.0), *(float(element) for element in array)]
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None if answer == [42.0, 2.0, 2.0, 2.0] else f"it computes wrongly: {answer}"


def doctor(arguments: list[str]) -> int:
    """What was looked for and where, what was found, and what to install for what was not."""
    python = platform.python_version()
    print(f"weft {weft.__version__}, Python {python}, NumPy {numpy.__version__}, {platform.machine()}")
    broken = _native_works()
    for report in _core.backend_reports():
        name = report["backend"]
        state = "broken" if name == "native" and broken else report["found"] or "not available"
        print(f"\n{name}: {state}")
        for device in weft.devices(name):
            print(f"  device: {device.filter_string}, {device.name}")
        if name == "native" and broken:
            print(f"  problem: a function of one line did not run: {broken}")
            print("  to do: install the wheel again, with pip's --force-reinstall, and file a bug if it stays so")
        if report["problem"]:
            print(f"  problem: {report['problem']}")
        for tried in report["looked_for"]:
            print(f"  looked for: {tried}")
        for note in report["notes"]:
            print(f"  note: {note}")
    default, problem = _default()
    print(f"\ndefault device: {default.filter_string if default else problem}")
    return 1 if broken else 0


def report(arguments: list[str]) -> int:
    """What became of each line of a compiled function: text or, with -o, a page. --call: a call to compile it for."""
    import importlib

    parser = argparse.ArgumentParser("python -m weft report", description=report.__doc__)
    parser.add_argument(
        "function", metavar="MODULE:FUNCTION", help="a module that can be imported from here, or a file"
    )
    parser.add_argument(
        "--call", metavar="EXPRESSION", help="evaluated in the module, to compile the function: 'f(np.ones(9))'"
    )
    parser.add_argument("-o", "--output", metavar="PAGE", help="an HTML file to write")
    given = parser.parse_args(arguments)
    where, _, name = given.function.rpartition(":")
    if not where:
        parser.error(f"{given.function} names no function: write MODULE:FUNCTION")
    if where.endswith(".py"):
        directory, where = os.path.split(where[:-3])
        sys.path.insert(0, directory or os.curdir)
    module = importlib.import_module(where)
    function: Any = module
    for part in name.split("."):
        function = getattr(function, part, None)
    if not isinstance(function, (_core.Dispatcher, _core.Kernel)):
        parser.error(f"{name} is no compiled function of {where}: decorate it with @weft.njit")
    if given.call:
        eval(given.call, {"np": numpy, "numpy": numpy, "weft": weft, **vars(module)})
    if not function.specializations:
        parser.error(f"{name} has no signature and was not called: say with what to call it, --call '{name}(…)'")
    found = function.report()
    if given.output:
        with open(given.output, "w", encoding="utf-8") as page:
            page.write(found.page())
    else:
        print(found)
    return 0


COMMANDS = {"devices": (devices, ("--all", "--json")), "doctor": (doctor, ())}


def main(arguments: list[str]) -> int:
    """Runs the command line."""
    name, options = (arguments[0], arguments[1:]) if arguments else ("", [])
    if name == "report":
        return report(options)
    if arguments in (["-V"], ["--version"]):
        print(f"weft {weft.__version__}")
        return 0
    if name not in COMMANDS or not set(options) <= set(COMMANDS[name][1]):
        print("usage: python -m weft COMMAND\n", file=sys.stderr)
        for known, (command, flags) in COMMANDS.items():
            usage = " ".join([known, *(f"[{flag}]" for flag in flags)])
            print(f"  {usage:<26}{command.__doc__}", file=sys.stderr)
        print(f"  {'report MODULE:FUNCTION …':<26}{report.__doc__}", file=sys.stderr)
        print(f"  {'--version':<26}Which version of Weft this is.", file=sys.stderr)
        return 0 if arguments in (["-h"], ["--help"]) else 2
    return COMMANDS[name][0](options)


if __name__ == "__main__":
    try:
        status = main(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:  # `python -m weft devices --all | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 1
    sys.exit(status)
