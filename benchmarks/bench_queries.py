"""Warm questions over HTTP against a bare FastAPI echo, and how a question's cost grows.

    python benchmarks/bench_queries.py [--rounds 9]

Postern runs as `postern serve` on PostgreSQL and Redis, with every layer, log and limit it has in production; the echo
(`echo_app.py`) validates the same body and returns a constant of the same schema. Each round starts fresh processes in random
order: the echo twice, Postern with one worker and with two. A server has core 0, the client core 1, and asks over sixteen kept
connections with as many keys; with two workers both cores serve and the client runs wherever there is room. The main figure is
the server's processor time for a request; requests a second are beside it. Latency is open loop, Poisson, at a quarter of what
the server just did. Any answer but 200 ends the run; it is void if the two copies of the echo are more than 15 % apart. Only a
full run is published, also if it misses a target, and then fails.
"""

import argparse
import os
import sys
import time

from benchmarks.published import machine, publish
from benchmarks.query_place import query_place
from benchmarks.query_questions import ROTATION, TABLE_RESPONSES
from benchmarks.query_rounds import (
    BATCHES,
    CONNECTIONS,
    OPEN_S,
    PHASE_S,
    RESPONSES,
    SHORT_S,
    SIZE,
    SIZES,
    measure_round,
)
from benchmarks.query_tables import VOID_ABOVE, Rounds, plot

ROUNDS = 9
SETTING = {
    "samples": SIZE,
    "table_responses": TABLE_RESPONSES,
    "rotation": ROTATION,
    "connections": CONNECTIONS,
    "phase_s": PHASE_S,
    "short_phase_s": SHORT_S,
    "open_loop_s": OPEN_S,
    "sizes": list(SIZES),
    "responses": list(RESPONSES),
    "batches": list(BATCHES),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    if (os.cpu_count() or 1) < 2:
        sys.exit("a server and a client need a core each")
    found = []
    with query_place(SIZES, CONNECTIONS) as place:
        for number in range(options.rounds):
            started = time.perf_counter()
            found.append(measure_round(place, number))
            print(f"round {number + 1} of {options.rounds}: {time.perf_counter() - started:.0f} s", flush=True)
    rounds = Rounds(found)
    tables = rounds.tables()
    for name, text in tables.items():
        print(f"\n{name}\n{text}")
    print(f"\ntwo copies of the echo: {rounds.control():.3f} apart")
    for target in rounds.targets():
        print(f"{'met   ' if target.met else 'MISSED'} {target}")
    if rounds.control() > VOID_ABOVE:
        sys.exit(f"void: the copies are more than {VOID_ABOVE} apart, so something else used the cores")
    if options.rounds >= ROUNDS:
        body = {
            "machine": machine("fastapi", "uvicorn", "uvloop", "httptools", "pydantic", "numpy"),
            "setting": SETTING,
            "rounds": found,
        }
        publish("queries", body, tables, lambda figure: plot(figure, rounds), (9, 3.5))
    if not all(target.met for target in rounds.targets()):
        sys.exit("a target was missed")


if __name__ == "__main__":
    main()
