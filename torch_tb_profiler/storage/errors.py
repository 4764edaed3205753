"""What goes wrong with places and files, told so that a user can act on it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class StorageError(Exception):
    """A place that cannot be read.

    Attributes:
        code: Stable name for scripts: ``not_found``, ``permission_denied``, ``not_a_file``,
            ``outside_logdir``, ``missing_package``, ``unreadable``, ``unreachable``, ``no_traces``.
        message: Place and cause.
        hint: The next step, or None.
    """

    def __init__(self, code: str, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint


def from_os_error(error: OSError, url: str) -> StorageError:
    """The :class:`StorageError` that tells of ``error`` at ``url``."""
    if isinstance(error, FileNotFoundError):
        hint = "Check the path; relative paths start at the current folder."
        return StorageError("not_found", f"{url} does not exist.", hint)
    if isinstance(error, PermissionError):
        hint = "Give this user read permission, or run as a user who has it."
        return StorageError("permission_denied", f"No permission to read {url}.", hint)
    cause = error.strerror or str(error) or type(error).__name__
    return StorageError("unreadable", f"{url} cannot be read: {cause}.")


@contextmanager
def remote_errors(url: str) -> Iterator[None]:
    """Turn whatever a cloud client raises inside into a :class:`StorageError` about ``url``.

    The clients raise classes of their own (credentials, DNS, HTTP), which share no base but
    Exception.
    """
    try:
        yield
    except (StorageError, GeneratorExit):
        raise
    except (FileNotFoundError, PermissionError) as error:
        raise from_os_error(error, url) from error
    except Exception as error:
        cause = f"{type(error).__name__}: {error}"[:300]
        hint = "Check the address, the network and the credentials of this machine."
        raise StorageError("unreachable", f"{url} cannot be read: {cause}", hint) from error
