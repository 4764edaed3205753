"""The report of the API: the document of the command line, saved or inline in a notebook."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.export_readers import Page
from torch_tb_profiler.api import HtmlReport, OpenedTrace, RequestError, UnknownError, open_trace
from torch_tb_profiler.cli import main


@pytest.fixture(scope="module")
def trace(samples: Path) -> Iterator[OpenedTrace]:
    with open_trace(samples / "kineto_resnet50_nw0", cache=False) as opened:
        yield opened


@pytest.fixture(scope="module")
def report(trace: OpenedTrace) -> HtmlReport:
    return trace.report()


def test_it_is_the_report_of_the_command_line(
    report: HtmlReport, samples: Path, tmp_path: Path
) -> None:
    saved = report.save(tmp_path / "api.html")
    folder = samples / "kineto_resnet50_nw0"
    printed = tmp_path / "cli.html"
    assert main(["report", str(folder), "--span", "1", "--no-cache", "--format", "html",
                 "--output", str(printed)]) == 0  # fmt: skip
    live = re.compile(r"<p>Open it live.*?</p>")  # the API has no command to offer
    assert live.sub("", saved.read_text()) == live.sub("", printed.read_text())
    assert report.html == saved.read_text()
    assert repr(report).startswith("<HtmlReport of kineto_resnet50_nw0 · worker0 · span 1 (")


def test_views_tables_and_steps_can_be_chosen(trace: OpenedTrace) -> None:
    page = trace.report(["kernels"], tables="kernels", steps=6).html
    assert re.findall(r'<a href="#(\w+)"', page) == ["kernels"]
    assert "steps 6" in page
    assert trace.report("kernels", tables="kernels", steps=6).html == page
    with pytest.raises(UnknownError, match="kernelz"):
        trace.report(["kernelz"])


def test_inline_it_has_fewer_rows_and_says_so(trace: OpenedTrace, report: HtmlReport) -> None:
    frames = [attributes for tag, attributes in Page(report._repr_html_()).tags if tag == "iframe"]
    inner = frames[0]["srcdoc"] or ""
    assert 0 < inner.count("<tr") < report.html.count("<tr")
    assert len(report._repr_html_()) < 1_500_000
    assert "Tables are shortened here" in report._repr_html_()
    small = trace.report(["data"], steps=6)
    assert "shortened" not in small._repr_html_()


def test_a_trace_shows_its_verdict_or_why_it_has_none(samples: Path) -> None:
    with open_trace(samples / "kineto_resnet50_nw0", cache=False) as trace:
        shown = Page(trace._repr_html_()).texts
        assert trace.overview().answer in shown
        assert any(text.startswith("Data loading: est. gain") for text in shown)
    closed = Page(trace._repr_html_()).texts
    assert any("is closed. Open it again with open_trace()." in text for text in closed)
    with pytest.raises(RequestError, match="closed"):
        trace.report()
