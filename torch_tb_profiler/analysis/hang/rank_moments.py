"""What ranks with a trace did at a moment of a hang.

The moment is in the middle of the wait, as far as the trace of the rank covers it: at its
beginning ranks that are merely late are still on their way, and at its end the profiler may be what
runs. Definitions: ``docs/views-hang.md#with-traces-of-the-job``.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.communication.metadata import own_rank
from torch_tb_profiler.analysis.hang.last_activity import last_activity
from torch_tb_profiler.trace.model import Trace

_FRAME = r"^.+\.py\(\d+\): "
_LIBRARIES = r"(?:^|/)(?:torch|threading\.py|contextlib\.py|<frozen )"


class RankMoment(Struct, frozen=True):
    """A rank at a moment.

    Attributes:
        host: The innermost slice of its main thread; None where nothing ran or that is unknown.
        frame: The innermost Python frame around it that is not of torch; None without one.
        host_idle_ns: How long nothing had run on the main thread; None where something ran, or
            that is unknown.
        device: The device work that ran; None likewise.
        device_idle_ns: How long its devices had been idle; None likewise.
        has_device: Whether the trace has device work.
    """

    host: str | None
    frame: str | None
    host_idle_ns: int | None
    device: str | None
    device_idle_ns: int | None
    has_device: bool


class RankMoments(Struct, frozen=True):
    """The traces of a run, to be asked about moments.

    Attributes:
        traces: Rank → trace; without dumps.
        end_ns: When the dumps were written, since 1970; None where that is unknown.
    """

    traces: Mapping[int, Trace]
    end_ns: int | None

    def at(self, rank: int, since_ns: int | None) -> RankMoment | str:
        """What a rank did while others wait since ``since_ns``; the reason where its trace does not
        say it.
        """
        trace = self.traces.get(rank)
        if trace is None:
            return "the rank has no trace"
        if since_ns is None:
            return "the time of the wait is unknown"
        if trace.meta.base_ns <= 0:
            return "its trace has no date"
        since = since_ns - trace.meta.base_ns
        first, last = _covered(trace)
        if last < since:
            return f"its trace ends {_seconds(since - last)} before"
        until = last if self.end_ns is None else min(last, self.end_ns - trace.meta.base_ns)
        moment = (since + max(since, until)) // 2
        if moment < first:
            return f"its trace begins {_seconds(first - moment)} after"
        return _moment(last_activity(trace), moment)


def rank_moments(traces: Mapping[str, Trace], end_ns: int | None) -> RankMoments:
    """The traces of a run that say their rank and have events."""
    by_rank: dict[int, Trace] = {}
    for trace in traces.values():
        rank = own_rank(trace)
        if rank is not None and trace.meta.format != "flight_recorder":
            by_rank.setdefault(rank, trace)
    return RankMoments(by_rank, end_ns)


def _covered(trace: Trace) -> tuple[int, int]:
    meta = trace.meta
    first = meta.start_ns if meta.span_start_ns is None else min(meta.start_ns, meta.span_start_ns)
    last = meta.end_ns if meta.span_end_ns is None else max(meta.end_ns, meta.span_end_ns)
    return first, last


def _seconds(duration_ns: int) -> str:
    seconds = duration_ns / 1e9
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.3g} s"


def _moment(activity: pl.DataFrame, moment_ns: int) -> RankMoment:
    host, device = (activity.filter(pl.col("is_device") == each) for each in (False, True))
    running = host.filter((pl.col("start_ns") <= moment_ns) & (pl.col("end_ns") > moment_ns))
    frames = running.filter(
        pl.col("name").str.contains(_FRAME) & ~pl.col("name").str.contains(_LIBRARIES)
    )
    work = device.filter((pl.col("start_ns") <= moment_ns) & (pl.col("end_ns") > moment_ns))
    return RankMoment(
        host=_innermost(running),
        frame=_innermost(frames),
        host_idle_ns=None if running.height else _idle_ns(host, moment_ns),
        device=_innermost(work),
        device_idle_ns=None if work.height else _idle_ns(device, moment_ns),
        has_device=device.height > 0,
    )


def _innermost(running: pl.DataFrame) -> str | None:
    """The name of the last one: rows are in the order of their start, the outer first."""
    return running["name"][-1] if running.height else None


def _idle_ns(rows: pl.DataFrame, moment_ns: int) -> int | None:
    """How long nothing had run; None before the first of the last ones, from which on the rows are
    all there are."""
    last = rows.filter("is_last")["end_ns"].to_numpy()
    past = last[last <= moment_ns]
    return moment_ns - int(np.max(past)) if len(past) else None
