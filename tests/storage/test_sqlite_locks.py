"""Two handles on one SQLite file in a process must not free each other's locks."""

import asyncio
import sqlite3
import subprocess
import sys
from pathlib import Path

from sqlalchemy import text

from app.storage.engine import Database


async def test_opening_a_database_again_does_not_let_another_process_delete_its_log(tmp_path: Path) -> None:
    """POSIX drops all of a process's locks on a file when any descriptor of it is closed."""
    path = tmp_path / "held.db"
    first = Database.open(f"sqlite:///{path}")
    async with first.write() as connection:
        await connection.execute(text("CREATE TABLE lines (id INTEGER PRIMARY KEY)"))
    second = Database.open(f"sqlite:///{path}")
    bystander = (
        f"import sqlite3; c = sqlite3.connect({str(path)!r}); c.execute('SELECT 1 FROM lines').fetchall(); c.close()"
    )
    await asyncio.to_thread(subprocess.run, [sys.executable, "-c", bystander], check=True, timeout=30)
    async with first.write() as connection:
        await connection.execute(text("INSERT INTO lines VALUES (7)"))
    seen = sqlite3.connect(path)
    try:
        assert seen.execute("SELECT id FROM lines").fetchall() == [(7,)]
    finally:
        seen.close()
    await second.dispose()
    await first.dispose()
