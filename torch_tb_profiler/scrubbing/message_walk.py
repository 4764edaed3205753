"""Rewrites a protobuf message text by text, on the level of the wire format: without its schema.

Only fields that change are written anew, with the lengths around them; numbers stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from msgspec import Struct

from torch_tb_profiler.importers.protobuf.varints import read_varint
from torch_tb_profiler.importers.protobuf.wire import DELIMITED, VARINT, read_field
from torch_tb_profiler.knowledge.private_messages import MessageRules, NamedField, TextTable
from torch_tb_profiler.knowledge.scrubbing import field_rule
from torch_tb_profiler.scrubbing.cell_values import CONTROL, KnownKey

MAX_DEPTH = 64
"""Messages in one another; what lies deeper goes."""

TEXT = "text"
"""The key of texts that no rule names."""

LeafRule = Callable[[KnownKey, str], str | None]
"""What becomes of a text under its key; None where it goes."""


class Field(Struct, frozen=True, gc=False):
    """A length-delimited or varint field.

    Attributes:
        number: Its number.
        wire_type: Its wire type.
        value: A varint's value.
        begin: Where its tag begins.
        start: Where its content begins.
        end: Where it ends.
    """

    number: int
    wire_type: int
    value: int
    begin: int
    start: int
    end: int


def fields_of(data: bytes) -> Iterator[Field]:
    """The fields of a message, up to the first one that is damaged."""
    at, end = 0, len(data)
    while at < end:
        field = read_field(data, at, end)
        if field is None:
            return
        number, wire_type, value, start, after = field
        yield Field(number, wire_type, value, at, start, after)
        at = after


def tagged(number: int, data: bytes) -> bytes:
    """A length-delimited field."""
    return varint(number << 3 | DELIMITED) + varint(len(data)) + data


def varint(value: int) -> bytes:
    """A number as varint."""
    result = bytearray()
    while value >= 0x80:
        result.append(value & 0x7F | 0x80)
        value >>= 7
    result.append(value)
    return bytes(result)


class MessageWalk:
    """Visits all texts of the fields of one file.

    Args:
        rules: The messages of the format.
        leaf: What becomes of a text.
        on_removed: Called with the path of bytes that go, and with them.

    Attributes:
        private_texts: Texts to which a value refers whose name has a rule → its name.
    """

    def __init__(
        self, rules: MessageRules, leaf: LeafRule, on_removed: Callable[[str, bytes], None]
    ) -> None:
        self._rules = rules
        self._leaf = leaf
        self._on_removed = on_removed
        self._numbers = frozenset(rules.numbers)
        self._messages = frozenset(rules.messages)
        self._named = {each.path: each for each in rules.named}
        texts = rules.texts
        self._text_path = "" if texts is None else ".".join((texts.path, *map(str, texts.text)))
        self._literal = re.compile(rules.literal or r"(?!)")
        self._names: dict[tuple[int, int], str] = {}
        self._texts: dict[tuple[int, int], str] = {}
        self._scope = 0
        self.private_texts: dict[str, str] = {}

    def rewritten(self, number: int, data: bytes) -> bytes | None:
        """The content of a field of the file without what is private; None where it goes.

        Args:
            number: The number of the field.
            data: Its content.
        """
        self._read_tables(str(number), data)
        return self._content(str(number), data, KnownKey(TEXT), 0)

    def _read_tables(self, path: str, data: bytes) -> None:
        """Learn the ids of names and texts that a field of the file defines."""
        if self._rules.scope:
            wanted = int(self._rules.scope.rpartition(".")[2])
            numbers = (f.value for f in fields_of(data) if f.number == wanted)
            self._scope = next(numbers, 0)
        else:
            self._names.clear()
            self._texts.clear()
        for table, known in ((self._rules.names, self._names), (self._rules.texts, self._texts)):
            if table is not None:
                self._read_table(table, path, data, known)

    def _read_table(
        self, table: TextTable, path: str, data: bytes, known: dict[tuple[int, int], str]
    ) -> None:
        below = table.path.split(".")[1:] if table.path.startswith(path + ".") else []
        entries = [data] if below else []
        for number in map(int, below):
            entries = [part for entry in entries for part in _parts(entry, number)]
        for entry in entries:
            texts = [entry]
            for number in table.text:
                texts = [part for text in texts for part in _parts(text, number)]
            ids = [field.value for field in fields_of(entry) if field.number == table.id]
            if ids and texts:
                known[self._scope, ids[-1]] = texts[-1].decode("utf-8", "replace")

    def _message(self, path: str, data: bytes, key: KnownKey, depth: int) -> bytes:
        """A message with its texts rewritten; what cannot be decoded of it goes."""
        named = self._named.get(path)
        name = None if named is None else self._key_of_value(named, data)
        only = self._rules.only.get(path)
        parts: list[bytes] = []
        copied = end = 0
        for field in fields_of(data):
            end = field.end
            if field.wire_type != DELIMITED:
                continue
            content = data[field.start : field.end]
            is_value = named is not None and field.number in named.values
            below = name if is_value and name is not None else key
            if only is not None and field.number not in only:
                self._on_removed(path, content)
                new = None
            else:
                new = self._content(f"{path}.{field.number}", content, below, depth + 1)
            if new is None or new != content:
                parts.append(data[copied : field.begin])
                parts.append(b"" if new is None else tagged(field.number, new))
                copied = field.end
        if copied == 0 and end == len(data):
            return data
        parts.append(data[copied:end])
        return b"".join(parts)

    def _content(self, path: str, data: bytes, key: KnownKey, depth: int) -> bytes | None:
        """What becomes of the content of a length-delimited field."""
        path = self._rules.same.get(path, path)
        if not data or path in self._numbers:
            return data
        if path in self._messages:
            return self._message(path, data, key, depth)
        own_key = self._rules.keys.get(path)
        text = _text_of(data, is_text=own_key is not None)
        if text is not None:
            key = KnownKey(own_key) if own_key else key
            if path in self._rules.plain:
                key = KnownKey(key.key, "plain")
            if path == self._text_path and text in self.private_texts:
                key = KnownKey(self.private_texts[text])
            return self._text(key, text)
        if depth < MAX_DEPTH and _is_message(data):
            return self._message(path, data, key, depth)
        self._on_removed(path, data)
        return b""

    def _text(self, key: KnownKey, text: str) -> bytes:
        """A text; one that goes is empty, so that others keep their place."""
        if self._literal.fullmatch(text):
            return text.encode()
        result = self._leaf(key, text)
        return b"" if result is None else result.encode("utf-8", "replace")

    def _key_of_value(self, named: NamedField, data: bytes) -> KnownKey | None:
        """The key of the value of a message, by its name; of a text that it refers to, too."""
        name = value_id = None
        for field in fields_of(data):
            if field.number == named.name and field.wire_type == DELIMITED:
                name = data[field.start : field.end].decode("utf-8", "replace")
            elif field.number == named.name_id and field.wire_type == VARINT:
                name = self._names.get((self._scope, field.value), name)
            elif field.number == named.value_id and field.wire_type == VARINT:
                value_id = field.value
        if name is None:
            return None
        if value_id is not None and field_rule(name) is not None:
            text = self._texts.get((self._scope, value_id))
            if text is not None:
                self.private_texts[text] = name
        return KnownKey(name)


def _parts(data: bytes, number: int) -> list[bytes]:
    """The contents of the length-delimited fields with a number."""
    return [
        data[field.start : field.end]
        for field in fields_of(data)
        if field.number == number and field.wire_type == DELIMITED
    ]


def _text_of(data: bytes, *, is_text: bool) -> str | None:
    """Bytes as text; None if they are none, or may as well be a message of messages."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace") if is_text else None
    if is_text:
        return text
    return None if CONTROL.search(text) or _is_nested(data) else text


def _is_nested(data: bytes) -> bool:
    """Whether bytes are nothing but complete length-delimited fields."""
    at = 0
    while at < len(data):
        if data[at] & 7 != DELIMITED or data[at] < 8:
            return False
        length, start = read_varint(data, at + 1, len(data))
        if not start or length > len(data) - start:
            return False
        at = start + length
    return True


def _is_message(data: bytes) -> bool:
    """Whether bytes are nothing but complete fields."""
    end = 0
    for field in fields_of(data):
        end = field.end
    return end == len(data)
