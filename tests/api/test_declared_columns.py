"""One messy file, one declaration: policies, spellings and derived columns over HTTP."""

import random
from typing import Any

import pytest

from tests.api.conftest import Service
from tests.conftest import SHARED_POSTGRES_DEEP
from tests.core.rows.row_cases import COLUMNS as HOSTILE
from tests.core.rows.row_cases import condition, number, scrap
from tests.deep import deep

COLUMNS: dict[str, Any] = {
    "cured": {"type": "binary", "true": ["geheilt"], "missing": {"value": False}},
    "arm": {"type": "categorical", "levels": {"placebo": ["p"], "drug": ["d"]}, "fold_case": True, "public": True},
    "age": {"type": "integer", "lower": 18, "upper": 99, "missing": "group"},
    "seen": {"type": "date"},
    "old": {"type": "binary", "from": "age >= 65", "missing": {"value": False}},
    "days": {"type": "integer", "from": "floor(age / 10)", "lower": 0, "upper": 9, "missing": {"value": 0}},
    "ages": {"type": "categorical", "from": "bin(age, 40, 65)", "levels": ["a", "b", "c"], "missing": "group"},
}
ROWS = (
    "id,cured,note,ARM,age,seen\n".replace("ARM", "arm")
    + (
        "1,Yes,x,D,70,2024-01-01\n2, NO ,,Placebo,,2024-02-29\n3,geheilt,y,DRUG,200.0,2024-03-01\n4,,z,p,NA,2023-12-31\n"
    )
    * 25
)
BODY = {"columns": COLUMNS, "budget": {"epsilon": 5.0, "delta": 1e-6}, "source": {"kind": "upload", "retain": True}}


@SHARED_POSTGRES_DEEP
async def test_a_messy_file_goes_in_with_one_declaration(service: Service) -> None:
    made = await service.expect(201, "steward", "POST", "/datasets", {**BODY, "name": "messy"})
    dataset = f"/datasets/{made['id']}"
    assert made["columns"]["arm"] == {
        "type": "categorical",
        "levels": ["placebo", "drug"],
        "spellings": {"placebo": ["p"], "drug": ["d"]},
        "fold_case": True,
        "public": True,
    }
    assert made["columns"]["old"] == COLUMNS["old"]
    assert made["other_columns"] == "ignore"
    sent = {"content": ROWS.encode(), "headers": {"Content-Type": "text/csv"}}
    report = await service.expect(200, "steward", "PUT", f"{dataset}/data", **sent)
    assert report["ignored_columns"] == ["id", "note"]
    assert report["missing"] == {"cured": 25, "age": 50, "old": 50, "days": 50, "ages": 50}
    assert report["outside"] == {"age": 25}
    again = await service.expect(200, "steward", "GET", dataset)
    assert not {"missing", "outside", "ignored_columns"} & set(again)
    model = {"family": "bernoulli", "column": "old"}
    asked = {"model": model, "mechanism": {"kind": "laplace", "epsilon": 1.0, "samples": 200}}
    release = await service.settled((await service.expect(202, "steward", "POST", f"{dataset}/releases", asked))["id"])
    question = {"estimand": {"kind": "parameter", "name": "theta"}, "utility": {"kind": "squared"}}
    answer = await service.expect(200, "steward", "POST", f"/releases/{release}/query", question)
    assert 0.3 < answer["response"] < 0.7
    for other, code, told in (
        ({"family": "poisson", "column": "age"}, "invalid_mechanism", "gaussian"),
        ({"family": "bernoulli", "column": "seen"}, "invalid_model", "binary"),
    ):
        body = {**asked, "model": other}
        refused = await service.expect(422, "steward", "POST", f"{dataset}/releases", body)
        assert refused["code"] == code
        assert told in refused["detail"]
    await service.expect(200, "steward", "PATCH", dataset, {"other_columns": "refuse"})
    refused = await service.expect(422, "steward", "PUT", f"{dataset}/data", **sent)
    assert [row["column"] for row in refused["rows"]] == ["#1", "#3"]


@SHARED_POSTGRES_DEEP
async def test_a_declaration_that_cannot_be_is_refused_by_field_and_position(service: Service) -> None:
    for name, spec, field, position in (
        ("old", {"type": "binary", "from": "age >= sixty"}, "columns.old.from", 7),
        ("old", {"type": "binary", "from": "age >= 65; DROP TABLE t"}, "columns.old.from", 9),
        ("old", {"type": "binary", "from": "age >= 65", "public": True}, "columns.old.public", None),
        ("arm", {**COLUMNS["arm"], "missing": {"level": "unknown"}}, "columns.arm.missing", None),
        ("arm", {**COLUMNS["arm"], "levels": {"a": ["x"], "b": ["X"]}}, "columns.arm", None),
    ):
        body = {**BODY, "name": "refused", "columns": {**COLUMNS, name: spec}}
        refused = await service.expect(422, "steward", "POST", "/datasets", body)
        assert (refused["code"], refused["errors"][0]["field"]) == ("invalid_schema", field)
        assert refused.get("position") == position


@pytest.mark.parametrize("count", [40, deep(2_000)])
@pytest.mark.parametrize("shared_backend", ["sqlite"], indirect=True)
async def test_no_text_of_a_derived_column_is_a_500(service: Service, count: int) -> None:
    source = random.Random(count)
    plain = {name: column.as_json() for name, column in HOSTILE.items()}
    seen = set()
    for turn in range(count):
        text = source.choice([number, condition])(source, 2) if turn % 3 == 0 else scrap(source)
        made: dict[str, Any] = {"type": source.choice(["binary", "real", "integer"]), "from": text}
        if made["type"] != "binary":
            made |= {"lower": 0, "upper": 9}
        body = {**BODY, "name": f"fuzz {count} {turn}", "columns": {**plain, "made": made}}
        answer = await service.call("steward", "POST", "/datasets", body)
        assert answer.status_code in (201, 422), text
        seen.add(answer.status_code)
    assert seen == {201, 422}
