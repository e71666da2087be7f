"""The size of the wheel in `dist/`, where `make wheel` has made one."""

from measure import ROOT, Result, result


def run() -> list[Result]:
    return [
        result(f"wheel {path.name.split('-')[1]}", "MB", [path.stat().st_size], 1e-6, at_most=25)
        for path in sorted((ROOT / "dist").glob("*.whl"))
    ]
