"""Exact certificates of our own mechanisms, against references of their own; defects in copies are found where they belong."""

import math
from collections.abc import Callable
from itertools import pairwise

import mpmath
import numpy as np
import pytest

from app.core.audits.draw_map import Feed, draws_right, jumps_of
from app.core.audits.exact_laws import Divergences, exact_divergences, larger, within
from app.core.audits.noise_law import Spy, laplace_law, shifts
from app.core.audits.own_mechanism import GATE, Effort, noise_certificate, table_certificate
from app.core.audits.seeded_bytes import SeededBytes
from app.core.grids.bernoulli import bernoulli
from app.core.grids.integer_table import IntegerTable, integer_table, integer_weights
from app.core.kinds import kind_of, parse_mechanism, parse_model
from app.core.kinds.one_parameter.audits.column import audit_column, witnesses
from app.core.kinds.one_parameter.mechanisms import Baps, Laplace
from app.core.noise.discrete_laplace import discrete_laplace_cost
from app.core.privacy.cost import ORDERS, Cost
from app.core.privacy.drawn_cost import drawn_cost
from app.core.schema import parse_columns
from app.core.statistics.sums import ExactStatistic

COLUMNS = parse_columns(
    {
        "cured": {"type": "binary"},
        "arm": {"type": "categorical", "levels": ["a", "b", "c"]},
        "visits": {"type": "integer", "lower": 0, "upper": 5},
        "days": {"type": "real", "lower": 0, "upper": 60},
        "wage": {"type": "real", "lower": 0, "upper": 10},
    }
)
MODEL = bernoulli("cured")
NETWORK = {"family": "network", "nodes": {"arm": {"parents": []}, "cured": {"parents": ["arm"]}}}


@pytest.mark.parametrize("order", [1.25, 2.0, 5.0, 64.0])
def test_divergences_of_whole_weights_are_those_of_forty_digits(order: float) -> None:
    p, q = [5, 1, 10**30, 7], [4, 2, 10**30 + 10**12, 9]
    found = exact_divergences(p, q)
    with mpmath.workdps(40):
        a, b = ([mpmath.mpf(weight) / sum(law) for weight in law] for law in (p, q))
        exact = mpmath.log(mpmath.fsum(x**order * y ** (1 - order) for x, y in zip(a, b, strict=True))) / (order - 1)
    assert found.curve[ORDERS.index(order)] == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize("people", [1, 7, 40])
def test_witnesses_are_the_worst_of_all_pairs(people: int) -> None:
    grid = MODEL.grid(people, 1.0)
    constants = MODEL.constants(grid)
    laws = [integer_weights(constants, ExactStatistic(total, people)) for total in range(people + 1)]
    worst = [larger(exact_divergences(p, q), exact_divergences(q, p)) for p, q in pairwise(laws)]
    found = [
        larger(exact_divergences(p, q), exact_divergences(q, p))
        for p, q in ((laws[a.total], laws[b.total]) for a, b in witnesses(MODEL, grid, people, 1))
    ]
    for order in (1.25, 2.0, 8.0):
        at = ORDERS.index(order)
        assert max(each.curve[at] for each in found) == pytest.approx(max(each.curve[at] for each in worst), rel=1e-9)


CASES: list[tuple[dict[str, object], dict[str, object], int, int]] = [
    ({"family": "bernoulli", "column": "cured"}, {"kind": "baps", "samples": 10}, 1_000, 1),
    ({"family": "bernoulli", "column": "cured"}, {"kind": "baps", "samples": 10}, 30, 3),
    ({"family": "poisson", "column": "visits"}, {"kind": "baps", "samples": 10, "temperature": 0.2}, 200, 2),
    ({"family": "bernoulli", "column": "cured"}, {"kind": "map", "epsilon": 1.0, "score": "log_density"}, 100, 1),
    ({"family": "bernoulli", "column": "cured"}, {"kind": "map", "epsilon": 1.0, "score": "probability"}, 100, 1),
    ({"family": "exponential", "column": "days"}, {"kind": "laplace", "samples": 5, "epsilon": 0.7}, 200, 3),
    ({"family": "exponential", "column": "days"}, {"kind": "gaussian", "samples": 5, "epsilon": 0.7, "delta": 1e-6}, 9, 1),
    (NETWORK, {"kind": "baps", "samples": 3}, 50, 1),
    (NETWORK, {"kind": "map", "epsilon": 1.0, "score": "probability"}, 50, 1),
    (NETWORK, {"kind": "laplace", "samples": 3, "epsilon": 1.0}, 50, 2),
    (NETWORK, {"kind": "gaussian", "samples": 3, "epsilon": 1.0, "delta": 1e-6}, 50, 2),
    ({"family": "normal", "column": "wage"}, {"kind": "perturbed_statistics", "samples": 3, "epsilon": 1, "delta": 1e-6}, 9, 1),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("spec", "mechanism", "people", "unit_rows"), CASES, ids=str)
