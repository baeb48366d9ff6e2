"""What a benchmark leaves behind: `docs/benchmarks/<name>.json` with every round, an SVG, and its tables in the page.

docs/benchmarks.md holds a pair of comments for every table,

    <!-- accuracy.headline -->
    …
    <!-- /accuracy.headline -->

and `publish` puts the table between them. The same tables stand in the JSON under `tables`, so that a test can compare the
page with the file, and recompute them from the rounds. A run with fewer rounds than usual is shown, not published.
"""

import json
import os
import platform
import re
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = DOCS / "benchmarks.md"
FOLDER = DOCS / "benchmarks"
Quartiles = tuple[float, float, float]


def quartiles(values: Sequence[float]) -> Quartiles:
    """(lower, median, upper), linear between order statistics."""
    low, middle, high = np.quantile(np.asarray(values, dtype=np.float64), [0.25, 0.5, 0.75]).tolist()
    return low, middle, high


def spread(values: Sequence[float], digits: int = 2) -> str:
    """`median (lower–upper)`, to significant digits."""
    low, middle, high = (significant(value, digits) for value in quartiles(values))
    return f"{middle} ({low}–{high})"


def significant(value: float, digits: int = 2) -> str:
    """1,230 · 12 · 0.0012: so many significant digits, never in powers of ten."""
    if value == 0 or not np.isfinite(value):
        return f"{value:g}"
    places = digits - 1 - int(np.floor(np.log10(abs(float(f"{value:.{digits - 1}e}")))))
    return f"{round(value, places):,.{max(places, 0)}f}"


def table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Markdown: the first column to the left, the rest to the right."""
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)], *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def machine(*packages: str) -> dict[str, Any]:
    """What the figures were measured on; nothing that names the machine."""
    return {
        "system": platform.system(),
        "architecture": platform.machine(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "packages": {name: version(name) for name in packages},
    }


def publish(
    name: str,
    body: Mapping[str, Any],
    tables: Mapping[str, str],
    draw: Callable[[Any], None],
    size: tuple[float, float],
) -> None:
    """`draw` gets a matplotlib figure. Lists of numbers stand on one line each in the file."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    whole = {"benchmark": name, **body, "tables": dict(tables)}
    (FOLDER / f"{name}.json").write_text(as_text(whole), encoding="utf-8")
    write_svg(FOLDER / f"{name}.svg", draw, size)
    PAGE.write_text(refreshed(PAGE.read_text(encoding="utf-8"), name, tables), encoding="utf-8")
    print(f"\nwritten: docs/benchmarks/{name}.json, docs/benchmarks/{name}.svg, tables of docs/benchmarks.md")


def as_text(body: Mapping[str, Any]) -> str:
    text = json.dumps(body, indent=1, ensure_ascii=False, allow_nan=False)
    flat = re.sub(r"\[\s+([^\[\]{}]*?)\s+\]", lambda found: "[" + re.sub(r"\n\s+", " ", found[1]) + "]", text)
    return flat + "\n"


def refreshed(page: str, name: str, tables: Mapping[str, str]) -> str:
    """The page with every table of this benchmark between its two comments. A missing pair is an error."""
    for part, text in tables.items():
        mark = f"{name}.{part}"
        pattern = re.compile(rf"(<!-- {re.escape(mark)} -->\n).*?(<!-- /{re.escape(mark)} -->)", re.DOTALL)
        page, found = pattern.subn(lambda match, text=text: f"{match[1]}{text}\n{match[2]}", page)  # type: ignore[misc]
        if found != 1:
            raise ValueError(f"docs/benchmarks.md has {found} places for {mark}")
    return page


def write_svg(path: Path, draw: Callable[[Any], None], size: tuple[float, float]) -> None:
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams |= {"svg.hashsalt": "postern", "svg.fonttype": "none", "font.size": 9}
    from matplotlib import pyplot

    figure = pyplot.figure(figsize=size, layout="constrained")
    draw(figure)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
