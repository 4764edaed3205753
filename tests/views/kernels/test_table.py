"""The columns of kernels that are shown when asked for, and shares, against plain sums (numpy).

Cases: median, 95th percentile and deviation; one call; shares; gaps; data types of names and of
inputs; what limits the occupancy, with most of the time, as recorded, of another vendor; classes;
random traces and selections; every sample.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from tests.detectors.scenes import load
from tests.helpers.traces import call, kernel, memcpy, op, trace
from tests.views.random_traces import Recording, recordings
from torch_tb_profiler.analysis.kernels.calls import selected_kernel_calls
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.kernels.table import NO_LIMIT, NO_TYPES, ONE_CALL
from torch_tb_profiler.views.kernels.view import kernels

H100: dict[str, Any] = {
    "id": 0,
    "name": "NVIDIA H100",
    "computeMajor": 9,
    "computeMinor": 0,
    "numSms": 2,
    "maxThreadsPerMultiprocessor": 2048,
}
FULL: dict[str, Any] = {
    "grid": [64, 1, 1],
    "block": [256, 1, 1],
    "registers per thread": 32,
    "shared memory": 0,
}


def rows(recorded: Trace, selection: Selection | None = None) -> dict[str, dict[str, Any]]:
    table = kernels(recorded, selection or Selection()).tables["kernels"]
    return {row["name"]: row for row in table.frame.to_dicts()}


def test_how_calls_vary() -> None:
    lengths = [1, 2, 4, 8, 100]
    events = [kernel("k", 200 * at, length) for at, length in enumerate(lengths)]
    table = kernels(trace([*events, kernel("once", 5000, 7)]), Selection()).tables["kernels"]
    result = {row["name"]: row for row in table.frame.to_dicts()}
    assert result["k"]["median_us"] == 4
    assert result["k"]["p95_us"] == pytest.approx(np.percentile(lengths, 95))
    assert result["k"]["std_us"] == pytest.approx(np.std(lengths))
    assert (result["once"]["median_us"], result["once"]["p95_us"]) == (7, 7)
    assert result["once"]["std_us"] is None
    assert table.null_reasons["std_us"] == ONE_CALL


def test_idle_time_before_calls() -> None:
    result = rows(
        trace([kernel("a", 0, 10), memcpy(20, 5), kernel("b", 30, 5), kernel("a", 100, 5)])
    )
    assert (result["a"]["gaps_before_us"], result["b"]["gaps_before_us"]) == (65, 5)


def inputs(*types: str) -> dict[str, Any]:
    return {"Input type": list(types)}


def test_data_types_of_the_name_and_else_of_the_inputs() -> None:
    table = kernels(
        trace(
            [
                op("aten::mm", 0, 10, **inputs("float", "c10::Half", "Scalar")),
                call("cudaLaunchKernel", 1, 1, corr=1),
                kernel("triton_poi_fused_mul_0", 20, 5, corr=1),
                kernel("ampere_bf16_s16816gemm_bf16_128x128", 30, 5, corr=1),
                op("aten::add", 40, 10, **inputs("double", "float")),
                call("cudaLaunchKernel", 41, 1, corr=2),
                kernel("triton_poi_fused_mul_0", 60, 5, corr=2),
                kernel("attn_fwd", 80, 5),
            ]
        ),
        Selection(),
    ).tables["kernels"]
    assert dict(table.frame.select("name", "data_types").rows()) == {
        "triton_poi_fused_mul_0": "float32, float16, float64",
        "ampere_bf16_s16816gemm_bf16_128x128": "bfloat16",
        "attn_fwd": None,
    }
    assert table.null_reasons["data_types"].startswith(NO_TYPES.removesuffix("."))


def limit(*events: dict[str, Any], device: dict[str, Any] | None = None) -> str | None:
    recorded = trace(events, deviceProperties=[device or H100])
    table = kernels(recorded, Selection()).tables["kernels"]
    (result,) = table.frame["occupancy_limit"].to_list()
    if result is None:
        assert table.null_reasons["occupancy_limit"] == NO_LIMIT
    return str(result) if result is not None else None


def test_what_limits_the_occupancy() -> None:
    assert limit(kernel("k", 0, 5, **FULL)) == "nothing"
    assert limit(kernel("k", 0, 5, **{**FULL, "registers per thread": 128})) == "registers"
    assert limit(kernel("k", 0, 5, **{**FULL, "shared memory": 200_000})) == "shared memory"
    assert limit(kernel("k", 0, 5, **{**FULL, "block": [32, 1, 1], "grid": [63, 1, 1]})) == "grid"
    assert limit(kernel("k", 0, 5, **{**FULL, "block": [32, 1, 1], "grid": [99, 9, 1]})) == (
        "block size"
    )
    assert limit(kernel("k", 0, 5, **{**FULL, "grid": [15, 1, 1]})) == "grid"


def test_the_limit_of_the_launches_with_most_time() -> None:
    heavy = {**FULL, "registers per thread": 128}
    assert limit(kernel("k", 0, 5, **FULL), kernel("k", 10, 6, **heavy)) == "registers"
    assert limit(kernel("k", 0, 9, **FULL), kernel("k", 10, 6, **heavy)) == "nothing"


def test_a_limit_that_the_file_gives_is_taken() -> None:
    whole, bare = kernel("k", 0, 5, **FULL), kernel("k", 0, 5)
    for event in (whole, bare):
        event["args"]["occupancy"] = {"limitingFactors": ["BARRIERS"]}
    assert limit(whole) == "barriers"
    assert limit(bare, device={"id": 0, "name": "AMD Instinct"}) == "barriers"


def test_limits_that_cannot_be_told() -> None:
    assert limit(kernel("k", 0, 5)) is None
    assert limit(kernel("k", 0, 5, **FULL), device={**H100, "name": "AMD Instinct MI300X"}) is None
    assert limit(kernel("k", 0, 5, **FULL), device={**H100, "computeMajor": 99}) is None
    assert limit(kernel("k", 0, 5, **{**FULL, "block": [0, 1, 1]})) is None
    assert limit(kernel("k", 0, 5, **{**FULL, "registers per thread": 999})) is None


def test_classes() -> None:
    result = rows(trace([kernel("volta_sgemm_128x32_nt", 0, 5), kernel("mystery", 10, 5)]))
    assert result["volta_sgemm_128x32_nt"]["kernel_class"] == "gemm"
    assert result["mystery"]["kernel_class"] == "other"


def check(recorded: Trace, selection: Selection) -> None:
    """Every number against numpy over the selected calls."""
    calls = selected_kernel_calls(recorded, selection)
    durations: dict[str, list[int]] = defaultdict(list)
    for code, dur_ns in calls.select("name_code", "dur_ns").rows():
        durations[str(recorded.text(code))].append(dur_ns)
    whole = sum(map(sum, durations.values()))
    result = rows(recorded, selection)
    assert result.keys() == durations.keys()
    for name, taken in durations.items():
        row = result[name]
        assert row["median_us"] == pytest.approx(np.median(taken) / 1000)
        assert row["p95_us"] == pytest.approx(np.percentile(taken, 95) / 1000)
        std = np.std(taken) / 1000 if len(taken) > 1 else None
        assert row["std_us"] == (None if std is None else pytest.approx(std, abs=1e-6))
        if not whole:
            assert (row["total_pct"], row["cumulative_pct"]) == (None, None)
            continue
        assert row["total_pct"] == pytest.approx(100 * sum(taken) / whole)
        before = (
            sum(other)
            for key, other in durations.items()
            if (-sum(other), key.lower()) <= (-sum(taken), name.lower())
        )
        assert row["cumulative_pct"] == pytest.approx(100 * sum(before) / whole)


@given(recordings())
def test_random_traces(recording: Recording) -> None:
    check(trace(recording.events), recording.selection)


def test_samples(samples: Path) -> None:
    for name in ("h100_bert_small", "mi300_bert_small", "torch_compile_triton", "dlrm_8_ranks"):
        check(load(sorted((samples / name).glob("*.gz"))[0]), Selection())
