"""Reports (``.nsys-rep``) as Nsight Systems itself keeps them: its own program exports them, where
it is installed. No other reader of them exists."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import time
from contextlib import suppress
from dataclasses import replace

from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.nsys.reader import read_export
from torch_tb_profiler.importers.protocol import Reading
from torch_tb_profiler.importers.source import Folder, Source
from torch_tb_profiler.storage.local_copy import LocalCopy
from torch_tb_profiler.trace.columns import EventColumns

PROGRAM = "nsys"
EXPORT = ("export", "--type", "sqlite", "--lazy=false", "-o")

LIMIT_S = 3600.0
"""An export that takes longer is ended."""

LOOK_S = 0.05
"""Between two looks whether it is done, or somebody wants it to end."""


def read(source: Source | Folder, reading: Reading) -> EventColumns:
    """The trace that a report holds.

    Raises:
        TraceFormatError: Nsight Systems is not installed here, or cannot export it; the error says
            the command that does.
        StorageError, OSError: it cannot be read, or there is no room for its export.
    """
    if isinstance(source, Folder):
        raise TraceFormatError("not_a_trace", f"{source.name} is a folder.", "Name a report in it.")
    program = _program()
    if program is None:
        raise _not_exported(source.name, "is a report of Nsight Systems, which only nsys reads")
    report = source.local_path()
    size_bytes = os.stat(report).st_size
    place = LocalCopy(source.name)
    try:
        folder = os.path.dirname(place.path)
        export = os.path.join(folder, "export.sqlite")
        _run([program, *EXPORT, export, _named(report, folder)], source.name, reading)
        reading.progress(size_bytes // 2)

        def told(done_bytes: int) -> None:
            whole = max(os.stat(export).st_size, 1)
            reading.progress(size_bytes // 2 + size_bytes * done_bytes // (2 * whole))

        return read_export(export, source.name, replace(reading, progress=told))
    finally:
        place.remove()


def _program() -> str | None:
    """Where the program lies, in a folder that the ``PATH`` names from the root: one that lies
    where somebody happens to be is none."""
    folders = [folder for folder in os.get_exec_path() if os.path.isabs(folder)]
    found = shutil.which(PROGRAM, path=os.pathsep.join(folders))
    return found if found is not None and os.path.isabs(found) else None


def _named(report: str, folder: str) -> str:
    """A path of the report that ends as Nsight Systems wants it to."""
    link = os.path.join(folder, "report.nsys-rep")
    with suppress(OSError, NotImplementedError):
        os.symlink(os.path.abspath(report), link)
        return link
    return os.path.abspath(report)


def _run(command: list[str], name: str, reading: Reading) -> None:
    """Run a program until it ends, somebody wants the reading to end, or the time is over. What it
    says may hold paths and is shown nowhere."""
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        raise _not_exported(name, "could not be exported: nsys does not start") from None
    ends = time.monotonic() + LIMIT_S
    try:
        while process.poll() is None:
            reading.progress(0)
            if time.monotonic() > ends:
                raise _not_exported(name, f"was not exported by nsys within {LIMIT_S:.0f} s")
            with suppress(subprocess.TimeoutExpired):
                process.wait(LOOK_S)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    if process.returncode != 0 or not os.path.isfile(command[len(EXPORT) + 1]):
        raise _not_exported(name, f"could not be exported: nsys ended with {process.returncode}")


def _not_exported(name: str, what: str) -> TraceFormatError:
    base_name = name.replace("\\", "/").rpartition("/")[2]
    stem = base_name.removesuffix(".nsys-rep")
    return TraceFormatError(
        "nsys_report",
        f"{name} {what}.",
        "Export it where Nsight Systems is installed: "
        + shlex.join([PROGRAM, *EXPORT, f"{stem}.sqlite", base_name]),
    )
