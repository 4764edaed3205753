"""Measured bytes of planted kernels against those that were planted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.helpers.recorded import Sample, recorded
from tests.helpers.traces import Event, call, kernel, op
from torch_tb_profiler.analysis.efficiency.traffic import work_traffic
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.efficiency.view import efficiency

PEAK = "bandwidth_gb_per_s=1000"
SIZE = 1 << 20
"""Elements of each tensor: an addition reads two and writes one, 4 bytes each."""
BYTES = 3 * 4 * SIZE


def add(number: int, at: float, dur: float) -> list[Event]:
    """An addition and its kernel."""
    shape = [[SIZE], [SIZE], []]
    types: dict[str, Any] = {"Input type": ["float", "float", "Scalar"]}
    return [
        op("aten::add", at - 50, 20, shape=shape, **types),
        call("cudaLaunchKernel", at - 45, 5, corr=number),
        kernel("add_kernel", at, dur, corr=number),
    ]


def planted(*samples: Sample, arguments: list[tuple[int, str, float]] | None = None) -> Trace:
    return recorded(
        [*add(1, 100, 100), *add(2, 300, 100)], samples=samples, arguments=arguments or []
    )


def sampled(name: str, unit: str, *values: float) -> list[Sample]:
    return [Sample("GPU 0", name, unit, 100 * (at + 1), value) for at, value in enumerate(values)]


def measured(trace: Trace, peak: str | None = None) -> dict[str, object]:
    frame = efficiency(trace, Selection(), peak=peak).tables["operators"].frame
    assert frame.height == 1
    keys = ("measured_gbytes_per_s", "measured_ratio", "measured_bytes", "own_samples_pct")
    return frame.select(keys).row(0, named=True)


def test_shares_of_the_peak_become_bytes() -> None:
    trace = planted(*sampled("DRAM BW", "%", 0, 20, 0, 40))
    traffic = work_traffic(trace, PEAK)
    assert traffic is not None
    assert traffic.bytes.tolist() == pytest.approx([200e9 * 100e-6, 400e9 * 100e-6])
    assert measured(trace, PEAK) == {
        "measured_gbytes_per_s": pytest.approx(300),
        "measured_ratio": pytest.approx(60e6 / (2 * BYTES)),
        "measured_bytes": 60_000_000,
        "own_samples_pct": 100,
    }


def test_without_the_peak_shares_are_not_bytes() -> None:
    trace = planted(*sampled("DRAM BW", "%", 0, 20, 0, 40))
    assert work_traffic(trace) is None
    table = efficiency(trace, Selection()).tables["operators"]
    assert table.frame["measured_bytes"][0] is None
    assert "--peak" in table.null_reasons["measured_bytes"]


def test_rates_are_integrated_and_need_no_peak() -> None:
    read, written = (
        sampled(f"HBM {way}", "", 0, rate, 0, 3 * rate)
        for way, rate in (("Read", 1e11), ("Write", 5e10))
    )
    values = measured(planted(*read, *written))
    assert values["measured_bytes"] == round(1.5e11 * 100e-6 * 4)
    assert values["measured_gbytes_per_s"] == pytest.approx(300)


def test_only_the_measured_part_is_compared() -> None:
    """Samples end in the middle of the second kernel."""
    samples = [*sampled("DRAM BW", "%", 0, 20, 0), Sample("GPU 0", "DRAM BW", "%", 350, 40)]
    values = measured(planted(*samples), PEAK)
    assert values["measured_bytes"] == 20_000_000 + 20_000_000
    assert values["measured_gbytes_per_s"] == pytest.approx(40e6 / 150e3)
    assert values["measured_ratio"] == pytest.approx(40e6 / (1.5 * BYTES))


def test_values_of_kernels_count_before_samples() -> None:
    arguments = [(number, key, 6000.0) for number in (2, 5) for key in ("FETCH_SIZE", "WRITE_SIZE")]
    trace = planted(*sampled("DRAM BW", "%", 0, 20, 0, 40), arguments=arguments)
    values = measured(trace, PEAK)
    assert values["measured_bytes"] == 4 * 6000 * 1024
    assert values["measured_ratio"] == pytest.approx(4 * 6000 * 1024 / (2 * BYTES))
    assert np.isclose(float(str(values["own_samples_pct"])), 100)


def test_facts_say_what_the_memory_achieved() -> None:
    trace = planted(*sampled("DRAM BW", "%", 0, 20, 0, 40))
    facts = {fact.key: fact for fact in efficiency(trace, Selection(), peak=PEAK).facts}
    assert facts["measured_memory_gb_per_s"].value == pytest.approx(300)
    assert facts["measured_memory_bandwidth_pct"].value == pytest.approx(30)
    assert "100 %" in facts["measured_memory_gb_per_s"].help


def test_without_counters_nothing_is_measured() -> None:
    trace = planted()
    assert work_traffic(trace, PEAK) is None
    assert "measured_memory_gb_per_s" not in {
        fact.key for fact in efficiency(trace, Selection(), peak=PEAK).facts
    }
