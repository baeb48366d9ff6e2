"""Routes, one file a noun. The most asked come first, because addresses are matched in order."""

from app.api.routers import analysts, datasets, keys, ledger, me, operations, plans, queries, readings, releases

ROUTERS = (
    queries.router,
    readings.router,
    releases.router,
    me.router,
    plans.router,
    datasets.router,
    analysts.router,
    keys.router,
    ledger.router,
    operations.router,
)
