"""The executor of a Ray cluster, for :mod:`torch_tb_profiler.loading.ingest.run`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any, ParamSpec, TypeVar

from torch_tb_profiler.requests.errors import RequestError

RAY = "ray"
"""The scheduler of the cluster that this machine is part of; of one started for it where it is part
of none."""

RAY_ADDRESS = "ray://"
"""How the address of a Ray client server begins: ``ray://10.0.0.1:10001``."""

MAX_RETRIES = 3
"""A task whose worker dies is passed to another worker so often, as Dask does."""

P = ParamSpec("P")
T = TypeVar("T")


def is_ray(scheduler: str) -> bool:
    """Whether a scheduler is one of Ray."""
    return scheduler == RAY or scheduler.startswith(RAY_ADDRESS)


@contextmanager
def ray_executor(scheduler: str) -> Iterator[Executor]:
    """The workers of a Ray cluster: ``ray://HOST:PORT``, or ``ray`` for that of this machine.

    Raises:
        RequestError: Ray is not installed, or there is no cluster at that address.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent to anybody
    try:
        ray = import_module("ray")
    except ImportError as error:
        raise RequestError(
            "missing_package",
            f"--scheduler {scheduler[:80]} needs Ray, which is not installed.",
            "pip install 'torch-tb-profiler[ray]'",
        ) from error
    try:
        _connect(ray, scheduler)
    except (OSError, RuntimeError, TimeoutError, ValueError, ImportError) as error:
        raise RequestError(
            "no_scheduler",
            f"There is no Ray cluster at {scheduler[:200]}.",
            "Start one with 'ray start --head --ray-client-server-port 10001', or use "
            "--scheduler ray on a machine of the cluster. Python and Ray must have the same "
            "versions there.",
        ) from error
    executor = RayExecutor(ray)
    try:
        yield executor
    finally:
        executor.shutdown(cancel_futures=True)
        ray.shutdown()


def _connect(ray: Any, scheduler: str) -> None:
    logging_off = {"log_to_driver": False, "configure_logging": False}
    if scheduler != RAY:
        ray.init(address=scheduler, **logging_off)
        return
    try:
        ray.init(address="auto", **logging_off)
    except ConnectionError:
        # Whoever reaches a cluster can run code on it: one of this machine alone listens to it.
        ray.init(
            address="local", include_dashboard=False, _node_ip_address="127.0.0.1", **logging_off
        )


class RayExecutor(Executor):
    """Runs functions as tasks of Ray; :meth:`shutdown` cancels what is left."""

    def __init__(self, ray: Any) -> None:
        """The cluster that ``ray``, the module, is connected to."""
        self._ray = ray
        self._call = ray.remote(max_retries=MAX_RETRIES)(_call)
        self._left: dict[Future[Any], Any] = {}

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """As :meth:`concurrent.futures.Executor.submit`."""
        reference = self._call.remote(fn, args, kwargs)
        future: Future[T] = reference.future()
        self._left[future] = reference
        future.add_done_callback(lambda done: self._left.pop(done, None))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002
        """Cancel the remaining tasks; the cluster keeps running."""
        for reference in list(self._left.values()):
            with suppress(Exception):  # it ended, or the cluster did
                self._ray.cancel(reference)
        self._left.clear()


def _call(fn: Callable[..., T], args: tuple[Any, ...], kwargs: dict[str, Any]) -> T:
    """Runs on a worker of Ray."""
    return fn(*args, **kwargs)
