"""Fenced blocks of a document, as a script to run and as answers to expect.

A `json` block after one that runs is what it prints: the same fields and kinds of value, and the same values too if its
fence says `exact`; `…` stands for anything.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

RUN = {"bash", "python"}
SHOWN = {"text", "json", "mermaid", ""}
ELLIPSIS = "…"
END = "==== end of block"


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block; `note` is what follows the language on the opening fence."""

    line: int
    heading: str
    language: str
    note: str
    text: str

    @property
    def production(self) -> bool:
        return "PostgreSQL" in self.heading


def blocks_of(path: Path) -> list[Block]:
    found: list[Block] = []
    heading, opened, lines = "", None, list[str]()
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if opened is None and line.startswith("```"):
            opened, lines = (number, *line[3:].partition(" ")[::2]), []
        elif opened is not None and line.strip() == "```":
            found.append(Block(opened[0], heading, opened[1], opened[2], "\n".join(lines) + "\n"))
            opened = None
        elif opened is not None:
            lines.append(line)
        elif line.startswith("#"):
            heading = line
    assert opened is None, f"{path.name}: the block at line {opened and opened[0]} never ends"
    return found


def runs_by_place(path: Path) -> dict[str, list[Block]]:
    """What of a document runs where."""
    run = [block for block in blocks_of(path) if block.language in RUN]
    if not any(block.language == "bash" for block in run):
        return {"nowhere": run} if run else {}
    places = {"embedded": [b for b in run if not b.production], "production": [b for b in run if b.production]}
    return {place: blocks for place, blocks in places.items() if blocks}


def script_of(blocks: list[Block]) -> str:
    """One shell script; a mark after each block tells their outputs apart.

    Python blocks that follow each other are one process, which takes a second to load what they import: each with names of its
    own, as if pasted alone.
    """
    parts = ["set -euo pipefail"]
    for language, group in groupby(blocks, key=lambda block: block.language):
        if language == "python":
            runs = [f"exec({block.text!r}, {{'__name__': '__main__'}}); {_mark(block)}" for block in group]
            parts.append("python3 - <<'END_OF_PYTHON'\n" + "\n".join(runs) + "\nEND_OF_PYTHON")
        else:
            parts += [f"{block.text}\nprintf '\\n{END} %s\\n' {block.line}" for block in group]
    return "\n".join(parts)


def _mark(block: Block) -> str:
    return f"print('\\n{END} {block.line}', flush=True)"


def outputs_of(printed: str) -> dict[int, str]:
    pieces = re.split(rf"\n{END} (\d+)\n", printed)
    return {int(line): text for text, line in zip(pieces[::2], pieces[1::2], strict=False)}


def expected_outputs(blocks: list[Block]) -> Iterator[tuple[Block, Block]]:
    for before, after in pairwise(blocks):
        if before.language in RUN and after.language == "json":
            yield before, after


def differences(shown: Any, got: Any, exact: bool, where: str = "$") -> Iterator[str]:
    """Where what was printed is not what the document shows."""
    if shown in (ELLIPSIS, {ELLIPSIS: ELLIPSIS}) or (not exact and (shown is None or got is None)):
        return
    if isinstance(shown, dict) and isinstance(got, dict):
        named = {name for name in shown if name != ELLIPSIS}
        if not named <= set(got) or (ELLIPSIS not in shown and named != set(got)):
            yield f"{where}: shown {sorted(named)}, got {sorted(got)}"
            return
        for name in named:
            yield from differences(shown[name], got[name], exact, f"{where}.{name}")
    elif isinstance(shown, str) and isinstance(got, str):
        pattern = ".*".join(re.escape(part) for part in shown.split(ELLIPSIS))
        if exact and not re.fullmatch(pattern, got):
            yield f"{where}: shown {shown!r}, got {got!r}"
    elif is_number(shown) and is_number(got):
        if exact and not math.isclose(shown, got, rel_tol=5e-3):
            yield f"{where}: shown {shown}, got {got}"
    elif type(shown) is not type(got) or (exact and shown != got):
        yield f"{where}: shown {shown!r}, got {got!r}"


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
