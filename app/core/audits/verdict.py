"""What an audit says, and in which words. Never "verified".

refuted: some test found the claim false, at the level stated. not_refuted: none did, and `detects` says which under-charge
would have been found. inconclusive: nothing could be compared; at a gate that blocks. certified: exact laws were compared.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Verdict = Literal["refuted", "not_refuted", "inconclusive", "certified"]


@dataclass(frozen=True, slots=True)
class TestResult:
    """One test at its own share of the level. `lower_bound`: of what is charged; `claimed` what was."""

    __test__ = False

    name: str
    level: float
    draws: int
    log_e: float | None
    p_value: float | None
    lower_bound: float
    claimed: float
    verdict: Verdict
    stake: float | None = None
    cap: float | None = None
    replayable: bool = True

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "level": self.level,
            "stake": self.stake,
            "cap": _finite(self.cap),
            "draws": self.draws,
            "log_e": _finite(self.log_e),
            "p_value": self.p_value,
            "lower_bound": _finite(self.lower_bound),
            "claimed": self.claimed,
            "verdict": self.verdict,
            "replayable": self.replayable,
        }


@dataclass(frozen=True, slots=True)
class Certificate:
    """`exact` against `charged` where their ratio is largest; `pairs`: which neighbours; `passed` says all were within."""

    name: str
    passed: bool
    exact: float
    charged: float
    pairs: tuple[str, ...]
    detail: str = ""

    @property
    def ratio(self) -> float | None:
        return self.charged / self.exact if self.exact > 0 and math.isfinite(self.charged) else None

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "passed": self.passed,
            "exact": _finite(self.exact),
            "charged": _finite(self.charged),
            "ratio": self.ratio,
            "pairs": list(self.pairs),
            "detail": self.detail,
        }


@dataclass(frozen=True, slots=True)
class Findings:
    """All that was looked at. `covers`: whether certificates cover everything the charge is about."""

    tests: tuple[TestResult, ...] = ()
    certificates: tuple[Certificate, ...] = ()
    detects: float | None = None
    detects_for: str | None = None
    covers: bool = False
    reasons: tuple[str, ...] = field(default=())

    @property
    def verdict(self) -> Verdict:
        if any(not each.passed for each in self.certificates) or any(t.verdict == "refuted" for t in self.tests):
            return "refuted"
        if self.reasons or any(test.verdict == "inconclusive" for test in self.tests):
            return "inconclusive"
        if self.certificates and self.covers:
            return "certified"
        return "not_refuted" if self.tests or self.certificates else "inconclusive"

    @property
    def lower_bound(self) -> float | None:
        """The largest that a test found: of what was claimed, in the claim's own units."""
        return max((test.lower_bound for test in self.tests), default=None)


def together(found: Sequence[Findings]) -> Findings:
    """Of several subjects: the worst verdict, the largest under-charge that might have been missed."""
    missed = [each.detects for each in found if each.detects is not None]
    return Findings(
        tests=tuple(test for each in found for test in each.tests),
        certificates=tuple(certificate for each in found for certificate in each.certificates),
        detects=max(missed, default=None),
        detects_for=next((each.detects_for for each in found if each.detects_for), None),
        covers=bool(found) and all(each.covers for each in found),
        reasons=tuple(reason for each in found for reason in each.reasons),
    )


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
