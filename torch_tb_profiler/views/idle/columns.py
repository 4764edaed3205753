"""The declared tables of the view of idle time."""

from __future__ import annotations

from typing import Any

from torch_tb_profiler.views.schema import Column, TableSpec

NO_LAUNCHES = "The recording links no work with the call that launched it."

_GPU = Column("gpu", "GPU", "integer", None, "Number of the device.")
_TITLE = Column("title", "Cause", "string", None, "Why it ran nothing.")


def _us(key: str, title: str, text: str, family: str = "time", **more: Any) -> Column:
    return Column(key, title, "number", "us", text, family=family, **more)


CAUSES = TableSpec(
    "causes",
    "Why GPUs ran nothing",
    "One row per GPU and cause. Every moment of the selected steps in which a GPU runs no kernel, "
    "copy or set is given to one cause, so the rows of a GPU add up to its idle time exactly.",
    (
        _GPU,
        Column("cause", "Key", "string", None, "Stable name of the cause.", hidden=True),
        _TITLE,
        _us("total_us", "Idle", "Time given to this cause.", additive=True),
        Column("idle_pct", "Of Idle", "number", "pct", "Its share of the GPU's idle time."),
        Column("time_pct", "Of Time", "number", "pct", "Its share of the selected steps' time."),
        Column(
            "gaps",
            "Gaps",
            "integer",
            "count",
            "In how many gaps it holds for some time; one gap may have several causes.",
        ),
        _us("longest_us", "Longest", "The longest stretch of it.", "piece"),
        Column("meaning", "What it means", "string", None, "What is true of such a moment."),
        Column("remedy", "What helps", "string", None, "What to do about it."),
    ),
    sort="gpu,-total_us",
    when_empty="The selection holds no idle time of a GPU.",
)

GAPS = TableSpec(
    "gaps",
    "Longest gaps",
    "One row per gap: a stretch in which a GPU ran nothing, cut at the edges of the selected "
    "steps; the 200 longest.",
    (
        _GPU,
        Column("start_us", "Start", "number", "us", "Start, from the start of the recording."),
        _us("duration_us", "Duration", "How long it is.", additive=True),
        Column("step", "Step", "string", None, "The step it lies in."),
        Column("title", "Cause", "string", None, "What most of it is given to."),
        Column("cause_pct", "Cause Share", "number", "pct", "How much of it that cause explains."),
        Column(
            "host",
            "Host Did",
            "string",
            None,
            "What the thread that launches the next work did meanwhile, and for how much of the "
            "gap: outermost operators and calls, else the Python function or range around it.",
        ),
        Column("before", "Work Before", "string", None, "The work that ended when it began."),
        Column("after", "Work After", "string", None, "The work that began when it ended."),
        Column(
            "operator",
            "Launched In",
            "string",
            None,
            "The operator that launched the work which ended it.",
        ),
        Column("host_call", "Launched By", "string", None, "The call that did.", hidden=True),
        Column("cause", "Key", "string", None, "Stable name of the cause.", hidden=True),
    ),
    sort="-duration_us,gpu,start_us",
    when_empty="The selection holds no idle time of a GPU.",
)

STREAMS = TableSpec(
    "streams",
    "Streams",
    "One row per stream of a GPU.",
    (
        _GPU,
        Column("stream", "Stream", "integer", None, "Its number."),
        Column("kernels", "Kernels", "integer", "count", "Kernels that begin.", additive=True),
        Column(
            "copies", "Copies", "integer", "count", "Copies and sets that begin.", additive=True
        ),
        _us("busy_us", "Busy", "When it ran any of them."),
        Column("busy_pct", "Busy Share", "number", "pct", "Busy over the selected steps' time."),
        _us("shared_us", "Overlap", "Part of Busy in which another stream of the GPU works too."),
        Column("shared_pct", "Overlap Share", "number", "pct", "Overlap over Busy."),
        Column(
            "queue_mean",
            "Queue",
            "number",
            None,
            "Pieces of work that were launched and have not begun, on average over the selected "
            "steps. Near 0: the stream lives from hand to mouth, and the host is its limit.",
        ),
        Column("queue_max", "Longest Queue", "integer", "count", "The most of them at once."),
        _us(
            "host_wait_us",
            "Host Wait",
            "Gaps of the stream whose next work was launched only after they had begun (HTA: "
            "host wait).",
            "gap",
            hidden=True,
        ),
        _us(
            "kernel_wait_us",
            "Kernel Wait",
            "Other gaps shorter than 30 ns (HTA: kernel wait).",
            "gap",
            hidden=True,
        ),
        _us(
            "other_wait_us",
            "Other Wait",
            "All other gaps: the next work was launched and did not start (HTA: other).",
            "gap",
            hidden=True,
        ),
    ),
    sort="gpu,-busy_us,stream",
    when_empty="The selection holds no stream.",
)

LAUNCHES = TableSpec(
    "launch_delays",
    "Launches",
    "One row per host call that launches work and kind of that work. The delay is from the end of "
    "the call to the start of the work (of a graph: of its first work); 0 where that began before. "
    "Waiting in the queue is part of it.",
    (
        Column("host_call", "Call", "string", None, "The call."),
        Column(
            "work", "Launches", "string", None, "kernel, communication (a kernel), copy or set."
        ),
        Column("calls", "Calls", "integer", "count", "How many launched work.", additive=True),
        _us("call_mean_us", "Call Mean", "How long the call itself takes on average.", "call"),
        _us("call_max_us", "Call Max", "How long the longest took.", "call", hidden=True),
        _us("delay_p50_us", "Median Delay", "Half of the work starts sooner.", "delay"),
        _us("delay_p90_us", "90 % Delay", "Nine of ten start sooner.", "delay"),
        _us("delay_p99_us", "99 % Delay", "Ninety-nine of a hundred start sooner.", "delay"),
        _us("longest_delay_us", "Longest Delay", "The longest.", "delay"),
        Column(
            "short",
            "Shorter than Launch",
            "integer",
            "count",
            "Kernels that run for less time than the call takes that launched them: to launch them "
            "costs more than they do.",
            additive=True,
        ),
        Column("short_pct", "Share of Calls", "number", "pct", "Their share of the calls."),
        _us("short_us", "Time of Short", "How long they run together.", "short", additive=True),
    ),
    sort="-calls,host_call,work",
    when_empty=NO_LAUNCHES,
)
