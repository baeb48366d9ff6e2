"""Private-PGM (`mbi`, McKenna, Sheldon and Miklau 2019) on noisy tables: the graphical model nearest to all of them.

`mbi` and its `jax` are not among this project's packages, and want other versions of some: they get an environment of their own,

    python -m venv DIRECTORY && DIRECTORY/bin/pip install mbi
    PRIVATE_PGM_PYTHON=DIRECTORY/bin/python make bench ARGS=marginals

in which this file is run as a program, reading a problem a line and writing the conditional probabilities of all cells. Mirror
descent with the number of people known, as its authors recommend.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

ROUNDS = 1_000
TINIEST = 1e-9
VARIABLE = "PRIVATE_PGM_PYTHON"


class PrivatePgm:
    """A process that fits one model after the other. Use as a context manager."""

    def __init__(self, python: str) -> None:
        self._process = subprocess.Popen(
            [python, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )

    def __enter__(self) -> "PrivatePgm":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=60)

    def conditional_tables(
        self,
        families: Sequence[tuple[Sequence[int], int]],
        levels: Sequence[int],
        noisy: Sequence[float],
        sd: float,
        people: int,
    ) -> list[float]:
        """Cell by cell, of noisy counts by (node, configuration, level); a family is (parents, node)."""
        problem = {"families": [[*parents, node] for parents, node in families], "levels": list(levels)}
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(problem | {"noisy": list(noisy), "sd": sd, "people": people}) + "\n")
        self._process.stdin.flush()
        found: list[float] = json.loads(self._process.stdout.readline())
        return found


def python_with_mbi() -> str | None:
    """The interpreter that the variable names."""
    return os.environ.get(VARIABLE)


def solved(problem: dict[str, Any]) -> list[float]:
    """In the environment of `mbi`."""
    import jax

    jax.config.update("jax_enable_x64", True)  # as `mbi` asks for where there are many people
    import mbi
    import numpy as np

    levels = problem["levels"]
    domain = mbi.Domain([f"v{i}" for i in range(len(levels))], levels)
    measurements, start = [], 0
    for family in problem["families"]:
        end = start + int(np.prod([levels[v] for v in family]))
        noisy = np.array(problem["noisy"][start:end])
        measurements.append(mbi.LinearMeasurement(noisy, tuple(f"v{v}" for v in family), problem["sd"]))
        start = end
    descent = mbi.estimation.MirrorDescent()
    fitted = descent.estimate(domain, measurements, known_total=problem["people"], iters=ROUNDS)
    found = []
    for family in problem["families"]:
        names = tuple(f"v{v}" for v in family)
        table = np.asarray(fitted.project(names).transpose(names).datavector(), dtype=np.float64)
        table = np.maximum(table.reshape(-1, levels[family[-1]]), TINIEST)
        found += (table / table.sum(axis=1, keepdims=True)).ravel().tolist()
    return found


def main() -> None:
    for line in sys.stdin:
        print(json.dumps(solved(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
