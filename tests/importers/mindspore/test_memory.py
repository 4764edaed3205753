"""Memory: tensors of graphs as ``google.protobuf`` writes them, totals of the pool by hand.

No public sample of either file exists: docs/format-mindspore.md#memory.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest

from tests.helpers.protobuf_classes import message_classes
from tests.importers.mindspore.folders import folder_of, opened
from torch_tb_profiler.analysis.recording.missing_reasons import missing_reason
from torch_tb_profiler.importers.registry import import_source
from torch_tb_profiler.importers.source import Source
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.model import Trace

CLASSES = message_classes(
    """
MemoryProto: 1 repeated GraphMemProto graph_mem, 2 int64 total_mem
GraphMemProto: 1 int64 graph_id, 2 int64 static_mem, 3 repeated NodeMemProto node_mems,
  4 repeated TensorMemProto tensor_mems, 5 string fp_start, 6 string bp_end
NodeMemProto: 1 string node_name, 2 int64 node_id, 3 repeated int64 input_tensor_id,
  4 repeated int64 output_tensor_id, 5 repeated int64 workspace_tensor_id
TensorMemProto: 1 int64 tensor_id, 2 int64 size, 3 string type, 4 int64 life_start,
  5 int64 life_end, 6 string life_long
""",
    "memory_profiling.proto",
    "proto3",
)
NONE, ALL, START, END = (
    f"LifeLong{word}" for word in ("None", "GraphAll", "GraphStart", "GraphEnd")
)
GIB = 1 << 30


def graph(
    number: int,
    nodes: Sequence[tuple[str, Sequence[int], Sequence[int]]],
    tensors: Sequence[tuple[int, int, str, int, int, str]],
    static: int = 0,
) -> Any:
    """A graph: nodes are (name, outputs, workspaces), numbered from 0."""
    message = CLASSES["GraphMemProto"](graph_id=number, static_mem=static)
    for node_id, (name, outputs, workspaces) in enumerate(nodes):
        message.node_mems.add(
            node_name=name,
            node_id=node_id,
            output_tensor_id=outputs,
            workspace_tensor_id=workspaces,
        )
    for tensor_id, size, kind, first, last, life in tensors:
        message.tensor_mems.add(
            tensor_id=tensor_id, size=size, type=kind,
            life_start=first, life_end=last, life_long=life,
        )  # fmt: skip
    return message


def usage(*graphs: Any, total: int = 32 * GIB) -> bytes:
    """A file."""
    data: bytes = CLASSES["MemoryProto"](graph_mem=graphs, total_mem=total).SerializeToString()
    return data


NODES: tuple[tuple[str, list[int], list[int]], ...] = (
    ("Cast-op6", [0], []),
    ("Conv2D-op7", [1, 2], [3]),
    ("MatMul-op9", [4], [4]),
)
TENSORS = (
    (0, 512, "Common", 0, 1, NONE),
    (1, 1024, "OutputOnly", 1, 2, NONE),
    (2, 2048, "Common", 1, 1, END),
    (3, 4096, "Workspace", 1, 1, NONE),
    (4, 8192, "Common", 2, 0, ALL),
    (5, 16384, "Common", 0, 1, START),
)
FRAMEWORK = "full_kernel_name,kernel_type,op_info\n" + "".join(
    f'Default/net/{name},X,"{json.dumps(info)}"\n'.replace('"{', "\x00").replace('}"\n', "\x01")
    .replace('"', '""').replace("\x00", '"{').replace("\x01", '}"\n')
    for name, info in (
        ("Cast-op6", {"output_0": {"format": "NC1HWC0", "data_type": "FLOAT16", "shape": [32, 1]}}),
        (
            "Conv2D-op7",
            {
                "output_1": {
                    "format": "DefaultFormat", "data_type": "NUMBER_TYPE_FLOAT32", "shape": "8,3"
                }
            },
        ),
    )
)  # fmt: skip


def memory(data: bytes, **others: str) -> Trace:
    """The trace of a file and others."""
    return opened(folder_of({"memory_usage_3.pb": data, **others}))


def test_tensors_have_name_kind_type_format_and_lifetime() -> None:
    trace = memory(usage(graph(7, NODES, TENSORS, 100)), **{"framework_raw_3.csv": FRAMEWORK})
    assert trace.side["memory_tensors"].source == "memory_usage_3.pb"
    assert trace.side["memory_tensors"].frame.drop("graph").rows() == [
        (0, "Cast-op6:0", "Common", "FLOAT16", "[32, 1]", "NC1HWC0", 512, 0, 1, "its operators"),
        (1, "Conv2D-op7:0", "OutputOnly", None, None, None, 1024, 1, 2, "its operators"),
        (
            2, "Conv2D-op7:1", "Common", "FLOAT32", "[8, 3]", "DefaultFormat", 2048, 1, 2,
            "to the end of the graph",
        ),
        (3, "Conv2D-op7 workspace 0", "Workspace", None, None, None, 4096, 1, 1, "its operators"),
        (4, "MatMul-op9:0", "Common", None, None, None, 8192, 0, 2, "the whole graph"),
        (5, None, "Common", None, None, None, 16384, 0, 1, "from the start of the graph"),
    ]  # fmt: skip
    assert trace.side["memory_operators"].frame.rows() == [
        (7, 0, "Cast-op6", None, 100, 100 + 512 + 8192 + 16384),
        (7, 1, "Conv2D-op7", None, 100, 100 + 512 + 1024 + 2048 + 4096 + 8192 + 16384),
        (7, 2, "MatMul-op9", None, 100, 100 + 1024 + 2048 + 8192),
    ]
    device = trace.devices.row(0, named=True)
    assert (device["device"], device["memory_bytes"]) == (3, 32 * GIB)
    assert not trace.quality.counts


def test_the_ends_of_both_passes_are_marked() -> None:
    points = json.dumps({"fp_start": "Default/net/Cast-op6", "bp_end": "Default/MatMul-op9"})
    trace = memory(usage(graph(0, NODES, TENSORS)), **{"step_trace_point_info_3.json": points})
    assert trace.side["memory_operators"].frame["mark"].to_list() == [
        "forward start", None, "backward end",
    ]  # fmt: skip
    stated = graph(0, NODES, TENSORS)
    stated.fp_start, stated.bp_end = "Conv2D-op7", "MatMul-op9"
    assert memory(usage(stated)).side["memory_operators"].frame["mark"].to_list() == [
        None, "forward start", "backward end",
    ]  # fmt: skip


def test_a_graph_is_live_as_a_second_reader_sums_it() -> None:
    chance = random.Random(5)
    graphs = []
    for number in range(3):
        count = chance.randrange(1, 60)
        tensors = []
        for tensor in range(chance.randrange(80)):
            first = chance.randrange(count)
            life = chance.choice((NONE, ALL, START, END))
            size = 512 * chance.randrange(1, 999)
            tensors.append((tensor, size, "Common", first, chance.randrange(first, count), life))
        graphs.append(
            graph(number, [(f"op{i}", [], []) for i in range(count)], tensors, number * 7)
        )
    data = usage(*graphs)
    expected = []
    for each in CLASSES["MemoryProto"].FromString(data).graph_mem:
        live = [each.static_mem] * len(each.node_mems)
        for tensor in each.tensor_mems:
            first = 0 if tensor.life_long in (ALL, START) else tensor.life_start
            last = len(live) - 1 if tensor.life_long in (ALL, END) else tensor.life_end
            for at in range(first, last + 1):
                live[at] += tensor.size
        expected += live
    assert memory(data).side["memory_operators"].frame["live_bytes"].to_list() == expected


def test_numbers_of_operators_need_not_be_their_positions() -> None:
    message = graph(0, NODES, [(1, 512, "Common", 50, 60, NONE), (2, 512, "Common", 0, 60, NONE)])
    for node, number in zip(message.node_mems, (50, 55, 60), strict=True):
        node.node_id = number
    trace = memory(usage(message))
    tensors = trace.side["memory_tensors"].frame
    assert tensors.select("first", "last").rows() == [(0, 2), (None, None)]
    assert trace.quality.counts["tensor_lifetime_unknown"] == 1
    assert trace.side["memory_operators"].frame["live_bytes"].to_list() == [512, 512, 512]


@pytest.mark.parametrize("lost", [1, 10, 25, 60, 120, 150])
def test_a_cut_file_keeps_what_precedes_the_cut(lost: int) -> None:
    whole = usage(graph(0, NODES, TENSORS), graph(1, NODES, TENSORS))
    trace = memory(whole[:-lost], **{"framework_raw_3.csv": FRAMEWORK})
    tensors = trace.side["memory_tensors"].frame
    assert tensors.filter(graph=0).height == len(TENSORS)
    assert tensors.filter(graph=1).height < len(TENSORS) or lost < 10
    expected = memory(whole, **{"framework_raw_3.csv": FRAMEWORK}).side["memory_tensors"].frame
    whole_rows = tensors.height - 1  # the last one may be cut
    assert tensors.head(whole_rows).equals(expected.head(whole_rows))
    assert trace.quality.counts["message_damaged"] >= 1
    assert trace.devices.is_empty()


@pytest.mark.parametrize("seed", range(40))
def test_damage_is_an_issue_and_never_an_error(seed: int) -> None:
    chance = random.Random(seed)
    data = bytearray(usage(graph(0, NODES, TENSORS, 5), graph(1, NODES, TENSORS)))
    for _ in range(chance.randrange(1, 6)):
        data[chance.randrange(len(data))] = chance.randrange(256)
    trace = memory(bytes(data), **{"flops_summary_3.json": '{"FLOPs": 1}'})
    assert "recorded_flops" in trace.side


def test_lifetimes_and_sizes_that_cannot_be_are_null() -> None:
    tensors = [
        (0, -5, "Common", 0, 1, NONE),
        (1, 512, "Common", 2, 1, NONE),
        (2, 512, "", 0, 1, "?"),
    ]
    trace = memory(usage(graph(0, NODES, tensors)))
    frame = trace.side["memory_tensors"].frame
    assert frame["size_bytes"].to_list() == [None, 512, 512]
    assert frame["first"].to_list() == [0, None, None]
    assert frame["kind"].to_list() == ["Common", "Common", None]
    assert trace.side["memory_operators"].frame["live_bytes"].to_list() == [0, 0, 0]
    assert trace.quality.counts == {"argument_value": 1, "tensor_lifetime_unknown": 2}


@pytest.mark.parametrize("total", [0, -1, 1 << 62])
def test_memory_of_the_device_that_cannot_be_is_not_shown(total: int) -> None:
    assert memory(usage(graph(0, NODES, TENSORS), total=total)).devices.is_empty()


TOTALS = "Timestamp(ns)\tTotal Allocated(Byte)\tTotal Reserved(Byte)\tTotal Active(Byte)\n"
RECORD = TOTALS + "1700000000000000100\t512\t2048\t600\n1700000000000000300\t1536\t4096\t0\n"


def samples(trace: Trace) -> dict[str, list[tuple[int, float]]]:
    """Metric → times and values."""
    frame = trace.samples.with_columns(
        metric=pl.col("metric_code").replace_strict(dict(enumerate(trace.strings)))
    )
    return {
        str(metric): rows.select("time_ns", "value").rows()
        for (metric,), rows in frame.group_by("metric", maintain_order=True)
    }


@pytest.mark.parametrize("separator", ["\t", ",", " ", " | "])
def test_totals_of_the_pool_are_samples_and_peaks(separator: str) -> None:
    text = RECORD.replace("\t", separator)
    trace = opened(folder_of({"cpu_ms_memory_record_2.txt": text}))
    base = 1700000000000000100
    assert samples(trace) == {
        "MindSpore allocated": [(base, 512.0), (base + 200, 1536.0)],
        "MindSpore reserved": [(base, 2048.0), (base + 200, 4096.0)],
        "MindSpore active": [(base, 600.0), (base + 200, 0.0)],
    }
    assert trace.side["recorded_memory_peaks"].frame.rows() == [(20, 2, 1536, 4096)]
    assert not trace.quality.counts


def test_a_cut_record_loses_its_last_row() -> None:
    cut = RECORD.rpartition("\t")[0]
    trace = opened(folder_of({"cpu_ms_memory_record_0.txt": cut}))
    assert trace.side["recorded_memory_peaks"].frame.rows() == [(20, 0, 512, 2048)]
    assert trace.quality.counts["side_row_left_out"] == 1


def test_a_record_without_rows_is_no_record() -> None:
    files = {"cpu_ms_memory_record_0.txt": TOTALS, "flops_summary_0.json": '{"FLOPs": 1}'}
    trace = opened(folder_of(files))
    assert trace.quality.counts["side_file_unreadable"] == 1


def test_an_option_that_was_set_is_not_asked_for() -> None:
    nothing = "The recording holds no memory events."
    without = opened(folder_of({"flops_summary_0.json": '{"FLOPs": 1}'}))
    assert missing_reason(without, "memory", nothing) == (
        "The recording holds no memory events (profile_memory=True records them)."
    )
    assert missing_reason(memory(usage(graph(0, NODES, TENSORS))), "memory", nothing) == nothing


def test_a_file_alone_is_a_recording() -> None:
    trace = build_trace(
        import_source(Source("memory_usage_0.pb", [usage(graph(0, NODES, TENSORS))]))
    )
    assert trace.side["memory_tensors"].frame.height == len(TENSORS)


def test_what_the_framework_says_of_an_operator_is_parsed_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of an operator with many outputs it is long, so it would take their number squared."""
    parsed: list[str] = []
    loads = json.loads

    def counted(text: str) -> Any:
        parsed.append(text)
        return loads(text)

    monkeypatch.setattr(json, "loads", counted)
    nodes: list[tuple[str, list[int], list[int]]] = [
        ("Cast-op6", list(range(50)), []),
        ("Cast-op6", [50], []),
    ]
    trace = memory(usage(graph(7, nodes, TENSORS)), **{"framework_raw_3.csv": FRAMEWORK})
    assert trace.side["memory_tensors"].frame["dtype"].to_list()[0] == "FLOAT16"
    assert len([text for text in parsed if "NC1HWC0" in text]) == 1
