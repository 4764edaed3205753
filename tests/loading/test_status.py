"""Cases: speed and remaining time while reading; empty files; one status for many workers."""

from __future__ import annotations

import pytest

from torch_tb_profiler.loading.status import READING_SHARE, combined_status, reading_status
from torch_tb_profiler.requests.errors import Problem
from torch_tb_profiler.requests.runs import SpanStatus


def test_half_of_a_file_read_in_two_seconds() -> None:
    file = SpanStatus("1", "w", None, 200_000_000, "queued")
    status = reading_status(file, 100_000_000, 2.0, 2.0)
    assert status.state == "parsing"
    assert status.mb_per_s == 50.0
    assert status.progress == READING_SHARE / 2
    # 45 % took two seconds, so the other 55 % take 2.44
    assert status.eta_s == pytest.approx(2.4, abs=0.05)


def test_the_speed_stays_while_what_was_read_is_linked() -> None:
    file = SpanStatus("1", "w", None, 100_000_000, "queued")
    status = reading_status(file, 100_000_000, 1.0, 2.0)
    assert status.mb_per_s == 100.0
    assert status.progress == READING_SHARE
    assert status.eta_s is not None
    assert status.eta_s > 0


@pytest.mark.parametrize(("size", "done", "elapsed_s"), [(0, 0, 0.0), (100, 0, 1.0), (100, 0, 0)])
def test_nothing_is_promised_before_there_is_a_speed(
    size: int, done: int, elapsed_s: float
) -> None:
    status = reading_status(SpanStatus("1", "w", None, size, "queued"), done, elapsed_s, elapsed_s)
    assert status.mb_per_s is None
    assert status.eta_s is None


def test_many_workers_as_one() -> None:
    parts = [
        SpanStatus("1", "a", "kineto", 100_000_000, "ready", 1.0),
        SpanStatus("1", "b", None, 300_000_000, "parsing", 0.5, mb_per_s=10.0),
    ]
    status = combined_status("1", parts)
    assert (status.state, status.file) == ("parsing", "2 files")
    assert status.progress == pytest.approx((100 + 150) / 400)
    assert status.eta_s == pytest.approx(15.0)


def test_failed_workers_do_not_fail_the_others() -> None:
    failed = SpanStatus("1", "a", None, 100, "failed", error=Problem("not_json", "bad"))
    ready = SpanStatus("1", "b", "kineto", 100, "ready", 1.0)
    assert combined_status("1", [failed, ready]).state == "ready"
    assert combined_status("1", [failed, failed]).state == "failed"
    assert combined_status("1", [failed, failed]).error == Problem("not_json", "bad")


def test_one_file_keeps_its_version() -> None:
    one = SpanStatus("1", "a.json", None, 1, "parsing", version="17")
    assert combined_status("1", [one]).version == "17"
    assert combined_status("1", [one, one]).version is None
