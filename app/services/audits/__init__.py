"""Audits: gates before releases, audits that were asked for, their signed reports."""

from app.services.audits.audit_report import verified
from app.services.audits.gates import build_findings, pass_gates, release_findings, start_findings
from app.services.audits.pending import run_audits, run_next_audit
from app.services.audits.request_audit import list_audits, read_audit, read_report, request_audit

__all__ = [
    "build_findings",
    "list_audits",
    "pass_gates",
    "read_audit",
    "read_report",
    "release_findings",
    "request_audit",
    "run_audits",
    "run_next_audit",
    "start_findings",
    "verified",
]
