"""Every knob Postern has, read once from `POSTERN_*` environment variables.

Nothing is required in embedded mode: SQLite and uploads live in `DATA_DIR`, the
cache lives in the process. A value that cannot be used stops the start with the
variable's name and what it should have been; the value itself is never repeated,
because it may be a password. Each field's description is that sentence.
"""

import difflib
import json
import os
import re
from collections.abc import Mapping
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import ByteSize, Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from app.errors import FieldProblem, InvalidRequest

PREFIX = "POSTERN_"
DATABASE_FILE = "postern.db"
MASK = "***"
_DRIVERS = {
    "sqlite": "sqlite+aiosqlite",
    "sqlite+aiosqlite": "sqlite+aiosqlite",
    "postgres": "postgresql+psycopg",
    "postgresql": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
}


def _sqlite_in_data_dir(data: dict[str, Any]) -> str:
    return f"sqlite+aiosqlite:///{data['data_dir'] / DATABASE_FILE}"


def _worker_beside_sqlite(data: dict[str, Any]) -> bool:
    return str(data["database_url"]).startswith("sqlite")


class Settings(BaseSettings):
    """Immutable; build it once in `main` and hand it down.

    Raises `InvalidRequest`, one problem for every variable that is wrong.
    """

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_ignore_empty=True,
        frozen=True,
        extra="forbid",
        validate_default=True,
        hide_input_in_errors=True,
    )

    data_dir: Path = Field(default=Path(".postern"), description="a directory, existing or to be created")
    database_url: str = Field(
        default_factory=_sqlite_in_data_dir,
        repr=False,
        description="a URL that starts with sqlite:/// or postgresql://",
    )
    database_silence_s: float = Field(default=1.5, ge=0.3, le=600, description="seconds from 0.3 to 600")
    redis_url: str | None = Field(
        default=None, repr=False, description="a URL that starts with redis://, rediss:// or unix://"
    )
    source_roots: Annotated[tuple[Path, ...], NoDecode] = Field(
        default=(), description=f"absolute directories separated by {os.pathsep!r} or ','"
    )
    connections: Annotated[dict[str, SecretStr], NoDecode] = Field(
        default_factory=dict,
        repr=False,
        description='a JSON object of names and URLs, such as {"warehouse": "postgresql://reader:<password>@host/database"}',
    )
    signing_key: SecretStr | None = Field(default=None, min_length=32, description="a secret of at least 32 characters")
    data_key: SecretStr | None = Field(default=None, min_length=32, description="a secret of at least 32 characters")
    sealing_key: SecretStr | None = Field(default=None, min_length=32, description="a secret of at least 32 characters")
    verifying_keys: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(), description="public keys of 64 hexadecimal digits separated by ','"
    )
    host: str = Field(default="127.0.0.1", pattern=r"^\S+$", description="a host name or an address")
    port: int = Field(default=8000, ge=0, le=65_535, description="a whole number from 0 to 65535 (0 picks a free port)")
    log_level: Literal["debug", "info", "warning", "error", "critical"] = Field(
        default="info", description="debug, info, warning, error or critical"
    )
    log_format: Literal["json", "text"] = Field(default="json", description="json or text")
    embedded_worker: bool = Field(
        default_factory=_worker_beside_sqlite, description="true or false (default: true on SQLite only)"
    )
    workers: int = Field(default=1, ge=1, le=256, description="a whole number from 1 to 256")
    upload_bytes_max: Annotated[ByteSize, Field(ge=1)] = Field(
        default=ByteSize(2 * 1024**3), description="a size of at least one byte, such as 2GiB or 500MB"
    )
    body_bytes_max: Annotated[ByteSize, Field(ge=1024)] = Field(
        default=ByteSize(1024**2), description="a size of at least 1KiB, such as 1MiB"
    )
    header_bytes_max: Annotated[ByteSize, Field(ge=1024, le=1_048_576)] = Field(
        default=ByteSize(32 * 1024), description="a size from 1KiB to 1MiB, such as 32KiB"
    )
    headers_max: int = Field(default=100, ge=8, le=10_000, description="a whole number from 8 to 10000")
    header_s: float = Field(default=10.0, ge=0.1, le=3600, description="seconds from 0.1 to 3600")
    body_s: float = Field(default=20.0, ge=0.1, le=3600, description="seconds from 0.1 to 3600")
    body_bytes_per_s_min: int = Field(
        default=500, ge=1, le=1_000_000_000, description="a whole number from 1 to 1000000000"
    )
    idle_s: float = Field(default=15.0, ge=0.1, le=3600, description="seconds from 0.1 to 3600")
    sockets_max: int = Field(default=4_000, ge=1, le=1_000_000, description="a whole number from 1 to 1000000")
    sockets_per_address_max: int = Field(
        default=1_000, ge=1, le=1_000_000, description="a whole number from 1 to 1000000"
    )
    trusted_proxies: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(), description="addresses or networks of proxies separated by ',', such as 10.0.0.7,192.168.4.0/24"
    )
    samples_max: int = Field(default=1_000_000, ge=1, le=100_000_000, description="a whole number from 1 to 100000000")
    epsilon_max: float = Field(
        default=20.0, gt=0, allow_inf_nan=False, description="a finite number above 0: more is vacuous"
    )
    releases_at_once: int = Field(default=1, ge=1, le=64, description="a whole number from 1 to 64")
    engine_memory: Annotated[ByteSize, Field(ge=64_000_000)] = Field(
        default=ByteSize(512_000_000), description="a size of at least 64MB, such as 512MB or 8GiB"
    )
    engine_spill: Annotated[ByteSize, Field(ge=1_000_000)] = Field(
        default=ByteSize(16_384_000_000), description="a size of at least 1MB, such as 16GB"
    )
    engine_threads: int = Field(default=2, ge=1, le=256, description="a whole number from 1 to 256")
    engine_s: float = Field(default=600.0, ge=1, le=86_400, description="seconds from 1 to 86400")
    lease_s: float = Field(default=30.0, ge=1, le=3600, description="seconds from 1 to 3600")
    publication_tick_s: float = Field(default=0.5, ge=0.01, le=3600, description="seconds from 0.01 to 3600")
    publication_pace: float | None = Field(
        default=None,
        ge=1e-6,
        le=1e6,
        allow_inf_nan=False,
        description="a number from 0.000001 to 1000000 (default: measured on synthetic rows)",
    )
    stale_rights_s: float = Field(default=30.0, ge=0, le=3600, description="seconds from 0 to 3600")
    idempotency_s: float = Field(default=86_400.0, ge=60, le=2_592_000, description="seconds from 60 to 2592000")
    rate_limit_per_s: float = Field(
        default=5_000.0, ge=0, le=1e6, description="requests a second from 0 to 1000000 (0: no limit)"
    )
    rate_limit_burst: int = Field(default=10_000, ge=1, le=10_000_000, description="a whole number from 1 to 10000000")
    rate_limit_heavy_per_s: float = Field(
        default=20.0, ge=0, le=1e6, description="requests a second from 0 to 1000000 (0: no limit)"
    )
    auth_failures_per_s: float = Field(
        default=20.0, ge=0, le=1e6, description="refused keys a second from 0 to 1000000 (0: no limit)"
    )
    disk_bytes_min: Annotated[ByteSize, Field(ge=0)] = Field(
        default=ByteSize(32_000_000), description="a size, such as 32MB or 1GiB"
    )
    key_days: float = Field(default=365.0, gt=0, le=36_500, description="days above 0 and at most 36500")
    key_days_max: float = Field(default=1_830.0, gt=0, le=36_500, description="days above 0 and at most 36500")
    rights_poll_s: float = Field(
        default=0.4,
        gt=0,
        le=0.9,
        description="seconds above 0 and at most 0.9: a revoked key must stop working within a second",
    )

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as invalid:
            problems = _problems(invalid)
        else:
            return
        raise InvalidRequest(problems)  # outside `except`: a chained pydantic error would travel into logs

    @field_validator("data_dir")
    @classmethod
    def _absolute(cls, path: Path) -> Path:
        """Absolute from the start, so a later change of directory moves nothing."""
        path = path.expanduser().absolute()
        if path.exists() and not path.is_dir():
            raise ValueError("a directory, and this is a file")
        if "?" in str(path):
            raise ValueError("a directory without '?' in its path, which a database URL cannot hold")
        return path

    @field_validator("database_url")
    @classmethod
    def _one_driver_each(cls, url: str) -> str:
        scheme, separator, rest = url.partition("://")
        if not separator or scheme not in _DRIVERS:
            raise ValueError("a URL that starts with sqlite:/// or postgresql://")
        driver = _DRIVERS[scheme]
        if driver.startswith("sqlite"):
            if not rest.startswith("/") or len(rest) == 1:
                raise ValueError("sqlite:/// followed by a path (four slashes for an absolute one)")
        else:
            _check_credentials(url)
        return f"{driver}://{rest}"

    @field_validator("redis_url")
    @classmethod
    def _known_cache(cls, url: str | None) -> str | None:
        if url is not None:
            if url.partition("://")[0] not in {"redis", "rediss", "unix"}:
                raise ValueError("a URL that starts with redis://, rediss:// or unix://")
            _check_credentials(url)
        return url

    @field_validator("source_roots", mode="before")
    @classmethod
    def _split_roots(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        return tuple(part.strip() for part in re.split(f"[,{re.escape(os.pathsep)}]", value) if part.strip())

    @field_validator("source_roots")
    @classmethod
    def _safe_roots(cls, roots: tuple[Path, ...], info: ValidationInfo) -> tuple[Path, ...]:
        """Links resolved; a root that holds the service's own database would publish it."""
        data_dir = info.data.get("data_dir")
        resolved = tuple(root.expanduser().resolve() for root in roots)
        for given, root in zip(roots, resolved, strict=True):
            if not given.expanduser().is_absolute():
                raise ValueError("absolute directories")
            if root == Path(root.anchor):
                raise ValueError("directories below the root of the file system")
            if data_dir is not None and data_dir.resolve().is_relative_to(root):
                raise ValueError(f"directories that do not contain {PREFIX}DATA_DIR")
        return resolved

    @field_validator("connections", mode="before")
    @classmethod
    def _named_connections(cls, value: Any) -> Any:
        """A string that is no JSON is never quoted back: it may be a password."""
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value)
        except ValueError:
            raise ValueError(str(cls.model_fields["connections"].description)) from None

    @field_validator("connections")
    @classmethod
    def _known_engines(cls, connections: dict[str, SecretStr]) -> dict[str, SecretStr]:
        for name, url in connections.items():
            if not re.fullmatch(r"[a-z][a-z0-9_-]{0,62}", name):
                raise ValueError("names of connections of small letters, digits, '-' and '_'")
            if url.get_secret_value().partition("://")[0] not in {"postgresql", "postgres"}:
                raise ValueError("connections whose URLs start with postgresql://")
            _check_credentials(url.get_secret_value())
        return connections

    @field_validator("verifying_keys", mode="before")
    @classmethod
    def _split_keys(cls, value: Any) -> Any:
        return tuple(filter(None, re.split(r"[\s,]+", value))) if isinstance(value, str) else value

    @field_validator("verifying_keys")
    @classmethod
    def _hexadecimal(cls, keys: tuple[str, ...]) -> tuple[str, ...]:
        if not all(re.fullmatch(r"[0-9a-fA-F]{64}", key) for key in keys):
            raise ValueError("public keys of 64 hexadecimal digits separated by ','")
        return keys

    @field_validator("trusted_proxies", mode="before")
    @classmethod
    def _split_proxies(cls, value: Any) -> Any:
        return tuple(filter(None, re.split(r"[\s,]+", value))) if isinstance(value, str) else value

    @field_validator("trusted_proxies")
    @classmethod
    def _networks(cls, proxies: tuple[str, ...]) -> tuple[str, ...]:
        """Not `*`, and no network of everybody: who may say where a request comes from has to be somebody."""
        expected = str(cls.model_fields["trusted_proxies"].description)
        for proxy in proxies:
            try:
                network = ip_network(proxy, strict=False)
            except ValueError:
                raise ValueError(expected) from None
            if network.prefixlen == 0:
                raise ValueError(expected)
        return proxies

    @field_validator("log_level", "log_format", mode="before")
    @classmethod
    def _any_case(cls, value: Any) -> Any:
        return value.lower() if isinstance(value, str) else value

    @field_validator("embedded_worker", mode="before")
    @classmethod
    def _none_means_default(cls, value: Any, info: ValidationInfo) -> Any:
        return _worker_beside_sqlite(info.data) if value is None and "database_url" in info.data else value

    @property
    def uses_sqlite(self) -> bool:
        return self.database_url.startswith("sqlite")

    def describe(self) -> dict[str, str]:
        """Variable → value in use, safe to show to anyone who may see the logs."""
        return {variable_name(field): self._shown(field) for field in type(self).model_fields}

    def _shown(self, field: str) -> str:
        value = getattr(self, field)
        if value is None:
            return "not set"
        if isinstance(value, SecretStr):
            return MASK
        if field.endswith("_url"):
            return mask_url(value)
        if isinstance(value, dict):
            return ", ".join(f"{name}={MASK}" for name in sorted(value)) or "not set"
        if isinstance(value, tuple):
            return os.pathsep.join(str(item) for item in value) or "not set"
        return str(value).lower() if isinstance(value, bool) else str(value)


