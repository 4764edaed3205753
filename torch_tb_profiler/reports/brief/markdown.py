"""The same as Markdown, for a pull request."""

from __future__ import annotations

from collections.abc import Sequence

from torch_tb_profiler.reports.brief.bar import bar_text, legend_texts
from torch_tb_profiler.reports.brief.content import Brief, TopTable, missing_text
from torch_tb_profiler.reports.headings import distinct_headings
from torch_tb_profiler.reports.markdown import escaped, grid, paragraph

BAR_WIDTH = 60


def dumps(briefs: Sequence[Brief], worst: int) -> str:
    """The ``worst`` of some recordings, after a line for each where there are several."""
    parts = [_recordings(briefs, worst)] if len(briefs) > 1 else []
    parts += _screen(briefs[worst])
    return "\n".join(parts)


def _recordings(briefs: Sequence[Brief], worst: int) -> str:
    order = [worst, *(at for at in range(len(briefs)) if at != worst)]
    names = distinct_headings([brief.heading for brief in briefs])
    lines = [f"- **{escaped(names[at])}**: {_line(briefs[at])}\n" for at in order]
    return f"## {len(briefs)} recordings\n\n{''.join(lines)}"


def _line(brief: Brief) -> str:
    title = brief.findings[0][0] if brief.findings else "no issue reported"
    return escaped(brief.answer or title)


def _screen(brief: Brief) -> list[str]:
    parts = [f"## {escaped(brief.heading)}\n"]
    if brief.answer:
        parts.append(f"**{escaped(brief.answer)}**\n")
    if brief.bar is not None:
        legend = " · ".join(map(escaped, legend_texts(brief.bar)))
        bar = bar_text(brief.bar, BAR_WIDTH)
        parts.append(f"{escaped(brief.bar.title)}\n\n`{bar}`\n\n{legend}\n")
    if brief.findings:
        lines = [
            f"{number}. **{escaped(title)}**. {escaped(text)}\n"
            for number, (title, text) in enumerate(brief.findings, start=1)
        ]
        parts.append("".join(lines))
    parts += map(_table, brief.tops)
    parts += [f"> {paragraph(warning)}\n" for warning in brief.warnings]
    rest = [f"{brief.more_findings} more findings"] if brief.more_findings else []
    rest += [missing_text(brief.missing)] if brief.missing else []
    if rest:
        parts.append(f"{'; '.join(rest)}: `--all` shows them.\n")
    return parts


def _table(top: TopTable) -> str:
    headers = [top.title, *top.headers[1:]]
    return grid(headers, [at > 0 for at in range(len(headers))], top.rows)
