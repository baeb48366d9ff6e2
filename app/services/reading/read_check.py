"""The check of fit of a release as its readers see it: the noisy histogram, and the verdict on it."""

import hmac
from typing import Any

import msgspec

from app.core.kinds.fit_check import FitCheck, Verdict
from app.core.parameters import listed
from app.errors import CheckNotBought, IntegrityFailure, InvalidInput
from app.services.budgets import once_view
from app.services.principals import Reader
from app.services.reading.published_release import reading_right
from app.services.reading.verdicts import verdict_of
from app.services.releases.parts import part_release
from app.services.releases.stored_release import stored_check, stored_model
from app.services.runtime.runtime import Runtime
from app.services.runtime.warm_cache import ReadyBody, Receipt, ready_body, size_of
from app.storage import datasets, installation, releases

_TAG = b"check\0"
_encode = msgspec.json.Encoder().encode


async def read_check(runtime: Runtime, *, reader: Reader, release_id: str, part: str | None = None) -> ReadyBody:
    """Of several models: of one part, with a right to it. Raises NotFound, ReleaseNotReady, ReleaseWithdrawn, AccessRequired,
    InvalidInput, CheckNotBought, TooBusy.

    The tag hashes the bytes under a secret of the installation, as the tags of tables do.
    """
    right = await reading_right(runtime, reader, release_id)
    if part is None and right.parts:
        raise InvalidInput("part", f"one of {listed([name for name, _ in right.parts])}: each has its own check")
    part = right.reach(part).part
    ready = runtime.warm.bodies.get(("check", release_id, part))
    if ready is not None:
        return ready
    async with runtime.database.read() as connection:
        release = await releases.get_release(connection, release_id)
        dataset = None if release is None else await datasets.get_dataset(connection, release.dataset_id)
        secret = await installation.get_secret(connection, installation.CACHE)
    if release is None or dataset is None:
        raise IntegrityFailure("a right to a release that is not there")
    own, verdict = part_release(release, part), await verdict_of(runtime, release, dataset, part)
    check = stored_check(own, stored_model(own, dataset))
    if check is None or verdict is None:
        raise CheckNotBought("this release was made without a check of fit; ask for one with another release")
    body = _encode(
        {"release": release_id, **({} if part is None else {"part": part})}
        | _check_json(check, release.unit_rows, dataset.delta)
        | _verdict_json(verdict)
    )
    tagged = release_id if part is None else f"{release_id}\0{part}"
    ready = ready_body(body, Receipt({}, hmac.digest(secret, _TAG + tagged.encode(), "sha256")))
    runtime.warm.bodies.put(("check", release_id, part), ready, size_of(ready))
    return ready


def _check_json(check: FitCheck, unit_rows: int, delta: float) -> dict[str, Any]:
    return {"check": check.as_json(), "cost": once_view(check.cost(unit_rows), delta), "noise_sd": check.sd(unit_rows)}


def _verdict_json(verdict: Verdict) -> dict[str, Any]:
    return {
        "verdict": verdict.outcome,
        "text": verdict.text,
        "advice": verdict.advice,
        "probability": verdict.probability,
        "level": verdict.level,
        "dispersion": {
            "ratio": verdict.ratio,
            "interval": list(verdict.ratio_interval),
            "level": verdict.ratio_level,
            "probability": verdict.ratio_probability,
        },
        "distance": {
            "value": verdict.distance,
            "expected": verdict.distance_expected,
            "probability": verdict.distance_probability,
        },
        "noticed": {"ratio": verdict.noticed_ratio, "share": verdict.noticed_share},
        "quantity": verdict.quantity,
        "bins": [
            {"lower": each.lower, "upper": each.upper, "noisy": each.noisy, "expected": each.expected, "sd": each.sd}
            for each in verdict.bins
        ],
        "method": verdict.method,
    }
