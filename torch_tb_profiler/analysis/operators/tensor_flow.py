"""Which operator produced what another one reads, by the tensors of an execution trace.

An operator returns tensors, and later ones read them; a tensor that is written in place is returned
again. Definitions: ``docs/format-execution.md#tensors``.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

TABLE = "execution_tensors"

MAX_CANDIDATES = 10_000
"""Uses of one tensor that are looked at for one operator."""


class TensorUses(Struct, frozen=True, eq=False):
    """The uses of tensors, by tensor and in order of operators.

    Attributes:
        tensor: The id of the tensor of each use, ascending.
        node: The record function id of the operator, ascending per tensor.
        slices: Its slice.
        is_output: Whether it returned the tensor; otherwise it read it.
    """

    tensor: Int64
    node: Int64
    slices: Int64
    is_output: np.ndarray[tuple[int], np.dtype[np.bool_]]

    def outputs_before(self, tensor: int, node: int) -> list[int]:
        """Slices of earlier operators that returned a tensor, the latest first."""
        first, last = np.searchsorted(self.tensor, [tensor, tensor + 1]).tolist()
        is_earlier = self.is_output[first:last] & (self.node[first:last] < node)
        earlier: list[int] = self.slices[first:last][is_earlier][-MAX_CANDIDATES:].tolist()
        return earlier[::-1]

    def uses_after(self, tensor: int, node: int) -> list[tuple[int, bool]]:
        """(Slice, whether it returned the tensor) of later uses, in order."""
        first, last = np.searchsorted(self.tensor, [tensor, tensor + 1]).tolist()
        later = np.flatnonzero(self.node[first:last] > node)[:MAX_CANDIDATES] + first
        return list(zip(self.slices[later].tolist(), self.is_output[later].tolist(), strict=True))


@per_trace
def tensor_uses(trace: Trace) -> TensorUses | None:
    """The uses of tensors by the operators of a trace; None without an execution trace."""
    side = trace.side.get(TABLE)
    if side is None:
        return None
    slices = (
        trace.operators.select("slice", node="record_function_id")
        .drop_nulls()
        .unique("node", keep="first", maintain_order=True)
    )
    uses = (
        side.frame.select("node", "tensor", "is_output")
        .unique()
        .join(slices, on="node", how="inner")
        .sort("tensor", "node", "is_output")
    )
    return TensorUses(*(uses[key].to_numpy() for key in ("tensor", "node", "slice", "is_output")))


def operator_tensors(trace: Trace, slice_id: int) -> pl.DataFrame:
    """The tensors that an operator read and returned, in order; empty without an execution
    trace."""
    side = trace.side.get(TABLE)
    node = trace.operators.filter(pl.col("slice") == slice_id)["record_function_id"]
    if side is None or not len(node) or node[0] is None:
        return pl.DataFrame(schema=None if side is None else side.frame.schema)
    return side.frame.filter(pl.col("node") == node[0])


def producers(trace: Trace, slice_id: int) -> list[int]:
    """The slices that produced the tensors an operator reads: of each the last one before it that
    returned it, the innermost of those inside one another; in order."""
    uses, own = tensor_uses(trace), operator_tensors(trace, slice_id)
    if uses is None or own.is_empty():
        return []
    node = int(own["node"][0])
    around = _around(trace, slice_id)
    result: dict[int, None] = {}
    for tensor in own.filter(~pl.col("is_output"))["tensor"].unique(maintain_order=True).to_list():
        earlier = uses.outputs_before(tensor, node)
        result |= dict.fromkeys([each for each in earlier if each not in around][:1])
    return list(result)


def readers(trace: Trace, slice_id: int) -> list[int]:
    """The slices that read what an operator returned, until another one returns it again; not those
    inside it or around it; in order."""
    uses, own = tensor_uses(trace), operator_tensors(trace, slice_id)
    if uses is None or own.is_empty():
        return []
    node = int(own["node"][0])
    related = _around(trace, slice_id)
    result: dict[int, None] = {}
    for tensor in own.filter("is_output")["tensor"].unique(maintain_order=True).to_list():
        for reader, is_output in uses.uses_after(tensor, node):
            if reader in related or slice_id in _around(trace, reader):
                continue
            if is_output:
                break
            result[reader] = None
    return sorted(result)


def _around(trace: Trace, slice_id: int) -> set[int]:
    """The slices around one."""
    parents = trace.slices["parent"]
    around: set[int] = set()
    above = parents[slice_id]
    while above is not None and above not in around:
        around.add(above)
        above = parents[above]
    return around
