"""What was not sampled, and why: as the recorder says."""

from __future__ import annotations

from collections.abc import Sequence

from torch_tb_profiler.analysis.measured.counters import device_counters
from torch_tb_profiler.analysis.recording.samples import MAX_SERIES, SampleSeries, samples
from torch_tb_profiler.knowledge.resources import DEVICES, HOST, source_kind
from torch_tb_profiler.trace.info import Capability
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.null_reasons import missing_reason, recorded_reason
from torch_tb_profiler.views.schema import Note

NOTHING = "The recording holds no samples of the host or devices, and no utilization counters."
MAX_NAMES = 5
"""Names of unknown counters in the note."""

SAMPLED: dict[Capability, tuple[str, str]] = {
    "host_samples": (HOST, "host and processes"),
    "gpu_samples": (DEVICES, "GPUs"),
}
"""What a recorder of samples may lack, the kind of their sources, and of what that is."""


def nothing_reason(trace: Trace) -> str:
    """Why nothing was measured."""
    own = [reason for what in SAMPLED if (reason := recorded_reason(trace, what)) is not None]
    if own:
        return " ".join(dict.fromkeys(own))
    of_gpus = missing_reason(trace, "gpu_metrics", NOTHING)
    return missing_reason(trace, "host_samples", NOTHING) if of_gpus == NOTHING else of_gpus


def not_sampled(trace: Trace, series: Sequence[SampleSeries]) -> list[Note]:
    """The recorder's own reasons, of all and of some of what it samples."""
    kinds = {source_kind(each.source, each.metric) for each in series}
    notes = []
    for what, (kind, source) in SAMPLED.items():
        reason = recorded_reason(trace, what)
        if reason is not None:
            text = (
                f"{'Not all metrics were' if kind in kinds else 'Nothing was'} sampled for "
                f"{source}: {reason}"
            )
            notes.append(Note("quality", f"{what}_missing", "info", text))
    return notes


def series_left_out(trace: Trace) -> list[Note]:
    """That there are too many metrics."""
    count = samples(trace).left_out
    if not count:
        return []
    text = f"{count:,} metrics are not shown: the recording has more than {MAX_SERIES}."
    return [Note("quality", "samples_left_out", "info", text, {"count": count})]


def unknown_counters(trace: Trace) -> list[Note]:
    """That counters of devices have names of no known meaning."""
    names = {each.meaning.name for each in device_counters(trace) if each.role is None}
    if not names:
        return []
    shown = ", ".join(sorted(names)[:MAX_NAMES]) + (", …" if len(names) > MAX_NAMES else "")
    text = (
        f"{len(names):,} counters of devices have names whose meaning is not known ({shown}): they "
        "are shown as recorded and take part in no other figure."
    )
    return [Note("quality", "unknown_counters", "info", text, {"count": len(names)})]
