"""Couplings of the laws that two values of a secret leave to the others: how many of them differ.

Any coupling is one for **H**; better ones are cheaper. The greedy one matches equal combinations first, then those that differ in
one person, and so on; for small tables a linear program finds the one with the least Σ w_h·4^h besides.
"""

from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from app.core.dependence.joints import Joint

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

PROGRAM_COLUMNS_MAX = 32
PAIRS_MAX = 64
_MISSING = 1e-9


def couplings(joint: Joint) -> list[list[Array]] | None:
    """For every two values of the secret the laws, of one coupling each, of how many others differ; None if they are too many."""
    pairs = list(permutations(range(len(joint.given)), 2))
    if len(pairs) > PAIRS_MAX:
        return None
    return [_laws(joint, joint.given[first], joint.given[second]) for first, second in pairs if first < second]


def _laws(joint: Joint, first: Array, second: Array) -> list[Array]:
    apart = (
        (joint.points[:, None, :] != joint.points[None, :, :]).sum(axis=2)
        if len(first) <= PROGRAM_COLUMNS_MAX
        else None
    )
    found = [_greedy(joint, first, second)]
    if apart is not None and len(first) > 1:
        program = _program(first, second, apart, joint.points.shape[1])
        found += [] if program is None else [program]
    return found


def _greedy(joint: Joint, first: Array, second: Array) -> Array:
    """Offsets by how many people they change: each pairs every combination with one other, all at once."""
    levels, people = np.array(joint.levels, dtype=np.int64), joint.points.shape[1]
    law = np.zeros(people + 1)
    left, right = first.copy(), second.copy()
    strides = np.array([int(np.prod(levels[axis + 1 :])) for axis in range(people)], dtype=np.int64)
    for offset in joint.points[np.argsort((joint.points != 0).sum(axis=1), kind="stable")]:
        other = ((joint.points + offset) % levels) @ strides if people else np.zeros(1, dtype=np.int64)
        matched = np.minimum(left, right[other])
        left -= matched
        right[other] -= matched
        law[int((offset != 0).sum())] += float(matched.sum())
    law[-1] += max(0.0, 1.0 - float(law.sum()))
    return law


def _program(first: Array, second: Array, apart: Whole, people: int) -> Array | None:
    from scipy.optimize import linprog
    from scipy.sparse import eye_array, kron, vstack

    size = len(first)
    ones = np.ones((1, size))
    margins = vstack([kron(eye_array(size), ones), kron(ones, eye_array(size))]).tocsr()
    solved = linprog((4.0**apart).ravel(), A_eq=margins, b_eq=np.concatenate([first, second]), method="highs")
    if not solved.success:
        return None
    plan = np.maximum(np.asarray(solved.x).reshape(size, size), 0.0)
    off = max(float(np.abs(plan.sum(axis=1) - first).max()), float(np.abs(plan.sum(axis=0) - second).max()))
    if off > _MISSING:
        return None
    # scaled to lie under both laws; what is missing differs in everybody
    plan *= np.minimum(1.0, np.divide(first, plan.sum(axis=1), out=np.ones(size), where=plan.sum(axis=1) > 0))[:, None]
    plan *= np.minimum(1.0, np.divide(second, plan.sum(axis=0), out=np.ones(size), where=plan.sum(axis=0) > 0))[None, :]
    law = np.bincount(apart.ravel(), weights=plan.ravel(), minlength=people + 1)
    law[-1] += max(0.0, 1.0 - float(law.sum()))
    return np.asarray(law)
