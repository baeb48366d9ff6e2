"""Does a charge cost the same on a long ledger, and how long does an export take to verify?

    python benchmarks/bench_ledger.py [--short 1000] [--long 1000000] [--charges 100] [--rounds 9] [--verifications 3]

For SQLite and PostgreSQL: a ledger of `short` lines and one of `long` lines, then charges through `ledger_book.post` with
a notary, as the service makes them. In every round each ledger of an engine is charged `charges` times, in random order,
so that a busy machine slows both; a round's figure is the median of its charges. Two copies of the short ledger are the
control: they tell what a difference of nothing looks like, and a run in which they differ by more than 15 %, in time or in
processor time, is void and fails. The long ledger's lines are also written as an export and verified from the file,
offline, in a process of its own each time; one that does not verify fails the run too.
"""

import argparse
import asyncio
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from app.ledger.posting import reserve_posting
from app.storage.accounts import lock_accounts
from app.storage.ledger_book import post
from benchmarks.filled_ledgers import CHARGE, EVENT, KEY, WHO, Filled, fill, prepare
from benchmarks.published import machine, publish, quartiles, spread, table
from tests.servers.postgres import PostgresServer

SHORT, LONG, CHARGES, ROUNDS, VERIFICATIONS = 1_000, 1_000_000, 100, 9, 3
PLACES = ("short", "copy", "long")
WARM_UP = 20
APART_MAX = 1.15
VERIFY = """
import json, sys, time
from app.ledger.offline import verify_export
from app.ledger.signed_head import parse_public_key
began, cpu = time.perf_counter(), time.process_time()
with open(sys.argv[1], "rb") as file:
    verdict = verify_export(file, [parse_public_key(sys.argv[2])])
wall, used = time.perf_counter() - began, time.process_time() - cpu
print(json.dumps({"ok": verdict.ok, "entries": verdict.entries, "wall_s": round(wall, 3), "cpu_s": round(used, 3)}))
"""


def verified(export: Path, lines: int) -> dict[str, float]:
    """Seconds of one verification, wall and processor, without the interpreter's start."""
    command = [sys.executable, "-c", VERIFY, str(export), KEY.public.hex()]
    root = Path(__file__).resolve().parents[1]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    if not found["ok"] or found["entries"] != lines:
        raise SystemExit(f"the export does not verify: {found}")
    return {"wall_s": found["wall_s"], "cpu_s": found["cpu_s"]}


async def charged(filled: Filled, count: int) -> dict[str, float]:
    """One round: the median time of a charge (lock the account, post, sign, commit), and the client's processor time."""
    took, cpu = [], time.process_time()
    for _ in range(count):
        filled.charged += 1
        began = time.perf_counter()
        async with filled.database.write() as connection:
            account = (await lock_accounts(connection, ["ds_a"]))["ds_a"]
            release = f"rel_new_{filled.charged:08d}"
            await post(connection, reserve_posting(account, release, CHARGE, event=EVENT, **WHO))
        took.append((time.perf_counter() - began) * 1e3)
    used = (time.process_time() - cpu) / count * 1e3
    return {"ms": round(statistics.median(took), 4), "cpu_ms": round(used, 4)}


async def charges_of(places: Mapping[str, Filled], charges: int, rounds: int) -> list[dict[str, Any]]:
    order = random.Random(11)
    for filled in places.values():
        await charged(filled, WARM_UP)
    found = []
    for _ in range(rounds):
        names = list(places)
        order.shuffle(names)
        row = {name: await charged(places[name], charges) for name in names}
        found.append({name: row[name] for name in places})
    return found


def ratios_of(rounds: list[dict[str, Any]], name: str, unit: str) -> list[float]:
    """Each round's figure over that of the short ledger in the same round."""
    return [row[name][unit] / row["short"][unit] for row in rounds]


def tables_of(body: Mapping[str, Any]) -> dict[str, str]:
    setting, checked = body["setting"], body["verify"]
    wall, cpu = ([row[unit] for row in checked] for unit in ("wall_s", "cpu_s"))
    each = spread([value / setting["long"] * 1e6 for value in cpu], 3)
    heads = ["lines", "MB", "seconds", "processor s", "µs a line"]
    shown = [f"{setting['long']:,}", f"{setting['export_mb']:,}", spread(wall, 3), spread(cpu, 3), each]
    rows = []
    for engine, rounds in body["charge"].items():
        for name in PLACES:
            lines = setting["long" if name == "long" else "short"]
            times, used = ([row[name][unit] for row in rounds] for unit in ("ms", "cpu_ms"))
            ratio = "" if name == "short" else spread(ratios_of(rounds, name, "ms"), 3)
            by_cpu = "" if name == "short" else spread(ratios_of(rounds, name, "cpu_ms"), 3)
            label = f"{lines:,}" + (", a copy" if name == "copy" else "")
            rows.append([engine, label, spread(times, 3), ratio, spread(used, 3), by_cpu])
    columns = ["engine", "lines", "ms a charge", "ratio", "processor ms", "ratio"]
    return {"verify": table(heads, [shown]), "charge": table(columns, rows), "control": control_of(body)}


