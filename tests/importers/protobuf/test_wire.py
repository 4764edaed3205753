"""The vectorized decoder against one that decodes field by field."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.importers.protobuf.encode import decode, field, message, varint
from torch_tb_profiler.importers.protobuf import wire
from torch_tb_profiler.importers.protobuf.messages import message_spans
from torch_tb_profiler.importers.protobuf.texts import (
    decimal_numbers,
    distinct_ranges,
    distinct_texts,
    leading_texts,
)
from torch_tb_profiler.importers.protobuf.wire import DELIMITED, Occurrences, Wire
from torch_tb_profiler.trace.columns import ABSENT, Int64

VALUES = st.one_of(
    st.integers(0, 300), st.integers(-(2**63), 2**64 - 1), st.binary(max_size=200), st.floats()
)
FIELDS = st.tuples(st.one_of(st.integers(1, 40), st.integers(1, 2**29 - 1)), VALUES)
DAMAGED = st.builds(
    lambda data, at, byte: data[: at % (len(data) + 1)] + bytes([byte]) + data[at % 7 + 1 :],
    st.binary(max_size=60),
    st.integers(0, 200),
    st.integers(0, 255),
)
MESSAGES = st.lists(
    st.one_of(
        st.lists(FIELDS, max_size=6).map(lambda fields: message(*fields)), DAMAGED, st.binary()
    ),
    max_size=12,
)


def spans(messages: list[bytes]) -> tuple[bytes, Int64, Int64]:
    ends = np.cumsum([0, *map(len, messages)]).astype(np.int64)
    return b"".join(messages), ends[:-1], ends[1:]


def _columns(picked: Occurrences) -> tuple[list[int], ...]:
    columns = (picked.message, picked.value, picked.start, picked.end)
    assert (np.diff(picked.message) >= 0).all()
    return tuple(column.tolist() for column in columns)


def check(messages: list[bytes]) -> None:
    data, start, end = spans(messages)
    fields = Wire(data).fields(start, end)
    expected = [decode(data, a, b) for a, b in zip(start.tolist(), end.tolist(), strict=True)]
    for number, wire_type in fields.tags:
        loose = fields.unordered(number, wire_type)
        order = loose.select(np.argsort(loose.message, kind="stable"))
        assert _columns(order) == _columns(fields.pick(number, wire_type))
    rows = sorted(
        (message, start, number, wire_type, value, end)
        for number, wire_type in fields.tags
        for message, value, start, end in zip(
            *_columns(fields.pick(number, wire_type)), strict=True
        )
    )
    assert [(row[0], *row[2:5], row[1], row[5]) for row in rows] == [
        (index, *row) for index, (part, _) in enumerate(expected) for row in part
    ]
    assert fields.broken == sum(not is_whole for _, is_whole in expected)
    assert fields.count == len(messages)


@pytest.mark.parametrize("few", [0, 4, 10_000])
@given(messages=MESSAGES)
def test_all_fields_are_those_of_a_plain_decoder(few: int, messages: list[bytes]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wire, "FEW_MESSAGES", max(few, 1))
        check(messages)


@pytest.mark.parametrize(
    "message",
    [
        b"\x08" + b"\xff" * 10 + b"\x01",  # a varint of eleven bytes
        b"\x08" + b"\xff" * 9 + b"\x7f",  # bits beyond 64
        b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f",  # a length of 2**63 - 1
        b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",  # of 2**64 - 1
        b"\x0b\x01\x0c",  # a group
        b"\x00\x01",  # field 0
        b"\x09\x01\x02",  # eight bytes of which two are there
        b"\xff" * 20,
    ],
)
def test_an_invalid_field_ends_only_its_message(message: bytes) -> None:
    good = field(1, 5) + field(2, "text")
    check([good, message, field(3, 1) + message, good])
    check([good, message, field(3, 1) + message, good] * 20)


def test_the_last_value_counts_and_absent_ones_have_a_default() -> None:
    data, start, end = spans([field(1, 5) + field(1, -7), field(2, 2.5), field(1, "text")])
    fields = Wire(data).fields(start, end)
    assert fields.ints(1).tolist() == [-7, ABSENT, ABSENT]
    assert np.nan_to_num(fields.floats(2), nan=-1).tolist() == [-1, 2.5, -1]
    assert fields.ints(1, DELIMITED).tolist() == [ABSENT, ABSENT, 4]
    a, b = fields.spans(1)
    assert data[a[2] : b[2]] == b"text"
    assert a[:2].tolist() == [ABSENT, ABSENT]


def test_floats_of_32_bits_are_read() -> None:
    data = varint(3 << 3 | 5) + np.float32(1.5).tobytes()
    assert Wire(data).fields(np.array([0]), np.array([len(data)])).floats(3).tolist() == [1.5]


@given(st.lists(st.lists(st.integers(0, 2**64 - 1), max_size=5), max_size=6), st.booleans())
def test_repeated_numbers_are_read_packed_and_not(values: list[list[int]], packed: bool) -> None:
    if packed:
        messages = [field(4, b"".join(map(varint, each))) for each in values]
    else:
        messages = [message(*((4, value) for value in each)) for each in values]
    data, start, end = spans(messages)
    buffer = Wire(data)
    owner, value = buffer.numbers(buffer.fields(start, end), 4)
    expected = [(row, each) for row, some in enumerate(values) for each in some]
    assert list(zip(owner.tolist(), value.view(np.uint64).tolist(), strict=True)) == expected


@pytest.mark.parametrize("ending", [b"", b"\x80", b"\xff" * 10 + b"\x01\x05"])
def test_long_packed_fields_are_read_up_to_their_damage(ending: bytes) -> None:
    """A field of 100,000 numbers beside short ones; in rounds it would take seconds."""
    chance = random.Random(1)
    long = [chance.randrange(1 << chance.randrange(65)) for _ in range(100_000)]
    values = [[1, 2], long, [], [300]]
    messages = [field(4, b"".join(map(varint, each))) for each in values]
    messages[1] = field(4, b"".join(map(varint, long)) + ending)
    data, start, end = spans(messages)
    wire = Wire(data)
    owner, value, broken = wire.packed_values(wire.fields(start, end).pick(4, DELIMITED))
    expected = [(row, each) for row, some in enumerate(values) for each in some]
    assert list(zip(owner.tolist(), value.view(np.uint64).tolist(), strict=True)) == expected
    assert broken == bool(ending)


@given(
    st.lists(
        st.one_of(st.text("ab", max_size=3), st.text("ab\0é", max_size=300), st.none()),
        max_size=60,
    )
)
def test_each_text_is_decoded_once(texts: list[str | None]) -> None:
    data, start, end = spans([(text or "").encode() for text in texts])
    is_none = np.array([text is None for text in texts], bool)
    start = np.where(is_none, ABSENT, start)
    codes, distinct = distinct_texts(Wire(data), start, end)
    assert [None if code < 0 else distinct[code] for code in codes.tolist()] == texts
    assert len(set(distinct)) == len(distinct)


@given(st.lists(st.text("ab", max_size=34), max_size=60), st.booleans())
def test_each_leading_text_is_decoded_once(texts: list[str], other: bool) -> None:
    messages = [message((10, text), (2, number)) for number, text in enumerate(texts)]
    data, start, end = spans([*messages, message((2, 1))] if other else messages)
    wire = Wire(data)
    leading = leading_texts(wire, Occurrences(np.arange(start.size), end - start, start, end), 10)
    if other:
        assert leading is None
        return
    assert leading is not None
    assert [leading.texts[code] for code in leading.codes.tolist()] == texts
    assert leading.texts == list(dict.fromkeys(texts))
    assert wire.fields(leading.end, end).ints(2).tolist() == list(range(len(texts)))


def test_leading_texts_equal_at_both_ends_stay_distinct() -> None:
    texts = [
        "beginning one ending words",
        "beginning two ending words",
        "beginning one ending words",
    ]
    data, start, end = spans([message((10, text)) for text in texts])
    leading = leading_texts(Wire(data), Occurrences(np.arange(3), end - start, start, end), 10)
    assert leading is not None
    assert [leading.texts[code] for code in leading.codes.tolist()] == texts


def test_texts_with_equal_hashes_stay_distinct(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch_tb_profiler.importers.protobuf.texts._FACTOR", np.uint64(0))
    texts = [b"one of nine", b"two of nine", b"one of nine", b"three of nine", b"two of nine"]
    texts += [b"1234567\x0f", b"1234567"]  # the one with its size is the other with its own
    data, start, end = spans(texts)
    codes, distinct = distinct_ranges(Wire(data), start, end)
    assert [distinct[code] for code in codes.tolist()] == texts


def test_invalid_utf8_is_replaced() -> None:
    codes, distinct = distinct_texts(Wire(b"\xff\xfeab"), np.array([0]), np.array([4]))
    assert distinct == ["\ufffd\ufffdab"]
    assert codes.tolist() == [0]


@given(st.lists(st.one_of(st.integers(-(10**20), 10**20).map(str), st.text("0-9a ", max_size=4))))
def test_decimal_numbers_are_parsed_at_once(texts: list[str]) -> None:
    data, start, end = spans([text.encode() for text in texts])
    value, is_number = decimal_numbers(Wire(data), start, end)
    for text, number, yes in zip(texts, value.tolist(), is_number.tolist(), strict=True):
        digits = text.removeprefix("-")
        assert yes == (digits.isdigit() and len(digits) <= 18)
        assert number == (int(text) if yes else ABSENT)


@given(st.lists(st.binary(max_size=400), max_size=8), st.binary(max_size=4))
def test_spans_of_a_stream_of_messages(messages: list[bytes], rest: bytes) -> None:
    data = b"".join(field(1, each) for each in messages)
    messages = [each for each in messages if each]
    starts, ends, at = message_spans(data, 0x0A)
    assert [data[a:b] for a, b in zip(starts, ends, strict=True)] == messages
    assert at == len(data)
    starts, ends, at = message_spans(data + b"\x12" + rest, 0x0A)
    assert (len(starts), at) == (len(messages), len(data))


@pytest.mark.parametrize("count", [1, 3, 4, 65, 1023, 40_000])
def test_empty_messages_are_skipped_together(count: int) -> None:
    empty, more = b"\x0a\x00" * count, field(1, b"ab")
    starts, ends, at = message_spans(empty + more + empty + b"\x0a", 0x0A)
    assert (starts, ends) == ([2 * count + 2], [2 * count + 4])
    assert at == 4 * count + 4


def test_a_truncated_message_ends_the_stream() -> None:
    data = field(1, b"a" * 5) + field(1, b"b" * 300)
    for cut in range(8, len(data)):
        starts, _, at = message_spans(data[:cut], 0x0A)
        assert (len(starts), at) == (1, 7)
