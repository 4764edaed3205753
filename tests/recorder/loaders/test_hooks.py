"""Recorded data loaders: stage times and waits within 5 % of what the datasets measure, and no
effect on the program.

Cases: loading in the process, forked and spawned workers; iterable datasets, persistent workers;
several, nested and abandoned loaders; pinning; a failing sample, a killed worker; a forked process.
"""

from __future__ import annotations

import inspect
import json
import os
import pickle
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch.utils.data import ConcatDataset, DataLoader, Subset  # noqa: E402
from torch.utils.data import dataloader as torch_dataloader  # noqa: E402
from torch.utils.data._utils import fetch as torch_fetch  # noqa: E402
from torch.utils.data._utils import pin_memory as torch_pin  # noqa: E402
from torch.utils.data._utils import worker as torch_worker  # noqa: E402

from tests.helpers.loading import (  # noqa: E402
    Burning,
    Failing,
    Timed,
    TimedStream,
    timed_batch,
)
from tests.recorder.loaders.recorded_loaders import Block, Recording, taken  # noqa: E402
from torch_tb_profiler.analysis.selection import Selection  # noqa: E402
from torch_tb_profiler.analysis.steps.data_loading.diagnosis import diagnosis  # noqa: E402
from torch_tb_profiler.analysis.steps.data_loading.summary import Loading, loadings  # noqa: E402
from torch_tb_profiler.importers.registry import import_trace  # noqa: E402
from torch_tb_profiler.recorder import session  # noqa: E402
from torch_tb_profiler.recorder.torch_api import expectations  # noqa: E402
from torch_tb_profiler.trace.build import build_trace  # noqa: E402
from torch_tb_profiler.views.data.recorded_view import recorded_loaders  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")

STEP_S = {0: 0.014, 2: 0.030}
"""What the model takes, by workers: without any between the work on a batch and half of it; with
two longer than that work, so that on a busy machine too the batches are ready."""


@pytest.fixture
def recording(tmp_path: Path) -> Iterator[Recording]:
    created = Recording(tmp_path)
    yield created
    session.end("exit")


CLOCKS_NS = 2_000_000
"""A process takes the time of day once: by so much its clock may differ from that of another."""

ATTEMPTS = 4
"""Another process may be given the core between two looks at the clock, but not so often."""


STAGES = ("fetch", "transform", "collate")


def compared(folder: Path, workers: int) -> tuple[Loading, dict[str, float], list[str]]:
    """A recorded loader, the stage times measured by its dataset in µs, and the figures that
    differ."""
    recording = Recording(folder)
    try:
        loader = DataLoader(Timed(100), 4, num_workers=workers, collate_fn=timed_batch)
        truth = taken(loader, STEP_S[workers])
        (actual,) = recording.loadings()
    finally:
        session.end("exit")
    measured = {name: sum(truth[f"{name}_ns"]) / 1e3 for name in STAGES}
    whole_us, wait_us = sum(measured.values()), sum(truth["wait_ns"]) / 1e3
    # the program measures what the recorder takes around a wait too, which is no wait
    slack_us = 300 * actual.batches if workers else 0
    agree = {
        name: actual.stages[name].total_us == pytest.approx(measured[name], rel=0.05)
        for name in STAGES
    }
    agree["wait"] = actual.wait.total_us == pytest.approx(wait_us, rel=0.05, abs=slack_us)
    agree["wait for the work"] = bool(workers) or (
        actual.wait.total_us == pytest.approx(whole_us, rel=0.05)
    )
    return actual, measured, [name for name, is_true in agree.items() if not is_true]


@pytest.mark.parametrize("workers", [0, 2])
def test_stage_times_match_the_dataset(tmp_path: Path, workers: int) -> None:
    """The diagnosis is that of the guides too: reading dominates, workers remove it."""
    kinds = ("model", "start", "handover") if workers else ("in_process",)
    for attempt in range(ATTEMPTS):
        actual, truth, differing = compared(tmp_path / str(attempt), workers)
        output = diagnosis(actual)
        if not differing and output.kind in kinds:
            break
    assert differing == []
    assert output.kind in kinds
    for name, total_us in truth.items():
        share = actual.stages[name].mean_us / actual.work_us
        assert share == pytest.approx(total_us / sum(truth.values()), rel=0.05)
    assert (actual.batches, actual.samples, actual.workers) == (25, 100, workers)
    assert [each.calls for each in actual.stages.values()] == [25] * 3
    assert output.stage == "fetch"
    assert output.needed == (None if workers else 2)


