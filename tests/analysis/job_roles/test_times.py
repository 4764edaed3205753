"""Times of roles against a count of single microseconds: bubbles, what others did meanwhile, with
ranks of one role and ranks with several."""

from __future__ import annotations

import random

import numpy as np
import polars as pl
import pytest
from msgspec.structs import replace

from tests.analysis.job_roles.jobs import Stretch, rank_trace
from tests.helpers.traces import trace
from torch_tb_profiler.analysis.job_roles.activity import BETWEEN, job_activity
from torch_tb_profiler.analysis.job_roles.lanes import rank_lanes, role_lanes
from torch_tb_profiler.analysis.job_roles.times import period_times, role_times
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace

SPAN = 1000
ALL = Selection()


def mask(stretches: list[Stretch]) -> np.ndarray:
    marked = np.zeros(SPAN, bool)
    for start, end in stretches:
        marked[start:end] = True
    return marked


def stretches(rng: random.Random, count: int) -> list[Stretch]:
    edges = [sorted(rng.sample(range(SPAN), 2)) for _ in range(count)]
    return [(start, min(end, start + 150)) for start, end in edges]


@pytest.mark.parametrize("seed", range(12))
def test_random_jobs_against_a_count_of_microseconds(seed: int) -> None:
    rng = random.Random(seed)
    traces, busy, in_role = {}, {}, {}
    for number in range(rng.randint(2, 5)):
        role = rng.choice(["rollout", "train", "reward", "both"])
        computes, communicates = stretches(rng, 4), stretches(rng, 2)
        ranges: list[tuple[str, int, int]] = []
        recorded = (0, SPAN)
        worker = f"{role}-rank{number}" if role != "both" else f"rank{number}"
        if role == "both":
            cut, second = sorted(rng.sample(range(100, 900), 2))
            ranges = [("generate_sequences", 0, cut), ("update_actor", cut + 10, second + 50)]
            in_role[worker] = {
                "rollout": mask([(0, cut)]),
                "training": mask([(cut + 10, second + 50)]),
            }
            rest = ~(in_role[worker]["rollout"] | in_role[worker]["training"])
            in_role[worker][BETWEEN] = rest
        else:
            key = {"train": "training"}.get(role, role)
            in_role[worker] = {key: np.ones(SPAN, bool)}
        traces[worker] = rank_trace(
            computes, communicates=communicates, ranges=ranges, recorded=recorded
        )
        busy[worker] = mask(computes) | mask(communicates)
    activity = job_activity(traces, ALL)
    table = {row["role"]: row for row in role_times(activity).iter_rows(named=True)}
    named = sorted({role for each in in_role.values() for role in each})
    assert sorted(table) == named
    for role in named:
        members = {worker: each[role] for worker, each in in_role.items() if role in each}
        window = sum(int(inside.sum()) for inside in members.values())
        spent = sum(int((busy[worker] & inside).sum()) for worker, inside in members.items())
        others = np.zeros(SPAN, bool)
        for worker, each in in_role.items():
            for other, inside in each.items():
                if other not in (role, BETWEEN):
                    others |= busy[worker] & inside
        waiting = sum(
            int((inside & ~busy[worker] & others).sum()) for worker, inside in members.items()
        )
        row = table[role]
        assert row["window_ns"] == 1000 * window
        assert row["busy_ns"] == 1000 * spent
        assert row["bubble_ns"] == 1000 * (window - spent)
        assert row["waiting_ns"] == 1000 * waiting
        assert len(row["workers"]) == len(members)
        assert row["computation_ns"] + row["communication_ns"] >= row["busy_ns"]
    lanes = rank_lanes(activity)
    assert lanes.names == list(traces)
    shown = np.nanmean(lanes.busy, axis=1) * SPAN
    assert np.allclose(shown, [busy[worker].sum() for worker in traces], atol=8)


