"""A process has one recording: a test that fails, or leaves one to the end, must not hand it on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from torch_tb_profiler.recorder import session


@pytest.fixture(autouse=True)
def _no_recording_is_left() -> Iterator[None]:
    session.end("a test")
    yield
    session.end("a test")
