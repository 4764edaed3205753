"""Causes in simulated jobs: what was planted is said, where it was planted; of none nothing.

The truth is the simulator's (``bench/cluster``), which knows nothing of the analysis.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench.cluster.jobs import make_case, truth, write_case
from tests.helpers.opening import open_file
from tests.helpers.traces import op, step, trace
from torch_tb_profiler.analysis.ranks.causes import rank_causes
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.trace.model import Trace

CASES = [
    ("slow_device", 3), ("throttling", 5), ("slow_node", 2), ("slow_host", 3), ("slow_input", 4),
    ("slow_link", 7), ("uneven_tokens", 3), ("overloaded_expert", 3), ("uneven_stage", 4),
    ("pause_gc", 3), ("pause_checkpoint", 5),
]  # fmt: skip


def traces_of(folder: Path) -> dict[str, Trace]:
    contents = Catalog([TraceRoot(str(folder))], cache=None).contents()
    (workers,) = contents.runs.values()
    return {
        worker: open_file(next(iter(spans.values())).location, cache=None)
        for worker, spans in workers.items()
    }


def job(folder: Path, cause: str, seed: int) -> tuple[dict[str, Trace], dict[str, Any]]:
    case = make_case(seed, 16, cause)
    write_case(case, folder)
    return traces_of(folder), truth(case)


@pytest.mark.parametrize(("cause", "seed"), CASES)
def test_a_planted_cause(tmp_path: Path, cause: str, seed: int) -> None:
    traces, planted = job(tmp_path, cause, seed)
    known = rank_causes(traces, Selection())
    assert known is not None
    assert known.causes
    first = known.causes[0]
    numbers = [known.job.numbers[row] for row in first.ranks.tolist()]
    assert (first.cause, first.level) == (planted["product_cause"], planted["level"])
    assert sorted(numbers) == planted["ranks"]
    assert first.pattern == planted["pattern"]
    assert first.detail == planted["detail"]
    share_pct = first.cost_ns / known.job.step_ns * 100
    if first.cause != "uneven_work":  # whose longer transfers the replay leaves as they are
        assert share_pct == pytest.approx(planted["cost_pct"], rel=0.35, abs=1.0)


@pytest.mark.parametrize("seed", range(1, 5))
def test_a_healthy_job_has_none(tmp_path: Path, seed: int) -> None:
    traces, _ = job(tmp_path, "none", seed)
    known = rank_causes(traces, Selection())
    assert known is not None
    assert known.causes == []


def test_a_slow_rank_among_ranks_that_never_communicate() -> None:
    """Servers side by side: compared only, and the cost is its own."""

    def server(extra_us: float) -> Trace:
        events = []
        for number in range(4):
            at = 100 + number * (2000 + extra_us)
            events += [
                step(number, at, 1900 + extra_us),
                op("aten::mm", at + 10, 900, shape=[[64, 64], [64, 64]]),
                op("aten::add", at + 950 + extra_us, 100, shape=[[64, 64]]),
            ]
        return trace(events)

    traces = {f"server{n}": server(600 if n == 3 else 0) for n in range(5)}
    known = rank_causes(traces, Selection())
    assert known is not None
    assert not known.is_replayed
    (cause,) = known.causes
    assert (cause.cause, cause.names, cause.pattern) == ("slow_host", [3], "steady")
    assert cause.cost_ns == pytest.approx(600_000, rel=0.01)


def test_one_rank_has_no_peers() -> None:
    alone = {"rank0": trace([step(1, 100, 50), op("aten::mm", 110, 20)])}
    assert rank_causes(alone, Selection()) is None
