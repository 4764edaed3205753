"""Where the ranks of a job ran, as a small file beside its recordings states it."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field


class RankTopology(Struct, frozen=True):
    """Nodes and switches of a job.

    Attributes:
        source: Name of the file; empty where there is none.
        node_of_rank: Rank → node.
        node_of_worker: Name of a worker → node.
        switch_of_rank: Rank → switch.
        switch_of_node: Node → switch.
        problem: Why the file is not used, or a part of it is not; None where all of it is.
    """

    source: str = ""
    node_of_rank: Mapping[int, str] = field(default_factory=dict)
    node_of_worker: Mapping[str, str] = field(default_factory=dict)
    switch_of_rank: Mapping[int, str] = field(default_factory=dict)
    switch_of_node: Mapping[str, str] = field(default_factory=dict)
    problem: str | None = None


NO_TOPOLOGY = RankTopology()
