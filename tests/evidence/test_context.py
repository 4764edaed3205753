"""What detectors are told: the generation of the devices in use."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers.traces import call, kernel, trace
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.evidence.context import Context


@pytest.mark.parametrize(
    ("name", "header", "expected"),
    [
        ("", {}, "Hopper"),
        ("", {"hip_runtime_version": 70226015}, None),
        ("AMD Instinct MI300X", {"hip_runtime_version": 70226015}, "CDNA 3"),
    ],
)
def test_a_compute_capability_counts_only_for_nvidia(
    name: str, header: dict[str, Any], expected: str | None
) -> None:
    """Some ROCm containers leave the name empty; 9.0 is their gfx90a."""
    device = {"id": 0, "name": name, "computeMajor": 9, "computeMinor": 0}
    events = [call("launch", 0, 1, corr=1), kernel("gemm", 5, 5, corr=1)]
    context = Context(trace(events, deviceProperties=[device], **header), Selection())
    assert context.architecture_name == expected
