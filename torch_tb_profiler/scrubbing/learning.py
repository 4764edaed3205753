"""The first reading of all files: names of hosts and users, wherever they are given away."""

from __future__ import annotations

import re
from collections.abc import Iterable

from torch_tb_profiler.knowledge.scrubbing import HOST, given_names, is_common_name
from torch_tb_profiler.scrubbing.own_names import is_known_word
from torch_tb_profiler.scrubbing.replacements import Replacements

_ESCAPE = re.compile(rb"\\(?:u00([2-7][0-9A-Fa-f])|([/\"]))|%([2-7][0-9A-Fa-f])")
"""What JSON and URLs write for a character of ASCII."""

OVERLAP_BYTES = 1 << 10
"""A name that ends in the next chunk is matched there."""

MAX_NAMES = 20_000
"""Names searched for in every text; a job has no more hosts and users."""


class LearnedNames:
    """Names of hosts and users, and of files, that are removed from every text.

    Attributes:
        ignored: Names beyond the limit, which go only where a rule matches.
    """

    def __init__(self, replacements: Replacements) -> None:
        self._replacements = replacements
        self._texts: dict[str, str] = {}
        self._pattern: re.Pattern[str] | None = None
        self.ignored: set[str] = set()

    def learn(self, chunks: Iterable[bytes]) -> None:
        """Collect the names in a text.

        Raises:
            StorageError, OSError: it cannot be read.
        """
        rest = b""
        for chunk in chunks:
            text = rest + chunk
            for kind, name in sorted(given_names(_without_escapes(text))):
                self._add_name(kind, name.decode("utf-8", "replace"))
            rest = text[-OVERLAP_BYTES:]

    def add(self, text: str, replacement: str) -> None:
        """Add a text of a file's name with what it became."""
        self._texts.setdefault(text.lower(), replacement)
        self._pattern = None

    def replace(self, text: str) -> str:
        """The text without the names, of any case."""
        if not self._texts:
            return text
        if self._pattern is None:
            longest_first = sorted(self._texts, key=len, reverse=True)
            inside = "|".join(map(re.escape, longest_first))
            self._pattern = re.compile(rf"(?i)(?<![A-Za-z0-9])(?:{inside})(?![A-Za-z0-9])")
        return self._pattern.sub(lambda match: self._texts[match[0].lower()], text)

    def _add_name(self, kind: str, name: str) -> None:
        name = name.strip(".-")
        if is_common_name(name) or is_known_word(name) or name.lower() in self._texts:
            return
        if len(self._texts) >= MAX_NAMES:
            self.ignored.add(name)
            return
        token = self._replacements.replacement(kind, name, "names of hosts and users")
        self.add(name, token)
        first_label = name.partition(".")[0]
        if kind == HOST and first_label != name:
            self._add_name(kind, first_label)


def _without_escapes(text: bytes) -> bytes:
    """A text with quotes and slashes as they are, also of JSON in a text of JSON."""
    if b"\\u00" not in text and b"\\/" not in text and b'\\"' not in text and b"%2" not in text:
        return text
    return _ESCAPE.sub(lambda match: match[2] or bytes([int(match[1] or match[3], 16)]), text)
