"""A verifier put down after any line and taken up again judges the rest as if nothing had happened."""

import pytest

from app.core.privacy import ORDERS, Cost
from app.ledger.account import open_account
from app.ledger.amounts import amounts_of
from app.ledger.entry import Entry, Head
from app.ledger.hash_chain import GENESIS, seal
from app.ledger.pass_state import decode_pass, encode_pass
from app.ledger.posting import (
    Posting,
    access_posting,
    cap_posting,
    commit_posting,
    open_posting,
    reserve_posting,
    void_posting,
)
from app.ledger.verification import Verifier

COST = amounts_of(Cost(0.25, (0.01,) * len(ORDERS), 1e-9))
WHO = {"actor": "an_zoë", "reason": "test", "at_us": 1_700_000_000_000_000}


def chain(*, again: str) -> list[Entry]:
    """Every kind of line on two accounts; the last reserves or settles `again` what an earlier one did."""
    dataset = open_posting(open_account("ds_a", epsilon=9, delta=1e-6, slack_delta=1e-7), **WHO)
    reader = open_posting(open_account("ds_a", "an_b", epsilon=3, delta=1e-6, slack_delta=1e-7), **WHO)
    postings: list[Posting] = [dataset, reader]
    first = reserve_posting(dataset.account, "rel_1", COST, event="{}", **WHO)
    second = reserve_posting(first.account, "rel_2", COST, event="{}", **WHO)
    done = commit_posting(second.account, "rel_1", **WHO)
    bought = access_posting(reader.account, "rel_1", COST, event="{}", **WHO)
    back = void_posting(done.account, "rel_2", COST, **WHO)
    lowered = cap_posting(back.account, epsilon=5, delta=1e-6, **WHO)
    postings += [first, second, done, bought, back, lowered]
    if again == "reserve":
        postings.append(reserve_posting(lowered.account, "rel_2", COST, event="{}", **WHO))
    else:
        postings.append(commit_posting(lowered.account, "rel_1", **WHO))
    head, lines = GENESIS, []
    for posting in postings:
        lines.append(seal(posting, head))
        head = Head(lines[-1].sequence, lines[-1].digest)
    return lines


@pytest.mark.parametrize(("again", "reason"), [("reserve", "reserved_twice"), ("settle", "settled_twice")])
def test_a_verifier_taken_up_after_any_line_comes_to_the_same_end(again: str, reason: str) -> None:
    lines = chain(again=again)
    whole = Verifier()
    for line in lines:
        whole.feed(line)
    assert (whole.result().reason, whole.result().first_bad) == (reason, len(lines))
    for cut in range(len(lines)):
        before = Verifier()
        for line in lines[:cut]:
            assert before.feed(line)
        after = decode_pass(encode_pass(before))
        assert after is not None
        assert after.result() == before.result()
        for line in lines[cut:]:
            after.feed(line)
        assert after.result() == whole.result()
        assert after.accounts() == whole.accounts()


def test_what_is_no_state_is_no_verifier() -> None:
    body = encode_pass(Verifier())
    assert decode_pass(body) is not None
    for junk in (b"", b"\xff" * 40, body[:-1], body + b"\0", b"\x91" * 100_000):
        assert decode_pass(junk) is None
