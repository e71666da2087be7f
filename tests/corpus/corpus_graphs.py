"""Graphs held as adjacency matrices, CSR arrays and edge lists."""

from _case import case

import numpy as np


def edges_of(seed, n, m):
    """Distinct directed edges without loops."""
    rng = np.random.default_rng(seed)
    codes = rng.choice(n * (n - 1), size=m, replace=False)
    source, target = codes // (n - 1), codes % (n - 1)
    return source, target + (target >= source)


def csr_of(seed, n, m, symmetric=False):
    source, target = edges_of(seed, n, m)
    matrix = np.zeros((n, n), dtype=bool)
    matrix[source, target] = True
    if symmetric:
        matrix |= matrix.T
    counts = matrix.sum(axis=1)
    return np.concatenate(([0], np.cumsum(counts))), np.nonzero(matrix)[1]


def weighted_csr(seed, n, m):
    indptr, indices = csr_of(seed, n, m)
    return indptr, indices, np.random.default_rng(seed).random(indices.size) * 9 + 1


def weight_matrix(seed, n, chance=0.4):
    rng = np.random.default_rng(seed)
    matrix = np.where(rng.random((n, n)) < chance, rng.integers(1, 20, (n, n)), np.inf)
    np.fill_diagonal(matrix, 0.0)
    return matrix


def undirected(seed, n, chance=0.4, dtype=np.int64):
    upper = np.triu(np.random.default_rng(seed).random((n, n)) < chance, 1)
    return (upper | upper.T).astype(dtype)


@case(
    lambda: (*csr_of(1, 30, 70), 0),
    lambda: (*csr_of(2, 5, 3), 4),
    lambda: (np.array([0, 0]), np.array([], dtype=np.int64), 0),
    lambda: (*csr_of(2, 5, 3), 5),
    raises=IndexError,
)
def breadth_first(indptr, indices, source):
    """Level and parent of every vertex, with an array for the queue."""
    n = indptr.size - 1
    if source < 0 or source >= n:
        raise IndexError("no such vertex")
    level = np.full(n, -1, dtype=np.int32)
    parent = np.full(n, -1, dtype=np.int32)
    queue = np.empty(n, dtype=np.int32)
    head, tail = 0, 1
    queue[0] = source
    level[source] = 0
    while head < tail:
        u = queue[head]
        head += 1
        for e in range(indptr[u], indptr[u + 1]):
            v = indices[e]
            if level[v] < 0:
                level[v] = level[u] + 1
                parent[v] = u
                queue[tail] = v
                tail += 1
    return level, parent, queue[:tail].copy()


@case(
    lambda: (weight_matrix(3, 12), 0),
    lambda: (weight_matrix(4, 6, 0.1).astype(np.float32), 2),
    lambda: (np.zeros((1, 1)), 0),
    lambda: (np.array([[0.0, -1.0], [2.0, 0.0]]), 0),
    raises=ValueError,
)
def dijkstra_dense(weights, source):
    """Shortest paths on a matrix whose missing edges are infinite."""
    n = len(weights)
    if (weights < 0).any():
        raise ValueError("negative weights are not allowed")
    dist = np.full(n, np.inf)
    pred = -np.ones(n, dtype=np.int64)
    done = np.zeros(n, dtype=bool)
    dist[source] = 0.0
    for _ in range(n):
        nearest = -1
        shortest = np.inf
        for v in range(n):
            if not done[v] and dist[v] < shortest:
                shortest = dist[v]
                nearest = v
        if nearest == -1:
            break
        done[nearest] = True
        through = shortest + weights[nearest]
        better = ~done & (through < dist)
        dist[better] = through[better]
        pred[better] = nearest
    hops = np.zeros(n, dtype=np.int64)
    for v in range(n):
        u = v
        while pred[u] >= 0:
            u = pred[u]
            hops[v] += 1
    return dist, pred, hops


