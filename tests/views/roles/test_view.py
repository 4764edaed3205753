"""Roles: tables, answer, notes and reasons of worked jobs; the same from summaries."""

from __future__ import annotations

from pathlib import Path

import pytest
from polars.testing import assert_frame_equal

from tests.analysis.job_roles.jobs import rank_trace
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.loading.ingest.summaries import load_summary, save_summary
from torch_tb_profiler.loading.queries.views import run_view, view_spec
from torch_tb_profiler.requests.errors import RequestError
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.schema import View

SPEC = view_spec("roles")


def view_of(traces: dict[str, Trace], selection: Selection | None = None) -> View:
    return run_view(SPEC, traces, selection or Selection())


def separate() -> dict[str, Trace]:
    """Rollout and training on ranks of their own."""
    return {
        "rollout-rank0": rank_trace([(0, 600)], rank=0),
        "rollout-rank1": rank_trace([(0, 500)], rank=1),
        "train-rank2": rank_trace([(600, 900)], communicates=[(880, 1000)], rank=2),
    }


def colocated() -> dict[str, Trace]:
    """Every rank generates, then trains; rank 2 generates for longer than the others."""
    return {
        f"rank{rank}": rank_trace(
            [(0, end), (500, 900)],
            ranges=[("generate_sequences", 0, 480), ("update_actor", 500, 1000)],
            rank=rank,
        )
        for rank, end in enumerate((200, 210, 450))
    }


def test_roles_on_ranks_of_their_own() -> None:
    view = view_of(separate())
    rows = view.tables["roles"].frame.to_dicts()
    assert [(row["role"], row["ranks"], row["known_by"]) for row in rows] == [
        ("Rollout", "0-1", "name"),
        ("Training", "2", "name"),
    ]
    training = rows[1]
    assert (training["busy_us"], training["bubble_us"], training["bubble_pct"]) == (400, 600, 60)
    assert (training["waiting_us"], training["other"]) == (600, "Rollout")
    assert view.answer == (
        "Rollout (2 ranks) neither computes nor communicates for 45.0 % of its recorded time "
        "(450 µs per rank); Training works in 88.9 % of that."
    )
    assert [line.name for line in view.series["rank_activity"].lines] == [*separate()]
    assert [line.name for line in view.series["role_activity"].lines] == ["Rollout", "Training"]
    assert view.tables["generations"].why_empty is not None


def test_ranks_with_several_roles() -> None:
    view = view_of(colocated())
    rows = {row["role"]: row for row in view.tables["roles"].frame.to_dicts()}
    assert list(rows) == ["Rollout", "Training", "Between roles"]
    assert rows["Rollout"]["window_us"] == 480
    assert rows["Rollout"]["busy_us"] == pytest.approx((200 + 210 + 450) / 3)
    assert rows["Training"]["bubble_us"] == 100
    (tail,) = view.tables["generations"].frame.to_dicts()
    assert (tail["duration_us"], tail["median_us"], tail["tail_us"]) == (450, 210, 240)
    assert (tail["last_worker"], tail["first_us"]) == ("rank2", 200)
    assert tail["idle_us"] == pytest.approx((250 + 240) / 3)
    assert "In generation 1 the last rank (rank2) finishes 240 µs after the median" in (
        view.answer or ""
    )
    periods = view.tables["role_periods"].frame
    assert periods.filter(role="Training")["busy_pct"].to_list() == [80, 80, 80]


def test_a_run_with_one_role_or_none_has_no_such_view() -> None:
    for traces in (
        {"rank0": rank_trace([(0, 10)]), "rank1": rank_trace([(0, 10)])},
        {"train-rank0": rank_trace([(0, 10)]), "train-rank1": rank_trace([(0, 10)])},
    ):
        with pytest.raises(RequestError, match="one role"):
            view_of(traces)


def test_unknown_roles_and_unstamped_clocks_are_said() -> None:
    traces = {**separate(), "other": rank_trace([(0, 10)])}
    view = view_of(traces)
    assert view.tables["roles"].frame["role"].to_list()[-1] == "Not known"
    assert "role_unknown" in {note.code for note in view.notes}


@pytest.mark.parametrize("job", [separate, colocated])
def test_summaries_give_the_same_view(job: object, tmp_path: Path) -> None:
    traces = job()  # type: ignore[operator]
    summaries = {}
    for worker, trace in traces.items():
        (tmp_path / worker).mkdir()
        save_summary(trace, tmp_path / worker)
        summaries[worker] = load_summary(tmp_path / worker)
    whole, small = view_of(traces), view_of(summaries)
    assert (whole.answer, whole.facts, whole.series) == (small.answer, small.facts, small.series)
    for name, table in whole.tables.items():
        assert_frame_equal(table.frame, small.tables[name].frame)
