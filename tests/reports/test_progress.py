"""The bar: one line, true to the status, silent where nobody watches."""

from __future__ import annotations

import io
import sys

import pytest

from torch_tb_profiler.reports import progress
from torch_tb_profiler.reports.progress import Progress, bar
from torch_tb_profiler.requests.runs import SpanStatus

STATUS = SpanStatus("1", "worker0.pt.trace.json.gz", None, 10**9, "parsing", 0.5, 123.4, 4.2)


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_bar_tells_file_share_speed_and_time_left() -> None:
    assert bar(STATUS) == (
        "worker0.pt.trace.json.gz [############............]  50% 123 MB/s 4 s left"
    )


def test_the_bar_fits_and_is_safe_whatever_the_name() -> None:
    text = bar(SpanStatus("1", "\x1b[2J" * 50, None, 1, "parsing", 7.0, 1e9, 1e9))
    assert len(text) <= 79
    assert "\x1b" not in text


def test_it_appears_on_a_terminal_only_and_is_wiped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "DELAY_S", 0.0)
    for stream, shows in ((_Terminal(), True), (io.StringIO(), False)):
        monkeypatch.setattr(sys, "stderr", stream)
        shown = Progress()
        shown.show(STATUS)
        shown.wipe()
        assert bool(stream.getvalue()) == shows
        assert stream.getvalue().endswith("\r\x1b[2K" if shows else "")


def test_what_is_quick_shows_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = _Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    shown = Progress()
    shown.show(STATUS)
    assert stream.getvalue() == ""
