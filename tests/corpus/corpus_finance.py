"""Finance: option pricing, interest, bonds, portfolios, trading rules and risk."""

import math

from _case import case

import numpy as np


def prices(n, seed=0):
    return 100.0 * np.exp(np.cumsum(np.random.default_rng(seed).normal(0.0005, 0.02, n)))


def normals(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def returns(*shape, seed=0):
    return np.random.default_rng(seed).normal(0.001, 0.02, shape)


def normal_cdf(x):
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


def normal_pdf(x):
    return math.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)


@case(
    lambda: (100.0, 95.0, 0.5, 0.03, 0.25),
    lambda: (100.0, 110.0, 2.0, 0.01, 0.4, 0.02, False),
    lambda: (100.0, 90.0, 0.0, 0.03, 0.25),
    lambda: (100.0, 90.0, 1.0, 0.03, -0.25),
    raises=ValueError,
)
def black_scholes_greeks(spot, strike, expiry, rate, volatility, dividend=0.0, call=True):
    """Price, delta, gamma, vega, theta and rho of a European option."""
    if volatility < 0 or spot <= 0 or strike <= 0:
        raise ValueError("spot, strike and volatility must be positive")
    sign = 1.0 if call else -1.0
    if expiry <= 0 or volatility == 0:
        intrinsic = max(sign * (spot - strike), 0.0)
        delta = sign if intrinsic > 0 else 0.0
        return intrinsic, delta, 0.0, 0.0, 0.0, 0.0
    root = math.sqrt(expiry)
    d1 = (math.log(spot / strike) + (rate - dividend + 0.5 * volatility**2) * expiry) / (volatility * root)
    d2 = d1 - volatility * root
    carry = math.exp(-dividend * expiry)
    discount = math.exp(-rate * expiry)
    price = sign * (spot * carry * normal_cdf(sign * d1) - strike * discount * normal_cdf(sign * d2))
    delta = sign * carry * normal_cdf(sign * d1)
    gamma = carry * normal_pdf(d1) / (spot * volatility * root)
    vega = spot * carry * normal_pdf(d1) * root
    theta = (
        -spot * carry * normal_pdf(d1) * volatility / (2.0 * root)
        - sign * rate * strike * discount * normal_cdf(sign * d2)
        + sign * dividend * spot * carry * normal_cdf(sign * d1)
    )
    rho = sign * strike * expiry * discount * normal_cdf(sign * d2)
    return price, delta, gamma, vega, theta, rho


@case(
    lambda: (10.5, 100.0, 100.0, 1.0, 0.05),
    lambda: (40.1, 100.0, 60.0, 0.1, 0.0),
    lambda: (100.5, 100.0, 60.0, 0.1, 0.0),
    raises=ValueError,
)
def implied_volatility(target, spot, strike, expiry, rate, tol=1e-10):
    """Newton's method on vega with bisection as a safety net; returns volatility and iterations."""
    discount = math.exp(-rate * expiry)
    lower_bound = max(spot - strike * discount, 0.0)
    if not lower_bound <= target < spot:
        raise ValueError("price outside the no-arbitrage bounds")

    def price_and_vega(sigma):
        root = sigma * math.sqrt(expiry)
        d1 = (math.log(spot / strike) + rate * expiry) / root + 0.5 * root
        price = spot * normal_cdf(d1) - strike * discount * normal_cdf(d1 - root)
        return price, spot * normal_pdf(d1) * math.sqrt(expiry)

    low, high = 1e-4, 5.0
    sigma = math.sqrt(2.0 * math.pi / expiry) * target / spot
    sigma = min(max(sigma, 0.01), 2.0)
    for iteration in range(1, 101):
        price, vega = price_and_vega(sigma)
        gap = price - target
        if abs(gap) < tol:
            return sigma, iteration
        if gap > 0:
            high = sigma
        else:
            low = sigma
        if vega > 1e-8:
            candidate = sigma - gap / vega
        else:
            candidate = -1.0
        sigma = candidate if low < candidate < high else 0.5 * (low + high)
    return sigma, 100


@case(
    lambda: (100.0, 105.0, 1.0, 0.04, 0.3, 40),
    lambda: (100.0, 105.0, 1.0, 0.04, 0.3, 25, "call", False),
    lambda: (50.0, 50.0, 0.5, 0.0, 0.2, 1),
    lambda: (50.0, 50.0, 0.5, 0.0, 0.2, 5, "straddle"),
    raises=ValueError,
)
def binomial_tree(spot, strike, expiry, rate, volatility, steps, kind="put", american=True):
    """Cox-Ross-Rubinstein; value, delta and how many nodes are exercised early."""
    dt = expiry / steps
    up = math.exp(volatility * math.sqrt(dt))
    down = 1.0 / up
    growth = math.exp(rate * dt)
    p = (growth - down) / (up - down)
    if kind == "call":
        sign = 1.0
    elif kind == "put":
        sign = -1.0
    else:
        raise ValueError("kind must be call or put")
    assert 0.0 < p < 1.0, "no risk-neutral probability"
    values = np.empty(steps + 1)
    for j in range(steps + 1):
        terminal = spot * up ** (2 * j - steps)
        values[j] = max(sign * (terminal - strike), 0.0)
    early = 0
    delta = 0.0
    for level in range(steps - 1, -1, -1):
        if level == 0:
            delta = (values[1] - values[0]) / (spot * (up - down))
        for j in range(level + 1):
            hold = (p * values[j + 1] + (1.0 - p) * values[j]) / growth
            if american:
                exercise = sign * (spot * up ** (2 * j - level) - strike)
                if exercise > hold:
                    hold = exercise
                    early += 1
            values[j] = hold
    return values[0], delta, early


