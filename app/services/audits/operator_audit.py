"""Audits at the command line: the same record and report, carried out at once. Only here may the subject be a command."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from app.core.audits.verdict import Findings
from app.errors import InvalidAudit, NotFound
from app.services.audits.audit_report import findings_of, sample_findings
from app.services.audits.audit_request import SampleSubject, read_claim, read_level, read_subject
from app.services.audits.pending import finish
from app.services.audits.request_audit import OPERATOR, commit_audit, signed_report
from app.services.runtime.runtime import Runtime
from app.storage import audits
from app.storage.audits import Audit

HELD_US = 86_400_000_000
"""A day for what is carried out here. A worker finishes what was given up, as inconclusive if it was a command."""
RunSide = Callable[[str, int], list[Any]]
"""(x or y, a seed) → outputs of the command on that neighbour."""


async def audit_by_operator(
    runtime: Runtime, spec: Mapping[str, Any], *, command: str | None, runs: int, outputs: RunSide | None
) -> dict[str, Any]:
    """The signed report. Raises InvalidAudit, InvalidModel, InvalidMechanism."""
    claim = None if spec.get("claim") is None else read_claim(spec["claim"])
    level = read_level(spec.get("level"))
    if command is None or outputs is None:
        subject = read_subject(spec["subject"], claim)
        made = await _committed(runtime, subject.as_json(), spec, level)
        found = await asyncio.to_thread(findings_of, subject, claim, level, made.commitment.seed)
    else:
        made = await _committed(runtime, {"kind": "command", "command": command, "runs": runs}, spec, level)
        try:
            sides = [await asyncio.to_thread(outputs, side, _seed(made, side)) for side in ("x", "y")]
        except InvalidAudit as error:  # it was committed to, and has an end
            await finish(runtime, made, Findings(reasons=(error.detail,)))
            raise
        subject = SampleSubject(((sides[0], sides[1]),))
        found = await asyncio.to_thread(sample_findings, subject, claim, level, replayable=False)
    await finish(runtime, made, found)
    async with runtime.database.read() as connection:
        done = await audits.get_audit(connection, made.commitment.id)
    if done is None:
        raise NotFound("audit", made.commitment.id)
    return signed_report(done, {name: key.hex() for name, key in runtime.notary.keys.trusted.publics().items()})


async def _committed(runtime: Runtime, subject: dict[str, Any], spec: Mapping[str, Any], level: float) -> Audit:
    claim = spec.get("claim")
    shown = {"subject": subject, "claim": None if claim is None else read_claim(claim).as_json(), "level": level}
    return await commit_audit(runtime, OPERATOR, shown, {"subject": subject}, held_us=HELD_US)


def _seed(audit: Audit, side: str) -> int:
    """The command's own, different on either side."""
    return int.from_bytes(audit.commitment.seed[:6], "big") * 2 + (side == "y")
