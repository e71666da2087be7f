"""Numerical recipes: roots, quadrature, differential equations, interpolation and linear systems, written by hand."""

import cmath
import math

from _case import case

import numpy as np


def cubic(x):
    return x**3 - 2.0 * x - 5.0


def cubic_slope(x):
    return 3.0 * x**2 - 2.0


def spd_matrix(n, seed=0):
    a = np.random.default_rng(seed).normal(size=(n, n))
    return a @ a.T + n * np.eye(n)


def random_matrix(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


@case(
    lambda: (cubic, 2.0, 3.0),
    lambda: (lambda x: math.cos(x) - x, 0.0, 1.0, 1e-6, 10),
    lambda: (cubic, 5.0, 6.0),
    raises=ValueError,
)
def bisection(f, a, b, tol=1e-10, max_iter=200):
    """Halves the bracket until it is shorter than tol; returns the root and the number of halvings."""
    fa = f(a)
    fb = f(b)
    if fa == 0.0:
        return a, 0
    if fb == 0.0:
        return b, 0
    if fa * fb > 0:
        raise ValueError("f(a) and f(b) must have opposite signs")
    steps = 0
    while b - a > tol:
        mid = a + 0.5 * (b - a)
        fm = f(mid)
        steps += 1
        if fm == 0.0:
            return mid, steps
        if (fm > 0) == (fb > 0):
            b, fb = mid, fm
        else:
            a, fa = mid, fm
        if steps >= max_iter:
            break
    return 0.5 * (a + b), steps


@case(
    lambda: (cubic, cubic_slope, 1.0, 4.0),
    lambda: (lambda x: math.atan(x), lambda x: 1.0 / (1.0 + x * x), -8.0, 10.0),
    lambda: (cubic, cubic_slope, -1.0, 1.0),
    raises=ValueError,
)
def safe_newton(f, df, lo, hi, tol=1e-12):
    """Newton's method that falls back on bisection when a step leaves the bracket or is too slow."""
    flo, fhi = f(lo), f(hi)
    if flo * fhi > 0.0:
        raise ValueError("root must be bracketed")
    if flo == 0.0:
        return lo
    if fhi == 0.0:
        return hi
    if flo > 0.0:
        lo, hi = hi, lo
    root = 0.5 * (lo + hi)
    before_last = abs(hi - lo)
    last = before_last
    value, slope = f(root), df(root)
    for _ in range(100):
        newton_leaves = ((root - hi) * slope - value) * ((root - lo) * slope - value) > 0.0
        if newton_leaves or abs(2.0 * value) > abs(before_last * slope):
            before_last = last
            last = 0.5 * (hi - lo)
            root = lo + last
        else:
            before_last = last
            last = value / slope
            root -= last
        if abs(last) < tol:
            return root
        value, slope = f(root), df(root)
        if value < 0.0:
            lo = root
        else:
            hi = root
    else:
        raise RuntimeError("no convergence after 100 steps")


@case(
    lambda: (cubic, 2.0, 3.0),
    lambda: (lambda t: math.exp(t) - 10.0 * t, 0.0, 1.0, 1e-7),
    lambda: (cubic, 2.0, 2.0),
    raises=ValueError,
)
def brent(f, a, b, xtol=1e-12, maxiter=100):
    """Inverse quadratic interpolation, secant and bisection, whichever is safe."""
    fa, fb = f(a), f(b)
    if fa * fb > 0.0:
        raise ValueError(f"no sign change between {a} and {b}")
    if abs(fa) < abs(fb):
        a, b, fa, fb = b, a, fb, fa
    c, fc = a, fa
    d = c
    bisected = True
    for iteration in range(maxiter):
        if fb == 0.0 or abs(b - a) < xtol:
            return b, iteration
        if fa != fc and fb != fc:
            s = (
                a * fb * fc / ((fa - fb) * (fa - fc))
                + b * fa * fc / ((fb - fa) * (fb - fc))
                + c * fa * fb / ((fc - fa) * (fc - fb))
            )
        else:
            s = b - fb * (b - a) / (fb - fa)
        low, high = sorted(((3.0 * a + b) / 4.0, b))
        step = abs(b - c) if bisected else abs(c - d)
        if not low < s < high or abs(s - b) >= step / 2.0 or step < xtol:
            s = 0.5 * (a + b)
            bisected = True
        else:
            bisected = False
        fs = f(s)
        d, c, fc = c, b, fb
        if fa * fs < 0.0:
            b, fb = s, fs
        else:
            a, fa = s, fs
        if abs(fa) < abs(fb):
            a, b = b, a
            fa, fb = fb, fa
    return b, maxiter


@case(
    lambda: (np.array([1.0, 0.0, 0.0, -1.0]),),
    lambda: (np.array([2.0, -3.0, 4.0, -5.0, 6.0]), 60),
    lambda: (np.array([4.0, 2.0]),),
    lambda: (np.array([0.0, 1.0]),),
    raises=ValueError,
)
def durand_kerner(coefficients, sweeps=40):
    """All complex roots of a polynomial at once, highest power first."""
    if coefficients[0] == 0:
        raise ValueError("leading coefficient must not be zero")
    monic = coefficients / coefficients[0]
    degree = len(monic) - 1
    seed = 0.4 + 0.9j
    roots = np.array([seed**k for k in range(degree)])
    for _ in range(sweeps):
        largest = 0.0
        for i in range(degree):
            value = 0j
            for c in monic:
                value = value * roots[i] + c
            below = 1 + 0j
            for j in range(degree):
                if j != i:
                    below *= roots[i] - roots[j]
            delta = value / below
            roots[i] -= delta
            largest = max(largest, abs(delta))
        if largest < 1e-14:
            break
    # Sorted by real part, then by imaginary part, so that the answer does not depend on the start.
    for i in range(1, degree):
        r = roots[i]
        j = i - 1
        while j >= 0 and (round(roots[j].real, 9), roots[j].imag) > (round(r.real, 9), r.imag):
            roots[j + 1] = roots[j]
            j -= 1
        roots[j + 1] = r
    return roots


@case(
    lambda: (lambda z: z * z + 1.0, 0.5 + 0.1j, 1.0 + 0j, 1.5 + 0.5j),
    lambda: (lambda z: z**3 - 8.0, 1.0 + 0j, 1.5 + 0j, 3.0 + 0j, 1e-9),
)
def muller(f, x0, x1, x2, tol=1e-12):
    """Parabola through three points; finds complex roots from real starts."""
    f0, f1, f2 = f(x0), f(x1), f(x2)
    for count in range(1, 51):
        h1 = x1 - x0
        h2 = x2 - x1
        d1 = (f1 - f0) / h1
        d2 = (f2 - f1) / h2
        curvature = (d2 - d1) / (h2 + h1)
        b = curvature * h2 + d2
        root = (b * b - 4.0 * curvature * f2) ** 0.5
        plus, minus = b + root, b - root
        denominator = plus if abs(plus) > abs(minus) else minus
        if denominator == 0:
            return x2, count, False
        step = -2.0 * f2 / denominator
        x0, x1, x2 = x1, x2, x2 + step
        f0, f1, f2 = f1, f2, f(x2)
        if abs(step) < tol * max(1.0, abs(x2)):
            return x2, count, True
    return x2, 50, False


@case(
    lambda: (math.sin, 0.0, math.pi),
    lambda: (lambda x: 1.0 / (1e-2 + (x - 0.3) ** 2), 0.0, 1.0, 1e-7),
    lambda: (math.exp, 1.0, 1.0),
)
def adaptive_simpson(f, a, b, eps=1e-9, max_depth=20):
    """Recursive halving until two halves agree with the whole."""

    def simpson(fa, fm, fb, width):
        return width / 6.0 * (fa + 4.0 * fm + fb)

    def refine(a, fa, b, fb, m, fm, whole, eps, depth):
        left_mid = 0.5 * (a + m)
        right_mid = 0.5 * (m + b)
        f_left = f(left_mid)
        f_right = f(right_mid)
        left = simpson(fa, f_left, fm, m - a)
        right = simpson(fm, f_right, fb, b - m)
        error = left + right - whole
        if depth <= 0 or abs(error) <= 15.0 * eps:
            return left + right + error / 15.0
        return refine(a, fa, m, fm, left_mid, f_left, left, eps / 2.0, depth - 1) + refine(
            m, fm, b, fb, right_mid, f_right, right, eps / 2.0, depth - 1
        )

    if a == b:
        return 0.0
    fa, fb = f(a), f(b)
    m = 0.5 * (a + b)
    fm = f(m)
    return refine(a, fa, b, fb, m, fm, simpson(fa, fm, fb, b - a), eps, max_depth)


@case(
    lambda: (lambda x: math.exp(-x * x), -1.0, 2.0, 6),
    lambda: (lambda x: x, 0.0, 1.0, 1),
    lambda: (lambda x: x, 0.0, 1.0, 0),
    raises=ValueError,
)
def romberg(f, a, b, levels):
    """The whole Romberg table, and the best entry."""
    if levels < 1:
        raise ValueError("levels must be positive, got " + str(levels))
    table = np.zeros((levels, levels))
    h = b - a
    table[0, 0] = 0.5 * h * (f(a) + f(b))
    for i in range(1, levels):
        h /= 2
        total = 0.0
        for k in range(1, 2**i, 2):
            total += f(a + k * h)
        table[i, 0] = 0.5 * table[i - 1, 0] + h * total
        factor = 1
        for j in range(1, i + 1):
            factor <<= 2
            table[i, j] = table[i, j - 1] + (table[i, j - 1] - table[i - 1, j - 1]) / (factor - 1)
        if i > 2 and abs(table[i, i] - table[i - 1, i - 1]) < 1e-13:
            return table[: i + 1, : i + 1], table[i, i]
    return table, table[-1, -1]


@case(lambda: (5,), lambda: (16, -2.0, 3.0), lambda: (1,), lambda: (0,), raises=AssertionError)
def gauss_legendre(n, a=-1.0, b=1.0):
    """Nodes and weights on [a, b], by Newton's method on the Legendre polynomial."""
    assert n > 0, "need at least one node"
    nodes = np.empty(n)
    weights = np.empty(n)
    centre = 0.5 * (b + a)
    half = 0.5 * (b - a)
    for i in range((n + 1) // 2):
        z = math.cos(math.pi * (i + 0.75) / (n + 0.5))
        while True:
            p, previous = 1.0, 0.0
            for j in range(n):
                p, previous = ((2.0 * j + 1.0) * z * p - j * previous) / (j + 1), p
            slope = n * (z * p - previous) / (z * z - 1.0)
            z_old = z
            z = z_old - p / slope
            if abs(z - z_old) < 1e-14:
                break
        nodes[i] = centre - half * z
        nodes[n - 1 - i] = centre + half * z
        weights[i] = 2.0 * half / ((1.0 - z * z) * slope * slope)
        weights[n - 1 - i] = weights[i]
    return nodes, weights


@case(
    lambda: (np.array([10.0, 5.0]), 0.0, 4.0, 80),
    lambda: (np.array([1.0, 1.0]), 0.0, 1.0, 1, 0.5, 0.0),
    lambda: (np.array([10.0, 5.0]), 0.0, 4.0, 0),
)
def predator_prey_rk4(start, t0, t1, steps, alpha=1.1, beta=0.4, gamma=0.4, delta=0.1):
    """Lotka-Volterra by the classical fourth-order method; returns times and trajectory."""

    def rhs(t, y):
        prey, predator = y
        return np.array([alpha * prey - beta * prey * predator, delta * prey * predator - gamma * predator])

    times = np.zeros(steps + 1)
    path = np.zeros((steps + 1, start.size))
    times[0] = t0
    path[0] = start
    if steps == 0:
        return times, path
    h = (t1 - t0) / steps
    for n in range(steps):
        t = t0 + n * h
        y = path[n]
        k1 = rhs(t, y)
        k2 = rhs(t + h / 2, y + h / 2 * k1)
        k3 = rhs(t + h / 2, y + h / 2 * k2)
        k4 = rhs(t + h, y + h * k3)
        path[n + 1] = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        times[n + 1] = t + h
    return times, path


@case(
    lambda: (lambda t, y: -2.0 * t * y, 0.0, 1.0, 2.0),
    lambda: (lambda t, y: math.cos(t) - 5.0 * y, 0.0, 0.5, 3.0, 1e-5),
    lambda: (lambda t, y: y * y, 0.0, 1.0, 1.0, 1e-9, 0.25, 1e-2),
    raises=RuntimeError,
)
def fehlberg45(f, t, y, t_end, tol=1e-8, h=0.1, h_min=1e-7):
    """Runge-Kutta-Fehlberg with step control; the end, the number of points accepted, and of steps rejected."""
    ts = [t]
    ys = [y]
    rejected = 0
    while t < t_end - 1e-12:
        if t + h > t_end:
            h = t_end - t
        k1 = h * f(t, y)
        k2 = h * f(t + h / 4, y + k1 / 4)
        k3 = h * f(t + 3 * h / 8, y + 3 * k1 / 32 + 9 * k2 / 32)
        k4 = h * f(t + 12 * h / 13, y + (1932 * k1 - 7200 * k2 + 7296 * k3) / 2197)
        k5 = h * f(t + h, y + 439 * k1 / 216 - 8 * k2 + 3680 * k3 / 513 - 845 * k4 / 4104)
        k6 = h * f(t + h / 2, y - 8 * k1 / 27 + 2 * k2 - 3544 * k3 / 2565 + 1859 * k4 / 4104 - 11 * k5 / 40)
        error = abs(k1 / 360 - 128 * k3 / 4275 - 2197 * k4 / 75240 + k5 / 50 + 2 * k6 / 55) / h
        if error <= tol:
            t += h
            y += 25 * k1 / 216 + 1408 * k3 / 2565 + 2197 * k4 / 4104 - k5 / 5
            ts.append(t)
            ys.append(y)
        else:
            rejected += 1
        scale = 4.0 if error == 0.0 else 0.84 * (tol / error) ** 0.25
        h *= min(4.0, max(0.1, scale))
        if h < h_min and t < t_end - h_min:
            raise RuntimeError("step size became too small")
    return ts[-1], ys[-1], len(ts), rejected


@case(
    lambda: (np.array([0.0, 1.0, 2.5, 3.0, 4.2]), np.array([0.0, 0.8, 0.6, 0.1, -0.9]), np.linspace(-0.5, 4.5, 23)),
    lambda: (np.array([0.0, 2.0]), np.array([1.0, 5.0]), np.array([0.5])),
    lambda: (np.array([0.0, 0.0]), np.array([1.0, 5.0]), np.array([0.5])),
    raises=ValueError,
)
def natural_spline(x, y, at):
    """Natural cubic spline through (x, y), evaluated at the points `at`."""
    n = x.size
    h = x[1:] - x[:-1]
    if np.any(h <= 0):
        raise ValueError("x must be strictly increasing")
    second = np.zeros(n)
    upper = np.zeros(n)
    for i in range(1, n - 1):
        ratio = h[i - 1] / (x[i + 1] - x[i - 1])
        p = ratio * second[i - 1] + 2.0
        second[i] = (ratio - 1.0) / p
        change = (y[i + 1] - y[i]) / h[i] - (y[i] - y[i - 1]) / h[i - 1]
        upper[i] = (6.0 * change / (x[i + 1] - x[i - 1]) - ratio * upper[i - 1]) / p
    second[-1] = 0.0
    for k in range(n - 2, -1, -1):
        second[k] = second[k] * second[k + 1] + upper[k]
    result = np.empty_like(at)
    for i, value in enumerate(at):
        lo, hi = 0, n - 1
        while hi - lo > 1:
            mid = (hi + lo) >> 1
            if x[mid] > value:
                hi = mid
            else:
                lo = mid
        width = x[hi] - x[lo]
        a = (x[hi] - value) / width
        b = (value - x[lo]) / width
        bend = ((a**3 - a) * second[lo] + (b**3 - b) * second[hi]) * width**2 / 6.0
        result[i] = a * y[lo] + b * y[hi] + bend
    return result


@case(
    lambda: (np.array([0.0, 1.0, 3.0, 4.0]), np.array([1.0, 2.0, 0.0, 5.0]), np.linspace(0.0, 4.0, 9)),
    lambda: (np.array([2.0]), np.array([7.0]), np.array([[1.0, 2.0], [3.0, 4.0]])),
    lambda: (np.arange(3.0), np.arange(3.0), np.empty(0)),
)
def barycentric_lagrange(nodes, values, x):
    """Lagrange interpolation in barycentric form, for x of any shape; exact at the nodes."""
    n = len(nodes)
    weights = np.ones(n)
    for j in range(n):
        for k in range(n):
            if k == j:
                continue
            weights[j] /= nodes[j] - nodes[k]
    flat = x.ravel()
    numerator = np.zeros(flat.size)
    denominator = np.zeros(flat.size)
    exact = np.full(flat.size, -1)
    for j in range(n):
        difference = flat - nodes[j]
        hit = difference == 0.0
        exact[hit] = j
        term = weights[j] / np.where(hit, 1.0, difference)
        numerator += term * values[j]
        denominator += term
    out = numerator / np.where(denominator == 0.0, 1.0, denominator)
    on_node = exact >= 0
    out[on_node] = values[exact[on_node]]
    return out.reshape(x.shape)


@case(
    lambda: (random_matrix(5, 5),),
    lambda: (np.array([[0.0, 2.0], [1.0, 3.0]], dtype=np.float32),),
    lambda: (np.ones((3, 3)),),
    lambda: (np.ones((2, 3)),),
    raises=ValueError,
)
def lu_in_place(a):
    """LU factors overwrite the matrix; returns the row permutation and its sign."""
    rows, cols = a.shape
    if rows != cols:
        raise ValueError("matrix must be square")
    permutation = np.arange(rows)
    sign = 1
    for k in range(rows):
        pivot = k
        largest = abs(a[k, k])
        for i in range(k + 1, rows):
            if abs(a[i, k]) > largest:
                largest = abs(a[i, k])
                pivot = i
        if largest < 1e-14:
            raise ValueError("matrix is singular")
        if pivot != k:
            for j in range(cols):
                a[k, j], a[pivot, j] = a[pivot, j], a[k, j]
            permutation[k], permutation[pivot] = permutation[pivot], permutation[k]
            sign = -sign
        for i in range(k + 1, rows):
            a[i, k] /= a[k, k]
            for j in range(k + 1, cols):
                a[i, j] -= a[i, k] * a[k, j]
    return permutation, sign


@case(
    lambda: (np.full(5, -1.0), np.full(6, 4.0), np.full(5, -1.0), np.arange(6.0)),
    lambda: (np.zeros(0), np.array([2.0]), np.zeros(0), np.array([3.0])),
    lambda: (np.full(1, 1.0), np.zeros(2), np.full(1, 1.0), np.ones(2)),
    raises=ZeroDivisionError,
)
def thomas(lower, diagonal, upper, rhs):
    """Tridiagonal solve without pivoting; the arguments are left alone."""
    n = diagonal.shape[0]
    if diagonal[0] == 0.0:
        raise ZeroDivisionError("zero pivot at row 0")
    c = np.empty(n)
    d = np.empty(n)
    if n > 1:
        c[0] = upper[0] / diagonal[0]
    d[0] = rhs[0] / diagonal[0]
    for i in range(1, n):
        pivot = diagonal[i] - lower[i - 1] * c[i - 1]
        if abs(pivot) < 1e-300:
            raise ZeroDivisionError(f"zero pivot at row {i}")
        if i < n - 1:
            c[i] = upper[i] / pivot
        d[i] = (rhs[i] - lower[i - 1] * d[i - 1]) / pivot
    x = np.zeros_like(d)
    x[-1] = d[-1]
    for i in reversed(range(n - 1)):
        x[i] = d[i] - c[i] * x[i + 1]
    return x


@case(
    lambda: (spd_matrix(8), np.arange(8.0)),
    lambda: (spd_matrix(4, 3), np.ones(4), np.full(4, 0.5), 1e-6),
    lambda: (np.eye(3), np.zeros(3)),
)
def conjugate_gradient(a, b, x0=None, tol=1e-10):
    """Solves a @ x = b for symmetric positive definite a; returns x, iterations and whether it converged."""
    n = b.size
    if x0 is None:
        x = np.zeros(n)
    else:
        x = x0.copy()
    r = b - a @ x
    p = r.copy()
    rho = np.dot(r, r)
    limit = tol * max(1.0, math.sqrt(np.dot(b, b)))
    if math.sqrt(rho) <= limit:
        return x, 0, True
    iterations = 0
    while iterations < 10 * n:
        q = a @ p
        alpha = rho / (p @ q)
        x += alpha * p
        r -= alpha * q
        rho_new = r @ r
        iterations += 1
        if math.sqrt(rho_new) <= limit:
            return x, iterations, True
        p *= rho_new / rho
        p += r
        rho = rho_new
    return x, iterations, False


@case(
    lambda: (spd_matrix(5), np.arange(5.0)),
    lambda: (np.array([[4.0, 1.0], [2.0, 5.0]]), np.array([1.0, 2.0]), 1.1, 3),
    lambda: (np.eye(2), np.ones(2), 2.5),
    raises=ValueError,
)
def sor(a, b, omega=1.25, sweeps=100):
    """Successive over-relaxation, with the history of the largest changes."""
    if not 0.0 < omega < 2.0:
        raise ValueError("omega must lie in (0, 2)")
    n = len(b)
    x = np.zeros(n)
    history = []
    for _sweep in range(sweeps):
        change = 0.0
        for i in range(n):
            sigma = 0.0
            for j in range(i):
                sigma += a[i, j] * x[j]
            for j in range(i + 1, n):
                sigma += a[i, j] * x[j]
            new = (1.0 - omega) * x[i] + omega * (b[i] - sigma) / a[i, i]
            change = max(change, abs(new - x[i]))
            x[i] = new
        history.append(change)
        if change < 1e-9:
            break
    return x, len(history), history[0] if history else 0.0


@case(
    lambda: (spd_matrix(4),),
    lambda: (np.diag([3.0, 1.0, 2.0]),),
    lambda: (np.array([[1.0, 2.0], [3.0, 4.0]]),),
    raises=ValueError,
)
def jacobi_eigen(matrix, sweeps=30):
    """Eigenvalues of a symmetric matrix by plane rotations, smallest first, with the rotations used."""
    n = matrix.shape[0]
    if np.max(np.abs(matrix - matrix.T)) > 1e-12:
        raise ValueError("matrix is not symmetric")
    a = matrix.copy()
    rotations = 0
    for _ in range(sweeps):
        off = sum(a[i, j] ** 2 for i in range(n) for j in range(n) if i != j)
        if off < 1e-22:
            break
        for p in range(n - 1):
            for q in range(p + 1, n):
                if abs(a[p, q]) < 1e-15:
                    continue
                theta = (a[q, q] - a[p, p]) / (2.0 * a[p, q])
                t = 1.0 / (abs(theta) + math.hypot(theta, 1.0))
                if theta < 0.0:
                    t = -t
                c = 1.0 / math.sqrt(t * t + 1.0)
                s = t * c
                col_p, col_q = a[:, p].copy(), a[:, q].copy()
                a[:, p] = c * col_p - s * col_q
                a[:, q] = s * col_p + c * col_q
                row_p, row_q = a[p].copy(), a[q].copy()
                a[p, :] = c * row_p - s * row_q
                a[q, :] = s * row_p + c * row_q
                rotations += 1
    values = sorted([a[i, i] for i in range(n)])
    return np.array(values), rotations > 0


@case(
    lambda: (spd_matrix(5), np.arange(5.0)),
    lambda: (np.array([[9.0]], dtype=np.float32), np.array([3.0], dtype=np.float32)),
    lambda: (np.array([[1.0, 2.0], [2.0, 1.0]]), np.ones(2)),
    raises=ValueError,
)
def cholesky_solve(a, b):
    """Factors into the lower triangle of a fresh matrix, then solves forward and backward."""
    n = a.shape[0]
    factor = np.zeros_like(a)
    for j in range(n):
        for i in range(j, n):
            total = a[i, j]
            for k in range(j):
                total -= factor[i, k] * factor[j, k]
            if i == j:
                if total <= 0:
                    raise ValueError("matrix is not positive definite")
                factor[i, j] = np.sqrt(total)
            else:
                factor[i, j] = total / factor[j, j]
    x = b.copy()
    for i in range(n):
        x[i] = (x[i] - np.sum(factor[i, :i] * x[:i])) / factor[i, i]
    for i in range(n - 1, -1, -1):
        x[i] = (x[i] - np.sum(factor[i + 1 :, i] * x[i + 1 :])) / factor[i, i]
    log_det = 2.0 * np.log(np.array([factor[i, i] for i in range(n)])).sum()
    return x, log_det


@case(
    lambda: (random_matrix(6, 3), random_matrix(6, seed=1)),
    lambda: (random_matrix(1, 1), np.array([2.0])),
    lambda: (random_matrix(2, 3), np.ones(2)),
    raises=ValueError,
)
def householder_least_squares(a, b):
    """Minimises |a x - b| by Householder reflections applied to a copy of both."""
    m, n = a.shape
    if m < n:
        raise ValueError("system is underdetermined")
    r = a.copy()
    rhs = b.astype(np.float64)
    for k in range(n):
        v = r[k:, k].copy()
        norm = math.sqrt(np.sum(v**2))
        if norm == 0.0:
            raise ValueError("rank deficient")
        v[0] += math.copysign(norm, v[0])
        v /= np.sqrt(np.dot(v, v))
        for j in range(k, n):
            r[k:, j] -= 2.0 * v * np.dot(v, r[k:, j])
        rhs[k:] -= 2.0 * v * (v @ rhs[k:])
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        total = rhs[i]
        for j in range(i + 1, n):
            total -= r[i, j] * x[j]
        x[i] = total / r[i, i]
    residual = float(np.sqrt((rhs[n:] ** 2).sum()))
    return x, residual


@case(
    lambda: (lambda x: (x - 2.0) ** 2 + 1.0, 0.0, 5.0),
    lambda: (lambda x: -math.sin(x), 1.0, 2.0, 1e-5),
    lambda: (lambda x: x, 3.0, 1.0),
    raises=ValueError,
)
def golden_section(f, lo, hi, tol=1e-7):
    """Minimum of a unimodal function; returns place, value and evaluations."""
    if lo >= hi:
        raise ValueError("empty interval")
    ratio = (math.sqrt(5.0) - 1.0) / 2.0
    calls = 2
    c = hi - ratio * (hi - lo)
    d = lo + ratio * (hi - lo)
    fc, fd = f(c), f(d)
    while hi - lo > tol * (abs(c) + abs(d)):
        if fc < fd:
            hi = d
            d, fd = c, fc
            c = hi - ratio * (hi - lo)
            fc = f(c)
        else:
            lo = c
            c, fc = d, fd
            d = lo + ratio * (hi - lo)
            fd = f(d)
        calls += 1
    if fc < fd:
        return c, fc, calls
    return d, fd, calls


def rosenbrock(p):
    return (1.0 - p[0]) ** 2 + 100.0 * (p[1] - p[0] ** 2) ** 2


@case(
    lambda: (rosenbrock, np.array([-1.2, 1.0]), 60),
    lambda: (lambda p: np.sum((p - 3.0) ** 2), np.array([0.0, 1.0, 2.0]), 40, 0.5),
    lambda: (rosenbrock, np.array([0.5, 0.5]), 0),
)
def nelder_mead(f, start, iterations, size=0.1):
    """Downhill simplex with the usual four moves."""
    n = start.size
    simplex = np.empty((n + 1, n))
    simplex[0] = start
    for i in range(n):
        simplex[i + 1] = start
        simplex[i + 1, i] += size
    values = np.array([f(simplex[i]) for i in range(n + 1)])
    for _ in range(iterations):
        best = int(np.argmin(values))
        worst = int(np.argmax(values))
        second = max(values[i] for i in range(n + 1) if i != worst)
        centre = (simplex.sum(axis=0) - simplex[worst]) / n
        reflected = centre + (centre - simplex[worst])
        f_reflected = f(reflected)
        if f_reflected < values[best]:
            expanded = centre + 2.0 * (centre - simplex[worst])
            f_expanded = f(expanded)
            if f_expanded < f_reflected:
                simplex[worst], values[worst] = expanded, f_expanded
            else:
                simplex[worst], values[worst] = reflected, f_reflected
        elif f_reflected < second:
            simplex[worst], values[worst] = reflected, f_reflected
        else:
            contracted = centre + 0.5 * (simplex[worst] - centre)
            f_contracted = f(contracted)
            if f_contracted < values[worst]:
                simplex[worst], values[worst] = contracted, f_contracted
            else:
                for i in range(n + 1):
                    if i == best:
                        continue
                    simplex[i] = simplex[best] + 0.5 * (simplex[i] - simplex[best])
                    values[i] = f(simplex[i])
    winner = values.argmin()
    return simplex[winner].copy(), values[winner]


@case(
    lambda: (spd_matrix(6),),
    lambda: (np.array([[2.0, 0.0], [0.0, 1.0]]), 5),
    lambda: (np.zeros((3, 3)),),
    raises=ValueError,
)
def power_iteration(a, limit=500, tol=1e-13):
    """Dominant eigenpair; the vector's largest component is positive."""
    n, _ = a.shape
    v = np.ones(n) / np.sqrt(n)
    eigenvalue = 0.0
    for step in range(limit):
        w = a @ v
        length = np.sqrt((w * w).sum())
        if length == 0:
            raise ValueError("iterate vanished")
        w /= length
        estimate = w @ a @ w
        done = abs(estimate - eigenvalue) <= tol * abs(estimate)
        eigenvalue = estimate
        v = w
        if done:
            break
    else:
        step = -1
    lead = np.argmax(np.abs(v))
    if v[lead] < 0:
        v = -v
    return eigenvalue, v, step < limit


@case(
    lambda: (lambda v: np.array([v[0] ** 2 + v[1] ** 2 - 4.0, v[0] - v[1]]), np.array([1.0, 2.0])),
    lambda: (lambda v: v * v - 2.0, np.array([1.0])),
    lambda: (lambda v: np.array([v[0] + v[1], 2.0 * v[0] + 2.0 * v[1] - 1.0]), np.array([1.0, 2.0])),
    raises=ArithmeticError,
)
def newton_system(f, guess, iterations=20):
    """Newton's method in several variables with a forward-difference Jacobian and Gaussian elimination."""
    x = guess.astype(float)
    n = len(x)
    for _ in range(iterations):
        fx = f(x)
        if np.abs(fx).max() < 1e-11:
            break
        jacobian = np.empty((n, n))
        for j in range(n):
            step = 1e-7 * max(1.0, abs(x[j]))
            moved = x.copy()
            moved[j] += step
            jacobian[:, j] = (f(moved) - fx) / step
        augmented = np.zeros((n, n + 1))
        augmented[:, :n] = jacobian
        augmented[:, n] = -fx
        for col in range(n):
            pivot = col + np.argmax(np.abs(augmented[col:, col]))
            if abs(augmented[pivot, col]) < 1e-6:
                raise ArithmeticError("singular Jacobian")
            if pivot != col:
                augmented[[col, pivot]] = augmented[[pivot, col]]
            for row in range(col + 1, n):
                augmented[row] -= augmented[row, col] / augmented[col, col] * augmented[col]
        delta = np.zeros(n)
        for row in range(n - 1, -1, -1):
            known = np.dot(augmented[row, row + 1 : n], delta[row + 1 :])
            delta[row] = (augmented[row, n] - known) / augmented[row, row]
        x += delta
    return x


@case(
    lambda: (math.exp, -1.0, 2.0, 8, np.linspace(-1.0, 2.0, 7)),
    lambda: (lambda x: 3.0, 0.0, 1.0, 1, np.array([0.25])),
)
def chebyshev_fit(f, a, b, n, points):
    """Coefficients of the Chebyshev series of f on [a, b], and the series at some points by Clenshaw's recurrence."""
    middle = 0.5 * (b + a)
    half = 0.5 * (b - a)
    samples = [f(middle + half * math.cos(math.pi * (k + 0.5) / n)) for k in range(n)]
    coefficients = np.zeros(n)
    for j in range(n):
        total = 0.0
        for k, sample in enumerate(samples):
            total += sample * math.cos(math.pi * j * (k + 0.5) / n)
        coefficients[j] = 2.0 / n * total

    def clenshaw(x):
        y = (x - middle) / half
        d, dd = 0.0, 0.0
        for c in coefficients[:0:-1]:
            d, dd = 2.0 * y * d - dd + c, d
        return y * d - dd + 0.5 * coefficients[0]

    values = np.empty(len(points))
    for i in range(len(points)):
        values[i] = clenshaw(points[i])
    return coefficients, values


@case(
    lambda: (np.array([1.0, -2.0, 0.5]), 1.7, 2),
    lambda: (np.array([3.0]), 2.0, 0),
    lambda: (np.array([1, 2, 3, 4]), 2, 3),
    lambda: (np.array([1.0]), 1.0, -1),
    raises=ValueError,
)
def polynomial_derivatives(coefficients, x, order):
    """A polynomial (lowest power first) and its derivatives up to `order` at x."""
    if order < 0:
        raise ValueError("order must not be negative")
    degree = coefficients.size - 1
    out = np.zeros(order + 1)
    out[0] = coefficients[degree]
    for i in range(degree - 1, -1, -1):
        top = min(order, degree - i)
        for j in range(top, 0, -1):
            out[j] = out[j] * x + out[j - 1]
        out[0] = out[0] * x + coefficients[i]
    factorial = 1
    for k in range(2, order + 1):
        factorial *= k
        out[k] *= factorial
    return out


@case(
    lambda: ([1.0, -6.0, 11.0, -6.0],),
    lambda: ([1.0 + 0j, 0j, 1.0 + 0j],),
    lambda: ([2.0, -4.0],),
    lambda: ([3.0],),
    raises=ValueError,
)
def laguerre_roots(coefficients, *, polish=True):
    """All roots by Laguerre's method and deflation, highest power first; a list of complex numbers."""
    if len(coefficients) < 2:
        raise ValueError("a constant has no roots")
    work = [complex(c) for c in coefficients]

    def improve(poly, x):
        degree = len(poly) - 1
        for _ in range(80):
            p, dp, ddp = poly[0], 0j, 0j
            for c in poly[1:]:
                ddp = ddp * x + dp
                dp = dp * x + p
                p = p * x + c
            if abs(p) < 1e-15:
                break
            g = dp / p
            h = g * g - 2.0 * ddp / p
            root = cmath.sqrt((degree - 1) * (degree * h - g * g))
            below = g + root if abs(g + root) > abs(g - root) else g - root
            step = degree / below if below != 0 else cmath.rect(1.0 + abs(x), 1.0)
            x -= step
            if abs(step) < 1e-15 * max(1.0, abs(x)):
                break
        return x

    roots = []
    while len(work) > 1:
        x = improve(work, 0j)
        if polish:
            x = improve([complex(c) for c in coefficients], x)
        roots.append(x)
        for i in range(1, len(work) - 1):
            work[i] += work[i - 1] * x
        work.pop()
    return sorted(roots, key=lambda z: (round(z.real, 6), round(z.imag, 6)))


@case(
    lambda: (lambda x, k: math.exp(-k * x) - x, 0.0, 1.0, 2.0),
    lambda: (lambda x, a, b: a * x * x - b, 1.0, 3.0, 2.0, 7.0),
    lambda: (lambda x: 1.0, 0.0, 1.0),
    lambda: (lambda x: math.log(x), 0.5, 3.0),
)
def secant(f, x0, x1, *parameters):
    """Secant iteration that survives flat functions and bad domains; root, status and evaluations."""
    f0 = f(x0, *parameters)
    f1 = f(x1, *parameters)
    evaluations = 2
    status = 0
    for _ in range(60):
        try:
            x2 = x1 - f1 * (x1 - x0) / (f1 - f0)
        except ZeroDivisionError:
            status = 1
            break
        try:
            f2 = f(x2, *parameters)
            evaluations += 1
        except ValueError:
            # Outside the domain: go half the way only.
            x2 = 0.5 * (x1 + x2)
            while True:
                try:
                    f2 = f(x2, *parameters)
                except ValueError:
                    x2 = 0.5 * (x1 + x2)
                    continue
                finally:
                    evaluations += 1
                break
        x0, f0, x1, f1 = x1, f1, x2, f2
        if abs(x1 - x0) < 1e-12 * (1.0 + abs(x1)):
            break
    else:
        status = 2
    return x1, status, evaluations


@case(
    lambda: (random_matrix(6, 6, seed=4) + 4.0 * np.eye(6), np.arange(6.0)),
    lambda: (np.eye(3), np.ones(3), np.ones(3)),
    lambda: (np.zeros((2, 2)), np.ones(2)),
    lambda: (np.eye(3), np.ones(2)),
    raises=ValueError,
)
def gmres(a, b, x0=None, restart=4, cycles=10, tol=1e-9):
    """Restarted GMRES with Givens rotations; solution, whether it converged, and the number of cycles."""
    n = b.shape[0]
    if a.shape != (n, n):
        raise ValueError("matrix and right-hand side do not fit")
    x = np.zeros(n) if x0 is None else x0.astype(np.float64)
    b_norm = math.sqrt(np.sum(b * b))
    if b_norm == 0.0:
        return np.zeros(n), True, 0
    for cycle in range(cycles):
        r = b - a @ x
        beta = math.sqrt(np.sum(r * r))
        if beta <= tol * b_norm:
            return x, True, cycle
        basis = np.zeros((restart + 1, n))
        hessenberg = np.zeros((restart + 1, restart))
        cosines = np.zeros(restart)
        sines = np.zeros(restart)
        g = np.zeros(restart + 1)
        g[0] = beta
        basis[0] = r / beta
        used = 0
        for k in range(restart):
            w = a @ basis[k]
            for i in range(k + 1):
                hessenberg[i, k] = np.dot(w, basis[i])
                w -= hessenberg[i, k] * basis[i]
            length = math.sqrt(np.sum(w * w))
            hessenberg[k + 1, k] = length
            for i in range(k):
                upper = cosines[i] * hessenberg[i, k] + sines[i] * hessenberg[i + 1, k]
                hessenberg[i + 1, k] = -sines[i] * hessenberg[i, k] + cosines[i] * hessenberg[i + 1, k]
                hessenberg[i, k] = upper
            denominator = math.hypot(hessenberg[k, k], length)
            if denominator < 1e-14:
                break
            cosines[k] = hessenberg[k, k] / denominator
            sines[k] = length / denominator
            hessenberg[k, k] = denominator
            hessenberg[k + 1, k] = 0.0
            g[k + 1] = -sines[k] * g[k]
            g[k] = cosines[k] * g[k]
            used = k + 1
            if abs(g[k + 1]) <= tol * b_norm or length < 1e-14:
                break
            basis[k + 1] = w / length
        if used == 0:
            return x, False, cycle
        y = np.zeros(used)
        for i in range(used - 1, -1, -1):
            y[i] = (g[i] - np.dot(hessenberg[i, i + 1 : used], y[i + 1 :])) / hessenberg[i, i]
        x = x + y @ basis[:used]
    return x, False, cycles


@case(
    lambda: (random_matrix(5, 5, seed=2),),
    lambda: (np.array([[0.0, 1.0], [-1.0, 0.0]]),),
    lambda: (np.array([[3.0]]),),
    lambda: (np.ones((2, 3)),),
    raises=ValueError,
)
def eigenvalues_qr(matrix, limit=60):
    """Eigenvalues of a real matrix: Householder to Hessenberg form, then the shifted QR algorithm of Francis."""
    n, columns = matrix.shape
    if n != columns:
        raise ValueError("matrix must be square")
    h = matrix.astype(np.complex128)
    for k in range(n - 2):
        v = h[k + 1 :, k].copy()
        norm = math.sqrt((np.abs(v) ** 2).sum())
        if norm == 0.0:
            continue
        phase = v[0] / abs(v[0]) if v[0] != 0 else 1.0 + 0j
        v[0] += phase * norm
        v /= math.sqrt((np.abs(v) ** 2).sum())
        for j in range(k, n):
            h[k + 1 :, j] -= 2.0 * v * (v.conj() * h[k + 1 :, j]).sum()
        for i in range(n):
            h[i, k + 1 :] -= 2.0 * (h[i, k + 1 :] * v).sum() * v.conj()
    values = np.zeros(n, dtype=np.complex128)
    high = n - 1
    count = 0
    while high > 0:
        for low in range(high, 0, -1):
            if abs(h[low, low - 1]) < 1e-15 * (abs(h[low, low]) + abs(h[low - 1, low - 1])):
                h[low, low - 1] = 0.0
                break
        else:
            low = 0
        if low == high:
            values[high] = h[high, high]
            high -= 1
            count = 0
            continue
        count += 1
        if count > limit:
            raise ArithmeticError("QR iteration does not converge")
        a, b, c, d = h[high - 1, high - 1], h[high - 1, high], h[high, high - 1], h[high, high]
        root = cmath.sqrt((a - d) * (a - d) / 4.0 + b * c)
        middle = (a + d) / 2.0
        shift = middle + root if abs(middle + root - d) < abs(middle - root - d) else middle - root
        if count % 10 == 0:
            shift = shift + abs(c)
        rotations = []
        for i in range(low, high + 1):
            h[i, i] -= shift
        for i in range(low, high):
            x, y = h[i, i], h[i + 1, i]
            length = math.hypot(abs(x), abs(y))
            cs, sn = x / length, y / length
            rotations.append((cs, sn))
            for j in range(i, n):
                top, bottom = h[i, j], h[i + 1, j]
                h[i, j] = cs.conjugate() * top + sn.conjugate() * bottom
                h[i + 1, j] = -sn * top + cs * bottom
        for i, (cs, sn) in enumerate(rotations, start=low):
            for j in range(min(i + 2, high) + 1):
                left, right = h[j, i], h[j, i + 1]
                h[j, i] = left * cs + right * sn
                h[j, i + 1] = -left * sn.conjugate() + right * cs.conjugate()
        for i in range(low, high + 1):
            h[i, i] += shift
    values[0] = h[0, 0]
    for i in range(1, n):
        z = values[i]
        j = i - 1
        while j >= 0 and (round(values[j].real, 8), values[j].imag) > (round(z.real, 8), z.imag):
            values[j + 1] = values[j]
            j -= 1
        values[j + 1] = z
    return values
