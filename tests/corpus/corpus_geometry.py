"""Geometry: polygons, hulls, meshes, curves, rasters and rotations."""

import cmath
import math

from _case import case

import numpy as np


def points(seed, n, dims=2, dtype=np.float64):
    return np.random.default_rng(seed).random((n, dims)).astype(dtype)


def star(n, seed=0):
    """A polygon that does not cross itself."""
    angle = np.linspace(0, 2 * np.pi, n, endpoint=False)
    radius = 0.5 + np.random.default_rng(seed).random(n)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)


@case(
    lambda: ([(0, 0), (4, 0), (4, 3), (0, 3), (2, 1), (1, 1), (3, 2), (2, 0)],),
    lambda: ([(1, 1), (1, 1), (0, 0)],),
    lambda: ([(5, 5)],),
)
def convex_hull(cloud):
    """Andrew's monotone chain over a list of integer points; hull and twice its area."""
    ordered = sorted(cloud)
    unique = [p for i, p in enumerate(ordered) if i == 0 or p != ordered[i - 1]]
    if len(unique) <= 2:
        return unique, 0

    def cross(o, a, b):
        return (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0])

    def chain(sequence):
        kept = []
        for p in sequence:
            while len(kept) >= 2 and cross(kept[-2], kept[-1], p) <= 0:
                kept.pop()
            kept.append(p)
        return kept[:-1]

    hull = chain(unique) + chain(unique[::-1])
    area = 0
    for (x0, y0), (x1, y1) in zip(hull, hull[1:] + hull[:1]):
        area += x0 * y1 - x1 * y0
    return hull, area


@case(
    lambda: (points(1, 60) * 2 - 1, star(9)),
    lambda: (points(2, 3, dtype=np.float32), np.array([[0, 0], [1, 0], [0, 1]], dtype=np.float32)),
    lambda: (np.empty((0, 2)), star(4)),
    lambda: (points(3, 2), star(2)),
    raises=ValueError,
)
def points_in_polygon(queries, polygon):
    """Even-odd rule for many points, and the winding number as a check."""
    n = polygon.shape[0]
    if n < 3:
        raise ValueError("a polygon has at least three corners")
    inside = np.zeros(len(queries), dtype=bool)
    winding = np.zeros(len(queries), dtype=np.int8)
    low = polygon.min(axis=0)
    high = polygon.max(axis=0)
    for q, (x, y) in enumerate(queries):
        if x < low[0] or x > high[0] or y < low[1] or y > high[1]:
            continue
        j = n - 1
        for i in range(n):
            xi, yi = polygon[i]
            xj, yj = polygon[j]
            if (yi > y) != (yj > y):
                at = (xj - xi) * (y - yi) / (yj - yi) + xi
                if x < at:
                    inside[q] = not inside[q]
                    winding[q] += 1 if yi > yj else -1
            j = i
    return inside, winding


@case(
    lambda: (star(11, 4),),
    lambda: (np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [0.0, 1.0]])[::-1],),
    lambda: (np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]),),
    lambda: (np.zeros((3, 3)),),
    raises=ValueError,
)
def polygon_moments(vertices):
    """Area, centroid, second moments and principal direction from Green's theorem, vectorised."""
    if vertices.ndim != 2 or vertices.shape[1] != 2:
        raise ValueError("vertices must have two columns")
    x, y = vertices.T
    following = np.empty_like(vertices)
    following[:-1] = vertices[1:]
    following[-1] = vertices[0]
    xn, yn = following[:, 0], following[:, 1]
    cross = x * yn - xn * y
    area = 0.5 * cross.sum()
    if area == 0.0:
        raise ValueError("the polygon has no area")
    cx = ((x + xn) * cross).sum() / (6 * area)
    cy = ((y + yn) * cross).sum() / (6 * area)
    ixx = ((y * y + y * yn + yn * yn) * cross).sum() / 12 - area * cy**2
    iyy = ((x * x + x * xn + xn * xn) * cross).sum() / 12 - area * cx**2
    ixy = ((x * yn + 2 * x * y + 2 * xn * yn + xn * y) * cross).sum() / 24 - area * cx * cy
    if area < 0:
        ixx, iyy, ixy = -ixx, -iyy, -ixy
    direction = 0.5 * math.atan2(2 * ixy, iyy - ixx)
    perimeter = np.hypot(xn - x, yn - y).sum()
    roundness = 4 * np.pi * abs(area) / perimeter**2
    return area, (cx, cy), np.array([[ixx, ixy], [ixy, iyy]]), direction, roundness


@case(
    lambda: (np.array([[0, 0, 2, 2], [0, 2, 2, 0], [3, 3, 4, 4], [1, 0, 1, 5.0]]),),
    lambda: (points(5, 12, 4),),
    lambda: (np.empty((0, 4)),),
)
def segment_crossings(segments):
    """Where each pair of segments meets: a list of (i, j, x, y); touching ends count."""
    eps = 1e-12
    found = []
    n = segments.shape[0]
    for i in range(n):
        ax, ay, bx, by = segments[i]
        rx, ry = bx - ax, by - ay
        for j in range(i + 1, n):
            cx, cy, dx, dy = segments[j]
            if max(ax, bx) < min(cx, dx) or max(cx, dx) < min(ax, bx):
                continue
            if max(ay, by) < min(cy, dy) or max(cy, dy) < min(ay, by):
                continue
            sx, sy = dx - cx, dy - cy
            denominator = rx * sy - ry * sx
            if abs(denominator) < eps:
                continue
            t = ((cx - ax) * sy - (cy - ay) * sx) / denominator
            u = ((cx - ax) * ry - (cy - ay) * rx) / denominator
            if -eps <= t <= 1 + eps and -eps <= u <= 1 + eps:
                found.append((i, j, float(ax + t * rx), float(ay + t * ry)))
    return found


