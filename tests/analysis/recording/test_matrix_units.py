"""Which kernels used matrix units as measured: against the file itself, and worked cases."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from msgspec.structs import replace

from tests.consistency.recordings import FILES
from tests.helpers import traces as t
from torch_tb_profiler.analysis.algebra.codes import NO, UNKNOWN, YES
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds
from torch_tb_profiler.analysis.recording.matrix_units import (
    matrix_units_busy_pct,
    recorded_matrix_use,
    unknown_matrix_units,
)
from torch_tb_profiler.api import open_trace
from torch_tb_profiler.knowledge.device_terms import device_kinds
from torch_tb_profiler.trace.columns import empty_table
from torch_tb_profiler.trace.derived import DerivedValues
from torch_tb_profiler.trace.model import Trace

LABEL = {"ph": "M", "name": "process_labels", "pid": 0, "tid": 0, "args": {"labels": "NPU 0"}}
FOLDER = "ascend_torch_npu/text/level1/rank0_ascend_pt"


def sampled(*samples: tuple[str, int, float]) -> Trace:
    """Kernels at 10, 20, 30 (two of them) and 40 µs, a copy at 20 µs, and samples: metric, µs,
    value."""
    events = [
        t.op("aten::mm", 0, 5), t.kernel("a", 10, 5), t.kernel("b", 20, 5), t.kernel("c", 30, 5),
        t.kernel("d", 30, 5, stream=9), t.kernel("e", 40, 5), t.memcpy(20, 5, stream=8), LABEL,
    ]  # fmt: skip
    trace = t.trace(events)
    metrics = list(dict.fromkeys(metric for metric, _, _ in samples))
    first = len(trace.strings)
    columns = empty_table("samples") | {
        "metric_code": np.array([first + metrics.index(m) for m, _, _ in samples], np.int32),
        "time_ns": np.array([us * 1000 for _, us, _ in samples], np.int64),
        "value": np.array([value for _, _, value in samples], np.float64),
    }
    for key in ("source_code", "unit_code"):
        columns[key] = np.full(len(samples), -1, np.int32)
    strings = np.append(trace.strings, np.array(metrics, object))
    return replace(trace, strings=strings, samples=pl.DataFrame(columns), derived=DerivedValues())


def verdicts(trace: Trace) -> dict[str, int]:
    names = [str(text) for text in trace.strings[trace.device_work["name_code"].to_numpy()]]
    return dict(zip(names, kernel_kinds(trace).tensor_core.tolist(), strict=True))


def test_a_kernel_used_them_if_its_share_of_the_time_is_above_zero() -> None:
    trace = sampled(
        ("aic_mac_ratio", 10, 3.0), ("aic_mac_ratio", 20, 0.0), ("aic_mac_ratio", 30, 5.0),
        ("aic_mac_ratio", 30, 0.0), ("aiv_vec_ratio", 40, 50.0),
    )  # fmt: skip
    assert unknown_matrix_units(trace) is None
    # c and d start together and differ; e has no sample of these units.
    assert verdicts(trace) == {
        "a": YES, "b": NO, "c": UNKNOWN, "d": UNKNOWN, "e": UNKNOWN, "Memcpy HtoD": NO,
    }  # fmt: skip


def test_how_busy_they_are_is_weighted_by_durations() -> None:
    trace = sampled(("aic_mac_ratio", 10, 30.0), ("aic_mac_ratio", 20, 0.0))
    chosen = np.ones(trace.device_work.height, np.bool_)
    assert matrix_units_busy_pct(trace, chosen) == pytest.approx(30)
    assert matrix_units_busy_pct(trace, ~chosen) is None
    by_type = sampled(("mac_fp16_ratio", 10, 30.0), ("mac_int8_ratio", 10, 7.0))
    assert matrix_units_busy_pct(by_type, chosen) == pytest.approx(37)
    assert matrix_units_busy_pct(sampled(("aiv_vec_ratio", 10, 50.0)), chosen) is None


def test_one_of_several_data_types_is_enough() -> None:
    trace = sampled(("mac_fp16_ratio", 10, 0.0), ("mac_int8_ratio", 10, 7.0))
    assert verdicts(trace)["a"] == YES


def test_without_samples_it_is_unknown_and_says_why() -> None:
    trace = sampled(("aiv_vec_ratio", 10, 50.0))
    assert recorded_matrix_use(trace) is None
    assert unknown_matrix_units(trace) == device_kinds()["Ascend"].no_matrix_units
    assert set(verdicts(trace).values()) == {UNKNOWN, NO}


@pytest.mark.skipif(FOLDER not in FILES, reason="the corpus is not at hand")
def test_times_are_those_of_the_file() -> None:
    details = pl.read_csv(FILES[FOLDER] / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv")
    used = details.filter(pl.col("aic_mac_ratio").cast(pl.Float64, strict=False) > 0)
    with open_trace(FILES[FOLDER], cache=False) as opened:
        uses = opened.view("kernels").table("tensor_core_time")
        facts = {fact.key: fact.value for fact in opened.view("overview").facts}
    row = uses.filter(use="Used")
    assert row["calls"][0] == used.height > 0
    time, ratio = (used[key].cast(pl.Float64) for key in ("Duration(us)", "aic_mac_ratio"))
    assert row["total_us"][0] == pytest.approx(time.sum())
    busy = 100 * float((time * ratio).sum()) / float(time.sum())
    assert facts["matrix_units_busy_pct"] == pytest.approx(busy)
