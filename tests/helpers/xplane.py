"""XPlane profiles made by classes of ``google.protobuf``, and what a file of them sums to.

Names and numbers of fields are those of XLA's ``xplane.proto``. Nothing here shares code with the
importer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.helpers.protobuf_classes import message_classes
from tests.helpers.sums import Sums, add_up

MESSAGES = """
XSpace: 1 repeated XPlane planes, 2 repeated string errors, 3 repeated string warnings,
  4 repeated string hostnames
XPlane: 1 int64 id, 2 string name, 3 repeated XLine lines, 4 repeated EventEntry event_metadata,
  5 repeated StatEntry stat_metadata, 6 repeated XStat stats
EventEntry: 1 int64 key, 2 XEventMetadata value
StatEntry: 1 int64 key, 2 XStatMetadata value
XLine: 1 int64 id, 2 string name, 3 int64 timestamp_ns, 4 repeated XEvent events,
  9 int64 duration_ps, 10 int64 display_id, 11 string display_name
XEvent: 1 int64 metadata_id, 2 int64 offset_ps, 3 int64 duration_ps, 4 repeated XStat stats,
  5 int64 num_occurrences
XStat: 1 int64 metadata_id, 2 double double_value, 3 uint64 uint64_value, 4 int64 int64_value,
  5 string str_value, 6 bytes bytes_value, 7 uint64 ref_value
XEventMetadata: 1 int64 id, 2 string name, 3 bytes metadata, 4 string display_name,
  5 repeated XStat stats, 6 repeated int64 child_id