def closest_in(p, first, last):
    """Squared distance and indices of the closest pair in p[first:last], sorted by x."""
    best, bi, bj = math.inf, -1, -1
    if last - first <= 3:
        for i in range(first, last):
            for j in range(i + 1, last):
                d = (p[i, 0] - p[j, 0]) ** 2 + (p[i, 1] - p[j, 1]) ** 2
                if d < best:
                    best, bi, bj = d, i, j
        return best, bi, bj
    middle = (first + last) // 2
    left = closest_in(p, first, middle)
    right = closest_in(p, middle, last)
    best, bi, bj = left if left[0] <= right[0] else right
    line = p[middle, 0]
    strip = [i for i in range(first, last) if (p[i, 0] - line) ** 2 < best]
    strip.sort(key=lambda i: p[i, 1])
    for a in range(len(strip)):
        for b in range(a + 1, len(strip)):
            i, j = strip[a], strip[b]
            if (p[j, 1] - p[i, 1]) ** 2 >= best:
                break
            d = (p[i, 0] - p[j, 0]) ** 2 + (p[i, 1] - p[j, 1]) ** 2
            if d < best:
                best, bi, bj = d, i, j
    return best, bi, bj


@case(
    lambda: (points(6, 70),),
    lambda: (points(7, 2),),
    lambda: (np.zeros((5, 2)),),
    lambda: (points(7, 1),),
    raises=ValueError,
)
def closest_pair(cloud):
    """Divide and conquer; the points are first heap-sorted by x through an index."""
    n = cloud.shape[0]
    if n < 2:
        raise ValueError("a pair needs two points")
    order = np.arange(n)

    def sift(start, end):
        root = start
        while (child := 2 * root + 1) < end:
            if child + 1 < end and cloud[order[child], 0] < cloud[order[child + 1], 0]:
                child += 1
            if cloud[order[root], 0] >= cloud[order[child], 0]:
                break
            order[root], order[child] = order[child], order[root]
            root = child

    for start in range(n // 2 - 1, -1, -1):
        sift(start, n)
    for end in range(n - 1, 0, -1):
        order[0], order[end] = order[end], order[0]
        sift(0, end)
    ordered = cloud[order]
    assert (ordered[1:, 0] >= ordered[:-1, 0]).all()
    squared, i, j = closest_in(ordered, 0, n)
    a, b = int(order[i]), int(order[j])
    return math.sqrt(squared), (min(a, b), max(a, b))


def circle_through(a, b, c):
    d = 2.0 * (a.real * (b - c).imag + b.real * (c - a).imag + c.real * (a - b).imag)
    if d == 0.0:
        return None
    centre = (abs(a) ** 2 * (c - b) + abs(b) ** 2 * (a - c) + abs(c) ** 2 * (b - a)) * 1j / d
    return centre, abs(a - centre)


@case(
    lambda: (points(8, 30).view(np.complex128).ravel(),),
    lambda: (np.array([1 + 1j]),),
    lambda: (np.array([0j, 2j, 4j, 1j]),),
    lambda: (np.array([], dtype=np.complex128),),
    raises=ValueError,
)
def smallest_circle(z):
    """Welzl's incremental construction on points of the complex plane; centre and radius."""
    if z.size == 0:
        raise ValueError("no points")
    slack = 1.0 + 1e-12
    centre, radius = complex(z[0]), 0.0
    for i in range(1, z.size):
        if abs(z[i] - centre) <= radius * slack:
            continue
        centre, radius = complex(z[i]), 0.0
        for j in range(i):
            if abs(z[j] - centre) <= radius * slack:
                continue
            centre = complex(z[i] + z[j]) / 2
            radius = float(abs(z[i] - z[j])) / 2
            for k in range(j):
                if abs(z[k] - centre) <= radius * slack:
                    continue
                circle = circle_through(complex(z[i]), complex(z[j]), complex(z[k]))
                if circle is None:
                    continue
                centre, radius = circle
    farthest = np.abs(z - centre).max()
    assert farthest <= radius * (1 + 1e-9) + 1e-9
    return centre, radius


@case(
    lambda: (star(10, 5), np.array([[-0.6, -0.6], [0.7, -0.5], [0.6, 0.8], [-0.5, 0.6]])),
    lambda: (star(6) + 5.0, np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])),
    lambda: (np.array([[0.2, 0.2], [0.3, 0.2], [0.2, 0.3]]), np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])),
)
def clip_polygon(subject, window):
    """Sutherland-Hodgman against a convex window given anticlockwise; two buffers are swapped."""
    capacity = 2 * (subject.shape[0] + window.shape[0])
    current = np.empty((capacity, 2))
    following = np.empty((capacity, 2))
    count = subject.shape[0]
    current[:count] = subject
    for e in range(window.shape[0]):
        ax, ay = window[e - 1]
        bx, by = window[e]
        kept = 0
        for i in range(count):
            px, py = current[i - 1] if i > 0 else current[count - 1]
            qx, qy = current[i]
            side_p = (bx - ax) * (py - ay) - (by - ay) * (px - ax)
            side_q = (bx - ax) * (qy - ay) - (by - ay) * (qx - ax)
            if (side_p >= 0) != (side_q >= 0):
                t = side_p / (side_p - side_q)
                following[kept, 0] = px + t * (qx - px)
                following[kept, 1] = py + t * (qy - py)
                kept += 1
            if side_q >= 0:
                following[kept] = qx, qy
                kept += 1
        current, following = following, current
        count = kept
        if count == 0:
            break
    return current[:count].copy()


