"""What an answer is about, in one line: run, worker, span and selection."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from torch_tb_profiler.requests.questions import Subject
from torch_tb_profiler.requests.views import ViewResult
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.parameters import SELECTION_TEXTS
from torch_tb_profiler.views.registry import all_parameters

BETWEEN = " · "


def heading_of(result: ViewResult) -> str:
    """Heading of an answer: run, worker, span and selection; for a comparison both sides."""
    if result.baseline is None:
        return subject_text(result.subject)
    return f"{subject_text(result.subject)} against {subject_text(result.baseline)}"


def distinct_headings(headings: Sequence[str]) -> list[str]:
    """``headings`` without the parts that all of them share or that only repeat the part before, as
    a list of recordings needs them; unchanged where nothing would be left."""
    parts = [heading.split(BETWEEN) for heading in headings]
    if len({len(each) for each in parts}) > 1:
        return list(headings)
    differs = [len(set(column)) > 1 for column in zip(*parts, strict=True)]
    shown = []
    for each, heading in zip(parts, headings, strict=True):
        own = [part for part, is_own in zip(each, differs, strict=True) if is_own]
        retained = [
            part for at, part in enumerate(own) if at == 0 or not own[at - 1].endswith(part)
        ]
        shown.append(BETWEEN.join(retained) or heading)
    return shown if len(set(shown)) == len(set(headings)) else list(headings)


def subject_text(subject: Subject) -> str:
    """What an answer is about, by its parts."""
    parts = [subject.run or ".", subject.worker or "all workers", f"span {subject.span}"]
    return BETWEEN.join([*parts, *selection_texts(subject)])


def selection_texts(subject: Subject) -> list[str]:
    """What is selected and asked: ``["steps 5:8", "by name+input_shape"]``."""
    selection = subject.selection
    texts = [(each.title, getattr(selection, each.key)) for each in SELECTION_TEXTS]
    texts += [(each.title, subject.parameters.get(each.key)) for each in all_parameters().values()]
    parts = [f"{title} {text}" for title, text in texts if text is not None]
    start, end = (
        None if time is None else f"{Decimal(time) / NS_PER_US:,.3f}"
        for time in (selection.start_ns, selection.end_ns)
    )
    if start and end:
        parts.append(f"{start} to {end} µs")
    elif start or end:
        parts.append(f"from {start} µs" if start else f"to {end} µs")
    if selection.group_by:
        parts.append(f"by {selection.group_by}")
    return parts