@case(
    lambda: (*weighted_csr(5, 25, 80), 0, 24),
    lambda: (*weighted_csr(6, 8, 6), 3, 3),
    lambda: (np.array([0, 1, 2, 2]), np.array([1, 0]), np.array([1.0, 1.0]), 0, 2),
)
def dijkstra_heap(indptr, indices, weights, source, target):
    """Shortest path by a binary heap written out, positions tracked so that keys can decrease."""
    n = indptr.shape[0] - 1
    dist = np.full(n, np.inf)
    pred = np.full(n, -1)
    heap = np.empty(n, dtype=np.int64)
    place = np.full(n, -1, dtype=np.int64)
    size = 1
    heap[0] = source
    place[source] = 0
    dist[source] = 0.0
    while size > 0:
        u = heap[0]
        place[u] = -2
        if u == target:
            break
        size -= 1
        if size > 0:
            moved = heap[size]
            at = 0
            while True:
                child = 2 * at + 1
                if child >= size:
                    break
                if child + 1 < size and dist[heap[child + 1]] < dist[heap[child]]:
                    child += 1
                if dist[heap[child]] >= dist[moved]:
                    break
                heap[at] = heap[child]
                place[heap[at]] = at
                at = child
            heap[at] = moved
            place[moved] = at
        for e in range(indptr[u], indptr[u + 1]):
            v = indices[e]
            if place[v] == -2:
                continue
            length = dist[u] + weights[e]
            if length >= dist[v]:
                continue
            dist[v] = length
            pred[v] = u
            at = place[v]
            if at < 0:
                at = size
                size += 1
            while at > 0:
                above = (at - 1) // 2
                if dist[heap[above]] <= length:
                    break
                heap[at] = heap[above]
                place[heap[at]] = at
                at = above
            heap[at] = v
            place[v] = at
    path = []
    if np.isfinite(dist[target]):
        v = target
        while v != -1:
            path.append(int(v))
            v = pred[v]
        path.reverse()
    return dist[target], path


@case(
    lambda: (weight_matrix(7, 10), 0, 7),
    lambda: (weight_matrix(8, 4, 0.05), 1, 2),
    lambda: (np.array([[0.0, 1.0], [-2.0, 0.0]]), 0, 1),
    raises=ValueError,
)
def floyd_warshall(weights, start, stop):
    """All pairs, a rank-one update at a time, then one path read off the table of next hops."""
    n = weights.shape[0]
    dist = weights.copy()
    following = np.where(np.isinf(weights), -1, np.arange(n)[None, :])
    for k in range(n):
        through = dist[:, k, None] + dist[None, k, :]
        shorter = through < dist
        dist = np.where(shorter, through, dist)
        for i in range(n):
            for j in range(n):
                if shorter[i, j]:
                    following[i, j] = following[i, k]
    for i in range(n):
        if dist[i, i] < 0:
            raise ValueError("the graph has a negative cycle")
    path = [start]
    if following[start, stop] < 0:
        return dist, []
    node = start
    while node != stop:
        node = int(following[node, stop])
        path.append(node)
    finite = dist[np.isfinite(dist)]
    assert finite.size >= n
    return dist, path


@case(
    lambda: (9, *edges_of(9, 9, 30), np.random.default_rng(9).integers(1, 10, 30).astype(np.float64), 0),
    lambda: (3, np.array([0, 1]), np.array([1, 2]), np.array([4.0, -6.0]), 0),
    lambda: (3, np.array([0, 1, 2]), np.array([1, 2, 0]), np.array([1.0, -3.0, 1.0]), 0),
    raises=ValueError,
)
def bellman_ford(n, source, target, weight, start):
    """Single-source shortest paths with weights of either sign; a negative cycle raises."""
    dist = np.full(n, np.inf)
    pred = np.full(n, -1, dtype=np.int64)
    dist[start] = 0.0
    rounds = 0
    while True:
        relaxed = False
        for u, v, w in zip(source, target, weight):
            if dist[u] + w < dist[v]:
                dist[v] = dist[u] + w
                pred[v] = u
                relaxed = True
        if not relaxed:
            break
        rounds += 1
        if rounds == n:
            raise ValueError("negative cycle reachable from the start")
    slack = np.empty(weight.size)
    for e in range(weight.size):
        u, v = source[e], target[e]
        if np.isinf(dist[u]):
            slack[e] = np.inf
        else:
            slack[e] = dist[u] + weight[e] - dist[v]
    tight = (slack == 0.0).sum()
    return dist, pred, rounds, tight


@case(
    lambda: (10, *edges_of(11, 10, 28), np.random.default_rng(11).random(28)),
    lambda: (4, np.array([0]), np.array([1]), np.array([2.0])),
    lambda: (1, np.array([], dtype=np.int64), np.array([], dtype=np.int64), np.array([])),
    note="without edges the total stays a Python float",
)
def kruskal(n, source, target, weight):
    """Minimum spanning forest: union by rank, path halving, edges sorted by a shell sort of indices."""
    m = weight.size
    order = np.arange(m)
    gap = m // 2
    while gap > 0:
        for i in range(gap, m):
            item = order[i]
            j = i
            while j >= gap and weight[order[j - gap]] > weight[item]:
                order[j] = order[j - gap]
                j -= gap
            order[j] = item
        gap //= 2
    parent = np.arange(n)
    rank = np.zeros(n, dtype=np.int8)

    def find(x):
        while parent[x] != x:
            parent[x] = parent[parent[x]]
            x = parent[x]
        return x

    total = 0.0
    chosen = []
    for e in order:
        a, b = find(source[e]), find(target[e])
        if a == b:
            continue
        if rank[a] < rank[b]:
            a, b = b, a
        parent[b] = a
        if rank[a] == rank[b]:
            rank[a] += 1
        total += weight[e]
        chosen.append(int(e))
        if len(chosen) == n - 1:
            break
    return total, chosen, len(chosen) == n - 1


