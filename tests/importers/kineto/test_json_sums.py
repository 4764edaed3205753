"""Sums per process, thread, device, stream and name against a second reader: ``json``."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import sums
from tests.helpers.examples import examples
from tests.importers.kineto import json_sums
from torch_tb_profiler.importers import TraceFormatError, import_trace
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.model import Trace

SUMS = ("slices", "work", "launches", "owners", "memory", "counters", "instants")

DIFFERENT = {
    # A slice of 9e15 us is shortened to the end of the recording.
    "huge_dur.json": {"slices"},
    # A quote in a name made another name that is valid JSON: the importer restores it.
    "quote_tricky.json": {"slices"},
}
"""File → what differs, and why."""

INVALID = {
    "add_metadata_quotes.json", "concatenated.json", "control_chars.json", "empty_value.json",
    "inf_bandwidth.json", "nan_values.json", "non_utf8_name.json", "quote.json", "quote_dict.json",
    "quote_end.json", "trailing_comma.json", "trunc_after_comma.json", "trunc_gzip.json.gz",
    "trunc_mid_event.json", "unescaped_quote.json", "windows_backslash.json",
}  # fmt: skip
"""Damaged files that ``json`` does not read: ``test_malformed.py`` says what is left of them."""


def recordings(*folders: Path) -> dict[Path, bytes]:
    """Every JSON file, each content once."""
    files: dict[bytes, Path] = {}
    for folder in folders:
        for path in sorted(folder.rglob("*.json*")):
            files.setdefault(path.read_bytes(), path)
    return {path: data for data, path in files.items()}


def differences(trace: Trace, document: Any) -> dict[str, Any]:
    """Which sums differ, and where."""
    events = json_sums.events_of(document)
    named = {
        what: sums.differences(getattr(sums, what)(trace), getattr(json_sums, what)(events))
        for what in SUMS
    }
    return {what: where for what, where in named.items() if where}


def test_every_recording_of_the_corpus(corpus: Path, samples: Path) -> None:
    read, invalid = 0, set()
    for path, data in recordings(corpus, samples).items():
        try:
            columns = import_trace([data], name=path.name)
        except TraceFormatError:
            continue
        if columns.format != "kineto":
            continue
        try:
            document = json_sums.parse(data)
        except (ValueError, EOFError):
            invalid.add(path.name)
            continue
        read += 1
        trace = build_trace(columns)
        differ = differences(trace, document)
        if "device_numbers_matched" in trace.quality.counts:
            # AMD: torch's numbers of visible devices became ROCm's of those in the machine.
            differ.pop("memory", None)
            here, there = sums.memory(trace), json_sums.memory(json_sums.events_of(document))
            assert sorted(here.values()) == sorted(there.values()), path
        assert differ.keys() == DIFFERENT.get(path.name, set()), (path, differ)
        if isinstance(document, dict) and "distributedInfo" in document:
            job = trace.meta.info.job
            assert job is not None
            assert job.rank == document["distributedInfo"]["rank"], path
    assert read >= 68
    assert invalid == INVALID


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    ['{"ph": "X", "name": "x"}', '"', "\\", "]}", '"traceEvents": [', "\u2028", "[memory", "1"]
)
IDS = st.integers(-1, 3) | st.sampled_from(["Spans", ""])
STREAMS = st.integers(0, 3) | st.just("stream 7")
WHOLE = st.integers(0, 10**6)
NUMBERS = st.one_of(
    WHOLE.map(str),
    st.builds("{}.{:03}".format, WHOLE, st.integers(0, 999)),
    st.builds("{}.{}e{}".format, st.integers(1, 9), st.integers(0, 999), st.integers(0, 5)),
    st.builds("{}E-{}".format, WHOLE, st.integers(0, 4)),
    st.builds('"{}.{}"'.format, WHOLE, st.integers(0, 9)),
    st.builds("-{}.5".format, WHOLE),
)
"""Times as they are written: ``12``, ``12.500``, ``1.25e3``, ``5E-2``, ``"12.5"``."""


def raw(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Marked, so that :func:`text_of` writes them as they are."""
    return values.map("<raw>{}</raw>".format)


def slices(
    category: str, tids: st.SearchStrategy[Any], args: dict[str, st.SearchStrategy[Any]]
) -> st.SearchStrategy[Any]:
    optional = st.fixed_dictionaries({}, optional={**args, "note": TEXTS, "list": st.lists(TEXTS)})
    return st.fixed_dictionaries(
        {"ph": st.just("X"), "cat": st.just(category), "pid": st.integers(0, 3), "tid": tids},
        optional={"name": TEXTS, "ts": raw(NUMBERS), "dur": raw(NUMBERS), "args": optional},
    )


ARGUMENTS = st.integers(1, 12).flatmap(lambda n: st.sampled_from([n, n, str(n), float(n)]))
LINKS = {"correlation": ARGUMENTS, "External id": ARGUMENTS}
PLACE = {"device": st.integers(0, 2), "stream": ARGUMENTS, "bytes": WHOLE}
MEMORY = st.fixed_dictionaries(
    {"Device Type": st.integers(0, 1), "Device Id": st.integers(-1, 1), "Bytes": st.integers()}
).filter(lambda args: abs(args["Bytes"]) < 2**40)
EVENTS = st.lists(
    st.one_of(
        slices("cpu_op", IDS, {"Input Dims": st.lists(st.lists(WHOLE))}),
        slices("Kernel", STREAMS, LINKS | PLACE),
        slices("gpu_memcpy", STREAMS, LINKS | PLACE),
        slices("gpu_memset", STREAMS, PLACE),
        st.builds(
            lambda name, args: {"ph": "i", "name": name, "ts": 5, "args": args},
            st.just("[memory]"), MEMORY,
        ),
        st.fixed_dictionaries({"ph": st.just("i"), "name": TEXTS, "tid": IDS, "ts": WHOLE}),
        st.fixed_dictionaries(
            {"ph": st.just("C"), "name": TEXTS, "pid": IDS, "ts": WHOLE,
             "args": st.dictionaries(TEXTS, st.integers(-9, 9) | st.floats(-2, 2), max_size=3)}
        ),
    ),
    max_size=15,
)  # fmt: skip


def text_of(document: Any, **style: Any) -> bytes:
    """JSON with the marked numbers as they are."""
    text = json.dumps(document, **style)
    return re.sub(r'"<raw>(.*?)</raw>"', lambda match: match[1].replace('\\"', '"'), text).encode()


@examples(120)
@given(
    events=EVENTS,
    calls=st.lists(st.sampled_from(["cudaLaunchKernel", "cuLaunchKernelEx"]), max_size=12),
    indent=st.sampled_from([None, 0, 1]),
    ensure_ascii=st.booleans(),
)
def test_random_files(
    events: list[Any], calls: list[str], indent: int | None, ensure_ascii: bool
) -> None:
    launches = [
        {"ph": "X", "cat": "cuda_runtime", "name": name, "pid": 9, "tid": 9, "ts": 0, "dur": 1,
         "args": {"correlation": number}}
        for number, name in enumerate(calls, 1)
    ]  # fmt: skip
    events = [each for pair in zip(launches, events, strict=False) for each in pair] + (
        events[len(launches) :] + launches[len(events) :]
    )
    devices = [{"id": number} for number in range(4)]
    document = {"schemaVersion": 1, "deviceProperties": devices, "traceEvents": events}
    data = text_of(document, indent=indent, ensure_ascii=ensure_ascii)
    trace = build_trace(import_trace([data], name="x.json"))
    assert differences(trace, json_sums.parse(data)) == {}
