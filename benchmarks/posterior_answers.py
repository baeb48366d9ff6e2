"""Our side: one release, drawn by the code that the service's worker calls, then every answer from its samples.

`plan` is what `POST /plans` compares and `auto` takes; `release` is the worker's `mechanism.draw` with the operating system's
randomness; `respond` compiles and answers a question's JSON as `POST /releases/{id}/query` does. What HTTP adds is not here.
"""

import os
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from app.core.decisions import Question, SampleSet, answer_question
from app.core.kinds import compile_question
from app.core.kinds.networks.comparison import NetworkAlternative, network_alternatives
from app.core.kinds.networks.mechanisms import NetworkMechanism
from app.core.kinds.networks.model import NetworkModel
from app.core.kinds.networks.statistic import count_records
from app.core.privacy.targets import Target
from benchmarks.adaptive_analyst import Asked
from benchmarks.clinic_network import Literal, People, clinic_model

MODEL = clinic_model()


@lru_cache
def plan(people: int, epsilon: float, delta: float) -> list[NetworkAlternative]:
    """Least expected divergence first, from public numbers only."""
    return network_alternatives(MODEL, people, 1, Target(epsilon, delta))


def release(people: People, mechanism: NetworkMechanism) -> SampleSet:
    counts = count_records(MODEL.network, people.records)
    return SampleSet(MODEL.parameters, mechanism.draw(MODEL, people.size, 1, counts, os.urandom))


@lru_cache(maxsize=100_000)
def compiled(asked: Asked) -> Question:
    estimand = {"kind": "probability", "event": named(MODEL, asked.event), "evidence": named(MODEL, asked.given)}
    return compile_question({"estimand": estimand, "utility": {"kind": "squared"}}, MODEL.parameters, MODEL)


def named(model: NetworkModel, literals: tuple[Literal, ...]) -> dict[str, bool]:
    return {model.network.nodes[variable].name: level for variable, level in literals}


def respond(samples: SampleSet) -> Callable[[Asked], float]:
    def answer(asked: Asked) -> float:
        response = answer_question(compiled(asked), samples).response
        assert isinstance(response, float)
        return response

    return answer


def without_noise(people: People) -> NDArray[np.float64]:
    """(cells,): the posterior's means from exact counts, for the error that is left with no privacy at all."""
    cells = count_records(MODEL.network, people.records).cells.astype(np.float64).reshape(-1, 2) + 1.0
    return np.asarray((cells / cells.sum(axis=1, keepdims=True)).ravel())
