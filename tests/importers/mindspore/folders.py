"""Folders of MindSpore's profiler: those in ``tests/data``, and synthetic ones."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from torch_tb_profiler.importers.mindspore.files import MEMBERS
from torch_tb_profiler.importers.mindspore.reader import read
from torch_tb_profiler.importers.protocol import Reading
from torch_tb_profiler.importers.source import Folder, Source
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.model import Trace

DATA = Path(__file__).parents[2] / "data" / "mindspore_r1"


def recorded(folder: str, device: int) -> Folder:
    """The files of one device in a folder of ``tests/data/mindspore_r1``."""
    return on_disk(DATA / folder, device)


def on_disk(folder: Path, device: int) -> Folder:
    """The files of one device in any folder."""
    files = {
        path.name: partial(_source, path)
        for path in sorted(folder.iterdir())
        if any((n := p.parse(path.name)) and n.worker == str(device) for p in MEMBERS)
    }
    return Folder(folder.name, files)


def folder_of(files: Mapping[str, str | bytes]) -> Folder:
    """A folder with these files."""
    return Folder(
        "synthetic", {name: partial(_in_memory, name, text) for name, text in files.items()}
    )


def opened(folder: Folder) -> Trace:
    """The trace of a folder."""
    return build_trace(read(folder, Reading()))


def _source(path: Path) -> Source:
    return Source(path.name, [path.read_bytes()], path=str(path))


def _in_memory(name: str, text: str | bytes) -> Source:
    return Source(name, [text if isinstance(text, bytes) else text.encode()])
