"""What must stay true of the repository itself: files, locks, image, composition, build entry."""

import ast
import os
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.settings import PREFIX, Settings, variable_name
from tests.defects.defects import DEFECTS

ROOT = Path(__file__).parents[1]
LOCKS = ("requirements.lock", "requirements-dev.lock", "requirements-build.lock")
NEEDED = (
    *LOCKS, "README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "Makefile", "Dockerfile",
    "docker-compose.yml", ".dockerignore", ".env.example", ".gitignore", ".ci/run", "docs/architecture.md",
    "openapi/openapi.json", "pyproject.toml", "client/pyproject.toml", "client/README.md",
)  # fmt: skip
TARGETS = [
    "setup", "run", "test", "test-fast", "test-defects", "test-deep", "test-faults", "lint", "format", "types",
    "known-answer", "openapi", "bench", "check",
    "lock", "clean",
]  # fmt: skip
LINES_MAX = 400
SECRET_NAMES = re.compile(r"PASSWORD|SECRET|TOKEN|SIGNING_KEY|_URL$")


def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    return loaded


def services() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = compose()["services"]
    return found


def dockerfile_stages() -> list[list[tuple[str, str]]]:
    """Instructions of each build stage, continuation lines joined, comments dropped."""
    lines = [line for line in (ROOT / "Dockerfile").read_text().splitlines() if not line.startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    stages: list[list[tuple[str, str]]] = []
    for line in filter(None, joined.splitlines()):
        word, _, rest = line.partition(" ")
        if word == "FROM":
            stages.append([])
        if stages:
            stages[-1].append((word, rest.strip()))
    return stages


def runtime_stage() -> dict[str, str]:
    return dict(dockerfile_stages()[-1])


def locked_versions(name: str) -> dict[str, str]:
    return dict(re.findall(r"^([A-Za-z0-9._-]+)(?:\[[^]]*\])?==(\S+)", (ROOT / name).read_text(), re.MULTILINE))


@pytest.mark.parametrize("name", NEEDED)
def test_a_needed_file_exists_and_says_something(name: str) -> None:
    assert (ROOT / name).stat().st_size > 0


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_file_names_no_host_and_hashes_every_package(name: str) -> None:
    text = (ROOT / name).read_text()
    assert not re.search(r"://|--(?:extra-)?index-url|--find-links|--trusted-host", text)
    entries = [entry for entry in re.split(r"\n(?=\S)", text.strip()) if not entry.startswith("#")]
    assert entries
    assert [entry for entry in entries if "==" not in entry or "--hash=sha256:" not in entry] == []


def test_no_two_lock_files_pin_one_package_differently() -> None:
    runtime, dev, build = (locked_versions(name) for name in LOCKS)
    assert runtime.items() <= dev.items()
    assert {name: version for name, version in build.items() if dev.get(name, version) != version} == {}


def test_every_declared_dependency_is_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    declared = {re.split(r"[\[>=<;~! ]", item)[0].lower() for item in project["project"]["dependencies"]}
    development = {re.split(r"[\[>=<;~! ]", item)[0].lower() for item in project["dependency-groups"]["dev"]}
    assert declared <= set(locked_versions("requirements.lock"))
    assert development <= set(locked_versions("requirements-dev.lock"))


def test_files_that_record_registry_hosts_are_absent() -> None:
    assert [name for name in ("uv.lock", "pylock.toml", "poetry.lock") if (ROOT / name).exists()] == []


def test_the_build_entry_is_executable_and_runs_the_build() -> None:
    entry = ROOT / ".ci" / "run"
    assert os.access(entry, os.X_OK)
    lines = [line for line in entry.read_text().splitlines() if line and not line.startswith("#")]
    assert lines[0] == "set -euo pipefail"
    assert lines[-1] == 'exec python3 -I .ci/build.py "$@"'


def test_the_build_runs_every_part_of_make_check() -> None:
    tree = ast.parse((ROOT / ".ci" / "build.py").read_text())
    (checks, suite) = next(
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "(CHECKS, SUITE)"
    )
    (prerequisites, recipe) = re.findall(r"^check: (.*) ##.*\n\t(.*)", (ROOT / "Makefile").read_text(), re.MULTILINE)[0]
    assert prerequisites.split() == list(checks)
    assert recipe.split()[-1] == suite


def make(*arguments: str) -> str:
    """Output of make as a person would start it, even when this suite was itself started by make."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    done = subprocess.run(
        ["make", *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, check=True, timeout=30
    )
    return done.stdout


def test_make_alone_prints_every_target_without_colours() -> None:
    shown = make()
    assert "\x1b" not in shown
    assert re.findall(r"^\s+make ([a-z-]+)\s+\S", shown, re.MULTILINE) == ["help", *TARGETS]


def test_check_runs_lint_types_the_specification_and_the_suite() -> None:
    plan = make("--dry-run", "check")
    steps = ["ruff check", "ruff format --check", "lint-imports", "mypy", "postern openapi", "pytest -n 2"]
    positions = [plan.find(step) for step in steps]
    assert -1 not in positions
    assert positions == sorted(positions)


@pytest.mark.parametrize("folder", ["app", "client", "tests"])
def test_no_source_file_outgrows_the_limit(folder: str) -> None:
    lengths = {path: path.read_text().count("\n") for path in (ROOT / folder).rglob("*.py")}
    assert lengths
    assert [str(path.relative_to(ROOT)) for path, lines in lengths.items() if lines > LINES_MAX] == []


def test_no_module_is_named_after_nothing() -> None:
    drawers = {"utils.py", "helpers.py", "common.py"}
    assert [str(path) for path in (ROOT / "app").rglob("*.py") if path.name in drawers] == []


def written_strings(path: Path) -> list[str]:
    """Every string of a source file; what an f-string inserts is a letter, for what it stands for is a string elsewhere."""
    texts = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.JoinedStr):
            parts = [part.value if isinstance(part, ast.Constant) else "x" for part in node.values]
            texts.append("".join(part for part in parts if isinstance(part, str)))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
            texts.append(node.value if isinstance(node.value, str) else node.value.decode("latin-1"))
    return texts


def test_no_regular_expression_needs_a_python_newer_than_3_11_4() -> None:
    """Possessive quantifiers and atomic groups match wrongly there: `1e` was once a number on Debian 12's own Python."""
    possessive = re.compile(r"[+*?}]\+|\(\?>")
    folders = [
        folder for folder in ROOT.iterdir() if folder.is_dir() and folder.name[0] != "." and folder.name != "tests"
    ]
    sources = [path for folder in folders for path in folder.rglob("*.py")]
    assert ROOT / "app" / "core" / "language" / "tokens.py" in sources
    found = {
        str(path.relative_to(ROOT)): text
        for path in sources
        for text in filter(possessive.search, written_strings(path))
    }
    assert found == {}


def test_settings_import_nothing_of_the_application_but_errors() -> None:
    tree = ast.parse((ROOT / "app" / "settings.py").read_text())
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
    assert {name for name in imported if name.split(".")[0] == "app"} == {"app.errors"}


def test_every_decision_record_is_short_and_numbered_once() -> None:
    records = sorted((ROOT / "docs" / "adr").glob("[0-9]*.md"))
    assert len({path.name[:4] for path in records}) == len(records) > 0
    assert {path.name: len(path.read_text().split()) for path in records if len(path.read_text().split()) > 300} == {}


def test_the_changelog_has_a_privacy_heading_in_its_newest_section() -> None:
    newest = re.split(r"^## ", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)[1]
    assert newest.startswith("[Unreleased]")
    assert re.search(r"^### Privacy$", newest, re.MULTILINE)


def test_the_image_runs_as_a_fixed_user_that_is_not_root() -> None:
    user = runtime_stage()["USER"]
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", user)
    assert f"--uid {user.split(':')[0]} " in " ".join(rest for _, rest in dockerfile_stages()[-1])


def test_the_image_is_built_in_stages_and_ships_no_build_tools() -> None:
    builder, runtime = dockerfile_stages()
    assert any("--require-hashes -r requirements.lock" in rest for word, rest in builder if word == "RUN")
    assert [rest for word, rest in runtime if word == "COPY"] == ["--from=builder /opt/venv /opt/venv"]
    assert not any(re.search(r"\b(?:pip|uv|apt-get|hatchling)\b", rest) for word, rest in runtime if word == "RUN")


def test_the_image_checks_its_health_and_stops_on_a_signal() -> None:
    stage = runtime_stage()
    assert "/healthz" in stage["HEALTHCHECK"]
    assert stage["STOPSIGNAL"] == "SIGTERM"
    assert stage["ENTRYPOINT"] == '["postern"]'
    assert stage["CMD"] == '["serve", "--host", "0.0.0.0"]'
    assert stage["VOLUME"] == '["/var/lib/postern"]'
    assert "POSTERN_DATA_DIR=/var/lib/postern" in stage["ENV"]


def test_no_secret_is_written_into_the_image() -> None:
    given = [rest for stage in dockerfile_stages() for word, rest in stage if word in {"ENV", "ARG"}]
    assert [text for text in given if SECRET_NAMES.search(text.split("=")[0])] == []
    assert not re.search(r"PASSWORD|SIGNING_KEY|SECRET", " ".join(given))


def test_only_listed_paths_reach_the_image_builder() -> None:
    rules = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and not line.startswith("#")]
    assert rules[0] == "*"
    admitted = {rule.removeprefix("!") for rule in rules if rule.startswith("!")}
    assert {"app", "client/postern", "pyproject.toml", "requirements.lock", "README.md", "LICENSE"} <= admitted
    assert admitted.isdisjoint({".env", ".git", ".postern", ".venv", "tests"})


