"""A stretch of the timeline as inline SVG."""

from __future__ import annotations

from torch_tb_profiler.reports.html.colours import colour, label_class
from torch_tb_profiler.reports.html.markup import Markup, element, number
from torch_tb_profiler.reports.text import shortened
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.scales import duration_text
from torch_tb_profiler.views.timeline.picture import Box, Picture, PictureTrack

_WIDTH = 1000
_LEFT = 190
_LANE, _TRACK_GAP, _HEADING = 15, 4, 18
_AXIS = 22
_CHARACTER_PX = 6.8
_TITLE_CHARACTERS = 25
_TICKS = 5
_MIN_PX = 0.4
"""Narrower boxes would not be seen."""


def timeline_markup(picture: Picture) -> Markup:
    """The picture with its tracks, their titles at the left, and the stretch it is about framed."""
    y, group = float(_AXIS), ""
    shapes: list[Markup] = []
    for track in picture.tracks:
        if track.group != group:
            group = track.group
            shapes.append(_label(shortened(group, 120), 0, y + 13, "soft"))
            y += _HEADING
        shapes += _track(track, picture, y)
        y += _LANE * len(track.lanes) + _TRACK_GAP
    start, end = (_x(edge, picture) for edge in picture.mark_ns)
    frame = element(
        "rect",
        x=start,
        y=_AXIS - 4,
        width=max(1.0, end - start),
        height=y - _AXIS + 4,
        class_="spot",
    )
    flags = [
        _flag(number, note.time_ns, picture) for number, note in enumerate(picture.notes, start=1)
    ]
    length_us = (picture.mark_ns[1] - picture.mark_ns[0]) / NS_PER_US
    title = f"{picture.title}: {duration_text(length_us)}, framed"
    return element(
        "figure",
        element("figcaption", title, class_="caption"),
        element(
            "svg",
            *_axis(picture, y),
            *shapes,
            frame,
            *flags,
            viewBox=f"0 0 {_WIDTH} {number(y + 2)}",
            role="img",
            aria_label=title,
        ),
        _notes(picture),
    )


def _flag(number: int, time_ns: int, picture: Picture) -> Markup:
    x = _x(time_ns, picture)
    pole = element("line", x1=x, x2=x, y1=14, y2=_AXIS + 4, class_="pole")
    return element("g", pole, element("text", str(number), x=x + 2, y=_AXIS, class_="flag"))


def _notes(picture: Picture) -> Markup | None:
    if not picture.notes:
        return None
    items = [
        element(
            "li",
            f"{note.text} ",
            element("small", f"at {duration_text(note.time_ns / NS_PER_US)}"),
            element("small", f", on {note.slice_name}") if note.slice_name else None,
        )
        for note in picture.notes
    ]
    return element("ol", *items, class_="notes")


def _x(time_ns: float, picture: Picture) -> float:
    span = max(1, picture.end_ns - picture.start_ns)
    share = (time_ns - picture.start_ns) / span
    return _LEFT + min(1.0, max(0.0, share)) * (_WIDTH - _LEFT)


def _track(track: PictureTrack, picture: Picture, top: float) -> list[Markup]:
    shapes = [_label(shortened(track.title, _TITLE_CHARACTERS), 8, top + 11)]
    for lane, boxes in enumerate(track.lanes):
        y = top + lane * _LANE
        merged: dict[str, list[str]] = {}
        for box in boxes:
            if box.name is None:
                merged.setdefault(box.category, []).append(_outline(box, picture, y))
            else:
                shapes.append(_named(box, box.name, picture, y))
        shapes += [
            element("path", d="".join(outlines), fill=colour(category))
            for category, outlines in merged.items()
        ]
    return shapes


def _outline(box: Box, picture: Picture, y: float) -> str:
    left = _x(box.start_ns, picture)
    width = number(max(_MIN_PX, _x(box.end_ns, picture) - left))
    height = _LANE - 1
    return f"M{number(left)} {number(y)}h{width}v{height}h-{width}z"


def _named(box: Box, name: str, picture: Picture, y: float) -> Markup:
    left = _x(box.start_ns, picture)
    width = max(_MIN_PX, _x(box.end_ns, picture) - left)
    length = duration_text((box.end_ns - box.start_ns) / NS_PER_US)
    shape = element(
        "rect",
        element("title", f"{name}: {length}"),
        x=left,
        y=y,
        width=width,
        height=_LANE - 1,
        fill=colour(box.category),
    )
    characters = int((width - 6) / _CHARACTER_PX)
    if characters < 4:
        return shape
    class_ = None if box.category in ("step", "merged_idle") else label_class(box.category)
    label = _label(shortened(name, characters), left + 3, y + 11, class_)
    return element("g", shape, label)


def _axis(picture: Picture, bottom: float) -> list[Markup]:
    span = picture.end_ns - picture.start_ns
    shapes = []
    for at in range(_TICKS + 1):
        time_ns = picture.start_ns + span * at / _TICKS
        x = _x(time_ns, picture)
        label = duration_text((time_ns - picture.start_ns) / NS_PER_US) if at else "0"
        anchor = "end" if at == _TICKS else "middle"
        shapes.append(element("line", x1=x, x2=x, y1=_AXIS - 4, y2=bottom, class_="grid"))
        shapes.append(element("text", f"+{label}", x=x, y=12, class_="soft", text_anchor=anchor))
    return shapes


def _label(value: str, x: float, y: float, class_: str | None = None) -> Markup:
    return element("text", value, x=x, y=y, class_=class_)
