"""Element by element, or one element after the other."""

import math
from typing import Any

import numpy as np
from spelled.kernel import MORE_WORK, SERIAL, Kernel, random, rng
from weft import prange

# ---- weights of bins -----------------------------------------------------------------------------


def _bins(n: int, bins: int) -> tuple[Any, ...]:
    return rng().integers(0, bins, n), rng().random(n), bins


histogram = Kernel("weights of bins", _bins, (500_000, 64), (50, 6))


@histogram.array
def histogram_bincount(where, weight, bins):
    return np.bincount(where, weights=weight, minlength=bins)


@histogram.array(exempt=MORE_WORK)
def histogram_masks(where, weight, bins):
    out = np.empty(bins)
    for b in range(bins):
        out[b] = weight[where == b].sum()
    return out


@histogram.array(exempt=MORE_WORK)
def histogram_multiplied(where, weight, bins):
    out = np.empty(bins)
    for b in range(bins):
        out[b] = np.sum(weight * (where == b))
    return out


@histogram.array
def histogram_add_at(where, weight, bins):
    out = np.zeros(bins)
    np.add.at(out, where, weight)
    return out


@histogram.loops(exempt=SERIAL)
def histogram_loop(where, weight, bins):
    out = np.zeros(bins)
    for i in range(where.size):
        out[where[i]] += weight[i]
    return out


@histogram.loops(exempt=SERIAL)
def histogram_loop_over_pairs(where, weight, bins):
    out = np.zeros(bins)
    for b, v in zip(where, weight):
        out[b] += v
    return out


@histogram.loops
def histogram_prange(where, weight, bins):
    out = np.zeros(bins)
    for i in prange(where.size):
        out[where[i]] += weight[i]
    return out


# ---- running sums --------------------------------------------------------------------------------

running = Kernel("running sums", lambda n: random((n,)), (1_000_000,), (50,))


@running.array
def running_cumsum(x):
    return np.cumsum(x)


@running.array
def running_method(x):
    return x.cumsum()


@running.array
def running_into_out(x):
    out = np.empty_like(x)
    np.cumsum(x, out=out)
    return out


@running.array
def running_accumulate(x):
    return np.add.accumulate(x)


@running.loops(exempt=SERIAL)
def running_total(x):
    out = np.empty_like(x)
    total = 0.0
    for i in range(x.size):
        total += x[i]
        out[i] = total
    return out


@running.loops(exempt=SERIAL)
def running_from_the_last(x):
    out = x.copy()
    for i in range(1, x.size):
        out[i] += out[i - 1]
    return out


@running.loops(exempt=SERIAL)
def running_in_a_list(x):
    out = []
    total = 0.0
    for v in x:
        total += v
        out.append(total)
    return np.array(out)


# ---- a polynomial --------------------------------------------------------------------------------

polynomial = Kernel(
    "polynomial", lambda n: (*random((n,)), np.array([0.3, -1.2, 0.7, 2.1, -0.4, 0.9])), (1_000_000,), (50,)
)


@polynomial.array
def polynomial_horner(x, c):
    return ((((c[5] * x + c[4]) * x + c[3]) * x + c[2]) * x + c[1]) * x + c[0]


@polynomial.array
def polynomial_powers(x, c):
    return c[0] + c[1] * x + c[2] * x**2 + c[3] * x**3 + c[4] * x**4 + c[5] * x**5


@polynomial.array
def polynomial_loop_over_coefficients(x, c):
    y = np.zeros_like(x)
    for k in range(c.size - 1, -1, -1):
        y = y * x + c[k]
    return y


@polynomial.array
def polynomial_in_place(x, c):
    y = np.zeros_like(x)
    for k in range(c.size - 1, -1, -1):
        y *= x
        y += c[k]
    return y


@polynomial.array
def polynomial_growing_power(x, c):
    y = np.full_like(x, c[0])
    power = np.ones_like(x)
    for k in range(1, c.size):
        power = power * x
        y += c[k] * power
    return y


@polynomial.array
def polynomial_polyval(x, c):
    return np.polyval(c[::-1], x)


@polynomial.loops
def polynomial_loops(x, c):
    y = np.empty_like(x)
    for i in range(x.size):
        value = 0.0
        for k in range(c.size - 1, -1, -1):
            value = value * x[i] + c[k]
        y[i] = value
    return y


@polynomial.loops
def polynomial_prange(x, c):
    y = np.empty_like(x)
    for i in prange(x.size):
        value = 0.0
        for k in range(c.size - 1, -1, -1):
            value = value * x[i] + c[k]
        y[i] = value
    return y


# ---- prices of options ---------------------------------------------------------------------------


