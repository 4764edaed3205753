"""Finishing folders of runs: complete, killed, truncated, and finished twice."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.recorder import (
    Run,
    blocks_of,
    journal_columns,
    steps_of,
    text_of,
    trace_name,
    write_run,
)
from torch_tb_profiler.recorder.run_folder.finish import finish_folder
from torch_tb_profiler.recorder.run_folder.trace_tail import append_journal

SECOND_NS = 10**9


def tail_of(path: Path) -> dict[str, Any]:
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    tail: dict[str, Any] = json.loads(text)["torch_tb_profiler"]
    return tail


def test_traces_get_their_journal_and_files_are_compressed(tmp_path: Path) -> None:
    run = Run(steps=300, step_ms=20, windows=((150, 154), (250, 252)), evaluate_every=50)
    write_run(tmp_path, run, [*blocks_of(run), {"kind": "later"}])
    names = [trace_name(run, first) for first, _ in run.windows]
    os.utime(tmp_path / names[0], ns=(1, SECOND_NS))
    finished = finish_folder(str(tmp_path))
    (worker,) = finished.workers
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        ["rank0.record.jsonl.gz", "rank0.throughput.json", *(f"{name}.gz" for name in names)]
    )
    assert (tmp_path / f"{names[0]}.gz").stat().st_mtime_ns == SECOND_NS
    assert [(each.first_step, each.last_step, each.problem) for each in worker.windows] == [
        (150, 154, None),
        (250, 252, None),
    ]
    assert (worker.steps, worker.evaluation_steps, worker.ended) == (300, 18, "exit")
    assert worker.elapsed_s == pytest.approx(318 * 0.02)
    assert worker.throughput is not None
    assert worker.throughput.train is not None
    assert worker.throughput.train.steps == 300 - run.warmup_steps - 5 - 3
    assert worker.overhead_pct == pytest.approx(100 * 0.001 / (6.36 + 0.5))
    journal = gzip.decompress((tmp_path / worker.journal).read_bytes())
    assert journal == text_of([*blocks_of(run), {"kind": "later"}])
    for name, (first, last) in zip(names, run.windows, strict=True):
        tail = tail_of(tmp_path / f"{name}.gz")
        assert tail["version"] == 1
        by_kind: dict[str, list[Any]] = {}
        for block in tail["blocks"]:
            by_kind.setdefault(block["kind"], []).append(block)
        assert sum(len(block["step"]) for block in by_kind["steps"]) == 318
        times = {each.number: each for each in steps_of(run) if each.phase == "train"}
        begin, end = times[first].start_ns - SECOND_NS, times[last].end_ns + SECOND_NS
        whole = [block for block in blocks_of(run) if block["kind"] in ("batches", "work")]
        result = {at for block in whole for at in block["start_ns"] if begin <= at <= end}
        retained = {
            at
            for kind in ("batches", "work")
            for block in by_kind[kind]
            for at in block["start_ns"]
        }
        assert retained == result
        for block in by_kind["samples"]:
            assert all(begin <= at <= end for at in block["time_ns"])
            lengths = {len(each["values"]) for each in block["metrics"].values()}
            assert lengths == {len(block["time_ns"])}


def test_finishing_twice_changes_nothing(tmp_path: Path) -> None:
    run = Run(windows=((5, 9),))
    write_run(tmp_path, run)
    path = tmp_path / trace_name(run, 5)
    assert append_journal(str(path), [b"{}"]) is None
    once = path.read_bytes()
    assert append_journal(str(path), [b"{}"]) is None
    assert path.read_bytes() == once
    finish_folder(str(tmp_path))
    files = {each.name: each.read_bytes() for each in tmp_path.iterdir()}
    assert finish_folder(str(tmp_path)).workers == ()
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == files


def test_a_killed_run_gets_an_end_and_its_open_window_is_lost(tmp_path: Path) -> None:
    run = Run(steps=50, windows=((5, 9), (40, 44)), ended=None)
    blocks = [
        each
        for each in blocks_of(run)
        if each["kind"] != "window" or each["first_step"] == 5 or each["state"] == "recording"
    ]
    journal = write_run(tmp_path, run, blocks)
    (tmp_path / trace_name(run, 40)).unlink()
    journal.write_bytes(journal.read_bytes() + b'{"kind":"steps","pha')
    (worker,) = finish_folder(str(tmp_path), {run.pid: "signal SIGKILL"}).workers
    assert worker.ended == "signal SIGKILL"
    assert [each.problem for each in worker.windows] == [
        None,
        "the program ended before it was written (signal SIGKILL)",
    ]
    text = gzip.decompress((tmp_path / worker.journal).read_bytes())
    assert not journal_columns(text).quality.counts
    lines = text.splitlines()
    assert [json.loads(line)["kind"] for line in lines[-2:]] == ["end", "window"]


def test_a_partially_written_trace_is_recovered(tmp_path: Path) -> None:
    run = Run(windows=((5, 9),))
    write_run(tmp_path, run)
    trace = tmp_path / trace_name(run, 5)
    half = trace.read_bytes()[:300]
    trace.unlink()
    (tmp_path / f"{trace.name}.partial").write_bytes(half)
    (worker,) = finish_folder(str(tmp_path)).workers
    assert gzip.decompress((tmp_path / f"{trace.name}.gz").read_bytes()) == half
    assert worker.windows[0].problem == "it is incomplete"


def test_the_journal_of_a_running_process_is_untouched(tmp_path: Path) -> None:
    blocks = blocks_of(Run(pid=os.getpid(), ended=None))
    blocks[0]["host"] = None
    journal = write_run(tmp_path, Run(), blocks)
    (worker,) = finish_folder(str(tmp_path)).workers
    assert worker.ended is None
    assert worker.problems == ("It is still running.",)
    assert journal.exists()
    os.utime(journal, (0, 0))  # stale for years: another process has its pid by now
    assert finish_folder(str(tmp_path)).workers[0].ended == "killed"


def test_a_zombie_process_counts_as_ended(tmp_path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    write_run(tmp_path, Run(), blocks_of(Run(pid=child.pid, host=socket.gethostname(), ended=None)))
    assert finish_folder(str(tmp_path)).workers[0].ended is None
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and is still listed
    assert finish_folder(str(tmp_path)).workers[0].ended == "killed"
    child.communicate()


def test_a_partial_trace_without_events_is_ignored(tmp_path: Path) -> None:
    write_run(tmp_path, Run())
    begun = tmp_path / "rank0.1.pt.trace.json.partial"
    begun.write_bytes(b'{"schemaVersion": 1,')
    (worker,) = finish_folder(str(tmp_path)).workers
    assert worker.windows == ()
    assert begun.exists()


@pytest.mark.parametrize(
    "text", [b"", b"\0\0\n", b"[" * 10**5, b'{"kind":"window","trace":"../x"}\n{"kind":"steps"}\n']
)
def test_damaged_journals_are_finished(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "rank0.record.jsonl").write_bytes(text)
    (worker,) = finish_folder(str(tmp_path)).workers
    assert worker.ended == "killed"
    assert (tmp_path / "rank0.record.jsonl.gz").exists()


def test_files_are_unchanged_if_the_disk_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(windows=((5, 9),))
    journal = write_run(tmp_path, run)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shutil, "copyfileobj", full)
    (worker,) = finish_folder(str(tmp_path)).workers
    assert journal.exists()
    assert tail_of(tmp_path / str(worker.windows[0].trace))["version"] == 1
    assert not list(tmp_path.glob("*.partial"))


@pytest.mark.parametrize("text", [b"", b"{}", b"[1]", b'{"traceEvents":[{"ph":"X"', b"{ }\n"])
def test_an_incomplete_trace_is_not_modified(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "a.pt.trace.json"
    path.write_bytes(text)
    assert append_journal(str(path), [b"{}"]) == "it is incomplete"
    assert path.read_bytes() == text


def test_a_missing_folder_is_reported(tmp_path: Path) -> None:
    assert "cannot be read" in finish_folder(str(tmp_path / "none")).problems[0]


def test_finish_imports_only_the_standard_library() -> None:
    code = (
        "import sys; import torch_tb_profiler.recorder.run_folder.finish; "
        "print({'numpy', 'polars', 'msgspec', 'torch', 'psutil'} & set(sys.modules))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "set()"


def test_a_full_disk_restores_the_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.pt.trace.json"
    path.write_bytes(b'{"traceEvents":[]\n}')
    write, room = os.write, [30]

    def until_full(file: int, data: bytes) -> int:
        if not room:
            room.append(1)  # what was taken back makes room again
            raise OSError(28, "No space left on device")
        return write(file, bytes(data)[: room.pop()])

    monkeypatch.setattr(os, "write", until_full)
    assert (
        append_journal(str(path), [b"{}" * 50]) == "it cannot be written: No space left on device"
    )
    assert path.read_bytes() == b'{"traceEvents":[]\n}'
