"""Signal processing: transforms, filters, detection, estimation, coding."""

import cmath
import math

from _case import case

import numpy as np


def tone(n, *frequencies, noise=0.0, dtype=np.float64):
    t = np.arange(n)
    x = sum((np.sin(2 * np.pi * f * t + k) for k, f in enumerate(frequencies)), np.zeros(n))
    return (x + noise * np.random.default_rng(n).normal(size=n)).astype(dtype)


@case(
    lambda: (tone(32, 0.1, 0.23).astype(np.complex128),),
    lambda: (np.array([1 + 2j, 3 - 1j]), True),
    lambda: (np.array([4 - 4j]),),
    lambda: (np.zeros(6, dtype=np.complex128),),
    raises=ValueError,
)
def fft_in_place(x, inverse=False):
    """Radix-2 Cooley-Tukey: bit reversal, then butterflies that grow."""
    n = x.size
    if n == 0 or n & (n - 1):
        raise ValueError("the length must be a power of two")
    j = 0
    for i in range(1, n):
        bit = n >> 1
        while j & bit:
            j ^= bit
            bit >>= 1
        j |= bit
        if i < j:
            x[i], x[j] = x[j], x[i]
    sign = 1.0 if inverse else -1.0
    length = 2
    while length <= n:
        turn = cmath.exp(sign * 2j * math.pi / length)
        half = length // 2
        for start in range(0, n, length):
            w = 1.0 + 0.0j
            for k in range(start, start + half):
                even = x[k]
                odd = x[k + half] * w
                x[k] = even + odd
                x[k + half] = even - odd
                w *= turn
        length *= 2
    if inverse:
        x /= n


