"""The shipped demo is what its script makes, and the service would take it."""

import json
import runpy
from pathlib import Path

from app.core.schema import parse_columns, parse_unit
from app.core.statistics.sums import StatisticRequest
from app.sources.source_spec import parse_source
from app.sources.sources import SourceContext, open_source
from app.sources.uploads import UploadStore
from tests.sources.rows_under_test import KEY

DEMO = Path(__file__).resolve().parents[2] / "examples" / "demo"


def test_script_reproduces_the_shipped_files_byte_for_byte() -> None:
    script = runpy.run_path(str(DEMO / "make_demo.py"))
    assert script["trial_csv"]().encode() == (DEMO / "trial.csv").read_bytes()
    assert json.dumps(script["dataset_body"](), indent=2) + "\n" == (DEMO / "trial.json").read_text()
    assert (DEMO / "trial.csv").stat().st_size < 200_000


def test_shipped_rows_fit_their_declaration_and_show_an_effect(store: UploadStore) -> None:
    body = json.loads((DEMO / "trial.json").read_text())
    columns = parse_columns(body["columns"])
    rows = (DEMO / "trial.csv").read_bytes()
    with store.begin("ds_demo") as upload:
        upload.write(rows)
        name = upload.finish()
    context = SourceContext(columns, parse_unit(body["privacy_unit"], columns), store, name)
    source = open_source(parse_source(body["source"]), context)
    assert source.validate(4_000).people == 4_000
    assert source.statistic(StatisticRequest("cured"), KEY).total == rows.count(b"\n1,")
    cured = {arm: rows.count(f"\n1,{arm},".encode()) / rows.count(f",{arm},".encode()) for arm in ("drug", "placebo")}
    assert cured["drug"] > cured["placebo"] + 0.15
