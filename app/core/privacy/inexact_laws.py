"""What a sampler's rounding adds to the Kullback–Leibler divergence between neighbours.

Let every probability of P̃ be within e^{±s} of P's, and of Q̃ within e^{±s} of Q's, l = log P/Q. Then

    KL(P̃‖Q̃) ≤ E_P̃[l] + 2s ≤ e^s·E_P[l⁺] − e^{−s}·E_P[l⁻] + 2s = e^s·KL(P‖Q) + 2·sinh(s)·E_P[l⁻] + 2s,

and E_P[l⁻] = E_P[(log Q/P)⁺] ≤ E_P[Q/P]/e ≤ 1/e, because log x ≤ x/e. For s ≤ 1, 2·sinh(s)/e < s.
"""

import math


def inexact_kl(kl: float, log_ratio: float) -> float:
    """A bound on KL between two laws that are each within e^{±log_ratio} of laws at most `kl` apart; none for s > 1."""
    return math.exp(log_ratio) * kl + 3 * log_ratio if log_ratio <= 1 else math.inf
