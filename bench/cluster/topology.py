"""Where ranks are: coordinates, nodes, switches and process groups.

Tensor-parallel ranks are neighbours, then come data-parallel ones, of which neighbours share
experts, and pipeline stages are farthest apart, as Megatron, torchtitan and DeepSpeed order them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bench.cluster.shape import Shape

Ints = npt.NDArray[np.int64]

WORLD, TENSOR, DATA, PIPELINE, EXPERT, MODEL = (
    "world", "tensor", "data", "pipeline", "expert", "model",
)  # fmt: skip
"""The process groups of a rank, one of each dimension that has more than one rank."""

_DESCRIPTIONS = {
    "megatron": {
        TENSOR: "TENSOR_MODEL_PARALLEL_GROUP",
        DATA: "DATA_PARALLEL_GROUP_WITH_CP",
        PIPELINE: "PIPELINE_MODEL_PARALLEL_GROUP",
        EXPERT: "EXPERT_MODEL_PARALLEL_GROUP",
        MODEL: "MODEL_PARALLEL_GROUP",
    },
    "mesh": {
        TENSOR: "mesh_tp",
        DATA: "mesh_dp_shard",
        PIPELINE: "mesh_pp",
        EXPERT: "mesh_ep",
        MODEL: "mesh_pp_tp",
    },
}


@dataclass(frozen=True)
class Group:
    """A process group.

    Attributes:
        name: The number that torch gives it, as text.
        description: What the framework calls it.
        dimension: One of the constants above.
        ranks: Its members, in order.
    """

    name: str
    description: str
    dimension: str
    ranks: tuple[int, ...]


class Topology:
    """Where the ranks of a job are.

    Attributes:
        shape: The job.
        stage, replica, tensor, expert: Index of each rank along the dimension.
        node, switch: Number of the node and of the switch of each rank.
        members: Of each dimension the ranks of its groups, one row per group.
        groups: Of each dimension its groups, as rows of ``members``.
    """

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        rank = np.arange(shape.ranks)
        self.tensor: Ints = rank % shape.tensor
        self.replica: Ints = rank // shape.tensor % shape.data
        self.stage: Ints = rank // shape.tensor // shape.data
        self.expert: Ints = self.replica % shape.expert
        self.node: Ints = rank // shape.node_size
        self.switch: Ints = self.node // shape.switch_nodes
        grid = rank.reshape(shape.pipeline, shape.data, shape.tensor)
        by_expert = grid.reshape(shape.pipeline, -1, shape.expert, shape.tensor)
        self.members: dict[str, Ints] = {
            WORLD: rank[None, :],
            TENSOR: grid.reshape(-1, shape.tensor),
            DATA: grid.transpose(0, 2, 1).reshape(-1, shape.data),
            PIPELINE: grid.transpose(1, 2, 0).reshape(-1, shape.pipeline),
            EXPERT: by_expert.transpose(0, 1, 3, 2).reshape(-1, shape.expert),
            MODEL: grid.transpose(1, 0, 2).reshape(shape.data, -1),
        }
        if shape.pipeline == 1 or shape.tensor == 1:
            del self.members[MODEL]
        self.members = {
            name: rows for name, rows in self.members.items() if rows.shape[1] > 1 or name == WORLD
        }
        self.groups = {name: list(self._named(name)) for name in self.members}

    def host(self, node: int) -> str:
        """The host name of a node."""
        return f"node{node:03d}"

    def switch_name(self, switch: int) -> str:
        """The name of a switch."""
        return f"leaf{switch:02d}"

    def groups_of(self, rank: int) -> list[Group]:
        """The process groups of a rank."""
        return [group for groups in self.groups.values() for group in groups if rank in group.ranks]

    def _named(self, dimension: str) -> Iterator[Group]:
        if dimension == WORLD:
            yield Group("0", "default_pg", WORLD, tuple(range(self.shape.ranks)))
            return
        names = list(self.members)
        before = sum(len(self.members[name]) for name in names[1 : names.index(dimension)])
        described = _DESCRIPTIONS.get(self.shape.naming, {}).get(dimension, "undefined")
        for row, ranks in enumerate(self.members[dimension].tolist()):
            yield Group(str(1 + before + row), described, dimension, tuple(ranks))
