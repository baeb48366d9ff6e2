"""Statistics without rows, end to end: a plan from the service, numbers sealed beside the data, a release of them."""

import json
import uuid
from pathlib import Path
from typing import Any

import pytest

from postern.client import Conflict, InvalidInput
from tests.client.served_place import BAPS, COLUMNS, MODEL, PEOPLE, Place, Trial, csv_bytes
from tests.client.test_query_command import Postern, postern
from tests.client.test_stewarding import fresh

__all__ = ["postern"]
WITHOUT_ROWS: dict[str, Any] = {"source": {"kind": "statistics"}, "n": PEOPLE}
SPEC = {"model": MODEL, "mechanism": BAPS}


def test_the_commands_lead_from_a_plan_to_a_published_release(
    postern: Postern, place: Place, trial: Trial, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with place.steward() as steward:
        dataset = fresh(steward, **WITHOUT_ROWS).id
        told = steward.sealing_key().key
    (tmp_path / "release.json").write_text(json.dumps(SPEC))
    (tmp_path / "rows.csv").write_bytes(csv_bytes())
    code, plan, _ = postern("statistics-plan", dataset, "release.json", key=place.steward_key)
    assert (code, json.loads(plan)["key"]) == (0, told)
    (tmp_path / "plan.json").write_text(plan)
    with monkeypatch.context() as alone:
        alone.delenv("POSTERN_URL")
        code, out, err = postern("statistics", "plan.json", "rows.csv", "--output", "sealed", "--key", told, key="")
    assert code == 0, err
    assert json.loads(out)["people"] == PEOPLE
    assert (tmp_path / "sealed").stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["plan.json", "release.json", "rows.csv", "sealed"]
    asked = ("release", dataset, "release.json", "--statistics", "sealed", "--wait-s", "60")
    code, out, err = postern(*asked, key=place.steward_key)
    assert (code, json.loads(out)["status"]) == (0, "published"), err
    code, _, err = postern(*asked, key=place.steward_key)
    assert code == 1
    assert "statistics_used" in err


def test_a_plan_of_another_service_and_a_file_that_is_there_are_refused(
    postern: Postern, place: Place, tmp_path: Path
) -> None:
    with place.steward() as steward:
        dataset = fresh(steward, **WITHOUT_ROWS)
        (tmp_path / "plan.json").write_text(json.dumps(steward.plan_statistics(dataset, SPEC)))
    (tmp_path / "rows.csv").write_bytes(csv_bytes())
    (tmp_path / "taken").write_text("mine")
    code, _, err = postern("statistics", "plan.json", "rows.csv", "--output", "sealed", "--key", "0" * 64)
    assert (code, "--key" in err, (tmp_path / "sealed").exists()) == (1, True, False)
    code, _, _ = postern("statistics", "plan.json", "rows.csv", "--output", "taken")
    assert (code, (tmp_path / "taken").read_text()) == (1, "mine")
    (tmp_path / "rows.csv").write_bytes(csv_bytes() + b"maybe,drug,1\n")
    code, _, err = postern("statistics", "plan.json", "rows.csv", "--output", "sealed")
    assert (code, "`cured`" in err) == (1, True)


def test_the_client_sends_what_was_sealed(steward: Any) -> None:
    name = f"several {uuid.uuid4()}"
    dataset = steward.create_dataset(name, COLUMNS, epsilon=3.0, delta=1e-6, **WITHOUT_ROWS)
    plan = steward.plan_statistics(dataset, {"models": [SPEC]}, idempotency_key=name)
    assert steward.plan_statistics(dataset, {"models": [SPEC]}, idempotency_key=name) == plan
    for send in (
        lambda: steward.request_release(dataset, MODEL, BAPS, statistics=b"no seal"),
        lambda: steward.request_several(dataset, [SPEC], statistics=b"no seal"),
    ):
        with pytest.raises(InvalidInput) as refused:
            send()
        assert refused.value.code == "invalid_statistics"
    with pytest.raises(InvalidInput) as refused:
        steward.request_release(dataset, MODEL, BAPS)
    assert refused.value.code == "invalid_statistics"
    with pytest.raises(Conflict):
        steward.plan_statistics(fresh(steward), SPEC)


def test_the_steward_sees_how_far_work_is_and_an_analyst_does_not(
    postern: Postern, place: Place, trial: Trial, steward: Any
) -> None:
    seen = steward.release_progress(trial.release)
    assert (seen.stage, seen.status, seen.reason) == ("done", "published", None)
    assert steward.upload_progress(trial.dataset).stage == "idle"
    code, out, _ = postern("progress", trial.release, "--follow", key=place.steward_key)
    assert (code, json.loads(out)["stage"]) == (0, "done")
    code, out, err = postern("progress", trial.release)
    assert (code, out) == (1, "")
    assert "forbidden" in err
