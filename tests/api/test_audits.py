"""Audits over HTTP: asked for, carried out in the background, signed, listed; nothing that is sent is run."""

import asyncio
import json
from typing import Any

import pytest

from app.ledger.audit_report import commitment_from
from app.ledger.canonical import canonical_json
from app.ledger.signed_head import Keyring, parse_public_key
from app.services.audits import verified
from app.services.audits.audit_report import replayed_body
from tests.api.conftest import Service

FAR = {"kind": "samples", "x": [0] * 300, "y": [1] * 300}
CLAIM = {"kind": "pure", "epsilon": 1.0}
OWN = {
    "kind": "own",
    "columns": {"cured": {"type": "binary"}},
    "model": {"family": "bernoulli", "column": "cured"},
    "mechanism": {"kind": "baps", "samples": 10},
    "n": 12,
    "runs": 2_000,
}


async def done(service: Service, who: str, body: dict[str, Any]) -> dict[str, Any]:
    asked = await service.expect(202, who, "POST", "/audits", body)
    assert asked["status"] in ("pending", "done")
    for _ in range(600):
        found: dict[str, Any] = await service.expect(200, who, "GET", f"/audits/{asked['id']}")
        if found["status"] == "done":
            return found
        await asyncio.sleep(0.05)
    raise AssertionError("an audit that does not end")


def keys_of(report: dict[str, Any]) -> Keyring:
    return Keyring(parse_public_key(text) for text in report["keys"].values())


@pytest.mark.engine_in_turn
async def test_samples_that_tell_two_neighbours_apart_are_refuted_and_their_report_can_be_checked(
    service: Service,
) -> None:
    found = await done(service, "eve", {"subject": FAR, "claim": CLAIM, "level": 0.01})
    assert found["verdict"] == "refuted"
    assert found["lower_bound"] > 1
    assert found["subject"] == {"kind": "samples", "runs": [[300, 300]]}
    report = await service.expect(200, "eve", "GET", f"/audits/{found['id']}/report")
    assert verified(report, keys_of(report))["ok"]
    assert "x" not in report["body"]["subject"]


@pytest.mark.engine_in_turn
async def test_an_own_report_is_made_again_to_the_same_bytes_and_one_changed_byte_is_refused(service: Service) -> None:
    found = await done(service, "steward", {"subject": OWN})
    assert found["verdict"] == "certified"
    report = await service.expect(200, "steward", "GET", f"/audits/{found['id']}/report")
    assert canonical_json(replayed_body(report["body"])) == canonical_json(report["body"])
    assert verified(report, keys_of(report)) == {"ok": True, "fault": None, "replayed": True, "same_code": True}
    changes: list[tuple[str, Any]] = [("verdict", "not_refuted"), ("level", 0.02), ("detects", 1.0)]
    for name, value in changes:
        forged = json.loads(json.dumps(report))
        forged["body"][name] = value
        assert verified(forged, keys_of(report))["fault"] == "report_changed"
    other = json.loads(json.dumps(report))
    other["signature"]["commitment"] = "00" * 64
    assert verified(other, keys_of(report))["fault"] == "commitment_changed"
    assert verified({"body": {}}, keys_of(report))["fault"] == "malformed"
    assert verified(report, Keyring([]))["fault"] == "unknown_key"


@pytest.mark.engine_in_turn
async def test_seeds_are_recorded_before_anything_is_drawn_under_numbers_without_gaps(service: Service) -> None:
    asked = [await service.expect(202, "steward", "POST", "/audits", {"subject": OWN}) for _ in range(3)]
    first = asked[0]["number"]
    assert [each["number"] for each in asked] == [first, first + 1, first + 2]
    assert len({each["seed"] for each in asked}) == 3
    await done(service, "steward", {"subject": OWN})
    for each in asked:
        report = await service.expect(200, "steward", "GET", f"/audits/{each['id']}/report")
        assert commitment_from(report["body"]["commitment"]).seed.hex() == each["seed"]
    listed = await service.expect(200, "steward", "GET", "/audits?limit=2")
    assert [item["number"] for item in listed["items"]] == [first + 3, first + 2]
    rest = await service.expect(200, "steward", "GET", f"/audits?limit=2&cursor={listed['next_cursor']}")
    assert [item["number"] for item in rest["items"]] == [first + 1, first]


