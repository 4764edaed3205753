"""Metadata of a journal → :class:`TraceInfo`: host, job, settings and missing data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from torch_tb_profiler.importers.program_settings import program_settings
from torch_tb_profiler.importers.recorder.journal import Header, JournalData
from torch_tb_profiler.importers.recorder.values import INVALID_VALUE
from torch_tb_profiler.trace.info import (
    CAPABILITIES,
    Capability,
    JobInfo,
    NotRecorded,
    ProgramSettings,
    TraceInfo,
)

RECORDER = "torch-tb-profiler record"

CAPABILITIES_BY_NAME: Mapping[str, tuple[Capability, ...]] = {
    "timer": ("throughput",),
    "window": ("operators", "kernels"),
}
"""Name of missing data in a journal → the capabilities, where the names differ."""

WINDOW_CAPABILITIES: tuple[Capability, ...] = (
    "operators", "input_shapes", "input_types", "call_stacks", "python", "modules", "memory",
    "runtime", "kernels", "copies", "occupancy", "blocks_per_sm", "shared_memory", "registers",
    "launches", "communication", "collective_sizes", "graph_kernels", "flops",
)  # fmt: skip

LOADER_SETTINGS = {
    "workers": "loader_workers",
    "batch_size": "batch_size",
    "pin_memory": "pin_memory",
    "prefetch_factor": "prefetch_factor",
    "persistent_workers": "persistent_workers",
}
"""Field of a data loader → the program setting; from the loader that was used first."""

IN_WINDOWS = (
    "this file has the whole run without operators: the windows in which torch.profiler ran are "
    "the other spans"
)
NO_WINDOW = "no window of torch.profiler was recorded; this file has the run without operators"


def trace_info(journal: JournalData) -> TraceInfo:
    """The metadata of the whole run."""
    header = journal.header or Header()
    by_capability = {each.capability: each for each in not_recorded(journal)}
    has_window = any(window.state == "written" for window in journal.windows.values())
    reason = IN_WINDOWS if has_window else NO_WINDOW
    for capability in WINDOW_CAPABILITIES:
        if has_window or capability not in by_capability:
            by_capability[capability] = NotRecorded(capability, reason)
    return TraceInfo(
        recorder=RECORDER,
        recorder_version=header.recorder_version,
        host_name=header.host,
        job=job_info(header),
        settings=journal_settings(journal),
        not_recorded=tuple(by_capability.values()),
    )


def not_recorded(journal: JournalData) -> Iterator[NotRecorded]:
    """The reasons that the recorder gave, the first for each capability."""
    seen: set[Capability] = set()
    for name, reason in journal.missing:
        for capability in CAPABILITIES_BY_NAME.get(
            name, tuple(known for known in CAPABILITIES if known == name)
        ):
            if capability not in seen:
                seen.add(capability)
                yield NotRecorded(capability, reason)


def job_info(header: Header) -> JobInfo | None:
    """The job of the process; None if it was not started by a launcher."""
    if header.rank is None and header.world_size is None:
        return None
    return JobInfo(rank=header.rank, world_size=header.world_size)


def journal_settings(journal: JournalData) -> ProgramSettings:
    """The valid settings of a journal, with those of its first data loader."""
    first = journal.loaders[min(journal.loaders)] if journal.loaders else {}
    loader_settings = {
        setting: first[field]
        for field, setting in LOADER_SETTINGS.items()
        if first.get(field) is not None
    }
    return program_settings(
        {**loader_settings, **journal.settings}, journal.quality, INVALID_VALUE, "settings"
    )


def merge_settings(own: ProgramSettings, recorded: ProgramSettings) -> ProgramSettings:
    """The settings that the program gave, completed by those that the recorder detected."""
    missing = {
        field: getattr(recorded, field)
        for field in recorded.__struct_fields__
        if getattr(own, field) is None
    }
    return msgspec.structs.replace(own, **missing)
