"""Hand-built traces for tests: small functions make Kineto-like event dicts, :func:`columns` turns
them into EventColumns without any importer, :func:`trace` builds the Trace.

    trace([
        step(1, 100, 200),
        op("aten::mm", 110, 50, ext=4),
        call("cudaLaunchKernel", 120, 5, corr=7, ext=4),
        kernel("gemm", 130, 40, corr=7, ext=4),
    ])

Times are µs as in the files (ints or floats). Host events go to ``tid`` 1 of process "1000" unless
told otherwise, device events to their ``stream`` of their ``device``. Any event may be a plain
dict of the same shape; :func:`columns` therefore also reads the events of a real Kineto file, as
a slow and independent reference.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.helpers.event_columns import ColumnsOfEvents
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.columns import EventColumns
from torch_tb_profiler.trace.model import Trace

Event = dict[str, Any]
HOST = "1000"


def slice_event(
    cat: str, name: str, ts: float, dur: float, *, pid: object, tid: object, **args: Any
) -> Event:
    """A ph X event; args that are None are left out."""
    given = {key: value for key, value in args.items() if value is not None}
    return {
        "ph": "X",
        "cat": cat,
        "name": name,
        "pid": pid,
        "tid": tid,
        "ts": ts,
        "dur": dur,
        "args": given,
    }


def op(
    name: str,
    ts: float,
    dur: float,
    *,
    tid: object = 1,
    ext: int | None = None,
    shape: list[Any] | None = None,
    stack: str | None = None,
    cat: str = "cpu_op",
    pid: object = HOST,
    **args: Any,
) -> Event:
    """An operator (or, by its name, a step, data loader or optimizer range)."""
    more = {"External id": ext, "Input Dims": shape, "Call stack": stack, **args}
    return slice_event(cat, name, ts, dur, pid=pid, tid=tid, **more)


def step(number: int, ts: float, dur: float, **where: Any) -> Event:
    """A host-side ProfilerStep."""
    return op(f"ProfilerStep#{number}", ts, dur, cat="user_annotation", **where)


def annotation(name: str, ts: float, dur: float, **where: Any) -> Event:
    """A record_function range."""
    return op(name, ts, dur, cat="user_annotation", **where)


def frame(
    name: str,
    ts: float,
    dur: float,
    *,
    tid: object = 1,
    python_id: int | None = None,
    parent: int | None = None,
    module: int | None = None,
) -> Event:
    """A python frame; with ``module`` an nn.Module call."""
    more = {"Python id": python_id, "Python parent id": parent, "Python module id": module}
    return slice_event("python_function", name, ts, dur, pid=HOST, tid=tid, **more)


def call(
    name: str,
    ts: float,
    dur: float,
    *,
    tid: object = 1,
    corr: int | None = None,
    ext: int | None = None,
    cat: str = "cuda_runtime",
    pid: object = HOST,
) -> Event:
    """A host call into the runtime (``cat="cuda_driver"`` and so on for others)."""
    more = {"correlation": corr, "External id": ext}
    return slice_event(cat, name, ts, dur, pid=pid, tid=tid, **more)


def kernel(
    name: str,
    ts: float,
    dur: float,
    *,
    corr: int | None = None,
    ext: int | None = None,
    device: int = 0,
    stream: int = 7,
    cat: str = "kernel",
    blocks: float | None = None,
    occupancy: float | None = None,
    **args: Any,
) -> Event:
    """A kernel; other arguments by their key in the file (``grid=[1, 1, 1]``)."""
    more = {
        "correlation": corr,
        "External id": ext,
        "device": device,
        "stream": stream,
        "blocks per SM": blocks,
        "est. achieved occupancy %": occupancy,
    }
    return slice_event(cat, name, ts, dur, pid=device, tid=stream, **more, **args)


def memcpy(ts: float, dur: float, *, name: str = "Memcpy HtoD", **where: Any) -> Event:
    """A memory copy on a device."""
    return kernel(name, ts, dur, cat="gpu_memcpy", **where)


def memset(ts: float, dur: float, *, name: str = "Memset (Device)", **where: Any) -> Event:
    """A memory set on a device."""
    return kernel(name, ts, dur, cat="gpu_memset", **where)


def memory(
    ts: float,
    size: int,
    *,
    address: int | None = None,
    device_type: int = 1,
    device: int = 0,
    allocated: int | None = None,
    reserved: int | None = None,
    tid: object = 1,
) -> Event:
    """A [memory] instant; negative ``size`` is a release; device_type 0 is the CPU."""
    args = {
        "Device Type": device_type,
        "Device Id": -1 if device_type == 0 else device,
        "Bytes": size,
        "Addr": address,
        "Total Allocated": allocated,
        "Total Reserved": reserved,
    }
    args = {key: value for key, value in args.items() if value is not None}
    return {"ph": "i", "name": "[memory]", "pid": HOST, "tid": tid, "ts": ts, "args": args}


def trace(events: Iterable[Event], **header: Any) -> Trace:
    """The Trace of hand-made events; see :func:`columns`."""
    return build_trace(columns(events, **header))


def columns(events: Iterable[Event], *, time_unit_ns: int = 1, **header: Any) -> EventColumns:
    """EventColumns of Kineto-like events, one Python object at a time. ``header`` holds the
    top-level keys of the file (``deviceProperties=[…]``)."""
    return ColumnsOfEvents(time_unit_ns).read(events, header)
