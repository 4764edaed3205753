"""Where ranks ran: only what recordings or names state."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.helpers.traces import step, trace
from torch_tb_profiler.analysis.ranks.locations import rank_locations, rank_topology
from torch_tb_profiler.trace.info import JobInfo, ProgramSettings, TraceInfo
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.rank_topology import RankTopology


def rank(number: int, host: str | None = None, local: str | None = None) -> Trace:
    recorded = trace([step(1, 100, 50)])
    settings = ProgramSettings(environment={"LOCAL_WORLD_SIZE": local} if local else None)
    info = TraceInfo(host_name=host, job=JobInfo(rank=number), settings=settings)
    return replace(recorded, meta=replace(recorded.meta, info=info))


def test_the_name_of_the_machine() -> None:
    frame = rank_locations({"a": rank(0, "n0"), "b": rank(1, "n1")})
    assert frame["node"].to_list() == ["n0", "n1"]
    assert frame["source"].to_list() == ["recording", "recording"]
    assert frame["switch"].to_list() == [None, None]


def test_the_number_of_ranks_per_machine() -> None:
    frame = rank_locations({f"rank{n}": rank(n, local="2") for n in range(4)})
    assert frame["node"].to_list() == ["node 0", "node 0", "node 1", "node 1"]


def test_names_of_workers() -> None:
    frame = rank_locations({"n07_411": rank(0), "n08_412": rank(1)})
    assert frame["node"].to_list() == ["n07", "n08"]
    assert frame["source"].unique().to_list() == ["worker name"]


@pytest.mark.parametrize(
    "names",
    [
        ("rank_0", "rank_1"),
        ("worker0_step_12", "worker1_step_12"),
        ("n07_411", "other"),
        ("r0", "r1"),
    ],
)
def test_nothing_is_guessed(names: tuple[str, str]) -> None:
    frame = rank_locations({name: rank(n, local="x") for n, name in enumerate(names)})
    assert frame["node"].to_list() == [None, None]
    assert frame["source"].to_list() == [None, None]


def test_no_ranks() -> None:
    assert rank_locations({}).is_empty()


def test_a_file_beside_the_recordings() -> None:
    traces = {"a": rank(0, "n0"), "b": rank(1, "n1"), "c": rank(2)}
    topology = RankTopology(
        "topology.toml", {2: "n9"}, {"b": "n8"}, {0: "s0"}, {"n8": "s1", "n9": "s1"}
    )
    for trace_of_rank in traces.values():
        rank_topology.provide(trace_of_rank, topology)
    frame = rank_locations(traces)
    assert frame["node"].to_list() == ["n0", "n8", "n9"]
    assert frame["switch"].to_list() == ["s0", "s1", "s1"]
    assert frame["source"].to_list() == ["recording", "file", "file"]