@case(
    lambda: (normals(300), 100.0, 105.0, 1.0, 0.02, 0.2),
    lambda: (normals(1), 100.0, 90.0, 0.5, 0.0, 0.3),
    lambda: (np.empty(0), 100.0, 90.0, 0.5, 0.0, 0.3),
    raises=ValueError,
)
def monte_carlo_european(z, spot, strike, expiry, rate, volatility):
    """Antithetic pairs with the stock as control variate; price, standard error and the coefficient used."""
    n = z.size
    if n == 0:
        raise ValueError("no random numbers")
    drift = (rate - 0.5 * volatility**2) * expiry
    scale = volatility * math.sqrt(expiry)
    discount = math.exp(-rate * expiry)
    up = spot * np.exp(drift + scale * z)
    down = spot * np.exp(drift - scale * z)
    payoff = 0.5 * (np.maximum(up - strike, 0.0) + np.maximum(down - strike, 0.0)) * discount
    control = 0.5 * (up + down) * discount
    payoff_mean = payoff.mean()
    control_mean = control.mean()
    covariance = np.sum((payoff - payoff_mean) * (control - control_mean))
    spread = np.sum((control - control_mean) ** 2)
    beta = covariance / spread if spread > 0 else 0.0
    adjusted = payoff - beta * (control - spot)
    price = adjusted.mean()
    if n > 1:
        error = math.sqrt(((adjusted - price) ** 2).sum() / (n - 1) / n)
    else:
        error = math.nan
    return price, error, beta


@case(
    lambda: (normals(40, 12), 100.0, 100.0, 0.02, 0.3, 1.0),
    lambda: (normals(5, 1), 100.0, 100.0, 0.0, 0.3, 1.0, "geometric"),
    lambda: (normals(20, 6).astype(np.float32), 100.0, 95.0, 0.01, 0.2, 0.5, "lookback"),
    lambda: (normals(5, 1), 100.0, 100.0, 0.0, 0.3, 1.0, "harmonic"),
    raises=ValueError,
)
def path_dependent_option(z, spot, strike, rate, volatility, expiry, average="arithmetic"):
    """Asian and lookback calls along given normal shocks, path by path."""
    paths, steps = z.shape
    dt = expiry / steps
    drift = (rate - 0.5 * volatility * volatility) * dt
    diffusion = volatility * math.sqrt(dt)
    total = 0.0
    total_square = 0.0
    for i in range(paths):
        s = spot
        mean = 0.0
        log_mean = 0.0
        lowest = spot
        for j in range(steps):
            s *= math.exp(drift + diffusion * z[i, j])
            mean += s
            log_mean += math.log(s)
            lowest = min(lowest, s)
        if average == "arithmetic":
            payoff = max(mean / steps - strike, 0.0)
        elif average == "geometric":
            payoff = max(math.exp(log_mean / steps) - strike, 0.0)
        elif average == "lookback":
            payoff = s - lowest
        else:
            raise ValueError("average must be arithmetic, geometric or lookback")
        total += payoff
        total_square += payoff**2
    mean = total / paths
    variance = max(total_square / paths - mean * mean, 0.0)
    discount = math.exp(-rate * expiry)
    return discount * mean, discount * math.sqrt(variance / paths)


@case(
    lambda: (normals(2, 30, 24), 100.0, 0.04, 1.5, 0.04, 0.5, -0.7, 1.0),
    lambda: (normals(2, 1, 1), 100.0, 0.04, 1.5, 0.04, 0.5, 0.0, 0.25),
    lambda: (normals(2, 2, 2), 100.0, 0.04, 1.5, 0.04, 0.5, -1.7, 1.0),
    raises=ValueError,
)
def heston_paths(z, spot, v0, kappa, theta, xi, rho, expiry, rate=0.01):
    """Stochastic volatility with full truncation, all paths at once; final prices and variances."""
    if abs(rho) > 1:
        raise ValueError(f"correlation {rho} out of range")
    _, paths, steps = z.shape
    dt = expiry / steps
    root = np.sqrt(dt)
    log_price = np.full(paths, math.log(spot))
    variance = np.full(paths, v0)
    truncated = 0
    w1 = z[0]
    w2 = rho * z[0] + np.sqrt(1.0 - rho**2) * z[1]
    for k in range(steps):
        positive = np.maximum(variance, 0.0)
        truncated += int(np.sum(variance < 0.0))
        volatility = np.sqrt(positive)
        log_price += (rate - 0.5 * positive) * dt + volatility * root * w1[:, k]
        variance += kappa * (theta - positive) * dt + xi * volatility * root * w2[:, k]
    final = np.exp(log_price)
    call = np.exp(-rate * expiry) * np.maximum(final - spot, 0.0).mean()
    feller = 2 * kappa * theta > xi**2
    return final, variance, call, truncated, feller


