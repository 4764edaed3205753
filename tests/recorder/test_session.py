"""The session guards its parts: a failing part affects neither the others nor the journal."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, cast

import pytest

from tests.helpers.recorded_steps import recorded
from torch_tb_profiler.recorder import session as sessions
from torch_tb_profiler.recorder.events import SessionPart
from torch_tb_profiler.recorder.options import Options
from torch_tb_profiler.recorder.session import Session

BEATS = 5


class Broken:
    """A part whose calls all fail, each with another text."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Any:
        def call(*_: object) -> None:
            self.calls.append(name)
            raise RuntimeError(f"call {len(self.calls)}")

        return call


class Beating:
    """A part that works."""

    def __init__(self) -> None:
        self.flushed = 0
        self.has_beaten = threading.Event()

    def flush(self) -> None:
        self.flushed += 1
        if self.flushed == BEATS:
            self.has_beaten.set()

    def stop(self, _reason: str) -> None:
        pass


def test_a_failing_part_is_reported_once_and_then_only_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "PARTS", ())
    monkeypatch.setattr(sessions, "FLUSH_S", 0.0)
    created = Session(Options(folder=str(tmp_path), sample_every_ms=1))
    sampler, other, beating = Broken(), Broken(), Beating()
    created.parts |= cast(
        "dict[str, SessionPart]", {"host_samples": sampler, "timer": other, "steps": beating}
    )
    result: list[tuple[str, str]] = []
    monkeypatch.setattr(
        created, "report_missing", lambda what, reason: result.append((what, reason))
    )
    created.start()
    assert beating.has_beaten.wait(30)
    assert sorted(result) == [
        ("host_samples", "The recorder failed: RuntimeError: call 1"),
        ("timer", "The recorder failed: RuntimeError: call 1"),
    ]
    created.close("exit")
    assert sampler.calls == ["sample", "stop"]
    assert other.calls == ["flush", "stop"]


def test_the_first_seconds_are_flushed_early(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "PARTS", ())
    monkeypatch.setattr(sessions, "FLUSH_S", 1000.0)
    monkeypatch.setattr(sessions, "FIRST_FLUSH_S", 0.0)
    created = Session(Options(folder=str(tmp_path), sample_every_ms=1))
    beating = Beating()
    created.parts["steps"] = cast("SessionPart", beating)
    created.start()
    assert beating.flushed == 0
    created.note_activity()
    assert beating.has_beaten.wait(30)
    created.close("exit")


def test_closing_waits_for_a_running_flush(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    is_writing, may_write = threading.Event(), threading.Event()
    with recorded(tmp_path) as actual:
        created = sessions.current()
        assert created is not None
        write = created.journal.write

        def slow(block: dict[str, Any]) -> None:
            if block["kind"] == "batches" and not is_writing.is_set():
                is_writing.set()
                may_write.wait(30)
            write(block)

        list(torch.utils.data.DataLoader(torch.arange(8), 2))
        monkeypatch.setattr(created.journal, "write", slow)
        ticker = threading.Thread(target=created.parts["data_loading"].flush)
        ticker.start()
        assert is_writing.wait(30)
        threading.Timer(0.05, may_write.set).start()
    ticker.join()
    batches = [each for block in actual.blocks for each in block.get("batch", ())]
    assert [block["kind"] for block in actual.blocks][-1] == "end"
    assert len(batches) == 2 * 4, "given, and made"
