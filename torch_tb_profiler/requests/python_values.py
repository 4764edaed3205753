"""Values that Python programs give for steps and times, as requests have them."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, SupportsIndex

from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.importers.parts import RecordingPart
from torch_tb_profiler.importers.requested_arguments import checked_names
from torch_tb_profiler.requests.errors import RequestError
from torch_tb_profiler.requests.parameters import MAX_TIME_US, recording_part
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.parameters import SELECTION_TEXTS
from torch_tb_profiler.views.registry import all_parameters

Steps = str | int | range
Time = float | int | str | Decimal

SELECTION_KEYS = tuple(each.key for each in SELECTION_TEXTS if each.key != "steps")
"""What chooses a part of a trace and is given as text; steps may be numbers."""


def steps_text(steps: Steps | None) -> str | None:
    """The steps as text of the ``steps`` parameter.

    Raises:
        RequestError: an empty range.
    """
    if isinstance(steps, range):
        if not steps:
            raise RequestError("bad_parameter", f"steps: {steps!r} is empty.")
        if steps.step == 1:
            return f"{steps.start}:{steps.stop - 1}"
        return ",".join(map(str, steps))
    return None if steps is None else str(steps)


def time_ns(name: str, time_us: Time | None) -> int | None:
    """A time in whole nanoseconds. A double of µs since the epoch holds no ns, so text, whole
    numbers and decimals are taken as they are, never by way of one.

    Raises:
        RequestError: it is no number that times can be.
    """
    if time_us is None:
        return None
    try:
        if isinstance(time_us, str | Decimal):
            exact = Decimal(time_us)
        else:  # also the numbers of numpy
            whole = operator.index(time_us) if isinstance(time_us, SupportsIndex) else None
            exact = Decimal(float(time_us) if whole is None else whole)
    except (InvalidOperation, TypeError, ValueError):
        exact = Decimal("NaN")
    if not exact.is_finite() or abs(exact) > MAX_TIME_US:
        raise RequestError("bad_parameter", f"{name}: {time_us!r:.60} is no time in microseconds.")
    return round(exact * NS_PER_US)


def part_from_values(
    only_us: str | None, only_steps: int | range | str | None
) -> RecordingPart | None:
    """The part of a recording to read; None for all of it.

    Raises:
        RequestError: it is malformed, or both are given.
    """
    given = {"only_us": only_us, "only_steps": steps_text(only_steps)}
    return recording_part({name: text for name, text in given.items() if text is not None})


def names_from_values(arguments: Iterable[str]) -> tuple[str, ...]:
    """The arguments to read, one of which may be given alone.

    Raises:
        RequestError: there are too many, or one is too long.
    """
    try:
        return checked_names([arguments] if isinstance(arguments, str) else arguments)
    except ValueError as error:
        raise RequestError("bad_parameter", f"arguments: {error}") from error


def option_texts(
    options: Mapping[str, str | None], function: str = "view"
) -> dict[str, str | None]:
    """Options that choose a part of a trace or are parameters of views, as texts.

    Args:
        options: The options.
        function: Name of the function that has them, for the error.

    Raises:
        TypeError: one is neither.
    """
    known = {*SELECTION_KEYS, *all_parameters()}
    for key in options:
        if key not in known:
            raise TypeError(f"{function}() got an unexpected keyword argument {key!r}")
    return {key: None if value is None else str(value) for key, value in options.items()}


def selection_of(
    steps: Steps | None,
    start_us: Time | None,
    end_us: Time | None,
    group_by: str | None,
    texts: Mapping[str, str | None],
) -> Selection:
    """The selected part, of values that a program gives and :func:`option_texts`.

    Raises:
        RequestError: an empty range of steps, or a time that is none.
    """
    times = time_ns("start_us", start_us), time_ns("end_us", end_us)
    chosen: dict[str, Any] = {key: texts.get(key) for key in SELECTION_KEYS}
    return Selection(steps_text(steps), *times, group_by, **chosen)
