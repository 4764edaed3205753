"""The dimension of each process group: from names, from traffic and members on random meshes whose
answer is known, given by hand, and where nothing decides."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.examples import examples
from tests.helpers.meshes import collective, job, members
from tests.helpers.traces import Event, call, kernel, step, trace
from torch_tb_profiler.analysis.parallel import dimensions
from torch_tb_profiler.analysis.parallel.dimensions import group_dimensions
from torch_tb_profiler.analysis.selection import SelectionError
from torch_tb_profiler.trace.model import Trace

NAMED = ("pipeline", "sharded", "data", "context", "tensor")


@st.composite
def meshes(draw: st.DrawFn, names: tuple[str, ...] = NAMED) -> dict[str, int]:
    """A mesh of at most 24 ranks, its dimensions in any order."""
    left, mesh = 24, {}
    for name in draw(st.permutations(names)):
        mesh[name] = draw(st.sampled_from([size for size in (1, 2, 3, 4) if size <= left]))
        left //= mesh[name]
    return mesh


def expected(mesh: dict[str, int]) -> set[tuple[tuple[int, ...], str]]:
    """Members and dimension of every group of more than one rank, by numpy's reshape."""
    world = 1
    for size in mesh.values():
        world *= size
    return {
        (tuple(members(mesh, name, rank)), name)
        for rank in range(world)
        for name, size in mesh.items()
        if size > 1
    }


def detected(
    traces: dict[str, Trace], given: str | None = None
) -> set[tuple[tuple[int, ...], str]]:
    rows = group_dimensions(traces, given).drop_nulls("dimension").iter_rows(named=True)
    return {(tuple(row["ranks"]), row["dimension"]) for row in rows}


@examples(12)
@given(meshes())
def test_names_decide_on_any_mesh(mesh: dict[str, int]) -> None:
    assert detected(job(mesh)) == expected(mesh)


@examples(12)
@given(meshes(("pipeline", "data", "tensor")))
def test_traffic_decides_on_any_mesh_without_names(mesh: dict[str, int]) -> None:
    assert detected(job(mesh, named=False)) == expected(mesh)


@examples(6)
@given(meshes(("pipeline", "data", "tensor")))
def test_headers_are_not_needed(mesh: dict[str, int]) -> None:
    assert detected(job(mesh, named=False, headers=False)) == expected(mesh)


@examples(12)
@given(meshes(("pipeline", "data", "context", "tensor")), st.booleans())
def test_given_sizes_decide_on_any_mesh(mesh: dict[str, int], named: bool) -> None:
    short = {"pipeline": "pp", "data": "dp", "context": "cp", "tensor": "tp"}
    sizes = ",".join(f"{short[name]}={size}" for name, size in mesh.items())
    order = "-".join(short[name] for name in reversed(mesh))
    traces = job(mesh, named=named)
    rows = group_dimensions(traces, f"{sizes},order={order}").drop_nulls("dimension")
    assert set(rows["source"]) <= {"given"}
    groups = detected(traces, f"{sizes},order={order}")
    assert groups >= expected(mesh)
    # The group of all ranks reduces gradients where the job has nothing but data and context.
    assert {dimension for _, dimension in groups - expected(mesh)} <= {"data"}


def of_rank(rank: int, world: int, *events: Event, **header: Any) -> Trace:
    job_info = {"backend": "nccl", "rank": rank, "world_size": world, **header}
    return trace([step(1, 0, 1000), kernel("gemm", 0, 5), *events], distributedInfo=job_info)


def test_all_to_alls_of_many_sizes_are_of_experts_and_of_one_size_are_open() -> None:
    ranks = [0, 1, 2, 3]

    def job_of(sizes: list[int]) -> dict[str, Trace]:
        about = {"Process Group Name": "3", "Process Group Description": "undefined"}
        return {
            f"rank{rank}": of_rank(
                rank,
                4,
                *(
                    collective(
                        "alltoallv", 10 * at, size + rank % len(sizes), [0, 1, 2, 3], **about
                    )
                    for at, size in enumerate(sizes)
                ),
            )
            for rank in ranks
        }

    uneven = group_dimensions(job_of([100, 220, 310, 90, 170, 55, 260, 130]))
    assert uneven["dimension"].to_list() == ["expert"]
    even = group_dimensions(job_of([100]))
    assert even["dimension"].to_list() == [None]
    assert even["reason"].to_list() == [dimensions.EQUAL_ALL_TO_ALL]
    given_one = group_dimensions(job_of([100]), "cp=4,dp=1")
    assert given_one["dimension"].to_list() == ["context"]


def unnamed(number: int) -> dict[str, str]:
    return {"Process Group Name": str(number), "Process Group Description": "undefined"}


Calls = dict[tuple[int, ...], list[tuple[str, int]]]
"""Operations and elements in groups of these ranks."""


