"""The rules of texts, applied to any text of a recording."""

from __future__ import annotations

import re
from functools import partial

from torch_tb_profiler.knowledge.scrubbing import (
    PROCESS,
    RUN,
    SECRET,
    is_plain_process,
    private_segments,
    replace_private,
)
from torch_tb_profiler.scrubbing.encoded_texts import without_encoded
from torch_tb_profiler.scrubbing.learning import LearnedNames
from torch_tb_profiler.scrubbing.own_names import hash_own_words
from torch_tb_profiler.scrubbing.replacements import Replacements

_WORKER_OF_RANK = re.compile(r"(rank \d+ \()(.*)(\)\s*)", re.DOTALL)
"""``rank 3 (node17_4711)``: a process of several ranks' traces in one."""

_THREAD_OF_PROCESS = re.compile(r"(.*?\()(.*)(\)\s*)", re.DOTALL)
"""``thread 17 (python)``: the thread has the name of its process."""

MAX_TEXTS = 1_000_000
"""Different texts that stay different; further ones may become one."""


class TextScrubber:
    """Applies the rules of forms, the learned names and, if wanted, hashes own names.

    Args:
        replacements: What private texts become.
        learned: Names that are removed from every text.
        hashes_names: Whether words of the program are hashed.
    """

    def __init__(
        self, replacements: Replacements, learned: LearnedNames, hashes_names: bool
    ) -> None:
        self.replacements = replacements
        self._learned = learned
        self.hashes_names = hashes_names
        self._apart = _DistinctTexts()

    def scrub(self, text: str, field: str) -> str:
        """The text without what is private; ``field`` says where it is."""
        replacement = partial(self._replacement, field=field)

        def without_private(part: str) -> str:
            return self._learned.replace(replace_private(part, replacement))

        result = without_encoded(
            without_private(text), without_private, lambda part: replacement(SECRET, part)
        )
        return self._apart.separate(text, result)

    def name(self, text: str, field: str) -> str:
        """The same of a name, or of a text with names in it."""
        text = self.scrub(text, field)
        return hash_own_words(text, self.replacements.hashed) if self.hashes_names else text

    def process(self, text: str, field: str) -> str:
        """The name of a process: one that says nothing, or what stands for it."""
        if is_plain_process(text):
            return self.scrub(text, field)
        worker = _WORKER_OF_RANK.fullmatch(text)
        if worker is not None:
            name = worker[2]
            if private_segments(name):
                name = self.replacements.replacement(RUN, name, field)
            return worker[1] + name + worker[3]
        return self.replacements.replacement(PROCESS, text, field)

    def thread(self, text: str, field: str) -> str:
        """The name of a thread, with that of its process in parentheses."""
        match = _THREAD_OF_PROCESS.fullmatch(text)
        if match is None or is_plain_process(text):
            return self.name(text, field)
        return self.name(match[1], field) + self.process(match[2], field) + match[3]

    def _replacement(self, kind: str, text: str, field: str) -> str:
        return self.replacements.replacement(kind, text, field)


class _DistinctTexts:
    """Gives texts that would become one an ending each: different names stay different rows."""

    def __init__(self) -> None:
        self._origins: dict[int, int] = {}
        self._separated: dict[str, str] = {}

    def separate(self, text: str, result: str) -> str:
        """``result``, or with an ending if another text has become it."""
        if text in self._separated:
            return self._separated[text]
        origin, number, separated = hash(text), 1, result
        while self._origins.get(hash(separated), origin) != origin:
            number += 1
            separated = f"{result} {'~' * (number - 1)}"
        if number > 1:
            self._separated[text] = separated
        if len(self._origins) < MAX_TEXTS:
            self._origins[hash(separated)] = origin
        return separated
