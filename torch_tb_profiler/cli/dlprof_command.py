"""``torch-tb-profiler dlprof``: DLProf's command line over ``record`` and ``report --reports``."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import nullcontext, redirect_stdout
from glob import escape
from io import StringIO
from pathlib import Path

from torch_tb_profiler.cli import dlprof_options, dlprof_reports, record_command, scalars_command
from torch_tb_profiler.cli.arguments import make_parser
from torch_tb_profiler.cli.dlprof_arguments import DEFAULT_RECORDING, ERRORS_ONLY, OTHER_MODES
from torch_tb_profiler.cli.exits import (
    BAD_USAGE,
    DONE,
    INPUT_UNREADABLE,
    print_error,
    print_warning,
)
from torch_tb_profiler.cli.record_arguments import MOST_STEPS, program_command
from torch_tb_profiler.cli.tasks import print_failure
from torch_tb_profiler.requests.errors import LoadingError

EXAMPLE = "torch-tb-profiler dlprof --reports=all python train.py"
LAST_STEP = MOST_STEPS - 1
"""As the last step of a window: until the program ends."""

_HINTS = {
    "file_exists": "Choose another folder with --output_path, or overwrite it with --force=true.",
    "unwritable": "Choose another folder with --output_path.",
}
"""Code of an error → the next step, in this command's spelling."""

_REPORTS_BY_MODULE = ("all", "group_node")


def run(arguments: Namespace) -> int:
    """Record the program, or take ``--nsys_database``; then write the reports.

    Returns:
        The exit code of the program if it is not 0, else that of the reports.
    """
    program = program_command(arguments.program)
    if arguments.mode in OTHER_MODES and arguments.nsys_database is None:
        print_error(
            f"--mode={arguments.mode}: programs of PyTorch are recorded here.",
            "Reports of a recording of another framework: --nsys_database=FILE.",
        )
        return BAD_USAGE
    if not program and arguments.nsys_database is None:
        print_error("No program is given.", f"Example: {EXAMPLE}")
        return BAD_USAGE
    first, last = arguments.iter_start or 0, arguments.iter_stop
    if last is not None and last < first:
        print_error(f"--iter_start {first} is after --iter_stop {last}.")
        return BAD_USAGE
    try:
        if _wants_reports(arguments):
            dlprof_options.check_options(_parse(report_command(arguments, "")))
    except LoadingError as error:
        hint = _HINTS.get(error.problem.code)
        if hint is None:
            return print_failure(error)
        print_error(error.problem.message, hint)
        return BAD_USAGE
    for line in without_effect(arguments, has_program=bool(program)):
        print_warning(line)
    if arguments.nsys_database is not None:
        path = existing_recording(arguments.nsys_database, arguments.output_path)
        return _write(arguments, path, with_scalars=True)
    recorded = record_command.record(_parse(record_command_line(arguments, program)))
    if recorded.folder is None:
        return recorded.code
    if not os.path.isdir(recorded.folder):
        if not _wants_reports(arguments):
            return recorded.code
        print_error(
            "There is no report: nothing was recorded.",
            "The lines of [record] say why; --verbosity=normal prints them.",
        )
        return recorded.code or INPUT_UNREADABLE
    code = _write(arguments, recorded.folder, with_scalars=False)
    return recorded.code or code


def record_command_line(arguments: Namespace, program: Sequence[str]) -> list[str]:
    """The command ``record`` that records what DLProf would have reported on."""
    folder, name = os.path.split(arguments.nsys_base_name)
    options = [f"--output={os.path.join(arguments.output_path, folder)}"]
    options.append(f"--name={name or DEFAULT_RECORDING}")
    options += _steps(arguments)
    if arguments.mode == "simple":
        options.append("--no-shapes")
    elif any(name in _REPORTS_BY_MODULE for name in (arguments.reports or "").split(",")):
        options.append("--stacks")  # without which torch names no modules of eager programs
    if arguments.suppress_tb_files == "false":
        options.append(f"--scalars={arguments.tb_dir}")
    if arguments.verbosity in ERRORS_ONLY:
        options.append("--quiet")
    return ["record", *options, "--", *program]