@case(
    lambda: (np.stack([np.linspace(0, 6, 50), np.sin(np.linspace(0, 6, 50))], axis=1), 0.05),
    lambda: (np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 3.0], [0.0, 0.0]]), 0.5),
    lambda: (np.array([[0.0, 0.0]]), 1.0),
    lambda: (np.zeros((4, 2)), -1.0),
    raises=ValueError,
)
def simplify_line(line, tolerance):
    """Douglas-Peucker with an explicit stack and a mask of what stays."""
    if tolerance < 0:
        raise ValueError("tolerance must not be negative")
    n = line.shape[0]
    keep = np.zeros(n, dtype=bool)
    keep[0] = keep[-1] = True
    stack = [(0, n - 1)]
    while stack:
        first, last = stack.pop()
        if last - first < 2:
            continue
        start, stop = line[first], line[last]
        along = stop - start
        squared = (along * along).sum()
        between = line[first + 1 : last] - start
        if squared == 0.0:
            away = np.sqrt((between**2).sum(axis=1))
        else:
            t = np.minimum(np.maximum(between @ along / squared, 0.0), 1.0)
            rest = between - t[:, None] * along
            away = np.sqrt((rest * rest).sum(axis=1))
        far = int(away.argmax())
        if away[far] > tolerance:
            split = first + 1 + far
            keep[split] = True
            stack.append((first, split))
            stack.append((split, last))
    return line[keep], keep.sum()


@case(
    lambda: (points(9, 8, 3), (0.0, 0.0, 1.0), math.pi / 3),
    lambda: (points(10, 1, 3, np.float32), (1.0, 2.0, -2.0), -1.0, (0.5, 0.5, 0.5)),
    lambda: (points(10, 2, 3), (0.0, 0.0, 0.0), 1.0),
    raises=ValueError,
)
def rotate_about(cloud, axis, angle, origin=(0.0, 0.0, 0.0)):
    """Rotation by a unit quaternion; checked against Rodrigues' matrix. Changes the cloud in place."""
    x, y, z = axis
    length = math.sqrt(x * x + y * y + z * z)
    if length == 0:
        raise ValueError("the axis has no direction")
    x, y, z = x / length, y / length, z / length
    half = angle / 2
    w, s = math.cos(half), math.sin(half)
    q = (w, x * s, y * s, z * s)

    def hamilton(a, b):
        a0, a1, a2, a3 = a
        b0, b1, b2, b3 = b
        return (
            a0 * b0 - a1 * b1 - a2 * b2 - a3 * b3,
            a0 * b1 + a1 * b0 + a2 * b3 - a3 * b2,
            a0 * b2 - a1 * b3 + a2 * b0 + a3 * b1,
            a0 * b3 + a1 * b2 - a2 * b1 + a3 * b0,
        )

    conjugate = (q[0], -q[1], -q[2], -q[3])
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    R = np.eye(3) + math.sin(angle) * K + (1 - math.cos(angle)) * K @ K
    worst = 0.0
    for i in range(len(cloud)):
        p = tuple(float(cloud[i, k]) - origin[k] for k in range(3))
        _, *moved = hamilton(hamilton(q, (0.0, *p)), conjugate)
        by_matrix = R @ np.array(p)
        for k in range(3):
            worst = max(worst, abs(by_matrix[k] - moved[k]))
            cloud[i, k] = moved[k] + origin[k]
    return worst < 1e-12


def cross3(a, b):
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


