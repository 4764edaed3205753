"""Cases: likely traces first, within the budget of a scan; no file is inspected twice before it
changes; a detection holds until the next inspection; gzip files; metadata before the events;
deleted files, pipes, missing permissions; a store's heads in few requests."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import Any

import fsspec
import pytest

from torch_tb_profiler.importers import detect_format
from torch_tb_profiler.storage import deadlines, format_detection
from torch_tb_profiler.storage.format_detection import (
    HEAD_BYTES,
    LONG_HEAD_BYTES,
    REMOTE_BYTES,
    Candidate,
    FormatDetection,
    FormatScanner,
    ScanBudget,
)
from torch_tb_profiler.storage.locations import FileState, open_location, remote_state

TRACE = b'{"schemaVersion": 1, "traceEvents": [{"ph": "X", "ts": 1}]}'
OTHER = b'{"model_type": "llama"}'


class Teller:
    """Tells traces, and counts."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, head: bytes, base_name: str, is_whole: bool) -> FormatDetection:
        self.asked.append(base_name)
        return detect_format(head, base_name, is_whole)


def candidate(path: Path, version: str = "1") -> Candidate:
    state = FileState(path.stat().st_size if path.exists() else 0, version)
    return Candidate(path.name, open_location(str(path)), state)


def scan(scanner: FormatScanner, *candidates: Candidate) -> int:
    scanner.begin_scan()
    for each in candidates:
        scanner.cached(each)
    return scanner.scan(scanner.pending(candidates))


def write(path: Path, content: bytes) -> Candidate:
    path.write_bytes(content)
    return candidate(path)


def test_likely_traces_are_inspected_first_and_the_rest_by_the_next_scan(tmp_path: Path) -> None:
    tell = Teller()
    scanner = FormatScanner(tell, local=ScanBudget(2, 1 << 20, 60.0))
    names = ("config.json", "large.json", "rank0.json", "torch_trace.json", "tiny.json")
    found = [write(tmp_path / name, OTHER + b" " * len(name)) for name in names]
    found[1] = write(tmp_path / "large.json", OTHER + b" " * 1000)
    assert scan(scanner, *found) == 3
    assert tell.asked == ["torch_trace.json", "rank0.json"]
    assert scan(scanner, *found) == 1
    assert tell.asked[2:] == ["large.json", "config.json"]
    assert scan(scanner, *found) == 0
    assert scan(scanner, *found) == 0
    assert len(tell.asked) == 5


def test_a_budget_of_bytes_or_time_ends_a_scan_too(tmp_path: Path) -> None:
    found = [write(tmp_path / f"{number}.json", OTHER) for number in range(5)]
    for budget, left in ((ScanBudget(9, 30, 60.0), 4), (ScanBudget(9, 1 << 20, -1.0), 5)):
        assert scan(FormatScanner(detect_format, local=budget), *found) == left
    patient = FormatScanner(detect_format, local=ScanBudget(1, 1 << 20, 0.0), waits_for_all=True)
    assert scan(patient, *found) == 0


def test_a_changed_file_keeps_its_detection_until_it_is_inspected(tmp_path: Path) -> None:
    scanner = FormatScanner(detect_format, local=ScanBudget(1, 1 << 20, 60.0))
    assert scan(scanner, write(tmp_path / "w.json", TRACE)) == 0
    (tmp_path / "w.json").write_bytes(OTHER)
    changed = candidate(tmp_path / "w.json", "2")
    other = write(tmp_path / "a_trace_that_is_larger.json", TRACE * 2)
    scanner.begin_scan()
    cached = scanner.cached(changed)
    assert cached is not None
    assert cached.is_trace
    pending = scanner.pending([other, changed])
    assert [each.key for each in pending] == ["w.json", "a_trace_that_is_larger.json"]
    assert scanner.scan(pending) == 1
    cached = scanner.cached(changed)
    assert cached is not None
    assert not cached.is_trace


def test_what_a_scan_does_not_meet_is_forgotten(tmp_path: Path) -> None:
    tell = Teller()
    scanner = FormatScanner(tell)
    there = write(tmp_path / "w.json", TRACE)
    scan(scanner, there)
    scan(scanner)
    scan(scanner)
    scan(scanner, there)
    assert len(tell.asked) == 2


