"""Work of fused attention, forward and backward.

Definitions: ``docs/flops.md#attention``.
"""

from __future__ import annotations

from msgspec import Struct

from torch_tb_profiler.analysis.efficiency.work.formula_arguments import (
    FormulaArguments,
    is_set,
    positions,
    text,
    whole,
)
from torch_tb_profiler.analysis.efficiency.work.masked_pairs import masked_pairs
from torch_tb_profiler.analysis.efficiency.work.operands import Operands, Tensor
from torch_tb_profiler.analysis.efficiency.work.result import (
    PerPair,
    Reason,
    UnknownWorkError,
    Work,
    total_bytes,
)
from torch_tb_profiler.knowledge.dtypes import size_bytes


class _Sizes(Struct, frozen=True):
    """What an attention is of.

    Attributes:
        sequences: How many there are, each of the same length.
        heads: Heads of the query.
        queries: Length of the query.
        keys: Length of key and value.
        head_dim: Size of a head of query and key.
        value_dim: Size of a head of the value.
    """

    sequences: int
    heads: int
    queries: int
    keys: int
    head_dim: int
    value_dim: int


def attention(call: Operands, formula: FormulaArguments) -> Work:
    """Queries with keys, then with values, for every pair: 2 · pairs · (head_dim + value_dim); of a
    backward pass the five products of its gradients: 2 · pairs · (3 · head_dim + 2 · value_dim).

    Arguments: positions of ``query``, ``key``, ``value``; ``layout`` of their dimensions ("bhsd" or
    "bshd"); ``backward``; indices of ``causal``, of the ends of a ``window``, of the ``offsets`` of
    sequences packed after one another and of their greatest ``lengths``; ``bottom`` for a mask that
    is aligned with the last query; ``reads`` more positions that are read.
    """
    query, key, value = (
        call.tensor(whole(formula, name, at)) for at, name in enumerate(("query", "key", "value"))
    )
    backward = is_set(formula, "backward")
    operands = [query, key, value]
    read = [call.operand(index) for index in positions(formula, "reads")]
    out = Tensor((*query.shape[:-1], value.shape[-1]) if value.shape else (), query.dtype)
    # A backward pass reads the output and its gradient too, and writes three gradients.
    more = [out, *operands] if backward else []
    size = total_bytes([*operands, *read, out, *more])
    try:
        sizes = _sizes(call, formula, query, key, value)
    except UnknownWorkError as unknown:
        if unknown.reason != Reason.LENGTHS:
            raise
        served = None if backward else _per_pair(query, key, value)
        return Work(None, size, query.dtype, reason=unknown.reason, per_pair=served)
    pairs = sizes.sequences * sizes.heads * sizes.queries * sizes.keys
    dims = sizes.head_dim + sizes.value_dim
    if backward:
        dims = 3 * sizes.head_dim + 2 * sizes.value_dim
    masked = sizes.sequences * sizes.heads * _masked(call, formula, sizes)
    return Work(2 * pairs * dims, size, query.dtype, 2 * masked * dims)


def served_attention(call: Operands, formula: FormulaArguments) -> Work:
    """Attention of an inference engine: the query has the new tokens of all requests, what they
    attend to is in a cache. The lengths are those of the step around it.

    Arguments: positions of ``query``, ``key``, ``value``.
    """
    query, key, value = (
        call.tensor(whole(formula, name, at)) for at, name in enumerate(("query", "key", "value"))
    )
    return Work(
        None,
        None,
        query.dtype,
        reason=Reason.LENGTHS,
        bytes_reason=Reason.LENGTHS,
        per_pair=_per_pair(query, key, value),
    )


