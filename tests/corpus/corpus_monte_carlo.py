"""Monte Carlo: every function brings its own generator of pseudo-random numbers."""

import math

from _case import case

import numpy as np


@case(
    lambda: (12345, 4000),
    lambda: (1, 1),
    lambda: (1, 0),
    raises=ValueError,
)
def estimate_pi(seed, samples):
    """The dartboard with a linear congruential generator; estimate and its standard error."""
    if samples < 1:
        raise ValueError("samples must be positive")
    modulus = 2**31 - 1
    state = seed % modulus
    if state == 0:
        state = 1
    inside = 0
    running = []
    checkpoint = 1
    for i in range(1, samples + 1):
        state = (48271 * state) % modulus
        x = state / modulus
        state = (48271 * state) % modulus
        y = state / modulus
        if x * x + y * y <= 1.0:
            inside += 1
        if i == checkpoint:
            running.append(4.0 * inside / i)
            checkpoint *= 2
    p = inside / samples
    error = 4.0 * math.sqrt(p * (1.0 - p) / samples)
    return 4.0 * p, error, running


def xorshift32(state):
    state ^= (state << 13) & 0xFFFFFFFF
    state ^= state >> 17
    state ^= (state << 5) & 0xFFFFFFFF
    return state


def paraboloid(x):
    return (x * x).sum()


def corner_peak(x):
    return (1.0 + x.sum()) ** -3


@case(
    lambda: (paraboloid, np.zeros(3), np.ones(3), 1500),
    lambda: (corner_peak, np.zeros(2), np.array([2.0, 0.5]), 800, 99),
    lambda: (lambda x: x[0], np.zeros(1), np.ones(1), 2),
    lambda: (paraboloid, np.ones(2), np.zeros(2), 10),
    raises=ValueError,
)
def integrate_box(integrand, low, high, samples, seed=2463534242):
    """Plain Monte Carlo of a function over a box, with Welford's running variance."""
    if np.any(high <= low):
        raise ValueError("the box is empty")
    dims = low.size
    volume = (high - low).prod()
    state = seed
    x = np.empty(dims)
    mean = 0.0
    squares = 0.0
    top = -math.inf
    for n in range(1, samples + 1):
        for k in range(dims):
            state = xorshift32(state)
            x[k] = low[k] + (high[k] - low[k]) * (state / 4294967296.0)
        value = integrand(x)
        top = max(top, value)
        delta = value - mean
        mean += delta / n
        squares += delta * (value - mean)
    variance = squares / (samples - 1) if samples > 1 else 0.0
    return volume * mean, volume * math.sqrt(variance / samples), float(top)


@case(
    lambda: (100.0, 105.0, 0.05, 0.2, 1.0),
    lambda: (50.0, 40.0, 0.0, 0.4, 0.25, 6, 50, 7),
    lambda: (100.0, 100.0, 0.05, 0.0, 1.0, 4, 10),
    lambda: (-1.0, 100.0, 0.05, 0.2, 1.0),
    raises=ValueError,
)
def asian_option(spot, strike, rate, volatility, maturity, steps=12, paths=200, seed=2024):
    """Arithmetic Asian call: Box-Muller normals, antithetic paths; price, error and share in the money."""
    if spot <= 0.0 or strike <= 0.0:
        raise ValueError("prices must be positive")
    a, c, m = 1664525, 1013904223, 1 << 32
    state = seed
    dt = maturity / steps
    drift = (rate - 0.5 * volatility**2) * dt
    spread = volatility * math.sqrt(dt)
    discount = math.exp(-rate * maturity)
    payoff = np.zeros(paths)
    paid = 0
    for p in range(paths):
        up = down = spot
        sum_up = sum_down = 0.0
        for _ in range(steps):
            state = (a * state + c) % m
            u1 = (state + 0.5) / m
            state = (a * state + c) % m
            u2 = (state + 0.5) / m
            z = math.sqrt(-2.0 * math.log(u1)) * math.cos(2.0 * math.pi * u2)
            up *= math.exp(drift + spread * z)
            down *= math.exp(drift - spread * z)
            sum_up += up
            sum_down += down
        gain_up = max(sum_up / steps - strike, 0.0)
        gain_down = max(sum_down / steps - strike, 0.0)
        paid += (gain_up > 0.0) + (gain_down > 0.0)
        payoff[p] = 0.5 * (gain_up + gain_down)
    price = discount * payoff.mean()
    deviation = np.sqrt(((payoff - payoff.mean()) ** 2).sum() / (paths - 1))
    return price, discount * deviation / math.sqrt(paths), paid / (2 * paths)


