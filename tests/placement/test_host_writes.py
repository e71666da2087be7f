"""What the host writes while a device has a copy of it: the device sees it, and not before it should."""

import numpy as np
import weft
from support import same


def check(f, *arguments, device):
    ours, theirs = ([a.copy() if isinstance(a, np.ndarray) else a for a in arguments] for _ in range(2))
    wanted = f(*theirs)
    compiled = weft.njit(f)
    with weft.device_context(device):
        same(compiled(*ours), wanted)
    for a, b in zip(ours, theirs):
        np.testing.assert_array_equal(a, b)


# spec: A8
def test_an_element(device):
    def f(x):
        a = x + 1
        x[0] = 100.0
        return a + x

    check(f, np.ones(1000), device=device)


# spec: A8
def test_all_of_it(device):
    def f(x):
        a = x + 1
        x[:] = 100.0
        return a + x

    check(f, np.ones(1000), device=device)


# spec: A8
def test_in_turns(device):
    def f(x, n):
        total = 0.0
        for i in range(n):
            total += (x * 2).sum()
            x[i] = 7.0
        return total

    check(f, np.ones(100), 5, device=device)


# spec: A8
def test_a_loop_on_the_host_between_two_uses(device):
    def f(x, y):
        a = x * 2 + y
        for i in range(x.size):
            x[i] = i
            y[x.size - 1 - i] += x[i]
        return a + x * y

    check(f, np.ones(500), np.ones(500), device=device)


# spec: A8
def test_a_view_that_shares_its_memory(device):
    def f(x):
        part = x[::2]
        a = part * 3
        x[2:6] = -1.0
        return a + part, part + x[1::2]

    check(f, np.arange(40.0), device=device)


# spec: A8
def test_columns_one_after_the_other(device):
    """Columns lie in each other: what was brought along with one is not the next one."""

    def f(x):
        z = np.zeros(x.shape)
        z[:, 0] = x[:, 0]
        for i in range(1, x.shape[1]):
            z[:, i] = z[:, i - 1] + x[:, i]
        return z, np.cumsum(x, axis=1), np.cumsum(x)

    check(f, np.arange(60.0).reshape(5, 12), device=device)


# spec: A8
def test_a_mask(device):
    def f(x):
        a = x * 2
        x[x > 3] = 0.0
        return a - x

    check(f, np.arange(50.0), device=device)


# spec: A8
def test_a_function_that_calls_itself(device):
    def fill(x, n):
        if n == 0:
            return 0
        x[n] = n
        return fill(x, n - 1) + 1

    def f(x):
        a = x + 1
        count = fill(x, 4)
        return a + x, count

    check(f, np.ones(50), device=device)


# spec: A8
def test_arrays_of_turns_that_run_at_once(device):
    def f(x):
        a = x * 2
        sums = [0.0 for _ in range(0)]
        for v in x:
            y = np.zeros(3)
            y[1] = v
            y[2:] = 5.0
            sums.append(float(y.sum()))
        x[0] = 9.0
        return a + x, np.array(sums)

    check(f, np.arange(3000.0), device=device)


# spec: A8
def test_a_product_and_what_follows_it(device):
    """One element stays on the host, where each piece of a product is worked on as soon as it is there."""

    def covariance(x):
        c = x - 0.5
        return c.T @ c / 9

    def layer(x, w, into):
        c = x - 0.5
        into[:] = np.maximum(c @ w + 1.0, 0.0)
        return c, into + c[0, 0]

    check(covariance, np.arange(10.0).reshape(10, 1), device=device)
    check(layer, np.arange(3.0).reshape(1, 3), np.ones((3, 1)), np.zeros((1, 1)), device=device)


# spec: A8
def test_products_of_numbers(device):
    def f(a, b):
        x = np.array((a, b, 1.5))
        return np.cov(x) + x, np.cov(a * x)

    check(f, -2.1, 4.0, device=device)
