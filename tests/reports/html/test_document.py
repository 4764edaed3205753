"""The report: complete without script and network, hostile names stay text, sizes are bounded."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest
from msgspec.structs import replace

from tests.helpers.export_readers import Page
from tests.reports.examples import HOSTILE, KERNELS, SPEC, kernels_view
from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.loading.queries.report import report_contents
from torch_tb_profiler.reports.html.document import SECURITY, dumps, inline_document
from torch_tb_profiler.reports.html.tables import table_markup
from torch_tb_profiler.requests.questions import Subject
from torch_tb_profiler.requests.report import ReportContents, ReportSource
from torch_tb_profiler.requests.views import ViewResult
from torch_tb_profiler.views.schema import Line, Series, Table, View
from torch_tb_profiler.views.timeline.picture import Box, Picture, PictureNote, PictureTrack


def _hostile() -> ReportContents:
    series = Series(
        HOSTILE, "line", HOSTILE, "us", HOSTILE, "bytes", (Line(HOSTILE, [1, 2], [3, 4]),)
    )
    view = replace(kernels_view(3), answer=HOSTILE, series={"x": series})
    subject = Subject(run=HOSTILE, worker="</title><script>alert(1)</script>", span="1")
    other = replace(SPEC, name="other")
    results = (ViewResult(SPEC, view, subject), ViewResult(other, view, subject))
    source = ReportSource(HOSTILE, HOSTILE, 1000, HOSTILE, 0.0)
    box = Box(0, 10, "kernel", HOSTILE)
    track = PictureTrack(HOSTILE, HOSTILE, ((box,),))
    note = PictureNote(5, HOSTILE, HOSTILE)
    shown = Picture(HOSTILE, 0, 10, (2, 8), (track,), (note,))
    return ReportContents(results, (source,), (shown,), "javascript:alert(1)")


def test_nothing_of_hostile_names_becomes_markup() -> None:
    assert Page(dumps(_hostile()).decode()).acting() == []
    assert "\x1b" not in dumps(_hostile()).decode()


def test_the_browser_is_asked_to_run_and_load_nothing() -> None:
    metas = [
        attributes for tag, attributes in Page(dumps(_hostile()).decode()).tags if tag == "meta"
    ]
    assert {"http-equiv": "Content-Security-Policy", "content": SECURITY} in metas
    assert "default-src 'none'" in SECURITY


def test_a_cut_table_says_how_many_rows_there_are_and_by_what() -> None:
    names = [f"kernel {n}" for n in range(2000)]
    columns = {
        key: names if dtype == pl.String else [float(n) for n in range(2000)]
        for key, dtype in KERNELS.polars_schema().items()
    }
    shown = table_markup(Table(KERNELS, pl.DataFrame(columns, KERNELS.polars_schema())))
    assert "first 500 of 2,000 rows, by Share" in shown.markup
    assert shown.markup.count("<tr>") == 501
    assert (shown.row_count, shown.cut_at_bytes) == (500, None)
    small = table_markup(Table(KERNELS, pl.DataFrame(columns, KERNELS.polars_schema())), 10_000)
    count = small.markup.count("<tr>") - 1
    assert 10 < count < 60
    assert f"first {count} of 2,000 rows" in small.markup
    assert (small.row_count, small.cut_at_bytes) == (count, 10_000)


@pytest.mark.parametrize(
    ("tables", "rows", "name_length", "is_shortened"),
    [
        (1, 50, 10, False),
        (1, 2000, 10, False),  # by the number of rows, in both
        (2, 500, 2000, False),  # by the size of a table, which is that of the saved document
        (20, 500, 10, True),
    ],
)
def test_inline_it_says_whether_the_saved_document_has_more_rows(
    tables: int, rows: int, name_length: int, is_shortened: bool
) -> None:
    columns = {
        key: [f"{n} {'k' * name_length}" for n in range(rows)]
        if dtype == pl.String
        else [float(n) for n in range(rows)]
        for key, dtype in KERNELS.polars_schema().items()
    }
    table = Table(KERNELS, pl.DataFrame(columns, KERNELS.polars_schema()))
    view = View(tables={f"kernels{n}": table for n in range(tables)})
    results = (ViewResult(SPEC, View(), Subject()), ViewResult(SPEC, view, Subject()))
    contents = ReportContents(results)
    inline = inline_document(contents)
    assert inline.is_shortened is is_shortened
    saved_rows = dumps(contents).decode().count("<tr")
    assert (inline.html.count("<tr") < saved_rows) is is_shortened


def test_a_column_with_one_value_is_a_line_below_the_table() -> None:
    schema = KERNELS.polars_schema()
    first, number = KERNELS.columns[0], next(c for c in KERNELS.columns if c.unit == "pct")
    frame = pl.DataFrame({key: [None] * 3 for key in schema}, schema).with_columns(
        pl.Series(first.key, ["a", "a", "a"]), pl.Series(number.key, [2.5, 2.5, 2.5])
    )
    shown = table_markup(Table(KERNELS, frame))
    assert f"Same in every row: {number.title} 2.50 %" in shown.markup
    assert (
        shown.markup.count("<th>") + shown.markup.count("<th ") == 1
    )  # the first column stays, whatever it holds
    assert number in shown.columns
    two = table_markup(Table(KERNELS, frame.head(2)))
    assert "Same in every row" not in two.markup


@pytest.fixture(scope="module")
def resnet(samples: Path) -> ReportContents:
    catalog = Catalog([TraceRoot(str(samples / "kineto_resnet50_nw0"))], cache=None)
    return report_contents(catalog, Subject(), wait_s=None)


def test_a_report_of_a_recording_has_all_its_parts(resnet: ReportContents) -> None:
    page = dumps(resnet).decode()
    headings = re.findall(r"<h2>([^<]*)", page)
    assert headings[:4] == [
        "Where a step goes", "Findings", "On the timeline", "Where the time goes"
    ]  # fmt: skip
    assert headings[-2:] == ["How each number is counted", "About this report"]
    assert "ProfilerStep#7" in page
    assert "Kernel 98.6 ms, 55.5 %" in page
    assert "recorded 2021-06-08" in page
    assert page.count("<svg") >= 3


def test_the_same_recording_gives_the_same_file(resnet: ReportContents) -> None:
    assert dumps(resnet) == dumps(resnet)
    assert len(dumps(resnet)) < 5_000_000


def test_every_column_that_is_shown_says_how_it_is_counted(resnet: ReportContents) -> None:
    reader = Page(dumps(resnet).decode())
    titles = {attributes.get("title") for tag, attributes in reader.tags if tag == "th"}
    texts = set(reader.texts)
    assert titles
    assert {title for title in titles if title and title not in texts} == set()
