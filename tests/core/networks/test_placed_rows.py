"""Several rows a person wherever they fall, bounds beyond what is visited, and `map`'s laws, against all neighbours."""

import numpy as np
import pytest

from app.core.kinds.networks.blocks.block_cost import certified_terms
from app.core.kinds.networks.blocks.block_grid import block_grid
from app.core.kinds.networks.blocks.block_terms import PURE
from app.core.kinds.networks.comparison import network_alternatives
from app.core.kinds.networks.cost import all_node_terms, largest_figures, record_cost
from app.core.kinds.networks.mechanisms import NetworkBaps, NetworkMap
from app.core.kinds.networks.shapes import block_shapes
from app.core.privacy import ORDERS
from app.core.privacy.targets import Target
from tests.core.networks.drawn_oracle import exact_suprema, neighbours, posterior_table, sharpened
from tests.core.networks.test_record_costs import Graph, model_of, plain_network
from tests.deep import deep

ARROW: Graph = ((), (0,))
CASES = [
    ((2, 2), ARROW, 4, 1),
    ((2, 2), ARROW, 2, 2),
    ((3,), ((),), 2, 3),
    deep((2, 2), ARROW, 1, 4),
    deep((3, 2), ARROW, 3, 1),
    deep((2, 2, 2), ((), (0,), (0, 1)), 2, 2),
    deep((2, 2), ARROW, 3, 2),
    deep((2,), ((),), 3, 5),
]


def exact_figures(
    levels: tuple[int, ...], graph: Graph, people: int, unit_rows: int, strength: float, trim: float, temperature: float
) -> np.ndarray:
    model = model_of(levels, graph, strength, "tree", trim)
    shapes = block_shapes(model, people * unit_rows, unit_rows, temperature)
    points = {(shape.alpha, shape.beta): block_grid(shape).theta for shape in shapes}
    pairs = neighbours(plain_network(levels, graph, "tree"), people, unit_rows)
    return exact_suprema(pairs, strength, points, ORDERS, lambda *at: posterior_table(*at, temperature))


@pytest.mark.slow
@pytest.mark.parametrize(("levels", "graph", "people", "unit_rows"), CASES)
@pytest.mark.parametrize(("strength", "trim", "temperature"), [(1.0, 0.05, 1.0), deep(8.0, 0.02, 0.6)])
def test_what_is_certified_for_any_number_of_rows_covers_all_neighbours_of_few(
    levels: tuple[int, ...], graph: Graph, people: int, unit_rows: int, strength: float, trim: float, temperature: float
) -> None:
    """The bounds that large blocks are charged by, on blocks small enough to know the truth."""
    model = model_of(levels, graph, strength, "tree", trim)
    exact = exact_figures(levels, graph, people, unit_rows, strength, trim, temperature)
    terms = all_node_terms(model, people * unit_rows, unit_rows, temperature, certified_terms)
    figures = largest_figures(model, terms)[0][: PURE + 1]
    print(f"{levels} {people}×{unit_rows}: {(figures / exact).min():.6f} to {(figures / exact)[:12].max():.3f}")  # noqa: T201
    assert (figures >= exact).all()


@pytest.mark.slow
@pytest.mark.parametrize(("levels", "graph"), [((2,), ((),)), ((3,), ((),))])
def test_more_rows_than_are_placed_one_by_one_are_covered_by_their_range(levels: tuple[int, ...], graph: Graph) -> None:
    exact = exact_figures(levels, graph, 1, 6, 1.0, 0.05, 1.0)
    cost = record_cost(model_of(levels, graph, 1.0, "tree", 0.05), 1, 6, 1.0)
    assert (np.array([cost.kl_sup, *cost.cost.curve, cost.cost.pure]) >= exact).all()


@pytest.mark.slow
def test_two_rows_of_one_column_at_a_hundred_thousand_people_cost_what_the_family_does() -> None:
    total = NetworkBaps(10).cost(model_of((2,), ((),), 1.0, "tree", 0.05), 10**5, 2).total
    assert 0.3 < total.epsilon(1e-6) < 0.39


@pytest.mark.slow
@pytest.mark.parametrize(
    ("levels", "strength", "trim", "people", "unit_rows", "epsilon", "gain"),
    [
        ((2, 3), 0.4, 0.02, 8, 1, 2.0, 0.467435239201368),
        ((2, 2), 1.0, 0.05, 30, 3, 1.0, 0.13479898193709994),
    ],
)
def test_law_1_is_drawn_with_the_gain_it_had(
    levels: tuple[int, ...],
    strength: float,
    trim: float,
    people: int,
    unit_rows: int,
    epsilon: float,
    gain: float,
) -> None:
    model = model_of(levels, ARROW, strength, "tree", trim)
    old = NetworkMap(epsilon, "probability", law=1)
    assert old.gain(model, people, unit_rows) == pytest.approx(gain, rel=1e-9)
    assert old.as_json() == NetworkMap(epsilon, "probability").as_json()
    assert old.cost(model, people, unit_rows).total.pure < epsilon


@pytest.mark.parametrize("law", [1, 2])
@pytest.mark.parametrize("people", [2, 5])
def test_either_law_is_charged_no_less_than_any_two_neighbours_differ_by(law: int, people: int) -> None:
    model = model_of((2, 2), ARROW, 0.6, "tree", 0.02)
    mechanism = NetworkMap(1.3, "probability", law=law)
    gain = mechanism.gain(model, people, 1)
    points = {(shape.alpha, shape.beta): block_grid(shape).theta for shape in block_shapes(model, people, 1, 1.0)}
    exact = exact_suprema(
        neighbours(plain_network((2, 2), ARROW, "tree"), people),
        0.6,
        points,
        ORDERS,
        lambda *at: sharpened(posterior_table(*at, 1.0), gain),
    )
    cost = mechanism.cost(model, people, 1)
    charged = np.array([cost.kl_sup, *cost.once.curve, cost.once.pure])
    assert (charged >= exact).all()
    assert (charged <= exact * 1.1 + 1e-7).all()


@pytest.mark.deep
@pytest.mark.slow
def test_a_target_at_delta_buys_map_more_than_its_pure_epsilon() -> None:
    model = model_of((2, 2, 2), ((), (0,), (0,)), 1.0, "tree", 0.05)
    target = Target(1.0, 1e-6)
    fitted = [each for each in network_alternatives(model, 300, 1, target, 1) if isinstance(each.mechanism, NetworkMap)]
    assert {each.mechanism.score for each in fitted if isinstance(each.mechanism, NetworkMap)} == {
        "log_density",
        "probability",
    }
    for each in fitted:
        assert target.fits(each.cost)
        assert isinstance(each.mechanism, NetworkMap)
        assert each.mechanism.epsilon > (2.0 if each.mechanism.score == "log_density" else 0.99)