@case(
    lambda: (np.random.default_rng(12).random((9, 9)),),
    lambda: (np.zeros((1, 1)),),
    lambda: (np.where(np.eye(3) > 0, 0.0, np.inf),),
    lambda: (np.zeros((2, 3)),),
    raises=ValueError,
    note="with one vertex the total stays a Python float",
)
def prim_dense(distance):
    """Minimum spanning tree of a full matrix, which is made symmetric first."""
    if distance.ndim != 2 or distance.shape[0] != distance.shape[1]:
        raise ValueError("expected a square matrix")
    n = distance.shape[0]
    symmetric = np.minimum(distance, distance.T)
    inside = np.zeros(n, dtype=np.bool_)
    closest = symmetric[0].copy()
    link = np.zeros(n, dtype=np.int64)
    inside[0] = True
    tree = np.empty((n - 1, 2), dtype=np.int64)
    total = 0.0
    for k in range(n - 1):
        reach = np.where(inside, np.inf, closest)
        v = reach.argmin()
        if np.isinf(reach[v]):
            raise ValueError("the graph is not connected")
        inside[v] = True
        tree[k, 0] = link[v]
        tree[k, 1] = v
        total += closest[v]
        improved = symmetric[v] < closest
        link[improved] = v
        closest = np.minimum(closest, symmetric[v])
    return total, tree


@case(
    lambda: csr_of(13, 20, 60),
    lambda: (*csr_of(14, 6, 4), 0.5, 1e-6, 3),
    lambda: (np.array([0, 0, 0]), np.array([], dtype=np.int64)),
)
def pagerank(indptr, indices, damping=0.85, tolerance=1e-10, rounds=100):
    """Power iteration on CSR; vertices without links share their rank with all."""
    n = indptr.size - 1
    degree = indptr[1:] - indptr[:-1]
    dangling = degree == 0
    rank = np.full(n, 1.0 / n)
    step = 0
    for step in range(1, rounds + 1):
        fresh = np.zeros(n)
        for u in range(n):
            if dangling[u]:
                continue
            share = rank[u] / degree[u]
            for v in indices[indptr[u] : indptr[u + 1]]:
                fresh[v] += share
        lost = rank[dangling].sum()
        fresh = damping * (fresh + lost / n) + (1.0 - damping) / n
        change = np.abs(fresh - rank).sum()
        rank = fresh
        if change < tolerance:
            break
    top = int(rank.argmax())
    return rank, top, step


@case(
    lambda: csr_of(15, 20, 32),
    lambda: csr_of(16, 4, 12),
    lambda: (np.array([0]), np.array([], dtype=np.int64)),
)
def strongly_connected(indptr, indices):
    """Tarjan's algorithm with its recursion unrolled onto arrays; number of components and labels."""
    n = indptr.size - 1
    index = np.full(n, -1, dtype=np.int64)
    low = np.zeros(n, dtype=np.int64)
    label = np.full(n, -1, dtype=np.int64)
    on_stack = np.zeros(n, dtype=bool)
    stack = np.empty(n, dtype=np.int64)
    work = np.empty(n, dtype=np.int64)
    edge = indptr[:-1].copy()
    depth = top = clock = components = 0
    for root in range(n):
        if index[root] >= 0:
            continue
        work[0] = root
        depth = 1
        while depth > 0:
            v = work[depth - 1]
            if index[v] < 0:
                index[v] = low[v] = clock
                clock += 1
                stack[top] = v
                top += 1
                on_stack[v] = True
            descended = False
            while edge[v] < indptr[v + 1]:
                w = indices[edge[v]]
                edge[v] += 1
                if index[w] < 0:
                    work[depth] = w
                    depth += 1
                    descended = True
                    break
                if on_stack[w]:
                    low[v] = min(low[v], index[w])
            if descended:
                continue
            depth -= 1
            if depth > 0:
                u = work[depth - 1]
                low[u] = min(low[u], low[v])
            if low[v] == index[v]:
                while True:
                    top -= 1
                    w = stack[top]
                    on_stack[w] = False
                    label[w] = components
                    if w == v:
                        break
                components += 1
    return components, label


