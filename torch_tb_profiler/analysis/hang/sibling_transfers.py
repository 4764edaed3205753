"""Which rank of a pipeline called another transfer than ranks with the same role.

Ranks at the same position in groups of one size (the same stage of other replicas) run the same
program: the same sends and receives with the same sequence numbers.
"""

from __future__ import annotations

import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.hang.dumps import FlightDumps


class OddTransfer(Struct, frozen=True):
    """A rank whose transfer is another one than that of all its siblings.

    Attributes:
        rank: The rank.
        channel, sequence: Of the first such transfer.
        call: Its call (row in ``FlightDumps.calls``).
        usual_call: A sibling's.
        siblings: How many there are.
    """

    rank: int
    channel: int
    sequence: int
    call: int
    usual_call: int
    siblings: int


def odd_transfers(dumps: FlightDumps, channel: int) -> list[OddTransfer]:
    """The first transfer of each member of a channel in which it differs from all its siblings, who
    agree with each other; by rank. None where no other group has transfers like it."""
    channels = dumps.channels.all
    size = len(channels[channel].members)
    roles = pl.DataFrame(
        [
            (number, rank, position)
            for number, each in enumerate(channels)
            if each.source == "listed" and len(each.members) == size
            for position, rank in enumerate(each.members)
        ],
        {"channel": pl.Int32, "rank": pl.Int64, "position": pl.Int64},
        orient="row",
    )
    rows = dumps.entries.filter("is_transfer", ~pl.col("is_marker"), pl.col("call") >= 0)
    rows = rows.with_columns(operation=dumps.calls["operation"].gather(rows["call"]))
    rows = rows.join(roles, on=["channel", "rank"])
    key = ["position", "sequence", "part"]
    is_own = pl.col("channel") == channel
    others = (
        rows.filter(~is_own)
        .group_by(key)
        .agg(
            pl.col("operation").n_unique().alias("variants"),
            pl.col("operation").first().alias("usual"),
            pl.col("call").first().alias("usual_call"),
            pl.len().alias("siblings"),
        )
        .filter(pl.col("variants") == 1)
    )
    odd = rows.filter(is_own).join(others, on=key).filter(pl.col("operation") != pl.col("usual"))
    first = odd.sort("sequence", "part").unique("rank", keep="first", maintain_order=True)
    names = ("rank", "channel", "sequence", "call", "usual_call", "siblings")
    return [OddTransfer(**row) for row in first.sort("rank").select(names).iter_rows(named=True)]
