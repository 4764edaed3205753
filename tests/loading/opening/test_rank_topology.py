"""A file of nodes and switches is read when the ranks of a run are gathered, damaged ones never
end in an error, and what it says follows its changes."""

from __future__ import annotations

import os
from pathlib import Path

import torch_tb_profiler
from bench.cluster.jobs import make_case, write_case
from torch_tb_profiler.api import Result


def ranks_of(folder: Path) -> Result:
    with torch_tb_profiler.open_trace(os.fspath(folder), cache=False) as run:
        return run.view("ranks")


def test_nodes_come_from_the_file(tmp_path: Path) -> None:
    write_case(make_case(1, 8, "none"), tmp_path)
    (tmp_path / "topology.toml").write_text('[nodes]\nleft = "0-3"\nright = "4-7"\n')
    view = ranks_of(tmp_path)
    assert view.table("ranks")["node"].to_list() == ["left"] * 4 + ["right"] * 4
    (tmp_path / "topology.toml").write_text("[nodes")
    view = ranks_of(tmp_path)
    assert view.table("ranks").height == 8
    (note,) = [note for note in view.notes if note.code == "topology_unread"]
    assert "topology.toml" in note.text
    assert "no TOML" in note.text


def test_a_folder_of_that_name_is_no_file(tmp_path: Path) -> None:
    write_case(make_case(1, 8, "none"), tmp_path)
    (tmp_path / "topology.toml").unlink(missing_ok=True)
    (tmp_path / "topology.toml").mkdir()
    assert not [note for note in ranks_of(tmp_path).notes if note.code == "topology_unread"]
