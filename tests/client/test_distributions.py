"""The client as others get it: a wheel of its own that needs nothing of the service, and the same sources in the service's."""

import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import app
import postern
from tests.client.served_place import Trial

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "client"
SERVICE_LIBRARIES = (
    "app",
    "fastapi",
    "numpy",
    "opendp",
    "psycopg",
    "pydantic",
    "redis",
    "scipy",
    "sqlalchemy",
    "typer",
)

ASKS = """
import asyncio, json, os, sys
import postern.client
from postern.client import AsyncClient, Client

release = os.environ["RELEASE"]
with Client() as client:
    found = [float(client.release(release).mean("theta"))]
    try:
        client.release(release).samples().to_pandas()
    except ModuleNotFoundError as missing:
        found.append(str(missing))

async def main():
    async with AsyncClient() as client:
        return float(await (await client.release(release)).mean("theta"))

found += [asyncio.run(main()), postern.client.__file__, sorted({name.partition(".")[0] for name in sys.modules})]
print(json.dumps(found))
"""


def project(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return found


def built(folder: Path, where: Path) -> zipfile.ZipFile:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(where)]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    (wheel,) = where.glob("*.whl")
    return zipfile.ZipFile(wheel)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("wheel")
    with built(CLIENT, where) as archive:
        return Path(str(archive.filename))


def sources() -> set[str]:
    return {str(file.relative_to(CLIENT)) for file in (CLIENT / "postern").rglob("*.py")} | {"postern/py.typed"}


def needed(names: list[str]) -> set[str]:
    """The distributions a list of requirements brings along, from what is installed here. Extras are nobody's need."""
    found: set[str] = set()
    while names:
        requirement = Requirement(names.pop())
        name = canonicalize_name(requirement.name)
        if name not in found and (requirement.marker is None or requirement.marker.evaluate({"extra": ""})):
            found.add(name)
            names += distribution(name).requires or []
    return found


def environment_with(wheel: Path, folder: Path) -> Path:
    """A virtual environment that has the wheel and the libraries it asks for, linked from this one, and nothing else."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True, capture_output=True)
    (site,) = folder.glob("lib/python*/site-packages")
    for name in needed(project(CLIENT)["dependencies"]):
        known = distribution(name)
        for top in {file.parts[0] for file in known.files or [] if file.parts[0] not in ("..", "__pycache__")}:
            (site / top).symlink_to(Path(str(known.locate_file(top))))
    python = folder / "bin" / "python"
    install = [
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--no-compile",
        "--disable-pip-version-check",
        str(wheel),
    ]
    subprocess.run([sys.executable, "-m", "pip", "--python", str(python), *install], check=True, capture_output=True)
    return python


def test_a_wheel_of_the_client_holds_its_sources_and_nothing_of_the_service(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        (metadata,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
        said = archive.read(metadata).decode()
    assert names == sources()
    assert re.findall(r"^(?:Name|Version): (.*)$", said, re.MULTILINE) == ["pypostern", postern.__version__]
    always = [line for line in re.findall(r"^Requires-Dist: (.*)$", said, re.MULTILINE) if "extra ==" not in line]
    assert [re.split(r"[<>=]", line)[0] for line in always] == ["httpx2", "msgspec"]


def test_the_services_wheel_carries_the_same_client(tmp_path: Path) -> None:
    with built(ROOT, tmp_path) as archive:
        carried = {name: archive.read(name) for name in archive.namelist() if name.startswith("postern/")}
    assert carried == {name: (CLIENT / name).read_bytes() for name in sources()}


@pytest.mark.slow
def test_the_client_installed_alone_asks_a_live_service(wheel: Path, trial: Trial, tmp_path: Path) -> None:
    python = environment_with(wheel, tmp_path / "empty")
    variables = {"POSTERN_URL": trial.place.url, "POSTERN_KEY": trial.analyst_key, "RELEASE": trial.release}
    ran = subprocess.run(
        [str(python), "-I", "-W", "error", "-c", ASKS],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    blocking, missing, awaiting, file, loaded = json.loads(ran.stdout)
    assert 0 < blocking == awaiting < 1
    assert "needs pandas, which is not installed" in missing
    assert Path(file).is_relative_to(tmp_path)
    assert set(SERVICE_LIBRARIES).isdisjoint(loaded)


def test_importing_the_client_loads_nothing_of_the_service_and_nothing_heavy() -> None:
    heavy = (*SERVICE_LIBRARIES, "arviz_base", "pandas", "polars", "pyarrow", "xarray")
    script = f"import sys, postern.client; print([name for name in {heavy} if name in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"


def test_the_service_needs_what_the_client_it_carries_needs() -> None:
    assert set(project(CLIENT)["dependencies"]) <= set(project(ROOT)["dependencies"])


def test_one_version_and_one_licence_for_service_and_client() -> None:
    assert project(ROOT)["version"] == app.__version__ == postern.__version__
    assert (CLIENT / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_nobody_is_told_to_install_a_distribution_of_somebody_elses() -> None:
    """`postern` and `postern-client` on the public index are other people's; ours is installed from a path or a wheel."""
    folders = [ROOT / name for name in ("app", "client", "docs", "examples", "openapi")]
    files = [*ROOT.glob("*.md"), *(file for folder in folders for file in folder.rglob("*") if file.is_file())]
    told = re.compile(rb"pip install (?:-\S+ )*[\"']?(?:py)?postern\b")
    assert [str(file) for file in files if told.search(file.read_bytes())] == []
