"""The declared tables of the view of idle time."""

from __future__ import annotations

from typing import Any

from torch_tb_profiler.views.schema import Column, TableSpec

NO_LAUNCHES = "No launches are recorded for the GPU work."

_GPU = Column("gpu", "GPU", "integer", None, "Number of the device.")
_TITLE = Column("title", "Cause", "string", None, "Cause of the idle time.")


def _us(key: str, title: str, text: str, family: str = "time", **more: Any) -> Column:
    return Column(key, title, "number", "us", text, family=family, **more)


CAUSES = TableSpec(
    "causes",
    "Why GPUs were idle",
    "One row per GPU and cause. Every idle moment of the selected steps (no kernel, copy or memset "
    "runs) is attributed to one cause, so the rows of a GPU add up to its idle time exactly.",
    (
        _GPU,
        Column("cause", "Key", "string", None, "Stable name of the cause.", hidden=True),
        _TITLE,
        _us("total_us", "Idle", "Idle time with this cause.", additive=True),
        Column("idle_pct", "Of Idle", "number", "pct", "Share of the GPU's idle time."),
        Column("time_pct", "Of Time", "number", "pct", "Share of the selected steps' time."),
        Column(
            "gaps",
            "Gaps",
            "integer",
            "count",
            "Number of gaps with this cause; one gap may have several causes.",
        ),
        _us("longest_us", "Longest", "Longest stretch with this cause.", "piece"),
        Column("meaning", "What it means", "string", None, "Meaning of the cause."),
        Column("remedy", "What helps", "string", None, "How to reduce it."),
    ),
    sort="gpu,-total_us",
    when_empty="No GPU is idle in the selection.",
)

GAPS = TableSpec(
    "gaps",
    "Longest gaps",
    "One row per gap in which a GPU ran nothing, clipped to the selected steps; the 200 longest.",
    (
        _GPU,
        Column("start_us", "Start", "number", "us", "Start, since the start of the recording."),
        _us("duration_us", "Duration", "Duration.", additive=True),
        Column("step", "Step", "string", None, "Step that contains it."),
        Column("title", "Cause", "string", None, "Cause of its largest part."),
        Column("cause_pct", "Cause Share", "number", "pct", "Share of the gap with that cause."),
        Column(
            "host",
            "Host Activity",
            "string",
            None,
            "Activity of the thread that launches the next work, with its share of the gap: "
            "outermost operators and calls, and the device API call in them that takes half of "
            "the gap or more; else the enclosing Python function or range.",
        ),
        Column("before", "Work Before", "string", None, "Work that ended at the start of the gap."),
        Column("after", "Work After", "string", None, "Work that began at the end of the gap."),
        Column(
            "operator",
            "Launched In",
            "string",
            None,
            "Operator that launched the work after the gap.",
        ),
        Column(
            "host_call",
            "Launched By",
            "string",
            None,
            "Host call that launched the work after the gap.",
            hidden=True,
        ),
        Column("cause", "Key", "string", None, "Stable name of the cause.", hidden=True),
    ),
    sort="-duration_us,gpu,start_us",
    when_empty="No GPU is idle in the selection.",
)

STREAMS = TableSpec(
    "streams",
    "Streams",
    "One row per stream of a GPU.",
    (
        _GPU,
        Column("stream", "Stream", "integer", None, "Its number."),
        Column("kernels", "Kernels", "integer", "count", "Kernels that start.", additive=True),
        Column(
            "copies", "Copies", "integer", "count", "Copies and memsets that start.", additive=True
        ),
        _us("busy_us", "Busy", "Time in which the stream runs work."),
        Column(
            "busy_pct", "Busy Share", "number", "pct", "Busy as share of the selected steps' time."
        ),
        _us(
            "shared_us", "Overlap", "Part of Busy in which another stream of the GPU runs work too."
        ),
        Column("shared_pct", "Overlap Share", "number", "pct", "Overlap as share of Busy."),
        Column(
            "queue_mean",
            "Queue",
            "number",
            None,
            "Mean number of launched kernels, copies and memsets that wait to start. Near 0: the "
            "queue is empty, and the host limits the stream.",
        ),
        Column(
            "queue_max",
            "Longest Queue",
            "integer",
            "count",
            "Most queued kernels, copies and memsets at once.",
        ),
        _us(
            "host_wait_us",
            "Host Wait",
            "Gaps of the stream whose next work was launched after the gap began (HTA: host wait).",
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
            "All other gaps: the next work was launched but did not start (HTA: other).",
            "gap",
            hidden=True,
        ),
    ),
    sort="gpu,-busy_us,stream",
    when_empty="No stream runs work in the selection.",
)

LAUNCHES = TableSpec(
    "launch_delays",
    "Launches",
    "One row per launching host call and kind of work. The delay runs from the end of the call "
    "to the start of the work (of a graph: its first work), 0 if the work started before. It "
    "includes waiting in the queue.",
    (
        Column("host_call", "Call", "string", None, "Name of the host call."),
        Column(
            "work",
            "Launches",
            "string",
            None,
            "kernel, communication (a kernel), copy or set (memset).",
        ),
        Column("calls", "Calls", "integer", "count", "Calls that launched work.", additive=True),
        _us("call_mean_us", "Call Mean", "Mean duration of the call.", "call"),
        _us("call_max_us", "Call Max", "Longest duration of the call.", "call", hidden=True),
        _us("delay_p50_us", "Median Delay", "Half of the work starts within this time.", "delay"),
        _us("delay_p90_us", "90 % Delay", "90 % of the work starts within this time.", "delay"),
        _us("delay_p99_us", "99 % Delay", "99 % of the work starts within this time.", "delay"),
        _us("longest_delay_us", "Longest Delay", "The longest.", "delay"),
        Column(
            "short",
            "Faster than Launch",
            "integer",
            "count",
            "Kernels that run for less time than their launch call takes, so launching costs "
            "more than running.",
            additive=True,
        ),
        Column("short_pct", "Share of Calls", "number", "pct", "Share of the calls."),
        _us(
            "short_us",
            "Time of Fast Kernels",
            "Total time of these kernels.",
            "short",
            additive=True,
        ),
    ),
    sort="-calls,host_call,work",
    when_empty=NO_LAUNCHES,
)