def report_command(arguments: Namespace, path: str) -> list[str]:
    """The command ``report --reports`` for the recording at ``path``."""
    options = {
        "--reports": arguments.reports or "",
        "--formats": arguments.formats,
        "--base-name": arguments.profile_name,
        "--output": arguments.output_path,
        "--domains": arguments.domains,
        "--key-node": arguments.key_node,
    }
    by_steps = arguments.key_node is None and arguments.nsys_profile_range == "false"
    if arguments.nsys_database is not None or not by_steps:
        # Else only the iterations asked for, which are steps of the program, were recorded.
        options["--iter-start"] = arguments.iter_start
        options["--iter-stop"] = arguments.iter_stop
    flags = {"--force": arguments.force, "--dump-model-data": arguments.dump_model_data}
    return [
        "report",
        path,
        *(f"{name}={value}" for name, value in options.items() if value is not None),
        *(name for name, value in flags.items() if value == "true"),
    ]


def existing_recording(path: str, output_path: str) -> str:
    """What ``--nsys_database`` means: ``path`` where it exists or is a URL; else the latest folder
    that this command recorded into where DLProf wrote that file (``nsys_profile.sqlite``)."""
    if "://" in path or os.path.exists(path):
        return path
    name = Path(path).stem
    for parent in (Path(path).parent, Path(output_path)):
        # Of a name that is taken, "record" numbers the folders.
        folders = [
            each for each in (parent / name, *parent.glob(f"{escape(name)}-*")) if each.is_dir()
        ]
        if folders:
            return str(max(folders, key=lambda folder: folder.stat().st_mtime))
    return path


def without_effect(arguments: Namespace, *, has_program: bool) -> Iterator[str]:
    """Sentences about the options given that mean something else here, or nothing."""
    if arguments.nsys_opts is not None:
        yield (
            "--nsys_opts has no effect: torch.profiler records. Nsight Systems: torch-tb-profiler "
            "record --with nsys."
        )
    if arguments.nsys_database is not None:
        if has_program:
            yield "The program is not run: --nsys_database is given."
        return
    has_range = arguments.iter_start is not None or arguments.iter_stop is not None
    has_time = arguments.delay > 0 or arguments.duration > 0
    if arguments.nsys_profile_range == "true":
        if has_time:
            yield "--delay and --duration have no effect: the program marks what is recorded."
        return
    if has_range and has_time:
        yield "--delay and --duration have no effect: --iter_start and --iter_stop choose steps."
    if not has_range and not has_time and arguments.key_node is None:
        yield (
            "DLProf recorded the whole program. Here steps 5 to 9 are recorded; others: "
            "--iter_start and --iter_stop, or --delay and --duration."
        )


def _steps(arguments: Namespace) -> list[str]:
    first, last = arguments.iter_start, arguments.iter_stop
    if arguments.nsys_profile_range == "true":
        return ["--program-range"]
    if first is not None or last is not None:
        if arguments.key_node is not None:  # whose calls are counted from the start
            return ["--steps", f"0:{LAST_STEP}"]
        return ["--steps", f"{first or 0}:{LAST_STEP if last is None else last}"]
    times = {"--delay": arguments.delay, "--duration": arguments.duration}
    chosen = [f"{name}={value:g}" for name, value in times.items() if value > 0]
    if not chosen and arguments.key_node is not None:
        return ["--steps", f"0:{LAST_STEP}"]
    return chosen


def _write(arguments: Namespace, path: str, *, with_scalars: bool) -> int:
    code = DONE
    errors_only = arguments.verbosity in ERRORS_ONLY
    if _wants_reports(arguments):
        report = _parse(report_command(arguments, path))
        code = dlprof_reports.run(report, errors_only=errors_only)
    if with_scalars and arguments.suppress_tb_files == "false":
        command = ["scalars", path, f"--output={arguments.tb_dir}"]
        with redirect_stdout(StringIO()) if errors_only else nullcontext():
            code = max(code, scalars_command.run(_parse(command)))
    return code


def _wants_reports(arguments: Namespace) -> bool:
    return arguments.reports is not None or arguments.dump_model_data == "true"


def _parse(command: list[str]) -> Namespace:
    return make_parser().parse_args(command)
