"""Metadata of an export: versions, time 0, diagnostics of the recorder, missing data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.importers.nsys.exports import (
    CALL,
    KERNEL,
    call,
    columns_of,
    global_tid,
    kernel,
    strings,
    trace_of,
)
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.importers import TraceFormatError
from torch_tb_profiler.knowledge.recorders import recorder_named
from torch_tb_profiler.trace.info import CAPABILITIES
from torch_tb_profiler.views.overview.view import overview

BASE: dict[str, Any] = {"StringIds": strings("f"), KERNEL: [kernel(0, 5)]}


@pytest.mark.parametrize("table", ["META_DATA_EXPORT", "EXPORT_META_DATA"])
def test_versions_of_old_and_new_exports(tmp_path: Path, table: str) -> None:
    rows = [
        {"name": "EXPORT_PRODUCT_VERSION", "value": "2026.2.1.210"},
        {"name": "EXPORT_SCHEMA_VERSION", "value": "3.25.0"},
    ]
    columns = columns_of(tmp_path, {**BASE, table: rows})
    assert columns.info.recorder_version == "2026.2.1.210, schema 3.25.0"
    assert columns.info.recorder == "Nsight Systems"
    assert columns_of(tmp_path, BASE).info.recorder_version is None


def test_the_recorder_is_known() -> None:
    assert recorder_named("Nsight Systems").name == "Nsight Systems"


@pytest.mark.parametrize(
    ("epoch", "base_ns"),
    [
        (1779630014975716426, 1779630014975716426),
        (None, 0),
        (-5, 0),
        ("soon", 0),
        (2**63 - 1, 0),
    ],
)
def test_time_zero(tmp_path: Path, epoch: Any, base_ns: int) -> None:
    start = {"TARGET_INFO_SESSION_START_TIME": [{"utcEpochNs": epoch}]}
    assert columns_of(tmp_path, {**BASE, **start}).base_ns == base_ns


def test_times_that_count_from_1970_already(tmp_path: Path) -> None:
    """As ``nsys export --ts-normalize=true`` writes them; a damaged time changes nothing."""
    epoch = 1779630014975716426
    start = {"TARGET_INFO_SESSION_START_TIME": [{"utcEpochNs": epoch}]}
    kernels = [kernel(epoch + 7, epoch + 9), kernel(0, 5), kernel(epoch + 10, epoch + 12)]
    columns = columns_of(tmp_path, {**BASE, KERNEL: kernels, **start})
    assert columns.base_ns == 0


@pytest.mark.parametrize(
    ("severity", "text", "code"),
    [
        (2, "Not all CUDA events might have been collected.", "nsys_events_dropped"),
        (3, "12 events were dropped because the buffers are full.", "nsys_events_dropped"),
        (2, "CUDA device 0: Unified Memory cannot be traced on devices that …", "nsys_warnings"),
        (3, "Installed CUDA driver version is not supported.", "nsys_errors"),
        (1, "Number of CUDA events collected: 12.", None),
        (4, "events were dropped", None),
        (2, None, "nsys_warnings"),
    ],
)
def test_diagnostics(tmp_path: Path, severity: int, text: str | None, code: str | None) -> None:
    rows = [{"severity": severity, "text": text}]
    counts = columns_of(tmp_path, {**BASE, "DIAGNOSTIC_EVENT": rows}).quality.counts
    assert {key for key in counts if key.startswith("nsys")} == ({code} if code else set())


def test_missing_and_empty_tables(tmp_path: Path) -> None:
    tables = {**BASE, "NVTX_EVENTS": ["start", "end"], CALL: [call(0, 1, 1)]}
    reasons = {
        each.capability: each.reason for each in columns_of(tmp_path, tables).info.not_recorded
    }
    assert set(reasons) <= set(CAPABILITIES)
    assert reasons["operators"] == "Not traced: the table NVTX_EVENTS is empty."
    assert reasons["copies"] == "Not traced: the table CUPTI_ACTIVITY_KIND_MEMCPY is absent."
    assert "kernels" not in reasons
    assert "runtime" not in reasons


def test_data_loading_is_unknown_without_a_range_of_a_loader(tmp_path: Path) -> None:
    """Its time in a step is null, and not 0; a range of PyTorch's loader is measured."""

    def loading_us(text: str) -> float | None:
        ranges = [
            {
                "start": at,
                "end": end,
                "eventType": 59,
                "globalTid": global_tid(10, 10),
                "text": name,
            }
            for at, end, name in ((0, 9000, "ProfilerStep#1"), (1000, 4000, text))
        ]
        tables = {**BASE, "NVTX_EVENTS": ranges, KERNEL: [kernel(6000, 7000)]}
        steps = overview(trace_of(tmp_path, tables), Selection()).tables["steps"]
        assert ("dataloader_us" in steps.null_reasons) == (text == "batch")
        value: float | None = steps.frame["dataloader_us"][0]
        return value

    assert loading_us("batch") is None
    assert loading_us("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__") == 3


def test_an_export_without_events(tmp_path: Path) -> None:
    with pytest.raises(TraceFormatError) as error:
        columns_of(tmp_path, {"StringIds": strings("f"), KERNEL: ["start", "end"]})
    assert error.value.code == "no_events"
    assert "nsys profile" in error.value.hint


def test_simple_mode(tmp_path: Path) -> None:
    """Neither ranges nor calls: kernels still have a wall clock, names and times."""
    columns = columns_of(tmp_path, {**BASE, "OSRT_API": ["start", "end", "globalTid", "nameId"]})
    assert columns.tables["slices"]["dur_ns"].tolist() == [5]
