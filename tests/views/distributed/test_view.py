"""The distributed view against FX11, and real runs against sums over their raw JSON."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.traces import Event, annotation, kernel, op, step, trace
from tests.views.run_views import FLOAT, OPERATIONS, OVERLAP, rounded, rows, view
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.importers.kineto.reader import read_text
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.distributed.view import SPEC


def fx11_nccl(kernel_name: str) -> dict[str, Trace]:
    def worker(*at: tuple[float, float]) -> Trace:
        bcast, k1, add, k2, reduce, k3 = at
        return trace(
            [
                op("nccl:broadcast", *bcast, ext=146, shape=[[53120]], **FLOAT),
                kernel(kernel_name, *k1, ext=146),
                op("aten::add_", *add, ext=200),
                kernel("elementwise_kernel", *k2, ext=200),
                op("nccl:all_reduce", *reduce, ext=2513, shape=[[2049000]], **FLOAT),
                kernel(kernel_name, *k3, ext=2513),
            ]
        )

    first = ((0, 75), (16, 16), (100, 20), (130, 161), (160, 75), (162, 1556))
    second = ((0, 20), (8, 31), (25, 20), (30, 161), (160, 75), (562, 1058))
    return {"worker0": worker(*first), "worker1": worker(*second)}


@pytest.mark.parametrize("kernel_name", ["K", "ncclKernel_AllReduce_RING_LL_Sum_float(x)"])
def test_fx11_nccl(kernel_name: str) -> None:
    """The predecessor counted the ranges on the host too, in which NCCL only enqueues."""
    found = view(fx11_nccl(kernel_name))
    assert rows(found, "overlap", *OVERLAP, step="0") == [(32, 73, 16, 114), (152, 9, 22, 52)]
    assert rows(found, "wait", "transfer_us", "wait_us", step="0") == [(1074, 498), (1074, 15)]
    assert sorted(rows(found, "collectives", *OPERATIONS, worker="worker0")) == [
        ("nccl:all_reduce", 1, 8196000, 8196000, 1556, 1556, 1058, 1058),
        ("nccl:broadcast", 1, 212480, 212480, 16, 16, 16, 16),
    ]
    assert sorted(rows(found, "collectives", *OPERATIONS, worker="worker1")) == [
        ("nccl:all_reduce", 1, 8196000, 8196000, 1058, 1058, 1058, 1058),
        ("nccl:broadcast", 1, 212480, 212480, 31, 31, 16, 16),
    ]


def fx11_gloo(*, on_gpu: bool) -> dict[str, Trace]:
    def worker(broadcasts: Any, reduces: Any, add: Any, compute: Any) -> Trace:
        events = [
            annotation("gloo:broadcast", *at, tid=2, shape=[[53120]], **FLOAT) for at in broadcasts
        ]
        events += [
            annotation("gloo:all_reduce", *at, tid=3, shape=[[2049000]], **FLOAT) for at in reduces
        ]
        events.append(op("aten::add_", *add))
        if on_gpu:
            events.append(kernel("elementwise_kernel", *compute))
        else:
            events.append(op("aten::mm", *compute, tid=4))
        return trace(events)

    return {
        "worker0": worker(
            [(16, 38), (25, 36), (66, 18)], [(110, 18), (120, 36)], (0, 20), (30, 101)
        ),
        "worker1": worker([(20, 28), (28, 30), (77, 6)], [(88, 38), (130, 16)], (0, 30), (70, 70)),
    }


def test_fx11_gloo_beside_gpu_computation() -> None:
    found = view(fx11_gloo(on_gpu=True))
    assert rows(found, "overlap", *OVERLAP, step="0") == [(31, 70, 39, 16), (16, 54, 44, 32)]
    assert rows(found, "wait", "transfer_us", "wait_us", step="0") == [(75, 34), (78, 20)]
    assert rounded(sorted(rows(found, "collectives", *OPERATIONS, worker="worker0"))) == [
        ("gloo:all_reduce", 2, 16392000, 8196000, 46, 23, 34, 17),
        ("gloo:broadcast", 3, 637440, 212480, 63, 21, 41, 14),
    ]
    assert rounded(sorted(rows(found, "collectives", *OPERATIONS, worker="worker1"))) == [
        ("gloo:all_reduce", 2, 16392000, 8196000, 54, 27, 34, 17),
        ("gloo:broadcast", 3, 637440, 212480, 44, 15, 44, 15),
    ]


def test_fx11_gloo_beside_cpu_computation() -> None:
    found = view(fx11_gloo(on_gpu=False))
    assert rows(found, "overlap", *OVERLAP, step="0") == [(47, 74, 35, 0), (36, 64, 34, 12)]


def run_of(folder: Path) -> tuple[dict[str, Trace], dict[str, list[Event]]]:
    traces, raw = {}, {}
    for path in sorted(folder.glob("*.gz")):
        text, name = gzip.decompress(path.read_bytes()), path.name.split(".")[0]
        traces[name] = build_trace(read_text([text], name=path.name))
        raw[name] = json.loads(text, strict=False)["traceEvents"]
    return traces, raw


def covered(spans: list[tuple[float, float]]) -> float:
    """Length of a union, by walking over it."""
    total, reach = 0.0, float("-inf")
    for start, end in sorted(spans):
        total += max(0.0, end - max(start, reach))
        reach = max(reach, end)
    return total


def spans_of(events: list[Event], word: str, cat: str) -> list[tuple[float, float]]:
    return [
        (e["ts"], e["ts"] + e["dur"])
        for e in events
        if e.get("cat") == cat and word in e["name"] and e.get("ph") == "X"
    ]


@pytest.fixture(scope="module")
def dlrm(samples: Path) -> tuple[dict[str, Trace], dict[str, list[Event]]]:
    return run_of(samples / "dlrm_8_ranks")


def test_dlrm_communication_is_the_union_of_the_collective_kernels(
    dlrm: tuple[dict[str, Trace], dict[str, list[Event]]],
) -> None:
    traces, raw = dlrm
    found = view(traces)
    overlap = found.tables["overlap"].frame.filter(step="10")
    wait = found.tables["wait"].frame.filter(step="10")
    for worker, events in raw.items():
        (expected,) = {covered(spans_of(events, "ncclKernel", "kernel"))}
        parts = overlap.filter(worker=worker).row(0, named=True)
        assert parts["overlap_us"] + parts["communication_us"] == pytest.approx(expected)
        waited = wait.filter(worker=worker).row(0, named=True)
        assert waited["transfer_us"] + waited["wait_us"] == pytest.approx(expected)
        collectives = found.tables["collectives"].frame.filter(worker=worker)
        assert collectives["total_us"].sum() == pytest.approx(expected)
        assert sorted(collectives.select("name", "calls").rows()) == [
            ("nccl:all_reduce", 3),
            ("nccl:all_to_all", 5),
        ]


def test_dlrm_transfer_is_the_shortest_kernel_of_each_collective(
    dlrm: tuple[dict[str, Trace], dict[str, list[Event]]],
) -> None:
    """Every rank runs the same eight collectives in the same order on one stream."""
    traces, raw = dlrm
    kernels = {
        worker: sorted(spans_of(events, "ncclKernel", "kernel")) for worker, events in raw.items()
    }
    shortest = [
        min(end - start for start, end in together)
        for together in zip(*kernels.values(), strict=True)
    ]
    frame = view(traces).tables["wait"].frame.filter(step="10")
    assert frame["transfer_us"].to_list() == [pytest.approx(sum(shortest))] * 8
    last = [
        worker
        for position, least in enumerate(shortest)
        for worker, spans in kernels.items()
        if spans[position][1] - spans[position][0] == least
    ]
    ranking = view(traces).tables["stragglers"].frame
    assert dict(ranking.select("worker", "arrived_last").rows()) == {
        worker: last.count(worker) for worker in kernels
    }


def test_dlrm_sizes_bandwidths_and_devices(
    dlrm: tuple[dict[str, Trace], dict[str, list[Event]]],
) -> None:
    traces, _ = dlrm
    found = view(traces)
    row = (
        found.tables["collectives"]
        .frame.filter(worker="worker0_step_12", name="nccl:all_reduce")
        .row(0, named=True)
    )
    size = (394241 + 112 + 226960) * 4
    assert row["total_bytes"] == size
    assert row["group_size"] == 8
    assert row["algorithm_bandwidth_gb_per_s"] == pytest.approx(size / (246 + 601 + 952) / 1000)
    assert row["bus_bandwidth_gb_per_s"] == pytest.approx(
        row["algorithm_bandwidth_gb_per_s"] * 2 * 7 / 8
    )
    devices = rows(found, "devices", "node", "process", "gpu", "name", "compute_capability")
    assert devices == [(None, str(rank), rank, "Tesla V100-SXM2-32GB", "7.0") for rank in range(8)]


def test_gloo_ranks_that_differ_in_count_still_match(samples: Path) -> None:
    traces, raw = run_of(samples / "cpu_ddp4_gloo")
    found = view(traces)
    assert found.tables["unmatched"].frame.is_empty()
    for worker, events in raw.items():
        frame = found.tables["collectives"].frame.filter(worker=worker)
        names = [e["name"] for e in events if str(e.get("name", "")).startswith("gloo:")]
        assert dict(frame.select("name", "calls").rows()) == {
            name: names.count(name) for name in set(names)
        }
        for name, total in frame.select("name", "total_us").rows():
            expected = covered(spans_of(events, name, "user_annotation"))
            assert total == pytest.approx(expected, abs=0.01)
    assert sorted(
        rows(found, "collectives", "worker", "name", "transfer_us", name="gloo:recv")
    ) == [("rank1", "gloo:recv", pytest.approx(21.247 + 228.211, abs=0.01))]


def test_one_worker_alone_shows_overlap_and_collectives_but_no_wait() -> None:
    alone = {"w": fx11_gloo(on_gpu=True)["worker0"]}
    found = view(alone)
    assert rows(found, "overlap", *OVERLAP, step="0") == [(31, 70, 39, 16)]
    assert rows(found, "wait", "transfer_us", "wait_us", step="0") == [(None, None)]
    assert [row[:2] for row in rows(found, "collectives", "total_us", "transfer_us")] == [
        (63, None),
        (46, None),
    ]
    assert set(rows(found, "unmatched", "reason")) == {
        ("the other members are not among the workers of this run",)
    }
    assert [(n.code, n.severity) for n in found.notes] == [("collective_unmatched", "info")]


def test_a_trace_without_communication_has_no_view() -> None:
    assert SPEC.missing(trace([op("aten::mm", 0, 10)])) is not None
    assert SPEC.missing(fx11_nccl("K")["worker0"]) is None


def test_a_step_that_is_cut_is_no_part_of_the_mean() -> None:
    events = [step(1, 0, 100), step(2, 100, 100), annotation("gloo:all_reduce", 110, 40)]
    events += [annotation("gloo:all_reduce", 60, 20)]
    found = view({"rank0": trace(events)}, Selection(start_ns=50_000))
    shown = rows(found, "overlap", "step", "communication_us", "other_us")
    assert shown == [("all", 40, 60), ("1", 20, 30), ("2", 40, 60)]
    [note] = [note for note in found.notes if note.code == "step_cut"]
    assert note.evidence["steps"] == {"rank0": ["1"]}
