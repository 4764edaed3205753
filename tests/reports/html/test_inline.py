"""Outputs of notebooks: complete, bounded, and no text of a recording becomes markup."""

from __future__ import annotations

import html
import re

import polars as pl
from msgspec.structs import replace

from tests.helpers.export_readers import Page, drawings
from tests.reports.examples import HOSTILE, KERNELS, SPEC, kernels_view
from torch_tb_profiler.reports.html.inline import (
    MAX_BYTES,
    MAX_FACTS,
    MAX_NOTES,
    MAX_ROWS,
    message_markup,
    report_frame,
    result_markup,
    verdict_markup,
)
from torch_tb_profiler.requests.questions import Subject
from torch_tb_profiler.requests.views import ViewResult
from torch_tb_profiler.views.schema import Column, Fact, Line, Note, Series, Table, View

BREAKING = "\"></iframe></style><script>alert(1)</script>&quot;<b onclick='x'>"


def _result(view: View, run: str = "run") -> ViewResult:
    return ViewResult(SPEC, view, Subject(run=run, worker="rank0", span="1"))


def _long_table(rows: int, row_count: int | None = None) -> Table:
    columns = {
        key: [f"kernel {n}" for n in range(rows)] if dtype == pl.String else [float(rows)] * rows
        for key, dtype in KERNELS.polars_schema().items()
    }
    return Table(KERNELS, pl.DataFrame(columns, KERNELS.polars_schema()), row_count=row_count)


def _wide_table(rows: int) -> Table:
    """Of columns of long texts."""
    columns = tuple(Column(f"c{n}", f"C {n}", "string", None, "Help.") for n in range(100))
    texts = [f"{row} {'&' * 300}" for row in range(rows)]
    spec = replace(KERNELS, columns=columns, sort="c0")
    return Table(spec, pl.DataFrame({column.key: texts for column in columns}))


def test_hostile_names_stay_text() -> None:
    series = Series(
        HOSTILE, "line", HOSTILE, "us", HOSTILE, "bytes", (Line(BREAKING, [1, 2], [3, 4]),)
    )
    finding = Note("advice", "x", "warning", BREAKING, {"title": BREAKING, "links": ["x:y"]})
    facts = (Fact("x", BREAKING, BREAKING, None, BREAKING, BREAKING),)
    view = replace(
        kernels_view(3), answer=BREAKING, series={"x": series}, notes=(finding,), facts=facts
    )
    for markup in (
        result_markup(_result(view, BREAKING)),
        verdict_markup(_result(view, HOSTILE), BREAKING),
        message_markup(BREAKING),
    ):
        page = Page(markup)
        assert page.acting() == []
        assert "\x1b" not in markup
        assert any(BREAKING in text for text in page.texts)  # it is shown, as it is
    assert drawings(result_markup(_result(view)))


def test_a_frame_holds_the_document_and_gives_it_no_rights() -> None:
    document = f'<!DOCTYPE html><html><body title="{html.escape(BREAKING)}">{BREAKING}</body>'
    page = Page(report_frame(document, BREAKING, BREAKING))
    assert page.names == {"div", "style", "iframe", "p"}
    (frame,) = (attributes for tag, attributes in page.tags if tag == "iframe")
    assert frame["srcdoc"] == document
    assert frame["title"] == BREAKING
    rights = set((frame["sandbox"] or "").split())
    assert rights == {"allow-popups", "allow-popups-to-escape-sandbox"}


def test_rows_that_are_not_shown_are_counted_and_can_be_had() -> None:
    markup = result_markup(_result(View(tables={"kernels": _long_table(2000)})))
    assert f"first {MAX_ROWS} of 2,000 rows" in markup
    assert markup.count("<tr>") == MAX_ROWS + 1
    assert "result.table(&quot;kernels&quot;)" in markup
    part = result_markup(_result(View(tables={"kernels": _long_table(5, row_count=2000)})))
    assert "trace.view(&quot;kernels&quot;, table=&quot;kernels&quot;)" in part
    assert "All rows" not in result_markup(_result(View(tables={"kernels": _long_table(5)})))
    wide = result_markup(_result(View(tables={"kernels": _wide_table(MAX_ROWS)})))
    assert 1 <= wide.count("<tr>") - 1 < MAX_ROWS
    assert "result.table(&quot;kernels&quot;)" in wide


def test_figures_and_notes_that_are_not_shown_are_counted() -> None:
    facts = tuple(Fact(f"f{n}", f"Figure {n}", n, None, None, "Help.") for n in range(40))
    limits = tuple(Note("quality", f"q{n}", "info", f"Limit {n}.") for n in range(9))
    findings = tuple(Note("advice", f"a{n}", "info", f"Finding {n}.") for n in range(9))
    markup = result_markup(_result(View(facts=facts, notes=limits + findings)))
    assert markup.count("<dt>") == MAX_FACTS
    assert f"{40 - MAX_FACTS} more figures: <code>result.facts" in markup
    assert len(re.findall(r"Limit \d", markup)) == len(re.findall(r"Finding \d", markup))
    assert len(re.findall(r"Limit \d", markup)) == MAX_NOTES
    assert f"{9 - MAX_NOTES} more findings: <code>result.notes" in markup


def test_figures_without_a_value_give_the_reason() -> None:
    markup = result_markup(_result(kernels_view(1)))
    assert "1 figure needs data this recording lacks" in markup
    assert "Est. SM efficiency (GPU 1): not recorded" in markup


def test_what_is_too_large_is_named() -> None:
    xs = [float(n) for n in range(1000)]
    lines = tuple(Line(f"line {n}", xs, [x * 0.7 for x in xs]) for n in range(12))
    many = {f"s{n}": Series(f"Chart {n}", "line", "x", "us", "y", "us", lines) for n in range(20)}
    markup = result_markup(_result(View(series=many, tables={"kernels": _long_table(3)})))
    assert len(markup.encode()) < MAX_BYTES + 20_000
    drawn = markup.count("<figure>")
    assert 1 <= drawn < 20
    left_out = re.search(r"Too large for a notebook: ([^<]*)", markup)
    assert left_out is not None
    assert left_out[1].count("chart Chart") == 20 - drawn
    assert "kernel 2" in markup  # what is small stays