def work_of(recording: Recording) -> dict[tuple[int, int], Block]:
    """(worker, batch) → its recorded work."""
    keys = ("start_ns", "fetch_ns", "transform_ns", "collate_ns")
    return {
        (block["worker"], batch): {key: block[key][at] for key in keys} | {"pid": block["pid"]}
        for block in recording.blocks("work")
        for at, batch in enumerate(block["batch"])
    }


def truth_of(result: dict[str, list[int]]) -> list[dict[str, int]]:
    """What the batches measured themselves, in order."""
    columns = zip(*result.values(), strict=True)
    return [dict(zip(result, values, strict=True)) for values in columns]


def assert_is(work: Block, truth: dict[str, int]) -> None:
    """The recorded work is that of the batch: it contains the start of the batch and has its
    times."""
    stages = ("fetch_ns", "transform_ns", "collate_ns")
    end_ns = work["start_ns"] + sum(work[key] for key in stages)
    assert work["pid"] == truth["pid"]
    assert work["start_ns"] - CLOCKS_NS <= truth["began_ns"] < end_ns
    assert all(work[key] >= truth[key] for key in stages)


def test_batches_match_the_work_of_their_workers(recording: Recording) -> None:
    """Over two epochs of persistent workers and an iterable dataset."""
    loader = DataLoader(
        TimedStream(6), 3, num_workers=2, collate_fn=timed_batch, persistent_workers=True
    )
    epochs = [taken(loader), taken(loader)]
    assert set(recording.session.workers().values()) == set(epochs[0]["pid"])
    del loader
    blocks = recording.blocks("batches")
    work = work_of(recording)
    rows = [row for block in blocks for row in zip(block["worker"], block["batch"], strict=True)]
    assert len(rows) == len(set(rows)) == len(work) == 8
    truth = [row for epoch in epochs for row in truth_of(epoch)]
    for row, expected in zip(rows, truth, strict=True):
        assert_is(work[row], expected)
    settings = recording.blocks("loader")
    assert [(each["style"], each["persistent_workers"]) for each in settings] == [
        ("iterable", True)
    ]


def test_a_spawned_worker_is_recorded(recording: Recording) -> None:
    loader = DataLoader(
        Timed(6), 2, num_workers=1, collate_fn=timed_batch, multiprocessing_context="spawn"
    )
    truth = taken(loader)
    del loader
    work = work_of(recording)
    for batch, expected in enumerate(truth_of(truth)):
        assert_is(work[0, batch], expected)
    (loader_block,) = recording.blocks("loader")
    assert (loader_block["start_method"], loader_block["prefetch_factor"]) == ("spawn", 2)


WORKER_LOOP = torch_worker._worker_loop


def other_worker_loop(*args: Any) -> None:
    """A loop of workers as no release of torch has it; it works."""
    WORKER_LOOP(*args)


