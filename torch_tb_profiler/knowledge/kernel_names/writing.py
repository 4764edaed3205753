"""Short forms of parsed C++ names, by the rules of ``kernel_names.toml``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from torch_tb_profiler.knowledge.kernel_names.plain import (
    ELLIPSIS,
    READABLE_CHARS,
    cut,
    plain_name,
)
from torch_tb_profiler.knowledge.kernel_names.reading import (
    ANONYMOUS,
    CppNamePart,
    ParsedName,
    is_number,
)
from torch_tb_profiler.knowledge.kernel_names.rules import ArgumentPattern, NameRules

MAX_NESTED = 3
"""Depth of arguments of arguments; deeper ones are not written."""

MAX_WALKED = 400
"""At most this many parts of a type are searched for its tile and element types."""

MIN_TILE = 8
MAX_SIDES = 4
MIN_PART = 4
"""Minimum of characters of a truncated argument; numbers are not truncated."""

MIN_SHORTENED = 16
"""Shorter names of functions keep their suffix ``_kernel``."""

BUILTIN = frozenset(["unsigned", "signed", "long", "short", "int", "char"])
ELEMENT_TYPES = frozenset(
    ("float", "double", "half", "bf16", "tf32", "fp8", "fp4", "char", "uchar", "ushort")
)
POSITION = re.compile(r"\{([\d.]+)\}")
UNNAMED = re.compile(r"_GLOBAL__N_|\(anonymous|\{|<unnamed>|\(unnamed")


class ShortNameWriter:
    """Writes short forms by ``rules``."""

    def __init__(self, rules: NameRules) -> None:
        self._rules = rules
        self._file = rules.file

    def function(self, name: ParsedName, depth: int = 0) -> str:
        """The short form of a kernel's name."""
        if any(part.text == "{lambda}" for part in name.parts):
            return cut(self.argument(name, 0) or "lambda")
        part = name.parts[-1]
        given = part.arguments or []
        if part.text in self._file.entries and depth < MAX_NESTED:
            inner = next(filter(self._is_class, given), None)
            if inner is not None:
                return self.function(inner, depth + 1)
        heads = self._heads(name)
        if part.text in self._rules.patterns and given:
            shown = self._by_pattern(part, self._rules.patterns[part.text])
            if shown:
                return _fitting(heads, [shown])
        if self._rules.deep.search(part.text) and given:
            return _fitting([part.text], [self._deep(part)])
        if part.text in self._file.only_classes:
            given = [name for name in given if self._is_class(name)]
        return _fitting(heads, (self._arguments(given, depth) for depth in range(MAX_NESTED + 1)))

    def argument(self, name: ParsedName, depth: int) -> str | None:
        """The short form of a template argument; None for one without information.

        Args:
            name: The argument.
            depth: Its depth: from :data:`MAX_NESTED` on its own arguments are not written.
        """
        if not name.parts:
            return self._without_ending(name.before[-1]) if name.before else None
        if any(part.text == "{lambda}" for part in name.parts):
            return self._home(name, depth)
        part = name.parts[-1]
        given = part.arguments or []
        if is_number(part.text):
            return _number(name)
        simple = self.type_name(name)
        if simple is not None:
            return simple
        if part.text in self._file.noise.names or self._rules.noise.search(part.text):
            return None
        if part.text in self._file.tiles.names | self._file.tiles.numbers and given:
            return self._tile(given)
        for positions, prefix in ((self._file.wrappers, ""), (self._file.holders, part.text)):
            index = positions.get(part.text)
            if index is not None and index < len(given):
                inner = self.argument(given[index], depth)
                return f"{self._functor(prefix)} {inner}".strip() if inner else inner
        around = name.parts[-2].text.strip("_") if len(name.parts) > 1 else ""
        is_vague = part.text in self._file.vague and around
        text = around if is_vague else self._functor(part.text)
        if self._rules.deep.search(part.text) and given:
            return _written(text, self._deep(part), ", ")
        inside = self._arguments(given, depth + 1) if depth < MAX_NESTED else []
        if depth and len(inside) > 1:
            inside = [each for each in inside if not is_number(each)]
        return _written(text, inside, ", ") + name.behind.replace("&", "")

    def type_name(self, name: ParsedName) -> str | None:
        """The short form of an element type, also of pointers; None for other types."""
        last = name.parts[-1].text
        words = [*(word for word in name.before if word in BUILTIN), last]
        text = " ".join(words)
        inner = name.parts[-1].arguments
        if inner and len(inner) == 1 and inner[0].parts:
            text = f"{text}<{inner[0].parts[-1].text}>"
        short = self._file.types.get(text)
        if short is None and (last in BUILTIN or last in ("float", "double", "bool", "void")):
            short = text
        return None if short is None else short + name.behind.replace("&", "")

    def _heads(self, name: ParsedName) -> list[str]:
        """Possible names of the function, longest first."""
        part = name.parts[-1]
        around = [each.text for each in name.parts[:-1] if not UNNAMED.search(each.text)]
        if part.text in self._file.vague and around:
            scope = [each for each in around if each not in self._file.namespaces] or around
            return ["::".join([*scope, part.text]), f"{scope[-1]}::{part.text}"]
        scope = [each for each in around if each not in self._file.namespaces]
        if not part.arguments:
            return ["::".join([*scope, part.text]), part.text]
        text = self._file.heads.get(part.text, part.text)
        short = self._file.short_heads.get(text)
        if short is None and text.endswith("_kernel") and len(text) > MIN_SHORTENED:
            short = text.removesuffix("_kernel")
        return ["::".join([*scope, text]), text, *([short] if short else [])]

    def _arguments(self, given: list[ParsedName], depth: int) -> list[str]:
        """The arguments with information: one of equal neighbors, without trailing ``false``."""
        texts: list[str] = []
        for name in given:
            if depth and name.parts and self._rules.deep.search(name.parts[-1].text):
                texts += self._deep(name.parts[-1])
                continue
            text = self.argument(name, depth)
            is_value = bool(name.parts) and (
                is_number(name.parts[-1].text) or name.parts[-1].text in ("true", "false")
            )
            if text and (is_value or texts[-1:] != [text]):
                texts.append(text)
        while texts and texts[-1] == "false":
            texts.pop()
        return texts

    def _is_class(self, name: ParsedName) -> bool:
        return (
            bool(name.parts)
            and not is_number(name.parts[-1].text)
            and name.parts[-1].text not in self._file.noise.names
            and not self._rules.noise.search(name.parts[-1].text)
            and self.type_name(name) is None
        )

    def _home(self, name: ParsedName, depth: int) -> str | None:
        """The enclosing function of a lambda, with its parameters."""
        last = name.parts[-1]
        homes = [part for part in name.parts if part.text not in ("{lambda}", "operator()")]
        homes = [part for part in homes if part.text not in ANONYMOUS]
        if not homes:
            return _written("lambda", self._taken(last), ", ")
        home = homes[-1]
        given = home.arguments or []
        at = self._file.wrappers.get(home.text)
        if at is not None and at < len(given):
            return self.argument(given[at], depth)
        called = next((part.arguments for part in name.parts if part.text == "operator()"), None)
        types = _informative(self._arguments([*(called or []), *given], depth + 1))
        types = types or self._taken(last)
        known = self._file.homes.names.get(home.text)
        if known is not None:
            return known.replace("{}", ", ".join(types))
        text = self._without_ending(home.text)
        return f"{text}({', '.join(types)})" if types and depth < MAX_NESTED else text

    def _without_ending(self, text: str) -> str:
        text = self._functor(text)
        ending = next((each for each in self._file.homes.endings if text.endswith(each)), "")
        return text[: len(text) - len(ending)] or text

    def _taken(self, part: CppNamePart) -> list[str]:
        return self._arguments(part.parameters or [], MAX_NESTED)

    def _functor(self, text: str) -> str:
        functors = self._file.functors
        if text in functors.names:
            return functors.names[text]
        for beginning in functors.beginnings:
            if text.startswith(beginning) and text != beginning:
                text = text.removeprefix(beginning)
                break
        for ending in functors.endings:
            if text.endswith(ending) and text != ending:
                return text.removesuffix(ending)
        return text

    def _tile(self, given: list[ParsedName]) -> str | None:
        """``128x64`` from the numbers; None without numbers."""
        sides = [side for side in map(self._side, given) if side is not None]
        return "x".join(sides[:MAX_SIDES]) or None

    def _side(self, name: ParsedName) -> str | None:
        if not name.parts:
            return None
        part = name.parts[-1]
        if part.text in self._file.tiles.numbers and part.arguments:
            return self._side(part.arguments[-1])
        if is_number(part.text):
            return _number(name)
        return part.text[1:] if re.fullmatch(r"_\d+", part.text) else None

    def _deep(self, part: CppNamePart) -> list[str]:
        """The first tile and the first two element types of the type of a whole kernel."""
        tile, numbers = "", []
        types: list[str] = []
        for name in _walked(part.arguments or []):
            inner = name.parts[-1]
            if inner.text in self._file.tiles.names and inner.arguments and not tile:
                sides = self._tile(inner.arguments) or ""
                is_tile = sum(map(_is_big, sides.split("x"))) > 1
                tile = sides if is_tile else ""
            elif is_number(inner.text):
                numbers.append(_number(name))
            else:
                simple = self.type_name(name)
                if (
                    simple
                    and simple not in types
                    and (simple in ELEMENT_TYPES or (simple[0] == "e" and simple[1:2].isdigit()))
                ):
                    types.append(simple)
        # In a list of numbers the first is the number of threads; the sides of the tile follow.
        tile = tile or "x".join(list(filter(_is_big, numbers))[1:MAX_SIDES])
        types = types[:1] + [each for each in types[1:2] if each != "float"]
        return [*filter(None, [tile]), *types]

    def _by_pattern(self, part: CppNamePart, pattern: ArgumentPattern) -> list[str]:
        """The arguments as the pattern of the kernel shows them; empty if they do not fit."""
        given = part.arguments or []
        texts = []
        for template in pattern.shows:
            values = {key: self._at(given, key) for key in POSITION.findall(template)}
            if None not in values.values():
                texts.append(template)
                for key, value in values.items():
                    texts[-1] = texts[-1].replace(f"{{{key}}}", str(value))
        if not texts:
            return []
        flags = {at: text for at, text in pattern.flags.items() if at < len(given)}
        texts += [text for at, text in flags.items() if self.argument(given[at], 0) == "true"]
        if pattern.types:
            texts += [each for each in self._deep(part) if not each[0].isdigit()][:1]
        return texts

    def _at(self, given: list[ParsedName], position: str) -> str | None:
        """The number at a position like ``0.2``."""
        steps = [int(step) for step in position.split(".")]
        for step in steps[:-1]:
            if step >= len(given) or not given[step].parts:
                return None
            given = given[step].parts[-1].arguments or []
        if steps[-1] >= len(given):
            return None
        name = given[steps[-1]]
        return _number(name) if name.parts and is_number(name.parts[-1].text) else None


