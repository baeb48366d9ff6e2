"""The build: what `make check` runs, on a copy of the checkout that starts from nothing and leaves nothing.

Root steps down: the copy belongs to `nobody`, whose home and caches are empty and who uses a Python they can execute.
Where the system has another Python, the core and API tests run on it too, in an environment of its own. The suite keeps
two cores busy; lint, types and the second Python take what it leaves.

`.ci/run --seed 7` repeats an order of tests. `.ci/run tests/core` tries the machinery on a few tests, and is no build:
it ends with status 2 at best.
"""

from __future__ import annotations

import argparse
import os
import pwd
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).resolve().parents[1]
CHECKS, SUITE = ("lint", "types", "openapi-drift"), "test"
"""Together they are `make check`, which a test compares."""
COMPILED = "test-compiled"
"""Before the suite: three workers would compile every test three times, side by side."""
SECOND_SUITE, SECOND_TESTS = "test-second", ("tests/core", "tests/api")
WORKERS = 3
"""On two cores: tests that wait for a lease or a public moment leave theirs to others."""
OLDEST = (3, 11)
NOBODY = "nobody"
# PostgreSQL and pip look the user up, so that it must be one the system knows.
PYTHONS = (
    "python3",
    "/usr/bin/python3",
    "/usr/local/bin/python3",
    *(f"python3.{minor}" for minor in range(20, 10, -1)),
)
ABOUT = "import os, sys, venv; print(os.path.realpath(sys._base_executable)); print(*sys.version_info[:3])"
GONE_S = 10.0


@dataclass(frozen=True)
class Python:
    path: str
    version: tuple[int, ...]

    def __str__(self) -> str:
        return ".".join(map(str, self.version))


@dataclass(frozen=True)
class Owner:
    """Who runs a part; None is whoever started the build."""

    user: pwd.struct_passwd | None

    @property
    def name(self) -> str:
        return self.user.pw_name if self.user else f"user {os.geteuid()}" if os.geteuid() else "root"

    def start(self, command: list[str], **options: object) -> subprocess.Popen[str]:
        """In a session of its own, with no rights but those of the user."""
        if self.user is not None:
            options |= {"user": self.user.pw_uid, "group": self.user.pw_gid, "extra_groups": []}
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, text=True, start_new_session=True, **options)  # type: ignore[call-overload,no-any-return]

    def take(self, folder: Path) -> None:
        if self.user is not None:
            for path in (folder, *folder.rglob("*")):
                os.chown(path, self.user.pw_uid, self.user.pw_gid, follow_symlinks=False)


@dataclass(frozen=True)
class Place:
    """A copy of the checkout, with a home, temporary files and a virtual environment of its own."""

    folder: Path
    owner: Owner
    python: Python
    downloads: Path

    @property
    def environment(self) -> dict[str, str]:
        foreign = ("POSTERN_", "MAKE", "MFLAGS", "XDG_", "PYTEST_", "PYTHON")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
        return kept | {
            "HOME": str(self.folder / "home"),
            "TMPDIR": str(self.folder / "tmp"),
            "UV_CACHE_DIR": str(self.downloads),
            "PIP_CACHE_DIR": str(self.folder / "pip"),
        }

    def fill(self) -> None:
        ignored = [line.rstrip("/") for line in (ROOT / ".gitignore").read_text().split()]
        shutil.copytree(ROOT, self.folder / "postern", symlinks=True, ignore=shutil.ignore_patterns(".git", *ignored))
        for name in ("home", "tmp", "pip"):
            (self.folder / name).mkdir()
        self.owner.take(self.folder)


@dataclass
class Part:
    """Something that succeeds or fails, and takes its time."""

    title: str
    place: Place
    command: list[str]
    log: Path
    shown: bool = False
    """Written to the screen as it goes; otherwise kept in the log."""
    status: int | None = None
    seconds: float = 0.0

    @property
    def closing(self) -> str | None:
        """pytest's last line."""
        if not self.log.exists():
            return None
        lines = re.findall(
            r"^(?:=+ )?(\d+ \w+.* in [\d.]+s.*?)(?: =+)?$", self.log.read_text(errors="replace"), re.MULTILINE
        )
        return lines[-1] if lines else None


