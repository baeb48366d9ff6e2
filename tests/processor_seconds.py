"""Limits of processor time, in seconds of the machine of reference: shared machines work at a third of their speed for hours."""

import os
import time
from itertools import count
from statistics import median

from app.core.kinds import parse_mechanism, parse_model
from app.core.schema import parse_columns
from app.core.statistics.sums import ExactStatistic
from app.services.releases.measure_pace import DRAWING_S, OTHER_PEOPLE, PEOPLE, SAMPLES

ROUNDS = 3
_OTHERS = count(OTHER_PEOPLE, OTHER_PEOPLE)
"""Another grid each time: what one needs is remembered."""


def allowed(seconds: float) -> float:
    """As many seconds of reference, now: ask right after what was timed. Never fewer than were said."""
    model = parse_model({"family": "bernoulli", "column": "a"}, parse_columns({"a": {"type": "binary"}}))
    mechanism = parse_mechanism({"kind": "baps", "samples": SAMPLES}, model)
    taken = []
    for _ in range(ROUNDS):
        people = PEOPLE + next(_OTHERS)
        began = time.thread_time()
        mechanism.draw(model, people, 1, ExactStatistic(people // 3, people), os.urandom)
        taken.append(time.thread_time() - began)
    return seconds * max(1.0, median(taken) / DRAWING_S)
