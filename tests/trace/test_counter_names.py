"""Names of counters and the units behind them."""

from __future__ import annotations

import pytest

from torch_tb_profiler.trace.counter_names import split_unit


@pytest.mark.parametrize(
    ("text", "split"),
    [
        ("SMs Active [Throughput %]", ("SMs Active", "%")),
        ("GPC Clock Frequency [MHz]", ("GPC Clock Frequency", "MHz")),
        (
            "Unallocated Warps in Active SMs [Throughput %]",
            ("Unallocated Warps in Active SMs", "%"),
        ),
        ("PCIe RX Throughput", ("PCIe RX Throughput", "")),
        ("[a] b", ("[a] b", "")),
    ],
)
def test_units_are_split_from_names(text: str, split: tuple[str, str]) -> None:
    assert split_unit(text) == split
