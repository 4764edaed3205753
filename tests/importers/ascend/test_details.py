"""Values that Ascend's tools write in their own form: arguments, kinds, units, documents."""

from __future__ import annotations

import numpy as np
import pytest

from tests.importers.kineto.reference import read_bytes
from torch_tb_profiler.importers.ascend import arguments
from torch_tb_profiler.importers.ascend.collectives import collective_kind
from torch_tb_profiler.importers.ascend.kernels import unit_label
from torch_tb_profiler.importers.ascend.overlap import compare_overlap
from torch_tb_profiler.importers.ascend.strings import Strings
from torch_tb_profiler.importers.ascend.summaries import collectives, links, transports
from torch_tb_profiler.knowledge import communication, dtypes


def test_arguments_are_written_as_pytorch_writes_them() -> None:
    assert arguments.shapes("32,3,224,224;\r\n;\r\n64") == "[[32, 3, 224, 224], [], [64]]"
    assert arguments.shapes("0") == "[[0]]"
    assert arguments.types('float;\r\nScalar;\r\nTensor["]') == '["float", "Scalar", "Tensor[\\"]"]'
    assert arguments.stack("a.py(1): f;\r\nb.py(2): g;\r\n") == "a.py(1): f;b.py(2): g"


@pytest.mark.parametrize(
    ("name", "kind", "canonical"),
    [
        ("hcom_allReduce__586_0_1", "allreduce", "all_reduce"),
        ("hcom_reduceScatter__1_2_1", "reduce_scatter", "reduce_scatter"),
        ("hcom_allGather_", "allgather", "all_gather"),
        ("hcom_alltoallv__3_1_1", "alltoallv", "all_to_all"),
        ("hcom_broadcast__9", "broadcast", "broadcast"),
        ("hcom_other__1", "hcom_other", None),
        ("Conv2D", "Conv2D", None),
    ],
)
def test_collectives_have_their_usual_names(name: str, kind: str, canonical: str | None) -> None:
    assert collective_kind(name) == kind
    if canonical is not None:
        assert communication.collective(kind) == canonical


def test_types_of_hccl_have_sizes() -> None:
    names = ("FP32", "FP16", "BFP16", "INT8", "INT64", "UINT8", "FP64")
    assert [dtypes.size_bytes(name) for name in names] == [4, 2, 2, 1, 8, 1, 8]


def test_units_have_readable_labels() -> None:
    assert [unit_label(word) for word in ("AI_CPU", "HOST_CPU", "AI_VECTOR_CORE", "NEW", None)] == [
        "AI CPU", "host CPU", "AI Vector", "NEW", None,
    ]  # fmt: skip


@pytest.mark.parametrize("document", [None, [], 3, {"step1": []}, {"step1": {"p2p": {"a@b": 1}}}])
def test_documents_of_another_form_are_empty(document: object) -> None:
    assert collectives(document, "x") is None
    assert links(document) == []
    assert transports(document) == []


def test_collective_sizes_by_transport() -> None:
    sent = {"Transit Size(MB)": 2.5, "Transit Time(ms)": 1.0, "Bandwidth(GB/s)": 2.5}
    idle = {"Transit Size(MB)": 0, "Transit Time(ms)": 0, "Bandwidth(GB/s)": 0}
    bandwidth = {"HCCS": sent | {"Large Packet Ratio": 0.5}, "RDMA": idle}
    step = {"collective": {"a@g": {"Communication Bandwidth Info": bandwidth}}}
    (row,) = transports({"step7": step})
    assert (row["step"], row["name"], row["group"], row["transport"]) == ("7", "a", "g", "HCCS")
    assert (row["size_bytes"], row["time_us"], row["large_packet_pct"]) == (2.5e6, 1000, 50)


def counter(name: str, ts: float, **args: float) -> str:
    values = ", ".join(f'"{key}": {value}' for key, value in args.items())
    return f'{{"ph": "C", "name": "{name}", "pid": 1, "tid": 0, "ts": {ts}, "args": {{{values}}}}}'


def test_counters_are_samples_with_units() -> None:
    declared = '{"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "CANN"}}'
    rows = [
        counter("LLC 0 Read/Hit Rate", 1, **{"Hit Rate(%)": 0.5}),
        counter("APP/HBM", 2, KB=3),
        counter("read", 3, value=0, acc_id=4),
        counter("read", 4, value=2, acc_id=5),
    ]
    columns = read_bytes(f"[{','.join([declared, *rows])}]".encode())
    samples = columns.tables["samples"]
    assert len(columns.tables["counters"]["time_ns"]) == 0
    named = [
        tuple(columns.strings[samples[f"{key}_code"][row]] for key in ("source", "metric", "unit"))
        for row in range(3)
    ]
    assert named == [
        ("NPU 0", "CANN LLC 0 Read/Hit Rate", "%"),
        ("NPU 0", "CANN APP/HBM", "bytes"),
        ("NPU 0", "CANN read 5", ""),
    ]
    assert samples["value"].tolist() == [50, 3072, 2], "accelerator 4 never did anything"


def test_sums_that_differ_by_more_than_one_percent_are_counted() -> None:
    hardware = '{"ph":"M","name":"process_name","pid":1,"tid":0,"args":{"name":"Ascend Hardware"}}'
    label = '{"ph":"M","name":"process_labels","pid":1,"tid":0,"args":{"labels":"NPU"}}'
    task = '{"ph": "X", "name": "Conv2D", "pid": 1, "tid": 0, "ts": 1, "dur": 1000}'
    columns = read_bytes(f"[{hardware},{label},{task}]".encode())
    compare_overlap(columns, {"Computing": 1_009_000, "Communication": 0})
    assert "ascend_overlap_differs" not in columns.quality.counts
    compare_overlap(columns, {"Computing": 1_011_000})
    assert columns.quality.counts["ascend_overlap_differs"] == 1


def test_each_text_has_one_code() -> None:
    strings = Strings(["a", "b"])
    assert strings.codes(["b", "c", None, "c"]).tolist() == [1, 2, -1, 2]
    assert strings.rewritten(np.array([0, 1, -1], np.int32), str.upper).tolist() == [3, 4, -1]
    assert strings.texts == ["a", "b", "c", "A", "B"]
