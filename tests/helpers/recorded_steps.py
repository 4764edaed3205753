"""Programs that are recorded in this process, and what was found of their steps."""

from __future__ import annotations

import gzip
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from torch_tb_profiler.recorder import clock, session
from torch_tb_profiler.recorder.options import Options

Block = dict[str, Any]


@dataclass
class RecordingResult:
    """What a recording found; filled when it ends.

    Attributes:
        steps: (phase, by, number, start, end) of each step, in the order in which they ended;
            times in nanoseconds since 1970.
    """

    folder: Path
    blocks: list[Block] = field(default_factory=list)

    @property
    def steps(self) -> list[tuple[str, str, int, int, int]]:
        return [
            (block["phase"], block["by"], *row)
            for block in self.blocks
            if block["kind"] == "steps"
            for row in zip(block["step"], block["start_ns"], block["end_ns"], strict=True)
        ]

    def steps_of(self, phase: str) -> list[tuple[int, int]]:
        """Start and end of the steps of a phase, which are numbered from 0 without a gap."""
        rows = [each for each in self.steps if each[0] == phase]
        assert [each[2] for each in rows] == list(range(len(rows)))
        return [(start, end) for *_, start, end in rows]

    def detected_by(self, phase: str = "train") -> set[str]:
        """What the steps of a phase were found by."""
        return {by for each, by, *_ in self.steps if each == phase}

    def windows(self) -> list[Block]:
        """What became of the windows."""
        result = {each["trace"]: each for each in self.blocks if each["kind"] == "window"}
        return list(result.values())

    def reasons(self, what: str) -> list[str]:
        """Why something is missing."""
        missing = [each for each in self.blocks if each["kind"] == "missing"]
        return [each["reason"] for each in missing if each["what"] == what]

    def events(self, window: Block) -> list[Block]:
        """The events of the trace of a window."""
        path = self.folder / window["trace"]
        packed = Path(f"{path}.gz")
        text = path.read_bytes() if path.exists() else gzip.decompress(packed.read_bytes())
        events: list[Block] = json.loads(text)["traceEvents"]
        return events

    def ranges(self, window: Block, name: str = "ProfilerStep#") -> list[int]:
        """The numbers of the steps that a trace marks."""
        names = [each["name"] for each in self.events(window) if each.get("ph") == "X"]
        return sorted(int(each.removeprefix(name)) for each in names if each.startswith(name))


@contextmanager
def recorded(folder: Path, reason: str = "exit", **options: Any) -> Iterator[RecordingResult]:
    """Record what happens inside, without a profiler unless options say otherwise."""
    options.setdefault("timer_only", True)
    options.setdefault("sample_every_ms", 0)
    begun = session.begin(Options(folder=str(folder), **options))
    assert begun is not None
    actual = RecordingResult(folder)
    try:
        yield actual
    finally:
        session.end(reason)
        for name in os.listdir(folder) if folder.exists() else []:
            if name.endswith(".record.jsonl"):
                lines = (folder / name).read_text("utf-8").splitlines()
                actual.blocks += [json.loads(line) for line in lines]


def now_ns() -> int:
    """Now, on the clock of what is recorded."""
    return clock.unix_ns()


def work(seconds: float = 0.0005) -> None:
    """Do something that takes a while."""
    time.sleep(seconds)


def assert_within(actual: list[tuple[int, int]], true: list[tuple[int, int, int, int]]) -> None:
    """Each start and each end lies between two instants that the program itself took around it."""
    assert len(actual) == len(true)
    for (start, end), (start_from, start_to, end_from, end_to) in zip(actual, true, strict=True):
        assert start_from <= start <= start_to
        assert end_from <= end <= end_to


def assert_one_after_another(actual: RecordingResult) -> None:
    """No step begins before the one before it ended, of whatever phase."""
    spans = sorted((start, end) for *_, start, end in actual.steps)
    for (_, end), (start, _) in pairwise(spans):
        assert start >= end


class Program:
    """A model and its optimizer."""

    def __init__(self) -> None:
        import torch  # noqa: PLC0415 - not everywhere

        self.net = torch.nn.Linear(4, 1)
        self.batch = torch.ones(2, 4)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)

    def step(self) -> None:
        self.net(self.batch).sum().backward()
        self.optimizer.step()

    def train(self, steps: int) -> None:
        for _ in range(steps):
            self.step()


def small_model() -> Any:
    """Two layers, from 4 numbers to one."""
    import torch  # noqa: PLC0415

    return torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))


def only_window(actual: RecordingResult) -> Block:
    """What became of the only window."""
    (window,) = actual.windows()
    return window


def window_steps(actual: RecordingResult) -> list[tuple[int, int]]:
    """First and last step of each window."""
    return [(each["first_step"], each["last_step"]) for each in actual.windows()]
