"""`auto`: the more accurate mechanism that fits a target, found from public numbers. What is stored is never `auto`."""

from collections.abc import Mapping
from typing import Any

from app.core.families import Model
from app.core.mechanisms import Mechanism, parse_mechanism
from app.core.mechanisms.accuracy import expected_accuracy
from app.core.mechanisms.calibration import Target
from app.core.mechanisms.comparison import Alternative, alternatives
from app.core.mechanisms.mechanism import read_epsilon, refuse_unknown
from app.errors import InvalidMechanism
from app.services.computed_costs import check_people, compute
from app.services.runtime import Runtime

AUTO = "auto"
_FIELDS = {"kind", "epsilon", "samples"}


async def concrete_mechanism(
    runtime: Runtime, spec: Mapping[str, Any], model: Model, people: int, unit_rows: int, delta: float
) -> Mechanism:
    """As written; for `auto` the best that costs at most its `epsilon` at `delta`.

    Raises InvalidMechanism, also where nothing fits, InvalidInput for too many people, TooBusy.
    """
    if not is_auto(spec):
        return parse_mechanism(spec)
    samples, target = auto_samples(spec, runtime.settings.samples_max), Target(read_epsilon(spec), delta)
    check_people(people, unit_rows)
    most = runtime.settings.samples_max
    ranked = await compute(runtime, lambda: ranked_for(model, people, unit_rows, target, samples, most))
    return ranked[0].mechanism


def is_auto(spec: object) -> bool:
    return isinstance(spec, Mapping) and spec.get("kind") == AUTO


def auto_samples(spec: Mapping[str, Any], samples_max: int) -> int | None:
    """How many samples to draw, if that is fixed. Raises InvalidMechanism for any other setting."""
    refuse_unknown(spec, _FIELDS)
    if spec.get("samples") is None:
        return None
    samples = parse_mechanism({"kind": "baps", "samples": spec["samples"]}).samples
    if samples > samples_max:
        raise InvalidMechanism("mechanism.samples", f"at most {samples_max}")
    return samples


def ranked_for(
    model: Model, people: int, unit_rows: int, target: Target, samples: int | None, samples_max: int
) -> list[Alternative]:
    """Every mechanism that fits the target, most accurate first, none with more samples than may be stored."""
    found = [
        _shortened(each, model, people, unit_rows, samples_max)
        for each in alternatives(model, people, unit_rows, target, samples)
    ]
    return sorted(found, key=lambda each: each.accuracy.total_sd)


def _shortened(found: Alternative, model: Model, people: int, unit_rows: int, samples_max: int) -> Alternative:
    if found.mechanism.samples <= samples_max:
        return found
    fewer = found.mechanism.with_samples(samples_max)
    return Alternative(fewer, fewer.cost(model, people, unit_rows), expected_accuracy(model, fewer, people))
