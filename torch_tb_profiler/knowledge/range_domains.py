"""Domains of user ranges by their names, for formats without domains."""

from __future__ import annotations

import re

import msgspec

from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.once import once

USER_DOMAIN = "user"
"""Ranges of the recorded program itself."""


class RangeDomain(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Ranges of a framework.

    Attributes:
        name: Name of the domain.
        title: Title of the domain.
        pattern: Regular expression of the start of names.
        examples: Names that must match this entry (tests check each).
        counter_examples: Names that must not match.
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
    """The entries of the file."""
    return load("range_domains.toml", RangeDomainsFile)


@once
def _compiled() -> tuple[tuple[re.Pattern[str], str], ...]:
    entries = range_domains_file().domains
    return tuple((re.compile(entry.pattern), entry.name) for entry in entries)


def range_domain(name: str) -> str:
    """The domain of a range of this name: that of a framework, or :data:`USER_DOMAIN`."""
    for pattern, domain in _compiled():
        if pattern.match(name):
            return domain
    return USER_DOMAIN