@pytest.mark.parametrize("is_packed", [False, True])
@pytest.mark.parametrize(
    ("before_bytes", "is_trace"),
    [(100, True), (2 * HEAD_BYTES, True), (2 * LONG_HEAD_BYTES, False)],
)
def test_metadata_may_stand_before_the_events(
    tmp_path: Path, before_bytes: int, is_trace: bool, is_packed: bool
) -> None:
    text = b'{"env": "' + os.urandom(before_bytes // 2).hex().encode() + b'", ' + TRACE[1:]
    if is_packed and before_bytes > HEAD_BYTES:
        text = text.replace(text[20 : before_bytes - 20], b"01" * (before_bytes // 2 - 20))
    stored = gzip.compress(text) if is_packed else text
    file = write(tmp_path / "w.json", stored)
    scanner = FormatScanner(detect_format)
    scan(scanner, file)
    detections = scanner.cached(file)
    assert detections is not None
    assert detections.is_trace == is_trace


def test_a_damaged_or_short_gzip_file_is_detected_by_its_decompressed_bytes(tmp_path: Path) -> None:
    packed = gzip.compress(TRACE * 1000)
    scanner = FormatScanner(detect_format)
    cut = write(tmp_path / "cut.json.gz", packed[:200])
    none = write(tmp_path / "none.json.gz", packed[:5])
    members = write(tmp_path / "members.json.gz", gzip.compress(b"{") + gzip.compress(TRACE[1:]))
    scan(scanner, cut, none, members)
    detections = [scanner.cached(each) for each in (cut, none, members)]
    assert [each is not None and each.is_trace for each in detections] == [True, False, True]


def test_what_cannot_be_read_says_so_and_pipes_do_not_hold(tmp_path: Path) -> None:
    scanner = FormatScanner(detect_format)
    gone = candidate(tmp_path / "gone.json")
    os.mkfifo(tmp_path / "pipe.json")
    pipe = candidate(tmp_path / "pipe.json")
    scan(scanner, gone, pipe)
    detections = [scanner.cached(each) for each in (gone, pipe)]
    assert [each and each.reason for each in detections] == ["unreadable", "empty_file"]


def test_folders_of_tools_are_not_inspected(tmp_path: Path) -> None:
    location = open_location(str(tmp_path))
    keys = ("node_modules/a/trace.json", "x/.git/trace.json", "x/git/trace.json")
    found = [Candidate(key, location, FileState(1, "1")) for key in keys]
    assert [each.key for each in FormatScanner(detect_format).pending(found)] == [
        "x/git/trace.json"
    ]


def remote(names: dict[str, bytes]) -> list[Candidate]:
    memory = fsspec.filesystem("memory")
    found = []
    for name, content in names.items():
        memory.pipe(f"/heads/{name}", content)
        location = open_location(f"memory://heads/{name}")
        found.append(Candidate(name, location, remote_state(memory.info(f"/heads/{name}"))))
    return found


def test_heads_of_a_store_are_requested_together(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[list[str], list[int]]] = []
    ask = deadlines.request

    def counted(store: Any, method: str, paths: Any, starts: Any, ends: Any, **options: Any) -> Any:
        asked.append((paths, ends))
        return ask(store, method, paths, starts, ends, **options)

    monkeypatch.setattr(format_detection, "request", counted)
    names = {f"{number}.json": OTHER for number in range(30)}
    found = remote({**names, "big.json": TRACE + b" " * REMOTE_BYTES})
    scanner = FormatScanner(detect_format)
    assert scan(scanner, *found) == 0
    assert [len(paths) for paths, _ in asked] == [16, 15]
    assert asked[0][1][0] == REMOTE_BYTES
    detections = {each.key: scanner.cached(each) for each in found}
    assert [key for key, what in detections.items() if what and what.is_trace] == ["big.json"]
    assert scan(scanner, *found) == 0
    assert len(asked) == 2


def test_a_store_that_fails_costs_nothing_but_the_heads(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any, **__: Any) -> Any:
        raise ConnectionError("gone")

    monkeypatch.setattr(format_detection, "request", fails)
    scanner = FormatScanner(detect_format)
    (found,) = remote({"w.json": TRACE})
    assert scan(scanner, found) == 0
    assert scanner.cached(found) is None


def test_one_of_a_stores_objects_may_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        format_detection, "request", lambda *_, **__: [PermissionError("no"), TRACE]
    )
    scanner = FormatScanner(detect_format)
    found = remote({"a.json": TRACE, "b.json": TRACE})
    scan(scanner, *found)
    assert [scanner.cached(each) is None for each in found] == [True, False]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"\x1f\x8b" + b"\xff" * 300, "is a gzip file that is damaged from its start."),
        (gzip.compress(TRACE)[:9], "is a gzip file that is damaged from its start."),
        (gzip.compress(b""), "is empty."),
        (b"", "is empty."),
    ],
    ids=["no gzip data", "cut in its head", "gzip of nothing", "nothing"],
)
def test_damaged_is_not_empty(tmp_path: Path, content: bytes, text: str) -> None:
    scanner = FormatScanner(detect_format)
    each = write(tmp_path / "t.json.gz", content)
    scan(scanner, each)
    detections = scanner.cached(each)
    assert detections is not None
    assert (detections.is_trace, detections.text) == (False, text)