@case(
    lambda: (
        points(11, 6, 3) - [0, 0, 3],
        points(12, 6, 3) - [0.3, 0.3, -2.0],
        points(13, 30, 3).reshape(10, 3, 3) * 2 - 0.5,
    ),
    lambda: (np.zeros((1, 3)), np.array([[0.0, 0.0, 1.0]]), np.zeros((1, 3, 3))),
    lambda: (np.zeros((2, 3)), np.ones((2, 3)), np.empty((0, 3, 3))),
    lambda: (np.zeros((2, 3)), np.ones((1, 3)), np.empty((0, 3, 3))),
    raises=ValueError,
)
def trace_rays(origins, directions, triangles):
    """Möller-Trumbore: nearest hit of every ray: distance, triangle and barycentric coordinates."""
    if origins.shape != directions.shape:
        raise ValueError("every ray needs an origin and a direction")
    rays = origins.shape[0]
    distance = np.full(rays, np.inf)
    which = np.full(rays, -1, dtype=np.int32)
    weights = np.zeros((rays, 3))
    for t in range(triangles.shape[0]):
        corner = triangles[t, 0]
        edge1 = triangles[t, 1] - corner
        edge2 = triangles[t, 2] - corner
        for r in range(rays):
            p = cross3(directions[r], edge2)
            det = edge1 @ p
            if abs(det) < 1e-14:
                continue
            s = origins[r] - corner
            u = np.dot(s, p) / det
            if not 0.0 <= u <= 1.0:
                continue
            q = cross3(s, edge1)
            v = np.dot(directions[r], q) / det
            if v < 0.0 or u + v > 1.0:
                continue
            at = np.dot(edge2, q) / det
            if 1e-9 < at < distance[r]:
                distance[r] = at
                which[r] = t
                weights[r] = [1.0 - u - v, u, v]
    hit = which >= 0
    return distance, which, weights, hit.mean()


def boxes(seed, n):
    rng = np.random.default_rng(seed)
    low = rng.random((n, 2)) * 8
    return np.concatenate([low, low + 1 + rng.random((n, 2)) * 3], axis=1).astype(np.float32)


@case(
    lambda: (boxes(14, 20), np.random.default_rng(14).random(20).astype(np.float32)),
    lambda: (boxes(15, 6), np.random.default_rng(15).random(6).astype(np.float32), 0.1, 0.5),
    lambda: (boxes(16, 0), np.zeros(0, dtype=np.float32)),
    lambda: (boxes(16, 3), np.zeros(2, dtype=np.float32)),
    raises=ValueError,
)
def suppress_boxes(corners, scores, overlap=0.3, least_score=0.0):
    """Non-maximum suppression in single precision; the indices kept, best first."""
    n = corners.shape[0]
    if scores.shape != (n,):
        raise ValueError("there must be one score per box")
    area = (corners[:, 2] - corners[:, 0]) * (corners[:, 3] - corners[:, 1])
    alive = scores >= least_score
    kept = []
    while alive.any():
        best = -1
        for i in range(n):
            if alive[i] and (best < 0 or scores[i] > scores[best]):
                best = i
        kept.append(best)
        alive[best] = False
        left = np.maximum(corners[:, 0], corners[best, 0])
        top = np.maximum(corners[:, 1], corners[best, 1])
        right = np.minimum(corners[:, 2], corners[best, 2])
        bottom = np.minimum(corners[:, 3], corners[best, 3])
        shared = np.maximum(right - left, 0) * np.maximum(bottom - top, 0)
        union = area + area[best] - shared
        iou = shared / union
        assert iou.dtype == np.float32
        alive[iou > overlap] = False
    result = np.empty(len(kept), dtype=np.int64)
    for k, index in enumerate(kept):
        result[k] = index
    return result


@case(
    lambda: (np.array([[0.0, 0.0], [1.0, 2.0], [3.0, 3.0], [4.0, 0.0]]), 0.01),
    lambda: (points(17, 5, 3), 0.05),
    lambda: (points(17, 1, 3), 0.05),
    lambda: (points(17, 3), 0.0),
    raises=ValueError,
)
def flatten_bezier(control, tolerance):
    """De Casteljau's subdivision of a curve of any degree, recursively, into an array of points."""
    if tolerance <= 0:
        raise ValueError("tolerance must be positive")
    degree = control.shape[0] - 1
    out = [control[0].copy()]

    def flat(c):
        for i in range(1, degree):
            t = i / degree
            chord = (1 - t) * c[0] + t * c[degree]
            if np.sqrt(((c[i] - chord) ** 2).sum()) > tolerance:
                return False
        return True

    def subdivide(c, depth):
        if depth == 0 or flat(c):
            out.append(c[degree].copy())
            return
        left = np.empty_like(c)
        right = c.copy()
        for k in range(degree + 1):
            left[k] = right[0]
            right[: degree - k] = 0.5 * (right[: degree - k] + right[1 : degree - k + 1])
        subdivide(left, depth - 1)
        subdivide(right, depth - 1)

    subdivide(control, 10)
    result = np.empty((len(out), control.shape[1]))
    for i, p in enumerate(out):
        result[i] = p
    return result


