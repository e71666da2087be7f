"""Dynamic programming: tables over sequences, intervals, subsets, images and Markov models."""

import math

from _case import case

import numpy as np


def ints(seed, n, low=0, high=4):
    return np.random.default_rng(seed).integers(low, high, n)


@case(
    lambda: (ints(1, 18), ints(2, 15)),
    lambda: (ints(3, 6).astype(np.uint8), ints(4, 9).astype(np.uint8), 2, 3, 1),
    lambda: (ints(5, 0), ints(6, 5)),
    lambda: (ints(7, 3), ints(8, 4), -1),
    raises=ValueError,
)
def levenshtein(a, b, insert_cost=1, delete_cost=1, replace_cost=1):
    """Edit distance between two coded strings, with two rolling rows."""
    if insert_cost < 0 or delete_cost < 0 or replace_cost < 0:
        raise ValueError("costs must not be negative")
    m, n = len(a), len(b)
    if m == 0:
        return n * insert_cost
    if n == 0:
        return m * delete_cost
    previous = [j * insert_cost for j in range(n + 1)]
    current = [0] * (n + 1)
    for i in range(1, m + 1):
        current[0] = i * delete_cost
        for j in range(1, n + 1):
            if a[i - 1] == b[j - 1]:
                current[j] = previous[j - 1]
                continue
            best = previous[j] + delete_cost
            by_insert = current[j - 1] + insert_cost
            by_replace = previous[j - 1] + replace_cost
            if by_insert < best:
                best = by_insert
            if by_replace < best:
                best = by_replace
            current[j] = best
        previous, current = current, previous
    return previous[n]


@case(
    lambda: (ints(11, 20), ints(12, 16)),
    lambda: (ints(13, 1), ints(13, 1)),
    lambda: (np.array([1, 1, 1]), np.array([2, 2])),
    lambda: (ints(14, 0), ints(15, 3)),
)
def longest_common_subsequence(x, y):
    """The subsequence itself and where its members stand in both sequences."""
    m = x.shape[0]
    n = y.shape[0]
    length = np.zeros((m + 1, n + 1), dtype=np.int32)
    for i in range(m):
        for j in range(n):
            if x[i] == y[j]:
                length[i + 1, j + 1] = length[i, j] + 1
            else:
                length[i + 1, j + 1] = max(length[i, j + 1], length[i + 1, j])
    size = int(length[m, n])
    common = np.empty(size, dtype=x.dtype)
    pairs = np.empty((size, 2), dtype=np.int64)
    i, j, k = m, n, size
    while i > 0 and j > 0:
        if x[i - 1] == y[j - 1]:
            k -= 1
            i -= 1
            j -= 1
            common[k] = x[i]
            pairs[k] = i, j
        elif length[i - 1, j] >= length[i, j - 1]:
            i -= 1
        else:
            j -= 1
    assert k == 0
    return common, pairs


@case(
    lambda: (np.array([3, 4, 5, 9, 14, 2]), np.array([3.0, 4.0, 4.5, 10.0, 15.5, 1.0]), 20),
    lambda: (np.array([5, 6]), np.array([1.0, 2.0]), 4),
    lambda: (np.array([], dtype=np.int64), np.array([]), 10),
    lambda: (np.array([1, 0]), np.array([1.0, 2.0]), 10),
    raises=ValueError,
)
def knapsack(weights, values, capacity):
    """0/1 knapsack, a whole row of the table at a time; also which items are taken."""
    n = weights.size
    if values.size != n:
        raise ValueError("weights and values differ in length")
    if np.any(weights <= 0):
        raise ValueError("weights must be positive")
    table = np.zeros((n + 1, capacity + 1))
    for i in range(n):
        w = weights[i]
        row = table[i]
        following = table[i + 1]
        following[:] = row
        if w <= capacity:
            np.maximum(row[w:], row[: capacity + 1 - w] + values[i], out=following[w:])
    taken = np.zeros(n, dtype=bool)
    room = capacity
    for i in reversed(range(n)):
        if table[i + 1, room] != table[i, room]:
            taken[i] = True
            room -= int(weights[i])
    return table[n, capacity], taken, room


