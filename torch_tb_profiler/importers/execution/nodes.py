"""One node of an execution trace, the same for JSON and protobuf."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from torch_tb_profiler.trace.columns import ABSENT

STRUCTURE = frozenset(
    f"[pytorch|profiler|execution_{kind}|{part}]"
    for kind in ("trace", "graph")
    for part in ("process", "thread")
)
"""Names of the nodes that stand for the process and its threads."""

GROUPS = "## process_group:init ##"
"""Name of the node whose input is the JSON text of all process groups."""

MAX_ID = 2**63 - 1


class NodeValues(Struct):
    """The inputs or outputs of a node, an entry per value.

    Attributes:
        values: Numbers, texts, lists; a tensor is ``[tensor, storage, offset, elements, bytes of an
            element, device]``.
        shapes: Shape of each tensor; lists of them for lists of tensors.
        types: ``"Tensor(float)"``, ``"Int"``, ``"GenericList[Int,Int]"``.
    """

    values: list[Any] = field(default_factory=list)
    shapes: list[Any] = field(default_factory=list)
    types: list[Any] = field(default_factory=list)


class ExecutionNode(Struct):
    """One operator, range or message of a graph.

    Attributes:
        id: Its id, unique in the file.
        name: Its name.
        parents: Ids of the nodes it depends on; of PyTorch's the one around it.
        inputs: What it read.
        outputs: What it returned.
        attributes: Name → value, ``rf_id``, ``tid``, ``pg_name``.
        kind: Chakra's type of node; 0 where the file has none.
        start_us: Its start, 0 or :data:`ABSENT` where none was recorded.
        duration_us: Its duration likewise.
    """

    id: int
    name: str
    parents: tuple[int, ...]
    inputs: NodeValues
    outputs: NodeValues
    attributes: dict[str, Any]
    kind: int = 0
    start_us: int = ABSENT
    duration_us: int = ABSENT

    def integer(self, key: str) -> int:
        """An attribute as integer; :data:`ABSENT` if it is none or beyond 64 bits."""
        return as_integer(self.attributes.get(key))

    def text(self, key: str) -> str | None:
        """An attribute as text; None if it is absent, empty or something else."""
        value = self.attributes.get(key)
        return value if isinstance(value, str) and value else None


def as_integer(value: Any) -> int:
    """An integer of 64 bits, which may be written as text; :data:`ABSENT` for anything else."""
    if type(value) is int and -MAX_ID <= value <= MAX_ID:
        return value
    if isinstance(value, str) and value.isascii() and value.lstrip("-").isdigit():
        value = int(value) if len(value) < 22 else None
    if isinstance(value, bool) or not isinstance(value, int) or not -MAX_ID <= value <= MAX_ID:
        return ABSENT
    return value
