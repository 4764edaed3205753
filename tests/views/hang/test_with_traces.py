"""The dumps of a program in which rank 2 slept, with traces of its ranks made for this test."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.helpers.flight_dumps import open_folder
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.importers import import_source
from torch_tb_profiler.importers.source import Source
from torch_tb_profiler.loading.ingest.summaries import load_summary, save_summary
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.hang.view import hang
from torch_tb_profiler.views.schema import View

SLEEP = Path(__file__).parents[2] / "data" / "hangs" / "sleep"
S = 10**6
"""Microseconds of a second, the unit of Kineto's times."""


def event(name: str, start: float, end: float, category: str = "cpu_op", tid: int = 7) -> object:
    """An event of Kineto, with times in seconds since the wait began."""
    device = {"args": {"device": 0, "stream": 7}} if category == "kernel" else {}
    return {
        "ph": "X", "cat": category, "name": name, "pid": 0 if device else 7, "tid": tid,
        "ts": (start + 100) * S, "dur": (end - start) * S, **device,
    }  # fmt: skip


def rank_trace(rank: int, since_ns: int, events: list[object]) -> Trace:
    document = {
        "schemaVersion": 1,
        "baseTimeNanoseconds": since_ns - 100 * 10**9,
        "distributedInfo": {"backend": "gloo", "rank": rank, "world_size": 4},
        "traceEvents": events,
    }
    source = Source(f"rank{rank}.pt.trace.json", [json.dumps(document).encode()])
    return build_trace(import_source(source))


def many(count: int, start: float, end: float) -> list[object]:
    step = (end - start) / count
    return [event("aten::add", start + i * step, start + (i + 0.5) * step) for i in range(count)]


@pytest.fixture
def traces(tmp_path: Path) -> dict[str, Trace]:
    """Dumps of all ranks but the last; the wait is 40 s long."""
    dumps = {}
    for path in SLEEP.glob("fr_trace_rank_[012]"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    dumps = open_folder(tmp_path)
    entries = dumps["fr_trace_rank_0"].side["flight_entries"].frame
    since = int(entries.filter(entries["state"] != 2)["created_ns"].min())  # type: ignore[arg-type]
    for path in tmp_path.iterdir():
        os.utime(path, ns=(since + 40 * 10**9, since + 40 * 10**9))
    dumps = open_folder(tmp_path)
    return {
        **dumps,
        "rank0": rank_trace(
            0,
            since,
            [
                *many(200, -90, -1),
                event("train.py(41): step", -1, 30, "python_function"),
                event("torch/distributed/c10d.py(83): all_reduce", -0.5, 29, "python_function"),
                event("cudaStreamSynchronize", 0.5, 29, "cuda_runtime"),
                event("other thread", -1, 29.5, tid=9),
                event("ncclKernel_AllReduce", 1, 29, "kernel"),
            ],
        ),
        "rank2": rank_trace(
            2,
            since,
            [
                *many(200, -90, -1),
                event("train.py(44): read_batch", -1, 31, "python_function"),
                event("gemm", -3, -2, "kernel"),
            ],
        ),
        "rank3": rank_trace(3, since, [*many(9, -90, -45), event("aten::mm", -46, -45)]),
    }


def rows(view: View) -> dict[int, dict[str, object]]:
    frame = view.tables["hang_ranks"].frame.filter(view.tables["hang_ranks"].frame["sequence"] == 4)
    return {row["rank"]: row for row in frame.iter_rows(named=True)}


def test_what_ranks_did_comes_from_their_traces(traces: dict[str, Trace]) -> None:
    view = hang(traces, Selection())
    by_rank = rows(view)
    assert by_rank[2]["host_at_hang"] == "train.py(44): read_batch"
    assert by_rank[2]["device_at_hang"] == "idle since 17.6 s"
    assert by_rank[1]["trace_gap"] == "the rank has no trace"
    assert by_rank[3]["trace_gap"] == "its trace ends 45 s before"
    assert by_rank[3]["state"] == "no dump"
    assert by_rank[3]["host_at_hang"] is None
    assert view.answer is not None
    assert view.answer.startswith("Rank 2 never called all_reduce #4")
    assert "By its trace rank 2 was in train.py(44): read_batch meanwhile" in view.answer
    assert "The rank has no trace" in view.tables["hang_ranks"].null_reasons["host_at_hang"]


def test_a_waiting_rank_is_in_its_call(traces: dict[str, Trace]) -> None:
    row = rows(hang(traces, Selection()))[0]
    assert row["host_at_hang"] == "cudaStreamSynchronize, in train.py(41): step"
    assert row["device_at_hang"] == "ncclKernel_AllReduce"
    assert row["trace_gap"] is None


def test_summaries_give_the_same_answer(traces: dict[str, Trace], tmp_path: Path) -> None:
    small = {}
    for worker, trace in traces.items():
        folder = tmp_path / f"summary of {worker}"
        folder.mkdir()
        save_summary(trace, folder)
        small[worker] = load_summary(folder)
    whole, of_summaries = (hang(each, Selection()) for each in (traces, small))
    assert of_summaries.answer == whole.answer
    assert of_summaries.facts == whole.facts
    assert of_summaries.notes == whole.notes
    for name, table in whole.tables.items():
        assert of_summaries.tables[name].frame.equals(table.frame), name
