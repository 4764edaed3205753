"""Cases: rank and run in names of many tools; plain names; which group gets the folder's own run;
runs that exist already; stamps in four units."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torch_tb_profiler.storage.detected_names import (
    assign_runs,
    parse_detected_name,
    recording_time_s,
)

ENDINGS = (".json", ".json.gz")


@pytest.mark.parametrize(
    ("base_name", "group", "worker", "is_rank", "is_plain"),
    [
        ("trace.json", "trace", "trace", False, True),
        ("torch_profile.json.gz", "torch_profile", "torch_profile", False, True),
        ("rank0.json.gz", "", "rank0", True, True),
        ("rank-12.json", "", "rank-12", True, True),
        ("trace_rank_3.json", "trace", "rank_3", True, True),
        ("rank0_trace.json", "trace", "rank0", True, True),
        ("Rank7_trace.json", "trace", "Rank7", True, True),
        ("global_rank_2.json", "", "global_rank_2", True, True),
        ("worker1_step_12.json", "step_12", "worker1", True, False),
        ("bs_8_rank1.json.gz", "bs_8", "rank1", True, False),
        ("1719.12-TP-0-DECODE.trace.json.gz", "1719.12-DECODE", "TP-0", True, False),
        ("1719428888.1-TP-3-DP-1-EP-3.trace.json.gz", "1719428888.1", "TP-3-DP-1-EP-3", True,
         False),
        ("dp0_pp0_tp1_rank1.17.json", "17", "dp0-pp0-tp1-rank1", True, False),
        ("merged-1719.trace.json.gz", "merged-1719", "merged-1719", False, False),
        ("4711_results.json", "results", "4711", True, True),
        ("out_rank2_results.json", "out_results", "rank2", True, False),
        ("4711_results_old.json", "4711_results_old", "4711_results_old", False, False),
        ("bs8_prefill.json", "bs8_prefill", "bs8_prefill", False, False),
        ("llama_tp8.json", "llama_tp8", "llama_tp8", False, False),
        ("gpu8.json", "gpu8", "gpu8", False, False),
        ("ep3.json", "ep3", "ep3", False, False),
        ("crank2.json", "crank2", "crank2", False, False),
        (".json", ".json", ".json", False, False),
    ],
)  # fmt: skip
def test_what_a_name_says(
    base_name: str, group: str, worker: str, is_rank: bool, is_plain: bool
) -> None:
    name = parse_detected_name(base_name, ENDINGS)
    assert (name.group, name.worker, name.is_rank, name.is_plain) == (
        group,
        worker,
        is_rank,
        is_plain,
    )


def test_a_number_is_the_rank_where_the_file_says_so() -> None:
    of_three = parse_detected_name("profile_3.json", ENDINGS, rank=3, world_size=8)
    assert (of_three.group, of_three.worker, of_three.is_rank) == ("profile", "rank3", True)
    assert not parse_detected_name("profile_3.json", ENDINGS, rank=2, world_size=8).is_rank
    assert not parse_detected_name("profile_0.json", ENDINGS, rank=0, world_size=1).is_rank
    assert not parse_detected_name("profile_3.json", ENDINGS).is_rank


def runs(folder: str, *base_names: str, taken: tuple[str, ...] = ()) -> dict[str, str]:
    names = {base_name: parse_detected_name(base_name, ENDINGS) for base_name in base_names}
    found = assign_runs(folder, set(names.values()), taken)
    return {base_name: found[name] for base_name, name in names.items()}


def test_ranks_of_one_job_are_one_run_and_others_are_runs_of_their_own() -> None:
    assert runs("exp", "rank0.json", "rank1.json", "trace.json", "bs8.json") == {
        "rank0.json": "exp",
        "rank1.json": "exp",
        "trace.json": "exp/trace",
        "bs8.json": "exp/bs8",
    }
    assert runs("", "trace.json", "bs8.json") == {"trace.json": "", "bs8.json": "bs8"}
    assert runs("exp", "a_rank0.json", "b_rank0.json", "a.json") == {
        "a_rank0.json": "exp/a+",
        "b_rank0.json": "exp/b",
        "a.json": "exp/a",
    }


def test_a_folder_with_traces_by_name_keeps_its_run_to_itself() -> None:
    assert runs("exp", "trace.json", "rank0.json", taken=("exp", "exp/trace")) == {
        "trace.json": "exp/trace+",
        "rank0.json": "exp/ranks",
    }


@pytest.mark.parametrize(
    ("base_name", "seconds"),
    [
        ("w.1623143089861.pt.trace.json", 1623143089.861),
        ("w.1795226204998602646.pt.trace.json", 1795226204.998602646),
        ("1719428888.12-TP-0.trace.json.gz", 1719428888.0),
        ("w.1719428888123456.json", 1719428888.123456),
        ("w.1016001.json", None),
        ("w.9999999999.json", None),
        ("w.17194288881.json", None),
        ("trace.json", None),
    ],
)
def test_when_it_was_recorded(base_name: str, seconds: float | None) -> None:
    assert recording_time_s(base_name) == (None if seconds is None else pytest.approx(seconds))


@given(st.lists(st.text(st.sampled_from("aR0-_.rank1tp "), min_size=1), max_size=6, unique=True))
def test_any_names_have_runs_and_none_is_shared_by_two_groups(stems: list[str]) -> None:
    names = [parse_detected_name(f"{stem}.json", ENDINGS) for stem in stems]
    found = assign_runs("exp", set(names), ("exp/a",))
    groups = {(name.is_rank, name.group) for name in names}
    assert len({found[name] for name in names}) == len(groups)
    assert "exp/a" not in found.values()
    assert all(name.worker for name in names)
