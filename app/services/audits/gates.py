"""Gates: what a process, and a release, has to pass before anything is read or reserved. A gate that cannot look does not open.

Both look at public numbers and made-up sums only, so neither their verdict nor how long they take can depend on anyone's data.
What was found is remembered by those numbers.
"""

import hashlib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import app.core
from app.core.audits.own_mechanism import GATE, Effort
from app.core.audits.seeded_bytes import SeededBytes
from app.core.audits.verdict import Findings, together
from app.core.kinds import ReleaseMechanism, ReleaseModel, kind_of
from app.core.statistics.sums import ExactStatistic
from app.errors import AuditFailed
from app.services.audits.small_models import Small, small_models
from app.services.runtime.cost_cache import compute
from app.services.runtime.runtime import Runtime

START = Effort(points=0)
START_PEOPLE = 2
KNOWN_SEED = b"postern/audit/known-answer"
KNOWN_ANSWER = "a0ec1874f9ba6fc352f2c0e80af9a76a339ccf5198d0799882d675f6f72e608e"
"""SHA-256 of four draws of every family from bytes that follow from that seed, the same on every machine."""
OPEN = ("certified", "not_refuted")
BUILD = Effort(points=40_000, runs=2_000, random_bytes=lambda role: SeededBytes(KNOWN_SEED, role))
ROOMS = ("audits", "grids", "kinds", "noise", "numerics", "privacy", "statistics")
"""Of the mathematics, whose code draws and charges."""


async def pass_gates(
    runtime: Runtime, model: ReleaseModel, mechanism: ReleaseMechanism, people: int, unit_rows: int
) -> Findings:
    """What the release's own gate found. Raises AuditFailed."""
    started = await compute(runtime, start_findings)
    looked = await compute(runtime, lambda: release_findings(model, mechanism, people, unit_rows))
    for where, found in (("this installation", started), ("this release", looked)):
        if found.verdict not in OPEN:
            why = "; ".join(found.reasons) or "an exact check found that a charge may be too small"
            raise AuditFailed(
                f"an audit of {where} did not pass: {why}. Nothing was read, reserved or charged; tell the operator",
                verdict=found.verdict,
                certificates=[each.as_json() for each in found.certificates if not each.passed],
            )
    return looked


@lru_cache(maxsize=1_024)
def release_findings(model: ReleaseModel, mechanism: ReleaseMechanism, people: int, unit_rows: int) -> Findings:
    """Certificates at the worst neighbours of these public numbers; of a sampler that has none a few draws."""
    return audited(model, mechanism, people, unit_rows, GATE)


@lru_cache(maxsize=1)
def start_findings() -> Findings:
    """The draw map of every family on its smallest grid, and draws whose answer is known."""
    found = [audited(small.model, small.mechanism, START_PEOPLE, 1, START) for small in _columns()]
    if known_answer() != KNOWN_ANSWER:
        found.append(Findings(reasons=("draws from known bytes are not what they were when this was built",)))
    return together(found)


def known_answer() -> str:
    """What `KNOWN_ANSWER` has to be: `make known-answer` writes it where grids or draws were changed on purpose."""
    return hashlib.sha256(b"".join(_known_draw(small) for small in _columns())).hexdigest()


def _columns() -> Iterator[Small]:
    return (small for small in small_models(("baps",)) if kind_of(small.model).name == "one_parameter")


def _known_draw(small: Small) -> bytes:
    source = SeededBytes(KNOWN_SEED, small.name)
    drawn = small.mechanism.draw(small.model, START_PEOPLE, 1, ExactStatistic(1, START_PEOPLE), source)
    return drawn.astype("<f8").tobytes()


@lru_cache(maxsize=1)
def build_findings() -> tuple[tuple[str, Findings], ...]:
    """Every family by every mechanism, with draws against the charge at level 10⁻⁶ where they can be seeded."""
    return tuple((small.name, audited(small.model, small.mechanism, 12, 1, BUILD)) for small in small_models())


def audited(model: ReleaseModel, mechanism: ReleaseMechanism, people: int, unit_rows: int, effort: Effort) -> Findings:
    """Whatever goes wrong in looking is a reason not to pass."""
    audit = kind_of(model).audit
    if audit is None:
        return Findings(reasons=("nothing audits this kind of model",))
    try:
        return audit(model, mechanism, people, unit_rows, effort)
    except Exception as error:  # fails closed: public numbers only, so the type says nothing of anyone
        return Findings(reasons=(f"it could not be looked at ({type(error).__qualname__})",))


@lru_cache(maxsize=1)
def code_digest() -> str:
    """SHA-256 over path and bytes of every module in those rooms, in order of their paths: what a report is about."""
    root = Path(app.core.__path__[0])
    digest = hashlib.sha256()
    for room in ROOMS:
        for path in sorted((root / room).rglob("*.py"), key=lambda each: each.as_posix()):
            text = path.read_bytes()
            name = path.relative_to(root).as_posix().encode()
            digest.update(len(name).to_bytes(4, "big") + name + len(text).to_bytes(4, "big") + text)
    return digest.hexdigest()