@case(
    lambda: (6, [(5, 2), (5, 0), (4, 0), (4, 1), (2, 3), (3, 1)]),
    lambda: (3, [(0, 1), (1, 2), (2, 0)]),
    lambda: (2, [(1, 1)]),
    raises=ValueError,
)
def topological_order(n, edges):
    """Kahn's algorithm on a list of pairs, with the longest chain ending at each vertex."""
    waiting = np.zeros(n, dtype=np.int64)
    for u, v in edges:
        if u == v:
            raise ValueError("a vertex depends on itself")
        waiting[v] += 1
    ready = [v for v in range(n) if waiting[v] == 0]
    order = []
    chain = np.zeros(n, dtype=np.int64)
    while ready:
        smallest = 0
        for k in range(1, len(ready)):
            if ready[k] < ready[smallest]:
                smallest = k
        u = ready.pop(smallest)
        order.append(u)
        for a, b in edges:
            if a != u:
                continue
            chain[b] = max(chain[b], chain[u] + 1)
            waiting[b] -= 1
            if waiting[b] == 0:
                ready.append(b)
    if len(order) != n:
        raise ValueError("the graph has a cycle")
    return order, chain


@case(
    lambda: (20, *edges_of(17, 20, 14)),
    lambda: (5, np.array([], dtype=np.int64), np.array([], dtype=np.int64)),
    lambda: (3, np.array([0, 4]), np.array([1, 1])),
    raises=ValueError,
)
def connected_components(n, source, target):
    """Labels spread along edges until nothing changes, then renumbered by size."""
    if source.size and max(source.max(), target.max()) >= n:
        raise ValueError("an edge names a vertex that is not there")
    label = np.arange(n)
    while True:
        lowest = np.minimum(label[source], label[target])
        fresh = label.copy()
        for e in range(source.size):
            if lowest[e] < fresh[source[e]]:
                fresh[source[e]] = lowest[e]
            if lowest[e] < fresh[target[e]]:
                fresh[target[e]] = lowest[e]
        fresh = fresh[fresh]
        if (fresh == label).all():
            break
        label = fresh
    sizes = np.zeros(n, dtype=np.int64)
    for c in label:
        sizes[c] += 1
    roots = [c for c in range(n) if sizes[c] > 0]
    roots = sorted(roots, key=lambda c: (-sizes[c], c))
    compact = np.empty(n, dtype=np.int32)
    for number, root in enumerate(roots):
        compact[label == root] = number
    return compact, sizes[np.array(roots)]


@case(
    lambda: csr_of(18, 18, 70, symmetric=True),
    lambda: csr_of(19, 3, 6, symmetric=True),
    lambda: csr_of(20, 5, 1, symmetric=True),
    note="without pairs the last result is a Python float",
)
def clustering_coefficients(indptr, indices):
    """Triangles at each vertex by merging sorted neighbour lists; local and global coefficients."""
    n = indptr.size - 1
    triangles = np.zeros(n, dtype=np.int64)
    for u in range(n):
        for e in range(indptr[u], indptr[u + 1]):
            v = indices[e]
            if v <= u:
                continue
            i, j = indptr[u], indptr[v]
            while i < indptr[u + 1] and j < indptr[v + 1]:
                a, b = indices[i], indices[j]
                if a == b:
                    if a > v:
                        triangles[u] += 1
                        triangles[v] += 1
                        triangles[a] += 1
                    i += 1
                    j += 1
                elif a < b:
                    i += 1
                else:
                    j += 1
    degree = np.empty(n, dtype=np.int64)
    for u in range(n):
        degree[u] = indptr[u + 1] - indptr[u]
    pairs = degree * (degree - 1) // 2
    local = np.where(pairs > 0, triangles / np.maximum(pairs, 1), 0.0)
    whole = triangles.sum() / pairs.sum() if pairs.sum() > 0 else 0.0
    return triangles, local, whole


