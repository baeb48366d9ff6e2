"""`auto`: the more accurate mechanism, or score of `map`, that fits, from public numbers. What is stored is never `auto`."""

from collections.abc import Mapping
from typing import Any

from app.core.families import Model
from app.core.mechanisms import MapPoint, Mechanism, parse_mechanism
from app.core.mechanisms.calibration import Target
from app.core.mechanisms.comparison import Comparison, alternatives
from app.core.mechanisms.mechanism import read_epsilon, refuse_unknown
from app.errors import InvalidMechanism
from app.services.computed_costs import check_people, compute
from app.services.runtime import Runtime

AUTO = "auto"
_FIELDS = {"kind", "epsilon", "samples"}


async def concrete_mechanism(
    runtime: Runtime, spec: Mapping[str, Any], model: Model, people: int, unit_rows: int, delta: float
) -> Mechanism:
    """As written, a `map` with its score named; for `auto` the best that costs at most its `epsilon` at `delta`.

    Raises InvalidMechanism, also where nothing fits, InvalidInput for too many people, TooBusy.
    """
    check_people(people, unit_rows)
    if not is_auto(spec):
        written = parse_mechanism(spec)
        if not isinstance(written, MapPoint):
            return written
        return await compute(runtime, lambda: written.settled(model, people, unit_rows))
    most = runtime.settings.samples_max
    target = Target(read_epsilon(spec), delta)
    asked = Comparison(model, people, unit_rows, target, auto_samples(spec, most), most)
    ranked = await compute(runtime, lambda: alternatives(asked))
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