@case(
    lambda: (np.ones((8, 8), dtype=np.int8), 0.6, 12),
    lambda: (np.where(np.arange(36).reshape(6, 6) % 2 == 0, 1, -1).astype(np.int8), 0.2, 5, 0.1, 11),
    lambda: (np.ones((4, 4), dtype=np.int8), 0.4, 0),
)
def ising_metropolis(spins, beta, sweeps, field=0.0, seed=1):
    """Single-spin flips on a torus, in place; energies and magnetisations per sweep, acceptance."""
    rows, cols = spins.shape
    energies = np.empty(sweeps)
    magnetisations = np.empty(sweeps, dtype=np.int64)
    state = seed
    accepted = 0
    for sweep in range(sweeps):
        for _ in range(rows * cols):
            state = (1103515245 * state + 12345) & 0x7FFFFFFF
            r = (state >> 8) % rows
            state = (1103515245 * state + 12345) & 0x7FFFFFFF
            c = (state >> 8) % cols
            spin = int(spins[r, c])
            around = (
                int(spins[(r + 1) % rows, c])
                + int(spins[r - 1, c])
                + int(spins[r, (c + 1) % cols])
                + int(spins[r, c - 1])
            )
            change = 2 * spin * (around + field)
            state = (1103515245 * state + 12345) & 0x7FFFFFFF
            if change <= 0 or state < 0x80000000 * math.exp(-beta * change):
                spins[r, c] = -spin
                accepted += 1
        wide = spins.astype(np.int64)
        bonds = (wide[:-1] * wide[1:]).sum() + (wide[-1] * wide[0]).sum()
        bonds += (wide[:, :-1] * wide[:, 1:]).sum() + (wide[:, -1] * wide[:, 0]).sum()
        magnetisations[sweep] = wide.sum()
        energies[sweep] = -float(bonds) - field * float(magnetisations[sweep])
    return energies, magnetisations, accepted


@case(
    lambda: (40, 60),
    lambda: (1, 1, 77),
    lambda: (3, 0),
)
def random_walkers(walkers, steps, seed=88172645463325252):
    """Walks on the square lattice with a 64-bit xorshift per walker, all walkers a step at a time."""
    state = np.arange(1, walkers + 1).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    state ^= np.uint64(seed)
    position = np.zeros((walkers, 2), dtype=np.int32)
    farthest = np.zeros(walkers, dtype=np.int32)
    returns = np.zeros(walkers, dtype=np.int32)
    mean_square = np.zeros(steps)
    moves = np.array([[1, 0], [-1, 0], [0, 1], [0, -1]], dtype=np.int32)
    for t in range(steps):
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
        choice = (state >> np.uint64(62)).astype(np.int64)
        position += moves[choice]
        squared = position[:, 0] ** 2 + position[:, 1] ** 2
        farthest = np.maximum(farthest, squared)
        returns[squared == 0] += 1
        mean_square[t] = squared.mean()
    never = float((returns == 0).mean())
    return position, np.sqrt(farthest.astype(np.float64)), mean_square, never


def banana(x):
    return -0.5 * x[0] ** 2 - 0.5 * ((x[1] - x[0] * x[0]) / 0.5) ** 2


@case(
    lambda: (banana, [0.0, 0.0], 300),
    lambda: (lambda x: -0.5 * x[0] * x[0], [5.0], 100, 2.0, 3, 20),
    lambda: (lambda x: -math.inf, [1.0], 10),
    raises=ValueError,
)
def metropolis_hastings(log_density, start, samples, scale=0.8, seed=17, burn=0):
    """Random-walk Metropolis with a polar-method Gaussian; the chain, acceptance and lag-one correlation."""
    dims = len(start)
    x = np.array(start)
    here = log_density(x)
    if here == -math.inf:
        raise ValueError("the start has no density")
    state = seed
    chain = np.empty((samples, dims))
    accepted = 0

    def uniform():
        nonlocal state
        state = (state * 1103515245 + 12345) % 2147483648
        return (state + 0.5) / 2147483648.0

    def gaussian():
        while True:
            u = 2.0 * uniform() - 1.0
            v = 2.0 * uniform() - 1.0
            s = u * u + v * v
            if 0.0 < s < 1.0:
                return u * math.sqrt(-2.0 * math.log(s) / s)

    for i in range(-burn, samples):
        proposal = x.copy()
        for k in range(dims):
            proposal[k] += scale * gaussian()
        there = log_density(proposal)
        if math.log(uniform()) < there - here:
            x, here = proposal, there
            accepted += 1
        if i >= 0:
            chain[i] = x
    centred = chain - chain.mean(axis=0)
    lag_one = (centred[1:] * centred[:-1]).sum(axis=0) / (centred**2).sum(axis=0)
    return chain, accepted / (samples + burn), lag_one


@case(
    lambda: (np.random.default_rng(1).exponential(size=30), 200),
    lambda: (np.array([4.0, 4.0, 4.0]), 10, 0.5),
    lambda: (np.array([1.0]), 50),
    lambda: (np.array([]), 50),
    raises=ValueError,
)
def bootstrap_interval(data, resamples, level=0.9, statistic=None, seed=5):
    """Percentile interval of a statistic (the mean unless told) from resampling with replacement."""
    n = data.size
    if n == 0:
        raise ValueError("no data")
    state = np.uint32(seed)
    replicas = np.empty(resamples)
    sample = np.empty_like(data)
    for b in range(resamples):
        for i in range(n):
            state = state ^ (state << np.uint32(13))
            state = state ^ (state >> np.uint32(17))
            state = state ^ (state << np.uint32(5))
            sample[i] = data[int(state) % n]
        replicas[b] = sample.mean() if statistic is None else statistic(sample)
    # Insertion into a sorted prefix is enough for a few hundred replicas.
    for i in range(1, resamples):
        value = replicas[i]
        j = i - 1
        while j >= 0 and replicas[j] > value:
            replicas[j + 1] = replicas[j]
            j -= 1
        replicas[j + 1] = value

    def quantile(q):
        at = q * (resamples - 1)
        below = math.floor(at)
        above = min(below + 1, resamples - 1)
        return replicas[below] + (at - below) * (replicas[above] - replicas[below])

    tail = (1.0 - level) / 2
    spread = np.sqrt(((replicas - replicas.mean()) ** 2).mean())
    return quantile(tail), quantile(1.0 - tail), spread


