"""``torch-tb-profiler scrub``: a copy of a recording for others, and what is not in it."""

from __future__ import annotations

import sys
from argparse import Namespace

import msgspec

from torch_tb_profiler.cli.exits import DONE, INPUT_UNREADABLE, print_warning
from torch_tb_profiler.cli.output import writing_errors
from torch_tb_profiler.cli.tasks import print_failure
from torch_tb_profiler.reports.text import visible
from torch_tb_profiler.requests.encoding import Answer, encode
from torch_tb_profiler.requests.errors import LoadingError
from torch_tb_profiler.scrubbing.copying import ScrubOptions, scrub_recording
from torch_tb_profiler.scrubbing.result import RemainingFacts, RemovedTexts, ScrubResult


class _WrittenFile(msgspec.Struct, frozen=True):
    """A file of the copy."""

    name: str
    size_bytes: int
    notes: tuple[str, ...]


class _OmittedName(msgspec.Struct, frozen=True):
    """A file that is not in the copy, by a name that says nothing."""

    name: str
    reason: str
    is_recording: bool


class _Scrubbed(Answer, kw_only=True):
    """The answer of ``--format json``; as the copy it holds no private text."""

    files: list[_WrittenFile]
    omitted: list[_OmittedName]
    removed: tuple[RemovedTexts, ...]
    remaining: tuple[RemainingFacts, ...]


def run(arguments: Namespace) -> int:
    """Write the copy and print what is not in it.

    Returns:
        0 if every recording is in the copy, 2 for a copy that may not or cannot be written, 3 if a
        recording is not in it; the others are nevertheless.
    """
    options = ScrubOptions(arguments.hash_names, arguments.salt, arguments.no_shapes)
    try:
        with writing_errors(arguments.target) as written:
            result = scrub_recording(arguments.source, arguments.target, options)
            _print(result, arguments.format)
            missing = any(each.is_recording for each in result.omitted)
            return INPUT_UNREADABLE if missing else DONE
        return written.code
    except LoadingError as error:
        return print_failure(error)


def _print(result: ScrubResult, form: str) -> None:
    for omitted in result.omitted:
        print_warning(f"{omitted.source} is not in the copy. {omitted.reason}")
    if form == "json":
        sys.stdout.buffer.write(encode(_payload(result)) + b"\n")
        return
    lines = [f"{visible(result.target)}: {_counted(len(result.files), 'file')}."]
    lines += [f"  {each.target}: {'; '.join(each.notes)}" for each in result.files if each.notes]
    lines += ["Removed:"]
    lines += [f"  {each.count:7,}  {each.title} ({each.example})" for each in result.removed]
    lines += [] if result.removed else ["  nothing"]
    lines += ["Left, as figures or their meaning depend on it:"]
    lines += [f"  {each.count:7,}  {each.title}, like {each.example}" for each in result.remaining]
    print("\n".join(map(visible, lines)))


def _payload(result: ScrubResult) -> _Scrubbed:
    return _Scrubbed(
        files=[_WrittenFile(each.target, each.size_bytes, each.notes) for each in result.files],
        omitted=[
            _OmittedName(each.name, each.public_reason, each.is_recording)
            for each in result.omitted
        ],
        removed=result.removed,
        remaining=result.remaining,
    )


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count:,} {noun}s"
