"""Keys of collective calls: equal for the calls of one collective on all its workers.

By process group and sequence number; without one by the id that torch computes from both (``Comms
Id``); without either by order among the calls of one kind in one group
(``docs/views-distributed.md#which-calls-are-one-collective``).
"""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis.communication.records import (
    EXCHANGE,
    PAIRWISE,
    SAME_SIZE_COLLECTIVES,
)

BY_ORDER = "abcd"
"""The first letters of keys that count calls."""


def add_keys(calls: pl.DataFrame, same_steps: bool) -> pl.DataFrame:
    """Add ``key``, ``bucket``, ``is_uneven`` and ``peer_unknown`` to the calls of all workers.

    ``key`` is equal for the calls of one collective, null where it cannot match. ``bucket`` is
    equal for calls that order alone distinguishes, null for all others; ``is_uneven`` marks those
    of which workers have different numbers, so that their keys may be wrong. ``peer_unknown`` marks
    exchanges whose ranks are not recorded.

    Calls are counted over the whole recording only where all workers recorded the same steps;
    otherwise per step, so that a call that is missing on one worker does not shift all later ones.

    Args:
        calls: :data:`~torch_tb_profiler.analysis.communication.records.RECORDS` with ``worker`` and
            ``step_name``.
        same_steps: Whether all workers with calls recorded the same steps.
    """
    is_pair = pl.col("collective").is_in(PAIRWISE).fill_null(value=False)
    calls = calls.with_columns(
        group_of=pl.col("group_key").fill_null(""),
        kind=pl.when(is_pair)
        .then(pl.format("p2p:{}", "pair"))
        .otherwise(pl.coalesce("collective", "name")),
        is_pair=is_pair,
        peer_unknown=(is_pair & pl.col("pair").is_null())
        | ((pl.col("collective") == EXCHANGE) & (pl.col("group_size") > 2)).fill_null(value=False),
        size=pl.col("input_bytes").fill_null(-1),
        in_step=pl.col("step_name").fill_null(""),
    )
    # Numbers instead of texts: groups of thousands of ranks have long names.
    calls = calls.with_columns(
        _in_order_of_appearance(calls[name]) for name in ("group_of", "kind", "in_step")
    )
    in_group = pl.col("group_key").is_not_null()
    calls = _with_usable(calls, "sequence", ("group_of", "kind"))
    calls = _with_usable(calls, "comms_id", ("kind",))
    calls = calls.with_columns(
        by_sequence=pl.col("sequence_usable") & in_group,
        same_sizes=_same_counts(("group_of", "kind", "size"), ("group_of", "kind")),
        same_counts=_same_counts(("group_of", "kind"), ("group_of", "kind")),
        sized=pl.col("collective").is_in(SAME_SIZE_COLLECTIVES).fill_null(value=False),
    )
    is_aligned = pl.lit(same_steps)
    sequence, comms_id = ("group_of", "kind", "sequence"), ("kind", "comms_id")
    whole, whole_sized = ("group_of", "kind"), ("group_of", "kind", "size")
    by_step, by_step_sized = (*whole, "in_step"), (*whole, "in_step", "size")
    rules: tuple[tuple[str, pl.Expr, tuple[str, ...]], ...] = (
        ("n", pl.col("by_sequence"), sequence),
        ("m", pl.col("comms_id_usable"), comms_id),
        ("a", is_aligned & pl.col("same_sizes"), whole_sized),
        ("b", is_aligned & pl.col("same_counts"), whole),
        ("c", pl.col("sized"), by_step_sized),
        ("d", pl.lit(value=True), by_step),
    )
    rule = pl.lit(None, pl.String)
    for letter, holds, _ in reversed(rules):
        rule = pl.when(holds).then(pl.lit(letter)).otherwise(rule)
    calls = calls.with_columns(rule=rule)
    used = set(calls["rule"].unique())
    key = pl.lit(None, pl.String)
    bucket = pl.lit(None, pl.String)
    uneven = pl.lit(value=False)
    for letter, _, parts in rules:
        if letter not in used:
            continue
        holds = pl.col("rule") == letter
        key = pl.when(holds).then(_key(letter, *parts, _occurrence(*parts))).otherwise(key)
        if letter in BY_ORDER:
            bucket = pl.when(holds).then(_key(letter, *parts)).otherwise(bucket)
            uneven = pl.when(holds).then(~_same_counts(parts, parts)).otherwise(uneven)
    known = ~pl.col("peer_unknown")
    return calls.with_columns(
        key=pl.when(known).then(key), bucket=pl.when(known).then(bucket), is_uneven=known & uneven
    ).drop(
        "group_of", "kind", "is_pair", "size", "in_step", "by_sequence", "sequence_usable",
        "comms_id_usable", "same_sizes", "same_counts", "sized", "rule",
    )  # fmt: skip


def _in_order_of_appearance(texts: pl.Series) -> pl.Series:
    """Texts as numbers from 0; null stays null."""
    known = texts.drop_nulls().unique(maintain_order=True)
    numbers: pl.Series = texts.replace_strict(
        known, pl.Series(range(len(known)), dtype=pl.Int64), default=None, return_dtype=pl.Int64
    )
    return numbers.alias(texts.name)


def _with_usable(calls: pl.DataFrame, number: str, within: tuple[str, ...]) -> pl.DataFrame:
    """Add ``…_usable``: whether a call has the number, and it is the same on all its workers.

    Of collectives it is: they count together. Of sends and receives each rank counts its own (of
    all its peers), so the number is used only where one end has all numbers of the other end.
    """
    name = f"{number}_usable"
    shared = pl.col("worker").n_unique().over(*within, number) > 1
    calls = calls.with_columns((shared & pl.col(number).is_not_null()).alias(name))
    calls = calls.with_columns(pl.col(name).min().over("worker", *within))
    whole_end = pl.col(name).max().over(*within)
    known = pl.col(number).is_not_null()
    return calls.with_columns((known & (~pl.col("is_pair") | whole_end)).alias(name))


def _occurrence(*columns: str) -> pl.Expr:
    """How many such calls the worker made before this one."""
    return pl.int_range(pl.len()).over("worker", *columns)


def _key(letter: str, *parts: str | pl.Expr) -> pl.Expr:
    texts = [(pl.col(part) if isinstance(part, str) else part).cast(pl.String) for part in parts]
    return pl.concat_str([pl.lit(letter), *texts], separator="\n")


def _same_counts(columns: tuple[str, ...], within: tuple[str, ...]) -> pl.Expr:
    """Whether all workers with calls of ``within`` have equally many calls of each ``columns``."""
    count_on_worker = pl.len().over("worker", *columns)
    workers = pl.col("worker").n_unique()
    agree = (count_on_worker.min().over(*columns) == count_on_worker.max().over(*columns)) & (
        workers.over(*columns) == workers.over(*within)
    )
    return agree.min().over(*within)