@case(
    lambda: ((1, 5, 10, 25), 63),
    lambda: ((4, 6), 7),
    lambda: ((2, 3, 7), 0),
    lambda: ((2, 0, 7), 12),
    raises=ValueError,
)
def coin_change(coins, amount):
    """Number of ways to pay, fewest coins (-1 if impossible) and how many of each."""
    for coin in coins:
        if coin <= 0:
            raise ValueError("every coin must be worth something")
    ways = [0] * (amount + 1)
    ways[0] = 1
    for coin in coins:
        for total in range(coin, amount + 1):
            ways[total] += ways[total - coin]

    unreachable = amount + 1
    fewest = np.full(amount + 1, unreachable, dtype=np.int64)
    last = np.full(amount + 1, -1, dtype=np.int64)
    fewest[0] = 0
    for total in range(1, amount + 1):
        for which, coin in enumerate(coins):
            if coin <= total and fewest[total - coin] + 1 < fewest[total]:
                fewest[total] = fewest[total - coin] + 1
                last[total] = which

    used = np.zeros(len(coins), dtype=np.int64)
    if fewest[amount] == unreachable:
        return ways[amount], -1, used
    rest = amount
    while rest > 0:
        which = last[rest]
        used[which] += 1
        rest -= coins[which]
    return ways[amount], int(fewest[amount]), used


@case(
    lambda: (np.random.default_rng(21).normal(size=40),),
    lambda: (np.array([5, 4, 3, 2, 1], dtype=np.int32),),
    lambda: (np.array([1, 1, 2, 2, 3], dtype=np.int32), False),
    lambda: (np.empty(0, dtype=np.float32),),
)
def longest_increasing_subsequence(sequence, strict=True):
    """Patience sorting with a binary search; returns a copy of the chosen elements."""
    n = sequence.size
    tails = np.empty(n, dtype=np.intp)
    before = np.full(n, -1, dtype=np.intp)
    length = 0
    for i, value in enumerate(sequence):
        low, high = 0, length
        while low < high:
            middle = (low + high) >> 1
            tail = sequence[tails[middle]]
            if tail < value or (not strict and tail == value):
                low = middle + 1
            else:
                high = middle
        if low > 0:
            before[i] = tails[low - 1]
        tails[low] = i
        if low == length:
            length += 1
    chosen = np.empty(length, dtype=np.intp)
    if length > 0:
        node = tails[length - 1]
        for k in range(length - 1, -1, -1):
            chosen[k] = node
            node = before[node]
    return sequence[chosen]


@case(
    lambda: (np.array([30, 35, 15, 5, 10, 20, 25]),),
    lambda: ([10, 20, 30],),
    lambda: ([4, 7],),
    lambda: ([5],),
    raises=ValueError,
)
def matrix_chain(dimensions):
    """Cheapest order of a product of matrices: cost, and the splits in preorder."""
    n = len(dimensions) - 1
    if n < 1:
        raise ValueError("at least one matrix is needed")
    cost = np.zeros((n, n), dtype=np.int64)
    split = np.zeros((n, n), dtype=np.int64)
    for span in range(1, n):
        for i in range(n - span):
            j = i + span
            cheapest = -1
            for k in range(i, j):
                here = cost[i, k] + cost[k + 1, j] + dimensions[i] * dimensions[k + 1] * dimensions[j + 1]
                if cheapest < 0 or here < cheapest:
                    cheapest = here
                    split[i, j] = k
            cost[i, j] = cheapest

    order = []
    pending = [(0, n - 1)]
    while pending:
        i, j = pending.pop()
        if i == j:
            continue
        k = int(split[i, j])
        order.append(k)
        pending.append((k + 1, j))
        pending.append((i, k))
    return int(cost[0, n - 1]), order


