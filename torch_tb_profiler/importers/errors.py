"""The exception of every importer: a file that is not a readable trace, why, and what to do."""

from __future__ import annotations

RAISE_LIMIT_HINT = "It is damaged, or written to take long. If you trust it, raise the limit."
"""What to do about a file that exceeds the budget; the message names the limit."""


class TraceFormatError(Exception):
    """A file cannot be read as a trace.

    Attributes:
        code: The reason, machine-readable: ``empty_file``, ``not_json``, ``lfs_pointer``,
            ``html_page``, ``no_events``, ``other_protobuf``, ``not_a_trace``, ``gzip_unreadable``,
            ``truncated`` (before its first event), ``unpacks_too_far``,
            ``not_a_database``, ``encrypted_database``, ``unfinished_database``,
            ``damaged_database``.
        message: What is wrong, naming the file.
        hint: What to do next.
    """

    def __init__(self, code: str, message: str, hint: str) -> None:
        super().__init__(f"{message} {hint}")
        self.code = code
        self.message = message
        self.hint = hint

    def __reduce__(self) -> tuple[type[TraceFormatError], tuple[str, str, str]]:
        """Pickle all three attributes, so that the error can cross a process boundary."""
        return type(self), (self.code, self.message, self.hint)
