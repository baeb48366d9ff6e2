"""Standard normal and exponential numbers from the operating system's bytes, precise far into the tails.

E = z·ln 2 − ln V with z the leading zeros of 128 random bits and V ∈ [½, 1) of 53 bits is −ln U of a U that has 53
significant bits at every size, so E is exponential with the same relative precision everywhere; what is missing beyond has
probability 2⁻¹²⁸. Box and Muller: (√(2E)·cos φ, √(2E)·sin φ) is a pair of independent normals for a uniform angle φ.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from app.errors import NumericalFailure

Array = NDArray[np.float64]
RandomBytes = Callable[[int], bytes]


def exponentials(count: int, random_bytes: RandomBytes) -> Array:
    words = _words(3 * count, random_bytes).reshape(3, count)
    zeros = _leading_zeros(words[0])
    zeros = np.where(words[0] == 0, 64 + _leading_zeros(words[1]), zeros)
    V = 0.5 + ((words[2] >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-54
    return np.asarray(zeros * math.log(2) - np.log(V))


def standard_normals(shape: tuple[int, ...], random_bytes: RandomBytes) -> Array:
    count = math.prod(shape)
    pairs = (count + 1) // 2
    length = np.sqrt(2 * exponentials(pairs, random_bytes))
    angle = (_words(pairs, random_bytes) >> np.uint64(11)).astype(np.float64) * (2 * math.pi * 2.0**-53)
    return np.concatenate([length * np.cos(angle), length * np.sin(angle)])[:count].reshape(shape)


def _leading_zeros(words: NDArray[np.uint64]) -> Array:
    """Of 64 bits, 64 for zero. A word just below a power of two may count as that power: relative 2⁻⁵³."""
    _, exponents = np.frexp(words.astype(np.float64))
    return np.maximum(64.0 - exponents, 0.0)


def _words(count: int, random_bytes: RandomBytes) -> NDArray[np.uint64]:
    pool = random_bytes(8 * count)
    if len(pool) != 8 * count:
        raise NumericalFailure("the source of randomness returned too little")
    return np.frombuffer(pool, dtype="<u8")
