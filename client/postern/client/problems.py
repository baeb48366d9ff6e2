"""Everything a call can end with besides its result, as one tree, grouped by what one can do about it.

ClientError
├── Misconfigured            no key, an address that is none, plain http to another machine
├── Unreachable              nothing answered, or the answer was lost, after all retries
├── UnexpectedReply          something answered that is not this service: a redirect, a proxy's page, too many bytes
├── WaitedTooLong            the release is still pending; ask for it again later
└── PosternProblem           the service refused: code, status, detail, errors, rows, facts, request_id
    ├── InvalidInput         correct what was sent: `errors` names fields, `rows` and `columns` cells of an upload
    ├── NotAuthenticated     get another key (unauthenticated, key_revoked, key_expired)
    ├── NotAllowed           ask the steward (forbidden)
    │   └── AccessRequired   buy a prefix of the samples first
    ├── NotFound             the id is wrong, or not this key's to see
    ├── Conflict             something is in the way (name_taken, data_missing, calibrated_unavailable, …)
    │   ├── NotReady         wait: `retry_after_s`
    │   ├── Withdrawn        ask for another release
    │   └── BudgetExhausted  ask for less, or for a larger budget: `facts` says what would fit
    ├── RateLimited          wait: `retry_after_s`
    ├── Unavailable          try again later: `retry_after_s`
    └── ServiceFailure       tell the operator, and quote `request_id`

`code` is stable and finer than the class. No message ever holds the key.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_OWN = frozenset({"type", "title", "status", "detail", "instance", "code", "errors", "rows", "columns"})
_REQUEST = "urn:postern:request:"


class ClientError(Exception):
    """Root of the tree."""


class Misconfigured(ClientError):
    pass


class Unreachable(ClientError):
    def __init__(self, sentence: str, attempts: int) -> None:
        super().__init__(sentence)
        self.attempts = attempts


class UnexpectedReply(ClientError):
    pass


class WaitedTooLong(ClientError):
    def __init__(self, sentence: str, release: str) -> None:
        super().__init__(sentence)
        self.release = release


@dataclass(frozen=True, slots=True)
class FieldProblem:
    field: str
    expected: str


@dataclass(frozen=True, slots=True)
class RowProblem:
    line: int
    column: str
    expected: str


@dataclass(frozen=True, slots=True)
class ColumnFault:
    """All cells of a column with the same fault; `advice` names a policy that would take them."""

    column: str
    fault: str
    cells: int
    lines: tuple[int, ...]
    expected: str
    advice: str | None
    text: str


class PosternProblem(ClientError):
    """A refusal of the service (RFC 9457). `facts` holds what stands beside the fixed members."""

    def __init__(self, problem: Mapping[str, Any], *, status: int = 0, retry_after_s: float | None = None) -> None:
        self.code = str(problem.get("code", "unknown"))
        self.detail = str(problem.get("detail") or problem.get("title") or f"the service answered {status}")
        super().__init__(f"{self.code}: {self.detail}")
        self.status = status
        self.retry_after_s = retry_after_s
        self.request_id = str(problem.get("instance") or "").removeprefix(_REQUEST) or None
        self.errors = tuple(
            FieldProblem(str(found.get("field")), str(found.get("expected"))) for found in _objects(problem, "errors")
        )
        self.rows = tuple(
            RowProblem(int(found.get("line", 0)), str(found.get("column")), str(found.get("expected")))
            for found in _objects(problem, "rows")
        )
        self.columns = tuple(_column_fault(found) for found in _objects(problem, "columns"))
        self.facts: Mapping[str, Any] = {name: value for name, value in problem.items() if name not in _OWN}


class InvalidInput(PosternProblem):
    pass


class NotAuthenticated(PosternProblem):
    pass


class NotAllowed(PosternProblem):
    pass


class AccessRequired(NotAllowed):
    pass


class NotFound(PosternProblem):
    pass


class Conflict(PosternProblem):
    pass


class NotReady(Conflict):
    pass


class Withdrawn(Conflict):
    pass


class BudgetExhausted(Conflict):
    pass


class RateLimited(PosternProblem):
    pass


class Unavailable(PosternProblem):
    pass


class ServiceFailure(PosternProblem):
    pass


BY_CODE: Mapping[str, type[PosternProblem]] = {
    "unauthenticated": NotAuthenticated,
    "key_revoked": NotAuthenticated,
    "key_expired": NotAuthenticated,
    "forbidden": NotAllowed,
    "access_required": AccessRequired,
    "not_found": NotFound,
    "conflict": Conflict,
    "idempotency_conflict": Conflict,
    "name_taken": Conflict,
    "data_missing": Conflict,
    "release_not_ready": NotReady,
    "release_withdrawn": Withdrawn,
    "calibrated_unavailable": Conflict,
    "synthetic_unavailable": Conflict,
    "check_not_bought": Conflict,
    "statistics_used": Conflict,
    "audit_failed": Conflict,
    "budget_exhausted": BudgetExhausted,
    "rate_limited": RateLimited,
    "internal": ServiceFailure,
    "integrity_failure": ServiceFailure,
    "unavailable": Unavailable,
    "ledger_untrusted": Unavailable,
    "too_busy": Unavailable,
}
"""Inside a batch or a stream a problem has no status of its own; codes not listed are mistakes in what was sent."""

_BY_STATUS: Mapping[int, type[PosternProblem]] = {
    401: NotAuthenticated,
    403: NotAllowed,
    404: NotFound,
    409: Conflict,
    429: RateLimited,
    503: Unavailable,
}


def problem_of(problem: Mapping[str, Any], *, status: int, retry_after_s: float | None = None) -> PosternProblem:
    """A code this client does not know yet still lands in the class of its status."""
    kind = BY_CODE.get(str(problem.get("code"))) or _BY_STATUS.get(status)
    if kind is None:
        kind = ServiceFailure if status >= 500 else InvalidInput
    return kind(problem, status=status, retry_after_s=retry_after_s)


def problem_from_body(status: int, body: bytes, retry_after_s: float | None) -> ClientError:
    """A refusal in another form than ours comes from something in between, and its text is not repeated."""
    try:
        found = json.loads(body)
    except ValueError:
        found = None
    if isinstance(found, dict) and isinstance(found.get("code"), str):
        return problem_of(found, status=status, retry_after_s=retry_after_s)
    if status in (429, 503):
        sentence = {"code": "unknown", "detail": f"answered {status}, without saying why"}
        return problem_of(sentence, status=status, retry_after_s=retry_after_s)
    return UnexpectedReply(f"answered {status}, and not in the form of this service's refusals")


def _column_fault(found: Mapping[str, Any]) -> ColumnFault:
    advice = found.get("advice")
    return ColumnFault(
        str(found.get("column")),
        str(found.get("fault")),
        int(found.get("cells", 0)),
        tuple(int(line) for line in found.get("lines", ())),
        str(found.get("expected")),
        None if advice is None else str(advice),
        str(found.get("text")),
    )


def _objects(problem: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    found = problem.get(name)
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []
