"""Makes a trace many times the sample: what a longer recording of the same training would hold.

Each copy is later by a whole period; correlation ids, external ids, flow ids, sequence numbers
and step numbers go on counting, so that every event is valid and no two share an id. The text
keeps torch's own layout, so that bytes per event are those of a real file.
"""

from __future__ import annotations

import argparse
import gzip
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SAMPLE = ROOT / "samples" / "kineto_resnet50_nw0" / "worker0.1623143089861.pt.trace.json.gz"
OUT = ROOT / "bench" / "out"

PERIOD_US = 1_200_000
"""Longer than the sample's window of 1 173 372 µs."""

_NUMBERS = re.compile(
    rb'("(?:external )?ts": |"correlation": |"[Ee]xternal id": |"Sequence number": '
    rb'|"ph": "[sf]", "id": |ProfilerStep#)(\d+)'
)
_SPAN = re.compile(rb'("cat": "Trace", "ts": \d+, "dur": )(\d+)')
_WINDOW_END = re.compile(rb'("Record Window End".*?"ts": )(\d+)', re.DOTALL)
_BEGIN_OF_EVENTS = b'"traceEvents": ['
_METADATA = b'\n  {\n    "name": "process_name", "ph": "M"'


def make_trace(factor: int, path: Path) -> None:
    """Write ``factor`` times the sample to ``path`` as plain JSON."""
    text = gzip.decompress(SAMPLE.read_bytes())
    begin = text.index(_BEGIN_OF_EVENTS) + len(_BEGIN_OF_EVENTS)
    end = text.index(_METADATA)
    head, events, tail = text[:begin], text[begin:end], text[end:]
    strides = _strides(events)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".part")
    with unfinished.open("wb") as file:
        file.write(head)
        for copy in range(factor):
            file.write(_copy(events, copy, strides))
        file.write(_longer(tail, factor))
    unfinished.replace(path)


def _strides(events: bytes) -> dict[bytes, int]:
    """What each kind of number grows by from copy to copy: more than its largest value."""
    largest: dict[bytes, int] = {}
    for key, digits in _NUMBERS.findall(events):
        kind = _kind(key)
        largest[kind] = max(largest.get(kind, 0), int(digits))
    strides = {kind: value + 1 for kind, value in largest.items()}
    steps = {int(digits) for key, digits in _NUMBERS.findall(events) if key == b"ProfilerStep#"}
    return {**strides, b"ts": PERIOD_US, b"ProfilerStep#": len(steps)}


def _kind(key: bytes) -> bytes:
    """Numbers that count in the same space: flow ids are correlation ids."""
    if key.endswith(b'ts": '):
        return b"ts"
    if key.endswith(b'xternal id": '):
        return b"external id"
    if key.endswith((b'"id": ', b'"correlation": ')):
        return b"correlation"
    return key


def _copy(events: bytes, copy: int, strides: dict[bytes, int]) -> bytes:
    if copy == 0:
        return events

    def shifted(match: re.Match[bytes]) -> bytes:
        key, number = match[1], int(match[2])
        if number == 0:  # "none" for ids
            return match[0]
        return key + str(number + copy * strides[_kind(key)]).encode()

    return _NUMBERS.sub(shifted, events)


def _longer(tail: bytes, factor: int) -> bytes:
    """Metadata and the recording's own span, as long as all copies."""
    added = (factor - 1) * PERIOD_US
    for pattern in (_SPAN, _WINDOW_END):
        tail = pattern.sub(lambda match: match[1] + str(int(match[2]) + added).encode(), tail)
    return tail


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
