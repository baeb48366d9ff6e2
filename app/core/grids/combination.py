"""Linear combinations of 1, θ, θ², log θ and log(1−θ): all that η, A, priors and grid widths are made of.

One form serves twice: as doubles for the analysis, and as exact integers in units of 2⁻⁸⁰ for the sampler. A range of θ
far from zero has its own origin: squares of θ itself would leave no digits for what varies.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from app.core.numerics.fixed_point import LOG_BITS, fixed_log, fixed_log_complement

Array = NDArray[np.float64]

_BITS = LOG_BITS + 40


@dataclass(frozen=True, slots=True)
class Combination:
    """constant + linear·u + square·u² + log·log θ + complement·log(1−θ), u = θ − origin, all numbers exact."""

    constant: Fraction = Fraction(0)
    linear: Fraction = Fraction(0)
    square: Fraction = Fraction(0)
    log: Fraction = Fraction(0)
    complement: Fraction = Fraction(0)
    origin: Fraction = Fraction(0)

    def coefficients(self) -> tuple[Fraction, ...]:
        return (self.constant, self.linear, self.square, self.log, self.complement)

    def about(self, origin: Fraction) -> "Combination":
        """The same function, written around another origin."""
        moved = origin - self.origin
        constant = self.constant + moved * (self.linear + moved * self.square)
        linear = self.linear + 2 * moved * self.square
        return replace(self, constant=constant, linear=linear, origin=origin)

    def plus(self, other: "Combination") -> "Combination":
        origin = self.origin if self.linear or self.square else other.origin
        both = (part.about(origin).coefficients() for part in (self, other))
        return replace(Combination(*(a + b for a, b in zip(*both, strict=True))), origin=origin)

    def times(self, factor: Fraction) -> "Combination":
        return replace(Combination(*(factor * coefficient for coefficient in self.coefficients())), origin=self.origin)

    def at(self, theta: Array) -> Array:
        constant, linear, square, log, complement = (float(c) for c in self.coefficients())
        u = theta - float(self.origin)
        value = constant + u * (linear + square * u)
        if log:
            value = value + log * np.log(theta)
        if complement:
            value = value + complement * np.log1p(-theta)
        return np.asarray(value, dtype=np.float64)

    def rounding(self, theta: Array) -> float:
        """How far `at` may be from the exact value on [min θ, max θ]: 2⁻⁵⁰ of the largest sum of its terms' sizes.

        Each term is largest at an end; its coefficient, function and products round by at most four parts in 2⁵³, the sums by as
        many.
        """
        constant, linear, square, log, complement = (abs(float(c)) for c in self.coefficients())
        ends = np.array([theta.min(), theta.max()])
        u = np.abs(ends - float(self.origin))
        size = constant + u * (linear + square * u)
        if log:
            size = size + log * np.abs(np.log(ends))
        if complement:
            size = size + complement * np.abs(np.log1p(-ends))
        return float(size.max()) * 2.0**-50

    def slope(self, theta: Array) -> Array:
        """The derivative in θ."""
        _, linear, square, log, complement = (float(c) for c in self.coefficients())
        value = linear + 2 * square * (theta - float(self.origin))
        if log:
            value = value + log / theta
        if complement:
            value = value - complement / (1 - theta)
        return np.asarray(value, dtype=np.float64)


def fixed_forms(forms: Sequence[Combination], theta: Sequence[float]) -> list[list[int]]:
    """round(2⁸⁰ · value) of each form at every θ, within one unit: the polynomial is exact, logarithms carry 40 guard bits.

    Logarithms are what takes the time, so forms on the same points share them; and the last few are remembered, because a release
    is audited, rehearsed and drawn on the same public grid.
    """
    return list(_remembered_forms(tuple(forms), tuple(theta)))


@lru_cache(maxsize=4)
def _remembered_forms(forms: tuple[Combination, ...], theta: tuple[float, ...]) -> tuple[list[int], ...]:
    none = [0] * len(theta)
    logs = fixed_log(theta, _BITS) if any(form.log for form in forms) else none
    complements = fixed_log_complement(theta, _BITS) if any(form.complement for form in forms) else none
    return tuple(_fixed(form, theta, logs, complements) for form in forms)


def _fixed(form: Combination, theta: Sequence[float], logs: list[int], complements: list[int]) -> list[int]:
    common = math.lcm(*(c.denominator for c in form.coefficients()))
    whole = [int(c * common) for c in form.coefficients()]
    unit = common << (_BITS - LOG_BITS)
    rounded = []
    for value, log, complement in zip(theta, logs, complements, strict=True):
        total = _polynomial(whole, value, form.origin) + whole[3] * log + whole[4] * complement
        rounded.append((2 * total + unit) // (2 * unit))
    return rounded


def solve_pair(first: Combination, second: Combination, target: Combination) -> tuple[Fraction, Fraction] | None:
    """(x, y) with x·first + y·second = target up to a constant, if there are such numbers."""
    a, b, c = (form.about(first.origin).coefficients()[1:] for form in (first, second, target))
    for i, j in itertools.combinations(range(len(a)), 2):
        determinant = a[i] * b[j] - a[j] * b[i]
        if determinant:
            x = (c[i] * b[j] - c[j] * b[i]) / determinant
            y = (a[i] * c[j] - a[j] * c[i]) / determinant
            fits = all(x * one + y * two == three for one, two, three in zip(a, b, c, strict=True))
            return (x, y) if fits else None
    return None


def _polynomial(whole: list[int], value: float, origin: Fraction) -> int:
    """constant + linear·u + square·u² in units of 2⁻¹²⁰, rounded down by less than one unit."""
    numerator, denominator = value.as_integer_ratio()
    top = numerator * origin.denominator - origin.numerator * denominator
    bottom = denominator * origin.denominator
    sum_of_powers = whole[0] * bottom * bottom + whole[1] * top * bottom + whole[2] * top * top
    return (sum_of_powers << _BITS) // (bottom * bottom)
