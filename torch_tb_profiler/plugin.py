"""The TensorBoard plugin: the same app as ``torch-tb-profiler serve``, mounted in TensorBoard."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable
from typing import Any

from tensorboard.plugins import base_plugin

from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.loading.opening.parsing import Parser
from torch_tb_profiler.loading.store.trace_store import TraceStore
from torch_tb_profiler.loading.user_rules import RulesSource, find_rules
from torch_tb_profiler.server.app import App
from torch_tb_profiler.server.routes import PREFIX_ROUTES, ROUTES
from torch_tb_profiler.server.site import Site
from torch_tb_profiler.storage.cache_folder import CacheFolder
from torch_tb_profiler.storage.cache_location import user_cache_folder
from torch_tb_profiler.storage.errors import StorageError
from torch_tb_profiler.storage.locations import is_url
from torch_tb_profiler.storage.shared_cache import open_cache

_LOGGER = logging.getLogger(__name__)

FIRST_SCAN_WAIT_S = 0.1
"""How long TensorBoard's first request may wait, so that a small logdir shows its tab at once."""


class TorchProfilerPlugin(base_plugin.TBPlugin):  # type: ignore[misc]  # TensorBoard has no types
    """Shows PyTorch profiler traces in TensorBoard's logdir."""

    plugin_name = "pytorch_profiler"

    def __init__(self, context: base_plugin.TBContext) -> None:
        super().__init__(context)
        cache = _cache()
        store = TraceStore(cache=cache, parser=Parser(parses_in_process=False), rules=_rules())
        self._catalog = Catalog(_roots(context), cache=cache, store=store)
        self._catalog.contents(0)  # start the scan while TensorBoard is starting

    def is_active(self) -> bool:
        """Whether there are traces, as far as known; waits only for the first scan."""
        return bool(self._catalog.contents(FIRST_SCAN_WAIT_S).runs)

    def frontend_metadata(self) -> base_plugin.FrontendMetadata:
        """The tab and its JavaScript module."""
        return base_plugin.FrontendMetadata(
            es_module_path="/index.js", tab_name="PyTorch Profiler", disable_reload=True
        )

    def get_plugin_apps(self) -> dict[str, Callable[..., Iterable[bytes]]]:
        """The app under each route, which TensorBoard prefixes with its path for plugins."""
        prefix = f"/data/plugin/{self.plugin_name}/"
        app = App(
            Site(self._catalog, "tensorboard"),
            api_prefix=prefix,
            page_prefix=prefix,
            allowed_hosts=None,
        )
        pages = ("index.js", "index.html", "assets/*")
        prefixes = (f"{name}/*" for name in PREFIX_ROUTES)
        return {f"/{route}": app for route in (*ROUTES, *prefixes, *pages)}


def _cache() -> CacheFolder:
    """The cache set by the environment. One that cannot be opened must not stop TensorBoard."""
    try:
        return open_cache()
    except StorageError as error:
        _LOGGER.warning("parsed traces are cached on this machine only: %s", error.message)
        return CacheFolder(user_cache_folder())


def _rules() -> RulesSource:
    """The user's rules for kernels. A file that cannot be used is named on the pages too."""
    source = find_rules()
    problem = source.current().problem
    if problem is not None:
        _LOGGER.warning("rules for kernels are not applied: %s", problem)
    return source


def _roots(context: Any) -> list[TraceRoot]:
    """TensorBoard's ``--logdir``, or each of ``--logdir_spec name:path,…``."""
    flags = getattr(context, "flags", None)
    spec = getattr(flags, "logdir_spec", None)
    if spec and not getattr(flags, "logdir", None):
        return [_named_root(part.strip()) for part in spec.split(",") if part.strip()]
    return [TraceRoot(context.logdir)] if context.logdir else []


def _named_root(part: str) -> TraceRoot:
    """``name:path``, or a path: one that is a URL, begins with a slash or has a drive."""
    name, _, path = part.partition(":")
    if is_url(part) or part.startswith("/") or os.path.splitdrive(part)[0] or not path:
        return TraceRoot(part)
    return TraceRoot(path, name)
