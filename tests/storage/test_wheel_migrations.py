"""An installed package brings its migrations along."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

from app.storage.migrate import head_revision

ROOT = Path(__file__).resolve().parents[2]


def test_an_installed_package_finds_its_migrations(tmp_path: Path) -> None:
    """A wheel carries the scripts inside the package; nothing of the checkout is on its path."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    code = f"""
from app.storage import migrate
assert str(migrate.migrations_folder()).startswith({str(site)!r})
print(migrate.upgrade({f"sqlite:///{tmp_path / 'installed.db'}"!r}))
"""
    environment = {**os.environ, "PYTHONPATH": str(site)}
    command = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == (head_revision(), "")
