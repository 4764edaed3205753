"""Scalars as event files of TensorBoard, one per worker in a folder of its own: a curve each."""

from __future__ import annotations

import os
import re
import socket
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
from tensorboard.summary.writer.record_writer import RecordWriter

from torch_tb_profiler.reports.scalars.values import Scalar
from torch_tb_profiler.reports.text import DEVICE_NAMES

ENDING = ".torch-tb-profiler"
"""What our files end in: only those are replaced."""

VERSION = "brain.Event:2"
PARTIAL = ".partial"
MAX_PART_CHARS = 120

MAX_PART_BYTES = 200
"""File systems allow 255."""

_ODD = re.compile(r"[^\w. -]")


def folders_of(output: Path, workers: Sequence[tuple[str, str]]) -> list[Path]:
    """The folders of the curves of workers, each given by its run and its name: every part of a
    path is one that is a file's everywhere; workers whose names become equal are numbered."""
    folders: list[Path] = []
    equal: Counter[str] = Counter()
    for run, worker in workers:
        parts = [_file_name(part) for part in run.split("/")]
        folder = output.joinpath(*filter(None, parts), _file_name(worker) or "worker")
        folded = str(folder).casefold()
        equal[folded] += 1
        is_first = equal[folded] == 1
        folders.append(folder if is_first else folder.with_name(f"{folder.name}~{equal[folded]}"))
    return folders


def _file_name(part: str) -> str:
    plain = _ODD.sub("-", part)[:MAX_PART_CHARS].encode()[:MAX_PART_BYTES].decode("utf-8", "ignore")
    plain = plain.strip(" .")
    return f"_{plain}" if DEVICE_NAMES.match(plain) else plain


def write_events(folder: Path, scalars: Sequence[Scalar]) -> Path:
    """Write an event file in place of the ones that we wrote there before; others stay.

    Args:
        folder: Of the worker; made if need be.
        scalars: At least one.

    Returns:
        The file.

    Raises:
        OSError: it cannot be written; what was there is still there then.
    """
    folder.mkdir(parents=True, exist_ok=True)
    before = [each for each in folder.iterdir() if _is_ours(each)]
    first_s = min(scalar.wall_time_s for scalar in scalars)
    host = _ODD.sub("-", socket.gethostname()) or "host"
    path = folder / f"events.out.tfevents.{max(int(first_s), 0):010d}.{host}{ENDING}"
    partial = folder / f".{path.name}{PARTIAL}.{os.getpid()}"
    try:
        with partial.open("wb") as file:
            writer = RecordWriter(file)
            writer.write(Event(wall_time=first_s, file_version=VERSION).SerializeToString())
            for scalar in scalars:
                writer.write(_event(scalar).SerializeToString())
            writer.flush()
        partial.replace(path)
    except OSError:
        with suppress(OSError):
            partial.unlink()
        raise
    for each in before:
        if each != path:
            each.unlink()
    return path


def _is_ours(path: Path) -> bool:
    name = path.name
    is_event_file = name.startswith("events.out.tfevents.") and name.endswith(ENDING)
    return is_event_file and path.is_file() and not path.is_symlink()


def _event(scalar: Scalar) -> Event:
    plugin = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="scalars"))
    value = Summary.Value(tag=scalar.tag, simple_value=scalar.value, metadata=plugin)
    return Event(wall_time=scalar.wall_time_s, step=scalar.step, summary=Summary(value=[value]))
