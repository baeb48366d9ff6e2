"""Write the blocking client from the asyncio one: every file of `awaiting/` becomes one of `blocking/`, word by word.

`make format` runs it. With `--check`, as `make lint` runs it, it writes nothing and says which file is not what it should be.
"""

import re
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).parent / "postern" / "client"
SOURCE, TARGET = PACKAGE / "awaiting", PACKAGE / "blocking"
WORDS = (
    (r"\basync (?=def|for|with)", ""),
    (r"\bawait ", ""),
    (r"\bAsync(?=[A-Z])", ""),
    (r"\b__a(?=(enter|exit|iter)__)", "__"),
    (r"\ba(?=(close|closing|iter_bytes)\b)", ""),
    (r"\bopen_async\b", "open"),
    (r"\basyncio\.sleep\b", "time.sleep"),
    (r"\bCoroutine\[Any, Any, (\w+)\]", r"\1"),
    (r"\ban asyncio client\b", "a blocking client"),
    (r"\basyncio client\b", "blocking client"),
    (r"\bFor one event loop, shared by its tasks\b", "May be shared by threads"),
    (r"\bclient\.awaiting\b", "client.blocking"),
)
TIDY = "I,F401,SIM117,UP028"
"""What is left over once the words are gone: order, unused imports, nested `with`, loops that only yield."""


def blocking(name: str) -> str:
    text = (SOURCE / name).read_text(encoding="utf-8")
    for pattern, replacement in WORDS:
        text = re.sub(pattern, replacement, text)
    text = f"# Written by client/write_blocking.py: change awaiting/{name} and run `make format`.\n{text}"
    ruff = [sys.executable, "-m", "ruff"]
    place = ["--stdin-filename", str(TARGET / name), "-"]
    text = _through([*ruff, "check", "--quiet", "--fix-only", "--unsafe-fixes", "--select", TIDY, *place], text)
    return _through([*ruff, "format", "--quiet", *place], text)


def _through(command: list[str], text: str) -> str:
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True, encoding="utf-8").stdout


def main(arguments: list[str]) -> str | None:
    """What is wrong, if something is."""
    wanted = {file.name: blocking(file.name) for file in sorted(SOURCE.glob("*.py"))}
    found = {file.name: file.read_text(encoding="utf-8") for file in TARGET.glob("*.py")}
    stale = sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))
    if arguments == ["--check"]:
        return f"blocking/{', '.join(stale)}: not what awaiting/ says; run 'make format'" if stale else None
    for name in stale:
        if name in wanted:
            (TARGET / name).write_text(wanted[name], encoding="utf-8")
        else:
            (TARGET / name).unlink()
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
