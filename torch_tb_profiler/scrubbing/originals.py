"""The files of the original: what can be copied, recordings of several files, and the rest."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator

from msgspec import Struct

from torch_tb_profiler.importers.registry import label_of, trace_names
from torch_tb_profiler.importers.sidecars.names import DETAILS, sidecar_kind
from torch_tb_profiler.knowledge.private_columns import is_read_member
from torch_tb_profiler.scrubbing.original import OriginalFile, original_file
from torch_tb_profiler.scrubbing.result import OmittedFile
from torch_tb_profiler.storage.decompress import UnpackLimitError
from torch_tb_profiler.storage.discovery import DiscoveryOptions, discover
from torch_tb_profiler.storage.errors import StorageError
from torch_tb_profiler.storage.locations import Location, open_location
from torch_tb_profiler.storage.names import GRAPH_CAPTURE_FOLDERS, natural_key

SIDECAR = "sidecar"
"""The format of files that are joined to a trace beside them."""


class JointRecording(Struct, frozen=True):
    """A recording of several files.

    Attributes:
        name: Path relative to the original.
        location: Where importers open it.
        label: What its format is called.
        files: Its files, with their names relative to the folder.
    """

    name: str
    location: Location
    label: str
    files: tuple[OriginalFile, ...] = ()


class Originals(Struct, frozen=True):
    """What is in the original.

    Attributes:
        files: Files that are copied one by one, in order of their names.
        joint: Recordings of several files.
        omitted: Files that are not copied.
    """

    files: list[OriginalFile]
    joint: list[JointRecording]
    omitted: list[OmittedFile]


def list_originals(source: str) -> Originals:
    """The content of a file or folder.

    Raises:
        StorageError: it cannot be listed.
    """
    originals = Originals([], [], [])
    if not os.path.isdir(source):
        _add(originals, source, os.path.basename(source), is_chosen=True)
        return originals
    source = os.path.realpath(source)  # as the recordings in it are listed
    members = _joint_recordings(source, originals)
    for name in sorted(_names(source, originals), key=natural_key):
        path = os.path.join(source, *name.split("/"))
        if path not in members and not any(path.startswith(each + os.sep) for each in members):
            _add(originals, path, name)
    return originals


def _joint_recordings(source: str, originals: Originals) -> set[str]:
    """The paths of files and folders that are parts of recordings of several files."""
    members: set[str] = set()
    for span in discover(open_location(source), DiscoveryOptions(trace_names())).files:
        location = span.location
        if not (location.is_folder or location.members):
            continue
        name = os.path.relpath(location.path, source).replace(os.sep, "/")
        label = label_of(span.format or "")
        files = tuple(_members(location, name, originals))
        originals.joint.append(JointRecording(name, location, label, files))
        inside = [os.path.join(location.path, member) for member in location.members]
        members.update(inside or [location.path])
    return members


def _members(location: Location, name: str, originals: Originals) -> Iterator[OriginalFile]:
    """The files of a recording of several files that views read; the others are omitted."""
    prefix = "" if name == "." else f"{name}/"
    unread: Counter[str] = Counter()
    names = location.members or sorted(_names(location.path, Originals([], [], [])))
    for member in names:
        if not location.members and not is_read_member(member):
            unread[member.partition("/")[0]] += 1
            continue
        path = os.path.join(location.path, *member.split("/"))
        try:
            yield original_file(path, member)
        except (StorageError, OSError, UnpackLimitError) as error:
            reason = f"It cannot be read: {getattr(error, 'message', error)}"
            originals.omitted.append(OmittedFile(prefix + member, reason, is_recording=True))
    for part, count in unread.items():
        reason = "No view reads it." if count == 1 else f"No view reads {count} files in it."
        originals.omitted.append(OmittedFile(prefix + part, reason))


def _names(source: str, originals: Originals) -> Iterator[str]:
    """Paths of all files relative to a folder, ``/`` between parts; links are omitted."""
    for folder, folders, files in os.walk(source):
        for base_name in [*folders, *files]:
            path = os.path.join(folder, base_name)
            name = os.path.relpath(path, source).replace(os.sep, "/")
            if os.path.islink(path):
                originals.omitted.append(OmittedFile(name, "It is a link, which is not followed."))
            elif base_name in files:
                yield name


def _add(originals: Originals, path: str, name: str, *, is_chosen: bool = False) -> None:
    if not os.path.isfile(path):
        originals.omitted.append(OmittedFile(name, "It is no file."))
        return
    try:
        file = original_file(path, name, is_chosen=is_chosen)
    except (StorageError, OSError, UnpackLimitError) as error:
        reason = f"It cannot be read: {getattr(error, 'message', error)}"
        originals.omitted.append(OmittedFile(name, reason))
        return
    if file.format is None and _is_sidecar(name):
        file = OriginalFile(path, name, SIDECAR, "", file.head, file.is_packed)
    if file.format is None:
        reason = f"It {file.reason}" if file.reason else "No reader knows it."
        originals.omitted.append(OmittedFile(name, reason))
    else:
        originals.files.append(file)


def _is_sidecar(name: str) -> bool:
    *folders, base_name = name.split("/")
    in_captures = bool(folders) and folders[-1] in GRAPH_CAPTURE_FOLDERS
    return base_name == DETAILS or sidecar_kind(base_name, in_captures=in_captures) is not None
