"""A fractal, computed by a kernel: a spiral of the Mandelbrot set in relief, one work-item to a pixel.

    python examples/fractal.py [device] [file]      writes mandelbrot.png into the current folder, or that file

`render` gives the picture as floats of shape (height, width, 3); `reference` computes a sample of its pixels with
NumPy, for comparison; `write_png` puts a picture into a file.
"""

import struct
import sys
import zlib
from pathlib import Path

import numpy as np
import weft

WIDTH, HEIGHT = 1200, 800
CENTRE = (-0.74350, 0.13132)  # in Seahorse Valley
SPAN = 0.0026  # the width of the picture
ROUNDS = 60  # of 16 steps each; a point that has escaped skips the rounds that are left
LEFT = CENTRE[0] - SPAN / 2
PIXEL = SPAN / WIDTH
TOP = CENTRE[1] + PIXEL * HEIGHT / 2

FILE = Path("mandelbrot.png")


@weft.kernel
def mandelbrot(picture, left, top, pixel, rounds):
    row = weft.get_global_id(0)
    column = weft.get_global_id(1)
    red = 0.0
    green = 0.0
    blue = 0.0
    for sample in range(4):  # of each pixel, so that edges are smooth
        cx = left + pixel * (column + 0.25 + 0.5 * (sample % 2))
        cy = top - pixel * (row + 0.25 + 0.5 * (sample // 2))
        # z = x + iy goes to z² + c until it escapes; d is its derivative by c.
        x = 0.0
        y = 0.0
        dx = 0.0
        dy = 0.0
        count = 0.0
        for _ in range(rounds):
            if x * x + y * y < 1e6:
                for _ in range(16):
                    if x * x + y * y < 1e6:
                        dx_next = 2.0 * (x * dx - y * dy) + 1.0
                        dy = 2.0 * (x * dy + y * dx)
                        dx = dx_next
                        x_next = x * x - y * y + cx
                        y = 2.0 * x * y + cy
                        x = x_next
                        count = count + 1.0
        size = x * x + y * y
        if size >= 1e6:
            # The steps it took, without jumps, choose the colour.
            hue = 2.0 * np.log(count + 1.0 - np.log(0.5 * np.log(size)) / np.log(2.0)) - 1.2
            # z/d points down the slope of the potential, which is lit from one side and darkens near the set.
            ux = (x * dx + y * dy) / (dx * dx + dy * dy)
            uy = (y * dx - x * dy) / (dx * dx + dy * dy)
            steepness = np.sqrt(ux * ux + uy * uy)
            light = 0.73 + 0.27 * 0.7071 * (uy - ux) / steepness
            nearness = np.minimum(np.sqrt(steepness * np.log(size) / pixel), 1.0)
            shade = light * (0.25 + 0.75 * nearness)
            red = red + shade * (0.55 + 0.45 * np.cos(hue + 3.0))
            green = green + shade * (0.50 + 0.42 * np.cos(hue + 3.65))
            blue = blue + shade * (0.52 + 0.40 * np.cos(hue + 4.6))
    picture[row, column, 0] = 0.25 * red
    picture[row, column, 1] = 0.25 * green
    picture[row, column, 2] = 0.25 * blue


def render(device: str | weft.Device, height: int = HEIGHT, width: int = WIDTH) -> np.ndarray:
    """The upper left `height` × `width` pixels of the picture."""
    picture = np.zeros((height, width, 3))
    with weft.device_context(device):
        mandelbrot[height, width](picture, LEFT, TOP, PIXEL, ROUNDS)
    return picture


def reference(every: int) -> np.ndarray:
    """The pixels `picture[::every, ::every]`, computed with NumPy."""
    sample = np.arange(4).reshape(4, 1, 1)
    cx = LEFT + PIXEL * (np.arange(0, WIDTH, every) + 0.25 + 0.5 * (sample % 2))
    cy = TOP - PIXEL * (np.arange(0, HEIGHT, every).reshape(-1, 1) + 0.25 + 0.5 * (sample // 2))
    c = np.add(cx, 1j * cy)
    z, d, count = np.zeros_like(c), np.zeros_like(c), np.zeros(c.shape)
    active = np.arange(c.size)  # the points that have not escaped
    for _ in range(16 * ROUNDS):
        zs = z.flat[active]
        active = active[np.square(zs.real) + np.square(zs.imag) < 1e6]
        zs, ds = z.flat[active], d.flat[active]
        d.flat[active] = 2.0 * (zs * ds) + 1.0
        z.flat[active] = zs * zs + c.flat[active]
        count.flat[active] += 1
    size = np.square(z.real) + np.square(z.imag)
    with np.errstate(all="ignore"):  # what has not escaped is left out at the end
        hue = 2.0 * np.log(count + 1.0 - np.log(0.5 * np.log(size)) / np.log(2.0)) - 1.2
        u = z / d
        steepness = np.abs(u)
        light = 0.73 + 0.27 * 0.7071 * (u.imag - u.real) / steepness
        nearness = np.minimum(np.sqrt(steepness * np.log(size) / PIXEL), 1.0)
        shade = light * (0.25 + 0.75 * nearness)
        colours = (
            shade * (0.55 + 0.45 * np.cos(hue + 3.0)),
            shade * (0.50 + 0.42 * np.cos(hue + 3.65)),
            shade * (0.52 + 0.40 * np.cos(hue + 4.6)),
        )
    return np.where((size >= 1e6)[..., None], np.stack(colours, axis=-1), 0.0).mean(axis=0)


def agrees(picture: np.ndarray, expected: np.ndarray) -> bool:
    """Whether two pictures look the same: the last bits of z grow beside the set, so a few pixels may differ."""
    near = np.abs(picture - expected).max(axis=-1) < 2 / 255
    return bool(near.mean() > 0.99)


def write_png(path: Path, picture: np.ndarray) -> None:
    """Writes floats from 0 to 1, of shape (height, width, 3), as an 8-bit PNG."""
    levels = (np.clip(picture, 0.0, 1.0) * 255 + 0.5).astype(np.uint8)
    height, width, _ = levels.shape
    # Each row of a PNG begins with the number of its filter: 1 stores differences to the pixel on the left.
    left = np.pad(levels, ((0, 0), (1, 0), (0, 0)))[:, :-1]
    rows = np.pad((levels - left).reshape(height, -1), ((0, 0), (1, 0)), constant_values=1)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)  # 8 bits, RGB
    chunks = chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(rows.tobytes())), chunk(b"IEND", b"")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(chunks))


if __name__ == "__main__":
    given = dict(enumerate(sys.argv))
    file = Path(given.get(2, FILE))
    write_png(file, render(given.get(1) or weft.default_device()))
    print(file)
