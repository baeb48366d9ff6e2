"""An export is checked with nothing but its bytes and a public key."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.privacy import ORDERS, Cost
from app.ledger.account import open_account
from app.ledger.amounts import amounts_of
from app.ledger.entry import Entry, Head
from app.ledger.export import act_line, entry_line, head_line, header_line
from app.ledger.hash_chain import GENESIS, digest_of, seal
from app.ledger.offline import verify_export
from app.ledger.posting import commit_posting, open_posting, reserve_posting
from app.ledger.signed_head import SigningKey

KEY = SigningKey("the secret of the exporting machine, long")
OTHER = SigningKey("the secret of another machine, as long as")
COST = amounts_of(Cost(0.25, (0.01,) * len(ORDERS)))
WHO = {"actor": "an_zoë", "reason": "test \u2028 'quoted'", "at_us": 1_700_000_000_000_000}


def chain() -> list[Entry]:
    account, head, lines = open_account("ds_a", epsilon=9, delta=1e-6), GENESIS, []
    postings = [open_posting(account, **WHO)]
    for index in range(3):
        postings.append(reserve_posting(postings[-1].account, f"rel_{index}", COST, event="{}", **WHO))
        postings.append(commit_posting(postings[-1].account, f"rel_{index}", **WHO))
    for posting in postings:
        lines.append(seal(posting, head))
        head = Head(lines[-1].sequence, lines[-1].digest)
    return lines


def exported(lines: list[Entry], *, ledger: str = "led_a", key: SigningKey = KEY) -> list[bytes]:
    head = Head(lines[-1].sequence, lines[-1].digest)
    act = KEY.sign_act(1, "adopted", "led_a", head, actor="start", reason="first", at_us=1)
    last = head_line(key.sign_head(ledger, head, 5))
    return [header_line("led_a", {KEY.id: KEY.public}), *map(entry_line, lines), act_line(act), last]


def test_an_export_verifies_with_the_public_key_alone() -> None:
    verdict = verify_export(exported(chain()), [KEY.public])
    assert (verdict.ok, verdict.entries, verdict.key_given, verdict.key_id) == (True, 7, True, KEY.id)
    assert verdict.acts == [{"number": 1, "kind": "adopted", "actor": "start", "reason": "first", "verified": True}]


def test_an_act_that_no_given_key_signed_is_shown_as_unverified() -> None:
    lines = exported(chain())
    claim = OTHER.sign_act(2, "accepted", "led_a", GENESIS, actor="auditor-general", reason="approved", at_us=2)
    verdict = verify_export([*lines[:-1], act_line(claim), lines[-1]], [KEY.public])
    assert verdict.ok
    assert [act["verified"] for act in verdict.acts] == [True, False]


def test_any_of_several_keys_may_have_signed() -> None:
    assert verify_export(exported(chain()), [OTHER.public, KEY.public]).ok


def test_the_exports_own_key_is_believed_only_with_a_mark() -> None:
    assert (verify_export(exported(chain())).ok, verify_export(exported(chain())).key_given) == (True, False)


def _resealed(lines: list[Entry]) -> list[Entry]:
    head, sealed = GENESIS, []
    for line in lines:
        line = replace(line, sequence=head.sequence + 1, previous=head.digest)
        line = replace(line, digest=digest_of(line))
        head = Head(line.sequence, line.digest)
        sealed.append(line)
    return sealed


def _changed(number: int, **fields: Any) -> Callable[[list[bytes]], list[bytes]]:
    def change(lines: list[bytes]) -> list[bytes]:
        return [*lines[:number], json.dumps(json.loads(lines[number]) | fields).encode(), *lines[number + 1 :]]

    return change


def _forged(lines: list[bytes]) -> list[bytes]:
    """A whole new history, under the head that was really signed."""
    other = _resealed([replace(line, actor="an_mallory") for line in chain()])
    return [lines[0], *map(entry_line, other), *lines[8:]]


DAMAGES: dict[str, tuple[Callable[[list[bytes]], list[bytes]], str]] = {
    "an edited line": (_changed(3, actor="an_mallory"), "edited"),
    "a deleted line": (lambda lines: [*lines[:3], *lines[4:]], "out_of_sequence"),
    "a repeated line": (lambda lines: [*lines[:4], *lines[3:]], "out_of_sequence"),
    "swapped lines": (lambda lines: [*lines[:3], lines[4], lines[3], *lines[5:]], "out_of_sequence"),
    "missing last lines": (lambda lines: [*lines[:6], *lines[8:]], "truncated"),
    "another history": (_forged, "replaced"),
    "another history under another key": (
        lambda _: exported(_resealed([replace(line, actor="an_mallory") for line in chain()]), key=OTHER),
        "unknown_key",
    ),
    "a head of another ledger": (lambda _: exported(chain(), ledger="led_b"), "other_ledger"),
    "a changed time of the head": (
        lambda lines: [*lines[:-1], lines[-1].replace(b'"at_us":5', b'"at_us":6')],
        "replaced",
    ),
    "an act nobody signed": (
        lambda lines: [*lines[:-2], lines[-2].replace(b'"first"', b'"forged"'), lines[-1]],
        "replaced",
    ),
    "no head": (lambda lines: lines[:-1], "malformed"),
    "something after the head": (lambda lines: [*lines, lines[-2]], "malformed"),
    "no header": (lambda lines: lines[1:], "malformed"),
    "nothing": (lambda _: [], "malformed"),
    "an unknown version": (_changed(0, version=3), "malformed"),
    "an unknown field": (_changed(2, bonus=1), "malformed"),
    "a short vector": (_changed(2, amounts=[1, 2, 3]), "malformed"),
    "a huge amount": (_changed(2, amounts=[2**63] + [0] * 45), "malformed"),
    "a digest that is none": (_changed(2, digest="xyz"), "malformed"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_export_is_refused_by_name(name: str) -> None:
    damage, reason = DAMAGES[name]
    verdict = verify_export(damage(exported(chain())), [KEY.public])
    assert (verdict.ok, verdict.reason) == (False, reason)


@given(st.lists(st.binary(max_size=60), max_size=4), st.integers(0, 9))
def test_arbitrary_bytes_are_a_verdict_and_never_a_crash(junk: list[bytes], place: int) -> None:
    lines = exported(chain())
    verdict = verify_export([*lines[:place], *junk], [KEY.public])
    assert not verdict.ok


@given(st.integers(0, 9), st.data())
def test_any_changed_byte_of_an_export_is_noticed(number: int, data: st.DataObject) -> None:
    """Header keys and acts by unknown keys aside, which the given key makes irrelevant."""
    lines = exported(chain())
    line = bytearray(lines[number])
    place = data.draw(st.integers(0, len(line) - 2))
    value = data.draw(st.integers(0, 255).filter(lambda other: other != line[place]))
    line[place] = value
    parsed_same = _parses_the_same(lines[number], bytes(line), number)
    verdict = verify_export([*lines[:number], bytes(line), *lines[number + 1 :]], [KEY.public])
    assert verdict.ok == parsed_same


def _parses_the_same(before: bytes, after: bytes, number: int) -> bool:
    """Insignificant space, an upper-case hexadecimal digit, and what the verifier has no use for."""
    try:
        old, new = json.loads(before), json.loads(after)
    except ValueError:
        return False
    if number == 0:
        return {**old, "keys": 0} == {**new, "keys": 0} and all(isinstance(v, str) for v in new["keys"].values())
    if "act" in old and "act" in new and new["act"].get("key_id") != KEY.id:
        return dict(old["act"], key_id=0) == dict(new["act"], key_id=0) and isinstance(new["act"]["key_id"], str)
    return _folded(old) == _folded(new)


def _folded(value: Any) -> Any:
    if isinstance(value, dict):
        hexadecimal = ("previous", "digest", "signature")
        return {k: v.lower() if k in hexadecimal and isinstance(v, str) else _folded(v) for k, v in value.items()}
    return value


def test_the_offline_verifier_loads_neither_numerics_nor_a_database() -> None:
    code = (
        "import sys, app.ledger.offline, app.cli.ledger\n"
        "heavy = {'numpy', 'scipy', 'sqlalchemy', 'pydantic', 'fastapi', 'redis', 'duckdb'} & set(sys.modules)\n"
        "sys.exit(','.join(sorted(heavy)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
