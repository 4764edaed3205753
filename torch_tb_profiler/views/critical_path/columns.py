"""The declared tables of the view of the critical path."""

from __future__ import annotations

from torch_tb_profiler.analysis.idle.critical_path.parts import PathPart
from torch_tb_profiler.views.schema import Column, TableSpec

TITLES = {
    PathPart.COMPUTE: "Compute kernels",
    PathPart.COMMUNICATION: "Communication",
    PathPart.COPY: "Copies and memsets",
    PathPart.OPERATOR: "Operators on the host",
    PathPart.PYTHON: "Python between operators",
    PathPart.RUNTIME: "Runtime calls",
    PathPart.LAUNCH: "Launch latency",
    PathPart.KERNEL_GAP: "Kernel to kernel",
    PathPart.STREAM_WAIT: "Between streams",
    PathPart.SYNC_RETURN: "Synchronization return",
    PathPart.HAND_OVER: "Between host threads",
    PathPart.DATA_LOADING: "Data loading",
    PathPart.UNKNOWN: "Unknown",
}

MEANINGS = {
    PathPart.COMPUTE: "A kernel runs, and the following work waits for it. Faster or fewer "
    "kernels help.",
    PathPart.COMMUNICATION: "A collective runs or waits for other ranks. Overlap it, or "
    "find the late rank.",
    PathPart.COPY: "A copy or memset runs on the device.",
    PathPart.OPERATOR: "The host prepares work inside operators. torch.compile, CUDA graphs or a "
    "larger batch help.",
    PathPart.PYTHON: "The host runs Python between operators. torch.compile, CUDA graphs or "
    "a larger batch "
    "help.",
    PathPart.RUNTIME: "The host is in a device runtime call: launch, allocation or event.",
    PathPart.LAUNCH: "Launch latency: the kernel was launched but has not started; its "
    "stream is empty.",
    PathPart.KERNEL_GAP: "The stream switches to the next kernel, which was launched already.",
    PathPart.STREAM_WAIT: "From the end of work on another stream to the work that waited "
    "for it (inferred).",
    PathPart.SYNC_RETURN: "Return latency after a synchronization.",
    PathPart.HAND_OVER: "Execution passes from one host thread to another, as from forward "
    "to backward.",
    PathPart.DATA_LOADING: "The host waits for the next batch or prepares it.",
    PathPart.UNKNOWN: "The recording does not show what the step waits for.",
}

_US = "Time on the critical path."
_PCT = "Share of the selected steps."


def _saved(key: str, title: str, text: str) -> Column:
    return Column(key, title, "number", "us", text, estimated=True, family="time")


def _share(key: str, title: str) -> Column:
    return Column(key, title, "number", "pct", "As share of the step.", estimated=True)


CATEGORIES = TableSpec(
    "categories",
    "Critical path by category",
    "One row per category. Each moment of the step belongs to one category, so the rows add up "
    "to the step.",
    (
        Column("category", "Key", "string", None, "Stable name, for what-if.", hidden=True),
        Column("title", "Category", "string", None, "Category of the time."),
        Column("path_us", "On Path", "number", "us", _US, additive=True, family="time"),
        Column("pct", "Of Step", "number", "pct", _PCT, additive=True),
        Column("pieces", "Pieces", "integer", "count", "Segments of the path.", additive=True),
        Column("longest_us", "Longest", "number", "us", "Longest segment.", family="piece"),
        Column("side", "Side", "string", None, "host, device, or both."),
        Column("meaning", "What it means", "string", None, "Meaning, and how to reduce it."),
    ),
    sort="-path_us,title",
    when_empty="The selected step holds no recorded activity.",
)

OPERATORS = TableSpec(
    "operators",
    "Operators and kernels on the path",
    "One row per name: how much of its time is on the critical path. Only that part can shorten "
    "the step; the rest is hidden behind other work.",
    (
        Column("name", "Name", "string", None, "Operator, call, frame or kernel."),
        Column("title", "Category", "string", None, "Kind of work."),
        Column("path_us", "On Path", "number", "us", _US, additive=True, family="time"),
        Column("pct", "Of Step", "number", "pct", _PCT, additive=True),
        Column(
            "total_us",
            "Total",
            "number",
            "us",
            "Self time in the steps, without callees and waiting; for kernels on all streams.",
            additive=True,
            family="time",
        ),
        Column("on_path_pct", "On Path Share", "number", "pct", "On Path as share of Total."),
        Column("pieces", "Pieces", "integer", "count", "Segments of the path.", additive=True),
        Column("full_name", "Full Name", "string", None, "As recorded.", hidden=True),
    ),
    sort="-path_us,-total_us,name",
    when_empty="The selected step holds no recorded activity.",
)

WHAT_IF = TableSpec(
    "what_if",
    "What if",
    "One row for each of the names with most time on the path: how much shorter the step would "
    "be if its time were halved, removed or overlapped with other work. Usually less than its "
    "time on the path, because another path becomes critical.",
    (
        Column("name", "Name", "string", None, "Operator, call, frame or kernel."),
        Column("path_us", "On Path", "number", "us", _US, family="time"),
        _saved("halve_us", "Halved Saves", "Saved if its work took half the time."),
        _saved("remove_us", "Removed Saves", "Saved if its work took no time."),
        _saved(
            "overlap_us",
            "Overlapped Saves",
            "Saved if its work were fully overlapped and only the end of the step waited for it.",
        ),
        _share("halve_pct", "Halved"),
        _share("remove_pct", "Removed"),
        Column("full_name", "Full Name", "string", None, "As recorded.", hidden=True),
    ),
    sort="-remove_us,-path_us,name",
    when_empty="The selected step holds no recorded activity.",
)

PIECES = TableSpec(
    "pieces",
    "Path segments",
    "One row per segment of the path, in time order. Segments are contiguous and do not overlap.",
    (
        Column("step", "Step", "string", None, "Name of the step."),
        Column("start_us", "Start", "number", "us", "Start, since the start of the recording."),
        Column("duration_us", "Duration", "number", "us", "Duration.", additive=True, family="d"),
        Column("title", "Category", "string", None, "Category of the time."),
        Column(
            "name",
            "Name",
            "string",
            None,
            "Work that ran; between two pieces of work: the following one.",
        ),
        Column("where", "Where", "string", None, "Thread, or device and stream."),
        Column("module", "Module", "string", None, "Enclosing module, where known."),
        Column("slice", "Slice", "integer", None, "Slice id on the timeline.", hidden=True),
    ),
    sort="start_us",
    when_empty="The selected step holds no recorded activity.",
)
