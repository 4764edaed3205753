"""Whose a user range is, told by its name where the format names no domain."""

from __future__ import annotations

import re

import msgspec

from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.once import once

USER_DOMAIN = "user"
"""Ranges of the program that was recorded."""


class RangeDomain(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Ranges that a framework makes.

    Attributes:
        name: Name of the domain.
        title: For people.
        pattern: Regular expression of beginnings of names.
        examples: Names this entry must take (tests check each).
        counter_examples: Names it must not take.
    """

    name: str
    title: str
    pattern: str
    examples: tuple[str, ...]
    counter_examples: tuple[str, ...] = ()


class RangeDomainsFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The schema of ``range_domains.toml``."""

    domains: tuple[RangeDomain, ...]


@once
def range_domains_file() -> RangeDomainsFile:
    """The entries as they stand in the file."""
    return load("range_domains.toml", RangeDomainsFile)


@once
def _compiled() -> tuple[tuple[re.Pattern[str], str], ...]:
    entries = range_domains_file().domains
    return tuple((re.compile(entry.pattern), entry.name) for entry in entries)


def range_domain(name: str) -> str:
    """The domain of a range of this name: :data:`USER_DOMAIN`, or the framework that made it."""
    for pattern, domain in _compiled():
        if pattern.match(name):
            return domain
    return USER_DOMAIN
