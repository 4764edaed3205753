"""The causes of ``causes.toml``: what is put in, and which findings are right about it."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from bench.diagnosis.model import Recording

FILE = Path(__file__).with_name("causes.toml")
KINDS = frozenset(
    {"device", "host", "both", "frames", "steps", "ranks", "overlap", "matrix", "devices"}
)

Put = Callable[[Recording, Random, float], None]


@dataclass(frozen=True)
class Cause:
    """One cause; fields as in the file."""

    name: str
    kind: str
    put: Put
    put_without: Put | None
    first: frozenset[str]
    also: frozenset[str]
    speaks: frozenset[str]
    least_pct: float
    has_gain: bool
    gain_of: frozenset[str]
    what_if: str | None

    @property
    def accepted(self) -> frozenset[str]:
        """All findings that are right."""
        return self.first | self.also | self.speaks


@cache
def causes() -> dict[str, Cause]:
    """The causes by name.

    Raises:
        ValueError: an entry has an unknown kind.
    """
    return {each["name"]: _cause(each) for each in _file()["causes"]}


@cache
def neutral() -> frozenset[str]:
    """Findings that claim no loss."""
    return frozenset(_file()["neutral"])


@cache
def _file() -> dict[str, Any]:
    return msgspec.toml.decode(FILE.read_bytes(), type=dict[str, Any])


def _cause(entry: dict[str, Any]) -> Cause:
    if entry["kind"] not in KINDS:
        raise ValueError(f"causes.toml: {entry['name']} has the unknown kind {entry['kind']}")
    without = entry.get("without")
    return Cause(
        entry["name"],
        entry["kind"],
        _function(entry["with"]),
        None if without is None else _function(without),
        frozenset(entry["first"]),
        frozenset(entry["also"]),
        frozenset(entry.get("speaks", ())),
        float(entry["least_pct"]),
        bool(entry.get("gain", True)),
        frozenset(entry.get("gain_of", entry["first"])),
        entry.get("what_if"),
    )


def _function(path: str) -> Put:
    module, _, name = path.partition(".")
    put: Put = getattr(importlib.import_module(f"bench.diagnosis.{module}"), name)
    return put