@case(
    lambda: (np.where(np.isinf(weight_matrix(21, 8)), 0, weight_matrix(21, 8)).astype(np.int64), 0, 7),
    lambda: (np.zeros((3, 3), dtype=np.int64), 0, 2),
    lambda: (np.ones((2, 2), dtype=np.int64), 1, 1),
    raises=ValueError,
)
def max_flow(capacity, source, sink):
    """Edmonds-Karp on a matrix of residual capacities; the value, the flow and the cut."""
    if source == sink:
        raise ValueError("source and sink are the same")
    n = capacity.shape[0]
    residual = capacity.copy()
    total = 0
    while True:
        parent = [-1] * n
        parent[source] = source
        queue = [source]
        for u in queue:
            for v in range(n):
                if parent[v] < 0 and residual[u, v] > 0:
                    parent[v] = u
                    queue.append(v)
            if parent[sink] >= 0:
                break
        if parent[sink] < 0:
            break
        bottleneck = residual[parent[sink], sink]
        v = sink
        while v != source:
            bottleneck = min(bottleneck, residual[parent[v], v])
            v = parent[v]
        v = sink
        while v != source:
            residual[parent[v], v] -= bottleneck
            residual[v, parent[v]] += bottleneck
            v = parent[v]
        total += int(bottleneck)
    flow = np.maximum(capacity - residual, 0)
    reachable = np.array([p >= 0 for p in parent])
    cut = capacity[reachable][:, ~reachable].sum()
    return total, flow, cut == total


@case(
    lambda: csr_of(22, 14, 22, symmetric=True),
    lambda: (*csr_of(23, 6, 12), False),
    lambda: csr_of(24, 2, 1, symmetric=True),
)
def betweenness(indptr, indices, normalised=True):
    """Brandes' accumulation of dependencies from every source."""
    n = indptr.size - 1
    centrality = np.zeros(n)
    for s in range(n):
        paths = np.zeros(n)
        level = np.full(n, -1)
        order = np.empty(n, dtype=np.int64)
        paths[s] = 1.0
        level[s] = 0
        order[0] = s
        head, tail = 0, 1
        while head < tail:
            u = order[head]
            head += 1
            for v in indices[indptr[u] : indptr[u + 1]]:
                if level[v] == -1:
                    level[v] = level[u] + 1
                    order[tail] = v
                    tail += 1
                if level[v] == level[u] + 1:
                    paths[v] += paths[u]
        dependency = np.zeros(n)
        for u in order[:tail][::-1]:
            for v in indices[indptr[u] : indptr[u + 1]]:
                if level[v] == level[u] + 1:
                    dependency[u] += paths[u] / paths[v] * (1.0 + dependency[v])
            if u != s:
                centrality[u] += dependency[u]
    if normalised and n > 2:
        centrality /= (n - 1) * (n - 2)
    return centrality


@case(
    lambda: (undirected(25, 9), 3),
    lambda: (undirected(26, 7), 2),
    lambda: (undirected(26, 4, 0.0), 1),
    lambda: (undirected(26, 4), 0),
    raises=ValueError,
    note="an array or None",
)
def colour_graph(adjacency, colours):
    """Backtracking over vertices by degree; the colouring, or None when there is none."""
    if colours < 1:
        raise ValueError("at least one colour is needed")
    n = adjacency.shape[0]
    degree = adjacency.sum(axis=0)
    order = sorted(range(n), key=lambda v: -degree[v])
    colour = np.zeros(n, dtype=np.int8)

    def place(k):
        if k == n:
            return True
        v = order[k]
        taken = 0
        for u in range(n):
            if adjacency[v, u] and colour[u]:
                taken |= 1 << int(colour[u])
        for c in range(1, colours + 1):
            if taken >> c & 1:
                continue
            colour[v] = c
            if place(k + 1):
                return True
            colour[v] = 0
        return False

    if not place(0):
        return None
    for u in range(n):
        for v in range(u):
            assert not adjacency[u, v] or colour[u] != colour[v]
    return colour


def augment(u, allowed, owner, seen):
    for v in range(allowed.shape[1]):
        if allowed[u, v] and not seen[v]:
            seen[v] = True
            if owner[v] < 0 or augment(owner[v], allowed, owner, seen):
                owner[v] = u
                return True
    return False


@case(
    lambda: (np.random.default_rng(27).random((8, 7)) < 0.3,),
    lambda: (np.zeros((3, 2), dtype=bool),),
    lambda: (np.ones((2, 5), dtype=bool),),
)
def bipartite_matching(allowed):
    """Kuhn's augmenting paths, then König's vertex cover as a certificate."""
    left, right = allowed.shape
    owner = np.full(right, -1, dtype=np.int64)
    size = 0
    for u in range(left):
        seen = np.zeros(right, dtype=bool)
        if augment(u, allowed, owner, seen):
            size += 1
    partner = np.full(left, -1, dtype=np.int64)
    for v, u in enumerate(owner):
        if u >= 0:
            partner[u] = v
    left_seen = partner < 0
    right_seen = np.zeros(right, dtype=bool)
    changed = True
    while changed:
        changed = False
        for u in range(left):
            if not left_seen[u]:
                continue
            for v in range(right):
                if allowed[u, v] and not right_seen[v]:
                    right_seen[v] = True
                    changed = True
                    if owner[v] >= 0:
                        left_seen[owner[v]] = True
    cover = (~left_seen).sum() + right_seen.sum()
    assert cover == size
    return size, partner, right_seen


