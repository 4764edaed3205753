"""A stretch of the timeline as a still picture: the busiest tracks, with the names of their slices.

For reports that nothing is drawn in later: what one screen of the pages shows, as a few thousand
boxes at most.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from torch_tb_profiler.analysis.recording.kernel_names import kernel_names
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.timeline.categories import CATEGORIES
from torch_tb_profiler.views.timeline.index import NO_SLICE, Timeline, timeline
from torch_tb_profiler.views.timeline.names import name_text
from torch_tb_profiler.views.timeline.notes import TimelineNote
from torch_tb_profiler.views.timeline.placed_slices import placed
from torch_tb_profiler.views.timeline.screen import Screen, Viewport, screen
from torch_tb_profiler.views.timeline.tracks import TimelineTrack, TrackKind

WIDTH_PX = 1000
MAX_LANES_PER_TRACK = 6
MAX_NAME = 200
"""Characters of a name."""

_MAX_BYTES = 30_000
"""For :func:`screen`: some 1300 whole slices, or 3300 merged stretches."""

_MARGIN = 0.25
"""Of the stretch that is shown before and after it, so that its surroundings can be seen."""

_TRACKS: dict[TrackKind, int] = {
    "steps": 1,
    "merged": 2,
    "device_stream": 5,
    "operators": 3,
    "runtime": 1,
}
"""Kind of track → how many of it are shown, the busiest first; others are not."""


class Box(Struct, frozen=True):
    """A slice, or several narrow ones that lie next to each other.

    Attributes:
        start_ns: Start, in ns from the timeline's origin.
        end_ns: End, likewise.
        category: Key of its category (``categories.CATEGORIES``).
        name: Name of the slice; None for several.
        count: How many slices it stands for.
    """

    start_ns: int
    end_ns: int
    category: str
    name: str | None
    count: int = 1


class PictureTrack(Struct, frozen=True):
    """One track: its heading (process or device), its title, and its lanes from top to bottom."""

    group: str
    title: str
    lanes: tuple[tuple[Box, ...], ...]


class PictureNote(Struct, frozen=True):
    """A note of a person: its time in ns from the timeline's origin, the name of the slice it is
    on (None for a moment), and its text."""

    time_ns: int
    slice_name: str | None
    text: str


class Picture(Struct, frozen=True):
    """What a report draws.

    Attributes:
        title: What the stretch is.
        start_ns: Start of what is shown, in ns from the timeline's origin.
        end_ns: Its end.
        mark_ns: Start and end of the stretch it is about.
        tracks: From top to bottom.
        notes: Of a picture that shows notes, in order of time.
    """

    title: str
    start_ns: int
    end_ns: int
    mark_ns: tuple[int, int]
    tracks: tuple[PictureTrack, ...]
    notes: tuple[PictureNote, ...] = ()


def picture_of_notes(trace: Trace, notes: Sequence[TimelineNote]) -> Picture:
    """The stretch from the first to the last of ``notes``, which are in order of time and at least
    one; a single one is shown with a tenth of the recording around it."""
    shown = timeline(trace)
    start_ns, end_ns = notes[0].time_ns, notes[-1].time_ns
    if start_ns == end_ns:
        around_ns = max(1, shown.end_ns // 20)
        start_ns, end_ns = max(0, start_ns - around_ns), start_ns + around_ns
    drawn = picture(trace, "Notes", start_ns, end_ns, None)
    return replace(
        drawn,
        notes=tuple(
            PictureNote(note.time_ns, _name_of_slice(shown, note.slice), note.text)
            for note in notes
        ),
    )


def _name_of_slice(shown: Timeline, slice_id: int | None) -> str | None:
    if slice_id is None or slice_id >= shown.trace.slices.height:
        return None
    return _name(shown, slice_id, 0)


def picture(trace: Trace, title: str, start_ns: int, end_ns: int, slice_id: int | None) -> Picture:
    """The stretch from ``start_ns`` to ``end_ns`` (from the timeline's origin) with a margin.

    Args:
        trace: The recording.
        title: What the stretch is.
        start_ns: Start of the stretch.
        end_ns: Its end.
        slice_id: A slice whose track is shown in any case; None for none.
    """
    shown = timeline(trace)
    margin_ns = max(1, int((end_ns - start_ns) * _MARGIN))
    first_ns, last_ns = max(0, start_ns - margin_ns), min(shown.end_ns, end_ns + margin_ns)
    view = Viewport(first_ns, max(last_ns, first_ns + 1), WIDTH_PX)
    lanes = shown.lanes
    candidates = np.flatnonzero(
        (lanes.row < MAX_LANES_PER_TRACK)
        & np.array([track.kind in _TRACKS for track in shown.tracks], np.bool_)[lanes.track]
    )
    drawn = screen(lanes, candidates, view, 10 * _MAX_BYTES)
    keys = {each.track for each in placed(shown, [] if slice_id is None else [slice_id])}
    own = [number for number, track in enumerate(shown.tracks) if track.key in keys]
    chosen = _chosen_tracks(shown, drawn, own)
    in_picture = candidates[chosen[lanes.track[candidates]]]
    in_picture = in_picture[np.lexsort((lanes.row[in_picture], lanes.track[in_picture]))]
    drawn = screen(lanes, in_picture, view, _MAX_BYTES)
    return Picture(
        title, view.start_ns, view.end_ns, (start_ns, end_ns), tuple(_tracks(shown, drawn, view))
    )


def _chosen_tracks(shown: Timeline, drawn: Screen, own: Iterable[int]) -> Bools:
    """Which tracks are shown: the busiest of each kind, and those in ``own``."""
    lanes, busy_ns = shown.lanes, np.zeros(len(shown.tracks))
    whole_ns = lanes.busy_ns[drawn.whole + 1] - lanes.busy_ns[drawn.whole]
    for at, lane in enumerate(drawn.lane.tolist()):
        whole = slice(*drawn.whole_first[at : at + 2])
        merged = slice(*drawn.merged_first[at : at + 2])
        busy_ns[lanes.track[lane]] += whole_ns[whole].sum() + drawn.busy_ns[merged].sum()
    chosen = np.zeros(len(shown.tracks), np.bool_)
    chosen[list(own)] = True
    for kind, count in _TRACKS.items():
        numbers = [n for n, track in enumerate(shown.tracks) if track.kind == kind and busy_ns[n]]
        chosen[sorted(numbers, key=lambda n: -busy_ns[n])[:count]] = True
    return chosen


def _tracks(shown: Timeline, drawn: Screen, view: Viewport) -> Iterable[PictureTrack]:
    headings = {group.key: group.title for group in shown.groups}
    of_track: dict[int, list[tuple[Box, ...]]] = {}
    for at, lane in enumerate(drawn.lane.tolist()):
        boxes = _boxes(shown, drawn, at, view)
        of_track.setdefault(int(shown.lanes.track[lane]), []).append(boxes)
    for number, lanes in of_track.items():
        track = shown.tracks[number]
        yield PictureTrack(headings.get(track.group, ""), _title(track), tuple(lanes))


def _title(track: TimelineTrack) -> str:
    return f"{track.title} · {track.subtitle}" if track.subtitle else track.title


def _boxes(shown: Timeline, drawn: Screen, at: int, view: Viewport) -> tuple[Box, ...]:
    """The boxes of one lane in order of time."""
    lanes = shown.lanes
    position: Int64 = drawn.whole[slice(*drawn.whole_first[at : at + 2])]
    start_ns = lanes.start_ns[position]
    ends_ns = lanes.end_ns(position)
    boxes = [
        Box(start, end, CATEGORIES[category].key, _name(shown, slice_id, category))
        for start, end, category, slice_id in zip(
            start_ns.tolist(),
            ends_ns.tolist(),
            lanes.category[position].tolist(),
            lanes.slice[position].tolist(),
            strict=True,
        )
    ]
    merged, shift = slice(*drawn.merged_first[at : at + 2]), int(drawn.shift[at])
    first_bucket = view.start_ns >> shift
    for bucket, count, busy_ns, category in zip(
        drawn.bucket[merged].tolist(),
        drawn.count[merged].tolist(),
        drawn.busy_ns[merged].tolist(),
        drawn.category[merged].tolist(),
        strict=True,
    ):
        start = (bucket + first_bucket) << shift
        boxes.append(Box(start, start + busy_ns, CATEGORIES[category].key, None, count))
    return tuple(sorted(boxes, key=lambda box: box.start_ns))


def _name(shown: Timeline, slice_id: int, category: int) -> str:
    if slice_id == NO_SLICE:
        return CATEGORIES[category].title
    code = int(shown.trace.slices["name_code"][slice_id])
    text = kernel_names(shown.trace).short_text(code) or name_text(shown.trace, code) or ""
    return text[:MAX_NAME]
