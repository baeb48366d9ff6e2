"""Audits: what is asked of them and what they found. Nothing here names a release, and nothing here is run."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict
from typing_extensions import TypeAliasType

from app.api.schemas.models import MECHANISM, MODEL, Mechanism, Model
from app.api.schemas.shapes import Answer, Count, PageOf, Time
from app.core.schema import Columns
from app.core.specs import Maybe, OneOf, Spec
from app.services.audits.audit_request import LEVEL_DEFAULT, LEVEL_MAX, LEVEL_MIN, PAIRS_MAX, PEOPLE_MAX, RUNS_MAX

_X: list[Any] = [0, 1, 0, 0]
_OWN: JsonDict = {
    "kind": "own",
    "columns": {"cured": {"type": "binary"}},
    "model": MODEL,
    "mechanism": MECHANISM,
    "n": 20,
}
_BODIES: list[Any] = [
    {
        "subject": {"kind": "samples", "x": _X, "y": [1, 1, 0, 1]},
        "claim": {"kind": "pure", "epsilon": 1.0},
        "level": 0.01,
    },
    {"subject": _OWN},
]
_HEX = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
Output = float | bool | str | list[float | bool | str]
Outputs = Annotated[
    list[Output], Field(min_length=1, description="An output for every run: a number, a text, or a list of them.")
]
Cost = Annotated[float, Field(ge=0, le=1e4, description="What is claimed: ε, or a bound of a divergence, in nats.")]


class OwnSubject(Spec):
    """A mechanism of this service on made-up rows, held against what it would be charged."""

    kind: Literal["own"] = Field(description="A mechanism of this service.")
    columns: Columns = Field(description="The public schema, as in a dataset.")
    model: Model = Field(description="As in a release.")
    mechanism: Mechanism = Field(description="As in a release.")
    n: int = Field(ge=1, le=PEOPLE_MAX, description="How many people there would be. Few show the most.")
    unit_rows: int = Field(default=1, ge=1, le=16, description="Rows a person may own.")
    runs: int = Field(default=20_000, ge=1, le=RUNS_MAX, description="Draws on either side, where draws are looked at.")


class SamplePair(Spec):
    """Outputs on two neighbours."""

    x: Outputs
    y: Outputs


class SamplesSubject(Spec):
    """Outputs of any mechanism on two neighbouring datasets; on many pairs of them, for a claim of kind `random`."""

    kind: Literal["samples"] = Field(description="Outputs that were made elsewhere.")
    x: Maybe[Outputs] = Field(default=None, description="On one of two neighbours.")
    y: Maybe[Outputs] = Field(default=None, description="On the other.")
    pairs: Maybe[list[SamplePair]] = Field(
        default=None, max_length=PAIRS_MAX, description="Of a claim of kind `random`."
    )


class PureClaim(Spec):
    """Pure ε."""

    kind: Literal["pure"] = Field(description="The name of the claim.")
    epsilon: Cost


class ApproximateClaim(Spec):
    """(ε, δ)."""

    kind: Literal["approximate"] = Field(description="The name of the claim.")
    epsilon: Cost
    delta: float = Field(ge=0, lt=1, description="The δ of the claim.")


class RenyiClaim(Spec):
    """A bound of a Rényi divergence, both ways; of order 1, of the Kullback–Leibler divergence."""

    kind: Literal["renyi"] = Field(description="The name of the claim.")
    order: float = Field(ge=1, le=1e4, description="Its order.")
    epsilon: Cost


_PLAIN: dict[str, type[Spec]] = {"pure": PureClaim, "approximate": ApproximateClaim, "renyi": RenyiClaim}
PlainClaim = TypeAliasType("PlainClaim", Annotated[Spec, OneOf("kind", _PLAIN)])


class RandomClaim(Spec):
    """That `claim` holds of all but a part γ of the pairs which a public generator makes."""

    kind: Literal["random"] = Field(description="The name of the claim.")
    claim: PlainClaim = Field(description="What is claimed of a pair.")
    gamma: float = Field(ge=0, lt=1, description="The part of pairs of which it need not hold.")
    generator: str = Field(
        min_length=1, max_length=200, description="What made the pairs, for whoever reads the report."
    )


_SUBJECTS: dict[str, type[Spec]] = {"own": OwnSubject, "samples": SamplesSubject}
AuditSubject = TypeAliasType("AuditSubject", Annotated[Spec, OneOf("kind", _SUBJECTS)])
AuditClaim = TypeAliasType("AuditClaim", Annotated[Spec, OneOf("kind", {**_PLAIN, "random": RandomClaim})])


class AuditBody(Spec):
    """What to look at, and what is claimed of it."""

    model_config = ConfigDict(json_schema_extra={"examples": _BODIES})

    subject: AuditSubject = Field(description="What is audited.")
    claim: AuditClaim | None = Field(
        default=None, description="Of samples. A mechanism of this service is held against its own charge; null there."
    )
    level: float = Field(
        default=LEVEL_DEFAULT, ge=LEVEL_MIN, le=LEVEL_MAX, description="How often a true claim may be refuted, at most."
    )


class AuditTest(Answer):
    """One test, at its share of the level."""

    name: str
    level: float
    stake: float | None = Field(description="What wealth was staked on each pair of draws; null for other tests.")
    cap: float | None = Field(description="After how many pairs it would have ended; null where it has none.")
    draws: Count = Field(description="Pairs of draws it looked at.")
    log_e: float | None = Field(description="The logarithm of the largest wealth.")
    p_value: float | None
    lower_bound: float | None = Field(description="What the true cost is at least, but for the level.")
    claimed: float
    verdict: str
    replayable: bool = Field(description="Whether its draws follow from the seed.")


class AuditCertificate(Answer):
    """Exact laws, held against the charge."""

    name: str
    passed: bool
    exact: float | None = Field(description="The exact figure that is nearest to its charge.")
    charged: float | None = Field(description="What is charged for it.")
    ratio: float | None
    pairs: list[str] = Field(description="Which neighbours, all of them made up.")
    detail: str


AUDIT: JsonDict = {
    "id": "aud_5n6t2dy4hgakq2mp",
    "number": 1,
    "status": "done",
    "subject": {"kind": "samples", "runs": [[1000, 1000]]},
    "claim": {"kind": "pure", "epsilon": 1.0},
    "level": 0.01,
    "verdict": "not_refuted",
    "lower_bound": 0.0,
    "detects": 1.6,
    "detects_for": "randomised response",
    "tests": [],
    "certificates": [],
    "reasons": [],
    "code": _HEX,
    "seed": _HEX,
    "created": "2026-03-01T09:30:00.000000Z",
    "finished": "2026-03-01T09:30:02.000000Z",
}


class Audit(Answer):
    """`pending`, then `done` with a verdict. Never "verified": samples refute or do not, exact laws certify."""

    model_config = ConfigDict(json_schema_extra={"examples": [AUDIT]})

    id: str
    number: Count = Field(description="Audits are numbered without gaps, so that none can be left out.")
    status: str = Field(description="`pending` or `done`.")
    subject: dict[str, Any] = Field(description="What was audited; of samples only how many there were.")
    claim: dict[str, Any] | None
    level: float
    verdict: str | None = Field(
        description="`refuted`, `not_refuted`, `inconclusive` or `certified`; null while pending."
    )
    lower_bound: float | None = Field(description="The largest that a test found the cost to be, at its level.")
    detects: float | None = Field(
        description="An under-charge by this factor would have been found with probability .99."
    )
    detects_for: str | None = Field(description="For which pair of laws that is said.")
    tests: list[AuditTest]
    certificates: list[AuditCertificate]
    reasons: list[str] = Field(description="Why nothing can be said, where that is so.")
    code: str = Field(description="SHA-256 of the code that draws and charges.")
    seed: str = Field(description="Signed and stored before anything was drawn.")
    created: Time = Field(validation_alias="created_us")
    finished: Time | None = Field(validation_alias="finished_us")


class AuditPage(PageOf):
    model_config = ConfigDict(json_schema_extra={"examples": [{"items": [AUDIT], "next_cursor": None}]})

    items: list[Audit]


class AuditReport(Answer):
    """What `postern audit verify` checks without this service."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "body": {"version": 1, "verdict": "certified"},
                    "signature": {"algorithm": "ed25519", "key_id": "5f1d3a0c9b7e2468"},
                    "keys": {"5f1d3a0c9b7e2468": _HEX},
                }
            ]
        }
    )

    body: dict[str, Any] = Field(description="What was signed, as canonical JSON.")
    signature: dict[str, Any] = Field(description="Of the body, and of the seed before anything was drawn.")
    keys: dict[str, str] = Field(description="Public keys by id; whom to believe has to be known from elsewhere.")
