"""Every export of recordings whose names are made to do harm, read by programs that are not ours:
nothing in them acts, and they can still be read.

The list of names is ``tests/data/hostile_names.json``; the pages are tested with it in ``fe/``.
"""

from __future__ import annotations

import csv
import io
import json
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from werkzeug.test import Client

from tests.helpers.export_readers import (
    Page,
    drawings,
    formulas,
    rendered,
    terminal_controls,
    workbook,
)
from tests.helpers.hostile_names import NAMES, file_name, group, utf8, write_logdir
from tests.helpers.http import get
from torch_tb_profiler.api import open_trace
from torch_tb_profiler.cli import main
from torch_tb_profiler.knowledge.guidance import guides
from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.reports.text import visible
from torch_tb_profiler.server.app import standalone_app
from torch_tb_profiler.server.site import Site

RECORDED = sorted({utf8(name) for name in NAMES} - {""})
MARKDOWN_TAGS = {
    *("h2", "h3", "p", "strong", "table", "thead", "tbody", "tr", "th", "td"),
    *("ul", "ol", "li", "blockquote", "code", "a"),
}


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_logdir(tmp_path_factory.mktemp("hostile"))


@pytest.fixture(scope="module")
def reports(logdir: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Path]]:
    """Format → the files of ``report``, of ``compare`` and of ``report PATH`` alone."""
    written = {}
    for form in ("csv", "json", "md", "table", "xlsx", "html"):
        folder = tmp_path_factory.mktemp(form)
        output = ["--format", form, "--no-cache", "--output"]
        trace = str(logdir / "run" / "w0.pt.trace.json")
        views = [] if form == "html" else ["--view", "all", "--names", "recorded"]
        assert main(["report", trace, *views, *output, str(folder / "report")]) == 0
        both = [trace, str(logdir / "run" / "w1.pt.trace.json")]
        assert main(["compare", *both, "--view", "all", *output, str(folder / "both")]) == 0
        if form in ("md", "table"):
            whole = ["--view", "kernels", "--names", "recorded", "--limit", "all"]
            assert main(["report", trace, *whole, *output, str(folder / "whole")]) == 0
            assert main(["report", trace, *output, str(folder / "brief")]) == 0
        written[form] = sorted(path for path in folder.rglob("*") if path.is_file())
    return written


def _texts(paths: list[Path]) -> Iterator[tuple[str, str]]:
    for path in paths:
        yield path.name, path.read_bytes().decode()


def test_a_spreadsheet_computes_nothing_of_a_csv(reports: dict[str, list[Path]]) -> None:
    for name, text in _texts(reports["csv"]):
        assert next(formulas(text), None) is None, name
        controls = {each for each in terminal_controls(text) if unicodedata.category(each) == "Cc"}
        assert controls == set("\r\t") & set(text), name
        rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
        assert len({len(row) for row in rows}) == 1, name


def test_a_csv_has_every_name(reports: dict[str, list[Path]]) -> None:
    (path,) = [path for path in reports["csv"] if path.name == "kernels.kernels.csv"]
    rows = csv.DictReader(io.StringIO(path.read_bytes().decode(), newline=""))
    assert {_without_guards(row["name"]) for row in rows} >= set(map(_without_guards, RECORDED))


def _without_guards(text: str) -> str:
    """Without apostrophes, and control characters as they are shown."""
    shown = (visible(each) if each < " " or "\x7f" <= each < "\xa0" else each for each in text)
    return "".join(shown).replace("\\n", "\n").replace("\\t", "\t").replace("'", "")


def test_markdown_holds_no_html_no_link_and_no_picture(reports: dict[str, list[Path]]) -> None:
    for name, text in _texts(reports["md"]):
        assert terminal_controls(text) == set(), name
        page = rendered(text)
        assert page.names <= MARKDOWN_TAGS, name
        given = {item for _, attributes in page.tags for item in attributes.items()}
        assert {key for key, _ in given} <= {"style", "start", "href"}
        assert {value for key, value in given if key == "href"} <= {each.url for each in guides()}
    (path,) = [path for path in reports["md"] if path.parent.name == "whole"]
    shown = {visible(name).strip() for name in RECORDED} - {""}
    assert {text.strip() for text in rendered(path.read_text()).texts} >= shown


def test_nothing_acts_in_the_output_of_a_notebook(logdir: Path) -> None:
    with open_trace(logdir / "run" / "w0.pt.trace.json", cache=False) as trace:
        views = [name for name, why in trace.views().items() if why is None]
        outputs = [trace.view(name)._repr_html_() for name in views]
        report = trace.report(views)._repr_html_()
        outputs.append(trace._repr_html_())
    assert len(outputs) > 15
    for output in outputs:
        assert Page(output).acting() == []
        assert terminal_controls(output) == set()
    page = Page(report)
    frames = [attributes for tag, attributes in page.tags if tag == "iframe"]
    assert page.names == {"div", "style", "iframe", "p"}
    inner = Page(frames[0]["srcdoc"] or "")
    assert len(frames) == 1
    assert inner.acting() == [("base", "", None), ("base", "href", "about:srcdoc")]


def test_text_for_a_terminal_moves_no_cursor(reports: dict[str, list[Path]]) -> None:
    for name, text in _texts(reports["table"]):
        assert terminal_controls(text) == set(), name


