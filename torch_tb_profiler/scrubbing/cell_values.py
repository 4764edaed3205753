"""The rules of keys and texts, applied to cells of tables and to texts of messages."""

from __future__ import annotations

import json
import re
from typing import Literal, NamedTuple

import msgspec

from torch_tb_profiler.importers.kineto.repair import encode
from torch_tb_profiler.knowledge.scrubbing import (
    BYTES,
    ENVIRONMENT,
    HOST,
    PROCESS,
    USER,
    field_rule,
    is_plain_process,
)
from torch_tb_profiler.known_environment import is_allowed
from torch_tb_profiler.scrubbing.json_values import THREAD_KEY, JsonScrubber
from torch_tb_profiler.scrubbing.texts import TextScrubber

NAME_CHARS = 15
"""Linux cuts names of threads to so many characters, and the first thread has that of its
process."""

CACHED_TEXTS = 100_000
"""Texts remembered with what became of them; then all are forgotten: memory is bounded."""

CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
"""Characters that texts for people do not have: with one of them a text is other data."""

LEARNED_KEYS = {HOST: "host_name", USER: "user"}
"""Kind of a key → the key by which names of this kind are recognized."""

TextForm = Literal["name", "plain"]


class KnownKey(NamedTuple):
    """Under what a text goes: its key, and whether it may hold names of the program."""

    key: str
    form: TextForm = "name"


class CellScrubber:
    """Scrubs texts that are no JSON, under their keys.

    Args:
        values: The rules of values with names of the program.
        plain: The rules of other ones.
        texts: The rules of texts.
    """

    def __init__(self, values: JsonScrubber, plain: JsonScrubber, texts: TextScrubber) -> None:
        self._rules = {"name": values, "plain": plain}
        self._texts = texts
        self._processes: set[str] = set()
        self._known: dict[tuple[KnownKey, str], str | None] = {}

    def add_process(self, name: str) -> None:
        """Remember the name of a process: threads that have it are named like one."""
        base_name = _base_name(name)
        self._processes |= {name, base_name, base_name[:NAME_CHARS]}

    def text(self, known: KnownKey, text: str) -> str | None:
        """What becomes of a text; None where nothing stays.

        Args:
            known: Its key.
            text: The text, which may be JSON.
        """
        cached = (known, text)
        if cached in self._known:
            return self._known[cached]
        if len(self._known) >= CACHED_TEXTS:
            self._known.clear()
        result = self._known[cached] = self._scrubbed(known, text)
        return result

    def data(self, known: KnownKey, data: bytes) -> bytes | None:
        """The same of bytes: what is no text goes."""
        try:
            text = data.decode()
        except UnicodeDecodeError:
            text = "\0"
        if CONTROL.search(text):
            self.remove_bytes(known.key, data)
            return None
        result = self.text(known, text)
        return None if result is None else result.encode()

    def number(self, known: KnownKey, value: float) -> float | None:
        """A number; None where its key says that it identifies a machine."""
        rule = field_rule(known.key)
        if rule is None or not rule.numbers:
            return value
        self._texts.replacements.remove(rule.kind, str(value), known.key)
        return None

    def removes_numbers(self, known: KnownKey) -> bool:
        """Whether numbers under a key go."""
        rule = field_rule(known.key)
        return rule is not None and rule.numbers

    def name(self, text: str) -> str:
        """The name of a table or column."""
        return self._texts.scrub(text, "a column")

    def remove_bytes(self, field: str, data: bytes) -> None:
        """Count bytes that are not in the copy."""
        self._texts.replacements.remove(BYTES, data.hex(), field)

    def _scrubbed(self, known: KnownKey, text: str) -> str | None:
        rules, key = self._rules[known.form], known.key
        if known.form == "plain" and key == "name":
            key = "value"  # no name of the program, which are listed
        if text[:1] in ("{", "[") and '"' in text and _is_json(text):
            result = rules.value(key, text.encode("utf-8", "replace"))
            return None if result is None else result.decode()
        rule = field_rule(key)
        if rule is not None and rule.action == ENVIRONMENT:
            return self._environment(text)
        if key == THREAD_KEY and text in self._processes:
            return self._texts.process(text, key)
        if rule is not None and rule.kind == PROCESS:
            base_name = _base_name(text)
            return base_name if is_plain_process(base_name) else self._texts.process(text, key)
        parent = key if key == THREAD_KEY else ""
        result = rules.value("name" if parent else key, encode(text), parent)
        return None if result is None else json.loads(result)

    def _environment(self, text: str) -> str:
        """Lines of variables: those of the allow-list."""
        lines = []
        for line in re.split(r"[\n\0]", text):
            name, _, value = line.partition("=")
            if is_allowed(name, value):
                lines.append(line)
            elif line.strip():
                self._texts.replacements.remove(ENVIRONMENT, line, ENVIRONMENT)
        return "\n".join(lines)


def _base_name(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]


def is_data(text: str) -> bool:
    """Whether a text holds characters that texts for people do not have."""
    return CONTROL.search(text) is not None or "\ufffd" in text


def learnable(key: str, text: str) -> bytes:
    """A text with its key in the form in which names of hosts and users are recognized."""
    rule = field_rule(key)
    known_key = LEARNED_KEYS.get(rule.kind, key) if rule is not None else key
    spelled = text.encode("utf-8", "replace")
    return b'"%b": "%b"\n%b\n' % (known_key.encode("utf-8", "replace"), spelled, spelled)


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text.encode("utf-8", "replace"))
    except (msgspec.MsgspecError, RecursionError):
        return False
    return True