@case(
    lambda: ([-1000.0, 300.0, 420.0, 680.0],),
    lambda: ([-100.0, 110.0], 0.5),
    lambda: ([100.0, 200.0],),
    raises=ValueError,
)
def internal_rate_of_return(flows, guess=0.1):
    """The rate at which the cash flows are worth nothing today; Newton, then bisection when it wanders off."""
    if all(f >= 0 for f in flows) or all(f <= 0 for f in flows):
        raise ValueError("cash flows must change sign")

    def value(rate):
        total = 0.0
        for flow in reversed(flows):
            total = total / (1.0 + rate) + flow
        return total

    def slope(rate):
        return sum(-k * flow / (1.0 + rate) ** (k + 1) for k, flow in enumerate(flows))

    rate = guess
    for _ in range(30):
        v = value(rate)
        if abs(v) < 1e-10:
            return rate
        s = slope(rate)
        if s == 0.0:
            break
        rate -= v / s
        if rate <= -1.0:
            break
    low, high = -0.99, 1.0
    while value(low) * value(high) > 0 and high < 1e6:
        high *= 2.0
    for _ in range(200):
        rate = 0.5 * (low + high)
        if value(low) * value(rate) <= 0:
            high = rate
        else:
            low = rate
    return rate


@case(
    lambda: (1000.0, 0.05, 10.0, 2, 0.04),
    lambda: (100.0, 0.0, 1.0, 1, 0.1),
    lambda: (100.0, 0.03, 2.0, 3, 0.1),
    raises=ValueError,
)
def bond_analytics(face, coupon, years, frequency, yield_rate):
    """Price, Macaulay and modified duration, convexity, and the table of discounted flows."""
    if frequency not in (1, 2, 4, 12):
        raise ValueError("frequency must be 1, 2, 4 or 12")
    periods = round(years * frequency)
    rate = yield_rate / frequency
    payment = face * coupon / frequency
    table = np.zeros((periods, 3))
    price = 0.0
    weighted = 0.0
    curved = 0.0
    for k in range(1, periods + 1):
        flow = payment
        if k == periods:
            flow += face
        present = flow / (1.0 + rate) ** k
        price += present
        weighted += k / frequency * present
        curved += k * (k + 1) * present
        table[k - 1] = k / frequency, flow, present
    macaulay = weighted / price
    modified = macaulay / (1.0 + rate)
    convexity = curved / (price * (1.0 + rate) ** 2 * frequency**2)
    shock = 0.01
    estimate = price * (1.0 - modified * shock + 0.5 * convexity * shock**2)
    return price, macaulay, modified, convexity, estimate, table


@case(
    lambda: (200000.0, 0.045, 24),
    lambda: (1200.0, 0.0, 12),
    lambda: (5000.0, 0.06, 36, 150.0),
    lambda: (5000.0, 0.06, 0),
    raises=ValueError,
)
def amortisation(principal, annual_rate, months, extra=0.0):
    """Monthly schedule rounded to cents: interest, principal, balance; with optional extra payments."""
    if months <= 0:
        raise ValueError("months must be positive")
    rate = annual_rate / 12
    if rate == 0:
        payment = principal / months
    else:
        factor = (1 + rate) ** months
        payment = principal * rate * factor / (factor - 1)
    payment = round(payment, 2)
    schedule = np.zeros((months, 3))
    balance = principal
    paid_interest = 0.0
    month = 0
    while balance > 0.005 and month < months:
        interest = round(balance * rate, 2)
        toward = payment - interest + extra
        if toward > balance or month == months - 1:
            toward = balance
        balance -= toward
        paid_interest += interest
        schedule[month] = interest, toward, balance
        month += 1
    return schedule[:month], payment, paid_interest


@case(
    lambda: (returns(60),),
    lambda: (returns(5).astype(np.float32), 0.9),
    lambda: (returns(0),),
    lambda: (returns(5), 1.2),
    raises=ValueError,
)
def ewma_volatility(r, decay=0.94, periods=252):
    """Exponentially weighted volatility, annualised, and the dates on which it doubled within ten days."""
    if not 0.0 < decay < 1.0:
        raise ValueError("decay must lie between zero and one")
    n = r.size
    variance = np.zeros(n)
    if n == 0:
        return variance, []
    variance[0] = r[0] ** 2
    for t in range(1, n):
        variance[t] = decay * variance[t - 1] + (1.0 - decay) * r[t] ** 2
    volatility = np.sqrt(variance * periods)
    alarms = []
    for t in range(10, n):
        window = volatility[t - 10 : t]
        if volatility[t] > 2.0 * window.min():
            alarms.append(t)
    return volatility, alarms


@case(
    lambda: (returns(80), 1e-5, 0.1, 0.85),
    lambda: (returns(3), 1e-5, 0.0, 0.0, 2),
    lambda: (returns(10), 1e-5, 0.3, 0.8),
    raises=ValueError,
)
def garch_likelihood(r, omega, alpha, beta, horizon=5):
    """GARCH(1,1): negative log-likelihood, last variance, and the forecast path to the long-run level."""
    if omega <= 0 or alpha < 0 or beta < 0:
        raise ValueError("parameters must be positive")
    persistence = alpha + beta
    if persistence >= 1:
        raise ValueError("process is not stationary")
    long_run = omega / (1.0 - persistence)
    centred = r - r.mean()
    h = long_run
    loglik = 0.0
    standardised = np.empty_like(centred)
    for t, e in enumerate(centred):
        if t > 0:
            h = omega + alpha * centred[t - 1] ** 2 + beta * h
        loglik -= 0.5 * (math.log(2.0 * math.pi) + math.log(h) + e * e / h)
        standardised[t] = e / math.sqrt(h)
    forecast = np.empty(horizon)
    ahead = omega + alpha * centred[-1] ** 2 + beta * h
    for k in range(horizon):
        forecast[k] = ahead
        ahead = omega + persistence * ahead
    return -loglik, h, forecast, standardised


