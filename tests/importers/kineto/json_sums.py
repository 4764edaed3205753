"""A second reader of Chrome JSON: the standard library's ``json``, and dictionaries of sums.

It shares no code with the importer, which is compared with it.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from tests.helpers.sums import Sums, add_up

Event = dict[str, Any]

KINDS = {
    "kernel": "KERNEL", "memcpy": "MEMCPY", "gpu_memcpy": "MEMCPY", "memset": "MEMSET",
    "gpu_memset": "MEMSET",
}  # fmt: skip
"""Category of the file, in lower case → kind of device work."""

HOST_RANGES = ("cpu_op", "operator", "user_annotation", "python_function")


def parse(data: bytes) -> Any:
    """The document of a file, plain or gzip; numbers with a point keep all their digits."""
    text = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    return json.loads(text, parse_float=Decimal)


def events_of(document: Any) -> list[Event]:
    """Its events; begin and end of a slice as one that is complete."""
    events = list(filter(None, document if isinstance(document, list) else document["traceEvents"]))
    stacks: dict[tuple[str, str], list[Event]] = defaultdict(list)
    marks = [each for each in events if each.get("ph") in ("B", "E")]
    for mark in sorted(marks, key=lambda each: Decimal(each["ts"])):
        if mark["ph"] == "B":
            stacks[_row(mark)].append(mark)
        else:
            begin = stacks[_row(mark)].pop()
            dur = Decimal(mark["ts"]) - Decimal(begin["ts"])
            events.append({**begin, "ph": "X", "dur": dur})
    return events


def slices(events: list[Event]) -> Sums:
    """All slices by (process, thread, name), in ns."""
    return add_up(((*_row(each), _name(each)), _ns(each)) for each in _slices(events))


def work(events: list[Event]) -> Sums:
    """Device work by (device, stream, kind, name), in ns; its row says what its arguments lack."""
    return add_up(
        (
            (
                _number(_args(each).get("device", each["pid"])),
                _stream(each),
                kind,
                _name(each),
            ),
            _ns(each),
        )
        for kind, each in _work(events)
    )


def _stream(event: Event) -> int | None:
    """The stream that work ran on: cuspy writes the lane where it is drawn as the stream."""
    args = _args(event)
    return _number(args.get("original_stream", args.get("stream", event["tid"])))


def launches(events: list[Event]) -> Sums:
    """Device work by (kind, name of the call with its correlation id or None), in ns."""
    calls: dict[int | None, str | None] = {
        _number(_args(each).get("correlation")): _name(each)
        for each in _slices(events)
        if _category(each).endswith(("runtime", "driver"))
    }
    calls[None] = None  # work without a correlation id
    return add_up(
        ((kind, calls.get(_number(_args(each).get("correlation")))), _ns(each))
        for kind, each in _work(events)
    )


def owners(events: list[Event]) -> Sums:
    """Device work whose External id one operator or range has, by (id, its name), in ns."""
    names = defaultdict(list)
    for each in _slices(events):
        if _category(each) in HOST_RANGES and _external_id(each):
            names[_external_id(each)].append(_name(each))
    return add_up(
        ((_external_id(each), *names[_external_id(each)]), _ns(each))
        for _, each in _work(events)
        if len(names[_external_id(each)]) == 1
    )


def memory(events: list[Event]) -> Sums:
    """Memory events by (type of device, device), in bytes."""
    return add_up(
        ((_args(each).get("Device Type"), _args(each).get("Device Id")), _args(each)["Bytes"])
        for each in events
        if _is_memory(each)
    )


def counters(events: list[Event]) -> Sums:
    """Values of counters by (process, name, series)."""
    return add_up(
        ((_row(each)[0], _name(each), series), float(value))
        for each in events
        if each.get("ph") == "C"
        for series, value in _args(each).items()
    )


def instants(events: list[Event]) -> Sums:
    """How many instants there are by (process, thread, name), but memory events."""
    return add_up(
        ((*_row(each), _name(each)), 0)
        for each in events
        if each.get("ph") in ("i", "I") and not _is_memory(each)
    )


def _slices(events: list[Event]) -> Iterator[Event]:
    return (each for each in events if each.get("ph") == "X" and "ts" in each)


def _work(events: list[Event]) -> Iterator[tuple[str, Event]]:
    return ((KINDS[_category(each)], each) for each in _slices(events) if _category(each) in KINDS)


def _is_memory(event: Event) -> bool:
    return _name(event) == "[memory]"


def _row(event: Event) -> tuple[str, str]:
    return str(event.get("pid", "")), str(event.get("tid", ""))


def _number(value: Any) -> int | None:
    """The number of a row, or in an argument: ``7``, ``"7"``, ``7.0``, ``stream 7``."""
    match = re.fullmatch(r"(?:stream )?(-?\d+)(?:\.0)?", str(value))
    return None if match is None else int(match[1])


def _name(event: Event) -> str:
    return str(event.get("name", "")) or "(unnamed)"


def _args(event: Event) -> dict[str, Any]:
    return event.get("args") or {}


def _category(event: Event) -> str:
    return str(event.get("cat", "")).lower()


def _external_id(event: Event) -> int | None:
    args = _args(event)
    return _number(args.get("External id", args.get("external id")))


def _ns(event: Event) -> int:
    return max(0, int((Decimal(event.get("dur") or 0) * 1000).to_integral_value()))
