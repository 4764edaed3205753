"""What was sampled of hosts and devices, as counters of the timeline: a heading per source."""

from __future__ import annotations

from torch_tb_profiler.analysis.samples import SampleSeries, have_own_clock, samples
from torch_tb_profiler.knowledge.resources import is_momentary
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.timeline.counter import Counter
from torch_tb_profiler.views.timeline.curves import StepCurve
from torch_tb_profiler.views.timeline.tracks import Group, TimelineTrack, Unit

UNITS: dict[str, Unit] = {"%": "pct", "bytes": "bytes"}
"""Units that pages scale; others stand behind the number."""


def sampled_counters(trace: Trace) -> tuple[list[Counter], int]:
    """A counter per series, by source, and how many series are left out. None of samples with a
    clock of their own."""
    if trace.samples.is_empty() or have_own_clock(trace):
        return [], 0
    sampled = samples(trace)
    groups: dict[str, Group] = {}
    listed = []
    for number, series in enumerate(sampled.series):
        title = f"{series.source}: sampled"
        group = groups.setdefault(series.source, Group(f"s{len(groups)}", title, "process"))
        listed.append(_counter(f"s{number}.samples", series, group, trace.meta.start_ns))
    return listed, sampled.left_out


def _help(source: str) -> str:
    if is_momentary(source):
        return f"Measured of one kernel each, of: {source}. Drawn until the next kernel measured."
    return f"Sampled beside the events, of: {source}. Each value holds until the next."


def _counter(key: str, series: SampleSeries, group: Group, origin_ns: int) -> Counter:
    curve = StepCurve(series.time_ns - origin_ns, series.value)
    unit = UNITS.get(series.unit)
    track = TimelineTrack(
        key,
        series.metric,
        kind="counter",
        group=group.key,
        help=_help(series.source),
        lanes=1,
        unit=unit,
        unit_label=None if unit else series.unit or None,
        maximum=curve.maximum,
    )
    return Counter(track, group, curve)