def _per_pair(query: Tensor, key: Tensor, value: Tensor) -> PerPair:
    """What a pair of query and key takes. Where heads are not told apart, those of value are as
    wide as those of query."""
    if len(query.shape) < 2:
        raise UnknownWorkError(Reason.UNFIT)
    width = query.shape[-1] * query.shape[-2] if len(query.shape) > 2 else query.shape[-1]
    heads = query.shape[-2] if len(query.shape) > 2 else 1
    out = heads * value.shape[-1] if len(query.shape) > 2 and len(value.shape) > 2 else width
    of_keys = [one.shape[-1] * (one.shape[-2] if len(one.shape) > 2 else 1) for one in (key, value)]
    size = None if query.dtype is None else size_bytes(query.dtype)
    size = size or 0
    key_size = size_bytes(key.dtype) if key.dtype is not None else None
    key_bytes = None if key_size is None or not size else sum(of_keys) * key_size
    return PerPair(2 * (width + out), (width + out) * size, key_bytes)


def _sizes(
    call: Operands, formula: FormulaArguments, query: Tensor, key: Tensor, value: Tensor
) -> _Sizes:
    offsets = positions(formula, "offsets")
    if offsets and call.operand(offsets[0]) is not None:
        return _packed(call, formula, query, key, value)
    shapes = query.shape, key.shape, value.shape
    if {len(shape) for shape in shapes} != {4}:
        raise UnknownWorkError(Reason.UNFIT)
    at_heads, at_length = (2, 1) if text(formula, "layout") == "bshd" else (1, 2)
    batch, heads, queries, head_dim = (query.shape[at] for at in (0, at_heads, at_length, 3))
    shared, keys, value_dim = key.shape[at_heads], key.shape[at_length], value.shape[3]
    fits = key.shape[0] == value.shape[0] == batch and value.shape[at_length] == keys
    if not fits or key.shape[3] != head_dim or not shared or heads % shared:
        raise UnknownWorkError(Reason.UNFIT)
    return _Sizes(batch, heads, queries, keys, head_dim, value_dim)


def _packed(
    call: Operands, formula: FormulaArguments, query: Tensor, key: Tensor, value: Tensor
) -> _Sizes:
    """Sequences after one another: [all elements, heads, head_dim], maybe in a batch of one.

    Their lengths stand in tensors. They are known where there is one sequence, or where all have
    the greatest length.

    Raises:
        UnknownWorkError: the lengths are not known.
    """
    q, k, v = (one.shape[-3:] for one in (query, key, value))
    if any(len(one) != 3 for one in (q, k, v)) or k[2] != q[2]:
        raise UnknownWorkError(Reason.UNFIT)
    sequences = _sequences(call, formula)
    queries, keys = q[0], k[0]
    if sequences > 1:
        longest = [call.number(index) for index in positions(formula, "lengths")]
        if longest != [queries / sequences, keys / sequences]:
            raise UnknownWorkError(Reason.LENGTHS)
        queries, keys = queries // sequences, keys // sequences
    return _Sizes(sequences, q[1], queries, keys, q[2], v[2])


def _sequences(call: Operands, formula: FormulaArguments) -> int:
    """How many sequences there are: their offsets are one more."""
    counts = {_length(call.operand(index)) for index in positions(formula, "offsets")} - {0}
    if len(counts) != 1 or (count := counts.pop()) < 2:
        raise UnknownWorkError(Reason.LENGTHS)
    return count - 1


def _length(tensor: Tensor | None) -> int:
    """Elements of a vector, 0 for what is none."""
    return tensor.shape[0] if tensor is not None and len(tensor.shape) == 1 else 0


def _masked(call: Operands, formula: FormulaArguments, sizes: _Sizes) -> int:
    """How many pairs of one head the mask leaves out, as far as the arguments tell it."""
    causal, bottom = call.flag(whole(formula, "causal")), is_set(formula, "bottom")
    kind = call.number(whole(formula, "mask-type"))
    if kind is not None:
        causal, bottom = kind > 0, kind == 2
    ends = [call.number(index) for index in positions(formula, "window")]
    before, after = (None if end is None or end < 0 else end for end in ends or (None, None))
    return masked_pairs(
        sizes.queries,
        sizes.keys,
        causal=bool(causal),
        from_end=bottom,
        before=before,
        after=after,
    )
