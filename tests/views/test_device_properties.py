"""What views say of a device that the file does not describe, or describes in part."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers.traces import annotation, kernel, step, trace
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.views.device_properties import compute_capability
from torch_tb_profiler.views.distributed.view import distributed
from torch_tb_profiler.views.overview.view import overview


def test_the_capability_is_major_and_minor() -> None:
    assert compute_capability({"compute_major": 9, "compute_minor": 0}) == "9.0"
    assert compute_capability({"compute_major": 8, "compute_minor": 6}) == "8.6"
    assert compute_capability({"compute_major": 9, "compute_minor": None}) == "9.0"
    assert compute_capability({"compute_major": None, "compute_minor": 1}) is None


@pytest.mark.parametrize(
    ("properties", "reasons"),
    [
        ([], dict.fromkeys(("name", "memory_bytes", "compute_capability"), "does not describe")),
        (
            [{"name": "Intel(R) Data Center GPU Max 1550", "maxComputeUnits": 448}],
            {"memory_bytes": "no memory capacity", "compute_capability": "capability"},
        ),
        ([{"numSms": 80, "computeMajor": 9}], {"name": "no name", "memory_bytes": "capacity"}),
        ([{"id": 5, "name": "another"}], dict.fromkeys(("name", "memory_bytes"), "not describe")),
    ],
)
def test_what_the_file_does_not_say_of_a_device_is_told(
    properties: list[dict[str, Any]], reasons: dict[str, str]
) -> None:
    """Of a device that is described only what is missing is missing; so it is for a run."""
    events = [step(1, 0, 100), kernel("A", 0, 40), annotation("nccl:all_reduce", 50, 10)]
    recorded = trace(events, deviceProperties=properties)
    of_one = overview(recorded, Selection()).tables["gpus"].null_reasons
    of_run = distributed({"w": recorded}, Selection()).tables["devices"].null_reasons
    for key, words in reasons.items():
        assert words in of_one[key]
        assert of_run[key] == of_one[key]
    shown = {"name", "memory_bytes", "compute_capability"}
    if all("not describe" not in text for text in reasons.values()):
        assert shown & of_one.keys() == set(reasons)


def test_devices_that_lack_different_things_have_both_reasons() -> None:
    events = [step(1, 0, 100), kernel("A", 0, 40, device=0), kernel("A", 0, 40, device=1)]
    recorded = trace(events, deviceProperties=[{"id": 0, "name": "Zero", "totalGlobalMem": 64}])
    reasons = overview(recorded, Selection()).tables["gpus"].null_reasons
    assert reasons["memory_bytes"] == "The recording does not describe this device."
    assert "does not describe this device" in reasons["compute_capability"]
    assert "no compute capability" in reasons["compute_capability"]
