"""The files: valid JSON, readable by the product, and what was simulated."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import msgspec
import pytest

import torch_tb_profiler
from bench.cluster.__main__ import main
from bench.cluster.jobs import make_case, switches_text, truth, write_case
from bench.cluster.topology import Topology
from tests.bench.cluster.ideal import ideal


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("job")
    write_case(make_case(2, 8, "pause_checkpoint"), folder)
    return folder


def _events(folder: Path, rank: int) -> list[dict[str, Any]]:
    [path] = folder.glob(f"rank{rank}.*")
    events: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    return events


def test_streams_run_one_kernel_at_a_time(folder: Path) -> None:
    for rank in range(8):
        ends: dict[int, float] = defaultdict(float)
        for event in _events(folder, rank):
            if event.get("cat") == "kernel":
                assert event["ts"] >= ends[event["tid"]]
                ends[event["tid"]] = event["ts"] + event["dur"]


def test_collectives_end_together_on_a_node(folder: Path) -> None:
    ends: dict[tuple[str, int], set[float]] = defaultdict(set)
    for rank in range(8):
        for event in _events(folder, rank):
            args = event.get("args", {})
            if event.get("cat") == "kernel" and "Seq" in args:
                key = args["Process Group Name"], args["Seq"]
                ends[key].add(event["ts"] + event["dur"])
    assert ends
    assert all(max(times) - min(times) < 0.01 for times in ends.values())


def test_the_product_reads_all_ranks_and_the_step(folder: Path) -> None:
    known = json.loads((folder / "truth.json").read_text())
    with torch_tb_profiler.open_trace(str(folder), cache=False) as trace:
        assert len(trace.workers) == 8
        assert not trace.trace.quality.counts
        steps = trace.overview().table("steps")
        assert steps.height == known["shape"]["steps"]
        calls = trace.view("distributed").table("collectives")
        assert calls.height > 0
        facts = {fact.key: fact.value for fact in trace.view("distributed").facts}
        assert facts["unmatched_calls"] == 0


def test_a_file_says_which_switch_each_node_is_behind() -> None:
    topology = Topology(ideal(data=32, node_size=4, switch_nodes=4))
    assert msgspec.toml.decode(switches_text(topology)) == {
        "switches": {
            "leaf00": ["node000", "node001", "node002", "node003"],
            "leaf01": ["node004", "node005", "node006", "node007"],
        }
    }


def test_the_command_writes_a_job(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["make", str(tmp_path), "--seed", "3", "--ranks", "8", "--cause", "slow_input"]
    assert main(words) == 0
    assert "seed 3: slow_input" in capsys.readouterr().out
    assert len(list(tmp_path.glob("*.pt.trace.json"))) == 8
    assert json.loads((tmp_path / "truth.json").read_text()) == json.loads(
        json.dumps(truth(make_case(3, 8, "slow_input")))
    )