@pytest.mark.engine_in_turn
async def test_stewards_see_their_own_audits_auditors_all_and_others_none(service: Service) -> None:
    mine = await done(service, "steward", {"subject": FAR, "claim": CLAIM})
    theirs = await done(service, "eve", {"subject": FAR, "claim": CLAIM})
    assert (await service.expect(200, "eve", "GET", f"/audits/{mine['id']}"))["id"] == mine["id"]
    await service.expect(404, "steward", "GET", f"/audits/{theirs['id']}")
    listed = await service.expect(200, "steward", "GET", "/audits")
    assert [item["id"] for item in listed["items"]] == [mine["id"]]
    for who in ("ada", "wall"):
        await service.expect(403, who, "POST", "/audits", {"subject": FAR, "claim": CLAIM})
        await service.expect(403, who, "GET", "/audits")
    await service.expect(404, "eve", "GET", "/audits/aud_unknown/report")


REFUSED: dict[str, dict[str, Any]] = {
    "a command": {"subject": {"kind": "command", "command": "id"}, "claim": CLAIM},
    "a release": {"subject": {"kind": "release", "release": "rel_x"}, "claim": CLAIM},
    "samples of a release": {"subject": FAR | {"release": "rel_x"}, "claim": CLAIM},
    "no claim": {"subject": FAR},
    "a claim of our own": {"subject": OWN, "claim": CLAIM},
    "a negative cost": {"subject": FAR, "claim": {"kind": "pure", "epsilon": -1}},
    "an order below one": {"subject": FAR, "claim": {"kind": "renyi", "order": 0.5, "epsilon": 1}},
    "no pairs": {"subject": FAR, "claim": {"kind": "random", "claim": CLAIM, "gamma": 0.1, "generator": "g"}},
    "no level": {"subject": FAR, "claim": CLAIM, "level": 0},
    "no outputs": {"subject": {"kind": "samples", "x": [], "y": [1]}, "claim": CLAIM},
    "too many people": {"subject": OWN | {"n": 10**9}},
    "another kind's mechanism": {"subject": OWN | {"mechanism": {"kind": "fourier", "samples": 1, "epsilon": 1}}},
}


@pytest.mark.engine_in_turn
async def test_what_cannot_be_audited_is_refused_and_leaves_nothing(service: Service) -> None:
    for name, body in REFUSED.items():
        answer = await service.call("steward", "POST", "/audits", body)
        assert answer.status_code == 422, (name, answer.text)
    assert (await service.expect(200, "steward", "GET", "/audits"))["items"] == []


@pytest.mark.engine_in_turn
async def test_outputs_of_different_shapes_are_inconclusive(service: Service) -> None:
    mixed = {"kind": "samples", "x": [[1, 2]] * 100 + [[1]], "y": [[1, 2]] * 100}
    found = await done(service, "eve", {"subject": mixed, "claim": CLAIM})
    assert found["verdict"] == "inconclusive"


@pytest.mark.engine_in_turn
async def test_a_repeated_request_is_one_audit(service: Service) -> None:
    headers = {"Idempotency-Key": "once"}
    body = {"subject": FAR, "claim": CLAIM}
    first = await service.expect(202, "eve", "POST", "/audits", body, headers=headers)
    again = await service.expect(202, "eve", "POST", "/audits", body, headers=headers)
    assert first["id"] == again["id"]


@pytest.mark.engine_in_turn
async def test_many_pairs_are_audited_by_algorithm_3(service: Service) -> None:
    claim = {"kind": "random", "claim": CLAIM, "gamma": 0.05, "generator": "all alike"}
    pairs = [{"x": [0] * 200, "y": [1] * 200} for _ in range(6)]
    found = await done(service, "eve", {"subject": {"kind": "samples", "pairs": pairs}, "claim": claim})
    assert found["verdict"] == "refuted"
    assert "Algorithm 3" in found["tests"][0]["name"]