@case(lambda: (prices(60),), lambda: (np.array([5.0, 4.0, 3.0]),), lambda: (np.array([7.0]),))
def drawdowns(curve):
    """Deepest drawdown with its dates, the longest time under water, and the whole underwater curve."""
    n = len(curve)
    peak = curve[0]
    peak_at = 0
    worst = 0.0
    start = end = 0
    longest = current = 0
    under = np.zeros(n)
    for t in range(n):
        if curve[t] >= peak:
            peak = curve[t]
            peak_at = t
            longest = max(longest, current)
            current = 0
        else:
            current += 1
        depth = curve[t] / peak - 1.0
        under[t] = depth
        if depth < worst:
            worst = depth
            start, end = peak_at, t
    longest = max(longest, current)
    recovered = n > end and bool(np.any(curve[end:] >= curve[start]))
    return worst, (start, end), longest, recovered, under


@case(
    lambda: (prices(90), 5, 20),
    lambda: (prices(90, 3), 3, 10, 0.001, True),
    lambda: (prices(4), 2, 10),
    lambda: (prices(30), 10, 5),
    raises=ValueError,
)
def crossover_backtest(price, fast, slow, cost=0.0005, short=False):
    """Two moving averages: trades when they cross, pays costs, keeps equity and a list of trades."""
    if fast >= slow:
        raise ValueError("fast window must be shorter than slow window")
    n = price.size
    equity = np.ones(n)
    trades = []
    position = 0
    entry = 0.0
    fast_sum = slow_sum = 0.0
    for t in range(n):
        fast_sum += price[t]
        slow_sum += price[t]
        if t >= fast:
            fast_sum -= price[t - fast]
        if t >= slow:
            slow_sum -= price[t - slow]
        if t > 0:
            equity[t] = equity[t - 1] * (1.0 + position * (price[t] / price[t - 1] - 1.0))
        if t < slow - 1:
            continue
        fast_average, slow_average = fast_sum / fast, slow_sum / slow
        if fast_average > slow_average:
            wanted = 1
        elif short:
            wanted = -1
        else:
            wanted = 0
        if wanted != position:
            if position != 0:
                trades.append((t, position * (price[t] / entry - 1.0)))
            equity[t] *= 1.0 - cost * abs(wanted - position)
            position = wanted
            entry = price[t]
    wins = sum(1 for _, gain in trades if gain > 0)
    rate = wins / len(trades) if len(trades) > 0 else 0.0
    daily = equity[1:] / equity[:-1] - 1.0
    spread = np.sqrt(((daily - daily.mean()) ** 2).mean())
    sharpe = float(daily.mean() / spread * np.sqrt(252.0)) if spread > 0 else 0.0
    return equity, len(trades), rate, sharpe


@case(lambda: (prices(50),), lambda: (np.linspace(1.0, 2.0, 20), 5), lambda: (prices(5),))
def relative_strength(price, window=14):
    """Wilder's index; NaN while the window fills."""
    n = price.shape[0]
    rsi = np.full(n, np.nan)
    if n <= window:
        return rsi
    change = price[1:] - price[:-1]
    gains = np.where(change > 0, change, 0.0)
    losses = np.where(change < 0, -change, 0.0)
    average_gain = gains[:window].mean()
    average_loss = losses[:window].mean()

    def index(gain, loss):
        if loss == 0.0:
            return 100.0 if gain > 0.0 else 50.0
        return 100.0 - 100.0 / (1.0 + gain / loss)

    rsi[window] = index(average_gain, average_loss)
    for t in range(window, n - 1):
        average_gain = (average_gain * (window - 1) + gains[t]) / window
        average_loss = (average_loss * (window - 1) + losses[t]) / window
        rsi[t + 1] = index(average_gain, average_loss)
    return rsi


@case(lambda: (prices(60),), lambda: (prices(40, 2), 3, 6, 4), lambda: (prices(1),))
def macd(price, fast=12, slow=26, signal=9):
    """Moving-average convergence and divergence, with the days on which the signal is crossed."""

    def ema(x, span):
        alpha = 2.0 / (span + 1.0)
        out = np.empty(x.size)
        out[0] = x[0]
        for i in range(1, x.size):
            out[i] = alpha * x[i] + (1.0 - alpha) * out[i - 1]
        return out

    line = ema(price, fast) - ema(price, slow)
    trigger = ema(line, signal)
    histogram = line - trigger
    up = []
    down = []
    for t in range(1, len(histogram)):
        if histogram[t - 1] <= 0 < histogram[t]:
            up.append(t)
        elif histogram[t - 1] >= 0 > histogram[t]:
            down.append(t)
    last_up = up[-1] if up else -1
    last_down = down[-1] if down else -1
    return line, trigger, histogram, (len(up), last_up), (len(down), last_down)


