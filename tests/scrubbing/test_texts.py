"""Names of processes and threads: rows that profilers name stay, others go."""

from __future__ import annotations

import pytest

from torch_tb_profiler.scrubbing.learning import LearnedNames
from torch_tb_profiler.scrubbing.replacements import Replacements
from torch_tb_profiler.scrubbing.texts import TextScrubber


@pytest.fixture(name="texts")
def scrubber() -> TextScrubber:
    replacements = Replacements("salt")
    learned = LearnedNames(replacements)
    learned.learn([b'"host": "quux17"'])
    return TextScrubber(replacements, learned, hashes_names=False)


@pytest.mark.parametrize(
    ("name", "process"),
    [
        ("pt_main_thread", "pt_main_thread"),
        ("pt_projectx", "process-a"),
        ("Process 12 (GPU)", "Process 12 (GPU)"),
        ("Process 12 (projectx)", "process-1"),
        ("rank 3 (quux17_4711)", "rank 3 (run-1)"),
        ("rank 3 (worker0)", "rank 3 (worker0)"),
        ("Hip quux17", "Hip host-1"),
    ],
)
def test_processes(texts: TextScrubber, name: str, process: str) -> None:
    assert texts.process(name, "x") == process


@pytest.mark.parametrize(
    ("name", "thread"),
    [
        ("thread 17 (python)", "thread 17 (python)"),
        ("thread 17 (projectx)", "thread 17 (process-a)"),
        ("Communication(Not Overlapped)", "Communication(Not Overlapped)"),
    ],
)
def test_threads(texts: TextScrubber, name: str, thread: str) -> None:
    assert texts.thread(name, "x") == thread
