"""Reads reports of Nsight Systems (``.nsys-rep``), by exporting them with the installed ``nsys``.

There is no other reader of that format.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import time
from contextlib import suppress

from msgspec.structs import replace

from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.nsys.reader import read_export
from torch_tb_profiler.importers.protocol import Reading
from torch_tb_profiler.importers.source import Folder, Source
from torch_tb_profiler.storage.local_copy import LocalCopy
from torch_tb_profiler.trace.columns import EventColumns

PROGRAM = "nsys"
EXPORT_ARGUMENTS = ("export", "--type", "sqlite", "--lazy=false", "-o")

EXPORT_LIMIT_S = 3600.0
"""An export that takes longer is killed."""

POLL_S = 0.05
"""Interval between two checks whether the export is done or cancelled."""


def read(source: Source | Folder, reading: Reading) -> EventColumns:
    """Read the trace of a report.

    Raises:
        TraceFormatError: Nsight Systems is not installed here, or cannot export it; the error has
            the export command.
        StorageError, OSError: it cannot be read, or there is no space for its export.
    """
    if isinstance(source, Folder):
        raise TraceFormatError("not_a_trace", f"{source.name} is a folder.", "Name a report in it.")
    program = _find_program()
    if program is None:
        raise _not_exported_error(
            source.name, "is a report of Nsight Systems, which only nsys can read"
        )
    report = source.local_path()
    size_bytes = os.stat(report).st_size
    copy = LocalCopy(source.name)
    try:
        folder = os.path.dirname(copy.path)
        export = os.path.join(folder, "export.sqlite")
        _run(
            [program, *EXPORT_ARGUMENTS, export, _with_suffix(report, folder)], source.name, reading
        )
        reading.progress(size_bytes // 2)

        def report_progress(done_bytes: int) -> None:
            whole = max(os.stat(export).st_size, 1)
            reading.progress(size_bytes // 2 + size_bytes * done_bytes // (2 * whole))

        return read_export(export, source.name, replace(reading, progress=report_progress))
    finally:
        copy.remove()


def _find_program() -> str | None:
    """The path of the program; only absolute folders of ``PATH`` are searched, never the working
    directory."""
    folders = [folder for folder in os.get_exec_path() if os.path.isabs(folder)]
    path = shutil.which(PROGRAM, path=os.pathsep.join(folders))
    return path if path is not None and os.path.isabs(path) else None


def _with_suffix(report: str, folder: str) -> str:
    """A path of the report with the ending that Nsight Systems requires."""
    link = os.path.join(folder, "report.nsys-rep")
    with suppress(OSError, NotImplementedError):
        os.symlink(os.path.abspath(report), link)
        return link
    return os.path.abspath(report)


def _run(command: list[str], name: str, reading: Reading) -> None:
    """Run a program until it ends, the reading is cancelled, or the time limit is reached. Its
    output may contain paths and is discarded."""
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        raise _not_exported_error(name, "could not be exported: nsys does not start") from None
    ends = time.monotonic() + EXPORT_LIMIT_S
    try:
        while process.poll() is None:
            reading.progress(0)
            if time.monotonic() > ends:
                raise _not_exported_error(
                    name, f"was not exported by nsys within {EXPORT_LIMIT_S:.0f} s"
                )
            with suppress(subprocess.TimeoutExpired):
                process.wait(POLL_S)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    if process.returncode != 0 or not os.path.isfile(command[len(EXPORT_ARGUMENTS) + 1]):
        raise _not_exported_error(
            name, f"could not be exported: nsys ended with {process.returncode}"
        )


def _not_exported_error(name: str, problem: str) -> TraceFormatError:
    base_name = name.replace("\\", "/").rpartition("/")[2]
    stem = base_name.removesuffix(".nsys-rep")
    return TraceFormatError(
        "nsys_report",
        f"{name} {problem}.",
        "Export it where Nsight Systems is installed: "
        + shlex.join([PROGRAM, *EXPORT_ARGUMENTS, f"{stem}.sqlite", base_name]),
    )
