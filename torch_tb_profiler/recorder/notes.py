"""What happened in the processes of a recorded program, for whoever started it: a line each.

Any Python runs this as it starts, an old one too; so nothing is imported that it has not loaded.
"""

import os

VARIABLE = "TORCH_TB_PROFILER_RECORD"
KEY = '"notes": "'
"""What stands before the path of the notes, which ends the options in the environment. Looked for
as text: reading JSON would cost every process of a program a fifth of its start."""

PYTHON, OLD, TORCH, NO_TORCH, FAILED = "python", "old", "torch", "no torch", "failed"
"""A Python started with us, or one that is too old for us; torch is imported, and its process
recorded if it works; torch could not be imported; we failed."""


def with_place(options: str, path: str) -> str:
    """Options in JSON with the path of the notes, unless JSON would write it otherwise."""
    is_plain = path.isascii() and path.isprintable() and '"' not in path and "\\" not in path
    return options[:-1] + ", " + KEY + path + '"}' if is_plain else options


def place() -> str:
    """The path of the notes; empty where there are none."""
    text = os.environ.get(VARIABLE, "")
    start = text.rfind(KEY)
    return text[start + len(KEY) : -2] if start >= 0 else ""


def note(path: str, event: str, text: str = "") -> None:
    """Append a line; it never raises, and makes no file."""
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
    """Every note: event, process id, text. Damaged lines are left out."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = [line.rstrip("\n").split("\t", 2) for line in file]
    except OSError:
        return []
    return [(line[0], int(line[1]), line[2]) for line in lines if _is_whole(line)]


def _is_whole(line: "list[str]") -> bool:
    return len(line) == 3 and line[1].isascii() and line[1].isdigit()
