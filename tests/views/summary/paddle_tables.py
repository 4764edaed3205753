"""The tables that Paddle's ``Profiler.summary`` printed, cell by cell."""

from __future__ import annotations

import re
from typing import NamedTuple

TITLE = re.compile(r"^-+(\w[\w ]*?) Summary(?: - Place\((.*)\))?-+$")
THREAD = re.compile(r"^-+Thread: (.*?)-+$")
RULE = re.compile(r"^(-+  )+$")
PEAK = re.compile(r"^Peak (\w+) Memory: (\d+)$")
MERGED = "All threads merged"
CELL = re.compile(r" {2,}")


class Printed(NamedTuple):
    """One row: its thread (None: merged), its indent, and its cells."""

    thread: str | None
    indent: int
    cells: list[str]

    @property
    def name(self) -> str:
        """The first cell."""
        return self.cells[0]

    @property
    def calls(self) -> int | None:
        """The second cell; None where a dash stands."""
        return None if self.cells[1] == "-" else int(self.cells[1])


def tables(text: str) -> dict[str, list[Printed]]:
    """Title (``"Operator"``; ``"Memory gpu:0"`` of a place) → rows in order."""
    result: dict[str, list[Printed]] = {}
    title, thread, rules = "", None, 0
    for line in text.splitlines():
        if match := TITLE.match(line):
            title = f"{match[1]} {match[2]}" if match[2] else match[1]
            thread, rules = None, 0
            result[title] = []
        elif match := THREAD.match(line):
            thread = None if match[1] == MERGED else match[1]
        elif RULE.match(line):
            rules += 1
        elif line.startswith(("Note:", "-")):
            title = ""
        elif title and rules >= 2 and line.strip():
            cells = CELL.split(line.strip())
            if cells[0] != "Calls":  # the head of the second half of a table
                result[title].append(Printed(thread, len(line) - len(line.lstrip()), cells))
    return result


def peaks(text: str) -> dict[str, tuple[int, int]]:
    """Place → peaks of allocated and reserved memory."""
    result: dict[str, tuple[int, int]] = {}
    place = ""
    found: list[int] = []
    for line in text.splitlines():
        if match := TITLE.match(line):
            place, found = match[2] or "", []
        elif match := PEAK.match(line):
            found.append(int(match[2]))
            if len(found) == 2:
                result[place] = (found[0], found[1])
    return result


def numbers(cell: str) -> list[float | None]:
    """``"1.00 / - / 2.00"`` → ``[1.0, None, 2.0]``."""
    return [None if part == "-" else float(part) for part in cell.split(" / ")]