@case(
    lambda: (1000, 1.0, 2.0),
    lambda: (50, 0.3, 0.3, 999),
    lambda: (10, 3.0, 2.0),
    lambda: (3, 1e-9, 5.0),
    raises=ValueError,
)
def buffon_needle(throws, needle, gap, seed=31415926):
    """Buffon's needle; the direction comes from rejection in the disc, so that pi is not used to find pi."""
    if needle > gap:
        raise ValueError("the needle must not be longer than the gap")
    state = seed & 0xFFFFFFFF or 1
    crossings = 0
    rejected = 0
    for _ in range(throws):
        state ^= state << 13 & 0xFFFFFFFF
        state ^= state >> 17
        state ^= state << 5 & 0xFFFFFFFF
        middle = state / 2**32 * gap / 2
        while True:
            state = state * 69069 + 1 & 0xFFFFFFFF
            x = state / 2**31 - 1.0
            state = state * 69069 + 1 & 0xFFFFFFFF
            y = state / 2**31 - 1.0
            squared = x * x + y * y
            if 1e-12 < squared <= 1.0:
                break
            rejected += 1
        if middle <= needle / 2 * abs(y) / math.sqrt(squared):
            crossings += 1
    if crossings == 0:
        return math.nan, 0, rejected
    return 2.0 * needle * throws / (gap * crossings), crossings, rejected


@case(
    lambda: (95, 5, 0.4, 0.1, 60.0),
    lambda: (10, 0, 0.4, 0.1, 10.0),
    lambda: (20, 20, 0.0, 1.0, 3.0, 4),
    lambda: (20, -1, 0.3, 1.0, 3.0),
    raises=ValueError,
)
def gillespie_sir(susceptible, infected, beta, gamma, until, seed=1):
    """Exact stochastic epidemic; times and the three counts after every event."""
    if susceptible < 0 or infected < 0:
        raise ValueError("counts must not be negative")
    population = susceptible + infected
    most = 2 * susceptible + infected + 1
    times = np.zeros(most)
    counts = np.zeros((most, 3), dtype=np.int32)
    s, i, r = susceptible, infected, 0
    counts[0] = s, i, r
    t = 0.0
    events = 1
    state = seed
    peak = i
    while i > 0:
        infection = beta * s * i / population
        recovery = gamma * i
        total = infection + recovery
        state = (16807 * state) % 2147483647
        t += -math.log(state / 2147483647) / total
        if t > until:
            break
        state = (16807 * state) % 2147483647
        if state / 2147483647 * total < infection:
            s, i = s - 1, i + 1
        else:
            i, r = i - 1, r + 1
        peak = max(peak, i)
        times[events] = t
        counts[events] = s, i, r
        events += 1
    assert s + i + r == population
    return times[:events].copy(), counts[:events].copy(), peak


@case(
    lambda: (3.0, 2000),
    lambda: (4.5, 500, 0.5, 7),
    lambda: (3.0, 1),
    lambda: (3.0, 10, 0.0),
    raises=ValueError,
    note="with one sample the error is np.inf, a Python float",
)
def normal_tail(threshold, samples, rate=None, seed=42):
    """P(Z > threshold) by importance sampling from a shifted exponential; estimate, error, effective size."""
    if rate is None:
        rate = threshold
    if rate <= 0:
        raise ValueError("the rate must be positive")
    state = seed
    u = np.empty(samples)
    for i in range(samples):
        high, low = divmod(state, 127773)
        state = 16807 * low - 2836 * high
        if state <= 0:
            state += 2147483647
        u[i] = state / 2147483647.0
    x = threshold - np.log(u) / rate
    log_target = -0.5 * x**2 - 0.5 * math.log(2 * math.pi)
    log_proposal = math.log(rate) - rate * (x - threshold)
    weight = np.exp(log_target - log_proposal)
    estimate = weight.mean()
    if samples > 1:
        error = np.sqrt(((weight - estimate) ** 2).sum() / (samples - 1) / samples)
    else:
        error = np.inf
    effective = weight.sum() ** 2 / (weight**2).sum()
    exact = 0.5 * math.erfc(threshold / math.sqrt(2.0))
    return estimate, error, effective, abs(estimate - exact) < 5 * error + 1e-12


def root_of(parent, x):
    while parent[x] != x:
        parent[x] = parent[parent[x]]
        x = parent[x]
    return x


