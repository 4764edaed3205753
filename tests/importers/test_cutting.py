"""Parts of recordings that are read whole and cut: Nsight Systems; and formats that refuse."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from torch_tb_profiler.api import open_trace
from torch_tb_profiler.importers.cutting import Window
from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.parts import RecordingPart
from torch_tb_profiler.importers.protocol import Reading, ReadOptions
from torch_tb_profiler.importers.registry import FORMATS, import_source
from torch_tb_profiler.importers.source import Source

PROCESS = 1 << 48 | 7 << 24
"""``globalPid``; the thread is the first one."""


@pytest.fixture
def export(tmp_path: Path) -> Path:
    """Ten calls of 2 µs every 10 µs, each with a kernel 5 µs later, and a range over all."""
    path = tmp_path / "x.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            """
            CREATE TABLE StringIds (id INTEGER, value TEXT);
            CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (
                start, "end", deviceId, contextId, streamId, correlationId, globalPid,
                demangledName, graphNodeId);
            CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (
                start, "end", eventClass, globalTid, correlationId, nameId);
            CREATE TABLE NVTX_EVENTS (
                start, "end", eventType, globalTid, text);
            INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel'), (2, 'gemm');
            """
        )
        for number in range(10):
            at = 1_000_000 + 10_000 * number
            connection.execute(
                "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 0, ?, ?, 1)",
                (at, at + 2000, PROCESS + 7, number + 1),
            )
            connection.execute(
                "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 1, 7, ?, ?, 2, NULL)",
                (at + 5000, at + 9000, number + 1, PROCESS),
            )
            connection.execute(
                "INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, ?, ?)",
                (at - 1000, at + 3000, PROCESS + 7, f"ProfilerStep#{number}"),
            )
        connection.execute(
            "INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, ?, 'all')",
            (990_000, 1_200_000, PROCESS + 7),
        )
        connection.commit()
    return path


def read(path: Path, part: RecordingPart) -> list[tuple[str, int]]:
    source = Source(path.name, [path.read_bytes()], path=str(path))
    columns = import_source(source, Reading(ReadOptions(part=part)))
    slices = columns.tables["slices"]
    names = [columns.strings[code] for code in slices["name_code"].tolist()]
    device = columns.tables["device"]["slice"]
    assert [names[row] for row in device.tolist()] == ["gemm"] * len(device)
    assert columns.quality.counts["part_read"] == 1
    return sorted(zip(names, (slices["start_ns"] // 1000).tolist(), strict=True))


def test_a_time_of_an_export(export: Path) -> None:
    # The first slice begins at 990 µs: 32 to 47 µs after it are 1022 to 1037 µs.
    assert read(export, RecordingPart.parse("us", "32:47")) == [
        ("ProfilerStep#2", 1019), ("ProfilerStep#3", 1029), ("all", 990),
        ("cudaLaunchKernel", 1030), ("gemm", 1025), ("gemm", 1035),
    ]  # fmt: skip


def test_steps_of_an_export_have_the_kernels_that_they_launched(export: Path) -> None:
    # Step 2 ends at 1023 µs, its kernel begins at 1025 µs; that of step 1 ends before.
    assert read(export, RecordingPart.parse("steps", "2")) == [
        ("ProfilerStep#2", 1019), ("all", 990), ("cudaLaunchKernel", 1020), ("gemm", 1025),
    ]  # fmt: skip


def test_formats_without_parts_say_so() -> None:
    part = RecordingPart.parse("us", "1:2")
    refusing = [each for each in FORMATS if not each.cuts_parts and each.part_module is None]
    assert {each.name for each in refusing} >= {"paddle", "snapshot"}
    for importer in refusing:
        with pytest.raises(TraceFormatError, match=importer.label) as caught:
            importer.read(Source("x", [b""]), Reading(ReadOptions(part=part)))
        assert caught.value.code == "no_parts"


def test_edges_of_a_window() -> None:
    window = Window(10, 20, 20)
    start = np.array([0, 0, 0, 10, 15, 19, 20, 5, 10])
    dur = np.array([10, 11, 50, 0, 0, 5, 0, 0, 4])
    expected = [False, True, True, True, True, True, False, False, True]
    assert window.overlaps(start, dur).tolist() == expected
    assert window.holds(np.array([9, 10, 19, 20])).tolist() == [False, True, True, False]


def test_every_view_says_which_part_was_read(export: Path) -> None:
    with open_trace(export, cache=False, only_us="30:50") as trace:
        for name in ("overview", "operators", "kernels", "iterations", "idle"):
            assert trace.views()[name] is None
            note = trace.view(name).notes[0]
            assert note.code == "part_read"
            assert note.text.startswith("Only 0.00003 s to 0.00005 s of 0.00021 s since the first")