@case(lambda: (prices(40), 10), lambda: (prices(12), 5, 1.0), lambda: (prices(3), 5))
def bollinger(price, window, width=2.0):
    """Rolling mean and bands by running sums, and where the price is in them."""
    n = price.size
    middle = np.full(n, np.nan)
    upper = np.full_like(middle, np.nan)
    lower = np.full_like(middle, np.nan)
    position = np.zeros(n, dtype=np.int8)
    total = total_square = 0.0
    for t in range(n):
        total += price[t]
        total_square += price[t] * price[t]
        if t >= window:
            total -= price[t - window]
            total_square -= price[t - window] ** 2
        if t + 1 < window:
            continue
        mean = total / window
        deviation = math.sqrt(max(total_square / window - mean * mean, 0.0))
        middle[t] = mean
        upper[t] = mean + width * deviation
        lower[t] = mean - width * deviation
        if price[t] > upper[t]:
            position[t] = 1
        elif price[t] < lower[t]:
            position[t] = -1
    return middle, upper, lower, position


@case(
    lambda: (np.array([[0.04, 0.006, 0.01], [0.006, 0.09, 0.02], [0.01, 0.02, 0.0625]]),),
    lambda: (np.array([[0.04]]),),
    lambda: (np.array([[0.04, 0.0], [0.0, 0.0]]),),
    raises=ValueError,
)
def risk_parity(covariance, iterations=200):
    """Weights with equal contributions to risk by cyclical coordinate descent."""
    n = covariance.shape[0]
    if np.any(np.array([covariance[i, i] for i in range(n)]) <= 0):
        raise ValueError("variances must be positive")
    weights = np.ones(n) / n
    target = 1.0 / n
    used = 0
    for used in range(1, iterations + 1):
        before = weights.copy()
        for i in range(n):
            cross = 0.0
            for j in range(n):
                if j != i:
                    cross += covariance[i, j] * weights[j]
            a = covariance[i, i]
            risk = np.sqrt(weights @ covariance @ weights)
            weights[i] = (-cross + math.sqrt(cross * cross + 4.0 * a * target * risk)) / (2.0 * a)
        if np.abs(weights - before).max() < 1e-12:
            break
    weights /= weights.sum()
    sigma = float(np.sqrt(weights @ covariance @ weights))
    contributions = weights * (covariance @ weights) / sigma
    return weights, contributions, sigma, used < iterations


@case(
    lambda: (returns(30, 3), 15),
    lambda: (returns(10, 2), 5, 0.0, 0.6),
    lambda: (returns(10, 1), 3),
    lambda: (returns(10, 2), 3, 0.0, 0.2),
    raises=ValueError,
)
def long_only_portfolio(history, steps, risk_free=0.0, cap=1.0):
    """Maximises the Sharpe ratio by projected gradient on the simplex with a cap on each weight."""
    periods, assets = history.shape
    if cap * assets < 1.0:
        raise ValueError("caps leave money over")
    mean = history.mean(axis=0) - risk_free
    centred = history - history.mean(axis=0)
    covariance = centred.T @ centred / (periods - 1)

    def sharpe(w):
        return np.dot(w, mean) / np.sqrt(w @ covariance @ w)

    def project(w):
        low, high = w.min() - 1.0, w.max()
        for _ in range(50):
            level = 0.5 * (low + high)
            if np.sum(np.minimum(np.maximum(w - level, 0.0), cap)) > 1.0:
                low = level
            else:
                high = level
        return np.minimum(np.maximum(w - 0.5 * (low + high), 0.0), cap)

    w = project(np.ones(assets) / assets)
    best, best_value = w, sharpe(w)
    rate = 0.5
    for _ in range(steps):
        variance = w @ covariance @ w
        gradient = mean / np.sqrt(variance) - np.dot(w, mean) * (covariance @ w) / variance**1.5
        trial = project(w + rate * gradient)
        value = sharpe(trial)
        if value > best_value + 1e-9:
            best, best_value = trial, value
            w = trial
        else:
            rate *= 0.5
            if rate < 1e-6:
                break
    return best, best_value