def test_our_mechanisms_are_certified(
    spec: dict[str, object], mechanism: dict[str, object], people: int, unit_rows: int
) -> None:
    model = parse_model(spec, COLUMNS)
    audit = kind_of(model).audit
    assert audit is not None
    found = audit(model, parse_mechanism(mechanism, model), people, unit_rows, GATE)
    assert found.verdict == "certified", found


def test_the_ball_sampler_is_not_certified_and_says_so() -> None:
    model = parse_model(
        {"family": "linear_regression", "target": "wage", "features": ["days"], "noise_sd": 1.0}, COLUMNS
    )
    audit = kind_of(model).audit
    assert audit is not None
    found = audit(model, parse_mechanism({"kind": "baps", "samples": 3}, model), 50, 1, GATE)
    assert found.verdict == "not_refuted"
    assert not found.certificates


def test_draws_by_the_mechanism_itself_do_not_refute_its_charge() -> None:
    """At level 10⁻⁶, on bytes that follow from a seed."""
    effort = Effort(100_000, runs=5_000, random_bytes=lambda role: SeededBytes(b"fixed", role))
    found = audit_column(MODEL, Baps(10), 20, 1, effort)
    assert found.verdict == "certified"
    assert found.tests[0].verdict == "not_refuted"
    assert found.detects is not None


# --- defects, planted in copies ---------------------------------------------------------------------------------------


def certificate_of(model_cost: Cost, people: int = 1_000, temperature: float = 1.0) -> bool:
    """The table certificate of Bernoulli draws at τ = 1, were they charged so much."""
    grid = MODEL.grid(people, temperature)
    constants = MODEL.constants(grid)
    found = []
    for before, after in witnesses(MODEL, grid, people, 1):
        p, q = integer_weights(constants, before), integer_weights(constants, after)
        found.append(("pair", larger(exact_divergences(p, q), exact_divergences(q, p))))
    return table_certificate(found, model_cost).passed


def scan_of_three_starts() -> Cost:
    grid = MODEL.grid(1_000, 1.0)
    constants = MODEL.constants(grid)
    worst = Divergences(0.0, (0.0,) * len(ORDERS), 0.0)
    for total in (0, 500, 999):
        p, q = (integer_weights(constants, ExactStatistic(total + more, 1_000)) for more in (0, 1))
        worst = larger(worst, larger(exact_divergences(p, q), exact_divergences(q, p)))
    return Cost(worst.pure, worst.curve)


UNDER_CHARGES: dict[str, Callable[[], Cost]] = {
    "a scan of three starts": scan_of_three_starts,
    "a temperature that was not drawn at": lambda: drawn_cost(MODEL, 1_000, 1, 0.5).cost,
    "twice as many people": lambda: drawn_cost(MODEL, 2_000, 1, 1.0).cost,
    "a tenth too little at one order": lambda: _lowered(drawn_cost(MODEL, 1_000, 1, 1.0).cost),
}


def _lowered(cost: Cost) -> Cost:
    curve = list(cost.curve)
    curve[3] *= 0.9
    return Cost(cost.pure, tuple(curve))


@pytest.mark.parametrize("charge", UNDER_CHARGES.values(), ids=UNDER_CHARGES)
def test_under_charges_are_found_by_the_table(charge: Callable[[], Cost]) -> None:
    assert not certificate_of(charge())
    assert certificate_of(drawn_cost(MODEL, 1_000, 1, 1.0).cost)


def of_32_bits(table: IntegerTable, count: int, random_bytes: Callable[[int], bytes]) -> np.ndarray:
    """Only the top four of every 32 bytes count."""
    pool = random_bytes(32 * count)
    short = b"".join(bytes(28) + pool[32 * i + 28 : 32 * i + 32] for i in range(count))
    return table.draw(count, lambda _: short)


def off_by_one(table: IntegerTable, count: int, random_bytes: Callable[[int], bytes]) -> np.ndarray:
    """The last k with cumulative below, not the first above."""
    shifted = IntegerTable([value + 1 for value in table.cumulative])
    return shifted.draw(count, random_bytes)


