"""Checks of fit through the client and on the command line."""

import json
import random
import uuid
from typing import Any

import pytest

from postern.client import Conflict
from tests.client.served_place import Trial
from tests.client.test_query_command import Postern, postern

__all__ = ["postern"]

VISITS = {"visits": {"type": "integer", "lower": 0, "upper": 20}}
POISSON = {"family": "poisson", "column": "visits"}
NOISE = {"kind": "laplace", "samples": 20, "epsilon": 0.5}


def clustered() -> bytes:
    """Half of all people come never, the others about six times; seed fixed."""
    chance = random.Random(11)
    lines = [str(0 if chance.random() < 0.5 else chance.randint(4, 8)) for _ in range(1_000)]
    return ("visits\n" + "\n".join(lines) + "\n").encode()


def test_a_check_is_asked_for_read_and_printed(steward: Any, trial: Trial, postern: Postern) -> None:
    dataset = steward.create_dataset(f"ward {uuid.uuid4()}", VISITS, epsilon=3.0, delta=1e-6)
    steward.upload(dataset, clustered())
    plan = steward.plan(POISSON, NOISE, n=1_000, columns=VISITS, check={"epsilon": 0.2})
    assert plan.check["cost"]["pure_epsilon"] == pytest.approx(0.2)
    release = steward.request_release(dataset, POISSON, NOISE, check={"epsilon": 0.2})
    assert release.facts.check == {"epsilon": 0.2, "delta": None}
    assert release.facts.cost.pure_epsilon == pytest.approx(plan.cost.pure_epsilon)
    found = release.fit_check()
    assert found.doubtful
    assert found.dispersion.ratio > 2
    assert found.text in str(found)
    assert "bins" not in str(found)
    assert {warning.code for warning in release.mean("rate").warnings} == {"model_doubtful"}
    code, out, _ = postern("check", release.id, key=trial.place.steward_key)
    first, second, *table = out.splitlines()
    assert (code, first) == (0, f"doubtful: {found.text}")
    assert second == found.advice
    assert len(table) >= len(found.bins) + 2
    code, out, _ = postern("check", release.id, "--json", key=trial.place.steward_key)
    assert json.loads(out)["bins"][0]["noisy"] == found.bins[0].noisy


def test_a_release_without_a_check_is_a_conflict_with_its_own_code(analyst: Any, trial: Trial) -> None:
    with pytest.raises(Conflict) as refused:
        analyst.release(trial.release).fit_check()
    assert refused.value.code == "check_not_bought"
