"""What is in a copy and may be of interest to others: it stays, and is listed."""

from __future__ import annotations

import msgspec

from torch_tb_profiler.knowledge.scrubbing import scrubbing_file
from torch_tb_profiler.scrubbing.own_names import is_own_name
from torch_tb_profiler.scrubbing.result import RemainingFacts

MAX_VALUES = 100_000
"""Different values counted of one sort; more need no exact number."""

EXAMPLE_CHARS = 60


class RemainingCollector:
    """Counts different values by what they are; gets them as they are in the copy.

    Args:
        counts_names: Whether names of the program are in the copy as they are.
    """

    def __init__(self, counts_names: bool) -> None:
        self._counts_names = counts_names
        left = scrubbing_file().left
        self._titles = {
            **dict.fromkeys(left.devices, "models of devices"),
            **dict.fromkeys(left.versions, "versions"),
            **dict.fromkeys(left.times, "dates and times"),
        }
        self._values: dict[str, dict[str, None]] = {}

    def add(self, key: str, text: bytes) -> None:
        """Count the value of a key."""
        if key == "name" and text[:1] == b'"':
            self.add_name(text[1:-1].decode("utf-8", "replace"))

    def add_header(self, key: str, value: object) -> None:
        """Count the values of the header, or of an object in it."""
        if isinstance(value, dict):
            for name, each in value.items():
                self.add_header(f"{key}.{name}" if name == "name" else name, each)
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            for each in value:
                self.add_header(key, each)
        elif key in self._titles and value not in (None, "", [], {}):
            example = value if isinstance(value, str) else msgspec.json.encode(value).decode()
            self._count(self._titles[key], example)

    def add_name(self, name: str) -> None:
        """Count a name of the program."""
        if self._counts_names and is_own_name(name):
            self._count("names of functions, modules, ranges and kernels of the program", name)

    def add_shape(self, text: bytes) -> None:
        """Count a shape: sizes of the model follow from them."""
        if any(digit in text for digit in b"123456789"):
            self._count("shapes, from which sizes of the model follow", text.decode())

    def add_date(self, text: str) -> None:
        """Count a time in the name of a file."""
        self._count("dates and times", text)

    def add_ignored_names(self, count: int) -> None:
        """Count names of hosts and users that were not searched for everywhere."""
        for number in range(count):
            self._count("names of hosts and users that are not removed everywhere", f"#{number}")

    def _count(self, title: str, example: str) -> None:
        values = self._values.setdefault(title, {})
        if len(values) < MAX_VALUES:
            values[example] = None

    def facts(self) -> list[RemainingFacts]:
        """All that was counted."""
        return [
            RemainingFacts(title, len(values), next(iter(values))[:EXAMPLE_CHARS])
            for title, values in sorted(self._values.items())
        ]