def shared_bytes(table: IntegerTable, count: int, random_bytes: Callable[[int], bytes]) -> np.ndarray:
    """All draws from the same number."""
    pool = random_bytes(32 * count)
    return table.draw(count, lambda wanted: pool[:32] * (wanted // 32))


def tails_cut(table: IntegerTable, count: int, random_bytes: Callable[[int], bytes]) -> np.ndarray:
    """Beyond four sds nothing is ever drawn."""
    found = table.draw(count, random_bytes)
    middle = int(np.median(found))
    return np.clip(found, middle - 60, middle + 60)


@pytest.mark.parametrize("draw", [of_32_bits, off_by_one, shared_bytes, tails_cut])
def test_broken_samplers_are_found_by_the_draw_map(
    draw: Callable[[IntegerTable, int, Callable[[int], bytes]], np.ndarray],
) -> None:
    grid = MODEL.grid(1_000, 1.0)
    constants, statistic = MODEL.constants(grid), ExactStatistic(400, 1_000)
    table, jumps = integer_table(constants, statistic), jumps_of(integer_weights(constants, statistic))
    assert draws_right(jumps, lambda feed, count: table.draw(count, feed))
    assert not draws_right(jumps, lambda feed, count: draw(table, count, feed))


def test_a_draw_that_takes_fewer_bytes_than_it_should_is_found() -> None:
    grid = MODEL.grid(10, 1.0)
    constants, statistic = MODEL.constants(grid), ExactStatistic(4, 10)
    table, jumps = integer_table(constants, statistic), jumps_of(integer_weights(constants, statistic))

    def lazy(feed: Feed, count: int) -> np.ndarray:
        return np.r_[table.draw(count - 1, feed), jumps.places[-1:]]

    assert not draws_right(jumps, lazy)


def noise_passes(charged: Cost, scale: float, moved: int, *, gaussian: bool = False) -> bool:
    before, after = Spy([0], [scale]), Spy([moved], [scale])
    return noise_certificate([("pair", before, after)], charged, gaussian=gaussian)[0].passed


def test_noise_that_is_too_narrow_is_found_by_its_law() -> None:
    honest = discrete_laplace_cost(5, 5.0)
    assert noise_passes(honest, 5.0, 5)
    assert not noise_passes(honest, 2.5, 5)  # half the scale
    assert not noise_passes(discrete_laplace_cost(1, 5.0), 5.0, 5)  # sensitivity 1 instead of 5
    assert not noise_passes(honest, 5.0, 15)  # three rows a person, charged as one
    assert not noise_passes(_continuous(1, 1.0), 1.0, 1)  # the curve of continuous noise


def _continuous(shift: int, scale: float) -> Cost:
    """D_α of continuous Laplace noise: up to a fifth less than what whole numbers cost."""
    m = shift / scale
    logs = (
        math.log(a / (2 * a - 1) * math.exp((a - 1) * m) + (a - 1) / (2 * a - 1) * math.exp(-a * m)) / (a - 1)
        if a < 500
        else m
        for a in ORDERS
    )
    return Cost(m, tuple(logs))


def test_noise_of_another_scale_for_the_other_neighbour_is_found() -> None:
    assert shifts(Spy([0], [1.0]), Spy([0], [2.0])) is None
    charged = discrete_laplace_cost(1, 1.0)
    assert not noise_certificate([("pair", Spy([0], [1.0]), Spy([0], [2.0]))], charged, gaussian=False)[0].passed


def test_a_mechanism_whose_noise_ignores_that_people_have_several_rows_is_found() -> None:
    """`laplace` with the scale of one row a person, on a dataset where a person may have three."""

    class OneRow(Laplace):
        def scales(self, model: object, unit_rows: int) -> tuple[float, ...]:
            scale = super().scales(model, 1)[0]  # type: ignore[arg-type]
            return (scale,) if unit_rows == 1 else (scale, scale)

    audited = parse_model({"family": "exponential", "column": "days"}, COLUMNS)
    honest = Laplace(5, 1.0)
    charged = honest.cost(audited, 20, 3).once  # type: ignore[arg-type]
    spies = []
    for own in (ExactStatistic(0, 22), ExactStatistic(3 * 2**20, 22)):
        spy = Spy()
        OneRow(5, 1.0).measure(audited, 20, 3, own, spy)  # type: ignore[arg-type]
        spies.append(spy)
    assert not noise_certificate([("pair", spies[0], spies[1])], charged, gaussian=False)[0].passed


def test_a_charge_of_one_block_a_node_is_found() -> None:
    """A four-level chain costs twice what a block of it does."""
    columns = parse_columns({"stage": {"type": "categorical", "levels": ["a", "b", "c", "d"]}})
    model = parse_model({"family": "network", "nodes": {"stage": {"parents": []}}, "splits": "chain"}, columns)
    mechanism, audit = parse_mechanism({"kind": "baps", "samples": 1}, model), kind_of(model).audit
    assert audit is not None
    certificate = audit(model, mechanism, 4, 1, GATE).certificates[0]
    assert certificate.passed
    owed, charged = certificate.exact, certificate.charged
    assert owed > 0.6 * charged  # half of the charge would not have passed


def test_exact_figures_above_the_charge_by_rounding_alone_pass_and_by_more_do_not() -> None:
    curve = tuple(0.1 for _ in ORDERS)
    exact = Divergences(0.1, curve, 0.1)
    assert within(exact, Cost(0.1, curve))[0]
    assert not within(exact, Cost(0.1, tuple(value * (1 - 1e-9) for value in curve)))[0]


def test_the_law_of_whole_noise_is_that_of_a_sum_over_all_numbers() -> None:
    found = laplace_law([(3, 2.5)])
    q = math.exp(-1 / 2.5)
    total = (1 + q) / (1 - q)
    for order in (1.25, 2.0, 16.0):
        terms = [math.exp(-(order * abs(z) + (1 - order) * abs(z - 3)) / 2.5) / total for z in range(-2_000, 2_000)]
        assert found.curve[ORDERS.index(order)] == pytest.approx(math.log(math.fsum(terms)) / (order - 1), rel=1e-10)
