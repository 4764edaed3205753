"""How each cloud's filesystem is made: credentials, endpoints, anonymous access.

Every client finds credentials as its own SDK does, and takes its endpoint from the variable its
SDK knows: ``AWS_ENDPOINT_URL``, ``STORAGE_EMULATOR_HOST``, ``AZURE_STORAGE_CONNECTION_STRING``.
Where an SDK finds no credentials at all, the store is asked as anybody, so that public buckets
open without set-up. No listing is cached: what is shown must be what there is.
"""

from __future__ import annotations

import importlib
import logging
import os
import re
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from torch_tb_profiler.storage.errors import MAX_CAUSE_CHARS, StorageError, missing_package
from torch_tb_profiler.storage.secrets import public_url, without_secrets

ANONYMOUS_VARIABLE = "TORCH_TB_PROFILER_ANONYMOUS"
"""Set to 1: ask every store as anybody, also where this machine has credentials."""

CONNECTIONS = 32
"""Requests to S3 at once: two files read at a time, each some ranges ahead."""

_AZURE_HOST = re.compile(r"(?P<account>[a-z0-9-]+)\.(?:blob|dfs)\.core\.[a-z.]+", re.IGNORECASE)
_AZURE_SCOPE = "https://storage.azure.com/.default"
_NOISY = ("azure.identity", "azure.core.pipeline.policies.http_logging_policy", "gcsfs")
"""They log whole tracebacks and request headers of what is told to the user anyway."""

Options = dict[str, Any]


def connect(url: str) -> tuple[Any, str]:
    """The fsspec filesystem for ``url``, and the path in it. The place itself is not looked at.

    Raises:
        StorageError: ``missing_package`` when the protocol needs a package that is not installed,
            ``unreadable`` when the URL makes no sense, ``unreachable`` when the client does not
            start.
    """
    for name in _NOISY:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    protocol = url.split("://", 1)[0].lower()
    shown = public_url(url)
    try:
        return _connect(url, protocol)
    except ImportError as error:
        raise missing_package(protocol, error) from error
    except ValueError as error:
        cause = without_secrets(str(error)).rstrip(".")
        message = f"{shown} cannot be opened: {cause}."
        raise StorageError("unreadable", message, _form_of(protocol)) from error
    except Exception as error:  # each client has classes of its own, without a common base
        cause = " ".join(f"{type(error).__name__}: {without_secrets(str(error))}".split())
        message = f"{shown} cannot be opened: {cause[:MAX_CAUSE_CHARS]}"
        raise StorageError("unreachable", message, _set_up_of(protocol)) from error


def _connect(url: str, protocol: str) -> tuple[Any, str]:
    fsspec = importlib.import_module("fsspec")  # a tenth of a second local files need not pay
    options: Options = {"use_listings_cache": False}
    if protocol in ("s3", "s3a"):
        options |= _s3_options()
    elif protocol in ("gs", "gcs"):
        filesystem = _google_class()(**options, **_google_options())
        return filesystem, filesystem._strip_protocol(url)
    elif protocol in ("http", "https"):
        azure = _azure_of_https(url)
        if azure is None:
            return fsspec.core.url_to_fs(url)  # type: ignore[no-any-return]  # fsspec has no types
        url, found = azure
        options |= found
        protocol = "az"
    if protocol in ("az", "abfs", "abfss"):
        options |= _azure_options(url, options)
        filesystem, path = fsspec.core.url_to_fs(url, **options)
        _hurry(filesystem)
        return filesystem, path
    return fsspec.core.url_to_fs(url, **options)  # type: ignore[no-any-return]  # as above


def _is_anonymous() -> bool:
    return os.environ.get(ANONYMOUS_VARIABLE, "").lower() in ("1", "true", "yes")


def _s3_options() -> Options:
    importlib.import_module("s3fs")
    return {
        "anon": _is_anonymous() or not _has_aws_credentials(),
        "default_fill_cache": False,
        "config_kwargs": {"max_pool_connections": CONNECTIONS},
    }


def _has_aws_credentials() -> bool:
    session = importlib.import_module("botocore.session").Session()
    return session.get_credentials() is not None


def _google_class() -> Any:
    """The client that speaks only HTTP.

    The other one first asks each bucket for its kind by gRPC, which costs a minute where that is
    blocked or an emulator stands in; who has zonal buckets says so by gcsfs's own variable.
    """
    wanted = os.environ.get("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "").lower() in ("1", "true")
    return importlib.import_module("gcsfs" if wanted else "gcsfs.core").GCSFileSystem


def _google_options() -> Options:
    """gcsfs itself tries the SDK's default, its own cache, the machine's account, then nobody."""
    if _is_anonymous() or os.environ.get("STORAGE_EMULATOR_HOST"):
        return {"token": "anon"}
    return {}


def _azure_of_https(url: str) -> tuple[str, Options] | None:
    """``https://<account>.blob.core.windows.net/<container>/…[?<SAS>]`` as adlfs wants it."""
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


def _hurry(filesystem: Any) -> None:
    """Let the Azure client try again after a second, not a quarter of a minute: people wait.

    adlfs passes no options on to it, so its policy is set where it keeps it.
    """
    settings = getattr(filesystem.service_client, "_config", None)
    policy = getattr(settings, "retry_policy", None)
    for name, value in (("initial_backoff", 1), ("increment_base", 1), ("random_jitter_range", 1)):
        if hasattr(policy, name):
            setattr(policy, name, value)


@cache
def _has_azure_credentials() -> bool:
    """Whether the SDK's default chain gives a token; asked once, because it asks the network."""
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
    return "Known are paths and fsspec URLs such as s3://BUCKET/PREFIX."
