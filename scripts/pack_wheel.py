"""Packs a wheel again, as small as it gets: python scripts/pack_wheel.py dist/*.whl"""

import sys
import zipfile
from pathlib import Path

for name in sys.argv[1:]:
    wheel = Path(name)
    packed = wheel.with_suffix(".packed")
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(packed, "w") as new:
        for entry in old.infolist():
            new.writestr(entry, old.read(entry), zipfile.ZIP_DEFLATED, compresslevel=9)
    packed.replace(wheel)
