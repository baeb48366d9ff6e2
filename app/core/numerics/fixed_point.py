"""Logarithms as exact integers: round(2^bits · log x), for doubles x > 0."""

from collections.abc import Iterable
from fractions import Fraction

LOG_BITS = 80
"""Fraction bits of every constant the sampler and the analysis share (PRIVACY §3, Sampling, 2)."""

_GUARD_BITS = 40


def fixed_log(values: Iterable[float], bits: int = LOG_BITS + _GUARD_BITS) -> list[int]:
    """Each within 2^−bits of log x: mpmath works with guard bits beyond the position that is kept."""
    from mpmath.libmp import from_float, mpf_log, to_fixed  # loaded by the first release drawn, not at start

    precision = bits + 64
    return [to_fixed(mpf_log(from_float(value), precision), bits) for value in values]


def fixed_log_complement(values: Iterable[float], bits: int = LOG_BITS + _GUARD_BITS) -> list[int]:
    """log(1 − x), with 1 − x formed exactly from the double x."""
    from mpmath.libmp import fone, from_float, mpf_log, mpf_sub, to_fixed  # `mpf_sub` without a precision is exact

    precision = bits + 64
    return [to_fixed(mpf_log(mpf_sub(fone, from_float(value)), precision), bits) for value in values]


def rescale(value: int, factor: Fraction, from_bits: int = LOG_BITS + _GUARD_BITS) -> int:
    """round(2^80 · factor · value/2^from_bits), halves away from zero."""
    numerator = value * factor.numerator
    denominator = factor.denominator << (from_bits - LOG_BITS)
    quotient, rest = divmod(abs(numerator), denominator)
    if 2 * rest >= denominator:
        quotient += 1
    return quotient if numerator >= 0 else -quotient
