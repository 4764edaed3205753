"""The work of one call, and why it may be unknown."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from torch_tb_profiler.analysis.efficiency.work.operands import Tensor


class Reason(IntEnum):
    """Why a figure is unknown; :data:`REASON_TEXTS` says it to people."""

    KNOWN = 0
    NO_FORMULA = 1
    SHAPES = 2
    DAMAGED = 3
    VALUES = 4
    LENGTHS = 5
    TYPES = 6
    UNFIT = 7
    LIST = 8
    FORWARD = 9
    GENERATED = 10


REASON_TEXTS = {
    Reason.KNOWN: "",
    Reason.NO_FORMULA: "There is no formula for this operator.",
    Reason.SHAPES: "Its input shapes were not recorded.",
    Reason.DAMAGED: "What was recorded of its inputs cannot be read.",
    Reason.VALUES: "The values of its arguments, such as stride and padding, were not recorded: "
    "PyTorch writes them from 2.1 on.",
    Reason.LENGTHS: "How long its sequences are stands in a tensor, whose contents no recording "
    "has, and no range of an inference engine around it tells their sums.",
    Reason.TYPES: "The element types of its inputs were not recorded.",
    Reason.UNFIT: "The recorded input shapes do not fit this operator.",
    Reason.LIST: "The shapes in its lists of tensors were not recorded: PyTorch records those of "
    "lists of up to 30 tensors.",
    Reason.GENERATED: "It is generated code, and nothing in the recording states its FLOPs.",
    Reason.FORWARD: "It is counted by its forward operator, and of that there is no figure.",
}
"""Per reason one sentence."""


class UnknownWorkError(Exception):
    """The work of a call is unknown; carries why."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.name)
        self.reason = reason


class PerPair(Struct, frozen=True):
    """Attention by the lengths of its sequences, where those stand elsewhere.

    Attributes:
        flops: For each pair of query and key, all heads together.
        query_bytes: Read and written for each query.
        key_bytes: Read for each key; None where unknown.
    """

    flops: int
    query_bytes: int
    key_bytes: int | None


class Work(Struct, frozen=True):
    """The work of one call.

    Attributes:
        flops: Floating point operations: a multiplication and an addition are two. None where
            unknown.
        bytes: Sum of the sizes of what it reads and of what it writes; None where unknown.
        dtype: Element type of its main operand, None where unknown.
        uncomputed: FLOPs of ``flops`` that no kernel needs to compute (masked attention):
            FLOP counters count them all the same.
        reason: Why ``flops`` is unknown.
        bytes_reason: Why ``bytes`` is unknown, where it is.
        is_estimated: Whether something was assumed.
        per_pair: Of attention whose lengths are unknown.
    """

    flops: int | None
    bytes: int | None
    dtype: str | None
    uncomputed: int = 0
    reason: Reason = Reason.KNOWN
    bytes_reason: Reason = Reason.TYPES
    is_estimated: bool = False
    per_pair: PerPair | None = None


def total_bytes(tensors: Iterable[Tensor | None]) -> int | None:
    """Bytes of all tensors together, those that are not there left out; None where the type of any
    is unknown."""
    total = 0
    for tensor in tensors:
        if tensor is None:
            continue
        size = tensor.size_bytes
        if size is None:
            return None
        total += size
    return total
