"""Cases: an entry matches the requested file, or the state it was read from; the next scan of the
catalog decides; when a failure may be retried."""

from __future__ import annotations

from msgspec.structs import replace

from tests.helpers.traces import op, trace
from torch_tb_profiler.knowledge.user_rules import NO_RULES
from torch_tb_profiler.loading.opening.open_file import OpenedFile
from torch_tb_profiler.loading.store.entries import Entry, queued_status
from torch_tb_profiler.storage.backoff import Backoff
from torch_tb_profiler.storage.discovery import SpanFile
from torch_tb_profiler.storage.locations import FileState, Location

FOUND = SpanFile("run", "w", "1", Location("/w.json", "/w.json"), FileState(10, "found"))
READ = replace(FOUND, state=FileState(20, "read"))
OTHER = replace(FOUND, state=FileState(30, "other"))


def opened_entry() -> Entry:
    return Entry(
        FOUND,
        "trace",
        100,
        state="ready",
        opened=OpenedFile(trace([op("x", 0, 1)]), READ.state),
    )


def test_until_the_next_scan_an_entry_matches_both_states() -> None:
    entry = opened_entry()
    assert [entry.matches(file) for file in (FOUND, READ, OTHER)] == [True, True, False]
    assert entry.update_file(READ)
    assert [entry.matches(file) for file in (FOUND, READ, OTHER)] == [False, True, False]


def test_another_file_or_none_ends_it() -> None:
    assert not opened_entry().update_file(FOUND)
    assert not opened_entry().update_file(OTHER)
    assert not opened_entry().update_file(None)
    waiting = Entry(FOUND, "trace", 100)
    assert waiting.update_file(FOUND)
    assert not waiting.update_file(READ)


def test_only_what_may_be_over_is_due_again() -> None:
    entry = Entry(FOUND, "trace", 100, state="failed")
    assert not entry.is_retry_due
    entry.backoff = Backoff()
    assert entry.is_retry_due
    entry.backoff.next_try_s = float("inf")
    assert not entry.is_retry_due


def test_the_status_is_that_of_the_requested_file() -> None:
    assert queued_status(FOUND, NO_RULES).state == "queued"
    status = opened_entry().status(FOUND)
    assert (status.state, status.progress, status.format) == ("ready", 1.0, "kineto")
    assert (status.name, status.file, status.size_bytes) == ("1", "w.json", 10)
