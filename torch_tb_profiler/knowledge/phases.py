"""Phases of a step by the names of ranges, frames and serving windows.

The rules are in ``phases.toml``; ``docs/views-phases.md#how-phases-are-found`` explains their use.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

import msgspec

from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.once import once

PhaseName = Literal["dataloader", "forward", "backward", "optimizer"]
RangeSource = Literal["framework", "node", "frame", "fallback"]
WindowKind = Literal["prefill", "decode", "mixed"]

MAX_NAME_CHARS = 1000
"""Only this many characters of a name are matched, as some patterns take quadratic time."""

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|\W")


class RangeRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Ranges or frames of one phase; the head of ``phases.toml`` explains the fields."""

    phase: PhaseName
    source: RangeSource
    whole: bool = False
    category: str | None = None
    pattern: str | None = None
    examples: tuple[str, ...] = ()
    counter_examples: tuple[str, ...] = ()


class PhasePhrases(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Names that people give one phase."""

    phase: PhaseName
    phrases: tuple[str, ...]
    examples: tuple[str, ...]
    counter_examples: tuple[str, ...]


class PhraseRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Rules for names that people give."""

    context: tuple[str, ...]
    phrases: tuple[PhasePhrases, ...]


class HookRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Ranges directly before and after a module's pass."""

    phase: PhaseName
    before: str
    behind: str
    examples: tuple[str, ...]
    counter_examples: tuple[str, ...]


class BackwardSeeds(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Operators directly before the first node of a backward pass."""

    operators: tuple[str, ...]


class OutsideModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Modules outside the forward pass, by the name of their class."""

    pattern: str
    examples: tuple[str, ...]
    counter_examples: tuple[str, ...]


class WindowRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Ranges around one iteration of a server's scheduler."""

    server: str
    pattern: str
    examples: tuple[str, ...]
    counter_examples: tuple[str, ...]


class ServerRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """A server by the frames and operators that only it has."""

    name: str
    pattern: str
    examples: tuple[str, ...]
    counter_examples: tuple[str, ...]


class WindowModes(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Names of modes by kind of window, in lower case."""

    prefill: tuple[str, ...]
    decode: tuple[str, ...]
    mixed: tuple[str, ...]


class PhasesFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """The schema of ``phases.toml``."""

    ranges: tuple[RangeRule, ...]
    hooks: tuple[HookRule, ...]
    seeds: BackwardSeeds
    outside_model: OutsideModel = msgspec.field(name="beside")
    words: PhraseRules
    windows: tuple[WindowRule, ...]
    servers: tuple[ServerRule, ...]
    modes: WindowModes


class HookedModule(msgspec.Struct, frozen=True):
    """The module pass of a hook's range.

    Attributes:
        phase: Phase of the pass.
        module: Name of the module; ``""`` if the range does not name it.
        is_behind: Whether the hook runs after the pass, not before it.
    """

    phase: PhaseName
    module: str
    is_behind: bool


class ServingWindow(msgspec.Struct, frozen=True):
    """One iteration of a server's scheduler, from the name of its range; None is unknown.

    Attributes:
        server: Name of the server.
        kind: Prefill, decode, or both.
        requests: Requests in it.
        tokens: Tokens computed.
        context_requests, context_tokens: The part of prompts (prefill).
        generation_requests, generation_tokens: The part of generation (decode).
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
    """The rules of the file."""
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
    """The rule that matches a range or frame by its name; None for none."""
    name = name[:MAX_NAME_CHARS]
    for pattern, rule in _range_patterns():
        if pattern.fullmatch(name):
            return rule
    return None


@lru_cache(maxsize=65536)
def hooked_module(name: str) -> HookedModule | None:
    """The module pass of a hook's range; None for other names."""
    name = name[:MAX_NAME_CHARS]
    for rule in phases_file().hooks:
        for is_behind, pattern in enumerate((rule.before, rule.behind)):
            match = re.fullmatch(pattern, name)
            if match is not None:
                return HookedModule(rule.phase, match["module"] or "", bool(is_behind))
    return None


def category_rule(category: str) -> RangeRule | None:
    """The rule that matches an event by its category in the file (case-insensitive)."""
    wanted = category.lower()
    return next((rule for rule in phases_file().ranges if rule.category == wanted), None)


@lru_cache(maxsize=65536)
def phase_of_words(name: str) -> PhaseName | None:
    """The phase in the words of a range's name: ``"train_step/fwd"`` is forward."""
    if len(name) > MAX_NAME_CHARS:
        return None
    context = phases_file().words.context
    words = (word.lower() for word in _WORD.findall(name) if word.isalpha())
    return _phrases().get(" ".join(word for word in words if word not in context))


@once
def _outside_model() -> re.Pattern[str]:
    return re.compile(rf"(?:{phases_file().outside_model.pattern})(_\d+)?")


def is_beyond_model(name: str) -> bool:
    """Whether a module of this name (``Sampler_0``) is called outside the model."""
    return _outside_model().fullmatch(name[:MAX_NAME_CHARS]) is not None


@once
def _windows() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(rule.pattern), rule.server) for rule in phases_file().windows)


@once
def _servers() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(rule.pattern), rule.name) for rule in phases_file().servers)


@lru_cache(maxsize=65536)
def server_of_code(name: str) -> str | None:
    """The server that a frame or an operator of this name belongs to; None for none."""
    name = name[:MAX_NAME_CHARS]
    return next((server for pattern, server in _servers() if pattern.fullmatch(name)), None)


@lru_cache(maxsize=65536)
def serving_window(name: str) -> ServingWindow | None:
    """The serving window of a range's name; None for other names, and if its kind is unknown."""
    if len(name) > MAX_NAME_CHARS:
        return None
    for pattern, server in _windows():
        match = pattern.fullmatch(name)
        if match is not None:
            return _window(server, match.groupdict())
    return None


def _window(server: str, fields: dict[str, str | None]) -> ServingWindow | None:
    def number(key: str) -> int | None:
        text = fields.get(key)
        return int(text) if text is not None and len(text) < 16 else None

    context, generation = number("context_requests"), number("generation_requests")
    context_tokens, generation_tokens = number("context_tokens"), number("generation_tokens")
    requests, tokens = number("requests"), number("tokens")
    kind = _kind(fields.get("mode"), context, generation)
    if kind is None:
        return None
    if requests is None and context is not None:
        requests = context + (generation or 0)
    if tokens is None and context_tokens is not None:
        tokens = context_tokens + (generation_tokens or 0)
    if kind == "prefill" and fields.get("mode") is not None:
        context, context_tokens = requests, tokens
    if kind == "decode" and fields.get("mode") is not None:
        generation, generation_tokens = requests, tokens
    return ServingWindow(
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
