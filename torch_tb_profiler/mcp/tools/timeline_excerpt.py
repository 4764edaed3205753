"""``timeline_excerpt``: a range of the timeline as text: what each track did, and when not."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.masks import selected_steps
from torch_tb_profiler.loading.queries.traces import as_bad_parameters, cut_trace, timed_trace
from torch_tb_profiler.mcp.answer_text import AnswerText, quoted
from torch_tb_profiler.mcp.calls import page_address
from torch_tb_profiler.mcp.context import ToolContext
from torch_tb_profiler.mcp.rows import number_text
from torch_tb_profiler.mcp.tool import MAX_CHARS, TRACE, McpTool
from torch_tb_profiler.mcp.tool_arguments import ToolArgument
from torch_tb_profiler.mcp.trace_names import file_named, whole_name
from torch_tb_profiler.requests import parameters
from torch_tb_profiler.requests.errors import RequestError, unknown
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US, exact_microseconds
from torch_tb_profiler.views.scales import duration_text, percent_text
from torch_tb_profiler.views.timeline.excerpt import ExcerptSlice, TrackExcerpt, excerpt
from torch_tb_profiler.views.timeline.idle_gaps import IdleGap, idle_gaps
from torch_tb_profiler.views.timeline.index import Timeline, timeline
from torch_tb_profiler.views.timeline.range_summary import range_summary
from torch_tb_profiler.views.timeline.tracks import TimelineTrack

MAX_SLICES = 200
"""Slices that are computed per track; the size of the answer decides how many are listed."""
LEAST_SLICES = 5
MAX_TRACKS = 40
MAX_GAPS = 8
GAP_NAMES = 3
RELATIVE = "+"
"""How a time since the start of the recording begins."""


class _Range(Struct, frozen=True):
    """A range in ns of trace time, and what it is."""

    start_ns: int
    end_ns: int
    label: str


def timeline_excerpt(context: ToolContext, arguments: dict[str, Any]) -> str:
    """Devices, idle gaps with causes, then each track with its largest slices."""
    file = file_named(context, arguments["trace"])
    given = {"run": file.run, "worker": file.worker, "span": file.span}
    times = {key: arguments[key].strip() for key in ("start_us", "end_us") if arguments[key]}
    is_relative = any(text.startswith(RELATIVE) for text in times.values())
    given |= {key: text.removeprefix(RELATIVE) for key, text in times.items()}
    subject = parameters.subject(given)
    trace = context.when_ready(lambda wait_s: timed_trace(context.catalog, subject, wait_s))[1]
    try:
        selection = _in_trace_time(trace, subject.selection, is_relative=is_relative)
        chosen = _range(trace, selection, arguments["step"])
        shown = timeline(trace)
        start_ns, end_ns = chosen.start_ns - shown.origin_ns, chosen.end_ns - shown.origin_ns
        numbers = _chosen_tracks(shown, arguments["tracks"])
        answer = AnswerText(arguments["max_chars"])
        answer.add(
            f"{whole_name(file)}, {chosen.label}: {duration_text((end_ns - start_ns) / NS_PER_US)} "
            f"from start_us={_us(chosen.start_ns)} to end_us={_us(chosen.end_ns)} (trace time). "
            f"Page: {_page(given, chosen)}"
        )
        _add_devices(answer, shown, start_ns, end_ns)
        _add_gaps(answer, shown, start_ns, end_ns)
        _add_tracks(answer, shown, start_ns, end_ns, numbers)
        return answer.text()
    finally:
        context.catalog.store.enforce_limit()


def _page(given: dict[str, str], chosen: _Range) -> str:
    subject = parameters.subject(given)
    times = {"start_us": _us(chosen.start_ns), "end_us": _us(chosen.end_ns)}
    return page_address(subject, "timeline", times)


def _us(time_ns: int) -> str:
    return f"{Decimal(time_ns) / NS_PER_US:f}"


def _in_trace_time(trace: Trace, selection: Selection, *, is_relative: bool) -> Selection:
    """The range in trace time; one outside the recording, as tables have it since its start."""
    first, last = trace.meta.start_ns, trace.meta.end_ns
    start, end = selection.start_ns, selection.end_ns
    outside = (end is not None and end <= first) or (start is not None and start > last)
    if not (is_relative or outside):
        return selection
    moved = replace(
        selection,
        start_ns=None if start is None else start + first,
        end_ns=None if end is None else end + first,
    )
    is_inside = (moved.start_ns or first) <= last and (moved.end_ns or last + 1) > first
    return moved if is_relative or is_inside else selection


def _range(trace: Trace, selection: Selection, step: str) -> _Range:
    """The range that was asked for; without one the step of median length, else everything.

    Raises:
        RequestError: it is empty, both a range and a step were given, or there is no such step.
    """
    first, last = trace.meta.start_ns, trace.meta.end_ns
    if selection.start_ns is not None or selection.end_ns is not None:
        if step:
            raise RequestError("bad_argument", "Give step, or start_us and end_us, not both.")
        start = first if selection.start_ns is None else selection.start_ns
        end = last + 1 if selection.end_ns is None else selection.end_ns
        if end <= max(start, first) or start > last:
            text = (
                f"The recording lasts from start_us={_us(first)} to end_us={_us(last)} in trace "
                f"time, and from +0 to +{_us(last - first)} since its start."
            )
            raise RequestError("bad_argument", "The range holds nothing of the recording.", text)
        return _Range(start, end, "a range")
    with as_bad_parameters():
        cut = cut_trace(trace, Selection(steps=step or None))
        steps = cut.steps.filter(selected_steps(cut, Selection(steps=step or None)))
    if steps.is_empty():
        return _Range(first, last + 1, "the whole recording, which has no steps")
    if not step:
        steps = steps.sort(pl.col("end_ns") - pl.col("start_ns"))
        steps = steps.slice((steps.height - 1) // 2, 1)
    names = ", ".join(quoted(name) for name in steps["name"].head(3).to_list())
    more = f" and {steps.height - 3} more" if steps.height > 3 else ""
    label = f"step {names}{more}" + ("" if step else ", that of median length")
    (start, end) = steps.select(pl.min("start_ns"), pl.max("end_ns")).row(0)
    return _Range(start, max(end, start + 1), label)


def _chosen_tracks(shown: Timeline, text: str) -> list[int]:
    """Numbers of the tracks whose key, title, kind or group contains one of the texts; without
    text all but those of Python frames and of the profiler itself.

    Raises:
        UnknownError: no track matches.
    """
    numbers = [number for number, track in enumerate(shown.tracks) if track.key in shown.rows]
    if not text.strip():
        open_tracks = [number for number in numbers if not shown.tracks[number].collapsed]
        return open_tracks or numbers
    titles = {group.key: group.title for group in shown.groups}
    parts = [part.strip().lower() for part in text.split(",") if part.strip()]
    names = {number: _names(shown.tracks[number], titles) for number in numbers}
    chosen = [number for number in numbers if any(part in names[number].lower() for part in parts)]
    if not chosen:
        known = [f"{shown.tracks[number].key} {shown.tracks[number].title}" for number in numbers]
        raise unknown("track", text, [quoted(each, 80) for each in known])
    return chosen


def _names(track: TimelineTrack, titles: dict[str, str]) -> str:
    kind = "stream" if track.kind == "device_stream" else track.kind
    texts = (track.key, track.title, kind, track.subtitle, titles.get(track.group))
    return " ".join(text for text in texts if text)


def _add_devices(answer: AnswerText, shown: Timeline, start_ns: int, end_ns: int) -> None:
    gpus = range_summary(shown, start_ns, end_ns).gpus
    length_us = (end_ns - start_ns) / NS_PER_US
    for gpu in gpus:
        parts = {
            f"busy ({percent_text(gpu.busy_us / length_us * 100)})": gpu.busy_us,
            "computation alone": gpu.computation_us,
            "communication alone": gpu.communication_us,
            "both": gpu.overlap_us,
            "copies alone": gpu.copies_us,
            "idle": gpu.idle_us,
        }
        texts = [f"{title} {_number(time_us)}" for title, time_us in parts.items()]
        answer.add(f"Device {gpu.device}, µs: {', '.join(texts)}.", "further devices")
    if not gpus:
        answer.add("No device work in the recording: no busy or idle time of devices.")


def _add_gaps(answer: AnswerText, shown: Timeline, start_ns: int, end_ns: int) -> None:
    gaps = idle_gaps(shown, start_ns, end_ns, MAX_GAPS)
    if not gaps.count:
        return
    head = f"{gaps.count} idle gaps of {_number(gaps.total_us)} µs together, the longest first:"
    lines = [_gap(each, start_ns) for each in gaps.gaps]
    if answer.add_lines([head], lines) < gaps.count:
        answer.note_cut("shorter idle gaps; ask for table view=idle table=gaps")


def _gap(each: IdleGap, start_ns: int) -> str:
    gap = each.gap
    length_us = (gap.end_ns - gap.start_ns) / NS_PER_US
    causes = ", ".join(
        f"{cause.cause} {_number(cause.dur_us)} µs" for cause in each.causes[:GAP_NAMES]
    )
    host = ", ".join(f"{quoted(name.name, 60)} {_number(name.self_us)} µs" for name in gap.host)
    meanwhile = f"; host meanwhile: {host}" if host else ""
    after = f"; next {quoted(each.after.short_name or each.after.name, 60)}" if each.after else ""
    return (
        f"  +{_number((gap.start_ns - start_ns) / NS_PER_US)} µs, device {gap.device}: "
        f"{_number(length_us)} µs ({causes}){meanwhile}{after}"
    )


def _add_tracks(
    answer: AnswerText, shown: Timeline, start_ns: int, end_ns: int, numbers: list[int]
) -> None:
    titles = {group.key: group.title for group in shown.groups}
    every = excerpt(shown, start_ns, end_ns, numbers, MAX_SLICES)
    active = [each for each in every if each.count]
    inactive = len(every) - len(active)
    active.sort(key=lambda each: -each.busy_ns)
    shown_tracks = active[:MAX_TRACKS]
    answer.add(
        f"{len(active)} tracks with slices, the busiest first. Largest slices by self time in "
        "order of start: +start after the range's start, duration, self time (µs), depth, name."
    )
    for position, each in enumerate(shown_tracks):
        left = len(shown_tracks) - position
        head = _track_head(each, titles, end_ns - start_ns)
        _add_track(answer, each, head, start_ns, answer.room_bytes // left)
    if len(active) > MAX_TRACKS:
        answer.note_cut(f"{len(active) - MAX_TRACKS} less busy tracks; name them with tracks")
    if inactive:
        answer.add(f"{inactive} tracks have nothing in this range.")


def _track_head(each: TrackExcerpt, titles: dict[str, str], length_ns: int) -> str:
    track = each.track
    names = [titles.get(track.group, ""), track.title, track.subtitle or ""]
    name = quoted(" · ".join(filter(None, names)))
    busy_us = exact_microseconds(each.busy_ns)
    share = percent_text(each.busy_ns / length_ns * 100)
    return f"[{track.key}] {name}: busy {_number(busy_us)} µs ({share}), {each.count} slices"


def _add_track(
    answer: AnswerText, each: TrackExcerpt, head: str, start_ns: int, share_bytes: int
) -> None:
    """The track with as many of its largest slices as its share of the answer holds."""
    by_size = sorted(each.largest, key=lambda one: -one.self_ns)
    lines = {id(one): _slice_line(one, start_ns) for one in by_size}
    room = share_bytes - len(head.encode()) - len(_others(each, 0).encode()) - 2
    listed: set[int] = set()
    for one in by_size:
        room -= len(lines[id(one)].encode()) + 1
        if room < 0 and len(listed) >= LEAST_SLICES:
            break
        listed.add(id(one))
    texts = [lines[id(one)] for one in each.largest if id(one) in listed]
    more = [_others(each, len(texts))] if each.count > len(texts) else []
    cut = f"slices of {each.track.key}; ask with tracks={each.track.key} or a shorter range"
    answer.add("\n".join([head, *texts, *more]), cut)


def _others(each: TrackExcerpt, listed: int) -> str:
    """How many slices are not listed, and the names with most self time among the short ones."""
    names = ", ".join(
        f"{quoted(name.name, 60)} {name.count}x {_number(name.self_us)} µs self"
        for name in each.others
    )
    short = f"; of the short ones: {names}" if names else ""
    return f"  and {each.count - listed} slices with less self time{short}"


def _slice_line(one: ExcerptSlice, start_ns: int) -> str:
    offset, dur, own = (
        value / NS_PER_US for value in (one.start_ns - start_ns, one.dur_ns, one.self_ns)
    )
    sign = "+" if offset >= 0 else ""
    times = f"{sign}{_number(offset)}  {_number(dur)}  {_number(own)}"
    return f"  {times}  {one.depth}  {quoted(one.name, 80)}"


def _number(time_us: float) -> str:
    return number_text(float(time_us), "us")


TOOL = McpTool(
    "timeline_excerpt",
    "What ran when",
    "Describes a range of the timeline: busy, computation, communication and idle time of each "
    "device, the longest idle gaps with their causes and what the host did meanwhile, and of each "
    "thread and stream the busy time and its largest slices in order. Give step, or start_us and "
    "end_us; without them the step of median length. Python frames only with tracks=frames.",
    (
        TRACE,
        ToolArgument(
            "start_us",
            "Start of the range in µs: +84.8 since the start of the recording, as start_us of "
            "tables, or in trace time, as in the calls of findings.",
        ),
        ToolArgument("end_us", "Its end, not included."),
        ToolArgument("step", "Instead of a range a step, as 5, or some: 5:8."),
        ToolArgument(
            "tracks",
            "Only tracks whose key, title, kind or device contains one of these texts, separated "
            "by commas: stream, operators, frames, t3.",
        ),
        MAX_CHARS,
    ),
    timeline_excerpt,
)
