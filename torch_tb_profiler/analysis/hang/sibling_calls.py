"""Which call a program meant, where the ranks of a group disagree evenly.

Groups of one purpose and size run the same program on other data (the tensor groups of all
replicas): where their calls were the same until then, what they called next decides.
"""

from __future__ import annotations

import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.hang.dumps import FlightDumps
from torch_tb_profiler.analysis.hang.progress import GroupProgress

LEAST_EQUAL = 3
"""So many calls before must be the same."""
COMPARED_CALLS = 16
"""So many are looked at: a buffer holds two thousand."""


class SiblingCall(Struct, frozen=True):
    """What like groups called.

    Attributes:
        compared: Its code in ``GroupProgress.calls``.
        groups: How many groups called it; no like group called anything else.
    """

    compared: int
    groups: int


def sibling_call(
    dumps: FlightDumps, progress: GroupProgress, channel: int, sequence: int
) -> SiblingCall | None:
    """What the groups like a channel called with a sequence number; None where there is no such
    group, or they disagree."""
    channels = dumps.channels.all
    own = channels[channel]
    alike = [
        number
        for number, each in enumerate(channels)
        if number != channel
        and (each.description, each.backend) == (own.description, own.backend)
        and len(each.members) == len(own.members)
    ]
    near = pl.col("sequence").is_between(sequence - COMPARED_CALLS, sequence)
    by_group = (
        progress.calls.filter(near & pl.col("channel").is_in([channel, *alike]))
        .group_by("channel", "sequence")
        .agg(pl.col("compared").first(), pl.col("compared").n_unique().alias("variants"))
    )
    is_own, is_before = pl.col("channel") == channel, pl.col("sequence") < sequence
    before = by_group.filter(is_own & is_before & (pl.col("variants") == 1))
    same = (
        by_group.filter(~is_own & is_before)
        .join(before.select("sequence", own="compared"), on="sequence")
        .group_by("channel")
        .agg(
            pl.len().alias("calls"),
            ((pl.col("compared") == pl.col("own")) & (pl.col("variants") == 1))
            .all()
            .alias("equal"),
        )
        .filter(pl.col("equal") & (pl.col("calls") >= LEAST_EQUAL))
    )
    called = by_group.filter(~is_own & (pl.col("sequence") == sequence)).join(
        same, on="channel", how="semi"
    )
    if called.is_empty() or called["variants"].max() != 1 or called["compared"].n_unique() != 1:
        return None
    return SiblingCall(int(called["compared"][0]), called.height)
