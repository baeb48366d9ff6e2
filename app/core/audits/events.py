"""An event fixed in advance, and exact binomial bounds on its two probabilities (Clopper and Pearson).

With p ≥ p_low and q ≤ q_high, each but for half of the level: ε ≥ ln((p_low − δ)/q_high), and by data processing D_α is at least
that of the two coins. An event chosen and bounded on the same draws proves nothing: two equal laws then "violate" anything.
"""

import math

from app.core.audits.claims import Approximate, Claim


def clopper_pearson(hits: int, runs: int, level: float) -> tuple[float, float]:
    """(low, high): each beyond the true probability with probability at most `level`."""
    if not 0 <= hits <= runs or not runs > 0 or not 0 < level < 1:
        raise ValueError("hits of that many runs, and a level between 0 and 1")
    from scipy.special import betaincinv  # not at start

    low = 0.0 if hits == 0 else float(betaincinv(hits, runs - hits + 1, level))
    high = 1.0 if hits == runs else float(betaincinv(hits + 1, runs - hits, 1 - level))
    return low, high


def epsilon_bound(hits_x: int, hits_y: int, runs: int, level: float, delta: float = 0.0) -> float:
    """A lower bound of ε at δ, false with probability at most `level`."""
    low, _ = clopper_pearson(hits_x, runs, level / 2)
    _, high = clopper_pearson(hits_y, runs, level / 2)
    return 0.0 if low - delta <= high else math.log((low - delta) / high)


def renyi_bound(hits_x: int, hits_y: int, runs: int, level: float, order: float) -> float:
    """A lower bound of D_α, from the two coins."""
    low, _ = clopper_pearson(hits_x, runs, level / 2)
    _, high = clopper_pearson(hits_y, runs, level / 2)
    return coin_divergence(low, high, order) if low > high else 0.0


def coin_divergence(p: float, q: float, order: float) -> float:
    """D_α of two coins, which grows as p rises above q."""
    if not 0 < q < 1:
        return math.inf if p != q else 0.0
    sides = [(p, q), (1 - p, 1 - q)]
    if order == 1:
        return math.fsum(a * math.log(a / b) for a, b in sides if a > 0)
    logs = [order * math.log(a) + (1 - order) * math.log(b) for a, b in sides if a > 0]
    top = max(logs)
    return max(0.0, (top + math.log(math.fsum(math.exp(each - top) for each in logs))) / (order - 1))


def claim_bound(claim: Claim, hits_x: int, hits_y: int, runs: int, level: float) -> float:
    if isinstance(claim, Approximate):
        return epsilon_bound(hits_x, hits_y, runs, level, claim.delta)
    return renyi_bound(hits_x, hits_y, runs, level, claim.order)
