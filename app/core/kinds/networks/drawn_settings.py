"""How many draws of a network, and how cool: at a fixed cost, what tells most about its tables. Public numbers only.

N draws at temperature τ are charged N times what one does at its *worst* counts, about N·τ², while they tell about those there
are; so many cool ones tell more than a few warm ones. Of all temperatures that do within a per cent of the best the highest is
taken: more draws only take room, of which a network with many cells has less.

Of a split with probability p, q = 1 − p, under a configuration of m rows, all rows would show its share with the variance pq/m. N
draws at temperature τ hide it by

    pq·(a + τm)²/((a + τm + 1)·N·(τm)²),   a = α + β,

as each is Beta(α + τs, β + τ(m − s)), whose mean has the slope τ/(a + τm) in s. With both, v, the posterior's variance is about
1/(1/V + 1/v), V the prior's. N draws cost about N·τ², so at one cost what they hide falls with τ until τm is small beside a.
Truths and rows are those of `accuracy.py`; the trim, and what tables tell each other, are left out.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.mechanism_fields import TEMPERATURE_MIN
from app.core.kinds.networks.accuracy import REPEATS, SEED, prior_tables, simulated_counts
from app.core.kinds.networks.comparison import fitting_baps
from app.core.kinds.networks.mechanisms import NetworkBaps
from app.core.kinds.networks.mechanisms.baps import draw_brackets
from app.core.kinds.networks.model import NetworkModel
from app.core.kinds.networks.splits import side_totals
from app.core.privacy import ORDERS, conversion_offset
from app.core.privacy.targets import Target, largest_samples
from app.errors import InvalidMechanism

Array = NDArray[np.float64]

TEMPERATURES = tuple(max(10 ** (-k / 4), TEMPERATURE_MIN) for k in range(17))
PRICED = (1.0, 10**-0.5, 0.1, 0.01)
"""At which one draw is priced, a second or so each for a large network; between them its curve is as smooth as a power."""
NEAR_BEST = 1.01
NUMBERS_MAX = 2_000_000
"""Draws times probabilities: what a release keeps."""
COOL = (
    "Draws are many and cool where their number is open: {samples} at temperature {temperature:.3g} leave a calibrated "
    "probability an expected sd of about {sd:.3g}, a single one as warm as the same cost allows, {warmest:.3g}, {warm:.3g}. The "
    "samples as they are show little but the prior then: ask for the calibrated view"
)
RARELY = 0.5
"""Rows a split is taken to have at least: nothing divides by none."""


def best_drawn(model: NetworkModel, people: int, unit_rows: int, target: Target, samples_max: int) -> NetworkBaps:
    """Raises InvalidMechanism where not even one draw at the lowest temperature fits."""
    most = max(1, min(samples_max, NUMBERS_MAX // model.network.cell_count))
    rated = list(_rated(model, people, unit_rows, target, most))
    best = min((sd for _, _, sd in rated), default=0.0)
    for temperature, _, sd in rated:
        if sd <= best * NEAR_BEST:
            one = NetworkBaps(1, temperature).cost(model, people, unit_rows)
            if target.fits(one):
                return NetworkBaps(min(largest_samples(one, target), most), temperature)
    return fitting_baps(model, people, unit_rows, target, 1)


def why_cool(model: NetworkModel, mechanism: NetworkBaps, people: int, unit_rows: int, target: Target) -> str | None:
    """Beside a single draw at the same cost, as warm as it allows."""
    try:
        warm = fitting_baps(model, people, unit_rows, target, 1)
    except InvalidMechanism:
        return None
    if mechanism.samples <= warm.samples:
        return None
    return COOL.format(
        samples=mechanism.samples,
        temperature=mechanism.temperature,
        sd=drawn_sd(model, people, mechanism.samples, mechanism.temperature),
        warmest=warm.temperature,
        warm=drawn_sd(model, people, 1, warm.temperature),
    )


def _rated(
    model: NetworkModel, people: int, unit_rows: int, target: Target, most: int
) -> Iterator[tuple[float, float, float]]:
    """(τ, about as many draws as fit, expected sd), where any fits."""
    offsets = np.array([conversion_offset(order, target.delta) if target.delta > 0 else np.inf for order in ORDERS])
    room = np.maximum(target.epsilon - np.append(offsets, 0.0), 0.0)
    priced = []
    for temperature in PRICED:
        cost = draw_brackets(model, people, unit_rows, temperature)[0]
        priced.append([*cost.curve, cost.pure])
    heats, logs = np.log(PRICED[::-1]), np.log(np.array(priced)[::-1])
    for temperature in TEMPERATURES:
        place = math.log(temperature)
        below = 2.0 if place < heats[0] else 0.0
        each = np.array([np.interp(place, heats, column) for column in logs.T]) + below * min(0.0, place - heats[0])
        each[-1] -= (below / 2) * min(0.0, place - heats[0])  # the range falls like τ, the curve like τ²
        samples = min(float((room / np.exp(each)).max()), float(most))
        if samples >= 1:
            yield temperature, samples, drawn_sd(model, people, math.floor(samples), temperature)


@dataclass(frozen=True, slots=True, eq=False)
class _Splits:
    """Of every split, configuration and repeat."""

    share: Array
    rows: Array
    p: Array
    alpha: Array
    beta: Array


def drawn_sd(model: NetworkModel, people: int, samples: float, temperature: float) -> float:
    """Root mean square over splits, weighted by how many rows reach them."""
    found = _splits(model, people)
    told, strength, hazard = temperature * found.rows, found.alpha + found.beta, found.p * (1 - found.p)
    hidden = hazard * (strength + told) ** 2 / ((strength + told + 1) * samples * told**2)
    prior = found.alpha * found.beta / (strength**2 * (strength + 1))
    variance = 1 / (1 / prior + 1 / (hazard / found.rows + hidden))
    return math.sqrt(float(np.average(variance, weights=found.share)))


@lru_cache(maxsize=64)
def _splits(model: NetworkModel, people: int) -> _Splits:
    found = []
    for repeat in range(REPEATS):
        generator = np.random.default_rng([SEED, repeat])
        tables = prior_tables(model, generator)
        _, counts = simulated_counts(model, tables, people, generator)
        for i, node in enumerate(model.network.nodes):
            splits, own = model.node_splits(i), model.network.cells(i)
            cells = np.stack([counts.cells[own], tables[own]]).reshape(2, -1, len(node.levels))
            yes, no = side_totals(splits, cells)
            priors = np.array([model.split_prior(i, split) for split in splits]).T
            alpha, beta = (np.broadcast_to(each, yes.shape[1:]).ravel() for each in priors)
            rows, p = (yes + no)[0].ravel(), (yes / (yes + no + 1e-300))[1].ravel()
            found.append((rows / people, np.maximum(rows, RARELY), p, alpha, beta))
    return _Splits(*(np.concatenate(each) for each in zip(*found, strict=True)))
