"""The one public list of Rényi orders on which every cost curve is written down.

The list never depends on data or on a release; adding an order later is a new ledger version. A few fractional ones
below 2 serve budgets with large ε, large ones small ε.
"""

ORDERS: tuple[float, ...] = (
    1.25, 1.5, 1.75, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128,
    160, 192, 224, 256, 320, 384, 448, 512, 768, 1024, 1536, 2048, 3072, 4096, 8192, 16384, 32768, 65536,
)  # fmt: skip

ORDERS_VERSION = 1