def variable_name(field: str) -> str:
    return PREFIX + field.upper()


def unknown_variables(environ: Mapping[str, str]) -> dict[str, str | None]:
    """`POSTERN_*` names that no setting reads, each with the name that was probably meant.

    A misspelt `POSTERN_DATABASE_URL` would otherwise silently mean "embedded".
    """
    known = {field.upper() for field in Settings.model_fields}
    found: dict[str, str | None] = {}
    for name in sorted(environ):
        stem = name.upper().removeprefix(PREFIX)
        if name.upper().startswith(PREFIX) and stem not in known:
            meant = difflib.get_close_matches(stem, known, 1, cutoff=0.75)
            found[name] = PREFIX + meant[0] if meant else None
    return found


def mask_url(url: str) -> str:
    """The URL without its password, whether before the `@` or in the query."""
    url = re.sub(r"(?<=://)([^/?#@:]*):[^/?#@]*@", rf"\1:{MASK}@", url)
    return re.sub(r"(?i)([?&][^=&]*pass[^=&]*=)[^&]*", rf"\1{MASK}", url)


def _check_credentials(url: str) -> None:
    """Refuse a URL whose password ends early at a bare `/`, `?`, `#` or `@`: masking would miss the rest."""
    hint = "a URL whose user and password are percent-encoded, with a numeric port"
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise ValueError(hint) from None
    if parts.fragment or "@" in parts.path or "@" in parts.query or parts.netloc.count("@") > 1:
        raise ValueError(hint)


def _problems(invalid: ValidationError) -> list[FieldProblem]:
    """One problem a field; a default that was not computed because an earlier field failed is not news."""
    found: dict[str, str] = {}
    for error in invalid.errors(include_url=False, include_context=True, include_input=False):
        field = str(error["loc"][0]) if error["loc"] else "settings"
        if error["type"] == "default_factory_not_called" or field in found:
            continue
        known = Settings.model_fields.get(field)
        if error["type"] == "value_error":
            found[field] = str(error["ctx"]["error"])
        else:
            found[field] = (known.description if known else None) or "a name that exists"
    return [FieldProblem(variable_name(field), expected) for field, expected in found.items()]
