"""How many stages each rank of an interleaved pipeline holds, where no range names them.

With v stages per rank, rank r of p begins with 2 (p - r - 1) + (v - 1) p forward passes, then does
one forward and one backward pass by turns (Megatron-LM, Narayanan et al. 2021; torch's
``ScheduleInterleaved1F1B``): the order of the passes of all ranks says v.
"""

from __future__ import annotations

import polars as pl


def with_inferred_chunks(stages: pl.DataFrame, count: int) -> pl.DataFrame:
    """The stages with ``chunks`` and ``microbatches`` of steps whose passes no range names, where
    the orders of all recorded ranks fit one number of stages per rank.

    Args:
        stages: As ``STAGE_STEPS``.
        count: Ranks of a pipeline.
    """
    steps = ["pipeline", "step"]
    unnamed = stages.filter((pl.col("chunks") == 1).all().over(steps))
    if count < 2 or unnamed.is_empty():
        return stages
    inferred = []
    for key, rows in unnamed.group_by(steps, maintain_order=True):
        fitting = [
            set(_fitting_chunks(order, stage, count))
            for order, stage in rows.select("order", "stage").unique().rows()
        ]
        common = set.intersection(*fitting)
        if len(common) == 1:
            inferred.append((*key, common.pop()))
    schema = {name: stages.schema[name] for name in steps} | {"inferred": pl.Int64()}
    chunks = pl.coalesce("inferred", "chunks")
    forwards = pl.col("microbatches") * pl.col("chunks")
    return (
        stages.join(
            pl.DataFrame(inferred, schema, orient="row"),
            on=steps,
            how="left",
            maintain_order="left",
        )
        .with_columns(chunks=chunks, microbatches=forwards // chunks)
        .drop("inferred")
    )


def warm_up_passes(stage: int, count: int, chunks: int) -> int:
    """Forward passes before the first backward one of a rank of an interleaved pipeline, where
    there are as many."""
    return 2 * (count - stage - 1) + (chunks - 1) * count


def _fitting_chunks(order: str, stage: int, count: int) -> list[int]:
    """The numbers of stages per rank with which a rank may have this order of passes."""
    passes = order.count("F")
    return [
        chunks
        for chunks in range(2, passes // count + 1)
        if passes % (chunks * count) == 0 and order == _order(passes, stage, count, chunks)
    ]


def _order(passes: int, stage: int, count: int, chunks: int) -> str:
    warm = min(passes, warm_up_passes(stage, count, chunks))
    return "F" * warm + "FB" * (passes - warm) + "B" * warm
