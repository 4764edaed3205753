"""One walk through a folder of this machine."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial

from torch_tb_profiler.storage.errors import StorageError, from_os_error
from torch_tb_profiler.storage.finished import FinishedFiles
from torch_tb_profiler.storage.found import Match, Member, Unnamed
from torch_tb_profiler.storage.heads import UNREADABLE, Candidate
from torch_tb_profiler.storage.left_out import LeftOutFiles
from torch_tb_profiler.storage.locations import (
    Location,
    file_state,
    is_inside,
    local_state,
    valid_text,
)
from torch_tb_profiler.storage.names import TraceName, TraceNames

LINK_OUT = "link_out"
UNFINISHED = "unfinished"
SPECIAL = "not_a_file"

MAX_LINKED_FOLDERS = 10_000
"""Folders behind links out of the logdir that are walked: one may lead to the root of the disk."""

FolderId = tuple[int, int]


@dataclass(slots=True)
class LocalWalk:
    """One walk through a folder.

    Attributes:
        place: The folder.
        names: Which files and folders are traces.
        left_out: Gets what is not taken.
        unfinished: Gets the names of files that are still being written.
        finished: Tells those; None takes all.
        follows_links: Whether links that lead out of the folder are followed.
    """

    place: Location
    names: TraceNames
    left_out: LeftOutFiles
    unfinished: list[str]
    finished: FinishedFiles | None
    follows_links: bool = False
    _walked: set[FolderId] = field(default_factory=set)
    _linked_folders: int = 0

    def found(self) -> Iterator[Match | Member | Unnamed]:
        """Every trace, and every file that may be one.

        Raises:
            StorageError: the folder itself cannot be listed.
        """
        root = os.path.realpath(self.place.path)
        pending = [("", False)]
        while pending:
            folder, is_linked = pending.pop()
            for entry in self._listed(root, folder):
                path = f"{folder}/{entry.name}" if folder else entry.name
                try:
                    if self._is_run_folder(entry, root):
                        pending.append((path, is_linked or entry.is_symlink()))
                        continue
                    found = self._found(entry, folder, root, is_linked=is_linked)
                except OSError as error:  # it went, or became something else, since it was listed
                    shown = valid_text(path)
                    self.left_out.tell(shown, UNREADABLE, from_os_error(error, shown).message)
                except StorageError as error:  # a file in a folder that is a trace
                    self.left_out.tell(valid_text(path), error.code, error.message)
                else:
                    if found is not None:
                        yield found

    def is_finished(self, location: Location, status: os.stat_result) -> bool:
        """Whether a trace is done; else it is remembered as one that is not."""
        if self.finished is None:
            return True
        state = file_state(location) if location.is_folder else None
        return self.finished.is_finished(location.path, status, state)

    def see_unfinished(self, shown: str) -> None:
        """Remember a file that is still being written."""
        self.unfinished.append(shown)
        text = f"{shown} is being written; it appears when it is done."
        self.left_out.add(shown, UNFINISHED, text)

    def _listed(self, root: str, folder: str) -> list[os.DirEntry[str]]:
        path = os.path.join(root, folder) if folder else root
        try:
            if self.follows_links and not self._is_new(path, root):
                return []
            with os.scandir(path) as entries:
                return list(entries)
        except OSError as error:
            shown = f"{self.place.url}/{valid_text(folder)}" if folder else self.place.url
            problem = from_os_error(error, shown)
            if not folder:
                raise problem from error
            self.left_out.tell(valid_text(folder), UNREADABLE, problem.message)
            return []

    def _is_new(self, path: str, root: str) -> bool:
        """Whether a folder was not walked before, by this or another path; links lead in circles.

        Raises:
            OSError: it cannot be looked at.
        """
        status = os.stat(path)
        own = (status.st_dev, status.st_ino)
        if own in self._walked:
            return False
        if not is_inside(path, root):
            self._linked_folders += 1
            if self._linked_folders > MAX_LINKED_FOLDERS:
                shown = valid_text(path)
                text = f"{shown}: links lead to more than {MAX_LINKED_FOLDERS} folders; left out."
                self.left_out.tell(shown, LINK_OUT, text)
                return False
        self._walked.add(own)
        return True

    def _is_run_folder(self, entry: os.DirEntry[str], root: str) -> bool:
        """Whether what is in it is looked at. What a link inside the logdir leads to is listed
        anyway."""
        if self._trace_folder(entry) is not None:
            return False
        if entry.is_dir(follow_symlinks=False):
            return True
        return self.follows_links and entry.is_dir() and not is_inside(entry.path, root)

    def _trace_folder(self, entry: os.DirEntry[str]) -> TraceName | None:
        """Worker and stamp of a folder that is a trace."""
        base_name = valid_text(entry.name)
        if self.names.folder(base_name) is None or not entry.is_dir(
            follow_symlinks=self.follows_links
        ):
            return None
        return self.names.folder(base_name, partial(os.listdir, entry.path))

    def _found(
        self, entry: os.DirEntry[str], folder: str, root: str, *, is_linked: bool
    ) -> Match | Member | Unnamed | None:
        """The trace that ``entry`` is, or may be, if it is one and done.

        Raises:
            OSError: it cannot be looked at.
            StorageError: it is a folder, and a file in it cannot.
        """
        base_name = valid_text(entry.name)
        shown = f"{valid_text(folder)}/{base_name}" if folder else base_name
        is_folder = entry.is_dir(follow_symlinks=self.follows_links)
        name = self._trace_folder(entry) if is_folder else self.names.file(base_name)
        part = None if is_folder or name is not None else self.names.member(base_name)
        is_known = name is not None or part is not None
        if not is_known and (is_folder or not base_name.endswith(self.names.endings)):
            if entry.is_symlink() and os.path.isdir(entry.path):
                self._refuses(entry, shown, root, is_told=True)
            return None
        if entry.is_symlink() and self._refuses(entry, shown, root, is_told=is_known):
            return None
        # Behind a link out of the logdir nothing lies inside it.
        leads_out = self.follows_links and (is_linked or entry.is_symlink())
        location = replace(
            self.place,
            url=valid_text(entry.path),
            path=entry.path,
            root=None if leads_out else root,
            is_folder=is_folder,
        )
        status = entry.stat()
        if not is_folder and not stat.S_ISREG(status.st_mode):
            self.left_out.add(shown, SPECIAL, f"{shown} is a pipe, socket or device, not a file.")
            return None
        run = valid_text(folder).replace(os.sep, "/")
        if part is not None:
            return self._member(run, location, status, part)
        if name is None:
            return Unnamed(run, Candidate(shown, location, local_state(status)), status)
        if not self.is_finished(location, status):
            self.see_unfinished(shown)
            return None
        state = file_state(location) if is_folder else local_state(status)
        return Match(run, location, state, name)

    def _member(
        self, run: str, file: Location, status: os.stat_result, part: TraceName
    ) -> Member | None:
        """A file of a trace of several, if it is done."""
        if not self.is_finished(file, status):
            self.see_unfinished(f"{run}/{file.name}" if run else file.name)
            return None
        path = os.path.dirname(file.path)
        folder = replace(file, url=valid_text(path), path=path)
        return Member(run, folder, local_state(status), file.name, part)

    def _refuses(self, link: os.DirEntry[str], shown: str, root: str, *, is_told: bool) -> bool:
        """Whether a link leads out of the logdir and is not followed, which is then said."""
        if self.follows_links or is_inside(link.path, root):
            return False
        text = f"{shown} is a link that leads out of the logdir; not followed (see --follow-links)."
        (self.left_out.tell if is_told else self.left_out.add)(shown, LINK_OUT, text)
        return True
