"""Traces of graph capture: the launches recorded into each graph, in order.

While a stream captures, launches execute nothing: such a trace has operators, runtime calls and
possibly Python frames, but no kernels. ROCm's profiler writes the kernel name into the launch;
CUDA's does not, but a Triton kernel is launched by an operator of the same name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from torch_tb_profiler.importers.sidecars.annotations import SidecarError
from torch_tb_profiler.once import set_up

LAUNCH = re.compile(r"(cu|cuda|hip)\w*(Launch(Cooperative)?Kernel|Memcpy\w*Async|Memset\w*Async)")
"""Prefix of the calls that add a kernel, copy or memset to a graph."""

BEGIN = re.compile(r"(cu|cuda|hip)StreamBeginCapture")
END = re.compile(r"(cu|cuda|hip)StreamEndCapture")
MODULE_PREFIX = "nn.Module: "
MAX_SHAPE_CHARS = 500
MAX_LAUNCHES = 200_000
"""Launches read per file; a decode step of a large model has about ten thousand."""

MAX_OPEN = 2000
"""Nesting depth per thread; Python itself stops at 1000 frames. Every launch scans all open
slices."""

_RANGE = re.compile(
    r"(graph_)?capture(_|: batch=)(?P<batch>\d{1,9})(_| mode=)(?P<mode>[A-Z_]{1,40})"
)
"""vLLM's ranges around a capture, ``capture_32_FULL``."""

_CALLS = frozenset({"cuda_runtime", "cuda_driver", "hip_runtime"})
_OPERATORS = frozenset({"cpu_op", "user_annotation"})
_FRAMES = "python_function"


class _Args(msgspec.Struct, gc=False):
    correlation: Any = None
    kernel: Any = None
    shapes: Any = msgspec.field(default=None, name="Input Dims")


class _Event(msgspec.Struct, gc=False):
    ph: Any = None
    cat: Any = None
    name: Any = None
    pid: Any = None
    tid: Any = None
    ts: Any = None
    dur: Any = None
    args: _Args | None = None


class _File(msgspec.Struct, gc=False):
    traceEvents: list[_Event] = []  # noqa: N815


class CapturedLaunch(msgspec.Struct):
    """A launch recorded into a graph.

    Attributes:
        graph: Index of the capture in its file, from 0.
        kernel: The kernel's name; None if it is not recorded.
        call: The runtime call on the host.
        operator: The innermost operator around it.
        module: The modules around it, outermost first, joined by dots; None without any.
        shapes: Input shapes of the operator, as JSON.
        batch_size: Batch size from the name of an enclosing range; None without one.
        mode: Capture mode from the same name; None without one.
    """

    graph: int
    kernel: str | None
    call: str
    operator: str | None
    module: str | None
    shapes: str | None
    batch_size: int | None
    mode: str | None


class _Thread(msgspec.Struct):
    """The open slices of one thread, while its events are visited in order of time."""

    open: list[tuple[float, _Event]] = msgspec.field(default_factory=list)
    graph: int = -1

    def enter(self, event: _Event) -> None:
        while self.open and self.open[-1][0] <= event.ts:
            self.open.pop()
        if len(self.open) < MAX_OPEN:
            self.open.append((event.ts + event.dur, event))


def read_capture(data: bytes) -> list[CapturedLaunch]:
    """The launches recorded during graph capture.

    Without any call that begins a capture, the whole file is taken as one capture.

    Raises:
        SidecarError: it is not Chrome JSON.
    """
    try:
        events = msgspec.json.decode(data, type=set_up(_File), strict=False).traceEvents
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise SidecarError(f"not Chrome JSON ({str(error)[:100]})") from error
    slices = [event for event in events if _is_slice(event)]
    slices.sort(key=lambda event: (event.ts, -event.dur))
    launches = list(_launches(slices))
    captured = [each for each in launches if each.graph >= 0]
    if captured:
        return captured
    for each in launches:
        each.graph = 0
    return launches


def _is_slice(event: _Event) -> bool:
    is_timed = isinstance(event.ts, int | float) and isinstance(event.dur, int | float)
    if not isinstance(event.cat, str) or not isinstance(event.name, str):
        return False
    is_known = event.cat in _CALLS or event.cat in _OPERATORS or event.cat == _FRAMES
    return event.ph == "X" and is_timed and is_known


def _launches(slices: Iterable[_Event]) -> Iterator[CapturedLaunch]:
    threads: dict[tuple[str, str], _Thread] = {}
    seen: set[Any] = set()
    graphs = count = 0
    for event in slices:
        thread = threads.setdefault((str(event.pid), str(event.tid)), _Thread())
        if event.cat not in _CALLS:
            thread.enter(event)
            continue
        if BEGIN.match(event.name):
            thread.graph, graphs = graphs, graphs + 1
        elif END.match(event.name):
            thread.graph = -1
        correlation = event.args.correlation if event.args else None
        if not LAUNCH.match(event.name) or (correlation and _is_repeated(correlation, seen)):
            continue
        count += 1
        if count > MAX_LAUNCHES:
            return
        around = [each for end, each in thread.open if end >= event.ts]
        yield _captured(event, around, thread.graph)


def _is_repeated(correlation: Any, seen: set[Any]) -> bool:
    """Whether a launch was seen before: a driver call inside a runtime call has the same id."""
    key = str(correlation)
    if key in seen:
        return True
    seen.add(key)
    return False


def _captured(event: _Event, around: list[_Event], graph: int) -> CapturedLaunch:
    operators = [each for each in around if each.cat == "cpu_op"]
    ranges = [each for each in around if each.cat == "user_annotation"]
    modules = [
        each.name.removeprefix(MODULE_PREFIX)
        for each in around
        if each.cat == _FRAMES and each.name.startswith(MODULE_PREFIX)
    ]
    inner = operators[-1] if operators else None
    shapes = inner.args.shapes if inner and inner.args else None
    kernel = event.args.kernel if event.args else None
    name = inner.name if inner else None
    if not isinstance(kernel, str) or not kernel:
        kernel = name if name and name.startswith("triton_") else None
    sizes = [match for match in map(_RANGE.fullmatch, (each.name for each in ranges)) if match]
    ranges = [each for each in ranges if not _RANGE.fullmatch(each.name)]
    module = ".".join(modules) or (ranges[-1].name if ranges else None)
    text = msgspec.json.encode(shapes).decode()[:MAX_SHAPE_CHARS] if shapes else None
    batch, mode = (int(sizes[-1]["batch"]), sizes[-1]["mode"]) if sizes else (None, None)
    return CapturedLaunch(graph, kernel, event.name, name, module, text, batch, mode)
