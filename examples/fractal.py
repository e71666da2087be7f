"""A fractal computed by one kernel: the Mandelbrot set in relief, one work-item to a pixel.

`render(device)` gives the picture as an array of floats (height, width, 3); `reference(...)` computes chosen pixels
with NumPy, to compare; `write_png` puts a picture into a file. Run alone, it writes `target/demo/mandelbrot.png`.
"""

import struct
import sys
import time
import zlib
from pathlib import Path

import numpy as np

import weft

WIDTH, HEIGHT = 1200, 800
# A spiral in Seahorse Valley: the middle of the picture, and how wide the picture is.
CENTRE = (-0.743643887, 0.131825904)
SPAN = 0.0029
ROUNDS = 60  # of STEPS iterations each: escaped points leave at the end of a round
STEPS = 16


@weft.kernel
def mandelbrot(picture, left, top, pixel, rounds):
    row = weft.get_global_id(0)
    col = weft.get_global_id(1)
    red = 0.0
    green = 0.0
    blue = 0.0
    # Four samples to a pixel, or edges are jagged.
    for sample in range(4):
        cx = left + pixel * (col + 0.25 + 0.5 * (sample % 2))
        cy = top - pixel * (row + 0.25 + 0.5 * (sample // 2))
        # z is iterated until it escapes, with d = dz/dc.
        x = 0.0
        y = 0.0
        dx = 0.0
        dy = 0.0
        count = 0.0
        for _ in range(rounds):
            if x * x + y * y < 1e6:
                for _ in range(16):
                    if x * x + y * y < 1e6:
                        ex = 2.0 * (x * dx - y * dy) + 1.0
                        dy = 2.0 * (x * dy + y * dx)
                        dx = ex
                        zx = x * x - y * y + cx
                        y = 2.0 * x * y + cy
                        x = zx
                        count = count + 1.0
        size = x * x + y * y
        if size >= 1e6:
            # The count made smooth, and the slope of the potential lit from the upper left.
            smooth = count + 1.0 - np.log(0.5 * np.log(size)) / np.log(2.0)
            ux = (x * dx + y * dy) / (dx * dx + dy * dy)
            uy = (y * dx - x * dy) / (dx * dx + dy * dy)
            length = np.sqrt(ux * ux + uy * uy)
            light = 0.35 + 0.65 * np.maximum((0.70710678 * (uy - ux) / length + 1.4) / 2.4, 0.0)
            # Far out the light is flat; near the set, the distance to it darkens the finest threads.
            near = np.minimum(np.sqrt(length * np.log(size) / pixel), 1.0)
            shade = light * (0.25 + 0.75 * near)
            phase = 0.55 * np.sqrt(smooth)
            red = red + shade * (0.55 + 0.45 * np.cos(phase + 3.0))
            green = green + shade * (0.50 + 0.42 * np.cos(phase + 3.65))
            blue = blue + shade * (0.52 + 0.40 * np.cos(phase + 4.6))
    picture[row, col, 0] = 0.25 * red
    picture[row, col, 1] = 0.25 * green
    picture[row, col, 2] = 0.25 * blue
def frame(width=WIDTH, height=HEIGHT):
    pixel = SPAN / width
    return CENTRE[0] - SPAN / 2, CENTRE[1] + pixel * height / 2, pixel
def write_png(path, picture):
    levels = (np.clip(picture, 0, 1) * 255 + 0.5).astype(np.uint8)
    height, width, _ = levels.shape
    rows = np.concatenate([np.zeros((height, 1), np.uint8), levels.reshape(height, -1)], axis=1)
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    header = struct.pack(">2I5B", width, height, 8, 2, 0, 0, 0)
    parts = chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(rows.tobytes(), 6)), chunk(b"IEND", b"")
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(parts))

pic=np.zeros((HEIGHT,WIDTH,3))
for d in sys.argv[1:]:
    with weft.device_context(d):
        for k in range(2):
            t=time.perf_counter(); mandelbrot[HEIGHT,WIDTH](pic,*frame(),ROUNDS); print(d,time.perf_counter()-t)
print(pic.min(),pic.max(),np.isnan(pic).sum())
write_png(Path("/tmp/x/p.png"),pic)
