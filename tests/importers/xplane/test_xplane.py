"""XPlane profiles against the classes of ``google.protobuf``: sums per plane, line and name, and
what becomes of each kind of line."""

from __future__ import annotations

import gzip

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import xplane as xp
from tests.helpers.sums import Sums, add_up, differences, launches, work
from tests.importers.kineto.reference import read_bytes
from torch_tb_profiler.importers import import_trace
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import EventColumns
from torch_tb_profiler.trace.model import Trace


def sums_by_name(columns: EventColumns) -> Sums:
    """All recorded slices by (plane, line, name), in ns: tracks are those of the file."""
    slices, tracks = columns.tables["slices"], columns.tracks
    return add_up(
        ((tracks[track].process_name, tracks[track].thread_name, columns.strings[name]), dur)
        for track, name, dur in zip(
            slices["track"].tolist(), slices["name_code"].tolist(), slices["dur_ns"].tolist(),
            strict=True,
        )
        if not _is_added(columns, track)
    )  # fmt: skip


def _is_added(columns: EventColumns, track: int) -> bool:
    name = columns.tracks[track].thread_name or ""
    return name.startswith(("HLO operations: ", "Steps of devices"))


def expected(data: bytes) -> Sums:
    """The same of the protobuf classes, with the number of a step behind its name."""
    return xp.sums_by_name(xp.parse(data))


@pytest.mark.parametrize("data", [xp.tpu_file(), xp.gpu_file()], ids=["TPU", "GPU"])
def test_sums_are_those_of_the_protobuf_classes(data: bytes) -> None:
    assert differences(sums_by_name(read_bytes(data)), expected(data)) == {}


def test_gzip_and_pieces_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    data = xp.tpu_file()
    monkeypatch.setattr("torch_tb_profiler.importers.xplane.space.PIECE_BYTES", 64)
    assert differences(sums_by_name(read_bytes(gzip.compress(data))), expected(data)) == {}


def trace_of(data: bytes) -> Trace:
    return build_trace(read_bytes(data))


def operations(devices: int) -> Sums:
    """What the two fusions and the all-reduce of three steps take on each device."""
    per_step = {"fusion.1": (1, 300_000), "fusion.3": (2, 201_000), "all-reduce.4": (1, 50_000)}
    return {
        (device, 0, "KERNEL", name): (3 * calls, 3 * ns)
        for device in range(devices)
        for name, (calls, ns) in per_step.items()
    }


def test_the_operations_of_a_tpu_are_its_work_and_loops_around_them_are_not() -> None:
    trace = trace_of(xp.tpu_file())
    assert differences(work(trace), operations(2)) == {}
    loops = trace.slices.filter(pl.col("category") == Category.DEVICE_ANNOTATION)
    names = {trace.text(code) for code in loops["name_code"]}
    assert names == {"while.2", "jit_step(99)", "5", "6", "7"}


def test_operations_are_operators_with_their_device_time_and_none_of_the_host() -> None:
    trace = trace_of(xp.tpu_file())
    operators = trace.slices.filter(pl.col("category") == Category.OPERATOR)
    sums = add_up(
        ((trace.text(name),), ns)
        for name, ns in operators.select("name_code", "device_self_ns").iter_rows()
    )
    assert sums == {
        ("fusion.1",): (6, 1_800_000),
        ("fusion.3",): (12, 1_206_000),
        ("all-reduce.4",): (6, 300_000),
    }
    assert operators["dur_ns"].sum() == 0
    assert {trace.text(code) for code in operators["raw_category_code"]} == {
        "convolution fusion", "loop fusion", "all-reduce",
    }  # fmt: skip


def test_scopes_of_the_framework_are_ranges_around_the_operators() -> None:
    trace = trace_of(xp.tpu_file(devices=1))
    ranges = trace.slices.filter(pl.col("category") == Category.ANNOTATION)
    sums = add_up(
        ((trace.text(name),), (ns))
        for name, ns in ranges.select("name_code", "device_total_ns").iter_rows()
    )
    assert sums["jit(step)",] == sums["jit(main)",] == (3, 3 * 551_000)
    assert sums["decoder",] == sums["while",] == sums["body",] == (3, 3 * 201_000)
    assert sums["encoder",] == (3, 3 * 300_000)


