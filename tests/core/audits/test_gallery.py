"""Mistakes that were made somewhere: all of them are refuted, and what is correct is not."""

import sys

import pytest

from app.cli.auditing.command import outputs_of
from app.core.audits.black_box import audit_samples
from app.core.audits.outputs import read_sides
from app.errors import InvalidAudit
from app.services.audits.audit_request import read_claim
from examples.broken_mechanisms.gallery import EXHIBITS, outputs

LEVEL = 0.01


def verdict_of(name: str) -> str:
    exhibit = EXHIBITS[name]
    claim = read_claim(exhibit.claim)
    sides = (outputs(name, rows, exhibit.runs, seed) for rows, seed in ((exhibit.x, 1), (exhibit.y, 2)))
    return audit_samples(claim, *read_sides(*sides), LEVEL).verdict  # type: ignore[arg-type]


def test_there_are_ten_mistakes_and_more() -> None:
    assert len(EXHIBITS) > 10


@pytest.mark.slow
@pytest.mark.cases(7)
@pytest.mark.parametrize("name", [name for name in EXHIBITS if name != "correct"])
def test_a_broken_mechanism_is_refuted(name: str) -> None:
    assert verdict_of(name) == "refuted"


def test_a_correct_one_is_not() -> None:
    """A false alarm has probability .01; the seed is fixed."""
    assert verdict_of("correct") == "not_refuted"


def test_low_bits_of_textbook_noise_are_what_gives_it_away() -> None:
    exhibit = EXHIBITS["float_laplace"]
    sides = (outputs("float_laplace", rows, 6_000, seed) for rows, seed in ((exhibit.x, 1), (exhibit.y, 2)))
    found = audit_samples(read_claim(exhibit.claim), *read_sides(*sides), LEVEL)  # type: ignore[arg-type]
    assert any("last set bit" in test.name and test.verdict == "refuted" for test in found.tests)


@pytest.mark.slow
def test_a_command_gets_its_dataset_and_is_held_to_one_value_a_run_and_its_time() -> None:
    gallery = f"{sys.executable} examples/broken_mechanisms/gallery.py unclipped"
    assert len(outputs_of(gallery, [0, 5], runs=50, seed=3, timeout_s=30)) == 50
    for command, seconds in (("false", 5.0), ("sleep 5", 0.2), ("echo 1", 5.0), ("echo x", 5.0), ("", 5.0)):
        with pytest.raises(InvalidAudit):
            outputs_of(command, [], runs=2, seed=1, timeout_s=seconds)


@pytest.mark.slow
def test_a_command_inherits_no_setting_of_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSTERN_SIGNING_KEY", "secret")
    shown = outputs_of(f"{sys.executable} -c \"import os; print('1' if 'POSTERN_SIGNING_KEY' in os.environ else '0')\"", [],
                       runs=1, seed=1, timeout_s=10)  # fmt: skip
    assert shown == [0]
