"""The rows every engine is held to: mixed, dirty, several a person; and everything that can be asked of them."""

import datetime
import random
from typing import Any

from app.core.schema import PrivacyUnit, parse_columns, parse_filter
from app.core.statistics import (
    CountsRequest,
    GroupColumn,
    GroupedRequest,
    HistogramRequest,
    MomentsRequest,
    NodeCounts,
    RowRequest,
    SeveralRequest,
    StatisticRequest,
)
from app.core.statistics.coordinates import feature_coordinates, number_coordinate

HOSTILE = ["it's", '"', "');--", "$1", "\\'", "{}%s", "a b", "ü✓"]
ODD = "o'd\"d; --"
"""A column of this name."""
LEVELS = [f"site {place}" for place in range(40)]

_SINCE = "where(day > '2019-12-31', year(day) - 2019, -weekday(day) - month(day))"
COLUMNS = parse_columns(
    {
        "cured": {"type": "binary", "missing": {"value": False}, "true": ["ja"], "false": ["nein"]},
        "arm": {
            "type": "categorical",
            "levels": {"drug": ["d"], "placebo": ["p"]},
            "fold_case": True,
            "outside": "other",
        }
        | {"levels": {"drug": ["d"], "placebo": ["p"], "other": []}, "missing": {"level": "placebo"}},
        ODD: {"type": "categorical", "levels": HOSTILE, "missing": "group"},
        "site": {"type": "categorical", "levels": LEVELS, "outside": {"level": "site 0"}},
        "age": {"type": "integer", "lower": 0, "upper": 120, "missing": "group", "missing_spellings": ["-9"]},
        "dose": {"type": "real", "lower": -1e300, "upper": 1e300, "missing": {"value": 1}},
        "score": {"type": "real", "lower": -2, "upper": 2, "missing": "group"},
        "tiny": {"type": "real", "lower": 0, "upper": 1e-200},
        "day": {"type": "date", "missing": {"value": "2020-02-29"}},
        "price": {"type": "real", "lower": -5, "upper": 5, "decimal": "comma", "missing": "group"},
        "left": {"type": "date", "written": "day.month.year", "missing": {"value": "2020-02-29"}},
        "stay": {"type": "integer", "from": "left - day", "lower": -4000, "upper": 4000},
        "old": {"type": "binary", "from": "age >= 65 and arm != 'placebo'", "missing": {"value": False}},
        "ratio": {
            "type": "real",
            "from": "dose * dose / (tiny * tiny * 3)",
            "lower": -5,
            "upper": 5,
            "missing": "group",
        },
        "product": {
            "type": "real",
            "from": "score * tiny * tiny / dose",
            "lower": -1,
            "upper": 1,
            "missing": {"value": 0},
        },
        "since": {
            "type": "integer",
            "from": _SINCE,
            "lower": -400,
            "upper": 400,
        },
        "ages": {"type": "categorical", "from": "bin(age, 18, 65)", "levels": ["young", "grown", "old", "unknown"]}
        | {"missing": {"level": "unknown"}},
    }
)
STORED = ["cured", "arm", ODD, "site", "age", "dose", "score", "tiny", "day", "price", "left"]
ONE_ROW, THREE_ROWS = PrivacyUnit("who", 1), PrivacyUnit("who", 3)

_CELLS: dict[str, list[Any]] = {
    "cured": ["1", "0", "yes", "NO", " true ", "Ja", "nein", "", None, "1.0", "maybe"],
    "arm": ["drug", "P", " d", "PLACEBO", "neither", "", "NA", None],
    ODD: [*HOSTILE, None, "NULL"],
    "site": [*LEVELS, "site 41", " site 3\t"],
    "age": [
        "0",
        "17",
        " 64",
        "65",
        "120",
        "200",
        "-1",
        "-9",
        "-9.0",
        "1e1",
        "",
        "nan",
        None,
        "12.5",
        "0x10",
        "1_0",
        "1e999",
    ],
    "dose": [
        "0",
        "-0.1",
        "1e300",
        "-1e300",
        "3.5",
        "1e-300",
        "",
        "1e400",
        "-1e400",
        "1e-400",
        "+.5",
        "7.",
        "0.1",
        "1e15",
        "2.5e15",
    ],
    "score": [
        "-2",
        "2",
        "0.1",
        "0.30000000000000004",
        "-1.9999999999999998",
        "1e-320",
        "5e-324",
        "NULL",
        "-0",
        "1.0",
        "1e-5",
    ],
    "tiny": ["0", "1e-200", "1e-300", "5e-324", "3e-323", "2e-201", "1"],
    "day": [
        "2024-02-29",
        "1999-12-31T23:59",
        "2020-01-01 10:00:00+02",
        "2024-02-30",
        "",
        None,
        "1000-01-01",
        "9999-12-31",
    ],
    "price": [
        "2,5",
        "-0,1",
        " 1,75 ",
        "2.5",
        "3",
        ",5",
        "-9",
        "1e-1",
        "1,5e1",
        "",
        None,
        "1,000,0",
        "1.234,5",
        "1.003,5e-3",
        "1.234",
    ],
    "left": [
        "29.02.2024",
        "1.3.2024",
        "31.12.1999 23:59",
        "30.02.2024",
        "2024-03-01",
        "",
        None,
        "1/3/2024",
        " 7.11.2023",
    ],
}


