"""Cases: the distributed view and its advice are the same from summaries as from traces, for every
run of the samples, for steps; a summary has no secrets of the header; a broken one is rejected;
tables can be read while they are written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from polars.testing import assert_frame_equal

from tests.helpers.ascend import OUTPUT, Run, read_folder, write_text
from tests.helpers.opening import open_file
from tests.helpers.traces import annotation
from tests.helpers.traces import trace as hand_built
from tests.importers.mindspore.folders import folder_of, opened
from tests.importers.mindspore.test_cluster import PIPELINE, STEP, hccl
from torch_tb_profiler.analysis.algebra.intervals import total
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.loading.ingest.summaries import load_summary, save_summary
from torch_tb_profiler.loading.queries.views import run_view, view_spec
from torch_tb_profiler.loading.store.trace_memory import memory_of
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.cache import BrokenCacheError
from torch_tb_profiler.trace.info import TraceInfo
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.distributed.view import distributed
from torch_tb_profiler.views.schema import View

RUNS = ("cpu_ddp4_gloo", "dlrm_8_ranks", "kineto_resnet50_nw0")


@pytest.fixture(scope="module", params=RUNS, name="traces")
def traces_of_a_run(request: pytest.FixtureRequest, samples: Path) -> dict[str, Trace]:
    contents = Catalog([TraceRoot(os.fspath(samples / request.param))], cache=None).contents()
    workers = next(iter(contents.runs.values()))
    return {
        worker: open_file(next(iter(spans.values())).location, cache=None)
        for worker, spans in workers.items()
    }


def summarised(traces: dict[str, Trace], folder: Path) -> dict[str, Trace]:
    summaries = {}
    for number, (worker, trace) in enumerate(traces.items()):
        place = folder / str(number)
        place.mkdir()
        save_summary(trace, place)
        summaries[worker] = load_summary(place)
    return summaries


def assert_same(one: View, other: View) -> None:
    assert one.facts == other.facts
    assert one.notes == other.notes
    for name, table in one.tables.items():
        assert_frame_equal(table.frame, other.tables[name].frame, check_exact=True)


@pytest.mark.parametrize("part", ["all", "first step", "last steps"])
def test_the_view_is_the_same(traces: dict[str, Trace], tmp_path: Path, part: str) -> None:
    names: list[str] = next(iter(traces.values())).steps["name"].to_list()
    steps = {"all": None, "first step": names[0], "last steps": ",".join(names[-2:])}[part]
    selection = Selection(steps=steps)
    spec = view_spec("distributed")
    usable = {worker: trace for worker, trace in traces.items() if spec.missing(trace) is None}
    if not usable:
        small = summarised(traces, tmp_path)
        assert all(spec.missing(trace) is not None for trace in small.values())
        return
    whole = run_view(spec, traces, selection)
    small = summarised(traces, tmp_path)
    assert_same(whole, run_view(spec, small, selection))
    assert size_bytes(small) < size_bytes(traces) / 5


def test_tables_of_files_are_the_same(tmp_path: Path) -> None:
    """Of two workers of torch_npu with events, and of two of MindSpore with tables only."""
    spec = view_spec("distributed")
    folders = {f"rank{rank}": tmp_path / f"rank{rank}_ascend_pt" for rank in (0, 1)}
    for folder in folders.values():
        write_text(folder, Run())
        times = {"Start Timestamp(us)": 5, "Elapse Time(ms)": 3, "Transit Time(ms)": 2}
        call = {"hcom_allReduce__586_0_1@0": {"Communication Time Info": times}}
        file = folder / OUTPUT / "communication.json"
        file.write_text(json.dumps({"step1": {"collective": call}}))
    with_events = {each: build_trace(read_folder(folder)) for each, folder in folders.items()}
    name = "ascend_cluster_analyse_pipeline-parallel_2_4_{}.csv"
    tables_only = {
        f"rank{rank}": opened(
            folder_of({f"hccl_raw_{rank}.csv": hccl([STEP]), name.format(rank): PIPELINE})
        )
        for rank in (0, 1)
    }
    for run, ranked in ((with_events, 2), (tables_only, 0)):
        place = tmp_path / f"summaries {ranked}"
        place.mkdir()
        view = run_view(spec, summarised(run, place), Selection())
        assert_same(run_view(spec, run, Selection()), view)
        assert view.tables["stragglers"].frame.height == ranked
        assert ("no_timeline" in {note.code for note in view.notes}) == (ranked == 0)
        assert view.tables["recorded_collectives"].frame.height
        moved_us = view.tables["wait"].frame["transfer_us"].to_list()
        assert moved_us == [2000] * len(moved_us), "as the file states it"
        assert bool(moved_us) == (ranked > 0)
    assert view.tables["cluster_steps"].frame["worker"].unique().sort().to_list() == [*folders]


def size_bytes(traces: dict[str, Trace]) -> int:
    return sum(memory_of(trace).content_bytes for trace in traces.values())


def test_a_summary_has_nothing_that_could_be_dropped(
    traces: dict[str, Trace], tmp_path: Path
) -> None:
    small = summarised(traces, tmp_path)
    spec = view_spec("distributed")
    if all(spec.missing(trace) is not None for trace in small.values()):
        return
    before = run_view(spec, small, Selection())
    for trace in small.values():
        trace.derived.drop()
    assert_same(before, run_view(spec, small, Selection()))


def test_a_summary_takes_no_secret_of_the_header(tmp_path: Path, traces: dict[str, Trace]) -> None:
    trace = next(iter(traces.values()))
    info = TraceInfo(host_name="node-1", framework="very-secret", job=trace.meta.info.job)
    trace = replace(trace, meta=replace(trace.meta, info=info))
    save_summary(trace, tmp_path)
    assert all(b"very-secret" not in file.read_bytes() for file in tmp_path.iterdir())
    kept = load_summary(tmp_path)
    assert kept.steps.equals(trace.steps)
    assert kept.meta.info.host_name == "node-1"  # shown beside the devices of every worker


@pytest.mark.parametrize("damage", [b"", b"\x80", b"cut"])
def test_a_broken_summary_is_none(tmp_path: Path, traces: dict[str, Trace], damage: bytes) -> None:
    with pytest.raises(BrokenCacheError):
        load_summary(tmp_path)
    save_summary(next(iter(traces.values())), tmp_path)
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:1000] if damage == b"cut" else damage)
    with pytest.raises(BrokenCacheError):
        load_summary(tmp_path)


CHANGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "version": lambda summary: summary.update(version=1),
    "a frame less": lambda summary: summary["frames"].pop("steps"),
    "a frame of others": lambda summary: summary["frames"].update(
        steps=summary["frames"]["devices"]
    ),
    "other rows": lambda summary: summary["tables"]["steps"].update(rows=99),
    "a frame that is none": lambda summary: summary["frames"].update(steps=1),
    "an array less": lambda summary: summary["arrays"].pop("record"),
    "an array that ends early": lambda summary: summary["arrays"].update(record=b"123"),
    "a fact of another type": lambda summary: summary["meta"].update(start_ns=0.5),
    "a count of another type": lambda summary: summary.update(quality={"truncated": "x"}),
    "no map": lambda summary: summary.update(frames=[]),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_summary_that_is_not_as_it_was_written(
    tmp_path: Path, traces: dict[str, Trace], change: str
) -> None:
    save_summary(next(iter(traces.values())), tmp_path)
    (file,) = tmp_path.iterdir()
    summary = msgspec.msgpack.decode(file.read_bytes())
    CHANGES[change](summary)
    file.write_bytes(msgspec.msgpack.encode(summary))
    with pytest.raises(BrokenCacheError):
        load_summary(tmp_path)


def test_advice_compares_the_same_compute_times(tmp_path: Path, traces: dict[str, Trace]) -> None:
    trace = next(iter(traces.values()))
    save_summary(trace, tmp_path)
    small = load_summary(tmp_path)
    for steps in (None, *trace.steps["name"].to_list()[:4]):
        selection = Selection(steps=steps)
        of_small, of_whole = (Context(each, selection).compute_intervals for each in (small, trace))
        assert of_small.keys() == of_whole.keys()
        for gpu, time in of_whole.items():
            assert total(of_small[gpu]) == total(time)
    assert small.device_work.height <= trace.device_work.height


def test_a_worker_that_computes_nothing_has_a_summary(tmp_path: Path) -> None:
    trace = hand_built([annotation("nccl:all_reduce", 0, 5)])
    save_summary(trace, tmp_path)
    small = load_summary(tmp_path)
    for view in ({"w": trace}, {"w": small}):
        overlap = distributed(view, Selection()).tables["overlap"].frame
        assert overlap["communication_us"].to_list() == [None, None]


WRITE_AND_LOOK = """
import faulthandler, sys, threading
import polars as pl
from torch_tb_profiler.loading.ingest.summaries import _packed
faulthandler.dump_traceback_later(60, exit=True)
sys.setswitchinterval(1e-6)
frame = pl.DataFrame({f"c{i}": list(range(2000)) for i in range(20)})
def write():
    for _ in range(200):
        _packed(frame)
def look():
    for _ in range(2000):
        frame.schema
threads = [threading.Thread(target=work) for work in (write, look, write, look)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


def test_a_table_can_be_read_while_it_is_written() -> None:
    """Polars locks what it writes; a look at it waited for that with Python's lock in hand."""
    command = [sys.executable, "-c", WRITE_AND_LOOK]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
