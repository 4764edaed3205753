"""What stands on a terminal: never wider than it, nothing it acts on, nothing left out unsaid."""

from __future__ import annotations

import re
import unicodedata
from typing import get_args

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.helpers.examples import examples
from tests.reports.examples import KERNELS, SPEC, kernels_view
from torch_tb_profiler.reports.style import COLOURED
from torch_tb_profiler.reports.terminal import TextLayout, dumps
from torch_tb_profiler.reports.text import display_width
from torch_tb_profiler.views.name_columns import OTHER_NAMES, NameMode
from torch_tb_profiler.views.querying import query
from torch_tb_profiler.views.schema import NONE_PASSED, Column, Fact, Table, TableSpec, View

NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=80)


def _text(view: View, width: int = 100, columns: list[str] | None = None) -> str:
    return dumps(SPEC, view, "run · worker0", TextLayout(width, columns))


@pytest.mark.parametrize("width", [40, 60, 80, 100, 160, 300])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    assert max(map(display_width, _text(kernels_view(), width).split("\n"))) <= width


@given(
    st.lists(
        st.tuples(st.text(st.characters(exclude_categories=["Cs"]), max_size=80), st.floats()),
        max_size=4,
    ),
    st.integers(40, 120),
)
@examples(60)
def test_whatever_the_names_lines_fit_and_hold_no_control_character(
    rows: list[tuple[str, float]], width: int
) -> None:
    frame = pl.DataFrame(
        [
            (name.encode("utf-8", "replace").decode(), "op", None, *[value] * 10)
            for name, value in rows
        ],
        KERNELS.polars_schema(),
        orient="row",
    )
    lines = _text(View(tables={"kernels": Table(KERNELS, frame)}), width).split("\n")
    assert max(map(display_width, lines)) <= width
    assert all(unicodedata.category(c)[0] != "C" for line in lines for c in line)


def test_every_row_is_one_line_under_a_header_with_units() -> None:
    view = kernels_view()
    lines = _text(view, 300).split("\n")
    rule = next(n for n, line in enumerate(lines) if line.startswith("----"))
    assert "[ms]" not in lines[rule]
    assert "[µs]" in lines[rule - 1]
    assert "[KiB]" not in lines[rule - 1]
    assert [line.split()[-1] for line in lines[rule + 1 : rule + 4]] == [
        "1,234.5",
        "2,469.0",
        "3,703.5",
    ]
    assert "aten::add" in lines[rule + 1]


def test_what_does_not_fit_is_named_and_the_sorted_column_stays() -> None:
    text = _text(kernels_view(), 100)
    assert "Share" in text
    assert "Too wide to show: " in text
    left_out = text.partition("Too wide to show: ")[2].partition("(")[0].replace("\n", " ")
    assert "d_pct" not in left_out
    assert "c_pct" in left_out
    assert "Without values: grid" in text


def test_chosen_columns_come_in_the_order_asked_for() -> None:
    text = _text(kernels_view(), 100, ["total_us", "name"])
    header = next(line for line in text.split("\n") if "Name" in line)
    assert header.index("Total") < header.index("Name") if "Total" in header else True
    assert "Share" not in text
    assert "Too wide" not in text


def test_rows_left_out_are_counted() -> None:
    assert "Kernels (3 of 1,204 rows)" in _text(kernels_view(3, row_count=1204))
    assert "Kernels (3 rows)" in _text(kernels_view(3))


def test_a_table_without_rows_is_left_out_with_the_reason() -> None:
    text = _text(kernels_view(0))
    assert "Kernels (" not in text
    assert f"Kernels: no rows. {KERNELS.when_empty}\n" in text
    filtered = replace(kernels_view(3).tables["kernels"], row_count=None)
    filtered = query(filtered, filter="name~nowhere")
    assert f"Kernels: no rows. {NONE_PASSED}\n" in _text(View(tables={"kernels": filtered}))


def test_the_reason_of_a_fact_stands_whole() -> None:
    """Cut in its middle ("Not told, for … alone.") a sentence says nothing."""
    reason = "Not told, for the recordings differ in Device (V100 against A100). " * 3
    fact = Fact("confidence_total_pct", "Confidence", None, "pct", None, "", reason.strip())
    lines = _text(View(tables={}, facts=(fact,)), 60).split("\n")
    assert max(map(display_width, lines)) <= 60
    start = next(at for at, line in enumerate(lines) if line.startswith("Confidence  – ("))
    said = [line[len("Confidence  ") :] for line in lines[start:] if line]
    assert " ".join(said) == f"– ({reason.strip()})"


@pytest.mark.parametrize(("order", "is_tree"), [([0, 1, 2, 3], True), ([1, 0, 2, 3], False)])
def test_a_tree_told_by_hidden_columns_is_indented(order: list[int], is_tree: bool) -> None:
    """Unless it is sorted or filtered, so that rows no longer stand below what they are part of."""
    columns = (
        Column("id", "Id", "string", None, "", hidden=True),
        Column("parent", "Parent", "string", None, "", hidden=True),
        Column("name", "Name", "string", None, ""),
    )
    spec = TableSpec("tree", "Tree", "", columns, tree=("id", "parent"))
    rows = [("0", None, "Step"), ("1", "0", "Forward"), ("2", "1", "aten::mm"), ("3", "0", "Other")]
    frame = pl.DataFrame([rows[at] for at in order], spec.polars_schema(), orient="row")
    lines = _text(View(tables={"tree": Table(spec, frame)})).split("\n")
    indented = ["Step", "  Forward", "    aten::mm", "  Other"]
    assert lines[-5:-1] == (indented if is_tree else [rows[at][2] for at in order])


def test_colours_change_nothing_but_colours() -> None:
    view = kernels_view()
    coloured = dumps(SPEC, view, "run · worker0", TextLayout(100, style=COLOURED))
    assert "\x1b[1m" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == _text(view)


def test_a_kernel_has_the_name_that_was_chosen() -> None:
    spec = TableSpec(
        "kernels",
        "Kernels",
        "",
        (Column("name", "Name", "string", None, ""), *OTHER_NAMES),
    )
    rows = [("_Z3addv", "add", "add()"), ("copy", None, None)]
    table = Table(spec, pl.DataFrame(rows, spec.polars_schema(), orient="row"))
    shown = {
        mode: dumps(SPEC, View(tables={"kernels": table}), "", TextLayout(names=mode)).split()[-2:]
        for mode in get_args(NameMode)
    }
    assert shown == {
        "short": ["add", "copy"],
        "demangled": ["add()", "copy"],
        "recorded": ["_Z3addv", "copy"],
    }


def test_facts_and_notes_stand_above_the_tables() -> None:
    lines = _text(kernels_view()).split("\n")
    assert lines[0] == "Kernels: run · worker0"
    assert next(line for line in lines if "GPU utilization (GPU 0)" in line).endswith("12.35 %")
    assert any(line.endswith("– (not recorded)") for line in lines)
    first_note = next(n for n, line in enumerate(lines) if line.startswith("! The data loader"))
    assert lines[first_note + 1].startswith("  ")