@case(
    lambda: (ints(31, 14), ints(32, 17)),
    lambda: (ints(33, 5), ints(34, 5), (1.0, -2.0), (3.0, 0.25)),
    lambda: (ints(35, 0), ints(36, 3)),
)
def gotoh_alignment_score(first, second, scores=(2.0, -1.0), gap=(2.5, 0.5)):
    """Global alignment with affine gaps: three coupled tables, and the last row of the best one."""
    match, mismatch = scores
    gap_open, gap_extend = gap
    m, n = first.size, second.size
    aligned = np.full((m + 1, n + 1), -np.inf)
    gap_first = np.full_like(aligned, -np.inf)
    gap_second = np.full_like(aligned, -np.inf)
    aligned[0, 0] = 0.0
    for i in range(1, m + 1):
        gap_second[i, 0] = -gap_open - (i - 1) * gap_extend
    gap_first[0, 1:] = -gap_open - gap_extend * np.arange(n)

    for i in range(1, m + 1):
        for j in range(1, n + 1):
            s = match if first[i - 1] == second[j - 1] else mismatch
            aligned[i, j] = s + max(aligned[i - 1, j - 1], gap_first[i - 1, j - 1], gap_second[i - 1, j - 1])
            gap_first[i, j] = max(
                aligned[i, j - 1] - gap_open,
                gap_first[i, j - 1] - gap_extend,
                gap_second[i, j - 1] - gap_open,
            )
            gap_second[i, j] = max(
                aligned[i - 1, j] - gap_open,
                gap_second[i - 1, j] - gap_extend,
                gap_first[i - 1, j] - gap_open,
            )
    best = np.maximum(np.maximum(aligned, gap_first), gap_second)
    return float(best[m, n]), best[-1].copy()


@case(
    lambda: (ints(41, 16).astype(np.int8), ints(42, 19).astype(np.int8)),
    lambda: (np.zeros(3, dtype=np.int8), np.ones(4, dtype=np.int8)),
    lambda: (ints(43, 6).astype(np.int8), ints(43, 6).astype(np.int8), 5, -4, -6),
)
def smith_waterman(query, target, match=3, mismatch=-3, gap=-2):
    """Local alignment: score, and the operations (0 stop, 1 diagonal, 2 up, 3 left) counted along the path."""
    STOP, DIAGONAL, UP, LEFT = 0, 1, 2, 3
    rows, cols = len(query) + 1, len(target) + 1
    score = np.zeros((rows, cols), dtype=np.int16)
    trace = np.zeros((rows, cols), dtype=np.uint8)
    top, where = 0, (0, 0)
    for i in range(1, rows):
        for j in range(1, cols):
            options = (
                0,
                int(score[i - 1, j - 1]) + (match if query[i - 1] == target[j - 1] else mismatch),
                int(score[i - 1, j]) + gap,
                int(score[i, j - 1]) + gap,
            )
            best = max(options)
            for direction, value in enumerate(options):
                if value == best:
                    trace[i, j] = direction
                    break
            score[i, j] = best
            if best > top:
                top, where = best, (i, j)

    i, j = where
    counts = [0, 0, 0, 0]
    while True:
        direction = trace[i, j]
        counts[direction] += 1
        if direction == STOP:
            break
        elif direction == DIAGONAL:
            i, j = i - 1, j - 1
        elif direction == UP:
            i -= 1
        else:
            assert direction == LEFT
            j -= 1
    return top, (i, j), where, counts


def make_hmm(seed, states, symbols, steps):
    rng = np.random.default_rng(seed)
    start = rng.random(states)
    move = rng.random((states, states))
    emit = rng.random((states, symbols))
    return (
        start / start.sum(),
        move / move.sum(axis=1)[:, None],
        emit / emit.sum(axis=1)[:, None],
        rng.integers(0, symbols, steps),
    )


