"""All advice together: ranking, evidence, selections, the samples, the docs.

Golden: rules 1 (33.4, 22.9) and 6 (68) as the removed plugin says them of the V100 sample.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.detectors.scenes import device, load, notes_of, one_step
from tests.helpers.traces import Event, annotation, kernel, op, step, trace
from torch_tb_profiler.analysis.selection import Selection, SelectionError
from torch_tb_profiler.detectors import (
    detect_across_workers,
    run_detectors,
)
from torch_tb_profiler.evidence.where_time_goes import CODE
from torch_tb_profiler.knowledge.advice import entries, entry
from torch_tb_profiler.trace.model import Trace

LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
DOCS = Path(__file__).resolve().parents[2] / "docs" / "advice.md"


@pytest.mark.parametrize(("stamp", "share"), [("1623143089861", 33.4), ("1623143566756", 22.9)])
def test_the_v100_sample_gets_the_predecessors_rules(
    samples: Path, stamp: str, share: float
) -> None:
    notes = notes_of(load(samples / "kineto_resnet50_nw0" / f"worker0.{stamp}.pt.trace.json.gz"))
    continued = {code for code, known in entries().items() if known.rule is not None}
    assert set(notes) & continued == {"dataloader_bound", "tensor_cores_unused"}
    assert round(float(str(notes["dataloader_bound"].evidence["measured"])), 1) == share
    assert round(float(str(notes["tensor_cores_unused"].evidence["measured"]))) == 68
    assert notes["tensor_cores_unused"].evidence["architecture"] == "Volta"


def test_the_slow_loader_is_named_first(samples: Path) -> None:
    (path,) = (samples / "cpu_slowloader_nw0").glob("*.gz")
    notes = run_detectors(load(path), Selection()).notes
    assert notes[0].code == "dataloader_bound"


def test_every_sample_gets_plain_finite_advice(samples: Path) -> None:
    for path in sorted(samples.glob("*/*.gz")):
        for note in run_detectors(load(path), Selection()).notes:
            is_remark = note.code == CODE or entry(note.code).is_remark
            assert (note.kind, note.severity) == ("advice", "info" if is_remark else "warning")
            assert "{" not in note.text
            measured = note.evidence["measured"]
            if note.code == CODE:
                assert measured is None
                continue
            assert isinstance(measured, float)
            assert abs(measured) < 1e12
            gain = note.evidence["estimated_gain_us_per_step"]
            assert gain is None or (isinstance(gain, float) and gain > 0), (path, note)


def test_advice_is_ranked_by_gain_and_unknown_gains_come_last() -> None:
    events = [
        op(LOADER, 0, 200),
        annotation("gloo:all_reduce", 300, 400, tid=2),
        op("DataParallel.forward", 0, 1),
        kernel("k", 900, 10),
        kernel("k", 900, 10, device=1),
    ]
    notes = run_detectors(one_step(events), Selection()).notes
    gains = [note.evidence["estimated_gain_us_per_step"] for note in notes]
    known = [float(str(gain)) for gain in gains if gain is not None]
    assert gains[: len(known)] == sorted(known, reverse=True)
    assert len(known) >= 2
    assert {note.code for note in notes[len(known) :]} == {"data_parallel", "low_gpu_utilization"}


def test_a_selection_changes_the_advice() -> None:
    slow = [step(1, 0, 100), op(LOADER, 0, 50), step(2, 100, 100), op("aten::mm", 110, 50)]
    both = trace(slow)
    assert set(notes_of(both, Selection(steps="1"))) == {"dataloader_bound"}
    assert set(notes_of(both, Selection(steps="2"))) == {CODE}
    with pytest.raises(SelectionError):
        run_detectors(both, Selection(steps="3"))


def test_empty_and_zero_length_traces_get_none() -> None:
    assert run_detectors(trace([]), Selection()).notes == ()
    assert run_detectors(trace([step(1, 0, 0)]), Selection()).notes == ()


def test_hostile_text_is_quoted_as_it_is() -> None:
    hostile = "enumerate(DataPipe)#{measured.__class__}<img src=x onerror=alert(1)>"
    note = notes_of(one_step([op(hostile, 0, 500)], deviceProperties=[device()]))
    rows = note["dataloader_bound"].evidence["rows"]
    assert rows == [{"calls": 1, "total_us": 500.0, "name": hostile}]


def test_workers_of_a_run_are_compared_as_far_as_they_have_the_steps() -> None:
    def worker(number: int, dur: float) -> Trace:
        events: list[Event] = [step(number, 0, 1000), kernel("k", 0, dur)]
        return trace(events)

    run = {"a": worker(1, 100), "b": worker(1, 300), "c": worker(2, 900)}
    (note,) = detect_across_workers(run, Selection(steps="1"))
    assert note.code == "gpu_imbalance"
    assert detect_across_workers({"a": run["a"]}, Selection()) == ()
    assert detect_across_workers({"a": run["a"], "c": run["c"]}, Selection(steps="1")) == ()


def test_the_dlrm_run_has_a_straggler(samples: Path) -> None:
    run = {
        path.name.split(".")[0]: load(path) for path in sorted((samples / "dlrm_8_ranks").iterdir())
    }
    notes = {note.code: note for note in detect_across_workers(run, Selection())}
    assert "worker7_step_12" in notes["straggler"].text
