"""Settings: defaults that need nothing, errors that name the variable, secrets that stay in."""

import os
import re
from pathlib import Path

import pytest

from app.errors import InvalidRequest
from app.settings import MASK, PREFIX, Settings, mask_url, unknown_variables, variable_name

SECRET = "k" * 40
PASSWORD = "hunter2-very-secret"


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No variable of the developer's shell decides a test; `.postern` would land in a scratch directory."""
    for name in list(os.environ):
        if name.upper().startswith(PREFIX):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def refusal(**values: object) -> dict[str, str]:
    with pytest.raises(InvalidRequest) as caught:
        Settings(**values)
    return {problem.field: problem.expected for problem in caught.value.problems}


def test_an_empty_environment_means_embedded_mode(tmp_path: Path) -> None:
    settings = Settings()
    assert settings.data_dir == tmp_path / ".postern"
    assert settings.database_url == f"sqlite+aiosqlite:///{tmp_path}/.postern/postern.db"
    assert settings.uses_sqlite
    assert settings.embedded_worker is True
    assert settings.redis_url is None
    assert settings.signing_key is None
    assert settings.source_roots == ()
    assert (settings.host, settings.port, settings.workers) == ("127.0.0.1", 8000, 1)
    assert (settings.log_level, settings.log_format) == ("info", "json")
    assert settings.upload_bytes_max == 2 * 1024**3
    assert settings.body_bytes_max == 1024**2
    assert settings.samples_max == 1_000_000
    assert (settings.epsilon_max, settings.lease_s) == (20.0, 30.0)
    assert (settings.stale_rights_s, settings.rights_poll_s) == (30.0, 0.4)


def test_reading_settings_creates_no_directory(tmp_path: Path) -> None:
    Settings()
    assert list(tmp_path.iterdir()) == []


def test_an_empty_variable_counts_as_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    for field in Settings.model_fields:
        monkeypatch.setenv(variable_name(field), "")
    assert Settings() == Settings.model_construct(**Settings().model_dump())
    assert Settings().port == 8000


def test_the_environment_is_read_with_the_prefix_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSTERN_PORT", "9001")
    monkeypatch.setenv("HOST", "example.invalid")
    settings = Settings()
    assert settings.port == 9001
    assert settings.host == "127.0.0.1"


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg"])
def test_every_postgresql_spelling_means_one_driver_and_a_separate_worker(scheme: str) -> None:
    settings = Settings(database_url=f"{scheme}://u:p@db:5432/postern")
    assert settings.database_url == "postgresql+psycopg://u:p@db:5432/postern"
    assert settings.embedded_worker is False
    assert not settings.uses_sqlite


def test_the_worker_can_be_forced_either_way() -> None:
    assert Settings(embedded_worker=False).embedded_worker is False
    assert Settings(embedded_worker=None).embedded_worker is True
    on_postgres = Settings(database_url="postgresql://db/postern", embedded_worker="true")
    assert on_postgres.embedded_worker is True


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("database_url", "mysql://db/postern"),
        ("database_url", "postgresql+asyncpg://db/postern"),
        ("database_url", "not a url"),
        ("database_url", "sqlite:///"),
        ("database_url", "sqlite://file.db"),
        ("database_url", f"postgresql://u:{PASSWORD}/x@db/postern"),
        ("database_url", f"postgresql://u:{PASSWORD}#x@db/postern"),
        ("database_url", f"postgresql://u:{PASSWORD}?x@db/postern"),
        ("database_url", f"postgresql://u:12/{PASSWORD}@db/postern"),
        ("database_url", f"postgresql://u:a@{PASSWORD}@db/postern"),
        ("database_url", "postgresql://db:port/postern"),
        ("redis_url", "memcached://cache"),
        ("redis_url", f"redis://:{PASSWORD}/x@cache"),
        ("source_roots", "data/private"),
        ("source_roots", "/"),
        ("signing_key", "short"),
        ("host", "two words"),
        ("port", "65536"),
        ("port", "-1"),
        ("port", "eighty"),
        ("log_level", "loud"),
        ("log_format", "xml"),
        ("embedded_worker", "perhaps"),
        ("workers", "0"),
        ("upload_bytes_max", "0"),
        ("upload_bytes_max", "plenty"),
        ("body_bytes_max", "-5"),
        ("samples_max", "0"),
        ("epsilon_max", "0"),
        ("epsilon_max", "-3"),
        ("epsilon_max", "nan"),
        ("epsilon_max", "inf"),
        ("lease_s", "nan"),
        ("lease_s", "0"),
        ("stale_rights_s", "-1"),
        ("stale_rights_s", "inf"),
        ("rights_poll_s", "1"),
        ("rights_poll_s", "0"),
    ],
)
def test_a_bad_value_is_refused_by_name_without_being_repeated(
    field: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable_name(field), value)
    with pytest.raises(InvalidRequest) as caught:
        Settings()
    (problem,) = caught.value.problems
    assert problem.field == variable_name(field)
    assert len(problem.expected) > 10 or problem.expected == "json or text"
    assert PASSWORD not in str(caught.value) + repr(caught.value.__context__)
    assert str(caught.value).startswith(f"{problem.field}: expected ")


def test_all_bad_values_are_named_at_once() -> None:
    found = refusal(port=-1, epsilon_max=float("nan"), log_format="xml")
    assert set(found) == {"POSTERN_PORT", "POSTERN_EPSILON_MAX", "POSTERN_LOG_FORMAT"}


