"""Counters of devices by name: what they measure, in which unit, over which time.

The names and roles: ``device_counters.toml``.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

import msgspec

from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.once import once

Kind = Literal["mean", "instant", "total"]
"""What time a value is of: the interval that ends at it, the one that begins there, one kernel."""

MAX_NAME_CHARS = 300
"""Longer names are of no known counter."""


class CounterRole(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A quantity that counters of several names measure.

    Attributes:
        role: Stable name.
        title: Name for people.
        unit: Unit of its values; empty for plain counts.
        kind: What time a value is of.
        group: One of the groups of the file.
        help: What it is.
        rare: Whether it is usually 0.
    """

    role: str
    title: str
    unit: str
    kind: Kind
    group: str
    help: str
    rare: bool = False


class CounterName(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Names of counters of one role; the comments of the file explain the keys."""

    role: str
    metric: str
    unit: str = ""
    states: str | None = None
    scale: float = 1.0


class CounterUnit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A spelling of a unit: the unit that it is here, and how many of them."""

    unit: str
    scale: float = 1.0


class CounterFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The schema of ``device_counters.toml``."""

    groups: tuple[str, ...]
    fill_pct: float
    energy_pct: float
    activity_pct: float
    units: dict[str, CounterUnit]
    roles: tuple[CounterRole, ...]
    names: tuple[CounterName, ...]


class CounterMeaning(msgspec.Struct, frozen=True):
    """What a counter of a name measures.

    Attributes:
        role: Its role; None where the name is not known.
        name: The name without its unit.
        unit: Unit of its values times ``scale``; empty where it is not known.
        scale: Factor from the recorded numbers to ``unit``.
        rank: Its position among all names, smaller for preferred ones.
    """

    role: CounterRole | None
    name: str
    unit: str
    scale: float
    rank: int

    @property
    def title(self) -> str:
        """The name as it is written, below the title of its role where only tools know it."""
        if self.role is not None and "_" in self.name:
            return f"{self.role.title} ({self.name})"
        return self.name


@once
def counter_file() -> CounterFile:
    """The entries of the file."""
    return load("device_counters.toml", CounterFile)


@once
def roles() -> dict[str, CounterRole]:
    """The roles by name, in the order of display."""
    groups = counter_file().groups
    ordered = sorted(counter_file().roles, key=lambda each: groups.index(each.group))
    return {each.role: each for each in ordered}


@lru_cache(maxsize=4096)
def counter_meaning(name: str, unit: str = "") -> CounterMeaning:
    """What a counter measures.

    Args:
        name: Its name as recorded, without the unit.
        unit: The unit that the recording states; empty for none.
    """
    known = counter_file().units.get(unit, CounterUnit(unit))
    names = counter_file().names if len(name) <= MAX_NAME_CHARS else ()
    for rank, each in enumerate(names):
        fits = each.states in (None, known.unit) and _fits(each, known.unit)
        if fits and re.fullmatch(each.metric, name, re.IGNORECASE):
            role = roles()[each.role]
            return CounterMeaning(role, name, role.unit, each.scale * known.scale, rank)
    return CounterMeaning(None, name, unit, 1.0, len(counter_file().names))


def _fits(name: CounterName, stated: str) -> bool:
    """Whether a counter that states its unit has that of the entry, where this has one."""
    return not stated or not name.unit or stated == name.unit
