"""Background: what a process has to pass at its start, then audits that wait, one at a time."""

import asyncio

import structlog

from app.core.audits.verdict import Findings
from app.errors import InvalidInput, PosternError
from app.ledger.audit_report import sign_report
from app.ledger.canonical import canonical_json
from app.services.audits.audit_report import findings_of, report_body
from app.services.audits.audit_request import read_claim, read_level, read_subject
from app.services.audits.gates import start_findings
from app.services.runtime.async_tasks import wait_for_any
from app.services.runtime.cost_cache import compute
from app.services.runtime.runtime import Runtime
from app.storage import audits
from app.storage.audits import Audit

CHANNEL = "audits"
POLL_S = 15.0
LEASE_US = 600_000_000
"""An audit takes seconds; one whose worker died is done again after ten minutes, and comes out the same."""

log = structlog.get_logger("postern.audits")


async def run_audits(runtime: Runtime, *, stop: asyncio.Event) -> None:
    """A message says when one is waiting; the poll finds those whose message was missed."""
    found = await asyncio.to_thread(start_findings)
    if found.verdict != "certified":
        log.critical("the audit at the start did not pass: releases will be refused", reasons=list(found.reasons))
    wake = asyncio.Event()
    listener = asyncio.create_task(_listen(runtime, wake))
    try:
        while not stop.is_set():
            wake.clear()
            try:
                while not stop.is_set() and await run_next_audit(runtime):
                    pass
            except PosternError as error:
                log.error("audits paused", error=type(error).__qualname__, code=error.code)
            await wait_for_any(POLL_S, stop, wake)
    finally:
        listener.cancel()
        await asyncio.gather(listener, return_exceptions=True)


async def _listen(runtime: Runtime, wake: asyncio.Event) -> None:
    async with runtime.cache.subscribe(CHANNEL) as messages:
        async for _ in messages:
            wake.set()


async def run_next_audit(runtime: Runtime) -> bool:
    """Take the oldest that waits and finish it. False if there was none."""
    async with runtime.database.read() as connection:
        if not await audits.is_any_pending(connection):
            return False
    async with runtime.database.write() as connection:
        audit = await audits.claim_pending(connection, now_us=runtime.clock(), lease_us=LEASE_US)
    if audit is None:
        return False
    found = await compute(runtime, lambda: _findings(audit))
    await finish(runtime, audit, found)
    return True


def _findings(audit: Audit) -> Findings:
    """Whatever cannot be read or compared is inconclusive: the audit was asked for, and has an end."""
    asked = audit.asked or {}
    try:
        claim = None if asked.get("claim") is None else read_claim(asked["claim"])
        subject = read_subject(asked["subject"], claim)
        return findings_of(subject, claim, read_level(asked.get("level")), audit.commitment.seed)
    except InvalidInput as error:
        return Findings(reasons=(error.detail,))
    except Exception as error:
        log.error("an audit failed", audit=audit.commitment.id, error=type(error).__qualname__)
        return Findings(reasons=(f"it could not be carried out ({type(error).__qualname__})",))


async def finish(runtime: Runtime, audit: Audit, found: Findings) -> str:
    """Signed and stored, once; the text that was signed."""
    body, at_us = canonical_json(report_body(audit.commitment, audit.shown, found)), runtime.clock()
    signature = sign_report(runtime.notary.keys.signing, audit.commitment.ledger, at_us, body)
    async with runtime.database.write() as connection:
        await audits.finish_audit(
            connection, audit.commitment.id, verdict=found.verdict, body=body, signature=signature, at_us=at_us
        )
    return body