@case(
    lambda: (np.add.outer(np.linspace(-1, 1, 9) ** 2, np.linspace(-1, 1, 8) ** 2), 0.6),
    lambda: (np.array([[0.0, 1.0], [1.0, 0.0]]), 0.5),
    lambda: (np.zeros((3, 3)), 1.0),
    lambda: (np.zeros((1, 3)), 1.0),
    raises=ValueError,
)
def marching_squares(field, level):
    """Contour segments of a sampled field as an (n, 4) array of row and column pairs."""
    rows, cols = field.shape
    if rows < 2 or cols < 2:
        raise ValueError("the field must be at least 2 by 2")
    segments = np.empty((2 * (rows - 1) * (cols - 1), 4))
    count = 0

    def between(a, b):
        return (level - a) / (b - a)

    for r in range(rows - 1):
        for c in range(cols - 1):
            nw, ne = field[r, c], field[r, c + 1]
            sw, se = field[r + 1, c], field[r + 1, c + 1]
            code = (nw > level) | (ne > level) << 1 | (se > level) << 2 | (sw > level) << 3
            if code in (0, 15):
                continue
            top = (float(r), c + between(nw, ne)) if nw != ne else (float(r), float(c))
            bottom = (r + 1.0, c + between(sw, se)) if sw != se else (r + 1.0, float(c))
            left = (r + between(nw, sw), float(c)) if nw != sw else (float(r), float(c))
            right = (r + between(ne, se), c + 1.0) if ne != se else (float(r), c + 1.0)
            if code == 5 or code == 10:
                middle_high = (nw + ne + sw + se) / 4 > level
                if (code == 5) == middle_high:
                    pairs = [(top, right), (left, bottom)]
                else:
                    pairs = [(top, left), (right, bottom)]
            elif code in (1, 14):
                pairs = [(top, left)]
            elif code in (2, 13):
                pairs = [(top, right)]
            elif code in (4, 11):
                pairs = [(right, bottom)]
            elif code in (8, 7):
                pairs = [(left, bottom)]
            elif code in (3, 12):
                pairs = [(left, right)]
            else:
                pairs = [(top, bottom)]
            for (r0, c0), (r1, c1) in pairs:
                segments[count] = r0, c0, r1, c1
                count += 1
    return segments[:count]


@case(
    lambda: (star(12, 6),),
    lambda: (np.array([[0.0, 0.0], [0.0, 2.0], [1.0, 0.5], [2.0, 2.0], [2.0, 0.0]]),),
    lambda: (star(3),),
    lambda: (np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [3.0, 0.0]]),),
    raises=ValueError,
)
def triangulate_polygon(polygon):
    """Ear clipping over a doubly linked ring kept in two arrays."""
    n = polygon.shape[0]
    if n < 3:
        raise ValueError("a polygon has at least three corners")

    def turn(a, b, c):
        p, q, r = polygon[a], polygon[b], polygon[c]
        return (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])

    area = 0.0
    for i in range(n):
        j = (i + 1) % n
        area += polygon[i, 0] * polygon[j, 1] - polygon[j, 0] * polygon[i, 1]
    if area == 0:
        raise ValueError("the polygon is flat")
    step = 1 if area > 0 else -1
    after = np.array([(i + step) % n for i in range(n)])
    before = np.array([(i - step) % n for i in range(n)])

    def is_ear(v):
        a, c = before[v], after[v]
        if turn(a, v, c) <= 0:
            return False
        other = after[c]
        while other != a:
            if turn(a, v, other) >= 0 and turn(v, c, other) >= 0 and turn(c, a, other) >= 0:
                return False
            other = after[other]
        return True

    triangles = np.empty((n - 2, 3), dtype=np.int64)
    left = n
    v = 0
    patience = n
    made = 0
    while left > 3:
        if is_ear(v):
            triangles[made] = before[v], v, after[v]
            made += 1
            after[before[v]] = after[v]
            before[after[v]] = before[v]
            left -= 1
            patience = left
        else:
            patience -= 1
            if patience < 0:
                raise ValueError("no ear was found: the polygon crosses itself")
        v = after[v]
    triangles[made, :] = before[v], v, after[v]
    return triangles


@case(
    lambda: (np.zeros((12, 16), dtype=np.uint8), [(1, 1), (14, 3), (9, 10), (2, 8)], 200),
    lambda: (np.zeros((5, 5), dtype=np.uint8), [(-3, 2), (9, 2)], 7, False),
    lambda: (np.zeros((3, 3), dtype=np.uint8), [(1, 1)], 9),
    lambda: (np.zeros((3, 3), dtype=np.uint8), [(0, 0), (2, 2)], 256),
    raises=ValueError,
)
def draw_polyline(image, vertices, grey, closed=True):
    """Bresenham's lines into a picture, clipped at its edges; the number of pixels set."""
    if not 0 <= grey <= 255:
        raise ValueError("grey must fit a byte")
    height, width = image.shape
    drawn = 0
    n = len(vertices)
    for k in range(n if closed else n - 1):
        x, y = vertices[k]
        x1, y1 = vertices[(k + 1) % n]
        dx, dy = abs(x1 - x), -abs(y1 - y)
        sx = 1 if x < x1 else -1
        sy = 1 if y < y1 else -1
        error = dx + dy
        while True:
            if 0 <= x < width and 0 <= y < height and image[y, x] != grey:
                image[y, x] = grey
                drawn += 1
            if x == x1 and y == y1:
                break
            twice = 2 * error
            if twice >= dy:
                error += dy
                x += sx
            if twice <= dx:
                error += dx
                y += sy
    return drawn


