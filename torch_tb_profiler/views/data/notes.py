"""What the queues say: the bottleneck of the pipeline, and whether preparing or sending is slow."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.knowledge.data_loading import classify_operation, data_loading
from torch_tb_profiler.views.data.bottleneck import Bottleneck, Pipeline
from torch_tb_profiler.views.schema import Note


def empty_pct(rows: pl.DataFrame) -> float | None:
    """Share of the batches that found their queue empty; None where no size is told."""
    sizes = rows["size"].drop_nulls()
    return float((sizes == 0).sum()) / len(sizes) * 100 if len(sizes) else None


def queue_notes(queues: pl.DataFrame) -> tuple[Note, ...]:
    """Where the queue on the host is often empty, preparing data is slow; where that is not, and
    the queue on the device was empty, sending is."""
    limit = data_loading().empty_batches_pct
    host = empty_pct(queues.filter(queue="host"))
    device = empty_pct(queues.filter(queue="device"))
    if host is not None and host > limit:
        text = (
            f"No batch was ready at the end of the data pipeline for {host:.1f} % of the "
            "batches: preparing data is too slow. The bottleneck of the pipeline shows where."
        )
        evidence = _evidence("Preparing data", host, limit)
        return (Note("advice", "data_processing_slow", "warning", text, evidence),)
    if host is not None and device is not None and device > 0:
        text = (
            f"The device queue was empty for {device:.1f} % of the batches, the host queue only "
            f"for {host:.1f} %: the transfer to the device is too slow. Send fewer or smaller "
            "columns, and check whether the link is shared."
        )
        evidence = _evidence("Sending data", device, 0.0)
        return (Note("advice", "data_transfer_slow", "warning", text, evidence),)
    return ()


def bottleneck_notes(
    pipeline: Pipeline, bottlenecks: list[Bottleneck], host_empty_pct: float | None
) -> tuple[Note, ...]:
    """One note per bottleneck, with what to do about operations of its kind. Where the queue behind
    the pipeline is recorded and seldom empty, it costs nothing now, and is no warning."""
    limit = data_loading().empty_batches_pct
    is_felt = host_empty_pct is None or host_empty_pct > limit
    return tuple(_bottleneck_note(pipeline, each, is_felt=is_felt) for each in bottlenecks)


def _bottleneck_note(pipeline: Pipeline, bottleneck: Bottleneck, *, is_felt: bool) -> Note:
    names = [f"{pipeline.types[number]} ({number})" for number in bottleneck.operations]
    shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    is_one = len(names) == 1
    why = " and ".join(
        part
        for part in (
            None
            if bottleneck.before_pct is None
            else f"its input queue is {bottleneck.before_pct:.0f} % full",
            None
            if bottleneck.behind_pct is None
            else f"no queue after {'it' if is_one else 'them'} is more than "
            f"{bottleneck.behind_pct:.0f} % full"
            if bottleneck.before_pct is None
            else f"its output queue {bottleneck.behind_pct:.0f} %",
        )
        if part is not None
    )
    advice = classify_operation(pipeline.types[bottleneck.operations[0]]).advice
    verb = "is the bottleneck" if is_one else "are the bottleneck"
    text = f"{shown} {verb} of the data pipeline: {why}. {advice}"
    measured = bottleneck.before_pct if bottleneck.behind_pct is None else bottleneck.behind_pct
    limit = data_loading().full_pct if bottleneck.behind_pct is None else data_loading().empty_pct
    evidence = _evidence("Data pipeline", measured or 0.0, limit)
    evidence["operations"] = list(bottleneck.operations)
    return Note("advice", "data_bottleneck", "warning" if is_felt else "info", text, evidence)


def _evidence(title: str, measured: float, threshold: float) -> dict[str, object]:
    return {
        "title": title,
        "measured": measured,
        "threshold": threshold,
        "threshold_is_ours": False,
        "unit": "pct",
    }
