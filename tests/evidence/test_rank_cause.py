"""The cause of a slow worker as a clause: of itself, of what it shares with others, or none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench.cluster.jobs import make_case, truth, write_case
from tests.helpers.opening import open_file
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.detectors import detect_across_workers
from torch_tb_profiler.evidence.rank_cause import cause_of_worker
from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.trace.model import Trace


def traces_of(folder: Path, seed: int, cause: str) -> tuple[dict[str, Trace], dict[str, Any]]:
    case = make_case(seed, 16, cause)
    write_case(case, folder)
    (workers,) = Catalog([TraceRoot(str(folder))], cache=None).contents().runs.values()
    traces = {
        worker: open_file(next(iter(spans.values())).location, cache=None)
        for worker, spans in workers.items()
    }
    return traces, truth(case)


def test_the_straggler_is_late_because_of_its_input(tmp_path: Path) -> None:
    traces, planted = traces_of(tmp_path, 12, "slow_input")
    (slow,) = planted["ranks"]
    because = cause_of_worker(traces, Selection(), f"rank{slow}")
    assert because is not None
    assert because.clause.startswith("it waits for its input, ")
    assert cause_of_worker(traces, Selection(), f"rank{(slow + 1) % 16}") is None
    assert cause_of_worker(traces, Selection(), "another run's") is None
    (finding,) = [
        note
        for note in detect_across_workers(traces, Selection())
        if f"rank{slow} arrives last" in note.text
    ]
    assert because.clause in finding.text
    # Of the simulator, which runs the job without the cause.
    assert finding.evidence["estimated_gain_us_per_step"] == pytest.approx(
        planted["cost_us_per_step"], rel=0.1
    )


def test_a_node_that_is_slow_as_a_whole(tmp_path: Path) -> None:
    traces, planted = traces_of(tmp_path, 2, "slow_node")
    because = cause_of_worker(traces, Selection(), f"rank{planted['ranks'][0]}")
    assert because is not None
    assert ", as on all of node node" in because.clause
