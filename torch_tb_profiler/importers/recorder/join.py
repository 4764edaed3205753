"""Joins the blocks that the recorder appended to a trace of another format: samples, tables,
settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from torch_tb_profiler.importers.recorder.info import (
    RECORDER,
    job_info,
    journal_settings,
    merge_settings,
    not_recorded,
)
from torch_tb_profiler.importers.recorder.journal import Header, JournalData
from torch_tb_profiler.importers.recorder.side_tables import side_tables
from torch_tb_profiler.importers.recorder.values import StringCodes
from torch_tb_profiler.trace.columns import EventColumns
from torch_tb_profiler.trace.info import Capability

RECORDER_CAPABILITIES: tuple[Capability, ...] = (
    "throughput", "host_samples", "gpu_samples", "data_loading", "loader_stages",
    "loader_queues", "settings",
)  # fmt: skip
"""Data that only the recorder can have recorded; its reasons are used for these alone."""


def join_journal(columns: EventColumns, blocks: Sequence[dict[str, Any]]) -> None:
    """Add the blocks to a trace, on the trace's clock.

    If that does not count from 1970, samples keep their own clock.

    Args:
        columns: The trace, changed in place.
        blocks: Blocks of a journal; they may be damaged.
    """
    journal = JournalData.empty(columns.quality, columns.budget)
    journal.add_blocks(blocks)
    base_ns = columns.base_ns or journal.first_ns()
    texts = StringCodes(columns.strings)
    samples = journal.samples.table(base_ns, texts.code)
    count = len(samples["time_ns"])
    if count:
        columns.tables["samples"] = samples
        columns.quality.add("samples_own_clock", 0 if columns.base_ns else count)
    columns.side = (*columns.side, *side_tables(journal, base_ns, RECORDER))
    header, info = journal.header or Header(), columns.info
    reasons = (each for each in not_recorded(journal) if each.capability in RECORDER_CAPABILITIES)
    columns.info = msgspec.structs.replace(
        info,
        host_name=info.host_name or header.host,
        job=info.job or job_info(header),
        settings=merge_settings(info.settings, journal_settings(journal)),
        not_recorded=(*info.not_recorded, *reasons),
    )
