"""The cursor over JSON against ``json``: whatever the texts hold, and however they are cut."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.examples import examples
from torch_tb_profiler.importers.rocprof import json_cursor
from torch_tb_profiler.importers.rocprof.json_cursor import END, JsonCursor
from torch_tb_profiler.trace.quality import QualityReport

TEXTS = st.text(st.sampled_from('a"\\{}[],:\n\u00e9 '), max_size=8)
VALUES = st.recursive(
    st.none() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


def cursor_over(text: bytes, size: int = 7) -> tuple[JsonCursor, QualityReport]:
    quality = QualityReport()
    pieces: Iterator[bytes] = (text[at : at + size] for at in range(0, len(text), size))
    return JsonCursor(pieces, quality), quality


@examples(60)
@given(st.dictionaries(TEXTS, VALUES, max_size=4), st.sampled_from([None, 1]), st.integers(1, 9))
def test_keys_and_values_of_any_object(document: Any, indent: int | None, size: int) -> None:
    cursor, quality = cursor_over(json.dumps(document, indent=indent).encode(), size)
    read: dict[str, Any] = {}
    assert cursor.peek() == ord("{")
    cursor.skip()
    while cursor.peek() not in (END, ord("}")):
        if cursor.peek() == ord(","):
            cursor.skip()
            continue
        key = cursor.key()
        assert key is not None
        read[json.loads(f'"{key}"')] = json.loads(cursor.value())
    assert read == document
    assert not quality.counts


@examples(60)
@given(st.lists(st.dictionaries(TEXTS, VALUES, min_size=1, max_size=3)), st.integers(1, 9))
def test_objects_of_any_list(elements: list[Any], size: int) -> None:
    cursor, quality = cursor_over(json.dumps([*elements]).encode() + b" 5", size)
    read, one_by_one = [], []
    for batch in cursor.objects():
        read += json.loads(batch.document())
        one_by_one += [json.loads(each) for each in batch.elements()]
    assert read == one_by_one == elements
    assert cursor.peek() == ord("5")
    assert not quality.counts


def records(count: int) -> list[str]:
    return [f'{{"size": 8, "name": "k{number}", "at": {{"x": 1}}}}' for number in range(count)]


@pytest.mark.parametrize(
    "damaged",
    [
        '{"size": 8, "name": "k1, "at": {"x": 1}}',
        '{"size": 8, "name": "k1", "at": {"x": 1}',
        '{"size": 8, "name": "k1", "at": "x": 1}}',
        '{"size": 8, "name": "k1", "at": {"x": [1}}',
        '{"size": 8, "na',
    ],
)
def test_a_damaged_object_costs_only_itself(damaged: str) -> None:
    elements = records(500)
    elements[1] = damaged
    cursor, quality = cursor_over(f"[{', '.join(elements)}] 5".encode(), 100)
    texts = [each for batch in cursor.objects() for each in batch.elements()]
    names = set(re.findall(r'"(k\d+)", "at": \{"x": 1\}\}', b" ".join(texts).decode()))
    assert {f"k{number}" for number in range(500) if number not in (1, 2)} <= names
    assert quality.counts.keys() <= {"event_dropped", "truncated"}


@pytest.mark.parametrize("end", [20, 300, 4000])
def test_a_text_that_ends_early_has_its_whole_objects(end: int) -> None:
    text = f"[{', '.join(records(500))}]".encode()[:end]
    cursor, quality = cursor_over(text, 64)
    read = [each for batch in cursor.objects() for each in json.loads(batch.document())]
    assert len(read) == text.count(b"}}")
    assert quality.counts == {"truncated": 1}
    assert cursor.peek() == END


@pytest.mark.parametrize("size", [100_000, 400_000, 3_000_000, 20_000_000])
def test_long_objects_among_short_ones(size: int) -> None:
    elements = [{"size": 1, "values": [{"id": 1, "name": "x" * length}]} for length in (3, size, 5)]
    cursor, quality = cursor_over(json.dumps(elements).encode() + b" 5", 1 << 16)
    read = [each for batch in cursor.objects() for each in json.loads(batch.document())]
    assert read == elements
    assert not quality.counts
    assert cursor.peek() == ord("5")


def test_an_object_that_is_longer_than_any_ends_the_array(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_cursor, "MAX_VALUE_BYTES", 1 << 20)
    elements = [{"size": 1}, {"size": "x" * (8 << 20)}, {"size": 3}]
    cursor, quality = cursor_over(json.dumps(elements).encode(), 1 << 16)
    read = [each for batch in cursor.objects() for each in json.loads(batch.document())]
    assert read == [{"size": 1}]
    assert quality.counts == {"truncated": 1}


def test_values_that_are_deep_or_never_end() -> None:
    cursor, _ = cursor_over(b"[" * 100_000 + b"]" * 100_000 + b",7", 4096)
    assert len(cursor.value()) == 200_000
    cursor, _ = cursor_over(b'{"a": "', 4096)
    assert cursor.value() == b""
    cursor, _ = cursor_over(b'"a', 4096)
    assert cursor.value() == b""


def test_finding_goes_on_behind_text_without_a_match() -> None:
    cursor, _ = cursor_over(b"x" * 1000 + b'"known": 5', 64)
    assert cursor.find(re.compile(rb'"known"\s*:')) is not None
    assert (cursor.key(), cursor.value()) == ("known", b"5")
    assert cursor.find(re.compile(rb'"known"')) is None
    assert cursor.peek() == END