def calls_of(groups: Calls, world: int, *more: Event) -> dict[str, Trace]:
    """A job whose groups, none of them named, have these calls of so many elements each."""
    traces = {}
    for rank in range(world):
        events = [
            collective(name, 10 * at, elements, ranks, **unnamed(number))
            for number, (ranks, calls) in enumerate(groups.items(), 1)
            if rank in ranks
            for at, (name, elements) in enumerate(calls)
        ]
        traces[f"rank{rank}"] = of_rank(rank, world, *events, *more)
    return traces


GATHER, SCATTER = ("_allgather_base", 512), ("_reduce_scatter_base", 2048)


def test_sizes_that_vary_within_a_step_are_of_experts_however_many_ranks_repeat_them() -> None:
    """A capacity rounds tokens up, so that the sizes of all ranks together are few."""
    pairs: Calls = {
        (rank, rank + 1): [("alltoallv", 64 * (1 + at % 5)) for at in range(40)]
        for rank in range(0, 32, 2)
    }
    assert set(group_dimensions(calls_of(pairs, 32))["dimension"]) == {"expert"}
    sequences: Calls = {
        ranks: [("alltoallv", 64 * (1 + at % 3)) for at in range(40)] for ranks in pairs
    }
    assert set(group_dimensions(calls_of(sequences, 32))["dimension"]) == {None}


def test_equal_all_to_alls_are_of_experts_where_kernels_of_experts_run() -> None:
    exchange = [("alltoallv", 100)] * 4
    launched = call("cudaLaunchKernel", 490, 5, corr=9)
    grouped = kernel("sm90_fp8_m_grouped_gemm_contiguous", 500, 50, corr=9)

    def dimensions_of(groups: Calls) -> set[str | None]:
        return set(group_dimensions(calls_of(groups, 4, launched, grouped))["dimension"])

    neighbours: Calls = {(0, 1): exchange, (2, 3): exchange}
    assert dimensions_of(neighbours) == {"expert"}
    # Of two such families one is Ulysses', and nothing says which.
    distant: Calls = {(0, 2): exchange, (1, 3): exchange}
    assert dimensions_of(neighbours | distant) == {None}


def test_gathers_of_neighbours_that_take_turns_with_scatters_are_sequence_parallel() -> None:
    data = [("allreduce", size) for size in (900, 7000, 7100)]
    groups: Calls = {
        (0, 1, 2, 3): [GATHER, SCATTER] * 9,
        (4, 5, 6, 7): [GATHER, SCATTER] * 9,
        **{(rank, rank + 4): data for rank in range(4)},
    }
    rows = group_dimensions(calls_of(groups, 8))
    by_members = {tuple(row["ranks"]): row for row in rows.iter_rows(named=True)}
    assert by_members[0, 1, 2, 3]["dimension"] == "tensor"
    assert by_members[0, 1, 2, 3]["source"] == "members"
    assert by_members[0, 4]["dimension"] == "data"


@pytest.mark.parametrize(
    "calls",
    [
        [GATHER] * 10 + [GATHER, SCATTER] * 10,  # FSDP: weights of the forward pass first
        [GATHER] + [SCATTER] * 10,  # a sharded optimizer: its weights once per step
        [GATHER, SCATTER],  # in one bucket
    ],
)
def test_weights_of_neighbours_are_gathered_before_gradients_are_scattered(
    calls: list[tuple[str, int]],
) -> None:
    groups: Calls = {
        (0, 1, 2, 3): calls,
        (4, 5, 6, 7): calls,
        **{(rank, rank + 4): [("allreduce", 512)] for rank in range(4)},
    }
    rows = group_dimensions(calls_of(groups, 8))
    by_members = {tuple(row["ranks"]): row["dimension"] for row in rows.iter_rows(named=True)}
    assert by_members[0, 1, 2, 3] == "sharded"
    assert by_members[0, 4] == "data"


def test_groups_that_only_move_single_numbers_have_no_dimension() -> None:
    norm = [("allreduce", 1)] * 9
    groups: Calls = {
        (0, 1): norm,
        (2, 3): norm,
        (0, 2): [("allreduce", 900)],
        (1, 3): [("allreduce", 900)],
    }
    rows = group_dimensions(calls_of(groups, 4))
    by_members = {tuple(row["ranks"]): row for row in rows.iter_rows(named=True)}
    assert by_members[0, 1]["dimension"] is None
    assert by_members[0, 1]["reason"] == dimensions.SCALARS
    assert by_members[0, 2]["dimension"] == "data"


def test_all_ranks_are_data_parallel_where_the_others_are_of_experts() -> None:
    tokens = [("alltoallv", size) for size in (100, 220, 310, 90, 170, 55, 260, 130)]
    whole: tuple[int, ...] = (0, 1, 2, 3)
    by_experts: Calls = {(0, 1): tokens, (2, 3): tokens, whole: [("allreduce", 900)]}
    rows = group_dimensions(calls_of(by_experts, 4))
    by_members = {tuple(row["ranks"]): row["dimension"] for row in rows.iter_rows(named=True)}
    assert by_members == {(0, 1): "expert", (2, 3): "expert", whole: "data"}
    layers = [("allreduce", 4096)] * 9
    by_layers: Calls = {(0, 1): layers, (2, 3): layers, whole: [("allreduce", 900)]}
    rows = group_dimensions(calls_of(by_layers, 4))
    assert rows.filter(pl.col("size") == 4)["reason"].to_list() == [dimensions.WHOLE_JOB]


