"""What several models are charged together, against every pair of neighbouring datasets of a small case."""

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from app.core.kinds import SeveralMechanisms, SeveralModels, drawn_by, parse_mechanism, parse_model
from app.core.kinds.several import part_measured, part_values, stored_values
from app.core.privacy import ORDERS
from app.core.privacy.concentrated import certified_gdp_mu, release_rho
from app.core.schema import parse_columns
from app.errors import IntegrityFailure, InvalidMechanism, InvalidModel
from tests.core.families.drawn_tables import drawn_tables

COLUMNS = parse_columns(
    {
        "cured": {"type": "binary"},
        "old": {"type": "binary"},
        "visits": {"type": "integer", "lower": 0, "upper": 4},
    }
)
YES: dict[str, Any] = {"family": "bernoulli", "column": "cured"}
OLD: dict[str, Any] = {"family": "bernoulli", "column": "old", "prior": {"alpha": 2, "beta": 1}}
VISITS: dict[str, Any] = {"family": "poisson", "column": "visits"}
LAPLACE: dict[str, Any] = {"kind": "laplace", "samples": 7, "epsilon": 0.5}
GAUSSIAN: dict[str, Any] = {"kind": "gaussian", "samples": 4, "epsilon": 0.5, "delta": 1e-7}
PEOPLE, SHOWN = 2, 12


def together(parts: dict[str, tuple[dict[str, Any], dict[str, Any]]]) -> tuple[SeveralModels, SeveralMechanisms]:
    described = {"family": "several", "parts": [{"name": name, "model": each} for name, (each, _) in parts.items()]}
    model = parse_model(described, COLUMNS)
    mechanism = parse_mechanism({"kind": "several", "parts": [each for _, each in parts.values()]}, model)
    assert isinstance(model, SeveralModels)
    assert isinstance(mechanism, SeveralMechanisms)
    return model, mechanism


def draws(samples: int, temperature: float = 1.0) -> dict[str, Any]:
    return {"kind": "baps", "samples": samples, "temperature": temperature}


def test_joint_outcomes_of_two_parts_tell_no_more_than_is_charged_and_nearly_as_much():
    """Two yes/no columns of two people: every dataset, whoever is replaced by whatever, outcome by outcome of the product."""
    model, mechanism = together({"cured": (YES, draws(1)), "old": (OLD, draws(1, 0.5))})
    cost = mechanism.cost(model, PEOPLE, 1)
    tables = [
        np.exp(drawn_tables(own, PEOPLE, heat, [(t, PEOPLE) for t in range(PEOPLE + 1)]).astype(float))
        for own, heat in zip(model.models, (1.0, 0.5), strict=True)
    ]
    worst, pure = np.zeros(SHOWN), 0.0
    people = [*itertools.product((0, 1), repeat=2)]
    for others, before, after in itertools.product(
        itertools.combinations_with_replacement(people, PEOPLE - 1), people, people
    ):
        sums = [np.sum([*others, person], axis=0) for person in (before, after)]
        p, q = (np.outer(tables[0][t], tables[1][s]).ravel() for t, s in sums)
        worst = np.maximum(worst, [math.log((p**a * q ** (1 - a)).sum()) / (a - 1) for a in ORDERS[:SHOWN]])
        pure = max(pure, float(np.log(p / q).max()))
    charged = np.array(cost.total.curve[:SHOWN])
    assert (charged >= worst * (1 - 1e-9)).all()
    assert cost.total.pure >= pure * (1 - 1e-9)
    assert charged == pytest.approx(worst, rel=0.02)
    assert cost.total.pure == pytest.approx(pure, rel=0.02)


