"""Clients that other people's generators write from openapi.json refuse a misspelt field before anything is sent, and work."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.client.served_place import Trial

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent / "generated"
SPECIFICATION = ROOT / "openapi" / "openapi.json"
GENERATORS = Path(sys.prefix) / "generators" / "bin"
MISSPELT = [("name", "nmae"), ("level", "levle"), ("evidence", "evidenec"), ("alpha", "alpa"), ("samples", "smaples")]

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed: `make setup` says so too")


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(each) for each in command], cwd=cwd, capture_output=True, text=True, check=False, timeout=120
    )


def answered(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found["problems"] == []
    assert 0 <= found["interval"][0] <= found["interval"][1] <= 1
    assert 0 <= found["probability"] <= 1
    assert found["epsilon"] == pytest.approx(6.22, abs=0.01)


@pytest.fixture(scope="module")
def typescript(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("typescript")
    for name in ("ask.ts", "package.json", "tsconfig.json"):
        shutil.copy(HERE / name, folder / name)
    (folder / "node_modules").symlink_to(HERE / "node_modules")
    made = run(HERE / "node_modules/.bin/openapi-typescript", SPECIFICATION, "-o", "schema.d.ts", cwd=folder)
    assert made.returncode == 0, made.stdout + made.stderr
    return folder


@pytest.mark.slow
@needs_node
def test_a_typescript_client_type_checks_and_asks_a_live_server(typescript: Path, trial: Trial) -> None:
    built = run("node_modules/.bin/tsc", "-p", ".", cwd=typescript)
    assert built.returncode == 0, built.stdout
    asked = (trial.place.url, trial.analyst_key, trial.release, trial.network)
    answered(run("node", "built/ask.js", *asked, cwd=typescript))


@pytest.mark.slow
@needs_node
def test_a_typescript_client_refuses_every_misspelt_field(typescript: Path) -> None:
    """All in one file, so that the compiler starts once."""
    good = (HERE / "ask.ts").read_text()
    for right, wrong in MISSPELT:
        assert good.count(f"{right}:") == 1, right
        (typescript / f"{wrong}.ts").write_text(good.replace(f"{right}:", f"{wrong}:"))
    config = json.loads((HERE / "tsconfig.json").read_text())
    config["files"] = [f"{wrong}.ts" for _, wrong in MISSPELT]
    (typescript / "misspelt.json").write_text(json.dumps(config))
    refused = run("node_modules/.bin/tsc", "-p", "misspelt.json", "--noEmit", cwd=typescript)
    assert refused.returncode != 0
    for _, wrong in MISSPELT:
        assert f"{wrong}.ts(" in refused.stdout, f"{wrong} was accepted"


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("python")
    generator = GENERATORS / "openapi-python-client"
    options = ("--path", SPECIFICATION, "--output-path", "postern_generated", "--meta", "none")
    config = folder / "generator.yml"
    config.write_text("post_hooks: []\n")
    made = run(generator, "generate", *options, "--config", config, cwd=folder)
    assert made.returncode == 0, made.stdout + made.stderr
    left_out = set(re.findall(r"Unsupported content type (\S+)", made.stdout + made.stderr))
    named = [kind for kind in left_out if not kind.startswith("application/vnd.apache.")]
    assert set(named) <= {"text/csv"}  # an upload is also taken as plain bytes
    assert (folder / "postern_generated/api/datasets/upload_data.py").is_file()
    shutil.copy(HERE / "ask.py", folder / "ask.py")
    return folder


def type_checked(folder: Path, *files: str) -> subprocess.CompletedProcess[str]:
    """Only what is ours: the generated code need not be strict."""
    options = ("--config-file", "/dev/null", "--cache-dir", str(folder / ".mypy"), "--follow-imports", "silent")
    return run(GENERATORS / "mypy", *options, *files, cwd=folder)


@pytest.mark.slow
def test_a_python_client_type_checks_and_asks_a_live_server(python: Path, trial: Trial) -> None:
    checked = type_checked(python, "ask.py")
    assert checked.returncode == 0, checked.stdout
    asked = (trial.place.url, trial.analyst_key, trial.release, trial.network)
    answered(run(GENERATORS / "python", "ask.py", *asked, cwd=python))


def test_a_python_client_refuses_every_misspelt_field(python: Path) -> None:
    good = (HERE / "ask.py").read_text()
    for right, wrong in MISSPELT:
        assert good.count(f"{right}=") == 1, right
        (python / f"with_{wrong}.py").write_text(good.replace(f"{right}=", f"{wrong}="))
    refused = type_checked(python, *(f"with_{wrong}.py" for _, wrong in MISSPELT))
    assert refused.returncode == 1, refused.stdout + refused.stderr
    for _, wrong in MISSPELT:
        assert f"with_{wrong}.py" in refused.stdout, f"{wrong} was accepted"
