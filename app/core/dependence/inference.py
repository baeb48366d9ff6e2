"""One question about correlated people, answered from what a release costs: every field with its method, basis and assumption."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.core.dependence import leakage, odds
from app.core.dependence.bound import Bound, least
from app.core.dependence.losses import Losses, group_size, mean_distance, mixed_curve, variation
from app.core.dependence.structure import Method, Structure
from app.core.privacy.together.path import pure_curve

Array = NDArray[np.float64]

INDEPENDENT = "people who are not declared are independent of the declared ones given what the adversary knows"
KNOWN = "the adversary may know any other people's records besides"
NEAR = (0.9, 1.1)
_STEPS = 64
_SLOW_STEPS = 6
_SECTIONS = 4
_EVEN = 1e-12


@dataclass(frozen=True)
class Question:
    """`prior`: of the secret's values; `exception`: δ′ of probable odds; `delta`: at which (ε, δ) is told."""

    structure: Structure
    prior: tuple[float, ...]
    exception: float
    delta: float
    known: bool = False
    gain: tuple[tuple[float, ...], ...] | None = None
    target: float | None = None


def infer(losses: Losses, question: Question) -> dict[str, Any]:
    """Without `target`, which needs more than this release."""
    structure, one = question.structure, losses.group(1)
    pure = pure_bound(losses, structure)
    curve, slack = secret_curve(losses, structure), one.slack_delta
    if pure is not None:
        curve = np.minimum(curve, pure_curve(pure.value))
    told = _points(curve, slack, None if pure is None else pure.value)
    found: dict[str, Any] = {
        "assumption": "; ".join([structure.told, INDEPENDENT, *([KNOWN] if question.known else [])]),
        "people": structure.people,
        "pure": _pure_json(pure, one.pure),
        "probable": _probable(curve, slack, question, None if pure is None else pure.value),
        "approximate": _approximate(curve, slack, question.delta, pure),
        "guess": _guess(losses, question, told),
        "bits": _bits(question, told),
        "near": _near(one.pure, structure),
        "reconstruction": _reconstruction(losses),
        "cost": {"epsilon": 0},
    }
    if question.gain is not None:
        found["gain"] = _gain(question, told)
    return found


def pure_bound(losses: Losses, structure: Structure) -> Bound | None:
    """The least of all theorems that apply; None without a pure ε."""
    one = losses.group(1).pure
    if not math.isfinite(one):
        return None
    found = [bound for method in structure.methods() if (bound := method.bound(one)) is not None]
    together = losses.group(structure.people).pure
    if math.isfinite(together):
        found.append(Bound(together, f"pure ε of a change of {structure.people} people", "certified", structure.told))
    return least(found)


def secret_curve(losses: Losses, structure: Structure) -> Array:
    """R: **H**, or **K** where a quilt is better."""
    curve = mixed_curve(losses, structure.members, structure.couplings())
    for near, told in structure.quilts(structure.people):
        curve = np.minimum(curve, told + np.array(losses.group(group_size(near, losses.people)).curve))
    return np.asarray(curve)


def _points(curve: Array, slack: float, pure: float | None) -> list[tuple[float, float]]:
    return odds.points(curve, slack, pure)


def _pure_json(pure: Bound | None, one: float) -> dict[str, Any] | None:
    if pure is None:
        return None
    return {
        "nu": pure.value,
        "method": pure.method,
        "basis": pure.basis,
        "assumption": pure.assumption,
        "one_person_epsilon": one,
    }


def _probable(curve: Array, slack: float, question: Question, pure: float | None) -> dict[str, Any] | None:
    """What holds without any exception holds with one: no more than the pure ν is said."""
    found = odds.probable_rise(curve, slack, question.exception)
    if found is None:
        return None
    rise, order = found
    if pure is not None and pure < rise:
        rise, order = pure, None
    return {
        "nu": rise,
        "exception": question.exception,
        "order": order,
        "fall_probability": odds.fall_probability(curve, rise, slack),
        "method": "coupling and Rényi curve of groups (H, I)"
        if slack == 0
        else "coupling and Rényi curve of groups (H, J)",
        "basis": "certified",
        "assumption": "over the release, given the truth; one secret of one group: all people together need their share each",
    }


def _approximate(curve: Array, slack: float, delta: float, pure: Bound | None) -> dict[str, Any] | None:
    epsilon = odds.epsilon_at(curve, slack, delta)
    if pure is not None and (epsilon is None or pure.value < epsilon):
        return {"epsilon": pure.value, "delta": 0.0, "basis": pure.basis, "assumption": pure.assumption}
    if epsilon is None:
        return None
    return {
        "epsilon": epsilon,
        "delta": delta,
        "basis": "certified",
        "assumption": "between any two values of the secret",
    }


