"""Outputs of two neighbours, whatever made them: three disjoint parts fit, choose and decide.

20 % of the runs fit scores, 20 % choose which to bet on, 60 % decide. Fitting and choosing on the same runs finds what is not
there and misses what is: of ten audits of one planted defect none found it, and six do with parts. Half of the level goes to
wealth, averaged over both directions and the best scores of each; half to one event a direction with binomial bounds.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from app.core.audits.claims import Approximate, Claim, RandomPairs, Score, loss_max, payoffs
from app.core.audits.events import claim_bound
from app.core.audits.outputs import FITTED, Outputs
from app.core.audits.scores import Learnt, fitted
from app.core.audits.smallest_found import smallest_found
from app.core.audits.testers import algorithm_4, algorithm_4_reach, gamma_bound, hits_to_refute
from app.core.audits.verdict import Findings, TestResult
from app.core.audits.wealth import STAKE_MIN, Bet, best_part, lower_bound, play

Array = NDArray[np.float64]
Counts = NDArray[np.int64]

RUNS_MIN = 50
THRESHOLDS = 24
BETS_EACH = 3
RATIO_MAX = 3.0
EPSILON_COUNTED_MAX = 50.0
"""Beyond, no number of runs says anything by Algorithm 4."""
COUNTED_SHARE = 0.1
"""Of the level, where outputs are few enough to be counted: what Algorithm 4 may be wrong about."""


@dataclass(frozen=True, slots=True)
class Event:
    """Outputs whose score is at least `least`."""

    score: Learnt
    sign: int
    least: float

    @property
    def name(self) -> str:
        return f"{'-' if self.sign < 0 else ''}{self.score.name} ≥ {self.least:.6g}"

    def of(self, outputs: Outputs) -> Array:
        return np.asarray((self.sign * self.score.of(outputs) >= self.least).astype(np.float64))


def audit_samples(claim: Claim, x: Outputs, y: Outputs, level: float, *, replayable: bool = True) -> Findings:
    """What the first as many runs as both sides have say of the claim, both ways."""
    runs = min(x.runs, y.runs)
    if not (x.finite and y.finite):
        return Findings(reasons=("an output is no finite number: nothing is compared with it",))
    if runs < RUNS_MIN:
        return Findings(reasons=(f"fewer than {RUNS_MIN} runs of each side",))
    first, second = runs // FITTED, 2 * (runs // FITTED)
    fit, choose, decide = slice(0, first), slice(first, second), slice(second, runs)
    scores = fitted(x.part(fit), y.part(fit))
    sides = [(x, y), (y, x)]
    events = [_chosen(claim, scores, a.part(choose), b.part(choose)) for a, b in sides]
    counted = isinstance(claim, Approximate) and x.kinds is not None and y.kinds is not None
    wealth = level / 2 - (level * COUNTED_SHARE if counted else 0.0)
    found = [_wealth_test(claim, scores, events, x, y, (choose, decide), wealth)]
    for (a, b), chosen, way in zip(sides, events, ("from x to y", "from y to x"), strict=True):
        found.append(_event_test(claim, chosen[0], a.part(decide), b.part(decide), level / 4, way))
    if isinstance(claim, Approximate) and x.kinds is not None and y.kinds is not None:
        of_x, of_y = x.kinds, y.kinds
        outputs = 2 + int(max(of_x[fit].max(), of_y[fit].max()))  # those that the fit saw, and any other
        counts = [np.bincount(kinds[first:runs], minlength=outputs).astype(np.int64) for kinds in (of_x, of_y)]
        found.append(_counts_test(claim, (counts[0], counts[1]), level * COUNTED_SHARE))
    kappa = smallest_found(claim, runs - second, wealth / (2 * BETS_EACH))  # as if only one of the bets were any good
    told = [replace(test, replayable=replayable) for test in found]
    return Findings(tests=tuple(told), detects=kappa, detects_for="randomised response")


def _chosen(claim: Claim, scores: Sequence[Learnt], x: Outputs, y: Outputs) -> list[Event]:
    """The best events by how far their payoff is above 0, in sds, on the part that chooses."""
    found: list[tuple[float, Event]] = []
    for score in scores:
        for sign in (1, -1):
            left, right = sign * score.of(x), sign * score.of(y)
            both = np.concatenate([left, right])
            for least in np.unique(np.quantile(both, np.linspace(0, 1, THRESHOLDS + 2)[1:], method="higher")).tolist():
                gain = _strength(claim, float((left >= least).mean()), float((right >= least).mean()), x.runs)
                found.append((gain, Event(score, sign, least)))
    found.sort(key=lambda each: -each[0])
    return [event for _, event in found[:BETS_EACH]]


def _strength(claim: Claim, p: float, q: float, runs: int) -> float:
    """With half a hit more or less, so that no rare event looks like a certainty."""
    p, q = (p * runs + 0.5) / (runs + 1), (q * runs + 0.5) / (runs + 1)
    if isinstance(claim, Approximate):
        factor = math.exp(min(claim.cost, 300.0))  # its square is a number too
        return (p - factor * q - claim.delta) / math.sqrt(p * (1 - p) + factor**2 * q * (1 - q))
    return (p - q) / math.sqrt(p * (1 - p) + q * (1 - q))


def _wealth_test(
    claim: Claim,
    scores: Sequence[Learnt],
    events: Sequence[Sequence[Event]],
    x: Outputs,
    y: Outputs,
    parts: tuple[slice, slice],
    level: float,
) -> TestResult:
    choose, decide = parts
    bets: list[tuple[Bet, Array, Array]] = []
    for swapped, (a, b) in ((False, (x, y)), (True, (y, x))):
        for values, score in _functions(claim, scores, events[swapped], a, b, choose):
            known = values[0][choose], values[1][choose]
            bet = Bet(claim, score, max(best_part(claim, *known, score), STAKE_MIN), swapped)
            bets.append((bet, values[0][decide], values[1][decide]))

    def wealth(cost: float) -> list[Array]:
        return [Bet(claim.costing(cost), bet.score, bet.part).log_wealth(a, b) for bet, a, b in bets]

    found = play(wealth(claim.cost), level)
    refuted = found.log_e >= -math.log(level)
    bound = lower_bound(lambda cost: play(wealth(cost), level).stopped > 0, max(claim.cost, 1e-3)) if refuted else 0.0
    stakes = [bet.stake for bet, _, _ in bets]
    return TestResult(
        name="wealth",
        level=level,
        stake=max(stakes),
        draws=found.stopped or found.draws,
        log_e=found.log_e,
        p_value=found.p_value,
        lower_bound=bound,
        claimed=claim.cost,
        verdict="refuted" if refuted else "not_refuted",
    )


def _functions(
    claim: Claim, scores: Sequence[Learnt], events: Sequence[Event], x: Outputs, y: Outputs, choose: slice
) -> list[tuple[tuple[Array, Array], Score]]:
    """Events for (ε, δ), log-ratios held to ±3 for divergences; the tangent where the part that chooses puts it."""
    if isinstance(claim, Approximate):
        return [((event.of(x), event.of(y)), Score(0.0, 1.0)) for event in events]
    found = []
    for learnt in scores:
        if not learnt.ratio:
            continue
        for sign in (1, -1):
            values = tuple(np.clip(sign * learnt.of(side), -RATIO_MAX, RATIO_MAX) for side in (x, y))
            u = 1.0 if claim.order == 1 else float(np.exp((claim.order - 1) * values[0][choose]).mean())
            score = Score(-RATIO_MAX, RATIO_MAX, u)
            gain = payoffs(claim, values[0][choose], values[1][choose], score).mean() / loss_max(claim, score)
            found.append((float(gain), ((values[0], values[1]), score)))
    found.sort(key=lambda each: -each[0])
    return [each for _, each in found[:BETS_EACH]]


def _event_test(claim: Claim, event: Event, x: Outputs, y: Outputs, level: float, way: str) -> TestResult:
    hits = int(event.of(x).sum()), int(event.of(y).sum())
    bound = claim_bound(claim, *hits, x.runs, level)
    return TestResult(
        name=f"Clopper–Pearson, {way}, {event.name}",
        level=level,
        draws=x.runs,
        log_e=None,
        p_value=None,
        lower_bound=bound,
        claimed=claim.cost,
        verdict="refuted" if bound > claim.cost else "not_refuted",
    )


def _counts_test(claim: Approximate, sides: tuple[Counts, Counts], level: float) -> TestResult:
    """Algorithm 4 on all runs that did not say which outputs are kinds of their own: whatever event is worst, both ways."""
    outputs, runs = len(sides[0]), int(sides[0].sum())

    def refutes(epsilon: float) -> bool:
        if epsilon > EPSILON_COUNTED_MAX:
            return False
        return not algorithm_4(*sides, epsilon, claim.delta, algorithm_4_reach(outputs, epsilon, runs, level))

    found, within = refutes(claim.cost), algorithm_4_reach(outputs, min(claim.cost, EPSILON_COUNTED_MAX), runs, level)
    return TestResult(
        name=f"Algorithm 4, corrected: {outputs} outputs, δ to within {within:.3g}",
        level=level,
        draws=runs,
        log_e=None,
        p_value=None,
        lower_bound=lower_bound(refutes, max(claim.cost, 1e-3)) if found else 0.0,
        claimed=claim.cost,
        verdict="refuted" if found else "not_refuted",
    )


def audit_pairs(claim: RandomPairs, pairs: Sequence[tuple[Outputs, Outputs]], level: float, alarm: float) -> Findings:
    """Algorithm 3: each pair tested by itself at `alarm`, then their number. Raises nothing for too few: it is inconclusive."""
    verdicts = [audit_samples(claim.claim, x, y, alarm).verdict for x, y in pairs]
    if "inconclusive" in verdicts:
        return Findings(reasons=("a pair could not be compared",))
    hits, needed = verdicts.count("refuted"), hits_to_refute(len(pairs), claim.gamma, alarm, level)
    if needed > len(pairs):
        return Findings(reasons=(f"{len(pairs)} pairs cannot refute γ = {claim.gamma:g} at this level",))
    result = TestResult(
        name=f"Algorithm 3, corrected: {hits} of {len(pairs)} pairs refuted, {needed} needed",
        level=level,
        draws=len(pairs),
        log_e=None,
        p_value=None,
        lower_bound=claim.gamma if hits >= needed else 0.0,
        claimed=claim.gamma,
        verdict="refuted" if hits >= needed else "not_refuted",
    )
    unseen = f"γ at most {gamma_bound(len(pairs), level):.3g} if no pair violates"
    return Findings(tests=(result,), detects_for=unseen)