def test_the_steps_of_devices_are_the_steps() -> None:
    steps = trace_of(xp.tpu_file()).steps
    assert steps["name"].to_list() == ["5", "6", "7"]
    assert (steps["end_ns"] - steps["start_ns"]).to_list() == [900_000] * 3
    assert steps["device_events"].to_list() == [8, 8, 8]


def test_work_states_its_flops_and_bytes() -> None:
    trace = trace_of(xp.tpu_file(devices=1))
    stated = trace.stated.join(trace.device_work.select("slice"), on="slice", how="semi")
    assert stated["flops"].sum() == 3 * (6 * 10**9 + 2 * 10**6)
    assert stated["bytes"].sum() == 3 * (4_000_000 + 2 * 1_000_000 + 2_000_000)


def test_the_host_has_frames_ranges_and_functions() -> None:
    trace = trace_of(xp.tpu_file())
    host = trace.slices.filter(pl.col("category").is_in(
        [Category.PYTHON_FUNCTION, Category.ANNOTATION, Category.HOST_OTHER]
    ))  # fmt: skip
    names = {str(trace.text(name)): Category(each).name for name, each in
             host.select("name_code", "category").iter_rows()}  # fmt: skip
    assert {name: names[name] for name in names if "(s" not in name or "Pjit" in name} == {
        "$train.py:12 main": "PYTHON_FUNCTION",
        "train": "ANNOTATION",  # the devices have the steps
        "my range": "ANNOTATION",
        "PjitFunction(step)": "ANNOTATION",
        "tpu::System::Execute": "HOST_OTHER",
        "ThreadpoolListener::Record": "HOST_OTHER",
        "jit(main)": "ANNOTATION", "encoder": "ANNOTATION", "decoder": "ANNOTATION",
        "while": "ANNOTATION", "body": "ANNOTATION",
    }  # fmt: skip


def test_without_steps_of_a_device_the_annotated_ones_count() -> None:
    columns = read_bytes(xp.space(xp.host_plane()))
    trace = build_trace(columns)
    assert trace.steps["name"].to_list() == ["5"]
    assert "train#5" in columns.strings


def test_kernels_and_copies_of_a_gpu_with_details_and_launches() -> None:
    trace = trace_of(xp.gpu_file())
    assert work(trace) == {
        (0, 13, "KERNEL", "nvjet_hsh_128x128"): (4, 200_000),
        (0, 14, "MEMCPY", "MemcpyH2D"): (1, 20_000),
    }
    assert launches(trace) == {
        ("KERNEL", "cuLaunchKernel"): (4, 200_000),
        ("MEMCPY", "cuMemcpyHtoDAsync_v2"): (1, 20_000),
    }
    kernel = trace.device_work.filter(pl.col("category") == Category.KERNEL).row(0, named=True)
    assert trace.text(kernel["grid_code"]) == "[40, 3, 1]"
    assert trace.text(kernel["block_code"]) == "[128, 2, 1]"
    assert (kernel["registers_per_thread"], kernel["shared_memory_bytes"]) == (33, 1536)
    copy = trace.device_work.filter(pl.col("category") == Category.MEMCPY)
    assert copy["bytes"].to_list() == [4096]


def test_what_is_no_known_work_of_a_stream_is_no_kernel() -> None:
    columns = read_bytes(xp.gpu_file())
    assert columns.quality.counts == {"unknown_category": 1}
    assert columns.quality.examples["unknown_category"] == ["something new"]


def test_work_of_a_gpu_belongs_to_the_operation_that_it_names() -> None:
    trace = trace_of(xp.gpu_file())
    names = trace.slices.select("id", "name_code")
    owners = trace.device_work.join(names, left_on="owner", right_on="id")["name_code_right"]
    assert [trace.text(code) for code in owners] == ["gemm_fusion.0", "gemm_fusion.1"] * 2