def test_the_composition_has_the_five_services() -> None:
    assert set(services()) == {"postgres", "redis", "migrate", "api", "worker"}


def test_every_secret_of_the_composition_is_required_from_the_environment() -> None:
    for name, service in services().items():
        for key, value in service.get("environment", {}).items():
            if SECRET_NAMES.search(key):
                assert re.search(r"\$\{[A-Z_]+:\?[^}]+\}", value), f"{name}.{key} is not required from outside"


def test_only_the_api_publishes_a_port_and_only_on_loopback() -> None:
    published = {name: service["ports"] for name, service in services().items() if "ports" in service}
    assert set(published) == {"api"}
    assert all(str(port).startswith("127.0.0.1:") for port in published["api"])
    assert compose()["networks"]["backend"]["internal"] is True
    assert {name for name, service in services().items() if "edge" in service["networks"]} == {"api"}


def test_services_start_in_the_order_they_need_one_another() -> None:
    waits = {name: service.get("depends_on", {}) for name, service in services().items()}
    assert waits["migrate"]["postgres"]["condition"] == "service_healthy"
    for name in ("api", "worker"):
        assert waits[name]["migrate"]["condition"] == "service_completed_successfully"
        assert waits[name]["redis"]["condition"] == "service_healthy"
    assert services()["migrate"]["restart"] == "no"
    for name in ("postgres", "redis"):
        assert services()[name]["healthcheck"]["test"]


