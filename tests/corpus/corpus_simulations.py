"""Simulations: particles, epidemics, cellular automata, spins, diffusion, waves and fluids on small grids."""

import math

from _case import case

import numpy as np


def uniform(*shape, seed=0):
    return np.random.default_rng(seed).random(shape)


def glider(height, width):
    world = np.zeros((height, width), dtype=np.uint8)
    world[1, 2] = world[2, 3] = world[3, 1] = world[3, 2] = world[3, 3] = 1
    return world


def lcg(state):
    """One step of a 31-bit linear congruential generator."""
    return (1103515245 * state + 12345) & 0x7FFFFFFF


@case(
    lambda: (uniform(6, 3), uniform(6, 3, seed=1) - 0.5, uniform(6, seed=2) + 0.1, 0.01, 10),
    lambda: (np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]), np.zeros((2, 3)), np.ones(2), 0.05, 5, 1e-3),
    lambda: (np.zeros((1, 3)), np.ones((1, 3)), np.ones(1), 0.1, 3),
    lambda: (uniform(3, 3), uniform(2, 3), np.ones(3), 0.1, 3),
    raises=ValueError,
)
def n_body_leapfrog(position, velocity, mass, dt, steps, softening=0.05):
    """Gravity by all pairs, kick-drift-kick, in place; returns the energy before and after."""
    n = position.shape[0]
    if velocity.shape != position.shape or mass.shape[0] != n:
        raise ValueError("position, velocity and mass do not fit together")

    def acceleration():
        a = np.zeros((n, 3))
        for i in range(n):
            for j in range(n):
                if i == j:
                    continue
                dx = position[j, 0] - position[i, 0]
                dy = position[j, 1] - position[i, 1]
                dz = position[j, 2] - position[i, 2]
                r2 = dx * dx + dy * dy + dz * dz + softening * softening
                inverse = mass[j] / (r2 * math.sqrt(r2))
                a[i, 0] += dx * inverse
                a[i, 1] += dy * inverse
                a[i, 2] += dz * inverse
        return a

    def energy():
        kinetic = 0.5 * np.sum(mass[:, None] * velocity**2)
        potential = 0.0
        for i in range(n):
            for j in range(i + 1, n):
                d = position[i] - position[j]
                potential -= mass[i] * mass[j] / math.sqrt(np.dot(d, d) + softening**2)
        return float(kinetic + potential)

    before = energy()
    a = acceleration()
    for _ in range(steps):
        velocity += 0.5 * dt * a
        position += dt * velocity
        a = acceleration()
        velocity += 0.5 * dt * a
    return before, energy()


@case(
    lambda: (990.0, 10.0, 0.0, 0.4, 0.1, 60, 1.0),
    lambda: (1.0, 0.0, 0.0, 0.4, 0.1, 5, 0.5),
    lambda: (10.0, 1.0, 0.0, 0.4, 0.1, 0, 0.5),
    lambda: (-1.0, 1.0, 0.0, 0.4, 0.1, 5, 0.5),
    raises=ValueError,
)
def sir_model(s, i, r, beta, gamma, days, dt):
    """Susceptible, infected, recovered by Heun's method; the curve, its peak and the day of the peak."""
    if min(s, i, r) < 0:
        raise ValueError("compartments must not be negative")
    population = s + i + r

    def derivative(s, i):
        infection = beta * s * i / population
        recovery = gamma * i
        return -infection, infection - recovery, recovery

    steps = int(days / dt)
    curve = np.zeros((steps + 1, 3))
    curve[0] = s, i, r
    peak, peak_day = i, 0.0
    for k in range(1, steps + 1):
        ds1, di1, dr1 = derivative(s, i)
        ds2, di2, dr2 = derivative(s + dt * ds1, i + dt * di1)
        s += dt * (ds1 + ds2) / 2
        i += dt * (di1 + di2) / 2
        r += dt * (dr1 + dr2) / 2
        curve[k, :] = (s, i, r)
        if i > peak:
            peak = i
            peak_day = k * dt
    return curve, peak, peak_day


@case(lambda: (200, 5, 0.002, 0.15, 7, 60), lambda: (10, 0, 0.1, 0.1, 1, 5), lambda: (30, 3, 0.01, 0.0, 42, 20))
def sir_stochastic(susceptible, infected, beta, gamma, seed, max_days):
    """Everyone tosses a coin each day; random numbers from a generator in the function."""
    state = seed
    recovered = 0
    history = [(susceptible, infected, recovered)]
    day = 0
    while infected > 0 and day < max_days:
        chance = 1.0 - (1.0 - beta) ** infected
        fresh = 0
        for _ in range(susceptible):
            state = (1664525 * state + 1013904223) % 4294967296
            if state / 4294967296.0 < chance:
                fresh += 1
        cured = 0
        for _ in range(infected):
            state = (1664525 * state + 1013904223) % 4294967296
            if state / 4294967296.0 < gamma:
                cured += 1
        susceptible -= fresh
        infected += fresh - cured
        recovered += cured
        day += 1
        history.append((susceptible, infected, recovered))
    peak = max(row[1] for row in history)
    return day, peak, recovered, history


