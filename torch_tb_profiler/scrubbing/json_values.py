"""The rules of keys and texts, applied to JSON whose numbers stay as they are written.

A value is decoded no further than to the texts in it: numbers keep their digits, and a value seen
before needs no second search.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from torch_tb_profiler.importers.kineto.repair import encode, parse_lenient
from torch_tb_profiler.knowledge.scrubbing import (
    PROCESS,
    SHAPE,
    FieldRule,
    field_rule,
    scrubbing_file,
)
from torch_tb_profiler.known_environment import is_allowed
from torch_tb_profiler.scrubbing.remaining import RemainingCollector
from torch_tb_profiler.scrubbing.texts import TextScrubber

CACHED_VALUES = 200_000
"""Values remembered with what became of them; then all are forgotten: memory is bounded."""

CACHED_BYTES = 1 << 16
"""Longer values are not remembered."""

THREAD_KEY, PROCESS_KEY = "thread_name", "process_name"
NAME_KEYS, VALUE_KEY = ("name", "key"), "value"
GONE = object()
"""Stands for a value that is removed."""

_DECODE_ERRORS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_LIST = msgspec.json.Decoder(list[msgspec.Raw])

_OPTION = re.compile(r"--?([A-Za-z][\w-]*)")
"""An option whose value is the next text of a list."""

_NO_NUMBERS = (b'"', b"[", b"{")
"""How values that may hold a text begin."""

TextRule = Callable[[str, str], str]
"""What becomes of a text of a field."""


class JsonScrubber:
    """Scrubs JSON values under their keys.

    Args:
        texts: The rules of texts.
        remaining: Collects what stays.
        removes_shapes: Whether shapes and values of inputs go.
    """

    def __init__(
        self, texts: TextScrubber, remaining: RemainingCollector, removes_shapes: bool
    ) -> None:
        self._texts = texts
        self._remaining = remaining
        self._shape_keys = frozenset(scrubbing_file().left.shapes)
        self._plain_keys = frozenset(scrubbing_file().left.plain)
        self._removes_shapes = removes_shapes
        self._cached: dict[tuple[str, bytes], bytes | None] = {}
        self._keys: dict[str, tuple[bytes, FieldRule | None]] = {}

    def object(self, values: dict[str, msgspec.Raw], parent: str = "") -> bytes:
        """An object without what is private, as JSON."""
        parts, known = [], self._keys
        named = _name_of_value(values) if VALUE_KEY in values else None
        for key, raw in values.items():
            name, rule = known.get(key) or self._key(key)
            text = bytes(raw)
            result: bytes | None = text
            if key == VALUE_KEY and named is not None:
                result = self.value(named, text)
            elif rule is not None or text[:1] in _NO_NUMBERS:
                result = self.value(key, text, parent)
            if result is not None:
                parts.append(name + result)
        return b"{%b}" % b",".join(parts)

    def value(self, key: str, text: bytes, parent: str = "") -> bytes | None:
        """What becomes of the value of a key; None where key and value go.

        Args:
            key: The key.
            text: Its value as JSON.
            parent: The key of the object it is in, where that matters: names of what metadata
                events name.
        """
        if text[:1] not in _NO_NUMBERS and self._key(key)[1] is None:
            return text
        known = (f"{parent}.{key}", text) if parent else (key, text)
        if known in self._cached:
            return self._cached[known]
        result = self._scrubbed(key, text, parent)
        if len(text) < CACHED_BYTES:
            if len(self._cached) >= CACHED_VALUES:
                self._cached.clear()
            self._cached[known] = result
        return result

    def _key(self, key: str) -> tuple[bytes, FieldRule | None]:
        """A key as JSON without what is private, and its rule."""
        known = self._keys.get(key)
        if known is None:
            if len(self._keys) >= CACHED_VALUES:
                self._keys.clear()
            name = self._texts.scrub(key, "a key")
            self._keys[key] = known = encode(name) + b":", field_rule(key)
        return known

    def _scrubbed(self, key: str, text: bytes, parent: str) -> bytes | None:
        if key in self._shape_keys:
            if self._removes_shapes:
                self._texts.replacements.remove(SHAPE, text.decode("utf-8", "replace"), key)
                return None
            self._remaining.add_shape(text)
        rule = self._key(key)[1]
        if rule is not None:
            return self._by_rule(rule, key, text)
        if key == "name" and parent == PROCESS_KEY:
            return self._walked(text, key, self._texts.process)
        if key == "name" and parent == THREAD_KEY:
            return self._walked(text, key, self._texts.thread)
        result = self._walked(text, key, self._rule_of_texts(key))
        self._remaining.add(key, result)
        return result

    def _rule_of_texts(self, key: str) -> TextRule:
        return self._texts.scrub if key in self._plain_keys else self._texts.name

    def _by_rule(self, rule: FieldRule, key: str, text: bytes) -> bytes | None:
        """A value that is private whatever it is; empty ones and, mostly, numbers are not."""
        is_empty = text in (b'""', b"null", b"[]", b"{}", b"true", b"false")
        if is_empty or (text[:1] not in b'"[{' and not rule.numbers):
            return text
        if rule.action == "environment":
            return self._environment(rule, key, text)
        if rule.action == "remove" or text[:1] not in b'"[{':
            if text[:1] == b"[" and b'"' not in text and not rule.numbers:
                return text
            self._texts.replacements.remove(rule.kind, text.decode("utf-8", "replace"), key)
            return None
        if rule.kind == PROCESS:
            return self._walked(text, key, self._texts.process)
        return self._walked(text, key, lambda each, field: self._whole_text(rule.kind, each, field))

    def _whole_text(self, kind: str, text: str, field: str) -> str:
        return self._texts.replacements.replacement(kind, text, field) if text.strip() else text

    def _environment(self, rule: FieldRule, key: str, text: bytes) -> bytes | None:
        """The variables of the allow-list; anything but an object goes."""
        try:
            variables = _OBJECT.decode(text)
        except _DECODE_ERRORS:
            self._texts.replacements.remove(rule.kind, text.decode("utf-8", "replace"), key)
            return None
        allowed = {}
        for name, raw in variables.items():
            value = _text_of(bytes(raw))
            if is_allowed(name, value):
                allowed[name] = raw
            else:
                self._texts.replacements.remove(rule.kind, f"{name}={value}", key)
        return self.object(allowed)

    def _walked(self, text: bytes, key: str, rule: TextRule) -> bytes:
        """The value with the rule applied to every text in it."""
        first = text[:1]
        if first == b'"':
            value = _text_of(text)
            if value is None:
                return b'""'
            inside = None
            if value[:1] in ("{", "[") and rule in (self._texts.name, self._texts.scrub):
                inside = self._json_in_text(value, key)
            return encode(rule(value, key) if inside is None else inside)
        if first not in b"[{" or b'"' not in text:
            return text
        try:
            if first == b"[":
                return b"[%b]" % b",".join(self._items(_LIST.decode(text), key, rule))
            if rule in (self._texts.name, self._texts.scrub):
                return self.object(_OBJECT.decode(text))
            return (
                b"{"
                + b",".join(
                    self._key(name)[0] + self._walked(bytes(raw), key, rule)
                    for name, raw in _OBJECT.decode(text).items()
                )
                + b"}"
            )
        except _DECODE_ERRORS:
            return self._lenient(text, key)

    def _items(self, items: list[msgspec.Raw], key: str, rule: TextRule) -> Iterator[bytes]:
        """The items of a list; what follows ``"--password"`` goes as the value of that key."""
        option = None
        for raw in items:
            text = bytes(raw)
            if option is None:
                yield self._walked(text, key, rule)
            else:
                yield self.value(option, text) or b'""'
            option = _option(text[1:-1].decode("utf-8", "replace")) if text[:2] == b'"-' else None

    def _json_in_text(self, value: str, key: str) -> str | None:
        """A text that is JSON with something private; None for another one."""
        text = value.encode("utf-8", "replace")
        try:
            original = msgspec.json.decode(text)
            result = self._walked(text, key, self._rule_of_texts(key))
            return None if msgspec.json.decode(result) == original else result.decode()
        except _DECODE_ERRORS:
            return None

    def _lenient(self, text: bytes, key: str) -> bytes:
        """A value that only a lenient decoder reads; null where none does or lists are too deep."""
        parsed = parse_lenient(text.decode("utf-8", "replace"))
        if parsed is None:
            return b"null"
        try:
            return encode(self.plain(parsed.value, key))
        except RecursionError:
            return b"null"

    def plain(self, value: Any, key: str = "") -> Any:
        """A value of Python objects without what is private; :data:`GONE` where nothing stays.

        Args:
            value: Texts, numbers, lists, tuples and dicts; anything else stays.
            key: Its key.
        """
        if isinstance(value, str):
            result = self.value(key, encode(value))
            return GONE if result is None else json.loads(result)
        if isinstance(value, dict):
            entries = self.entries(value, key, self.plain)
            return {name: each for name, each in entries if each is not GONE}
        if isinstance(value, list | tuple):
            items = (self.plain(each, own_key) for own_key, each in keyed_items(value, key))
            return type(value)(each for each in items if each is not GONE)
        rule = None if value is None or isinstance(value, bool) else self._key(key)[1]
        if rule is not None and rule.numbers:
            self._texts.replacements.remove(rule.kind, str(value), key)
            return GONE
        return value

    def entries(
        self, values: dict[Any, Any], key: str, inside: Callable[[Any, str], Any]
    ) -> Iterator[tuple[Any, Any]]:
        """The entries of a dict without those whose keys are private.

        Args:
            values: The dict.
            key: Its key.
            inside: What becomes of a value, given its key; may be :data:`GONE`.
        """
        named = [values[each] for each in NAME_KEYS if isinstance(values.get(each), str)]
        for name, value in values.items():
            if not isinstance(name, str):
                yield name, inside(value, key)
                continue
            if name == VALUE_KEY and named and field_rule(named[0]) is not None:
                yield name, inside(value, named[0])
                continue
            rule = self._key(name)[1]
            is_filled = isinstance(value, dict | list | tuple) and len(value) > 0
            if is_filled and rule is not None and rule.action != "replace":
                self._texts.replacements.remove(rule.kind, name, name)
                continue
            yield json.loads(self._key(name)[0][:-1]), inside(value, name)


def keyed_items(values: list[Any] | tuple[Any, ...], key: str) -> Iterator[tuple[str, Any]]:
    """The items of a list, each with its key: that of the list, or the option before it."""
    option = None
    for value in values:
        yield key if option is None else option, value
        option = _option(value) if isinstance(value, str) else None


def _option(text: str) -> str | None:
    """The key of the value that follows an option; None if the text is none that has a rule."""
    match = _OPTION.fullmatch(text)
    if match is None:
        return None
    key = "api_key" if match[1].endswith(("-key", "_key")) else match[1]
    return key if field_rule(key) is not None else None


def _name_of_value(values: dict[str, msgspec.Raw]) -> str | None:
    """The name of an object that is a name and its value, if that has a rule: ``{"name":
    "password", "value": …}``."""
    for key in NAME_KEYS:
        text = bytes(values.get(key, b""))
        if text[:1] == b'"':
            name = _text_of(text)
            return name if name is not None and field_rule(name) is not None else None
    return None


def _text_of(text: bytes) -> str | None:
    """The text of a JSON string; None of anything else and of damage."""
    try:
        return msgspec.json.decode(text, type=str)
    except _DECODE_ERRORS:
        parsed = parse_lenient(text.decode("utf-8", "replace"))
        return parsed.value if parsed is not None and isinstance(parsed.value, str) else None
