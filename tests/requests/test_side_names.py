"""What the sides of a comparison are called."""

from __future__ import annotations

import pytest

from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.requests.questions import Subject
from torch_tb_profiler.requests.side_names import side_names


def subject(run: str, worker: str, span: str) -> Subject:
    return Subject(run, worker, span)


@pytest.mark.parametrize(
    ("baseline", "candidate", "names"),
    [
        (("nw0", "w", "1"), ("nw2", "w", "1"), ("nw0", "nw2")),
        (("run", "rank0", "1"), ("run", "rank1", "1"), ("rank0", "rank1")),
        (("h100/bert", "w", "1"), ("mi300/bert", "w", "1"), ("h100", "mi300")),
        (("logs/a", "w", "1"), ("logs/b", "w", "1"), ("a", "b")),
        (("baseline/x/bert", "w", "1"), ("candidate/y/bert", "w", "1"), ("x", "y")),
        (("baseline/bert", "w", "1"), ("candidate/bert", "w", "1"), (None, None)),
        (("run", "w", "1"), ("run", "w", "2"), ("span 1", "span 2")),
        (("run", "w", "1"), ("run", "w", "1"), (None, None)),
    ],
)
def test_as_much_as_distinguishes(
    baseline: tuple[str, ...], candidate: tuple[str, ...], names: tuple[str | None, str | None]
) -> None:
    assert side_names(subject(*baseline), subject(*candidate)) == names


def test_steps_of_one_trace() -> None:
    a, b = (Subject("r", "w", "1", Selection(steps=steps)) for steps in ("1-3", "4-6"))
    assert side_names(a, b) == ("steps 1-3", "steps 4-6")
