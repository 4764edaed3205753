"""Which role a rank gets, by the strongest evidence."""

from __future__ import annotations

import pytest

from tests.analysis.job_roles.jobs import rank_trace
from tests.helpers.traces import annotation, kernel, trace
from torch_tb_profiler.analysis.job_roles.assignment import (
    NAME,
    RankRole,
    joined_evidence,
    rank_roles,
    role_order,
    stated_roles,
)
from torch_tb_profiler.analysis.job_roles.evidence import KERNEL, RANGE, WINDOW
from torch_tb_profiler.knowledge.job_roles import COLOCATED
from torch_tb_profiler.trace.model import Trace

PREFILL = annotation("step[EXTEND bs=1 toks=64]", 0, 95)
DECODE = annotation("step[DECODE bs=8]", 100, 95)
GENERATE = ("generate_sequences", 0, 100)
UPDATE = ("update_actor", 200, 300)


def roles_of(**traces: Trace) -> dict[str, RankRole]:
    return rank_roles(traces, joined_evidence(traces))


def test_ranges_of_several_roles_make_a_rank_colocated_whatever_its_name() -> None:
    both = rank_trace([], ranges=[GENERATE, UPDATE])
    assert roles_of(actor_rank0=both)["actor_rank0"] == RankRole(COLOCATED, RANGE)


def test_a_name_is_stronger_than_one_range_windows_and_kernels() -> None:
    one = rank_trace([], ranges=[GENERATE])
    roles = roles_of(ref_rank0=one, rank1=one, colocated_rank2=one)
    assert list(roles.values()) == [
        RankRole("reference", NAME),
        RankRole("rollout", RANGE),
        RankRole("rollout", RANGE),
    ]


def test_servers_by_their_windows() -> None:
    both = trace([PREFILL, DECODE])
    mostly = trace([PREFILL, annotation("step[DECODE bs=8]", 100, 5)])
    roles = roles_of(a=trace([PREFILL]), b=trace([DECODE]), c=both, d=mostly)
    assert [role.role for role in roles.values()] == ["prefill", "decode", "serving", "prefill"]
    assert {role.source for role in roles.values()} == {WINDOW}


def test_servers_of_a_job_that_trains_make_rollouts() -> None:
    roles = roles_of(a=trace([DECODE]), b=rank_trace([], ranges=[UPDATE]))
    assert roles["a"] == RankRole("rollout", WINDOW)


def test_the_transfer_of_weights_is_no_role_of_its_own() -> None:
    server = trace([DECODE, annotation("update_weights", 300, 5)])
    assert roles_of(a=server)["a"] == RankRole("decode", WINDOW)


def test_kernels_are_the_last_resort_and_only_where_they_agree() -> None:
    cache = kernel("void vllm::reshape_and_cache_flash_kernel<float>", 0, 5)
    step = annotation("Optimizer.step#AdamW.step", 10, 5)
    roles = roles_of(a=trace([cache]), b=trace([step]), c=trace([cache, step]), d=rank_trace([]))
    assert list(roles.values()) == [
        RankRole("rollout", KERNEL),
        RankRole("training", KERNEL),
        RankRole(None, None),
        RankRole(None, None),
    ]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["rank0", "rank1"], set()),
        (["TP-0-DECODE", "TP-0-EXTEND"], {"prefill", "decode"}),
        (["rollout-rank0", "train-rank0"], {"rollout", "training"}),
    ],
)
def test_names_alone(names: list[str], expected: set[str]) -> None:
    assert stated_roles(names) == expected


def test_roles_have_an_order() -> None:
    assert role_order(["decode", "training", None, "rollout"]) == ["rollout", "training", "decode"]