@case(
    lambda: make_hmm(51, 3, 4, 25),
    lambda: make_hmm(52, 1, 2, 5),
    lambda: make_hmm(53, 2, 2, 1),
    lambda: (*make_hmm(54, 2, 3, 4)[:3], np.array([], dtype=np.int64)),
    raises=ValueError,
)
def viterbi(start, transition, emission, observed):
    """Most likely path of hidden states, in logarithms, one vector step per observation."""
    steps = observed.shape[0]
    if steps == 0:
        raise ValueError("nothing was observed")
    states = start.shape[0]
    log_transition = np.log(transition)
    log_emission = np.log(emission)
    score = np.log(start) + log_emission[:, observed[0]]
    back = np.zeros((steps, states), dtype=np.int64)
    for t in range(1, steps):
        candidates = score[:, None] + log_transition
        back[t] = np.argmax(candidates, axis=0)
        score = candidates.max(axis=0) + log_emission[:, observed[t]]
    path = np.empty(steps, dtype=np.int64)
    path[-1] = score.argmax()
    for t in range(steps - 1, 0, -1):
        path[t - 1] = back[t, path[t]]
    return path, score.max()


@case(
    lambda: make_hmm(55, 3, 4, 30),
    lambda: make_hmm(56, 2, 3, 1),
)
def baum_welch_step(start, transition, emission, observed):
    """One round of expectation maximisation with scaling; changes the model in place."""
    steps, states = observed.size, start.size
    forward = np.empty((steps, states))
    backward = np.empty((steps, states))
    scale = np.empty(steps)

    forward[0] = start * emission[:, observed[0]]
    scale[0] = 1.0 / forward[0].sum()
    forward[0] *= scale[0]
    for t in range(1, steps):
        forward[t] = (forward[t - 1] @ transition) * emission[:, observed[t]]
        scale[t] = 1.0 / np.sum(forward[t])
        forward[t] *= scale[t]

    backward[-1] = scale[-1]
    for t in range(steps - 2, -1, -1):
        backward[t] = scale[t] * (transition @ (emission[:, observed[t + 1]] * backward[t + 1]))

    gamma = forward * backward
    gamma /= gamma.sum(axis=1).reshape(-1, 1)
    moves = np.zeros_like(transition)
    for t in range(steps - 1):
        ahead = emission[:, observed[t + 1]] * backward[t + 1]
        moves += forward[t][:, np.newaxis] * transition * ahead[np.newaxis, :]

    start[:] = gamma[0]
    if steps > 1:
        transition[...] = moves / moves.sum(axis=1)[:, None]
    for symbol in range(emission.shape[1]):
        emission[:, symbol] = gamma[observed == symbol].sum(axis=0)
    emission /= emission.sum(axis=1)[:, None]
    return -np.sum(np.log(scale))


@case(
    lambda: (np.random.default_rng(61).integers(-9, 9, (6, 7)),),
    lambda: (-np.arange(1.0, 7.0).reshape(2, 3),),
    lambda: (np.array([[7]], dtype=np.int32),),
)
def largest_sum_rectangle(grid):
    """Kadane's scan over every pair of rows; (sum, top, left, bottom, right)."""
    rows, cols = grid.shape
    best = grid[0, 0]
    box = (0, 0, 0, 0)
    for top in range(rows):
        columns = np.zeros(cols, dtype=grid.dtype)
        for bottom in range(top, rows):
            columns += grid[bottom]
            running = columns[0]
            left = 0
            if running > best:
                best = running
                box = (top, 0, bottom, 0)
            for right in range(1, cols):
                if running < 0:
                    running = columns[right]
                    left = right
                else:
                    running = running + columns[right]
                if running > best:
                    best = running
                    box = (top, left, bottom, right)
    return best, *box


@case(
    lambda: (np.sin(np.linspace(0, 6, 24)), np.sin(np.linspace(0.4, 6.2, 20))),
    lambda: (np.linspace(0, 1, 12), np.linspace(0, 1, 15) ** 2, 4),
    lambda: (np.array([1.0]), np.array([3.5])),
    lambda: (np.array([]), np.array([3.5])),
    raises=ValueError,
)
def dynamic_time_warping(x, y, window=None):
    """Distance and warping path of two series, within a Sakoe-Chiba band if one is given."""
    n, m = len(x), len(y)
    if n == 0 or m == 0:
        raise ValueError("both series must have samples")
    band = max(n, m) if window is None else max(window, abs(n - m))
    cost = np.full((n + 1, m + 1), np.inf)
    cost[0, 0] = 0
    for i in range(1, n + 1):
        for j in range(max(1, i - band), min(m, i + band) + 1):
            gap = abs(x[i - 1] - y[j - 1])
            cost[i, j] = gap + min(cost[i - 1, j], cost[i, j - 1], cost[i - 1, j - 1])
    path = [(n - 1, m - 1)]
    i, j = n, m
    while (i, j) != (1, 1):
        diagonal, up, left = cost[i - 1, j - 1], cost[i - 1, j], cost[i, j - 1]
        if diagonal <= up and diagonal <= left:
            i, j = i - 1, j - 1
        elif up <= left:
            i -= 1
        else:
            j -= 1
        path.append((i - 1, j - 1))
    return cost[n, m], path[::-1]


