"""The thesis's testers by their names, with what had to be put right (docs/audits.md says where each slips).

Outputs are whole numbers 0 … n−1. Distances to a claim are as in the thesis, with the larger of two parts where its table
says the smaller, which would make everything near.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Counts = NDArray[np.int64]


def algorithm_4_runs(outputs: int, epsilon: float, alpha: float, failure: float = 1 / 3, directions: int = 2) -> float:
    """r = (1 + e^{2ε})(√n/2 + √(ln(directions/b)/2))²/α², a fixed number of runs of each side.

    z = Σ(x_i − e^ε·y_i)⁺/r has bias at most ½√(n(1+e^{2ε})/r) (Scarf's bound of each part, Cauchy and Schwarz over them), and
    one run changes it by 1/r or e^ε/r (McDiarmid).
    """
    return algorithm_4_reach(outputs, epsilon, 1, failure, directions) ** 2 / alpha**2


def algorithm_4_reach(outputs: int, epsilon: float, runs: int, failure: float, directions: int = 2) -> float:
    """α for so many runs: `algorithm_4_runs` solved for it."""
    reach = math.sqrt(outputs) / 2 + math.sqrt(math.log(directions / failure) / 2)
    return math.sqrt((1 + math.exp(2 * epsilon)) / runs) * reach


def algorithm_4_thesis_runs(outputs: int, epsilon: float, alpha: float) -> float:
    """As printed, for comparison."""
    return max(4 * outputs, 12) * (1 + math.exp(2 * epsilon)) / alpha**2


def excess(x: Counts, y: Counts, epsilon: float) -> float:
    """z: how much of x lies above e^ε times y."""
    runs = int(x.sum())
    return float(np.maximum(x - math.exp(epsilon) * y, 0).sum()) / runs


def algorithm_4(x: Counts, y: Counts, epsilon: float, delta: float, alpha: float) -> bool:
    """Accepts where both directions are below δ + α: the thesis looks one way and takes a pair with δ = .27 the other."""
    return max(excess(x, y, epsilon), excess(y, x, epsilon)) < delta + alpha


def algorithm_6_runs(outputs: int, least: float, alpha: float) -> float:
    """r = 2·ln(12n)/(β(1−e^{−α})²), where all known masses are at least β (Chernoff, relative)."""
    return 2 * math.log(12 * outputs) / (least * -math.expm1(-alpha) * -math.expm1(-alpha))


def algorithm_6_thesis_runs(outputs: int, least: float, alpha: float) -> float:
    return math.log(outputs) / (alpha * least) ** 2


def algorithm_6(x: Counts, y: Counts, tables: tuple[Array, Array], epsilon: float, alpha: float) -> bool:
    """Tables are compared with the claim exactly, then samples with their tables; what is accepted is within 4α of the claim.
    The thesis never compares the tables, nor divides counts by r."""
    first, second = tables
    if not (first > 0).all() or not (second > 0).all():
        return False
    if not float(np.abs(np.log(first / second)).max()) <= epsilon:
        return False
    return all(_near(counts, table, alpha) for counts, table in ((x, first), (y, second)))


def _near(counts: Counts, table: Array, alpha: float) -> bool:
    if not (counts > 0).all():
        return False
    return bool((np.abs(np.log(counts / (counts.sum() * table))) <= alpha).all())


@dataclass(frozen=True, slots=True)
class RandomTest:
    """Algorithm 3: refute if at least `hits` of `pairs` random pairs are refuted, each alone at a false alarm rate of `alarm`."""

    pairs: int
    hits: int
    alarm: float


def hits_to_refute(pairs: int, gamma: float, alarm: float, level: float) -> int:
    """The least number that a private algorithm has with probability at most `level`: Bin(m, γ + a) bounds it."""
    from scipy.special import bdtrc  # not at start

    chance = min(1.0, gamma + alarm)
    low, high = 0, pairs + 1
    while low < high:
        middle = (low + high) // 2
        if middle > 0 and float(bdtrc(middle - 1, pairs, chance)) <= level:
            high = middle
        else:
            low = middle + 1
    return low


def algorithm_3_pairs(
    gamma: float, other: float, *, alarm: float, found: float, level: float, power: float
) -> RandomTest:
    """The fewest pairs that tell γ from `other` > γ, where a violating pair is found with probability `found`."""
    from scipy.special import bdtr

    chance, pairs = other * found, 1
    while True:
        hits = hits_to_refute(pairs, gamma, alarm, level)
        if hits <= pairs and 1 - float(bdtr(hits - 1, pairs, chance)) >= power:
            return RandomTest(pairs, hits, alarm)
        pairs += 1


def algorithm_3(refuted: int, pairs: int, gamma: float, alarm: float, level: float) -> bool:
    """Whether so many refuted pairs refute the claim of all but γ."""
    return refuted >= hits_to_refute(pairs, gamma, alarm, level)


def gamma_bound(pairs: int, level: float) -> float:
    """If none of m pairs violates, and that is known exactly: γ is at most this, but for `level`."""
    return -math.expm1(math.log(level) / pairs)
