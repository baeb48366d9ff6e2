"""Draws as they are and the calibrated view, asked over HTTP: the table of docs/queries.md, measured on the service itself.

    python -m benchmarks.table_over_http [--datasets 200]

One yes/no column, 1,000 people, trim 0.05, θ uniform inside the trim. For each truth a dataset is declared, its rows are uploaded
and released five times, by every setting of the table; each release is asked for its 90 % interval and its mean in both views.
Shown are the share of intervals that hold θ, their mean width and the mean error of the mean, with standard errors. The whole
service runs in this process, on SQLite, behind the ASGI interface; releases are drawn with the operating system's randomness.
"""

import argparse
import asyncio
import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.settings import Settings
from benchmarks.published import table
from tests.api.conftest import MODEL, Service, started

Array = NDArray[np.float64]

PEOPLE = 1_000
SETTINGS = ((1, 1.0), (1, 0.05), (5, 1.0), (20, 0.1), (1_000, 0.02))
VIEWS = ("samples", "calibrated")
THETA = {"kind": "parameter", "name": "theta"}
INTERVAL = {"estimand": THETA, "utility": {"kind": "interval", "level": 0.9}}
MEAN = {"estimand": THETA, "utility": {"kind": "squared"}}


def settings_in(folder: Path) -> Settings:
    """Publication is not held back: nobody's data are in here."""
    return Settings(
        data_dir=folder / "data",
        database_url=f"sqlite:///{folder / 'postern.db'}",
        redis_url=None,
        embedded_worker=True,
        publication_tick_s=0.01,
        publication_pace=1e-6,
        epsilon_max=1_000,
        log_level="error",
    )


async def dataset_of(service: Service, name: str, ones: int) -> str:
    body = {
        "name": name,
        "columns": {"cured": {"type": "binary"}},
        "budget": {"epsilon": 500.0, "delta": 1e-6},
        "source": {"kind": "upload", "retain": True},
    }
    made = await service.expect(201, "steward", "POST", "/datasets", body)
    rows = "cured\n" + "1\n" * ones + "0\n" * (PEOPLE - ones)
    headers = {"Content-Type": "text/csv"}
    await service.expect(200, "steward", "PUT", f"/datasets/{made['id']}/data", content=rows.encode(), headers=headers)
    return str(made["id"])


async def asked(service: Service, release: str, theta: float) -> Array:
    """(held, width, error of the mean) in either view."""
    questions = [question | {"view": view} for view in VIEWS for question in (INTERVAL, MEAN)]
    found = await service.expect(200, "steward", "POST", f"/releases/{release}/queries", {"queries": questions})
    answers = [each["response"] for each in found["answers"]]
    return np.array([shown(answers[2 * i], answers[2 * i + 1], theta) for i in range(len(VIEWS))])


def shown(interval: Any, mean: float, theta: float) -> tuple[float, float, float]:
    low, high = interval
    return float(low <= theta <= high), high - low, abs(mean - theta)


async def measured(service: Service, datasets: int, seed: int = 1) -> Array:
    """(datasets, settings, views, figures)."""
    source = np.random.default_rng(seed)
    found = []
    for number, theta in enumerate(source.uniform(0.05, 0.95, datasets)):
        dataset = await dataset_of(service, f"rows {number}", int(source.binomial(PEOPLE, theta)))
        rows = []
        for samples, temperature in SETTINGS:
            mechanism = {"kind": "baps", "samples": samples, "temperature": temperature}
            body = {"model": MODEL, "mechanism": mechanism}
            made = await service.expect(202, "steward", "POST", f"/datasets/{dataset}/releases", body)
            rows.append(await asked(service, await service.settled(str(made["id"])), float(theta)))
        found.append(rows)
    return np.array(found)


async def run(datasets: int) -> Array:
    with tempfile.TemporaryDirectory() as folder:
        async with started(settings_in(Path(folder))) as service:
            return await measured(service, datasets)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--datasets", type=int, default=200)
    found = asyncio.run(run(parser.parse_args().datasets))
    mean, error = found.mean(axis=0), found.std(axis=0, ddof=1) / math.sqrt(len(found))
    rows = []
    for i, (samples, temperature) in enumerate(SETTINGS):
        cells = [", ".join(f"{mean[i, v, f]:.4f} ± {error[i, v, f]:.4f}" for f in range(3)) for v in range(len(VIEWS))]
        rows.append([f"{samples}, {temperature:g}", *cells])
    print(table(["N, τ", *VIEWS], rows))
    print(f"at N = 1000, τ = 0.02 intervals are {mean[-1, 0, 1] / mean[-1, 1, 1]:.2f} times narrower calibrated")


if __name__ == "__main__":
    main()