@case(lambda: (glider(10, 10), 12), lambda: (glider(5, 6), 3), lambda: (np.ones((1, 1), dtype=np.uint8), 2))
def life_loops(world, generations):
    """Conway's Game of Life on a torus with explicit neighbours; returns the final world and populations."""
    height, width = world.shape
    current = world.copy()
    following = np.zeros_like(world)
    population = np.zeros(generations + 1, dtype=np.int64)
    population[0] = current.sum()
    for generation in range(generations):
        for y in range(height):
            up = y - 1 if y > 0 else height - 1
            down = y + 1 if y < height - 1 else 0
            for x in range(width):
                left = (x - 1) % width
                right = (x + 1) % width
                alive = 0
                for row in (up, y, down):
                    for column in (left, x, right):
                        if not (row == y and column == x):
                            alive += current[row, column]
                if alive == 3 or (alive == 2 and current[y, x] == 1):
                    following[y, x] = 1
                else:
                    following[y, x] = 0
        current, following = following, current
        population[generation + 1] = np.sum(current)
        if population[generation + 1] == 0:
            break
    return current, population


@case(lambda: (glider(9, 9).astype(bool), 8), lambda: (uniform(12, 7) < 0.4, 5), lambda: (np.zeros((3, 3), bool), 0))
def life_slices(world, generations):
    """Game of Life with dead borders, by sums of shifted views, in place; True when nothing moves any more."""
    height, width = world.shape
    counts = np.zeros((height, width), dtype=np.int8)
    for _ in range(generations):
        cells = world.astype(np.int8)
        counts.fill(0)
        counts[1:, :] += cells[:-1, :]
        counts[:-1, :] += cells[1:, :]
        counts[:, 1:] += cells[:, :-1]
        counts[:, :-1] += cells[:, 1:]
        counts[1:, 1:] += cells[:-1, :-1]
        counts[1:, :-1] += cells[:-1, 1:]
        counts[:-1, 1:] += cells[1:, :-1]
        counts[:-1, :-1] += cells[1:, 1:]
        birth = (counts == 3) & ~world
        survive = ((counts == 2) | (counts == 3)) & world
        after = birth | survive
        still = bool(np.all(after == world))
        world[...] = after
        if still:
            return True
    return False


