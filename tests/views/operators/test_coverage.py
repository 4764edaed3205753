"""All device work is in one row: sums over the rows of the operators view equal sums over the raw
JSON and the kernels view, on recordings of several makers, whole and in a time range."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.helpers import traces as t
from tests.views import reference
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.views.kernels.view import kernels
from torch_tb_profiler.views.operators.view import operators

RECORDINGS = (
    "h100_bert_small/rank0",
    "mi300_bert_small/rank0",
    "dlrm_8_ranks/worker1",
    "torch_compile_triton/",
)


def duration_us(pieces: list[dict[str, Any]]) -> float:
    return sum(reference.ns(piece["dur"]) for piece in pieces) / 1000


@pytest.mark.parametrize("recording", RECORDINGS)
def test_rows_add_up_to_what_ran(samples: Path, recording: str) -> None:
    folder, _, worker = recording.partition("/")
    path = min((samples / folder).glob(f"{worker}*.gz"))
    events = reference.load(path)
    trace = t.trace(events)
    pieces = [e for e in events if e.get("ph") == "X" and e.get("cat") in reference.DEVICE]
    starts = sorted(reference.ns(piece["ts"]) for piece in pieces)
    first, last = starts[len(starts) // 4], starts[3 * len(starts) // 4]
    for selection in (Selection(), Selection(start_ns=first, end_ns=last)):
        if not selection.is_everything:
            pieces = [p for p in pieces if first <= reference.ns(p["ts"]) < last]
        of_kernels = [piece for piece in pieces if piece["cat"] == "kernel"]
        copies = [piece for piece in pieces if piece["cat"] != "kernel"]
        rows = operators(trace, selection).tables["operators"].frame
        by_kernel = kernels(trace, selection).tables["kernels"].frame
        assert by_kernel["total_us"].sum() == pytest.approx(duration_us(of_kernels))
        in_rows = sum(rows["device_self_us"].to_list()) - duration_us(copies)
        assert in_rows == pytest.approx(by_kernel["total_us"].sum(), abs=0.001)
        assert rows["calls"].dtype.is_integer()


@pytest.mark.parametrize("recording", RECORDINGS)
def test_work_outside_operators_is_that_of_the_reference(samples: Path, recording: str) -> None:
    """Nested slowly: device work whose call lies in no operator, by the name of the call."""
    folder, _, worker = recording.partition("/")
    events = reference.load(min((samples / folder).glob(f"{worker}*.gz")))
    rows = operators(t.trace(events), Selection()).tables["operators"].frame
    result = dict(rows.filter(rows["kind"] != "operator").select("name", "device_self_us").rows())
    read = reference.read(events)
    launches = {
        e["args"]["correlation"]: e["name"]
        for e in events
        if reference.is_call(e) and "correlation" in e.get("args", {})
    }
    expected: dict[str, float] = {}
    for piece in read.device:
        if piece["owner"] is None or not piece["owner"].in_tables:
            name = launches.get(piece["args"].get("correlation"), "(launch not recorded)")
            expected[name] = expected.get(name, 0) + reference.ns(piece["dur"]) / 1000
    assert result == pytest.approx(expected)
