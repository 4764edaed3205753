"""Markdown: tables that stay tables whatever the names are, and no markup from a trace."""

from __future__ import annotations

import re

from tests.helpers.export_readers import rendered
from tests.helpers.hostile_names import NAMES, utf8
from tests.reports.examples import HOSTILE, SPEC, kernels_view
from torch_tb_profiler.reports.markdown import dumps, escaped, grid, paragraph
from torch_tb_profiler.reports.text import visible

UNESCAPED_BAR = re.compile(r"(?<!\\)\|")


def _lines() -> list[str]:
    return dumps(SPEC, kernels_view(3, row_count=40), "run · worker0").split("\n")


def test_every_line_of_a_table_has_the_same_number_of_cells() -> None:
    lines = _lines()
    start = lines.index("### Kernels") + 2
    counts = {len(UNESCAPED_BAR.findall(line)) for line in lines[start : start + 5]}
    assert len(counts) == 1
    assert lines[start + 5] == ""


def test_numbers_stand_at_the_right_with_the_unit_in_the_header() -> None:
    lines = _lines()
    header = lines[lines.index("### Kernels") + 2]
    rule = lines[lines.index("### Kernels") + 3]
    assert "Total Duration \\[µs\\]" in header
    assert rule == "|---|---|" + "---:|" * 10


def test_a_column_without_values_is_left_out() -> None:
    assert "Grid" not in "\n".join(_lines())


def test_no_html_no_link_no_emphasis_and_no_control_character_from_a_name() -> None:
    text = "\n".join(_lines())
    assert "<img" not in text
    assert "\x1b" not in text
    assert re.search(r"(?<!\\)\]\(javascript", text) is None
    assert escaped(HOSTILE) == (
        "&lt;img src=x onerror=alert(1)&gt;\\|\\*b\\*\\\\x1b\\[2J\\\\n\\`\\_\\[a\\](javascript:x)"
    )


def test_every_hostile_name_is_text_in_a_cell_and_at_the_start_of_a_line() -> None:
    for name in map(utf8, NAMES):
        shown = visible(name).split()
        cell = rendered(grid(["Name", "Calls"], [False, True], [[name, "-1"]]))
        assert cell.names == {"table", "thead", "tbody", "tr", "th", "td"}, ascii(name)
        assert "".join(cell.texts).split() == ["Name", "Calls", *shown, "-1"]
        line = rendered(f"{paragraph(name)}\n\n{paragraph(name)}\n")
        assert line.names <= {"p"}, ascii(name)
        assert "".join(line.texts).split() == shown * 2


def test_facts_notes_and_the_count_of_rows() -> None:
    text = "\n".join(_lines())
    assert text.startswith("## Kernels: run · worker0\n")
    assert "| GPU utilization | GPU 0 | 12.35 % |" in text
    assert "| Est. SM efficiency | GPU 1 | – (not recorded) |" in text
    assert "- **warning**: The data loader takes 80 % of a step." in text
    assert "3 of 40 rows." in text