XStatMetadata: 1 int64 id, 2 string name, 3 string description
"""

CLASSES = message_classes(MESSAGES, "xplane.proto")

Value = int | float | str | bytes
Stats = dict[str, Value]


@dataclass(frozen=True)
class Ref:
    """A text that is written as a reference to a name."""

    text: str


@dataclass(frozen=True)
class Event:
    """An event: its name, when it ran, in ps, and its values; ``meta`` are those of its kind."""

    name: str
    offset_ps: int
    duration_ps: int
    stats: dict[str, Value | Ref] = field(default_factory=dict)
    meta: dict[str, Value | Ref] = field(default_factory=dict)
    display_name: str = ""
    occurrences: int | None = None


@dataclass(frozen=True)
class Line:
    """A line of a plane."""

    name: str
    events: list[Event]
    id: int = 0
    timestamp_ns: int = 0
    display_name: str = ""


class PlaneWriter:
    """Writes one plane; names get ids in order of their first use."""

    def __init__(self, name: str, lines: list[Line], stats: dict[str, Value | Ref] | None = None):
        self.message = CLASSES["XPlane"](name=name)
        self._stats: dict[str, int] = {}
        self._events: dict[tuple[str, str], int] = {}
        for line in lines:
            self._line(line)
        for key, value in (stats or {}).items():
            self._stat(self.message.stats.add(), key, value)
        for key, number in self._stats.items():
            entry = self.message.stat_metadata.add(key=number)
            entry.value.id, entry.value.name = number, key

    def _line(self, line: Line) -> None:
        written = self.message.lines.add(id=line.id, name=line.name, timestamp_ns=line.timestamp_ns)
        if line.display_name:
            written.display_name = line.display_name
        for event in line.events:
            each = written.events.add(metadata_id=self._kind(event))
            if event.occurrences is None:
                each.offset_ps = event.offset_ps
            else:
                each.num_occurrences = event.occurrences
            each.duration_ps = event.duration_ps
            for key, value in event.stats.items():
                self._stat(each.stats.add(), key, value)

    def _kind(self, event: Event) -> int:
        key = event.name, event.display_name
        if key not in self._events:
            number = self._events[key] = len(self._events) + 1
            entry = self.message.event_metadata.add(key=number)
            entry.value.id, entry.value.name = number, event.name
            if event.display_name:
                entry.value.display_name = event.display_name
            for name, value in event.meta.items():
                self._stat(entry.value.stats.add(), name, value)
        return self._events[key]

    def _id(self, name: str) -> int:
        return self._stats.setdefault(name, len(self._stats) + 1)

    def _stat(self, stat: Any, key: str, value: Value | Ref) -> None:
        stat.metadata_id = self._id(key)
        if isinstance(value, Ref):
            stat.ref_value = self._id(value.text)
        elif isinstance(value, float):
            stat.double_value = value
        elif isinstance(value, str):
            stat.str_value = value
        elif isinstance(value, bytes):
            stat.bytes_value = value
        elif value >= 2**63:
            stat.uint64_value = value
        else:
            stat.int64_value = value


def space(*planes: PlaneWriter, errors: tuple[str, ...] = (), warnings: tuple[str, ...] = ()
          ) -> bytes:  # fmt: skip
    """A file."""
    message = CLASSES["XSpace"](errors=errors, warnings=warnings, hostnames=["secret-host"])
    message.planes.extend(each.message for each in planes)
    data: bytes = message.SerializeToString()
    return data


def parse(data: bytes) -> Any:
    """A whole file."""
    return CLASSES["XSpace"].FromString(data)


def events(recording: Any) -> Iterator[tuple[Any, Any, Any, Any]]:
    """(plane, line, event, its metadata or None) of every event with a time."""
    for plane in recording.planes:
        kinds = {entry.key: entry.value for entry in plane.event_metadata}
        for line in plane.lines:
            for event in line.events:
                if event.HasField("offset_ps") or not event.HasField("num_occurrences"):
                    yield plane, line, event, kinds.get(event.metadata_id)


def duration_ns(event: Any) -> int:
    """The duration as whole nanoseconds between start and end, each rounded down."""
    duration = max(int(event.duration_ps), 0)
    return int((event.offset_ps + duration) // 1000 - event.offset_ps // 1000)


def name_of(event: Any, kind: Any) -> str:
    """The name that an event is shown with."""
    return f"event {event.metadata_id}" if kind is None else kind.display_name or kind.name


def sums_by_name(recording: Any) -> Sums:
    """All events by (plane, line, name), in ns; HLO instructions by their name alone."""
    return add_up(
        ((plane.name, line.name, _short(line, name_of(event, kind))), duration_ns(event))
        for plane, line, event, kind in events(recording)
    )


def _short(line: Any, name: str) -> str:
    match = re.match(r"%?([\w.\-]+) = ", name) if line.name == "XLA Ops" else None
    return match[1] if match else name


def hlo(name: str, category: str, when_ps: tuple[int, int], path: str = "",
        work: tuple[int, int] = (0, 0)) -> Event:  # fmt: skip
    """An HLO operation as a TPU records it: ``when_ps`` are offset and duration, ``work`` FLOPs and
    bytes."""
    meta: dict[str, Value | Ref] = {
        "hlo_category": Ref(category),
        "flops": work[0],
        "model_flops": work[0],
        "bytes_accessed": work[1],
    }
    if path:
        meta["tf_op"] = path
    text = f"%{name} = f32[8,128]{{1,0:T(8,128)}} {name.partition('.')[0]}(f32[8,128] %p0)"
    return Event(text, *when_ps, {"run_id": 7}, meta, name)


TPU_STATS: dict[str, Value | Ref] = {
    "device_type_string": "TPU v6 Lite",
    "peak_teraflops_per_second": 918.0,
    "peak_hbm_bw_gigabytes_per_second": 1640.0,
}

US = 10**6
"""Picoseconds of a microsecond."""


def tpu_plane(number: int = 0, steps: int = 3) -> PlaneWriter:
    """A TPU that runs a program of five operations per step, one of them a loop of two."""
    ops: list[Event] = []
    step_events, modules = [], []
    for step in range(steps):
        at = step * 1000 * US
        main = "jit(step)/jit(main)"
        ops += [
            hlo("fusion.1", "convolution fusion", (at + 10 * US, 300 * US),
                f"{main}/encoder/dot:", (6 * 10**9, 4_000_000)),
            hlo("while.2", "while", (at + 320 * US, 300 * US), f"{main}/decoder/while"),
            hlo("fusion.3", "loop fusion", (at + 330 * US, 100 * US + 500),
                f"{main}/decoder/while/body/add", (10**6, 1_000_000)),
            hlo("fusion.3", "loop fusion", (at + 440 * US, 101 * US),
                f"{main}/decoder/while/body/add", (10**6, 1_000_000)),
            hlo("all-reduce.4", "all-reduce", (at + 700 * US, 50 * US), f"{main}/psum",
                (0, 2_000_000)),
        ]  # fmt: skip
        step_events.append(Event(str(step + 5), at, 900 * US))
        modules.append(Event("jit_step(99)", at + 5 * US, 800 * US))
    copies = [Event("copy-start.9", 15 * US, 250 * US)]
    lines = [
        Line("Steps", step_events, 1),
        Line("XLA Modules", modules, 2),
        Line("XLA Ops", ops, 3),
        Line("Async XLA Ops", copies, 4),
    ]
    return PlaneWriter(f"/device:TPU:{number}", lines, TPU_STATS)


def host_plane() -> PlaneWriter:
    """A host with Python frames, a step annotation, a range and functions of XLA."""
    events = [
        Event("$train.py:12 main", 0, 3000 * US),
        Event("train", 10 * US, 900 * US, {"step_num": 5, "_r": 1}),
        Event("my range", 20 * US, 500 * US),
        Event("PjitFunction(step)", 30 * US, 200 * US),
        Event("tpu::System::Execute", 40 * US, 20 * US, {"run_id": 7}),
        Event("ThreadpoolListener::Record", 50 * US, 0, {"_src": Ref("x.cc"), "_p": 4}),
    ]
    return PlaneWriter("/host:CPU", [Line("python", events, 4711)], {"process_id": 4242})


DETAILS = "regs:33 static_shared:512 dynamic_shared:1024 grid:40,3,1 block:128,2,1 occ_pct:50"


def gpu_planes() -> tuple[PlaneWriter, PlaneWriter]:
    """A GPU with two streams, and the host that launched its work."""
    launched: list[Event] = []
    compute: list[Event] = []
    for number in range(4):
        at = number * 100 * US
        launched.append(Event("cuLaunchKernel", at, 5 * US, {"correlation_id": 10 + number}))
        stats: dict[str, Value | Ref] = {
            "correlation_id": 10 + number, "kernel_details": DETAILS, "hlo_module": "jit_f",
            "hlo_op": f"gemm_fusion.{number % 2}", "tf_op": f"jit(f)/layer{number % 2}/dot_general",
        }  # fmt: skip
        compute.append(Event("nvjet_hsh_128x128", at + 20 * US, 50 * US, stats))
    launched.append(Event("cuMemcpyHtoDAsync_v2", 500 * US, 5 * US, {"correlation_id": 20}))
    copy = Event("MemcpyH2D", 510 * US, 20 * US, {
        "correlation_id": 20,
        "memcpy_details": "kind_src:pageable kind_dst:device size:4096 dest:0 async:1",
    })  # fmt: skip
    odd = Event("something new", 600 * US, US)
    lines = [
        Line("Stream #13(Compute)", [*compute, odd], 13),
        Line("Stream #14(MemcpyH2D)", [copy], 14),
        Line("XLA Ops", [Event("gemm_fusion.0", 20 * US, 50 * US)], 9001),
    ]
    stats = {"core_count": 132, "memory_size": 80 << 30, "compute_cap_major": 9,
             "compute_cap_minor": 0, "device_vendor": "Nvidia"}  # fmt: skip
    host = PlaneWriter("/host:CPU", [Line("python", launched, 77)], {"process_id": 1})
    return PlaneWriter("/device:GPU:0", lines, dict(stats)), host


ENVIRONMENT = ("Task Environment", {"profile_start_time": 1_795_920_894_343_512_672})


def environment_plane() -> PlaneWriter:
    """When the profile began."""
    return PlaneWriter(ENVIRONMENT[0], [], dict(ENVIRONMENT[1]))


def tpu_file(devices: int = 2) -> bytes:
    """A profile of some TPUs and their host."""
    planes = [tpu_plane(number) for number in range(devices)]
    return space(*planes, host_plane(), environment_plane())


def gpu_file() -> bytes:
    """A profile of a GPU and its host."""
    return space(*gpu_planes(), environment_plane())
