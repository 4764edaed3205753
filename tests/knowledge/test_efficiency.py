"""The thresholds of the view of efficiency."""

from __future__ import annotations

from torch_tb_profiler.knowledge.efficiency import efficiency_file
from torch_tb_profiler.knowledge.kernels import kernel_file


def test_short_kernels_are_longer_than_one_that_does_nothing() -> None:
    """Empty kernels take 1.5 to 3 us, so a limit below that would call nothing short."""
    limits = efficiency_file()
    assert 3 < limits.latency_kernel_us <= 20
    assert 0 < limits.latency_roof_pct < 50
    assert 1 <= limits.latency_work_us <= 3


def test_kinds_of_products_are_kinds_of_kernels() -> None:
    assert set(efficiency_file().product_kinds) <= set(kernel_file().kinds)