@case(
    lambda: (8, 2.0, 10, 12345),
    lambda: (4, 5.0, 20, 1),
    lambda: (3, 1.0, 0, 9),
    lambda: (3, 0.0, 1, 9),
    raises=ValueError,
)
def ising_metropolis(size, temperature, sweeps, seed):
    """Two-dimensional Ising model with a generator of its own; spins, energies per sweep, magnetisation."""
    if temperature <= 0.0:
        raise ValueError("temperature must be positive")
    spins = np.ones((size, size), dtype=np.int8)
    state = seed
    for i in range(size):
        for j in range(size):
            state = lcg(state)
            if (state >> 16) & 1:
                spins[i, j] = -1
    boltzmann = [math.exp(-delta / temperature) for delta in (0, 4, 8)]
    energies = np.zeros(sweeps)
    accepted = 0
    for sweep in range(sweeps):
        for _ in range(size * size):
            state = lcg(state)
            i = (state >> 8) % size
            state = lcg(state)
            j = (state >> 8) % size
            around = (
                int(spins[(i + 1) % size, j])
                + int(spins[i - 1, j])
                + int(spins[i, (j + 1) % size])
                + int(spins[i, j - 1])
            )
            delta = 2 * int(spins[i, j]) * around
            if delta > 0:
                state = lcg(state)
                if state / 0x7FFFFFFF >= boltzmann[delta // 4]:
                    continue
            spins[i, j] = -spins[i, j]
            accepted += 1
        energy = 0
        for i in range(size):
            for j in range(size):
                energy -= int(spins[i, j]) * (int(spins[i, (j + 1) % size]) + int(spins[(i + 1) % size, j]))
        energies[sweep] = energy / (size * size)
    return spins, energies, abs(spins.mean()), accepted


@case(
    lambda: (uniform(9, 11) * 100.0, 0.2, 15),
    lambda: (np.full((4, 4), 20.0, dtype=np.float32), 0.1, 3, (0.0, 100.0, 0.0, 50.0)),
    lambda: (uniform(4, 4), 0.1, 0),
    lambda: (uniform(4, 4), 0.3, 5),
    raises=ValueError,
)
def heat_explicit(temperature, diffusion, steps, borders=None):
    """Five-point explicit scheme; borders are fixed, or insulated when None. Stops early when steady."""
    if diffusion > 0.25:
        raise ValueError(f"unstable: {diffusion} is above 0.25")
    u = temperature.copy()
    if borders is not None:
        top, bottom, left, right = borders
        u[0, :] = top
        u[-1, :] = bottom
        u[:, 0] = left
        u[:, -1] = right
    change = np.inf
    done = 0
    for step in range(steps):
        old = u.copy()
        laplacian = old[:-2, 1:-1] + old[2:, 1:-1] + old[1:-1, :-2] + old[1:-1, 2:] - 4 * old[1:-1, 1:-1]
        u[1:-1, 1:-1] += diffusion * laplacian
        if borders is None:
            u[0], u[-1] = u[1], u[-2]
            u[:, 0] = u[:, 1]
            u[:, -1] = u[:, -2]
        change = np.abs(u - old).max()
        done = step + 1
        if change < 1e-6:
            break
    return u, done, float(change)


@case(lambda: (np.sin(np.linspace(0, np.pi, 21)), 0.01, 0.5, 20), lambda: (np.ones(3), 0.1, 1.0, 1))
def crank_nicolson(initial, dt, alpha, steps):
    """One-dimensional diffusion with fixed ends, a tridiagonal system solved at every step."""
    n = initial.size
    dx = 1.0 / (n - 1)
    r = alpha * dt / (2.0 * dx * dx)
    u = initial.astype(np.float64)
    inner = n - 2
    lower = np.full(inner, -r)
    diagonal = np.full(inner, 1.0 + 2.0 * r)
    upper = np.full(inner, -r)
    # The matrix does not change, so its elimination is done once.
    factor = np.zeros(inner)
    pivots = np.zeros(inner)
    pivots[0] = diagonal[0]
    for i in range(1, inner):
        factor[i] = lower[i] / pivots[i - 1]
        pivots[i] = diagonal[i] - factor[i] * upper[i - 1]
    rhs = np.empty(inner)
    snapshots = np.empty((steps + 1, n))
    snapshots[0] = u
    for step in range(1, steps + 1):
        for i in range(inner):
            rhs[i] = r * u[i] + (1.0 - 2.0 * r) * u[i + 1] + r * u[i + 2]
        rhs[0] += r * u[0]
        rhs[-1] += r * u[-1]
        for i in range(1, inner):
            rhs[i] -= factor[i] * rhs[i - 1]
        u[inner] = rhs[inner - 1] / pivots[inner - 1]
        for i in range(inner - 2, -1, -1):
            u[i + 1] = (rhs[i] - upper[i] * u[i + 2]) / pivots[i]
        snapshots[step] = u
    return snapshots


@case(
    lambda: (41, 30, 0.9, "fixed"),
    lambda: (20, 10, 0.5, "periodic"),
    lambda: (10, 0, 0.5, "absorbing"),
    lambda: (15, 12, 1.0, "absorbing"),
    lambda: (20, 10, 1.5, "fixed"),
    raises=ValueError,
)
def wave_1d(points, steps, courant, boundary):
    """A plucked string by the leapfrog scheme, with three kinds of ends."""
    if courant > 1.0:
        raise ValueError("Courant number above one")
    x = np.linspace(0.0, 1.0, points)
    now = np.exp(-200.0 * (x - 0.3) ** 2)
    before = now.copy()
    c2 = courant**2
    # A first step of half weight starts the string at rest.
    before[1:-1] = now[1:-1] + 0.5 * c2 * (now[2:] - 2.0 * now[1:-1] + now[:-2])
    energy = []
    for _ in range(steps):
        after = np.empty_like(now)
        after[1:-1] = 2.0 * now[1:-1] - before[1:-1] + c2 * (now[2:] - 2.0 * now[1:-1] + now[:-2])
        if boundary == "fixed":
            after[0] = after[-1] = 0.0
        elif boundary == "periodic":
            after[0] = 2.0 * now[0] - before[0] + c2 * (now[1] - 2.0 * now[0] + now[-2])
            after[-1] = after[0]
        else:
            ratio = (courant - 1.0) / (courant + 1.0)
            after[0] = now[1] + ratio * (after[1] - now[0])
            after[-1] = now[-2] + ratio * (after[-2] - now[-1])
        kinetic = np.sum((after - now) ** 2)
        strain = np.sum((now[1:] - now[:-1]) ** 2)
        energy.append(float(kinetic + c2 * strain))
        before, now = now, after
    return now, np.array(energy)


@case(lambda: (8, 12, 6, 0.6), lambda: (5, 5, 0, 1.0), lambda: (6, 6, 4, 0.5), raises=ValueError)
def lattice_boltzmann(ny, nx, steps, tau, inflow=0.05):
    """D2Q9 flow round a square obstacle on a periodic channel; returns density, velocity and total mass."""
    if tau <= 0.5:
        raise ValueError("tau must be larger than one half")
    cx = np.array([0, 1, 0, -1, 0, 1, -1, -1, 1])
    cy = np.array([0, 0, 1, 0, -1, 1, 1, -1, -1])
    weight = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)
    opposite = [0, 3, 4, 1, 2, 7, 8, 5, 6]
    solid = np.zeros((ny, nx), dtype=bool)
    solid[ny // 2 - 1 : ny // 2 + 1, nx // 4 : nx // 4 + 2] = True
    f = np.empty((9, ny, nx))
    for k in range(9):
        f[k] = weight[k] * (1.0 + 3.0 * cx[k] * inflow)
    rho = np.zeros((ny, nx))
    ux = np.zeros((ny, nx))
    uy = np.zeros((ny, nx))
    for _ in range(steps):
        rho = f.sum(axis=0)
        ux[:] = 0.0
        uy[:] = 0.0
        for k in range(1, 9):
            ux += cx[k] * f[k]
            uy += cy[k] * f[k]
        ux /= rho
        uy /= rho
        ux[solid] = 0.0
        uy[solid] = 0.0
        square = 1.5 * (ux**2 + uy**2)
        after = np.empty_like(f)
        for k in range(9):
            along = 3.0 * (cx[k] * ux + cy[k] * uy)
            equilibrium = weight[k] * rho * (1.0 + along + 0.5 * along**2 - square)
            after[k] = f[k] - (f[k] - equilibrium) / tau
        for k in range(9):
            after[k][solid] = f[opposite[k]][solid]
        for k in range(9):
            for y in range(ny):
                target_y = (y + cy[k]) % ny
                for x in range(nx):
                    f[k, target_y, (x + cx[k]) % nx] = after[k, y, x]
    speed = np.sqrt(ux**2 + uy**2)
    return rho, speed, f.sum()


@case(lambda: (12, 20), lambda: (8, 5, 0.03, 0.062), lambda: (6, 0))
def gray_scott(size, steps, feed=0.055, kill=0.062):
    """Reaction and diffusion of two chemicals on a torus, in single precision."""
    u = np.ones((size, size), dtype=np.float32)
    v = np.zeros((size, size), dtype=np.float32)
    middle = size // 2
    u[middle - 2 : middle + 2, middle - 2 : middle + 2] = 0.5
    v[middle - 2 : middle + 2, middle - 2 : middle + 2] = 0.25
    new_u = np.empty_like(u)
    new_v = np.empty_like(v)
    for _ in range(steps):
        for y in range(size):
            yp, ym = (y + 1) % size, (y - 1) % size
            for x in range(size):
                xp, xm = (x + 1) % size, (x - 1) % size
                a, b = u[y, x], v[y, x]
                lap_u = u[yp, x] + u[ym, x] + u[y, xp] + u[y, xm] - 4 * a
                lap_v = v[yp, x] + v[ym, x] + v[y, xp] + v[y, xm] - 4 * b
                reaction = a * b * b
                new_u[y, x] = a + 0.16 * lap_u - reaction + feed * (1 - a)
                new_v[y, x] = b + 0.08 * lap_v + reaction - (feed + kill) * b
        u, new_u = new_u, u
        v, new_v = new_v, v
    return u, v


@case(lambda: ((1.0, 1.0, 1.0), 0.01, 100), lambda: ((0.0, 0.0, 0.0), 0.01, 5), lambda: ((1.0, 2.0, 3.0), 0.01, 0))
def lorenz(start, dt, steps, sigma=10.0, rho=28.0, beta=8.0 / 3.0):
    """The butterfly by RK4 on tuples; the path, and how often it changes sides."""

    def flow(p):
        x, y, z = p
        return sigma * (y - x), x * (rho - z) - y, x * y - beta * z

    def shift(p, k, h):
        return tuple(a + h * b for a, b in zip(p, k))

    path = np.empty((steps + 1, 3))
    path[0] = start
    point = start
    crossings = 0
    for n in range(1, steps + 1):
        k1 = flow(point)
        k2 = flow(shift(point, k1, dt / 2))
        k3 = flow(shift(point, k2, dt / 2))
        k4 = flow(shift(point, k3, dt))
        old_x = point[0]
        point = (
            point[0] + dt / 6 * (k1[0] + 2 * k2[0] + 2 * k3[0] + k4[0]),
            point[1] + dt / 6 * (k1[1] + 2 * k2[1] + 2 * k3[1] + k4[1]),
            point[2] + dt / 6 * (k1[2] + 2 * k2[2] + 2 * k3[2] + k4[2]),
        )
        path[n] = point
        if old_x * point[0] < 0:
            crossings += 1
    return path, crossings


@case(lambda: (300, 88172645463325252), lambda: (1, 1), lambda: (0, 5), lambda: (10, 0), raises=ValueError)
def random_walk_xorshift(steps, seed):
    """Lattice walk with a 64-bit xorshift generator in NumPy scalars; end, farthest, returns to the origin."""
    if seed == 0:
        raise ValueError("xorshift needs a seed that is not zero")
    state = np.uint64(seed)
    x = y = 0
    farthest = 0
    returns = 0
    visits = np.zeros((21, 21), dtype=np.uint16)
    visits[10, 10] = 1
    for _ in range(steps):
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
        direction = int(state >> np.uint64(62))
        if direction == 0:
            x += 1
        elif direction == 1:
            x -= 1
        elif direction == 2:
            y += 1
        else:
            y -= 1
        farthest = max(farthest, abs(x) + abs(y))
        if x == 0 and y == 0:
            returns += 1
        if -10 <= x <= 10 and -10 <= y <= 10:
            visits[y + 10, x + 10] += 1
    return (x, y), farthest, returns, visits, state


@case(lambda: (uniform(12, 12), 0.62), lambda: (uniform(6, 9, seed=4), 0.3), lambda: (uniform(1, 1), 1.0))
def percolates(sites, probability):
    """Does an open path lead from the top row to the bottom one? Breadth first; also how many sites got wet."""
    height, width = sites.shape
    is_open = sites < probability
    wet = np.zeros((height, width), dtype=bool)
    queue = [(0, x) for x in range(width) if is_open[0, x]]
    for y, x in queue:
        wet[y, x] = True
    head = 0
    reached = False
    while head < len(queue):
        y, x = queue[head]
        head += 1
        if y == height - 1:
            reached = True
        for dy, dx in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            v, u = y + dy, x + dx
            if not (0 <= v < height and 0 <= u < width):
                continue
            if is_open[v, u] and not wet[v, u]:
                wet[v, u] = True
                queue.append((v, u))
    return reached, int(wet.sum()), wet


@case(lambda: (9, 200), lambda: (3, 40), lambda: (1, 3), lambda: (0, 3), raises=ValueError)
def sandpile(size, grains):
    """Grains dropped in the middle topple onto their neighbours; the pile and the sizes of the avalanches."""
    if size < 1:
        raise ValueError("size must be at least 1")
    pile = np.zeros((size, size), dtype=np.int32)
    avalanches = np.zeros(grains, dtype=np.int64)
    lost = 0
    middle = size // 2
    for g in range(grains):
        pile[middle, middle] += 1
        toppled = 0
        while True:
            unstable = pile >= 4
            if not unstable.any():
                break
            toppled += int(unstable.sum())
            fall = unstable.astype(np.int32)
            pile -= 4 * fall
            pile[1:, :] += fall[:-1, :]
            pile[:-1, :] += fall[1:, :]
            pile[:, 1:] += fall[:, :-1]
            pile[:, :-1] += fall[:, 1:]
            lost += int(fall[0].sum() + fall[-1].sum() + fall[:, 0].sum() + fall[:, -1].sum())
        avalanches[g] = toppled
    assert pile.sum() + lost == grains
    return pile, avalanches, lost


@case(lambda: (30, 31, 15), lambda: (90, 16, 8), lambda: (110, 1, 3), lambda: (256, 8, 3), raises=ValueError)
def elementary_automaton(rule, width, steps):
    """Wolfram's rules by bit tricks; the whole history and the density of each line."""
    if not 0 <= rule <= 255:
        raise ValueError(f"rule {rule} is not in 0..255")
    history = np.zeros((steps, width), dtype=np.uint8)
    history[0, width // 2] = 1
    for t in range(1, steps):
        previous = history[t - 1]
        for x in range(width):
            left = previous[x - 1]
            centre = previous[x]
            right = previous[(x + 1) % width]
            pattern = int(left) << 2 | int(centre) << 1 | int(right)
            history[t, x] = rule >> pattern & 1
    density = history.mean(axis=1)
    packed = []
    for row in history:
        word = 0
        for bit in row:
            word = (word << 1) | int(bit)
        packed.append(word)
    return history, density, packed


@case(lambda: (15, 300), lambda: (7, 500), lambda: (5, 0))
def langtons_ant(size, steps):
    """The ant turns right on white, left on black, and flips the colour; stops at the wall."""
    grid = np.zeros((size, size), dtype=bool)
    x = y = size // 2
    heading = 0
    taken = 0
    for taken in range(1, steps + 1):
        if grid[y, x]:
            heading = (heading - 1) % 4
        else:
            heading = (heading + 1) % 4
        grid[y, x] ^= True
        match heading:
            case 0:
                y -= 1
            case 1:
                x += 1
            case 2:
                y += 1
            case _:
                x -= 1
        if x < 0 or y < 0 or x >= size or y >= size:
            break
    return grid, (x, y), heading == 0, taken


@case(lambda: (2.0, 2.5, 100), lambda: (0.0, 0.0, 10), lambda: (0.1, -0.1, 20, 2.0, 0.5))
def double_pendulum(theta1, theta2, steps, m1=1.0, m2=1.0, dt=0.01):
    """Two rods of length one by semi-implicit Euler; positions of the lower bob and the drift of energy."""
    g = 9.81
    w1 = w2 = 0.0

    def energy(a, b, wa, wb):
        kinetic = 0.5 * m1 * wa**2 + 0.5 * m2 * (wa**2 + wb**2 + 2 * wa * wb * math.cos(a - b))
        return kinetic - (m1 + m2) * g * math.cos(a) - m2 * g * math.cos(b)

    start = energy(theta1, theta2, w1, w2)
    track = np.empty((steps, 2))
    for k in range(steps):
        delta = theta1 - theta2
        below = 2 * m1 + m2 - m2 * math.cos(2 * delta)
        a1 = (
            -g * (2 * m1 + m2) * math.sin(theta1)
            - m2 * g * math.sin(theta1 - 2 * theta2)
            - 2 * math.sin(delta) * m2 * (w2 * w2 + w1 * w1 * math.cos(delta))
        ) / below
        a2 = (
            2
            * math.sin(delta)
            * (w1 * w1 * (m1 + m2) + g * (m1 + m2) * math.cos(theta1) + w2 * w2 * m2 * math.cos(delta))
            / below
        )
        w1 += a1 * dt
        w2 += a2 * dt
        theta1 += w1 * dt
        theta2 += w2 * dt
        track[k, 0] = math.sin(theta1) + math.sin(theta2)
        track[k, 1] = -math.cos(theta1) - math.cos(theta2)
    return track, abs(energy(theta1, theta2, w1, w2) - start) < 1.0


@case(lambda: (uniform(10, 2) * 10, uniform(10, 2, seed=1) - 0.5, 5), lambda: (np.zeros((1, 2)), np.ones((1, 2)), 3))
def boids(position, velocity, steps, radius=4.0, top_speed=2.0):
    """Flocking with three urges, whole rows at a time, on a torus of side 10; changes its arguments."""
    n = len(position)
    for _ in range(steps):
        steer = np.zeros_like(velocity)
        for i in range(n):
            offset = position - position[i]
            distance = np.sqrt((offset**2).sum(axis=1))
            near = (distance < radius) & (distance > 0)
            count = near.sum()
            if count == 0:
                continue
            cohesion = offset[near].mean(axis=0)
            alignment = velocity[near].mean(axis=0) - velocity[i]
            separation = np.zeros(2)
            for j in range(n):
                if near[j] and distance[j] < radius / 3:
                    separation -= offset[j] / distance[j] ** 2
            steer[i] = 0.01 * cohesion + 0.1 * alignment + 0.05 * separation
        velocity += steer
        speed = np.sqrt(np.sum(velocity * velocity, axis=1))
        fast = speed > top_speed
        velocity[fast] *= (top_speed / speed[fast])[:, None]
        position += velocity
        position %= 10.0


@case(lambda: (9, 6.0, 10, 0.005, 3), lambda: (4, 5.0, 0, 0.005, 1), lambda: (4, 2.0, 5, 0.005, 1), raises=ValueError)
def lennard_jones(n, box, steps, dt, seed, cutoff=2.5):
    """Molecular dynamics in two dimensions with velocity Verlet and the nearest image; energies per step."""
    if box < 2 * cutoff:
        if n > 1:
            raise ValueError("box is too small for the cutoff")
    side = math.ceil(math.sqrt(n))
    position = np.empty((n, 2))
    velocity = np.empty((n, 2))
    state = seed
    for k in range(n):
        row, column = divmod(k, side)
        position[k] = (column + 0.5) * box / side, (row + 0.5) * box / side
        for axis in range(2):
            state = lcg(state)
            velocity[k, axis] = state / 2147483648 - 0.5
    velocity -= velocity.mean(axis=0)

    def forces(position):
        force = np.zeros((n, 2))
        potential = 0.0
        for i in range(n - 1):
            for j in range(i + 1, n):
                d = position[i] - position[j]
                for axis in range(2):
                    d[axis] -= box * round(d[axis] / box)
                r2 = d[0] ** 2 + d[1] ** 2
                if r2 > cutoff**2:
                    continue
                inverse6 = 1.0 / r2**3
                potential += 4.0 * inverse6 * (inverse6 - 1.0)
                strength = 48.0 * inverse6 * (inverse6 - 0.5) / r2
                force[i] += strength * d
                force[j] -= strength * d
        return force, potential

    force, potential = forces(position)
    energies = np.zeros((steps + 1, 2))
    energies[0] = 0.5 * (velocity**2).sum(), potential
    for step in range(1, steps + 1):
        velocity += 0.5 * dt * force
        position += dt * velocity
        position -= box * np.floor(position / box)
        force, potential = forces(position)
        velocity += 0.5 * dt * force
        energies[step] = 0.5 * (velocity**2).sum(), potential
    return position, velocity, energies


@case(lambda: (8, 0.2, 0.5, 11, 6), lambda: (4, 0.9, 0.1, 2, 3), lambda: (3, 0.0, 1.0, 5, 2))
def schelling(size, empty_share, tolerance, seed, rounds):
    """Segregation: unhappy households move to the next empty place; the town and the share of happy ones."""
    state = seed
    town = np.zeros((size, size), dtype=np.int8)
    for y in range(size):
        for x in range(size):
            state = lcg(state)
            if (state >> 8) / (1 << 23) < empty_share:
                continue
            state = lcg(state)
            town[y, x] = 1 if (state >> 10) % 2 == 0 else 2

    def content(y, x):
        kind = town[y, x]
        same = other = 0
        for v in range(max(0, y - 1), min(size, y + 2)):
            for u in range(max(0, x - 1), min(size, x + 2)):
                if (v, u) == (y, x) or town[v, u] == 0:
                    continue
                if town[v, u] == kind:
                    same += 1
                else:
                    other += 1
        return same + other == 0 or same / (same + other) >= tolerance

    moves = 0
    for _ in range(rounds):
        unhappy = [(y, x) for y in range(size) for x in range(size) if town[y, x] and not content(y, x)]
        if not unhappy:
            break
        for y, x in unhappy:
            vacant = [(v, u) for v in range(size) for u in range(size) if town[v, u] == 0]
            if len(vacant) == 0:
                break
            state = lcg(state)
            v, u = vacant[(state >> 8) % len(vacant)]
            town[v, u] = town[y, x]
            town[y, x] = 0
            moves += 1
    people = int((town > 0).sum())
    happy = sum(1 for y in range(size) for x in range(size) if town[y, x] > 0 and content(y, x))
    return town, moves, happy / people if people else 1.0


@case(lambda: (uniform(12) * 6.0, uniform(12, seed=3), 2.0, 0.05, 40), lambda: (np.zeros(1), np.ones(1), 1.0, 0.1, 2))
def kuramoto(phase, frequency, coupling, dt, steps):
    """Coupled oscillators through their complex order parameter; its modulus over time."""
    n = phase.size
    theta = phase.copy()
    coherence = np.empty(steps)
    for step in range(steps):
        order = np.exp(1j * theta).sum() / n
        r = abs(order)
        psi = math.atan2(order.imag, order.real)
        coherence[step] = r
        theta = theta + dt * (frequency + coupling * r * np.sin(psi - theta))
        theta = np.where(theta > np.pi, theta - 2 * np.pi, theta)
    mean_field = np.mean(np.exp(1j * theta))
    return coherence, mean_field, theta


@case(lambda: (40, 12, 5, 0.3, 30, 17), lambda: (10, 0, 5, 0.3, 3, 1), lambda: (5, 6, 2, 0.1, 3, 1), raises=ValueError)
def traffic(length, cars, v_max, p_slow, steps, seed):
    """Nagel-Schreckenberg ring road; space-time picture (-1 where empty) and mean flow."""
    if cars > length:
        raise ValueError("more cars than places")
    road = np.full(length, -1, dtype=np.int8)
    for k in range(cars):
        road[k * length // cars] = 0
    picture = np.empty((steps, length), dtype=np.int8)
    state = seed
    flow = 0
    for t in range(steps):
        picture[t] = road
        after = np.full(length, -1, dtype=np.int8)
        for place in range(length):
            speed = int(road[place])
            if speed < 0:
                continue
            gap = 0
            while gap < v_max and road[(place + gap + 1) % length] < 0:
                gap += 1
            speed = min(speed + 1, v_max, gap)
            state = (state * 16807) % 2147483647
            if speed > 0 and state / 2147483647 < p_slow:
                speed -= 1
            target = place + speed
            if target >= length:
                flow += 1
                target -= length
            after[target] = speed
        road = after
    return picture, flow / steps


@case(lambda: (48, 20, 1.5), lambda: (32, 5, 0.5, 0.0), lambda: (16, 0, 1.0))
def schroedinger(points, steps, momentum, barrier=1.0):
    """A wave packet against a barrier by Cayley's unitary scheme; density, norm and transmitted part."""
    dx = 0.25
    dt = 0.05
    x = (np.arange(points) - points / 2) * dx
    psi = np.exp(-0.5 * (x + 2.0) ** 2) * np.exp(1j * momentum * x)
    psi[0] = psi[-1] = 0
    psi /= np.sqrt((np.abs(psi) ** 2).sum() * dx)
    potential = np.where((x > 0) & (x < 0.5), barrier, 0.0)
    alpha = 0.25j * dt / dx**2
    beta = 1.0 + 2.0 * alpha + 0.5j * dt * potential
    carry = np.zeros(points, dtype=np.complex128)
    for _ in range(steps):
        rhs = np.zeros_like(psi)
        rhs[1:-1] = alpha * (psi[2:] + psi[:-2]) + (2.0 - beta[1:-1]) * psi[1:-1]
        carry[1] = -alpha / beta[1]
        rhs[1] = rhs[1] / beta[1]
        for j in range(2, points - 1):
            pivot = beta[j] + alpha * carry[j - 1]
            carry[j] = -alpha / pivot
            rhs[j] = (rhs[j] + alpha * rhs[j - 1]) / pivot
        psi[-1] = 0.0
        for j in range(points - 2, 0, -1):
            psi[j] = rhs[j] - carry[j] * psi[j + 1]
    density = psi.real**2 + psi.imag**2
    return density, density.sum() * dx, density[x > 0.5].sum() * dx


@case(
    lambda: (40, 25, "godunov"),
    lambda: (30, 10, "lax"),
    lambda: (10, 0, "lax"),
    lambda: (10, 1, "x"),
    raises=ValueError,
)
def burgers(cells, steps, scheme):
    """Inviscid Burgers' equation on a ring with two fluxes; time advances by the CFL condition."""
    dx = 2.0 * math.pi / cells
    x = (np.arange(cells) + 0.5) * dx
    u = 0.5 + np.sin(x)
    time = 0.0
    flux = np.zeros(cells)
    for _ in range(steps):
        fastest = np.max(np.abs(u))
        dt = 0.8 * dx / fastest
        for i in range(cells):
            left, right = u[i - 1], u[i]
            if scheme == "godunov":
                if left <= right:
                    if left > 0:
                        state = left
                    elif right < 0:
                        state = right
                    else:
                        state = 0.0
                else:
                    state = left if left + right > 0 else right
                flux[i] = 0.5 * state**2
            elif scheme == "lax":
                flux[i] = 0.25 * (left**2 + right**2) - 0.5 * dx / dt * (right - left)
            else:
                raise ValueError("unknown scheme")
        for i in range(cells):
            u[i] -= dt / dx * (flux[(i + 1) % cells] - flux[i])
        time += dt
    total_variation = sum(abs(u[i] - u[i - 1]) for i in range(cells))
    return u, time, total_variation


@case(lambda: (8, 8, 6), lambda: (5, 6, 2, 10.0), lambda: (4, 4, 0), lambda: (2, 4, 1), raises=ValueError)
def lid_driven_cavity(ny, nx, steps, reynolds=50.0, pressure_sweeps=8):
    """Incompressible flow in a box by Chorin's projection; velocities, pressure and the largest divergence."""
    if ny < 3 or nx < 3:
        raise ValueError("grid is too small")
    dx = 1.0 / (nx - 1)
    dy = 1.0 / (ny - 1)
    dt = 0.1 * min(dx, dy)
    viscosity = 1.0 / reynolds
    u = np.zeros((ny, nx))
    v = np.zeros((ny, nx))
    p = np.zeros((ny, nx))
    source = np.zeros((ny, nx))
    for _ in range(steps):
        inner = (slice(1, -1), slice(1, -1))
        un = u.copy()
        vn = v.copy()
        divergence = (un[1:-1, 2:] - un[1:-1, :-2]) / (2 * dx) + (vn[2:, 1:-1] - vn[:-2, 1:-1]) / (2 * dy)
        shear = (un[2:, 1:-1] - un[:-2, 1:-1]) / (2 * dy) * (vn[1:-1, 2:] - vn[1:-1, :-2]) / (2 * dx)
        source[inner] = (
            divergence / dt
            - ((un[1:-1, 2:] - un[1:-1, :-2]) / (2 * dx)) ** 2
            - 2.0 * shear
            - ((vn[2:, 1:-1] - vn[:-2, 1:-1]) / (2 * dy)) ** 2
        )
        for _sweep in range(pressure_sweeps):
            pn = p.copy()
            p[inner] = (
                (pn[1:-1, 2:] + pn[1:-1, :-2]) * dy**2
                + (pn[2:, 1:-1] + pn[:-2, 1:-1]) * dx**2
                - source[inner] * dx**2 * dy**2
            ) / (2.0 * (dx**2 + dy**2))
            p[:, -1] = p[:, -2]
            p[:, 0] = p[:, 1]
            p[0, :] = p[1, :]
            p[-1, :] = 0.0
        for j in range(1, ny - 1):
            for i in range(1, nx - 1):
                advect_u = un[j, i] * (un[j, i] - un[j, i - 1]) / dx + vn[j, i] * (un[j, i] - un[j - 1, i]) / dy
                advect_v = un[j, i] * (vn[j, i] - vn[j, i - 1]) / dx + vn[j, i] * (vn[j, i] - vn[j - 1, i]) / dy
                spread_u = (un[j, i + 1] - 2 * un[j, i] + un[j, i - 1]) / dx**2
                spread_u += (un[j + 1, i] - 2 * un[j, i] + un[j - 1, i]) / dy**2
                spread_v = (vn[j, i + 1] - 2 * vn[j, i] + vn[j, i - 1]) / dx**2
                spread_v += (vn[j + 1, i] - 2 * vn[j, i] + vn[j - 1, i]) / dy**2
                slope_x = (p[j, i + 1] - p[j, i - 1]) / (2 * dx)
                slope_y = (p[j + 1, i] - p[j - 1, i]) / (2 * dy)
                u[j, i] = un[j, i] + dt * (viscosity * spread_u - advect_u - slope_x)
                v[j, i] = vn[j, i] + dt * (viscosity * spread_v - advect_v - slope_y)
        u[0, :] = u[:, 0] = u[:, -1] = 0.0
        u[-1, :] = 1.0
        v[0, :] = v[-1, :] = 0.0
        v[:, 0] = v[:, -1] = 0.0
    largest = np.abs((u[1:-1, 2:] - u[1:-1, :-2]) / (2 * dx) + (v[2:, 1:-1] - v[:-2, 1:-1]) / (2 * dy)).max()
    return u, v, p, largest


@case(lambda: (30, 16, 10, 0.1), lambda: (4, 8, 3, 0.2), lambda: (2, 4, 0, 0.1))
def particle_in_cell(particles, cells, steps, dt, length=2.0 * math.pi):
    """Two electron beams in one dimension: deposit charge, solve for the field, push; the field's energy."""
    dx = length / cells
    x = (np.arange(particles) + 0.5) * length / particles
    x += 0.05 * np.sin(x)
    v = np.where(np.arange(particles) % 2 == 0, 1.0, -1.0)
    weight = length / particles
    field = np.zeros(cells)
    energy = np.zeros(steps)
    for step in range(steps):
        density = np.zeros(cells)
        for k in range(particles):
            x[k] %= length
            place = x[k] / dx
            cell = int(place)
            share = place - cell
            density[cell % cells] += weight / dx * (1.0 - share)
            density[(cell + 1) % cells] += weight / dx * share
        charge = 1.0 - density
        charge -= charge.mean()
        field[0] = 0.0
        for i in range(1, cells):
            field[i] = field[i - 1] + 0.5 * dx * (charge[i - 1] + charge[i])
        field -= field.mean()
        energy[step] = 0.5 * dx * (field**2).sum()
        for k in range(particles):
            place = x[k] / dx
            cell = int(place)
            share = place - cell
            local = (1.0 - share) * field[cell % cells] + share * field[(cell + 1) % cells]
            v[k] -= dt * local
            x[k] += dt * v[k]
    momentum = float(v.sum() * weight)
    return x, v, energy, abs(momentum) < 1.0
