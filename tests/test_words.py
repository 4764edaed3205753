"""Names are the field's English: identifiers without the words of ``tests/data/words.toml``, and no
two public classes of one name."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "torch_tb_profiler"
WORDS = msgspec.toml.decode((ROOT / "tests" / "data" / "words.toml").read_bytes())
EXCEPTIONS_IN: dict[str, list[str]] = WORDS["exceptions"]["in"]
ROOMS = sorted(path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "static")
_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def odd_words(identifier: str) -> list[str]:
    """The words of an identifier that it should not have, with what to say instead."""
    if identifier in WORDS["exceptions"]:
        return []
    if identifier in WORDS["whole"]:
        return [f"{identifier}: {WORDS['whole'][identifier]}"]
    words = _CAPITAL.sub("_", identifier).lower().split("_")
    return [f"{word}: {WORDS['instead'][word]}" for word in words if word in WORDS["instead"]]


def _identifiers(source: str) -> Iterator[tuple[int, str]]:
    """Line and name of identifiers, but not methods ``of``: the name of other constructors."""
    previous = ""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.NAME and not (token.string == "of" and previous in (".", "def")):
            yield token.start[0], token.string
        previous = token.string


@pytest.mark.parametrize("room", [*ROOMS, ""])
def test_identifiers_are_the_fields_words(room: str) -> None:
    files = (PACKAGE / room).rglob("*.py") if room else PACKAGE.glob("*.py")
    odd = [
        f"{path.relative_to(ROOT)}:{line}: {identifier} ({word})"
        for path in sorted(files)
        for line, identifier in _identifiers(path.read_text(encoding="utf-8"))
        if identifier not in EXCEPTIONS_IN.get(str(path.relative_to(PACKAGE)), ())
        for word in odd_words(identifier)
    ]
    assert not odd, f"{len(odd)} names to change:\n" + "\n".join(odd[:40])


@pytest.mark.parametrize(
    ("identifier", "is_odd"),
    [
        ("told_ns", True),
        ("ToldSteps", True),
        ("_MADE", True),
        ("of", True),
        ("foundation", False),
        ("of_rank", False),
        ("FileNotFoundError", False),
    ],
)
def test_words_count_alone_between_underscores_or_capitals(identifier: str, is_odd: bool) -> None:
    assert bool(odd_words(identifier)) == is_odd


def test_public_classes_have_names_of_their_own() -> None:
    files: dict[str, list[str]] = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                files[node.name].append(str(path.relative_to(PACKAGE)))
    assert {name: paths for name, paths in files.items() if len(paths) > 1} == {}
