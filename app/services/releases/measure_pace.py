"""How fast this installation works, measured on synthetic rows and kept in the database for every worker.

The pace is a factor: 2 means twice as long as on the machine of reference. Every process measures it before its first release,
and where that was an hour ago before its next one, always before anything of anyone is read: on rows and a table made here, in
processor time of the measuring thread, so that whoever has the machine meanwhile does not count, the least of a few rounds. The
larger of the two factors counts, divided by the share of a processor that the process may use, and a pace below a tenth is not
believed. What is faster than the pace on record replaces it, for the releases that follow; what is slower does once that is a
week old. `POSTERN_PUBLICATION_PACE` says another.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from app.core.kinds import parse_mechanism, parse_model
from app.core.schema import Column, PrivacyUnit, parse_columns
from app.core.statistics.sums import ExactStatistic, StatisticRequest
from app.services.runtime.runtime import Runtime
from app.sources.data_key import SALT_BYTES, DataKey
from app.sources.engine import Limits
from app.sources.kept_rows import check_and_keep
from app.sources.sources import SourceContext, UploadedRows
from app.sources.uploads import UploadStore
from app.storage.installation import PACE, get_measurement, keep_measurement

PACE_MIN = 0.1
AGAIN_US = 3_600_000_000
"""A process that measured longer ago does so again."""
BELIEVED_US = 7 * 24 * 3_600_000_000
"""A pace on record that is older gives way to a slower one: the machine may be another by now."""
ROUNDS = 5
ROWS = 20_000
PEOPLE = 100_000
OTHER_PEOPLE = 1_000
"""More in every round, and up to as many at random more each time: another grid, because what a grid needs is remembered."""
SAMPLES = 2_000
READING_S = 0.025
"""What the synthetic rows take of a processor on the machine of reference, and below the synthetic draw."""
DRAWING_S = 0.060
QUOTA = Path("/sys/fs/cgroup/cpu.max")
"""Where Linux says how many microseconds of processor time a container gets in how many: `50000 100000`, or `max 100000`."""

_COLUMNS: dict[str, Column] = parse_columns({"a": {"type": "binary"}, "b": {"type": "real", "lower": 0, "upper": 1}})


async def installation_pace(runtime: Runtime) -> float:
    """As set, else as on record, measured now if this process has not done so within the hour."""
    if runtime.settings.publication_pace is not None:
        return runtime.settings.publication_pace
    now_us = runtime.clock()
    last_us = runtime.pace_measured.at_us
    if last_us is not None and abs(now_us - last_us) < AGAIN_US:
        async with runtime.database.read() as connection:
            known = await get_measurement(connection, PACE)
        if known is not None:
            return known
    measured = await asyncio.to_thread(measure_pace, runtime.uploads, runtime.random_bytes, runtime.engine_limits)
    async with runtime.database.write() as connection:
        kept = await keep_measurement(connection, PACE, measured, now_us, believed_us=BELIEVED_US)
    runtime.pace_measured.at_us = now_us
    return kept


def measure_pace(uploads: UploadStore, random_bytes: Callable[[int], bytes], limits: Limits | None = None) -> float:
    """Blocking, half a second on the machine of reference."""
    reading = _reading(uploads, random_bytes, limits or Limits()) / READING_S
    drawing = drawing_seconds(random_bytes) / DRAWING_S
    return max(PACE_MIN, max(reading, drawing) / processor_share())


def processor_share(quota: Path = QUOTA) -> float:
    """At most 1. What waits for its quota takes longer by the clock than of a processor."""
    try:
        allowed, period = quota.read_text("ascii").split()
        share = 1.0 if allowed == "max" else int(allowed) / int(period)
    except (OSError, ValueError, ZeroDivisionError):
        return 1.0
    return min(1.0, share) if share > 0 else 1.0


def _reading(uploads: UploadStore, random_bytes: Callable[[int], bytes], limits: Limits) -> float:
    key = DataKey(random_bytes(32).hex())
    rows = "".join(f"{row % 2},{row / ROWS}\n" for row in range(ROWS))
    with uploads.begin("pace") as sent, uploads.begin("pace") as kept:
        sent.write(f"a,b\n{rows}".encode())
        salt = random_bytes(SALT_BYTES)
        check_and_keep(sent.path, "csv", _COLUMNS, PrivacyUnit(), None, kept, key, salt, uploads=uploads)
        # One thread: the engine's others are not in this one's time.
        context = SourceContext(
            _COLUMNS, PrivacyUnit(), uploads, limits=replace(limits, threads=1), data_key=lambda: key
        )
        source = UploadedRows(lambda: kept.path, context)
        return _least(lambda _: source.statistic(StatisticRequest("a"), b"not needed here."))


def drawing_seconds(random_bytes: Callable[[int], bytes]) -> float:
    """Of a processor."""
    model = parse_model({"family": "bernoulli", "column": "a"}, _COLUMNS)
    mechanism = parse_mechanism({"kind": "baps", "samples": SAMPLES}, model)
    others = int.from_bytes(random_bytes(4)) % OTHER_PEOPLE

    def draw(number: int) -> None:
        people = PEOPLE + others + number * OTHER_PEOPLE
        mechanism.draw(model, people, 1, ExactStatistic(people // 3, people), random_bytes)

    return _least(draw)


def _least(work: Callable[[int], object]) -> float:
    taken = []
    for number in range(ROUNDS):
        began = time.thread_time()
        work(number)
        taken.append(time.thread_time() - began)
    return min(taken)
