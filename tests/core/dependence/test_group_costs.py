"""What several people at once cost, every kind by every mechanism: never less than fewer people, never more than the path."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from app.core.kinds import parse_mechanism, parse_model
from app.core.kinds.group_costs import ReleaseLosses
from app.core.privacy.cost import ORDERS
from app.core.privacy.together.path import people_apart
from app.core.schema import parse_columns

COLUMNS = {"cured": {"type": "binary"}, "days": {"type": "real", "lower": 0, "upper": 365}}
MODEL = {"family": "bernoulli", "column": "cured", "prior": {"alpha": 1, "beta": 1}, "trim": 0.05}
LAPLACE = {"kind": "laplace", "samples": 30, "epsilon": 0.5}
EVERY_GROUP: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (MODEL, {"kind": "baps", "samples": 5}),
    (MODEL, LAPLACE),
    (MODEL, {"kind": "gaussian", "samples": 5, "epsilon": 1.0, "delta": 1e-6}),
    (MODEL, {"kind": "map", "epsilon": 1.0, "score": "log_density"}),
    (MODEL, {"kind": "map", "epsilon": 1.0, "score": "probability"}),
    ({"family": "network", "nodes": {"cured": {}}, "trim": 0.1}, {"kind": "baps", "samples": 5, "temperature": 0.1}),
    ({"family": "network", "nodes": {"cured": {}}, "trim": 0.1}, LAPLACE),
    ({"family": "network", "nodes": {"cured": {}}, "trim": 0.1}, {"kind": "fourier", "samples": 5, "epsilon": 1.0}),
    (
        {"family": "mvn_mean", "columns": ["days"], "covariance": [[900.0]]},
        {"kind": "baps", "samples": 2, "temperature": 0.1},
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "mechanism", "unit_rows"),
    [(*each, rows) for each in EVERY_GROUP for rows in (1, 2) if rows == 1 or each[0]["family"] != "mvn_mean"],
)
def test_groups_of_every_kind_cost_more_than_one_person_and_no_more_than_the_path(
    model: dict[str, Any], mechanism: dict[str, Any], unit_rows: int
) -> None:
    parsed = parse_model(model, parse_columns(COLUMNS))
    how = parse_mechanism(mechanism, parsed)
    cost = how.cost(parsed, 60, unit_rows)
    losses = ReleaseLosses(parsed, how, cost, 60, unit_rows, cost.samples)
    curves = [losses.group(count) for count in (1, 2, 4, 9)]
    for smaller, larger in pairwise(curves):
        assert all(a <= b * (1 + 1e-9) for a, b in zip(smaller.curve, larger.curve, strict=True))
        assert smaller.pure <= larger.pure * (1 + 1e-9)
    for count, found in zip((2, 4, 9), curves[1:], strict=True):
        path = people_apart(cost.total, count)
        assert all(a <= b * (1 + 1e-6) + 1e-9 for a, b in zip(found.curve, path.curve, strict=True))


def test_a_stored_cost_is_what_groups_begin_with() -> None:
    parsed = parse_model(MODEL, parse_columns(COLUMNS))
    how = parse_mechanism(LAPLACE, parsed)
    cost = how.cost(parsed, 60, 1)
    assert ReleaseLosses(parsed, how, cost, 60, 1, 30).group(1).curve == cost.once.curve


@pytest.mark.slow
def test_groups_cost_no_less_than_every_pair_of_sums_so_far_apart() -> None:
    """Bernoulli, 40 people: every two sums that differ by at most k, of the tables really drawn from."""
    from app.core.grids.integer_table import UNIFORM_SHARE
    from app.core.kinds.one_parameter.mechanisms import Baps

    parsed, how = parse_model(MODEL, parse_columns(COLUMNS)), Baps(samples=1)
    cost = how.cost(parsed, 40, 1)
    losses = ReleaseLosses(parsed, how, cost, 40, 1, 1)
    grid = parsed.grid(40, 1.0)  # type: ignore[attr-defined]
    logs = grid.log_prior + np.outer(np.arange(41), grid.eta) - 40 * grid.partition
    tables = np.exp(logs - np.logaddexp.reduce(logs, axis=1, keepdims=True))
    drawn = np.log((1 - UNIFORM_SHARE) * tables + UNIFORM_SHARE / grid.size)
    for count in (2, 4, 7, 25, 40):
        found = losses.group(count)
        for apart in range(1, count + 1):
            for p, q in ((drawn[:-apart], drawn[apart:]), (drawn[apart:], drawn[:-apart])):
                assert (p - q).max() <= found.pure
                for order, bound in zip(ORDERS[:20], found.curve, strict=False):
                    exact = np.logaddexp.reduce(order * p - (order - 1) * q, axis=1).max() / (order - 1)
                    assert exact <= bound


@pytest.mark.parametrize("count", [3, 8])
def test_among_a_thousand_the_worst_of_all_sums_so_far_apart_is_found_by_visiting_a_few(count: int) -> None:
    """Every pair of sums, against the sums that a ceiling of the curvature leaves: equal, and both directions of them."""
    from app.core.privacy.together.draws import group_draw

    parsed = parse_model(MODEL, parse_columns(COLUMNS))
    found = group_draw(parsed, 1_000, 1.0, count, np.inf)  # type: ignore[arg-type]
    assert found is not None
    grid = parsed.grid(1_000, 1.0)  # type: ignore[attr-defined]
    logs = grid.log_prior + np.outer(np.arange(1_001), grid.eta) - 1_000 * grid.partition
    logs -= np.logaddexp.reduce(logs, axis=1, keepdims=True)
    first, last = logs[:-count], logs[count:]
    for place in (0, 3, 5):
        order = ORDERS[place]
        powers = [
            np.logaddexp.reduce(order * p - (order - 1) * q, axis=1).max() for p, q in ((first, last), (last, first))
        ]
        assert found[0].curve[place] == pytest.approx(max(powers) / (order - 1), rel=1e-6)