@case(
    lambda: csr_of(28, 20, 45, symmetric=True),
    lambda: csr_of(29, 4, 12, symmetric=True),
    lambda: (np.zeros(4, dtype=np.int64), np.zeros(0, dtype=np.int64)),
)
def core_numbers(indptr, indices):
    """k-core decomposition by bins of degree, in linear time."""
    n = len(indptr) - 1
    degree = indptr[1:] - indptr[:-1]
    widest = int(degree.max())
    start = np.zeros(widest + 2, dtype=np.int64)
    for d in degree:
        start[d + 1] += 1
    for d in range(1, widest + 2):
        start[d] += start[d - 1]
    fill = start[:-1].copy()
    order = np.empty(n, dtype=np.int64)
    position = np.empty(n, dtype=np.int64)
    for v in range(n):
        position[v] = fill[degree[v]]
        order[position[v]] = v
        fill[degree[v]] += 1
    core = degree.copy()
    for i in range(n):
        v = order[i]
        for u in indices[indptr[v] : indptr[v + 1]]:
            if core[u] <= core[v]:
                continue
            first = start[core[u]]
            w = order[first]
            if u != w:
                order[position[u]], order[first] = w, u
                position[u], position[w] = first, position[u]
            start[core[u]] += 1
            core[u] -= 1
    return core, core.max()


@case(
    lambda: (np.random.default_rng(31).integers(1, 30, (6, 8)).astype(np.float64),),
    lambda: (np.array([[4.5]]),),
    lambda: (np.zeros((3, 2)),),
    raises=ValueError,
)
def assignment(cost):
    """The Hungarian method with potentials and shortest augmenting paths."""
    n, m = cost.shape
    if n > m:
        raise ValueError("there are more rows than columns")
    u = np.zeros(n + 1)
    v = np.zeros(m + 1)
    matched = np.zeros(m + 1, dtype=np.int64)
    way = np.zeros(m + 1, dtype=np.int64)
    for i in range(1, n + 1):
        matched[0] = i
        column = 0
        least = np.full(m + 1, np.inf)
        used = np.zeros(m + 1, dtype=bool)
        while True:
            used[column] = True
            row = matched[column]
            delta = np.inf
            following = 0
            for j in range(1, m + 1):
                if used[j]:
                    continue
                reduced = cost[row - 1, j - 1] - u[row] - v[j]
                if reduced < least[j]:
                    least[j] = reduced
                    way[j] = column
                if least[j] < delta:
                    delta = least[j]
                    following = j
            for j in range(m + 1):
                if used[j]:
                    u[matched[j]] += delta
                    v[j] -= delta
                else:
                    least[j] -= delta
            column = following
            if matched[column] == 0:
                break
        while column:
            matched[column] = matched[way[column]]
            column = way[column]
    columns = np.zeros(n, dtype=np.int64)
    for j in range(1, m + 1):
        if matched[j] > 0:
            columns[matched[j] - 1] = j - 1
    return columns, cost[np.arange(n), columns].sum()


@case(
    lambda: (undirected(32, 12, 0.18),),
    lambda: (undirected(33, 5, 0.0),),
    lambda: (np.ones((4, 4), dtype=np.int64) - np.eye(4, dtype=np.int64),),
)
def bridges_and_articulations(adjacency):
    """Depth-first search by a recursive closure that shares a clock through nonlocal."""
    n = len(adjacency)
    entered = np.zeros(n, dtype=np.int64)
    low = np.zeros(n, dtype=np.int64)
    is_cut = np.zeros(n, dtype=bool)
    bridges = []
    clock = 0

    def visit(u, parent):
        nonlocal clock
        clock += 1
        entered[u] = low[u] = clock
        children = 0
        for v in range(n):
            if not adjacency[u, v] or v == parent:
                continue
            if entered[v]:
                low[u] = min(low[u], entered[v])
                continue
            children += 1
            visit(v, u)
            low[u] = min(low[u], low[v])
            if low[v] > entered[u]:
                bridges.append((min(u, v), max(u, v)))
            if parent >= 0 and low[v] >= entered[u]:
                is_cut[u] = True
        if parent < 0 and children > 1:
            is_cut[u] = True

    for s in range(n):
        if entered[s] == 0:
            visit(s, -1)
    return bridges, is_cut


