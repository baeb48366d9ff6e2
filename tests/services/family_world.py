"""Columns, rows and models for stories about families other than Bernoulli."""

import random
from typing import Any

COLUMNS = {
    "visits": {"type": "integer", "lower": 0, "upper": 40},
    "weight": {"type": "real", "lower": 40, "upper": 120},
    "days": {"type": "real", "lower": 0, "upper": 60},
}
POISSON = {"family": "poisson", "column": "visits", "trim": {"lower": 2, "upper": 20}}
NORMAL_MEAN = {"family": "normal_mean", "column": "weight", "sd": 10}
EXPONENTIAL = {"family": "exponential", "column": "days", "prior": {"kind": "log_uniform"}}
VISITS, WEIGHT, DAYS = 6.0, 80.0, 0.2
MODELS: dict[str, tuple[dict[str, Any], str, float]] = {
    "poisson": (POISSON, "rate", VISITS),
    "normal_mean": (NORMAL_MEAN, "mean", WEIGHT),
    "exponential": (EXPONENTIAL, "rate", DAYS),
}
"""A model, its parameter's name, and the value the rows below are drawn with."""
LAPLACE = {"kind": "laplace", "samples": 60, "epsilon": 5.0}


def family_rows(people: int = 600, seed: int = 3) -> bytes:
    """A CSV drawn from the models above; what falls outside a column's bounds is moved to them."""
    chance = random.Random(seed)
    lines = ["visits,weight,days"]
    for _ in range(people):
        visits = sum(chance.random() < VISITS / 1000 for _ in range(1000))
        weight = min(max(chance.gauss(WEIGHT, 10), 40), 120)
        days = min(chance.expovariate(DAYS), 60)
        lines.append(f"{min(visits, 40)},{weight:.4f},{days:.5f}")
    return "\n".join(lines).encode() + b"\n"


def question_about(parameter: str) -> bytes:
    text = '{"estimand":{"kind":"parameter","name":"%s"},"utility":{"kind":"squared"}}'
    return (text % parameter).encode()
