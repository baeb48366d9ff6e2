"""Failpoints: off they do nothing, and what is armed is where it says it is."""

import re
import signal
from pathlib import Path

import pytest

from app.errors import InvalidRequest
from app.services.runtime import failpoints
from app.services.runtime.failpoints import NAMES, arm, arm_from, chunks_through, disarm, failpoint
from tests.services.world import World, chunks_of

SERVICES = Path(failpoints.__file__).parents[1]


@pytest.fixture(autouse=True)
def nothing_armed():
    yield
    disarm()


def test_every_name_is_passed_at_exactly_one_line_of_the_services() -> None:
    passed = [
        name
        for path in SERVICES.rglob("*.py")
        for name in re.findall(r'(?:failpoint|chunks_through)\("([a-z_.]+)"', path.read_text())
    ]
    assert sorted(passed) == sorted(NAMES)


def test_an_armed_failpoint_acts_once_at_the_pass_it_was_told() -> None:
    reached: list[int] = []
    arm("release.drawn", lambda: reached.append(1), at=3)
    for _ in range(5):
        failpoint("release.drawn")
        failpoint("release.claimed")
    assert reached == [1]


@pytest.mark.parametrize("written", ["release.drwan", "release.drawn:0", "release.drawn:1:explode", "release.drawn:x"])
def test_what_cannot_be_understood_refuses_the_start(written: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        arm_from({"POSTERN_FAILPOINT": written})
    assert refused.value.problems[0].field == "POSTERN_FAILPOINT"


def test_an_environment_without_the_variable_arms_nothing() -> None:
    arm_from({"POSTERN_FAILPOINTS": "release.drawn", "POSTERN_FAILPOINT": ""})
    assert failpoints._armed == {}


def test_a_written_failpoint_sends_its_signal_to_this_process_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[int, int]] = []
    monkeypatch.setattr(failpoints.os, "kill", lambda pid, number: sent.append((pid, number)))
    arm_from({"POSTERN_FAILPOINT": "release.drawn:2:stop,release.claimed"})
    for name in ("release.drawn", "release.claimed", "release.drawn"):
        failpoint(name)
    assert sent == [(failpoints.os.getpid(), signal.SIGKILL), (failpoints.os.getpid(), signal.SIGSTOP)]


async def test_a_stream_is_handed_through_untouched_unless_armed() -> None:
    chunks = chunks_of(b"a", b"b")
    assert chunks_through("upload.receiving", chunks) is chunks
    passes: list[int] = []
    arm("upload.receiving", lambda: passes.append(1), at=2)
    assert [chunk async for chunk in chunks_through("upload.receiving", chunks)] == [b"a", b"b"]
    assert passes == [1]


async def test_a_release_passes_its_failpoints_in_the_order_they_are_listed(world: World) -> None:
    seen: list[str] = []
    for name in failpoints.RELEASE:
        arm(name, lambda name=name: seen.append(name))
    await world.published(await world.dataset(source={"kind": "upload", "retain": False}))
    assert seen == list(failpoints.RELEASE)