def _number(name: ParsedName) -> str:
    text = name.parts[-1].text.rstrip("uUlL")
    if "bool" in name.before:
        return "true" if text == "1" else "false"
    return text


def _is_big(side: str) -> bool:
    return side.isdigit() and len(side) < 10 and int(side) >= MIN_TILE


def _walked(given: list[ParsedName]) -> Iterator[ParsedName]:
    """The arguments and their arguments, from left to right."""
    remaining, waiting = MAX_WALKED, list(reversed(given))
    while waiting and remaining:
        name = waiting.pop()
        remaining -= 1
        if name.parts:
            yield name
            waiting += reversed(name.parts[-1].arguments or [])


def _written(head: str, texts: list[str], comma: str) -> str:
    return f"{head}<{comma.join(texts)}>" if texts else head


def _fitting(heads: list[str], details: Iterable[list[str]]) -> str:
    """The first form that fits the visible length; else the shortest name of the function with as
    many arguments as fit.

    Args:
        heads: Possible names of the function, longest first.
        details: Its arguments, most detailed first.
    """
    texts: list[str] = []
    for texts in details:
        if not texts:
            whole = (head for head in heads if len(head) <= READABLE_CHARS)
            return plain_name(next(whole, heads[-1]))
        shown = _whole(heads, texts)
        if shown:
            return shown
    head, texts = heads[-1], _informative(texts) or texts
    for count in range(len(texts), 0, -1):
        listed = texts if count == len(texts) else [*texts[:count], ELLIPSIS]
        text = _written(head, listed, ",")
        if len(text) <= READABLE_CHARS:
            room = READABLE_CHARS - len(text) - 1
            following = "" if count == len(texts) else texts[count]
            if room < MIN_PART or following[-1:] in "0123456789":
                return text
            return text[: -len("…>")] + f"{following[:room]}…>"
    room = READABLE_CHARS - len(head) - len("<…>")
    return f"{head}<{texts[0][:room]}{ELLIPSIS}>" if room >= len("float") else cut(head)


def _whole(heads: list[str], texts: list[str]) -> str | None:
    """The first form with all arguments that fits the visible length."""
    for head in heads:
        for shown in (texts, _informative(texts) or texts):
            for comma in (", ", ","):
                text = _written(head, shown, comma)
                if len(text) <= READABLE_CHARS:
                    return text
    return None


def _informative(texts: list[str]) -> list[str]:
    """The arguments without booleans, whose meaning is unknown, and without repeated types."""
    values = [text for text in texts if text not in ("true", "false")]
    return [
        text
        for index, text in enumerate(values)
        if index == 0 or text != values[index - 1] or is_number(text)
    ]