@case(
    lambda: (9, *edges_of(34, 9, 24), np.random.default_rng(34).random(24).astype(np.float32)),
    lambda: (3, np.array([2, 2, 0, 2]), np.array([1, 1, 2, 0]), np.array([1.0, 2.0, 3.0, 4.0], dtype=np.float32)),
    lambda: (2, np.array([0]), np.array([2]), np.array([1.0], dtype=np.float32)),
    lambda: (2, np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)),
    raises=ValueError,
)
def edges_to_csr(n, row, col, data):
    """COO to CSR by counting, columns sorted within rows, duplicates added up."""
    if row.size != col.size or row.size != data.size:
        raise ValueError("row, col and data must have one length")
    for i in range(row.size):
        if not (0 <= row[i] < n and 0 <= col[i] < n):
            raise ValueError("index out of range")
    indptr = np.zeros(n + 1, dtype=np.int32)
    for r in row:
        indptr[r + 1] += 1
    for r in range(n):
        indptr[r + 1] += indptr[r]
    cursor = indptr[:-1].copy()
    indices = np.empty(row.size, dtype=np.int32)
    values = np.empty_like(data)
    for e in range(row.size):
        at = cursor[row[e]]
        while at > indptr[row[e]] and indices[at - 1] > col[e]:
            indices[at] = indices[at - 1]
            values[at] = values[at - 1]
            at -= 1
        indices[at] = col[e]
        values[at] = data[e]
        cursor[row[e]] += 1
    kept = 0
    begin = 0
    for r in range(n):
        stop = indptr[r + 1]
        first = kept
        for e in range(begin, stop):
            if kept > first and indices[kept - 1] == indices[e]:
                values[kept - 1] += values[e]
            else:
                indices[kept] = indices[e]
                values[kept] = values[e]
                kept += 1
        begin = stop
        indptr[r + 1] = kept
    return indptr, indices[:kept].copy(), values[:kept].copy()


@case(
    lambda: (np.array([[0, 2, 1, 1], [2, 0, 1, 1], [1, 1, 0, 0], [1, 1, 0, 0]], dtype=np.uint8),),
    lambda: (np.array([[0, 1], [1, 0]], dtype=np.uint8),),
    lambda: (np.zeros((2, 2), dtype=np.uint8),),
    raises=ValueError,
)
def euler_circuit(multiplicity):
    """Hierholzer's walk on an undirected multigraph; eats a copy of the matrix."""
    left = multiplicity.astype(np.int64)
    n = left.shape[0]
    if not (left == left.T).all():
        raise ValueError("the matrix is not symmetric")
    odd = [v for v in range(n) if left[v].sum() % 2 == 1]
    if odd:
        raise ValueError("some vertex has an odd degree")
    edges = int(left.sum()) // 2
    if edges == 0:
        return []
    start = 0
    while left[start].sum() == 0:
        start += 1
    stack = [start]
    circuit = []
    while stack:
        u = stack[-1]
        for v in range(n):
            if left[u, v] > 0:
                left[u, v] -= 1
                left[v, u] -= 1
                stack.append(v)
                break
        else:
            circuit.append(stack.pop())
    if len(circuit) != edges + 1:
        raise ValueError("the edges are not connected")
    return circuit


