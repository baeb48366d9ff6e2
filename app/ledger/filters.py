"""Which sums a budget (ε, δ) admits, whatever was seen before: the filters, and why an account may use them as it does.

Neighbours: the same number of people, one person's data replaced. *Sums* are of proven bounds on what each release costs, given
all before it. Three filters are known, each sound alone under adaptive choice:

    pure       Σ ε_i ≤ ε; costs no δ
    Rényi      Σ D(α) ≤ c(α) = ε − ln(1−1/α) + ln(δ′α)/(α−1), at one order α fixed in advance
    Gaussian   Gaussian noise only, Σ ρ_i ≤ the capacity of (ε, δ′) by the law of the noise (`core/privacy/gaussian.py`)

**Two together.** An account uses the pure filter and *one* other; a charge passes if either admits it. Call a transcript *pure*
if its pure sum is at most ε, *other* if its sum is within the other filter. Sums only grow, and the last admitted charge
passed one filter with the whole sum so far, so every transcript is pure or other. On pure transcripts the privacy loss is at
most ε point by point, hence they add nothing to E[(1 − exp(ε − loss))₊]. On the others the run never left the other filter, so
they are also transcripts, with the same loss, of the run that halts at the first charge outside it; that run is (ε, δ′), hence
they add at most δ′. With two that use δ the second part would be paid twice: whoever chooses between them after seeing a
release takes the larger of two conditional risks, and the mean of the larger is above δ′ (`tests/ledger/test_gaussian_filter.py`
has the figure).

**Which one** is fixed by the first charge that stands, for ever: the Rényi filter at the order fixed when the account was
opened, if that or the pure filter admits it; else the Gaussian filter, or the Rényi filter at another order, if one of them
does. Nothing had been released before it, so this choice cannot depend on the data: given what else the person who asks
knows, it is as fixed as the opening was, and every run belongs to one pair of filters. It is what lets an empty account of
(ε, δ) admit whatever was calibrated to (ε, δ). An account is empty again when everything charged was voided: a void says that
nothing was read. A later cap does not choose anew.

**Bounds that get tighter.** The proofs need, at every admission, that the sum of what the releases truly cost is within the
capacity; what is on the books only has to be at least that. Replacing a bound by a smaller one of the same mechanism keeps it
so, whenever it is done and whatever was seen (ADR 27): define *pure* and *other* above by the true sums, which only grow.
"""

from typing import Literal

from app.core.privacy import ORDERS, conversion_offset
from app.core.privacy.cost import budget_order
from app.core.privacy.gaussian import gaussian_capacity
from app.ledger.amounts import CEILING_NANO, Amounts, nano_down

GAUSSIAN: Literal["gaussian"] = "gaussian"
Regime = float | Literal["gaussian"]
"""What the first standing charge fixed where that is not the account's own order: another one, or Gaussian noise only."""

UNUSED_DELTA = 1e-6
"""The δ for which an account opened without any fixes its order."""
LATE_ORDER = 10.0
"""For accounts of earlier versions, opened without δ and used before they got one: a constant, since it is chosen late."""


def best_order(epsilon: float, delta: float) -> float | None:
    """argmax over the public orders of c(α)/α, the smallest if several; None without any δ."""
    return budget_order(epsilon, delta) if delta > 0 else None


def capacity_nano(epsilon: float, delta: float, order: float | None) -> int:
    """c(α) = ε − ln(1−1/α) + ln(δα)/(α−1), clamped at 0.

    One unit is kept back: it is more than the logarithms can be wrong by, so rounding never lends budget.
    """
    if order is None or not delta > 0:
        return 0
    return _kept_back(max(0.0, epsilon - conversion_offset(order, delta)))


def gaussian_capacity_nano(epsilon: float, delta: float, order: float | None) -> int:
    """α·ρ, what releases of Gaussian noise may sum to at order α: the books hold curves, and theirs are α·ρ."""
    if order is None or not delta > 0:
        return 0
    return _kept_back(order * gaussian_capacity(epsilon, delta))


def regime_capacity_nano(epsilon: float, delta: float, order: float | None, regime: Regime) -> int:
    if regime == GAUSSIAN:
        return gaussian_capacity_nano(epsilon, delta, order)
    return capacity_nano(epsilon, delta, float(regime))


def first_regime(epsilon: float, delta: float, order: float | None, charge: Amounts, gaussian: bool) -> Regime | None:
    """For a first charge that neither the pure filter nor the account's own order admits; None if nothing does.

    Of several orders the one of whose capacity it takes the smallest part.
    """
    if not delta > 0 or order is None:
        return None
    if gaussian and charge.curve_nano[ORDERS.index(order)] <= gaussian_capacity_nano(epsilon, delta, order):
        return GAUSSIAN
    parts = [
        (spent / capacity, other)
        for other, spent in zip(ORDERS, charge.curve_nano, strict=True)
        if spent <= (capacity := capacity_nano(epsilon, delta, other)) and capacity > 0
    ]
    return float(min(parts)[1]) if parts else None


def _kept_back(nats: float) -> int:
    return max(0, min(nano_down(nats), CEILING_NANO - 1) - 1)