@case(
    lambda: (np.array([0.15, 0.10, 0.05, 0.10, 0.20]), np.array([0.05, 0.10, 0.05, 0.05, 0.05, 0.10])),
    lambda: (np.array([0.7]), np.array([0.1, 0.2])),
    lambda: (np.array([0.7, 0.3]), np.array([0.1, 0.2])),
    raises=ValueError,
)
def optimal_search_tree(hits, misses):
    """Expected cost of the best binary search tree, with Knuth's bounds on the root."""
    n = hits.size
    if misses.size != n + 1:
        raise ValueError("there must be one more miss than hits")
    expected = np.zeros((n + 2, n + 1))
    weight = np.zeros((n + 2, n + 1))
    root = np.zeros((n + 1, n + 1), dtype=np.int32)
    for i in range(1, n + 2):
        expected[i, i - 1] = weight[i, i - 1] = misses[i - 1]
    for length in range(1, n + 1):
        for i in range(1, n - length + 2):
            j = i + length - 1
            expected[i, j] = math.inf
            weight[i, j] = weight[i, j - 1] + hits[j - 1] + misses[j]
            first, last = (i, j) if length == 1 else (root[i, j - 1], root[i + 1, j])
            for r in range(first, last + 1):
                t = expected[i, r - 1] + expected[r + 1, j] + weight[i, j]
                if t < expected[i, j]:
                    expected[i, j] = t
                    root[i, j] = r
    depth = np.zeros(n, dtype=np.int64)

    def descend(i, j, level):
        if i > j:
            return
        r = root[i, j]
        depth[r - 1] = level
        descend(i, r - 1, level + 1)
        descend(r + 1, j, level + 1)

    descend(1, n, 0)
    return expected[1, n], depth


def rod_value(length, prices, memo, first_cut):
    if length == 0:
        return 0.0
    if memo[length] >= 0.0:
        return memo[length]
    best = -1.0
    for cut in range(1, min(length, prices.size) + 1):
        value = prices[cut - 1] + rod_value(length - cut, prices, memo, first_cut)
        if value > best:
            best = value
            first_cut[length] = cut
    memo[length] = best
    return best


@case(
    lambda: (11, np.array([1.0, 5.0, 8.0, 9.0, 10.0, 17.0, 17.0, 20.0])),
    lambda: (0, np.array([1.0, 5.0])),
    lambda: (-3, np.array([1.0])),
    raises=ValueError,
)
def cut_rod(length, prices):
    """Memoised recursion over a helper; the lengths of the pieces come back sorted."""
    if length < 0:
        raise ValueError(f"a rod cannot be {length} long")
    memo = np.full(length + 1, -1.0)
    first_cut = np.zeros(length + 1, dtype=np.int64)
    value = rod_value(length, prices, memo, first_cut)
    pieces = np.zeros(length, dtype=np.int64)
    count = 0
    rest = length
    while rest:
        cut = first_cut[rest]
        at = count
        while at > 0 and pieces[at - 1] > cut:
            pieces[at] = pieces[at - 1]
            at -= 1
        pieces[at] = cut
        count += 1
        rest -= int(cut)
    return float(value), pieces[:count]


