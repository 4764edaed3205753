"""What ``report --reports`` writes: reports, formats and domains, as files of which names."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from torch_tb_profiler.cli.file_names import AnswerName, file_stems
from torch_tb_profiler.cli.output import Output
from torch_tb_profiler.reports.dlprof.registry import KINDS, MODEL_DATA, REPORTS
from torch_tb_profiler.reports.dlprof.writing import WRITERS
from torch_tb_profiler.requests.errors import RequestError, unknown

ALL_REPORTS = "all"


class ReportFile(Struct, frozen=True):
    """A file to write: report, domain (None: all), name without suffix, and formats."""

    report: str
    domain: str | None
    stem: str
    formats: Sequence[str]


class ReportOptions(Struct, frozen=True):
    """What is written: reports and formats in the order of the guide, domains of ranges."""

    reports: Sequence[str]
    formats: Sequence[str]
    domains: Sequence[str]


def check_options(arguments: Namespace) -> None:
    """Check what needs no recording.

    Raises:
        RequestError: an option is malformed, or names no report or format, or a file that one
            recording has as its own exists, or the folder cannot be written.
    """
    options = options_of(arguments)
    output = Output(arguments.output or ".", may_replace=arguments.force)
    output.refuse_existing(file_names(files_of(arguments.base_name, options)))
    output.refuse_unwritable()


def options_of(arguments: Namespace) -> ReportOptions:
    """What is to be written.

    Raises:
        RequestError: an option is malformed, or names no report or format.
    """
    wants_model_data = arguments.dump_model_data
    reports = []
    if arguments.reports or not wants_model_data:
        reports = _chosen(arguments.reports or "", REPORTS, "report")
    if wants_model_data:
        reports.append(MODEL_DATA)
    formats = _chosen(arguments.formats, WRITERS, "format")
    return ReportOptions(reports, formats, _names(arguments.domains))


def take_iterations(arguments: Namespace) -> None:
    """Translate DLProf's selection options into those of ``report``.

    Raises:
        RequestError: both are given.
    """
    first, last = arguments.iter_start, arguments.iter_stop
    for theirs, ours in (
        ("key_node", "iterations_by"),
        ("iter_start", "steps"),
        ("iter_stop", "steps"),
    ):
        if getattr(arguments, theirs) is not None and getattr(arguments, ours) is not None:
            options = " and ".join(f"--{name.replace('_', '-')}" for name in (theirs, ours))
            raise RequestError("bad_parameter", f"{options} mean the same; use one of them.")
    if arguments.key_node is not None:
        arguments.iterations_by = f"name:{arguments.key_node}"
    if first is not None or last is not None:
        arguments.steps = f"{first or ''}:{last or ''}"


def _chosen(text: str, known: Mapping[str, object], kind: str) -> list[str]:
    """The names in ``text``, in the order of ``known``.

    Raises:
        UnknownError: a name is not in ``known``.
        RequestError: there is no name.
    """
    names = _names(text)
    if not names:
        raise RequestError("bad_parameter", f"--{kind}s is empty. Known: {', '.join(known)}.")
    if ALL_REPORTS in names:
        return list(known)
    for name in names:
        if name not in known:
            raise unknown(kind, name, [*known, ALL_REPORTS])
    return [name for name in known if name in names]


def _names(text: str | None) -> list[str]:
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def files_of(stem: str, options: ReportOptions) -> Iterator[ReportFile]:
    """The files of a trace whose file names start with ``stem``."""
    for report in options.reports:
        formats = ["json"] if report == MODEL_DATA else options.formats
        yield ReportFile(report, None, f"{stem}_{report}", formats)
        if KINDS[report].of_domain:
            for domain in options.domains:
                (safe,) = file_stems([AnswerName("", "", "", "", domain)], several_traces=False)
                yield ReportFile(report, domain, f"{stem}_{report}_{safe}", formats)


def file_names(files: Iterable[ReportFile]) -> Iterator[str]:
    """The names of files."""
    return (f"{file.stem}.{suffix}" for file in files for suffix in file.formats)
