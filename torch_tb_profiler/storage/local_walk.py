"""Walk a local folder tree for traces."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from functools import partial

from msgspec import Struct, field
from msgspec.structs import replace

from torch_tb_profiler.storage.errors import StorageError, from_os_error
from torch_tb_profiler.storage.file_completeness import CompletenessTracker
from torch_tb_profiler.storage.format_detection import UNREADABLE, Candidate
from torch_tb_profiler.storage.locations import (
    Location,
    file_state,
    is_inside,
    local_state,
    valid_text,
)
from torch_tb_profiler.storage.names import TraceName, TraceNames
from torch_tb_profiler.storage.skipped_files import SkippedFiles
from torch_tb_profiler.storage.trace_files import MemberFile, NamedTrace, UnnamedFile

LINK_OUT = "link_out"
UNFINISHED = "unfinished"
SPECIAL = "not_a_file"

MAX_LINKED_FOLDERS = 10_000
"""Folders behind links out of the logdir that are walked: a link may lead to the root of the
disk."""

FolderId = tuple[int, int]


class LocalWalk(Struct):
    """One walk through a folder tree.

    Attributes:
        logdir: The folder.
        names: Which files and folders are traces.
        skipped: Receives what is not taken.
        unfinished: Receives the names of files that are still being written.
        completeness: Detects those files; None takes all files.
        follows_links: Whether links that lead out of the folder are followed.
    """

    logdir: Location
    names: TraceNames
    skipped: SkippedFiles
    unfinished: list[str]
    completeness: CompletenessTracker | None
    follows_links: bool = False
    _visited: set[FolderId] = field(default_factory=set)
    _linked_folders: int = 0

    def entries(self) -> Iterator[NamedTrace | MemberFile | UnnamedFile]:
        """Every trace, and every file that may be one.

        Raises:
            StorageError: the folder itself cannot be listed.
        """
        root = os.path.realpath(self.logdir.path)
        pending = [("", False)]
        while pending:
            folder, is_linked = pending.pop()
            for dir_entry in self._list_folder(root, folder):
                path = f"{folder}/{dir_entry.name}" if folder else dir_entry.name
                try:
                    if self._is_run_folder(dir_entry, root):
                        pending.append((path, is_linked or dir_entry.is_symlink()))
                        continue
                    entry = self._classify(dir_entry, folder, root, is_linked=is_linked)
                except OSError as error:  # it was deleted or replaced since it was listed
                    label = valid_text(path)
                    self.skipped.report(label, UNREADABLE, from_os_error(error, label).message)
                except StorageError as error:  # a file in a folder that is a trace
                    self.skipped.report(valid_text(path), error.code, error.message)
                else:
                    if entry is not None:
                        yield entry

    def is_complete(self, location: Location, status: os.stat_result) -> bool:
        """Whether a trace is completely written."""
        if self.completeness is None:
            return True
        state = file_state(location) if location.is_folder else None
        return self.completeness.is_complete(location.path, status, state)

    def add_unfinished(self, label: str) -> None:
        """Record a file that is still being written."""
        self.unfinished.append(label)
        text = f"{label} is being written; it appears when it is complete."
        self.skipped.add(label, UNFINISHED, text)

    def _list_folder(self, root: str, folder: str) -> list[os.DirEntry[str]]:
        path = os.path.join(root, folder) if folder else root
        try:
            if self.follows_links and not self._is_new(path, root):
                return []
            with os.scandir(path) as entries:
                return list(entries)
        except OSError as error:
            label = f"{self.logdir.url}/{valid_text(folder)}" if folder else self.logdir.url
            problem = from_os_error(error, label)
            if not folder:
                raise problem from error
            self.skipped.report(valid_text(folder), UNREADABLE, problem.message)
            return []

    def _is_new(self, path: str, root: str) -> bool:
        """Whether a folder was not visited before, by this or another path; links may form cycles.

        Raises:
            OSError: its status cannot be read.
        """
        status = os.stat(path)
        folder_id = (status.st_dev, status.st_ino)
        if folder_id in self._visited:
            return False
        if not is_inside(path, root):
            self._linked_folders += 1
            if self._linked_folders > MAX_LINKED_FOLDERS:
                label = valid_text(path)
                text = f"{label}: links lead to more than {MAX_LINKED_FOLDERS} folders; skipped."
                self.skipped.report(label, LINK_OUT, text)
                return False
        self._visited.add(folder_id)
        return True

    def _is_run_folder(self, entry: os.DirEntry[str], root: str) -> bool:
        """Whether the walk descends into it. The target of a link inside the logdir is walked
        anyway."""
        if self._trace_folder(entry) is not None:
            return False
        if entry.is_dir(follow_symlinks=False):
            return True
        return self.follows_links and entry.is_dir() and not is_inside(entry.path, root)

    def _trace_folder(self, entry: os.DirEntry[str]) -> TraceName | None:
        """Worker and stamp of a folder that is a trace."""
        base_name = valid_text(entry.name)
        if self.names.parse_folder(base_name) is None or not entry.is_dir(
            follow_symlinks=self.follows_links
        ):
            return None
        return self.names.parse_folder(base_name, partial(os.listdir, entry.path))

    def _classify(
        self, entry: os.DirEntry[str], folder: str, root: str, *, is_linked: bool
    ) -> NamedTrace | MemberFile | UnnamedFile | None:
        """What ``entry`` is: a trace, a part of one, or a file that may be one; None for anything
        else and for a file that is not complete.

        Raises:
            OSError: its status cannot be read.
            StorageError: it is a folder, and a file in it cannot be read.
        """
        base_name = valid_text(entry.name)
        label = f"{valid_text(folder)}/{base_name}" if folder else base_name
        is_folder = entry.is_dir(follow_symlinks=self.follows_links)
        name = self._trace_folder(entry) if is_folder else self.names.parse_file(base_name)
        member_name = None if is_folder or name is not None else self.names.parse_member(base_name)
        is_known = name is not None or member_name is not None
        if not is_known and (is_folder or not self.names.is_inspected(base_name)):
            if entry.is_symlink() and os.path.isdir(entry.path):
                self._leads_out(entry, label, root, is_reported=True)
            return None
        if entry.is_symlink() and self._leads_out(entry, label, root, is_reported=is_known):
            return None
        # Everything behind a link out of the logdir lies outside it.
        leads_out = self.follows_links and (is_linked or entry.is_symlink())
        location = replace(
            self.logdir,
            url=valid_text(entry.path),
            path=entry.path,
            root=None if leads_out else root,
            is_folder=is_folder,
        )
        status = entry.stat()
        if not is_folder and not stat.S_ISREG(status.st_mode):
            self.skipped.add(label, SPECIAL, f"{label} is a pipe, socket or device, not a file.")
            return None
        run = valid_text(folder).replace(os.sep, "/")
        if member_name is not None:
            return self._member(run, location, status, member_name)
        if name is None:
            return UnnamedFile(run, Candidate(label, location, local_state(status)), status)
        if not self.is_complete(location, status):
            self.add_unfinished(label)
            return None
        state = file_state(location) if is_folder else local_state(status)
        return NamedTrace(run, location, state, name)

    def _member(
        self, run: str, file: Location, status: os.stat_result, member_name: TraceName
    ) -> MemberFile | None:
        """A file of a trace of several files, if it is complete."""
        if not self.is_complete(file, status):
            self.add_unfinished(f"{run}/{file.name}" if run else file.name)
            return None
        path = os.path.dirname(file.path)
        folder = replace(file, url=valid_text(path), path=path)
        return MemberFile(run, folder, local_state(status), file.name, member_name)

    def _leads_out(
        self, link: os.DirEntry[str], label: str, root: str, *, is_reported: bool
    ) -> bool:
        """Whether a link leads out of the logdir and is not followed; if so, it is recorded as
        skipped."""
        if self.follows_links or is_inside(link.path, root):
            return False
        text = f"{label} is a link that leads out of the logdir; not followed (see --follow-links)."
        (self.skipped.report if is_reported else self.skipped.add)(label, LINK_OUT, text)
        return True