def test_training_waits_while_rollout_generates() -> None:
    """The worked example of the documentation."""
    traces = {
        "rollout-rank0": rank_trace([(0, 600)]),
        "rollout-rank1": rank_trace([(0, 500)]),
        "train-rank0": rank_trace([(600, 900)], communicates=[(880, 1000)]),
    }
    rows = role_times(job_activity(traces, ALL)).to_dicts()
    assert [row["role"] for row in rows] == ["rollout", "training"]
    rollout, training = rows
    assert (rollout["busy_ns"], rollout["bubble_ns"]) == (1_100_000, 900_000)
    assert (rollout["waiting_ns"], rollout["other"]) == (800_000, "training")
    assert (training["busy_ns"], training["bubble_ns"]) == (400_000, 600_000)
    assert (training["waiting_ns"], training["other_ns"]) == (600_000, 600_000)


def test_time_outside_a_recording_is_no_bubble() -> None:
    """Phases that are recorded one after the other, as verl's discrete mode does."""
    traces = {
        "rollout_generate-rank-0": rank_trace([(0, 400)], recorded=(0, 400)),
        "actor_update-rank-0": rank_trace([(500, 900)], recorded=(500, 900)),
    }
    rows = role_times(job_activity(traces, ALL)).to_dicts()
    assert [(row["role"], row["bubble_ns"]) for row in rows] == [("rollout", 0), ("training", 0)]
    lanes = role_lanes(job_activity(traces, ALL))
    assert np.isnan(lanes.busy[0][-1])
    assert np.isnan(lanes.busy[1][0])


def test_periods_have_the_end_of_their_last_work() -> None:
    one = rank_trace(
        [(0, 50), (300, 350)],
        ranges=[("generate_sequences", 0, 100), ("update_actor", 120, 200)],
    )
    rows = period_times(job_activity({"rank0": one}, ALL)).filter(pl.col("calls").is_not_null())
    assert rows.select("role", "busy_ns", "busy_end_ns").rows() == [
        ("rollout", 50_000, 50_000),
        ("training", 0, None),
    ]


def test_ranges_of_a_rank_with_one_role_are_its_phases() -> None:
    one = rank_trace([(0, 50)], ranges=[("generate_sequences", 0, 100)])
    activity = job_activity({"rollout-rank0": one}, ALL)
    rows = period_times(activity).select("role", "phase", "end_ns", "busy_ns").rows()
    assert rows == [
        ("rollout", None, 1_000_000, 50_000),
        ("rollout", "generate_sequences", 100_000, 50_000),
    ]
    assert role_times(activity)["window_ns"].to_list() == [1_000_000], "no time twice"


def stamped(base_ns: int, *computes: Stretch) -> Trace:
    one = rank_trace(computes)
    return replace(one, meta=replace(one.meta, base_ns=base_ns))


def test_recordings_are_aligned_by_their_stamps() -> None:
    second = 10**9
    traces = {
        "rollout-rank0": stamped(1_700_000_000 * second, (0, 1000)),
        "train-rank0": stamped(1_700_000_000 * second + 500_000, (500, 1000)),
        "nothing": trace([]),  # without events: it has no clock
    }
    activity = job_activity(traces, ALL)
    assert activity.is_aligned
    assert activity.span_ns == 1_500_000
    training = role_times(activity).row(1, named=True)
    assert (training["bubble_ns"], training["waiting_ns"]) == (500_000, 500_000)


@pytest.mark.parametrize("other_ns", [0, 1_600_000_000 * 10**9])
def test_without_common_stamps_nothing_is_compared_in_time(other_ns: int) -> None:
    traces = {
        "rollout-rank0": stamped(1_700_000_000 * 10**9, (0, 1000)),
        "train-rank0": stamped(other_ns, (500, 1000)),
    }
    activity = job_activity(traces, ALL)
    assert not activity.is_aligned
    rows = role_times(activity)
    assert rows["bubble_ns"].to_list() == [0, 500_000]
    assert rows["waiting_ns"].to_list() == [None, None]


def test_a_time_range_cuts_the_windows() -> None:
    traces = {"rollout-rank0": rank_trace([(0, 600)]), "train-rank0": rank_trace([(600, 900)])}
    chosen = Selection(start_ns=500_000, end_ns=700_000)
    rows = role_times(job_activity(traces, chosen)).to_dicts()
    assert [(row["window_ns"], row["busy_ns"]) for row in rows] == [(200_000, 100_000)] * 2
