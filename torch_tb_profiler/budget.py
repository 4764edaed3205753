"""The one budget of reading a file: how much of it becomes part of a trace, and for how long.

Every limit is proportional to the size of the file, with a floor that no ordinary small recording
reaches and a ceiling. What exceeds a limit is cut, with a quality note that names the
limit, or the file is refused (``docs/safety.md``). :data:`LIMITS_VARIABLE` raises or lowers them.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping

from msgspec import Struct

LIMITS_VARIABLE = "TORCH_TB_PROFILER_LIMITS"
"""Replaces limits: ``names=1000000,levels=5000``."""

MIB = 1 << 20


class Limit(Struct, frozen=True):
    """A limit of the budget, ``floor`` ≤ ``per_byte`` × size of the file ≤ ``ceiling``.

    Attributes:
        what: What is limited, in the plural, to follow a number.
        floor: It holds for small files.
        ceiling: It holds for large files.
        per_byte: How it grows in between with the bytes of the file, as stored for what bounds
            reading itself (:data:`_BY_STORED_BYTES`), else as unpacked; 0 keeps it at the floor.
        consequence: What happens beyond it, for ``docs/safety.md``.
    """

    what: str
    floor: float
    ceiling: float
    per_byte: float
    consequence: str

    def value(self, size_bytes: float) -> float:
        """The limit of a file of this size."""
        return min(self.ceiling, max(self.floor, self.per_byte * size_bytes))


def _fixed(what: str, value: float, consequence: str) -> Limit:
    return Limit(what, value, value, 0.0, consequence)


LIMITS: Mapping[str, Limit] = {
    "unpacked_bytes": Limit(
        "bytes after unpacking", 64 * MIB, 100e9, 200.0, "refused: `unpacks_too_far`"
    ),
    "cpu_s": Limit(
        "seconds of CPU time to read it",
        5.0,
        24 * 3600.0,
        0.5e-6,
        "the rest is not read, noted as `reading_stopped`",
    ),
    "objects": Limit(
        "values of a pickle",
        500_000,
        1e9,
        0.25,
        "refused: `too_many_values`",
    ),
    "memory_stacks": Limit(
        "distinct call stacks of a memory snapshot",
        300_000,
        10e6,
        0.003,
        "memory with further ones has no stack, noted as `snapshot_stacks_left_out`",
    ),
    "events": Limit(
        "events",
        2_000_000,
        2e9,
        0.5,
        "the rest is not read, noted as `reading_stopped`",
    ),
    "line_bytes": _fixed(
        "bytes of a line of a journal or table", 32 * MIB, "left out, noted as `line_left_out`"
    ),
    "text_chars": _fixed("characters of a text", 262_144, "cut, noted as `text_cut`"),
    "all_text_chars": Limit(
        "characters of all names together",
        64 * MIB,
        4e9,
        8.0,
        "the longest texts are cut to 200 characters, noted as `texts_cut`",
    ),
    "names": Limit(
        "distinct names of slices",
        100_000,
        2_000_000,
        0.002,
        "numbers in the rarest become `#`, or they are `(other names)`, noted as `names_merged`",
    ),
    "kernel_names": Limit(
        "distinct names of work on devices",
        30_000,
        500_000,
        0.0002,
        "the same",
    ),
    "tracks": _fixed(
        "threads and streams",
        10_000,
        "those with the fewest slices are left out, noted as `tracks_left_out`",
    ),
    "processes": _fixed(
        "processes of a recording of AMD's profilers",
        1000,
        "the others are left out, noted as `entries_left_out`",
    ),
    "samples": _fixed(
        "samples of metrics", 2_000_000, "consecutive ones are averaged, noted as `samples_thinned`"
    ),
    "series": _fixed(
        "series of samples in a journal", 2000, "left out, noted as `side_row_left_out`"
    ),
    "windows": _fixed(
        "times of a profiler in a journal", 100_000, "left out, noted as `entries_left_out`"
    ),
    "reasons": _fixed(
        "reasons in a journal why something was not recorded",
        1000,
        "left out, noted as `entries_left_out`",
    ),
    "annotations": _fixed(
        "annotations of a memory snapshot", 1_000_000, "left out, noted as `entries_left_out`"
    ),
    "side_files": _fixed("files beside a trace", 256, "left out, noted as `beside_left_out`"),
    "side_file_bytes": _fixed(
        "bytes of a file beside a trace or of MindSpore, unpacked",
        64 * MIB,
        "text is cut, noted as `truncated`; others are left out, noted as `beside_left_out` or "
        "`side_file_unreadable`",
    ),
    "all_side_file_bytes": _fixed(
        "bytes of all files beside a trace, unpacked",
        256 * MIB,
        "left out, noted as `beside_left_out`",
    ),
    "document_bytes": _fixed(
        "bytes of a JSON document of Ascend's tools, unpacked",
        256 * MIB,
        "the rest is not read, noted as `ascend_file_unreadable`",
    ),
    "report_bytes": _fixed("bytes of a JSON report, unpacked", 1 << 30, "refused: `too_large`"),
    "loaders": _fixed(
        "data loaders of a journal",
        1000,
        "those with the fewest batches are left out, noted as `loaders_left_out`",
    ),
    "arguments": Limit(
        "values of arguments that no column models",
        1_000_000,
        500e6,
        0.25,
        "the last ones are left out, noted as `arguments_left_out`",
    ),
    "argument_names": _fixed(
        "distinct names of such arguments",
        1000,
        "the rarest are left out, noted as `arguments_left_out`",
    ),
    "levels": _fixed(
        "levels of slices inside one another",
        1000,
        "slices below that contain others are left out, noted as `levels_left_out`",
    ),
    "nested": Limit(
        "slices, each counted once per slice around it",
        5_000_000,
        1e9,
        0.75,
        "fewer levels are read, until it is met",
    ),
    "stack_frames": _fixed(
        "frames of a call stack", 1000, "the outermost are left out, noted as `stacks_cut`"
    ),
    "all_stack_frames": Limit(
        "frames of all distinct call stacks together",
        200_000,
        50e6,
        0.01,
        "stacks are cut to fewer frames, noted as `stacks_cut`",
    ),
}
"""Key → limit; the keys are those of :data:`LIMITS_VARIABLE`."""


_BY_STORED_BYTES = ("unpacked_bytes", "cpu_s", "events")


class Budget(Struct, frozen=True):
    """The limits of one file, or of all files of a folder together.

    Attributes:
        stored_bytes: Its size as stored.
        unpacked_bytes: Its size after unpacking.
    """

    stored_bytes: int
    unpacked_bytes: int

    def limit(self, key: str) -> float:
        """The limit ``key`` for this file.

        Raises:
            KeyError: there is no such limit.
        """
        given = _given_limits(os.environ.get(LIMITS_VARIABLE, "")).get(key)
        if given is not None:
            return given
        is_by_stored = key in _BY_STORED_BYTES
        return LIMITS[key].value(self.stored_bytes if is_by_stored else self.unpacked_bytes)

    def count(self, key: str) -> int:
        """As :meth:`limit`, as a whole number."""
        limit = self.limit(key)
        return int(min(limit, 2**62))

    def described(self, key: str) -> str:
        """The limit in words, and how to change it."""
        number = self.limit(key)
        return f"limit: {number:,.0f} {LIMITS[key].what}; {LIMITS_VARIABLE}={key}=NUMBER changes it"


UNLIMITED = Budget(2**62, 2**62)
"""The ceilings of all limits."""


class Stopwatch:
    """CPU time of the thread that reads, since it was created."""

    def __init__(self) -> None:
        self._start_s = time.thread_time()

    def exceeds(self, budget: Budget) -> bool:
        """Whether more time has passed than the budget allows."""
        return time.thread_time() - self._start_s > budget.limit("cpu_s")


def limits_variant() -> str:
    """The limits that the environment changes, as text for cache keys; empty for none."""
    given = _given_limits(os.environ.get(LIMITS_VARIABLE, ""))
    return "".join(f"/{key}={value:g}" for key, value in sorted(given.items()))


def _given_limits(text: str) -> dict[str, float]:
    """The limits in ``text``; what is no limit or no positive number is ignored."""
    given: dict[str, float] = {}
    for part in text.replace(" ", ",").split(","):
        key, _, number = part.partition("=")
        try:
            value = float(number)
        except ValueError:
            continue
        if key in LIMITS and value > 0 and not math.isnan(value):
            given[key] = value
    return given
