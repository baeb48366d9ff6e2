"""What an audit found, as the text that is signed; and made again from a report, to be held against it.

Figures have nine digits: their last ones differ between processors, and a report is to be the same bytes on all of them. What
OpenDP's noise went into is marked `replayable: false`, for it takes no seed; where a report has that, only the rest is compared.
"""

import math
import platform
from collections.abc import Mapping
from typing import Any

import numpy as np

from app.core.audits.black_box import audit_pairs, audit_samples
from app.core.audits.claims import Claim, RandomPairs
from app.core.audits.outputs import read_sides
from app.core.audits.own_mechanism import Effort
from app.core.audits.seeded_bytes import SeededBytes, seed_of
from app.core.audits.verdict import Findings
from app.errors import InvalidAudit
from app.ledger.audit_report import Commitment, commitment_from, faults_of
from app.ledger.canonical import canonical_json
from app.ledger.signed_head import Keyring
from app.services.audits.audit_request import ALARM, OwnSubject, SampleSubject, Subject, read_subject
from app.services.audits.gates import audited, code_digest

DIGITS = 9
OWN_POINTS = 200_000
NEIGHBOURS = "one person's rows replaced, at the sums or counts where that tells most; all of them made up"
THEIRS = "x and y as they were sent: that they come of neighbours is whose audit it is to say"


def design_of(shown: Mapping[str, Any]) -> str:
    """What is to be done, without what was sent to be looked at."""
    return canonical_json(shown)


def findings_of(subject: Subject, claim: Claim | RandomPairs | None, level: float, seed: bytes) -> Findings:
    """Deterministic in these but for noise that takes no seed."""
    if isinstance(subject, OwnSubject):
        effort = Effort(OWN_POINTS, subject.runs, level, lambda role: SeededBytes(seed, role))
        return audited(subject.model, subject.mechanism, subject.people, subject.unit_rows, effort)
    return sample_findings(subject, claim, level)


def sample_findings(
    subject: SampleSubject, claim: Claim | RandomPairs | None, level: float, *, replayable: bool = True
) -> Findings:
    pairs = [read_sides(x, y) for x, y in subject.pairs]
    if isinstance(claim, RandomPairs):
        return audit_pairs(claim, pairs, level, min(ALARM, level))
    if claim is None:
        raise InvalidAudit("claim", "what is claimed of these samples")
    return audit_samples(claim, *pairs[0], level, replayable=replayable)


def report_body(commitment: Commitment, shown: Mapping[str, Any], found: Findings) -> dict[str, Any]:
    import scipy  # not at start

    own = shown["subject"]["kind"] == "own"
    lower = found.lower_bound
    body = {
        "version": 1,
        "commitment": commitment.as_json(),
        "subject": shown["subject"],
        "claim": shown["claim"],
        "level": shown["level"],
        "neighbours": NEIGHBOURS if own else THEIRS,
        "verdict": found.verdict,
        "lower_bound": lower if lower is None or math.isfinite(lower) else None,
        "detects": found.detects,
        "detects_for": found.detects_for,
        "tests": [test.as_json() for test in found.tests],
        "certificates": [certificate.as_json() for certificate in found.certificates],
        "reasons": list(found.reasons),
        "libraries": {"python": platform.python_version(), "numpy": np.__version__, "scipy": scipy.__version__},
    }
    rounded: dict[str, Any] = _rounded(body)
    return rounded


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {name: _rounded(part) for name, part in value.items()}
    return [_rounded(part) for part in value] if isinstance(value, list) else value


def verified(report: Mapping[str, Any], keyring: Keyring) -> dict[str, Any]:
    """Signatures, seed, and for a mechanism of ours everything again: `{"ok", "fault", "replayed", "same_code"}`."""
    fault = faults_of(dict(report), keyring)
    if fault is None and _seed_differs(report["body"]):
        fault = "seed_not_committed"
    if fault is not None:
        return {"ok": False, "fault": fault, "replayed": False, "same_code": None}
    body = report["body"]
    if body["subject"]["kind"] != "own":
        return {"ok": True, "fault": None, "replayed": False, "same_code": None}
    same_code = body["commitment"]["code"] == code_digest()
    replayed = _compared(replayed_body(body)) == _compared(body)
    return {
        "ok": replayed or not same_code,
        "fault": None if replayed else "replay_differs",
        "replayed": replayed,
        "same_code": same_code,
    }


def replayed_body(body: Mapping[str, Any]) -> dict[str, Any]:
    """The report made again, from nothing but what it says was asked and the seed it committed to."""
    commitment = commitment_from(body["commitment"])
    shown = {name: body[name] for name in ("subject", "claim", "level")}
    found = findings_of(read_subject(body["subject"], None), None, float(body["level"]), commitment.seed)
    return report_body(commitment, shown, found)


def _seed_differs(body: Mapping[str, Any]) -> bool:
    commitment = commitment_from(body["commitment"])
    shown = {name: body[name] for name in ("subject", "claim", "level")}
    return (
        commitment.design != design_of(shown)
        or seed_of(commitment.nonce, commitment.code, commitment.design) != commitment.seed
    )


def _compared(body: Mapping[str, Any]) -> str:
    """Without what cannot be drawn again, and without the names of libraries."""
    kept = [test for test in body["tests"] if test["replayable"]]
    return canonical_json({**body, "tests": kept, "libraries": None})
