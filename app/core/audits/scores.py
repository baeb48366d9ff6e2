"""Functions of an output that may tell two laws apart, fitted on draws that neither choose nor decide.

A score is large where the first law is likelier. Every one is tried with both signs.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.audits.outputs import Outputs, last_set_bit

Array = NDArray[np.float64]

RIDGE = 1e-2
_STEPS = 25
_SPREAD_LEAST = 1e-300


@dataclass(frozen=True, slots=True)
class Learnt:
    """`ratio`: whether its values are about ln(P/Q), not just in the same order."""

    name: str
    of: Callable[[Outputs], Array]
    ratio: bool = False


def fitted(x: Outputs, y: Outputs) -> list[Learnt]:
    """Category likelihood ratio; each coordinate; the sum; the exponent of each last set bit; ridge logistic."""
    found = [] if x.kinds is None else [_categories(x, y)]
    for column in range(x.numbers.shape[1]):
        found.append(Learnt(f"coordinate {column}", _coordinate(column)))
        found.append(Learnt(f"last set bit {column}", _low_bit(column)))
    if x.numbers.shape[1] > 1:
        found.append(Learnt("sum", lambda outputs: np.asarray(outputs.numbers.sum(axis=1))))
    return [*found, _logistic(x, y)]


def _categories(x: Outputs, y: Outputs) -> Learnt:
    counted = [side.kinds for side in (x, y) if side.kinds is not None]
    size = 1 + max(int(side.max(initial=0)) for side in counted)
    first, second = (np.bincount(side, minlength=size) + 0.5 for side in counted)
    ratio = np.log(first / first.sum()) - np.log(second / second.sum())

    def of(outputs: Outputs) -> Array:
        kinds = np.zeros(outputs.runs, dtype=np.int64) if outputs.kinds is None else outputs.kinds
        return np.asarray(np.where(kinds < size, ratio[np.minimum(kinds, size - 1)], 0.0))

    return Learnt("category likelihood ratio", of, ratio=True)


def _coordinate(column: int) -> Callable[[Outputs], Array]:
    return lambda outputs: np.asarray(outputs.numbers[:, column])


def _low_bit(column: int) -> Callable[[Outputs], Array]:
    return lambda outputs: last_set_bit(outputs.numbers[:, column])


def _features(outputs: Outputs) -> Array:
    """Values, absolute values, sorted values, squares, each held to what its logarithm can be."""
    values = np.clip(outputs.numbers, -1e100, 1e100)
    shrunk = np.sign(values) * np.log1p(np.abs(values))
    return np.concatenate([values, np.abs(values), np.sort(values, axis=1), values**2, shrunk], axis=1)


def _logistic(x: Outputs, y: Outputs) -> Learnt:
    """Newton's method on the penalised likelihood; features standardised by the draws it is fitted on."""
    raw = np.concatenate([_features(x), _features(y)])
    middle, spread = raw.mean(axis=0), np.maximum(raw.std(axis=0), _SPREAD_LEAST)

    def design(outputs: Outputs) -> Array:
        scaled = np.clip((_features(outputs) - middle) / spread, -30, 30)
        return np.concatenate([np.ones((outputs.runs, 1)), scaled], axis=1)

    features = np.concatenate([design(x), design(y)])
    label = np.r_[np.ones(x.runs), np.zeros(y.runs)]
    weights, penalty = np.zeros(features.shape[1]), RIDGE * len(label) * np.eye(features.shape[1])
    penalty[0, 0] = 1e-9 * len(label)
    for _ in range(_STEPS):
        chance = 1 / (1 + np.exp(-np.clip(features @ weights, -40, 40)))
        slope = features.T @ (label - chance) - penalty @ weights
        bend = (features * (chance * (1 - chance))[:, None]).T @ features + penalty
        moved = np.linalg.solve(bend, slope)
        weights = weights + moved
        if float(np.abs(moved).max()) < 1e-8:
            break
    return Learnt("ridge logistic", lambda outputs: np.asarray(design(outputs) @ weights), ratio=True)