@pytest.mark.parametrize("case", ["other parameters", "no queues", "fails in a worker"])
def test_a_torch_that_is_not_as_expected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    """What it lacks is not hooked; the journal and the view say what and why."""
    monkeypatch.setattr(torch_worker, "_worker_loop", other_worker_loop)
    problem, table, column = "The recorder failed in a loader worker: KeyError", "stages", "calls"
    if case == "other parameters":
        parameters = inspect.signature(lambda *, index_queue: index_queue)
        monkeypatch.setattr(other_worker_loop, "__signature__", parameters, raising=False)
        problem = "_worker_loop has no parameter dataset or dataset_holder."
    elif case == "no queues":
        needs = {"torch.utils.data.dataloader:_MultiProcessingDataLoaderIter": {"names": ["_new"]}}
        unmet = {**expectations._HOOKS["loader queues"], "needs": needs}
        monkeypatch.setitem(expectations._HOOKS, "loader queues", unmet)
        problem, table, column = "does not use _new.", "loaders", "ready_pct"
    recording = Recording(tmp_path)
    try:
        is_hooked = torch_worker._worker_loop is not other_worker_loop
        assert is_hooked == (case == "fails in a worker")
        loader = DataLoader(Timed(8), 2, num_workers=1, collate_fn=timed_batch)
        assert len(taken(loader)["pid"]) == 4
        journal = recording.end()
    finally:
        session.end("exit")
    trace = build_trace(import_trace([journal], name="rank0.record.jsonl"))
    (loading,) = loadings(trace, Selection())
    capacity = None if case == "no queues" else 2
    assert (loading.batches, loading.samples, loading.capacity) == (4, 8, capacity)
    assert loading.work_us == 0
    why = recorded_loaders(trace, Selection()).tables[table].null_reasons[column]
    assert problem in why
    assert is_hooked or f"does not support torch {torch.__version__} in this: " in why


def test_concurrent_and_nested_loaders(recording: Recording) -> None:
    """One loader is abandoned and restarted, one loads inside the collate function of another."""
    inner = DataLoader(Timed(2), None)

    def nested(samples: list[Any]) -> Any:
        return sum(int(batch[0]) for batch in inner) + samples[0][0]

    outer = DataLoader(Subset(Timed(4), range(4)), 2, collate_fn=nested)
    both = DataLoader(ConcatDataset([Timed(2), Timed(4)]), 3, collate_fn=timed_batch)
    next(iter(both))
    for _ in zip(outer, both, strict=True):
        pass
    blocks = recording.blocks("batches")
    taken_by: dict[int, list[int]] = {}
    for block in blocks:
        taken_by.setdefault(block["loader"], []).extend(block["batch"])
    assert taken_by == {0: [0, 1, 2], 1: [0, 1], 2: [0, 1, 2, 3]}
    names = [block["dataset"] for block in recording.blocks("loader")]
    assert names == ["ConcatDataset", "Subset(Timed)", "Timed"]
    samples = {block["loader"]: block["samples"] for block in blocks if block["loader"] in (1, 2)}
    assert samples == {1: [2, 2], 2: [None] * 4}
    work = {block["loader"]: block for block in recording.blocks("work")}
    assert all(each > 6e6 for each in work[1]["collate_ns"])  # what the inner one takes is its own
    assert all(each > 2e6 for each in work[0]["transform_ns"])


def test_a_recreated_loader_is_the_same_loader(recording: Recording) -> None:
    """Some programs recreate the loader for each evaluation; another dataset is another loader."""
    data, retained = torch.arange(6), []
    for _ in range(3):
        retained.append(DataLoader(data, 2))
        list(retained[-1])
    list(DataLoader(torch.arange(6), 2))
    taken_by: dict[int, list[int]] = {}
    for block in recording.blocks("batches"):
        taken_by.setdefault(block["loader"], []).extend(block["batch"])
    assert taken_by == {0: [*range(9)], 1: [*range(3)]}


@pytest.mark.parametrize("workers", [0, 2])
def test_a_failing_sample_raises_the_same_error(tmp_path: Path, workers: int) -> None:
    def failure() -> str:
        batches = iter(DataLoader(Failing(7), 2, num_workers=workers))
        try:
            list(batches)
        except KeyError as error:
            return str(error)
        finally:
            if workers:  # else collected later, as part of a cycle, after its queues: seconds
                batches._shutdown_workers()
        raise AssertionError("it loaded")

    before = failure()
    recording = Recording(tmp_path)
    try:
        assert failure() == before
    finally:
        batches = recording.blocks("batches")
    assert sum(len(block["batch"]) for block in batches) == 3


def test_a_killed_worker_keeps_its_recorded_batches(recording: Recording) -> None:
    loader = DataLoader(Failing(9, dies=True), 2, num_workers=2)
    batches = iter(loader)
    got = [next(batches) for _ in range(4)]
    try:
        next(batches)
    except RuntimeError as error:
        message = str(error)
    assert re.fullmatch(r"DataLoader worker \(pid\(s\) \d+\) exited unexpectedly", message)
    assert [each.tolist() for each in got] == [[0, 1], [2, 3], [4, 5], [6, 7]]
    del batches
    created = {batch for block in recording.blocks("batches") for batch in block["batch"]}
    assert created == {0, 1, 2, 3}
    assert {"data_loading"} <= {block["what"] for block in recording.blocks("missing")}


