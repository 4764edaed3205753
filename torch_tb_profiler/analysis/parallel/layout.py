"""A parallel strategy that people give: sizes of the dimensions and the order of the ranks.

The text is ``tp=8,pp=4,dp=2``, with ``order=megatron`` (or ``torchtitan``, ``deepspeed``) or
``order=tp-cp-fsdp-dp-pp``, where the first dimension changes from one rank to the next. What is
left of the world size is data parallel where neither ``dp`` nor ``fsdp`` is given. Experts are
divided among the ranks of the data and context dimensions (Megatron, torchtitan), so ``ep`` is no
factor of the world size.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.selection import SHOWN_CHARACTERS, SelectionError
from torch_tb_profiler.knowledge.parallel import Dimension, parallel_file
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.limits import MAX_RANKS

EXPERT = "ep"
DATA = ("dp", "fsdp")
EXPERTS_AMONG = ("dp", "fsdp", "cp")
"""The dimensions whose ranks hold different experts."""


class ParallelLayout(Struct, frozen=True):
    """A strategy that fits a world size.

    Attributes:
        sizes: Short name → size of every dimension of the world (all but experts), in the order of
            the ranks: the first one changes from one rank to the next.
        experts: Size of the expert dimension; 1 without it.
    """

    sizes: dict[str, int]
    experts: int

    def has(self, names: Iterable[str]) -> bool:
        """Whether the job is divided along any of these dimensions."""
        return any((self.experts if name == EXPERT else self.sizes[name]) > 1 for name in names)

    def index(self, names: Sequence[str], ranks: Int64) -> Int64:
        """The index of each rank within some dimensions of the world together."""
        index, inner, stride = np.zeros(len(ranks), np.int64), 1, 1
        for name, size in self.sizes.items():
            if name in names:
                index += ranks // stride % size * inner
                inner *= size
            stride *= size
        return index

    def expert_index(self, ranks: Int64) -> Int64:
        """The index of each rank within the expert dimension."""
        return self.index(EXPERTS_AMONG, ranks) % self.experts

    def dimension(self, ranks: Sequence[int], *, exchanges_tokens: bool) -> Dimension | None:
        """The dimension that a group of these ranks divides; None where it spans several, or ranks
        lie outside the world.

        Args:
            ranks: Members of the group.
            exchanges_tokens: Whether experts explain its traffic, where a group of experts and one
                of data parallelism have the same members.
        """
        members = np.array(ranks, np.int64)
        if not len(members) or members.max() >= math.prod(self.sizes.values()):
            return None
        varying = [name for name in self.sizes if np.ptp(self.index([name], members)) > 0]
        if varying and self._is_of_experts(varying, members, exchanges_tokens):
            return "expert"
        names = parallel_file().names
        if len(varying) == 1:
            return names[varying[0]]
        if varying and set(varying) <= {*DATA, "cp"}:
            # Gradients are reduced over data and context parallelism together.
            return "sharded" if "fsdp" in varying and "dp" not in varying else "data"
        return None

    def _is_of_experts(
        self, varying: Sequence[str], members: Int64, exchanges_tokens: bool
    ) -> bool:
        if len(members) != self.experts or not set(varying) <= set(EXPERTS_AMONG):
            return False
        block = self.index(EXPERTS_AMONG, members) // self.experts
        share_data = math.prod(self.sizes[name] for name in EXPERTS_AMONG) == self.experts
        return bool(np.ptp(block) == 0) and (exchanges_tokens or not share_data)


def parse_layout(text: str, world_size: int | None) -> ParallelLayout:
    """The strategy that a text gives.

    Args:
        text: ``"tp=8,pp=4,dp=2,order=tp-cp-fsdp-dp-pp"``.
        world_size: Number of ranks of the job; None where no recording declares it.

    Raises:
        SelectionError: the text is no strategy, or does not fit the world size.
    """
    given, order = _parsed(text)
    experts = given.pop(EXPERT, 1)
    product = math.prod(given.values())
    if world_size is not None and product != world_size:
        is_open = not any(name in given for name in DATA)
        if not is_open or world_size % product:
            arithmetic = " × ".join(f"{name}={size}" for name, size in given.items()) or "1"
            needs = "a divisor of" if is_open else "all of"
            message = f"parallel: {arithmetic} = {product}, not {needs} the {world_size} ranks"
            raise SelectionError(f"{message} of this job")
        given["dp"] = world_size // product
    unordered = [name for name, size in given.items() if size > 1 and name not in order]
    if unordered:
        raise SelectionError(f"parallel: the order does not say where {unordered[0]} comes")
    sizes = {name: given.get(name, 1) for name in order}
    sizes |= {name: 1 for name in parallel_file().names if name not in (*order, EXPERT)}
    among = math.prod(sizes[name] for name in EXPERTS_AMONG)
    if among % experts:
        message = f"parallel: ep={experts} does not divide data × context = {among} ranks"
        raise SelectionError(message)
    return ParallelLayout(sizes, experts)


def _parsed(text: str) -> tuple[dict[str, int], tuple[str, ...]]:
    """The sizes by short name, as given, and the order of the dimensions."""
    known, sizes, order = parallel_file(), dict[str, int](), parallel_file().orders[0].order
    for part in text.split(","):
        key, equals, value = (piece.strip().lower() for piece in part.partition("="))
        name = known.aliases.get(key, key)
        if not equals or (name not in known.names and name != "order"):
            names = ", ".join(known.names)
            message = f"parallel: {part.strip()[:SHOWN_CHARACTERS]!r} is not NAME=SIZE"
            raise SelectionError(f"{message} with a name of {names}, or order=…")
        if name == "order":
            order = _order(value)
        elif name in sizes:
            raise SelectionError(f"parallel: {name} is given twice")
        else:
            sizes[name] = _size(name, value)
    return sizes, order


def _size(name: str, value: str) -> int:
    size = int(value) if value.isascii() and value.isdecimal() and len(value) < 9 else 0
    if not 0 < size <= MAX_RANKS:
        shown = value[:SHOWN_CHARACTERS]
        raise SelectionError(f"parallel: the size of {name}, {shown!r}, is no positive number")
    return size


def _order(value: str) -> tuple[str, ...]:
    """The order of all dimensions but experts, from the name of a framework or from a list in which
    those are left out that the job lacks."""
    known = parallel_file()
    by_name = {each.name: each.order for each in known.orders}
    if value in by_name:
        return by_name[value]
    names = [known.aliases.get(part, part) for part in value.split("-")]
    if len(set(names)) < len(names) or not set(names) <= set(known.names):
        choices = ", ".join(by_name)
        message = f"parallel: the order {value[:SHOWN_CHARACTERS]!r} is none of {choices}"
        raise SelectionError(f"{message}, and no list such as tp-cp-ep-dp-pp")
    return tuple(name for name in names if name != EXPERT)
