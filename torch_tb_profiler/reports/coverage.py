"""What a recording answers, as text for a terminal: a sentence, a table, code to copy."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from torch_tb_profiler.reports.style import PLAIN, Style
from torch_tb_profiler.reports.text import display_width, visible
from torch_tb_profiler.requests.coverage import (
    CoveredQuestion,
    RecordingCode,
    RecordingCoverage,
    RecordingProblem,
)

GAP = "  "
MIN_DETAIL_WIDTH = 30
HEADERS = ("Question", "Answer", "Where, or why not")
UNKNOWN_RECORDER = "an unknown recorder"


def dumps(coverage: RecordingCoverage, width: int, style: Style = PLAIN) -> str:
    """The answer as lines of at most ``width`` cells; the code is never wrapped."""
    trace = coverage.trace
    names = [name for name in (trace.run, trace.worker, trace.span) if name]
    rank = f", one of {coverage.ranks} ranks" if coverage.ranks > 1 else ""
    recorder = coverage.recorder or UNKNOWN_RECORDER
    heading = f"{' · '.join(names)}{rank}: recorded with {recorder}"
    blocks = [
        [style.paint(style.strong, line) for line in _wrapped(heading, width)]
        + _wrapped(coverage.answer, width),
        list(_table(coverage.questions, width)),
        list(_outside(coverage.questions, width)),
        list(_problems(coverage.problems, width)),
    ]
    if coverage.record is not None:
        blocks += _record(coverage.record, width)
    return "\n\n".join("\n".join(lines) for lines in blocks if lines) + "\n"


def _table(questions: Iterable[CoveredQuestion], width: int) -> Iterator[str]:
    shown = [each for each in questions if each.answer != "not applicable"]
    first = max(display_width(each.question) for each in shown) if shown else 0
    second = max(map(len, ("partly", HEADERS[1])))
    indent = first + second + 2 * len(GAP)
    room = max(width - indent, MIN_DETAIL_WIDTH)
    yield f"{HEADERS[0]:{first}}{GAP}{HEADERS[1]:{second}}{GAP}{HEADERS[2]}"
    for each in shown:
        start, *others = _wrapped(" ".join(_details(each)), room) or [""]
        yield f"{each.question:{first}}{GAP}{each.answer:{second}}{GAP}{start}".rstrip()
        yield from (f"{' ' * indent}{line}" for line in others)


def _details(question: CoveredQuestion) -> Iterator[str]:
    """Where the answer stands; why it does not, and what records it."""
    if question.answer != "no":
        yield ", ".join(dict.fromkeys(_location(question)))
    if question.reason is not None and question.answer != "yes":
        yield question.reason if question.answer == "no" else f"– {question.reason}"
    missing = [name for name in question.options if name not in (question.reason or "")]
    if missing:
        yield f"Record with {', '.join(missing)}."
    if question.instead is not None:
        yield question.instead


def _location(question: CoveredQuestion) -> Iterator[str]:
    for source in question.sources:
        where = f"{source.view}: {source.table or source.fact}"
        yield where + (f" (--group-by {source.group_by})" if source.group_by else "")


def _outside(questions: Iterable[CoveredQuestion], width: int) -> Iterator[str]:
    """Questions that do not apply, by reason."""
    by_reason: dict[str, list[str]] = {}
    for each in questions:
        if each.answer == "not applicable":
            by_reason.setdefault(each.reason or "", []).append(each.question)
    if by_reason:
        yield "Not applicable"
    for reason, texts in by_reason.items():
        yield from _item(f"{' '.join(texts)} {reason}", width)


def _problems(problems: Iterable[RecordingProblem], width: int) -> Iterator[str]:
    for number, each in enumerate(problems):
        if number == 0:
            yield "The recording itself"
        count = f"{each.count or 0:,}"
        has_count = (each.count or 0) > 1 and count not in each.text
        yield from _item(f"{each.text} ({count} times)" if has_count else each.text, width)


def _record(record: RecordingCode, width: int) -> Iterator[list[str]]:
    yield ["Record next time"]
    yield [f"    {line}".rstrip() for line in map(visible, record.code.split("\n"))]
    if record.costs:
        costs = "; ".join(f"{each.option}: {each.cost}" for each in record.costs)
        yield _wrapped(f"Cost: {costs}.", width)
    if record.otherwise is not None:
        yield ["Without a change of the program:"]
        yield [f"    {line}" for line in record.otherwise.split("\n")]


def _item(text: str, width: int) -> list[str]:
    first, *others = _wrapped(text, width - 2)
    return [f"- {first}", *(f"  {line}" for line in others)]


def _wrapped(text: str, width: int) -> list[str]:
    """Lines of whole words: options and commands are to be copied."""
    return textwrap.wrap(visible(text), width, break_long_words=False, break_on_hyphens=False)