@case(
    lambda: (8, *edges_of(41, 8, 26), np.random.default_rng(41).integers(1, 12, 26), 0, 7),
    lambda: (4, np.array([0, 1]), np.array([1, 2]), np.array([3, 4]), 0, 3),
    lambda: (2, np.array([0, 0]), np.array([1, 1]), np.array([2, 5]), 0, 1),
    lambda: (2, np.array([0]), np.array([1]), np.array([-2]), 0, 1),
    raises=ValueError,
)
def dinic_flow(n, source, target, capacity, start, stop):
    """Maximum flow by blocking flows on levelled arcs held in linked arrays; value, flow on edges, phases."""
    m = len(capacity)
    for c in capacity:
        if c < 0:
            raise ValueError("capacities must not be negative")
    head = np.full(n, -1, dtype=np.int32)
    following = np.empty(2 * m, dtype=np.int32)
    to = np.empty(2 * m, dtype=np.int32)
    left = np.zeros(2 * m, dtype=np.int64)
    for e in range(m):
        u, v = source[e], target[e]
        to[2 * e], to[2 * e + 1] = v, u
        left[2 * e] = capacity[e]
        following[2 * e] = head[u]
        head[u] = 2 * e
        following[2 * e + 1] = head[v]
        head[v] = 2 * e + 1

    level = np.empty(n, dtype=np.int32)
    queue = np.empty(n, dtype=np.int32)
    path = np.empty(n, dtype=np.int32)
    total = 0
    phases = 0
    while True:
        level.fill(-1)
        level[start] = 0
        queue[0] = start
        first, last = 0, 1
        while first < last:
            u = queue[first]
            first += 1
            arc = head[u]
            while arc >= 0:
                v = to[arc]
                if left[arc] > 0 and level[v] < 0:
                    level[v] = level[u] + 1
                    queue[last] = v
                    last += 1
                arc = following[arc]
        if level[stop] < 0:
            break
        phases += 1
        cursor = head.copy()
        depth = 0
        u = start
        while True:
            if u == stop:
                push = left[path[:depth]].min()
                for arc in path[:depth]:
                    left[arc] -= push
                    left[arc ^ 1] += push
                total += int(push)
                depth, u = 0, start
                continue
            while cursor[u] >= 0:
                arc = cursor[u]
                if left[arc] > 0 and level[to[arc]] == level[u] + 1:
                    break
                cursor[u] = following[arc]
            if cursor[u] >= 0:
                path[depth] = cursor[u]
                depth += 1
                u = to[cursor[u]]
            elif u == start:
                break
            else:
                level[u] = -1
                depth -= 1
                u = to[path[depth] ^ 1]
    flow = left[1::2].copy()
    return total, flow, phases


@case(
    lambda: (np.random.default_rng(42).random((12, 14)) < 0.25, (0, 0), (11, 13)),
    lambda: (np.zeros((5, 5), dtype=bool), (4, 0), (0, 4), True),
    lambda: (np.array([[False, True, False]]), (0, 0), (0, 2)),
    lambda: (np.array([[True, False]]), (0, 0), (0, 1)),
    raises=ValueError,
    note="the cost is a number or None",
)
def a_star_grid(walls, start, goal, diagonal=False):
    """A* on a grid with walls; the open list is a heap of tuples kept by hand. Cost (None if cut off), path, visits."""
    rows, cols = walls.shape
    if walls[start] or walls[goal]:
        raise ValueError("start and goal must be free")
    moves = [(0, 1), (1, 0), (0, -1), (-1, 0)]
    if diagonal:
        moves = moves + [(1, 1), (1, -1), (-1, 1), (-1, -1)]

    def estimate(r, c):
        dr, dc = abs(r - goal[0]), abs(c - goal[1])
        if diagonal:
            return max(dr, dc) + (2.0**0.5 - 1.0) * min(dr, dc)
        return float(dr + dc)

    heap = [(estimate(*start), 0, start[0], start[1])]
    pushed = 1
    cost = np.full((rows, cols), np.inf)
    cost[start] = 0.0
    parent = np.full((rows, cols, 2), -1, dtype=np.int32)
    closed = np.zeros((rows, cols), dtype=bool)
    visits = 0
    while heap:
        _, _, r, c = heap[0]
        tail = heap.pop()
        if heap:
            at = 0
            while (child := 2 * at + 1) < len(heap):
                if child + 1 < len(heap) and heap[child + 1] < heap[child]:
                    child += 1
                if tail <= heap[child]:
                    break
                heap[at] = heap[child]
                at = child
            heap[at] = tail
        if closed[r, c]:
            continue
        closed[r, c] = True
        visits += 1
        if (r, c) == goal:
            break
        for dr, dc in moves:
            rr, cc = r + dr, c + dc
            if not (0 <= rr < rows and 0 <= cc < cols) or walls[rr, cc] or closed[rr, cc]:
                continue
            through = cost[r, c] + (dr * dr + dc * dc) ** 0.5
            if through >= cost[rr, cc]:
                continue
            cost[rr, cc] = through
            parent[rr, cc] = r, c
            item = (float(through) + estimate(rr, cc), pushed, rr, cc)
            pushed += 1
            heap.append(item)
            at = len(heap) - 1
            while at > 0 and item < heap[(at - 1) // 2]:
                heap[at] = heap[(at - 1) // 2]
                at = (at - 1) // 2
            heap[at] = item
    if not closed[goal]:
        return None, [], visits
    path = [goal]
    r, c = goal
    while (r, c) != start:
        r, c = map(int, parent[r, c])
        path.append((r, c))
    return float(cost[goal]), path[::-1], visits
