"""What an answer may not leave out: how often its interval holds the truth, and what stands in the way of taking it at its word.

Nothing here looks beyond the values it is given, so what is said about a prefix is a function of that prefix.

Let x_1 … x_N be draws of any number g(θ) from the posterior given the data, at temperature 1. On average over the prior the truth
is one more draw of the same law, so all N + 1 are exchangeable and the closed interval from the order statistic of rank i to
that of rank j holds the truth with probability at least (j − i)/(N + 1) (ties only help). A draw is uniform instead, in one
of its P parameters, with probability at most P·γ. With s such strays among N the interval reaches at least from rank i to rank
j − s of the others, so that the bound falls by at most E[s]/(N + 1) < P·γ. Below temperature 1 there is no such statement in
either direction, nor for a point that was chosen for its height.

Points of a belief: θ is one more draw of p(θ|R). Points that are independent given R obey the bound above. Of P points, one from
each of P equally probable strata, θ is exchangeable with the point of its own stratum, and adding it to the others moves no
rank by more than one: the interval holds at least (j − i − 1)/P, which is below the bound above and serves for both.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from app.core.decisions.regret import rank_of
from app.core.parameters import Parameter

STRAY_SHARE = 2.0**-20
"""γ: no sampler draws a parameter uniformly more often than this (`UNIFORM_SHARE` of networks; others less)."""
FEW_SAMPLES = 10
SHORT_OF_LEVEL = 0.05
"""An interval that may hold the truth this much less often than its level says so."""
NEAR_SPREADS = 2.0
NEAR_WIDTHS = 1 / 8
SINGLE_WIDTHS = 1 / 100
LEAST_WIDTHS = 1 / 1000
"""Samples are piled up at an end of their public range if their mean is within two standard deviations of it and within an eighth
of the range: a truncated bell or an exponential pile is, a bell three deviations away is not, nor one that is merely wide. One
sample, which has no spread, counts as one a hundredth of the range wide, and no spread as less than a thousandth."""

End = Literal["lower", "upper"]


@dataclass(frozen=True, slots=True)
class Ranks:
    """The order statistics an interval reaches from and to, among `size`."""

    low: int
    high: int
    size: int

    @classmethod
    def of(cls, ends: tuple[Fraction, Fraction], size: int) -> "Ranks":
        return cls(rank_of(ends[0], size), rank_of(ends[1], size), size)

    @property
    def share(self) -> float:
        """(j − i)/(N + 1)."""
        return (self.high - self.low) / (self.size + 1)

    def of_draws(self, parameters: int) -> float:
        """At least how often an interval of draws at temperature 1 holds the truth."""
        return max(0.0, self.share - parameters * STRAY_SHARE)

    def of_points(self) -> float:
        """At least how often an interval of a belief's points does."""
        return max(0.0, (self.high - self.low - 1) / self.size)

    def is_short(self, level: float) -> bool:
        return self.share < level - SHORT_OF_LEVEL


def end_piled_at(parameter: Parameter, mean: float, sd: float | None) -> End | None:
    """Which end of its public range a parameter's samples are piled up at; `sd` is None of one sample."""
    width = parameter.upper - parameter.lower
    spread = SINGLE_WIDTHS * width if sd is None else max(sd, LEAST_WIDTHS * width)
    near = min(NEAR_SPREADS * spread, NEAR_WIDTHS * width)
    if mean - parameter.lower <= near:
        return "lower"
    return "upper" if parameter.upper - mean <= near else None
