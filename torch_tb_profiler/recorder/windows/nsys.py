"""Nsight Systems instead of ``torch.profiler``: its command line, and the windows marked for it.

Options: NVIDIA's *Nsight Systems User Guide*, "CLI profile command switch options". How its reports
are read: ``docs/format-nsys.md``.
"""

from __future__ import annotations

import os
import re
import shutil
import threading
from collections.abc import Sequence
from typing import Any

from torch_tb_profiler.recorder.options import Options
from torch_tb_profiler.recorder.windows.profiler_run import ProfilerRun

PROGRAM = "nsys"
MISSING = (
    "nsys is not on the PATH. Nsight Systems is part of the CUDA toolkit "
    "(package cuda-nsight-systems), and by itself at "
    "https://developer.nvidia.com/nsight-systems."
)
TRACE = "cuda,nvtx,osrt,cudnn,cublas"
LAUNCHERS = frozenset({"mpirun", "mpiexec", "orterun", "srun"})
RANKS = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK")
"""Variables through which launchers pass the rank."""


class NsysMissingError(Exception):
    """``nsys`` is not installed; the text says where to get it."""


class NsysRun(ProfilerRun):
    """A window that Nsight Systems records; operators are emitted as NVTX ranges.

    Attributes:
        thread: The thread that it records and that has to stop it.
        external_output: Nsight Systems writes its own file after the program has ended.
    """

    external_output = "Nsight Systems recorded it: see its .sqlite file in this folder."

    def __init__(self, options: Options) -> None:
        """Create without recording.

        Raises:
            RuntimeError: the program does not use CUDA, through which recording is started.
        """
        import torch  # noqa: PLC0415 - the program has imported it

        if not torch.cuda.is_initialized():
            raise RuntimeError("the program has not initialized CUDA")
        self.thread = threading.get_ident()
        self._ranges: dict[str, Any] = {}
        self._operators = torch.autograd.profiler.emit_nvtx(record_shapes=options.shapes)

    def prepare(self) -> None:
        """Nothing to do: no warm-up is needed."""

    def record(self) -> None:
        """Start the recording of Nsight Systems."""
        import torch  # noqa: PLC0415

        torch.cuda.profiler.start()
        self._operators.__enter__()

    def stop(self) -> None:
        """Stop the recording of Nsight Systems."""
        import torch  # noqa: PLC0415

        for key in list(self._ranges):
            self.end_range(key)
        self._operators.__exit__(None, None, None)
        torch.cuda.profiler.stop()


def nsys_path() -> str:
    """Path of ``nsys``.

    Raises:
        NsysMissingError: it is not installed, or not on the PATH.
    """
    path = shutil.which(PROGRAM)
    if path is None:
        raise NsysMissingError(MISSING)
    return path


def nsys_command(options: Options, command: Sequence[str]) -> list[str]:
    """The command line with which Nsight Systems records ``command`` into the folder of the run.

    If the recorder is started once per rank (``srun torch-tb-profiler record …``), every rank gets
    a file; a launcher started by it (``torchrun``) is recorded with all its processes into one
    file.

    Args:
        options: Options of the recording; they may restrict it to windows.
        command: The program with its arguments.

    Raises:
        NsysMissingError: ``nsys`` is not installed.
    """
    uses_mpi = os.path.basename(command[0]) in LAUNCHERS or "OMPI_COMM_WORLD_RANK" in os.environ
    arguments = {
        "trace": TRACE + (",mpi,ucx" if uses_mpi else ""),
        "cuda-graph-trace": "node",
        "cuda-memory-usage": "true",
        "sample": "none",
        "cpuctxsw": "none",
        "export": "sqlite",
        "force-overwrite": "true",
        "output": os.path.join(options.folder.replace("%", "%%"), _name(options)),
        **_capture(options),
    }
    return [
        nsys_path(),
        "profile",
        *(f"--{name}={value}" for name, value in arguments.items()),
        *command,
    ]


def _capture(options: Options) -> dict[str, str]:
    """Options for windows, which the recorder in the program starts and ends."""
    requested = (
        options.steps, options.delay_s, options.duration_s, options.wait, options.warmup,
        options.active, options.repeat, options.trigger,
    )  # fmt: skip
    if all(each is None for each in requested):
        return {}
    repeat = 1 if options.repeat is None else options.repeat
    ending = "stop" if repeat == 1 else f"repeat:{repeat}" if repeat else "repeat"
    return {"capture-range": "cudaProfilerApi", "capture-range-end": ending}


def _name(options: Options) -> str:
    """Name of the report, in which ``nsys`` expands variables; it fails if one is not set."""
    rank = next((each for each in RANKS if os.environ.get(each, "").isdecimal()), None)
    if rank is not None:
        return f"rank%q{{{rank}}}"
    stem = os.path.splitext(options.program)[0]
    return re.sub(r"[^A-Za-z0-9_-]", "-", stem) or "program"
