"""`postern serve` in a process of its own: the demo, restarts, several workers, clean stops."""

import json
import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from app.cli.main import run
from app.cli.wiring import Wiring
from app.main import running, server
from tests.cli.console import environment


class Served:
    """`postern serve` in a process of its own, on a free port."""

    def __init__(self, folder: Path, bytecode: Path | None, *arguments: str) -> None:
        self.log = (folder / "serve.err").open("a+")
        self.process = subprocess.Popen(
            [sys.executable, "-c", "from app.main import cli; cli()", "serve", "--port", "0", *arguments],
            env=environment(folder, bytecode),
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
        )

    def pasted(self) -> list[str]:
        """The commands it prints once it is ready."""
        lines: list[str] = []
        deadline = time.monotonic() + 120
        assert self.process.stdout is not None
        while time.monotonic() < deadline and not any(line.startswith("The steward") for line in lines):
            line = self.process.stdout.readline()
            assert line, (Path(self.log.name)).read_text()
            lines.append(line.strip())
        return [line for line in lines if line.startswith("curl")]

    def stop(self) -> int:
        self.process.terminate()
        code = self.process.wait(30)
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.log.close()
        return code


def ask(line: str) -> Any:
    """What curl would do with the line, without needing curl."""
    url = re.search(r"http://\S+", line)
    headers = dict(item.split(": ", 1) for item in re.findall(r"-H '([^']*)'", line))
    body = re.search(r"-d '([^']*)'", line)
    assert url is not None
    request = urllib.request.Request(url[0], headers=headers, data=body[1].encode() if body else None)  # noqa: S310
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
        return json.load(answer)


def postern_says(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any]:
    """Exit code, and the JSON on standard output or the sentence on standard error."""
    with pytest.raises(SystemExit) as left:
        run(Wiring(server, print, str, running), list(arguments))
    out, err = capsys.readouterr()
    return int(left.value.code or 0), json.loads(out) if out else err.strip()


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory, bytecode: Path | None) -> tuple[Path, list[Any]]:
    """The folder of a demo that ran and was stopped, and what its three commands answered."""
    folder = tmp_path_factory.mktemp("demo")
    served = Served(folder, bytecode, "--demo")
    try:
        answers = [ask(line) for line in served.pasted()]
    finally:
        code = served.stop()
    assert code in (0, -signal.SIGTERM)
    return folder, answers


def test_the_demo_prints_commands_that_work(demo: tuple[Path, list[Any]]):
    folder, (me, query, card) = demo
    assert me["role"] == "analyst"
    assert me["accesses"] == [{"release": query["release"], "samples": query["samples"]}]
    assert card["release"] == query["release"]
    logged = (folder / "serve.err").read_text()
    assert "Traceback" not in logged
    assert "pstn_" not in logged


def test_starting_again_changes_nothing_and_two_workers_answer_alike_also_to_the_command_line(
    demo: tuple[Path, list[Any]],
    tmp_path: Path,
    bytecode: Path | None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    folder, before = demo
    served = Served(folder, bytecode, "--demo", "--workers", "2")
    try:
        pasted = served.pasted()
        assert [ask(line) for line in pasted] == before
        query = pasted[1]
        answers = {json.dumps(ask(query)) for _ in range(8)}
        assert len(answers) == 1
        url, token = re.search(r"http://[^/]*", query), re.search(r"pstn_\S{60}", query)
        assert url is not None
        assert token is not None
        monkeypatch.setenv("POSTERN_URL", url[0])
        monkeypatch.setenv("POSTERN_KEY", token[0])
        question = tmp_path / "question.json"
        question.write_text(re.findall(r"-d '([^']*)'", query)[0])
        release = json.loads(next(iter(answers)))["release"]
        assert postern_says(capsys, "query", release, str(question)) == (0, json.loads(next(iter(answers))))
        code, sentence = postern_says(capsys, "query", "rel_nothing", str(question))
        assert (code, sentence) == (1, "postern: not_found: no release 'rel_nothing' that this key may see")
        code, sentence = postern_says(capsys, "release", "ds_nothing", str(question))
        assert (code, sentence.split(":")[1].strip()) == (1, "forbidden")
    finally:
        code = served.stop()
    assert code in (0, -signal.SIGTERM)
    logged = (folder / "serve.err").read_text()
    assert "Traceback" not in logged
    assert "pstn_" not in logged