@case(
    lambda: (
        np.array([100, 101, 99, 102, 100, 98, 100], dtype=np.int64),
        np.array([10, 5, 7, 4, -12, -6, -30], dtype=np.int64),
    ),
    lambda: (np.array([50], dtype=np.int64), np.array([3], dtype=np.int64)),
    lambda: (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)),
    lambda: (np.array([100, 100], dtype=np.int64), np.array([1, 0], dtype=np.int64)),
    raises=ValueError,
)
def match_orders(price, quantity):
    """Limit order book: buys are positive, sells negative; best price first, then time. Fills and what rests."""
    bids = []
    asks = []
    fills = []
    volume = 0
    turnover = 0
    for number in range(len(price)):
        limit = int(price[number])
        wanted = int(quantity[number])
        if wanted == 0:
            raise ValueError("order without quantity")
        if wanted > 0:
            while wanted > 0 and len(asks) > 0:
                best = 0
                for k in range(1, len(asks)):
                    if asks[k][0] < asks[best][0]:
                        best = k
                ask_price, ask_size, ask_number = asks[best]
                if ask_price > limit:
                    break
                traded = min(wanted, ask_size)
                fills.append((number, ask_number, ask_price, traded))
                wanted -= traded
                volume += traded
                turnover += traded * ask_price
                if traded == ask_size:
                    asks.pop(best)
                else:
                    asks[best] = (ask_price, ask_size - traded, ask_number)
            if wanted > 0:
                bids.append((limit, wanted, number))
        else:
            wanted = -wanted
            while wanted > 0 and len(bids) > 0:
                best = 0
                for k in range(1, len(bids)):
                    if bids[k][0] > bids[best][0]:
                        best = k
                bid_price, bid_size, bid_number = bids[best]
                if bid_price < limit:
                    break
                traded = min(wanted, bid_size)
                fills.append((bid_number, number, bid_price, traded))
                wanted -= traded
                volume += traded
                turnover += traded * bid_price
                if traded == bid_size:
                    bids.pop(best)
                else:
                    bids[best] = (bid_price, bid_size - traded, bid_number)
            if wanted > 0:
                asks.append((limit, wanted, number))
    resting_bids = sum(size for _, size, _ in bids)
    resting_asks = sum(size for _, size, _ in asks)
    vwap = turnover / volume if volume else 0.0
    return fills, volume, vwap, resting_bids, resting_asks


@case(
    lambda: ([10.0, 5.0, -8.0, -4.0], [100.0, 110.0, 120.0, 105.0]),
    lambda: ([1.0], [5.0]),
    lambda: ([1.0, -2.0], [5.0, 6.0]),
    lambda: ([1.0, -2.0], [5.0]),
    raises=ValueError,
)
def fifo_profit(quantities, prices):
    """Realised and unrealised profit of trades, first in, first out."""
    if len(quantities) != len(prices):
        raise ValueError("one price for each quantity, please")
    lots = []
    realised = 0.0
    for quantity, price in zip(quantities, prices):
        if quantity > 0:
            lots.append((quantity, price))
            continue
        to_sell = -quantity
        while to_sell > 1e-12:
            if not lots:
                raise ValueError("sold more than held")
            held, cost = lots[0]
            sold = min(held, to_sell)
            realised += sold * (price - cost)
            to_sell -= sold
            if held - sold > 1e-12:
                lots[0] = (held - sold, cost)
            else:
                del lots[0]
    last = prices[-1]
    unrealised = sum(q * (last - c) for q, c in lots)
    held = sum(q for q, _ in lots)
    return realised, float(unrealised), float(held)


@case(
    lambda: (returns(200), 0.95),
    lambda: (returns(200, seed=5), 0.99, 1000000.0, 10),
    lambda: (np.array([-0.02]), 0.9),
    lambda: (returns(5), 1.0),
    raises=ValueError,
)
def value_at_risk(r, level, capital=1.0, horizon=1):
    """Historical, normal and Cornish-Fisher value at risk, and the expected shortfall."""
    if not 0.5 < level < 1.0:
        raise ValueError(f"level {level} must lie in (0.5, 1)")
    n = r.size
    losses = -r
    ordered = sorted([float(x) for x in losses])
    rank = level * (n - 1)
    below = int(rank)
    above = min(below + 1, n - 1)
    historical = ordered[below] + (rank - below) * (ordered[above] - ordered[below])
    tail = [x for x in ordered if x >= historical]
    shortfall = sum(tail) / len(tail)
    mean = losses.mean()
    deviation = losses - mean
    sigma = math.sqrt((deviation**2).sum() / max(n - 1, 1))
    if sigma > 0:
        skew = (deviation**3).mean() / sigma**3
        kurtosis = (deviation**4).mean() / sigma**4 - 3.0
    else:
        skew = kurtosis = 0.0
    # The normal quantile by bisection on the distribution function.
    low, high = 0.0, 10.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        if normal_cdf(middle) < level:
            low = middle
        else:
            high = middle
    z = 0.5 * (low + high)
    expansion = (
        z + (z * z - 1.0) * skew / 6.0 + (z**3 - 3.0 * z) * kurtosis / 24.0 - (2.0 * z**3 - 5.0 * z) * skew**2 / 36.0
    )
    scale = capital * math.sqrt(horizon)
    normal = scale * (mean + z * sigma)
    modified = scale * (mean + expansion * sigma)
    return scale * historical, normal, modified, scale * shortfall


@case(
    lambda: (100.0, 1.0, 0.05, 0.3, 20, 10),
    lambda: (100.0, 0.5, 0.0, 0.2, 10, 5, 1.0),
    lambda: (100.0, 0.5, 0.0, 0.2, 10, 5, 2.0),
    raises=ValueError,
)
def american_put_psor(strike, expiry, rate, volatility, grid, steps, relaxation=1.2):
    """Implicit finite differences for an American put with projected over-relaxation; values and boundary."""
    if not 1.0 <= relaxation < 2.0:
        raise ValueError("relaxation must lie in [1, 2)")
    top = 3.0 * strike
    ds = top / grid
    dt = expiry / steps
    spot = np.arange(grid + 1) * ds
    payoff = np.maximum(strike - spot, 0.0)
    value = payoff.copy()
    boundary = np.zeros(steps)
    sweeps = 0
    for step in range(steps):
        old = value.copy()
        value[0] = strike
        value[grid] = 0.0
        for _ in range(200):
            change = 0.0
            for i in range(1, grid):
                a = 0.5 * dt * (volatility**2 * i * i - rate * i)
                c = 0.5 * dt * (volatility**2 * i * i + rate * i)
                b = 1.0 + dt * (volatility**2 * i * i + rate)
                gauss_seidel = (old[i] + a * value[i - 1] + c * value[i + 1]) / b
                new = max(payoff[i], value[i] + relaxation * (gauss_seidel - value[i]))
                change += (new - value[i]) ** 2
                value[i] = new
            sweeps += 1
            if change < 1e-16:
                break
        boundary[step] = max(
            (spot[i] for i in range(grid) if value[i] <= payoff[i] + 1e-9 and payoff[i] > 0), default=0.0
        )
    return value, boundary, sweeps > 0


