"""Numbers that went wrong anywhere in the analysis refuse the release; none may turn into a small cost."""

import dataclasses
import math
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import mpmath
import numpy as np
import pytest

from app.core.grids.bernoulli import bernoulli
from app.core.grids.natural_model import NaturalModel
from app.core.grids.public_grid import PublicGrid
from app.core.numerics.remainder import centred_cumulant, phi
from app.core.privacy import cells, curvature, enumeration
from app.core.privacy.peaks import TOLERANCE_SLOW
from app.core.privacy.posterior_cost import posterior_draw_cost
from app.core.privacy.windows import outside_weight, posterior_windows
from app.errors import NumericalFailure


@dataclass(frozen=True, slots=True)
class Poisoned(NaturalModel):
    """A model whose grid carries one impossible number."""

    field: str = "eta"
    value: float = math.nan
    place: float = 0.5

    def grid(self, rows_max: int, temperature: float) -> PublicGrid:
        clean = NaturalModel.grid(self, rows_max, temperature)
        array = getattr(clean, self.field).copy()
        array[int(self.place * (len(array) - 1))] = self.value
        return dataclasses.replace(clean, **{self.field: array})


def poisoned(field: str, place: float, value: float) -> Poisoned:
    sound = bernoulli("x")
    parts = {part.name: getattr(sound, part.name) for part in dataclasses.fields(sound)}
    return Poisoned(**parts, field=field, place=place, value=value)


@pytest.mark.parametrize("field", ["theta", "eta", "partition", "log_prior", "prior_rest"])
@pytest.mark.parametrize("place", [0.0, 0.03, 1.0])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_one_undefined_number_in_the_grid_refuses_the_release(value: float, place: float, field: str) -> None:
    for people, rows in ((5, 1), (1000, 1), (30_000, 1), (2000, 2)):
        with pytest.raises(NumericalFailure):
            posterior_draw_cost(poisoned(field=field, place=place, value=value), people, rows, 1.0)


def test_an_unordered_grid_refuses_the_release() -> None:
    with pytest.raises(NumericalFailure):
        posterior_draw_cost(poisoned(field="eta", place=0.5, value=-100.0), 5, 1, 1.0)


@pytest.mark.parametrize(
    ("people", "rows", "module", "name"),
    [
        (5, 1, enumeration, "centred_cumulant"),
        (1000, 1, curvature, "beyond_edges"),
        (30_000, 1, curvature, "beyond_edges"),
    ],
)
def test_one_undefined_number_on_any_road_refuses_the_release(
    monkeypatch: pytest.MonkeyPatch, people: int, rows: int, module: ModuleType, name: str
) -> None:
    """A NaN in one place of an intermediate result must reach the cost, and the cost refuses it."""
    real = getattr(module, name)

    def poisoned(*arguments: Any) -> Any:
        result = np.array(real(*arguments))
        result.flat[len(result.flat) // 20] = math.nan
        return result

    monkeypatch.setattr(module, name, poisoned)
    with pytest.raises(NumericalFailure):
        posterior_draw_cost.__wrapped__(bernoulli("x"), people, rows, 1.0)


@pytest.mark.slow
def test_an_undefined_ceiling_of_a_cell_is_never_taken_for_a_low_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A half without a ceiling keeps that of the whole, which holds for it too: dearer, or refused, never cheaper."""
    clean = np.array(posterior_draw_cost(bernoulli("x"), 40, 2, 1.0).cost.curve)
    real = cells.outside_weight

    def poisoned(*arguments: Any) -> Any:
        result = real(*arguments)
        result[:: max(1, len(result) // 7)] = math.nan
        return result

    monkeypatch.setattr(cells, "outside_weight", poisoned)
    try:
        curve = np.array(posterior_draw_cost.__wrapped__(bernoulli("x"), 40, 2, 1.0).cost.curve)
    except NumericalFailure:
        curve = np.full(len(clean), np.inf)
    assert (curve >= clean / (1 + TOLERANCE_SLOW)).all()


def test_small_remainders_keep_their_relative_precision() -> None:
    for x in (1e-300, 1e-150, 1e-9, 1e-3, 9.99e-3, 1.01e-2, 0.5, 30.0, -1e-9, -0.3, -800.0):
        wanted = math.expm1(x) - x if abs(x) > 0.1 else sum(x**k / math.factorial(k) for k in range(2, 14))
        assert phi(np.array([x]))[0] == pytest.approx(wanted, rel=1e-9)
        assert phi(np.array([x]))[0] >= 0


@pytest.mark.parametrize("scale", [1e-9, 1e-6, 1e-3, 0.1, 1.0, 10.0, 1000.0])
def test_cumulants_agree_with_sixty_digits_at_every_scale(scale: float) -> None:
    generator = np.random.default_rng(11)
    p = generator.dirichlet(np.ones(40))
    x = scale * generator.normal(size=40)
    x -= (p * x).sum()
    with mpmath.workdps(60):
        weights = [mpmath.mpf(float(v)) for v in p]
        total = mpmath.fsum(weights)
        mean = mpmath.fsum(w * mpmath.mpf(float(v)) for w, v in zip(weights, x, strict=True)) / total
        terms = (w / total * mpmath.exp(mpmath.mpf(float(v)) - mean) for w, v in zip(weights, x, strict=True))
        wanted = float(mpmath.log(mpmath.fsum(terms)))
    found = centred_cumulant(np.log(p)[None, :], x[None, :])[0]
    assert found == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("prior", [(1.0, 1.0), (0.5, 0.5), (1e-3, 1e-3), (1e-3, 5.0), (200.0, 3.0)])
@pytest.mark.parametrize("width", [4, 12, 40])
def test_the_bound_on_what_lies_outside_a_window_is_never_too_small(prior: tuple[float, float], width: int) -> None:
    model = bernoulli("x", *prior, trim=0.02)
    grid = model.grid(300, 0.8)
    generator = np.random.default_rng(5)
    m = generator.uniform(1, 300, 200)
    t = m * generator.uniform(-0.5, 1.5, 200)
    moved_t, moved_m = generator.normal(0, 5, 200), generator.uniform(-0.9, 2, 200) * m
    windows = posterior_windows(grid, t, m, width)
    eta, partition = grid.eta[windows.columns], grid.partition[windows.columns]
    tilt = 0.8 * (eta * moved_t[:, None] - partition * moved_m[:, None])
    bound = outside_weight(grid, windows, tilt)
    whole = grid.log_prior + 0.8 * (np.outer(t, grid.eta) - np.outer(m, grid.partition))
    inside = np.take_along_axis(whole, windows.columns, axis=1)
    mass = np.logaddexp.reduce(inside, axis=1)
    moved = whole + 0.8 * (np.outer(moved_t, grid.eta) - np.outer(moved_m, grid.partition)) - mass[:, None]
    np.put_along_axis(moved, windows.columns, -np.inf, axis=1)
    with np.errstate(over="ignore"):
        outside = np.exp(np.logaddexp.reduce(moved, axis=1))
    assert (bound >= outside * (1 - 1e-9)).all()
