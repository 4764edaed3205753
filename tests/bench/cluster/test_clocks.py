"""Clocks of a simulated job of several nodes, which differ and drift apart, are measured from its
traces, and its calls meet without their numbers."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from bench.cluster.jobs import make_case, write_case
from bench.cluster.traces import START_US
from tests.helpers.opening import open_file
from torch_tb_profiler.analysis.communication.clocks import clock_offsets
from torch_tb_profiler.analysis.communication.matching import match
from torch_tb_profiler.storage.locations import open_location
from torch_tb_profiler.trace.model import Trace

RANKS = 16


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("job")
    write_case(make_case(3, RANKS, "none"), path)
    return path


def traces_of(folder: Path) -> dict[str, Trace]:
    files = {int(path.name[4:].split(".")[0]): path for path in folder.glob("rank*.json")}
    return {
        f"rank{rank}": open_file(open_location(str(files[rank])), cache=None)
        for rank in sorted(files)
    }


def test_clocks_of_nodes_are_within_a_microsecond(folder: Path) -> None:
    truth = json.loads((folder / "truth.json").read_text())
    ahead = truth["clock_offsets_ns"]
    node_of = {node: number for number, node in enumerate(sorted(set(truth["nodes"])))}
    assert len(node_of) > 1
    clocks = clock_offsets(traces_of(folder), "rank0")
    assert len(clocks) == RANKS
    for rank, node in enumerate(truth["nodes"]):
        # At the start of the job every clock shows START_US and what it is ahead.
        clock = clocks[f"rank{rank}"]
        shown = 1000 * START_US + ahead[node_of[node]]
        offset = clock.offset_ns + clock.drift_ppm * 1e-6 * (shown - clock.pivot_ns)
        expected = 1000 * START_US + ahead[node_of[truth["nodes"][0]]]
        assert abs(shown + offset - expected) < 1000, rank
        assert clock.uncertainty_ns is not None


def test_calls_without_numbers_meet_as_with_them(folder: Path, tmp_path: Path) -> None:
    numbered = match(traces_of(folder)).calls
    for path in folder.glob("rank*.json"):
        text, count = re.subn(r', ?"Seq": ?\d+', "", path.read_text())
        assert count
        (tmp_path / path.name).write_text(text)
    counted = match(traces_of(tmp_path)).calls
    assert counted["sequence"].null_count() == counted.height == numbered.height
    assert counted["match"].null_count() == 0
    both = np.column_stack([numbered["match"].to_numpy(), counted["match"].to_numpy()])
    pairs = len(np.unique(both, axis=0))
    assert pairs == numbered["match"].n_unique() == counted["match"].n_unique()