def test_devices_and_time_origin() -> None:
    columns = read_bytes(xp.gpu_file())
    device = columns.info.devices[0]
    assert (device.sm_count, device.memory_bytes, device.compute_major) == (132, 80 << 30, 9)
    assert columns.base_ns == 1_795_920_894_343_512_672
    tpu = read_bytes(xp.tpu_file()).info.devices
    assert [each.name for each in tpu] == ["TPU v6 Lite"] * 2


def test_values_that_no_column_has_are_arguments() -> None:
    trace = trace_of(xp.gpu_file())
    keys = {trace.text(code) for code in trace.arguments["key_code"]}
    assert keys == {"hlo_module", "hlo_op", "tf_op", "memcpy_details"}
    large = xp.Event("a", 0, 1000, {"id": 2**64 - 3, "x": 2.5, "n": 7, "s": "t"})
    trace = trace_of(xp.space(xp.PlaneWriter("/host:CPU", [xp.Line("t", [large], 1)])))
    rows = trace.arguments.select("key_code", "value", "text_code").iter_rows()
    values = {trace.text(key): (value, trace.text(text)) for key, value, text in rows}
    assert values == {"id": (None, str(2**64 - 3)), "x": (2.5, None), "n": (7.0, None),
                      "s": (None, "t")}  # fmt: skip


def test_secrets_of_the_file_are_not_read() -> None:
    columns = read_bytes(xp.tpu_file())
    assert not any("secret-host" in text for text in columns.strings)
    assert columns.info.host_name is None


def test_errors_and_warnings_are_counted_without_their_texts() -> None:
    data = xp.space(xp.host_plane(), errors=("no /dev/accel", "x"), warnings=("dropped 5",))
    columns = read_bytes(data)
    assert columns.quality.counts == {"xplane_errors": 2, "xplane_warnings": 1}
    assert not any("accel" in text for text in columns.strings)


NAMES = st.sampled_from(["a", "b::c", "$x.py:1 f", "fusion.1", "Stream", "MatMul:MatMul", "ü"])
TIMES = st.integers(0, 10**9)
VALUES = st.one_of(
    st.integers(-(2**63), 2**64 - 1), st.floats(allow_nan=False), st.text(max_size=4)
)
EVENTS = st.builds(
    xp.Event, NAMES, TIMES, TIMES,
    st.dictionaries(st.sampled_from(["k", "run_id", "_p", "flow"]), VALUES, max_size=2),
)  # fmt: skip
LINE_NAMES = ("Steps", "XLA Modules", "XLA Ops", "Async XLA Ops", "python")


@st.composite
def planes(draw: st.DrawFn) -> list[xp.PlaneWriter]:
    names = draw(st.lists(st.sampled_from(
        ["/device:TPU:0", "/device:TPU:1", "/host:CPU", "/device:GPU:3", "other"]
    ), unique=True, max_size=3))  # fmt: skip
    return [
        xp.PlaneWriter(name, [
            xp.Line(LINE_NAMES[number], draw(st.lists(EVENTS, max_size=30)), number + 100 * index,
                    draw(st.integers(0, 10**6)))
            for number in draw(st.lists(st.integers(0, 4), unique=True, max_size=3))
        ])
        for index, name in enumerate(names)
    ]  # fmt: skip


@given(planes())
def test_random_profiles_have_the_sums_of_the_protobuf_classes(written: list[xp.PlaneWriter]
                                                              ) -> None:  # fmt: skip
    data = xp.space(*written)
    recorded = expected(data)
    if not recorded:
        return
    columns = import_trace([data], name="x.xplane.pb")
    assert differences(sums_by_name(columns), recorded) == {}
    trace = build_trace(columns)
    assert np.all(trace.slices["dur_ns"].to_numpy() >= 0)
