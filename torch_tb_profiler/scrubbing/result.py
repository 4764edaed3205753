"""What was done: files written and left out, what was removed and what is left."""

from __future__ import annotations

from msgspec import Struct, field


class RemovedTexts(Struct, frozen=True):
    """Private texts of one kind.

    Attributes:
        kind: A key of ``[kinds]`` in ``scrubbing.toml``.
        title: What the kind is called.
        count: Number of different texts.
        example: Where one of them was, with its length and salted hash; never the text.
    """

    kind: str
    title: str
    count: int
    example: str


class RemainingFacts(Struct, frozen=True):
    """What is in the copy and may be of interest to others.

    Attributes:
        title: What it is.
        count: Number of different values.
        example: One of them.
    """

    title: str
    count: int
    example: str


class CopiedFile(Struct, frozen=True):
    """One file of the copy.

    Attributes:
        source: Path relative to the original, which may hold private names.
        target: Path relative to the copy.
        size_bytes: Size of the copy.
        notes: What is different from a plain copy: damage that is not in it, another format.
    """

    source: str
    target: str
    size_bytes: int
    notes: tuple[str, ...] = ()


class OmittedFile(Struct, frozen=True):
    """A file that is not in the copy.

    Attributes:
        source: Path relative to the original.
        reason: Why, as a sentence.
        is_recording: Whether it holds a recording: then the copy lacks something that views show.
        name: Its path without private names.
        public_reason: The reason without them.
    """

    source: str
    reason: str
    is_recording: bool = False
    name: str = ""
    public_reason: str = ""


class ScrubResult(Struct, frozen=True):
    """The result of one copy.

    Attributes:
        target: The file or folder that was written.
        files: The files of the copy.
        omitted: The files that are not in it.
        removed: What was removed, by kind.
        remaining: What is left.
    """

    target: str
    files: tuple[CopiedFile, ...] = ()
    omitted: tuple[OmittedFile, ...] = ()
    removed: tuple[RemovedTexts, ...] = ()
    remaining: tuple[RemainingFacts, ...] = field(default=())