def test_containers_cannot_write_outside_their_volumes() -> None:
    for name, service in services().items():
        assert service["read_only"] is True, name
        assert "no-new-privileges:true" in service["security_opt"], name
        assert any(str(mount).startswith("/tmp") for mount in service["tmpfs"]), name  # noqa: S108
    for name in ("api", "worker"):
        assert services()[name]["cap_drop"] == ["ALL"]
        assert "data:/var/lib/postern" in services()[name]["volumes"]


FIXED_BY_THE_COMPOSITION = {"POSTERN_DATABASE_URL", "POSTERN_REDIS_URL", "POSTERN_EMBEDDED_WORKER"}
FIXED_BY_THE_IMAGE = {"POSTERN_DATA_DIR", "POSTERN_HOST", "POSTERN_PORT"}


def test_the_composition_passes_every_setting_and_gives_none_a_default_of_its_own() -> None:
    known = {variable_name(field) for field in Settings.model_fields}
    for name in ("migrate", "api", "worker"):
        given = services()[name]["environment"]
        assert set(given) == known - FIXED_BY_THE_IMAGE
        for key, value in given.items():
            assert key in FIXED_BY_THE_COMPOSITION or re.fullmatch(rf"\$\{{{key}:[-?][^}}]*\}}", value), key
            assert key in FIXED_BY_THE_COMPOSITION or ":?" in value or value.endswith(":-}"), key


def test_docs_of_operations_list_every_setting_with_what_is_expected() -> None:
    rows = re.findall(
        rf"^\| `({PREFIX}\w+)` \| [^|]* \| ([^|]*) \|", (ROOT / "docs/operations.md").read_text(), re.MULTILINE
    )
    expected = {variable_name(name): field.description for name, field in Settings.model_fields.items()}
    assert dict(rows).keys() == expected.keys()


def test_every_defect_of_make_test_defects_still_has_its_place() -> None:
    """A defect whose line was rewritten shows nothing, and nobody runs them before every commit."""
    for defect in DEFECTS:
        assert (ROOT / defect.path).read_text().count(defect.before) == 1, defect
        assert (ROOT / defect.tests[0]).exists(), defect
