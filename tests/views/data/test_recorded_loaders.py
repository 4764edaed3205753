"""What a recorder told of loaders: made-up runs whose figures follow from their shape."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from tests.helpers.recorded import Sample, recorded, side_table
from tests.helpers.recorder import Run, journal_columns
from tests.helpers.traces import kernel, slice_event, step
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.data_loading.diagnosis import Diagnosis, diagnosis
from torch_tb_profiler.analysis.steps.data_loading.summary import Loading, loadings
from torch_tb_profiler.detectors.dataloader_bound import detect
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.info import ProgramSettings
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.data.view import SPEC, data
from torch_tb_profiler.views.schema import View

SLOW = Run(
    steps=20, step_ms=30, wait_ms=24, workers=0, fetch_ms=12, transform_ms=8, collate_ms=4,
    evaluate_every=10, evaluation_steps=3,
)  # fmt: skip


def opened(run: Run) -> Trace:
    return build_trace(journal_columns(run))


def rows(view: View, table: str) -> list[dict[str, Any]]:
    return view.tables[table].frame.rows(named=True)


def loader(
    waits: list[float],
    *,
    period: float = 100.0,
    work: tuple[float, float, float] = (60.0, 20.0, 20.0),
    workers: int = 2,
    late: int = 0,
    ready: int | None = 0,
    pin: float | None = None,
    samples: tuple[Sample, ...] = (),
    **settings: Any,
) -> tuple[Trace, Loading, Diagnosis]:
    """A loader whose batch k is asked for at k × ``period`` µs; work on it was begun half a period
    before, but for the first ``late`` ones."""
    has_queue = workers > 0 and ready is not None
    batches = [
        {
            "loader": 0, "phase": "train", "batch": k, "step": k, "start_us": k * period,
            "wait_us": wait, "ready": ready if has_queue else None,
            "capacity": 2 * workers if has_queue else None, "samples": 4,
        }
        for k, wait in enumerate(waits)
    ]  # fmt: skip
    made = [
        {
            "loader": 0, "worker": k % workers if workers else None, "batch": k,
            "start_us": k * period + (1.0 if k < late else -period / 2), "fetch_us": work[0],
            "transform_us": work[1], "collate_us": work[2], "pin_us": pin,
        }
        for k in range(len(waits))
    ]  # fmt: skip
    known = {"loader": 0, "dataset": "Images", "style": "map", "workers": workers}
    trace = recorded(
        [step(1, 0, period * len(waits))],
        samples=samples,
        side=[
            side_table("loaders", "x.record.jsonl", [known]),
            side_table("loader_batches", "x.record.jsonl", batches),
            side_table("loader_work", "x.record.jsonl", made),
        ],
        settings=ProgramSettings(**settings),
    )
    (found,) = loadings(trace, Selection())
    return trace, found, diagnosis(found)


LONG: dict[str, Any] = {"period": 10_000.0, "work": (6000.0, 2000.0, 2000.0)}


def test_a_loader_in_the_process_and_its_evaluation() -> None:
    """24 of 30 ms are waiting: 80 %; half of the work is fetching; 6 ms of model need 4 workers."""
    view = data(opened(SLOW), Selection())
    stages = {(row["phase"], row["stage"]): row for row in rows(view, "stages")}
    fetch, wait = stages["training", "fetch"], stages["training", "wait"]
    assert (fetch["calls"], fetch["time_mean_us"]) == (20, pytest.approx(12_000))
    assert fetch["work_pct"] == pytest.approx(50)
    assert fetch["workers"] == 1, "the process itself"
    pipeline = view.tables["pipeline"]
    workers = {row["type"]: row["workers"] for row in rows(view, "pipeline")}
    assert (workers["fetch"], workers["steps"]) == (1, None)
    assert "not loader work" in pipeline.null_reasons["workers"]
    assert fetch["busy_pct"] == pytest.approx(40, rel=0.05)
    assert wait["busy_pct"] == pytest.approx(80, rel=0.05)
    assert stages["training", "pin"]["time_total_us"] is None
    assert "does not pin" in view.tables["stages"].null_reasons["time_total_us"]
    assert [row["stage"] for row in rows(view, "stages") if row["bottleneck"]] == ["fetch"] * 2
    train, evaluation = rows(view, "loaders")
    assert (train["phase"], train["batches"], train["waited"]) == ("training", 20, 20)
    assert (evaluation["phase"], evaluation["batches"], evaluation["waited"]) == (
        "evaluation",
        6,
        5,
    )
    facts = {fact.key: fact.value for fact in view.facts}
    assert facts["steps_waited"] == 20
    assert facts["steps_waited_evaluation"] == 5  # what followed the last one is not told
    assert facts["wait_pct"] == pytest.approx(80, rel=0.05)
    note = next(note for note in view.notes if note.code == "data_loading_bottleneck")
    assert note.severity == "warning"
    for part in (
        "waited 24.0 ms of", "20 of 20 batches", "DataLoader(num_workers=", "reading samples",
        "12.0 ms (50 %)", "estimated",
    ):  # fmt: skip
        assert part in note.text


def test_the_share_of_waiting_is_the_same_wherever_it_is_shown() -> None:
    """Also where the last batch, of which nobody knows what came after it, waited for longest."""
    _, found, _ = loader([1000.0, 1000.0, 1000.0, 9000.0], workers=2, **LONG)
    assert found.wait_pct == found.busy_pct("wait") == pytest.approx(10)


def test_workers_that_keep_up_are_no_bottleneck() -> None:
    view = data(opened(replace(SLOW, workers=4, wait_ms=0.3)), Selection())
    codes = [(note.severity, "not the bottleneck" in note.text) for note in view.notes[:2]]
    assert codes == [("info", True)] * 2
    assert [row["bottleneck"] for row in rows(view, "loaders")] == ["the model"] * 2
    assert not any(row["bottleneck"] for row in rows(view, "stages"))
    assert rows(view, "waits") == []
    slow = [row["type"] for row in rows(view, "pipeline") if row["bottleneck"]]
    assert slow == ["steps", "steps"]


@pytest.mark.parametrize(
    ("made", "kind", "stage"),
    [
        (loader([60.0] * 10, workers=0), "in_process", "fetch"),
        (loader([60.0] * 10, work=(20.0, 130.0, 40.0)), "workers", "transform"),
        (loader([60.0] * 10, work=(20.0, 30.0, 140.0)), "workers", "collate"),
        (loader([4.9] * 10), "model", "fetch"),
        (loader([80.0, 80.0, *[1.0] * 8], late=2), "start", "fetch"),
        (loader([60.0] * 10, ready=3), "handover", "fetch"),
        (loader([60.0] * 10, ready=3, work=(100.0, 60.0, 20.0)), "workers", "fetch"),
        (loader([60.0] * 10, pin=90.0), "pin", "fetch"),
    ],
    ids=lambda made: made if isinstance(made, str) else "",
)
def test_the_bottleneck_by_the_rule(
    made: tuple[Trace, Loading, Diagnosis], kind: str, stage: str
) -> None:
    trace, _, found = made
    assert (found.kind, found.stage) == (kind, stage)
    slow = [row["stage"] for row in rows(data(trace, Selection()), "stages") if row["bottleneck"]]
    expected = {"in_process": [stage], "workers": [stage], "pin": ["pin"]}
    assert slow == expected.get(kind, [])


def test_what_workers_would_win_is_bounded_by_the_cores() -> None:
    """4 ms of model and 10 of work want three workers; a machine of two has no more, and gives
    what computes, all of it as far as anyone knows, two cores: 14 ÷ 2 ms."""
    _, found, said = loader([6000.0] * 10, workers=0, **LONG)
    assert said.needed == math.ceil(found.work_us / (10_000 - 6000)) == 3
    assert said.step_us == pytest.approx(4000)
    _, _, few = loader([6000.0] * 10, workers=0, cpu_cores=2, **LONG)
    assert few.needed == 2
    assert few.step_us == pytest.approx(7000)
    sleeps = (Sample("process", "CPU", "%", 5000.0, 10.0),)
    _, _, waits = loader([6000.0] * 10, workers=0, cpu_cores=2, samples=sleeps, **LONG)
    assert waits.step_us == pytest.approx(5000)


@pytest.mark.parametrize(
    ("cpu", "idle", "said", "unsaid"),
    [
        (45.0, 0.0, "not waiting for storage", "faster or nearer storage"),
        (5.0, 0.0, "faster or nearer storage", "rather than waits"),
        (20.0, 50.0, "several samples at once", "more workers"),
    ],
)
def test_advice_on_a_machine_of_as_many_cores_as_workers(
    cpu: float, idle: float, said: str, unsaid: str
) -> None:
    """Never more workers than cores; what is starved of cores does not wait for storage."""
    samples = (
        Sample("loader worker 0", "CPU", "%", 50.0, cpu),
        Sample("loader worker 1", "CPU", "%", 50.0, cpu),
        Sample("host", "CPU idle", "%", 50.0, idle),
    )
    trace, found, slow = loader([60.0] * 10, ready=3, samples=samples, cpu_cores=2)
    assert (slow.kind == "workers") == found.has_no_core_left
    trace, found, slow = loader([60.0] * 10, work=(150, 30, 20), samples=samples, cpu_cores=2)
    assert slow.needed is None
    text = data(trace, Selection()).notes[0].text
    assert said in text
    assert unsaid not in text
    assert ("All cores are busy" in text) == found.has_no_core_left


def test_workers_beyond_the_cores_are_told_though_no_step_waits() -> None:
    busy = (Sample("host", "CPU idle", "%", 50.0, 0.0),)
    for workers, severity in ((2, "info"), (8, "warning")):
        trace, _, _ = loader([1.0] * 10, workers=workers, samples=busy, cpu_cores=2)
        (note,) = (note for note in data(trace, Selection()).notes if note.kind == "advice")
        assert note.severity == severity
        assert ("8 workers share 2 cores" in note.text) == (workers == 8)


def test_workers_are_not_advised_where_they_would_win_little() -> None:
    """No core is left, or handing over costs as much as the work: no number, and no gain."""
    busy = (Sample("host", "CPU idle", "%", 5000.0, 0.0),)
    for samples, asked, said in ((busy, LONG, "no core"), ((), {}, "little work per batch")):
        waits = [6000.0 if asked else 60.0] * 10
        trace, _, found = loader(waits, workers=0, samples=samples, cpu_cores=2, **asked)
        assert found.needed is None
        assert said in data(trace, Selection()).notes[0].text


def test_a_container_has_as_many_cores_as_it_may_use() -> None:
    samples = (
        Sample("process", "CPU limit", "%", 5000.0, 200.0),
        Sample("host", "CPU idle", "%", 5000.0, 90.0),
    )
    _, found, said = loader([6000.0] * 10, workers=0, samples=samples, cpu_cores=64, **LONG)
    assert (found.cores, said.needed) == (2, 2)


@pytest.mark.parametrize(
    ("cpu", "idle", "said"),
    [(98.0, 50.0, "add workers"), (98.0, 5.0, "would not help"), (20.0, 50.0, "cost little CPU")],
)
def test_the_cpu_of_workers_says_whether_more_of_them_help(
    cpu: float, idle: float, said: str
) -> None:
    samples = (
        *(Sample(f"loader worker {n}", "CPU", "%", 50.0, cpu) for n in (0, 1)),
        Sample("host", "CPU idle", "%", 50.0, idle),
    )
    trace, found, _ = loader([60.0] * 10, work=(150.0, 30.0, 20.0), samples=samples, cpu_cores=8)
    assert (found.cpu_pct, found.idle_cores) == (cpu, 8 * idle / 100)
    (note,) = (note for note in data(trace, Selection()).notes if note.kind == "advice")
    assert said in note.text


def test_the_queue_over_the_steps_with_those_that_waited() -> None:
    trace, _, _ = loader([60.0, 1.0, 60.0, 1.0])
    view = data(trace, Selection())
    ready, limit, waited = view.series["ready_training_0"].lines
    assert (ready.y, limit.y) == ([0, 0, 0, 0], [4, 4])
    assert waited.x[::2] == [0, 2]
    assert waited.y == [0, None, 0, None]
    assert view.series["wait_training"].lines[0].y == [60, 1, 60, 1]
    assert [row["queue"] for row in rows(view, "waits")] == ["loader 0"] * 2


def test_a_selection_narrows_batches() -> None:
    trace, _, _ = loader([60.0, 1.0, 60.0, 1.0])
    (some,) = loadings(trace, Selection(start_ns=150_000))
    assert some.batches == 2
    view = data(trace, Selection(start_ns=10**9))
    assert all(table.frame.is_empty() for table in view.tables.values())


def test_copies_to_the_device_are_the_transfer() -> None:
    work = [{"loader": 0, "batch": 0, "start_us": 0.0, "fetch_us": 10.0}]
    batches = [{"loader": 0, "phase": "train", "batch": 0, "start_us": 5.0, "wait_us": 10.0}]
    copy = slice_event(
        "gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 30, 7, pid=0, tid=7,
        args={"device": 0, "stream": 7, "correlation": 1, "bytes": 100},
    )  # fmt: skip
    trace = recorded(
        [step(1, 0, 100), copy, kernel("gemm", 40, 10)],
        side=[
            side_table("loaders", "x", [{"loader": 0, "pin_memory": False}]),
            side_table("loader_batches", "x", batches),
            side_table("loader_work", "x", work),
        ],
    )
    view = data(trace, Selection())
    assert any("take 7.00 µs of 100 µs (7.0 %)" in note.text for note in view.notes)
    stages = {row["stage"]: row for row in rows(view, "stages")}
    sent = stages["transfer"]
    assert (sent["calls"], sent["time_total_us"], sent["source"]) == (1, 7, "timeline")


def test_damaged_rows_are_left_out() -> None:
    batches: list[dict[str, Any]] = [
        {"loader": 0, "phase": "train", "batch": 0, "start_us": 0.0, "wait_us": 10.0, "ready": 9},
        {"loader": 0, "phase": "odd", "batch": 1, "start_us": 50.0, "wait_us": 10.0, "capacity": 0},
        {"loader": None, "phase": "train", "batch": 2, "start_us": 60.0, "wait_us": 1.0},
        {"loader": 0, "phase": "train", "batch": 3, "start_us": math.nan, "wait_us": 1.0},
        {"loader": 0, "phase": "train", "batch": 4, "start_us": 90.0, "wait_us": -1.0},
    ]
    work: list[dict[str, Any]] = [
        {"loader": 0, "batch": 0, "fetch_us": -5.0, "collate_us": math.inf, "start_us": 0.0}
    ]
    trace = recorded(
        [step(1, 0, 100)],
        side=[side_table("loader_batches", "x", batches), side_table("loader_work", "x", work)],
    )
    (found,) = loadings(trace, Selection())
    assert (found.batches, found.stages) == (2, {})
    assert diagnosis(found).needed is None
    assert rows(data(trace, Selection()), "loaders")[0]["workers"] is None


def test_the_advice_says_what_the_view_says() -> None:
    trace = opened(SLOW)
    note = next(each for each in data(trace, Selection()).notes if each.kind == "advice")
    found = detect(Context(trace, Selection()))
    assert found is not None
    advice = found.note().text
    assert "80." in advice or "79." in advice
    assert "reading samples (fetch) takes 12.0 ms (50 %)" in advice
    assert "reading samples (fetch) takes 12.0 ms (50 %)" in note.text


def test_a_reason_of_the_recorder_stands_for_the_view() -> None:
    why = "Loading was not recorded."
    assert SPEC.missing(recorded([kernel("k", 0, 1)], not_recorded={"data_loading": why})) == why


def test_many_batches_are_drawn_as_far_as_a_screen_shows_them() -> None:
    trace, _, _ = loader([60.0, 1.0] * 5000)
    series = data(trace, Selection()).series["ready_training_0"]
    assert all(len(line.x) <= 4000 for line in series.lines)
    assert isinstance(trace.side["loader_batches"].frame, pl.DataFrame)
