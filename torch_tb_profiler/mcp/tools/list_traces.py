"""``list_traces``: the recordings, how they are called, and what is known of them."""

from __future__ import annotations

from typing import Any

from torch_tb_profiler.importers.registry import label_of
from torch_tb_profiler.mcp.answer_text import AnswerText, quoted
from torch_tb_profiler.mcp.calls import call_text
from torch_tb_profiler.mcp.context import ToolContext
from torch_tb_profiler.mcp.tool import MAX_CHARS, OFFSET, McpTool
from torch_tb_profiler.mcp.tool_arguments import ToolArgument
from torch_tb_profiler.mcp.trace_names import all_files, shortest_names, whole_name
from torch_tb_profiler.storage.discovery import SpanFile

MAX_SKIPPED = 5
HEADER = "trace\tformat\tsize_bytes\tsteps\tstate"


def list_traces(context: ToolContext, arguments: dict[str, Any]) -> str:
    """Every recording whose name contains the filter, a line each."""
    files = all_files(context)
    named = list(zip(shortest_names(files), files, strict=True))
    wanted = arguments["filter"].lower()
    chosen = [(name, file) for name, file in named if wanted in _searched(file)]
    answer = AnswerText(arguments["max_chars"])
    answer.add(_sentence(files, len(chosen), wanted))
    offset = arguments["offset"]
    lines = [_line(context, name, file) for name, file in chosen[offset : offset + 2_000]]
    notes = _notes(context)
    if lines:
        first = call_text("verdict", trace=chosen[offset][0])
        notes.append(f"Next: {first}. steps: null until the recording was read by another call.")
    count = answer.add_lines([HEADER], lines, notes) if lines else 0
    if offset + count < len(chosen):
        answer.note_cut(
            f"{len(chosen) - offset - count} recordings; ask with offset={offset + count} or filter"
        )
    for line in notes:
        answer.add(line, "notes about skipped files")
    return answer.text()


def _searched(file: SpanFile) -> str:
    """What a filter looks in: the whole name and that of the file."""
    return f"{whole_name(file)} {file.location.url.rpartition('/')[2]}".lower()


def _sentence(files: list[SpanFile], count: int, wanted: str) -> str:
    runs, workers = len({file.run for file in files}), len({(f.run, f.worker) for f in files})
    text = f"{len(files)} recordings in {runs} runs of {workers} workers"
    if wanted:
        text += f"; {count} have {quoted(wanted)!r} in their name"
    return f"{text}. Name one as RUN, RUN/WORKER or RUN/WORKER/SPAN:"


def _line(context: ToolContext, name: str, file: SpanFile) -> str:
    status = context.catalog.store.status(file)
    trace = context.catalog.store.trace(file, "trace")
    steps = "null" if trace is None else str(trace.steps.height)
    kind = status.format_label or (label_of(status.format) if status.format else "null")
    state = status.state if status.error is None else f"failed: {quoted(status.error.message)}"
    state = "not read yet" if state == "queued" else state
    return f"{name}\t{quoted(kind)}\t{status.size_bytes}\t{steps}\t{state}"


def _notes(context: ToolContext) -> list[str]:
    contents = context.catalog.contents(0)
    notes = [quoted(note, 400) for note in contents.notes[:MAX_SKIPPED]]
    counts = sum(contents.skipped_counts.values())
    if counts > len(notes):
        reasons = [
            f"{quoted(reason, 120)} ({count})"
            for reason, count in sorted(contents.skipped_counts.items(), key=lambda it: -it[1])
        ]
        listed = "; ".join(reasons[:MAX_SKIPPED])
        notes.append(f"{counts} files are no recordings or were skipped: {listed}.")
    notes += [
        f"{quoted(outage.root.shown_url)} does not respond: {quoted(outage.problem.message, 400)}"
        for outage in context.catalog.outages
    ]
    return notes


TOOL = McpTool(
    "list_traces",
    "List the recordings",
    "Lists the recordings in the log directories: how to name each as `trace` in the other tools, "
    "its format, size, steps (where it was read already) and why files were skipped. Call it "
    "first. Then call verdict.",
    (
        ToolArgument("filter", "Only recordings whose name or file name contains this text."),
        OFFSET,
        MAX_CHARS,
    ),
    list_traces,
)