@case(
    lambda: (normals(60, 10), 36.0, 40.0, 0.06, 0.2, 1.0),
    lambda: (normals(8, 2), 40.0, 40.0, 0.06, 0.2, 1.0),
    lambda: (normals(5, 3), 80.0, 40.0, 0.06, 0.1, 0.5),
)
def longstaff_schwartz(z, spot, strike, rate, volatility, expiry):
    """American put by least-squares Monte Carlo, the regression on 1, x, x² solved by Cramer's rule."""
    paths, steps = z.shape
    dt = expiry / steps
    discount = math.exp(-rate * dt)
    s = np.empty((paths, steps + 1))
    s[:, 0] = spot
    for t in range(steps):
        s[:, t + 1] = s[:, t] * np.exp((rate - 0.5 * volatility**2) * dt + volatility * math.sqrt(dt) * z[:, t])
    cash = np.maximum(strike - s[:, -1], 0.0)
    exercised = np.full(paths, steps)

    def det3(m):
        return (
            m[0, 0] * (m[1, 1] * m[2, 2] - m[1, 2] * m[2, 1])
            - m[0, 1] * (m[1, 0] * m[2, 2] - m[1, 2] * m[2, 0])
            + m[0, 2] * (m[1, 0] * m[2, 1] - m[1, 1] * m[2, 0])
        )

    for t in range(steps - 1, 0, -1):
        cash *= discount
        in_money = s[:, t] < strike
        count = int(in_money.sum())
        if count < 4:
            continue
        x = s[in_money, t] / strike
        y = cash[in_money]
        moments = [np.sum(x**k) for k in range(5)]
        system = np.empty((3, 3))
        for i in range(3):
            for j in range(3):
                system[i, j] = moments[i + j]
        rhs = np.array([np.sum(y), np.sum(x * y), np.sum(x * x * y)])
        determinant = det3(system)
        if abs(determinant) < 1e-10:
            continue
        beta = np.empty(3)
        for k in range(3):
            replaced = system.copy()
            replaced[:, k] = rhs
            beta[k] = det3(replaced) / determinant
        continuation = beta[0] + beta[1] * x + beta[2] * x * x
        immediate = strike - s[in_money, t]
        row = 0
        for p in range(paths):
            if not in_money[p]:
                continue
            if immediate[row] > continuation[row] + 1e-6:
                cash[p] = immediate[row]
                exercised[p] = t
            row += 1
    price = discount * cash.mean()
    return price, exercised, max(price, strike - spot)


@case(
    lambda: (np.array([1, 2, 3, 5]), np.array([0.02, 0.024, 0.027, 0.03])),
    lambda: (np.array([1]), np.array([0.05])),
    lambda: (np.array([2, 1]), np.array([0.02, 0.03])),
    raises=ValueError,
)
def bootstrap_swap_curve(maturities, rates):
    """Discount factors for every year from par swap rates, missing years interpolated; forwards and zeros."""
    for i in range(1, len(maturities)):
        if maturities[i] <= maturities[i - 1]:
            raise ValueError("maturities must increase")
    years = int(maturities[-1])
    par = np.zeros(years + 1)
    k = 0
    for year in range(1, years + 1):
        while k < len(maturities) - 1 and maturities[k] < year:
            k += 1
        if maturities[k] == year or k == 0:
            par[year] = rates[k]
        else:
            weight = (year - maturities[k - 1]) / (maturities[k] - maturities[k - 1])
            par[year] = rates[k - 1] + weight * (rates[k] - rates[k - 1])
    discount = np.ones(years + 1)
    annuity = 0.0
    for year in range(1, years + 1):
        discount[year] = (1.0 - par[year] * annuity) / (1.0 + par[year])
        annuity += discount[year]
    forward = discount[:-1] / discount[1:] - 1.0
    zero = [-math.log(d) / t for t, d in enumerate(discount) if t > 0]
    return discount, forward, zero


