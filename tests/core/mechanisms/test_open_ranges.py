"""A public range that nobody declared: tiny trims where they cost nothing, and what another one would cost draws."""

from collections.abc import Callable

import numpy as np
import pytest

from app.core.grids.bernoulli import TRIM_DEFAULT, TRIM_MIN
from app.core.kinds import kind_of, parse_mechanism, parse_model
from app.core.kinds.one_parameter.beliefs.untrimmed import untrimmed
from app.core.kinds.one_parameter.calibrated_accuracy import beyond_range
from app.core.kinds.one_parameter.families import FAMILIES, Model
from app.core.kinds.one_parameter.mechanisms import Baps, Gaussian, Laplace, MapPoint
from app.core.kinds.one_parameter.open_range import settled_range
from app.core.kinds.one_parameter.range_prices import range_prices
from app.core.schema import parse_columns
from tests.deep import deep_unless
from tests.services.test_plans import EVERY_FAMILY

BERNOULLI = {"family": "bernoulli", "column": "x"}


def left_open(family: str) -> Model:
    known, column = EVERY_FAMILY[family]
    model = parse_model({"family": family, "column": "x", **known}, parse_columns({"x": column}))
    assert isinstance(model, Model)
    return model


@pytest.mark.parametrize("family", deep_unless(lambda family: family in ("bernoulli", "normal_mean"), FAMILIES))
def test_noise_has_hardly_any_of_the_prior_beyond_its_range_and_costs_the_same(family: str) -> None:
    """A location keeps to its column, beyond which nothing is told; draws keep the default."""
    model = left_open(family)
    assert settled_range(model, Baps(1), 300) == settled_range(model, MapPoint(1.0), 300) == model
    for noise in (Laplace(5, 1.0), Gaussian(5, 1.0, 1e-6)):
        wide = settled_range(model, noise, 300)
        assert wide.parameter.lower <= model.parameter.lower
        assert wide.parameter.upper >= model.parameter.upper
        assert wide.prior == model.prior
        assert noise.cost(wide, 300, 1).total == noise.cost(model, 300, 1).total
        assert family == "normal_mean" or beyond_range(wide) < 1e-3
        samples = noise.infer(wide, 300, 1, np.array([10]), bytes_of(7))
        assert wide.parameter.lower <= samples.min() <= samples.max() <= wide.parameter.upper


def bytes_of(seed: int) -> Callable[[int], bytes]:
    return np.random.default_rng(seed).bytes


@pytest.mark.slow
def test_a_range_that_would_take_more_points_than_a_grid_may_have_stays_as_it_was() -> None:
    model, noise = left_open("geometric"), Laplace(5, 1.0)
    assert settled_range(model, noise, 10**4).trim == TRIM_MIN
    assert settled_range(model, noise, 10**8) == model


@pytest.mark.parametrize("kind", ["laplace", "gaussian", "baps", "map"])
def test_a_declared_range_stays_as_it_is_and_what_is_stored_names_one(kind: str) -> None:
    columns = parse_columns({"x": {"type": "binary"}})
    spec = {"laplace": {"samples": 5, "epsilon": 1}, "gaussian": {"samples": 5, "epsilon": 1, "delta": 1e-6}}
    body = {"kind": kind, **spec.get(kind, {"samples": 5} if kind == "baps" else {"epsilon": 1})}
    for trim in (None, 0.05, 0.2):
        model = parse_model(BERNOULLI | ({} if trim is None else {"trim": trim}), columns)
        mechanism = parse_mechanism(body, model)
        stored = kind_of(model).planner.settled_model(model, mechanism, 300, 1).as_json()
        default = TRIM_MIN if kind in ("laplace", "gaussian") else TRIM_DEFAULT
        assert stored["trim"] == (default if trim is None else trim)
        again = parse_model(stored, columns)
        assert kind_of(again).planner.settled_model(again, mechanism, 300, 1).as_json() == stored


def test_the_trim_of_a_network_is_tiny_for_noise_only() -> None:
    columns = parse_columns({"a": {"type": "binary"}, "b": {"type": "binary"}})
    model = parse_model({"family": "network", "nodes": {"a": {}, "b": {"parents": ["a"]}}}, columns)
    for body, trim in (
        ({"kind": "laplace", "samples": 5, "epsilon": 1}, TRIM_MIN),
        ({"kind": "baps", "samples": 5}, 0.05),
    ):
        stored = kind_of(model).planner.settled_model(model, parse_mechanism(body, model), 300, 1).as_json()
        assert stored["trim"] == trim
        assert parse_model(stored, columns).as_json() == stored


@pytest.mark.parametrize("family", deep_unless(lambda family: family == "bernoulli", FAMILIES))
def test_another_range_costs_draws_about_what_is_shown(family: str) -> None:
    """Certified costs are an independent figure; wider ranges cost more and leave less beyond."""
    model, baps = left_open(family), Baps(5)
    prices = range_prices(model, baps, 500, 1, 1e-6)
    widths = [each["upper"] - each["lower"] for each in prices]
    assert widths == sorted(widths)
    assert [each["beyond"] for each in prices] == sorted((each["beyond"] for each in prices), reverse=True)
    whole = untrimmed(model)
    for each in prices[1::4]:
        lower, upper = each["lower"], each["upper"]
        assert whole.lower <= lower < upper <= whole.upper
        spec = model.as_json() | {"trim": lower if model.trim is not None else {"lower": lower, "upper": upper}}
        other = parse_model(spec, parse_columns({"x": EVERY_FAMILY[family][1]}))
        charged = baps.cost(other, 500, 1).total.epsilon(1e-6)
        assert each["epsilon"] == pytest.approx(charged, rel=0.05)
    assert range_prices(model, Laplace(5, 1.0), 500, 1, 1e-6) == []
