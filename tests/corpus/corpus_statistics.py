"""Statistics: moments, regression, tests, densities, clustering, filtering and sampling, all written out."""

import math

from _case import case

import numpy as np


def normals(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def two_clouds(n, seed=0):
    points = np.random.default_rng(seed).normal(size=(n, 2))
    points[n // 2 :] += 5.0
    return points


def labels_of(x, seed=1):
    noise = np.random.default_rng(seed).normal(size=x.shape[0])
    return (x.sum(axis=1) + noise > 0).astype(np.int64)


@case(
    lambda: (normals(50),),
    lambda: (np.array([3.0]),),
    lambda: (np.array([1, 2, 4], dtype=np.int32), 1),
    lambda: (normals(0),),
    raises=ValueError,
)
def streaming_moments(x, ddof=0):
    """Mean, variance, skewness and excess kurtosis in one pass with stable updates."""
    n = 0
    mean = m2 = m3 = m4 = 0.0
    lowest, highest = math.inf, -math.inf
    for value in x:
        before = n
        n += 1
        delta = value - mean
        delta_n = delta / n
        delta_n2 = delta_n * delta_n
        term = delta * delta_n * before
        mean += delta_n
        m4 += term * delta_n2 * (n * n - 3 * n + 3) + 6 * delta_n2 * m2 - 4 * delta_n * m3
        m3 += term * delta_n * (n - 2) - 3 * delta_n * m2
        m2 += term
        lowest = min(lowest, value)
        highest = max(highest, value)
    if n == 0:
        raise ValueError("no data")
    variance = m2 / (n - ddof) if n > ddof else math.nan
    if m2 > 0:
        skewness = math.sqrt(n) * m3 / m2**1.5
        kurtosis = n * m4 / (m2 * m2) - 3.0
    else:
        skewness = kurtosis = 0.0
    return float(mean), float(variance), float(skewness), float(kurtosis), (float(lowest), float(highest))


@case(
    lambda: (normals(20), np.abs(normals(20, seed=1)), [0.1, 0.5, 0.9]),
    lambda: (np.array([1.0, 2.0, 3.0]), np.ones(3), [0.0, 1.0]),
    lambda: (np.array([4.0]), np.array([2.0]), [0.5]),
    lambda: (np.array([1.0, 2.0]), np.array([1.0, -1.0]), [0.5]),
    raises=ValueError,
)
def weighted_quantiles(values, weights, probabilities):
    """Quantiles of weighted data by a heap sort of both arrays and interpolation of the cumulated weight."""
    if (weights < 0).any():
        raise ValueError("weights must not be negative")
    v, w = values.copy(), weights.copy()
    n = v.size

    def sift(start, end):
        root = start
        while 2 * root + 1 < end:
            child = 2 * root + 1
            if child + 1 < end and v[child] < v[child + 1]:
                child += 1
            if v[root] >= v[child]:
                return
            v[root], v[child] = v[child], v[root]
            w[root], w[child] = w[child], w[root]
            root = child

    for start in range(n // 2 - 1, -1, -1):
        sift(start, n)
    for end in range(n - 1, 0, -1):
        v[0], v[end] = v[end], v[0]
        w[0], w[end] = w[end], w[0]
        sift(0, end)
    positions = np.empty(n)
    running = 0.0
    for i in range(n):
        positions[i] = running + 0.5 * w[i]
        running += w[i]
    positions /= running
    result = []
    for p in probabilities:
        if p <= positions[0]:
            result.append(float(v[0]))
        elif p >= positions[-1]:
            result.append(float(v[-1]))
        else:
            k = 0
            while positions[k + 1] < p:
                k += 1
            share = (p - positions[k]) / (positions[k + 1] - positions[k])
            result.append(float(v[k] + share * (v[k + 1] - v[k])))
    return result


@case(
    lambda: (normals(30, 3), normals(30, seed=1)),
    lambda: (np.arange(5.0).reshape(5, 1), np.array([1.0, 3.0, 5.0, 7.0, 9.0]), False),
    lambda: (np.ones((4, 1)), np.arange(4.0)),
    lambda: (normals(2, 3), normals(2)),
    raises=ValueError,
)
def ordinary_least_squares(x, y, intercept=True):
    """Coefficients, standard errors and R² through the normal equations and Gauss-Jordan inversion."""
    n, k = x.shape
    if intercept:
        design = np.ones((n, k + 1))
        design[:, 1:] = x
    else:
        design = x.astype(np.float64)
    p = design.shape[1]
    if n < p:
        raise ValueError(f"{n} observations cannot determine {p} coefficients")
    gram = design.T @ design
    inverse = np.eye(p)
    for col in range(p):
        pivot = col
        for row in range(col + 1, p):
            if abs(gram[row, col]) > abs(gram[pivot, col]):
                pivot = row
        if abs(gram[pivot, col]) < 1e-10:
            raise ValueError("columns are collinear")
        if pivot != col:
            for j in range(p):
                gram[col, j], gram[pivot, j] = gram[pivot, j], gram[col, j]
                inverse[col, j], inverse[pivot, j] = inverse[pivot, j], inverse[col, j]
        scale = gram[col, col]
        gram[col] /= scale
        inverse[col] /= scale
        for row in range(p):
            if row == col or gram[row, col] == 0.0:
                continue
            factor = gram[row, col]
            gram[row] -= factor * gram[col]
            inverse[row] -= factor * inverse[col]
    beta = inverse @ (design.T @ y)
    residuals = y - design @ beta
    rss = np.sum(residuals**2)
    centre = y.mean() if intercept else 0.0
    tss = ((y - centre) ** 2).sum()
    freedom = n - p
    sigma2 = rss / freedom if freedom > 0 else 0.0
    errors = np.array([math.sqrt(max(sigma2 * inverse[i, i], 0.0)) for i in range(p)])
    r_squared = 1.0 - rss / tss if tss > 0 else 1.0
    adjusted = 1.0 - (1.0 - r_squared) * (n - 1) / freedom if freedom > 0 else math.nan
    return beta, errors, r_squared, adjusted


@case(
    lambda: (normals(40, 2), labels_of(normals(40, 2))),
    lambda: (normals(12, 1, seed=3), labels_of(normals(12, 1, seed=3)), 0.5, 3),
    lambda: (normals(4, 2), np.array([0, 1, 2, 1])),
    raises=ValueError,
)
def logistic_regression(x, y, ridge=0.1, iterations=8):
    """Iteratively reweighted least squares with a small ridge; coefficients, log-likelihood and accuracy."""
    n, features = x.shape
    for label in y:
        if label not in (0, 1):
            raise ValueError("labels must be 0 or 1")
    p = features + 1
    design = np.ones((n, p))
    design[:, :features] = x
    beta = np.zeros(p)
    for _ in range(iterations):
        eta = design @ beta
        mu = 1.0 / (1.0 + np.exp(-eta))
        w = np.maximum(mu * (1.0 - mu), 1e-10)
        hessian = np.zeros((p, p))
        gradient = np.zeros(p)
        for i in range(n):
            for a in range(p):
                gradient[a] += design[i, a] * (y[i] - mu[i])
                for b in range(a, p):
                    hessian[a, b] += w[i] * design[i, a] * design[i, b]
        for a in range(p):
            gradient[a] -= ridge * beta[a]
            hessian[a, a] += ridge
            for b in range(a):
                hessian[a, b] = hessian[b, a]
        for k in range(p):
            for i in range(k + 1, p):
                factor = hessian[i, k] / hessian[k, k]
                hessian[i, k:] -= factor * hessian[k, k:]
                gradient[i] -= factor * gradient[k]
        step = np.zeros(p)
        for k in range(p - 1, -1, -1):
            step[k] = (gradient[k] - hessian[k, k + 1 :] @ step[k + 1 :]) / hessian[k, k]
        beta += step
        if np.sqrt(np.sum(step**2)) < 1e-10:
            break
    probability = 1.0 / (1.0 + np.exp(-(design @ beta)))
    likelihood = np.sum(np.where(y == 1, np.log(probability), np.log(1.0 - probability)))
    accuracy = np.mean((probability > 0.5) == (y == 1))
    return beta, likelihood, accuracy


@case(
    lambda: (two_clouds(24), 2),
    lambda: (two_clouds(10).astype(np.float32), 3, 7),
    lambda: (two_clouds(4), 1),
    lambda: (two_clouds(4), 5),
    raises=ValueError,
)
def k_means(points, k, seed=42, limit=50):
    """Lloyd's algorithm with k-means++ seeding from its own generator; centres, labels and inertia."""
    n, dimension = points.shape
    if not 1 <= k <= n:
        raise ValueError(f"cannot make {k} clusters of {n} points")
    state = seed
    centres = np.zeros((k, dimension), dtype=points.dtype)
    state = (1103515245 * state + 12345) % 2**31
    centres[0] = points[(state >> 4) % n]
    nearest = np.full(n, np.inf)
    for c in range(1, k):
        total = 0.0
        for i in range(n):
            d = 0.0
            for j in range(dimension):
                d += (points[i, j] - centres[c - 1, j]) ** 2
            nearest[i] = min(nearest[i], d)
            total += nearest[i]
        state = (1103515245 * state + 12345) % 2**31
        target = state / 2**31 * total
        chosen = n - 1
        for i in range(n):
            target -= nearest[i]
            if target <= 0:
                chosen = i
                break
        centres[c] = points[chosen]
    labels = np.full(n, -1, dtype=np.int32)
    for iteration in range(limit):
        changed = False
        inertia = 0.0
        for i in range(n):
            best, best_distance = 0, np.inf
            for c in range(k):
                distance = np.sum((points[i] - centres[c]) ** 2)
                if distance < best_distance:
                    best, best_distance = c, distance
            inertia += best_distance
            if labels[i] != best:
                labels[i] = best
                changed = True
        if not changed:
            break
        for c in range(k):
            members = labels == c
            if members.any():
                centres[c] = points[members].mean(axis=0)
    sizes = [int(np.sum(labels == c)) for c in range(k)]
    return centres, labels, float(inertia), iteration, sizes


@case(
    lambda: (np.concatenate([normals(20), normals(15, seed=1) * 0.5 + 4.0]), 2),
    lambda: (normals(6), 1, 3),
    lambda: (normals(6), 0),
    raises=ValueError,
)
def gaussian_mixture(x, components, iterations=15):
    """Expectation maximisation in one dimension with log-sum-exp; weights, means, deviations, likelihoods."""
    if components < 1:
        raise ValueError("need a component")
    n = x.size
    spread = x.max() - x.min()
    weights = np.full(components, 1.0 / components)
    means = x.min() + spread * (np.arange(components) + 0.5) / components
    variances = np.full(components, (spread / (2.0 * components)) ** 2 + 1e-6)
    responsibility = np.empty((n, components))
    history = []
    for _ in range(iterations):
        loglik = 0.0
        for i in range(n):
            logs = [
                math.log(weights[c])
                - 0.5 * math.log(2.0 * math.pi * variances[c])
                - 0.5 * (x[i] - means[c]) ** 2 / variances[c]
                for c in range(components)
            ]
            top = max(logs)
            total = top + math.log(sum(math.exp(value - top) for value in logs))
            loglik += total
            for c in range(components):
                responsibility[i, c] = math.exp(logs[c] - total)
        history.append(float(loglik))
        mass = responsibility.sum(axis=0)
        weights = mass / n
        means = (responsibility * x[:, None]).sum(axis=0) / mass
        variances = (responsibility * (x[:, None] - means) ** 2).sum(axis=0) / mass + 1e-6
        if len(history) > 1 and abs(history[-1] - history[-2]) < 1e-9:
            break
    return weights, means, np.sqrt(variances), history[-1]


@case(
    lambda: (normals(25), np.linspace(-3, 3, 13)),
    lambda: (normals(10), np.array([0.0]), 0.5, "epanechnikov"),
    lambda: (normals(10), np.linspace(-1, 1, 4), None, "triangle"),
    lambda: (normals(10), np.zeros(1), None, "box"),
    raises=ValueError,
)
def kernel_density(sample, grid, bandwidth=None, kernel="gaussian"):
    """Density on a grid; Silverman's rule when no bandwidth is given."""
    n = sample.shape[0]
    if bandwidth is None:
        mean = sample.sum() / n
        deviation = np.sqrt(((sample - mean) ** 2).sum() / (n - 1))
        h = 1.06 * deviation * n ** (-0.2)
    else:
        h = bandwidth
    u = (grid[:, None] - sample[None, :]) / h
    if kernel == "gaussian":
        k = np.exp(-0.5 * u * u) / np.sqrt(2.0 * np.pi)
    elif kernel == "epanechnikov":
        k = np.where(np.abs(u) <= 1.0, 0.75 * (1.0 - u**2), 0.0)
    elif kernel == "triangle":
        k = np.maximum(1.0 - np.abs(u), 0.0)
    else:
        raise ValueError("unknown kernel: " + kernel)
    density = k.sum(axis=1) / (n * h)
    if grid.size > 1:
        area = np.sum(0.5 * (density[1:] + density[:-1]) * (grid[1:] - grid[:-1]))
    else:
        area = 0.0
    return density, float(h), float(area)


@case(
    lambda: (normals(15), lambda s: s.mean(), 40),
    lambda: (normals(9), lambda s: s.max() - s.min(), 25, 0.8, 3),
    lambda: (np.array([2.5]), lambda s: s.sum(), 5),
    lambda: (normals(5), np.mean, 10, 1.5),
    raises=ValueError,
)
def bootstrap_interval(sample, statistic, rounds, confidence=0.9, seed=2024):
    """Percentile interval and bias of a statistic given as a function; resamples with its own generator."""
    if not 0 < confidence < 1:
        raise ValueError("confidence must be between 0 and 1")
    n = len(sample)
    state = seed
    estimates = np.empty(rounds)
    resample = np.empty_like(sample)
    for b in range(rounds):
        for i in range(n):
            state ^= (state << 13) & 0xFFFFFFFF
            state ^= state >> 17
            state ^= (state << 5) & 0xFFFFFFFF
            resample[i] = sample[state % n]
        estimates[b] = statistic(resample)
    observed = statistic(sample)
    # Shell sort: short, and quick enough.
    gap = rounds // 2
    while gap > 0:
        for i in range(gap, rounds):
            value = estimates[i]
            j = i
            while j >= gap and estimates[j - gap] > value:
                estimates[j] = estimates[j - gap]
                j -= gap
            estimates[j] = value
        gap //= 2
    tail = (1.0 - confidence) / 2.0
    low = estimates[math.floor(tail * (rounds - 1))]
    high = estimates[math.ceil((1.0 - tail) * (rounds - 1))]
    bias = estimates.mean() - observed
    return float(observed), (float(low), float(high)), float(bias)


@case(
    lambda: (normals(8), normals(6, seed=1) + 1.0),
    lambda: (np.array([1.0, 2.0, 2.0, 3.0]), np.array([2.0, 4.0])),
    lambda: (np.array([1.0]), np.array([1.0])),
    lambda: (np.zeros(0), np.ones(2)),
    raises=ValueError,
)
def mann_whitney(a, b):
    """Rank-sum test with mid-ranks for ties and the normal approximation; U, z and the two-sided p."""
    na, nb = a.size, b.size
    if na == 0 or nb == 0:
        raise ValueError("both samples must have data")
    n = na + nb
    values = np.empty(n)
    values[:na] = a
    values[na:] = b
    order = np.arange(n)
    for i in range(1, n):
        key = order[i]
        j = i - 1
        while j >= 0 and values[order[j]] > values[key]:
            order[j + 1] = order[j]
            j -= 1
        order[j + 1] = key
    ranks = np.zeros(n)
    ties = 0
    i = 0
    while i < n:
        j = i
        while j + 1 < n and values[order[j + 1]] == values[order[i]]:
            j += 1
        rank = 0.5 * (i + j) + 1.0
        for k in range(i, j + 1):
            ranks[order[k]] = rank
        t = j - i + 1
        ties += t**3 - t
        i = j + 1
    u1 = ranks[:na].sum() - na * (na + 1) / 2
    u = min(u1, na * nb - u1)
    variance = na * nb / 12.0 * ((n + 1) - ties / (n * (n - 1)))
    if variance == 0:
        return float(u), 0.0, 1.0
    z = (u - na * nb / 2.0 + 0.5) / math.sqrt(variance)
    p = min(1.0, math.erfc(abs(z) / math.sqrt(2.0)))
    return float(u), float(z), p


@case(
    lambda: (normals(12), normals(12) * 2.0 + normals(12, seed=1)),
    lambda: (np.array([1.0, 1.0, 2.0]), np.array([3.0, 2.0, 1.0])),
    lambda: (np.ones(4), np.arange(4.0)),
    lambda: (np.ones(4), np.arange(3.0)),
    raises=ValueError,
)
def correlations(x, y):
    """Pearson, Spearman and Kendall coefficients of two samples."""
    if x.shape != y.shape:
        raise ValueError("samples differ in length")
    n = len(x)

    def pearson(a, b):
        da = a - a.mean()
        db = b - b.mean()
        below = math.sqrt((da * da).sum() * (db * db).sum())
        return float((da * db).sum() / below) if below > 0 else math.nan

    def ranks(a):
        out = np.empty(n)
        for i in range(n):
            smaller = equal = 0
            for j in range(n):
                if a[j] < a[i]:
                    smaller += 1
                elif a[j] == a[i]:
                    equal += 1
            out[i] = smaller + (equal + 1) / 2
        return out

    concordant = discordant = ties_x = ties_y = 0
    for i in range(n - 1):
        for j in range(i + 1, n):
            sx = np.sign(x[j] - x[i])
            sy = np.sign(y[j] - y[i])
            if sx == 0:
                ties_x += 1
            if sy == 0:
                ties_y += 1
            if sx * sy > 0:
                concordant += 1
            elif sx * sy < 0:
                discordant += 1
    pairs = n * (n - 1) // 2
    below = math.sqrt((pairs - ties_x) * (pairs - ties_y))
    kendall = (concordant - discordant) / below if below else math.nan
    return pearson(x, y), pearson(ranks(x), ranks(y)), kendall


@case(
    lambda: (normals(20), lambda v: 0.5 * math.erfc(-v / math.sqrt(2.0))),
    lambda: (np.array([0.1, 0.9]), lambda v: min(max(v, 0.0), 1.0)),
    lambda: (np.array([0.5]), lambda v: v),
)
def kolmogorov_smirnov(sample, cdf):
    """Largest distance to a given distribution function and its asymptotic p-value."""
    ordered = sorted(sample)
    n = len(ordered)
    plus = minus = 0.0
    for i, value in enumerate(ordered):
        f = cdf(value)
        plus = max(plus, (i + 1) / n - f)
        minus = max(minus, f - i / n)
    d = max(plus, minus)
    root = math.sqrt(n)
    t = (root + 0.12 + 0.11 / root) * d
    total = 0.0
    sign = 1.0
    previous = 0.0
    for k in range(1, 101):
        term = sign * 2.0 * math.exp(-2.0 * (k * t) ** 2)
        total += term
        if abs(term) <= 1e-10 * abs(total) or abs(term) <= 1e-3 * previous:
            return d, total
        sign = -sign
        previous = abs(term)
    return d, 1.0


@case(
    lambda: (lambda p: -0.5 * (p[0] ** 2 + (p[1] - p[0]) ** 2), np.array([0.0, 0.0]), 150, 0.8),
    lambda: (lambda p: -abs(p[0] - 2.0), np.array([1.0]), 60, 0.5, 10),
    lambda: (lambda p: 0.0, np.array([1.0]), 0, 0.5),
)
def metropolis(log_density, start, draws, scale, burn=20, seed=1):
    """Random-walk sampler: Box-Muller on a Park-Miller generator; the chain, acceptance and running means."""
    state = seed

    def next_uniform(state):
        state = 48271 * state % 2147483647
        return state, state / 2147483647.0

    dimension = start.size
    current = start.copy()
    density = log_density(current)
    chain = np.empty((draws, dimension))
    accepted = 0
    for step in range(-burn, draws):
        proposal = current.copy()
        for j in range(dimension):
            state, u1 = next_uniform(state)
            state, u2 = next_uniform(state)
            proposal[j] += scale * math.sqrt(-2.0 * math.log(u1)) * math.cos(2.0 * math.pi * u2)
        candidate = log_density(proposal)
        state, u = next_uniform(state)
        if math.log(u) < candidate - density:
            current = proposal
            density = candidate
            if step >= 0:
                accepted += 1
        if step >= 0:
            chain[step] = current
    running = np.zeros_like(chain)
    for k in range(draws):
        running[k] = chain[: k + 1].mean(axis=0)
    return chain, accepted / draws if draws else 0.0, running


@case(lambda: (normals(20, 4), 2), lambda: (normals(5, 3), 1, 30), lambda: (normals(5, 2), 3), raises=ValueError)
def principal_components(data, count, iterations=300):
    """Leading components by power iteration and deflation; directions, variances, shares and scores."""
    n, features = data.shape
    if count > features:
        raise ValueError("more components than features")
    centred = data - data.mean(axis=0)
    covariance = (centred.T @ centred) / (n - 1)
    trace = sum(covariance[i, i] for i in range(features))
    directions = np.zeros((count, features))
    variances = np.zeros(count)
    for c in range(count):
        v = np.array([1.0 / (1.0 + i + c) for i in range(features)])
        v /= np.sqrt(v @ v)
        for _ in range(iterations):
            w = covariance @ v
            for previous in range(c):
                w -= (w @ directions[previous]) * directions[previous]
            length = np.sqrt(w @ w)
            if length < 1e-14:
                break
            w /= length
            if np.abs(w - v).max() < 1e-15:
                v = w
                break
            v = w
        largest = np.argmax(np.abs(v))
        if v[largest] < 0:
            v *= -1
        directions[c] = v
        variances[c] = v @ covariance @ v
    scores = centred @ directions.T
    return directions, variances, variances / trace, scores


@case(
    lambda: (normals(60), 3),
    lambda: (np.sin(np.arange(40.0)), 2),
    lambda: (normals(5), 0),
    lambda: (normals(3), 3),
    raises=ValueError,
)
def yule_walker(series, order):
    """Autoregression by the Levinson-Durbin recursion; coefficients, noise variance, partial autocorrelations."""
    n = series.size
    if order >= n:
        raise ValueError("order must be smaller than the series")
    x = series - np.mean(series)
    autocovariance = np.zeros(order + 1)
    for lag in range(order + 1):
        total = 0.0
        for t in range(n - lag):
            total += x[t] * x[t + lag]
        autocovariance[lag] = total / n
    phi = np.zeros(order)
    partial = np.zeros(order)
    error = autocovariance[0]
    for k in range(order):
        acc = autocovariance[k + 1]
        for j in range(k):
            acc -= phi[j] * autocovariance[k - j]
        reflection = acc / error
        partial[k] = reflection
        previous = phi[:k].copy()
        phi[k] = reflection
        for j in range(k):
            phi[j] = previous[j] - reflection * previous[k - 1 - j]
        error *= 1.0 - reflection * reflection
    forecast = float(sum(phi[j] * x[n - 1 - j] for j in range(order))) + float(series.mean())
    return phi, error, partial, forecast


@case(
    lambda: (np.cumsum(normals(30)) + normals(30, seed=1), 1.0, 1.0),
    lambda: (np.array([1.0, np.nan, 3.0, 4.0]), 0.1, 0.5),
    lambda: (np.zeros(0), 1.0, 1.0),
)
def kalman_local_trend(y, level_noise, measurement_noise, trend_noise=0.01):
    """Level and slope from noisy, partly missing data: filter forward, then smooth backward."""
    n = len(y)
    transition = np.array([[1.0, 1.0], [0.0, 1.0]])
    q = np.array([[level_noise, 0.0], [0.0, trend_noise]])
    state = np.zeros(2)
    covariance = np.eye(2) * 1e3
    filtered = np.zeros((n, 2))
    filtered_cov = np.zeros((n, 2, 2))
    predicted = np.zeros((n, 2))
    predicted_cov = np.zeros((n, 2, 2))
    loglik = 0.0
    for t in range(n):
        state = transition @ state
        covariance = transition @ covariance @ transition.T + q
        predicted[t] = state
        predicted_cov[t] = covariance
        if not np.isnan(y[t]):
            innovation = y[t] - state[0]
            s = covariance[0, 0] + measurement_noise
            gain = covariance[:, 0] / s
            state = state + gain * innovation
            covariance = covariance - gain[:, None] * covariance[0][None, :]
            loglik -= 0.5 * (np.log(2.0 * np.pi * s) + innovation**2 / s)
        filtered[t] = state
        filtered_cov[t] = covariance
    smoothed = filtered.copy()
    for t in range(n - 2, -1, -1):
        p = predicted_cov[t + 1]
        det = p[0, 0] * p[1, 1] - p[0, 1] * p[1, 0]
        inverse = np.array([[p[1, 1], -p[0, 1]], [-p[1, 0], p[0, 0]]]) / det
        gain = filtered_cov[t] @ transition.T @ inverse
        smoothed[t] += gain @ (smoothed[t + 1] - predicted[t + 1])
    return filtered, smoothed, float(loglik)


@case(
    lambda: (
        np.array([0, 1, 0, 2, 2, 1, 0]),
        np.array([[0.7, 0.3], [0.4, 0.6]]),
        np.array([[0.1, 0.4, 0.5], [0.6, 0.3, 0.1]]),
        [0.6, 0.4],
    ),
    lambda: (np.array([2]), np.eye(2), np.full((2, 3), 1.0 / 3.0), [0.3, 0.7]),
    lambda: (np.array([0, 3]), np.eye(2), np.full((2, 3), 1.0 / 3.0), [0.5, 0.5]),
    raises=IndexError,
)
def hidden_markov(observations, transition, emission, initial):
    """Most likely path (Viterbi in logs), likelihood (scaled forward pass) and posterior of each state."""
    states, symbols = emission.shape
    n = observations.size
    for symbol in observations:
        if symbol < 0 or symbol >= symbols:
            raise IndexError("observation is not a symbol")

    def log(p):
        return math.log(p) if p > 0.0 else -math.inf

    best = np.full((n, states), -np.inf)
    back = np.zeros((n, states), dtype=np.int64)
    for s in range(states):
        best[0, s] = log(initial[s]) + log(emission[s, observations[0]])
    for t in range(1, n):
        for s in range(states):
            for r in range(states):
                score = best[t - 1, r] + log(transition[r, s])
                if score > best[t, s]:
                    best[t, s] = score
                    back[t, s] = r
            best[t, s] += log(emission[s, observations[t]])
    path = [int(np.argmax(best[-1]))]
    for t in range(n - 1, 0, -1):
        path.append(int(back[t, path[-1]]))
    path.reverse()
    forward = np.zeros((n, states))
    scale = np.zeros(n)
    for t in range(n):
        for s in range(states):
            if t == 0:
                prior = initial[s]
            else:
                prior = 0.0
                for r in range(states):
                    prior += forward[t - 1, r] * transition[r, s]
            forward[t, s] = prior * emission[s, observations[t]]
        scale[t] = forward[t].sum()
        forward[t] /= scale[t]
    backward = np.ones((n, states))
    for t in range(n - 2, -1, -1):
        for s in range(states):
            total = 0.0
            for r in range(states):
                total += transition[s, r] * emission[r, observations[t + 1]] * backward[t + 1, r]
            backward[t, s] = total / scale[t + 1]
    posterior = forward * backward
    posterior /= posterior.sum(axis=1)[:, None]
    return path, float(np.log(scale).sum()), posterior


@case(lambda: (2.5, 1.3), lambda: (0.5, 8.0), lambda: (3.0, 0.0), lambda: (-1.0, 1.0), raises=ValueError)
def incomplete_gamma(a, x, limit=500):
    """Regularised lower incomplete gamma function: series on the left, continued fraction on the right."""
    if a <= 0.0 or x < 0.0:
        raise ValueError("a must be positive and x not negative")
    if x == 0.0:
        return 0.0, 0
    front = math.exp(-x + a * math.log(x) - math.lgamma(a))
    if x < a + 1.0:
        term = 1.0 / a
        total = term
        denominator = a
        for n in range(1, limit):
            denominator += 1.0
            term *= x / denominator
            total += term
            if abs(term) < abs(total) * 1e-15:
                return total * front, n
        raise ArithmeticError("series did not converge")
    tiny = 1e-300
    b = x + 1.0 - a
    c = 1.0 / tiny
    d = 1.0 / b
    h = d
    for n in range(1, limit):
        an = -n * (n - a)
        b += 2.0
        d = an * d + b
        if abs(d) < tiny:
            d = tiny
        c = b + an / c
        if abs(c) < tiny:
            c = tiny
        d = 1.0 / d
        delta = d * c
        h *= delta
        if abs(delta - 1.0) < 1e-14:
            return 1.0 - front * h, n
    raise ArithmeticError("continued fraction did not converge")


def beta_fraction(a, b, x):
    tiny = 1e-30
    c = 1.0
    d = 1.0 - (a + b) * x / (a + 1.0)
    d = 1.0 / (d if abs(d) > tiny else tiny)
    h = d
    for m in range(1, 200):
        even = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0))
        for coefficient in (even, odd):
            d = 1.0 + coefficient * d
            d = 1.0 / (d if abs(d) > tiny else tiny)
            c = 1.0 + coefficient / c
            c = c if abs(c) > tiny else tiny
            h *= d * c
        if abs(d * c - 1.0) < 1e-14:
            break
    return h


@case(
    lambda: (normals(12), normals(9, seed=1) + 0.7),
    lambda: (normals(12), normals(9, seed=1) + 0.7, True),
    lambda: (np.ones(3), np.ones(3)),
    lambda: (np.ones(1), np.ones(3)),
    raises=ValueError,
)
def t_test(a, b, pooled=False):
    """Welch's or Student's test; t, degrees of freedom, p-value, Cohen's d."""
    na, nb = len(a), len(b)
    if min(na, nb) < 2:
        raise ValueError("need two observations in each sample")
    mean_a, mean_b = a.mean(), b.mean()
    var_a = ((a - mean_a) ** 2).sum() / (na - 1)
    var_b = ((b - mean_b) ** 2).sum() / (nb - 1)
    if pooled:
        common = ((na - 1) * var_a + (nb - 1) * var_b) / (na + nb - 2)
        error = common * (1.0 / na + 1.0 / nb)
        freedom = float(na + nb - 2)
    else:
        error = var_a / na + var_b / nb
        if error > 0:
            freedom = error**2 / ((var_a / na) ** 2 / (na - 1) + (var_b / nb) ** 2 / (nb - 1))
        else:
            freedom = float(na + nb - 2)
    if error == 0:
        return 0.0, float(freedom), 1.0, 0.0
    t = float((mean_a - mean_b) / math.sqrt(error))
    x = freedom / (freedom + t * t)
    p, q = 0.5 * freedom, 0.5
    log_beta = math.lgamma(p + q) - math.lgamma(p) - math.lgamma(q)
    front = math.exp(log_beta + p * math.log(x) + q * math.log(1.0 - x))
    if x < (p + 1.0) / (p + q + 2.0):
        p_value = front * beta_fraction(p, q, x) / p
    else:
        p_value = 1.0 - front * beta_fraction(q, p, 1.0 - x) / q
    cohen = float((mean_a - mean_b) / math.sqrt((var_a + var_b) / 2.0))
    return t, float(freedom), float(p_value), cohen


@case(
    lambda: (np.array([[8, 2], [1, 5]]),),
    lambda: (np.array([[3, 3], [3, 3]], dtype=np.int32),),
    lambda: (np.array([[0, 4], [2, 0]]),),
    lambda: (np.array([[1, -1], [1, 1]]),),
    raises=ValueError,
)
def fisher_exact(table):
    """Two-sided exact test of a 2 by 2 table with exact integers; odds ratio and p-value."""
    if np.any(table < 0):
        raise ValueError("counts must not be negative")
    (a, b), (c, d) = table
    a, b, c, d = int(a), int(b), int(c), int(d)
    row, column, total = a + b, a + c, a + b + c + d

    def choose(n, k):
        if k < 0 or k > n:
            return 0
        result = 1
        for i in range(min(k, n - k)):
            result = result * (n - i) // (i + 1)
        return result

    ways = choose(total, column)
    observed = choose(row, a) * choose(total - row, column - a)
    extreme = 0
    for k in range(max(0, column - (total - row)), min(row, column) + 1):
        weight = choose(row, k) * choose(total - row, column - k)
        if weight <= observed:
            extreme += weight
    if b * c == 0:
        odds = math.inf if a * d > 0 else math.nan
    else:
        odds = a * d / (b * c)
    return odds, extreme / ways


@case(
    lambda: (np.linspace(0, 6, 25), np.sin(np.linspace(0, 6, 25)) + 0.1 * normals(25)),
    lambda: (np.arange(5.0), np.arange(5.0), 0.6, 0),
    lambda: (np.arange(3.0), np.ones(3), 1.5),
    raises=ValueError,
)
def lowess(x, y, fraction=0.4, robust=2):
    """Locally weighted lines with tricube weights and robustness passes; x must be increasing."""
    if not 0.0 < fraction <= 1.0:
        raise ValueError("fraction must lie in (0, 1]")
    n = x.size
    span = max(2, math.ceil(fraction * n))
    fitted = np.zeros(n)
    trust = np.ones(n)
    for round_number in range(robust + 1):
        left = 0
        for i in range(n):
            while left + span < n and x[i] - x[left] > x[left + span] - x[i]:
                left += 1
            right = left + span
            reach = max(x[i] - x[left], x[right - 1] - x[i])
            u = np.abs(x[left:right] - x[i]) / (reach * 1.0001)
            w = (1.0 - u**3) ** 3 * trust[left:right]
            total = w.sum()
            if total <= 0.0:
                fitted[i] = y[i]
                continue
            mean_x = np.sum(w * x[left:right]) / total
            mean_y = np.sum(w * y[left:right]) / total
            spread = np.sum(w * (x[left:right] - mean_x) ** 2)
            if spread > 1e-12:
                slope = np.sum(w * (x[left:right] - mean_x) * (y[left:right] - mean_y)) / spread
            else:
                slope = 0.0
            fitted[i] = mean_y + slope * (x[i] - mean_x)
        if round_number == robust:
            break
        residuals = np.abs(y - fitted)
        ordered = sorted(residuals)
        middle = 0.5 * (ordered[(n - 1) // 2] + ordered[n // 2])
        if middle == 0.0:
            break
        scaled = np.minimum(residuals / (6.0 * middle), 1.0)
        trust = (1.0 - scaled**2) ** 2
    return fitted


@case(
    lambda: (np.array([1.0, 3.0, 2.0, 4.0, 3.5, 6.0, 5.0]),),
    lambda: (np.arange(4.0)[::-1], np.array([1.0, 2.0, 1.0, 3.0])),
    lambda: (np.zeros(0),),
)
def isotonic(y, weights=None):
    """The increasing sequence nearest to y, by pooling adjacent violators; also the number of blocks."""
    n = y.size
    if weights is None:
        w = np.ones(n)
    else:
        w = weights.astype(np.float64)
    level = np.zeros(n)
    mass = np.zeros(n)
    size = np.zeros(n, dtype=np.int64)
    top = -1
    for i in range(n):
        top += 1
        level[top] = y[i]
        mass[top] = w[i]
        size[top] = 1
        while top > 0 and level[top - 1] > level[top]:
            total = mass[top - 1] + mass[top]
            level[top - 1] = (mass[top - 1] * level[top - 1] + mass[top] * level[top]) / total
            mass[top - 1] = total
            size[top - 1] += size[top]
            top -= 1
    result = np.empty(n)
    position = 0
    for block in range(top + 1):
        result[position : position + size[block]] = level[block]
        position += size[block]
    return result, top + 1


@case(
    lambda: (normals(30, 5), normals(30, seed=2) + 2.0 * normals(30, 5)[:, 1], 0.1),
    lambda: (normals(10, 2), normals(10, seed=2), 100.0),
    lambda: (normals(10, 2), normals(10, seed=2), 0.05, 0.5),
    lambda: (normals(10, 2), normals(10), -1.0),
    raises=ValueError,
)
def elastic_net(x, y, penalty, l1_ratio=1.0, sweeps=100):
    """Coordinate descent with soft thresholding on standardised columns; coefficients, intercept, active set."""
    if penalty < 0:
        raise ValueError("penalty must not be negative")
    n, p = x.shape
    means = x.mean(axis=0)
    scales = np.sqrt(((x - means) ** 2).mean(axis=0))
    scales[scales == 0] = 1.0
    z = (x - means) / scales
    centre = y.mean()
    residual = y - centre
    beta = np.zeros(p)

    def soft(value, threshold):
        if value > threshold:
            return value - threshold
        if value < -threshold:
            return value + threshold
        return 0.0

    for _ in range(sweeps):
        largest = 0.0
        for j in range(p):
            column = z[:, j]
            rho = np.dot(column, residual) / n + beta[j]
            new = soft(rho, penalty * l1_ratio) / (1.0 + penalty * (1.0 - l1_ratio))
            change = new - beta[j]
            if change != 0.0:
                residual -= change * column
                beta[j] = new
            largest = max(largest, abs(change))
        if largest < 1e-13:
            break
    coefficients = beta / scales
    intercept = float(centre - (coefficients * means).sum())
    active = [j for j in range(p) if beta[j] != 0.0]
    return coefficients, intercept, active


@case(
    lambda: (two_clouds(30), 1.5, 4),
    lambda: (two_clouds(8), 0.01, 2),
    lambda: (np.zeros((3, 2)), 1.0, 1),
    lambda: (two_clouds(8), 0.0, 2),
    raises=ValueError,
)
def dbscan(points, radius, minimum):
    """Density clusters with a growing list of seeds; -1 is noise. Labels, number of clusters, core mask."""
    if radius <= 0.0:
        raise ValueError("radius must be positive")
    n = len(points)
    labels = np.full(n, -2, dtype=np.int64)
    core = np.zeros(n, dtype=np.bool_)
    squared = radius * radius

    def neighbours(i):
        found = []
        for j in range(n):
            dx = points[i, 0] - points[j, 0]
            dy = points[i, 1] - points[j, 1]
            if dx * dx + dy * dy <= squared:
                found.append(j)
        return found

    clusters = 0
    for i in range(n):
        if labels[i] != -2:
            continue
        seeds = neighbours(i)
        if len(seeds) < minimum:
            labels[i] = -1
            continue
        core[i] = True
        labels[i] = clusters
        k = 0
        while k < len(seeds):
            j = seeds[k]
            k += 1
            if labels[j] == -1:
                labels[j] = clusters
            if labels[j] != -2:
                continue
            labels[j] = clusters
            more = neighbours(j)
            if len(more) >= minimum:
                core[j] = True
                seeds.extend(more)
        clusters += 1
    return labels, clusters, core


@case(
    lambda: (np.array([5.0, 6.0, 6.0, 2.5, 4.0, 8.0]), np.array([True, False, True, True, True, False])),
    lambda: (np.array([1.0]), np.array([True])),
    lambda: (np.array([1.0, 2.0]), np.array([False, False])),
    lambda: (np.array([1.0, 2.0]), np.array([False])),
    raises=ValueError,
)
def kaplan_meier(times, observed):
    """Survival curve with Greenwood's variance; distinct event times, survival, variance, median or NaN."""
    if times.size != observed.size:
        raise ValueError("times and observed differ in length")
    events = sorted([float(t) for t, o in zip(times, observed) if o])
    distinct = [t for i, t in enumerate(events) if i == 0 or t != events[i - 1]]
    m = len(distinct)
    survival = np.ones(m)
    variance = np.zeros(m)
    s = 1.0
    greenwood = 0.0
    median = math.nan
    for k, t in enumerate(distinct):
        at_risk = int((times >= t).sum())
        deaths = int(np.sum((times == t) & observed))
        s *= 1.0 - deaths / at_risk
        if at_risk > deaths:
            greenwood += deaths / (at_risk * (at_risk - deaths))
        survival[k] = s
        variance[k] = s * s * greenwood
        if math.isnan(median) and s <= 0.5:
            median = t
    return np.array(distinct, dtype=np.float64), survival, variance, median


@case(
    lambda: (normals(40, 3), labels_of(normals(40, 3)), normals(6, 3, seed=8)),
    lambda: (two_clouds(12), np.array([0] * 6 + [1] * 6), two_clouds(4, 9), 1),
    lambda: (normals(5, 2), np.zeros(5, dtype=np.int64), normals(2, 2, seed=3)),
    lambda: (normals(5, 2), np.zeros(4, dtype=np.int64), normals(2, 2)),
    raises=ValueError,
)
def decision_tree(x, y, queries, max_depth=3, min_leaf=2):
    """Grows a classification tree by Gini impurity into flat arrays, then classifies queries."""
    n, features = x.shape
    if y.shape[0] != n:
        raise ValueError(f"{n} rows but {y.shape[0]} labels")
    classes = int(y.max()) + 1
    capacity = 2 ** (max_depth + 1)
    split_feature = np.full(capacity, -1, dtype=np.int32)
    split_value = np.zeros(capacity)
    prediction = np.zeros(capacity, dtype=np.int32)
    importance = np.zeros(features)

    def gini(counts, total):
        if total == 0:
            return 0.0
        impurity = 1.0
        for c in counts:
            impurity -= (c / total) ** 2
        return impurity

    def grow(node, rows, depth):
        size = len(rows)
        counts = np.zeros(classes, dtype=np.int64)
        for r in rows:
            counts[y[r]] += 1
        prediction[node] = np.argmax(counts)
        here = gini(counts, size)
        if depth == max_depth or here == 0.0 or size < 2 * min_leaf:
            return 1
        best_gain, best_feature, best_cut = 1e-9, -1, 0.0
        for f in range(features):
            ordered = sorted(rows, key=lambda r: x[r, f])
            left = np.zeros(classes, dtype=np.int64)
            right = counts.copy()
            for k in range(size - 1):
                label = y[ordered[k]]
                left[label] += 1
                right[label] -= 1
                value, following = x[ordered[k], f], x[ordered[k + 1], f]
                if value == following or k + 1 < min_leaf or size - k - 1 < min_leaf:
                    continue
                after = (k + 1) / size * gini(left, k + 1) + (size - k - 1) / size * gini(right, size - k - 1)
                if here - after > best_gain:
                    best_gain, best_feature = here - after, f
                    best_cut = 0.5 * (value + following)
        if best_feature < 0:
            return 1
        split_feature[node] = best_feature
        split_value[node] = best_cut
        importance[best_feature] += best_gain * size / n
        below = [r for r in rows if x[r, best_feature] <= best_cut]
        above = [r for r in rows if x[r, best_feature] > best_cut]
        return 1 + grow(2 * node + 1, below, depth + 1) + grow(2 * node + 2, above, depth + 1)

    nodes = grow(0, list(range(n)), 0)
    answers = np.empty(queries.shape[0], dtype=np.int32)
    for q in range(queries.shape[0]):
        node = 0
        while (f := split_feature[node]) >= 0:
            node = 2 * node + 1 if queries[q, f] <= split_value[node] else 2 * node + 2
        answers[q] = prediction[node]
    total = importance.sum()
    if total > 0:
        importance /= total
    return answers, nodes, importance


@case(
    lambda: (np.array([2.0, 4.0, 5.0, 1.0]), [2.5, 3.0, 4.5, 2.0], [1.0, 0.5]),
    lambda: ([10, 20, 30], [12, 18, 33]),
    lambda: ([], []),
    raises=ZeroDivisionError,
)
def one_way_anova(*groups):
    """F statistic of any number of groups, arrays or lists; also eta squared and which mean is largest."""
    sizes = [len(g) for g in groups]
    total = sum(sizes)
    grand = 0.0
    for g in groups:
        for value in g:
            grand += value
    grand /= total
    between = 0.0
    within = 0.0
    best, best_mean = -1, -math.inf
    for k, g in enumerate(groups):
        mean = sum(map(float, g)) / sizes[k]
        between += sizes[k] * (mean - grand) ** 2
        for value in g:
            within += (value - mean) ** 2
        if mean > best_mean:
            best, best_mean = k, mean
    df_between = len(groups) - 1
    df_within = total - len(groups)
    if within == 0.0 or df_within == 0:
        return math.inf, 1.0, best
    f = (between / df_between) / (within / df_within)
    eta = between / (between + within)
    return float(f), float(eta), best