def _options(n: int) -> tuple[Any, ...]:
    spot, strike, time = random((n,), (n,), (n,))
    return spot + 10, strike + 10, time + 0.1


options = Kernel("option prices", _options, (250_000,), (50,))


@options.array
def options_named(spot, strike, time):
    rate, volatility = 0.02, 0.3
    root = volatility * np.sqrt(time)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility**2) * time) / root
    d2 = d1 - root
    n1 = 1.0 / (1.0 + np.exp(-1.702 * d1))
    n2 = 1.0 / (1.0 + np.exp(-1.702 * d2))
    return spot * n1 - strike * np.exp(-rate * time) * n2


@options.array
def options_one_expression(spot, strike, time):
    return spot / (
        1.0 + np.exp(-1.702 * ((np.log(spot / strike) + 0.065 * time) / (0.3 * np.sqrt(time))))
    ) - strike * np.exp(-0.02 * time) / (
        1.0 + np.exp(-1.702 * ((np.log(spot / strike) + 0.065 * time) / (0.3 * np.sqrt(time)) - 0.3 * np.sqrt(time)))
    )


@options.array
def options_in_place(spot, strike, time):
    root = np.sqrt(time)
    root *= 0.3
    d = spot / strike
    np.log(d, out=d)
    d += 0.065 * time
    d /= root
    first = np.exp(-1.702 * d)
    first += 1.0
    d -= root
    second = np.exp(-1.702 * d)
    second += 1.0
    discount = np.exp(-0.02 * time)
    discount *= strike
    discount /= second
    out = spot / first
    out -= discount
    return out


def _logistic(d):
    return 1.0 / (1.0 + np.exp(-1.702 * d))


@options.array
def options_with_a_function(spot, strike, time):
    root = 0.3 * np.sqrt(time)
    d1 = (np.log(spot / strike) + 0.065 * time) / root
    return spot * _logistic(d1) - strike * np.exp(-0.02 * time) * _logistic(d1 - root)


@options.loops
def options_loop(spot, strike, time):
    out = np.empty(spot.size)
    for i in range(spot.size):
        root = 0.3 * math.sqrt(time[i])
        d1 = (math.log(spot[i] / strike[i]) + 0.065 * time[i]) / root
        n1 = 1.0 / (1.0 + math.exp(-1.702 * d1))
        n2 = 1.0 / (1.0 + math.exp(-1.702 * (d1 - root)))
        out[i] = spot[i] * n1 - strike[i] * math.exp(-0.02 * time[i]) * n2
    return out


@options.loops
def options_prange(spot, strike, time):
    out = np.empty(spot.size)
    for i in prange(spot.size):
        root = 0.3 * np.sqrt(time[i])
        d1 = (np.log(spot[i] / strike[i]) + 0.065 * time[i]) / root
        n1 = 1.0 / (1.0 + np.exp(-1.702 * d1))
        n2 = 1.0 / (1.0 + np.exp(-1.702 * (d1 - root)))
        out[i] = spot[i] * n1 - strike[i] * np.exp(-0.02 * time[i]) * n2
    return out


# ---- what holds where a mask is true -------------------------------------------------------------

masked = Kernel("masked update", lambda n: (random((n,))[0] - 0.5,), (1_000_000,), (50,))


@masked.array
def masked_where(x):
    return np.where(x < 0.0, 0.1 * x, x)


@masked.array
def masked_store(x):
    y = x.copy()
    y[x < 0.0] = 0.1 * x[x < 0.0]
    return y


@masked.array
def masked_in_place(x):
    y = x.copy()
    y[y < 0.0] *= 0.1
    return y


@masked.array
def masked_multiplied(x):
    negative = x < 0.0
    return x * ~negative + 0.1 * x * negative


@masked.array
def masked_two_parts(x):
    return np.maximum(x, 0.0) + 0.1 * np.minimum(x, 0.0)


@masked.array
def masked_by_positions(x):
    y = x.copy()
    places = np.nonzero(x < 0.0)[0]
    y[places] = 0.1 * x[places]
    return y


@masked.loops
def masked_loop(x):
    y = np.empty_like(x)
    for i in range(x.size):
        y[i] = 0.1 * x[i] if x[i] < 0.0 else x[i]
    return y


@masked.loops
def masked_loop_with_if(x):
    y = x.copy()
    for i in range(x.size):
        if y[i] < 0.0:
            y[i] *= 0.1
    return y


@masked.loops
def masked_prange(x):
    y = np.empty_like(x)
    for i in prange(x.size):
        if x[i] < 0.0:
            y[i] = 0.1 * x[i]
        else:
            y[i] = x[i]
    return y
