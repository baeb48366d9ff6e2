"""Puts every defect into a copy of the sources and runs the tests that should notice: `python -m tests.defects.run [word …]`."""

import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.defects.defects import DEFECTS, Defect

ROOT = Path(__file__).parents[2]
COPIED = (
    "app",
    "postern",
    "client",
    "tests",
    "migrations",
    "examples",
    "benchmarks",
    "openapi",
    "docs",
    "pyproject.toml",
)
AT_A_TIME = 2
TIMEOUT_S = 600


def caught_by(defect: Defect) -> str:
    """The name of the test that noticed. Raises AssertionError where none did."""
    with tempfile.TemporaryDirectory(prefix="postern-defect-") as folder:
        copy = Path(folder)
        for name in COPIED:
            here = ROOT / name
            if here.is_dir():
                shutil.copytree(here, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
            elif here.exists():
                shutil.copy(here, copy / name)
        place = copy / defect.path
        text = place.read_text()
        assert text.count(defect.before) == 1, f"{defect.path} no longer holds, once, {defect.before!r}"
        place.write_text(text.replace(defect.before, defect.after))
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x",
            "-p",
            "no:cacheprovider",
            "-m",
            "not deep",
            *defect.tests,
        ]
        done = subprocess.run(command, cwd=copy, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    told = done.stdout[-1500:] + done.stderr[-500:]
    assert done.returncode == 1, f"nobody noticed (exit {done.returncode}):\n{told}"
    assert failed is not None, told
    return failed[1]


def main(words: list[str]) -> int:
    chosen = [each for each in DEFECTS if not words or any(word in each.promise for word in words)]
    missed = 0
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        for defect, found in zip(chosen, pool.map(_outcome, chosen), strict=True):
            missed += found.startswith("MISSED")
            print(f"{defect.promise}\n    {found}", flush=True)
    print(f"{len(chosen) - missed} passed, {missed} failed")
    return 1 if missed else 0


def _outcome(defect: Defect) -> str:
    try:
        return f"caught by {caught_by(defect)}"
    except (AssertionError, subprocess.TimeoutExpired) as error:
        return f"MISSED: {error}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
