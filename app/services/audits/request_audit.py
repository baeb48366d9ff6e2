"""Ask for an audit: its seed is on disk, signed, before anything is drawn.

Order of effects: read what is asked → one transaction {number, nonce, seed, signed with the head as it stands} → tell the
workers. Free: no row is read. No subject names a release, and nothing sent over HTTP is run.
"""

from collections.abc import Mapping
from typing import Any

from app.core.audits.seeded_bytes import SEED_BYTES, seed_of
from app.errors import NotFound
from app.ledger.audit_report import NO_LEDGER, Commitment, sign_commitment
from app.services.audits.audit_report import design_of
from app.services.audits.audit_request import read_claim, read_level, read_subject
from app.services.audits.gates import code_digest
from app.services.audits.pending import CHANNEL
from app.services.principals import Overseer
from app.services.runtime import idempotency
from app.services.runtime.idempotency import Once
from app.services.runtime.identifiers import new_id
from app.services.runtime.runtime import Runtime
from app.services.views import AuditView
from app.storage import audits
from app.storage.audits import Audit
from app.storage.ledger_heads import read_stored
from app.storage.paging import Page

OPERATOR = "operator"
"""Who asks at the command line."""


async def request_audit(
    runtime: Runtime, *, overseer: Overseer, spec: Mapping[str, Any], once: Once[AuditView] | None = None
) -> AuditView:
    """Raises InvalidAudit, InvalidModel, InvalidMechanism, InvalidSchema."""
    claim = None if spec.get("claim") is None else read_claim(spec["claim"])
    level, subject = read_level(spec.get("level")), read_subject(spec["subject"], claim)
    shown = {"subject": subject.as_json(), "claim": None if claim is None else claim.as_json(), "level": level}
    made = await commit_audit(runtime, overseer.id, shown, dict(spec), once)
    await runtime.cache.publish(CHANNEL, b"pending")
    return view_of(made)


async def commit_audit(
    runtime: Runtime,
    created_by: str,
    shown: Mapping[str, Any],
    asked: Mapping[str, Any],
    once: Once[AuditView] | None = None,
    held_us: int | None = None,
) -> Audit:
    """The seed follows from a fresh nonce, the code and what is to be done, and is recorded with the next number. Who carries it
    out themselves holds it for so long: a server beside them would find nothing it could run, and say so first."""
    code, design, nonce = code_digest(), design_of(shown), runtime.random_bytes(SEED_BYTES)
    async with runtime.database.write() as connection:
        await idempotency.claim(runtime, connection, once)
        stored = await read_stored(connection, lock=True)  # one at a time, so that numbers have no gaps
        commitment = Commitment(
            number=await audits.next_number(connection),
            id=new_id("aud"),
            ledger=NO_LEDGER if stored.signed is None else stored.signed.ledger,
            head=stored.head,
            code=code,
            design=design,
            nonce=nonce,
            seed=seed_of(nonce, code, design),
            at_us=runtime.clock(),
        )
        made = Audit(commitment, sign_commitment(runtime.notary.keys.signing, commitment), created_by, shown, asked)
        held_until_us = None if held_us is None else commitment.at_us + held_us
        await audits.insert_audit(connection, made, lease_until_us=held_until_us)
        await idempotency.answer(runtime, connection, once, view_of(made))
    return made


async def list_audits(runtime: Runtime, *, overseer: Overseer, cursor: str | None, limit: int) -> Page[AuditView]:
    """A steward's own; an auditor's all."""
    async with runtime.database.read() as connection:
        mine = None if overseer.role == "auditor" else overseer.id
        page = await audits.page_audits(connection, created_by=mine, cursor=cursor, limit=limit)
    return Page([view_of(each) for each in page.items], page.next_cursor)


async def read_audit(runtime: Runtime, *, overseer: Overseer, audit_id: str) -> AuditView:
    """Raises NotFound."""
    return view_of(await _visible(runtime, overseer, audit_id))


async def read_report(runtime: Runtime, *, overseer: Overseer, audit_id: str) -> dict[str, Any]:
    """Raises NotFound, also while it is pending."""
    found = await _visible(runtime, overseer, audit_id)
    if found.status != "done":
        raise NotFound("report of an audit", audit_id)
    return signed_report(found, {name: key.hex() for name, key in runtime.notary.keys.trusted.publics().items()})


def signed_report(audit: Audit, publics: Mapping[str, str]) -> dict[str, Any]:
    """What `postern audit verify` takes. The keys are a courtesy: whom to believe, a reader has to know from elsewhere."""
    import msgspec

    if audit.body is None or audit.signature is None:
        raise NotFound("report of an audit", audit.commitment.id)
    return {
        "body": msgspec.json.decode(audit.body),
        "signature": {
            "algorithm": "ed25519",
            "at_us": audit.finished_us,
            "key_id": audit.signature.key_id,
            "value": audit.signature.value.hex(),
            "commitment_key_id": audit.commitment_signature.key_id,
            "commitment": audit.commitment_signature.value.hex(),
        },
        "keys": dict(publics),
    }


async def _visible(runtime: Runtime, overseer: Overseer, audit_id: str) -> Audit:
    async with runtime.database.read() as connection:
        found = await audits.get_audit(connection, audit_id)
    if found is None or (overseer.role != "auditor" and found.created_by != overseer.id):
        raise NotFound("audit", audit_id)
    return found


def view_of(audit: Audit) -> AuditView:
    import msgspec

    body: dict[str, Any] = {} if audit.body is None else msgspec.json.decode(audit.body)
    commitment = audit.commitment
    return AuditView(
        id=commitment.id,
        number=commitment.number,
        status=audit.status,
        subject=dict(audit.shown["subject"]),
        claim=audit.shown["claim"],
        level=audit.shown["level"],
        verdict=audit.verdict,
        lower_bound=body.get("lower_bound"),
        detects=body.get("detects"),
        detects_for=body.get("detects_for"),
        tests=list(body.get("tests", [])),
        certificates=list(body.get("certificates", [])),
        reasons=list(body.get("reasons", [])),
        code=commitment.code,
        seed=commitment.seed.hex(),
        created_us=commitment.at_us,
        finished_us=audit.finished_us,
    )