def test_json_has_every_name_as_it_was(reports: dict[str, list[Path]]) -> None:
    for name, text in _texts(reports["json"]):
        answer = json.loads(text)
        assert terminal_controls(text) & set(map(chr, range(0x7F, 0xA0))) == set(), name
        if name == "kernels.json":
            table = answer["tables"]["kernels"]
            at = [column["key"] for column in table["columns"]].index("name")
            assert {row[at] for row in table["rows"]} >= set(RECORDED)


def test_a_workbook_holds_texts_and_numbers_only(reports: dict[str, list[Path]]) -> None:
    for path in reports["xlsx"]:
        sheets = workbook(path.read_bytes())
        assert {kind for rows in sheets.values() for row in rows for kind, _ in row} <= set("snb")
        assert not [name for name in sheets if re.search(r"[\[\]:*?/\\]|^'|'$|^History$", name)]
    (path,) = [path for path in reports["xlsx"] if path.parent.name == "report"]
    kernels = workbook(path.read_bytes())["kernels.kernels"]
    assert {row[0][1] for row in kernels} >= set(map(visible, RECORDED))


def test_a_report_in_html_runs_and_loads_nothing(reports: dict[str, list[Path]]) -> None:
    for name, text in _texts(reports["html"]):
        page = Page(text)
        assert page.acting() == [], name
        assert terminal_controls(text) == set(), name
        for drawing in drawings(text):
            kinds = {element.tag.rpartition("}")[2] for element in drawing.iter()}
            assert kinds <= {"svg", "g", "rect", "path", "line", "polyline", "text", "title"}
    assert "<svg" in text
    shown = "\n".join([*page.texts, *(title for _, a in page.tags if (title := a.get("title")))])
    assert [name for name in RECORDED if visible(name) not in shown] == []


@pytest.mark.parametrize("form", ["csv", "json"])
def test_dlprof_reports(logdir: Path, tmp_path: Path, form: str) -> None:
    trace = str(logdir / "run" / "w0.pt.trace.json")
    options = ["--reports", "all", "--formats", form, "--no-cache", "--output", str(tmp_path)]
    assert main(["report", trace, *options]) == 0
    written = sorted(tmp_path.iterdir())
    assert len(written) > 5
    for name, text in _texts(written):
        if form == "json":
            json.loads(text)
        else:
            assert next(formulas(text), None) is None, name


def test_answers_of_the_server(logdir: Path) -> None:
    client = Client(
        standalone_app(Site(Catalog([TraceRoot(str(logdir))], cache=None), "standalone"))
    )
    for table in ("kernels", "kernels&worker=w1"):
        response = get(client, f"/api/view/kernels?format=csv&table={table}")
        assert response.status_code == 200
        assert next(formulas(response.text), None) is None
        assert response.content_type == "text/csv; charset=utf-8"
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert response.headers["Content-Disposition"] == "attachment; filename=kernels_kernels.csv"
    report = get(client, "/api/report.html")
    assert report.status_code == 200
    assert Page(report.text).acting() == []
    events = json.loads(get(client, "/api/perfetto").data)["traceEvents"]
    assert {event["name"] for event in events} >= set(RECORDED)
    for name in RECORDED:
        response = get(client, "/api/view/overview", query_string={"run": name})
        assert response.status_code == 404
        assert json.loads(response.data)["error"]["code"] == "unknown_run"
        assert terminal_controls(response.text) <= {"\u200b"}


def test_files_are_named_for_every_system(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [name for kind in ("path", "separator", "terminal", "unseen") for name in group(kind)]
    runs = sorted({name for name in map(file_name, names) if name is not None})
    logs = write_logdir(tmp_path / "logs", ["aten::mm"], runs, workers=1)
    output = ["--no-cache", "--output", str(tmp_path / "out")]
    main(["report", str(logs), "--view", "overview", "--format", "json", *output])
    files = [path.name for path in (tmp_path / "out").iterdir()]
    assert len(files) >= len(runs) - 10
    printed = capsys.readouterr()
    assert terminal_controls(printed.out + printed.err) <= set()
    for name in files:
        assert re.fullmatch(r"[\w+][\w.+~-]*\.json", name), name
        assert not re.match(r"(?i)(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])\.", name), name
    assert len({name.casefold() for name in files}) == len(files)
    main(["scalars", str(logs), "--no-cache", "--output", str(tmp_path / "tb")])
    printed = capsys.readouterr()
    assert terminal_controls(printed.out + printed.err) <= set()
    folders = [path.parent for path in (tmp_path / "tb").rglob("events.*")]
    assert len(folders) == len(files)


@pytest.mark.parametrize("command", ["report", "compare", "ingest", "scalars", "serve"])
def test_errors_quote_names_as_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    for name in filter(None, map(file_name, NAMES)):
        path = tmp_path / f"x{name}.pt.trace.json"
        more = {"compare": [str(path)], "scalars": ["--output", str(tmp_path / "tb")]}
        assert main([command, str(path), *more.get(command, [])]) in (2, 3)
        printed = capsys.readouterr()
        assert printed.err
        assert terminal_controls(printed.out + printed.err) == set(), name