@case(
    lambda: (normals(25), 0.03, 0.5, 0.04, 0.01, 1 / 12),
    lambda: (normals(1), 0.03, 0.5, 0.04, 0.01, 0.5, "cir"),
    lambda: (normals(20, seed=9), 0.01, 0.8, 0.03, 0.2, 0.25, "cir"),
)
def short_rate(z, r0, speed, level, sigma, dt, model="vasicek"):
    """Short-rate path and zero-coupon bond along it (Vasicek exact, CIR by reflected Euler)."""
    n = len(z)
    path = np.zeros(n + 1)
    path[0] = r = r0
    integral = 0.0
    reflections = 0
    if model == "vasicek":
        decay = math.exp(-speed * dt)
        spread = sigma * math.sqrt((1.0 - decay**2) / (2.0 * speed))
        step = lambda r, e: level + (r - level) * decay + spread * e
    else:
        step = lambda r, e: r + speed * (level - r) * dt + sigma * math.sqrt(r * dt) * e
    for k, e in enumerate(z):
        following = step(r, e)
        if model == "cir" and following < 0:
            following = -following
            reflections += 1
        integral += 0.5 * (r + following) * dt
        r = following
        path[k + 1] = r
    expiry = n * dt
    if model == "vasicek":
        b = (1.0 - math.exp(-speed * expiry)) / speed
        a = (b - expiry) * (level - sigma**2 / (2 * speed**2)) - (sigma * b) ** 2 / (4 * speed)
        analytic = math.exp(a - b * r0)
    else:
        gamma = math.sqrt(speed**2 + 2.0 * sigma**2)
        grow = math.exp(gamma * expiry) - 1.0
        below = (gamma + speed) * grow + 2.0 * gamma
        a = (2.0 * gamma * math.exp(0.5 * (speed + gamma) * expiry) / below) ** (2.0 * speed * level / sigma**2)
        analytic = a * math.exp(-2.0 * grow / below * r0)
    return path, math.exp(-integral), analytic, reflections


@case(lambda: (returns(50), 10), lambda: (np.array([0.1, -0.1, 0.2]), 3), lambda: (np.array([-0.5, -0.1]), 4))
def kelly_fraction(r, candidates):
    """The fraction that grows wealth fastest, by grid and then ternary search; its growth and worst wealth."""

    def growth(f):
        total = 0.0
        for x in r:
            step = 1.0 + f * x
            if step <= 0.0:
                return -math.inf
            total += math.log(step)
        return total / len(r)

    best, best_growth = 0.0, 0.0
    for k in range(1, candidates + 1):
        f = 2.0 * k / candidates
        if (g := growth(f)) > best_growth:
            best, best_growth = f, g
    low = max(best - 2.0 / candidates, 0.0)
    high = best + 2.0 / candidates
    for _ in range(20):
        a = low + (high - low) / 3.0
        b = high - (high - low) / 3.0
        if growth(a) < growth(b):
            low = a
        else:
            high = b
    fraction = 0.5 * (low + high)
    wealth = lowest = 1.0
    for x in r:
        wealth *= 1.0 + fraction * x
        lowest = min(lowest, wealth)
    return fraction, growth(fraction), wealth, lowest


@case(
    lambda: (prices(120), prices(120, 1) * 0.5, 20),
    lambda: (prices(60, 4), prices(60, 5), 10, 1.0, 0.2, 1.5, 8),
    lambda: (prices(5), prices(5, 1), 10),
    lambda: (prices(50), prices(49), 10),
    raises=ValueError,
)
def pairs_trading(a, b, window, enter=2.0, leave=0.5, stop=3.5, longest=15, cost=0.0002):
    """Trades the spread of two prices with a rolling hedge ratio, stops and a time limit; equity and statistics."""
    if a.shape != b.shape:
        raise ValueError("the two series differ in length")
    n = a.size
    log_a = np.log(a)
    log_b = np.log(b)
    score = np.full(n, np.nan)
    hedge = np.zeros(n)
    for t in range(window - 1, n):
        x = log_b[t - window + 1 : t + 1]
        y = log_a[t - window + 1 : t + 1]
        mean_x = x.mean()
        mean_y = y.mean()
        spread_x = ((x - mean_x) ** 2).sum()
        slope = ((x - mean_x) * (y - mean_y)).sum() / spread_x if spread_x > 0 else 0.0
        residual = y - mean_y - slope * (x - mean_x)
        deviation = math.sqrt((residual**2).sum() / (window - 2))
        hedge[t] = slope
        if deviation > 0:
            score[t] = residual[-1] / deviation
    equity = np.ones(n)
    side = 0
    held = 0
    ratio = 0.0
    opened = 0.0
    gains = []
    exits = [0, 0, 0]
    for t in range(1, n):
        equity[t] = equity[t - 1]
        if side != 0:
            move = (log_a[t] - log_a[t - 1]) - ratio * (log_b[t] - log_b[t - 1])
            equity[t] *= math.exp(side * move / (1.0 + abs(ratio)))
            held += 1
        z = score[t]
        if np.isnan(z):
            continue
        if side == 0:
            if enter < abs(z) < stop:
                side = -1 if z > 0 else 1
                ratio = hedge[t]
                held = 0
                equity[t] *= 1.0 - cost
                opened = equity[t]
            continue
        reason = -1
        if abs(z) < leave:
            reason = 0
        elif side * z < 0 and abs(z) > stop:
            reason = 1
        elif held >= longest:
            reason = 2
        if reason >= 0:
            equity[t] *= 1.0 - cost
            gains.append(equity[t] / opened - 1.0)
            exits[reason] += 1
            side = 0
    trades = len(gains)
    won = list(filter(lambda g: g > 0, gains))
    profit = sum(won)
    loss = -sum(g for g in gains if g <= 0)
    factor = float(profit / loss) if loss > 0 else 0.0
    return equity, trades, factor, tuple(exits)
