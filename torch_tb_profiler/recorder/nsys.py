"""Nsight Systems in place of ``torch.profiler``: its command line, and windows marked for it.

Options: NVIDIA's *Nsight Systems User Guide*, "CLI profile command switch options". What our reader
makes of them: ``docs/format-nsys.md``.
"""

from __future__ import annotations

import os
import re
import shutil
import threading
from collections.abc import Sequence
from typing import Any

from torch_tb_profiler.recorder.options import Options
from torch_tb_profiler.recorder.profiler_run import ProfilerRun

PROGRAM = "nsys"
MISSING = (
    "nsys is not on the PATH. Nsight Systems is part of the CUDA toolkit "
    "(package cuda-nsight-systems), and by itself at "
    "https://developer.nvidia.com/nsight-systems."
)
TRACE = "cuda,nvtx,osrt,cudnn,cublas"
LAUNCHERS = frozenset({"mpirun", "mpiexec", "orterun", "srun"})
RANKS = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK")
"""Variables in which launchers tell a process its rank."""


class NsysMissingError(Exception):
    """There is no ``nsys``; the text says where to get it."""


class NsysRun(ProfilerRun):
    """A window that Nsight Systems records; operators are made ranges for it.

    Attributes:
        thread: The thread that it records, and that has to stop it.
        elsewhere: Nsight Systems writes its own file, when the program has ended.
    """

    elsewhere = "Nsight Systems recorded it: see its .sqlite file in this folder."

    def __init__(self, options: Options) -> None:
        """Record nothing yet.

        Raises:
            RuntimeError: the program does not use CUDA, whose profiler starts and stops it.
        """
        import torch  # noqa: PLC0415 - the program has imported it

        if not torch.cuda.is_initialized():
            raise RuntimeError("the program has not begun to use CUDA")
        self.thread = threading.get_ident()
        self._ranges: dict[str, Any] = {}
        self._operators = torch.autograd.profiler.emit_nvtx(record_shapes=options.shapes)

    def prepare(self) -> None:
        """It needs no warm-up."""

    def record(self) -> None:
        """Let Nsight Systems record from now on."""
        import torch  # noqa: PLC0415

        torch.cuda.profiler.start()
        self._operators.__enter__()

    def stop(self) -> None:
        """Let it record no more."""
        import torch  # noqa: PLC0415

        for key in list(self._ranges):
            self.end_range(key)
        self._operators.__exit__(None, None, None)
        torch.cuda.profiler.stop()


def nsys_path() -> str:
    """Where ``nsys`` lies.

    Raises:
        NsysMissingError: it is not installed, or not on the PATH.
    """
    found = shutil.which(PROGRAM)
    if found is None:
        raise NsysMissingError(MISSING)
    return found


def nsys_command(options: Options, command: Sequence[str]) -> list[str]:
    """The command line that has Nsight Systems record ``command`` into the folder of the run.

    Where the recorder runs once per rank (``srun torch-tb-profiler record …``), each has its file;
    a launcher below it (``torchrun``) is recorded with all its processes into one.

    Args:
        options: Those of the recording; of a run only the part that they ask for is recorded.
        command: The program with its arguments.

    Raises:
        NsysMissingError: there is no ``nsys``.
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
    """The windows that were asked for: the recorder in the program begins and ends them."""
    asked = (
        options.steps, options.delay_s, options.duration_s, options.wait, options.warmup,
        options.active, options.repeat, options.trigger,
    )  # fmt: skip
    if all(each is None for each in asked):
        return {}
    repeat = 1 if options.repeat is None else options.repeat
    ending = "stop" if repeat == 1 else f"repeat:{repeat}" if repeat else "repeat"
    return {"capture-range": "cudaProfilerApi", "capture-range-end": ending}


def _name(options: Options) -> str:
    """The name of the report, which ``nsys`` completes; it fails where a variable is not set."""
    rank = next((each for each in RANKS if os.environ.get(each, "").isdecimal()), None)
    if rank is not None:
        return f"rank%q{{{rank}}}"
    stem = os.path.splitext(options.program)[0]
    return re.sub(r"[^A-Za-z0-9_-]", "-", stem) or "program"