@case(
    lambda: (8, 6),
    lambda: (1, 3),
    lambda: (4, 4, 12345),
    lambda: (0, 3),
    raises=ValueError,
)
def percolation_threshold(n, trials, seed=20):
    """Sites open in random order until top meets bottom; the mean share of open sites, and its spread."""
    if n < 1 or trials < 1:
        raise ValueError("n and trials must be positive")
    shares = np.empty(trials)
    state = seed
    top, bottom = n * n, n * n + 1
    for trial in range(trials):
        order = np.arange(n * n)
        for i in range(n * n - 1, 0, -1):
            state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
            j = (state >> 4) % (i + 1)
            order[i], order[j] = order[j], order[i]
        parent = np.arange(n * n + 2)
        size = np.ones(n * n + 2, dtype=np.int64)
        is_open = np.zeros((n, n), dtype=bool)
        opened = 0
        while root_of(parent, top) != root_of(parent, bottom):
            site = int(order[opened])
            opened += 1
            r, c = divmod(site, n)
            is_open[r, c] = True
            neighbours = [
                (r + dr) * n + c + dc
                for dr, dc in ((1, 0), (-1, 0), (0, 1), (0, -1))
                if 0 <= r + dr < n and 0 <= c + dc < n and is_open[r + dr, c + dc]
            ]
            if r == 0:
                neighbours.append(top)
            if r == n - 1:
                neighbours.append(bottom)
            for other in neighbours:
                a, b = root_of(parent, site), root_of(parent, other)
                if a == b:
                    continue
                if size[a] < size[b]:
                    a, b = b, a
                parent[b] = a
                size[a] += size[b]
        shares[trial] = opened / (n * n)
    mean = shares.mean()
    return mean, math.sqrt(((shares - mean) ** 2).mean()), shares


@case(
    lambda: (np.random.default_rng(3).random((12, 2)), 1500),
    lambda: (np.random.default_rng(4).random((5, 2)).astype(np.float32), 200, 0.1),
    lambda: (np.random.default_rng(4).random((3, 2)), 0),
    lambda: (np.random.default_rng(4).random((2, 2)), 10),
    raises=ValueError,
)
def anneal_tour(cities, steps, hot=0.5, cold=1e-3, seed=8):
    """Simulated annealing of a round trip with two-opt moves; tour, its length and the accepted moves."""
    n = len(cities)
    if n < 3:
        raise ValueError("a tour needs three cities")
    delta = cities[:, None, :] - cities[None, :, :]
    distance = np.sqrt((delta**2).sum(axis=2)).astype(np.float64)
    tour = np.arange(n)
    state = seed
    accepted = 0
    for step in range(steps):
        temperature = hot * (cold / hot) ** (step / steps)
        state = (state * 22695477 + 1) % 4294967296
        i = (state >> 16) % n
        state = (state * 22695477 + 1) % 4294967296
        j = (state >> 16) % n
        if i > j:
            i, j = j, i
        if j - i < 1 or (i == 0 and j == n - 1):
            continue
        before, after = tour[i - 1], tour[(j + 1) % n]
        change = (
            distance[before, tour[j]] + distance[tour[i], after] - distance[before, tour[i]] - distance[tour[j], after]
        )
        state = (state * 22695477 + 1) % 4294967296
        if change <= 0 or state / 4294967296 < math.exp(-change / temperature):
            tour[i : j + 1] = tour[i : j + 1][::-1].copy()
            accepted += 1
    length = 0.0
    for k in range(n):
        length += distance[tour[k - 1], tour[k]]
    return tour, length, accepted


def radical_inverse(index, base):
    result, digit = 0.0, 1.0 / base
    while index > 0:
        index, remainder = divmod(index, base)
        result += remainder * digit
        digit /= base
    return result


@case(
    lambda: (64, 3),
    lambda: (20, 6, 5, 3),
    lambda: (0, 2),
    lambda: (10, 9),
    raises=ValueError,
    note="without points the mean is a Python float",
)
def halton_box(count, dims, shifts=4, seed=12):
    """Randomly shifted Halton points; an integral with its error over shifts, and the centred discrepancy."""
    primes = (2, 3, 5, 7, 11, 13, 17, 19)
    if dims > len(primes):
        raise ValueError(f"at most {len(primes)} dimensions")
    grid = np.empty((count, dims))
    for k, base in enumerate(primes[:dims]):
        grid[:, k] = [radical_inverse(i + 1, base) for i in range(count)]
    if count == 0:
        return 0.0, 0.0, 0.0
    estimates = []
    state = seed
    for _ in range(shifts):
        shift = np.empty(dims)
        for k in range(dims):
            state = state * 16807 % 2147483647
            shift[k] = state / 2147483647
        moved = (grid + shift) % 1.0
        values = np.prod(np.abs(4.0 * moved - 2.0), axis=1)
        estimates.append(values.mean())
    mean = sum(estimates) / shifts
    error = math.sqrt(sum((e - mean) ** 2 for e in estimates) / (shifts * (shifts - 1)))
    centred = np.abs(grid - 0.5)
    single = (1.0 + 0.5 * centred - 0.5 * centred**2).prod(axis=1).sum()
    double = 0.0
    for i in range(count):
        kernel = 1.0 + 0.5 * centred[i] + 0.5 * centred - 0.5 * np.abs(grid[i] - grid)
        double += np.prod(kernel, axis=1).sum()
    discrepancy = math.sqrt(abs((13 / 12) ** dims - 2.0 / count * single + double / count**2))
    return mean, error, discrepancy


