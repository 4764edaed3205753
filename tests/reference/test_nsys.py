"""Exports of Nsight Systems: what is read of them is what SQL says."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.helpers import nsys as made
from tests.reference import nsys_sql as sql
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
