"""Numbers for the guarantee card that follow from a cost (PRIVACY §7). Each says what it assumes."""

import math


def samples_to_distinguish(kl_sup: float, error: float, kl_once: float = 0.0) -> float:
    """Fewest samples with which any test between two neighbouring datasets can have both error rates ≤ `error`.

    Bretagnolle–Huber: the two errors sum to at least ½·exp(−N·KL), so N ≥ ln(1/(4·error))/KL; what comes with the first
    sample, `kl_once`, is taken off the logarithm.
    """
    if not 0 < error < 0.25:
        raise ValueError("an error rate between 0 and 1/4")
    return math.inf if kl_sup == 0 else max(0.0, math.log(1 / (4 * error)) - kl_once) / kl_sup


def papers_samples_to_distinguish(lipschitz: float, error: float) -> float:
    """The papers' 3/(4·L·ρ)·ln(1/error) with ρ = 1, shown as theirs: it concludes more than its proof gives."""
    return 3 / (4 * lipschitz) * math.log(1 / error)


def leakage_bits(pure_epsilon: float, values: int) -> float:
    """Min-entropy leakage about one person with `values` possible records: log₂(v·e^ε/(v−1+e^ε)) bits at most."""
    if pure_epsilon > 700:
        return math.log2(values)
    grown = math.exp(pure_epsilon)
    return math.log2(values * grown / (values - 1 + grown))


def odds_factor(pure_epsilon: float) -> float:
    """How much anyone can multiply their odds about one person whose record is independent of the others': e^ε."""
    return math.exp(pure_epsilon) if pure_epsilon < 700 else math.inf


def inferential_bound(pure_epsilon: float, total_influence: float) -> float:
    """ν ≤ ε/(1−q) where each person's record is influenced by all others together by at most q < 1.

    With γ_ij a quarter of the largest log cross-ratio of two people's values, ν_i ≤ Σ_j k_j·ε_j for k = min(1, Γk), k_i = 1
    (`dependence/influence.py`, C): with all ε alike and row sums at most q that is ε/(1−q). Ghosh and Kleinberg's Theorem 4.2
    has twice as much.
    """
    if not 0 <= total_influence < 1:
        raise ValueError("a total influence in [0, 1)")
    return pure_epsilon / (1 - total_influence)


def relatives_bound(pure_epsilon: float, relatives: int, agreement: float) -> float:
    """ν for a person whose 0/1 record each of `relatives` others shares with probability `agreement` ≥ ½.

    Ghosh and Kleinberg, Theorem 3.4, for a star: given the centre, the others agree with it independently, and the worst
    ε-private mechanism gives ν = ε + g·ln[(p + (1−p)·e^{−ε})/((1−p) + p·e^{−ε})]; tight over all mechanisms of that ε.
    """
    if not 0.5 <= agreement <= 1 or relatives < 0:
        raise ValueError("an agreement from ½ to 1 and a number of relatives")
    shrunk = math.exp(-pure_epsilon)
    agree, differ = agreement + (1 - agreement) * shrunk, (1 - agreement) + agreement * shrunk
    if differ == 0:
        return pure_epsilon * (1 + relatives)
    return pure_epsilon + relatives * math.log(agree / differ)


def error_floor(kl_total: float) -> float:
    """The two error rates of any test between neighbouring datasets sum to at least this (Bretagnolle–Huber)."""
    return 0.5 * math.exp(-kl_total)
