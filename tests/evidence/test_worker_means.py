"""Times per step of all workers in one pass, against what each context says alone."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from tests.helpers.opening import open_file
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.overlap import overlap_ns, overlap_of_ranks_ns
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.exposure import exposed_time, exposure
from torch_tb_profiler.evidence.gpu_balance import busy_ns_of_workers
from torch_tb_profiler.evidence.worker_means import exposed_means, means_per_step
from torch_tb_profiler.loading.catalog import Catalog, TraceRoot


@pytest.fixture(scope="module", name="contexts", params=["dlrm_8_ranks", "cpu_ddp4_gloo"])
def contexts_of_a_run(samples: Path, request: pytest.FixtureRequest) -> dict[str, Context]:
    """The workers of a run, with sends and receives in one of them."""
    files = Catalog([TraceRoot(os.fspath(samples / request.param))], cache=None).contents().files()
    run = [file for file in files if file.run == files[0].run]
    traces = {file.worker: open_file(file.location, cache=None) for file in run}
    return {worker: Context(trace, Selection()) for worker, trace in traces.items()}


def test_means_per_step(contexts: dict[str, Context]) -> None:
    every = list(contexts.values())
    times = [exposed_time(context.trace) for context in every]
    alone = [context.per_step_ns(exposed_time(context.trace)) for context in every]
    assert means_per_step(every, times).tolist() == alone


def test_exposed_means(contexts: dict[str, Context]) -> None:
    exposed_ns, peer_to_peer_ns = exposed_means(list(contexts.values()))
    alone = [exposure(context) for context in contexts.values()]
    assert exposed_ns.tolist() == [each.exposed_ns for each in alone]
    assert peer_to_peer_ns.tolist() == [each.peer_to_peer_ns for each in alone]


def test_busy_gpus(contexts: dict[str, Context]) -> None:
    alone = {
        f"{worker} GPU {gpu}": context.per_step_ns(time)
        for worker, context in contexts.items()
        for gpu, time in context.compute_intervals.items()
    }
    assert busy_ns_of_workers(contexts) == alone


def test_overlap(contexts: dict[str, Context]) -> None:
    traces = [context.trace for context in contexts.values()]
    windows = [context.windows for context in contexts.values()]
    alone = [overlap_ns(trace, its) for trace, its in zip(traces, windows, strict=True)]
    assert (overlap_of_ranks_ns(traces, windows) == np.concatenate(alone, axis=1)).all()


def test_of_no_worker() -> None:
    assert busy_ns_of_workers({}) == {}
    assert [each.tolist() for each in exposed_means([])] == [[], []]
