"""A user's own rules for the names of kernels: the same work as ``kernels.toml``, in few words.

A file is a list of tables, tried from top to bottom and before the rules of this package::

    [[kernel]]
    match = "lab::moe_exchange"
    category = "communication"

``match`` is text that a name contains, as recorded or demangled; ``pattern`` is a regular
expression instead of it. ``category`` is a kind of ``kernels.toml``. ``tensor-core`` and ``dtype``
may be added. ``docs/settings.md#rules-for-your-own-kernels``.
"""

from __future__ import annotations

import codecs
import difflib
import hashlib
import re
from functools import lru_cache
from typing import NoReturn

import msgspec

from torch_tb_profiler.knowledge.demangling import demangled
from torch_tb_profiler.knowledge.kernel_dtypes import types_in_name
from torch_tb_profiler.knowledge.kernels import (
    COMMUNICATION,
    MAX_NAME_CHARS,
    KernelKind,
    kernel_file,
    uses_tensor_cores,
)
from torch_tb_profiler.once import set_up

MAX_RULES = 10_000
"""More rules are an error: each is tried for every name."""


class RulesError(Exception):
    """A file of rules that cannot be used: location and cause, and the next step."""

    code = "bad_rules"

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UserRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """One rule as it is written.

    Attributes:
        category: A key of ``[kinds]`` of ``kernels.toml``.
        match: Text that the name contains, case-sensitive; empty for none.
        pattern: Regular expression searched in the name instead; empty for none.
        tensor_core: Whether such kernels run on matrix units; None if that is unknown.
        dtype: Element type of its inputs, spelt as in names of kernels (``"bf16"``); None if that
            is unknown.
    """

    category: str = ""
    match: str = ""
    pattern: str = ""
    tensor_core: bool | None = None
    dtype: str | None = None


class _RulesFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    kernel: tuple[UserRule, ...] = ()


class UserRules(msgspec.Struct, frozen=True):
    """The rules of one file.

    Attributes:
        source: The file as people know it, which need not exist; empty where no file is known.
        rules: Its rules, in order.
        problem: Why its rules are not used; None where they are.
    """

    source: str = ""
    rules: tuple[UserRule, ...] = ()
    problem: str | None = None

    @property
    def digest(self) -> str:
        """Differs where a figure that follows from the rules may differ; empty without rules."""
        return _digest(self.rules) if self.rules else ""

    @property
    def version(self) -> str:
        """Differs where a view may say something else; empty without a file."""
        return _digest(self) if self.rules or self.problem else ""


NO_RULES = UserRules()


def parse_user_rules(data: bytes, source: str) -> UserRules:
    """The rules in the bytes of a file.

    Args:
        data: The TOML text, in UTF-8.
        source: The file as people know it, for errors.

    Raises:
        RulesError: they are no TOML, or no rules.
    """
    data = data.removeprefix(codecs.BOM_UTF8)
    try:
        document = msgspec.toml.decode(data)
    except (ValueError, RecursionError) as error:  # msgspec's errors, and those of huge values
        cause = str(error).rstrip(".")[:200]
        hint = 'A rule is [[kernel]], then match = "text of the name", then category = "gemm".'
        raise RulesError(f"{source} is no TOML: {cause}.", hint) from error
    checker = _Checker(data.decode(), source)
    try:
        rules = msgspec.convert(document, set_up(_RulesFile)).kernel
    except msgspec.ValidationError as error:
        checker.explain(str(error))
    if len(rules) > MAX_RULES:
        raise RulesError(
            f"{source} holds {len(rules)} rules, more than {MAX_RULES}.",
            "Use shorter texts in match: one rule then holds for many names.",
        )
    for number, rule in enumerate(rules):
        checker.check(number, rule)
    return UserRules(source, rules)


def kind_by_user(rules: UserRules, name: str) -> KernelKind | None:
    """What the first rule that ``name`` fits says of it; None where none fits."""
    if not rules.rules:
        return None
    memory = _memory_of(rules)
    if name not in memory.kinds:
        memory.kinds[name] = memory.first_hit(name)
    return memory.kinds[name]


class _Memory:
    """Rules, compiled, with what they said of names: views ask for each several times."""

    def __init__(self, rules: UserRules) -> None:
        self.rules = rules
        self.kinds: dict[str, KernelKind | None] = {}
        self._compiled = _compiled(rules.rules)

    def first_hit(self, name: str) -> KernelKind | None:
        """What the first rule that a name fits says of it."""
        plain = demangled(name)
        for rule, (pattern, kind) in zip(self.rules.rules, self._compiled, strict=True):
            if pattern is None:
                is_hit = rule.match in name or rule.match in plain
            else:
                is_hit = pattern.search(plain[:MAX_NAME_CHARS]) is not None
            if is_hit:
                return kind
        return None


_MOST_MEMORIES = 4
_memories: list[_Memory] = []
"""The rules used last; compared by identity, as hashing thousands of rules per name takes long."""


def _memory_of(rules: UserRules) -> _Memory:
    memory = next((each for each in _memories if each.rules is rules), None)
    if memory is None:
        memory = _Memory(rules)
        _memories.insert(0, memory)
        del _memories[_MOST_MEMORIES:]
    return memory


def rule_text(match: str, category: str = "", *, is_whole: bool = False) -> str:
    """A rule to copy into a file, as TOML.

    Args:
        match: What the names contain.
        is_whole: Whether they are nothing else, but for a result before and parameters after it.
        category: Their category where it is known: then the use of matrix units is left to fill in;
            otherwise the category is.
    """
    more = f"\n{'' if category else '# '}tensor-core =    # true or false"
    pattern = rf"^(void )?{re.escape(match)}(\(.*)?$"
    key, text = ("pattern", pattern) if is_whole else ("match", match)
    return f'[[kernel]]\n{key} = {_toml_text(text)}\ncategory = "{category}"{more}\n'


