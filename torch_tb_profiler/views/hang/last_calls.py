"""Where ranks were when they last called torch.distributed."""

from __future__ import annotations

from collections.abc import Collection

import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.hang.diagnosis import HangDiagnosis
from torch_tb_profiler.views.hang.texts import group_text, operation_text


class LastCall(Struct, frozen=True):
    """The last call of a rank in any group.

    Attributes:
        rank: The rank.
        text: ``"all_gather #6 of group front"``.
        location: Innermost frame that is not of torch; None without a stack.
        stack: All frames; None likewise.
        created_ns: When it was called, since 1970.
        is_completed: Whether it is completed.
    """

    rank: int
    text: str
    location: str | None
    stack: str | None
    created_ns: int | None
    is_completed: bool


def last_calls(diagnosis: HangDiagnosis, ranks: Collection[int]) -> list[LastCall]:
    """The last call of each of the ranks that made any, in order of the rank."""
    dumps = diagnosis.dumps
    rows = (
        dumps.entries.filter(pl.col("rank").is_in(list(ranks)), ~pl.col("is_marker"))
        .sort("rank", "created_ns", "record", nulls_last=False, maintain_order=True)
        .unique("rank", keep="last", maintain_order=True)
    )
    result = []
    for row in rows.iter_rows(named=True):
        number = f" #{row['sequence']}" if row["sequence"] and not row["is_transfer"] else ""
        group = group_text(diagnosis, row["channel"])
        stack = row["stack"]
        result.append(
            LastCall(
                row["rank"],
                f"{operation_text(diagnosis, row['call'])}{number} of {group}",
                dumps.stacks["frame"][stack] if stack >= 0 else None,
                dumps.stacks["frames"][stack] if stack >= 0 else None,
                row["created_ns"],
                row["state"] == 2,
            )
        )
    return result
