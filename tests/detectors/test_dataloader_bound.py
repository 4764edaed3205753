"""The step waits for data."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.detectors.scenes import context, finding, one_step
from tests.helpers.recorder import Run, journal_columns
from tests.helpers.traces import Event, call, kernel, op
from tests.importers.kineto.reference import read_file
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.detectors import run_detectors
from torch_tb_profiler.detectors.dataloader_bound import CODE, detect
from torch_tb_profiler.trace.build import build_trace

SINGLE = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
MULTI = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"


@pytest.mark.parametrize(
    ("name", "variant"),
    [(SINGLE, "single"), (MULTI, "multi"), ("enumerate(DataPipe)#Mine", "default")],
)
def test_loading_above_the_threshold_is_advised(name: str, variant: str) -> None:
    advice = finding(detect(context(one_step([op(name, 0, 51)]))))
    assert advice.measured == pytest.approx(5.1)
    assert advice.gain_us == pytest.approx(51)
    assert advice.variant == variant
    assert list(advice.rows) == [{"calls": 1, "total_us": 51.0, "name": name}]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "w0",
            "in its own process for 56.4 % of the step (6.40 ms). Load in the background: "
            "DataLoader(num_workers=4).",
        ),
        ("w2", "for its DataLoader workers for 54.7 % of the step (5.64 ms). Raise num_workers"),
    ],
)
def test_the_loader_of_paddle_counts_too(corpus: Path, name: str, text: str) -> None:
    path = corpus / "paddle_3.3.1" / "oracle" / f"{name}.paddle_trace.json"
    assert text in finding(detect(context(build_trace(read_file(path))))).text


def test_memory_is_pinned_for_devices_only() -> None:
    def text(*events: Event) -> str:
        return finding(detect(context(one_step([op(SINGLE, 0, 51), *events])))).text

    assert text().endswith("DataLoader(num_workers=4).")
    work = kernel("k", 500, 100)
    assert text(work).endswith("DataLoader(num_workers=4, pin_memory=True).")


def test_at_the_threshold_there_is_no_finding() -> None:
    assert detect(context(one_step([op(SINGLE, 0, 50)]))) is None


def test_loading_that_overlaps_kernels_costs_nothing() -> None:
    assert detect(context(one_step([op(SINGLE, 0, 500), kernel("k", 0, 500)]))) is None


def test_loading_that_starts_before_the_step_is_reported_with_its_iterator() -> None:
    """The step begins where device work from before its own range ends."""
    of = one_step([op(SINGLE, 0, 400), kernel("earlier", -10, 110)])
    advice = finding(detect(context(of)))
    assert advice.variant == "single"
    assert advice.gain_us == pytest.approx(300)
    assert advice.spot is not None


def test_loading_that_overlaps_launched_work_is_reported_with_its_length() -> None:
    events = [call("cudaLaunchKernel", 0, 5, corr=1), kernel("k", 600, 300, corr=1)]
    advice = finding(detect(context(one_step([op(SINGLE, 100, 400), *events]))))
    assert advice.gain_us is None
    assert "40.0 % of the step (400 µs)" in advice.note().text


def test_the_journal_of_a_run_has_waits_without_operators() -> None:
    run = Run(step_ms=10, wait_ms=6, missing=(("operators", "No profiler ran."),))
    text = {
        note.code: note
        for note in run_detectors(build_trace(journal_columns(run)), Selection()).notes
    }
    assert text[CODE].evidence["measured"] == pytest.approx(60)
