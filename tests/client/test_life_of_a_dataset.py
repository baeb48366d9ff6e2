"""From a file to a dataset and on to its end, through the client: draft, declare, check, correct, cancel, archive, delete."""

import io
import uuid
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from postern.client import Conflict, NotAllowed, NotFound
from postern.client.calls import stewards
from tests.client.served_place import BAPS, COLUMNS, MODEL, PEOPLE, Trial, csv_bytes
from tests.client.test_stewarding import fresh


def test_a_draft_has_names_and_types_and_leaves_every_bound_open(steward: Any, tmp_path: Path) -> None:
    drafted = steward.draft_schema(b"cured;days;arm\n1;412.5;Kanarie\n")
    assert drafted.columns == {"cured": {"type": None}, "days": {"type": None}, "arm": {"type": None}}
    table = {
        "cured": [True],
        "days": [412.5],
        "arm": ["Kanarie"],
        "visits": pa.array([7], pa.uint8()),
        "seen": pa.array([1], pa.date32()),
        "Days": [1.0],
    }
    pq.write_table(pa.table(table), tmp_path / "rows.parquet")
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, pa.table(table).schema) as writer:
        writer.write_table(pa.table(table))
    for data in (tmp_path / "rows.parquet", sink.getvalue()):
        drafted = steward.draft_schema(data)
        assert drafted.columns == {
            "cured": {"type": "binary"},
            "days": {"type": "real", "lower": None, "upper": None},
            "arm": {"type": "categorical", "levels": None},
            "visits": {"type": "integer", "lower": None, "upper": None},
            "seen": {"type": "date"},
        }
        assert [open_field["field"] for open_field in drafted.fill_in][:3] == [
            "columns.days.lower",
            "columns.days.upper",
            "columns.arm.levels",
        ]
        assert [left["place"] for left in drafted.left_out] == [6]
        assert "never from its rows" in drafted.why
        assert not any(cell in str(drafted) for cell in ("412.5", "Kanarie"))


def test_only_the_header_line_of_a_csv_file_is_sent_for_a_draft(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_bytes(b"cured,days\n1,412.5\n")
    for data in (tmp_path / "rows.csv", b"cured,days\n1,412.5\n"):
        assert stewards.draft_schema(data, None).body == b"cured,days\n"


def test_a_dataset_lives_from_correction_to_archive(steward: Any) -> None:
    dataset = fresh(steward, description="for the board")
    steward.upload(dataset, csv_bytes())
    wider = COLUMNS | {"visits": COLUMNS["visits"] | {"upper": 400}}
    changed = steward.change_dataset(dataset, {"columns": wider})
    assert (changed.description, changed.data, len(changed.changes)) == ("for the board", "none", 1)
    steward.upload(dataset, csv_bytes())
    release = steward.request_release(dataset, MODEL, BAPS, title="Cure rate", timeout_s=60)
    assert release.facts.title == "Cure rate"
    assert release.card().lines[0].name == "schema_changed"
    with pytest.raises(Conflict):
        steward.cancel_release(release.id)
    with pytest.raises(Conflict):
        steward.delete_dataset(dataset)
    assert steward.change_dataset(dataset, {"archived": True}).archived_at is not None
    assert release.summary()
    spare = fresh(steward)
    steward.delete_dataset(spare)
    with pytest.raises(NotFound):
        steward.dataset(spare.id)


def test_analysts_see_what_is_public_of_their_datasets_and_nothing_of_others(
    steward: Any, analyst: Any, trial: Trial
) -> None:
    stranger = fresh(steward)
    public = analyst.public_dataset(trial.dataset)
    assert (public.columns, public.n) == (steward.dataset(trial.dataset).columns, PEOPLE)
    seen = [found.id for found in analyst.public_datasets()]
    assert trial.dataset in seen
    assert stranger.id not in seen
    with pytest.raises(NotFound):
        analyst.public_dataset(stranger.id)
    assert steward.public_dataset(trial.dataset) == public


def test_datasets_of_the_same_people_share_a_budget_and_anyone_who_sees_one_may_rehearse_it(
    steward: Any, analyst: Any, trial: Trial
) -> None:
    name = f"patients {uuid.uuid4()}"
    people = steward.create_population(name, epsilon=2.0, delta=1e-6, description="all of them")
    dataset = fresh(steward, population=people)
    assert dataset.population == {"id": people.id, "name": name}
    found = steward.population(people.id)
    assert (found.datasets, found.budget.spent_epsilon) == ([dataset.id], 0.0)
    assert people.id in [each.id for each in steward.populations(page_size=1)]
    assert [line.kind for line in steward.population_ledger(people)] == ["open"]
    renamed = steward.change_population(people, {"name": f"{name} too", "description": None})
    assert (renamed.id, renamed.name, renamed.description, renamed.budget) == (
        people.id,
        f"{name} too",
        None,
        people.budget,
    )
    assert steward.dataset(dataset.id).population == {"id": people.id, "name": renamed.name}
    with pytest.raises(Conflict):
        steward.delete_population(people)
    steward.change_dataset(dataset, {"population": None})
    steward.delete_population(people)
    made = analyst.rehearse(trial.dataset, name=name, n=20, seed=3)
    assert (made.rehearsal, made.n, made.population) == (True, 20, None)
    analyst.change_dataset(made, {"archived": True})
    assert [line.kind for line in analyst.ledger(made)] == ["open", "open"]
    with pytest.raises(NotAllowed):
        analyst.request_release(trial.dataset, MODEL, BAPS)