def even(prior: Sequence[float]) -> bool:
    return len(prior) == 2 and abs(prior[0] - 0.5) <= _EVEN


def best_guess(losses: Losses, structure: Structure, prior: Sequence[float], told: list[tuple[float, float]]) -> float:
    after = leakage.guess(prior, told)
    if even(prior):
        slack = losses.group(1).slack_delta
        distances = [
            min(mean_distance(losses, structure.members, law) for law in laws) for laws in structure.couplings()
        ]
        expected = structure.expected_others()
        if expected is not None:  # L
            distances = [min(max(distances), (structure.members + expected) * variation(losses.kl(1)))]
        after = min(after, (0.5 + 0.5 * min(1.0, max(distances))) * (1 + 1e-12) + slack)
    return max(after, max(prior))


def _guess(losses: Losses, question: Question, told: list[tuple[float, float]]) -> dict[str, Any]:
    prior = question.prior
    after = best_guess(losses, question.structure, prior, told)
    return {
        "before": max(prior),
        "after": after,
        "basis": "certified",
        "assumption": "the best guess of the secret, with the declared prior",
        "text": guess_text(max(prior), after),
    }


def guess_text(before: float, after: float) -> str:
    """Percentages of what is certified are rounded up."""
    then = min(100.0, math.ceil(after * 1000 - 1e-9) / 10)
    return f"a guess that is right {before:.3g} of the time becomes right at most {then:.3g} % of the time".replace(
        f"{before:.3g} of the time",
        "half the time" if abs(before - 0.5) <= _EVEN else f"{100 * before:.3g} % of the time",
    )


def _bits(question: Question, told: list[tuple[float, float]]) -> dict[str, Any]:
    """Only what holds with δ = 0 bounds leakage in the worst case."""
    values = len(question.prior)
    pure = [epsilon for epsilon, delta in told if delta == 0]
    value = leakage.bits(min(pure), values) if pure else math.log2(values)
    basis = "from the pure bound" if pure else "there is no pure bound: all the bits there are"
    return {
        "value": value,
        "values": values,
        "basis": "certified",
        "assumption": f"{basis}; any prior, any function of the secret",
    }


def _gain(question: Question, told: list[tuple[float, float]]) -> dict[str, Any]:
    before = leakage.prior_gain(question.prior, question.gain or ())
    after = max(before, leakage.gained(before, len(question.prior), told))
    return {
        "before": before,
        "after": after,
        "basis": "certified",
        "assumption": "the best action, with the declared prior",
    }


def _near(one: float, structure: Structure) -> list[dict[str, float]]:
    """ν at a little less and a little more: dependence can have cliffs."""
    if not math.isfinite(one):
        return []
    values = _least_values(structure.methods(), np.array([one * share for share in NEAR]))
    return [{"share": share, "nu": float(value)} for share, value in zip(NEAR, values, strict=True)]


def _reconstruction(losses: Losses) -> dict[str, Any]:
    missed, group = leakage.reconstruction_floor(losses)
    return {
        "missed_at_least": missed,
        "group": group,
        "basis": "certified",
        "assumption": "on average over the release, for some dataset, whoever reconstructs it; nothing about dependence",
    }


def _least_values(methods: Sequence[Method], epsilons: Array) -> Array:
    return np.asarray(np.min([method.values(epsilons) for method in methods], axis=0))


def epsilon_for(structure: Structure, target: float) -> float:
    """The largest pure ε found for which ν ≤ target: ν ≥ ε rises with ε, so it lies below the target."""
    methods = structure.methods()
    slow = any(method.slow for method in methods)
    if target > 0 and float(_least_values(methods, np.array([target]))[0]) <= target * (1 + 1e-12):
        return target
    low, high = 0.0, target
    if slow:
        for _ in range(_SLOW_STEPS):
            middle = (low + high) / 2
            low, high = (
                (middle, high) if float(_least_values(methods, np.array([middle]))[0]) <= target else (low, middle)
            )
        return low
    for _ in range(_SECTIONS):
        tried = np.linspace(low, high, _STEPS + 2)
        fits = _least_values(methods, tried[1:-1]) <= target
        last = int(np.argmin(np.append(fits, False)))  # how many fit, from the first on
        low, high = float(tried[last]), float(tried[last + 1])
    return low


def samples_for(
    target: float, exception: float, structure: Structure, losses_of: Callable[[int], Losses], most: int
) -> int:
    """The most samples for which probable odds stay within the target: ν rises with their number. 0 if none does."""

    def fits(samples: int) -> bool:
        losses = losses_of(samples)
        found = odds.probable_rise(secret_curve(losses, structure), losses.group(1).slack_delta, exception)
        return found is not None and found[0] <= target

    if most < 1 or not fits(1):
        return 0
    low = 1
    while low < most and fits(min(2 * low, most)):
        low = min(2 * low, most)
    high = min(2 * low, most + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