@case(
    lambda: (np.array([52.52, 48.86, -33.87, 0.0]), np.array([13.4, 2.35, 151.2, 0.0])),
    lambda: (np.array([90.0]), np.array([0.0])),
    lambda: (np.array([91.0]), np.array([0.0])),
    raises=ValueError,
)
def great_circles(latitude, longitude, radius=6371.0088):
    """Matrix of haversine distances, initial bearings, and the farthest pair."""
    if np.any(np.abs(latitude) > 90.0):
        raise ValueError("latitude out of range")
    phi = latitude * (np.pi / 180.0)
    lam = longitude * (np.pi / 180.0)
    half_phi = (phi[:, None] - phi[None, :]) / 2
    half_lam = (lam[:, None] - lam[None, :]) / 2
    h = np.sin(half_phi) ** 2 + np.cos(phi)[:, None] * np.cos(phi)[None, :] * np.sin(half_lam) ** 2
    distance = 2.0 * radius * np.arcsin(np.minimum(1.0, np.sqrt(h)))
    n = phi.size
    bearing = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if i == j:
                continue
            d = lam[j] - lam[i]
            east = math.sin(d) * math.cos(phi[j])
            north = math.cos(phi[i]) * math.sin(phi[j]) - math.sin(phi[i]) * math.cos(phi[j]) * math.cos(d)
            bearing[i, j] = math.degrees(math.atan2(east, north)) % 360.0
    i, j = divmod(int(distance.argmax()), n)
    return distance, bearing, (i, j)


@case(
    lambda: ((16, 20), [(2, 3), (12, 4), (7, 17)]),
    lambda: ((5, 4), [(0, 0)]),
    lambda: ((1, 1), [(0, 0), (0, 0)]),
    lambda: ((4, 4), [(4, 0)]),
    raises=ValueError,
)
def jump_flood(shape, seeds):
    """Voronoi cells on a grid by jump flooding; nearest seed and squared distance per cell."""
    rows, cols = shape
    nearest = np.full((rows, cols), -1, dtype=np.int16)
    for k, (r, c) in enumerate(seeds):
        if not (0 <= r < rows and 0 <= c < cols):
            raise ValueError("a seed lies outside the grid")
        nearest[r, c] = k

    def squared(r, c, k):
        sr, sc = seeds[k]
        return (r - sr) ** 2 + (c - sc) ** 2

    step = 1
    while step < max(rows, cols):
        step *= 2
    while step >= 1:
        fresh = nearest.copy()
        for r in range(rows):
            for c in range(cols):
                for dr in (-step, 0, step):
                    for dc in (-step, 0, step):
                        rr, cc = r + dr, c + dc
                        if rr < 0 or rr >= rows or cc < 0 or cc >= cols:
                            continue
                        k = nearest[rr, cc]
                        if k < 0:
                            continue
                        if fresh[r, c] < 0 or squared(r, c, k) < squared(r, c, fresh[r, c]):
                            fresh[r, c] = k
        nearest = fresh
        step //= 2
    distance = np.array([[squared(r, c, nearest[r, c]) for c in range(cols)] for r in range(rows)])
    return nearest, distance


@case(
    lambda: (points(18, 9, 3), np.random.default_rng(18).integers(0, 9, (12, 3))),
    lambda: (
        np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]),
        np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]),
    ),
    lambda: (points(18, 3, 3), np.empty((0, 3), dtype=np.int64)),
)
def mesh_normals(vertices, faces):
    """Area-weighted vertex normals, total area and enclosed volume of a triangle mesh."""
    a = vertices[faces[:, 0]]
    b = vertices[faces[:, 1]]
    c = vertices[faces[:, 2]]
    ab, ac = b - a, c - a
    normal = np.empty(ab.shape)
    normal[:, 0] = ab[:, 1] * ac[:, 2] - ab[:, 2] * ac[:, 1]
    normal[:, 1] = ab[:, 2] * ac[:, 0] - ab[:, 0] * ac[:, 2]
    normal[:, 2] = ab[:, 0] * ac[:, 1] - ab[:, 1] * ac[:, 0]
    twice = np.sqrt((normal * normal).sum(axis=1))
    area = 0.5 * twice.sum()
    volume = (a * normal).sum() / 6.0
    summed = np.zeros_like(vertices)
    for f in range(faces.shape[0]):
        for corner in faces[f]:
            summed[corner] += normal[f]
    length = np.sqrt((summed**2).sum(axis=1, keepdims=True))
    lonely = length[:, 0] < 1e-15
    length[lonely] = 1.0
    summed /= length
    summed[lonely, 2] = 1.0
    return summed, area, volume


@case(
    lambda: (points(19, 25) @ np.array([[0.98, 0.17], [-0.17, 0.98]]) + 0.05, points(19, 25)),
    lambda: (points(20, 3), points(20, 3), 1),
    lambda: (np.empty((0, 2)), points(20, 3)),
    raises=ValueError,
)
def align_clouds(moving, fixed, rounds=10):
    """Iterative closest points in the plane; angle and shift, with a copy of the moved cloud."""
    if len(moving) == 0:
        raise ValueError("there is nothing to align")
    cloud = moving.copy()
    angle = 0.0
    shift = np.zeros(2)
    errors = []
    for _ in range(rounds):
        gaps = cloud[:, None, :] - fixed[None, :, :]
        squared = (gaps**2).sum(axis=-1)
        partner = fixed[squared.argmin(axis=1)]
        errors.append(float(np.sqrt(squared.min(axis=1).mean())))
        mean_cloud = cloud.mean(axis=0)
        mean_partner = partner.mean(axis=0)
        p = cloud - mean_cloud
        q = partner - mean_partner
        dot = (p * q).sum()
        cross = (p[:, 0] * q[:, 1] - p[:, 1] * q[:, 0]).sum()
        turn = math.atan2(cross, dot)
        R = np.array([[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]])
        move = mean_partner - R @ mean_cloud
        cloud = cloud @ R.T + move
        angle += turn
        shift = R @ shift + move
        if len(errors) > 1 and errors[-2] - errors[-1] < 1e-12:
            break
    return angle, shift, cloud, errors


