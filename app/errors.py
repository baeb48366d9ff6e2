"""Everything Postern can refuse, as one tree.

PosternError
├── InvalidInput                 the caller can fix it: names a field and what was expected
│   ├── MalformedBody            malformed_body
│   ├── InvalidRequest           invalid_request (several fields at once)
│   ├── InvalidSchema            invalid_schema
│   ├── InvalidRows              invalid_rows (steward only: lines, and faults by column)
│   ├── InvalidModel             invalid_model
│   ├── InvalidMechanism         invalid_mechanism
│   ├── InvalidCheck             invalid_check
│   ├── CheckNotOffered          check_not_offered (for this kind of model, or column)
│   ├── AccuracyUnreachable      accuracy_unreachable (facts say what could be reached)
│   ├── InvalidStatistics        invalid_statistics (sealed ones: damaged, expired, or of another plan)
│   ├── InvalidQuery             invalid_query
│   ├── InvalidExpression        invalid_expression (with a position)
│   ├── UnsupportedFormat        unsupported_format
│   ├── NotAcceptable            not_acceptable (a format nobody here can write)
│   ├── PayloadTooLarge          payload_too_large
│   └── VacuousGuarantee         vacuous_guarantee
├── Unauthenticated              unauthenticated, key_revoked, key_expired
├── Forbidden                    forbidden
│   └── AccessRequired           access_required
├── NotFound                     not_found (unknown and foreign ids alike)
├── Conflict
│   ├── IdempotencyConflict      idempotency_conflict
│   ├── NameTaken                name_taken
│   ├── DataMissing              data_missing
│   ├── ReleaseNotReady          release_not_ready
│   ├── ReleaseWithdrawn         release_withdrawn
│   ├── CalibratedUnavailable    calibrated_unavailable (ask of the samples instead)
│   ├── SyntheticUnavailable     synthetic_unavailable (the model says nothing of some of its columns)
│   ├── CheckNotBought           check_not_bought (the release was made without)
│   ├── StatisticsUsed           statistics_used (a plan is good for one release)
│   └── BudgetExhausted          budget_exhausted
├── RateLimited                  rate_limited (retry later)
├── Unavailable                  unavailable (retry later), too_busy
│   ├── DiskFull                 unavailable (no room for what would have to be written)
│   ├── ProgramTooOld            unavailable (another version has migrated the database)
│   ├── OutcomeUnknown           unavailable (with `outcome: unknown`: a commit was interrupted)
│   └── LedgerUntrusted          ledger_untrusted (history was lost or changed: a person has to decide)
├── IntegrityFailure             integrity_failure (ledger does not verify)
└── NumericalFailure             numerical_failure (NaN or infinity: refuse the release)

The HTTP status of each code lives in one table, `app/api/problems.py`. Messages
never contain a value computed from private rows, except `InvalidRows`, which
only the steward who uploaded the rows ever sees.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

_FAULTS_IN_DETAIL = 5


class PosternError(Exception):
    """Root of the tree; `code` is stable, `detail` is one sentence for a person."""

    code: ClassVar[str] = "internal"

    def __init__(self, detail: str, **facts: Any) -> None:
        super().__init__(detail)
        self.detail = detail
        self.facts: Mapping[str, Any] = facts


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """One field of the input that was not as expected."""

    field: str
    expected: str


class InvalidInput(PosternError):
    """The caller sent something that can be corrected."""

    code = "invalid_request"

    def __init__(self, field: str, expected: str, *more: FieldProblem, **facts: Any) -> None:
        super().__init__(f"{field}: expected {expected}", **facts)
        self.problems: Sequence[FieldProblem] = (FieldProblem(field, expected), *more)


class MalformedBody(InvalidInput):
    code = "malformed_body"


class InvalidRequest(InvalidInput):
    """Several fields at once."""

    def __init__(self, problems: Sequence[FieldProblem]) -> None:
        first, *more = problems
        super().__init__(first.field, first.expected, *more)


class InvalidSchema(InvalidInput):
    code = "invalid_schema"


@dataclass(frozen=True, slots=True)
class RowProblem:
    """A bad cell, for the steward's eyes only. `line` counts from 1; a CSV header is line 1."""

    line: int
    column: str
    expected: str


@dataclass(frozen=True, slots=True)
class ColumnFault:
    """All cells of a column with the same fault, for the steward's eyes only; of column `*`, all records.

    `what` they are, in words; `lines` are the first few, none where rows have no order. `advice` names a policy that would take
    such cells, never a bound.
    """

    column: str
    fault: str
    what: str
    cells: int
    lines: tuple[int, ...]
    expected: str
    example: str | None = None
    advice: str | None = None

    @property
    def text(self) -> str:
        """In a sentence."""
        noun, subject = ("record", "") if self.column == "*" else ("cell", f"column `{self.column}`: ")
        counted = f"1 {noun} is" if self.cells == 1 else f"{self.cells} {noun}s are"
        where = f", {'first ' if self.cells > 1 else ''}at line {self.lines[0]}" if self.lines else ""
        expected = self.expected + ("" if self.example is None else f", such as {self.example}")
        advice = "" if self.advice is None else f"; {self.advice}"
        return f"{subject}{counted} {self.what}{where}; expected {expected}{advice}"


