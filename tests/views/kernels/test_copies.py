"""The table of copies and sets: rates, shares, and what is null with which reason."""

from __future__ import annotations

from tests.helpers.traces import call, kernel, memcpy, memset, trace
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.views.kernels.copies import NO_BYTES, NO_DIRECTION, NO_LAUNCH
from torch_tb_profiler.views.kernels.view import SPEC, kernels

PINNED = "Memcpy HtoD (Pinned -> Device)"


def test_rates_and_shares() -> None:
    recorded = trace(
        [
            call("cudaMemcpyAsync", 0, 5, corr=1),
            memcpy(10, 30, name=PINNED, corr=1, bytes=600_000),
            memcpy(50, 10, name=PINNED, corr=1),
            kernel("k", 100, 60),
        ]
    )
    table = kernels(recorded, Selection()).tables["copies"]
    assert table.frame.rows() == [
        ("HtoD", "pinned", 0, 2, 600_000, 40, 20, 20, "cudaMemcpyAsync", 40)
    ]
    assert table.null_reasons == {}


def test_a_trace_of_copies_alone_shows_them() -> None:
    recorded = trace([memcpy(10, 5, name="Memcpy"), memset(20, 0, bytes=5)])
    assert SPEC.missing(recorded) is None
    view = kernels(recorded, Selection())
    assert view.tables["kernels"].frame.is_empty()
    table = view.tables["copies"]
    assert table.frame.select("kind", "total_bytes", "rate_gb_per_s").rows() == [
        (None, None, None),
        ("set", 5, None),
    ]
    assert table.null_reasons["kind"] == NO_DIRECTION
    assert table.null_reasons["total_bytes"] == NO_BYTES
    assert table.null_reasons["api_call"] == NO_LAUNCH


def test_a_selection() -> None:
    recorded = trace([memcpy(10, 5, name=PINNED, bytes=5), memcpy(50, 10, name=PINNED, bytes=7)])
    table = kernels(recorded, Selection(start_ns=20_000)).tables["copies"]
    assert table.frame.select("calls", "total_bytes", "total_us", "total_pct").rows() == [
        (1, 7, 10, 100)
    ]
