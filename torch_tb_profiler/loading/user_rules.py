"""Where the user's own rules for kernels are found, and what they are now.

``--rules FILE`` comes first, then ``$TORCH_TB_PROFILER_RULES``, then ``rules.toml`` in the user's
configuration folder. A server reads the file again when it changes.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path

from torch_tb_profiler.knowledge.user_rules import (
    NO_RULES,
    RulesError,
    UserRules,
    parse_user_rules,
)
from torch_tb_profiler.requests.errors import OpenError

RULES_VARIABLE = "TORCH_TB_PROFILER_RULES"
FILE_NAME = "rules.toml"
FOLDER_NAME = "torch-tb-profiler"

MAX_BYTES = 4 << 20
"""A larger file is not read."""

CHECK_S = 1.0
"""How long the state of the file is taken to hold."""

Stamp = tuple[int, int, int] | None
"""Change time, size and number of a file; None where there is none."""


def config_folder() -> Path | None:
    """This user's folder of settings of this program; None for a user without a home."""
    if sys.platform == "win32":
        base = os.environ.get("APPDATA") or "~/AppData/Roaming"
    elif sys.platform == "darwin":
        base = "~/Library/Application Support"
    else:
        base = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
        if not os.path.isabs(base) and not base.startswith("~"):
            base = "~/.config"  # the XDG specification has relative paths ignored
    folder = os.path.expanduser(base)
    return None if folder.startswith("~") else Path(folder) / FOLDER_NAME


def _is_there(path: Path) -> bool:
    """Whether a file exists; one in a folder that may not be looked into does not."""
    try:
        return path.exists()
    except PermissionError:
        return False


class RulesSource:
    """A file of rules that may change. Thread-safe."""

    def __init__(self, path: Path | None, *, is_optional: bool = False) -> None:
        """Read nothing yet.

        Args:
            path: The file; None for no rules.
            is_optional: Whether there may be no such file.
        """
        self._path = path
        self._is_optional = is_optional
        self._lock = threading.Lock()
        self._stamp: Stamp = None
        self._checked_s = -CHECK_S
        self._rules: UserRules | None = None

    def read(self) -> UserRules:
        """The rules as the file states them now.

        Raises:
            RulesError: it cannot be read, or is no file of rules.
        """
        if self._path is None:
            return NO_RULES
        source = _shown(self._path)
        try:
            if self._is_optional and not _is_there(self._path):
                return UserRules(source)
            if not self._path.is_file():
                cause = "is no file" if self._path.exists() else "does not exist"
                raise RulesError(
                    f"{source} {cause}.",
                    f"Name an existing file with --rules or ${RULES_VARIABLE}.",
                )
            with self._path.open("rb") as file:
                data = file.read(MAX_BYTES + 1)
        except OSError as error:
            cause = error.strerror or str(error)
            hint = "Check the permissions of the file."
            raise RulesError(f"{source} cannot be read: {cause}.", hint) from error
        if len(data) > MAX_BYTES:
            cause = f"is larger than {MAX_BYTES >> 20} MiB"
            raise RulesError(f"{source} {cause}.", "Is it the file you mean?")
        return parse_user_rules(data, source)

    def current(self) -> UserRules:
        """The rules that apply now; where the file cannot be used there are none, with the
        problem."""
        with self._lock:
            now_s = time.monotonic()
            if self._rules is None or now_s - self._checked_s >= CHECK_S:
                self._checked_s = now_s
                stamp = _stamp(self._path)
                if self._rules is None or stamp != self._stamp:
                    self._stamp, self._rules = stamp, self._read_or_explain()
            return self._rules

    def _read_or_explain(self) -> UserRules:
        try:
            return self.read()
        except RulesError as error:
            assert self._path is not None
            return UserRules(_shown(self._path), problem=f"{error.message} {error.hint}")


def find_rules(option: str | os.PathLike[str] | None = None) -> RulesSource:
    """The rules named by ``option``, else by the environment, else those of the configuration
    folder."""
    chosen = os.fspath(option) if option is not None else os.environ.get(RULES_VARIABLE)
    if chosen:
        return RulesSource(Path(os.path.expanduser(chosen)).absolute())
    folder = config_folder()
    return RulesSource(None if folder is None else folder / FILE_NAME, is_optional=True)


def checked_rules(option: str | os.PathLike[str] | None = None) -> RulesSource:
    """The same, where a file that cannot be used is an error.

    Raises:
        OpenError: the file cannot be read, or is no file of rules.
    """
    source = find_rules(option)
    try:
        source.read()
    except RulesError as error:
        raise OpenError.of(error) from error
    return source


def _stamp(path: Path | None) -> Stamp:
    try:
        state = None if path is None else path.stat()
    except OSError:
        return None
    return None if state is None else (state.st_mtime_ns, state.st_size, state.st_ino)


def _shown(path: Path) -> str:
    """The path as people write it."""
    home = os.path.expanduser("~")
    text = str(path)
    return f"~{text[len(home) :]}" if home != "/" and text.startswith(f"{home}{os.sep}") else text
