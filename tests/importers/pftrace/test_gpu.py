"""GPU work: render stages, their launches and counters; and rocprofv3's slices."""

from __future__ import annotations

import pytest

from tests.importers.pftrace.writer import (
    TRACKS,
    annotation,
    begin,
    end,
    event,
    interned,
    message,
    packet,
    read_data,
    rows,
)
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.categories import Category

QUEUES = interned(24, {1: "Kernel", 2: "Memcpy", 100: "[07] stream 7", 101: "compute"})
SIZES = pytest.mark.parametrize("piece_bytes", [1, 300, 1 << 20])


def stage(at: int, kind: int, *fields: tuple[int, int | bytes], queue: int = 100) -> bytes:
    given = message((2, 5), (11, 1), (13, queue), (14, kind), *fields)
    return packet((8, at), (13, 2), (53, given))


@SIZES
def test_stages_are_work_of_the_devices(piece_bytes: int) -> None:
    names = [
        (1000, message((1, 4), (3, "gemm"))),
        (1001, message((1, 1), (2, "registers_per_thread"))),
    ]
    data = TRACKS + packet((13, 1), (12, message(*QUEUES, *names)))
    launched = message((1, message((1, 8), (2, 2))), (3, message((1, 1), (4, 86))))
    values = {"correlation": "12", "bytes": "64", "stream id": "3", "dtype": "Float"}
    extra = [(6, message((1, key), (2, value))) for key, value in values.items()]
    data += stage(10, 1, (19, 4), (21, launched), *extra) + stage(20, 2, queue=101)
    columns = read_data(data, piece_bytes)
    assert [(r["name_code"], r["category"], r["track"]) for r in rows(columns, "slices")] == [
        ("gemm", Category.KERNEL, ("1", "7")),
        ("Memcpy", Category.MEMCPY, ("1", "compute")),
    ]
    kernel, copy = rows(columns, "device")
    assert (kernel["device"], kernel["stream"], kernel["bytes"]) == (1, 3, 64)
    assert (kernel["grid_code"], kernel["registers_per_thread"]) == ("[8, 2, 1]", 86)
    assert (copy["device"], copy["grid_code"]) == (1, None)
    assert columns.tracks[0].process_label == "GPU 1"
    assert not rows(columns, "collective")


def test_a_call_launches_the_work_it_submitted() -> None:
    data = TRACKS + packet((13, 1), (12, message(*QUEUES)))
    data += begin(
        1, "cudaLaunchKernel", (22, "cuda_runtime"), (3000, message((1, 5), (1, 6)))
    ) + end(3)
    data += stage(10, 1, (1, 5)) + stage(20, 1, (1, 6)) + stage(30, 1, (1, 7))
    columns = read_data(data)
    assert columns.launch is not None
    assert columns.launch[1:3].tolist() == [0, 0]
    assert columns.launch[3] < 0
    assert build_trace(columns).device_work["launch"].to_list()[:2] == [0, 0]


@SIZES
def test_counters_are_named_by_their_descriptor(piece_bytes: int) -> None:
    specs = message((1, message((1, 0), (2, "Power (W)"))), (1, message((1, 3), (2, "Cycles"))))
    data = TRACKS + packet((13, 1), (12, message((47, message((1, 1), (3, 2), (2, specs))))))
    values = message((4, 1), (2, message((1, 0), (3, 1.5))), (2, message((1, 3), (2, 9))))
    data += packet((8, 5), (13, 2), (52, values))
    data += packet((8, 6), (52, message((3, 4), (1, specs), (2, message((1, 0), (2, 7))))))
    counters = rows(read_data(data, piece_bytes), "counters")
    assert [(r["track"][0], r["name_code"], r["series_code"], r["value"]) for r in counters] == [
        ("GPU 2 Counters", "Power (W)", "", 1.5),
        ("GPU 2 Counters", "Cycles", "", 9.0),
        ("GPU 4 Counters", "Power (W)", "", 7.0),
    ]


def rocprof() -> bytes:
    """Slices as rocprofv3 names and annotates them: synthetic, as no such file was available."""
    queue = packet((60, message((1, 40), (2, "COMPUTE AGENT [2] QUEUE [0] GPU"))))
    thread = packet((60, message((1, 41), (5, 1), (2, "THREAD 1 (78)"))))
    data = TRACKS + queue + thread
    call = (
        annotation("corr_id", 9),
        annotation("begin_ns", 10),
        annotation("kind", "HIP_RUNTIME_API"),
    )
    data += begin(10, "hipLaunchKernel", (22, "hip_api"), *call, track=41) + end(12, track=41)
    given = {
        "agent": "Agent-2", "corr_id": 9, "queue": 1, "group_segment_size": 1024,
        "workgroup_size": 64, "grid_size": 4096,
    }  # fmt: skip
    work = [annotation(key, value) for key, value in given.items()]
    data += begin(20, "gemm.kd", (22, "kernel_dispatch"), *work, track=40) + end(29, track=40)
    copy = annotation("dst_agent", "Agent-2"), annotation("copy_bytes", 256)
    data += event(5, 1, (11, 40), (23, "copy"), (22, "memory_copy"), *copy) + end(7, track=40)
    return data


def test_rocprofs_slices_are_calls_kernels_and_copies() -> None:
    columns = read_data(rocprof())
    assert [(r["name_code"], r["category"], r["dur_ns"]) for r in rows(columns, "slices")] == [
        ("hipLaunchKernel", Category.RUNTIME, 2),
        ("gemm.kd", Category.KERNEL, 9),
        ("copy", Category.MEMCPY, 2),
    ]
    kernel, copy = rows(columns, "device")
    assert (kernel["device"], kernel["stream"], kernel["shared_memory_bytes"]) == (2, 1, 1024)
    assert (copy["device"], copy["bytes"]) == (2, 256)
    assert {track.process_label for track in columns.tracks} == {None, "GPU 2"}
    trace = build_trace(columns)
    names = trace.strings[trace.slices["name_code"].to_numpy()]
    work = trace.device_work.filter(trace.device_work["launch"].is_not_null())
    assert [names[row] for row in work["slice"]] == ["gemm.kd"]
    assert [names[row] for row in work["launch"]] == ["hipLaunchKernel"]


def test_flows_from_the_host_launch_work_without_correlation() -> None:
    queue = packet((60, message((1, 40), (2, "QUEUE [0]"))))
    data = TRACKS + queue + begin(1, "submit", (22, "cuda_driver"), (36, 5)) + end(2)
    data += begin(4, "work", (22, "kernel"), (42, 5), track=40) + end(6, track=40)
    columns = read_data(data)
    assert columns.launch is not None
    assert columns.launch[1] == 0


def test_graph_nodes_have_their_annotations() -> None:
    """PyTorch writes the keys of an annotation as separate extra data of the stage."""
    data = TRACKS + packet((13, 1), (12, message(*QUEUES)))
    for at, key in ((10, "module_fqn"), (20, "name"), (30, "phase")):
        values = {"graph id": "5", "graph node id": str(at), key: "layers.0"}
        extra = [(6, message((1, name), (2, value))) for name, value in values.items()]
        data += stage(at, 1, *extra)
    columns = read_data(data)
    assert [row["annotation_code"] for row in rows(columns, "stated")] == ["layers.0"] * 2
    device = rows(columns, "device")
    assert [(row["graph"], row["graph_node"]) for row in device] == [(5, 10), (5, 20), (5, 30)]
