"""Image filters: smoothing, edges, morphology, colour, geometry and segmentation on small pictures."""

import math

from _case import case

import numpy as np


def grey(height, width, seed=0):
    return np.random.default_rng(seed).integers(0, 256, size=(height, width), dtype=np.uint8)


def field(height, width, seed=0):
    return np.random.default_rng(seed).random((height, width))


def colour(height, width, seed=0):
    return np.random.default_rng(seed).integers(0, 256, size=(height, width, 3), dtype=np.uint8)


def blobs():
    picture = np.zeros((9, 12), dtype=np.uint8)
    picture[1:4, 1:4] = 1
    picture[2, 4:7] = 1
    picture[6:8, 2:10] = 1
    picture[0, 10:] = 1
    picture[4, 9] = 1
    return picture


@case(
    lambda: (field(12, 15), 1.2),
    lambda: (field(5, 4).astype(np.float32), 0.6, 1),
    lambda: (field(1, 1), 2.0),
    lambda: (field(4, 4), 0.0),
    raises=ValueError,
)
def gaussian_blur(image, sigma, radius=None):
    """Separable blur with mirrored borders; rows first, then columns."""
    if sigma <= 0:
        raise ValueError("sigma must be positive")
    if radius is None:
        radius = int(3.0 * sigma + 0.5)
    kernel = np.exp(-0.5 * (np.arange(-radius, radius + 1) / sigma) ** 2)
    kernel /= kernel.sum()
    height, width = image.shape

    def mirror(i, n):
        period = 2 * n
        i = i % period
        return i if i < n else period - 1 - i

    across = np.zeros_like(image)
    for y in range(height):
        for x in range(width):
            total = 0.0
            for k in range(-radius, radius + 1):
                total += kernel[k + radius] * image[y, mirror(x + k, width)]
            across[y, x] = total
    result = np.zeros_like(image)
    for y in range(height):
        for x in range(width):
            total = 0.0
            for k in range(-radius, radius + 1):
                total += kernel[k + radius] * across[mirror(y + k, height), x]
            result[y, x] = total
    return result


@case(
    lambda: (grey(14, 11),),
    lambda: (np.full((3, 3), 200, dtype=np.uint8), 10.0),
    lambda: (grey(2, 5),),
)
def sobel(image, threshold=100.0):
    """Gradient magnitude, direction in degrees and an edge mask, by slices."""
    f = image.astype(np.float64)
    height, width = f.shape
    magnitude = np.zeros((height, width))
    direction = np.zeros((height, width))
    if height < 3 or width < 3:
        return magnitude, direction, magnitude > threshold
    top_left = f[:-2, :-2]
    top = f[:-2, 1:-1]
    top_right = f[:-2, 2:]
    left = f[1:-1, :-2]
    right = f[1:-1, 2:]
    bottom_left = f[2:, :-2]
    bottom = f[2:, 1:-1]
    bottom_right = f[2:, 2:]
    gx = (top_right + 2 * right + bottom_right) - (top_left + 2 * left + bottom_left)
    gy = (bottom_left + 2 * bottom + bottom_right) - (top_left + 2 * top + top_right)
    magnitude[1:-1, 1:-1] = np.hypot(gx, gy)
    angle = np.arctan2(gy, gx) * 180.0 / np.pi
    angle[angle < 0] += 360.0
    direction[1:-1, 1:-1] = angle
    peak = magnitude.max()
    if peak > 0:
        magnitude *= 255.0 / peak
    return magnitude, direction, magnitude > threshold


