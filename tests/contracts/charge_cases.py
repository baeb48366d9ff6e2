"""Charged ÷ owed of one setting: family, prior, trim, people, rows a person, lattice, temperature; and a search over them.

Owed is what the table really drawn costs over all neighbouring pairs, by `drawn_tables.owed`, which asks no code under test.
"""

from dataclasses import dataclass

import numpy as np

from app.core.kinds import parse_model
from app.core.kinds.one_parameter.families import Model
from app.core.privacy import ORDERS
from app.core.privacy.drawn_cost import drawn_cost
from app.core.schema import parse_columns
from tests.core.brute_force import epsilon_by_rdp
from tests.core.families.drawn_tables import Owed, owed
from tests.core.families.family_cases import CASES, build, priors_of, with_steps
from tests.core.families.neighbouring_pairs import reachable_pairs

DRAWS = (1, 10, 100)
DELTA = 1e-6
PAIRS_MAX = 60_000
CELLS_MAX = 6_000_000


@dataclass(frozen=True)
class Setting:
    """`prior` and `trim` count through the family's cases, trim 0 being its default."""

    family: str
    prior: int
    trim: int
    people: int
    unit_rows: int
    steps: int
    temperature: float

    def model(self) -> Model:
        trims = (None, *CASES[self.family].trims)
        model = build(self.family, priors_of(self.family)[self.prior], trims[self.trim])
        return model if self.family == "bernoulli" else with_steps(model, self.steps)


@dataclass(frozen=True)
class Reviewed(Setting):
    """A setting with a column of whole numbers, a prior and a trim of its own; `prior` and `trim` are not looked at."""

    prior_spec: tuple[tuple[str, float | str], ...]
    trim_spec: float | tuple[float, float]

    def model(self) -> Model:
        trim = (
            self.trim_spec
            if isinstance(self.trim_spec, float)
            else dict(zip(("lower", "upper"), self.trim_spec, strict=True))
        )
        column = (
            {"type": "binary"} if self.family == "bernoulli" else {"type": "integer", "lower": 0, "upper": self.steps}
        )
        spec = {"family": self.family, "column": "x", "prior": dict(self.prior_spec), "trim": trim}
        return parse_model(spec, parse_columns({"x": column}))


def reviewed(
    family: str,
    prior: tuple[float, float],
    trim: float | tuple[float, float],
    people: int,
    unit_rows: int,
    steps: int,
    temperature: float,
) -> Reviewed:
    names = ("beta", "alpha", "beta") if isinstance(trim, float) else ("gamma", "shape", "rate")
    spec = (("kind", names[0]), (names[1], prior[0]), (names[2], prior[1]))
    return Reviewed(family, 0, 0, people, unit_rows, steps, temperature, spec, trim)


@dataclass(frozen=True)
class Ratios:
    """Charged ÷ owed; of converted ε the largest over 1, 10 and 100 draws, beside conversion of the owed curve itself."""

    pure: float
    curve_least: float
    curve_most: float
    order: float
    converted: float


def ratios_of(setting: Setting) -> Ratios:
    model = setting.model()
    steps = model.statistic.steps
    exact = owed(
        model,
        setting.people,
        setting.unit_rows,
        setting.temperature,
        reachable_pairs(steps, setting.people, setting.unit_rows),
    )
    charged = drawn_cost(model, setting.people, setting.unit_rows, setting.temperature).cost
    curve = np.array(charged.curve) / exact.curve
    converted = max(charged.times(draws).epsilon(DELTA) / owed_epsilon(exact, draws) for draws in DRAWS)
    worst = ORDERS[int(curve.argmax())]
    return Ratios(charged.pure / exact.pure, float(curve.min()), float(curve.max()), worst, converted)


def owed_epsilon(exact: Owed, draws: int) -> float:
    return min(draws * exact.pure, epsilon_by_rdp(ORDERS, draws * exact.curve, DELTA))


def random_settings(seed: int, unit_rows: int, count: int) -> list[Setting]:
    """Small enough to enumerate, from a few persons to what the code itself no longer enumerates."""
    source = np.random.Generator(np.random.PCG64(seed))
    found: list[Setting] = []
    while len(found) < count:
        family = str(source.choice(sorted(CASES)))
        steps = 1 if family == "bernoulli" else int(source.integers(1, 6 if unit_rows == 1 else 3))
        people = int(np.exp(source.uniform(np.log(2), np.log(220 if unit_rows == 1 else 26))))
        setting = Setting(
            family,
            int(source.integers(len(priors_of(family)))),
            int(source.integers(1 + len(CASES[family].trims))),
            people,
            unit_rows,
            steps,
            float(source.choice([1.0, 0.5, 0.1])),
        )
        rows = people * (unit_rows - 1) + 1
        datasets = rows + steps * rows * people * (unit_rows + 1) // 2
        pairs = datasets * 2 * steps * unit_rows * (2 * unit_rows - 1)
        points = setting.model().grid(people * unit_rows, setting.temperature).size
        if pairs <= PAIRS_MAX and pairs * points <= CELLS_MAX:
            found.append(setting)
    return found