def _toml_text(text: str) -> str:
    """A TOML string; as it stands where it needs no escapes."""
    if text.isprintable() and "'" not in text:
        return f"'{text}'"
    escaped = "".join(
        f"\\{char}" if char in '"\\' else char if char.isprintable() else f"\\U{ord(char):08X}"
        for char in text
    )
    return f'"{escaped}"'


@lru_cache(maxsize=8)
def _compiled(rules: tuple[UserRule, ...]) -> list[tuple[re.Pattern[str] | None, KernelKind]]:
    return [
        (
            re.compile(rule.pattern) if rule.pattern else None,
            KernelKind(
                rule.category,
                uses_tensor_cores(rule.category) if rule.tensor_core is None else rule.tensor_core,
                rule.category == COMMUNICATION,
                f"user rule {number}",
                by_user=True,
                dtype=None if rule.dtype is None else types_in_name(rule.dtype)[0],
            ),
        )
        for number, rule in enumerate(rules, 1)
    ]


@lru_cache(maxsize=16)
def _digest(rules: tuple[UserRule, ...] | UserRules) -> str:
    return hashlib.sha256(msgspec.json.encode(rules)).hexdigest()[:16]


_KEYS = ("match", "pattern", "category", "tensor-core", "dtype")
_HEADER = re.compile(r"^[ \t]*\[\[[ \t]*kernel[ \t]*\]\]", re.MULTILINE)
_AT = re.compile(r" - at `\$\.kernel(?:\[(\d+)\](?:\.([\w-]+))?)?`")
_UNKNOWN_KEY = re.compile(r"unknown field `(.*?)`", re.DOTALL)


class _Checker:
    """Errors of a file with the line they are in."""

    def __init__(self, text: str, source: str) -> None:
        self._text = text
        self._source = source
        self._headers = [match.start() for match in _HEADER.finditer(text)]

    def check(self, number: int, rule: UserRule) -> None:
        """Refuse what a rule cannot mean.

        Raises:
            RulesError: it has no text to look for or two, an unknown category or type, an invalid
                expression.
        """
        kinds = kernel_file().kinds
        if bool(rule.match) == bool(rule.pattern):
            cause = "has neither match nor pattern" if not rule.match else "has match and pattern"
            hint = 'Write one of them: match = "text that the name contains".'
            self._fail(number, None, f"this rule {cause}", hint)
        if not rule.category:
            hint = f"Write one of: {', '.join(kinds)}."
            self._fail(number, "category", "the category is empty", hint)
        if rule.category not in kinds:
            cause = f"there is no category {_quoted(rule.category)}"
            self._fail(number, "category", cause, _did_you_mean(rule.category, tuple(kinds)))
        if rule.pattern:
            try:
                re.compile(rule.pattern)
            except (re.error, OverflowError, RecursionError) as error:
                cause = f"pattern is no regular expression ({error})"
                hint = "Use match for plain text, which needs no escapes."
                self._fail(number, "pattern", cause, hint)
        if rule.category == COMMUNICATION and rule.tensor_core:
            hint = "Remove tensor-core: kernels that communicate use none."
            self._fail(number, "tensor-core", "communication with tensor-core = true", hint)
        if rule.dtype is not None and len(types_in_name(rule.dtype)) != 1:
            cause = f"{_quoted(rule.dtype)} is no element type"
            hint = "Write float32, tf32, float16, bfloat16, float8, float4 or int8, for example."
            self._fail(number, "dtype", cause, hint)

    def explain(self, error: str) -> NoReturn:
        """Say what msgspec's ``error`` is about, in words of the file.

        Raises:
            RulesError: always.
        """
        at, unknown_key = _AT.search(error), _UNKNOWN_KEY.search(error)
        number = None if at is None or at[1] is None else int(at[1])
        if unknown_key is not None:
            key = unknown_key[1]
            hint = "A rule begins with [[kernel]]."
            if number is not None:
                hint = _did_you_mean(key, _KEYS)
            self._fail(number, key, f"unknown key {_quoted(key)}", hint)
        key_of_value = None if at is None else at[2]
        if key_of_value is None:
            cause = "kernel is no list of rules"
            self._fail(number, "kernel", cause, "A rule begins with [[kernel]], in two brackets.")
        wanted = "true or false" if key_of_value == "tensor-core" else "text in quotes"
        self._fail(number, key_of_value, f"{key_of_value} is no {wanted}", f"Write {wanted}.")

    def _fail(self, number: int | None, key: str | None, cause: str, hint: str) -> NoReturn:
        raise RulesError(f"{self._source}, line {self._line(number, key)}: {cause}.", hint)

    def _line(self, number: int | None, key: str | None) -> int:
        """The line of a key of a rule, or of the file; of the rule where the key is absent."""
        start, end = 0, len(self._text)
        if number is not None and number < len(self._headers):
            start = self._headers[number]
            end = (*self._headers, end)[number + 1]
        position = start
        if key is not None:
            key_pattern = re.compile(rf"^[ \t\[]*[\"']?{re.escape(key)}\b", re.MULTILINE)
            match = key_pattern.search(self._text, start, end)
            position = start if match is None else match.start()
        return self._text.count("\n", 0, position) + 1


def _quoted(text: str) -> str:
    return f"{text[:40]!r}"


def _did_you_mean(text: str, known: tuple[str, ...]) -> str:
    near = difflib.get_close_matches(text[:40].replace("_", "-"), known, n=2, cutoff=0.6)
    near = near or difflib.get_close_matches(text[:40], known, n=2, cutoff=0.6)
    return f"Did you mean {' or '.join(near)}?" if near else f"Write one of: {', '.join(known)}."
