"""What every audit of a mechanism of ours has in common: two neighbours made up by its kind, exact laws where there are any,
and draws by the mechanism's own `draw`.

A kind of models says how its neighbours look (`Kind.audit`); nothing here asks which kind it is.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.audits.claims import Claim, Renyi, Score, payoffs
from app.core.audits.exact_laws import Divergences, added, within
from app.core.audits.noise_law import Spy, gaussian_law, laplace_law, shifts
from app.core.audits.outputs import Outputs
from app.core.audits.verdict import Certificate, TestResult
from app.core.audits.wealth import POWER, STAKE_MAX, Bet, play, wealth_cap
from app.core.privacy.cost import ORDERS, Cost
from app.core.statistics.sums import ExactStatistic

Array = NDArray[np.float64]
RandomBytes = Callable[[int], bytes]

RATIO_MAX = 3.0
POINTS_LEAST = 512
WEALTH_ORDERS = (1.0, 1.25, 2.0)


@dataclass(frozen=True, slots=True)
class Effort:
    """How much to look at, in public numbers. `points`: of all tables together, 0 for draw maps alone; `runs`: draws of each
    side, 0 for none."""

    points: int
    runs: int = 0
    level: float = 1e-6
    random_bytes: Callable[[str], RandomBytes] | None = None
    """By role; None where nothing is drawn."""


GATE = Effort(points=40_000)


def people_looked_at(people: int, points: Callable[[int], int], effort: Effort) -> int:
    """As many as there are where two tables of theirs may be looked at: the charge and the constants are those that the release
    needs anyway. Else so many fewer that a grid has a seventh of those points, which grow like the root of people; other people
    cost another charge to work out. Certificates name the sums they are about."""
    if points(people) <= effort.points // 2:
        return people
    limit, looked_at = max(POINTS_LEAST, effort.points // 7), people
    while looked_at > 1 and (size := points(looked_at)) > limit:
        looked_at = max(1, math.floor(looked_at * (limit / size) ** 2 * 0.98))
    return looked_at


def table_certificate(found: Sequence[tuple[str, Divergences]], charged: Cost) -> Certificate:
    """No order of any pair, either way, is charged less than it is."""
    sides = [(name, *within(exact, charged)) for name, exact in found]
    tightest = max(sides, key=lambda side: side[2] / side[3] if side[3] > 0 else math.inf)
    return Certificate(
        name="table",
        passed=all(side[1] for side in sides),
        exact=tightest[2],
        charged=tightest[3],
        pairs=tuple(name for name, *_ in sides),
        detail="integer weights as they are drawn from, every order and the largest log-ratio, both directions",
    )


def map_certificate(right: bool, fed: int) -> Certificate:
    return Certificate(
        name="draw map",
        passed=right,
        exact=0.0,
        charged=0.0,
        pairs=(),
        detail=f"{fed} numbers on either side of the jumps of a table, through the mechanism's own draw",
    )


def noise_certificate(
    pairs: Sequence[tuple[str, Spy, Spy]], charged: Cost, *, gaussian: bool
) -> tuple[Certificate, list[list[tuple[int, float]]]]:
    """(the certificate, the shifts of every pair): neighbours' whole numbers under the law of the noise that was asked for."""
    sides, moved = [], []
    for name, before, after in pairs:
        apart = shifts(before, after)
        moved.append(apart or [])
        if apart is None:
            sides.append((name, False, math.inf, 0.0))
            continue
        exact = (gaussian_law if gaussian else laplace_law)(apart)
        told = Divergences(exact.kl, exact.curve, exact.pure if math.isfinite(charged.pure) else 0.0)
        sides.append((name, *within(told, charged)))
    tightest = max(sides, key=lambda side: side[2] / side[3] if side[3] > 0 else math.inf)
    certificate = Certificate(
        name="law of the noise",
        passed=all(side[1] for side in sides),
        exact=tightest[2],
        charged=tightest[3],
        pairs=tuple(name for name, *_ in sides),
        detail=f"whole numbers and scales as `measure` hands them on, under {'Gaussian' if gaussian else 'Laplace'} noise",
    )
    return certificate, moved