@case(
    lambda: (np.array([3, 1, 4, 1, 5, 9, 2, 6]),),
    lambda: (np.array([8, 15, 23, 4]),),
    lambda: (np.array([7]),),
    lambda: (np.array([3, -1]),),
    raises=ValueError,
)
def fairest_partition(numbers):
    """Splits numbers into two heaps with sums as near as can be; the sums reached are bits of a table."""
    total = 0
    for v in numbers:
        if v < 0:
            raise ValueError("numbers must not be negative")
        total += int(v)
    half = total // 2
    n = len(numbers)
    reach = np.zeros((n + 1, half + 1), dtype=np.bool_)
    reach[:, 0] = True
    for i in range(n):
        v = int(numbers[i])
        reach[i + 1] |= reach[i]
        if 0 < v <= half:
            reach[i + 1, v:] |= reach[i, :-v]
    near = half
    while not reach[n, near]:
        near -= 1
    side = np.zeros(n, dtype=np.int8)
    rest = near
    for i in range(n - 1, -1, -1):
        if reach[i, rest]:
            continue
        side[i] = 1
        rest -= int(numbers[i])
    if rest != 0:
        raise AssertionError("the table is inconsistent")
    return total - 2 * near, side


@case(
    lambda: (np.random.default_rng(71).integers(0, 256, (12, 15)).astype(np.uint8),),
    lambda: (np.random.default_rng(72).integers(0, 256, (5, 2)).astype(np.uint8), 1),
    lambda: (np.full((3, 1), 9, dtype=np.uint8),),
    raises=ValueError,
)
def carve_seams(image, count=3):
    """Removes the vertical seams of least energy from a grey image."""
    picture = image.copy()
    for _ in range(count):
        rows, cols = picture.shape
        if cols < 2:
            raise ValueError("the image is too narrow")
        signed = picture.astype(np.int32)
        energy = np.zeros((rows, cols), dtype=np.int32)
        energy[:, :-1] += np.abs(signed[:, 1:] - signed[:, :-1])
        energy[:-1] += np.abs(signed[1:] - signed[:-1])
        total = energy.copy()
        for r in range(1, rows):
            for c in range(cols):
                low = max(c - 1, 0)
                total[r, c] += total[r - 1, low : c + 2].min()
        seam = int(total[-1].argmin())
        smaller = np.empty((rows, cols - 1), dtype=picture.dtype)
        for r in range(rows - 1, -1, -1):
            smaller[r, :seam] = picture[r, :seam]
            smaller[r, seam:] = picture[r, seam + 1 :]
            if r > 0:
                low = max(seam - 1, 0)
                seam = low + int(np.argmin(total[r - 1, low : seam + 2]))
        picture = smaller
    return picture


def distances(seed, n):
    p = np.random.default_rng(seed).random((n, 2))
    return np.sqrt(((p[:, None] - p[None]) ** 2).sum(axis=2))


@case(
    lambda: (distances(81, 7),),
    lambda: (distances(82, 2).astype(np.float32),),
    lambda: (distances(83, 1),),
    lambda: (np.zeros((2, 3)),),
    raises=ValueError,
)
def held_karp(distance):
    """Shortest round trip by dynamic programming over subsets held as bits."""
    n = distance.shape[0]
    if distance.shape != (n, n):
        raise ValueError("the distances must be square")
    if n == 1:
        return 0.0, [0]
    full = (1 << (n - 1)) - 1
    best = np.full((full + 1, n), np.inf)
    parent = np.full((full + 1, n), -1, dtype=np.int16)
    for k in range(1, n):
        best[1 << (k - 1), k] = distance[0, k]
    for subset in range(1, full + 1):
        if subset & (subset - 1) == 0:
            continue
        for k in range(1, n):
            bit = 1 << (k - 1)
            if not subset & bit:
                continue
            without = subset ^ bit
            for j in range(1, n):
                if without >> (j - 1) & 1:
                    length = best[without, j] + distance[j, k]
                    if length < best[subset, k]:
                        best[subset, k] = length
                        parent[subset, k] = j
    closing = best[full, 1:] + distance[1:, 0]
    node = int(closing.argmin()) + 1
    length = float(closing[node - 1])
    tour = []
    subset = full
    while node > 0:
        tour.append(node)
        following = int(parent[subset, node])
        subset &= ~(1 << (node - 1))
        node = following
    tour.append(0)
    tour.reverse()
    return length, tour


