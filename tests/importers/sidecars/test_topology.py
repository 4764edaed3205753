"""The file of nodes and switches: what people write, and what is refused."""

from __future__ import annotations

import pytest

from torch_tb_profiler.importers.sidecars.annotations import SidecarError
from torch_tb_profiler.importers.sidecars.topology import read_topology


def test_toml_of_ranks_and_names() -> None:
    text = b"""
        [nodes]
        n0 = "0-2, 7"
        n1 = [3, "4-5", "trainer_b"]
        [switches]
        leaf1 = ["n0", "n1"]
        leaf2 = 9
    """
    topology = read_topology(text, "topology.toml")
    assert topology.node_of_rank == {0: "n0", 1: "n0", 2: "n0", 7: "n0", 3: "n1", 4: "n1", 5: "n1"}
    assert topology.node_of_worker == {"trainer_b": "n1"}
    assert topology.switch_of_node == {"n0": "leaf1", "n1": "leaf1"}
    assert topology.switch_of_rank == {9: "leaf2"}


def test_csv() -> None:
    topology = read_topology(b"rank,node,switch\n0,n0,s0\n1,n1,\n", "topology.csv")
    assert topology.node_of_rank == {0: "n0", 1: "n1"}
    assert topology.switch_of_rank == {0: "s0"}
    by_worker = read_topology(b"worker,switch,node\na,s0,n0\n", "topology.csv")
    assert by_worker.node_of_worker == {"a": "n0"}
    assert by_worker.switch_of_node == {"n0": "s0"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("topology.toml", b"\xff\xfe"),
        ("topology.toml", b"not toml"),
        ("topology.toml", b"[other]\na = 1\n"),
        ("topology.toml", b"nodes = 3\n"),
        ("topology.toml", b'[nodes]\na = "7-3"\n'),
        ("topology.toml", b'[nodes]\na = "0-999999999"\n'),
        ("topology.toml", b'[nodes]\na = "0-2000000"\n'),
        ("topology.toml", b"[nodes]\na = [[1]]\n"),
        ("topology.toml", b"[nodes]\na = 1.5\n"),
        ("topology.toml", b"[nodes]\na = -1\n"),
        ("topology.toml", b'[nodes]\na = "\\u0007"\n'),
        ("topology.toml", b"[nodes]\na = " + b"[" * 5000),
        ("topology.csv", b""),
        ("topology.csv", b"a,b\n1,2\n"),
        ("topology.csv", b"rank,node\nx,n0\n"),
        ("topology.csv", b'rank,node\n"0,n0\n'),
        ("topology.csv", b"rank,node\n0,\n"),
    ],
)
def test_what_is_no_topology(name: str, text: bytes) -> None:
    with pytest.raises(SidecarError):
        read_topology(text, name)
