"""Results of Ascend's own analysis, against the values that the views compute from the events."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from torch_tb_profiler.analysis.algebra.intervals import total, union
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds
from torch_tb_profiler.api import OpenedTrace, open_trace
from torch_tb_profiler.trace.categories import NODE_CATEGORIES, Category

OUTPUT = "ASCEND_PROFILER_OUTPUT"
FOLDERS = {
    "text 0": "text/level1/rank0_ascend_pt",
    "text 1": "text/level1/rank1_ascend_pt",
    "database": "db/level1/rank0_ascend_pt",
}


@pytest.fixture(scope="module", params=list(FOLDERS))
def opened(request: pytest.FixtureRequest, corpus: Path) -> Iterator[tuple[OpenedTrace, Path]]:
    folder = corpus / "ascend_torch_npu" / FOLDERS[request.param]
    with open_trace(str(folder)) as trace:
        yield trace, folder / OUTPUT


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return [{k: v.strip() for k, v in row.items()} for row in csv.DictReader(file)]


def recorded_step(opened: OpenedTrace) -> dict[str, Any]:
    (row,) = opened.trace.side["recorded_steps"].frame.rows(named=True)
    return row


def test_step_times_equal_ascends_step_trace(opened: tuple[OpenedTrace, Path]) -> None:
    """``step_trace_time.csv`` or ``StepTraceTime``: µs; its tools round to ns, so do we."""
    trace, folder = opened
    own = recorded_step(trace)
    computed = trace.view("distributed").tables["overlap"].filter(pl.col("step") == "50")
    (row,) = computed.rows(named=True)

    assert row["computation_us"] + row["overlap_us"] == pytest.approx(own["computing_us"], abs=0.2)
    assert row["overlap_us"] == pytest.approx(own["overlapped_us"], abs=0.2)
    assert row["communication_us"] == pytest.approx(own["communication_not_overlapped_us"], abs=0.2)
    file = folder / "step_trace_time.csv"
    if file.exists():
        (stored,) = rows_of(file)
        assert own["computing_us"] == float(stored["Computing"])
        assert own["free_us"] == float(stored["Free"])
        assert own["step"] == stored["Step"]


def test_the_remainder_of_the_stage_is_free(opened: tuple[OpenedTrace, Path]) -> None:
    trace = opened[0].trace
    own = recorded_step(opened[0])
    kernels = trace.device_work.filter(pl.Series(kernel_kinds(trace).is_kernel))
    start = kernels["start_ns"].to_numpy()
    end = start + kernels["dur_ns"].to_numpy()
    span = end.max() - start.min()

    assert span / 1000 == pytest.approx(own["stage_us"], abs=0.2)
    assert (span - total(union(start, end))) / 1000 == pytest.approx(own["free_us"], abs=0.5)


def test_the_rows_of_overlap_analysis_agree(
    opened: tuple[OpenedTrace, Path],
) -> None:
    counts = opened[0].trace.quality.counts
    assert "ascend_overlap_differs" not in counts
    assert "ascend_link_differs" not in counts
    assert "kernel_without_launch" not in counts
    assert "launch_without_operator" not in counts


def test_kernels_by_type_are_those_of_op_statistic(opened: tuple[OpenedTrace, Path]) -> None:
    trace, folder = opened
    if not (folder / "op_statistic.csv").exists():
        pytest.skip("a database holds no sums")
    types = {row["Name"]: row["Type"] for row in rows_of(folder / "kernel_details.csv")}
    computed: dict[str, list[float]] = defaultdict(lambda: [0, 0.0])
    kernels = trace.view("kernels").tables["kernels"].group_by("name").agg(
        pl.col("calls").sum(), pl.col("total_us").sum()
    )  # fmt: skip
    for name, calls, total_us in kernels.iter_rows():
        if not name.startswith("hcom_"):
            computed[types[name]][0] += calls
            computed[types[name]][1] += total_us
    stored = rows_of(folder / "op_statistic.csv")

    assert {key: int(value[0]) for key, value in computed.items()} == {
        row["OP Type"]: sum(int(r["Count"]) for r in stored if r["OP Type"] == row["OP Type"])
        for row in stored
    }
    for row in stored:
        both = sum(float(r["Total Time(us)"]) for r in stored if r["OP Type"] == row["OP Type"])
        assert computed[row["OP Type"]][1] == pytest.approx(both, abs=0.1), row["OP Type"]


def test_sums_of_the_database_are_those_of_its_kernels(corpus: Path) -> None:
    folder = corpus / "ascend_torch_npu" / FOLDERS["database"]
    with open_trace(str(folder)) as opened:
        sums = opened.trace.side["recorded_operators"].frame
        kernels = opened.view("kernels").tables["kernels"]
        computing = kernels.filter(~pl.col("name").str.starts_with("hcom_"))
        assert sums["calls"].sum() == computing["calls"].sum() == 187
        assert sums["total_us"].sum() == pytest.approx(computing["total_us"].sum())
        assert set(sums["unit"]) == {"AI Core", "AI Vector", "AI Core, mainly vector", "DSA"}


UNDRAWN = ("ReduceSum", "aten::convolution_backward", "ConvolutionBackward0")
"""Operators of work that Ascend draws no arrow to, so that its table leaves it out."""


def test_operator_times_equal_operator_details(opened: tuple[OpenedTrace, Path]) -> None:
    """Host totals and device times. Ascend's host self time includes CANN calls, and it counts the
    collective twice (an operator inside one of the same name)."""
    opened_trace, folder = opened
    if not (folder / "operator_details.csv").exists():
        pytest.skip("a database holds no table of operators")
    trace = opened_trace.trace
    reported: dict[str, Any] = defaultdict(lambda: np.zeros(4))
    for row in rows_of(folder / "operator_details.csv"):
        reported[row["Name"]] += [
            float(row[f"{side} {part} Duration(us)"])
            for side, part in (
                ("Host", "Total"), ("Host", "Self"), ("Device", "Self"), ("Device", "Total"),
            )
        ]  # fmt: skip
    calls = trace.slices.filter(pl.col("category") == Category.RUNTIME)
    computed: dict[str, Any] = defaultdict(lambda: np.zeros(4))
    nodes = trace.slices.filter(pl.col("category").is_in([int(c) for c in NODE_CATEGORIES]))
    track = dict(nodes.select("id", "track").iter_rows())
    inside: dict[int, int] = defaultdict(int)
    for parent, of_track, dur in calls.select("parent", "track", "dur_ns").iter_rows():
        if parent is not None and track.get(parent) == of_track:
            inside[parent] += dur
    for node in nodes.iter_rows(named=True):
        calls_ns = inside[node["id"]]
        parts = (node["dur_ns"], node["self_ns"] + calls_ns, *(
            node[key] for key in ("device_self_ns", "device_total_ns")
        ))  # fmt: skip
        computed[trace.text(node["name_code"]) or ""] += np.array(parts) / 1000
    missing = computed["ReduceSum"][2] - reported["ReduceSum"][2]
    for name, values in reported.items():
        host_total, host_self, device_self, device_total = computed[name]
        assert host_total == pytest.approx(values[0], abs=0.5), name
        assert host_self >= values[1] - 0.5, name
        if name == "HcclAllreduce":
            assert device_total == pytest.approx(values[3] / 2, abs=0.5)
        elif name.rpartition(" ")[2] in UNDRAWN:
            assert device_total == pytest.approx(values[3] + missing, abs=0.5), name
        else:
            assert device_self == pytest.approx(values[2], abs=0.5), name
            assert device_total == pytest.approx(values[3], abs=0.5), name


def test_collectives_last_as_long_as_communication_json_says(
    opened: tuple[OpenedTrace, Path],
) -> None:
    trace, folder = opened
    recorded = trace.trace.side["recorded_collectives"].frame
    kernels = trace.view("kernels").tables["kernels"]
    computed = dict(kernels.select("name", "total_us").iter_rows())
    for name, elapse_us in recorded.select("name", "elapse_us").iter_rows():
        assert computed[name] == pytest.approx(elapse_us, abs=0.1), name
    (row,) = trace.view("distributed").tables["collectives"].rows(named=True)
    assert (row["name"], row["calls"], row["total_bytes"]) == ("all_reduce", 4, 244_403_360)
    # Read from the files: of 105.99, 100.38 and 102.11 ms data moved in 3.68, 3.86 and 3.99.
    transit_us = float(recorded["transit_us"].sum())
    assert any(abs(us - transit_us) < 0.01 for us in (3683.3535, 3859.677, 3985.65959))
    assert row["transfer_us"] == pytest.approx(transit_us, abs=0.01)
    waits = trace.view("distributed").tables["wait"]
    (whole,) = waits.filter(step="50").rows(named=True)
    assert whole["transfer_us"] == pytest.approx(transit_us, abs=0.01)
    assert whole["wait_us"] == pytest.approx(
        float(recorded["elapse_us"].sum()) - transit_us, abs=0.5
    )
    file = folder / "communication.json"
    if file.exists():
        document = json.loads(file.read_text(encoding="utf-8"))["step50"]["collective"]
        times = {key.partition("@")[0]: each["Communication Time Info"] for key, each in
                 document.items() if key != "Total Op Info"}  # fmt: skip
        for row in recorded.rows(named=True):
            assert row["elapse_us"] == pytest.approx(times[row["name"]]["Elapse Time(ms)"] * 1e3)
            assert row["wait_us"] == pytest.approx(times[row["name"]]["Wait Time(ms)"] * 1e3)


def test_links_equal_the_communication_matrix(opened: tuple[OpenedTrace, Path]) -> None:
    trace, folder = opened
    links = trace.trace.side["links"].frame
    between = links.drop_nulls("source_rank")
    assert set(between["source_rank"]) == {0 if "rank0" in str(folder) else 1}
    assert set(between["destination_rank"]) == set(range(8))
    assert set(trace.trace.collectives["group_size"]) == {8}
    assert {name for name in between["name"] if not name.startswith("hcom_")} == {"allreduce-total"}
    file = folder / "communication_matrix.json"
    if file.exists():
        document = json.loads(file.read_text(encoding="utf-8"))["step50"]["collective"]
        expected = {
            (sent.get("Op Name", key.partition("@")[0]), pair, sent["Transit Size(MB)"] * 1e6)
            for key, pairs in document.items()
            if not key.startswith("Total Op Info")
            for pair, sent in pairs.items()
        }  # one collective is listed as median and as one of the slowest
        computed = [
            (name, f"{source}-{destination}", size)
            for name, source, destination, size in between.select(
                "name", "source_rank", "destination_rank", "size_bytes"
            ).rows()
        ]
        assert sorted(computed) == sorted(expected)


def test_bandwidths_are_bytes_per_second(opened: tuple[OpenedTrace, Path]) -> None:
    """Databases hold the three decimals of text files times 1024², cut off."""
    trace, folder = opened[0].trace, opened[1]
    samples = trace.samples.with_columns(
        pl.col(f"{key}_code").map_elements(trace.text, return_dtype=pl.String).alias(key)
        for key in ("metric", "unit")
    )
    moved = samples.filter(pl.col("metric").str.contains("HBM ./|Throughput"))
    assert set(moved["unit"]) == {"bytes/s"}
    if (folder / "trace_view.json").exists():
        events = json.loads((folder / "trace_view.json").read_text(encoding="utf-8"))
        name = "LLC 0 Read/Throughput"
        expected = [each["args"]["Throughput(MB/s)"] for each in events if each["name"] == name]
        computed = moved.filter(pl.col("metric") == name)["value"]
        assert sorted(computed) == pytest.approx(sorted(float(each) * 1024**2 for each in expected))


def test_overlap_equals_that_of_msprof(corpus: Path) -> None:
    """A graph calls its collective after the operator, ``Default/AllReduce-op534_0``."""
    file = corpus / "ascend_mindspore" / "msprof_0_2_1.json"
    with open_trace(str(file), cache=False) as opened:
        assert "ascend_overlap_differs" not in opened.trace.quality.counts
        row = opened.view("distributed").tables["overlap"].rows(named=True)[0]
        assert (row["computation_us"], row["communication_us"]) == pytest.approx(
            (5914.58, 41534.3), abs=0.5
        )
