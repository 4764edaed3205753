"""What a journal says of a recording beside its rows → :class:`TraceInfo`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from torch_tb_profiler.importers.recorder.journal import Header, Journal
from torch_tb_profiler.importers.recorder.settings import settings_of
from torch_tb_profiler.trace.info import CAPABILITIES, Capability, JobInfo, NotRecorded, TraceInfo

RECORDER = "torch-tb-profiler record"

OF_RECORDER: Mapping[str, tuple[Capability, ...]] = {
    "timer": ("throughput",),
    "window": ("operators", "kernels"),
}
"""What the recorder says is missing → what that is of a recording, where the words differ."""

OF_WINDOWS: tuple[Capability, ...] = (
    "operators", "input_shapes", "input_types", "call_stacks", "python", "modules", "memory",
    "runtime", "kernels", "copies", "occupancy", "blocks_per_sm", "shared_memory", "registers",
    "launches", "communication", "collective_sizes", "graph_kernels", "flops",
)  # fmt: skip

IN_WINDOWS = (
    "this file holds the whole run without operators: the windows in which torch.profiler ran are "
    "the other spans"
)
NO_WINDOW = "no window of torch.profiler was recorded, and this file holds the run without one"


def trace_info(journal: Journal) -> TraceInfo:
    """What a journal says of the whole run."""
    header = journal.header or Header()
    told = {each.capability: each for each in not_recorded(journal)}
    has_window = any(window.state == "written" for window in journal.windows.values())
    reason = IN_WINDOWS if has_window else NO_WINDOW
    for what in OF_WINDOWS:
        if has_window or what not in told:
            told[what] = NotRecorded(what, reason)
    return TraceInfo(
        recorder=RECORDER,
        recorder_version=header.recorder_version,
        host_name=header.host,
        job=job_of(header),
        settings=settings_of(journal),
        not_recorded=tuple(told.values()),
    )


def not_recorded(journal: Journal) -> Iterator[NotRecorded]:
    """The recorder's own reasons, the first of each thing."""
    told: set[Capability] = set()
    for what, reason in journal.missing:
        for each in OF_RECORDER.get(what, tuple(known for known in CAPABILITIES if known == what)):
            if each not in told:
                told.add(each)
                yield NotRecorded(each, reason)


def job_of(header: Header) -> JobInfo | None:
    """The job of a process that a launcher started; None without one."""
    if header.rank is None and header.world_size is None:
        return None
    return JobInfo(rank=header.rank, world_size=header.world_size)
