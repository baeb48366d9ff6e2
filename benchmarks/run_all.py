"""Runs every `benchmarks/bench_*.py`, one after the other, each in a process of its own and for a bounded time.

    python -m benchmarks.run_all [NAME …] [--seconds 480]

NAME is a part of a file's name: `make bench ARGS="accuracy networks"`. A benchmark that fails or takes too long does not
keep the next from running; the exit code says that one did.
"""

import argparse
import signal
import subprocess
import sys
import time
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
SECONDS_MAX = 480.0
GRACE_S = 30.0


def chosen(names: list[str]) -> list[Path]:
    files = sorted(FOLDER.glob("bench_*.py"))
    return [file for file in files if not names or any(name in file.stem for name in names)]


def outcome(file: Path, seconds_max: float) -> str:
    """`ok`, or what went wrong. Interrupted first, so that servers a benchmark started are stopped by it."""
    process = subprocess.Popen([sys.executable, str(file)], cwd=FOLDER.parent)
    try:
        code = process.wait(seconds_max)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        return f"stopped after {seconds_max:g} s"
    return "ok" if code == 0 else f"exit code {code}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--seconds", type=float, default=SECONDS_MAX, help="the most that one may take")
    given = parser.parse_args()
    files = chosen(given.names)
    if not files:
        sys.exit("no such benchmarks/bench_*.py")
    lines, begun = [], time.perf_counter()
    for file in files:
        print(f"\n{file.stem}", flush=True)
        started = time.perf_counter()
        found = outcome(file, given.seconds)
        lines.append((file.stem, time.perf_counter() - started, found))
    print()
    for name, seconds, found in lines:
        print(f"{name:20} {seconds:6.0f} s  {found}")
    print(f"{'total':20} {time.perf_counter() - begun:6.0f} s")
    if any(found != "ok" for _, _, found in lines):
        sys.exit(1)


if __name__ == "__main__":
    main()
