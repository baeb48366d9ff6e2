"""Routes, one file a noun. The most asked come first, because addresses are matched in order."""

from app.api.routers import (
    audits,
    datasets,
    ledger,
    operations,
    people,
    plans,
    populations,
    queries,
    readings,
    releases,
    synthetic,
)

ROUTERS = (
    queries.router,
    readings.router,
    synthetic.router,
    releases.router,
    people.me_router,
    plans.router,
    datasets.router,
    populations.router,
    people.router,
    ledger.router,
    audits.router,
    operations.router,
)
