"""Two tables of real people from a package that brings them, cut into levels, and networks for them.

`insurance` are 20,190 years of people in a randomised experiment on health insurance, `marriages` 6,366 answers to a magazine's
questions about marriage (statsmodels' `randhie` and `fair`). Columns, cuts and networks were written down before any error was
computed: what comes first in a life comes first, and parents of one child are linked unless the experiment drew one by lot.
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from app.core.kinds import parse_model
from app.core.kinds.networks.model import NetworkModel
from app.core.schema import parse_columns

Array = NDArray[np.float64]
Records = NDArray[np.int64]

PACKAGE = "statsmodels"


@dataclass(frozen=True)
class Column:
    """Of the column `source`: a level ends where the next of `cuts` begins."""

    source: str
    cuts: tuple[float, ...]
    parents: tuple[str, ...] = ()


@dataclass(frozen=True)
class Table:
    """Every row of the package, by level, and the network for it."""

    model: NetworkModel
    records: Records


INSURANCE = {
    "coinsurance": Column("lncoins", (3.0, 3.5)),
    "deductible": Column("idp", (0.5,), ("coinsurance",)),
    "incentive": Column("lpi", (0.5,), ("coinsurance",)),
    "spending": Column("fmde", (0.5,), ("coinsurance",)),
    "limited": Column("physlm", (0.01,)),
    "chronic": Column("disea", (7.0, 13.0), ("limited",)),
    "health": Column("unwell", (0.5, 1.5), ("limited", "chronic")),
    "visits": Column("mdvis", (0.5, 2.5, 5.5), ("coinsurance", "health")),
}
MARRIAGES = {
    "age": Column("age", (25.0, 30.0, 35.0)),
    "years": Column("yrs_married", (4.0, 8.0, 15.0), ("age",)),
    "children": Column("children", (0.5, 2.5), ("years",)),
    "schooling": Column("educ", (13.0, 15.0)),
    "work": Column("occupation", (2.5, 3.5), ("schooling",)),
    "husband": Column("occupation_husb", (2.5, 4.5), ("schooling",)),
    "religious": Column("religious", (2.5,), ("years",)),
    "happy": Column("rate_marriage", (3.5, 4.5), ("years", "religious")),
    "affair": Column("affairs", (0.01,), ("years", "happy")),
}


@lru_cache
def insurance() -> Table:
    rows = _rows("randhie")
    health = {
        "unwell": np.select(
            [_numbers(rows, "hlthp") + _numbers(rows, "hlthf") > 0, _numbers(rows, "hlthg") > 0], [2.0, 1.0]
        )
    }
    return _table(rows, INSURANCE, health)


@lru_cache
def marriages() -> Table:
    return _table(_rows("fair"), MARRIAGES, {})


def _rows(name: str) -> list[dict[str, str]]:
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit(f"pip install --no-deps {PACKAGE} brings the tables")
    path = Path(spec.submodule_search_locations[0]) / "datasets" / name / f"{name}.csv"
    with path.open(encoding="utf-8", newline="") as opened:
        return list(csv.DictReader(opened))


def _numbers(rows: list[dict[str, str]], name: str) -> Array:
    return np.array([float(row[name]) for row in rows])


def _table(rows: list[dict[str, str]], columns: Mapping[str, Column], derived: Mapping[str, Array]) -> Table:
    levels = {name: [str(i) for i in range(len(column.cuts) + 1)] for name, column in columns.items()}
    declared = parse_columns({name: {"type": "categorical", "levels": found} for name, found in levels.items()})
    nodes = {name: {"parents": list(column.parents)} for name, column in columns.items()}
    model = parse_model({"family": "network", "nodes": nodes}, declared)
    assert isinstance(model, NetworkModel)
    cut = []
    for node in model.network.nodes:
        column = columns[node.name]
        numbers = derived[column.source] if column.source in derived else _numbers(rows, column.source)
        cut.append(np.searchsorted(column.cuts, numbers))
    return Table(model, np.stack(cut, axis=1).astype(np.int64))
