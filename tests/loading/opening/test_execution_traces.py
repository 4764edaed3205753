"""Execution traces next to a trace: what they add is what the profiler itself recorded."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.importers.execution.samples import DATA, attributes, nodes
from torch_tb_profiler.analysis.operators.tensor_flow import (
    operator_tensors,
    producers,
    readers,
)
from torch_tb_profiler.api import open_trace
from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.slice.details import slice_details

ET, KINETO = DATA / "et_rank0.json.gz", DATA / "rank0.pt.trace.json.gz"
INPUTS = ("Input Dims", "Input type", "Concrete Inputs", "Input Strides")
COLUMNS = ("input_shape_code", "input_type_code", "concrete_inputs_code")


def written_events() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(gzip.decompress(KINETO.read_bytes()))
    return content


def without_shapes(folder: Path, name: str = "rank0.pt.trace.json", **header: Any) -> Path:
    """The sample as it would be without ``record_shapes``."""
    content = written_events() | header
    del content["record_shapes"]
    for event in content["traceEvents"]:
        for key in INPUTS:
            event.get("args", {}).pop(key, None)
    path = folder / name
    path.write_text(json.dumps(content))
    return path


def inputs(trace: Trace) -> list[tuple[str | None, ...]]:
    """(Name, shapes, types, values) of each operator, in order of time."""
    names = trace.slices["name_code"].to_list()
    return [
        (trace.text(names[row["slice"]]), *(trace.text(row[column]) for column in COLUMNS))
        for row in trace.operators.iter_rows(named=True)
    ]


def note(trace: Trace, code: str) -> tuple[int, list[str]]:
    return trace.quality.counts.get(code, 0), trace.quality.examples.get(code, [])


def test_shapes_of_a_trace_without_any_are_those_it_would_have(tmp_path: Path) -> None:
    path = without_shapes(tmp_path)
    with open_trace(path, cache=False) as opened:
        assert {row[1] for row in inputs(opened.trace)} == {None}
    shutil.copy(ET, tmp_path)
    with open_trace(path, cache=False) as opened, open_trace(KINETO, cache=False) as recorded:
        joined, whole = inputs(opened.trace), inputs(recorded.trace)
        assert [row[:3] for row in joined] == [row[:3] for row in whole]
        count, (example,) = note(opened.trace, "execution_joined")
        flops = opened.view("efficiency").frame.filter(name="aten::mm")["flops"].to_list()
        assert flops == recorded.view("efficiency").frame.filter(name="aten::mm")["flops"].to_list()
    events = written_events()["traceEvents"]
    ids = [each for each in events if each.get("args", {}).get("Record function id")]
    assert count == len(ids) == 1644
    assert example.startswith("et_rank0.json.gz: 1,644 of 1,644 operators")


def test_what_the_trace_has_itself_stays(tmp_path: Path) -> None:
    content = written_events()
    for event in content["traceEvents"]:
        if event.get("name") == "aten::mm":
            event["args"]["Input Dims"] = [[1, 1], [1, 1]]
    path = tmp_path / "rank0.pt.trace.json"
    path.write_text(json.dumps(content))
    shutil.copy(ET, tmp_path)
    with open_trace(path, cache=False) as opened:
        shapes = {row[1] for row in inputs(opened.trace) if row[0] == "aten::mm"}
    assert shapes == {"[[1, 1], [1, 1]]"}


def test_the_execution_trace_is_no_second_worker(tmp_path: Path) -> None:
    for rank in (0, 1):
        without_shapes(tmp_path, f"rank{rank}.pt.trace.json")
        shutil.copy(ET, tmp_path / f"et_rank{rank}.json.gz")
    with open_trace(tmp_path, cache=False) as opened:
        assert opened.workers == ("rank0", "rank1")
        assert note(opened.trace, "execution_joined")[0] == 1644


def test_one_of_another_rank_or_process_is_not_joined(tmp_path: Path) -> None:
    path = without_shapes(tmp_path)
    shutil.copy(ET, tmp_path / "et_rank3.json.gz")
    with open_trace(path, cache=False) as opened:
        assert "execution_tensors" not in opened.trace.side
    renamed = json.loads(gzip.decompress(ET.read_bytes()))
    for each in renamed["nodes"]:
        each["name"] += "_"
    (tmp_path / "et_rank0.json").write_text(json.dumps(renamed))
    with open_trace(path, cache=False) as opened:
        count, (example,) = note(opened.trace, "execution_refused")
        assert {row[1] for row in inputs(opened.trace)} == {None}
    assert count == 1
    assert example.startswith("et_rank0.json: 0 of 1,644 operators")


def test_process_groups_where_the_trace_names_none(tmp_path: Path) -> None:
    path = without_shapes(tmp_path, distributedInfo={"backend": "gloo", "rank": 0, "world_size": 2})
    shutil.copy(ET, tmp_path)
    with open_trace(path, cache=False) as opened:
        job = opened.trace.meta.info.job
    assert job is not None
    assert (job.rank, job.world_size) == (0, 2)
    assert [(each.name, each.ranks) for each in job.groups or ()] == [("0", (0, 1))]


@pytest.mark.parametrize(
    "content", [b"", b"{", b'{"nodes": [', b"\x1f\x8b\x08broken", b'{"nodes": ' + b"[" * 10_000]
)
def test_a_damaged_one_costs_nothing(tmp_path: Path, content: bytes) -> None:
    path = without_shapes(tmp_path)
    (tmp_path / "et_rank0.json").write_bytes(content)
    with open_trace(path, cache=False) as opened:
        assert opened.operators().frame.height > 50
        assert "execution_tensors" not in opened.trace.side


def test_devices_pipes_and_links_out_are_not_read(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    folder.mkdir()
    without_shapes(folder)
    (folder / "et_1_rank0.json").symlink_to("/dev/zero")
    os.mkfifo(folder / "et_2_rank0.json")
    (folder / "et_3_rank0.json.gz").symlink_to(ET)
    with open_trace(folder, cache=False) as opened:
        count, _ = note(opened.trace, "beside_unread")
        assert count == 3
        assert "execution_tensors" not in opened.trace.side


def test_a_truncated_one_is_joined_as_far_as_it_goes(tmp_path: Path) -> None:
    path = without_shapes(tmp_path)
    text = gzip.decompress(ET.read_bytes())
    (tmp_path / "et_rank0.json").write_bytes(text[: len(text) * 3 // 4])
    with open_trace(path, cache=False) as opened:
        joined, _ = note(opened.trace, "execution_joined")
        assert 1000 < joined < 1644


@pytest.fixture(scope="module")
def joined_trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    folder = tmp_path_factory.mktemp("pair")
    path = without_shapes(folder)
    shutil.copy(ET, folder)
    with open_trace(path, cache=False) as opened:
        return opened.trace


def tensor_ids(values: Any) -> list[int]:
    """Ids of the tensors among values, by a walk over plain JSON."""
    found: list[int] = []
    for value in values:
        if not isinstance(value, list):
            continue
        if len(value) == 6 and isinstance(value[5], str):
            found.append(value[0])
        else:
            found += tensor_ids(value)
    return found


def test_producers_and_readers_follow_from_the_nodes(joined_trace: Trace) -> None:
    listed = {attributes(node)["rf_id"]: node for node in nodes(ET)}
    by_node = {node["id"]: rf_id for rf_id, node in listed.items()}
    slice_of = dict(
        joined_trace.operators.select("record_function_id", "slice").drop_nulls().iter_rows()
    )
    node_of = {slice_id: rf_id for rf_id, slice_id in slice_of.items()}
    compared = 0
    for rf_id, node in sorted(listed.items()):
        if rf_id not in slice_of or rf_id % 3:
            continue
        around = set()
        above = by_node.get(node["ctrl_deps"])
        while above in listed and above not in around:
            around.add(above)
            above = by_node.get(listed[above]["ctrl_deps"])
        expected = []
        for tensor in dict.fromkeys(tensor_ids(node["inputs"]["values"])):
            earlier = [
                other
                for other in range(rf_id - 1, 0, -1)
                if other in slice_of
                and other not in around
                and tensor in tensor_ids(listed[other]["outputs"]["values"])
            ]
            expected += earlier[:1]
        given = [node_of[each] for each in producers(joined_trace, slice_of[rf_id])]
        assert given == list(dict.fromkeys(expected))
        for producer in given:
            assert producer < rf_id
        compared += len(expected)
    assert compared > 300
    mm = next(rf for rf, node in listed.items() if node["name"] == "aten::addmm")
    for reader in readers(joined_trace, slice_of[mm]):
        read = tensor_ids(listed[node_of[reader]]["inputs"]["values"])
        assert set(read) & set(tensor_ids(listed[mm]["outputs"]["values"]))


def test_the_panel_of_a_slice_has_tensors_and_links(joined_trace: Trace) -> None:
    codes = joined_trace.slices["name_code"].to_list()
    slice_id = next(at for at, code in enumerate(codes) if joined_trace.text(code) == "aten::addmm")
    details = slice_details(joined_trace, slice_id)
    node = next(each for each in nodes(ET) if each["name"] == "aten::addmm")
    keys = ("tensor", "storage", "offset", "elements", "item_bytes", "device")
    assert details.args["output_tensors"] == [
        dict(zip(keys, value, strict=True)) for value in node["outputs"]["values"]
    ]
    assert details.links.produced_by.count == len(producers(joined_trace, slice_id)) > 0
    assert details.links.read_by.count > 0
    assert operator_tensors(joined_trace, slice_id).height == 4


def test_a_trace_without_an_execution_trace_has_no_such_links(tmp_path: Path) -> None:
    with open_trace(shutil.copy(KINETO, tmp_path), cache=False) as opened:
        assert producers(opened.trace, 5) == readers(opened.trace, 5) == []
        assert "input_tensors" not in slice_details(opened.trace, 5).args


EXECUTION = '{"schema": "1.1.1-chakra.0.0.4", "nodes": [{"id": 2, "ctrl_deps": 1}]}'


def listed(logdir: Path, **texts: str) -> tuple[set[tuple[str, str]], dict[str, str]]:
    """(Run, worker) of what is shown, and names of what is not with the reason."""
    for name, text in texts.items():
        path = logdir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    contents = Catalog([TraceRoot(str(logdir))], cache=None).contents(None)
    shown = {(each.run, each.worker) for each in contents.files()}
    return shown, {each.name: each.reason for each in contents.skipped}


def test_an_execution_trace_accompanies_the_trace_of_its_rank(tmp_path: Path) -> None:
    trace = '{"traceEvents": [{"ph": "X", "ts": 1, "pid": 1, "tid": 1, "name": "a"}]}'
    names = {"log/rank0.pt.trace.json": trace, "log/rank1.pt.trace.json": trace}
    shown, skipped = listed(
        tmp_path, **names, **{"log/et_rank1.json": EXECUTION, "log/et_rank01.json": EXECUTION}
    )
    assert shown == {("log", "rank0"), ("log", "rank1")}
    assert skipped == {"log/et_rank1.json": "companion", "log/et_rank01.json": "companion"}


def test_alone_or_of_another_rank_it_is_shown(tmp_path: Path) -> None:
    trace = '{"traceEvents": [{"ph": "X", "ts": 1, "pid": 1, "tid": 1, "name": "a"}]}'
    shown, skipped = listed(
        tmp_path,
        **{
            "one/rank0.pt.trace.json": trace, "one/et_rank7.json": EXECUTION,
            "two/et_rank0.json": EXECUTION, "two/et_rank1.json": EXECUTION,
            "three/w.pt.trace.json": trace, "three/et.json": EXECUTION,
            "four/rank0.pt.trace.json": trace, "four/graph_rank0.json": EXECUTION,
        },
    )  # fmt: skip
    assert skipped == {"three/et.json": "companion"}
    assert {worker for run, worker in shown if run.startswith("two")} == {"rank0", "rank1"}
    assert len([run for run, _ in shown if run.startswith(("one", "four"))]) == 4
