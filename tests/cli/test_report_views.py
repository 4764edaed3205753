"""Which views a report shows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.cli.conftest import Done

Run = Callable[..., Done]


def test_a_view_the_trace_has_nothing_for_is_3_and_names_the_trace(run: Run, samples: Path) -> None:
    done = run("report", samples / "cpu_resnet_full", "--view", "overview,kernels")
    assert done.code == 3
    assert "cpu_resnet_full, worker0, span 1: Kernels: " in done.err
    assert "Overview:" in done.out


def test_all_views_are_those_the_trace_has_something_for(run: Run, samples: Path) -> None:
    done = run("report", samples / "cpu_resnet_full", "--view", "all", "--format", "json")
    assert (done.code, done.err) == (0, "")
    names = [answer["view"] for answer in done.json]
    assert names[:3] == ["overview", "iterations", "operators"]
    assert {"memory", "modules"} <= set(names)
    assert "compare" not in names


def test_a_view_of_a_run_comes_once_with_all_its_workers(run: Run, samples: Path) -> None:
    done = run("report", samples / "cpu_ddp4_gloo", "--view", "distributed", "--format", "json")
    assert done.code == 0
    assert done.json["trace"]["worker"] is None
    rows = done.json["tables"]["overlap"]["rows"]
    assert {row[1] for row in rows} == {"rank0", "rank1", "rank2", "rank3"}


def test_a_pair_view_needs_compare(run: Run, resnet: Path) -> None:
    done = run("report", resnet, "--view", "compare")
    assert done.code == 2
    assert "torch-tb-profiler compare" in done.err