@case(
    lambda: (np.array([0, 1, 1, 0, 2, 0, 1, 0, 2, 2]),),
    lambda: (np.array([5, 5, 5, 5], dtype=np.uint8),),
    lambda: (np.array([], dtype=np.uint8),),
)
def palindrome_cuts(text):
    """Fewest cuts into palindromes, and the pieces as (start, stop)."""
    n = text.size
    if n == 0:
        return -1, []
    palindrome = np.eye(n, dtype=bool)
    for centre in range(n):
        for first, last in ((centre, centre), (centre, centre + 1)):
            while first >= 0 and last < n and text[first] == text[last]:
                palindrome[first, last] = True
                first -= 1
                last += 1
    cuts = [n] * (n + 1)
    begin = [0] * (n + 1)
    cuts[0] = -1
    for stop in range(1, n + 1):
        for start in range(stop):
            if palindrome[start, stop - 1] and cuts[start] + 1 < cuts[stop]:
                cuts[stop] = cuts[start] + 1
                begin[stop] = start
    pieces = []
    stop = n
    while stop > 0:
        pieces.append((begin[stop], stop))
        stop = begin[stop]
    return cuts[n], list(reversed(pieces))


@case(
    lambda: (0.4, 16),
    lambda: (0.25, 8, 1e-6, 5),
    lambda: (1.5, 8),
    raises=ValueError,
)
def gamblers_problem(p_heads, goal, tolerance=1e-9, sweeps=200):
    """Value iteration for the gambler who stakes on coin flips; values, stakes, sweeps used."""
    if not 0.0 <= p_heads <= 1.0:
        raise ValueError("not a probability")
    value = np.zeros(goal + 1)
    value[goal] = 1.0
    for sweep in range(sweeps):
        change = 0.0
        for capital in range(1, goal):
            old = value[capital]
            stakes = np.arange(1, min(capital, goal - capital) + 1)
            gains = p_heads * value[capital + stakes] + (1 - p_heads) * value[capital - stakes]
            value[capital] = gains.max()
            change = max(change, abs(value[capital] - old))
        if change < tolerance:
            break
    else:
        sweep = -1
    policy = np.zeros(goal, dtype=np.int64)
    for capital in range(1, goal):
        best, stake = -1.0, 0
        for s in range(1, min(capital, goal - capital) + 1):
            gain = p_heads * value[capital + s] + (1 - p_heads) * value[capital - s]
            if gain > best + 1e-12:
                best, stake = gain, s
        policy[capital] = stake
    return value, policy, sweep


@case(
    lambda: ([(1.0, 4.0, 3.0), (3.0, 5.0, 4.0), (0.0, 6.0, 8.0), (4.0, 7.0, 2.5), (5.0, 9.0, 6.0), (6.5, 8.0, 3.0)],),
    lambda: ([(0.0, 1.0, 2.0)],),
    lambda: ([(0.0, 1.0, 2.0), (2.0, 2.0, 1.0)],),
    raises=ValueError,
)
def schedule_intervals(jobs):
    """Weighted interval scheduling over a list of (start, finish, weight)."""
    for start, finish, _ in jobs:
        if not start < finish:
            raise ValueError("a job must take time")
    ordered = sorted(jobs, key=lambda job: job[1])
    n = len(ordered)
    finishes = np.array([job[1] for job in ordered])

    def compatible(i):
        low, high = 0, i
        start = ordered[i][0]
        while low < high:
            middle = (low + high) // 2
            if finishes[middle] <= start:
                low = middle + 1
            else:
                high = middle
        return low

    before = [compatible(i) for i in range(n)]
    best = np.zeros(n + 1)
    for i, (_, _, weight) in enumerate(ordered):
        best[i + 1] = max(best[i], weight + best[before[i]])
    chosen = []
    i = n
    while i > 0:
        if best[i] == best[i - 1]:
            i -= 1
        else:
            chosen.append(ordered[i - 1])
            i = before[i - 1]
    chosen.reverse()
    return best[n], chosen


