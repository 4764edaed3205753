"""Pairs that a mask leaves out, against counting each."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from torch_tb_profiler.analysis.efficiency.work.masked_pairs import masked_pairs

LENGTHS = st.integers(0, 9)
ENDS = st.none() | st.integers(0, 6)


@given(LENGTHS, LENGTHS, st.booleans(), st.booleans(), st.tuples(ENDS, ENDS))
def test_as_many_pairs_as_counting_finds(
    queries: int,
    keys: int,
    causal: bool,
    from_end: bool,
    window: tuple[int | None, int | None],
) -> None:
    before, after = window
    seen = 0
    for query in range(queries):
        own = query + (keys - queries if from_end else 0)
        for key in range(keys):
            is_late = key > own if causal else after is not None and key > own + after
            is_early = before is not None and key < own - before
            seen += not is_late and not is_early
    masked = masked_pairs(
        queries, keys, causal=causal, from_end=from_end, before=before, after=after
    )
    assert masked == queries * keys - seen
