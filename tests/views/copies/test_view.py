"""The view of copies: by kind and size against values by hand, and sums over random copies."""

from __future__ import annotations

import math

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.consistency.recordings import FILES, opened
from tests.helpers.examples import examples
from tests.helpers.traces import Event, call, kernel, memcpy, memset, op, step, trace
from torch_tb_profiler.analysis.kernels.copies import copy_groups
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.copies.view import SPEC, copies
from torch_tb_profiler.views.schema import View

PAGEABLE = "Memcpy HtoD (Pageable -> Device)"
PINNED = "Memcpy HtoD (Pinned -> Device)"
H100 = [{"id": 0, "name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 85 * 10**9}]
MB = 10**6


def recorded() -> Trace:
    """10 MB of pageable memory in 2 ms, 10 MB of pinned memory in 0.5 ms, half of that beside a
    kernel, and 100 bytes back."""
    return trace(
        [
            step(1, 0, 5000),
            call("cudaMemcpyAsync", 0, 2100, corr=1),
            memcpy(100, 2000, name=PAGEABLE, corr=1, bytes=10 * MB),
            call("cudaMemcpyAsync", 2200, 5, corr=2),
            memcpy(2300, 500, name=PINNED, corr=2, bytes=10 * MB),
            kernel("k", 2550, 1000),
            memcpy(4000, 2, name="Memcpy DtoH (Device -> Pinned)", bytes=100),
            memset(4100, 50, bytes=MB),
        ],
        deviceProperties=H100,
    )


def rows(view: View, table: str) -> list[dict[str, object]]:
    return list(view.tables[table].frame.iter_rows(named=True))


def test_kinds() -> None:
    pageable, pinned, back = rows(copies(recorded(), Selection()), "copies_by_kind")
    assert (pageable["kind"], pageable["host_memory"]) == ("HtoD", "pageable")
    assert (pageable["total_us"], pageable["rate_gb_per_s"]) == (2000, 5)
    assert pageable["limit_gb_per_s"] == pytest.approx(63.015, abs=0.001)  # PCIe 5.0 x16
    assert pageable["limit_pct"] == pytest.approx(100 * 5 / 63.015, abs=0.001)
    assert (pageable["beside_us"], pageable["host_us"]) == (0, 2100)
    # Pinned memory of this recording goes at 20 GB/s, so that 10 MB take 0.5 ms.
    assert pageable["pinned_saving_us"] == pytest.approx(1500)
    assert (pinned["rate_gb_per_s"], pinned["beside_us"], pinned["beside_pct"]) == (20, 250, 50)
    assert pinned["pinned_saving_us"] is None
    assert (back["kind"], back["total_bytes"], back["host_us"]) == ("DtoH", 100, None)


def test_what_is_alone_is_exposed() -> None:
    facts = {fact.key: fact.value for fact in copies(recorded(), Selection()).facts}
    assert facts == {"copying_us": 2502, "exposed_us": 2252}


def test_sizes() -> None:
    result = rows(copies(recorded(), Selection()), "copy_sizes")
    actual = [(row["kind"], row["host_memory"], row["size"], row["calls"]) for row in result]
    assert actual == [
        ("DtoH", "pinned", "64–128 B", 1),
        ("HtoD", "pageable", "8–16 MiB", 1),
        ("HtoD", "pinned", "8–16 MiB", 1),
    ]
    assert [row["from_bytes"] for row in result] == [64, 2**23, 2**23]


def test_a_note_tells_what_pageable_memory_costs() -> None:
    (note,) = [n for n in copies(recorded(), Selection()).notes if n.code == "copies_pageable"]
    assert note.text.startswith(
        "1 of 3 copies are from or to pageable memory: they take 2.00 ms on the device"
    )
    assert "1.50 ms less (estimated)" in note.text


def test_a_note_tells_of_many_small_copies() -> None:
    small = [memcpy(10 * n, 2, name=PINNED, bytes=256) for n in range(150)]
    view = copies(trace([*small, memcpy(2000, 100, name=PINNED, bytes=MB)]), Selection())
    (note,) = [note for note in view.notes if note.code == "copies_small"]
    assert note.text.startswith("150 of 151 copies are smaller than 64 KiB: they move 3.7 %")
    assert "75 % of the time, 2.00 µs each" in note.text


def test_without_a_pinned_copy_the_link_is_the_limit() -> None:
    of_host = memcpy(0, 2000, name=PAGEABLE, bytes=10 * MB)
    view = copies(trace([of_host], deviceProperties=H100), Selection())
    (row,) = rows(view, "copies_by_kind")
    assert row["pinned_saving_us"] == pytest.approx(2000 - 10 * MB / 63.015 / 1000, abs=0.1)
    assert "at most" in view.notes[0].text


def test_of_an_unknown_device_limits_are_null() -> None:
    view = copies(trace([memcpy(0, 2000, name=PAGEABLE, bytes=10 * MB)]), Selection())
    (row,) = rows(view, "copies_by_kind")
    assert (row["limit_gb_per_s"], row["limit_pct"], row["pinned_saving_us"]) == (None, None, None)
    assert "is unknown" in view.tables["copies_by_kind"].null_reasons["limit_gb_per_s"]


def test_the_rate_over_time_moves_all_bytes() -> None:
    view = copies(recorded(), Selection())
    lines = {line.name: line for line in view.series["rate"].lines}
    assert set(lines) == {"HtoD", "DtoH"}
    line = lines["HtoD"]
    assert len(line.x) <= 401
    assert (line.x[-1], line.y[-1]) == (4002.0, 0)
    edges = line.x
    moved = sum(
        (after - at) * (rate or 0) * 1000
        for at, after, rate in zip(edges, edges[1:], line.y, strict=False)
    )
    assert moved == pytest.approx(20 * MB, rel=1e-6)


def test_without_copies_it_says_so() -> None:
    reason = SPEC.missing(trace([step(1, 0, 100), op("aten::mm", 0, 50), memset(10, 5)]))
    assert reason is not None
    assert reason.startswith("The recording contains no device memory copies")


@st.composite
def random_copies(draw: st.DrawFn) -> list[Event]:
    events: list[Event] = []
    for number in range(draw(st.integers(1, 12))):
        name = draw(st.sampled_from([PAGEABLE, PINNED, "Memcpy DtoD (Device -> Device)", "?"]))
        size = draw(st.sampled_from([None, 0, 1, 63, 64, 1000, 2**20, 3 * 2**20 - 1]))
        start, dur, gpu = 100 * number, draw(st.integers(0, 90)), draw(st.integers(0, 1))
        events.append(memcpy(start, dur, name=name, device=gpu, bytes=size))
    if draw(st.booleans()):
        events.append(kernel("k", draw(st.integers(0, 500)), 300))
    return events


@examples(25)
@given(random_copies())
def test_random_copies(events: list[Event]) -> None:
    view = copies(trace(events), Selection())
    result = [event for event in events if event["cat"] == "gpu_memcpy"]
    kinds, sizes = (view.tables[name].frame for name in ("copies_by_kind", "copy_sizes"))
    assert kinds["calls"].sum() == len(result)
    sized = [event["args"]["bytes"] for event in result if "bytes" in event["args"]]
    assert kinds["total_bytes"].sum() == sizes["total_bytes"].sum() == sum(sized)
    assert sizes["calls"].sum() == len(sized)
    classes = [2 ** int(math.log2(size)) if size else 0 for size in sized]
    for edge in set(classes):
        assert sizes.filter(from_bytes=edge)["calls"].sum() == classes.count(edge)
    kernels = [(e["ts"], e["ts"] + e["dur"]) for e in events if e["cat"] == "kernel"]
    beside = sum(
        max(0, min(event["ts"] + event["dur"], end) - max(event["ts"], start))
        for start, end in kernels
        for event in result
        if event["args"]["device"] == 0
    )
    assert kinds["beside_us"].sum() == pytest.approx(beside)


@pytest.mark.parametrize("steps", [None, "6:8"])
def test_it_agrees_with_the_copies_of_kernels(steps: str | None) -> None:
    selection = Selection(steps=steps)
    for name in (name for name in FILES if "worker0.1623143089861" in name):
        result = opened(name)
        groups = copy_groups(result, selection).filter(pl.col("kind").fill_null("") != "set")
        kinds = copies(result, selection).tables["copies_by_kind"].frame
        assert kinds["calls"].sum() == groups["calls"].sum()
        assert kinds["total_us"].sum() * 1000 == pytest.approx(groups["total_ns"].sum())
