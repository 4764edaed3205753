"""What a recorder appended to a trace of another format: samples, tables and settings join it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from torch_tb_profiler.importers.recorder.info import RECORDER, job_of, not_recorded
from torch_tb_profiler.importers.recorder.journal import Header, Journal
from torch_tb_profiler.importers.recorder.settings import joined, settings_of
from torch_tb_profiler.importers.recorder.side import side_tables
from torch_tb_profiler.importers.recorder.texts import Texts
from torch_tb_profiler.trace.columns import EventColumns
from torch_tb_profiler.trace.info import Capability

KEY = "torch_tb_profiler"
"""The key of the outermost object that holds the blocks."""

BESIDE_EVENTS: tuple[Capability, ...] = (
    "throughput", "host_samples", "gpu_samples", "data_loading", "settings",
)  # fmt: skip
"""What only the recorder records: of what its reasons count beside the events of a trace."""


def join_run(columns: EventColumns, blocks: Sequence[dict[str, Any]]) -> None:
    """Add what the blocks tell to what was read of a trace, on its clock.

    Where the trace has none that counts from 1970, samples keep their own.

    Args:
        columns: What was read; changed.
        blocks: Blocks of a journal, maybe damaged.
    """
    journal = Journal(columns.quality)
    journal.take(blocks)
    base_ns = columns.base_ns or journal.first_ns()
    texts = Texts(columns.strings)
    samples = journal.sampled.table(base_ns, texts.code)
    count = len(samples["time_ns"])
    if count:
        columns.tables["samples"] = samples
        columns.quality.add("samples_own_clock", 0 if columns.base_ns else count)
    columns.side = (*columns.side, *side_tables(journal, base_ns, RECORDER))
    header, info = journal.header or Header(), columns.info
    reasons = (each for each in not_recorded(journal) if each.capability in BESIDE_EVENTS)
    columns.info = msgspec.structs.replace(
        info,
        host_name=info.host_name or header.host,
        job=info.job or job_of(header),
        settings=joined(info.settings, settings_of(journal)),
        not_recorded=(*info.not_recorded, *reasons),
    )
