"""Questions to a network of 37 nodes and 500 probabilities over 1,000 samples: ours against pgmpy, one sample at a time.

    python benchmarks/bench_networks.py [--looped 50] [--rounds 9] [--agree 1000]

Every leaf is known, so that no node is barren and all 37 matter. Query time only: pgmpy's models are built beforehand, our
question is compiled beforehand (the table also says what compiling costs the first time). One round asks pgmpy about
`looped` samples, scales to 1,000, and asks us about all 1,000, in random order in one process; times are process CPU, and
medians and quartiles are over the rounds. Two copies of the control run in each round, and the run is void if their
medians differ by more than 15 %. Agreement is checked on `agree` samples, each to 1e-9. Fails below 300 ×. Only a full run
is published.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from app.core.kinds.networks.evidence.compiled import CompiledLaw, compile_law
from app.core.kinds.networks.evidence.elimination_order import plan_elimination, relevant_nodes
from benchmarks.published import machine, publish, quartiles, spread, table
from tests.core.networks.network_cases import Array, clinical_network, draw_samples, leaves
from tests.core.networks.pgmpy_peer import pgmpy_engine, pgmpy_law

SAMPLES = 1_000
RATIO_MIN = 300
VOID_ABOVE = 1.15
TOLERANCE = 1e-9
LOOPED, ROUNDS = 50, 9
PARTS = ("Postern", "pgmpy", "pgmpy again")
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

    parts = dict(zip(PARTS, (ours, loop, loop), strict=True))
    times: dict[str, list[float]] = {name: [] for name in parts}
    ours()
    for _ in range(rounds):
        for name in rng.permutation(list(parts)):
            scale = 1.0 if name == PARTS[0] else SAMPLES / len(engines)
            times[str(name)].append(cpu_ms(parts[str(name)]) * scale)
    return times


def worst_difference(case: Case, engines: list[Any], columns: tuple[Array, ...]) -> float:
    ours = case.law.probabilities(columns)
    worst = 0.0
    for sample, engine in enumerate(engines):
        theirs = pgmpy_law(engine, case.variable, case.evidence, case.law.levels)
        worst = max(worst, float(np.abs(ours[:, sample] - theirs).max()))
    return worst


def figures_of(rounds: list[dict[str, Any]]) -> tuple[float, float]:
    """(ratio to the faster of the two controls, how far the controls are apart), of medians."""
    ours, one, two = (statistics.median(row[name] for row in rounds) for name in PARTS)
    return min(one, two) / ours, max(one, two) / min(one, two)


def table_of(cases: list[dict[str, Any]]) -> str:
    rows = []
    for case in cases:
        ratio, control = figures_of(case["rounds"])
        ours, theirs = (spread([row[name] for row in case["rounds"]], 3) for name in PARTS[:2])
        shown = [f"{case['compile_ms']:.1f}", ours, theirs, f"{ratio:,.0f} ×", f"{control:.2f}"]
        rows.append([case["variable"], case["width"], *shown, f"{case['worst_difference']:.0e}"])
    return table(
        ["variable", "width", "compile", "Postern", "pgmpy", "ratio", "control", "worst difference"], rows
    )  # fmt: skip


def plot(figure: Any, cases: list[dict[str, Any]]) -> None:
    panel = figure.subplots()
    for part, colour in zip(PARTS, ("C2", "C0", "C1"), strict=True):
        found = [quartiles([row[part] for row in case["rounds"]]) for case in cases]
        low, middle, high = (np.array(side) for side in zip(*found, strict=True))
        places = np.arange(len(cases)) + 0.2 * (PARTS.index(part) - 1)
        panel.errorbar(places, middle, yerr=(middle - low, high - middle), fmt="o", color=colour, label=part, capsize=3)
    panel.set(yscale="log", xticks=range(len(cases)), ylabel="CPU ms for 1,000 samples")
    panel.set_xticklabels([case["variable"] for case in cases])
    panel.set(xlabel="variable asked about, given all leaves")
    panel.grid(alpha=0.3, axis="y")
    panel.legend(frameon=False, fontsize=8)


def measured(options: argparse.Namespace) -> list[dict[str, Any]]:
    rng = np.random.default_rng(5)
    cells = draw_samples(NETWORK, SAMPLES, rng)
    columns = tuple(cells[:, k].copy() for k in range(NETWORK.cell_count))
    engines = [pgmpy_engine(NETWORK, row) for row in cells[: max(options.agree, options.looped)]]
    found = []
    for variable in TARGETS:
        case = make_case(variable, rng)
        times = measure(case, engines[: options.looped], columns, options.rounds, rng)
        rounds = [{name: float(f"{times[name][i]:.5g}") for name in PARTS} for i in range(options.rounds)]
        found.append(
            {
                "variable": variable,
                "width": case.law._elimination.plan.width,
                "compile_ms": round(case.compile_ms, 3),
                "worst_difference": worst_difference(case, engines[: options.agree], columns),
                "rounds": rounds,
            }
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Network questions against pgmpy")
    parser.add_argument("--looped", type=int, default=LOOPED, help="samples pgmpy is timed on, scaled to 1,000")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--agree", type=int, default=SAMPLES, help="samples compared with pgmpy")
    options = parser.parse_args()
    network = {"nodes": len(NETWORK.nodes), "probabilities": NETWORK.cell_count, "leaves": len(leaves(NETWORK))}
    setting = network | {"samples": SAMPLES, **vars(options)}
    print("CPU ms, median (quartiles); " + ", ".join(f"{name} {value}" for name, value in setting.items()))
    cases = measured(options)
    text = table_of(cases)
    print(text)
    failed = []
    for case in cases:
        ratio, control = figures_of(case["rounds"])
        if ratio < RATIO_MIN or not case["worst_difference"] <= TOLERANCE or control > VOID_ABOVE:
            failed.append(case["variable"])
    if failed:
        sys.exit(f"below {RATIO_MIN} ×, apart by more than {TOLERANCE:g}, or void: {', '.join(failed)}")
    if (options.looped, options.rounds, options.agree) == (LOOPED, ROUNDS, SAMPLES):
        body = {"machine": machine("numpy", "pgmpy"), "setting": setting, "cases": cases}
        publish("networks", body, {"ratio": text}, lambda figure: plot(figure, cases), (6, 3.5))


if __name__ == "__main__":
    main()
