"""Channels: process groups with one back end each, their members, and how far each rank came."""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.trace.columns import Int64

DEFAULT_GROUP = "default_pg"
"""The description of the group of all ranks."""
MOST_COUNTED = 1 << 17
"""Of a job with more ranks those without a dump are not counted up: the largest ones have 10⁵."""


class GroupChannel(Struct, frozen=True):
    """A process group with one back end.

    Attributes:
        name, description: As torch names the group.
        backend: Back end of its calls, ``"nccl"``.
        members: Its ranks, in the order of the group.
        source: How they are known: ``"listed"`` in a dump, ``"all"`` ranks, ``"calls"`` of ranks.
    """

    name: str
    description: str
    backend: str
    members: tuple[int, ...]
    source: str

    @property
    def label(self) -> str:
        """The name for people."""
        if self.description in ("", "undefined", self.name):
            return self.name or self.backend
        return self.description if self.description != DEFAULT_GROUP else "all ranks"


class GroupChannels(Struct, frozen=True):
    """All channels.

    Attributes:
        all: By number.
        progress: ``rank``, ``channel`` and ``last_enqueued``: the last collective that the rank
            entered according to the counters of its process; only where they are known.
    """

    all: list[GroupChannel]
    progress: pl.DataFrame


def channels_of(
    groups: pl.DataFrame,
    entries: pl.DataFrame,
    calls: pl.DataFrame,
    files: pl.DataFrame,
    last_rank: int,
) -> tuple[GroupChannels, Int64]:
    """The channels of all dumps, and per entry its number.

    Args:
        groups, entries, calls: Tables of all dumps, one after the other.
        files: The dumps, with ``rank``.
        last_rank: The highest rank that traces beside the dumps know of; 0 where none does.
    """
    keys = _group_keys(groups)
    backend = calls["operation"].str.extract(r"^([^:]*):").fill_null("")
    call = entries["call"].to_numpy()
    group = entries["group"].to_numpy()
    used = pl.DataFrame(
        {
            "group": np.where(group < 0, -1, keys["key"].to_numpy()[group] if len(keys) else -1),
            "backend": (
                backend.gather(np.maximum(call, 0))
                if len(backend)
                else pl.Series([""] * len(call), dtype=pl.String)
            ),
            "rank": files["rank"].gather(entries["dump"]),
        }
    )
    distinct = used.select("group", "backend").unique(maintain_order=True)
    distinct = distinct.with_row_index("channel")
    number = used.join(distinct, on=["group", "backend"], how="left", maintain_order="left")
    callers = number.group_by("channel").agg(pl.col("rank").unique().sort()).sort("channel")["rank"]
    every_rank = _every_rank(files, groups, last_rank)
    by_key = keys.group_by("key", maintain_order=True).agg(
        pl.col("name").first(),
        pl.col("description").first(),
        pl.col("ranks").drop_nulls().first(),
    )
    facts = {row["key"]: row for row in by_key.iter_rows(named=True)}
    channels = []
    for (_, key, name), ranks in zip(distinct.iter_rows(), callers.to_list(), strict=True):
        known = facts.get(key, {"name": "", "description": "", "ranks": None})
        members, source = tuple(ranks), "calls"
        if known["ranks"]:
            members, source = tuple(known["ranks"]), "listed"
        elif known["description"] == DEFAULT_GROUP:
            members, source = every_rank, "all"
        channels.append(GroupChannel(known["name"], known["description"], name, members, source))
    return (
        GroupChannels(channels, _progress(keys, distinct, files)),
        number["channel"].to_numpy().astype(np.int64),
    )


def _every_rank(files: pl.DataFrame, groups: pl.DataFrame, last_rank: int) -> tuple[int, ...]:
    """All ranks of the job that are known to exist: ranks count from 0. Of a number that no job
    has, which a file's name can hold, only those that are named."""
    named = (
        pl.concat([files["rank"], groups["ranks"].explode().cast(pl.Int64)])
        .drop_nulls()
        .unique()
        .sort()
    )
    most = int(named[-1]) if named.len() else 0
    most = max(most, last_rank if last_rank < MOST_COUNTED else 0)
    return tuple(range(most + 1)) if most < MOST_COUNTED else tuple(named.to_list())


def _group_keys(groups: pl.DataFrame) -> pl.DataFrame:
    """Per row of ``groups`` a number that is equal for the same group in other dumps: the same
    name, purpose and members, as far as each lists them."""
    text = groups.with_columns(members=pl.col("ranks").cast(pl.List(pl.String)).list.join(","))
    only = text.group_by("name", "description").agg(
        pl.col("members").drop_nulls().unique().alias("variants")
    )
    text = text.join(only, on=["name", "description"], how="left", maintain_order="left")
    members = pl.coalesce(
        "members", pl.when(pl.col("variants").list.len() == 1).then(pl.col("variants").list.first())
    ).fill_null("")
    key = pl.concat_str("name", "description", members, separator="\x1f")
    return text.with_columns(key=key.rank("dense").cast(pl.Int64))


def _progress(keys: pl.DataFrame, distinct: pl.DataFrame, files: pl.DataFrame) -> pl.DataFrame:
    """The counters of the processes, of groups with a single back end."""
    only = distinct.filter(pl.len().over("group") == 1)
    known = keys.filter(pl.col("last_enqueued") >= 0)
    known = known.with_columns(rank=files["rank"].gather(known["dump"]))
    joined = known.join(only, left_on="key", right_on="group")
    return joined.group_by("rank", "channel").agg(pl.col("last_enqueued").max())
