"""What an audit is asked of, read strictly: a subject, a claim about it, a level."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.core.audits.claims import Approximate, Claim, RandomPairs, Renyi
from app.core.kinds import ReleaseMechanism, ReleaseModel, parse_mechanism, parse_model
from app.core.schema import parse_columns
from app.errors import InvalidAudit

LEVEL_DEFAULT = 0.01
LEVEL_MIN, LEVEL_MAX = 1e-12, 0.5
PEOPLE_MAX = 100_000
RUNS_DEFAULT, RUNS_MAX = 20_000, 200_000
PAIRS_MAX = 10_000
ALARM = 0.001


@dataclass(frozen=True, slots=True)
class OwnSubject:
    """One of our mechanisms at public numbers; `runs` draws of each side, and made-up rows only."""

    columns: Mapping[str, Any]
    model: ReleaseModel
    mechanism: ReleaseMechanism
    people: int
    unit_rows: int
    runs: int

    def as_json(self) -> dict[str, Any]:
        return {
            "kind": "own",
            "columns": dict(self.columns),
            "model": self.model.as_json(),
            "mechanism": self.mechanism.as_json(),
            "n": self.people,
            "unit_rows": self.unit_rows,
            "runs": self.runs,
        }


@dataclass(frozen=True, slots=True)
class SampleSubject:
    """Outputs on two neighbours, or on many pairs of them."""

    pairs: tuple[tuple[list[Any], list[Any]], ...]

    def as_json(self) -> dict[str, Any]:
        """Their numbers alone: what was sent is not kept."""
        return {"kind": "samples", "runs": [[len(x), len(y)] for x, y in self.pairs]}


Subject = OwnSubject | SampleSubject


def read_level(value: object) -> float:
    level = LEVEL_DEFAULT if value is None else value
    if isinstance(level, bool) or not isinstance(level, int | float) or not LEVEL_MIN <= level <= LEVEL_MAX:
        raise InvalidAudit("level", f"a number from {LEVEL_MIN:g} to {LEVEL_MAX:g}")
    return float(level)


def read_claim(spec: Mapping[str, Any]) -> Claim | RandomPairs:
    """Raises InvalidAudit."""
    kind = spec.get("kind")
    if kind == "random":
        inner = read_claim(_mapping(spec.get("claim"), "claim.claim"))
        if isinstance(inner, RandomPairs):
            raise InvalidAudit("claim.claim", "pure, approximate or renyi")
        return RandomPairs(inner, _number(spec, "gamma"), str(spec.get("generator", "")))
    if kind == "pure":
        return Approximate(_number(spec, "epsilon"))
    if kind == "approximate":
        return Approximate(_number(spec, "epsilon"), _number(spec, "delta"))
    if kind == "renyi":
        return Renyi(_number(spec, "order"), _number(spec, "epsilon"))
    raise InvalidAudit("claim.kind", "one of approximate, pure, random, renyi")


def read_subject(spec: Mapping[str, Any], claim: Claim | RandomPairs | None) -> Subject:
    """Over HTTP and on the command line: nothing here runs anybody's code, and nothing names a release."""
    kind = spec.get("kind")
    if kind == "own":
        if claim is not None:
            raise InvalidAudit("claim", "nothing: a mechanism of ours is held against what it would be charged")
        return _own(spec)
    if kind != "samples":
        raise InvalidAudit("subject.kind", "own or samples; a command is audited with `postern audit` alone")
    if claim is None:
        raise InvalidAudit("claim", "what is claimed of these samples")
    if isinstance(claim, RandomPairs):
        pairs = spec.get("pairs")
        if not isinstance(pairs, list) or not 1 <= len(pairs) <= PAIRS_MAX:
            raise InvalidAudit("subject.pairs", f"1 to {PAIRS_MAX} pairs of x and y")
        return SampleSubject(tuple(_sides(each, f"subject.pairs.{i}") for i, each in enumerate(pairs)))
    return SampleSubject((_sides(spec, "subject"),))


def _own(spec: Mapping[str, Any]) -> OwnSubject:
    columns, people, unit_rows = spec.get("columns") or {}, spec.get("n"), spec.get("unit_rows") or 1
    runs = spec.get("runs") or RUNS_DEFAULT
    for name, value, most in (
        ("n", people, PEOPLE_MAX),
        ("unit_rows", unit_rows, 16),
        ("runs", runs, RUNS_MAX),
    ):
        if type(value) is not int or not 1 <= value <= most:
            raise InvalidAudit(f"subject.{name}", f"a whole number from 1 to {most}")
    model = parse_model(_mapping(spec.get("model"), "subject.model"), parse_columns(columns))
    mechanism = parse_mechanism(_mapping(spec.get("mechanism"), "subject.mechanism"), model)
    return OwnSubject(columns, model, mechanism, int(people or 0), int(unit_rows), int(runs))


def _sides(spec: object, where: str) -> tuple[list[Any], list[Any]]:
    sides = _mapping(spec, where)
    x, y = sides.get("x"), sides.get("y")
    if not isinstance(x, list) or not isinstance(y, list) or not x or not y:
        raise InvalidAudit(where, "x and y, each a list of outputs")
    return x, y


def _number(spec: Mapping[str, Any], name: str) -> float:
    value = spec.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidAudit(f"claim.{name}", "a number")
    return float(value)


def _mapping(value: object, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidAudit(where, "an object")
    return value