def known_law_test(
    laws: tuple[Array, Array], drawn: tuple[Array, Array], charged: Cost, effort: Effort, *, replayable: bool = True
) -> tuple[TestResult, float | None]:
    """Wealth on log-ratios that are known: KL and two orders, both directions, averaged; and the least κ it would have found.

    `laws`: probabilities of the same outputs; `drawn`: the place of every draw, as numbers.
    """
    paths, growths = [], []
    for swapped in (False, True):
        p, q = laws[::-1] if swapped else laws
        ratio = np.clip(np.log(p / q), -RATIO_MAX, RATIO_MAX)
        x, y = (ratio[side.astype(np.int64)] for side in (drawn[::-1] if swapped else drawn))
        for order in WEALTH_ORDERS:
            claim = Renyi(order, _charged_at(charged, order))
            score = Score(-RATIO_MAX, RATIO_MAX, 1.0 if order == 1 else float(p @ np.exp((order - 1) * ratio)))
            part = _stake(claim, (p, q), ratio, score)
            bet = Bet(claim, score, part, swapped)
            paths.append(bet.log_wealth(x, y))
            growths.append(((p, q), ratio, score, order, bet.stake))
    found = play(paths, effort.level)
    missed = [_smallest(*each, runs=len(drawn[0]), level=effort.level) for each in growths]
    kappas = [kappa for kappa in missed if kappa is not None]
    result = TestResult(
        name="wealth, KL and orders 1.25 and 2, both directions",
        level=effort.level,
        draws=found.stopped or found.draws,
        log_e=found.log_e,
        p_value=found.p_value,
        lower_bound=0.0,
        claimed=_charged_at(charged, 2.0),
        verdict="refuted" if found.stopped else "not_refuted",
        replayable=replayable,
    )
    return result, min(kappas, default=None)


def _charged_at(charged: Cost, order: float) -> float:
    """KL is at most the divergence of the least order that is listed."""
    return charged.curve[0 if order == 1 else ORDERS.index(order)]


def _moments(claim: Claim, laws: tuple[Array, Array], ratio: Array, score: Score) -> tuple[float, float]:
    """Mean and variance of a payoff of independent draws; it is a sum of a part of x and a part of y."""
    zero = payoffs(claim, ratio, np.full_like(ratio, score.low), score)
    other = payoffs(claim, np.full_like(ratio, score.low), ratio, score)
    both = float(payoffs(claim, np.array([score.low]), np.array([score.low]), score)[0])
    means = float(laws[0] @ zero), float(laws[1] @ other)
    variance = float(laws[0] @ (zero - means[0]) ** 2) + float(laws[1] @ (other - means[1]) ** 2)
    return means[0] + means[1] - both, variance


def _stake(claim: Claim, laws: tuple[Array, Array], ratio: Array, score: Score) -> float:
    """The best stake against a charge that is half of what it should be: none is known beforehand to be wrong."""
    mean, variance = _moments(claim.costing(claim.cost / 2), laws, ratio, score)
    worst = max(1e-12, -float(payoffs(claim, np.array([score.low]), np.array([score.high]), score)[0]))
    return min(STAKE_MAX, max(mean, 0.0) / max(variance, 1e-300) * worst) if mean > 0 else 1e-3


def _smallest(
    laws: tuple[Array, Array], ratio: Array, score: Score, order: float, stake: float, *, runs: int, level: float
) -> float | None:
    """κ: a charge of the exact divergence over κ would have been refuted by so many draws at that stake, with probability .99; by
    the first two terms of log(1 + λY), and as if none of the other bets were any good."""
    exact = _divergence(laws, order)
    for kappa in 1 + np.geomspace(0.01, 1e3, 120):
        mean, variance = _moments(Renyi(order, exact / kappa), laws, ratio, score)
        grown = stake * mean - stake**2 * (variance + mean**2) / 2
        if wealth_cap(grown, stake**2 * variance, level / (2 * len(WEALTH_ORDERS)), POWER) <= runs:
            return float(kappa)
    return None


def _divergence(laws: tuple[Array, Array], order: float) -> float:
    p, q = laws
    if order == 1:
        return float(p @ np.log(p / q))
    return math.log(float(p @ np.exp((order - 1) * np.log(p / q)))) / (order - 1)


def as_outputs(drawn: Array) -> Outputs:
    """Of samples without a law that is written down."""
    return Outputs(drawn, None, bool(np.isfinite(drawn).all()))


def statistic_name(statistic: ExactStatistic) -> str:
    return f"sum {statistic.total} of {statistic.rows} rows"


__all__ = [
    "GATE",
    "Effort",
    "added",
    "as_outputs",
    "known_law_test",
    "map_certificate",
    "noise_certificate",
    "table_certificate",
]