def test_a_bad_data_directory_is_one_problem_not_three(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert refusal(data_dir=tmp_path / "file") == {"POSTERN_DATA_DIR": "a directory, and this is a file"}
    assert set(refusal(data_dir=tmp_path / "a?b")) == {"POSTERN_DATA_DIR"}


def test_a_misspelt_argument_is_refused() -> None:
    assert set(refusal(databse_url="sqlite:///x.db")) == {"POSTERN_DATABSE_URL"}


def test_source_roots_split_at_commas_and_path_separators(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, third = (tmp_path / name for name in ("a", "b", "c"))
    monkeypatch.setenv("POSTERN_SOURCE_ROOTS", f"{first}{os.pathsep}{second}, {third},")
    assert Settings().source_roots == (first.resolve(), second.resolve(), third.resolve())
    assert Settings(source_roots=[first]).source_roots == (first.resolve(),)


def test_source_roots_are_followed_through_links(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    assert Settings(source_roots=str(link)).source_roots == (real.resolve(),)


def test_a_source_root_may_not_contain_the_services_own_files(tmp_path: Path) -> None:
    link = tmp_path.parent / f"{tmp_path.name}-link"
    link.symlink_to(tmp_path)
    for root in (tmp_path, tmp_path / ".postern", link):
        assert set(refusal(source_roots=str(root))) == {"POSTERN_SOURCE_ROOTS"}


def test_settings_cannot_be_changed_after_the_start() -> None:
    settings = Settings()
    with pytest.raises(ValueError, match="frozen"):
        settings.port = 1


def test_secrets_appear_in_no_text_form() -> None:
    settings = Settings(
        database_url=f"postgresql://postern:{PASSWORD}@db/postern?sslpassword={PASSWORD}",
        redis_url=f"redis://:{PASSWORD}@cache:6379/0",
        signing_key=SECRET,
    )
    described = settings.describe()
    for text in (repr(settings), str(settings), f"{settings}", repr(described)):
        assert PASSWORD not in text
        assert SECRET not in text
    assert settings.signing_key is not None
    assert settings.signing_key.get_secret_value() == SECRET
    assert described["POSTERN_SIGNING_KEY"] == MASK


def test_the_description_names_every_variable_and_keeps_what_is_not_secret() -> None:
    described = Settings(
        database_url=f"postgresql://postern:{PASSWORD}@db:5432/postern?sslmode=require",
        redis_url="redis://cache:6379/0",
    ).describe()
    assert set(described) == {variable_name(field) for field in Settings.model_fields}
    assert described["POSTERN_DATABASE_URL"] == (f"postgresql+psycopg://postern:{MASK}@db:5432/postern?sslmode=require")
    assert described["POSTERN_REDIS_URL"] == "redis://cache:6379/0"
    assert described["POSTERN_EMBEDDED_WORKER"] == "false"
    assert described["POSTERN_SIGNING_KEY"] == "not set"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://:p%40ss@cache:6379/0", f"redis://:{MASK}@cache:6379/0"),
        ("unix:///run/redis.sock?db=1&password=x", f"unix:///run/redis.sock?db=1&password={MASK}"),
        ("sqlite+aiosqlite:////var/lib/postern.db", "sqlite+aiosqlite:////var/lib/postern.db"),
        ("postgresql+psycopg://db/postern", "postgresql+psycopg://db/postern"),
    ],
)
def test_masking_removes_the_password_and_nothing_else(url: str, shown: str) -> None:
    assert mask_url(url) == shown


def test_a_misspelt_variable_is_reported_with_the_name_meant() -> None:
    environ = {"POSTERN_DATABSE_URL": "x", "POSTERN_PORT": "1", "POSTERN_QQQQ": "y", "PATH": "z"}
    assert unknown_variables(environ) == {
        "POSTERN_DATABSE_URL": "POSTERN_DATABASE_URL",
        "POSTERN_QQQQ": None,
    }


def test_the_example_environment_lists_every_setting_and_no_other() -> None:
    text = (Path(__file__).parents[1] / ".env.example").read_text()
    listed = set(re.findall(rf"^#?\s?({PREFIX}[A-Z_]+)=", text, re.MULTILINE))
    assert listed == {variable_name(field) for field in Settings.model_fields}


def test_connections_are_named_by_the_operator_and_masked():
    found = Settings(
        connections='{"clinic": "postgresql://reader:geheim@db.internal:5432/clinic", "b": "postgres://h/d"}'
    )
    assert found.connections["clinic"].get_secret_value().endswith("/clinic")
    assert found.describe()["POSTERN_CONNECTIONS"] == "b=***, clinic=***"
    assert "geheim" not in repr(found)


@pytest.mark.parametrize(
    "given",
    [
        "geheim",
        "[]",
        '{"A": "postgresql://h/d"}',
        '{"a": "mysql://u:geheim@h/d"}',
        '{"a": "postgresql://u:ge@heim@h/d"}',
        '{"a": 1}',
    ],
)
def test_connections_that_cannot_be_used_stop_the_start_without_being_repeated(given: str):
    told = refusal(connections=given)
    assert set(told) == {"POSTERN_CONNECTIONS"}
    assert "geheim" not in str(told)
    assert "heim" not in str(told)