def apart(body: Mapping[str, Any]) -> dict[str, float]:
    """How far the copy of the short ledger is from it, by engine and figure: the very statistic that the long one is
    judged by, for both figures that are shown, as a factor of at least 1."""
    found = {}
    for engine, rounds in body["charge"].items():
        for unit, told in (("ms", "time"), ("cpu_ms", "processor time")):
            ratio = statistics.median(ratios_of(rounds, "copy", unit))
            found[f"{engine} {told}"] = max(ratio, 1 / ratio)
    return found


def control_of(body: Mapping[str, Any]) -> str:
    told = ", ".join(f"{name} {(ratio - 1) * 100:.0f} %" for name, ratio in apart(body).items())
    counts = max(apart(body).values()) <= APART_MAX
    end = "the run counts." if counts else "**the machine was busy and this run does not count.**"
    return f"The two copies of the short ledger differ by: {told}; {end}"


def plot(figure: Any, body: Mapping[str, Any]) -> None:
    """Every round's ratio to the short ledger, the control beside the long one."""
    panel = figure.subplots()
    labels = []
    for engine, rounds in body["charge"].items():
        for name, colour in (("copy", "C7"), ("long", "C0")):
            ratios = ratios_of(rounds, name, "ms")
            place = len(labels)
            panel.plot([place] * len(ratios), ratios, ".", color=colour, alpha=0.5)
            panel.plot([place - 0.2, place + 0.2], [quartiles(ratios)[1]] * 2, color=colour)
            labels.append(f"{engine}\n" + ("a copy" if name == "copy" else f"{body['setting']['long']:,} lines"))
    panel.axhline(1.2, color="C3", linestyle="--", linewidth=1)
    panel.set(xticks=range(len(labels)), ylabel="time of a charge over that at 1,000 lines", ylim=(0, None))
    panel.set_xticklabels(labels)
    panel.grid(alpha=0.3, axis="y")


async def measured(given: argparse.Namespace, folder: Path, server: PostgresServer) -> dict[str, Any]:
    export = folder / "ledger.ndjson"
    lengths = {"short": given.short, "copy": given.short, "long": given.long}
    urls = {
        "SQLite": {name: f"sqlite:///{folder / name}.db" for name in PLACES},
        "PostgreSQL": {name: server.url(server.create_database()) for name in PLACES},
    }
    engines = {
        engine: {name: await prepare(url, lengths[name]) for name, url in found.items()}
        for engine, found in urls.items()
    }
    began = time.perf_counter()
    await fill([places[name] for places in engines.values() for name in ("short", "copy")], given.short, None)
    await fill([places["long"] for places in engines.values()], given.long, export)
    print(f"ledgers filled in {time.perf_counter() - began:.0f} s", flush=True)
    checked = [verified(export, given.long) for _ in range(given.verifications)]
    charge = {engine: await charges_of(places, given.charges, given.rounds) for engine, places in engines.items()}
    for places in engines.values():
        for place in places.values():
            await place.database.dispose()
    setting = {"short": given.short, "long": given.long, "charges": given.charges}
    setting["export_mb"] = round(export.stat().st_size / 1e6)
    return {"setting": setting, "verify": checked, "charge": charge}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    usual = {"short": SHORT, "long": LONG, "charges": CHARGES, "rounds": ROUNDS, "verifications": VERIFICATIONS}
    for option, default in usual.items():
        parser.add_argument(f"--{option}", type=int, default=default)
    given = parser.parse_args()
    server = PostgresServer()
    try:
        with tempfile.TemporaryDirectory() as name:
            found = asyncio.run(measured(given, Path(name), server))
    finally:
        server.stop()
    body = {"machine": machine("sqlalchemy", "psycopg", "cryptography", "msgspec")} | found
    tables = tables_of(body)
    print("\n" + "\n\n".join(tables.values()))
    if vars(given) == usual:
        publish("ledger", body, tables, lambda figure: plot(figure, body), (6.0, 3.2))
    if max(apart(body).values()) > APART_MAX:
        raise SystemExit("the copies of the short ledger are too far apart: run it again on an idle machine")


if __name__ == "__main__":
    main()