@case(
    lambda: (np.array([[0, 0], [1, 2], [7, 7], [5, 3], [15, 8]], dtype=np.uint32), 4),
    lambda: (np.array([[0, 0]], dtype=np.uint32), 1),
    lambda: (np.array([[16, 0]], dtype=np.uint32), 4),
    raises=ValueError,
)
def hilbert_order(cells, bits):
    """Index along Hilbert's curve and the Morton code of each cell; the curve is also walked back."""
    size = 1 << bits
    hilbert = np.zeros(cells.shape[0], dtype=np.uint64)
    morton = np.zeros(cells.shape[0], dtype=np.uint64)
    for i, (cx, cy) in enumerate(cells):
        if cx >= size or cy >= size:
            raise ValueError("a cell lies outside the square")
        x, y = int(cx), int(cy)
        code = 0
        for b in range(bits):
            code |= (x >> b & 1) << 2 * b | (y >> b & 1) << (2 * b + 1)
        morton[i] = code
        index = 0
        s = size >> 1
        while s > 0:
            rx = 1 if x & s else 0
            ry = 1 if y & s else 0
            index += s * s * ((3 * rx) ^ ry)
            if ry == 0:
                if rx == 1:
                    x, y = size - 1 - x, size - 1 - y
                x, y = y, x
            s >>= 1
        hilbert[i] = index
        x = y = 0
        rest = index
        s = 1
        while s < size:
            rx = 1 & (rest >> 1)
            ry = 1 & (rest ^ rx)
            if ry == 0:
                if rx:
                    x, y = s - 1 - x, s - 1 - y
                x, y = y, x
            x += s * rx
            y += s * ry
            rest >>= 2
            s <<= 1
        assert (x, y) == (int(cx), int(cy))
    return hilbert, morton


@case(
    lambda: (np.zeros((14, 18)), np.array([[1.0, 1.0, 0.2], [15.5, 3.0, 0.9], [6.0, 12.0, 0.5]])),
    lambda: (np.zeros((6, 6), dtype=np.float32), np.array([[1.0, 1.0, 0.1], [1.0, 5.0, 0.1], [5.0, 1.0, 0.1]])),
    lambda: (np.zeros((4, 4)), np.zeros((3, 3))),
    lambda: (np.zeros((4, 4)), np.zeros((2, 3))),
    raises=ValueError,
)
def rasterise_triangle(depth, corners):
    """Fills a triangle's interpolated depth where it is in front; returns how many pixels it won."""
    if corners.shape != (3, 3):
        raise ValueError("three corners of three coordinates are needed")
    height, width = depth.shape
    (ax, ay, az), (bx, by, bz), (cx, cy, cz) = corners
    area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
    if area == 0.0:
        return 0
    x_first = max(math.floor(min(ax, bx, cx)), 0)
    x_last = min(math.ceil(max(ax, bx, cx)), width - 1)
    y_first = max(math.floor(min(ay, by, cy)), 0)
    y_last = min(math.ceil(max(ay, by, cy)), height - 1)
    won = 0
    for y in range(y_first, y_last + 1):
        py = y + 0.5
        for x in range(x_first, x_last + 1):
            px = x + 0.5
            u = ((bx - px) * (cy - py) - (by - py) * (cx - px)) / area
            v = ((cx - px) * (ay - py) - (cy - py) * (ax - px)) / area
            w = 1.0 - u - v
            if u < 0 or v < 0 or w < 0:
                continue
            z = u * az + v * bz + w * cz
            if z > depth[y, x]:
                depth[y, x] = z
                won += 1
    return won


@case(
    lambda: (0j, 2.0, 3 + 0j, 2.0),
    lambda: (1 + 1j, 1.0, 4 + 5j, 4.0),
    lambda: (0j, 1.0, 0.1j, 5.0),
    lambda: (0j, 1.0, 0j, 1.0),
    raises=ValueError,
)
def circle_intersections(c0, r0, c1, r1):
    """Points where two circles of the complex plane meet, and the area of the lens."""
    if r0 < 0 or r1 < 0:
        raise ValueError("radii must not be negative")
    between = c1 - c0
    d = abs(between)
    if d == 0.0 and r0 == r1:
        raise ValueError("the circles coincide")
    if d > r0 + r1:
        return [], 0.0
    if d <= abs(r0 - r1):
        smaller = min(r0, r1)
        return [], math.pi * smaller * smaller
    along = (d * d + r0 * r0 - r1 * r1) / (2 * d)
    up = r0 * r0 - along * along
    unit = cmath.rect(1.0, cmath.phase(between))
    foot = c0 + along * unit
    if up <= 1e-14 * r0 * r0:
        meetings = [foot]
    else:
        offset = 1j * math.sqrt(up) * unit
        meetings = [foot + offset, foot - offset]
    part0 = math.acos(max(-1.0, min(1.0, along / r0)))
    part1 = math.acos(max(-1.0, min(1.0, (d - along) / r1)))
    lens = r0 * r0 * (part0 - math.sin(2 * part0) / 2) + r1 * r1 * (part1 - math.sin(2 * part1) / 2)
    return meetings, lens


