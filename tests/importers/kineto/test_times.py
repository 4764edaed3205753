"""Decimals without leading zeros, as PyTorch nightlies of March 2024 wrote them, and similar forms.

The truth is the number of nanoseconds that was written.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, Context, Decimal
from random import Random

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.importers.kineto.reference import actual, chunks_of, read_bytes
from torch_tb_profiler.importers.kineto.reader import read_text
from torch_tb_profiler.importers.kineto.times import (
    OVERFLOW_NS,
    has_unpadded_decimals,
    text_to_ns,
    to_ns,
)
from torch_tb_profiler.trace.columns import ABSENT

EPOCH_NS = 1_712_195_495_519_000_000

Times = list[tuple[int, int]]
"""(start, duration) of each event in nanoseconds."""

Writer = Callable[[int], str]


def unpadded(ns: int) -> str:
    return f"{ns // 1000}.{ns % 1000}"


def three_digits(ns: int) -> str:
    return f"{ns // 1000}.{ns % 1000:03}"


def two_digits(ns: int) -> str:
    return f"{ns // 1000}.{ns % 1000 // 10:02}"


def trimmed(ns: int) -> str:
    """As JSON is written from floats: 10.5, 10.05, 10.0."""
    text = three_digits(ns).rstrip("0")
    return text + "0" if text.endswith(".") else text


def document(times: Times, write: Writer, header: str = "", name: str = "op {}") -> bytes:
    """Events as kineto's commit dfd563dd writes them."""
    events = ",".join(
        f'\n  {{\n    "ph": "X", "cat": "cpu_op", "name": "{name.format(number)}", "pid": 7, '
        f'"tid": 7,\n    "ts": {write(start)}, "dur": {write(dur)},\n    "args": {{\n'
        f'      "External id": {number}\n    }}\n  }}'
        for number, (start, dur) in enumerate(times)
    )
    return f'{{"schemaVersion": 1, {header}"traceEvents": [{events}\n], "x": 0}}'.encode()


def times_read(data: bytes, piece_bytes: int = 1 << 22) -> Times:
    columns = read_text(chunks_of(data), name="x", piece_bytes=piece_bytes)
    return [(row[4], row[5]) for row in actual(columns)["slices"]]


PLAIN: Times = [
    (EPOCH_NS + 600_000, 1_000_000),
    (EPOCH_NS + 689_005, 10_050),
    (EPOCH_NS + 700_995, 10_007),
    (EPOCH_NS + 720_070, 5),
    (EPOCH_NS + 730_120, 0),
]


def test_decimals_without_leading_zeros_are_nanoseconds() -> None:
    data = document(PLAIN, unpadded)
    assert b'"ts": 1712195495519689.5, "dur": 10.50' in data
    assert b'"ts": 1712195495519720.70, "dur": 0.5' in data

    columns = read_bytes(data)

    assert times_read(data) == PLAIN
    assert columns.time_unit_ns == 1
    assert columns.quality.counts == {"unpadded_time": 3}


@pytest.mark.parametrize("write", [three_digits, trimmed])
def test_other_decimals_of_the_same_times_are_decimals(write: Writer) -> None:
    columns = read_bytes(document(PLAIN, write))

    assert times_read(document(PLAIN, write)) == PLAIN
    assert columns.quality.counts == {}


TIMES = st.lists(
    st.tuples(st.integers(0, 10**7).map(lambda ns: EPOCH_NS + ns), st.integers(0, 10**5)),
    min_size=1,
    max_size=30,
)


@given(times=TIMES, write=st.sampled_from([three_digits, two_digits, trimmed]))
@example(times=[(EPOCH_NS, 5), (EPOCH_NS, 50), (EPOCH_NS, 500)], write=trimmed)
def test_the_forms_of_decimals_are_never_confused(times: Times, write: Writer) -> None:
    wanted = [tuple(int(Decimal(write(ns)) * 1000) for ns in pair) for pair in times]

    assert times_read(document(times, write)) == wanted


@given(times=TIMES)
@example(times=PLAIN)
def test_times_without_leading_zeros_are_never_mixed_up(times: Times) -> None:
    """Either all are nanoseconds or, where the proof is lacking, all are decimals."""
    decimals = [tuple(int(Decimal(unpadded(ns)) * 1000) for ns in pair) for pair in times]

    assert times_read(document(times, unpadded)) in (times, decimals)


@pytest.mark.parametrize("seed", range(20))
def test_two_hundred_events_prove_their_form(seed: int) -> None:
    random = Random(seed)
    times = [(EPOCH_NS + random.randrange(10**9), random.randrange(10**6)) for _ in range(200)]

    assert times_read(document(times, unpadded)) == times


MANY: Times = [(EPOCH_NS + 7_919 * number, 613 * number) for number in range(2_000)]


