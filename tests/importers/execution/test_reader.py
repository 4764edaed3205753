"""Execution traces alone: operators with their inputs, in their order and without times."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.chakra import file_of, node
from tests.importers.execution.samples import DATA, attributes, is_operator, nodes
from torch_tb_profiler.api import RequestError, open_trace
from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.registry import import_source
from torch_tb_profiler.importers.source import Source
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.model import Trace

SAMPLE = DATA / "et_rank0.json.gz"


def built(data: bytes, name: str = "et.json") -> Trace:
    return build_trace(import_source(Source(name, [data])))


def names(trace: Trace) -> list[str | None]:
    return [trace.text(code) for code in trace.slices["name_code"]]


def test_every_node_is_a_slice_inside_its_parent() -> None:
    trace = built(SAMPLE.read_bytes(), SAMPLE.name)
    written = {each["id"]: each for each in nodes(SAMPLE) if is_operator(each)}
    by_id = dict(
        zip(trace.slices["external_id"].to_list(), range(trace.slices.height), strict=True)
    )
    assert set(by_id) == set(written)
    assert Counter(names(trace)) == Counter(each["name"] for each in written.values())
    for number, each in written.items():
        parent = trace.slices["parent"][by_id[number]]
        inside = each["ctrl_deps"] if each["ctrl_deps"] in written else None
        same_thread = inside is not None and (
            attributes(written[inside])["tid"] == attributes(each)["tid"]
        )
        assert parent == (by_id[inside] if inside is not None and same_thread else None)
    threads = {attributes(each)["tid"] for each in written.values()}
    assert trace.tracks.height == len(threads)


def test_operators_are_counted_and_no_view_has_times() -> None:
    with open_trace(SAMPLE, cache=False) as opened:
        frame = opened.operators().frame
        counts = dict(frame.filter(kind="operator").select("name", "calls").iter_rows())
        written = Counter(each["name"] for each in nodes(SAMPLE) if is_operator(each))
        assert {name: counts[name] for name in ("aten::mm", "aten::view")} == {
            name: written[name] for name in ("aten::mm", "aten::view")
        }
        reasons = opened.views()
        available = {name for name, reason in reasons.items() if reason is None}
        assert available == {"overview", "operators", "shapes", "efficiency"}
        assert reasons["iterations"] == "An execution trace records no times."
        assert not [note for note in opened.overview().notes if note.kind == "advice"]
        for view in sorted(available):
            answer = json.loads(opened.view(view).to_json())
            _check_no_times(answer)
        with pytest.raises(RequestError, match="no times"):
            opened.operators(start_us=0, end_us=5)
        with pytest.raises(RequestError, match="no times"):
            opened.view("idle")


def _check_no_times(answer: dict[str, Any]) -> None:
    assert not answer["series"]
    for fact in answer["facts"]:
        if fact["unit"] in ("us", "ns"):
            assert (fact["value"], fact["reason"]) == (None, "An execution trace records no times.")
    for table in answer["tables"].values():
        for at, column in enumerate(table["columns"]):
            if column["unit"] in ("us", "ns", "gb_per_s"):
                assert {row[at] for row in table["rows"]} <= {None}
                assert table["null_reasons"][column["key"]].endswith("records no times.")


def test_flops_follow_from_the_shapes() -> None:
    with open_trace(SAMPLE, cache=False) as opened:
        rows = opened.view("efficiency").frame.filter(name="aten::addmm")
    flops = 0
    for each in nodes(SAMPLE):
        if each["name"] == "aten::addmm":
            _, (m, k), (_, n), *_ = each["inputs"]["shapes"]
            flops += 2 * m * k * n
    assert rows["flops"].to_list() == [flops]


def test_process_groups_and_collectives() -> None:
    groups = json.dumps(
        [{"pg_name": "0", "pg_desc": "default_pg", "backend_config": "cuda:nccl", "ranks": [],
          "group_size": 4}, {"pg_name": "1", "pg_desc": "tp", "ranks": [0, 2], "group_size": 2}]
    )  # fmt: skip
    given = {"collective_name": "allreduce", "dtype": "Float", "in_msg_nelems": 1024,
             "out_msg_nelems": 1024, "pg_name": "1", "pg_desc": "tp", "pg_size": 2, "rf_id": 4,
             "tid": 1, "scope": 0}  # fmt: skip
    listed = [
        {"id": 1, "name": "## process_group:init ##", "ctrl_deps": 0,
         "inputs": {"values": [groups], "shapes": [[]], "types": ["String"]}},
        {"id": 2, "name": "record_param_comms", "ctrl_deps": 0,
         "attrs": [{"name": key, "value": value} for key, value in given.items()]},
    ]  # fmt: skip
    trace = built(json.dumps({"schema": "1.1.1-chakra.0.0.4", "nodes": listed}).encode())
    job = trace.meta.info.job
    assert job is not None
    assert (job.world_size, job.group_count, job.backend) == (4, 2, "cuda:nccl")
    assert [(each.name, each.size, each.ranks) for each in job.groups or ()] == [
        ("0", 4, (0, 1, 2, 3)), ("1", 2, (0, 2)),
    ]  # fmt: skip
    (row,) = trace.collectives.iter_rows(named=True)
    assert trace.text(row["collective_code"]) == "allreduce"
    assert (row["in_nelems"], row["group_size"]) == (1024, 2)
    assert trace.text(row["group_code"]) == "1"


def test_repeated_ids_and_circles_are_noted() -> None:
    listed = [
        {"id": number, "name": f"op{number}", "ctrl_deps": parent,
         "attrs": [{"name": "rf_id", "value": number}]}
        for number, parent in ((2, 1), (3, 4), (4, 3), (5, 5), (3, 2))
    ]  # fmt: skip
    trace = built(json.dumps({"schema": "1.1.1-chakra.0.0.4", "nodes": listed}).encode())
    assert sorted(filter(None, names(trace))) == ["op2", "op3", "op4", "op5"]
    assert trace.quality.counts["node_repeated"] == 1
    assert trace.quality.counts["node_circle"] == 3


def test_a_file_without_operators_is_refused() -> None:
    with pytest.raises(TraceFormatError, match="without any operator"):
        built(b'{"schema": "1.1.1-chakra.0.0.4", "nodes": []}')


def test_chakra_with_times_has_them(tmp_path: Path) -> None:
    path = tmp_path / "rank0.et"
    path.write_bytes(
        file_of(
            node(number, f"op{number % 3}", type=4, start_time_micros=100 * number,
                 duration_micros=10 + number, ctrl_deps=[number - 1])
            for number in range(1, 10)
        )
    )  # fmt: skip
    with open_trace(path, cache=False) as opened:
        frame = opened.operators().frame
        assert opened.views()["iterations"] is None
    times = dict(frame.select("name", "host_self_us").iter_rows())
    assert times == {f"op{at}": sum(10 + n for n in range(1, 10) if n % 3 == at) for at in range(3)}


def test_chakra_without_times_is_a_list_of_operators(tmp_path: Path) -> None:
    path = tmp_path / "rank0.et"
    shapes = ("[]", "[[2, 3], [3, 4]]", "['Tensor(float)', 'Tensor(float)']")
    attr = [("comm_type", "int64_val", 6), ("comm_size", "int64_val", 4096),
            ("pg_name", "string_val", "7")]  # fmt: skip
    path.write_bytes(
        file_of(
            [node(0, "start"), node(1, "aten::mm", inputs=shapes, ctrl_deps=[0]),
             node(2, "comm", type=7, ctrl_deps=[1], attr=attr)]
        )
    )  # fmt: skip
    with open_trace(path, cache=False) as opened:
        assert opened.trace.slices["parent"].null_count() == 3
        assert opened.views()["idle"] == "An execution trace records no times."
        frame = opened.operators("name+input_shape").frame
        trace = opened.trace
    assert dict(frame.select("name", "input_shape").iter_rows())["aten::mm"] == "[[2, 3], [3, 4]]"
    (row,) = trace.collectives.iter_rows(named=True)
    assert (trace.text(row["collective_code"]), trace.text(row["group_code"])) == ("alltoall", "7")