@case(
    lambda: (points(31, 18),),
    lambda: (np.array([[0.0, 0.0], [1.0, 0.0], [0.3, 1.0]]),),
    lambda: (np.array([[0.0, 0.0], [1.0, 0.0]]),),
    lambda: (np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]),),
    raises=ValueError,
)
def delaunay(cloud):
    """Bowyer-Watson: insert each point, dig out the circles that hold it, and fan the hole. Triangles and edges."""
    n = cloud.shape[0]
    if n < 3:
        raise ValueError("three points are needed")
    for i in range(n):
        for j in range(i):
            if (cloud[i] == cloud[j]).all():
                raise ValueError("two points coincide")
    low, high = cloud.min(axis=0), cloud.max(axis=0)
    middle = (low + high) / 2
    reach = 50.0 * float((high - low).max())
    vertices = np.empty((n + 3, 2))
    vertices[:n] = cloud
    vertices[n] = middle + np.array([-reach, -reach])
    vertices[n + 1] = middle + np.array([reach, -reach])
    vertices[n + 2] = middle + np.array([0.0, reach])

    def in_circle(triangle, p):
        a, b, c = (vertices[k] - p for k in triangle)
        det = (
            (a @ a) * (b[0] * c[1] - c[0] * b[1])
            - (b @ b) * (a[0] * c[1] - c[0] * a[1])
            + (c @ c) * (a[0] * b[1] - b[0] * a[1])
        )
        return det > 0.0

    triangles = [(n, n + 1, n + 2)]
    for k in range(n):
        p = vertices[k]
        bad = [t for t in triangles if in_circle(t, p)]
        triangles = [t for t in triangles if t not in bad]
        rim = []
        for a, b, c in bad:
            for edge in ((a, b), (b, c), (c, a)):
                twin = (edge[1], edge[0])
                if twin in rim:
                    rim.remove(twin)
                else:
                    rim.append(edge)
        for a, b in rim:
            triangles.append((a, b, k))

    inner = [t for t in triangles if max(t) < n]
    result = np.array(inner, dtype=np.int64).reshape(len(inner), 3)
    # The smallest corner comes first, and the triangles are in order.
    for t in range(len(inner)):
        first = int(result[t].argmin())
        a, b, c = inner[t]
        result[t] = ((a, b, c), (b, c, a), (c, a, b))[first]
    for i in range(1, len(inner)):
        j = i
        while j > 0 and tuple(result[j]) < tuple(result[j - 1]):
            result[[j - 1, j]] = result[[j, j - 1]]
            j -= 1
    edges = []
    for a, b, c in result:
        for u, v in ((a, b), (b, c), (c, a)):
            edge = (int(min(u, v)), int(max(u, v)))
            if edge not in edges:
                edges.append(edge)
    return result, sorted(edges)


def bounding_box(*shapes, margin=0.0):
    low = np.array([np.inf, np.inf])
    high = -low
    for shape in shapes:
        low = np.minimum(low, shape.min(axis=0))
        high = np.maximum(high, shape.max(axis=0))
    return low - margin, high + margin


@case(
    lambda: (star(5, 1), star(7, 2) + 0.8),
    lambda: (star(4, 3), star(4, 3) + np.array([9.0, 0.0])),
    lambda: (np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]]), np.array([[2.0, 2.0], [1.2, 1.2], [3.0, 0.9]])),
    lambda: (star(2), star(3)),
    raises=ValueError,
)
def separating_axis(first, second):
    """Do the convex hulls of two corner lists overlap? The axis of least penetration and its depth say how."""
    if min(len(first), len(second)) < 3:
        raise ValueError("each shape needs three corners")
    low, high = bounding_box(first, second, margin=1e-9)
    extent = float((high - low).max())

    def hull(shape):
        """Gift wrapping from the leftmost corner."""
        start = int(shape[:, 0].argmin())
        corners = [start]
        while True:
            here = corners[-1]
            chosen = (here + 1) % len(shape)
            for k in range(len(shape)):
                ax, ay = shape[chosen] - shape[here]
                bx, by = shape[k] - shape[here]
                turn = ax * by - ay * bx
                if turn < 0 or (turn == 0 and bx * bx + by * by > ax * ax + ay * ay):
                    chosen = k
            if chosen == start:
                return shape[np.array(corners)]
            corners.append(chosen)

    hulls = (hull(first), hull(second))
    least, axis = math.inf, (0.0, 0.0)
    for shape in hulls:
        for i in range(len(shape)):
            edge = shape[i] - shape[i - 1]
            length = math.hypot(edge[0], edge[1])
            normal = np.array([-edge[1], edge[0]]) / length
            spans = [(float((h @ normal).min()), float((h @ normal).max())) for h in hulls]
            (low0, high0), (low1, high1) = spans
            depth = min(high0 - low1, high1 - low0)
            if depth < least:
                least = depth
                axis = (float(normal[0]), float(normal[1]))
    return least > 0.0, axis, least / extent
