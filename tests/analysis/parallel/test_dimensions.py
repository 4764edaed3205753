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
from tests.helpers.traces import Event, kernel, step, trace
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


def test_gathers_of_a_part_of_the_job_with_neighbours_are_sequence_parallel() -> None:
    mesh = {"data": 2, "sharded": 4}
    rows = group_dimensions(job(mesh, named=False)).drop_nulls("dimension")
    by_members = {tuple(row["ranks"]): row for row in rows.iter_rows(named=True)}
    assert by_members[0, 1, 2, 3]["dimension"] == "tensor"
    assert by_members[0, 1, 2, 3]["source"] == "members"
    assert by_members[0, 4]["dimension"] == "data"


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