@case(
    lambda: (0.8, 500),
    lambda: (-0.3, 100, 20, 3, 6),
    lambda: (0.0, 1),
    lambda: (1.0, 10),
    raises=ValueError,
)
def gibbs_bivariate(rho, samples, burn=50, thin=1, seed=1):
    """Gibbs sampler of a correlated Gaussian pair; normals come in twos from Box and Muller."""
    if not -1.0 < rho < 1.0:
        raise ValueError("rho must lie strictly between -1 and 1")
    spread = math.sqrt(1.0 - rho * rho)
    kept = np.empty((samples, 2), dtype=np.float64)
    x = y = 0.0
    state = seed
    row = 0
    step = 0
    while row < samples:
        state = (state * 1597 + 51749) % 244944
        u = (state + 1) / 244945
        state = (state * 1597 + 51749) % 244944
        v = state / 244944
        radius = math.sqrt(-2.0 * math.log(u))
        x = rho * y + spread * radius * math.cos(2.0 * math.pi * v)
        y = rho * x + spread * radius * math.sin(2.0 * math.pi * v)
        if step >= burn and (step - burn) % thin == 0:
            kept[row, :] = x, y
            row += 1
        step += 1
    mean = kept.mean(axis=0)
    centred = kept - mean
    covariance = centred.T @ centred / max(samples - 1, 1)
    return kept, mean, covariance


@case(
    lambda: (np.array([5.1, 6.2, 7.3, 5.9, 6.6]), np.array([4.0, 5.2, 4.4, 5.0]), 400),
    lambda: (np.array([1, 2, 3], dtype=np.int32), np.array([1, 2, 3], dtype=np.int32), 50, "greater"),
    lambda: (np.array([1.0]), np.array([2.0]), 20, "less"),
    lambda: (np.array([1.0]), np.array([2.0]), 20, "sideways"),
    raises=ValueError,
)
def permutation_test(a, b, shuffles, alternative="two-sided", seed=77):
    """Difference of means under Fisher-Yates shuffles; the observed difference and its p-value."""
    if alternative != "two-sided" and alternative != "greater" and alternative != "less":
        raise ValueError("unknown alternative")
    n, m = len(a), len(b)
    pooled = np.empty(n + m)
    pooled[:n] = a
    pooled[n:] = b
    observed = a.mean() - b.mean()
    tolerance = 1e-12 * max(1.0, abs(observed))
    state = seed
    extreme = 0
    for _ in range(shuffles):
        for i in range(n + m - 1, 0, -1):
            state = (state * 1103515245 + 12345) & 0x7FFFFFFF
            j = (state >> 16) % (i + 1)
            pooled[i], pooled[j] = pooled[j], pooled[i]
        difference = pooled[:n].mean() - pooled[n:].mean()
        match alternative:
            case "greater":
                hit = difference >= observed - tolerance
            case "less":
                hit = difference <= observed + tolerance
            case _:
                hit = abs(difference) >= abs(observed) - tolerance
        extreme += bool(hit)
    return observed, (extreme + 1) / (shuffles + 1)


@case(
    lambda: (2.0, 0.6, 0.4, 800),
    lambda: (0.5, 0.0, 1.0, 200, 2),
    lambda: (1.0, 0.0, 0.0, 20),
    lambda: (1.0, -0.1, 0.0, 20),
    raises=ValueError,
)
def slab_transport(thickness, scattering, absorption, particles, seed=1):
    """Neutrons through a slab with implicit capture and roulette; reflected, absorbed, transmitted weight."""
    total = scattering + absorption
    if scattering < 0 or absorption < 0:
        raise ValueError("cross sections must not be negative")
    tally = np.zeros(3)
    deposits = np.zeros(10)
    collisions = 0
    state = seed * 2 + 1
    for _ in range(particles):
        z, direction, weight = 0.0, 1.0, 1.0
        alive = True
        while alive:
            if total == 0.0:
                z = math.inf
            else:
                state = (state * 69069 + 5) % 17592186044416
                z -= direction * math.log((state + 0.5) / 17592186044416) / total
            if z < 0.0:
                tally[0] += weight
                break
            if z > thickness:
                tally[2] += weight
                break
            collisions += 1
            lost = weight * absorption / total
            tally[1] += lost
            deposits[min(int(10 * z / thickness), 9)] += lost
            weight -= lost
            state = (state * 69069 + 5) % 17592186044416
            direction = 2.0 * state / 17592186044416 - 1.0
            if weight < 0.1:
                state = (state * 69069 + 5) % 17592186044416
                if state / 17592186044416 < 0.5:
                    weight *= 2.0
                else:
                    alive = False
    return tally / particles, deposits / particles, collisions


