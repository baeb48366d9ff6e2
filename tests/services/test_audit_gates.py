"""No release is charged, reserved or read past a gate that did not open; and gates look at public numbers only."""

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.core.audits.conformance import pearson
from app.core.audits.verdict import Certificate, Findings
from app.core.grids.integer_table import integer_weights
from app.core.kinds import KINDS, kind_of, parse_mechanism, parse_model
from app.core.schema import parse_columns
from app.core.statistics.sums import ExactStatistic
from app.errors import AuditFailed
from app.services.audits import gates
from app.services.audits.small_models import NOT_OFFERED, small_models
from app.services.reading.read_card import read_card
from app.storage import sample_sets
from tests.deep import deep
from tests.processor_seconds import allowed
from tests.services.world import COLUMNS, MODEL, World, rows
from tests.write_known_answer import renewed

REFUTED = Findings(certificates=(Certificate("table", False, 2.0, 1.0, ("made up",)),), covers=True)
INCONCLUSIVE = Findings(reasons=("made up",))


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    yield
    for remembered in (gates.release_findings, gates.start_findings):
        remembered.cache_clear()


async def refused(world: World, dataset: str) -> AuditFailed:
    before = await world.kinds(dataset), (await world.account(dataset)).spent
    with pytest.raises(AuditFailed) as caught:
        await world.request(dataset, samples=7)
    assert (await world.kinds(dataset), (await world.account(dataset)).spent) == before
    return caught.value


