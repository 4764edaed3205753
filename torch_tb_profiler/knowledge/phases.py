"""What tells the phase of a stretch of a step: names of ranges, frames and windows of servers.

The rules are ``phases.toml``; how they are used: ``docs/views-phases.md#how-phases-are-found``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import msgspec

from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.once import once

PhaseName = Literal["dataloader", "forward", "backward", "optimizer"]
RangeSource = Literal["framework", "node", "frame", "fallback"]
WindowKind = Literal["prefill", "decode", "mixed"]

MAX_NAME_CHARS = 1000
"""A name is judged by so much of it: some patterns take time by the square of it."""

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|\W")


class RangeRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Ranges or frames of one phase; the fields are told at the head of ``phases.toml``."""

    phase: PhaseName
    source: RangeSource
    whole: bool = False
    category: str | None = None
    pattern: str | None = None
    examples: tuple[str, ...] = ()
    counter_examples: tuple[str, ...] = ()


class Phrases(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """What people call one phase."""

    phase: PhaseName
    phrases: tuple[str, ...]
    examples: tuple[str, ...]
    counter_examples: tuple[str, ...]


class Words(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """How names that people give are read."""

    context: tuple[str, ...]
    phrases: tuple[Phrases, ...]


class HookRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Ranges directly before and behind a module's pass."""

    phase: PhaseName
    before: str
    behind: str
    examples: tuple[str, ...]
    counter_examples: tuple[str, ...]


class Seeds(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Operators directly before the first node of a backward pass."""

    operators: tuple[str, ...]


class Beside(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Modules that are no part of a forward pass, by the name of their class."""

    pattern: str
    examples: tuple[str, ...]
    counter_examples: tuple[str, ...]


class WindowRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Ranges around one iteration of a server's scheduler."""

    server: str
    pattern: str
    examples: tuple[str, ...]
    counter_examples: tuple[str, ...]


class Modes(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Names of modes by kind of window, in lower case."""

    prefill: tuple[str, ...]
    decode: tuple[str, ...]
    mixed: tuple[str, ...]


class PhasesFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """The schema of ``phases.toml``."""

    ranges: tuple[RangeRule, ...]
    hooks: tuple[HookRule, ...]
    seeds: Seeds
    beside: Beside
    words: Words
    windows: tuple[WindowRule, ...]
    modes: Modes


@dataclass(frozen=True, slots=True)
class HookedModule:
    """What the name of a hook's range tells.

    Attributes:
        phase: What the pass is that it belongs to.
        module: Of which module, ``""`` where the name tells none.
        is_behind: Whether it runs behind the pass, not before it.
    """

    phase: PhaseName
    module: str
    is_behind: bool


@dataclass(frozen=True, slots=True)
class Window:
    """What the name of a server's range tells of its window; None where it does not.

    Attributes:
        server: Whose name it is.
        kind: What was worked on: prompts, generation, or both.
        requests: Requests in it.
        tokens: Tokens that were computed.
        context_requests, context_tokens: Of these, of prompts.
        generation_requests, generation_tokens: Of these, generating.
    """

    server: str
    kind: WindowKind
    requests: int | None
    tokens: int | None
    context_requests: int | None
    context_tokens: int | None
    generation_requests: int | None
    generation_tokens: int | None


@once
def phases_file() -> PhasesFile:
    """The rules as they stand in the file."""
    return load("phases.toml", PhasesFile)


@once
def _range_patterns() -> tuple[tuple[re.Pattern[str], RangeRule], ...]:
    rules = phases_file().ranges
    return tuple((re.compile(rule.pattern), rule) for rule in rules if rule.pattern is not None)


@once
def _phrases() -> dict[str, PhaseName]:
    return {
        phrase: entry.phase for entry in phases_file().words.phrases for phrase in entry.phrases
    }


@lru_cache(maxsize=65536)
def range_rule(name: str) -> RangeRule | None:
    """The rule that knows a range or frame by its name, None when none does."""
    name = name[:MAX_NAME_CHARS]
    for pattern, rule in _range_patterns():
        if pattern.fullmatch(name):
            return rule
    return None


@lru_cache(maxsize=65536)
def hook(name: str) -> HookedModule | None:
    """What a range of this name tells as a hook around a module's pass, None where it is none."""
    name = name[:MAX_NAME_CHARS]
    for rule in phases_file().hooks:
        for is_behind, pattern in enumerate((rule.before, rule.behind)):
            match = re.fullmatch(pattern, name)
            if match is not None:
                return HookedModule(rule.phase, match["module"] or "", bool(is_behind))
    return None


def category_rule(category: str) -> RangeRule | None:
    """The rule that knows an event by the category its file gives it (any case)."""
    wanted = category.lower()
    return next((rule for rule in phases_file().ranges if rule.category == wanted), None)


@lru_cache(maxsize=65536)
def phase_of_words(name: str) -> PhaseName | None:
    """The phase that somebody named a range after: ``"train_step/fwd"`` is forward."""
    if len(name) > MAX_NAME_CHARS:
        return None
    context = phases_file().words.context
    words = (word.lower() for word in _WORD.findall(name) if word.isalpha())
    return _phrases().get(" ".join(word for word in words if word not in context))


@once
def _beside() -> re.Pattern[str]:
    return re.compile(rf"(?:{phases_file().beside.pattern})(_\d+)?")


def is_beyond_model(name: str) -> bool:
    """Whether a module of this name (``Sampler_0``) is called beside the model."""
    return _beside().fullmatch(name[:MAX_NAME_CHARS]) is not None


@once
def _windows() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(rule.pattern), rule.server) for rule in phases_file().windows)


@lru_cache(maxsize=65536)
def window(name: str) -> Window | None:
    """What a server's range of this name tells, None where it is none or tells no kind."""
    if len(name) > MAX_NAME_CHARS:
        return None
    for pattern, server in _windows():
        match = pattern.fullmatch(name)
        if match is not None:
            return _window(server, match.groupdict())
    return None


def _window(server: str, told: dict[str, str | None]) -> Window | None:
    def number(key: str) -> int | None:
        text = told.get(key)
        return int(text) if text is not None and len(text) < 16 else None

    context, generation = number("context_requests"), number("generation_requests")
    context_tokens, generation_tokens = number("context_tokens"), number("generation_tokens")
    requests, tokens = number("requests"), number("tokens")
    kind = _kind(told.get("mode"), context, generation)
    if kind is None:
        return None
    if requests is None and context is not None:
        requests = context + (generation or 0)
    if tokens is None and context_tokens is not None:
        tokens = context_tokens + (generation_tokens or 0)
    if kind == "prefill" and told.get("mode") is not None:
        context, context_tokens = requests, tokens
    if kind == "decode" and told.get("mode") is not None:
        generation, generation_tokens = requests, tokens
    return Window(
        server, kind, requests, tokens, context, context_tokens, generation, generation_tokens
    )


def _kind(mode: str | None, context: int | None, generation: int | None) -> WindowKind | None:
    if mode is not None:
        modes = phases_file().modes
        name = mode.lower().replace("-", "_")
        kinds: dict[WindowKind, tuple[str, ...]] = {
            "prefill": modes.prefill,
            "decode": modes.decode,
            "mixed": modes.mixed,
        }
        return next((kind for kind, names in kinds.items() if name in names), None)
    if context and generation:
        return "mixed"
    if context:
        return "prefill"
    return "decode" if generation else None
