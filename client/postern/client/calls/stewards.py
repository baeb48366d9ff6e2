"""What a steward does: datasets, uploads, releases, people, keys, caps; and what an auditor reads.

A `spec` is the request's JSON as the service takes it; the clients' methods build it from their arguments.
"""

import base64
from collections.abc import Mapping
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import msgspec

from postern.client.call import Call, encode, given, nothing, once, path, reads
from postern.client.problems import Misconfigured
from postern.client.results.audits import Audit
from postern.client.results.datasets import Dataset, Population, PublicDataset, SchemaDraft, Upload, UploadProgress
from postern.client.results.ledger import LedgerHead, Verification
from postern.client.results.people import Analyst, Cap, KeyFacts, NewKey
from postern.client.results.plans import Plan, SharedPlan
from postern.client.results.releases import ReleaseFacts, ReleaseProgress, SealingKey
from postern.client.uploads import body_of, names_of

Spec = Mapping[str, Any]
Sealed = bytes | str | PathLike[str]
Role = Literal["analyst", "dashboard", "auditor"]
Separator = Literal["comma", "semicolon", "tab", "pipe"]

UPLOADED = {"kind": "upload", "retain": False}
"""Rows are uploaded, and wiped once no release waits for them."""

_dataset, _upload, _release = reads(Dataset), reads(Upload), reads(ReleaseFacts)
_draft, _population = reads(SchemaDraft), reads(Population)
_plan, _shared_plan = reads(Plan), reads(SharedPlan)
_analyst, _new_key, _cap = reads(Analyst), reads(NewKey), reads(Cap)
_sealing_key = reads(SealingKey)
_release_progress, _upload_progress = reads(ReleaseProgress), reads(UploadProgress)
_audit = reads(Audit)
_head, _verification = reads(LedgerHead), reads(Verification)


def id_of(thing: str | Dataset | PublicDataset | Population | Analyst | KeyFacts) -> str:
    return thing if isinstance(thing, str) else thing.id


def create_dataset(spec: Spec, idempotency_key: str | None) -> Call[Dataset]:
    return Call("POST", path("datasets"), _dataset, body=encode(spec), idempotency_key=once(idempotency_key))


def rehearse(dataset: str | Dataset | PublicDataset, spec: Spec, idempotency_key: str | None) -> Call[Dataset]:
    where = path("datasets", id_of(dataset), "rehearsals")
    return Call("POST", where, _dataset, body=encode(spec), idempotency_key=once(idempotency_key))


def create_population(spec: Spec, idempotency_key: str | None) -> Call[Population]:
    return Call("POST", path("populations"), _population, body=encode(spec), idempotency_key=once(idempotency_key))


def read_population(population: str) -> Call[Population]:
    return Call("GET", path("populations", population), _population)


def change_population(population: str | Population, changes: Spec) -> Call[Population]:
    return Call("PATCH", path("populations", id_of(population)), _population, body=encode(changes))


def delete_population(population: str | Population) -> Call[None]:
    return Call("DELETE", path("populations", id_of(population)), nothing)


def read_dataset(dataset: str) -> Call[Dataset]:
    return Call("GET", path("datasets", dataset), _dataset)


def upload(
    dataset: str | Dataset,
    data: Any,
    content_type: str | None,
    *,
    check: bool = False,
    charset: str | None = None,
    separator: str | None = None,
) -> Call[Upload]:
    body, kind = body_of(data, content_type)
    query = given(check="true" if check else None, charset=charset, separator=separator)
    where = path("datasets", id_of(dataset), "data")
    return Call("PUT", where, _upload, query=tuple(query.items()), body=body, content_type=kind)


def change_dataset(dataset: str | Dataset, changes: Spec) -> Call[Dataset]:
    return Call("PATCH", path("datasets", id_of(dataset)), _dataset, body=encode(changes))


def delete_dataset(dataset: str | Dataset) -> Call[None]:
    return Call("DELETE", path("datasets", id_of(dataset)), nothing)


