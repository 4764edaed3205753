"""A folder with recordings of two programs: numbers of each are those of that program alone, and
views say that they are not compared."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from tests.analysis.ranks.test_causes import traces_of
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.detectors import detect_across_workers
from torch_tb_profiler.loading.ingest.summaries import load_summary, save_summary
from torch_tb_profiler.loading.queries.views import run_view
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.answering import value_of
from torch_tb_profiler.views.distributed.view import SPEC as DISTRIBUTED
from torch_tb_profiler.views.programs import SEVERAL_PROGRAMS, UNASSIGNED
from torch_tb_profiler.views.ranks.view import SPEC as RANKS
from torch_tb_profiler.views.strategy.view import SPEC as STRATEGY

HOST, DEVICE = "cpu_ddp4_gloo", "dlrm_8_ranks"
ALL = Selection()


@pytest.fixture(scope="module")
def programs(samples: Path) -> list[dict[str, Trace]]:
    """Ranks 0 and 1 of a job on hosts, and of one on devices."""
    return [dict(list(traces_of(samples / name).items())[:2]) for name in (HOST, DEVICE)]


@pytest.fixture(scope="module")
def mixed(programs: list[dict[str, Trace]]) -> dict[str, Trace]:
    (a, b), (c, d) = (part.items() for part in programs)
    return dict([a, c, b, d])


def test_no_rank_is_compared_with_one_of_another_program(
    mixed: dict[str, Trace], programs: list[dict[str, Trace]]
) -> None:
    view = run_view(RANKS, mixed, ALL)
    (note,) = (each for each in view.notes if each.code == SEVERAL_PROGRAMS)
    assert note.evidence == {"programs": [list(part) for part in programs]}
    assert note.text.startswith(
        "This folder holds recordings of 2 different programs (program 1: rank0, rank1 "
        "(2 of 4 ranks); program 2: worker0_step_12, worker1_step_12 (2 of 8 ranks))."
    )
    assert view.answer is not None
    assert "2 different programs. They are not compared with each other." in view.answer
    assert value_of(view, "world_size") is None
    alone = [run_view(RANKS, part, ALL) for part in programs]
    assert view.tables["slow_ranks"].frame.height == sum(
        each.tables["slow_ranks"].frame.height for each in alone
    )
    assert view.tables["patterns"].frame["differs_in"].null_count() == 2


def test_collectives_are_those_of_each_program_alone(
    mixed: dict[str, Trace], programs: list[dict[str, Trace]]
) -> None:
    view = run_view(DISTRIBUTED, mixed, ALL)
    for part in programs:
        alone = run_view(DISTRIBUTED, part, ALL)
        for name in ("overlap", "wait", "stragglers", "unmatched"):
            of_program = view.tables[name].frame.filter(pl.col("worker").is_in(list(part)))
            assert_frame_equal(
                of_program, alone.tables[name].frame, check_row_order=False, check_exact=True
            )
    missing = [each.text for each in view.notes if each.code == "ranks_missing"]
    assert "2 of 4 ranks of program 1" in missing[0]
    assert "2 of 8 ranks of program 2" in missing[1]


def test_findings_are_those_of_each_program_alone(
    mixed: dict[str, Trace], programs: list[dict[str, Trace]]
) -> None:
    together = {note.text for note in detect_across_workers(mixed, ALL)}
    alone = [{note.text for note in detect_across_workers(part, ALL)} for part in programs]
    assert together
    assert together <= set().union(*alone)


def test_the_strategy_is_that_of_one_program(mixed: dict[str, Trace]) -> None:
    view = run_view(STRATEGY, mixed, ALL)
    assert set(view.tables["rank_matrix"].frame["worker"]) == {"rank0", "rank1"}
    (note,) = (each for each in view.notes if each.code == SEVERAL_PROGRAMS)
    assert note.text.endswith("Shown is program 1; a folder for each program shows them all.")


def test_summaries_say_the_same(mixed: dict[str, Trace], tmp_path: Path) -> None:
    summaries = {}
    for worker, trace in mixed.items():
        (tmp_path / worker).mkdir()
        save_summary(trace, tmp_path / worker)
        summaries[worker] = load_summary(tmp_path / worker)
    for spec in (RANKS, DISTRIBUTED, STRATEGY):
        assert run_view(spec, summaries, ALL).notes == run_view(spec, mixed, ALL).notes


def test_ranks_that_may_be_of_any_program_are_named(programs: list[dict[str, Trace]]) -> None:
    part = programs[1]
    twice = {f"{letter}": trace for letter, trace in zip("abcd", [*part.values()] * 2, strict=True)}
    view = run_view(RANKS, twice | {f"x{n}": next(iter(part.values())) for n in range(8)}, ALL)
    codes = {note.code for note in view.notes}
    assert UNASSIGNED in codes
    assert not view.tables["slow_ranks"].frame.height
