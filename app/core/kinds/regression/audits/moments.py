"""Audits of moments: rows at the ends of what is analysed, in whole steps of the lattice.

Noise is added to whole numbers: those that `measure` hands on are compared. The sampler on the ball works in doubles with a
declared allowance and has no table that could be written down, so that nothing certifies it here: draws of two neighbours are
held against the charged curve, and can only fail to refute it.
"""

import math
from collections.abc import Iterator

import numpy as np

from app.core.audits.black_box import audit_samples
from app.core.audits.claims import Renyi
from app.core.audits.noise_law import Spy
from app.core.audits.own_mechanism import Effort, as_outputs, noise_certificate
from app.core.audits.seeded_bytes import SeededBytes
from app.core.audits.verdict import Findings
from app.core.kinds.regression.mechanisms import (
    PerturbedStatistics,
    RegressionBaps,
    RegressionMechanism,
    RegressionModel,
)
from app.core.statistics.moments import LATTICE, ExactMoments

GATE_RUNS = 600
GATE_SEED = b"postern/audit/gate/ball"


def audit_moments(
    model: RegressionModel, mechanism: RegressionMechanism, people: int, unit_rows: int, effort: Effort
) -> Findings:
    if isinstance(mechanism, PerturbedStatistics):
        return _noise_findings(model, mechanism, people, unit_rows)
    return _sampled_findings(model, mechanism, people, unit_rows, effort)


def _noise_findings(model: RegressionModel, mechanism: PerturbedStatistics, people: int, unit_rows: int) -> Findings:
    def spied(rows: ExactMoments) -> Spy:
        spy = Spy()
        mechanism.measure(model, people, unit_rows, rows, spy)
        return spy

    pairs = [(name, spied(before), spied(after)) for name, before, after in moment_neighbours(model, people, unit_rows)]
    charged = mechanism.cost(model, people, unit_rows).once
    certificate, _ = noise_certificate(pairs, charged, gaussian=True)
    return Findings(certificates=(certificate,), covers=True)


def moment_neighbours(
    model: RegressionModel, people: int, unit_rows: int
) -> Iterator[tuple[str, ExactMoments, ExactMoments]]:
    """A person's k rows all move together, between unit rows and targets: across two axes, with the target from one end to the
    other, from nothing to an end, and to where a square beside its sum moves farthest."""
    dimension, steps = model.statistic.dimension, model.statistic.steps
    targeted = model.statistic.target is not None
    first, last = np.zeros(dimension, np.int64), np.zeros(dimension, np.int64)
    first[0], last[-1] = steps, steps
    far = math.floor(steps * (1 - (math.sqrt(5) - 1)))
    ends = (LATTICE, -LATTICE) if targeted else (0, 0)
    rows = [
        ("two axes", (first, ends[0]), (last, ends[0])),
        ("two axes, the target turned round", (first, ends[0]), (last, ends[1])),
        ("the target turned round", (first, ends[0]), (first, ends[1])),
        ("turned round", (first, ends[0]), (-first, ends[0])),
        ("none and an end", (0 * first, 0), (first, ends[0])),
        ("an end and where squares are far", (first, 0), (first * far // steps, 0)),
    ]
    for name, before, after in rows:
        yield name, _moments(*before, people, unit_rows), _moments(*after, people, unit_rows)
    if unit_rows > 1:
        yield "one row and all", _moments(first, ends[0], people, 1), _moments(first, ends[0], people, unit_rows)


def _moments(row: np.ndarray, target: int, people: int, copies: int) -> ExactMoments:
    """`copies` of this row, and everybody else's at 0."""
    return ExactMoments(
        copies * np.outer(row, row), copies * row * target, copies * target**2, copies * row, people - 1 + copies
    )


def _sampled_findings(
    model: RegressionModel, mechanism: RegressionBaps, people: int, unit_rows: int, effort: Effort
) -> Findings:
    """Rows (u, Y) and (u, −Y): what moves the linear term farthest."""
    runs = effort.runs or GATE_RUNS
    neighbours = {name: pair for name, *pair in moment_neighbours(model, people, unit_rows)}
    chosen = "the target turned round" if model.statistic.target is not None else "turned round"
    charged = mechanism.cost(model, people, unit_rows).per_sample
    drawn = []
    for role, moments in zip(("x", "y"), neighbours[chosen], strict=True):
        random_bytes = SeededBytes(GATE_SEED, role) if effort.random_bytes is None else effort.random_bytes(role)
        drawn.append(mechanism.with_samples(runs).draw(model, people, unit_rows, moments, random_bytes))
    return audit_samples(Renyi(2.0, charged.curve[3]), as_outputs(drawn[0]), as_outputs(drawn[1]), effort.level)
