"""Several statistics at once: each the very integers it is alone, whatever stands beside it, from any file."""

from typing import Any

import numpy as np
import pytest

from app.core.kinds import parse_model
from app.core.schema import PrivacyUnit, parse_columns
from app.core.statistics import ExactSeveral, SeveralRequest
from app.core.statistics.sums import StatisticRequest
from app.errors import InvalidModel
from app.sources.kept_rows import kept_scan
from app.sources.row_statistics import SEVERAL
from tests.deep import deep
from tests.sources.rows_under_test import MakeReader

SPECS: dict[str, dict[str, Any]] = {
    "cured": {"type": "binary"},
    "days": {"type": "real", "lower": 0, "upper": 50},
    "visits": {"type": "integer", "lower": 0, "upper": 9},
    "arm": {"type": "categorical", "levels": ["drug", "placebo"], "public": True},
    "ward": {"type": "categorical", "levels": ["a", "b", "c"]},
}
COLUMNS = parse_columns(SPECS)
BY_ARM = {"by": ["arm"], "strata": [60, 40]}
MODELS: list[dict[str, Any]] = [
    {"family": "bernoulli", "column": "cured"},
    {"family": "poisson", "column": "visits"},
    {"family": "bernoulli", "column": "cured", "groups": BY_ARM},
    {"family": "exponential", "column": "days", "groups": BY_ARM},
    {"family": "poisson", "column": "visits", "groups": {"by": ["arm", "ward"], "strata": [60, 40]}},
    {"family": "bernoulli", "column": "cured", "groups": {"by": ["ward"], "where": "days > 10"}},
    {"family": "network", "nodes": {"cured": {"parents": ["ward"]}, "ward": {}}},
    {"family": "network", "nodes": {"cured": {}, "ward": {}}, "groups": BY_ARM},
    {"family": "linear_regression", "target": "days", "features": ["visits"], "noise_sd": 5.0, "radius": 50.0},
]
REQUEST = SeveralRequest(tuple(parse_model(model, COLUMNS).statistic for model in MODELS))


def rows(people: int = 100) -> str:
    source = np.random.default_rng(7)
    lines = ["cured,days,visits,arm,ward,id"]
    for i in range(people):
        yes, days, visits, ward = (
            source.integers(2),
            source.integers(50),
            source.integers(10),
            "abc"[source.integers(3)],
        )
        lines.append(f"{yes},{days},{visits},{'drug' if i < 60 else 'placebo'},{ward},{i // 2}")
    return "\n".join(lines) + "\n"


def plain(found: Any) -> Any:
    """Exact answers as lists, to be compared."""
    if hasattr(found, "parts"):
        return [plain(part) for part in found.parts]
    return [np.asarray(getattr(found, name)).tolist() for name in type(found).__slots__]


@pytest.mark.parametrize("unit", [PrivacyUnit(), deep(PrivacyUnit("id", 1))], ids=["rows", "people"])
def test_every_part_is_what_it_is_alone(make_reader: MakeReader, unit: PrivacyUnit):
    reader = make_reader(COLUMNS)
    found = reader.read(rows(), REQUEST, unit)
    assert isinstance(found, ExactSeveral)
    assert "private" in repr(found)
    alone = [plain(reader.read(rows(), part, unit)) for part in REQUEST.parts]
    assert plain(found) == alone
    assert any(np.ravel(np.array(alone[0])))


def test_sums_under_the_same_groups_are_one_statement(tmp_path: Any):
    scan = kept_scan(tmp_path / "rows.parquet", COLUMNS)
    statements = SEVERAL.statements(REQUEST, COLUMNS, scan.rules)
    assert [statement.parts for statement in statements] == [[0, 1], [2, 3], [4], [5], [6], [7], [8]]


def test_columns_that_one_part_cannot_be_of_are_refused_before_anything_is_read(make_reader: MakeReader):
    bad = SeveralRequest((StatisticRequest("cured"), StatisticRequest("arm")))
    with pytest.raises(InvalidModel, match="column"):
        make_reader(COLUMNS).read(rows(), bad)


def test_what_is_public_of_several_is_the_sum_of_their_public_numbers():
    assert REQUEST.operations >= sum(part.operations for part in REQUEST.parts)
    assert set(REQUEST.columns) == set(SPECS)
    assert plain(REQUEST.of_no_rows()) == [plain(part.of_no_rows()) for part in REQUEST.parts]
