"""What a process remembers about rights: never a fact older than the last change it heard of, never for ever."""

import itertools

import pytest

from app.services.runtime.rights import ENTRIES_MAX, Rights, RightsTable


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def rights(clock: Clock) -> Rights:
    believed = Rights(stale_s=30.0, monotonic=clock)
    believed.confirm(1, clock.now)
    return believed


@pytest.fixture
def table(rights: Rights) -> RightsTable[str]:
    return RightsTable(rights)


def test_nothing_is_believed_before_the_epoch_was_read_once(clock: Clock):
    unread = Rights(stale_s=30.0, monotonic=clock)
    facts: RightsTable[str] = RightsTable(unread)
    facts.put("key", "valid", unread.generation)
    assert facts.get("key") is None


def test_a_fact_read_before_a_change_is_not_remembered_after_it(rights: Rights, table: RightsTable[str], clock: Clock):
    noted = rights.generation
    fact = "valid"  # read from a snapshot taken before the revocation committed
    rights.confirm(2, clock.now)
    table.put("key", fact, noted)
    assert table.get("key") is None
    table.put("key", "revoked", rights.generation)
    assert table.get("key") == "revoked"


def test_a_change_made_by_this_process_forgets_at_once(rights: Rights, table: RightsTable[str]):
    noted = rights.generation
    table.put("key", "valid", noted)
    rights.forget()
    assert table.get("key") is None
    table.put("key", "valid", noted)
    assert table.get("key") is None


def test_no_order_of_reading_revoking_and_polling_leaves_a_stale_fact(clock: Clock):
    """Every interleaving of one loader, one revocation and two polls: after the last poll nothing old is believed."""
    steps = ["note", "read", "put", "revoke", "poll", "poll"]
    for order in set(itertools.permutations(steps)):
        if not order.index("note") < order.index("read") < order.index("put"):
            continue
        rights = Rights(stale_s=30.0, monotonic=clock)
        rights.confirm(1, clock.now)
        table: RightsTable[str] = RightsTable(rights)
        stored, epoch, noted, fact = "valid", 1, -1, ""
        for step in order:
            if step == "note":
                noted = rights.generation
            elif step == "read":
                fact = stored
            elif step == "put":
                table.put("key", fact, noted)
            elif step == "revoke":
                stored, epoch = "revoked", 2
            else:
                rights.confirm(epoch, clock.now)
        polled_after = "poll" in order[order.index("revoke") :]
        if polled_after:
            assert table.get("key") != "valid", order


def test_an_epoch_that_did_not_move_keeps_what_is_remembered(rights: Rights, table: RightsTable[str], clock: Clock):
    table.put("key", "valid", rights.generation)
    clock.now += 20
    rights.confirm(1, clock.now)
    clock.now += 20
    assert table.get("key") == "valid"


def test_an_epoch_that_went_back_forgets_too(rights: Rights, table: RightsTable[str], clock: Clock):
    """The database was restored from a backup: what it said since is void."""
    table.put("key", "valid", rights.generation)
    rights.confirm(0, clock.now)
    assert table.get("key") is None


def test_remembered_facts_are_not_believed_once_the_epoch_is_too_old(
    rights: Rights, table: RightsTable[str], clock: Clock
):
    table.put("key", "valid", rights.generation)
    clock.now += 30
    assert table.get("key") == "valid"
    clock.now += 0.001
    assert table.get("key") is None
    rights.confirm(1, clock.now)
    assert table.get("key") == "valid"


def test_a_slow_answer_counts_from_when_it_was_asked(rights: Rights, table: RightsTable[str], clock: Clock):
    """The epoch that arrives after ten seconds was true ten seconds ago."""
    table.put("key", "valid", rights.generation)
    asked_at = clock.now
    clock.now += 10
    rights.confirm(1, asked_at)
    clock.now = asked_at + 30.001
    assert table.get("key") is None


def test_the_table_is_bounded_and_drops_the_oldest(rights: Rights, table: RightsTable[str]):
    for number in range(ENTRIES_MAX + 10):
        table.put(number, "valid", rights.generation)
    assert table.get(9) is None
    assert table.get(10) == "valid"
    assert table.get(ENTRIES_MAX + 9) == "valid"
