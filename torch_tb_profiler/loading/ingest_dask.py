"""The executor of a Dask cluster, for :mod:`torch_tb_profiler.loading.ingest_run`."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from importlib import import_module

from torch_tb_profiler.loading.errors import RequestError

CONNECT_S = 20


@contextmanager
def dask_executor(scheduler: str) -> Iterator[Executor]:
    """The workers behind the scheduler at an address like ``tcp://10.0.0.1:8786``.

    A task whose worker dies is given to another one by the scheduler, three times.

    Raises:
        RequestError: Dask is not installed, or there is no scheduler at that address.
    """
    try:
        distributed = import_module("distributed")
    except ImportError as error:
        raise RequestError(
            "missing_package",
            "--scheduler needs dask.distributed, which is not installed.",
            "pip install 'torch-tb-profiler[dask]'",
        ) from error
    try:
        client = distributed.Client(scheduler, timeout=CONNECT_S, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise RequestError(
            "no_scheduler",
            f"There is no Dask scheduler at {scheduler}.",
            "Start one with 'dask scheduler', and workers with 'dask worker ADDRESS'.",
        ) from error
    with client:
        # Not pure: a changed file must be looked at again, whatever was computed before.
        yield client.get_executor(pure=False)
