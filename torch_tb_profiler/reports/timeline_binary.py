"""A screen of the timeline as bytes: a short JSON head and typed arrays that pages draw from.

Layout: ``docs/internals.md``, "Timeline".
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from torch_tb_profiler.analysis.recording.kernel_names import kernel_names
from torch_tb_profiler.requests.timeline import TimelineArrayPayload, TimelineHead
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.views.timeline.categories import CATEGORIES, GROUP
from torch_tb_profiler.views.timeline.choice import Choice
from torch_tb_profiler.views.timeline.counter_screen import CounterScreen, counter_screen
from torch_tb_profiler.views.timeline.index import NO_SLICE, Timeline
from torch_tb_profiler.views.timeline.names import name_text
from torch_tb_profiler.views.timeline.screen import Screen, Viewport, screen

Array = npt.NDArray[Any]

MAX_BYTES = 300_000
"""Of a whole answer: a tenth of a second on a line of 24 Mbit/s."""

MAX_LANE_BYTES = 200_000
MAX_NAME_BYTES = 45_000
MAX_NAME_LENGTH = 160
"""Characters of a name: more do not fit into a slice of 1000 px."""

HEAD_BYTES = 5_000
"""Room for the rest of the head, and for filling between the arrays."""

NAME_ENTRY_BYTES = 19
"""A null in the lists of names, and its code."""

BUSY_UNIT = 32_768
"""Busy time of a merged stretch that fills its bucket."""

NO_VALUE = 2**32 - 1
"""Id and name code of what is no slice of the trace."""

_ALIGNMENT = 8


class _Names(NamedTuple):
    """The names of a screen: as recorded, short, demangled."""

    names: list[str | None]
    shorts: list[str | None]
    demangleds: list[str | None]


def timeline_bytes(timeline: Timeline, choice: Choice, view: Viewport) -> bytes:
    """What ``view`` shows of the lanes and counters of ``choice``, at most :data:`MAX_BYTES`."""
    drawn = screen(timeline.lanes, choice.lanes, view, MAX_LANE_BYTES)
    codes, names, arrays = _slice_arrays(timeline, drawn, view)
    arrays |= _lane_arrays(timeline, drawn)
    taken = sum(array.nbytes for array in arrays.values()) + HEAD_BYTES
    taken += sum(map(_encoded_size, names))
    counted = counter_screen(timeline, choice.counters, view, MAX_BYTES - taken)
    arrays["slice_name_codes"] = codes
    arrays |= _counter_arrays(counted)
    head = TimelineHead(
        start_ns=view.start_ns,
        end_ns=view.end_ns,
        pixel_ns=view.pixel_ns,
        bucket_ns=1 << view.shift,
        counter_bucket_ns=1 << counted.shift,
        coarse=drawn.coarse,
        lanes_left_out=drawn.lanes_left_out,
        names=names.names,
        arrays={},
        short_names=names.shorts,
        demangled_names=names.demangleds,
    )
    return _packed(head, arrays)


def _lane_arrays(timeline: Timeline, drawn: Screen) -> dict[str, Array]:
    lanes = timeline.lanes
    return {
        "lane_track": _unsigned(lanes.track[drawn.lane]),
        "lane_row": _unsigned(lanes.row[drawn.lane]),
        "lane_bucket_ns": _unsigned(np.left_shift(1, drawn.shift)),
        "lane_slices": _unsigned(drawn.whole_first),
        "lane_merged": _unsigned(drawn.merged_first),
        "merged_bucket": _unsigned(drawn.bucket),
        "merged_count": _unsigned(drawn.count),
        "merged_busy": _busy_shares(drawn),
        "merged_category": drawn.category.astype(np.uint8),
    }


def _busy_shares(drawn: Screen) -> npt.NDArray[np.uint16]:
    lane = np.repeat(np.arange(len(drawn.lane)), np.diff(drawn.merged_first))
    shares = np.rint(np.ldexp(drawn.busy_ns.astype(np.float64), -drawn.shift[lane]) * BUSY_UNIT)
    limited: npt.NDArray[np.uint16] = np.minimum(shares, 2**16 - 1).astype(np.uint16)
    return limited


def _slice_arrays(
    timeline: Timeline, drawn: Screen, view: Viewport
) -> tuple[Array, _Names, dict[str, Array]]:
    """Codes of the names, names, and the arrays of the whole slices."""
    lanes, slices = timeline.lanes, timeline.trace.slices
    ids = lanes.slice[drawn.whole].astype(np.int64)
    start = lanes.start_ns[drawn.whole]
    dur = lanes.busy_ns[drawn.whole + 1] - lanes.busy_ns[drawn.whole]
    is_synthetic = ids == NO_SLICE
    code = np.where(is_synthetic, -1 - lanes.category[drawn.whole].astype(np.int64), 0)
    code[~is_synthetic] = slices["name_code"].gather(ids[~is_synthetic]).to_numpy()
    if lanes.name is not None:
        own = lanes.name[drawn.whole]
        code = np.where(own >= 0, own, code)
    # What a slice adds to its lane may be less than itself; a call of a group is not its slice.
    as_recorded = ~is_synthetic & (lanes.category[drawn.whole] < GROUP)
    real = ids[as_recorded]
    start[as_recorded] = slices["start_ns"].gather(real).to_numpy() - timeline.origin_ns
    dur[as_recorded] = slices["dur_ns"].gather(real).to_numpy()
    codes, name = np.unique(code, return_inverse=True)
    longest = np.zeros(len(codes), np.int64)
    np.maximum.at(longest, name, dur)
    return (
        np.where(codes < 0, NO_VALUE, codes).astype(np.uint32),
        _names(timeline, codes, longest),
        {
            "slice_start_ns": _offsets(start - view.start_ns),
            "slice_dur_ns": _durations(dur),
            "slice_name": _unsigned(name),
            "slice_id": np.where(is_synthetic, NO_VALUE, ids).astype(np.uint32),
            "slice_category": lanes.category[drawn.whole].astype(np.uint8),
        },
    )


def _names(timeline: Timeline, codes: Int64, longest_ns: Int64) -> _Names:
    """The text of each code and the other two of each kernel's, those of the longest slices first
    while there is room."""
    columns = _Names([None] * len(codes), [None] * len(codes), [None] * len(codes))
    # A screen of parts alone may be of a summary, which has no slices.
    kernels = kernel_names(timeline.trace) if (codes >= 0).any() else None
    room = MAX_NAME_BYTES - NAME_ENTRY_BYTES * len(codes)
    for row in np.argsort(-longest_ns, kind="stable").tolist():
        code = int(codes[row])
        text = CATEGORIES[-1 - code].title if code < -1 else name_text(timeline.trace, code) or ""
        others = (
            (kernels.short_text(code), kernels.demangled_text(code)) if kernels else (None, None)
        )
        texts = (text, *others)
        cut = [name and name[:MAX_NAME_LENGTH] for name in texts]
        room -= sum(len(msgspec.json.encode(name or "")) for name in cut)
        if room < 0:
            break
        for names, name in zip(columns, cut, strict=True):
            names[row] = name
    return columns


def _counter_arrays(counted: CounterScreen) -> dict[str, Array]:
    return {
        "counter_track": _unsigned(counted.track),
        "counter_points": _unsigned(counted.first),
        "point_bucket": _unsigned(counted.bucket),
        "point_min": counted.lowest.astype(np.float32),
        "point_max": counted.highest.astype(np.float32),
        "point_last": counted.last.astype(np.float32),
    }


def _unsigned(values: Array) -> Array:
    """In the smallest unsigned type; as floats when they are beyond 32 bits."""
    largest = int(values.max(initial=0))
    for dtype in (np.uint8, np.uint16, np.uint32):
        if largest <= np.iinfo(dtype).max:
            return values.astype(dtype)
    return values.astype(np.float64)


def _offsets(values: Int64) -> Array:
    """As 32 bit integers when all fit, else as floats, exact up to 104 days."""
    limit = 2**31 - 1
    fits = len(values) == 0 or (values.min() >= -limit and values.max() <= limit)
    return values.astype(np.int32 if fits else np.float64)


def _durations(values: Int64) -> Array:
    fits = len(values) == 0 or values.max() < 2**32
    return values.astype(np.uint32 if fits else np.float64)


def _encoded_size(names: list[str | None]) -> int:
    return len(msgspec.json.encode(names))


def _packed(head: TimelineHead, arrays: dict[str, Array]) -> bytes:
    """Length of the head, head, arrays; each array begins at a multiple of 8."""
    size = 0
    for name, array in arrays.items():
        head.arrays[name] = TimelineArrayPayload(
            dtype=array.dtype.name, offset=size, length=len(array)
        )
        size += _aligned(array.nbytes)
    # The offsets are part of the head that they lie behind: room for the longest comes first.
    room = _aligned(4 + len(msgspec.json.encode(head)) + 7 * len(arrays))
    for entry in head.arrays.values():
        entry.offset += room
    body = bytearray(room + size)
    text = msgspec.json.encode(head).ljust(room - 4)
    body[:4] = (room - 4).to_bytes(4, "little")
    body[4:room] = text
    for name, array in arrays.items():
        offset = head.arrays[name].offset
        little = array.astype(array.dtype.newbyteorder("<"), copy=False)
        body[offset : offset + array.nbytes] = little.tobytes()
    return bytes(body)


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT
