"""Jobs that hang: what their dumps must hold, whatever the place."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from bench.cluster.__main__ import main
from bench.cluster.calls import participants, programs, replay
from bench.cluster.dumps import write_dumps
from bench.cluster.hangs import HANGS, make_hanging_job
from bench.cluster.topology import Topology
from tests.bench.cluster.ideal import ideal


def _load(folder: Path) -> tuple[dict[str, Any], dict[int, dict[str, Any]]]:
    dumps = {}
    for path in folder.glob("fr_trace_rank_*"):
        with path.open("rb") as file:
            dumps[int(path.name.rsplit("_", 1)[1])] = pickle.load(file)
    return json.loads((folder / "truth.json").read_text()), dumps


def _calls(dump: dict[str, Any], known: dict[str, Any]) -> dict[int, dict[str, Any]]:
    """The entries of the group of the truth, by sequence number."""
    key = "p2p_seq_id" if known["is_transfer"] else "collective_seq_id"
    return {
        entry[key]: entry
        for entry in dump["entries"]
        if entry["process_group"][0] == known["group"]
        and entry["is_p2p"] == known["is_transfer"]
        and not entry["profiling_name"].endswith(":coalesced")
    }


def test_a_job_without_a_fault_comes_to_its_end() -> None:
    shape = ideal(data=4, tensor=2, pipeline=2, layers=(1, 1), microbatches=4)
    ranks = programs(Topology(shape))
    replay(ranks, participants(ranks))
    assert all(call.ended for rank in ranks for call in rank.calls if call is not None)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", HANGS)
def test_the_dumps_hold_the_hang(kind: str, seed: int, tmp_path: Path) -> None:
    write_dumps(make_hanging_job(seed, 16, kind), tmp_path, seed)
    known, dumps = _load(tmp_path)
    assert known["kind"] == kind
    assert set(dumps) == set(range(16)) - set(known["without_dump"])
    assert any(
        entry["state"] != "completed" for dump in dumps.values() for entry in dump["entries"]
    )
    number, rank = known["sequence"], known["rank"]
    assert (rank in dumps) == (kind != "dead")
    states = {
        member: _calls(dumps[member], known).get(number, {}).get("state")
        for member in known["members"]
        if member in dumps
    }
    if kind == "transfer":
        [name] = {_calls(dumps[rank], known)[number]["profiling_name"]}
        assert ":recv" in name
        return
    others = {state for member, state in states.items() if member != rank}
    # Nobody completed it, and nobody else is in a later one of the group.
    assert "completed" not in others
    assert others <= {"started", "scheduled", None}
    if kind in ("stuck", "dead", "order", "computing", "size", "operation"):
        assert "started" in others or not others
    if kind in ("stuck", "order"):
        assert states[rank] is None
    if kind == "computing":
        assert states[rank] == "scheduled"
    if kind in ("size", "operation", "skipped"):
        own = _calls(dumps[rank], known)[number]
        compared = {"input_sizes", "output_sizes", "profiling_name"}
        for member in states:
            if member != rank and (entry := _calls(dumps[member], known).get(number)):
                assert any(own[key] != entry[key] for key in compared)


def test_status_and_entries_agree(tmp_path: Path) -> None:
    write_dumps(make_hanging_job(7, 16, "stuck"), tmp_path, 7)
    for dump in _load(tmp_path)[1].values():
        for entry in dump["entries"]:
            assert entry["process_group"][0] in dump["pg_config"]
            if not entry["is_p2p"]:
                status = dump["pg_status"][str(entry["pg_id"])]
                assert entry["collective_seq_id"] <= status["last_enqueued_collective"]
                if entry["state"] == "completed":
                    assert entry["collective_seq_id"] <= status["last_completed_collective"]


def test_the_command_writes_dumps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["make", str(tmp_path), "--seed", "3", "--ranks", "8", "--dumps"]) == 0
    assert "rank" in capsys.readouterr().out
    known, dumps = _load(tmp_path)
    assert len(dumps) == 8 - len(known["without_dump"])
