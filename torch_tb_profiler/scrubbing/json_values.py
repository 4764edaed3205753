"""The rules of keys and texts, applied to JSON whose numbers stay as they are written.

A value is decoded no further than to the texts in it: numbers keep their digits, and a value seen
before needs no second search.
"""

from __future__ import annotations

import json
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
GONE = object()
"""Stands for a value that is removed."""

_DECODE_ERRORS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_LIST = msgspec.json.Decoder(list[msgspec.Raw])

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
        for key, raw in values.items():
            name, rule = known.get(key) or self._key(key)
            text = bytes(raw)
            result: bytes | None = text
            if rule is not None or text[:1] in _NO_NUMBERS:
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
            return b'""' if value is None else encode(rule(value, key))
        if first not in b"[{" or b'"' not in text:
            return text
        try:
            if first == b"[":
                return (
                    b"["
                    + b",".join(self._walked(bytes(raw), key, rule) for raw in _LIST.decode(text))
                    + b"]"
                )
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
            items = (self.plain(each, key) for each in value)
            return type(value)(each for each in items if each is not GONE)
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
        for name, value in values.items():
            if not isinstance(name, str):
                yield name, inside(value, key)
                continue
            rule = self._key(name)[1]
            is_filled = isinstance(value, dict | list | tuple) and len(value) > 0
            if is_filled and rule is not None and rule.action != "replace":
                self._texts.replacements.remove(rule.kind, name, name)
                continue
            yield json.loads(self._key(name)[0][:-1]), inside(value, name)


def _text_of(text: bytes) -> str | None:
    """The text of a JSON string; None of anything else and of damage."""
    try:
        return msgspec.json.decode(text, type=str)
    except _DECODE_ERRORS:
        parsed = parse_lenient(text.decode("utf-8", "replace"))
        return parsed.value if parsed is not None and isinstance(parsed.value, str) else None