def test_the_sum_is_of_all_samples_of_every_part_and_rounded_up_once():
    model, mechanism = together({"a": (YES, draws(5)), "b": (VISITS, LAPLACE), "c": (OLD, draws(3, 0.1))})
    cost = mechanism.cost(model, 50, 1)
    for name in ("pure", "slack_delta"):
        exact = sum(
            (Fraction(getattr(part.once, name)) + part.samples * Fraction(getattr(part.per_sample, name)))
            for part in cost.parts
        )
        assert exact <= Fraction(getattr(cost.total, name)) <= exact * (1 + Fraction(1, 2**50))
    for place in range(len(ORDERS)):
        exact = sum(Fraction(p.once.curve[place]) + p.samples * Fraction(p.per_sample.curve[place]) for p in cost.parts)
        assert exact <= Fraction(cost.total.curve[place]) <= exact * (1 + Fraction(1, 2**50))
    assert [part.samples for part in cost.parts] == [5, 7, 3]
    assert cost.total.pure > sum(part.per_sample.pure + part.once.pure for part in cost.parts)
    assert cost.per_sample.pure == 0


def test_gaussian_parts_are_gaussian_together_and_with_others_still_have_a_rho_and_a_mu():
    model, mechanism = together({"a": (YES, GAUSSIAN), "b": (VISITS, GAUSSIAN)})
    noise = mechanism.cost(model, 50, 1)
    assert noise.gaussian
    assert noise.total.gaussian_rho == pytest.approx(sum(part.total.gaussian_rho or 0 for part in noise.parts))
    model, mechanism = together({"a": (YES, GAUSSIAN), "b": (VISITS, LAPLACE)})
    mixed = mechanism.cost(model, 50, 1)
    assert (mixed.gaussian, math.isinf(mixed.total.pure)) == (False, True)
    rhos, mus = ([of(part) for part in mixed.parts] for of in (release_rho, certified_gdp_mu))
    assert release_rho(mixed) == pytest.approx(sum(rho or 0 for rho in rhos))
    assert certified_gdp_mu(mixed) == pytest.approx(math.hypot(*(mu or 0 for mu in mus)))


def test_what_is_stored_of_all_parts_is_cut_into_what_each_drew_and_measured():
    model, mechanism = together({"a": (YES, draws(5)), "b": (VISITS, LAPLACE), "c": (OLD, GAUSSIAN)})
    source = np.random.default_rng(3)
    drawn = mechanism.drawn(model, 50, 1, model.statistic.of_no_rows(), lambda size: source.bytes(size))
    assert drawn.samples.shape == (1, stored_values(model, mechanism)) == (1, 5 + 7 + 4)
    cut = [part_values(model, mechanism, drawn.samples, name) for name in model.names]
    assert [each.shape for each in cut] == [(5, 1), (7, 1), (4, 1)]
    assert np.concatenate([each.ravel() for each in cut]).tolist() == drawn.samples.ravel().tolist()
    measured = [part_measured(drawn.measured, 3, place) for place in range(3)]
    assert [None if each is None else len(each) for each in measured] == [None, 1, len(measured[2])]  # type: ignore[arg-type]
    with pytest.raises(IntegrityFailure):
        part_measured(np.append(drawn.measured, 1), 3, 1)


def test_several_read_back_as_they_were_and_nothing_else_reads_as_several():
    model, mechanism = together({"a": (YES, draws(5)), "b": (VISITS, LAPLACE)})
    again = parse_model(model.as_json(), COLUMNS)
    assert again == model
    assert parse_mechanism(mechanism.as_json(), again) == mechanism
    assert drawn_by(1, mechanism).as_json() == mechanism.as_json()
    part = {"name": "a", "model": YES}
    for bad in (
        {"family": "several", "parts": []},
        {"family": "bernoulli", "parts": [part]},
        {"family": "several", "parts": [part, part]},
        {"family": "several", "parts": [{"name": "a.b", "model": YES}]},
        {"family": "several", "parts": [{"name": "a", "model": {"family": "several", "parts": [part]}}]},
        {"family": "several", "parts": [part], "more": 1},
        {"family": "several", "parts": [{"name": "a", "model": 1}]},
    ):
        with pytest.raises(InvalidModel):
            parse_model(bad, COLUMNS)
    for wrong in ({"kind": "several", "parts": [LAPLACE]}, LAPLACE):
        with pytest.raises(InvalidMechanism):
            parse_mechanism(wrong, model)
