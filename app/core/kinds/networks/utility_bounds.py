"""The papers' utility bounds on networks, with constants that hold. From public numbers only.

Proposition 1, Theorem 1, Theorem 3 and Lemma 4 of the four mechanisms, each stated for what is implemented here: discrete
noise, a public grid, record-level sensitivities.
"""

import math

from app.core.kinds.networks.mechanisms.fourier import NetworkFourier, binary_characters
from app.core.kinds.networks.mechanisms.laplace import NetworkLaplace
from app.core.kinds.networks.model import NetworkModel


def largest_noise(scale: float, noises: int, delta: float) -> int:
    """⌈b·ln(C/δ)⌉: with probability ≥ 1 − δ none of C discrete Laplace noises is larger in size.

    P(|X| > z) = 2q^{z+1}/(1+q) ≤ q^z for whole z, q = e^{−1/b}, because 2q ≤ 1 + q; then a union bound. Without rounding
    up the continuous bound can fail by one step.
    """
    if not 0 < delta < 1:
        raise ValueError("a probability δ strictly between 0 and 1")
    return math.ceil(scale * math.log(noises / delta))


def proposition_1(model: NetworkModel, mechanism: NetworkLaplace, people: int, unit_rows: int, delta: float) -> int:
    """How far every count may lie from its noisy version, with probability ≥ 1 − δ; C counts all cells.

    The papers' 2m counts two cells a configuration, which is C for binary nodes. Clamping to [0, n] only helps.
    """
    noise = largest_noise(mechanism.scale(model, unit_rows), model.network.cell_count, delta)
    return min(noise, people * unit_rows)


def theorem_1(model: NetworkModel, mechanism: NetworkLaplace, people: int, unit_rows: int, delta: float) -> float:
    """KL of the exact posterior from the one noisy counts give, at most, with probability ≥ 1 − δ, whatever the data.

    Between Dirichlet(a) and Dirichlet(b), with B(b, a) = lnΓ(b) − lnΓ(a) − ψ(a)·(b−a) ≥ 0, KL = Σ_i B(b_i, a_i) − B(Σb, Σa)
    ≤ Σ_i B(b_i, a_i). By Proposition 1 all |b_i − a_i| ≤ Z at once, and both are at least the prior's a₀. As B is ∫ (b−t)ψ'(t)
    between the two and ψ' falls, it is largest with the smaller at a₀ and the larger at a₀ + Z. Before trimming to [ω, 1−ω].

    The papers' expectation bound needs α, β ≥ 2, and their deviation has Σ c where McDiarmid's inequality has Σ c²: it is
    not what their proof gives. Summing over cells at the level of Proposition 1 needs neither.
    """
    from scipy.special import digamma, gammaln

    noise = proposition_1(model, mechanism, people, unit_rows, delta)
    total = 0.0
    for i, node in enumerate(model.network.nodes):
        for least in node.concentration:
            most = least + noise
            rise = float(gammaln(most) - gammaln(least) - digamma(least) * noise)
            fall = float(gammaln(least) - gammaln(most) + digamma(most) * noise)
            total += model.network.configurations(i) * max(rise, fall)
    return total


def theorem_1_deviation(spreads: list[float], delta: float) -> float:
    """√(½·ln(1/δ)·Σ c²): how far a sum of independent parts of these spreads exceeds its mean (McDiarmid).

    The papers' statement has Σ c in place of Σ c².
    """
    return math.sqrt(0.5 * math.log(1 / delta) * sum(spread**2 for spread in spreads))


def theorem_3(model: NetworkModel, mechanism: NetworkFourier, i: int, unit_rows: int, delta: float) -> float:
    """L1 distance of node i's table from the exact one, with probability ≥ 1 − δ, before cells below zero are dealt with.

    Every one of the node's 2^{|π_i|+1} − 1 noisy characters adds its noise, spread over the cells with either sign, so at
    most its size to the L1 distance; the constant added for non-negativity adds all of itself. For several rows a person the
    empty character is noisy too. The papers' scale 2|N_I|/ε is larger than 2·max_z #odd/ε and their t|N_I| than c.
    """
    found = binary_characters(model)
    noisy = math.prod(model.network.shape(i)) - (unit_rows == 1)
    noise = largest_noise(mechanism.scale(model, unit_rows), found.count - (unit_rows == 1), delta)
    return float(noisy * noise + mechanism.raised(model, unit_rows))


def lemma_4(epsilon: float, sensitivity: float, t: float, share: float) -> float:
    """P(score of the drawn point ≤ best − 2t) ≤ exp(−ε·t/(2Δ))/μ(S_t), S_t the points that score above best − t.

    Points outside S_{2t} weigh at most e^{ε(best−2t)/(2Δ)} together, those in S_t at least μ(S_t)·e^{ε(best−t)/(2Δ)}. `share` is
    μ(S_t), at least 1/K on a grid of K points. The papers write exp(−ε·t), without 2Δ.
    """
    if not 0 < share <= 1 or not sensitivity > 0:
        raise ValueError("a share of the points in (0, 1] and a positive sensitivity")
    return min(1.0, math.exp(-epsilon * t / (2 * sensitivity)) / share)
