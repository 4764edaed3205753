"""Cases: complete and incomplete files of both kinds, fresh, settled and with a date in the future;
the first scan; bounded work for decompression bombs; a growing file; the logdir's list while a
trace is written."""

from __future__ import annotations

import gzip
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.discovered import discover
from torch_tb_profiler.storage import file_completeness
from torch_tb_profiler.storage.file_completeness import SETTLED_S, CompletenessTracker
from torch_tb_profiler.storage.locations import open_location

WHOLE = b'{"traceEvents": [{"ph": "X", "name": "a"}]}'


def later(files: CompletenessTracker) -> CompletenessTracker:
    """The same, when its first scan is over."""
    files.begin_scan()
    files.begin_scan()
    return files


def is_complete(files: CompletenessTracker, file: Path) -> bool:
    return files.is_complete(str(file), file.stat())


# A gzip header has the time in it: without, ids of tests are the same in all processes.
PACKED = gzip.compress(WHOLE, mtime=0)


@pytest.mark.parametrize(
    ("content", "whole"),
    [
        (WHOLE, True),
        (WHOLE + b"\n\n", True),
        (b"[{}]", True),
        (WHOLE[:-2], True),  # cut right behind an event: only the reader can tell
        (WHOLE[:-3], False),
        (b"", False),
        (PACKED, True),
        (PACKED + gzip.compress(b"\n", mtime=0), True),
        (PACKED[:-1], False),
        (PACKED[:-8], False),
        (PACKED[:-8] + b"\0" * 8, False),
        (PACKED[:5], False),
    ],
)
def test_a_fresh_file_is_finished_when_it_is_whole(
    tmp_path: Path, content: bytes, whole: bool
) -> None:
    file = tmp_path / "w"
    file.write_bytes(content)
    assert is_complete(later(CompletenessTracker()), file) is whole


def test_a_settled_file_is_finished_whatever_it_holds(tmp_path: Path) -> None:
    file = tmp_path / "w"
    file.write_bytes(b"half")
    past_s = time.time() - SETTLED_S - 1
    os.utime(file, (past_s, past_s))
    assert is_complete(later(CompletenessTracker()), file)


def test_a_date_in_the_future_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "w"
    file.write_bytes(b"half")
    os.utime(file, (time.time() + 1e6,) * 2)
    files = later(CompletenessTracker())
    assert not is_complete(files, file)
    monkeypatch.setattr(file_completeness, "SETTLED_S", 0.0)
    files.begin_scan()
    assert is_complete(files, file)


def test_the_first_scan_takes_what_is_there(tmp_path: Path) -> None:
    file = tmp_path / "w"
    file.write_bytes(b"half")
    files = CompletenessTracker()
    files.begin_scan()
    assert is_complete(files, file)
    files.begin_scan()
    assert is_complete(files, file)
    file.write_bytes(b"half and more")
    files.begin_scan()
    assert not is_complete(files, file)


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_completeness, "GZIP_CHECK_BYTES", 4 << 20)
    file = tmp_path / "w"
    file.write_bytes(gzip.compress(b"\0" * (64 << 20)))
    assert not is_complete(later(CompletenessTracker()), file)


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_a_trace_appears_when_its_last_byte_is_written(
    tmp_path: Path, compress: Callable[[bytes], bytes]
) -> None:
    content = compress(WHOLE)
    place, files = open_location(str(tmp_path)), later(CompletenessTracker())
    file = tmp_path / "w.pt.trace.json"
    for end in range(1, len(content)):
        file.write_bytes(content[:end])
        if content[end - 1 : end] in (b"}", b"]"):
            continue
        files.begin_scan()
        found = discover(place, files)
        assert (found.files, found.unfinished) == ([], [file.name])
    file.write_bytes(content)
    files.begin_scan()
    assert len(discover(place, files).files) == 1


def test_thousands_of_fresh_runs_are_scanned_quickly(tmp_path: Path) -> None:
    for run in range(2000):
        (tmp_path / f"run{run}").mkdir()
        (tmp_path / f"run{run}" / "w.pt.trace.json").write_bytes(WHOLE)
    place, files = open_location(str(tmp_path)), later(CompletenessTracker())
    started_s = time.process_time()
    assert len(discover(place, files).files) == 2000
    assert time.process_time() - started_s < 1.0