@case(
    lambda: (36.0, 40.0, 0.06, 0.2, 1.0),
    lambda: (44.0, 40.0, 0.06, 0.4, 2.0, 8, 40, 11),
    lambda: (10.0, 40.0, 0.06, 0.2, 1.0, 2, 3),
    lambda: (10.0, 40.0, 0.06, 0.2, 1.0, 1, 3),
    raises=ValueError,
)
def american_put(spot, strike, rate, sigma, maturity, steps=10, paths=120, seed=3):
    """Longstaff and Schwartz: quadratic regression of continuation values, solved by Cramer's rule."""
    if steps < 2:
        raise ValueError("at least two exercise dates are needed")
    dt = maturity / steps
    discount = math.exp(-rate * dt)
    price = np.empty((steps + 1, paths))
    price[0] = spot
    state = seed
    for t in range(1, steps + 1):
        z = np.empty(paths)
        for p in range(paths):
            # The sum of twelve uniforms is nearly normal.
            total = 0.0
            for _ in range(12):
                state = state * 16807 % 2147483647
                total += state / 2147483647
            z[p] = total - 6.0
        price[t] = price[t - 1] * np.exp((rate - sigma * sigma / 2) * dt + sigma * math.sqrt(dt) * z)

    def det3(m):
        return (
            m[0, 0] * (m[1, 1] * m[2, 2] - m[1, 2] * m[2, 1])
            - m[0, 1] * (m[1, 0] * m[2, 2] - m[1, 2] * m[2, 0])
            + m[0, 2] * (m[1, 0] * m[2, 1] - m[1, 1] * m[2, 0])
        )

    cash = np.maximum(strike - price[steps], 0.0)
    for t in range(steps - 1, 0, -1):
        cash *= discount
        exercise = np.maximum(strike - price[t], 0.0)
        money = exercise > 0
        if money.sum() < 3:
            continue
        x = price[t][money] / strike
        powers = [(x**k).sum() for k in range(5)]
        gram = np.array([[powers[i + j] for j in range(3)] for i in range(3)])
        right = np.array([(x**k * cash[money]).sum() for k in range(3)])
        whole = det3(gram)
        if abs(whole) < 1e-12:
            continue
        beta = np.zeros(3)
        for k in range(3):
            swapped = gram.copy()
            swapped[:, k] = right
            beta[k] = det3(swapped) / whole
        held = beta[0] + beta[1] * (price[t] / strike) + beta[2] * (price[t] / strike) ** 2
        stop = money & (exercise > held)
        cash[stop] = exercise[stop]
    value = discount * cash.mean()
    return max(value, strike - spot), price[-1].mean()


@case(
    lambda: (2.0, 5.0, 200),
    lambda: (1.0, 1.0, 10, 3),
    lambda: (0.5, 1.0, 10),
    lambda: (60.0, 60.0, 50, 1, 2),
    raises=(RuntimeError, ValueError),
)
def beta_by_rejection(a, b, count, seed=9, patience=1000):
    """Beta variates by rejection under the mode; gives up, with an error, after too many refusals."""
    if a < 1.0 or b < 1.0:
        raise ValueError("both parameters must be at least one")
    if a + b > 2.0:
        mode = (a - 1.0) / (a + b - 2.0)
    else:
        mode = 0.5
    ceiling = mode ** (a - 1.0) * (1.0 - mode) ** (b - 1.0)
    state = seed
    values = np.empty(count)
    histogram = np.zeros(8, dtype=np.uint16)
    tries = 0
    for i in range(count):
        for _ in range(patience):
            tries += 1
            state = (state * 65539 + 17) % 2147483648
            x = (state + 0.5) / 2147483648
            state = (state * 1103515245 + 12345) % 2147483648
            y = state / 2147483648
            if y * ceiling <= x ** (a - 1.0) * (1.0 - x) ** (b - 1.0):
                values[i] = x
                histogram[int(8 * x)] += 1
                break
        else:
            raise RuntimeError(f"no value was accepted in {patience} tries")
    return values, histogram, count / tries


@case(
    lambda: (np.arange(100), 10),
    lambda: (np.linspace(0, 1, 20), 5, np.linspace(0.1, 2.0, 20), 4),
    lambda: (np.arange(3), 3),
    lambda: (np.arange(3), 4),
    raises=ValueError,
)
def reservoir_sample(stream, size, weights=None, seed=1):
    """A sample without replacement in one pass: Vitter's R, or Efraimidis and Spirakis when weighted."""
    if size > len(stream):
        raise ValueError("the stream is shorter than the sample")
    reservoir = stream[:size].copy()
    state = seed
    if weights is None:
        for i in range(size, len(stream)):
            state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
            j = (state >> 8) % (i + 1)
            if j < size:
                reservoir[j] = stream[i]
        return reservoir
    keys = np.full(size, -np.inf)
    for i in range(len(stream)):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        u = (state + 0.5) / 4294967296.0
        if weights[i] <= 0.0:
            continue
        key = math.log(u) / weights[i]
        worst = int(keys.argmin())
        if key > keys[worst]:
            keys[worst] = key
            reservoir[worst] = stream[i]
    return reservoir


