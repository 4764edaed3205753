"""Rules of what a copy of a recording for others must not hold: keys, forms of texts, names."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Literal

import msgspec

from torch_tb_profiler.knowledge.arguments import is_secret_name
from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.knowledge.private_messages import MessageRules
from torch_tb_profiler.once import once

FieldAction = Literal["replace", "remove", "environment"]

PATH, PROCESS, SECRET, RUN, HOST, USER = "path", "process", "secret", "run", "host", "user"
NAME, SHAPE, ENVIRONMENT, BYTES = "name", "shape", "environment", "bytes"

_SEPARATORS = re.compile(r"[\s_.-]+")
_GROUP = "secret"
_QUOTED_PAIR = re.compile(
    r"""(?P<a>["'])(?P<key>[\w .-]{2,64})(?P=a):[ ]?(?P<b>["'])(?P<value>[^"'\n]{1,4096})(?P=b)"""
)


class FieldRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Keys whose value is private, whatever it is.

    Attributes:
        kind: What the value is, a key of ``kinds``.
        action: ``replace``: the value becomes a text of its kind; ``remove``: key and value go;
            ``environment``: only the variables of the allow-list stay.
        keys: The keys, compared without case and separators.
        numbers: Whether numbers go, too.
        examples: Keys that must be among them (tests check each).
        counter_examples: Keys that must not.
    """

    kind: str
    action: FieldAction
    keys: tuple[str, ...]
    examples: tuple[str, ...]
    counter_examples: tuple[str, ...]
    numbers: bool = False


class TextRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """The form of a private text.

    Attributes:
        kind: What it is, a key of ``kinds``.
        pattern: Regular expression; its group ``secret``, if there is one, is what is private.
        examples: Texts in which it must match (tests check each).
        counter_examples: Texts in which it must not.
    """

    kind: str
    pattern: str
    examples: tuple[str, ...]
    counter_examples: tuple[str, ...]


class LearningRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """What gives a name away.

    Attributes:
        kind: What the name is, a key of ``kinds``.
        needles: Texts of which every match holds one.
        pattern: Regular expression; its group ``name`` is the name.
        examples: Texts in which it must match (tests check each).
        counter_examples: Texts in which it must not.
    """

    kind: str
    needles: tuple[str, ...]
    pattern: str
    examples: tuple[str, ...]
    counter_examples: tuple[str, ...]