@dataclass
class Build:
    """Runs parts, and ends with all of them."""

    _running: dict[int, subprocess.Popen[str]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _ended: bool = False

    def run(self, part: Part) -> bool:
        with self._lock:
            if self._ended:
                return False
            process = part.place.owner.start(
                part.command,
                cwd=part.place.folder / "postern",
                env=part.place.environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                errors="replace",
            )
            self._running[process.pid] = process
        began = time.monotonic()
        with part.log.open("w") as log:
            for line in process.stdout or ():
                log.write(line)
                if part.shown:
                    sys.stdout.write(line)
                    sys.stdout.flush()
        part.status, part.seconds = process.wait(), time.monotonic() - began
        with self._lock:
            del self._running[process.pid]
        if part.status and not part.shown:
            print(f"\n{part.title} failed:\n{part.log.read_text()}", flush=True)
        return part.status == 0

    def end(self) -> None:
        """Ends what is still running: its processes by the session that was made for them."""
        with self._lock:
            self._ended = True
            left = list(self._running.values())
        for process in left:
            os.killpg(process.pid, signal.SIGTERM)
        for process in left:
            try:
                process.wait(GONE_S)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def ask(command: str, owner: Owner, environment: dict[str, str]) -> Python | None:
    """The Python behind a command, if this user can run it and it is new enough."""
    try:
        process = owner.start(
            [command, "-c", ABOUT], cwd="/", env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
    except OSError:
        return None
    said = process.communicate()[0].splitlines()
    if process.returncode or len(said) != 2:
        return None
    found = Python(said[0], tuple(map(int, said[1].split())))
    return found if found.version[:2] >= OLDEST else None


def find_pythons(owner: Owner, home: Path) -> list[Python]:
    environment = os.environ | {"HOME": str(home)} if owner.user is not None else dict(os.environ)
    found = [python for command in PYTHONS if (python := ask(command, owner, environment)) is not None]
    return list(dict.fromkeys(found))


def pass_on_pip_settings() -> None:
    """The copy has an empty home: what pip was told elsewhere, a mirror perhaps, it is told by variables."""
    said = subprocess.run([sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=False)
    for key, value in re.findall(r"^(?:global|install)\.([a-z-]+)='(.*)'$", said.stdout, re.MULTILINE):
        os.environ.setdefault(f"PIP_{key.replace('-', '_').upper()}", value.replace("\\n", " "))


def make(*words: str, python: Python | None = None, nicely: bool = False) -> list[str]:
    command = ["make", "--no-print-directory", *words, *([f"PYTHON={python.path}"] if python else [])]
    return ["nice", "-n", "10", *command] if nicely else command


@contextmanager
def top_folder() -> Iterator[Path]:
    """Others may pass through it, and not look inside."""
    top = Path(tempfile.mkdtemp(prefix="postern-build-"))
    top.chmod(0o711)
    try:
        yield top
    finally:
        for _ in range(5):
            shutil.rmtree(top, ignore_errors=True)
            if not top.exists():
                break
            time.sleep(1)  # servers of tests that were cut short are still going


def ordinary_user() -> Owner:
    try:
        return Owner(pwd.getpwnam(NOBODY) if os.geteuid() == 0 else None)
    except KeyError:
        raise SystemExit(f"this build is root and finds no user {NOBODY!r} to step down to") from None


def choose_places(top: Path) -> tuple[Place, Place | None]:
    """The main one, and one with a Python of another version: for the ordinary user if they can execute it."""
    ordinary, starter = ordinary_user(), Owner(None)
    usable = find_pythons(ordinary, top)
    if not usable:
        raise SystemExit(f"no Python {'.'.join(map(str, OLDEST))} or newer with venv that {ordinary.name} can execute")
    main = Place(top / "main", ordinary, usable[0], top / "main" / "uv")
    others = [(python, ordinary) for python in usable] + [(python, starter) for python in find_pythons(starter, top)]
    for python, owner in others:
        if python.version != main.python.version:
            return main, Place(top / "second", owner, python, main.downloads)
    return main, None


def build(top: Path, chosen: argparse.Namespace) -> tuple[list[Part], bool]:
    """What ran, and whether all that should have run succeeded."""
    main, second = choose_places(top)
    tests = shlex.join(chosen.tests)
    seed = [] if chosen.seed is None else [f"SEED={chosen.seed}"]
    install = Part("install", main, make("--jobs=3", "setup", python=main.python), top / "install.log", shown=True)
    compiled = Part("compile", main, make(COMPILED), top / "compile.log")
    suite = Part(
        "suite", main, make(SUITE, *seed, f"WORKERS={WORKERS}", f"ARGS={tests}"), top / "suite.log", shown=True
    )
    chain = [Part(", ".join(CHECKS), main, make(*CHECKS, nicely=True), top / "checks.log")]
    if second is not None:
        arguments = f"ARGS={tests or shlex.join(SECOND_TESTS)}"
        set_up = make(".venv/.installed-dev", python=second.python, nicely=True)
        few = make(SECOND_SUITE, *seed, "WORKERS=0", arguments, nicely=True)
        chain += [
            Part("second install", second, set_up, top / "second-install.log"),
            Part("core and API", second, few, top / "second.log"),
        ]
    work = Build()
    background = threading.Thread(target=lambda: [work.run(part) for part in chain], daemon=True)
    try:
        for place in filter(None, (main, second)):
            place.fill()
        if work.run(install):
            background.start()
            if work.run(compiled):
                work.run(suite)
            background.join()
    finally:
        work.end()
    parts = [install, *chain, compiled, suite]
    return parts, all(part.status == 0 for part in parts)


def report(parts: list[Part], seconds: float) -> None:
    print()
    for part in parts:
        outcome = {0: "ok", None: "did not run"}.get(part.status, f"FAILED ({part.status})")
        who = f"Python {part.place.python}, {part.place.owner.name}"
        print(f"{part.title:28} {who:24} {part.seconds:6.0f} s  {outcome}")
    print(f"{'all':28} {'':24} {seconds:6.0f} s")
    if len({part.place.python for part in parts}) == 1:
        print("this system has no second Python")
    for part in parts:
        if part.closing:
            print(f"{part.title} on Python {part.place.python}:\n{part.closing}")


def stop(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def main() -> int:
    parser = argparse.ArgumentParser(prog=".ci/run", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seed", type=int, help="order of tests, as an earlier run printed it")
    parser.add_argument("tests", nargs="*", help="only these: a try, not a build")
    chosen = parser.parse_args()
    began = time.monotonic()
    signal.signal(signal.SIGTERM, stop)
    pass_on_pip_settings()
    with top_folder() as top:
        parts, succeeded = build(top, chosen)
        report(parts, time.monotonic() - began)
    if succeeded and chosen.tests:
        print("only some tests ran: this was no build")
        return 2
    return 0 if succeeded else 1


if __name__ == "__main__":
    sys.exit(main())
