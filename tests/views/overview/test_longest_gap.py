"""The longest gap against every moment counted one by one."""

from __future__ import annotations

import numpy as np
from hypothesis import given

from tests.helpers.traces import call, kernel, op, step, trace
from tests.views.random_traces import Recording, recordings
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.windows import step_windows
from torch_tb_profiler.views.overview.longest_gap import longest_gap

LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"


def test_the_gap_with_what_fills_most_of_it() -> None:
    recording = trace(
        [
            step(1, 0, 1000),
            kernel("k", 0, 300, corr=1),
            op(LOADER, 400, 400),
            call("cudaLaunchKernel", 850, 10, corr=2),
            kernel("k", 900, 50, corr=2),
            step(2, 1000, 100),
        ]
    )
    (row,) = longest_gap(recording, step_windows(recording, Selection())).frame.iter_rows()
    assert row == ("1", 300.0, 600.0, "DataLoader", 100 * 400 / 600)


def test_without_device_work_there_is_none() -> None:
    recording = trace([step(1, 0, 1000), op("aten::mm", 0, 10)])
    assert longest_gap(recording, step_windows(recording, Selection())).frame.is_empty()


@given(recordings())
def test_no_idle_stretch_of_a_step_is_longer(recording: Recording) -> None:
    recorded = trace(recording.events)
    windows = step_windows(recorded, Selection())
    work = recorded.device_work
    chosen = windows.of_averages
    longest = 0
    for start, end in zip(chosen.start_ns.tolist(), chosen.end_ns.tolist(), strict=True):
        is_busy = np.zeros(end - start, np.bool_)
        for begin, length in work.select("start_ns", "dur_ns").iter_rows():
            is_busy[max(begin - start, 0) : max(begin + length - start, 0)] = True
        run = 0
        for busy in is_busy.tolist():
            run = 0 if busy else run + 1
            longest = max(longest, run)
    frame = longest_gap(recorded, windows).frame
    if work.is_empty() or not longest:
        assert frame.is_empty()
    else:
        assert round(frame["duration_us"][0] * 1000) == longest
