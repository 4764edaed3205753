"""The one screen for a terminal: at most 40 lines at 100 columns."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence

from msgspec import Struct

from torch_tb_profiler.reports.brief.bar import bar_text, legend_texts
from torch_tb_profiler.reports.brief.content import Brief, TopTable, missing_text
from torch_tb_profiler.reports.headings import distinct_headings
from torch_tb_profiler.reports.style import PLAIN, Style
from torch_tb_profiler.reports.text import display_width, shortened, visible

LINES = 39
"""Of 40, with the line of the next prompt."""

MIN_WIDTH = 40
_ANSWER_LINES = 3
_INDENT = "   "
_GAP = 2


class _Amounts(Struct, frozen=True):
    """How much is shown: recordings that are listed before the worst one, rows of a table, lines of
    the text of a finding."""

    recordings: int
    rows: int
    text_lines: int


_AMOUNTS = tuple(
    _Amounts(recordings, rows, text_lines)
    for recordings, rows, most, least in ((8, 5, 6, 3), (6, 3, 5, 3), (4, 2, 4, 1))
    for text_lines in range(most, least - 1, -1)
)
"""From most to least; the first that fits is taken."""

_MIN_DIAGNOSIS = 40
"""Characters that remain of what is wrong, where its remedy needs the room."""

_SENTENCE_END = re.compile(r"(?<=[.!?]) +(?=[A-Z])")


def dumps(briefs: Sequence[Brief], worst: int, width: int, style: Style = PLAIN) -> str:
    """The screen of the ``worst`` of some recordings, after a line for each where there are
    several."""
    width = max(width, MIN_WIDTH)
    lines: list[str] = []
    for amounts in _AMOUNTS:
        lines = list(_screen(briefs[worst], width, style, amounts))
        if len(briefs) > 1:
            lines = [*_recordings(briefs, worst, width, style, amounts.recordings), *lines]
        if len(lines) <= LINES:
            break
    return "".join(f"{line}\n" for line in lines)


def _recordings(
    briefs: Sequence[Brief], worst: int, width: int, style: Style, most: int
) -> Iterable[str]:
    yield style.paint(style.strong, f"{len(briefs)} recordings")
    order = [worst, *(at for at in range(len(briefs)) if at != worst)]
    names = distinct_headings([brief.heading for brief in briefs])
    for at in order[:most]:
        name = shortened(visible(names[at]), width // 3)
        answer = briefs[at].answer or _finding_title(briefs[at])
        yield shortened_end(f"- {name}: {visible(answer)}", width)
    if len(order) > most:
        yield style.paint(style.aside, f"and {len(order) - most} more: --all")
    yield ""


def _finding_title(brief: Brief) -> str:
    return brief.findings[0][0] if brief.findings else "no issue reported"


def _screen(brief: Brief, width: int, style: Style, amounts: _Amounts) -> Iterable[str]:
    yield style.paint(style.aside, shortened(visible(brief.heading), width))
    for line in _wrapped(brief.answer or "", width, _ANSWER_LINES):
        yield style.paint(style.strong, line)
    if brief.bar is not None:
        yield ""
        yield f"{shortened(visible(brief.bar.title), width)}"
        yield bar_text(brief.bar, width)
        yield from _flowing(legend_texts(brief.bar), width)
    if brief.findings:
        yield ""
    for number, (title, text) in enumerate(brief.findings, start=1):
        yield style.paint(style.warning, shortened(visible(f"{number}. {title}"), width))
        for line in _finding_lines(text, width - len(_INDENT), amounts.text_lines):
            yield _INDENT + line
    for top in brief.tops:
        yield ""
        yield from _table(top, width, style, amounts.rows)
    yield ""
    yield from (style.paint(style.aside, line) for line in _footer(brief, width))


def _footer(brief: Brief, width: int) -> Iterable[str]:
    for warning in brief.warnings[:1]:
        yield shortened_end(visible(f"! {warning}"), width)
    parts = []
    if brief.more_findings:
        parts.append(f"{brief.more_findings} more finding{'s' * (brief.more_findings > 1)}")
    if len(brief.warnings) > 1:
        parts.append(f"{len(brief.warnings) - 1} more on the numbers")
    if brief.missing:
        parts.append(missing_text(brief.missing))
    parts.append("all tables")
    yield from _wrapped(f"{'; '.join(parts)}: --all", width, 2)


def _table(top: TopTable, width: int, style: Style, rows: int) -> Iterable[str]:
    """A table with its name column as wide as it may be, its title in the head of that."""
    shown = [[visible(cell) for cell in row] for row in top.rows[:rows]]
    lines = [[top.title, *top.headers[1:]], *shown]
    widths = [max(display_width(line[at]) for line in lines) for at in range(len(lines[0]))]
    while len(widths) > 2 and sum(widths[1:]) + _GAP * (len(widths) - 1) > width - 16:
        widths.pop()
    widths[0] = min(widths[0], width - sum(widths[1:]) - _GAP * (len(widths) - 1))
    for at, line in enumerate(lines):
        name = shortened(line[0], widths[0])
        cells = [name + " " * (widths[0] - display_width(name))]
        cells += [
            " " * (cells_wide - display_width(cell)) + cell
            for cell, cells_wide in zip(line[1:], widths[1:], strict=False)
        ]
        text = (" " * _GAP).join(cells).rstrip()
        yield text if at else style.paint(style.strong, text)


def _finding_lines(text: str, width: int, most: int) -> list[str]:
    """What is wrong and the remedy; where not all of it fits, the first sentence is shortened, so
    that the remedy stays whole."""
    lines = _wrapped(text, width, most)
    diagnosis, *remedy = _SENTENCE_END.split(visible(text), maxsplit=1)
    if not remedy or not lines or not lines[-1].endswith("…"):
        return lines
    for room in range(len(diagnosis) - 1, _MIN_DIAGNOSIS, -1):
        shorter = textwrap.wrap(
            f"{shortened_end(diagnosis, room)} {remedy[0]}", width, break_on_hyphens=False
        )
        if len(shorter) <= most:
            return shorter
    return lines


def _wrapped(text: str, width: int, most: int) -> list[str]:
    """``text`` in at most ``most`` lines; the last one ends with an ellipsis where it goes on."""
    lines = textwrap.wrap(visible(text), width, break_on_hyphens=False)
    if len(lines) <= most:
        return lines
    return [*lines[: most - 1], shortened_end(f"{lines[most - 1]} {lines[most]}", width)]


def _flowing(texts: Sequence[str], width: int) -> list[str]:
    """Texts next to each other as far as they fit."""
    lines: list[str] = []
    for text in texts:
        if lines and display_width(lines[-1]) + 3 + display_width(text) <= width:
            lines[-1] += f"   {text}"
        else:
            lines.append(shortened(text, width))
    return lines


def shortened_end(text: str, width: int) -> str:
    """``text`` without what does not fit at its end, at a space where there is one."""
    if display_width(text) <= width:
        return text
    used, end = 0, 0
    for end, character in enumerate(text):  # noqa: B007 - the position where it is full
        used += display_width(character)
        if used > width - 1:
            break
    start = text[:end].rstrip()
    cut = start.rfind(" ")
    return f"{start[:cut] if cut > width // 2 else start}…".replace(".…", "…")
