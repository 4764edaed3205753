"""Long kernels far below what their FLOPs and bytes allow."""

from __future__ import annotations

from typing import Any

import pytest

from tests.detectors.scenes import context, device, finding
from tests.helpers.traces import Event, call, kernel, op, step, trace
from torch_tb_profiler.analysis.algebra.intervals import total
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.detectors import run_detectors
from torch_tb_profiler.detectors.far_from_roof import detect
from torch_tb_profiler.evidence.needs import unmet_need
from torch_tb_profiler.trace.model import Trace

SIZE = 2048
PEAK_US = 2 * SIZE**3 / 312e6  # of an A100 in bfloat16


def product(at: float, dur: float, number: int, *, size: int = SIZE) -> list[Event]:
    types: dict[str, Any] = {"Input type": ["c10::BFloat16", "c10::BFloat16"]}
    return [
        op("aten::mm", at, 5, ext=number, shape=[[size, size], [size, size]], **types),
        call("cudaLaunchKernel", at + 1, 2, corr=number, ext=number),
        kernel("ampere_bf16_s16816gemm_bf16_128x128", at + 10, dur, corr=number, ext=number),
    ]


def of(*events: list[Event], name: str = "NVIDIA A100-SXM4-80GB") -> Trace:
    recording = [step(1, 0, 1000), *(one for group in events for one in group)]
    return trace(recording, deviceProperties=[device(name=name)])


def test_a_product_at_a_tenth_of_its_peak() -> None:
    advice = finding(detect(context(of(product(10, 10 * PEAK_US, 1)))))
    assert advice.measured == pytest.approx(PEAK_US, rel=1e-3)  # 10 * PEAK_US of 1000 us, in %
    assert advice.gain_us is None
    assert advice.at_stake_us == pytest.approx(9 * PEAK_US, rel=1e-3)
    (row,) = advice.rows
    assert (row["operator"], row["calls"]) == ("aten::mm", 1)
    assert row["roof_pct"] == pytest.approx(10, rel=1e-3)
    assert "aten::mm of [[2048, 2048], [2048, 2048]], at 10.0 %" in advice.note().text
    assert advice.time is not None
    assert total(advice.time) == pytest.approx(1e4 * PEAK_US, rel=1e-3)


@pytest.mark.parametrize(
    "recording",
    [
        of(product(10, 3 * PEAK_US, 1)),
        of(product(10, 8, 1, size=32), *(product(20 * n, 8, n, size=32) for n in range(2, 40))),
        of(product(10, 100, 1)),
        of(product(10, 10 * PEAK_US, 1), name="nobody's"),
    ],
    ids=["near its roof", "short kernels", "a small part of the step", "unknown device"],
)
def test_no_finding_for(recording: Trace) -> None:
    assert detect(context(recording)) is None


def test_it_needs_roofs() -> None:
    known, unknown = of(product(10, 100, 1)), of(product(10, 100, 1), name="nobody's")
    assert unmet_need(context(known), ("known_roofs",)) is None
    assert "peak rates of the device" in str(unmet_need(context(unknown), ("known_roofs",)))


def off_the_units(at: float, dur: float, number: int, size: int = SIZE - 1) -> list[Event]:
    """A product of an odd size on a kernel without Tensor Cores."""
    described, launch, run = product(at, dur, number, size=size)
    return [described, launch, run | {"name": "ampere_fp16_sgemm_fp16_128x128_nn"}]


def codes(recording: Trace) -> set[str]:
    """The findings, those listed with others too."""
    notes = run_detectors(recording, Selection()).notes
    others: list[Any] = [each for note in notes for each in note.evidence["same_time"]]  # type: ignore[attr-defined]
    return {*(note.code for note in notes), *(each["code"] for each in others)}


def test_kernels_off_the_tensor_cores_have_the_finding_that_names_why() -> None:
    near = product(10, 1.5 * PEAK_US, 1)
    found = codes(of(near, off_the_units(150, 10 * PEAK_US, 2)))
    assert "tensor_core_candidates" in found
    assert "far_from_roof" not in found
    # Those on Tensor Cores that are far from their roof are another matter.
    both = of(product(10, 10 * PEAK_US, 1), off_the_units(700, 6 * PEAK_US, 2, SIZE // 2 - 1))
    assert {"far_from_roof", "tensor_core_candidates"} <= codes(both)
