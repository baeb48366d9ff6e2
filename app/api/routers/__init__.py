"""Routes, one file a noun. The most asked come first, because addresses are matched in order."""

from app.api.routers import (
    audits,
    datasets,
    inference,
    ledger,
    operations,
    people,
    plans,
    populations,
    progress,
    queries,
    readings,
    releases,
    statistics,
    synthetic,
)

ROUTERS = (
    queries.router,
    readings.router,
    synthetic.router,
    releases.router,
    inference.router,
    statistics.router,
    progress.router,
    people.me_router,
    plans.router,
    datasets.router,
    populations.router,
    people.router,
    ledger.router,
    audits.router,
    operations.router,
)
