"""Makes a trace many times a sample: what a longer recording of the same training would hold.

Each copy is later by a whole period; correlation ids, external ids, flow ids, ids of frames,
sequence numbers and step numbers go on counting, so that every event is valid and no two share an
id. The text keeps torch's own layout, so that bytes per event are those of a real file.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = ROOT / "samples"
SAMPLE = SAMPLES / "kineto_resnet50_nw0" / "worker0.1623143089861.pt.trace.json.gz"
OUT = ROOT / "bench" / "out"

PERIOD_UNIT_NS = 1_000_000

WriteTime = Callable[[int, bool], bytes]
"""Nanoseconds, and whether they are a time (not a duration), as the file shall write them."""

_BEGIN_OF_EVENTS = re.compile(rb'"traceEvents"\s*:\s*\[\s*')
_BETWEEN_EVENTS = re.compile(rb'(?<=\})\s*,\s*(?=\{\s*"(?:ph|name)"\s*:)')
_STANDS_ONCE = re.compile(
    rb'"ph"\s*:\s*"M"|"cat"\s*:\s*"Trace"|"(?:Record Window End|Iteration Start: [^"]*)"'
)
_NUMBERS = re.compile(
    rb'("(?:external )?ts"\s*:\s*|"dur"\s*:\s*|"correlation"\s*:\s*|"[Ee]xternal id"\s*:\s*'
    rb'|"Sequence number"\s*:\s*|"ph"\s*:\s*"[sf]",\s*"id"\s*:\s*|"Python (?:parent )?id"\s*:\s*'
    rb'|"Ev Idx"\s*:\s*|ProfilerStep#)(\d+(?:\.\d+)?)'
)
_SPAN = re.compile(rb'("cat"\s*:\s*"Trace".*?"ts"\s*:\s*[\d.]+\s*,\s*"dur"\s*:\s*)()', re.DOTALL)
_KINDS = {
    b'"external ts"': b"ts",
    b'"ts"': b"ts",
    b'"Python parent id"': b"frame",
    b'"Python id"': b"frame",
    b'"correlation"': b"correlation",
    b'"External id"': b"external id",
    b'"external id"': b"external id",
}
"""Numbers that count in the same space; flow ids are correlation ids."""


def whole_us(time_ns: int, _: bool) -> bytes:
    """A time as torch wrote it up to 2.2."""
    return b"%d" % (time_ns // 1000)


class Recording:
    """A recording that can be repeated.

    Attributes:
        head: The text up to the event array.
        tail: The text from the bracket that closes the array.
        first_ns: When it begins.
        period_ns: How much later each copy is.
    """

    def __init__(self, text: bytes, ns_per_us: int = 1000) -> None:
        """Split the text of a recording.

        Args:
            text: JSON, an object with ``traceEvents``.
            ns_per_us: What a microsecond of the text becomes; no thousand stretches the recording.
        """
        begin = _BEGIN_OF_EVENTS.search(text)
        assert begin is not None
        end = _end_of_array(text, begin.end())
        self.head, self.tail = text[: begin.end()], text[end:]
        self._ns_per_us = ns_per_us
        events = _BETWEEN_EVENTS.split(text[begin.end() : end].rstrip())
        is_once = [_STANDS_ONCE.search(event[:400]) is not None for event in events]
        first = is_once.index(False)
        self._before = events[:first]
        pairs = list(zip(events[first:], is_once[first:], strict=True))
        self._repeated = self._split(b",\n  ".join(event for event, once in pairs if not once))
        self._after = [event for event, once in pairs if once]
        kinds, numbers = self._repeated[1], self._repeated[2]
        starts = [ns for ns, kind in zip(numbers, kinds, strict=True) if kind == b"ts"]
        ends = [
            start + (dur if next_kind == b"dur" else 0)
            for kind, start, next_kind, dur in zip(
                kinds, numbers, [*kinds[1:], b""], [*numbers[1:], 0], strict=True
            )
            if kind == b"ts"
        ]
        self.first_ns = min(starts)
        self.period_ns = ((max(ends) - self.first_ns) // PERIOD_UNIT_NS + 1) * PERIOD_UNIT_NS

    def _split(self, text: bytes) -> tuple[list[bytes], list[bytes], list[int]]:
        """The text without its numbers, and of each number its kind and value."""
        parts = _NUMBERS.split(text)
        between = [text + key for text, key in zip(parts[:-1:3], parts[1::3], strict=True)]
        kinds = [_kind(key) for key in parts[1::3]]
        numbers = [
            self._ns(digits) if kind in (b"ts", b"dur") else int(digits)
            for kind, digits in zip(kinds, parts[2::3], strict=True)
        ]
        return [*between, parts[-1]], kinds, numbers

    def _ns(self, digits: bytes) -> int:
        whole, _, decimals = digits.partition(b".")
        thousandths = int(decimals[:3].ljust(3, b"0"))
        return (int(whole) * 1000 + thousandths) * self._ns_per_us // 1000

    def copies(
        self, count: int, write_time: WriteTime = whole_us, first_ns: int | None = None
    ) -> Iterator[bytes]:
        """The event array without its brackets, in parts.

        Args:
            count: How many times the recording.
            write_time: How times and durations are written.
            first_ns: When the first copy shall begin; as the recording does by itself.
        """
        later_ns = 0 if first_ns is None else first_ns - self.first_ns
        added_ns = (count - 1) * self.period_ns
        strides = self._strides()
        for event in self._before:
            yield self._written(self._split(event), {b"ts": later_ns}, write_time) + b",\n  "
        for copy in range(count):
            shifts = {kind: copy * stride for kind, stride in strides.items()}
            shifts[b"ts"] += later_ns
            yield (b",\n  " if copy else b"") + self._written(self._repeated, shifts, write_time)
        for event in self._after:
            shifts = {b"ts": later_ns}
            if _SPAN.search(event):
                shifts[b"dur"] = added_ns
            elif b"Record Window End" in event:
                shifts[b"ts"] += added_ns
            yield b",\n  " + self._written(self._split(event), shifts, write_time)

    def _strides(self) -> dict[bytes, int]:
        """What each kind of number grows by from copy to copy: more than its largest value."""
        _, kinds, numbers = self._repeated
        strides: dict[bytes, int] = {}
        for kind, number in zip(kinds, numbers, strict=True):
            strides[kind] = max(strides.get(kind, 0), number + 1)
        pairs = zip(kinds, numbers, strict=True)
        steps = {number for kind, number in pairs if kind == b"ProfilerStep#"}
        return {**strides, b"ts": self.period_ns, b"dur": 0, b"ProfilerStep#": len(steps)}

    @staticmethod
    def _written(
        split: tuple[list[bytes], list[bytes], list[int]],
        shifts: dict[bytes, int],
        write_time: WriteTime,
    ) -> bytes:
        between, kinds, numbers = split
        parts: list[bytes] = []
        for text, kind, number in zip(between, kinds, numbers, strict=False):
            parts.append(text)
            if kind in (b"ts", b"dur"):
                parts.append(write_time(number + shifts.get(kind, 0), kind == b"ts"))
            else:  # an id of 0 is none
                parts.append(b"%d" % (number and number + shifts.get(kind, 0)))
        return b"".join((*parts, between[-1]))


def _end_of_array(text: bytes, begin: int) -> int:
    """Where the array is closed whose first item is at ``begin``."""
    decoded = text[begin:].decode()
    _, end = json.JSONDecoder().raw_decode("[" + decoded)
    return begin + len(decoded[: end - 2].encode())


def _kind(key: bytes) -> bytes:
    if key.startswith(b'"ph"'):
        return b"correlation"
    name = key.rstrip(b": \t\r\n")
    return _KINDS.get(name, name.strip(b'"'))


def make_trace(factor: int, path: Path) -> None:
    """Write ``factor`` times the sample to ``path`` as plain JSON."""
    recording = Recording(gzip.decompress(SAMPLE.read_bytes()))
    write(path, (recording.head, *recording.copies(factor), recording.tail))


def write(path: Path, parts: Iterator[bytes] | tuple[bytes, ...]) -> None:
    """Write a file that is there only when it is whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".part")
    with unfinished.open("wb") as file:
        file.writelines(parts)
    unfinished.replace(path)


def trace_of(factor: int) -> Path:
    """The trace of that size under ``bench/out``, made when it is not there yet."""
    path = OUT / f"resnet50_x{factor}.pt.trace.json"
    if not path.is_file():
        make_trace(factor, path)
    return path


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("factor", type=int, nargs="?", default=10)
    print(trace_of(parser.parse_args().factor))