class InvalidRows(InvalidInput):
    """`rows` are the first bad cells in line order, `columns` all of them by column."""

    code = "invalid_rows"

    def __init__(self, rows: Sequence[RowProblem], columns: Sequence[ColumnFault] = ()) -> None:
        first = rows[0]
        super().__init__(f"line {first.line}, column {first.column!r}", first.expected)
        self.rows: Sequence[RowProblem] = tuple(rows)
        self.columns: Sequence[ColumnFault] = tuple(columns)
        if columns:
            more = len(columns) - _FAULTS_IN_DETAIL
            told = [fault.text for fault in columns[:_FAULTS_IN_DETAIL]]
            self.detail = ". ".join([*told, f"{more} more under `columns`"] if more > 0 else told)


class InvalidModel(InvalidInput):
    code = "invalid_model"


class InvalidMechanism(InvalidInput):
    code = "invalid_mechanism"


class InvalidCheck(InvalidInput):
    code = "invalid_check"


class InvalidAudit(InvalidInput):
    code = "invalid_audit"


class CheckNotOffered(InvalidInput):
    """There is no check of fit for models like this one."""

    code = "check_not_offered"


class AccuracyUnreachable(InvalidInput):
    """No mechanism gives so narrow an answer for any ε; `best` is what could be asked for, `people_needed` how many would do."""

    code = "accuracy_unreachable"


class InvalidStatistics(InvalidInput):
    """Sealed statistics that cannot be what was asked for, as far as can be told without opening them."""

    code = "invalid_statistics"


class InvalidQuery(InvalidInput):
    code = "invalid_query"


class InvalidExpression(InvalidInput):
    """`position` is a 0-based offset into the expression's text."""

    code = "invalid_expression"

    def __init__(self, field: str, expected: str, position: int) -> None:
        super().__init__(field, expected, position=position)
        self.position = position


class UnsupportedFormat(InvalidInput):
    code = "unsupported_format"


class NotAcceptable(InvalidInput):
    """What was asked for cannot be written here; the message says what can."""

    code = "not_acceptable"


class PayloadTooLarge(InvalidInput):
    code = "payload_too_large"


class VacuousGuarantee(InvalidInput):
    code = "vacuous_guarantee"


class Unauthenticated(PosternError):
    code = "unauthenticated"


class KeyRevoked(Unauthenticated):
    code = "key_revoked"


class KeyExpired(Unauthenticated):
    code = "key_expired"


class Forbidden(PosternError):
    code = "forbidden"


class AccessRequired(Forbidden):
    code = "access_required"


class NotFound(PosternError):
    """Unknown ids and other people's ids answer alike, so nobody can probe for names."""

    code = "not_found"

    def __init__(self, kind: str, identifier: str) -> None:
        super().__init__(f"no {kind} {identifier!r} that this key may see")


class Conflict(PosternError):
    code = "conflict"


class IdempotencyConflict(Conflict):
    code = "idempotency_conflict"


class NameTaken(Conflict):
    code = "name_taken"


class DataMissing(Conflict):
    code = "data_missing"


class ReleaseNotReady(Conflict):
    code = "release_not_ready"

    def __init__(self, detail: str, retry_after_s: int = 1, **facts: Any) -> None:
        super().__init__(detail, **facts)
        self.retry_after_s = retry_after_s


class ReleaseWithdrawn(Conflict):
    code = "release_withdrawn"


class CalibratedUnavailable(Conflict):
    """The calibrated view was asked for by name and this release has none; `detail` says why."""

    code = "calibrated_unavailable"


class SyntheticUnavailable(Conflict):
    """Synthetic rows were asked for and this release can make none; `detail` says why."""

    code = "synthetic_unavailable"


class CheckNotBought(Conflict):
    """A release's check of fit was asked for, and none was paid for with it."""

    code = "check_not_bought"


class StatisticsUsed(Conflict):
    """A plan to seal statistics by is good for one release, and there was one."""

    code = "statistics_used"


class AuditFailed(Conflict):
    """A gate found a charge that may be too small, or could not look; nothing was read, reserved or charged."""

    code = "audit_failed"


class BudgetExhausted(Conflict):
    """Neither filter admits the charge; facts say what would fit."""

    code = "budget_exhausted"


class RateLimited(PosternError):
    """Too many requests of one caller; the same request works once tokens have come back."""

    code = "rate_limited"

    def __init__(self, detail: str, retry_after_s: int = 1, **facts: Any) -> None:
        super().__init__(detail, **facts)
        self.retry_after_s = retry_after_s


class Unavailable(PosternError):
    """Something needed is away; the same request may work later."""

    code = "unavailable"

    def __init__(self, detail: str, retry_after_s: int = 1, **facts: Any) -> None:
        super().__init__(detail, **facts)
        self.retry_after_s = retry_after_s


class OutcomeUnknown(Unavailable):
    """The connection was lost while a change was being committed: it may be there or not."""

    def __init__(self) -> None:
        super().__init__(
            "the database fell silent while this was being committed: whether it was done is not known; "
            "repeat the request with the same Idempotency-Key",
            outcome="unknown",
        )


class DiskFull(Unavailable):
    """No room, of the database or of the data directory; the operator has to make some."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail, 60)


class ProgramTooOld(Unavailable):
    """Another version has migrated the database: this one must not write to what it does not know."""

    def __init__(self) -> None:
        super().__init__(
            "this program is older than the database: install the version that migrated it, or a newer one", 60
        )


class TooBusy(Unavailable):
    code = "too_busy"


class LedgerUntrusted(Unavailable):
    """The ledger is not the one known from before. Nothing is charged on it until a person has decided."""

    code = "ledger_untrusted"

    def __init__(self, detail: str, **facts: Any) -> None:
        super().__init__(detail, 60, **facts)


class IntegrityFailure(PosternError):
    code = "integrity_failure"


class NumericalFailure(PosternError):
    code = "numerical_failure"
