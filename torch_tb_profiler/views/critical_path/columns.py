"""The declared tables of the view of the critical path."""

from __future__ import annotations

from torch_tb_profiler.analysis.idle.critical_path.parts import PathPart
from torch_tb_profiler.views.schema import Column, TableSpec

TITLES = {
    PathPart.COMPUTE: "Compute kernels",
    PathPart.COMMUNICATION: "Communication",
    PathPart.COPY: "Copies and sets",
    PathPart.OPERATOR: "Operators on the host",
    PathPart.PYTHON: "Python between operators",
    PathPart.RUNTIME: "Runtime calls",
    PathPart.LAUNCH: "Launch latency",
    PathPart.KERNEL_GAP: "Kernel to kernel",
    PathPart.STREAM_WAIT: "Between streams",
    PathPart.SYNC_RETURN: "Return of synchronization",
    PathPart.HAND_OVER: "Between host threads",
    PathPart.DATA_LOADING: "Data loading",
    PathPart.UNKNOWN: "Not known",
}

MEANINGS = {
    PathPart.COMPUTE: "A kernel runs, and what follows waits for it. Faster or fewer kernels help.",
    PathPart.COMMUNICATION: "A collective runs, or waits for other ranks. Overlap it, or find the "
    "rank that is late.",
    PathPart.COPY: "A copy or set runs on the device.",
    PathPart.OPERATOR: "The host prepares work inside operators. torch.compile, CUDA graphs or a "
    "larger batch help.",
    PathPart.PYTHON: "The host runs Python between operators. The same helps.",
    PathPart.RUNTIME: "The host is in a call of the device's runtime: launches, allocations, "
    "events.",
    PathPart.LAUNCH: "A launched kernel is on its way to a stream that has nothing else to do.",
    PathPart.KERNEL_GAP: "The stream goes from one kernel to the next, which was launched already.",
    PathPart.STREAM_WAIT: "From the end of work of another stream to what waited for it "
    "(inferred).",
    PathPart.SYNC_RETURN: "The device is done, and the call that waited for it comes back.",
    PathPart.HAND_OVER: "One host thread goes on after another: forward to backward, and back.",
    PathPart.DATA_LOADING: "The host waits for the next batch, or makes it.",
    PathPart.UNKNOWN: "Nothing recorded tells what was waited for.",
}

_US = "Time on the path."
_PCT = "Its share of the selected steps."


def _saved(key: str, title: str, text: str) -> Column:
    return Column(key, title, "number", "us", text, estimated=True, family="time")


def _share(key: str, title: str) -> Column:
    return Column(key, title, "number", "pct", "The same, of the step.", estimated=True)


CATEGORIES = TableSpec(
    "categories",
    "What the path is made of",
    "One row per kind of time. At each moment of the step one thing is blamed, so the rows add up "
    "to the step.",
    (
        Column("category", "Key", "string", None, "Stable name, for what-if.", hidden=True),
        Column("title", "Category", "string", None, "What the time was spent on."),
        Column("path_us", "On Path", "number", "us", _US, additive=True, family="time"),
        Column("pct", "Of Step", "number", "pct", _PCT, additive=True),
        Column("pieces", "Pieces", "integer", "count", "Pieces of the path.", additive=True),
        Column("longest_us", "Longest", "number", "us", "The longest of them.", family="piece"),
        Column("side", "Side", "string", None, "host, device, or both."),
        Column("meaning", "What it means", "string", None, "What is true then, and what helps."),
    ),
    sort="-path_us,title",
    when_empty="The selected step holds nothing that was recorded.",
)

OPERATORS = TableSpec(
    "operators",
    "Time on the path",
    "One row per name: how much of its time is on the path. Only that part can make the step "
    "shorter; what is off the path is hidden behind other work.",
    (
        Column("name", "Name", "string", None, "Operator, call, frame or kernel."),
        Column("title", "Category", "string", None, "What it is."),
        Column("path_us", "On Path", "number", "us", _US, additive=True, family="time"),
        Column("pct", "Of Step", "number", "pct", _PCT, additive=True),
        Column(
            "total_us",
            "Total",
            "number",
            "us",
            "All of its own time in the steps: without what it calls and without waiting; of "
            "kernels on every stream.",
            additive=True,
            family="time",
        ),
        Column("on_path_pct", "On Path Share", "number", "pct", "On Path over Total."),
        Column("pieces", "Pieces", "integer", "count", "Pieces of the path.", additive=True),
        Column("full_name", "Full Name", "string", None, "As recorded.", hidden=True),
    ),
    sort="-path_us,-total_us,name",
    when_empty="The selected step holds nothing that was recorded.",
)

WHAT_IF = TableSpec(
    "what_if",
    "What if",
    "One row per name with most time on the path: how much shorter the step would be if all of its "
    "time were halved, gone, or hidden behind other work. Often less than its time on the path: "
    "then something else takes its place.",
    (
        Column("name", "Name", "string", None, "Operator, call, frame or kernel."),
        Column("path_us", "On Path", "number", "us", _US, family="time"),
        _saved("halve_us", "Halved Saves", "Saved if its work took half."),
        _saved("remove_us", "Removed Saves", "Saved if it took no time."),
        _saved(
            "overlap_us",
            "Overlapped Saves",
            "Saved if it ran beside everything else, and only the end of the step waited for it.",
        ),
        _share("halve_pct", "Halved"),
        _share("remove_pct", "Removed"),
        Column("full_name", "Full Name", "string", None, "As recorded.", hidden=True),
    ),
    sort="-remove_us,-path_us,name",
    when_empty="The selected step holds nothing that was recorded.",
)

PIECES = TableSpec(
    "pieces",
    "The path",
    "One row per piece of the path, in order of time. Pieces touch and do not overlap.",
    (
        Column("step", "Step", "string", None, "Name of the step."),
        Column("start_us", "Start", "number", "us", "Start, from the start of the recording."),
        Column(
            "duration_us", "Duration", "number", "us", "How long it is.", additive=True, family="d"
        ),
        Column("title", "Category", "string", None, "What it is spent on."),
        Column("name", "Name", "string", None, "What ran; between two pieces: what follows."),
        Column("where", "Where", "string", None, "Thread, or device and stream."),
        Column("module", "Module", "string", None, "The module around it, where known."),
        Column("slice", "Slice", "integer", None, "Its id on the timeline.", hidden=True),
    ),
    sort="start_us",
    when_empty="The selected step holds nothing that was recorded.",
)
