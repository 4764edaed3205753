"""Connect to cloud stores: credentials, endpoints, anonymous access.

Every client finds credentials as its own SDK does, and takes its endpoint from the variable of its
SDK: ``AWS_ENDPOINT_URL``, ``STORAGE_EMULATOR_HOST``, ``AZURE_STORAGE_CONNECTION_STRING``. Without
any credentials the store is accessed anonymously, so that public buckets open without setup.
Listings are not cached, so that new files appear. Every client gives up a connection that does not
open or an answer that stalls (:mod:`storage.deadlines` limits the request as a whole).
"""

from __future__ import annotations

import importlib
import logging
import os
import re
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from torch_tb_profiler.storage.deadlines import (
    CONNECT_SHARE,
    READ_SHARE,
    NoAnswerError,
    call,
    remote_timeout_s,
)
from torch_tb_profiler.storage.environment import is_set
from torch_tb_profiler.storage.errors import (
    MAX_CAUSE_CHARS,
    StorageError,
    missing_package_error,
)
from torch_tb_profiler.storage.secrets import public_url, without_secrets

ANONYMOUS_VARIABLE = "TORCH_TB_PROFILER_ANONYMOUS"
"""If 1, every store is accessed anonymously, even if this machine has credentials."""

CONNECTIONS = 32
"""Concurrent requests to S3: two files read at a time, each several ranges ahead."""

_ANONYMOUS_HINT = (
    f"Check the network; {ANONYMOUS_VARIABLE}=1 accesses the store without credentials."
)

_PACKAGES = {
    **dict.fromkeys(("s3", "s3a"), "s3fs"),
    **dict.fromkeys(("gs", "gcs"), "gcsfs"),
    **dict.fromkeys(("az", "abfs", "abfss"), "adlfs"),
    **dict.fromkeys(("http", "https"), "aiohttp"),
}
"""Imported before the deadline of a request starts: on a busy machine that takes seconds."""

S3_ATTEMPTS = 3
"""Per request to S3, unless ``AWS_MAX_ATTEMPTS`` is set."""

_AZURE_HOST = re.compile(r"(?P<account>[a-z0-9-]+)\.(?:blob|dfs)\.core\.[a-z.]+", re.IGNORECASE)
_AZURE_SCOPE = "https://storage.azure.com/.default"
_VERBOSE_LOGGERS = ("azure.identity", "azure.core.pipeline.policies.http_logging_policy", "gcsfs")
"""They log whole tracebacks and request headers of errors that the user sees anyway."""

Options = dict[str, Any]


def connect(url: str) -> tuple[Any, str]:
    """The fsspec filesystem for ``url``, and the path in it. Nothing is read.

    Raises:
        StorageError: ``missing_package`` when the protocol needs a package that is not installed,
            ``unreadable`` when the URL is malformed, ``unreachable`` when the client does not
            start, or takes too long to find credentials.
    """
    for name in _VERBOSE_LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    protocol = url.split("://", 1)[0].lower()
    shown = public_url(url)
    try:
        importlib.import_module(_PACKAGES.get(protocol, "fsspec"))
        return call(f"connect {protocol}://{urlsplit(url).netloc}", lambda: _connect(url, protocol))
    except NoAnswerError as error:
        cause = f"looking for credentials and starting the client: {error}."
        message = f"{shown} cannot be opened; {cause}"
        raise StorageError("unreachable", message, _ANONYMOUS_HINT) from error
    except ImportError as error:
        raise missing_package_error(protocol, error) from error
    except ValueError as error:
        cause = without_secrets(str(error)).rstrip(".")
        message = f"{shown} cannot be opened: {cause}."
        raise StorageError("unreadable", message, _form_of(protocol)) from error
    except Exception as error:  # clients share no base class
        cause = " ".join(f"{type(error).__name__}: {without_secrets(str(error))}".split())
        message = f"{shown} cannot be opened: {cause[:MAX_CAUSE_CHARS]}"
        raise StorageError("unreachable", message, _set_up_of(protocol)) from error


def _connect(url: str, protocol: str) -> tuple[Any, str]:
    fsspec = importlib.import_module("fsspec")  # a tenth of a second that local files do not need
    options: Options = {"use_listings_cache": False}
    if protocol in ("s3", "s3a"):
        return _client("s3_client", "S3Client", url, options | _s3_options())
    if protocol in ("gs", "gcs"):
        filesystem = _google_class()(**options, **_google_options())
        return filesystem, filesystem._strip_protocol(url)
    if protocol in ("http", "https"):
        azure = _azure_of_https(url)
        if azure is None:
            http = {"client_kwargs": _session_options()}
            return fsspec.core.url_to_fs(url, **http)  # type: ignore[no-any-return]  # no types
        url, account = azure
        options |= account
        protocol = "az"
    if protocol in ("az", "abfs", "abfss"):
        return _client("azure_client", "AzureClient", url, options | _azure_options(url, options))
    return fsspec.core.url_to_fs(url, **options)  # type: ignore[no-any-return]  # as above


