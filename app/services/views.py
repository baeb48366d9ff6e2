"""What services return: plain facts, named as in the JSON they become. Times are microseconds since the epoch."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class PrincipalView:
    id: str
    role: str
    name: str
    created_us: int


@dataclass(frozen=True, slots=True)
class KeyView:
    """`token` is present once, in the answer that creates the key."""

    id: str
    principal: str
    role: str
    label: str
    created_us: int
    expires_us: int | None
    revoked_us: int | None
    last_used_us: int | None
    token: str | None = None


@dataclass(frozen=True, slots=True)
class BudgetView:
    """A cap and a reading. `spent_epsilon` under adaptive use is a reading; the cap is the guarantee, unless it was lowered
    below what is spent: then `guarantee_epsilon` is larger, and `guarantee` says so."""

    epsilon: float
    delta: float
    guarantee_epsilon: float | None
    guarantee: str
    filter: str
    order: float | None
    spent_epsilon: float
    spent_pure_epsilon: float | None
    left_renyi: float
    left_pure_epsilon: float
    slack_delta: float
    left_slack_delta: float


@dataclass(frozen=True, slots=True)
class PopulationView:
    """The same people in several datasets; `datasets` are their ids."""

    id: str
    name: str
    description: str | None
    budget: BudgetView
    datasets: list[str]
    created_us: int


@dataclass(frozen=True, slots=True)
class DatasetView:
    id: str
    name: str
    columns: dict[str, Any]
    n: int | None
    strata: list[dict[str, Any]] | None
    budget: BudgetView
    privacy_unit: dict[str, Any] | None
    source: dict[str, Any]
    other_columns: str
    data: str
    created_us: int
    description: str | None = None
    archived_us: int | None = None
    changes: list[dict[str, Any]] = field(default_factory=list)
    rehearsal: bool = False
    population: dict[str, str] | None = None


@dataclass(frozen=True, slots=True)
class PublicDatasetView:
    """What anyone with a right on a dataset sees of it: nothing that a row decides but public numbers of people."""

    id: str
    name: str
    description: str | None
    columns: dict[str, Any]
    n: int | None
    strata: list[dict[str, Any]] | None
    privacy_unit: dict[str, Any] | None
    archived_us: int | None
    created_us: int
    rehearsal: bool
    population: dict[str, str] | None = None


@dataclass(frozen=True, slots=True)
class UploadView:
    dataset: str
    rows: int
    people: int
    clipped_people: int
    ignored_columns: tuple[str, ...] = ()
    missing: Mapping[str, int] = field(default_factory=dict)
    outside: Mapping[str, int] = field(default_factory=dict)
    stored: bool = True


@dataclass(frozen=True, slots=True)
class CostView:
    epsilon: float
    charged_epsilon: float
    delta: float
    pure_epsilon: float | None
    per_sample: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ReleaseView:
    id: str
    dataset: str
    status: str
    model: dict[str, Any] | None
    mechanism: dict[str, Any] | None
    parameters: list[dict[str, Any]]
    cost: CostView
    n: int
    samples: int
    views: list[str]
    created_us: int
    published_us: int | None
    check: dict[str, Any] | None = None
    title: str | None = None
    description: str | None = None
    by: list[str] | None = None
    where: str | None = None
    groups: list[dict[str, Any]] | None = None
    rehearsal: bool = False
    models: list[dict[str, Any]] | None = None
    """Of several: each with its name and what would otherwise stand here. `model` and `mechanism` are None then."""


@dataclass(frozen=True, slots=True)
class SealingKeyView:
    """The public half of the key that statistics are sealed to."""

    key_id: str
    key: str
    algorithm: str


@dataclass(frozen=True, slots=True)
class SealingPlanView:
    """All of it public: what `postern statistics` computes beside the data, and seals."""

    version: int
    dataset: str
    columns: dict[str, Any]
    privacy_unit: dict[str, Any] | None
    n: int
    model: dict[str, Any]
    mechanism: dict[str, Any]
    check: dict[str, Any] | None
    nonce: str
    expires_us: int
    key: str
    numbers: int


@dataclass(frozen=True, slots=True)
class ReleaseProgressView:
    """For the steward alone: bytes depend on rows, and so may attempts."""

    release: str
    status: str
    stage: str
    bytes_done: int | None
    bytes_total: int | None
    attempts: int
    attempts_max: int
    next_attempt_us: int | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class UploadProgressView:
    """For the steward alone."""

    dataset: str
    stage: str
    bytes_done: int | None
    bytes_total: int | None


@dataclass(frozen=True, slots=True)
class AccessView:
    release: str
    samples: int
    charged: CostView
    budget: BudgetView
    parts: dict[str, int] | None = None
    """Of several models: the prefix of each part that is paid for now."""


@dataclass(frozen=True, slots=True)
class CapView:
    """The right of an analyst (a budget) or a dashboard (a number of samples) on a dataset."""

    dataset: str
    analyst: str
    budget: BudgetView | None
    samples: int | None


@dataclass(frozen=True, slots=True)
class MeView:
    id: str
    role: str
    name: str
    key: str
    caps: list[CapView]
    accesses: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class LedgerEntryView:
    sequence: int
    account: str
    kind: str
    release: str | None
    epsilon_pure_nano: int | None
    renyi_nano: int
    actor: str
    reason: str
    event: dict[str, Any]
    at_us: int
    previous: str
    digest: str


@dataclass(frozen=True, slots=True)
class LedgerHeadView:
    """`at_us` is when the head was signed. Everything from `ledger` on is None before the first signature."""

    sequence: int
    digest: str
    at_us: int | None
    ledger: str | None = None
    algorithm: str | None = None
    key_id: str | None = None
    public_key: str | None = None
    signature: str | None = None


@dataclass(frozen=True, slots=True)
class LedgerFaultView:
    name: str
    sequence: int | None
    detail: str
    advice: str


@dataclass(frozen=True, slots=True)
class VerificationView:
    ok: bool
    entries: int
    head: str
    first_bad_sequence: int | None
    reason: str | None
    signature: str = "none"
    key_id: str | None = None
    faults: list[LedgerFaultView] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class AuditView:
    """An audit that was asked for; what it found once it is done."""

    id: str
    number: int
    status: str
    subject: dict[str, Any]
    claim: dict[str, Any] | None
    level: float
    verdict: str | None
    lower_bound: float | None
    detects: float | None
    detects_for: str | None
    tests: list[dict[str, Any]]
    certificates: list[dict[str, Any]]
    reasons: list[str]
    code: str
    seed: str
    created_us: int
    finished_us: int | None
