"""One round of the query benchmark: fresh processes in random order, every phase with its processor time per request."""

import os
import random
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import query_questions as ask
from benchmarks.load_client import NextRequest, closed_loop, open_loop
from benchmarks.query_place import Place
from benchmarks.served import Served, serving

SERVER_CORE, CLIENT_CORE = 0, 1
CONNECTIONS = 16
PHASE_S, SHORT_S, OPEN_S = 1.0, 0.3, 2.0
WARM_S_MAX, SETTLE_S = 60.0, 0.02
SIZE = 1_000
SIZES = (100, 1_000, 10_000, 100_000, 1_000_000)
SMALL, LARGE = 100, 100_000
RESPONSES = (2, 10, 100, 1_000)
BATCHES = (1, 10, 100, 1_000)

Round = dict[str, Any]


def measure_round(place: Place, number: int) -> Round:
    """`echo` twice, Postern with one worker and with two."""
    parts = ["echo", "echo again", "postern", "two workers"]
    random.Random(number).shuffle(parts)
    found: Round = {"order": parts}
    for part in parts:
        os.sched_setaffinity(0, {CLIENT_CORE})
        if part == "two workers":
            with serving("postern", place.environment, cores=(SERVER_CORE, CLIENT_CORE), workers=2) as served:
                found[part] = _two_workers(served, place)
        else:
            with serving(part.split()[0], place.environment, cores=(SERVER_CORE,)) as served:
                found[part] = _echo(served, place) if part.startswith("echo") else _postern(served, place)
    return found


def _echo(served: Served, place: Place) -> Round:
    questions = ask.rotating(place.path(SIZE), place.tokens, ask.mixed)
    found = {"rotating": _closed(served, questions, PHASE_S)}
    return found | {"latency": _latency(served, questions, found["rotating"]["per_s"])}


def _postern(served: Served, place: Place) -> Round:
    path, tokens = place.path(SIZE), place.tokens
    table = ask.table(ask.TABLE_RESPONSES)
    found: Round = {}
    rotation = ask.rotating(path, tokens, ask.mixed)
    found["rotating"] = _closed(served, rotation, PHASE_S, warm=3 * ask.ROTATION)
    found["latency"] = _latency(served, rotation, found["rotating"]["per_s"])
    found["new"] = _closed(served, ask.always_new(path, tokens, ask.mixed), PHASE_S)
    found["table rotating"] = _closed(served, ask.rotating(path, tokens, table), PHASE_S, warm=3 * ask.ROTATION)
    found["table new"] = _closed(served, ask.always_new(path, tokens, table), PHASE_S)
    for kind in ask.KINDS:
        for size in (SMALL, LARGE):
            new = ask.always_new(place.path(size), tokens, ask.of_kind(kind))
            found[f"{kind} of {size}"] = _closed(served, new, SHORT_S)
    return found | _growth(served, place)


def _growth(served: Served, place: Place) -> Round:
    found: Round = {}
    tokens = place.tokens
    for size in SIZES:
        found[f"samples {size}"] = _closed(served, ask.always_new(place.path(size), tokens, ask.mixed), SHORT_S)
    for responses in RESPONSES:
        new = ask.always_new(place.path(SIZE), tokens, ask.table(responses))
        found[f"responses {responses}"] = _closed(served, new, SHORT_S)
    for size in BATCHES:
        new = ask.always_new(place.path(SIZE, batch=True), tokens, ask.batch(size))
        found[f"batch {size}"] = _closed(served, new, SHORT_S, warm=2, connections=2)
    return found


def _two_workers(served: Served, place: Place) -> Round:
    """Both cores serve and the client runs on whichever has room, so its own work counts against us. Twice as many
    connections: the kernel deals them out at random, and each worker must always have some to answer."""
    os.sched_setaffinity(0, {SERVER_CORE, CLIENT_CORE})
    path, tokens = place.path(SIZE), place.tokens
    table = ask.table(ask.TABLE_RESPONSES)
    light, heavy = ask.rotating(path, tokens, ask.mixed), ask.always_new(path, tokens, table)
    return {
        "rotating": _closed(served, light, PHASE_S, warm=4 * ask.ROTATION, connections=2 * CONNECTIONS),
        "table new": _closed(served, heavy, PHASE_S, connections=2 * CONNECTIONS),
    }


def _closed(
    served: Served, questions: NextRequest, seconds: float, *, warm: int = 100, connections: int = CONNECTIONS
) -> Round:
    """Warm up by at least so many answers, then measure; `connections` and `busy` are by worker."""
    closed_loop(served.port, questions, seconds=WARM_S_MAX, connections=connections, answers=warm)
    time.sleep(SETTLE_S)
    idle, during = list(map(_sockets, served.pids)), list[int]()
    look = threading.Timer(seconds / 2, lambda: during.extend(map(_sockets, served.pids)))
    look.start()
    before = served.cpu_s()
    load = closed_loop(served.port, questions, seconds=seconds, connections=connections)
    used = [after - start for after, start in zip(served.cpu_s(), before, strict=True)]
    look.join()
    return {
        "cpu_us": _rounded(1e6 * sum(used) / load.answers),
        "per_s": _rounded(load.answers / load.seconds),
        "client_us": _rounded(1e6 * load.client_cpu_s / load.answers),
        "busy": [_rounded(each / load.seconds) for each in used],
        "connections": [now - held for now, held in zip(during, idle, strict=True)],
    }


def _latency(served: Served, questions: NextRequest, capacity_per_s: float) -> Round:
    """Open loop at a quarter of what this server just did."""
    per_s = capacity_per_s / 4
    waits = open_loop(served.port, questions, per_s=per_s, seconds=OPEN_S, connections=CONNECTIONS)
    half, high = _percentiles(waits, (50, 99))
    return {"per_s": _rounded(per_s), "answers": len(waits), "p50_us": half, "p99_us": high}


def _percentiles(waits: Sequence[float], levels: Sequence[float]) -> list[float]:
    return [_rounded(1e6 * float(value)) for value in np.percentile(waits, levels)]


def _sockets(pid: int) -> int:
    found = 0
    for link in Path(f"/proc/{pid}/fd").iterdir():
        try:
            found += str(link.readlink()).startswith("socket:")
        except FileNotFoundError:
            continue
    return found


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")
