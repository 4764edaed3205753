"""The counters of a range against every moment; what is unknown has a reason."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.examples import examples
from tests.helpers.traces import call, kernel, memcpy, memory, op, trace
from torch_tb_profiler.views.timeline.choice import choose
from torch_tb_profiler.views.timeline.curves import StepCurve
from torch_tb_profiler.views.timeline.index import timeline
from torch_tb_profiler.views.timeline.range_summary import range_summary


@examples(100)
@given(
    st.lists(
        st.tuples(st.integers(0, 60), st.one_of(st.integers(-5, 5), st.just(float("nan")))),
        max_size=20,
    ),
    st.integers(-10, 50),
    st.integers(1, 40),
)
def test_mean_of_every_moment(changes: list[tuple[int, float]], start: int, length: int) -> None:
    changes.sort(key=lambda change: change[0])
    time = np.array([change[0] for change in changes], np.int64)
    value = np.array([change[1] for change in changes], np.float64)
    moments = []
    for moment in range(start, start + length):
        before = [each for at, each in changes if at <= moment]
        if before and not np.isnan(before[-1]):
            moments.append(before[-1])
    actual = StepCurve(time, value).mean(start, start + length)
    assert actual == (pytest.approx(float(np.mean(moments))) if moments else None)


def test_counters_of_the_chosen_tracks() -> None:
    events = [
        op("x", 0, 100),
        call("cudaLaunchKernel", 0, 1, corr=1),
        kernel("k", 20, 20, corr=1),
        memcpy(50, 10, bytes=20_000),
        memory(40, 512, address=1, allocated=512, reserved=2048),
    ]
    shown = timeline(trace(events))
    rows = {
        row["name"]: row
        for row in range_summary(shown, 0, 100_000).counters.frame.iter_rows(named=True)
    }
    assert rows["GPU utilization"]["mean"] == pytest.approx(20.0)
    assert rows["GPU utilization"]["highest"] is None
    copies = rows["Host-to-device copies"]
    assert (copies["unit"], copies["lowest"], copies["highest"]) == ("GB/s", 0.0, 2.0)
    assert copies["mean"] == pytest.approx(0.2)
    assert rows["GPU 0 memory allocated"]["mean"] == 512
    table = range_summary(shown, 0, 30_000, choose(shown, "m0.allocated")).counters
    assert table.frame.select("name", "mean", "last").rows() == [
        ("GPU 0 memory allocated", None, None)
    ]
    assert "mean" in table.null_reasons