@pytest.mark.parametrize("workers", [0, 1])
def test_pinning_is_recorded_with_a_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    """With a fake device: pinning takes 4 ms, in the process or in the pin thread."""

    def pin(batch: Any, *_: Any) -> Any:
        time.sleep(0.004)
        return batch

    kind = type("Kind", (), {"type": "cuda"})()
    for name, value in (
        ("is_available", True),
        ("current_accelerator", kind),
        ("current_device_index", 0),
        ("set_device_index", None),
    ):
        monkeypatch.setattr(torch.accelerator, name, lambda *_, value=value: value)
    monkeypatch.setattr(torch_pin, "pin_memory", pin)
    recording = Recording(tmp_path)
    try:
        taken(DataLoader(Timed(8), 2, num_workers=workers, collate_fn=timed_batch, pin_memory=True))
        work = recording.blocks("work")
    finally:
        session.end("exit")
    pinned = [
        (batch, block["worker"], pin_ns)
        for block in work
        for batch, pin_ns in zip(block["batch"], block["pin_ns"], strict=True)
        if pin_ns is not None
    ]
    assert [(batch, worker) for batch, worker, _ in pinned] == [(n, None) for n in range(4)]
    assert all(pin_ns >= 4e6 for _, _, pin_ns in pinned)


def test_a_recorded_fork_counts_its_batches_once(tmp_path: Path) -> None:
    recording = Recording(tmp_path / "parent")
    child = os.fork()
    if child == 0:
        try:
            own = Recording(tmp_path / "child")
            list(DataLoader(torch.arange(8), 2))
            own.end()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert recording.blocks("batches") == []
    (journal,) = (tmp_path / "child").glob("*.jsonl")
    blocks = [json.loads(line) for line in journal.read_text().splitlines()]
    delivered = [block["batch"] for block in blocks if block["kind"] == "batches"]
    assert delivered == [[0, 1, 2, 3]]


def test_the_program_is_unaffected(tmp_path: Path) -> None:
    """Random state, pickles and classes are the same as without a recorder, during and after it."""
    dataset = Timed(6, Burning())
    calls = vars(Burning)["__call__"]
    before = (
        vars(torch_dataloader._BaseDataLoaderIter).copy(),
        vars(torch_dataloader._SingleProcessDataLoaderIter).copy(),
        vars(torch_dataloader._MultiProcessingDataLoaderIter).copy(),
        vars(torch_fetch._BaseDatasetFetcher).copy(),
        pickle.dumps(dataset),
    )

    def order() -> list[list[int]]:
        torch.manual_seed(3)
        loader = DataLoader(torch.arange(64), 8, shuffle=True)
        return [batch.tolist() for batch in loader] + [torch.rand(2).tolist()]

    expected = order()
    recording = Recording(tmp_path)
    assert order() == expected
    loader = DataLoader(dataset, 2, collate_fn=timed_batch)
    batches = iter(loader)
    next(batches)
    assert pickle.dumps(dataset) == before[-1]
    recording.end()
    assert len(list(batches)) == 2
    assert vars(Burning)["__call__"] is calls
    after = (
        vars(torch_dataloader._BaseDataLoaderIter),
        vars(torch_dataloader._SingleProcessDataLoaderIter),
        vars(torch_dataloader._MultiProcessingDataLoaderIter),
        vars(torch_fetch._BaseDatasetFetcher),
    )
    assert [dict(each) for each in after] == [dict(each) for each in before[:-1]]


def test_the_cost_is_recorded(recording: Recording) -> None:
    assert len(list(DataLoader(torch.arange(40), 4))) == 10
    (cost,) = [each for each in recording.blocks("cost") if each["what"] == "loader"]
    assert cost["calls"] == 10
    assert cost["cpu_ns"] > 0
