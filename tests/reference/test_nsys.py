"""Exports of Nsight Systems: what is read of them is what SQL says."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import nsys as made
from tests.helpers import sums
from tests.reference import nsys_sql as sql
from tests.reference import nsys_sums
from torch_tb_profiler.analysis.operators.hierarchies.of_ranges import (
    domains_of_ranges,
    ranges_hierarchy,
)
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.importers.nsys.reader import read_export
from torch_tb_profiler.importers.protocol import Reading
from torch_tb_profiler.loading.queries.views import trace_view, view_spec
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.querying import complete

MADE: dict[str, Callable[[], dict[str, list[made.Row]]]] = {
    "training": made.training,
    "gpu_metrics": made.gpu_metrics,
}
CORPUS = (
    "nsys_synth/dlprof_1gpu_2020", "nsys_synth/dlprof_2rank_2026", "nsys_synth/no_kernels",
    "nsys_synth/no_nvtx", "real/nsysai_h100x2_1s_s3.25.0",
    "real/nsysai_h100x2_mfu_before_s3.25.0", "real/nsysai_rtx3080_s3.24.14",
    "real/own_cpu_nvtx_2022.4_s3.0.0", "real/own_cpu_nvtx_2023.4_s3.7.2",
    "real/pipit_saxpy_mpi_s2.9.1",
)  # fmt: skip
KINDS = {"kernel": Category.KERNEL, "copy": Category.MEMCPY, "set": Category.MEMSET}


@pytest.fixture(params=[*MADE, *CORPUS])
def export(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Trace]:
    name = str(request.param)
    if name in MADE:
        return _made(name, tmp_path_factory.getbasetemp())
    corpus: Path = request.getfixturevalue("corpus")
    return _read(corpus / "nsight" / f"{name}.sqlite")


@lru_cache
def _made(name: str, folder: Path) -> tuple[Path, Trace]:
    return _read(made.write_export(folder / f"made_{name}.sqlite", MADE[name]()))


@lru_cache
def _read(path: Path) -> tuple[Path, Trace]:
    return path, build_trace(read_export(str(path), path.name, Reading()))


def stats(trace: Trace, category: Category) -> sql.Stats:
    rows = trace.slices.filter(category=int(category)).group_by("name_code").agg(
        pl.len(), pl.col("dur_ns").sum(), pl.col("dur_ns").min().alias("least"),
        pl.col("dur_ns").max().alias("most"),
    )  # fmt: skip
    return {str(trace.text(code)): tuple(rest) for code, *rest in rows.iter_rows()}


def test_work_is_what_sql_counts(export: tuple[Path, Trace]) -> None:
    path, trace = export
    with sql.opened(path) as file:
        for what, category in KINDS.items():
            rows = trace.device_work.filter(category=int(category))
            assert (rows.height, rows["dur_ns"].sum()) == sql.durations(file, what), what
            if what != "kernel":
                assert rows["bytes"].sum() == sql.copied_bytes(file, what), what


def test_kernels_and_calls_by_name(export: tuple[Path, Trace]) -> None:
    path, trace = export
    with sql.opened(path) as file:
        kernels, calls = sql.kernels_by_name(file), sql.calls_by_name(file)
        told_again = sql.calls_by_name(file, again=True)
    assert stats(trace, Category.KERNEL) == kernels
    assert stats(trace, Category.RUNTIME) == calls
    again = trace.slices.filter(raw_category_code=_code(trace, "cuda_backtrace"))
    assert again.height == sum(count for count, *_ in told_again.values())
    if not kernels:
        return
    view = trace_view(view_spec("kernels"), trace, Selection())
    shown = complete(view.tables["kernels"]).frame
    by_name = shown.group_by("name").agg(pl.col("calls").sum(), pl.col("total_us").sum())
    assert {name: calls for name, calls, _ in by_name.iter_rows()} == {
        name: count for name, (count, *_) in kernels.items()
    }
    for name, _, total_us in by_name.iter_rows():
        assert total_us * 1000 == pytest.approx(kernels[name][1])


def test_sums_per_thread_stream_and_name(export: tuple[Path, Trace]) -> None:
    assert_same_sums(*export)


def assert_same_sums(path: Path, trace: Trace) -> None:
    """Markers of PyProf get other names: of these the sums of each thread are compared."""
    on_host = trace.tracks.filter(~pl.col("is_device"))["track"].to_list()
    host = merged(
        ((pid, tid.partition(" ranges")[0], name), total)
        for (pid, tid, name), total in sums.slices(trace, pl.col("track").is_in(on_host)).items()
    )
    work = merged(
        ((device, stream, kind, name if kind == "KERNEL" else direction(name)), total)
        for (device, stream, kind, name), total in sums.work(trace).items()
    )
    with sql.opened(path) as file:
        assert sums.differences(work, nsys_sums.work(file)) == {}
        assert sums.differences(waits(trace), nsys_sums.waits(file)) == {}
        assert sums.differences(sums.memory(trace), nsys_sums.memory(file)) == {}
        assert sums.differences(metrics(trace), nsys_sums.metrics(file)) == {}
        others = sums.differences(host, nsys_sums.host(file))
        assert all(there is None for _, there in others.values())
        assert merged((key[:2], here) for key, (here, _) in others.items()) == (
            nsys_sums.markers(file)
        )


def merged(rows: Iterable[tuple[tuple[Any, ...], tuple[int, float]]]) -> sums.Sums:
    """The sums of sums whose keys have become equal."""
    result: sums.Sums = {}
    for key, (count, total) in rows:
        before = result.get(key, (0, 0))
        result[key] = before[0] + count, before[1] + total
    return result


def direction(name: str) -> str | None:
    """``HtoD`` of ``Memcpy HtoD (Pageable -> Device)``; sets have none."""
    return name.split()[1] if name.startswith("Memcpy ") else None


def waits(trace: Trace) -> sums.Sums:
    streams = trace.tracks.select("track", "stream")
    rows = trace.slices.filter(raw_category_code=_code(trace, "cuda_sync")).join(streams, "track")
    return sums.add_up(((stream,), ns) for stream, ns in rows.select("stream", "dur_ns").rows())


def metrics(trace: Trace) -> sums.Sums:
    """Metrics of GPUs; other samples are of the host."""
    return {
        (int(source.removeprefix("GPU ")), metric): each
        for (source, metric), each in sums.samples(trace).items()
        if source.startswith("GPU ")
    }


@given(st.integers(0, 2**32))
def test_random_exports(seed: int) -> None:
    with TemporaryDirectory() as folder:
        path = made.write_export(Path(folder) / "x.sqlite", random_tables(seed))
        assert_same_sums(*_read.__wrapped__(path))


def test_work_belongs_to_the_range_that_sql_ties_it_to(export: tuple[Path, Trace]) -> None:
    """In every domain the innermost range around the launch, as its hierarchy has it, or the
    operator that owns the work. A range of one domain may lie in an operator of another; the owner
    is the innermost operator then, and the range is in the hierarchy of its own domain.

    An operator that is the only child of one of its name is the same call seen twice: the outer
    one owns its work.
    """
    path, trace = export
    with sql.opened(path) as file:
        ties = {what: sql.ties(file, what) for what in KINDS}
    spans, told = _spans(trace), _told_ranges(trace)
    for what, category in KINDS.items():
        rows = trace.device_work.filter(category=int(category)).select("slice", "launch", "owner")
        assert len(ties[what]) == rows.height
        work = sorted(rows.to_dicts(), key=lambda row: spans[row["slice"]])
        ordered = sorted(ties[what], key=lambda tie: (tie.start, tie.end))
        for row, tie in zip(work, ordered, strict=True):
            assert_tied(row, tie, spans, {spans[each] for each in told[row["slice"]]})


def test_kernels_of_graphs_belong_to_the_range_of_their_creation(tmp_path: Path) -> None:
    path, trace = _read(made.write_export(tmp_path / "graphs.sqlite", made.graph_nodes()))
    with sql.opened(path) as file:
        expected = sql.creations(file)
    spans = _spans(trace)
    work = trace.device_work.sort("start_ns")["owner"].to_list()
    assert len(work) == 6
    assert [spans[owner] for owner in work] == [span[1:] for span in expected]


def assert_tied(
    work: dict[str, Any], tie: sql.Tie, spans: list[tuple[int, int]], told: set[tuple[int, int]]
) -> None:
    launch, owner = work["launch"], work["owner"]
    assert (launch is None) == (tie.launch is None)
    if tie.launch is None:
        assert owner is None
        return
    assert spans[launch] == tie.launch[1:]
    assert (owner is None) == (not tie.ranges)
    assert {span[1:] for span in tie.ranges.values()} <= told


def random_tables(seed: int) -> dict[str, list[made.Row]]:
    """What several threads, streams and devices did; times are random, so that anything overlaps,
    some have no end, or one before their start."""
    chance = Random(seed)
    threads = (made.MAIN, made.BACKWARD, made.MAIN + (1 << 24))
    texts = ("step 1", "aten::mm, seq = 3, op_id = 4", "aten::add, op_id = 9", "a, b = c", "Größe")

    def times() -> tuple[int, int]:
        start = chance.randrange(1, 10**6)
        return start, start + chance.choice((0, 1, -1, chance.randrange(10**5)))

    def place(correlation: int) -> made.Row:
        return {"deviceId": chance.randrange(2), "streamId": chance.randrange(7, 10),
                "correlationId": correlation}  # fmt: skip

    count = chance.randrange(1, 40)
    launched = [chance.randrange(1, count + 1) for _ in range(count)]
    device = [made.ran(chance.choice(("gemm", "k<1>")), *times(), each, **place(each))
              for each in launched]  # fmt: skip
    tables: dict[str, list[made.Row]] = {
        **{name: rows for name, rows in made.gpu_metrics().items() if "METRICS" in name},
        "TARGET_INFO_GPU": [{"id": number, "cuDevice": number, "name": "H"} for number in range(2)],
        made.NVTX: [
            chance.choice((made.pushed, made.started))(
                chance.choice(texts), start, chance.choice((end, end, None)), chance.choice(threads)
            )
            for start, end in (times() for _ in range(count))
        ],
        made.RUNTIME: [
            made.called(f"cudaLaunchKernel_v{number % 3}", *times(), number, chance.choice(threads))
            for number in range(1, count + 1)
        ],
        made.KERNEL: device[::2],
        "CUPTI_ACTIVITY_KIND_MEMCPY": [
            {**each, "copyKind": chance.choice((1, 2, 8)), "bytes": 8} for each in device[1::2]
        ],
        "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": [
            {**each, "graphId": chance.randrange(3), **chance.choice(({}, {"start": 0, "end": 0}))}
            for each in device[::7]
        ],
        "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": [
            {**each, "syncType": 3, "streamId": chance.choice((7, 8, nsys_sums.NO_STREAM))}
            for each in device[::5]
        ],
    }
    tables["OSRT_API"] = [
        {**each, "nameId": chance.choice(("read", "futex_v2")), "end": chance.choice((1, None))}
        for each in tables[made.RUNTIME][::4]
    ]
    tables["PROFILER_OVERHEAD"] = [
        {**each, "nameId": "Flush (64 KiB)"} for each in tables[made.RUNTIME][::9]
    ]
    tables["CUDA_GPU_MEMORY_USAGE_EVENTS"] = [
        {
            "start": start,
            "globalPid": made.GLOBAL_PID,
            "deviceId": chance.randrange(2),
            "memKind": chance.randrange(5),
            "memoryOperationType": chance.randrange(2),
            "bytes": chance.randrange(2**40),
            "address": start,
            "correlationId": start,
        }
        for start, _ in (times() for _ in range(count))
    ]
    known = {name: rows for name, rows in tables.items() if rows}
    facts = ("TARGET_INFO_GPU", "TARGET_INFO_GPU_METRICS")
    return {name: rows for name, rows in known.items() if name in facts or chance.random() < 0.8}


def _code(trace: Trace, text: str) -> int:
    return trace.strings.tolist().index(text) if text in trace.strings else -1


def _spans(trace: Trace) -> list[tuple[int, int]]:
    start = trace.slices["start_ns"].to_numpy()
    return list(
        zip(start.tolist(), (start + trace.slices["dur_ns"].to_numpy()).tolist(), strict=True)
    )


def _told_ranges(trace: Trace) -> dict[int, list[int]]:
    """Slice of each piece of work → what it belongs to: its owner, with the calls that are the same
    as that one, and the range it is in of every domain."""
    doubles: dict[int, list[int]] = {}
    absorbed = trace.slices.filter(pl.col("absorbed_into").is_not_null())
    for each, by in absorbed.select("id", "absorbed_into").iter_rows():
        doubles.setdefault(by, []).append(each)
    owners = trace.device_work.select("slice", "owner").iter_rows()
    found = {
        piece: [] if owner is None else [owner, *doubles.get(owner, ())] for piece, owner in owners
    }
    work = trace.device_work["slice"].to_numpy()
    for domain in domains_of_ranges(trace):
        hierarchy = ranges_hierarchy(trace, domain)
        inside = np.flatnonzero(hierarchy.work_call >= 0)
        ranges = hierarchy.call_slice[hierarchy.work_call[inside]]
        for piece, one in zip(work[inside].tolist(), ranges.tolist(), strict=True):
            found[piece].append(one)
    return found