@case(
    lambda: (np.array([[2.0, 0.6], [0.6, 1.0]]), 120),
    lambda: (np.eye(3), 30, 0.3, 5, 2),
    lambda: (np.eye(1), 1, 0.1, 0),
    lambda: (np.ones((2, 3)), 10),
    raises=ValueError,
)
def hamiltonian_gaussian(precision, samples, step=0.2, leaps=12, seed=6):
    """Hamiltonian Monte Carlo of a Gaussian given by its precision: leapfrog, then accept or go back."""
    n = precision.shape[0]
    if precision.shape[1] != n:
        raise ValueError("the precision matrix must be square")
    state = seed

    def draw():
        nonlocal state
        state = (state * 630360016) % 2147483647
        return state / 2147483647

    q = np.ones(n)
    chain = np.empty((samples, n))
    accepted = 0
    worst = 0.0
    for s in range(samples):
        p = np.array([math.sqrt(-2 * math.log(draw())) * math.cos(2 * math.pi * draw()) for _ in range(n)])
        energy = 0.5 * (p @ p) + 0.5 * (q @ precision @ q)
        new_q, new_p = q.copy(), p.copy()
        new_p -= 0.5 * step * (precision @ new_q)
        for leap in range(leaps):
            new_q += step * new_p
            new_p -= step * (precision @ new_q) * (0.5 if leap == leaps - 1 else 1.0)
        final = 0.5 * (new_p @ new_p) + 0.5 * (new_q @ precision @ new_q)
        worst = max(worst, abs(final - energy))
        if draw() < math.exp(min(0.0, energy - final)):
            q = new_q
            accepted += 1
        chain[s] = q
    return chain, accepted, float(worst)


@case(
    lambda: (5489, 10),
    lambda: (1, 700),
    lambda: (0, 0),
    lambda: (1, -1),
    raises=ValueError,
)
def mersenne_twister(seed, count):
    """MT19937 in unsigned 32-bit arithmetic: the state is filled, twisted and tempered as needed."""
    if count < 0:
        raise ValueError("count must not be negative")
    n, m = 624, 397
    mt = np.empty(n, dtype=np.uint32)
    value = seed & 0xFFFFFFFF
    mt[0] = value
    for i in range(1, n):
        value = (1812433253 * (value ^ (value >> 30)) + i) & 0xFFFFFFFF
        mt[i] = value
    out = np.empty(count, dtype=np.uint32)
    at = n
    for k in range(count):
        if at == n:
            for i in range(n):
                y = (mt[i] & np.uint32(0x80000000)) | (mt[(i + 1) % n] & np.uint32(0x7FFFFFFF))
                twisted = mt[(i + m) % n] ^ (y >> np.uint32(1))
                if y & 1:
                    twisted ^= np.uint32(0x9908B0DF)
                mt[i] = twisted
            at = 0
        y = mt[at]
        at += 1
        y ^= y >> 11
        y ^= (y << 7) & np.uint32(0x9D2C5680)
        y ^= (y << 15) & np.uint32(0xEFC60000)
        y ^= y >> 18
        out[k] = y
    return out


@case(
    lambda: (15, 12),
    lambda: (7, 0),
    lambda: (9, 3, 99),
    lambda: (4, 3),
    raises=ValueError,
)
def diffusion_limited_aggregate(size, particles, seed=13):
    """Walkers stick to a growing cluster on a small grid; the order of arrival and the radius of gyration."""
    if size < 5 or size % 2 == 0:
        raise ValueError("size must be odd and at least 5")
    grid = np.zeros((size, size), dtype=np.int16)
    centre = size // 2
    grid[centre, centre] = 1
    state = seed
    stuck = 1
    for number in range(particles):
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        along = (state >> 8) % (size - 1)
        r, c = ((0, along), (along, size - 1), (size - 1, size - 1 - along), (size - 1 - along, 0))[state >> 5 & 3]
        for _ in range(2000):
            neighbours = 0
            for dr, dc in [(1, 0), (-1, 0), (0, 1), (0, -1)]:
                rr, cc = r + dr, c + dc
                if 0 <= rr < size and 0 <= cc < size:
                    neighbours += grid[rr, cc] != 0
            if neighbours > 0 and grid[r, c] == 0:
                stuck += 1
                grid[r, c] = number + 2
                break
            state = (state * 1103515245 + 12345) & 0x7FFFFFFF
            move = state >> 12 & 3
            if move == 0:
                r = min(r + 1, size - 1)
            elif move == 1:
                r = max(r - 1, 0)
            elif move == 2:
                c = min(c + 1, size - 1)
            else:
                c = max(c - 1, 0)
    rows = np.arange(size)[:, None] - centre
    cols = np.arange(size)[None, :] - centre
    squared = rows * rows + cols * cols
    gyration = math.sqrt(squared[grid > 0].sum() / stuck)
    return grid, stuck, gyration


