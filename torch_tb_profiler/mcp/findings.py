"""Findings and limits of the figures as text: what is wrong, what it costs, what to call next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

from torch_tb_profiler.mcp.answer_text import AnswerText, quoted
from torch_tb_profiler.mcp.calls import call_text, page_address, source_parameters
from torch_tb_profiler.mcp.rows import cell_text, header_text
from torch_tb_profiler.reports.notes import (
    in_reading_order,
    measured_text,
    note_text,
    same_time_texts,
    title_text,
)
from torch_tb_profiler.reports.text import visible
from torch_tb_profiler.requests.questions import Subject
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.schema import Column, Note

MAX_TEXT = 1_500
EVIDENCE_ROWS = 3
EVIDENCE_COLUMNS = 6


def findings_of(notes: Sequence[Note]) -> list[Note]:
    """The findings, the most valuable first."""
    return [note for note in in_reading_order(notes) if note.kind == "advice"]


def add_findings(
    answer: AnswerText, notes: Sequence[Note], subject: Subject, trace: str, origin_ns: int
) -> None:
    """Add each finding with its evidence and the calls that show more.

    Args:
        answer: The answer.
        notes: The findings.
        subject: What they are about, for the addresses of the pages.
        trace: Its name, for calls.
        origin_ns: Trace time of the first event of the recording.
    """
    for number, note in enumerate(notes, start=1):
        block = "\n".join(_finding(number, note, subject, trace, origin_ns))
        answer.add(block, f"finding {number} ({note.code}); ask with a larger max_chars")


def quality_lines(notes: Sequence[Note], severity: str | None = None) -> list[str]:
    """What limits the figures, warnings first."""
    limits = [note for note in notes if note.kind == "quality"]
    limits = [note for note in limits if severity in (None, note.severity)]
    limits.sort(key=lambda note: note.severity != "warning")
    return [f"- {note.severity} ({note.code}): {quoted(note_text(note), MAX_TEXT)}"
            for note in limits]  # fmt: skip


def _finding(
    number: int, note: Note, subject: Subject, trace: str, origin_ns: int
) -> Iterator[str]:
    evidence = note.evidence
    title = title_text(note) or note.code
    yield f"{number}. {quoted(title, MAX_TEXT)} [{note.code}]"
    yield f"   {quoted(note_text(note), MAX_TEXT)}"
    for text in (measured_text(note), *same_time_texts(note)):
        if text is not None:
            yield f"   {quoted(text, MAX_TEXT)}"
    yield from (f"   {line}" for line in _evidence(evidence))
    source = evidence.get("source")
    if isinstance(source, Mapping) and isinstance(source.get("view"), str):
        texts = {key: value for key, value in source.items() if isinstance(value, str)}
        call = call_text("table", trace=trace, **texts, steps=subject.selection.steps)
        yield f"   Rows: {call}"
        address = page_address(subject, texts["view"], source_parameters(texts))
        yield f"   Page: {visible(address)}"
    spot = evidence.get("timeline")
    if isinstance(spot, Mapping) and spot.get("worker") in (None, subject.worker):
        start, end = (
            str(Decimal(spot[key] + origin_ns) / NS_PER_US) for key in ("start_ns", "end_ns")
        )
        call = call_text("timeline_excerpt", trace=trace, start_us=start, end_us=end)
        yield f"   When: {call}"
    links = evidence.get("links")
    if isinstance(links, list) and links:
        yield f"   See: {', '.join(str(link) for link in links)}"


def _evidence(evidence: Mapping[str, object]) -> Iterator[str]:
    """The first rows behind a finding."""
    declared, rows = evidence.get("table"), evidence.get("rows")
    if not isinstance(declared, Mapping) or not isinstance(rows, list) or not rows:
        return
    columns = [Column(**column) for column in declared["columns"]]
    first = rows[:EVIDENCE_ROWS]
    columns = [each for each in columns if any(row.get(each.key) is not None for row in first)]
    columns = [each for each in columns if not each.hidden][:EVIDENCE_COLUMNS]
    for at, row in enumerate(first):
        cells = [
            f"{header_text(each)}={cell_text(row.get(each.key), each, 80)}" for each in columns
        ]
        yield f"{'Evidence: ' if at == 0 else '          '}{', '.join(cells)}"
    if len(rows) > len(first):
        yield f"          and {len(rows) - len(first)} more rows"