class NameForms(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Names that are no secret, as whole regular expressions and as words."""

    patterns: tuple[str, ...]
    examples: tuple[str, ...]
    counter_examples: tuple[str, ...]
    words: tuple[str, ...] = ()


class CommonNames(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Names of users and hosts that identify nobody."""

    names: tuple[str, ...]


class PathRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What remains of an absolute path.

    Attributes:
        inside: Regular expressions of paths with a folder that everybody has, with ``/`` between
            parts; the group ``rest`` remains.
        sources: Endings of files of source code, whose base names remain.
        examples: Pairs of a path and what becomes of it.
    """

    inside: tuple[str, ...]
    sources: tuple[str, ...]
    examples: tuple[tuple[str, str], ...]


class RemainingKeys(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Keys of what stays and may be of interest to others.

    Attributes:
        shapes: Shapes and values of inputs, which go on request.
        plain: Kinds and types, whose texts are no names of the program.
        devices: Models of devices, in a header.
        versions: Versions, in a header.
        times: Times, in a header.
    """

    shapes: tuple[str, ...]
    plain: tuple[str, ...]
    devices: tuple[str, ...]
    versions: tuple[str, ...]
    times: tuple[str, ...]


class ColumnKeys(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Columns whose name says what they hold only together with their table's.

    Attributes:
        tables: Regular expression of whole names of tables.
        keys: Column → the key under which its texts go.
    """

    tables: str
    keys: dict[str, str]


class NamedValues(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Tables whose rows are a name and its value.

    Attributes:
        tables: Regular expression of whole names of tables.
        name: The column of names.
        value: The column of values.
    """

    tables: str
    name: str
    value: str


class StringReference(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """A column that refers to texts in another table.

    Attributes:
        table: The table.
        column: The column, which holds ids.
        strings: The table of texts, with the id in its first column.
        key: The key under which these texts go.
        is_plain: Whether they are no names of the program.
    """

    table: str
    column: str
    strings: str
    key: str
    is_plain: bool = False


class TableRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """What texts of databases and other tables are.

    Attributes:
        columns: Columns with a key of their own.
        values: Tables of names and values.
        names: Key → regular expression of the names whose value goes under it.
        strings: References to texts.
        plain: Regular expression of names of tables whose texts are no names of the program.
    """

    columns: tuple[ColumnKeys, ...]
    values: tuple[NamedValues, ...]
    names: dict[str, str]
    strings: tuple[StringReference, ...]
    plain: str


class ScrubbingFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The schema of ``scrubbing.toml``; its comments explain each table."""

    kinds: dict[str, str]
    fields: tuple[FieldRule, ...]
    learn: tuple[LearningRule, ...]
    common: CommonNames
    processes: NameForms
    texts: tuple[TextRule, ...]
    paths: PathRules
    names: NameForms
    left: RemainingKeys
    library: NameForms
    tables: TableRules
    members: NameForms
    messages: tuple[MessageRules, ...]


@once
def scrubbing_file() -> ScrubbingFile:
    """The entries of the file."""
    return load("scrubbing.toml", ScrubbingFile)


def message_rules(format_name: str) -> MessageRules | None:
    """The messages of a format; None if it has none."""
    rules = scrubbing_file().messages
    return next((each for each in rules if each.format == format_name), None)


def kind_title(kind: str) -> str:
    """What a kind is called in lists."""
    return scrubbing_file().kinds[kind]


def plain_key(key: str) -> str:
    """A key without case and separators: ``hostName`` and ``host_name`` are one."""
    return _SEPARATORS.sub("", key).lower()


@once
def _field_rules() -> dict[str, FieldRule]:
    return {plain_key(key): rule for rule in scrubbing_file().fields for key in rule.keys}


_SECRET_FIELD = FieldRule(SECRET, "remove", (), (), ())


def field_rule(key: str) -> FieldRule | None:
    """The rule of a key; None where the key says nothing of its value."""
    rule = _field_rules().get(plain_key(key))
    if rule is None and is_secret_name(key):
        return _SECRET_FIELD
    return rule


def replace_private(text: str, replacement: Callable[[str, str], str]) -> str:
    """The text without what the rules of forms match.

    Args:
        text: Any text.
        replacement: What becomes of a private text, given its kind and itself.
    """
    if "':" in text or '":' in text:
        text = _QUOTED_PAIR.sub(partial(_value_replaced, replacement), text)
    for kind, pattern in _text_patterns():
        if pattern.search(text) is not None:
            text = pattern.sub(partial(_replaced, kind, replacement), text)
    return text


def _value_replaced(replacement: Callable[[str, str], str], match: re.Match[str]) -> str:
    """A key and its value, as Python and JSON write a dict in a text, by the rule of the key."""
    rule = field_rule(match["key"])
    if rule is None or is_plain_process(match["value"]):
        return match[0]
    start = match.start("value") - match.start()
    rest = match[0][start + len(match["value"]) :]
    return match[0][:start] + replacement(rule.kind, match["value"]) + rest


def _replaced(kind: str, replacement: Callable[[str, str], str], match: re.Match[str]) -> str:
    """A match with its private part replaced."""
    group = _GROUP if _GROUP in match.re.groupindex else 0
    start, end = match.start(group) - match.start(), match.end(group) - match.start()
    return match[0][:start] + replacement(kind, match[group]) + match[0][end:]


@once
def _text_patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((rule.kind, re.compile(rule.pattern)) for rule in scrubbing_file().texts)


_AROUND_BYTES, _LONGEST_BYTES = 48, 400
"""What is searched around a needle: no name is longer, and equal surroundings hold the same one."""


def given_names(text: bytes) -> set[tuple[str, bytes]]:
    """Kind and name of hosts and users that a text gives away."""
    names: set[tuple[str, bytes]] = set()
    for kind, needles, pattern in _learning_patterns():
        for needle in needles:
            at = text.find(needle)
            seen: set[bytes] = set()
            while at >= 0:
                around = text[max(0, at - _AROUND_BYTES) : at + _AROUND_BYTES]
                if around not in seen:
                    seen.add(around)
                    start, end = max(0, at - _AROUND_BYTES), at + _LONGEST_BYTES
                    matches = pattern.finditer(text, start, end)
                    names.update((kind, each["name"]) for each in matches)
                at = text.find(needle, at + len(needle))
    return names


@once
def _learning_patterns() -> tuple[tuple[str, tuple[bytes, ...], re.Pattern[bytes]], ...]:
    return tuple(
        (rule.kind, tuple(map(str.encode, rule.needles)), re.compile(rule.pattern.encode()))
        for rule in scrubbing_file().learn
    )


def is_common_name(name: str) -> bool:
    """Whether a name of a user or host identifies nobody, or is too short to search for."""
    return len(name) < 3 or name.isdigit() or name.lower() in scrubbing_file().common.names


def is_plain_process(name: str) -> bool:
    """Whether the name of a process or thread says nothing of its program."""
    return _process_pattern().fullmatch(name.strip()) is not None


@once
def _process_pattern() -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in scrubbing_file().processes.patterns))


def path_rest(path: str) -> str | None:
    """What remains of an absolute path below a folder that everybody has; None elsewhere.

    >>> path_rest("/opt/venv/lib/python3.11/site-packages/torch/nn/init.py")
    'torch/nn/init.py'
    """
    plain = path.replace("\\", "/").replace("//", "/")
    for pattern in _inside_patterns():
        match = pattern.search(plain)
        if match is not None:
            return match["rest"]
    return None


@once
def _inside_patterns() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(rf"(?:^|.*/){inside}$") for inside in scrubbing_file().paths.inside)


def is_source_file(base_name: str) -> bool:
    """Whether a base name is one of a file of source code."""
    return base_name.rpartition(".")[2].lower() in scrubbing_file().paths.sources


@once
def _plain_segments() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Whole plain names, and plain segments of others."""
    names = scrubbing_file().names
    words = "|".join(sorted(map(re.escape, names.words), key=len, reverse=True))
    inside = "|".join(f"(?:{pattern})" for pattern in (*names.patterns, words))
    segment = rf"(?<![A-Za-z0-9])(?:{inside})(?![A-Za-z0-9])"
    return re.compile(rf"(?:{segment}|(?<!\d)\d{{1,3}}(?!\d)|[-_. ])*"), re.compile(segment)


def private_segments(stem: str) -> list[str]:
    """The segments of the name of a file or folder that may say who recorded what.

    >>> private_segments("acme-llama_rank3"), private_segments("worker0_step_12")
    (['acme-llama'], [])
    """
    whole, segment = _plain_segments()
    if whole.fullmatch(stem):
        return []
    gaps = (gap.strip("-_. ") for gap in segment.split(stem))
    return [gap for gap in gaps if gap]