def dirty_rows(count: int, seed: int = 7) -> dict[str, list[Any]]:
    """As texts. Equal rows occur, and people with one row and with many."""
    source = random.Random(seed)
    rows: dict[str, list[Any]] = {"who": [f"p{source.randrange(count // 4)}" for _ in range(count)]}
    for name in STORED:
        rows[name] = [source.choice(_CELLS[name]) for _ in range(count)]
    for name in ("dose", "score"):  # digits of every length, beside the awkward ones
        for place in range(0, count, 2):
            rows[name][place] = repr(source.uniform(-2, 2) * 10 ** source.randrange(-20, 17))
    return rows


def clean_rows(count: int, seed: int = 8) -> dict[str, list[Any]]:
    """In types of their own."""
    source = random.Random(seed)
    day = datetime.date(2019, 12, 31)
    return {
        "who": [source.randrange(count // 4) for _ in range(count)],
        "cured": [source.choice([True, False]) for _ in range(count)],
        "arm": [source.choice(["drug", "placebo"]) for _ in range(count)],
        ODD: [source.choice([*HOSTILE, None]) for _ in range(count)],
        "site": [source.choice(LEVELS) for _ in range(count)],
        "age": [source.choice([None, *range(121)]) for _ in range(count)],
        "dose": [source.uniform(-9, 9) * 10.0 ** source.randrange(-9, 18) for _ in range(count)],
        "score": [source.choice([None, source.gauss(0, 1)]) for _ in range(count)],
        "tiny": [source.uniform(0, 1e-200) for _ in range(count)],
        "day": [day + datetime.timedelta(source.randrange(-300, 300)) for _ in range(count)],
        "price": [source.choice([None, source.gauss(0, 2)]) for _ in range(count)],
        "left": [day + datetime.timedelta(source.randrange(-300, 300)) for _ in range(count)],
    }


def _levels(name: str) -> tuple[str, ...]:
    column = COLUMNS[name]
    return ("false", "true") if column.type == "binary" else column.levels


def _network() -> CountsRequest:
    """Ten nodes, some with two parents."""
    names = ["cured", "arm", ODD, "old", "ages", "site"]
    sizes = {name: len(_levels(name)) for name in names}
    parents = {"arm": ("cured",), ODD: ("arm", "old"), "old": ("ages",), "site": ("cured",)}
    nodes = [
        NodeCounts(name, parents.get(name, ()), (*(sizes[each] for each in parents.get(name, ())), sizes[name]))
        for name in names
    ]
    again = [NodeCounts(name, (), (sizes[name],)) for name in names[:4]]
    return CountsRequest((*nodes, *again), tuple((name, _levels(name)) for name in names))


def _regression() -> MomentsRequest:
    features = feature_coordinates(
        "f", ["age", "dose", "score", "cured", "since", "ages", "ratio", "arm"], COLUMNS, True
    )
    return MomentsRequest(features, intercept=True, norm_bound=1.5, target=number_coordinate("t", COLUMNS["product"]))


def _grouped(of: RowRequest[Any]) -> GroupedRequest:
    where = parse_filter("age > 17 and dose * score < 3 or `" + ODD + "` in ('it''s', ''');--')", COLUMNS, "where")
    condition = getattr(where, "condition", where)
    by = (GroupColumn("arm", _levels("arm")), GroupColumn("ages", _levels("ages")))
    return GroupedRequest(of, by, where=condition, present=("score",))


_AGE = StatisticRequest("age", lower=0.0, upper=120.0, steps=120)
_SCORE = StatisticRequest("score", lower=-2.0, upper=2.0, steps=2**20)
REQUESTS: dict[str, RowRequest[Any]] = {
    "truth": StatisticRequest("cured"),
    "whole": _AGE,
    "real": _SCORE,
    "wide": StatisticRequest("dose", lower=-1e300, upper=1e300, steps=2**20),
    "narrow": StatisticRequest("tiny", lower=0.0, upper=1e-300, steps=1000),
    "distance": StatisticRequest("dose", "absolute", anchor=0.3, lower=0.0, upper=4.0, steps=2**20),
    "square": StatisticRequest("dose", "square", anchor=-1e-170, lower=0.0, upper=9.0, steps=2**20),
    "small square": StatisticRequest("tiny", "square", anchor=0.0, lower=0.0, upper=1e-310, steps=10),
    "power": StatisticRequest("age", "power", anchor=0.7, lower=0.0, upper=30.0, steps=2**20),
    "log": StatisticRequest("age", "log_ratio", anchor=1.5, lower=0.0, upper=5.0, steps=2**20),
    "derived": StatisticRequest("ratio", lower=-5.0, upper=5.0, steps=4096),
    "underflow": StatisticRequest("product", lower=-1.0, upper=1.0, steps=2**20),
    "prices": StatisticRequest("price", lower=-5.0, upper=5.0, steps=2**20),
    "stays": StatisticRequest("stay", lower=-4000.0, upper=4000.0, steps=8000),
    "days": StatisticRequest("since", lower=-400.0, upper=400.0, steps=800),
    "bins": HistogramRequest(_SCORE, (0, 5, 2**19, 2**20)),
    "network": _network(),
    "network by groups": _grouped(_network()),
    "regression": _regression(),
    "regression by groups": _grouped(_regression()),
    "log by groups": _grouped(StatisticRequest("age", "log_ratio", anchor=1.5, lower=0.0, upper=5.0, steps=2**20)),
    "several": SeveralRequest((_AGE, _grouped(_SCORE), _network(), _grouped(_AGE))),
}
