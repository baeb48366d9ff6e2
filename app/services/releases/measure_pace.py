"""How fast this installation works, measured once on synthetic rows and kept in the database for every worker.

The pace is a factor: 2 means twice as long as on the machine of reference. It is measured by the first worker that needs it,
before it reads anything of anyone, on rows and a table made here; the larger of the two factors counts, and a pace below
a tenth is not believed. `POSTERN_PUBLICATION_PACE` says another, for machines that were busy when it was measured.
"""

import asyncio
import time
from collections.abc import Callable
from statistics import median

from app.core.kinds import parse_mechanism, parse_model
from app.core.schema import Column, PrivacyUnit, parse_columns
from app.core.statistics.sums import ExactStatistic, StatisticRequest
from app.services.runtime.runtime import Runtime
from app.sources.data_key import SALT_BYTES, DataKey
from app.sources.engine import Limits
from app.sources.kept_rows import check_and_keep
from app.sources.sources import SourceContext, UploadedRows
from app.sources.uploads import UploadStore
from app.storage.installation import PACE, get_measurement, keep_first_measurement

PACE_MIN = 0.1
ROUNDS = 3
ROWS = 20_000
PEOPLE = 100_000
OTHER_PEOPLE = 1_000
"""More in every round: another grid, because what a grid needs is remembered."""
SAMPLES = 2_000
READING_S = 0.035
"""What the synthetic rows take on the machine of reference, and below the synthetic draw."""
DRAWING_S = 0.060

_COLUMNS: dict[str, Column] = parse_columns({"a": {"type": "binary"}, "b": {"type": "real", "lower": 0, "upper": 1}})


async def installation_pace(runtime: Runtime) -> float:
    """As set, else as measured, else measured now."""
    if runtime.settings.publication_pace is not None:
        return runtime.settings.publication_pace
    async with runtime.database.read() as connection:
        known = await get_measurement(connection, PACE)
    if known is not None:
        return known
    measured = await asyncio.to_thread(measure_pace, runtime.uploads, runtime.random_bytes, runtime.engine_limits)
    async with runtime.database.write() as connection:
        return await keep_first_measurement(connection, PACE, measured, runtime.clock())


def measure_pace(uploads: UploadStore, random_bytes: Callable[[int], bytes], limits: Limits | None = None) -> float:
    """Blocking, well under a second on the machine of reference."""
    factors = (_reading(uploads, random_bytes, limits or Limits()) / READING_S, _drawing(random_bytes) / DRAWING_S)
    return max(PACE_MIN, *factors)


def _reading(uploads: UploadStore, random_bytes: Callable[[int], bytes], limits: Limits) -> float:
    key = DataKey(random_bytes(32).hex())
    rows = "".join(f"{row % 2},{row / ROWS}\n" for row in range(ROWS))
    with uploads.begin("pace") as sent, uploads.begin("pace") as kept:
        sent.write(f"a,b\n{rows}".encode())
        salt = random_bytes(SALT_BYTES)
        check_and_keep(sent.path, "csv", _COLUMNS, PrivacyUnit(), None, kept, key, salt, uploads=uploads)
        context = SourceContext(_COLUMNS, PrivacyUnit(), uploads, limits=limits, data_key=lambda: key)
        source = UploadedRows(lambda: kept.path, context)
        return _median_of(lambda _: source.statistic(StatisticRequest("a"), b"not needed here."))


def _drawing(random_bytes: Callable[[int], bytes]) -> float:
    model = parse_model({"family": "bernoulli", "column": "a"}, _COLUMNS)
    mechanism = parse_mechanism({"kind": "baps", "samples": SAMPLES}, model)

    def draw(number: int) -> None:
        people = PEOPLE + number * OTHER_PEOPLE
        mechanism.draw(model, people, 1, ExactStatistic(people // 3, people), random_bytes)

    return _median_of(draw)


def _median_of(work: Callable[[int], object]) -> float:
    taken = []
    for number in range(ROUNDS):
        began = time.perf_counter()
        work(number)
        taken.append(time.perf_counter() - began)
    return median(taken)
