"""How long reading takes, from public numbers: seconds on the machine of reference, for `public_moment.py` to scale.

Of an upload the columns that were kept are opened and read: time grows with n·`max_rows` and the number of columns, which
are public, and never with what one person has beyond that. A file on the server is parsed as text where it lies and, with a
privacy unit, every row of it is hashed and sorted: only a declared `rows_max` makes that time public.

The constants are those of two cores of 2.1 GHz, rounded up; what another machine does differently is in its measured pace.
"""

from app.core.statistics import RowRequest

ENGINE_S = 0.06
"""Starting the engine twice, spill directories, a thread."""
OPENED_CELL_S = 30e-9
"""Decrypting and decoding one cell of the kept columns."""
OPERATION_S = 12e-9
"""Forming or adding one number of the statistic."""
PARSED_CELL_S = 1_000e-9
"""Cutting one cell of a line of text and reading it; also where every cell has blanks around it, or is missing, which takes
three times as long as cells that are found at once: whose are which must not show."""
HASHED_ROW_S = 3e-6
"""Hashing a row's content and its person, and sorting it to its place."""
TABLE_S = 0.5
"""Asking a database who it is, and what columns there are."""
TABLE_CELL_S = 3e-6
TABLE_HASHED_CELL_S = 8e-6
TABLE_OPERATION_S = 0.5e-6
"""What PostgreSQL takes of one processor for a cell in text, for one that is hashed as well, and for one number formed or added:
measured with 14 columns of dirty text, and rounded up (7 to 63 µs a row without hashing, 60 to 170 with it)."""
WIPED_CELL_S = 10e-9
OPENING_S = 0.02
OPENED_NUMBER_S = 20e-6
"""Opening one number, and its part in what is compared: products of whole numbers that may be long."""


def reading_seconds(request: RowRequest[object], *, rows: int, columns: int) -> float:
    """Of rows that were kept from an upload."""
    return ENGINE_S + rows * (columns * OPENED_CELL_S + request.operations * OPERATION_S)


def parsing_seconds(request: RowRequest[object], *, rows: int, columns: int, hashed: bool) -> float:
    """Of a file read where it lies."""
    each = columns * PARSED_CELL_S + request.operations * OPERATION_S + (HASHED_ROW_S if hashed else 0.0)
    return ENGINE_S + rows * each


def opening_seconds(*, numbers: int) -> float:
    """Of statistics that arrive sealed, with every number compared with what could be."""
    return OPENING_S + numbers * OPENED_NUMBER_S


def table_seconds(request: RowRequest[object], *, rows: int, columns: int, hashed: bool) -> float:
    """Of a table elsewhere, with so many rows at most."""
    cell = TABLE_HASHED_CELL_S if hashed else TABLE_CELL_S
    return TABLE_S + rows * (columns * cell + request.operations * TABLE_OPERATION_S)


def wiping_seconds(*, rows: int, columns: int) -> float:
    """Of overwriting what was kept."""
    return 0.01 + rows * columns * WIPED_CELL_S