def test_of_two_families_that_reduce_equal_sizes_the_busier_one_is_tensor_parallel() -> None:
    groups: Calls = {
        (0, 1): [("allreduce", 4096)] * 40,
        (2, 3): [("allreduce", 4096)] * 40,
        (0, 2): [("allreduce", 90000)] * 10,
        (1, 3): [("allreduce", 90000)] * 10,
    }
    assert detected(calls_of(groups, 4)) == {
        ((0, 1), "tensor"),
        ((2, 3), "tensor"),
        ((0, 2), "data"),
        ((1, 3), "data"),
    }


def test_all_reduces_of_all_that_is_gathered_are_of_a_sharded_model() -> None:
    about = {"Process Group Name": "3", "Process Group Description": "undefined"}

    def job_of(reduced: int) -> dict[str, Trace]:
        sizes = [("_allgather_base", 500)] * 4 + [("allreduce", reduced)] * 2
        events = [
            collective(name, 10 * at, each, [0, 1], **about)
            for at, (name, each) in enumerate(sizes)
        ]
        return {f"rank{rank}": of_rank(rank, 2, *events) for rank in range(2)}

    assert group_dimensions(job_of(1000))["dimension"].to_list() == ["sharded"]
    assert group_dimensions(job_of(999))["dimension"].to_list() == [None]


def test_members_beyond_the_thirtieth_come_from_the_header() -> None:
    mesh = {"data": 40}
    rows = group_dimensions(job(mesh, ranks=[0, 39]))
    named = rows.filter(pl.col("group").str.contains("mesh_dp"))
    assert named["ranks"].to_list() == [list(range(40))]
    assert named["group_key"].str.contains("...", literal=True).to_list() == [True]
    assert named["dimension"].to_list() == ["data"]


def test_members_beyond_the_thirtieth_without_a_header_are_unknown() -> None:
    rows = group_dimensions(job({"data": 40}, ranks=[0, 39], headers=False))
    assert rows["ranks"].to_list() == [None]
    assert rows["dimension"].to_list() == ["data"]
    unknown = group_dimensions(job({"data": 40}, ranks=[0, 39], headers=False), "dp=40")
    assert unknown["reason"].to_list() == [dimensions.MEMBERS_UNKNOWN]


def test_experts_given_divide_the_data_dimension() -> None:
    events = [
        collective("alltoallv", 10, 5, [0, 1], **{"Process Group Name": "7"}),
        collective("allreduce", 30, 5, [0, 2], **{"Process Group Name": "8"}),
        collective("allreduce", 50, 5, [0, 1, 2, 3], **{"Process Group Name": "9"}),
    ]
    rows = group_dimensions({"a": of_rank(0, 4, *events)}, "dp=4,ep=2")
    assert dict(zip(rows["group"], rows["dimension"], strict=True)) == {
        "7": "expert",
        "8": "data",
        "9": "data",
    }


def test_calls_without_a_group_are_open_unless_one_dimension_is_given() -> None:
    traces = {"a": of_rank(0, 8, kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL()", 10, 5))}
    rows = group_dimensions(traces)
    assert rows.select("group_key", "dimension", "reason").rows() == [
        (None, None, dimensions.NO_GROUP)
    ]
    assert group_dimensions(traces, "dp=8")["dimension"].to_list() == ["data"]
    assert group_dimensions(traces, "dp=4,tp=2")["dimension"].to_list() == [None]


def test_a_job_without_communication_has_no_groups() -> None:
    assert group_dimensions({"a": trace([step(1, 0, 10)])}).height == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tp=3", "tp=3 = 3, not a divisor of the 8 ranks"),
        ("tp=2,pp=2,dp=4", "tp=2 × pp=2 × dp=4 = 16, not all of the 8 ranks"),
        ("dp=8,ep=3", "ep=3 does not divide data × context = 8"),
        ("tp=0", "the size of tp, '0', is no positive number"),
        ("tp=" + "9" * 5000, "is no positive number"),
        ("tp", "'tp' is not NAME=SIZE"),
        ("xx=3", "'xx=3' is not NAME=SIZE"),
        ("tp=2,tensor=4", "tp is given twice"),
        ("tp=2,order=pp-dp", "the order does not say where tp comes"),
        ("tp=2,order=tp-tp", "is none of"),
        ("tp=2,order=nobody", "is none of"),
    ],
)
def test_a_strategy_that_does_not_fit_is_an_error_with_the_arithmetic(
    text: str, message: str
) -> None:
    traces = job({"data": 4, "tensor": 2}, ranks=[0])
    with pytest.raises(SelectionError) as error:
        group_dimensions(traces, text)
    assert message in str(error.value)
    assert len(str(error.value)) < 300
