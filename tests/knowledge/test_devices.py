"""Names of c10 device types."""

from __future__ import annotations

import pytest

from torch_tb_profiler.knowledge import devices


@pytest.mark.parametrize(
    ("number", "name"),
    [(0, "CPU"), (1, "CUDA"), (6, "HIP"), (12, "XPU"), (19, "MTIA"), (20, "PrivateUse1")],
)
def test_device_types_have_torch_names(number: int, name: str) -> None:
    assert devices.device_type_name(number) == name


def test_an_unknown_number_is_named_as_such() -> None:
    assert devices.device_type_name(77) == "device type 77"