@case(
    lambda: (grey(9, 10),),
    lambda: (grey(6, 6, 3), 2),
    lambda: (grey(1, 1),),
    lambda: (grey(4, 4), 0),
    raises=ValueError,
)
def median_filter(image, radius=1):
    """Square-window median by insertion sort; the window shrinks at the borders."""
    if radius < 1:
        raise ValueError(f"radius must be at least 1, not {radius}")
    height, width = image.shape
    result = np.empty_like(image)
    window = np.zeros((2 * radius + 1) ** 2, dtype=image.dtype)
    for y in range(height):
        for x in range(width):
            count = 0
            for v in range(max(0, y - radius), min(height, y + radius + 1)):
                for u in range(max(0, x - radius), min(width, x + radius + 1)):
                    value = image[v, u]
                    slot = count
                    while slot > 0 and window[slot - 1] > value:
                        window[slot] = window[slot - 1]
                        slot -= 1
                    window[slot] = value
                    count += 1
            if count % 2 == 1:
                result[y, x] = window[count // 2]
            else:
                low, high = int(window[count // 2 - 1]), int(window[count // 2])
                result[y, x] = (low + high) // 2
    return result


@case(
    lambda: (field(8, 9), 1.5, 0.2, 2),
    lambda: (field(3, 3).astype(np.float32), 1.0, 0.1, 1),
    lambda: (np.zeros((0, 4)), 1.0, 0.1, 1),
)
def bilateral(image, sigma_space, sigma_range, radius):
    """Smooths without crossing edges: weights fall with distance and with difference of brightness."""
    height, width = image.shape
    out = np.empty(image.shape, dtype=image.dtype)
    size = 2 * radius + 1
    spatial = np.empty((size, size))
    for dy in range(-radius, radius + 1):
        for dx in range(-radius, radius + 1):
            spatial[dy + radius, dx + radius] = math.exp(-(dx * dx + dy * dy) / (2.0 * sigma_space**2))
    inverse = 1.0 / (2.0 * sigma_range * sigma_range)
    for y in range(height):
        for x in range(width):
            centre = image[y, x]
            weight_sum = 0.0
            value_sum = 0.0
            for dy in range(-radius, radius + 1):
                yy = y + dy
                if yy < 0 or yy >= height:
                    continue
                for dx in range(-radius, radius + 1):
                    xx = x + dx
                    if not (0 <= xx < width):
                        continue
                    difference = image[yy, xx] - centre
                    w = spatial[dy + radius, dx + radius] * math.exp(-difference * difference * inverse)
                    weight_sum += w
                    value_sum += w * image[yy, xx]
            out[y, x] = value_sum / weight_sum
    return out


@case(
    lambda: (grey(16, 16) // 3 + 50,),
    lambda: (np.full((4, 4), 9, dtype=np.uint8),),
    lambda: (grey(5, 5).astype(np.int32),),
    raises=TypeError,
)
def equalise_histogram(image):
    """Spreads grey levels by the cumulative histogram; returns the picture and the lookup table."""
    if image.dtype != np.uint8:
        raise TypeError("expected an 8-bit image")
    histogram = np.zeros(256, dtype=np.int64)
    for row in image:
        for pixel in row:
            histogram[pixel] += 1
    cumulative = np.zeros(256, dtype=np.int64)
    running = 0
    for level in range(256):
        running += histogram[level]
        cumulative[level] = running
    first = 0
    for level in range(256):
        if cumulative[level] > 0:
            first = cumulative[level]
            break
    total = image.size
    table = np.zeros(256, dtype=np.uint8)
    if total == first:
        return image.copy(), table
    for level in range(256):
        scaled = (cumulative[level] - first) * 255.0 / (total - first)
        table[level] = np.uint8(max(0, min(255, round(scaled))))
    return table[image], table


@case(
    lambda: (np.where(blobs() == 1, 180, 40).astype(np.uint8),),
    lambda: (grey(10, 10),),
    lambda: (np.zeros((0, 0), dtype=np.uint8),),
    raises=ValueError,
)
def otsu(image):
    """The threshold that separates two classes best, the share of bright pixels, and the binary picture."""
    if image.size == 0:
        raise ValueError("empty image")
    counts = [0] * 256
    for value in image.ravel():
        counts[value] += 1
    total = image.size
    sum_all = sum(i * c for i, c in enumerate(counts))
    weight_background = 0
    sum_background = 0
    best = -1.0
    threshold = 0
    for level, count in enumerate(counts):
        weight_background += count
        if weight_background == 0:
            continue
        weight_foreground = total - weight_background
        if weight_foreground == 0:
            break
        sum_background += level * count
        mean_background = sum_background / weight_background
        mean_foreground = (sum_all - sum_background) / weight_foreground
        between = weight_background * weight_foreground * (mean_background - mean_foreground) ** 2
        if between > best:
            best = between
            threshold = level
    binary = image > threshold
    return threshold, float(binary.mean()), binary


@case(
    lambda: (field(10, 12),),
    lambda: (field(6, 5), 4),
    lambda: (np.array([[0.3]]),),
    lambda: (field(3, 3), 1),
    raises=ValueError,
)
def floyd_steinberg(image, levels=2):
    """Error diffusion on a serpentine scan, in place; returns how many pixels went up."""
    if levels < 2:
        raise ValueError("at least two levels are needed")
    height, width = image.shape
    scale = levels - 1
    raised = 0
    for y in range(height):
        forward = y % 2 == 0
        columns = range(width) if forward else range(width - 1, -1, -1)
        ahead = 1 if forward else -1
        for x in columns:
            old = image[y, x]
            new = math.floor(old * scale + 0.5) / scale
            new = min(1.0, max(0.0, new))
            if new > old:
                raised += 1
            image[y, x] = new
            error = old - new
            if 0 <= x + ahead < width:
                image[y, x + ahead] += error * 7 / 16
            if y + 1 < height:
                if 0 <= x - ahead < width:
                    image[y + 1, x - ahead] += error * 3 / 16
                image[y + 1, x] += error * 5 / 16
                if 0 <= x + ahead < width:
                    image[y + 1, x + ahead] += error * 1 / 16
    return raised


@case(
    lambda: (blobs(),),
    lambda: (blobs(), True),
    lambda: (np.zeros((3, 3), dtype=np.uint8),),
    lambda: (grey(8, 8) > 120,),
)
def label_components(binary, diagonal=False):
    """Connected components in two passes with union-find; labels, their number and their areas."""
    height, width = binary.shape
    labels = np.zeros((height, width), dtype=np.int32)
    parent = [0]

    def find(a):
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        return a

    for y in range(height):
        for x in range(width):
            if not binary[y, x]:
                continue
            neighbours = []
            if x > 0 and labels[y, x - 1]:
                neighbours.append(find(int(labels[y, x - 1])))
            if y > 0 and labels[y - 1, x]:
                neighbours.append(find(int(labels[y - 1, x])))
            if diagonal and y > 0:
                if x > 0 and labels[y - 1, x - 1]:
                    neighbours.append(find(int(labels[y - 1, x - 1])))
                if x + 1 < width and labels[y - 1, x + 1]:
                    neighbours.append(find(int(labels[y - 1, x + 1])))
            if not neighbours:
                parent.append(len(parent))
                labels[y, x] = len(parent) - 1
            else:
                smallest = min(neighbours)
                labels[y, x] = smallest
                for other in neighbours:
                    parent[other] = smallest
    final = np.zeros(len(parent), dtype=np.int32)
    count = 0
    for i in range(1, len(parent)):
        root = find(i)
        if final[root] == 0:
            count += 1
            final[root] = count
        final[i] = final[root]
    areas = np.zeros(count, dtype=np.int64)
    for y in range(height):
        for x in range(width):
            if labels[y, x] > 0:
                labels[y, x] = final[labels[y, x]]
                areas[labels[y, x] - 1] += 1
    return labels, count, areas


@case(
    lambda: (field(10, 10), 0.4, 0.8),
    lambda: (field(4, 6), 0.1, 0.95),
    lambda: (field(2, 2), 0.8, 0.4),
    raises=ValueError,
)
def hysteresis_edges(strength, low, high):
    """Keeps weak pixels only where a chain of them leads to a strong one; depth first, with an own stack."""
    if low > high:
        raise ValueError("low threshold above high threshold")
    height, width = strength.shape
    strong = strength >= high
    weak = (strength >= low) & ~strong
    keep = strong.copy()
    stack = np.empty((height * width, 2), dtype=np.int64)
    top = 0
    for y in range(height):
        for x in range(width):
            if strong[y, x]:
                stack[top, 0] = y
                stack[top, 1] = x
                top += 1
    visited = 0
    while top > 0:
        top -= 1
        y, x = stack[top]
        visited += 1
        for dy in (-1, 0, 1):
            for dx in (-1, 0, 1):
                if dy == 0 and dx == 0:
                    continue
                v, u = y + dy, x + dx
                if v < 0 or u < 0 or v >= height or u >= width:
                    continue
                if weak[v, u] and not keep[v, u]:
                    keep[v, u] = True
                    stack[top] = (v, u)
                    top += 1
    return keep, visited


@case(
    lambda: (grey(7, 9), (10, 5)),
    lambda: (grey(4, 4), (4, 4)),
    lambda: (grey(1, 3), (3, 1)),
    lambda: (grey(3, 3), (0, 2)),
    raises=ValueError,
)
def resize_bilinear(image, shape):
    """Resamples to `shape` = (height, width) with pixel centres aligned; rounds half up to 8 bits."""
    new_height, new_width = shape
    if new_height <= 0 or new_width <= 0:
        raise ValueError("shape must be positive")
    height, width = image.shape
    out = np.zeros((new_height, new_width), dtype=np.uint8)
    scale_y = height / new_height
    scale_x = width / new_width
    for y in range(new_height):
        sy = (y + 0.5) * scale_y - 0.5
        sy = min(max(sy, 0.0), height - 1.0)
        y0 = int(sy)
        y1 = min(y0 + 1, height - 1)
        fy = sy - y0
        for x in range(new_width):
            sx = (x + 0.5) * scale_x - 0.5
            sx = min(max(sx, 0.0), width - 1.0)
            x0 = int(sx)
            x1 = min(x0 + 1, width - 1)
            fx = sx - x0
            above = image[y0, x0] * (1.0 - fx) + image[y0, x1] * fx
            below = image[y1, x0] * (1.0 - fx) + image[y1, x1] * fx
            out[y, x] = int(above * (1.0 - fy) + below * fy + 0.5)
    return out


@case(
    lambda: (colour(6, 8), 30.0),
    lambda: (colour(5, 5), 90.0, (255, 0, 0)),
    lambda: (colour(3, 2), 0.0),
)
def rotate(image, degrees, fill=(0, 0, 0)):
    """Rotates a colour image about its centre by inverse mapping to the nearest pixel."""
    height, width, channels = image.shape
    angle = math.radians(degrees)
    cosine, sine = math.cos(angle), math.sin(angle)
    cy = (height - 1) / 2
    cx = (width - 1) / 2
    result = np.empty_like(image)
    outside = 0
    for y in range(height):
        for x in range(width):
            dy = y - cy
            dx = x - cx
            source_x = cosine * dx + sine * dy + cx
            source_y = -sine * dx + cosine * dy + cy
            column = math.floor(source_x + 0.5 + 1e-9)
            row = math.floor(source_y + 0.5 + 1e-9)
            if 0 <= row < height and 0 <= column < width:
                result[y, x] = image[row, column]
            else:
                outside += 1
                for c in range(channels):
                    result[y, x, c] = fill[c]
    return result, outside


@case(lambda: (blobs(),), lambda: (np.ones((4, 5), dtype=np.uint8),), lambda: (np.zeros((2, 2), dtype=np.uint8),))
def chamfer_distance(mask):
    """3-4 chamfer distance to the nearest zero pixel, in two raster passes; integer arithmetic."""
    height, width = mask.shape
    far = 1 << 29
    distance = np.where(mask != 0, far, 0).astype(np.int32)
    for y in range(height):
        for x in range(width):
            d = distance[y, x]
            if d == 0:
                continue
            if x > 0:
                d = min(d, distance[y, x - 1] + 3)
            if y > 0:
                d = min(d, distance[y - 1, x] + 3)
                if x > 0:
                    d = min(d, distance[y - 1, x - 1] + 4)
                if x < width - 1:
                    d = min(d, distance[y - 1, x + 1] + 4)
            distance[y, x] = d
    for y in range(height - 1, -1, -1):
        for x in range(width - 1, -1, -1):
            d = distance[y, x]
            if x < width - 1:
                d = min(d, distance[y, x + 1] + 3)
            if y < height - 1:
                d = min(d, distance[y + 1, x] + 3)
                if x < width - 1:
                    d = min(d, distance[y + 1, x + 1] + 4)
                if x > 0:
                    d = min(d, distance[y + 1, x - 1] + 4)
            distance[y, x] = d
    return distance, distance / np.float32(3)


@case(
    lambda: (blobs(), np.ones((3, 3), dtype=bool), "open"),
    lambda: (grey(7, 7), np.array([[False, True, False], [True, True, True], [False, True, False]]), "close"),
    lambda: (grey(4, 4), np.ones((1, 3), dtype=bool), "gradient"),
    lambda: (grey(4, 4), np.ones((2, 2), dtype=bool), "erode"),
    raises=ValueError,
)
def morphology(image, element, operation):
    """Grey-scale morphology with a flat structuring element."""
    rows, cols = element.shape
    if rows % 2 == 0 or cols % 2 == 0:
        raise ValueError("structuring element must have odd sides")
    ry, rx = rows // 2, cols // 2
    height, width = image.shape

    def apply(source, choose):
        target = np.empty_like(source)
        for y in range(height):
            for x in range(width):
                best = source[y, x]
                for j in range(rows):
                    for i in range(cols):
                        if not element[j, i]:
                            continue
                        yy = min(max(y + j - ry, 0), height - 1)
                        xx = min(max(x + i - rx, 0), width - 1)
                        best = choose(best, source[yy, xx])
                target[y, x] = best
        return target

    if operation == "erode":
        return apply(image, min)
    elif operation == "dilate":
        return apply(image, max)
    elif operation == "open":
        return apply(apply(image, min), max)
    elif operation == "close":
        return apply(apply(image, max), min)
    elif operation == "gradient":
        return apply(image, max) - apply(image, min)
    raise ValueError("unknown operation")


@case(lambda: (colour(5, 6),), lambda: (np.full((2, 2, 3), 77, dtype=np.uint8),), lambda: (colour(1, 1),))
def rgb_to_hsv(image):
    """Hue in degrees, saturation and value in [0, 1], pixel by pixel, as float32."""
    height, width, _ = image.shape
    hsv = np.zeros((height, width, 3), dtype=np.float32)
    for y in range(height):
        for x in range(width):
            r, g, b = image[y, x] / 255.0
            highest = max(r, g, b)
            lowest = min(r, g, b)
            chroma = highest - lowest
            if chroma == 0:
                hue = 0.0
            elif highest == r:
                hue = 60.0 * (((g - b) / chroma) % 6.0)
            elif highest == g:
                hue = 60.0 * ((b - r) / chroma + 2.0)
            else:
                hue = 60.0 * ((r - g) / chroma + 4.0)
            saturation = chroma / highest if highest > 0 else 0.0
            hsv[y, x, 0] = hue
            hsv[y, x, 1] = saturation
            hsv[y, x, 2] = highest
    return hsv


@case(lambda: (grey(9, 7), 2), lambda: (grey(3, 3), 0), lambda: (grey(4, 6), 10))
def box_filter_integral(image, radius):
    """Mean over squares through a summed-area table; cost does not depend on the radius."""
    height, width = image.shape
    table = np.zeros((height + 1, width + 1), dtype=np.int64)
    for y in range(height):
        row_sum = 0
        for x in range(width):
            row_sum += int(image[y, x])
            table[y + 1, x + 1] = table[y, x + 1] + row_sum
    out = np.empty((height, width), dtype=np.float32)
    spread = np.empty((height, width))
    for y in range(height):
        top = max(y - radius, 0)
        bottom = min(y + radius + 1, height)
        for x in range(width):
            left = max(x - radius, 0)
            right = min(x + radius + 1, width)
            area = (bottom - top) * (right - left)
            total = table[bottom, right] - table[top, right] - table[bottom, left] + table[top, left]
            out[y, x] = total / area
            spread[y, x] = abs(float(image[y, x]) - total / area)
    return out, spread.max(), int(table[-1, -1])


@case(
    lambda: (np.eye(9, dtype=bool), 36),
    lambda: (blobs()[:, :11] > 0, 18, 2),
    lambda: (np.zeros((4, 4), dtype=bool), 8),
)
def hough_lines(edges, n_angles, n_peaks=1):
    """Votes for (angle, distance) and the strongest lines as a list of tuples."""
    height, width = edges.shape
    diagonal = math.ceil(math.hypot(height, width))
    votes = np.zeros((n_angles, 2 * diagonal + 1), dtype=np.int32)
    cosines = [math.cos(math.pi * k / n_angles) for k in range(n_angles)]
    sines = [math.sin(math.pi * k / n_angles) for k in range(n_angles)]
    for y in range(height):
        for x in range(width):
            if edges[y, x]:
                for k in range(n_angles):
                    distance = x * cosines[k] + y * sines[k]
                    votes[k, math.floor(distance + 0.5001) + diagonal] += 1
    lines = []
    remaining = votes.copy()
    for _ in range(n_peaks):
        k, d = divmod(int(remaining.argmax()), remaining.shape[1])
        if remaining[k, d] == 0:
            break
        lines.append((math.pi * k / n_angles, d - diagonal, int(remaining[k, d])))
        remaining[max(0, k - 2) : k + 3, max(0, d - 2) : d + 3] = 0
    return votes, lines if lines else [(0.0, 0, 0)]


@case(lambda: (field(7, 7), 1, 2, 0.3), lambda: (field(3, 4), 0, 1, 0.1), lambda: (field(1, 1), 1, 1, 0.5))
def non_local_means(image, patch, search, h):
    """Averages pixels whose surroundings look alike."""
    height, width = image.shape
    padded = np.zeros((height + 2 * patch, width + 2 * patch))
    padded[patch : patch + height, patch : patch + width] = image
    for i in range(patch):
        padded[i, patch : patch + width] = image[min(patch - i, height - 1)]
        padded[-1 - i, patch : patch + width] = image[max(height - 1 - (patch - i), 0)]
    for i in range(patch):
        padded[:, i] = padded[:, 2 * patch - i]
        padded[:, -1 - i] = padded[:, -1 - 2 * patch + i]
    side = 2 * patch + 1
    out = np.zeros((height, width))
    for y in range(height):
        for x in range(width):
            reference = padded[y : y + side, x : x + side]
            total, weights, largest = 0.0, 0.0, 0.0
            for v in range(max(0, y - search), min(height, y + search + 1)):
                for u in range(max(0, x - search), min(width, x + search + 1)):
                    if v == y and u == x:
                        continue
                    other = padded[v : v + side, u : u + side]
                    distance = np.mean((reference - other) ** 2)
                    w = math.exp(-distance / h**2)
                    largest = max(largest, w)
                    total += w * image[v, u]
                    weights += w
            largest = largest or 1.0
            out[y, x] = (total + largest * image[y, x]) / (weights + largest)
    return out


@case(lambda: (field(9, 9), 10), lambda: (field(5, 6), 3, 0.05, 0.2, 2), lambda: (field(4, 4), 0))
def perona_malik(image, steps, kappa=0.1, gamma=0.15, option=1):
    """Anisotropic diffusion with whole-array updates; edges conduct less."""
    u = image.astype(np.float64).copy()
    south = np.zeros_like(u)
    east = np.zeros_like(u)
    for _ in range(steps):
        south[:-1, :] = u[1:, :] - u[:-1, :]
        east[:, :-1] = u[:, 1:] - u[:, :-1]
        match option:
            case 1:
                conduct_south = np.exp(-((south / kappa) ** 2))
                conduct_east = np.exp(-((east / kappa) ** 2))
            case 2:
                conduct_south = 1.0 / (1.0 + (south / kappa) ** 2)
                conduct_east = 1.0 / (1.0 + (east / kappa) ** 2)
            case _:
                raise ValueError("option must be 1 or 2")
        flow_south = conduct_south * south
        flow_east = conduct_east * east
        update = flow_south + flow_east
        update[1:, :] -= flow_south[:-1, :]
        update[:, 1:] -= flow_east[:, :-1]
        u += gamma * update
    return u


@case(lambda: (colour(7, 9),), lambda: (colour(3, 4), 2), lambda: (colour(2, 2), 2), raises=ValueError)
def carve_seam(image, seams=1):
    """Removes vertical seams of least energy, one after another; returns the picture and the energies removed."""
    if seams >= image.shape[1]:
        raise ValueError("cannot remove that many seams")
    current = image.astype(np.int32)
    costs = []
    for _ in range(seams):
        height, width, channels = current.shape
        energy = np.zeros((height, width), dtype=np.int64)
        for y in range(height):
            for x in range(width):
                left, right = max(x - 1, 0), min(x + 1, width - 1)
                up, down = max(y - 1, 0), min(y + 1, height - 1)
                for c in range(channels):
                    energy[y, x] += abs(current[y, right, c] - current[y, left, c])
                    energy[y, x] += abs(current[down, x, c] - current[up, x, c])
        best = energy.copy()
        came = np.zeros((height, width), dtype=np.int8)
        for y in range(1, height):
            for x in range(width):
                choice, offset = best[y - 1, x], 0
                if x > 0 and best[y - 1, x - 1] < choice:
                    choice, offset = best[y - 1, x - 1], -1
                if x < width - 1 and best[y - 1, x + 1] < choice:
                    choice, offset = best[y - 1, x + 1], 1
                best[y, x] += choice
                came[y, x] = offset
        x = int(np.argmin(best[-1]))
        costs.append(int(best[-1, x]))
        smaller = np.empty((height, width - 1, channels), dtype=np.int32)
        for y in range(height - 1, -1, -1):
            smaller[y, :x] = current[y, :x]
            smaller[y, x:] = current[y, x + 1 :]
            x += came[y, x]
        current = smaller
    return current.astype(np.uint8), costs


@case(lambda: (grey(6, 8),), lambda: (grey(2, 2),), lambda: (grey(7, 5), False))
def demosaic(raw, interpolate=True):
    """RGGB Bayer pattern to colour: average of the neighbours that saw the missing colour."""
    height, width = raw.shape
    rgb = np.zeros((height, width, 3), dtype=np.uint8)
    seen = np.zeros((height, width, 3), dtype=bool)
    rgb[0::2, 0::2, 0] = raw[0::2, 0::2]
    rgb[0::2, 1::2, 1] = raw[0::2, 1::2]
    rgb[1::2, 0::2, 1] = raw[1::2, 0::2]
    rgb[1::2, 1::2, 2] = raw[1::2, 1::2]
    seen[0::2, 0::2, 0] = True
    seen[0::2, 1::2, 1] = seen[1::2, 0::2, 1] = True
    seen[1::2, 1::2, 2] = True
    if not interpolate:
        return rgb
    for y in range(height):
        for x in range(width):
            for channel in range(3):
                if seen[y, x, channel]:
                    continue
                total, count = 0, 0
                for v in range(max(0, y - 1), min(height, y + 2)):
                    for u in range(max(0, x - 1), min(width, x + 2)):
                        if seen[v, u, channel]:
                            total += int(rgb[v, u, channel])
                            count += 1
                rgb[y, x, channel] = total // count if count else 0
    return rgb


@case(lambda: (grey(7, 7),), lambda: (grey(3, 3), True), lambda: (grey(2, 9),), raises=ValueError)
def local_binary_patterns(image, uniform=False):
    """Codes of eight comparisons with the centre, and their normalised histogram."""
    height, width = image.shape
    if height < 3 or width < 3:
        raise ValueError("image is smaller than the neighbourhood")
    offsets = ((-1, -1), (-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1))
    codes = np.zeros((height - 2, width - 2), dtype=np.uint8)
    for bit, (dy, dx) in enumerate(offsets):
        neighbour = image[1 + dy : height - 1 + dy, 1 + dx : width - 1 + dx]
        codes |= (neighbour >= image[1:-1, 1:-1]).astype(np.uint8) << np.uint8(bit)
    if uniform:
        for y in range(codes.shape[0]):
            for x in range(codes.shape[1]):
                code = int(codes[y, x])
                turned = ((code << 1) | (code >> 7)) & 0xFF
                changes = code ^ turned
                transitions = 0
                while changes:
                    changes &= changes - 1
                    transitions += 1
                if transitions > 2:
                    codes[y, x] = 0
    histogram = np.zeros(256)
    for code in codes.ravel():
        histogram[code] += 1.0
    histogram /= codes.size
    return codes, histogram


@case(
    lambda: (np.array([[1, 1, 2], [1, 0, 2], [1, 1, 1]], dtype=np.int32), 0, 0, 9),
    lambda: (np.zeros((6, 6), dtype=np.int32), 3, 3, 4),
    lambda: (np.zeros((2, 2), dtype=np.int32), 1, 1, 0),
    lambda: (np.zeros((2, 2), dtype=np.int32), 5, 0, 1),
    raises=IndexError,
)
def flood_fill(image, row, column, colour):
    """Replaces the area of one colour around a seed, in place, by recursion; returns its size."""
    height, width = image.shape
    if row >= height or column >= width:
        raise IndexError("seed outside the image")
    old = image[row, column]
    if old == colour:
        return 0

    def fill(y, x):
        if y < 0 or x < 0 or y >= height or x >= width:
            return 0
        if image[y, x] != old:
            return 0
        image[y, x] = colour
        size = 1
        for dy, dx in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            size += fill(y + dy, x + dx)
        return size

    return fill(row, column)


@case(
    lambda: (field(6, 6), np.array([[0.0, -1.0, 0.0], [-1.0, 5.0, -1.0], [0.0, -1.0, 0.0]])),
    lambda: (field(4, 5).astype(np.float32), np.ones((3, 1), dtype=np.float32) / np.float32(3), "wrap"),
    lambda: (field(3, 3), np.ones((1, 1)), "zero"),
    lambda: (field(3, 3), np.ones((3, 3)), "reflect"),
    raises=ValueError,
)
def convolve2d(image, kernel, border="edge"):
    """Plain convolution, the kernel flipped, with three ways to treat the border."""
    kh, kw = kernel.shape
    height, width = image.shape
    flipped = kernel[::-1, ::-1]
    py, px = kh // 2, kw // 2
    padded = np.zeros((height + 2 * py, width + 2 * px), dtype=image.dtype)
    for y in range(padded.shape[0]):
        for x in range(padded.shape[1]):
            v, u = y - py, x - px
            if border == "edge":
                padded[y, x] = image[min(max(v, 0), height - 1), min(max(u, 0), width - 1)]
            elif border == "wrap":
                padded[y, x] = image[v % height, u % width]
            elif border == "zero":
                if 0 <= v < height and 0 <= u < width:
                    padded[y, x] = image[v, u]
            else:
                raise ValueError("unknown border")
    out = np.zeros_like(image)
    for j in range(kh):
        for i in range(kw):
            out += flipped[j, i] * padded[j : j + height, i : i + width]
    return out


@case(
    lambda: (grey(14, 16, 5),),
    lambda: (np.where(blobs() == 1, 220, 30).astype(np.uint8), 0.8, 0.05, 0.2),
    lambda: (np.full((5, 5), 100, dtype=np.uint8),),
    lambda: (grey(4, 5),),
    raises=ValueError,
)
def canny(image, sigma=1.0, low=0.1, high=0.3):
    """The whole edge detector: smooth, differentiate, thin along the gradient, link by hysteresis."""
    height, width = image.shape
    if height < 5 or width < 5:
        raise ValueError("image must be at least 5 by 5")
    smooth = image / 255.0
    radius = 2
    kernel = [math.exp(-(k * k) / (2.0 * sigma * sigma)) for k in range(-radius, radius + 1)]
    norm = sum(kernel)
    kernel = [k / norm for k in kernel]
    for axis in (0, 1):
        source = smooth if axis == 0 else smooth.T
        target = np.zeros_like(source)
        count = source.shape[0]
        for k, weight in enumerate(kernel):
            for i in range(count):
                j = min(max(i + k - radius, 0), count - 1)
                target[i] += weight * source[j]
        smooth = target if axis == 0 else target.T
    gx = np.zeros((height, width))
    gy = np.zeros((height, width))
    for y in range(1, height - 1):
        for x in range(1, width - 1):
            block = smooth[y - 1 : y + 2, x - 1 : x + 2]
            gx[y, x] = (block[:, 2] - block[:, 0]).sum() + block[1, 2] - block[1, 0]
            gy[y, x] = (block[2] - block[0]).sum() + block[2, 1] - block[0, 1]
    magnitude = np.hypot(gx, gy)
    thin = np.zeros_like(magnitude)
    for y in range(1, height - 1):
        for x in range(1, width - 1):
            strength = magnitude[y, x]
            if strength < 1e-9:
                continue
            ax, ay = abs(gx[y, x]), abs(gy[y, x])
            if ay < 0.41421356 * ax:
                one, two = magnitude[y, x - 1], magnitude[y, x + 1]
            elif ax < 0.41421356 * ay:
                one, two = magnitude[y - 1, x], magnitude[y + 1, x]
            elif gx[y, x] * gy[y, x] > 0:
                one, two = magnitude[y - 1, x - 1], magnitude[y + 1, x + 1]
            else:
                one, two = magnitude[y - 1, x + 1], magnitude[y + 1, x - 1]
            if strength > one - 1e-12 and strength > two + 1e-12:
                thin[y, x] = strength
    peak = thin.max()
    edges = np.zeros((height, width), dtype=np.uint8)
    if peak == 0.0:
        return edges, 0
    strong = thin > high * peak
    weak = thin > low * peak
    edges[strong] = 255
    grown = True
    rounds = 0
    while grown:
        grown = False
        rounds += 1
        for y in range(1, height - 1):
            for x in range(1, width - 1):
                if weak[y, x] and edges[y, x] == 0 and (edges[y - 1 : y + 2, x - 1 : x + 2] == 255).any():
                    edges[y, x] = 255
                    grown = True
    return edges, rounds


@case(
    lambda: (grey(16, 8), 50),
    lambda: (grey(8, 8), 95),
    lambda: (grey(8, 8), 1),
    lambda: (grey(9, 8), 50),
    raises=ValueError,
)
def jpeg_blocks(image, quality):
    """Cosine transform of 8 by 8 blocks, quantised and back; the picture and the share of zero coefficients."""
    height, width = image.shape
    if height % 8 or width % 8:
        raise ValueError("sides must be multiples of eight")
    scale = 5000 // quality if quality < 50 else 200 - 2 * quality
    table = np.empty((8, 8), dtype=np.int32)
    for u in range(8):
        for v in range(8):
            base = 16 + 4 * (u + v) + (u * v)
            table[u, v] = min(255, max(1, (base * scale + 50) // 100))
    basis = np.empty((8, 8))
    for u in range(8):
        c = math.sqrt(0.125) if u == 0 else 0.5
        for x in range(8):
            basis[u, x] = c * math.cos((2 * x + 1) * u * math.pi / 16.0)
    out = np.empty_like(image)
    zeros = 0
    for top in range(0, height, 8):
        for left in range(0, width, 8):
            block = image[top : top + 8, left : left + 8].astype(np.float64) - 128.0
            spectrum = basis @ block @ basis.T
            quantised = np.floor(spectrum / table + 0.5).astype(np.int32)
            zeros += int((quantised == 0).sum())
            restored = basis.T @ (quantised * table) @ basis + 128.0
            clipped = np.minimum(np.maximum(restored, 0.0), 255.0)
            out[top : top + 8, left : left + 8] = (clipped + 0.5).astype(np.uint8)
    return out, zeros / image.size
