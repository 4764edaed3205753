"""Files of ``/proc`` in a program that closes all descriptors, as daemons do."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from torch_tb_profiler.recorder.samples.linux_counters import ProcFile

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc is of Linux")


def close_and_reuse(file: ProcFile, folder: Path) -> int:
    """Close a descriptor and open a file of the program, which gets the number."""
    assert file._file is not None
    os.close(file._file)
    own = os.open(folder / "own.txt", os.O_RDWR | os.O_CREAT)
    assert own == file._file  # the lowest free number
    os.write(own, b"cpu 1 2 3 of the program")
    return own


def test_a_closed_file_is_opened_again(tmp_path: Path) -> None:
    file = ProcFile("/proc/stat")
    own = close_and_reuse(file, tmp_path)
    assert file.read().startswith(b"cpu  ")
    file.close()
    os.close(own)  # still open: it is the program's


def test_that_of_another_process_is_not(tmp_path: Path) -> None:
    """Another process may have its id by now."""
    file = ProcFile(f"/proc/{os.getpid()}/stat")
    own = close_and_reuse(file, tmp_path)
    with pytest.raises(ProcessLookupError):
        file.read()
    os.close(own)