def _client(module: str, name: str, url: str, options: Options) -> tuple[Any, str]:
    """The client class ``name`` for ``url``, with the options that the URL itself contains."""
    kind = getattr(importlib.import_module(f"torch_tb_profiler.storage.{module}"), name)
    return kind(**(kind._get_kwargs_from_urls(url) | options)), kind._strip_protocol(url)


def _session_options() -> Options:
    module = importlib.import_module("torch_tb_profiler.storage.http_client")
    options: Options = module.session_options()
    return options


def _is_anonymous() -> bool:
    return is_set(ANONYMOUS_VARIABLE)


def _s3_options() -> Options:
    client = importlib.import_module("torch_tb_profiler.storage.s3_client")
    limit_s = remote_timeout_s()
    settings: Options = {
        "max_pool_connections": CONNECTIONS,
        "connect_timeout": CONNECT_SHARE * limit_s,
        "read_timeout": READ_SHARE * limit_s,
        "http_session_cls": client.ProgressSession,
    }
    if "AWS_MAX_ATTEMPTS" not in os.environ:
        settings["retries"] = {"total_max_attempts": S3_ATTEMPTS, "mode": "standard"}
    return {
        "anon": _is_anonymous() or not _has_aws_credentials(),
        "default_fill_cache": False,
        "config_kwargs": settings,
    }


def _has_aws_credentials() -> bool:
    session = importlib.import_module("botocore.session").Session()
    return session.get_credentials() is not None


def _google_class() -> Any:
    """The client that uses only HTTP.

    The other one first requests each bucket's kind over gRPC, which takes a minute where that is
    blocked or an emulator is used; users of zonal buckets enable it by gcsfs's own variable.
    """
    clients = importlib.import_module("torch_tb_profiler.storage.google_client")
    wanted = os.environ.get("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "").lower() in ("1", "true")
    return clients.ZonalGoogleClient if wanted else clients.GoogleClient


def _google_options() -> Options:
    """gcsfs itself tries the SDK's default, its own cache, the machine's account, then anonymous
    access."""
    options: Options = {"session_kwargs": _session_options()}
    if _is_anonymous() or os.environ.get("STORAGE_EMULATOR_HOST"):
        options["token"] = "anon"
    return options


def _azure_of_https(url: str) -> tuple[str, Options] | None:
    """``https://<account>.blob.core.windows.net/<container>/…[?<SAS>]`` in adlfs's form."""
    parts = urlsplit(url)
    match = _AZURE_HOST.fullmatch(parts.hostname or "")
    if match is None:
        return None
    container, _, path = parts.path.strip("/").partition("/")
    if not container:
        raise ValueError("the address names no container")
    options: Options = {"account_name": match["account"], "account_host": parts.hostname}
    if "sig=" in parts.query:
        options["sas_token"] = parts.query
    return f"az://{container}/{path}", options


def _azure_options(url: str, known: Options) -> Options:
    importlib.import_module("adlfs")
    if _is_anonymous():
        return {"anon": True}
    given = ("CONNECTION_STRING", "ACCOUNT_KEY", "SAS_TOKEN", "CLIENT_ID", "ANON")
    if "sas_token" in known or any(os.environ.get(f"AZURE_STORAGE_{name}") for name in given):
        return {}
    has_account = "account_name" in known or "@" in urlsplit(url).netloc
    if not has_account and not os.environ.get("AZURE_STORAGE_ACCOUNT_NAME"):
        raise ValueError("no storage account is named")
    return {"anon": not _has_azure_credentials()}


@cache
def _has_azure_credentials() -> bool:
    """Whether the SDK's default chain gives a token; cached, because it uses the network."""
    identity = importlib.import_module("azure.identity")
    errors = importlib.import_module("azure.core.exceptions")
    try:
        with identity.DefaultAzureCredential() as credential:
            credential.get_token(_AZURE_SCOPE)
    except errors.ClientAuthenticationError:
        return False
    return True


def _set_up_of(protocol: str) -> str:
    if protocol == "hdfs":
        return (
            "hdfs:// needs a Hadoop client: JAVA_HOME, HADOOP_HOME and "
            "CLASSPATH=$(hadoop classpath --glob)."
        )
    return "Check the configuration of this store's client on this machine."


def _form_of(protocol: str) -> str:
    if protocol in ("az", "abfs", "abfss", "http", "https"):
        return (
            "Set AZURE_STORAGE_CONNECTION_STRING or AZURE_STORAGE_ACCOUNT_NAME, or write "
            "https://ACCOUNT.blob.core.windows.net/CONTAINER/PREFIX."
        )
    return "Use a path or an fsspec URL such as s3://BUCKET/PREFIX."