def draft_schema(
    data: Any, content_type: str | None, *, charset: str | None = None, separator: str | None = None
) -> Call[SchemaDraft]:
    body, kind = names_of(data, content_type, charset)
    query = given(charset=charset, separator=separator)
    return Call("POST", path("schemas", "draft"), _draft, query=tuple(query.items()), body=body, content_type=kind)


def request_audit(spec: Spec, idempotency_key: str | None) -> Call[Audit]:
    return Call("POST", path("audits"), _audit, body=encode(spec), idempotency_key=once(idempotency_key))


def read_audit(audit: str) -> Call[Audit]:
    return Call("GET", path("audits", audit), _audit)


def audit_report(audit: str) -> Call[dict[str, Any]]:
    return Call("GET", path("audits", audit, "report"), _report)


def cancel_release(release: str) -> Call[ReleaseFacts]:
    return Call("POST", path("releases", release, "cancel"), _release)


def plan(spec: Spec) -> Call[Plan]:
    return Call("POST", path("plans"), _plan, body=encode(spec))


def plan_together(spec: Spec) -> Call[SharedPlan]:
    return Call("POST", path("plans"), _shared_plan, body=encode(spec))


def request_release(dataset: str | Dataset, spec: Spec, idempotency_key: str | None) -> Call[ReleaseFacts]:
    where = path("datasets", id_of(dataset), "releases")
    return Call("POST", where, _release, body=encode(spec), idempotency_key=once(idempotency_key))


def plan_statistics(dataset: str | Dataset, spec: Spec, idempotency_key: str | None) -> Call[dict[str, Any]]:
    where = path("datasets", id_of(dataset), "statistics")
    return Call("POST", where, msgspec.json.decode, body=encode(spec), idempotency_key=once(idempotency_key))


def sealing_key() -> Call[SealingKey]:
    return Call("GET", path("statistics", "key"), _sealing_key)


def sealed_source(statistics: Sealed | None) -> dict[str, str] | None:
    """Of what `postern statistics` wrote: its path, or its bytes."""
    if statistics is None:
        return None
    body = statistics if isinstance(statistics, bytes) else Path(statistics).read_bytes()
    return {"kind": "statistics", "sealed": base64.b64encode(body).decode()}


def release_progress(release: str) -> Call[ReleaseProgress]:
    return Call("GET", path("releases", release, "progress"), _release_progress)


def upload_progress(dataset: str | Dataset) -> Call[UploadProgress]:
    return Call("GET", path("datasets", id_of(dataset), "progress"), _upload_progress)


def create_analyst(name: str, role: Role, idempotency_key: str | None) -> Call[Analyst]:
    body = encode({"name": name, "role": role})
    return Call("POST", path("analysts"), _analyst, body=body, idempotency_key=once(idempotency_key))


def create_key(analyst: str | Analyst, spec: Spec, idempotency_key: str | None) -> Call[NewKey]:
    where = path("analysts", id_of(analyst), "keys")
    return Call("POST", where, _new_key, body=encode(spec), idempotency_key=once(idempotency_key))


def moment(when: datetime | str | None) -> str | None:
    if not isinstance(when, datetime):
        return when
    if when.tzinfo is None:
        raise Misconfigured("expires_at needs a time zone")
    return when.isoformat()


def list_keys(analyst: str | Analyst) -> Call[tuple[KeyFacts, ...]]:
    return Call("GET", path("analysts", id_of(analyst), "keys"), _keys)


def revoke_key(key: str | KeyFacts) -> Call[None]:
    return Call("DELETE", path("keys", id_of(key)), nothing)


def set_cap(dataset: str | Dataset, analyst: str | Analyst, spec: Spec) -> Call[Cap]:
    return Call("PUT", path("datasets", id_of(dataset), "analysts", id_of(analyst)), _cap, body=encode(spec))


def ledger_head() -> Call[LedgerHead]:
    return Call("GET", path("ledger", "head"), _head)


def verify_ledger() -> Call[Verification]:
    return Call("POST", path("ledger", "verify"), _verification)


def _report(body: bytes) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(body)
    return found


def _keys(body: bytes) -> tuple[KeyFacts, ...]:
    found: dict[str, Any] = msgspec.json.decode(body)
    return msgspec.convert(found["items"], tuple[KeyFacts, ...])
