"""One line per event in the processes of a recorded program, for the launcher.

Every Python process imports this at its start, also old versions: nothing is imported here that the
interpreter has not loaded already.
"""

import os

VARIABLE = "TORCH_TB_PROFILER_RECORD"
KEY = '"notes": "'
"""Precedes the path of the notes file, the last entry of the options in the environment. It is
searched for as text: importing ``json`` would add a fifth to the start of every process."""

PYTHON, TOO_OLD, TORCH, NO_TORCH, FAILED = "python", "old", "torch", "no torch", "failed"
"""Events: a Python process started with the recorder; it is too old; it imported torch, so the
recording starts; importing torch failed; the recorder failed."""


def with_notes_path(options: str, path: str) -> str:
    """The options as JSON with the path of the notes added, unless JSON would escape the path."""
    is_plain = path.isascii() and path.isprintable() and '"' not in path and "\\" not in path
    return options[:-1] + ", " + KEY + path + '"}' if is_plain else options


def notes_path() -> str:
    """The path of the notes file; empty if there is none."""
    text = os.environ.get(VARIABLE, "")
    start = text.rfind(KEY)
    return text[start + len(KEY) : -2] if start >= 0 else ""


def note(path: str, event: str, text: str = "") -> None:
    """Append a line; never raises and never creates the file."""
    line = "\t".join((event, str(os.getpid()), " ".join(text.split()))) + "\n"
    try:
        file = os.open(path, os.O_WRONLY | os.O_APPEND | getattr(os, "O_CLOEXEC", 0))
        try:
            os.write(file, line.encode("utf-8", "replace"))
        finally:
            os.close(file)
    except OSError:
        pass


def read(path: str) -> "list[tuple[str, int, str]]":
    """All notes as (event, process id, text); damaged lines are skipped."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = [line.rstrip("\n").split("\t", 2) for line in file]
    except OSError:
        return []
    return [(line[0], int(line[1]), line[2]) for line in lines if _is_valid(line)]


def _is_valid(line: "list[str]") -> bool:
    return len(line) == 3 and line[1].isascii() and line[1].isdigit()
