"""The answers of the timeline's routes, and the head of its binary answer.

Shapes and rules: ``docs/internals.md``, "Timeline". All times are integers of nanoseconds from
the timeline's origin, the start of the trace's first slice, so that they are exact in JavaScript.
Tracks, slices, sums and clocks are encoded as ``views.timeline`` declares them.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from torch_tb_profiler.requests.encoding import Answer
from torch_tb_profiler.requests.views import TablePayload, TraceRef
from torch_tb_profiler.views.timeline.categories import TimelineCategory
from torch_tb_profiler.views.timeline.clocks import WorkerClock, WorkerGroup
from torch_tb_profiler.views.timeline.flows import FlowKind
from torch_tb_profiler.views.timeline.follow import StepKind
from torch_tb_profiler.views.timeline.idle_gaps import Gap, IdleGap
from torch_tb_profiler.views.timeline.lane_sums import NameTime
from torch_tb_profiler.views.timeline.namesakes import Namesakes
from torch_tb_profiler.views.timeline.placed_slices import PlacedSlice
from torch_tb_profiler.views.timeline.range_names import CategoryTime
from torch_tb_profiler.views.timeline.range_summary import GpuTime
from torch_tb_profiler.views.timeline.search import MatchingName
from torch_tb_profiler.views.timeline.tracks import Group, TimelineTrack

ArrayType = Literal["uint8", "uint16", "uint32", "int32", "float32", "float64"]


class TimelineTracksAnswer(Answer, kw_only=True):
    """``/timeline/tracks``: what there is to draw."""

    trace: TraceRef
    end_ns: int
    origin_us: float
    slices: int
    overlapping: int
    tracks_left_out: int
    categories: tuple[TimelineCategory, ...]
    groups: list[Group]
    tracks: list[TimelineTrack]


class TimelineArrayPayload(msgspec.Struct):
    """Where an array lies in the binary answer: bytes from its start, a multiple of 8."""

    dtype: ArrayType
    offset: int
    length: int


class TimelineHead(Answer, kw_only=True):
    """The JSON at the beginning of the binary answer.

    ``short_names`` has the short form of the ``names`` of kernels; null of others, and where there
    was no room. So has ``demangled_names`` the demangled form of those that are mangled.
    """

    start_ns: int
    end_ns: int
    pixel_ns: float
    bucket_ns: int
    counter_bucket_ns: int
    coarse: bool
    lanes_left_out: int
    names: list[str | None]
    arrays: dict[str, TimelineArrayPayload]
    short_names: list[str | None]
    demangled_names: list[str | None]


class TimelineNamesAnswer(Answer, kw_only=True):
    """``/timeline/names?codes=``: the names behind codes, in their order.

    ``short_names`` has the short form of those of kernels, else null; ``demangled_names`` the
    demangled form of those that are mangled.
    """

    names: list[str | None]
    short_names: list[str | None]
    demangled_names: list[str | None]


class TimelineNamePageAnswer(Answer, kw_only=True):
    """``/timeline/names?from=``: names of slices in order of code; ``next`` asks for more.

    ``short_names`` has the short form of those of kernels, else null; ``demangled_names`` the
    demangled form of those that are mangled.
    """

    codes: list[int]
    names: list[str]
    next: int | None
    short_names: list[str | None]
    demangled_names: list[str | None]


class TimelineRangeAnswer(Answer, kw_only=True):
    """``/timeline/range``: summary of a time range, its slices by name, its counters."""

    start_ns: int
    end_ns: int
    categories: list[CategoryTime]
    operators: list[NameTime]
    python: list[NameTime]
    kernels: list[NameTime]
    slices: TablePayload
    names_left_out: int
    counters: TablePayload
    gpus: list[GpuTime]
    gaps: list[Gap]
    gap_count: int


class TimelineGapsAnswer(Answer, kw_only=True):
    """``/timeline/gaps``: the longest idle gaps of a range, how many there are in all, and their
    time together."""

    start_ns: int
    end_ns: int
    gaps: list[IdleGap]
    count: int
    total_us: float


class TimelinePathAnswer(Answer, kw_only=True):
    """``/timeline/critical_path``: the critical path of the selected steps in a range: slices with
    the part of their time that is on it, the longest of ``count``."""

    steps: list[str]
    start_ns: int
    end_ns: int
    pieces: list[PlacedSlice]
    count: int


class TimelineNamesakesAnswer(Answer, kw_only=True):
    """``/timeline/namesakes``: how long the slices of one's name and category took."""

    slice: int
    namesakes: Namesakes


class TimelineSearchAnswer(Answer, kw_only=True):
    """``/timeline/search``: what matches, thinned for drawing, and the neighbours of a place.

    ``name_codes``, in order, are those of all names that match; null where they are more than
    ``views.timeline.search.MAX_NAME_CODES``.
    """

    query: str
    count: int
    position: int | None
    name_count: int
    name_codes: list[int] | None
    names: list[MatchingName]
    hits: list[PlacedSlice]
    next: PlacedSlice | None
    previous: PlacedSlice | None


class TimelineFlowPayload(msgspec.Struct, frozen=True):
    """An arrow from one slice to another; the target may be ``worker``'s, moved by ``moved_ns``."""

    kind: FlowKind
    source: PlacedSlice
    target: PlacedSlice
    worker: str | None = None
    moved_ns: int = 0


class TimelineStepPayload(msgspec.Struct, frozen=True):
    """Where a slice leads; on another ``worker``, where the slice is in that one's own time."""

    kind: StepKind
    slice: PlacedSlice
    worker: str | None = None


class TimelineFlowsAnswer(Answer, kw_only=True):
    """``/timeline/flows``: the slice itself and its arrows, nearest first; ``onward`` and ``back``
    are the steps along them (``views.timeline.follow``)."""

    slice: PlacedSlice
    flow_count: int
    flows: list[TimelineFlowPayload]
    onward: TimelineStepPayload | None
    back: TimelineStepPayload | None
    next: PlacedSlice | None
    previous: PlacedSlice | None


class TimelineStretchPayload(msgspec.Struct, frozen=True):
    """A stretch of the timeline."""

    start_ns: int
    end_ns: int


class TimelineStepsAnswer(Answer, kw_only=True):
    """``/timeline/steps``: where the selected steps lie; steps that touch are one stretch.

    Attributes:
        steps: The shortest text that means the same steps (``3:5,8``); None for all.
    """

    steps: str | None
    ranges: list[TimelineStretchPayload]


class TimelineClocksAnswer(Answer, kw_only=True):
    """``/timeline/clocks``: the workers of a run on the clock of one of them."""

    trace: TraceRef
    workers: list[WorkerClock]
    groups: list[WorkerGroup]