def split_fft(x):
    n = x.size
    if n == 1:
        return x.copy()
    even = split_fft(x[::2])
    odd = split_fft(x[1::2])
    twisted = np.exp(-2j * np.pi * np.arange(n // 2) / n) * odd
    out = np.empty(n, dtype=np.complex128)
    out[: n // 2] = even + twisted
    out[n // 2 :] = even - twisted
    return out


@case(
    lambda: (tone(48, 0.07, 0.3), tone(9, 0.2)),
    lambda: (np.array([2.0]), np.array([3.0])),
    lambda: (np.array([1.0, 2.0]), np.array([])),
    raises=ValueError,
)
def fft_convolve(signal, kernel):
    """Linear convolution through a recursive transform of slices."""
    if signal.size == 0 or kernel.size == 0:
        raise ValueError("cannot convolve with nothing")
    length = signal.size + kernel.size - 1
    padded = 1
    while padded < length:
        padded <<= 1
    a = np.zeros(padded, dtype=np.complex128)
    b = np.zeros(padded, dtype=np.complex128)
    a[: signal.size] = signal
    b[: kernel.size] = kernel
    spectrum = split_fft(a) * split_fft(b)
    # The inverse is the forward transform of the conjugate.
    back = np.conj(split_fft(np.conj(spectrum))) / padded
    result = back.real[:length].copy()
    leak = np.abs(back.imag).max()
    scale = np.abs(result).max()
    if leak > 1e-9 * max(scale, 1.0):
        raise ArithmeticError("the result is not real")
    peak = int(np.argmax(np.abs(result)))
    return result, peak


@case(
    lambda: (tone(40, 0.05, 0.21, noise=0.1), np.array([0.2, 0.4, 0.2]), np.array([1.0, -0.3, 0.1])),
    lambda: (tone(10, 0.1), np.array([2.0, 0.0]), np.array([4.0])),
    lambda: (np.array([]), np.array([1.0]), np.array([1.0, 0.5])),
    lambda: (tone(4, 0.1), np.array([1.0]), np.array([0.0, 1.0])),
    raises=ValueError,
)
def iir_filter(x, numerator, denominator):
    """Direct form II transposed, coefficients normalised and padded first; output and final state."""
    if denominator.size == 0 or denominator[0] == 0.0:
        raise ValueError("the leading coefficient of the denominator is zero")
    order = max(numerator.size, denominator.size) - 1
    b = np.zeros(order + 1)
    a = np.zeros(order + 1)
    b[: numerator.size] = numerator / denominator[0]
    a[: denominator.size] = denominator / denominator[0]
    state = np.zeros(order)
    y = np.empty_like(x)
    for n, value in enumerate(x):
        if order == 0:
            y[n] = b[0] * value
            continue
        out = b[0] * value + state[0]
        for k in range(order - 1):
            state[k] = b[k + 1] * value - a[k + 1] * out + state[k + 1]
        state[order - 1] = b[order] * value - a[order] * out
        y[n] = out
    stable = True
    # Schur-Cohn: all reflection coefficients lie inside the unit circle.
    poly = a.copy()
    for m in range(order, 0, -1):
        k = poly[m]
        if abs(k) >= 1.0:
            stable = False
            break
        poly[:m] = (poly[:m] - k * poly[m:0:-1]) / (1.0 - k * k)
    return y, state, stable


@case(
    lambda: (tone(12, 0.1), np.array([1.0, 2.0, 3.0])),
    lambda: (np.arange(6, dtype=np.int32), np.array([1, -1], dtype=np.int32), "same"),
    lambda: (tone(5, 0.2), np.ones(5), "valid"),
    lambda: (tone(5, 0.2), np.ones(2), "circular"),
    raises=ValueError,
)
def convolve_modes(x, h, mode="full"):
    """Direct convolution with the three customary treatments of the ends."""
    if len(h) > len(x):
        x, h = h, x
    n, m = len(x), len(h)
    full = np.zeros(n + m - 1, dtype=(x[:1] * h[:1]).dtype)
    for i in range(n):
        for j in range(m):
            full[i + j] += x[i] * h[j]
    match mode:
        case "full":
            first, count = 0, n + m - 1
        case "same":
            first, count = (m - 1) // 2, n
        case "valid":
            first, count = m - 1, n - m + 1
        case _:
            raise ValueError("mode must be full, same or valid")
    piece = full[first : first + count]
    assert piece.size == count
    return piece


@case(
    lambda: (tone(205, 697 / 8000, 1209 / 8000), 8000.0),
    lambda: (tone(205, 941 / 8000, 1477 / 8000, noise=0.05), 8000.0),
    lambda: (np.zeros(100), 8000.0),
    lambda: (np.zeros(100), 0.0),
    raises=ValueError,
)
def detect_touch_tone(samples, rate):
    """Goertzel's recurrence at the eight DTMF frequencies; key index (or -1) and the powers."""
    if rate <= 0:
        raise ValueError("the sampling rate must be positive")
    rows = (697.0, 770.0, 852.0, 941.0)
    cols = (1209.0, 1336.0, 1477.0, 1633.0)

    def power_at(frequency):
        coefficient = 2.0 * math.cos(2.0 * math.pi * frequency / rate)
        s1 = s2 = 0.0
        for value in samples:
            s1, s2 = value + coefficient * s1 - s2, s1
        return s1 * s1 + s2 * s2 - coefficient * s1 * s2

    powers = np.array([power_at(f) for f in rows + cols])
    energy = float((samples**2).sum()) * samples.size
    row = int(powers[:4].argmax())
    col = int(powers[4:].argmax())
    if energy == 0.0:
        return -1, powers
    share = (powers[row] + powers[4 + col]) / energy
    twist = powers[row] / powers[4 + col] if powers[4 + col] > 0 else math.inf
    if share < 0.3 or not 0.1 < twist < 10.0:
        return -1, powers
    return row * 4 + col, powers


@case(
    lambda: (tone(30, 0.05, noise=0.8),),
    lambda: (np.random.default_rng(3).integers(0, 255, 17).astype(np.uint8), 5),
    lambda: (np.array([3.0]), 7),
    lambda: (np.array([3.0, 1.0]), 4),
    raises=ValueError,
)
def median_filter(x, width=3):
    """Sliding median: the window is kept sorted, one sample leaves and one enters."""
    if width < 1 or width % 2 == 0:
        raise ValueError(f"width must be odd and positive, not {width}")
    n = x.size
    half = width // 2
    window = np.empty(width, dtype=x.dtype)
    out = np.empty_like(x)
    for k in range(width):
        value = x[min(max(k - half, 0), n - 1)]
        at = k
        while at > 0 and window[at - 1] > value:
            window[at] = window[at - 1]
            at -= 1
        window[at] = value
    out[0] = window[half]
    for i in range(1, n):
        leaving = x[max(i - half - 1, 0)]
        entering = x[min(i + half, n - 1)]
        at = 0
        while window[at] != leaving:
            at += 1
        while at + 1 < width and window[at + 1] < entering:
            window[at] = window[at + 1]
            at += 1
        while at > 0 and window[at - 1] > entering:
            window[at] = window[at - 1]
            at -= 1
        window[at] = entering
        out[i] = window[half]
    return out


@case(
    lambda: (tone(40, 0.03, noise=0.2), 7, 2),
    lambda: (tone(12, 0.1), 5, 3, 1),
    lambda: (tone(6, 0.1), 4, 2),
    lambda: (tone(6, 0.1), 5, 5),
    raises=ValueError,
)
def savitzky_golay(y, window, degree, derivative=0):
    """Least-squares smoothing: the normal equations are solved by elimination with pivoting."""
    if window % 2 != 1 or window < 1:
        raise ValueError("window must be odd")
    if degree >= window:
        raise ValueError("the degree must be smaller than the window")
    half = window // 2
    t = np.arange(-half, half + 1).astype(np.float64)
    design = np.ones((window, degree + 1))
    for k in range(1, degree + 1):
        design[:, k] = design[:, k - 1] * t
    normal = design.T @ design
    rhs = design.T.copy()
    size = degree + 1
    for col in range(size):
        pivot = col + int(np.argmax(np.abs(normal[col:, col])))
        if pivot != col:
            normal[[col, pivot]] = normal[[pivot, col]]
            rhs[[col, pivot]] = rhs[[pivot, col]]
        for row in range(col + 1, size):
            factor = normal[row, col] / normal[col, col]
            normal[row, col:] -= factor * normal[col, col:]
            rhs[row] -= factor * rhs[col]
    for col in range(size - 1, -1, -1):
        for row in range(col + 1, size):
            rhs[col] -= normal[col, row] * rhs[row]
        rhs[col] /= normal[col, col]
    weights = rhs[derivative] * math.factorial(derivative)
    padded = np.empty(y.size + 2 * half)
    padded[half : half + y.size] = y
    for i in range(half):
        padded[half - 1 - i] = 2 * y[0] - y[min(i + 1, y.size - 1)]
        padded[half + y.size + i] = 2 * y[-1] - y[max(y.size - 2 - i, 0)]
    out = np.empty(y.size)
    for i in range(y.size):
        out[i] = np.dot(weights, padded[i : i + window])
    return out


@case(
    lambda: (tone(64, 0.1, 0.33), 16),
    lambda: (tone(40, 0.2, dtype=np.float32), 8, 8),
    lambda: (tone(5, 0.2), 16),
    lambda: (tone(50, 0.2), 16, 0),
    raises=ValueError,
)
def spectrogram(x, size, hop=None):
    """Short-time Fourier magnitudes in decibels under a Hann window; shape (frames, bins)."""
    if hop is None:
        hop = size // 2
    if hop < 1:
        raise ValueError("hop must be at least one sample")
    frames = 0 if x.size < size else 1 + (x.size - size) // hop
    bins = size // 2 + 1
    window = 0.5 - 0.5 * np.cos(2.0 * np.pi * np.arange(size) / size)
    basis = np.exp(-2j * np.pi / size * np.arange(bins)[:, None] * np.arange(size)[None, :])
    out = np.zeros((frames, bins))
    for f in range(frames):
        piece = x[f * hop : f * hop + size] * window
        spectrum = (basis * piece).sum(axis=1)
        out[f] = spectrum.real**2 + spectrum.imag**2
    if frames == 0:
        return out
    reference = out.max()
    if reference > 0:
        out /= reference
    floor = 1e-8
    for f in range(frames):
        for k in range(bins):
            out[f, k] = 10.0 * math.log10(max(out[f, k], floor))
    return out


@case(
    lambda: (tone(80, 0.04, 0.11, noise=0.1),),
    lambda: (tone(60, 0.06, noise=0.3), 0.5, 4),
    lambda: (np.array([1.0, 2.0]),),
    lambda: (np.array([0.0, 1.0, 1.0, 1.0, 0.0, 3.0, 0.0]), 0.0, 1),
)
def find_peaks(x, prominence=0.2, distance=1):
    """Local maxima (plateaus count once), thinned by distance, kept by prominence."""
    peaks = []
    i = 1
    while i < x.size - 1:
        if x[i - 1] < x[i]:
            ahead = i + 1
            while ahead < x.size - 1 and x[ahead] == x[i]:
                ahead += 1
            if x[ahead] < x[i]:
                peaks.append((i + ahead - 1) // 2)
                i = ahead
        i += 1
    keep = [True] * len(peaks)
    by_height = sorted(range(len(peaks)), key=lambda k: x[peaks[k]], reverse=True)
    for k in by_height:
        if not keep[k]:
            continue
        for other in range(len(peaks)):
            if other != k and abs(peaks[other] - peaks[k]) < distance:
                keep[other] = False
    found = []
    heights = []
    for p, kept in zip(peaks, keep):
        if not kept:
            continue
        left = p
        low_left = x[p]
        while left >= 0 and x[left] <= x[p]:
            low_left = min(low_left, x[left])
            left -= 1
        right = p
        low_right = x[p]
        while right < x.size and x[right] <= x[p]:
            low_right = min(low_right, x[right])
            right += 1
        stands_out = x[p] - max(low_left, low_right)
        if stands_out >= prominence:
            found.append(p)
            heights.append(stands_out)
    return np.array(found, dtype=np.int64), np.array(heights, dtype=np.float64)


@case(
    lambda: (tone(32, 0.05, noise=0.2), 3, 0.3),
    lambda: (tone(8, 0.2, dtype=np.float32), 1, 0.0),
    lambda: (tone(12, 0.2), 3, 0.1),
    lambda: (tone(4, 0.2), 0, 0.1),
    raises=ValueError,
)
def haar_denoise(x, levels, threshold):
    """Haar wavelets in place, soft threshold, and back; returns how many coefficients died."""
    n = x.size
    if n % (1 << levels) != 0:
        raise ValueError("the length must be a multiple of two to the number of levels")
    root = math.sqrt(0.5)
    length = n
    for _ in range(levels):
        head = x[:length]
        average = (head[0::2] + head[1::2]) * root
        detail = (head[0::2] - head[1::2]) * root
        length //= 2
        head[:length] = average
        head[length:] = detail
    zeroed = 0
    for k in range(length, n):
        size = abs(x[k]) - threshold
        if size <= 0.0:
            x[k] = 0.0
            zeroed += 1
        else:
            x[k] = math.copysign(size, x[k])
    while length < n:
        average = x[:length].copy()
        detail = x[length : 2 * length].copy()
        x[0 : 2 * length : 2] = (average + detail) * root
        x[1 : 2 * length : 2] = (average - detail) * root
        length *= 2
    return zeroed


@case(
    lambda: (tone(60, 0.1, noise=0.3), tone(60, 0.1), 4),
    lambda: (tone(20, 0.2), tone(20, 0.2), 2, 0.5, False),
    lambda: (tone(5, 0.2), tone(6, 0.2), 2),
    lambda: (tone(3, 0.2), tone(3, 0.2), 0),
    raises=ValueError,
)
def adaptive_filter(reference, desired, taps, step=0.1, normalised=True):
    """LMS or NLMS: returns the error signal, the last weights and the mean squared error by halves."""
    if reference.shape != desired.shape:
        raise ValueError("reference and desired must have the same shape")
    if taps < 1:
        raise ValueError("at least one tap")
    n = reference.size
    weights = np.zeros(taps)
    delay = np.zeros(taps)
    error = np.empty(n)
    for i in range(n):
        delay[1:] = delay[:-1].copy()
        delay[0] = reference[i]
        output = 0.0
        energy = 1e-12
        for k in range(taps):
            output += weights[k] * delay[k]
            energy += delay[k] ** 2
        error[i] = desired[i] - output
        gain = step / energy if normalised else step
        for k in range(taps):
            weights[k] += gain * error[i] * delay[k]
    half = n // 2
    early = (error[:half] ** 2).mean() if half else 0.0
    late = (error[half:] ** 2).mean()
    return error, weights, (early, late)


@case(
    lambda: (np.cumsum(np.random.default_rng(5).normal(0.5, 0.3, 25)), 0.01, 0.25),
    lambda: (np.array([1.0, np.nan, 3.0, np.nan, np.nan, 6.5]), 0.1, 0.5, 0.5),
    lambda: (np.array([]), 0.1, 0.5),
    lambda: (np.array([1.0]), 0.1, -0.5),
    raises=ValueError,
    note="without samples the likelihood stays a Python float",
)
def kalman_track(measured, process_noise, measurement_noise, dt=1.0):
    """Constant-velocity Kalman filter and a Rauch-Tung-Striebel pass back; NaN means no measurement."""
    if measurement_noise <= 0:
        raise ValueError("measurement noise must be positive")
    n = measured.size
    F = np.array([[1.0, dt], [0.0, 1.0]])
    Q = process_noise * np.array([[dt**4 / 4, dt**3 / 2], [dt**3 / 2, dt**2]])
    H = np.array([1.0, 0.0])
    state = np.zeros(2)
    P = np.eye(2)
    filtered = np.empty((n, 2))
    covariance = np.empty((n, 2, 2))
    likelihood = 0.0
    for t in range(n):
        state = F @ state
        P = F @ P @ F.T + Q
        z = measured[t]
        if not math.isnan(z):
            S = H @ P @ H + measurement_noise
            K = P @ H / S
            innovation = z - state[0]
            state = state + K * innovation
            P = (np.eye(2) - K[:, None] * H[None, :]) @ P
            likelihood -= 0.5 * (innovation * innovation / S + math.log(2 * math.pi * S))
        filtered[t] = state
        covariance[t] = P
    smooth = filtered.copy()
    for t in range(n - 2, -1, -1):
        ahead = F @ covariance[t] @ F.T + Q
        det = ahead[0, 0] * ahead[1, 1] - ahead[0, 1] * ahead[1, 0]
        inverse = np.array([[ahead[1, 1], -ahead[0, 1]], [-ahead[1, 0], ahead[0, 0]]]) / det
        gain = covariance[t] @ F.T @ inverse
        smooth[t] = filtered[t] + gain @ (smooth[t + 1] - F @ filtered[t])
    return filtered, smooth, likelihood


@case(
    lambda: (tone(100, 0.05, 0.17, noise=0.1), 6),
    lambda: (tone(10, 0.2), 1),
    lambda: (np.zeros(10), 2),
    lambda: (tone(4, 0.2), 4),
    raises=ValueError,
)
def linear_prediction(x, order):
    """Autocorrelation and the Levinson-Durbin recursion; coefficients, reflections, residual energy."""
    n = x.size
    if order >= n:
        raise ValueError("the order must be smaller than the number of samples")
    r = np.empty(order + 1)
    for lag in range(order + 1):
        r[lag] = x[: n - lag] @ x[lag:]
    a = np.zeros(order + 1)
    reflection = np.zeros(order)
    a[0] = 1.0
    energy = r[0]
    for m in range(1, order + 1):
        if energy <= 0.0:
            break
        acc = r[m]
        for k in range(1, m):
            acc += a[k] * r[m - k]
        k = -acc / energy
        reflection[m - 1] = k
        previous = a[1:m].copy()
        a[1:m] += k * previous[::-1]
        a[m] = k
        energy *= 1.0 - k * k
    residual = np.zeros(n)
    for i in range(n):
        for k in range(min(order, i) + 1):
            residual[i] += a[k] * x[i - k]
    return a, reflection, float(energy), residual


@case(
    lambda: (tone(400, 0.02, 0.04, noise=0.02), 8000.0),
    lambda: (np.random.default_rng(8).normal(size=200), 8000.0, 100.0, 1000.0, 0.05),
    lambda: (np.zeros(300), 8000.0),
    lambda: (np.zeros(20), 8000.0),
    raises=ValueError,
    note="a number or None",
)
def yin_pitch(frame, rate, lowest=80.0, highest=800.0, threshold=0.15):
    """Fundamental frequency by the cumulative mean normalised difference; None if unvoiced."""
    longest = int(rate / lowest)
    shortest = max(2, int(rate / highest))
    if frame.size < 2 * longest:
        raise ValueError("the frame is too short for the lowest pitch")
    window = frame.size - longest
    difference = np.zeros(longest + 1)
    for lag in range(1, longest + 1):
        d = frame[:window] - frame[lag : lag + window]
        difference[lag] = (d * d).sum()
    normalised = np.ones(longest + 1)
    running = 0.0
    for lag in range(1, longest + 1):
        running += difference[lag]
        if running > 0:
            normalised[lag] = difference[lag] * lag / running
    lag = shortest
    while lag < longest:
        if normalised[lag] < threshold:
            while lag + 1 < longest and normalised[lag + 1] < normalised[lag]:
                lag += 1
            break
        lag += 1
    else:
        return None
    left, centre, right = normalised[lag - 1 : lag + 2]
    bend = left - 2.0 * centre + right
    shift = 0.0 if bend == 0.0 else 0.5 * (left - right) / bend
    return rate / (lag + shift)


def windowed_sinc(t, half):
    if t == 0.0:
        return 1.0
    if abs(t) >= half:
        return 0.0
    return math.sin(math.pi * t) / (math.pi * t) * (0.5 + 0.5 * math.cos(math.pi * t / half))


@case(
    lambda: (tone(40, 0.05, 0.2), 3, 2),
    lambda: (tone(30, 0.05, dtype=np.float32), 1, 3, 4),
    lambda: (np.array([1.0]), 4, 6),
    lambda: (np.array([1.0]), 0, 6),
    raises=ValueError,
)
def resample(x, up, down, half=8):
    """Rational resampling by a windowed sinc, with the ratio reduced by Euclid's algorithm."""
    if up < 1 or down < 1:
        raise ValueError("the factors must be positive")
    a, b = up, down
    while b:
        a, b = b, a % b
    up, down = up // a, down // a
    n = len(x)
    length = -(-n * up // down)
    y = np.zeros(length, dtype=x.dtype)
    cutoff = min(1.0, up / down)
    reach = math.ceil(half / cutoff)
    for k in range(length):
        whole, part = divmod(k * down, up)
        offset = part / up
        acc = 0.0
        gain = 0.0
        for i in range(whole - reach + 1, whole + reach + 1):
            w = windowed_sinc((i - whole - offset) * cutoff, half)
            gain += w
            if 0 <= i < n:
                acc += w * x[i]
        y[k] = acc / gain
    return y, (up, down)


@case(
    lambda: (np.random.default_rng(9).integers(-32768, 32768, 50).astype(np.int16),),
    lambda: (np.array([0, -1, 1, 32767, -32768], dtype=np.int16),),
    lambda: (np.array([], dtype=np.int16),),
)
def mu_law_round_trip(samples):
    """G.711 companding to bytes by segments, decoding, and the signal-to-noise ratio."""
    bias, clip = 0x84, 32635
    coded = np.empty(samples.size, dtype=np.uint8)
    for i in range(samples.size):
        value = int(samples[i])
        sign = 0x80 if value < 0 else 0
        magnitude = min(abs(value), clip) + bias
        exponent = 7
        mask = 0x4000
        while exponent > 0 and not magnitude & mask:
            exponent -= 1
            mask >>= 1
        mantissa = (magnitude >> (exponent + 3)) & 0x0F
        coded[i] = ~(sign | (exponent << 4) | mantissa) & 0xFF

    plain = np.bitwise_not(coded)
    sign = np.where(plain & 0x80 != 0, -1, 1)
    exponent = ((plain >> 4) & 7).astype(np.int32)
    mantissa = (plain & 15).astype(np.int32)
    decoded = (sign * ((((mantissa << 3) + bias) << exponent) - bias)).astype(np.int16)

    noise = signal = 0.0
    for original, back in zip(samples, decoded):
        noise += float(int(original) - int(back)) ** 2
        signal += float(original) ** 2
    ratio = 10.0 * math.log10(signal / noise) if noise > 0 and signal > 0 else math.inf
    return coded, decoded, ratio


@case(
    lambda: (2, 0.2),
    lambda: (5, 0.15, True),
    lambda: (1, 0.25),
    lambda: (3, 0.5),
    raises=ValueError,
)
def butterworth(order, cutoff, highpass=False):
    """Filter design: analogue poles, bilinear transform, polynomials expanded root by root."""
    if not 0.0 < cutoff < 0.5:
        raise ValueError("cutoff must lie between 0 and 0.5")
    warped = 2.0 * math.tan(math.pi * cutoff)
    poles = []
    for k in range(order):
        angle = math.pi * (2 * k + order + 1) / (2 * order)
        pole = cmath.rect(1.0, angle)
        pole = warped / pole if highpass else warped * pole
        poles.append((2.0 + pole) / (2.0 - pole))
    zero = 1.0 if highpass else -1.0

    def expand(roots):
        coefficients = [1.0 + 0.0j]
        for root in roots:
            longer = coefficients + [0.0j]
            for i, c in enumerate(coefficients):
                longer[i + 1] -= root * c
            coefficients = longer
        return np.array([c.real for c in coefficients])

    a = expand(poles)
    b = expand([complex(zero)] * order)
    at = -1.0 if highpass else 1.0
    numerator = denominator = 0.0
    for i in range(order + 1):
        numerator = numerator * at + b[i]
        denominator = denominator * at + a[i]
    b *= denominator / numerator
    response = []
    for f in (cutoff / 2, cutoff, (cutoff + 0.5) / 2):
        z = cmath.exp(-2j * math.pi * f)
        top = sum(b[i] * z**i for i in range(order + 1))
        bottom = sum(a[i] * z**i for i in range(order + 1))
        response.append(abs(top / bottom))
    return b, a, max(abs(p) for p in poles) < 1.0, response


@case(
    lambda: (1 << 12, 40),
    lambda: (-3000, 10, 12),
    lambda: (0, 3),
    lambda: (1, -1),
    raises=ValueError,
)
def cordic_oscillator(increment, count, iterations=14):
    """Integer sine and cosine in Q15: a 16-bit phase accumulator and shifts only."""
    if count < 0:
        raise ValueError("count must not be negative")
    angles = np.array([round(math.atan(2.0**-i) * 32768 / math.pi) for i in range(iterations)], dtype=np.int32)
    gain = 1.0
    for i in range(iterations):
        gain *= math.sqrt(1.0 + 2.0 ** (-2 * i))
    unit = round(32767 / gain)
    out = np.empty((count, 2), dtype=np.int16)
    phase = 0
    for n in range(count):
        z = phase if phase < 32768 else phase - 65536
        x, y = unit, 0
        if z > 16384:
            z -= 32768
            x = -x
        elif z < -16384:
            z += 32768
            x = -x
        for i in range(iterations):
            if z >= 0:
                x, y = x - (y >> i), y + (x >> i)
                z -= int(angles[i])
            else:
                x, y = x + (y >> i), y - (x >> i)
                z += int(angles[i])
        out[n] = min(max(x, -32768), 32767), min(max(y, -32768), 32767)
        phase = (phase + increment) & 0xFFFF
    return out


@case(
    lambda: (np.frombuffer(b"data parallel", dtype=np.uint8).copy(), 8, [(2, 0x55), (9, 0x01), (15, 0xF0)]),
    lambda: (np.arange(20, dtype=np.uint8), 4, []),
    lambda: (np.array([7], dtype=np.uint8), 2, [(0, 255)]),
    lambda: (np.arange(10, dtype=np.uint8), 4, [(0, 1), (3, 2), (5, 3), (7, 90)]),
    lambda: (np.zeros(250, dtype=np.uint8), 8, []),
    raises=ValueError,
)
def reed_solomon(message, check, errors):
    """Encodes bytes over GF(256), spoils some, and mends them by Berlekamp-Massey, Chien and Forney."""
    n = message.size + check
    if n > 255:
        raise ValueError("a block has at most 255 bytes")
    power = np.zeros(510, dtype=np.int32)
    log = np.zeros(256, dtype=np.int32)
    x = 1
    for i in range(255):
        power[i] = power[i + 255] = x
        log[x] = i
        x <<= 1
        if x & 0x100:
            x ^= 0x11D

    def times(a, b):
        if a == 0 or b == 0:
            return 0
        return int(power[log[a] + log[b]])

    def evaluate(poly, at):
        """Coefficients from the constant up."""
        value = 0
        for coefficient in reversed(poly):
            value = times(value, at) ^ coefficient
        return value

    generator = [1]
    for i in range(check):
        longer = [0] + generator
        for k, g in enumerate(generator):
            longer[k] ^= times(g, int(power[i]))
        generator = longer
    block = np.zeros(n, dtype=np.uint8)
    block[: message.size] = message
    remainder = [0] * check
    for byte in message:
        lead = int(byte) ^ remainder[-1]
        remainder = [0] + remainder[:-1]
        for k in range(check):
            remainder[k] ^= times(lead, generator[k])
    for k in range(check):
        block[n - 1 - k] = remainder[k]

    sent = block.copy()
    for at, flip in errors:
        block[at] ^= flip
    received = [int(b) for b in block[::-1]]
    syndromes = [evaluate(received, int(power[i])) for i in range(check)]
    if not any(syndromes):
        return block, 0

    locator, previous = [1], [1]
    length, gap, scale = 0, 1, 1
    for k in range(check):
        discrepancy = syndromes[k]
        for i in range(1, length + 1):
            if i < len(locator):
                discrepancy ^= times(locator[i], syndromes[k - i])
        if discrepancy == 0:
            gap += 1
            continue
        factor = times(discrepancy, int(power[255 - log[scale]]))
        shifted = [0] * gap + [times(factor, p) for p in previous]
        size = max(len(locator), len(shifted))
        mixed = [0] * size
        for i, c in enumerate(locator):
            mixed[i] ^= c
        for i, c in enumerate(shifted):
            mixed[i] ^= c
        if 2 * length <= k:
            length, previous, scale, gap = k + 1 - length, locator, discrepancy, 1
        else:
            gap += 1
        locator = mixed

    evaluator = [0] * check
    for i, s in enumerate(syndromes):
        for j, c in enumerate(locator):
            if i + j < check:
                evaluator[i + j] ^= times(s, c)
    mended = 0
    for place in range(n):
        inverse = int(power[(255 - place) % 255])
        if evaluate(locator, inverse) != 0:
            continue
        slope = 0
        for i in range(1, len(locator), 2):
            slope ^= times(locator[i], int(power[(255 - place) * (i - 1) % 255]))
        value = times(evaluate(evaluator, inverse), int(power[255 - log[slope]]))
        block[n - 1 - place] ^= times(value, int(power[place]))
        mended += 1
    if mended != length or (block != sent).any():
        raise ValueError("too many errors to mend")
    return block, mended


@case(
    lambda: (tone(60, 0.02, noise=0.05), 4.0, 2.0),
    lambda: (np.array([0.0, np.nan, 5.0, -7.0, np.inf, 1.0]), 2.0, 1.0),
    lambda: (np.array([0.5]), 0.0, 1.0),
)
def compress_dynamics(samples, ratio, attack, limits=(-1.0, 1.0), *, threshold=0.3):
    """Follows the envelope, compresses above a threshold; bad samples and settings are caught, not raised."""
    low, high = limits
    try:
        inverse = 1 / ratio
    except ZeroDivisionError:
        inverse = 0.0
    rise = math.exp(-1.0 / attack)
    fall = math.exp(-0.1 / attack)
    envelope = 0.0
    clipped = broken = 0
    out = np.zeros_like(samples)
    for i, x in enumerate(samples):
        try:
            if not math.isfinite(x):
                raise ArithmeticError("not a number")
            level = abs(float(x))
            keep = rise if level > envelope else fall
            envelope = keep * envelope + (1.0 - keep) * level
            gain = 1.0
            if envelope > threshold:
                gain = (envelope / threshold) ** (inverse - 1.0)
            y = x * gain
            if not low <= y <= high:
                clipped += 1
                y = min(max(y, low), high)
            out[i] = y
        except ArithmeticError:
            broken += 1
            out[i] = out[i - 1] if i > 0 else 0.0
    return out, envelope, (clipped, broken)
