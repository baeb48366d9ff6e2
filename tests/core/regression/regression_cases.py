"""Small models and synthetic rows the regression tests share."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.core.kinds import parse_model
from app.core.kinds.regression.model import LinearModel
from app.core.schema import parse_columns

COLUMNS = parse_columns(
    {
        "educ": {"type": "integer", "lower": 0, "upper": 20},
        "exper": {"type": "real", "lower": -5, "upper": 60},
        "female": {"type": "binary"},
        "region": {"type": "categorical", "levels": ["north", "south", "west"]},
        "wage": {"type": "real", "lower": 0, "upper": 40},
    }
)


def wage_model(**fields: Any) -> LinearModel:
    spec: dict[str, Any] = {
        "family": "linear_regression",
        "target": "wage",
        "features": ["educ", "exper", "female"],
        "noise_sd": 3.0,
    }
    return parse_model(spec | fields, COLUMNS)


def plain_model(features: int, **fields: Any) -> LinearModel:
    """Features and target in [−1, 1]: scaled units are the columns' own."""
    names = [f"x{i}" for i in range(features)]
    columns = parse_columns({name: {"type": "real", "lower": -1, "upper": 1} for name in [*names, "y"]})
    spec = {"family": "linear_regression", "target": "y", "features": names, "noise_sd": 0.3}
    return parse_model(spec | fields, columns)


def wage_rows(rows: int, seed: int) -> dict[str, NDArray[Any]]:
    rng = np.random.default_rng(seed)
    educ = rng.integers(0, 21, rows)
    exper = rng.uniform(-5, 60, rows)
    female = rng.integers(0, 2, rows)
    region = rng.choice(["north", "south", "west"], rows)
    wage = 2 + 0.9 * educ + 0.1 * exper - 2 * female + rng.normal(0, 3, rows)
    return {"educ": educ, "exper": exper, "female": female, "region": region, "wage": wage}
