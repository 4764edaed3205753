"""GPUs of the overview: utilization, SM efficiency, occupancy, Tensor Cores."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from tests.helpers.traces import (
    kernel,
    op,
    step,
    trace,
)
from tests.views.overview.test_view import FX7, fact
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.info import NotRecorded
from torch_tb_profiler.views.overview.view import overview


def test_fx7_gpu_metrics() -> None:
    view = overview(trace(FX7), Selection())
    [row] = view.tables["gpus"].frame.to_dicts()
    assert row["gpu"] == 1
    assert row["utilization_pct"] == pytest.approx(50)
    assert row["est_sm_efficiency_pct"] == pytest.approx(34.1666667)
    assert row["est_achieved_occupancy_pct"] == pytest.approx(0.55)
    assert fact(view, "gpu_utilization_pct", "GPU 1").value == pytest.approx(50)
    assert fact(view, "est_sm_efficiency_pct", "GPU 1").value == row["est_sm_efficiency_pct"]


def test_fx7_kernels_outside_the_steps() -> None:
    view = overview(
        trace(
            [
                step(1, 100, 100),
                kernel("A", 60, 20, blocks=0.5, occupancy=0.6),
                kernel("B", 240, 25, blocks=10.5, occupancy=0.3),
            ]
        ),
        Selection(),
    )
    [row] = view.tables["gpus"].frame.to_dicts()
    assert row["utilization_pct"] == 0
    assert row["est_sm_efficiency_pct"] == 0
    assert row["est_achieved_occupancy_pct"] is None
    assert "occupancy" in str(fact(view, "est_achieved_occupancy_pct", "GPU 0").reason)


def test_gpu_measures_skip_what_is_no_measurement() -> None:
    view = overview(
        trace(
            [
                step(1, 0, 100),
                kernel("A", 0, 40, blocks=-1, occupancy=-5),
                kernel("A", 50, 40, device=2),
                kernel("A", 50, 10, device=3, blocks=0.5, occupancy=30),
                kernel("A", 70, 10, device=3),
            ]
        ),
        Selection(),
    )
    table = view.tables["gpus"].frame
    assert table["gpu"].to_list() == [0, 2, 3]
    assert table["est_sm_efficiency_pct"].to_list() == [None, None, pytest.approx(5)]
    assert table["est_achieved_occupancy_pct"].to_list() == [None, None, pytest.approx(30)]


def test_devices_are_looked_up_by_id_and_may_be_unknown() -> None:
    view = overview(
        trace(
            [step(1, 0, 100), kernel("A", 0, 40, device=3), kernel("A", 0, 40, device=200)],
            deviceProperties=[
                {"id": 3, "name": "Three", "totalGlobalMem": 64, "computeMajor": 9},
                {"id": 0, "name": "Zero", "totalGlobalMem": 1, "computeMajor": 7},
            ],
        ),
        Selection(),
    )
    rows = view.tables["gpus"].frame.select("gpu", "name", "memory_bytes", "compute_capability")
    assert rows.rows() == [(3, "Three", 64, "9.0"), (200, None, None, None)]
    assert "name" in view.tables["gpus"].null_reasons


def test_tensor_core_share_counts_all_kernels_and_says_what_is_unknown() -> None:
    view = overview(
        trace(
            [
                step(1, 0, 100),
                kernel("volta_fp16_s884cudnn_fp16", 0, 15),
                kernel("Memset_of_nobody_knows_what", 20, 5),
                kernel("vectorized_elementwise_kernel", 30, 5),
            ]
        ),
        Selection(),
    )
    actual = fact(view, "tensor_core_time_pct", "GPU 0")
    assert actual.value is None
    assert "between 60.0 % and 80.0 %" in (actual.reason or "")
    [row] = view.tables["gpus"].frame.to_dicts()
    for stem in ("tensor_core_time", "compute_tensor_core_time"):
        assert row[f"{stem}_pct"] is None
        assert row[f"{stem}_min_pct"] == pytest.approx(60)
        assert row[f"{stem}_max_pct"] == pytest.approx(80)
    [note] = [note for note in view.notes if note.code == "tensor_core_use_unknown"]
    columns = ["tensor_core_time_pct", "compute_tensor_core_time_pct"]
    assert note.evidence == {"gpu": 0, "unknown_us": 5.0, "columns": columns}
    assert "between 60.0 % and 80.0 %" in note.text


def test_communication_is_apart_from_computing() -> None:
    """Of 100 µs communication takes 62, half of it beside computing; a share of all kernel time is
    small where most of it waits."""
    view = overview(
        trace(
            [
                step(1, 0, 100),
                kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 0, 62),
                kernel("volta_fp16_s884cudnn_fp16", 31, 40, stream=8),
                kernel("vectorized_elementwise_kernel", 80, 10, stream=8),
            ]
        ),
        Selection(),
    )
    [row] = view.tables["gpus"].frame.to_dicts()
    assert row["utilization_pct"] == pytest.approx(81)
    assert row["compute_utilization_pct"] == pytest.approx(50)
    assert row["tensor_core_time_pct"] == pytest.approx(40 / 112 * 100)
    assert row["compute_tensor_core_time_pct"] == pytest.approx(80)
    assert fact(view, "gpu_compute_utilization_pct", "GPU 0").value == pytest.approx(50)


def test_the_note_on_unknown_kernels_gives_both_bounds_where_there_is_communication() -> None:
    """80 µs of communication, 10 that use Tensor Cores, 10 that nobody knows."""
    events = [
        step(1, 0, 100),
        kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 0, 80),
        kernel("volta_fp16_s884cudnn_fp16", 80, 10),
        kernel("nobody_knows_what", 90, 10),
    ]
    view = overview(trace(events), Selection())
    [note] = [note for note in view.notes if note.code == "tensor_core_use_unknown"]
    assert note.text.endswith(
        "the share that uses them is between 10.0 % and 20.0 % "
        "(without communication: between 50.0 % and 100.0 %)."
    )


def test_a_little_unknown_time_leaves_a_value() -> None:
    """Up to ten points the lower bound is told as the share."""
    events = [
        step(1, 0, 100),
        kernel("volta_fp16_s884cudnn_fp16", 0, 45),
        kernel("nobody_knows_what", 50, 5),
    ]
    actual = overview(trace(events), Selection())
    assert fact(actual, "tensor_core_time_pct", "GPU 0").value == pytest.approx(90)
    longer = overview(trace([*events, kernel("nobody_knows_what", 60, 1)]), Selection())
    assert fact(longer, "tensor_core_time_pct", "GPU 0").value is None


def test_no_device_work_has_the_reason_of_the_recording() -> None:
    on_host = trace([op("aten::mm", 0, 9)])
    lacks = (NotRecorded("kernels", "not traced: the table of kernels is absent"),)
    info = msgspec.structs.replace(on_host.meta.info, not_recorded=lacks)
    actual = replace(on_host, meta=replace(on_host.meta, info=info))
    mean = fact(overview(actual, Selection()), "gpu_utilization_mean_pct")
    assert (mean.value, mean.reason) == (None, "Not traced: the table of kernels is absent.")
