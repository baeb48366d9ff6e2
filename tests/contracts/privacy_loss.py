"""The ε at δ of N independent draws from the law of their privacy loss: what a pair of neighbours really owes, written apart.

The loss of one draw is L = log P/Q under P. The sum of N has its law by N-fold convolution, and

    δ(ε) = E[(1 − e^{ε−ΣL})⁺],

whose root is the exact ε. One draw needs no convolution. For more, values are put on a grid, each shared by the two points
beside it so that its mean stays, 1/60 of a standard deviation apart or, for few parts, less: the variance grows by less than
0.01 %. What wraps round the Fourier transform has a chance below 10⁻¹¹, by Chernoff's bound.
"""

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

STEPS_PER_SD, STEPS = 60, 20_000
OUTSIDE = math.log(1e-11)
POWERS = 2.0 ** np.arange(-12, 8)
Loss = tuple[Array, Array]
"""Values of L, and their probabilities under P."""


def loss_of(log_p: Array, log_q: Array) -> Loss:
    """From two tables of log-probabilities on the same points."""
    log_p, log_q = np.asarray(log_p, dtype=np.float64), np.asarray(log_q, dtype=np.float64)
    return log_p - log_q, np.exp(log_p)


def exact_epsilon(losses: Iterable[Loss], draws: int, delta: float) -> float:
    """Of `draws` releases, each the independent parts in `losses` together."""
    parts = list(losses)
    if draws == 1 and len(parts) == 1:
        return _root(*parts[0], delta)
    mean = sum(float(value @ mass) for value, mass in parts)
    sd = math.sqrt(sum(float(mass @ (value - value @ mass) ** 2) for value, mass in parts))
    if not sd > 0:
        return 0.0
    step = sd / max(STEPS_PER_SD, STEPS / (draws * len(parts)))
    low, high = (_reach(parts, draws, sign) for sign in (-1, 1))
    size = 2 ** math.ceil(math.log2((low + high) / step + 64))
    total = np.ones(size // 2 + 1, dtype=np.complex128)
    for value, mass in parts:
        total = total * np.fft.rfft(_on_grid(value - value @ mass, mass, step, size)) ** draws
    chance = np.maximum(np.roll(np.fft.irfft(total, size), math.ceil(low / step) + 16), 0)
    places = (np.arange(size) - math.ceil(low / step) - 16) * step + draws * mean
    return _root(places, chance, delta)


def _reach(parts: list[Loss], draws: int, sign: int) -> float:
    """How far from its mean the sum goes but for a chance of 10⁻¹¹."""
    best = math.inf
    sd = math.sqrt(draws * sum(float(mass @ (value - value @ mass) ** 2) for value, mass in parts))
    for power in POWERS / sd:
        grown = 0.0
        for value, mass in parts:
            exponent = power * sign * (value - value @ mass)
            top = float(exponent.max())
            grown += top + math.log(float(mass @ np.exp(exponent - top)))
        best = min(best, (draws * grown - OUTSIDE) / power)
    return float(best)


def _on_grid(value: Array, mass: Array, step: float, size: int) -> Array:
    place = np.floor(value / step)
    share = value / step - place
    grid = np.zeros(size)
    for at, part in ((place, 1 - share), (place + 1, share)):
        np.add.at(grid, at.astype(np.int64) % size, mass * part)
    return grid


def _root(value: Array, mass: Array, delta: float) -> float:
    """The ε ≥ 0 at which E(1 − e^{ε−L})⁺ = δ, by bisection."""
    order = np.argsort(value)[::-1]
    value, mass = value[order], mass[order]
    if float((mass * -np.expm1(-np.maximum(value, 0))).sum()) <= delta:
        return 0.0
    low, high = 0.0, float(value[np.cumsum(mass) > 1e-3 * delta][0])
    for _ in range(60):
        middle = (low + high) / 2
        over = value > middle
        gone = float((mass[over] * -np.expm1(middle - value[over])).sum())
        low, high = (middle, high) if gone > delta else (low, middle)
    return high