@pytest.mark.parametrize("piece_bytes", [1, 10_000, 1 << 22])
def test_every_piece_of_a_file_is_read_alike(piece_bytes: int) -> None:
    assert times_read(document(MANY, unpadded), piece_bytes) == MANY
    assert times_read(document(MANY, three_digits), piece_bytes) == MANY


def test_damaged_events_have_the_same_times() -> None:
    times = MANY[:50]

    columns = read_bytes(document(times, unpadded, name='say "{}"'))

    assert [(row[4], row[5]) for row in actual(columns)["slices"]] == times
    assert columns.quality.counts["quote_repaired"] == 50


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (document(PLAIN, unpadded, '"baseTimeNanoseconds": 0, '), "a base"),
        (document([(ns - EPOCH_NS, dur) for ns, dur in PLAIN], unpadded), "relative times"),
        (document(PLAIN, unpadded).replace(b"689.5,", b"689.005,"), "a leading zero"),
        (document(PLAIN, unpadded).replace(b"689.5,", b"689.5000,"), "four digits"),
        (document(PLAIN, unpadded).replace(b"689.5,", b"689,"), "no decimals"),
        (document(PLAIN, unpadded).replace(b"689.5,", b'"689.5",'), "text"),
        (document(PLAIN[3:4], unpadded), "too little"),
        (b'{"traceEvents": []}', "no events"),
    ],
)
def test_evidence_against_the_form(data: bytes, why: str) -> None:
    header, events = data[: data.index(b"[") + 1], data[data.index(b"[") + 1 :]

    assert not has_unpadded_decimals(header, events), why
    assert "unpadded_time" not in read_bytes(data).quality.counts


def test_the_form_is_detected_in_a_head_cut_anywhere() -> None:
    data = document(MANY[:300], unpadded)
    events = data[data.index(b"[") + 1 :]

    for end in range(20_000, 20_400):
        assert has_unpadded_decimals(b"", events[:end]), end


WHOLE = st.one_of(
    st.integers(0, 10**20),
    st.sampled_from([2**42, 2**43, 2**53, (2**63 - 1) // 1000, 10**15, 10**16, 99999999, 10**8]),
).map(str)
DECIMALS = st.one_of(
    st.text("0123456789", min_size=1, max_size=3),
    st.text("0459", min_size=4, max_size=20),
    st.sampled_from(["9995", "0005", "0015", "00050000", "000500001", "99949999999"]),
)
NUMBERS = st.builds("{}{}".format, WHOLE, st.one_of(st.just(""), DECIMALS.map(".{}".format)))
ODD_VALUES = st.one_of(
    st.builds("{}{}{}".format, st.sampled_from(["-", ""]), NUMBERS, st.sampled_from(["", "e2"])),
    NUMBERS.map('"{}"'.format),
    st.sampled_from(
        ["", "null", "true", '"1,5"', '"1.2.3"', "[1, 2]", '{"a": 1.5}', '"\\q"', "1e999"]
    ),
)


def nanoseconds(text: str) -> int:
    """By the decimal module, digit for digit."""
    try:
        value = json.loads(text, parse_float=Decimal, parse_int=Decimal)
        number = Decimal(value) if isinstance(value, (str, Decimal)) else None
    except (ValueError, ArithmeticError):
        number = None
    if number is None:
        return ABSENT
    ns = int(number.scaleb(3, Context(2000)).to_integral_value(ROUND_HALF_EVEN, Context(2000)))
    return min(max(ns, -OVERFLOW_NS), OVERFLOW_NS)


@given(st.lists(NUMBERS, min_size=1, max_size=12), st.lists(ODD_VALUES, max_size=3), st.integers(0))
def test_every_time_equals_its_digits(numbers: list[str], odd: list[str], at: int) -> None:
    """Alone, among numbers of other lengths, or among values that are not numbers."""
    index = at % (len(numbers) + 1)
    for texts in (numbers, [*numbers[:index], *odd, *numbers[index:]]):
        times = to_ns([msgspec.Raw(text.encode()) for text in texts])
        wanted = [nanoseconds(text) for text in texts]

        assert times.ns.tolist() == wanted
        assert times.has_fraction == any(ns != ABSENT and ns % 1000 for ns in wanted)
        assert times.strings == sum(text.startswith('"') for text in texts)


@given(st.lists(st.from_regex(r"-?[0-9]{0,20}(\.[0-9]{0,12})?", fullmatch=True), max_size=6))
def test_vectorized_text_times_equal_single_ones(texts: list[str]) -> None:
    raws = [msgspec.Raw(f'"{text}"'.encode()) for text in texts]
    times = to_ns(raws)
    assert times.ns.tolist() == [text_to_ns(text) for text in texts]
    assert times.strings == len(texts)
    assert times.has_fraction == any(ns != ABSENT and ns % 1000 for ns in times.ns.tolist())
