"""The tables that Paddle's ``Profiler.summary`` printed, as rows."""

from __future__ import annotations

import re
from typing import NamedTuple

TITLE = re.compile(r"^-+(\w+) Summary.*-+$")
THREAD = re.compile(r"^-+Thread: (.*?)-+$")
ROW = re.compile(r"^( *)(\S.*?) {2,}(-|\d+) +(\S.*?) *$")
NUMBERS = 5


class Printed(NamedTuple):
    """One row: what it is called, how far it is indented, how often it was called, and its numbers,
    None where a dash stands."""

    name: str
    indent: int
    calls: int | None
    numbers: tuple[float | None, ...]


def tables(text: str) -> dict[str, list[Printed]]:
    """Title (``"Operator"``) → rows, in order; numbers of the host before those of the device."""
    result: dict[str, list[Printed]] = {}
    rows: list[Printed] = []
    for line in text.splitlines():
        title = TITLE.match(line)
        if title:
            rows = result.setdefault(title[1], [])
        elif line.startswith("Note:"):
            rows = []
        elif (row := ROW.match(line)) and re.search(r"\d", row[4]):
            numbers = [part for part in re.split(r"[ /]+", row[4]) if part]
            rows.append(Printed(row[2], len(row[1]), _number(row[3]), tuple(map(_float, numbers))))
    return result


def _number(text: str) -> int | None:
    return None if text == "-" else int(text)


def _float(text: str) -> float | None:
    return None if text == "-" else float(text)
