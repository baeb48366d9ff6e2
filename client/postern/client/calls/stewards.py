"""What a steward does: datasets, uploads, releases, people, keys, caps; and what an auditor reads."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

import msgspec

from postern.client.call import Call, encode, given, nothing, once, path, reads
from postern.client.problems import Misconfigured
from postern.client.results.datasets import Dataset, Upload
from postern.client.results.ledger import LedgerHead, Verification
from postern.client.results.people import Analyst, Cap, KeyFacts, NewKey
from postern.client.results.plans import Plan
from postern.client.results.releases import ReleaseFacts
from postern.client.uploads import body_of

Role = Literal["analyst", "dashboard", "auditor"]

UPLOADED = {"kind": "upload", "retain": False}
"""Rows are uploaded, and wiped once no release waits for them."""

_dataset, _upload, _release, _plan = reads(Dataset), reads(Upload), reads(ReleaseFacts), reads(Plan)
_analyst, _new_key, _cap = reads(Analyst), reads(NewKey), reads(Cap)
_head, _verification = reads(LedgerHead), reads(Verification)


def create_dataset(
    name: str,
    columns: Mapping[str, Any],
    *,
    epsilon: float,
    delta: float,
    slack_delta: float | None,
    source: Mapping[str, Any] | None,
    privacy_unit: Mapping[str, Any] | None,
    n: int | None,
    force: bool,
    idempotency_key: str | None,
) -> Call[Dataset]:
    spec = given(
        name=name,
        columns=columns,
        budget=given(epsilon=epsilon, delta=delta, slack_delta=slack_delta),
        source=source or UPLOADED,
        privacy_unit=privacy_unit,
        n=n,
        force=force or None,
    )
    return Call("POST", path("datasets"), _dataset, body=encode(spec), idempotency_key=once(idempotency_key))


def id_of(thing: str | Dataset | Analyst | KeyFacts) -> str:
    return thing if isinstance(thing, str) else thing.id


def read_dataset(dataset: str) -> Call[Dataset]:
    return Call("GET", path("datasets", dataset), _dataset)


def upload(dataset: str | Dataset, data: Any, content_type: str | None) -> Call[Upload]:
    body, kind = body_of(data, content_type)
    return Call("PUT", path("datasets", id_of(dataset), "data"), _upload, body=body, content_type=kind)


def plan(
    model: Mapping[str, Any],
    mechanism: Mapping[str, Any],
    *,
    n: int,
    columns: Mapping[str, Any] | None,
    delta: float | None,
    target: Mapping[str, float] | None,
    calibrate: str | None,
    privacy_unit: Mapping[str, Any] | None,
) -> Call[Plan]:
    spec = given(
        model=model,
        mechanism=mechanism,
        n=n,
        columns=columns,
        delta=delta,
        target=target,
        calibrate=calibrate,
        privacy_unit=privacy_unit,
    )
    return Call("POST", path("plans"), _plan, body=encode(spec))


def request_release(
    dataset: str | Dataset,
    model: Mapping[str, Any],
    mechanism: Mapping[str, Any],
    *,
    force: bool,
    idempotency_key: str | None,
) -> Call[ReleaseFacts]:
    spec = given(model=model, mechanism=mechanism, force=force or None)
    where = path("datasets", id_of(dataset), "releases")
    return Call("POST", where, _release, body=encode(spec), idempotency_key=once(idempotency_key))


def create_analyst(name: str, role: Role, idempotency_key: str | None) -> Call[Analyst]:
    body = encode({"name": name, "role": role})
    return Call("POST", path("analysts"), _analyst, body=body, idempotency_key=once(idempotency_key))


def create_key(
    analyst: str | Analyst,
    label: str,
    *,
    expires_at: datetime | str | None,
    role: Role | None,
    idempotency_key: str | None,
) -> Call[NewKey]:
    if isinstance(expires_at, datetime):
        if expires_at.tzinfo is None:
            raise Misconfigured("expires_at needs a time zone")
        expires_at = expires_at.isoformat()
    body = encode(given(label=label, expires_at=expires_at, role=role))
    where = path("analysts", id_of(analyst), "keys")
    return Call("POST", where, _new_key, body=body, idempotency_key=once(idempotency_key))


def list_keys(analyst: str | Analyst) -> Call[tuple[KeyFacts, ...]]:
    return Call("GET", path("analysts", id_of(analyst), "keys"), _keys)


def revoke_key(key: str | KeyFacts) -> Call[None]:
    return Call("DELETE", path("keys", id_of(key)), nothing)


def set_cap(
    dataset: str | Dataset,
    analyst: str | Analyst,
    *,
    epsilon: float | None,
    delta: float | None,
    slack_delta: float | None,
    samples: int | None,
    force: bool,
) -> Call[Cap]:
    cap = given(epsilon=epsilon, delta=delta, slack_delta=slack_delta, samples=samples, force=force or None)
    return Call("PUT", path("datasets", id_of(dataset), "analysts", id_of(analyst)), _cap, body=encode(cap))


def ledger_head() -> Call[LedgerHead]:
    return Call("GET", path("ledger", "head"), _head)


def verify_ledger() -> Call[Verification]:
    return Call("POST", path("ledger", "verify"), _verification)


def _keys(body: bytes) -> tuple[KeyFacts, ...]:
    found: dict[str, Any] = msgspec.json.decode(body)
    return msgspec.convert(found["items"], tuple[KeyFacts, ...])