@case(
    lambda: (np.array([2, 2, 2, 0, 0, 0, 1, 1, 1, 3, 0, 2, 1, 3]),),
    lambda: (np.array([0, 3, 0, 3, 2, 1, 2, 1, 0, 0, 3, 3]), 1),
    lambda: (np.array([0, 1]),),
    lambda: (np.array([0, 5, 1]),),
    raises=ValueError,
)
def fold_rna(bases, smallest_loop=3):
    """Nussinov's maximum pairing with bonuses for stacked pairs; score, partner of each base, nesting depth."""
    A, C, G, U = range(4)

    def bond(i, j):
        match (int(bases[i]), int(bases[j])):
            case (1, 2) | (2, 1):
                return 3.0
            case (0, 3) | (3, 0):
                return 2.0
            case (2, 3) | (3, 2):
                return 1.0
            case _:
                return 0.0

    if not all(b in (A, C, G, U) for b in bases):
        raise ValueError("a base must be 0, 1, 2 or 3")
    n = len(bases)
    best = np.zeros((n, n))
    closed = np.full((n, n), -np.inf)
    split = np.full((n, n), -1, dtype=np.int16)
    for span in range(smallest_loop + 1, n):
        for i in range(n - span):
            j = i + span
            strength = bond(i, j)
            if strength > 0.0:
                inner = best[i + 1, j - 1]
                stacked = closed[i + 1, j - 1] + 0.5
                closed[i, j] = strength + max(inner, stacked)
            value, where = closed[i, j], -2
            for k in range(i, j):
                together = best[i, k] + best[k + 1, j]
                if together >= value:
                    value, where = together, k
            best[i, j] = value
            split[i, j] = where

    partner = np.full(n, -1, dtype=np.int64)
    todo = [(0, n - 1, False)]
    while todo:
        i, j, must_close = todo.pop()
        if i >= j or (not must_close and best[i, j] == 0.0):
            continue
        k = int(split[i, j])
        if must_close or k == -2:
            partner[i], partner[j] = j, i
            stacked = closed[i + 1, j - 1] + 0.5 > best[i + 1, j - 1]
            todo.append((i + 1, j - 1, bool(stacked)))
        else:
            todo.append((k + 1, j, False))
            todo.append((i, k, False))

    depth = deepest = 0
    for i in range(n):
        if partner[i] > i:
            depth += 1
            deepest = max(deepest, depth)
        elif partner[i] >= 0:
            depth -= 1
    assert depth == 0
    return float(best[0, n - 1]), partner, deepest


@case(
    lambda: (np.array([3.0, 2.5, 4.0, 1.0, 5.5, 2.0, 6.0, 3.0]), 12.0),
    lambda: ([9.0, 1.0, 1.0, 9.0], 10.0, 3),
    lambda: ([], 5.0),
    lambda: ([2.0, 8.0], 5.0),
    raises=ValueError,
)
def break_paragraph(widths, line, power=2, space=1.0):
    """Minimum raggedness line breaking; the last line is free. Lines as (first, last), and the badness."""
    n = len(widths)
    if any(w > line for w in widths):
        raise ValueError("a word is wider than the line")
    ahead = np.zeros(n + 1)
    for i, w in enumerate(widths):
        ahead[i + 1] = ahead[i] + w

    def badness(i, j):
        width = ahead[j] - ahead[i] + space * (j - i - 1)
        if width > line:
            return math.inf
        return 0.0 if j == n else float(line - width) ** power

    cost = [0.0] + [math.inf] * n
    come_from = [0] * (n + 1)
    for j in range(1, n + 1):
        for i in range(j - 1, -1, -1):
            here = badness(i, j)
            if here == math.inf:
                break
            if cost[i] + here < cost[j]:
                cost[j] = cost[i] + here
                come_from[j] = i
    lines = []
    j = n
    while j > 0:
        lines.insert(0, (come_from[j], j - 1))
        j = come_from[j]
    return lines, cost[n]