@case(
    lambda: (16, 0.5, 8),
    lambda: (4, 0.1, 3, 0.05, 9),
    lambda: (9, 0.3, 0),
    lambda: (9, 0.9, 5),
    raises=ValueError,
)
def hard_discs(count, density, sweeps, reach=0.15, seed=4):
    """Hard discs in a periodic box with a cell list; acceptance, pair distribution and final positions."""
    side = 1
    while side * side < count:
        side += 1
    radius = math.sqrt(density / (count * math.pi))
    if 2.0 * radius * side > 1.0:
        raise ValueError("the discs do not fit on a square lattice")
    position = np.empty((count, 2))
    for k in range(count):
        position[k] = (k % side + 0.5) / side, (k // side + 0.5) / side
    cells = max(1, int(1.0 / (2.0 * radius)))
    members = [[] for _ in range(cells * cells)]

    def cell_of(x, y):
        return int(y * cells) % cells * cells + int(x * cells) % cells

    for k in range(count):
        members[cell_of(position[k, 0], position[k, 1])].append(k)

    state = seed
    accepted = 0
    bins = np.zeros(12, dtype=np.int64)
    for _ in range(sweeps):
        for _ in range(count):
            state = (state * 1103515245 + 12345) & 0x7FFFFFFF
            k = (state >> 10) % count
            state = (state * 1103515245 + 12345) & 0x7FFFFFFF
            x = (position[k, 0] + reach * (state / 0x40000000 - 1.0)) % 1.0
            state = (state * 1103515245 + 12345) & 0x7FFFFFFF
            y = (position[k, 1] + reach * (state / 0x40000000 - 1.0)) % 1.0
            home = cell_of(x, y)
            row, col = divmod(home, cells)
            free = True
            for dr in (-1, 0, 1):
                for dc in (-1, 0, 1):
                    for other in members[(row + dr) % cells * cells + (col + dc) % cells]:
                        if other == k:
                            continue
                        gap_x = x - position[other, 0]
                        gap_y = y - position[other, 1]
                        gap_x -= round(gap_x)
                        gap_y -= round(gap_y)
                        if gap_x * gap_x + gap_y * gap_y < 4.0 * radius * radius:
                            free = False
                            break
                    if not free:
                        break
                if not free:
                    break
            if free:
                members[cell_of(position[k, 0], position[k, 1])].remove(k)
                members[home].append(k)
                position[k] = x, y
                accepted += 1
        gaps = position[:, None, :] - position[None, :, :]
        gaps -= np.floor(gaps + 0.5)
        squared = (gaps**2).sum(axis=2)
        for i in range(count):
            for j in range(i + 1, count):
                at = int(24.0 * math.sqrt(squared[i, j]))
                if at < 12:
                    bins[at] += 1
    return accepted, bins, position


@case(
    lambda: (lambda x, y: math.exp(-50.0 * ((x - 0.5) ** 2 + (y - 0.5) ** 2)), 200, 4),
    lambda: (lambda x, y: x + y * y, 50, 2, 5, 3),
    lambda: (lambda x, y: 0.0, 50, 2),
    lambda: (lambda x, y: x, 1, 2),
    raises=ValueError,
)
def vegas(integrand, calls, rounds, bins=10, seed=21):
    """Adaptive importance sampling on the unit square: the grid of each axis follows the integrand."""
    if calls < 2:
        raise ValueError("two calls are the least")
    edges = np.empty((2, bins + 1))
    edges[:] = np.linspace(0.0, 1.0, bins + 1)
    state = seed
    estimates, variances = [], []
    for _ in range(rounds):
        importance = np.zeros((2, bins))
        total = squares = 0.0
        for _ in range(calls):
            at = [0.0, 0.0]
            cell = [0, 0]
            weight = 1.0
            for axis in range(2):
                state = (state * 16807) % 2147483647
                u = state / 2147483647 * bins
                k = int(u)
                width = edges[axis, k + 1] - edges[axis, k]
                at[axis] = float(edges[axis, k] + (u - k) * width)
                cell[axis] = k
                weight *= float(width) * bins
            value = weight * integrand(*at)
            total += value
            squares += value * value
            for axis, k in enumerate(cell):
                importance[axis, k] += value * value
        mean = total / calls
        estimates.append(mean)
        variances.append(max((squares / calls - mean * mean) / (calls - 1), 1e-30))
        for axis in range(2):
            smooth = importance[axis].copy()
            smooth[1:-1] = (importance[axis, :-2] + importance[axis, 1:-1] + importance[axis, 2:]) / 3.0
            if smooth.sum() <= 0.0:
                continue
            share = np.sqrt(smooth / smooth.sum()) + 1e-3
            share /= share.sum()
            fresh = edges[axis].copy()
            k, filled = 0, 0.0
            for b in range(1, bins):
                goal = b / bins
                while filled + share[k] < goal:
                    filled += share[k]
                    k += 1
                inside = (goal - filled) / share[k]
                fresh[b] = edges[axis, k] + inside * (edges[axis, k + 1] - edges[axis, k])
            edges[axis] = fresh
    weights = [1.0 / v for v in variances]
    mean = sum(w * e for w, e in zip(weights, estimates)) / sum(weights)
    spread = sum(w * (e - mean) ** 2 for w, e in zip(weights, estimates))
    return mean, math.sqrt(1.0 / sum(weights)), spread / max(rounds - 1, 1), edges
