"""Coordinates of ranks against numpy's reshape of the same mesh, from names, traffic and given
sizes."""

from __future__ import annotations

from hypothesis import given

from tests.analysis.parallel.test_dimensions import meshes
from tests.helpers.examples import examples
from tests.helpers.meshes import coordinates, job
from tests.helpers.traces import step, trace
from torch_tb_profiler.analysis.parallel.coordinates import AXES, rank_coordinates


def expected(mesh: dict[str, int], rank: int) -> dict[str, int | None]:
    """The coordinates by numpy; null along dimensions of one rank; shards are data parallel."""
    index = coordinates(mesh, rank)
    result: dict[str, int | None] = {
        name: index[name] if mesh.get(name, 1) > 1 else None for name in AXES if name in mesh
    }
    result |= dict.fromkeys(set(AXES) - set(result))
    if mesh.get("sharded", 1) > 1:
        replica = result["data"]
        shard = index["sharded"]
        result["data"] = shard if replica is None else replica * mesh["sharded"] + shard
    return result


@examples(8)
@given(meshes())
def test_coordinates_from_names(mesh: dict[str, int]) -> None:
    frame = rank_coordinates(job(mesh))
    for row in frame.iter_rows(named=True):
        assert {name: row[name] for name in AXES} == expected(mesh, row["rank"])
    assert frame["worker"].to_list() == [f"rank{rank}" for rank in range(frame.height)]


@examples(6)
@given(meshes(("pipeline", "data", "tensor")))
def test_coordinates_from_traffic(mesh: dict[str, int]) -> None:
    for row in rank_coordinates(job(mesh, named=False)).iter_rows(named=True):
        assert {name: row[name] for name in AXES} == expected(mesh, row["rank"])


@examples(6)
@given(meshes(("pipeline", "data", "context", "tensor")))
def test_coordinates_from_given_sizes(mesh: dict[str, int]) -> None:
    short = {"pipeline": "pp", "data": "dp", "context": "cp", "tensor": "tp"}
    text = ",".join(f"{short[name]}={size}" for name, size in mesh.items())
    text += ",order=" + "-".join(short[name] for name in reversed(mesh))
    for row in rank_coordinates(job(mesh, named=False), text).iter_rows(named=True):
        assert {name: row[name] for name in AXES} == expected(mesh, row["rank"])


def test_experts_are_numbered_within_data_as_megatron_does() -> None:
    # tp=2, ep=2, dp=4, pp=2: RankGenerator(tp, ep, dp, pp, cp, "tp-cp-ep-dp-pp") of Megatron puts
    # ranks 0, 2 into one expert group, and 4, 6 into the next.
    mesh = {"pipeline": 2, "data": 4, "tensor": 2}
    frame = rank_coordinates(job(mesh), "tp=2,pp=2,ep=2,order=megatron")
    experts = dict(zip(frame["rank"], frame["expert"], strict=True))
    assert [experts[rank] for rank in range(8)] == [0, 0, 1, 1, 0, 0, 1, 1]


def test_a_rank_that_is_not_recorded_has_no_coordinates() -> None:
    frame = rank_coordinates({"a": trace([step(1, 0, 10)])}, "tp=2,dp=1")
    assert frame.row(0) == ("a", None, None, None, None, None, None)


def test_data_with_context_divides_data_where_it_is_alone() -> None:
    # Megatron without a distributed optimizer of its own group: only DATA_PARALLEL_GROUP_WITH_CP.
    groups = [
        {"pg_name": "2", "pg_desc": "DATA_PARALLEL_GROUP_WITH_CP", "pg_size": 4},
        {"pg_name": "6", "pg_desc": "PIPELINE_MODEL_PARALLEL_GROUP", "pg_size": 4},
        {"pg_name": "7", "pg_desc": "EMBEDDING_GROUP", "pg_size": 2},
    ]
    members = [[4, 5, 6, 7], [1, 5, 9, 13], [1, 13]]
    config = [{**group, "ranks": ranks} for group, ranks in zip(groups, members, strict=True)]
    job_info = {"backend": "nccl", "rank": 5, "world_size": 16, "pg_config": config}
    frame = rank_coordinates({"a": trace([step(1, 0, 10)], distributedInfo=job_info)})
    row = frame.row(0, named=True)
    assert (row["pipeline"], row["data"], row["tensor"]) == (1, 1, None)
