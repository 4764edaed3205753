"""Cases: self time by category and name cut at the range, against every moment of random
recordings; GPU parts that add up to the range; idle gaps with what the host did; search by text
with next, previous, position and thinned hits; arrows from launches, operators and forward.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.examples import examples
from tests.helpers.traces import annotation, call, kernel, memcpy, op, trace
from tests.views.random_traces import Recording, recordings
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.views.timeline.flows import Flow, flows_of
from torch_tb_profiler.views.timeline.index import timeline
from torch_tb_profiler.views.timeline.range_summary import range_summary
from torch_tb_profiler.views.timeline.search import MAX_HITS, codes_containing, codes_matching, find

LAUNCHED = [
    annotation("train", 0, 100),
    op("aten::linear", 10, 50),
    op("aten::mm", 20, 30),
    call("cudaLaunchKernel", 25, 5, corr=1),
    call("cudaStreamSynchronize", 70, 20),
    kernel("gemm", 40, 25, corr=1),
]


def test_self_time_is_cut_at_the_range() -> None:
    summary = range_summary(timeline(trace(LAUNCHED)), 15_000, 80_000)
    rows = summary.slices.frame.select("kind", "name", "count", "self_us", "total_us").rows()
    assert [row for row in rows if row[0] == "Operator"] == [
        ("Operator", "aten::mm", 1, 25.0, 30.0),
        ("Operator", "aten::linear", 1, 15.0, 45.0),
    ]
    assert [row for row in rows if row[0] == "Kernel"] == [("Kernel", "gemm", 1, 25.0, 25.0)]
    assert [(entry.name, entry.self_us, entry.total_us) for entry in summary.operators] == [
        ("aten::mm", 25.0, 30.0),
        ("aten::linear", 15.0, 45.0),
    ]
    assert [(entry.name, entry.total_us) for entry in summary.kernels] == [("gemm", 25.0)]
    by_category = {entry.category: entry.self_us for entry in summary.categories}
    assert by_category == {0: 40.0, 2: 10.0, 8: 15.0, 9: 25.0}


def test_gaps_name_what_the_host_did() -> None:
    summary = range_summary(timeline(trace(LAUNCHED)), 0, 100_000)
    assert summary.gap_count == 2
    first, second = summary.gaps
    assert (first.start_ns, first.end_ns) == (0, 40_000)
    assert (second.start_ns, second.end_ns) == (65_000, 100_000)
    assert [entry.name for entry in first.host] == ["aten::mm", "train", "aten::linear"]
    assert second.host[0].name == "cudaStreamSynchronize"
    assert second.host[0].self_us == 20.0
    (gpu,) = summary.gpus
    assert (gpu.computation_us, gpu.idle_us, gpu.busy_us) == (25.0, 75.0, 25.0)


def test_copies_are_no_computation_of_a_gpu() -> None:
    events = [
        op("aten::mm", 0, 100),
        kernel("gemm", 10, 20),
        memcpy(20, 20, stream=9),
        kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)", 60, 20, stream=8),
    ]
    (gpu,) = range_summary(timeline(trace(events)), 0, 100_000).gpus
    assert (gpu.computation_us, gpu.communication_us, gpu.overlap_us) == (20, 20, 0)
    assert (gpu.copies_us, gpu.busy_us, gpu.idle_us) == (10, 50, 50)


@examples(80)
@given(recordings(), st.integers(-20, 150), st.integers(1, 200))
def test_parts_add_up_to_the_moments(recording: Recording, start: int, length: int) -> None:
    built = timeline(trace(recording.events))
    summary = range_summary(built, start, start + length)
    slices = built.trace.slices
    begin = slices["start_ns"].to_numpy() - built.origin_ns
    end = begin + slices["dur_ns"].to_numpy()
    inside = np.minimum(end, start + length) - np.maximum(begin, start)
    for gpu in summary.gpus:
        assert round(gpu.busy_us * 1000) + round(gpu.idle_us * 1000) == length
        parts = (gpu.computation_us, gpu.communication_us, gpu.overlap_us, gpu.copies_us)
        assert sum(round(part * 1000) for part in parts) == round(gpu.busy_us * 1000)
        work = built.trace.device_work
        moments: set[int] = set()
        for row in np.flatnonzero(work["device"].to_numpy() == gpu.device).tolist():
            at = work["slice"][row]
            moments.update(range(max(begin[at], start), min(end[at], start + length)))
        assert gpu.busy_us == len(moments) / 1000
    kernels = summary.slices.frame.filter(pl.col("kind").is_in(["Kernel", "Communication"]))
    for name, total_us in kernels.select("name", "total_us").iter_rows():
        named = [built.trace.text(code) == name for code in slices["name_code"]]
        on_device = (slices["category"] == Category.KERNEL).to_numpy()
        whole = np.maximum(inside, 0)[np.array(named) & on_device].sum()
        assert round(total_us * 1000) == whole


def test_search_finds_counts_and_steps_through() -> None:
    events = [op(f"aten::add{i % 3}", 10 * i, 5) for i in range(30)] + [op("mm", 1000, 1)]
    built = trace(events)
    codes = codes_containing(built, "ADD1")
    found = find(built, codes)
    assert (found.count, found.name_count, found.position) == (10, 1, None)
    assert [(name.name, name.count) for name in found.names] == [("aten::add1", 10)]
    third = int(found.hits[2])
    around = find(built, codes, from_slice=third)
    assert (around.previous, around.following, around.position) == (
        int(found.hits[1]),
        int(found.hits[3]),
        3,
    )
    assert find(built, codes, from_slice=int(found.hits[-1])).following is None
    assert find(built, codes, from_ns=0).previous is None
    at = find(built, codes, from_ns=45_000)
    assert at.previous is not None
    assert at.following is not None
    assert built.slices["start_ns"][at.following] == 70_000
    assert built.slices["start_ns"][at.previous] == 40_000
    assert find(built, codes_containing(built, "nowhere"), from_ns=0).count == 0


def test_a_name_after_an_equals_sign_is_found_exactly() -> None:
    built = trace([op(name, 10 * i, 5) for i, name in enumerate(("add", "add_", "Add", "=add"))])

    def found(query: str) -> set[str | None]:
        return {built.text(code) for code in codes_matching(built, query).tolist()}

    assert found("=add") == {"add", "Add"}
    assert found("add") == {"add", "add_", "Add", "=add"}
    assert found("==add") == {"=add"}
    assert found("=") == {"=add"}
    assert found("=nowhere") == set()


def test_many_hits_are_spread_over_the_time() -> None:
    built = trace(op("aten::add", i, 0.5) for i in range(5000))
    found = find(built, codes_containing(built, "add"))
    assert (found.count, len(found.hits)) == (5000, MAX_HITS)
    assert np.diff(found.hits).max() <= 3


def test_arrows() -> None:
    built = trace(LAUNCHED)
    ids = {built.text(code): i for i, code in enumerate(built.slices["name_code"])}
    arrow = Flow("launch", ids["cudaLaunchKernel"], ids["gemm"])
    for name in ("cudaLaunchKernel", "gemm", "aten::mm"):
        assert flows_of(built, ids[name]) == [arrow]
    assert flows_of(built, ids["train"]) == []
