"""How many pairs of query and key a mask of attention leaves out, told by its arguments alone.

Definitions: ``docs/flops.md#causal-attention``.
"""

from __future__ import annotations


def masked_pairs(
    queries: int,
    keys: int,
    *,
    causal: bool,
    from_end: bool = False,
    before: int | None = None,
    after: int | None = None,
) -> int:
    """Pairs that are not computed.

    Query i stands at key i, or with ``from_end`` so that the last query stands at the last key. It
    sees the keys up to its own (``causal``), at most ``before`` before it and ``after`` behind it.

    Args:
        queries: Length of the query.
        keys: Length of the key.
        causal: Whether no query sees keys behind it.
        from_end: Which query stands at which key.
        before: Keys before its own that it sees; None for all.
        after: Keys behind its own that it sees; None for all.
    """
    shift = keys - queries if from_end else 0
    behind = 0 if causal else after
    up_to = queries * keys
    if behind is not None:
        up_to = _sum_clamped(shift + behind + 1, queries, keys)
    too_early = 0 if before is None else _sum_clamped(shift - before, queries, keys)
    return queries * keys - max(up_to - too_early, 0)


def _sum_clamped(first: int, count: int, most: int) -> int:
    """Σ of first, first + 1, … (``count`` of them), each at least 0 and at most ``most``."""
    start = max(first, 0)
    zeros = min(max(-first, 0), count)
    rising = min(max(most - start, 0), count - zeros)
    at_most = count - zeros - rising
    return rising * start + rising * (rising - 1) // 2 + at_most * most
