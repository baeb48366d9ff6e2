"""The runner of all benchmarks: it bounds each one's time, lets it clean up, and says which failed."""

from pathlib import Path

from benchmarks.run_all import chosen, outcome

INTERRUPTED = """
import pathlib, sys, time
try:
    pathlib.Path("{begun}").touch()
    time.sleep(60)
finally:
    pathlib.Path("{ended}").touch()
"""


def test_a_benchmark_that_takes_too_long_is_stopped_and_cleans_up(tmp_path: Path) -> None:
    file, begun, ended = (tmp_path / name for name in ("bench_slow.py", "begun", "ended"))
    file.write_text(INTERRUPTED.format(begun=begun, ended=ended), encoding="utf-8")
    assert outcome(file, 3.0) == "stopped after 3 s"
    assert begun.exists()
    assert ended.exists()


def test_a_benchmark_that_fails_is_told_from_one_that_does_not(tmp_path: Path) -> None:
    file = tmp_path / "bench_any.py"
    file.write_text("raise SystemExit(3)", encoding="utf-8")
    assert outcome(file, 60.0) == "exit code 3"
    file.write_text("", encoding="utf-8")
    assert outcome(file, 60.0) == "ok"


def test_benchmarks_are_chosen_by_a_part_of_their_name() -> None:
    assert [file.stem for file in chosen(["accuracy"])] == ["bench_accuracy"]
    assert {"bench_accuracy", "bench_networks"} <= {file.stem for file in chosen([])}
    assert chosen(["no such"]) == []
