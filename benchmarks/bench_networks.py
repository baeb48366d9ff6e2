"""Questions to a network of 37 nodes and 500 probabilities over 1,000 samples: ours against pgmpy, one sample at a time.

    python benchmarks/bench_networks.py [--looped 50] [--rounds 9] [--agree 1000]

Every leaf is known, so that no node is barren and all 37 matter. Query time only: pgmpy's models are built beforehand, our
question is compiled beforehand (the table also says what compiling costs the first time). One round asks pgmpy about
`looped` samples, scales to 1,000, and asks us about all 1,000, in random order in one process; times are process CPU, and
medians and quartiles are over the rounds. Two copies of the control run in each round, and the run is void if their
medians differ by more than 15 %. Agreement is checked on `agree` samples, each to 1e-9. Fails below 300 ×.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from app.core.networks.elimination_order import plan_elimination, relevant_nodes
from app.core.networks.evidence import CompiledLaw, compile_law
from tests.core.networks.network_cases import Array, clinical_network, draw_samples, leaves
from tests.core.networks.pgmpy_peer import pgmpy_engine, pgmpy_law

SAMPLES = 1_000
RATIO_MIN = 300
VOID_ABOVE = 1.15
TOLERANCE = 1e-9
TARGETS = ("v0", "v7", "v16", "v25")
NETWORK = clinical_network()


@dataclass(frozen=True)
class Case:
    variable: str
    evidence: dict[str, str]
    law: CompiledLaw
    compile_ms: float


def make_case(variable: str, rng: np.random.Generator) -> Case:
    evidence = {name: str(rng.choice(NETWORK.nodes[NETWORK.index(name)].levels)) for name in leaves(NETWORK)}
    plan_elimination.cache_clear()
    relevant_nodes.cache_clear()
    started = time.process_time()
    law = compile_law(NETWORK, variable=variable, evidence=evidence)
    compile_ms = (time.process_time() - started) * 1e3
    if len(law._elimination.plan.tables) != len(NETWORK.nodes):
        sys.exit(f"not every node matters to {variable}")
    return Case(variable, evidence, law, compile_ms)


def cpu_ms(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return (time.process_time() - started) * 1e3


def measure(
    case: Case, engines: list[Any], columns: tuple[Array, ...], rounds: int, rng: Any
) -> dict[str, list[float]]:
    def loop() -> None:
        for engine in engines:
            engine.query([case.variable], evidence=case.evidence, show_progress=False)

    def ours() -> None:
        case.law.probabilities(columns)

    parts = {"pgmpy": loop, "pgmpy again": loop, "ours": ours}
    times: dict[str, list[float]] = {name: [] for name in parts}
    ours()
    for _ in range(rounds):
        for name in rng.permutation(list(parts)):
            scale = 1.0 if name == "ours" else SAMPLES / len(engines)
            times[str(name)].append(cpu_ms(parts[str(name)]) * scale)
    return times


def worst_difference(case: Case, engines: list[Any], columns: tuple[Array, ...]) -> float:
    ours = case.law.probabilities(columns)
    worst = 0.0
    for sample, engine in enumerate(engines):
        theirs = pgmpy_law(engine, case.variable, case.evidence, case.law.levels)
        worst = max(worst, float(np.abs(ours[:, sample] - theirs).max()))
    return worst


def shown(times: list[float]) -> str:
    low, middle, high = statistics.quantiles(times, n=4)
    return f"{middle:.2f} ({low:.2f}–{high:.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(description="Network questions against pgmpy")
    parser.add_argument("--looped", type=int, default=50, help="samples pgmpy is timed on, scaled to 1,000")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--agree", type=int, default=SAMPLES, help="samples compared with pgmpy")
    options = parser.parse_args()
    rng = np.random.default_rng(5)
    cells = draw_samples(NETWORK, SAMPLES, rng)
    columns = tuple(cells[:, k].copy() for k in range(NETWORK.cell_count))
    engines = [pgmpy_engine(NETWORK, row) for row in cells[: max(options.agree, options.looped)]]
    print(
        f"{len(NETWORK.nodes)} nodes, {NETWORK.cell_count} probabilities, {SAMPLES} samples; CPU ms, median (quartiles)"
    )
    print(f"pgmpy timed on {options.looped} samples and scaled; agreement on {options.agree}")
    print(f"the law of a variable given all {len(leaves(NETWORK))} leaves")
    print("| variable | width | compile | ours | pgmpy | ratio | control | worst difference |")
    print("|---|---|---|---|---|---|---|---|")
    failed = []
    for variable in TARGETS:
        case = make_case(variable, rng)
        times = measure(case, engines[: options.looped], columns, options.rounds, rng)
        ours, one, two = (statistics.median(times[name]) for name in ("ours", "pgmpy", "pgmpy again"))
        ratio, control = min(one, two) / ours, max(one, two) / min(one, two)
        worst = worst_difference(case, engines[: options.agree], columns)
        print(
            f"| {variable} | {case.law._elimination.plan.width} | {case.compile_ms:.1f} | {shown(times['ours'])} "
            f"| {shown(times['pgmpy'])} | {ratio:.0f} × | {control:.2f} | {worst:.1e} |"
        )
        if ratio < RATIO_MIN or not worst <= TOLERANCE or control > VOID_ABOVE:
            failed.append(variable)
    if failed:
        sys.exit(f"below {RATIO_MIN} ×, apart by more than {TOLERANCE:g}, or void: {', '.join(failed)}")


if __name__ == "__main__":
    main()
