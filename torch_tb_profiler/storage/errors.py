"""Errors of files and stores, worded so that a user can act on them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch_tb_profiler.storage.deadlines import TIMEOUT_VARIABLE, NoAnswerError
from torch_tb_profiler.storage.secrets import public_url, without_secrets

CHANGED = "changed"
NOT_FOUND = "not_found"
MAX_CAUSE_CHARS = 300

_EXTRAS = {
    "s3": "s3",
    "s3a": "s3",
    "gs": "gs",
    "gcs": "gs",
    "az": "blob",
    "abfs": "blob",
    "abfss": "blob",
    "http": "blob",
    "https": "blob",
    "hdfs": "hdfs",
}
"""Protocol → extra of this package that can read it."""

_CREDENTIALS = {
    "s3": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or the machine's role",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS, or run: gcloud auth application-default login",
    "blob": "AZURE_STORAGE_CONNECTION_STRING, AZURE_STORAGE_ACCOUNT_KEY, or run: az login",
    "hdfs": "the Kerberos ticket (klist) and the rights of this user",
}
"""Extra → where its SDK looks for credentials."""

_DENIED_STATUS = {401, 403}
_DENIED_NAMES = ("Credential", "Auth", "SSO", "RefreshError", "ProfileNotFound", "TokenRetrieval")
_DENIED_WORDS = ("Forbidden", "InvalidAccessKeyId", "SignatureDoesNotMatch", "AccessDenied")


class StorageError(Exception):
    """A file, folder or store that cannot be read.

    Attributes:
        code: Stable name for scripts: ``not_found``, ``permission_denied``, ``not_a_file``,
            ``outside_logdir``, ``missing_package``, ``unreadable``, ``unreachable``, ``changed``,
            ``no_traces``.
        message: Location and cause.
        hint: The next step, or None.
    """

    def __init__(self, code: str, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint


class ShortRangeError(OSError):
    """A store returned a different number of bytes than requested: the object was replaced."""


def from_os_error(error: OSError, url: str) -> StorageError:
    """The :class:`StorageError` for an ``OSError`` at the local path ``url``."""
    if isinstance(error, FileNotFoundError):
        hint = "Check the path; relative paths start at the current folder."
        return StorageError("not_found", f"{url} does not exist.", hint)
    if isinstance(error, PermissionError):
        hint = "Give this user read permission, or run as a user who has it."
        return StorageError("permission_denied", f"No permission to read {url}.", hint)
    cause = error.strerror or str(error) or type(error).__name__
    return StorageError("unreadable", f"{url} cannot be read: {cause}.")


def missing_package_error(protocol: str, error: ImportError) -> StorageError:
    """The error for a protocol whose package is not installed."""
    extra = _EXTRAS.get(protocol)
    hint = f"pip install 'torch-tb-profiler[{extra}]'" if extra else f"{error}"
    message = f"Reading {protocol}:// needs a package that is not installed."
    return StorageError("missing_package", message, hint)


def no_bucket_error(url: str, bucket: str) -> StorageError:
    """The error for a bucket or container that does not exist."""
    hint = "Check the name, the account and the endpoint."
    return StorageError("not_found", f"{url}: there is no bucket {bucket!r}.", hint)


def changed_error(url: str) -> StorageError:
    """The error for a file that was replaced while it was read."""
    hint = "Open it again when its writer is done."
    return StorageError(CHANGED, f"{url} changed while it was read.", hint)


def gone_error(url: str) -> StorageError:
    """The error for a file that was discovered and no longer exists."""
    hint = "Choose another run. A new file with this name appears automatically."
    return StorageError(NOT_FOUND, f"{url} no longer exists: it was deleted or renamed.", hint)


@contextmanager
def remote_errors(url: str) -> Iterator[None]:
    """Turn whatever a cloud client raises inside into a :class:`StorageError` about ``url``.

    The clients raise their own classes (credentials, DNS, HTTP), which share no base but Exception.
    """
    try:
        yield
    except (StorageError, GeneratorExit):
        raise
    except Exception as error:
        raise from_remote_error(error, public_url(url)) from error


def is_permanent(error: BaseException) -> bool:
    """True for errors that a retry would meet again: missing, or not allowed."""
    return isinstance(error, FileNotFoundError | StorageError) or _is_denied(error)


def from_remote_error(error: Exception, url: str) -> StorageError:
    """The :class:`StorageError` for what a cloud client raised about ``url``."""
    error = _underlying(error)
    if isinstance(error, FileNotFoundError):
        bucket = url.partition("://")[2].partition("/")[0]
        if "bucket does not exist" in str(error):
            return no_bucket_error(url, bucket)
        return StorageError("not_found", f"{url} does not exist.", "Check bucket and prefix.")
    if isinstance(error, NoAnswerError):
        hint = f"Check the endpoint and the network; {TIMEOUT_VARIABLE} sets the timeout."
        return StorageError("unreachable", f"{url} cannot be read: {error}.", hint)
    cause = " ".join(f"{type(error).__name__}: {without_secrets(str(error))}".split())
    cause = cause[:MAX_CAUSE_CHARS].removesuffix(": ")
    if _is_denied(error):
        where = _CREDENTIALS.get(_EXTRAS.get(url.partition("://")[0], ""), "this machine's access")
        message = f"The store denied read access to {url} ({cause})"
        return StorageError("permission_denied", message, f"Check {where}.")
    hint = "Check the address, the endpoint and the network; several attempts failed."
    return StorageError("unreachable", f"{url} cannot be read: {cause}", hint)


def _underlying(error: Exception) -> Exception:
    """The error behind a client's own: fsspec's HTTP client reports any file of a server that does
    not exist or does not answer as not found."""
    cause = error.__cause__
    # aiohttp's timeouts are not an OSError before Python 3.11.
    is_timeout = isinstance(cause, TimeoutError) or "Timeout" in type(cause).__name__
    if isinstance(cause, Exception) and isinstance(error, FileNotFoundError) and is_timeout:
        return cause
    if isinstance(cause, OSError) and not isinstance(cause, FileNotFoundError | TimeoutError):
        return cause
    return error


def _is_denied(error: BaseException) -> bool:
    cause: BaseException | None = error
    while cause is not None:
        status = getattr(cause, "status_code", getattr(cause, "code", None))
        if isinstance(cause, PermissionError) or _is_denied_status(status):
            return True
        if any(part in type(cause).__name__ for part in _DENIED_NAMES):
            return True
        if any(word in str(cause) for word in _DENIED_WORDS):
            return True
        cause = cause.__cause__
    return False


def _is_denied_status(status: object) -> bool:
    return str(status).isdigit() and int(str(status)) in _DENIED_STATUS
