"""The query string of a request as typed values. Everything in it is hostile until read here."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal

from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.importers.parts import RecordingPart, Unit
from torch_tb_profiler.importers.requested_arguments import parse_argument_names
from torch_tb_profiler.requests.errors import RequestError
from torch_tb_profiler.requests.questions import Subject, TableQuery, ViewRequest
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.parameters import SELECTION_TEXTS, Parameter
from torch_tb_profiler.views.registry import all_parameters

MAX_TEXT = 4096
"""Characters of one parameter; a filter that long is no filter a person wrote."""

MAX_TIME_US = 2.0**53
"""285 years: what a float of µs can say exactly, and less than int64 of ns can hold."""

MAX_ROWS = 10**9

Parameters = Mapping[str, str]


def view_request(view: str, parameters: Parameters) -> ViewRequest:
    """The question that ``/view/<view>?…`` asks.

    Raises:
        RequestError: a parameter is no number where one is due, too long or too large, or none of
            its values.
    """
    has_baseline, has_third = (
        any(key.startswith(prefix) for key in parameters) for prefix in ("baseline_", "third_")
    )
    return ViewRequest(
        view=view,
        subject=subject(parameters),
        baseline=subject(parameters, "baseline_") if has_baseline else None,
        third=subject(parameters, "third_") if has_third else None,
        rows=TableQuery(
            table=text(parameters, "table"),
            sort=text(parameters, "sort"),
            filter=text(parameters, "filter"),
            offset=count(parameters, "offset") or 0,
            limit=count(parameters, "limit"),
            only=tuple(name for name in (text(parameters, "only") or "").split(",") if name),
        ),
        findings_later=_may_be_later(text(parameters, "findings")),
    )


def _may_be_later(findings: str | None) -> bool:
    if findings not in (None, "later"):
        raise RequestError("bad_parameter", f"findings: {findings[:40]!r} is not later.")
    return findings is not None


def subject(parameters: Parameters, prefix: str = "") -> Subject:
    """Run, worker, span, selection and parameters of views, each name after ``prefix``; another
    side takes the grouping and the ``inherited`` parameters of the candidate unless it has its own.

    Raises:
        RequestError: as :func:`view_request`.
    """
    start_ns = time_ns(parameters, f"{prefix}start_us")
    end_ns = time_ns(parameters, f"{prefix}end_us")
    if start_ns is not None and end_ns is not None and start_ns > end_ns:
        raise RequestError("bad_parameter", f"{prefix}start_us lies after {prefix}end_us.")

    def given(parameter: Parameter) -> str | None:
        own = text(parameters, f"{prefix}{parameter.key}")
        return own or (text(parameters, parameter.key) if parameter.inherited else None)

    of_views = {key: given(parameter) for key, parameter in all_parameters().items()}
    return Subject(
        run=text(parameters, f"{prefix}run"),
        worker=text(parameters, f"{prefix}worker"),
        span=text(parameters, f"{prefix}span"),
        selection=Selection(
            start_ns=start_ns,
            end_ns=end_ns,
            group_by=text(parameters, f"{prefix}group_by") or text(parameters, "group_by"),
            **{parameter.key: given(parameter) for parameter in SELECTION_TEXTS},
        ),
        parameters={key: value for key, value in of_views.items() if value is not None},
    )


def recording_part(parameters: Parameters) -> RecordingPart | None:
    """The part of a recording that ``only_us`` or ``only_steps`` name; None without either.

    Raises:
        RequestError: it is malformed, or both are given.
    """
    units: dict[str, Unit] = {"only_us": "us", "only_steps": "steps"}
    given = {name: value for name in units if (value := text(parameters, name))}
    if len(given) > 1:
        raise RequestError("bad_parameter", "Give only_us or only_steps, not both.")
    if not given:
        return None
    ((name, value),) = given.items()
    try:
        return RecordingPart.parse(units[name], value)
    except ValueError as error:
        raise RequestError("bad_parameter", f"{name}: {error}") from error


def argument_names(parameters: Parameters) -> tuple[str, ...]:
    """The names of arguments in ``arguments``, separated by commas.

    Raises:
        RequestError: there are too many, or one is too long.
    """
    try:
        return parse_argument_names(text(parameters, "arguments") or "")
    except ValueError as error:
        raise RequestError("bad_parameter", f"arguments: {error}") from error


def text(parameters: Parameters, name: str) -> str | None:
    """A text, or None when it is absent or empty.

    Raises:
        RequestError: it is longer than :data:`MAX_TEXT`.
    """
    value = parameters.get(name)
    if value is not None and len(value) > MAX_TEXT:
        message = f"{name} has {len(value)} characters; {MAX_TEXT} are allowed."
        raise RequestError("bad_parameter", message)
    return value or None


def slice_id(given: str) -> int:
    """The id of a slice, as it stands in a path.

    Raises:
        RequestError: it is no whole number.
    """
    if not (given.isascii() and given.isdigit() and len(given) <= 18):
        raise RequestError("bad_parameter", f"{given[:40]!r} is no slice id (a whole number).")
    return int(given)


def time_ns(parameters: Parameters, name: str) -> int | None:
    """A time given in µs, in whole nanoseconds.

    Raises:
        RequestError: it is no finite number of µs within :data:`MAX_TIME_US`.
    """
    value = time_text(parameters, name, MAX_TIME_US, "microseconds")
    # A double of µs since the epoch holds no ns.
    return None if value is None else round(Decimal(value) * NS_PER_US)


def time_text(parameters: Parameters, name: str, most: float, unit: str) -> str | None:
    """The text of a time, which is a number from ``-most`` to ``most``; None when it is absent.

    Raises:
        RequestError: it is none; the message names ``unit``.
    """
    value = text(parameters, name)
    if value is None:
        return None
    try:
        time = float(value)
    except ValueError:
        time = math.nan
    if not abs(time) <= most:
        raise RequestError("bad_parameter", f"{name}: {value[:40]!r} is no time in {unit}.")
    return value


def count(parameters: Parameters, name: str) -> int | None:
    """A whole number from 0 to :data:`MAX_ROWS`.

    Raises:
        RequestError: it is none.
    """
    value = text(parameters, name)
    if value is None:
        return None
    if not (value.isascii() and value.isdigit() and len(value) <= 10 and int(value) <= MAX_ROWS):
        message = f"{name}: {value[:40]!r} is no whole number from 0 to {MAX_ROWS}."
        raise RequestError("bad_parameter", message)
    return int(value)
