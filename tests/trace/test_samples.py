"""The sample traces: sums and links against direct counts over the raw JSON."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.helpers.traces import columns
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.categories import DEVICE_WORK_CATEGORIES, NODE_CATEGORIES, Category
from torch_tb_profiler.trace.model import Trace

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
FILES = sorted(path.relative_to(SAMPLES).as_posix() for path in SAMPLES.glob("*/*.json.gz"))
ROUNDED_OR_CROSSING = ("dlrm", "kineto", "cpu_ddp4_gloo/rank0", "cpu_ddp4_gloo/rank1")
EXACT = [name for name in FILES if not name.startswith(ROUNDED_OR_CROSSING)]
WORK = {"kernel", "memcpy", "memset", "gpu_memcpy", "gpu_memset"}
CALLS = {"runtime", "cuda_runtime", "cuda_driver"}


@cache
def raw(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(gzip.decompress((SAMPLES / name).read_bytes()))
    return document


@cache
def built(name: str) -> Trace:
    header = {key: value for key, value in raw(name).items() if key != "traceEvents"}
    events = raw(name)["traceEvents"]
    whole_us = all(isinstance(event.get("ts", 0), int) for event in events)
    return build_trace(columns(events, time_unit_ns=1000 if whole_us else 1, **header))


def slices_of(name: str, cats: set[str]) -> Iterator[dict[str, Any]]:
    for event in raw(name)["traceEvents"]:
        if event.get("ph") == "X" and str(event.get("cat")).lower() in cats:
            yield event


def ns(event: dict[str, Any], key: str) -> int:
    value: float = event[key]
    return round(1000 * value)


@pytest.mark.parametrize("name", FILES)
def test_device_time_is_that_of_the_file(name: str) -> None:
    trace = built(name)
    total = sum(ns(event, "dur") for event in slices_of(name, WORK))
    assert trace.device_work["dur_ns"].sum() == total
    owned = trace.device_work.filter(pl.col("owner").is_not_null())["dur_ns"].sum()
    assert trace.slices["device_self_ns"].sum() == owned
    roots = pl.col("parent").is_null() & pl.col("category").is_in(list(NODE_CATEGORIES))
    assert trace.slices.filter(roots)["device_total_ns"].sum() == owned


@pytest.mark.parametrize("name", FILES)
def test_work_has_its_launch_when_the_file_has_it_and_else_a_reason(name: str) -> None:
    trace = built(name)
    launches = {event["args"].get("correlation") for event in slices_of(name, CALLS)} - {None}
    linked = sum(event["args"]["correlation"] in launches for event in slices_of(name, WORK))
    work = trace.device_work
    assert work["launch"].is_not_null().sum() == linked
    assert (work["owner"].is_null() == work["orphan_reason"].is_not_null()).all()
    lost = work.filter(pl.col("launch").is_not_null() & pl.col("owner").is_null())
    assert (lost["orphan_reason"] == "no_operator").all()


@pytest.mark.parametrize("name", FILES)
def test_owners_enclose_their_launches(name: str) -> None:
    trace = built(name)
    slices = trace.slices
    work = trace.device_work.filter(pl.col("launch").is_not_null() & pl.col("owner").is_not_null())
    launch, owner = slices[work["launch"]], slices[work["owner"]]
    assert (launch["track"] == owner["track"]).all()
    assert (owner["start_ns"] <= launch["start_ns"]).all()
    assert (launch["start_ns"] <= owner["start_ns"] + owner["dur_ns"]).all()


@pytest.mark.parametrize("name", EXACT)
def test_host_time_is_split_without_loss(name: str) -> None:
    """Σ self of all nodes + their calls = Σ duration of the roots, where nothing overlaps."""
    trace = built(name)
    assert "overlapping_slices" not in trace.quality.counts
    slices = trace.slices.with_columns(end_ns=pl.col("start_ns") + pl.col("dur_ns"))
    nodes = slices.filter(pl.col("category").is_in(list(NODE_CATEGORIES)))
    in_nodes = slices.filter(
        (pl.col("category") == Category.RUNTIME) & pl.col("parent").is_not_null()
    )
    outer = in_nodes.filter(
        pl.col("start_ns") >= pl.col("end_ns").cum_max().over("track").shift(1).fill_null(0)
    )
    roots = nodes.filter(pl.col("parent").is_null())
    parts = pl.concat([nodes["self_ns"], outer["dur_ns"]])
    assert parts.sum() == roots["dur_ns"].sum()


@pytest.mark.parametrize("name", FILES)
def test_nothing_of_the_file_is_missing(name: str) -> None:
    trace = built(name)
    events = Counter(event.get("name") for event in raw(name)["traceEvents"] if event["ph"] == "X")
    codes = trace.slices["name_code"].value_counts()
    assert {trace.text(code): count for code, count in codes.iter_rows()} == dict(events)


@pytest.mark.parametrize(
    ("name", "first", "average_us"),
    [
        ("kineto_resnet50_nw0/worker0.1623143089861.pt.trace.json.gz", 5, 177592),
        ("kineto_resnet50_nw0/worker0.1623143566756.pt.trace.json.gz", 16, 154911),
    ],
)
def test_steps_of_the_predecessors_samples(name: str, first: int, average_us: int) -> None:
    steps = built(name).steps
    assert steps["name"].to_list() == [str(first + i) for i in range(6)]
    assert steps["kept"].all()
    assert steps["device_events"].to_list() == [1516] * 6
    assert round((steps["end_ns"] - steps["start_ns"]).mean() / 1000) == average_us


@pytest.mark.parametrize("name", [name for name in FILES if name.startswith("kineto_resnet50")])
def test_owners_equal_those_of_the_predecessor_by_external_id(name: str) -> None:
    """In this file external ids name operators, so they give the owners."""
    trace = built(name)
    ops = {event["args"]["External id"]: event["name"] for event in slices_of(name, {"operator"})}
    call_of = {e["args"]["correlation"]: e["args"]["external id"] for e in slices_of(name, CALLS)}
    wanted: Counter[str] = Counter()
    for event in slices_of(name, WORK):
        wanted[ops[call_of[event["args"]["correlation"]]]] += ns(event, "dur")
    names = trace.slices["name_code"].gather(trace.device_work["owner"])
    by_name = trace.device_work.group_by(names.alias("name")).agg(pl.col("dur_ns").sum())
    assert {trace.text(code): total for code, total in by_name.iter_rows()} == dict(wanted)


@pytest.mark.parametrize("name", FILES)
def test_backward_nodes_and_flows_agree(name: str) -> None:
    """Each flow of the file leads from a forward operator to the backward node linked with it."""
    trace = built(name)
    flows = trace.flows
    key = ["raw_category_code", "flow_id_code"]
    starts, ends = flows.filter(pl.col("is_start") == 1), flows.filter(pl.col("is_start") == 0)
    pairs = starts.join(ends, on=key)
    place = pl.struct("track", "start_ns")
    places = trace.slices.select(place.alias("place"))["place"]
    backward = trace.operators.filter(pl.col("forward_thread") > 0)
    linked = dict(
        zip(
            (tuple(p.values()) for p in places.gather(backward["slice"])),
            (tuple(p.values()) for p in places.gather(backward["forward"].fill_null(0))),
            strict=True,
        )
    )
    for pair in pairs.rows(named=True):
        end = (pair["track_right"], pair["time_ns_right"])
        assert linked[end] == (pair["track"], pair["time_ns"])


def test_categories_of_work_are_known() -> None:
    """The reference above and the model speak of the same events."""
    name = "kineto_resnet50_nw0/worker0.1623143089861.pt.trace.json.gz"
    kinds = built(name).slices["category"].is_in([int(c) for c in DEVICE_WORK_CATEGORIES])
    assert kinds.sum() == sum(1 for _ in slices_of(name, WORK)) == 9096


def test_ranks_in_one_file_are_as_in_files_of_their_own() -> None:
    """Eight real processes; the first kernels of each were launched before its recording, and their
    ids are those of later calls of others."""
    ranks = sorted((SAMPLES / "dlrm_8_ranks").glob("*.json.gz"))
    files = [json.loads(gzip.decompress(path.read_bytes())) for path in ranks]
    alone = [build_trace(columns(file["traceEvents"])) for file in files]
    merged = build_trace(columns(event for file in files for event in file["traceEvents"]))
    assert launches_of(merged) == sum(map(launches_of, alone), Counter())
    columns_of_steps = ("name", "device_events", "start_ns", "end_ns")
    assert merged.steps.select(columns_of_steps).rows() == [
        row for one in alone for row in one.steps.select(columns_of_steps).rows()
    ]


def launches_of(built: Trace) -> Counter[tuple[Any, ...]]:
    """Device, name, start, and start of its launch and name of its owner, of all device work."""
    starts, names = built.slices["start_ns"], built.slices["name_code"]
    work = built.device_work
    return Counter(
        zip(
            work["device"],
            map(built.text, work["name_code"]),
            work["start_ns"],
            starts.gather(work["launch"]),
            map(built.text, names.gather(work["owner"])),
            strict=True,
        )
    )