@pytest.mark.engine_in_turn
@pytest.mark.parametrize("found", [REFUTED, INCONCLUSIVE], ids=["refuted", "inconclusive"])
async def test_a_release_whose_gate_stays_shut_is_not_charged(
    world: World, found: Findings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The charge is made to look too small, or the look to fail, where the kind of model is asked."""
    dataset = await world.dataset("a")
    monkeypatch.setattr(gates, "release_findings", lambda *numbers: found)
    assert (await refused(world, dataset)).facts["verdict"] == found.verdict


@pytest.mark.engine_in_turn
async def test_an_installation_that_does_not_draw_as_it_was_built_makes_no_release(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gates, "KNOWN_ANSWER", "0" * 64)
    gates.start_findings.cache_clear()
    assert "known bytes" in (await refused(world, await world.dataset("a"))).detail


def test_whatever_goes_wrong_in_looking_keeps_the_gate_shut() -> None:
    class Odd:
        def cost(self, *numbers: Any) -> Any:
            raise ZeroDivisionError

    small = next(iter(small_models(("baps",))))
    found = gates.audited(small.model, Odd(), 3, 1, gates.GATE)  # type: ignore[arg-type]
    assert found.verdict == "inconclusive"


def test_every_family_and_mechanism_passes_at_the_start_and_is_known_to_the_build() -> None:
    assert gates.start_findings().verdict == "certified"
    named = {small.name for small in small_models()}
    for kind in KINDS:
        for family in kind.families:
            for mechanism in kind.mechanisms:
                assert (mechanism, family) in NOT_OFFERED or f"{family} by {mechanism}" in named


@pytest.mark.slow
@pytest.mark.cases(6)
@pytest.mark.parametrize("name", sorted(small.name for small in small_models()))
def test_every_mechanism_passes_the_gate_of_the_build_at_level_one_in_a_million(name: str) -> None:
    """Exact laws where there are any, and 2,000 draws against the charge."""
    small = next(small for small in small_models() if small.name == name)
    found = gates.audited(small.model, small.mechanism, 12, 1, gates.BUILD)
    assert found.verdict in gates.OPEN, found
    assert found.verdict == "certified" or "baps" in name


async def test_the_card_says_what_the_gate_found(world: World) -> None:
    dataset = await world.dataset("a")
    released = await world.published(dataset)
    card = await read_card(world.runtime, principal=world.steward, release_id=released)
    (line,) = [line for line in card["lines"] if line["name"] == "audit"]
    assert line["value"]["verdict"] == "certified"
    assert line["basis"] == "exact"
    assert "verified" not in line["text"]


def test_a_gate_costs_less_than_half_a_second_of_work_at_any_size() -> None:
    """By how much it looks at: points of all tables, whatever n is; but for the two tables that one pair needs."""
    columns = gates.small_models.__globals__["COLUMNS"]
    model = parse_model({"family": "bernoulli", "column": "cured"}, columns)
    mechanism = parse_mechanism({"kind": "baps", "samples": 3}, model)
    assert kind_of(model).audit is not None
    for people in (1, 10_000):
        found = gates.audited(model, mechanism, people, 1, gates.GATE)
        points = model.grid(people, 1.0).size  # type: ignore[attr-defined]
        assert 2 * points * len(found.certificates[0].pairs) <= max(gates.GATE.points, 2 * points)


@pytest.mark.parametrize("people", [30_000, deep(10**6)])
def test_a_gate_looks_at_the_charge_of_the_release_itself_and_not_of_fewer_people(people: int) -> None:
    columns = gates.small_models.__globals__["COLUMNS"]
    model = parse_model({"family": "bernoulli", "column": "cured"}, columns)
    found = gates.audited(model, parse_mechanism({"kind": "baps", "samples": 3}, model), people, 1, gates.GATE)
    assert all(f"of {people} rows" in pair for pair in found.certificates[0].pairs)
    assert found.verdict == "certified"


@pytest.mark.deep
@pytest.mark.parametrize("unit_rows", [1, 3])
@pytest.mark.parametrize("people", [10**3, 10**4, 10**5, 10**6, 10**7, 10**8])
@pytest.mark.parametrize(
    "mechanism", [{"kind": "baps", "samples": 3}, {"kind": "map", "epsilon": 1.0}], ids=["baps", "map"]
)
def test_a_release_gate_takes_half_a_second_of_processor_time(
    mechanism: dict[str, object], people: int, unit_rows: int
) -> None:
    """Beside the charge, which a release has worked out before."""
    columns = gates.small_models.__globals__["COLUMNS"]
    for spec in ({"family": "bernoulli", "column": "cured"}, {"family": "exponential", "column": "days"}):
        model = parse_model(spec, columns)
        parsed = parse_mechanism(mechanism, model)
        parsed.cost(model, people, unit_rows)
        before = time.thread_time()
        found = gates.audited(model, parsed, people, unit_rows, gates.GATE)
        taken = time.thread_time() - before
        assert found.verdict == "certified"
        assert taken <= allowed(0.5), (spec, taken)


def test_the_known_answer_is_written_by_one_command_and_nothing_else_changes() -> None:
    source = Path(gates.__file__).read_text(encoding="utf-8")
    assert renewed(source) == source
    forgotten_answer = source.replace(gates.KNOWN_ANSWER, "0" * 64)
    assert forgotten_answer != source
    assert renewed(forgotten_answer) == source


def test_audits_can_neither_name_a_release_nor_read_a_row() -> None:
    """Samples of a real release are never held against their own table: nothing in the room could find either."""
    rooms = [
        *Path("app/services/audits").glob("*.py"),
        *Path("app/core/audits").glob("*.py"),
        Path("app/api/schemas/audits.py"),
    ]
    for path in rooms:
        text = path.read_text()
        assert not re.search(r"import .*(sample_sets|releases|datasets|sources|uploads)", text), path
        assert not re.search(r"from app\.(storage|sources)\.(sample_sets|releases|datasets|uploads|sources)", text), (
            path
        )


@pytest.mark.slow
@pytest.mark.engine_in_turn
async def test_what_is_published_of_a_made_up_file_has_the_law_of_its_own_table(world: World) -> None:
    """From the file to the samples: 8,000 draws by Pearson's test, at level 10⁻³; made-up rows only."""
    budget = {"epsilon": 5_000.0, "delta": 1e-6}
    dataset = await world.dataset("a", data=rows(400, 130), budget=budget, force=True)
    released = await world.published(dataset, samples=8_000, force=True)
    async with world.runtime.database.read() as connection:
        stored = await sample_sets.get_samples(connection, released)
    assert stored is not None
    theta = np.frombuffer(stored.body, dtype="<f8")
    model = parse_model(MODEL, parse_columns(COLUMNS))
    grid = model.grid(400, 1.0)  # type: ignore[attr-defined]
    law = integer_weights(model.constants(grid), ExactStatistic(130, 400))  # type: ignore[attr-defined]
    counts = np.bincount(np.searchsorted(grid.theta, theta), minlength=grid.size)
    found = pearson(counts, np.array([weight / sum(law) for weight in law]))
    assert found.cells > 25
    assert found.p_value > 1e-3
    other = integer_weights(model.constants(grid), ExactStatistic(136, 400))  # type: ignore[attr-defined]
    assert pearson(counts, np.array([weight / sum(other) for weight in other])).p_value < 1e-3
