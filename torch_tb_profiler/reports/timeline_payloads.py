"""The types of the JSON that the timeline's routes answer, and of the head of its binary answer.

Shapes and rules: ``docs/architecture.md``, "Timeline". All times are integers of nanoseconds from
the timeline's origin, the start of the trace's first slice, so that they are exact in JavaScript.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, TypedDict

from torch_tb_profiler.reports.payloads import TraceRef
from torch_tb_profiler.views.timeline import tracks

TimelineTrackKind: TypeAlias = tracks.TrackKind
TimelineGroupKind: TypeAlias = tracks.GroupKind
TimelineUnit: TypeAlias = tracks.Unit

TimelineArrayType = Literal["uint8", "uint16", "uint32", "int32", "float32", "float64"]
TimelineFlowKind = Literal["launch", "forward_backward", "collective"]


class TimelineCategoryPayload(TypedDict):
    """What a slice's category code means."""

    key: str
    title: str


class TimelineGroupPayload(TypedDict):
    """A process or a device with tracks below."""

    key: str
    title: str
    kind: TimelineGroupKind
    device: int | None


class TimelineTrackPayload(TypedDict):
    """One row of the timeline; its place in the list is its number in binary answers."""

    key: str
    title: str
    subtitle: str | None
    help: str | None
    kind: TimelineTrackKind
    group: str
    lanes: int
    lane_titles: list[str] | None
    overlap_from: int | None
    slices: int
    collapsed: bool
    communication: bool
    device: int | None
    unit: TimelineUnit | None
    maximum: float | None


class TimelineTracksAnswer(TypedDict):
    """``/timeline/tracks``: what there is to draw."""

    schema_version: int
    trace: TraceRef
    end_ns: int
    origin_us: float
    slices: int
    overlapping: int
    tracks_left_out: int
    categories: list[TimelineCategoryPayload]
    groups: list[TimelineGroupPayload]
    tracks: list[TimelineTrackPayload]


class TimelineArrayPayload(TypedDict):
    """Where an array lies in the binary answer: bytes from its start, a multiple of 8."""

    dtype: TimelineArrayType
    offset: int
    length: int


class TimelineHead(TypedDict):
    """The JSON at the beginning of the binary answer."""

    schema_version: int
    start_ns: int
    end_ns: int
    pixel_ns: float
    bucket_ns: int
    counter_bucket_ns: int
    coarse: bool
    lanes_left_out: int
    names: list[str | None]
    arrays: dict[str, TimelineArrayPayload]


class TimelineNamesAnswer(TypedDict):
    """``/timeline/names``: the names behind codes, in their order."""

    schema_version: int
    names: list[str | None]


class TimelineTimePayload(TypedDict):
    """Time of one category in a range."""

    category: int
    is_device: bool
    count: int
    self_us: float


class TimelineTopPayload(TypedDict):
    """One name in a range; ``self_us`` is what lies in the range, without children."""

    name: str
    count: int
    self_us: float
    total_us: float


class TimelineGpuPayload(TypedDict):
    """What one GPU did in a range; the four parts add up to the range."""

    device: int
    busy_us: float
    computation_us: float
    communication_us: float
    overlap_us: float
    idle_us: float


class TimelineGapPayload(TypedDict):
    """A time in which a GPU ran nothing, and what the host thread that feeds it did meanwhile."""

    device: int
    start_ns: int
    end_ns: int
    thread: str | None
    host: list[TimelineTopPayload]


class TimelineRangeAnswer(TypedDict):
    """``/timeline/range``: summary of a time range."""

    schema_version: int
    start_ns: int
    end_ns: int
    categories: list[TimelineTimePayload]
    operators: list[TimelineTopPayload]
    python: list[TimelineTopPayload]
    kernels: list[TimelineTopPayload]
    gpus: list[TimelineGpuPayload]
    gaps: list[TimelineGapPayload]
    gap_count: int


class TimelineSlicePayload(TypedDict):
    """One slice and where it is drawn."""

    id: int
    name: str
    category: int
    track: str
    lane: int
    start_ns: int
    dur_ns: int


class TimelineFoundNamePayload(TypedDict):
    """A name that matches a search."""

    name: str
    code: int
    count: int


class TimelineSearchAnswer(TypedDict):
    """``/timeline/search``: what matches, thinned for drawing, and the neighbours of a place."""

    schema_version: int
    query: str
    count: int
    position: int | None
    name_count: int
    names: list[TimelineFoundNamePayload]
    hits: list[TimelineSlicePayload]
    next: TimelineSlicePayload | None
    previous: TimelineSlicePayload | None


class TimelineFlowPayload(TypedDict):
    """An arrow from one slice to another; the target may be ``worker``'s, moved by ``moved_ns``."""

    kind: TimelineFlowKind
    source: TimelineSlicePayload
    target: TimelineSlicePayload
    worker: str | None
    moved_ns: int


class TimelineFlowsAnswer(TypedDict):
    """``/timeline/flows``: the slice itself and its arrows, nearest first."""

    schema_version: int
    slice: TimelineSlicePayload
    flow_count: int
    flows: list[TimelineFlowPayload]
    next: TimelineSlicePayload | None
    previous: TimelineSlicePayload | None


class TimelineStretchPayload(TypedDict):
    """A stretch of the timeline."""

    start_ns: int
    end_ns: int


class TimelineStepsAnswer(TypedDict):
    """``/timeline/steps``: where the selected steps lie; steps that touch are one stretch."""

    schema_version: int
    ranges: list[TimelineStretchPayload]


class TimelineClockPayload(TypedDict):
    """What to add to the times of a worker's timeline; null when nothing tells it."""

    worker: str
    offset_ns: int | None
    collectives: int


class TimelineClocksAnswer(TypedDict):
    """``/timeline/clocks``: the workers of a run on the clock of one of them."""

    schema_version: int
    trace: TraceRef
    workers: list[TimelineClockPayload]
