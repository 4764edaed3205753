"""What a tracker of experiments is given of a worker: its points and the verdict on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from typing import Protocol

from msgspec import Struct

from torch_tb_profiler.reports.notes import in_reading_order, title_text
from torch_tb_profiler.reports.scalars.credentials import without_credentials
from torch_tb_profiler.reports.scalars.values import Scalar
from torch_tb_profiler.reports.scalars.verdict_texts import VERDICT
from torch_tb_profiler.reports.text import ELLIPSIS, visible
from torch_tb_profiler.requests.errors import RequestError
from torch_tb_profiler.views.schema import View

FINDINGS = 3
MAX_TEXT = 2_000
"""Characters of a text; MLflow's servers refuse more than 5,000."""

MAX_CAUSE = 500
"""Characters of what a package says of its error."""

FINDING = "profiler/finding_{}"


class RecordingVerdict(Struct, frozen=True):
    """The verdict on a recording.

    Attributes:
        sentence: The answer of the overview, or why there is none.
        findings: Title and text of its first findings.
    """

    sentence: str
    findings: tuple[str, ...] = ()

    def texts(self) -> dict[str, str]:
        """Name → text, as trackers show them; safe to print, in bounded length."""
        named = {FINDING.format(at): text for at, text in enumerate(self.findings, start=1)}
        return {name: _short(text) for name, text in {VERDICT: self.sentence, **named}.items()}


class TrackedRun(Struct, frozen=True):
    """A worker.

    Attributes:
        run, worker: Its names.
        scalars: Its points, at least one.
        verdict: Computes the verdict on its last recording.
    """

    run: str
    worker: str
    scalars: Sequence[Scalar]
    verdict: Callable[[], RecordingVerdict]


class Tracker(Protocol):
    """Where points go."""

    def expect(self, workers: Sequence[tuple[str, str]]) -> None:
        """Called before :meth:`log` with run and name of all workers of a path."""

    def log(self, tracked: TrackedRun) -> str:
        """Log a worker; returns where, for people."""


def verdict_of(view: View) -> RecordingVerdict:
    """The verdict of an overview."""
    advice = [note for note in in_reading_order(view.notes) if note.kind == "advice"]
    findings = tuple(
        f"{title}. {note.text}" if (title := title_text(note)) else note.text
        for note in advice[:FINDINGS]
    )
    return RecordingVerdict(view.answer or "Nothing stands out in what was recorded.", findings)


def moments(scalars: Sequence[Scalar]) -> Iterator[tuple[int, float, dict[str, float]]]:
    """The points of one step and time together: step, seconds since 1970, tag → value."""
    by_moment = sorted(scalars, key=lambda each: (each.step, each.wall_time_s))
    for (step, time_s), points in groupby(by_moment, lambda each: (each.step, each.wall_time_s)):
        yield step, time_s, {each.tag: each.value for each in points}


def missing_package(tracker: str, package: str, extra: str) -> RequestError:
    """The error where the package of a tracker is not installed."""
    message = f"{tracker} needs the package {package}, which is not installed."
    return RequestError("no_tracker", message, f"pip install 'torch-tb-profiler[{extra}]'")


@contextmanager
def tracker_errors(tracker: str, hint: Callable[[Exception], str]) -> Iterator[None]:
    """Errors of a tracker as errors of a request: packages raise what they like.

    Args:
        tracker: Its name for people.
        hint: What to do about an error.

    Raises:
        RequestError: the tracker failed.
    """
    try:
        yield
    except RequestError:
        raise
    except Exception as error:
        cause = without_credentials(" ".join(f"{error}".split())) or type(error).__name__
        message = f"{tracker} could not be written: {_short(cause, MAX_CAUSE)}"
        raise RequestError("tracker_failed", message, hint(error)) from error


def _short(text: str, length: int = MAX_TEXT) -> str:
    shown = visible(text)
    return shown if len(shown) <= length else f"{shown[: length - 1]}{ELLIPSIS}"
