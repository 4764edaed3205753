"""``torch-tb-profiler serve``: runs the app in its own server until it is interrupted."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
from collections.abc import Callable, Collection
from urllib.parse import quote

from torch_tb_profiler.importers import ReadOptions
from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.loading.opening.parsing import Parser
from torch_tb_profiler.loading.store.trace_store import TraceStore
from torch_tb_profiler.loading.user_rules import RulesSource
from torch_tb_profiler.requests.errors import OpenError
from torch_tb_profiler.server.access import Access
from torch_tb_profiler.server.app import LOOPBACK_HOSTS, standalone_app
from torch_tb_profiler.server.http_server import HttpServer
from torch_tb_profiler.server.limits import AnswerLimits, ConnectionLimits
from torch_tb_profiler.server.site import Site
from torch_tb_profiler.storage.cache_folder import CacheFolder
from torch_tb_profiler.storage.discovery import is_folder
from torch_tb_profiler.storage.errors import StorageError
from torch_tb_profiler.storage.locations import file_state, open_location
from torch_tb_profiler.views.registry import all_views

EVERY_ADDRESS = ("0.0.0.0", "::")


def make_app_server(
    url: str,
    *,
    port: int,
    host: str,
    cache: CacheFolder | None,
    workers: int | None = None,
    token: str | None = None,
    options: ReadOptions | None = None,
    follows_links: bool = False,
    allowed_names: Collection[str] = (),
    rules: RulesSource | None = None,
    answer_limits: AnswerLimits | None = None,
    connection_limits: ConnectionLimits | None = None,
) -> HttpServer:
    """A server for the traces at ``url``, bound but not serving yet; ``port`` 0 takes a free one.

    Raises:
        OpenError: ``url`` does not exist or cannot be reached.
        OSError: the address cannot be bound.
    """
    try:
        location = open_location(url)
        if not is_folder(location):
            file_state(location)
    except StorageError as error:
        raise OpenError.of(error) from error
    store = TraceStore(cache=cache, parser=Parser(workers, parses_in_process=False), rules=rules)
    root = TraceRoot(url, options=options or ReadOptions(), follows_links=follows_links)
    catalog = Catalog([root], cache=cache, store=store)
    app = standalone_app(
        Site(catalog, "standalone"),
        allowed_hosts=allowed_hosts(host, allowed_names),
        access=None if token is None else Access(token),
        limits=answer_limits,
    )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.create_server((host, port), family=family)
    return HttpServer(app, bound, connection_limits or ConnectionLimits())


def serve(
    url: str,
    *,
    port: int,
    host: str = "127.0.0.1",
    cache: CacheFolder | None = None,
    workers: int | None = None,
    token: str | None = None,
    options: ReadOptions | None = None,
    follows_links: bool = False,
    allowed_names: Collection[str] = (),
    rules: RulesSource | None = None,
    announce: Callable[[str], None] = print,
) -> None:
    """Serve the pages for the traces at ``url`` until Ctrl-C.

    Args:
        url: Path or URL of a logdir or a trace file.
        port: TCP port; 0 takes a free one.
        host: Address to listen on; anything but loopback exposes the traces to the network.
        cache: Cache of parsed traces, or None.
        workers: Processes that parse; None for all cores this process may use.
        token: Token required of clients (:mod:`torch_tb_profiler.server.access`), or None.
        options: How traces are read; None for the default.
        follows_links: Whether links that lead out of ``url`` are followed.
        allowed_names: Host names to answer to in addition to those of ``host``.
        rules: The user's rules for kernels; None finds them.
        announce: Receives the URL and further messages once the server listens.

    Raises:
        OpenError: ``url`` does not exist or cannot be reached.
        OSError: the address cannot be bound (in use, not of this machine).
    """
    server = make_app_server(
        url,
        port=port,
        host=host,
        cache=cache,
        workers=workers,
        token=token,
        options=options,
        follows_links=follows_links,
        allowed_names=allowed_names,
        rules=rules,
    )
    _until_interrupted(server, host, token, announce)


def _until_interrupted(
    server: HttpServer, host: str, token: str | None, announce: Callable[[str], None]
) -> None:
    """Announce where the server listens, and serve."""
    with contextlib.closing(server):
        all_views()  # import their modules before the first request
        # Ctrl-C may arrive before the server serves.
        with contextlib.suppress(KeyboardInterrupt):
            announce(server_url(server, host, token))
            if token is None and not is_loopback(host):
                announce(
                    f"Anybody who can reach port {server.port} can read these traces. "
                    "Use --token to require a token."
                )
            server.serve_forever()
    announce("Stopped.")


def server_url(server: HttpServer, host: str, token: str | None = None) -> str:
    """The address to open in a browser on this machine."""
    shown = f"[{host}]" if ":" in host else host
    if host in EVERY_ADDRESS:
        shown = "localhost"
    query = "" if token is None else f"?token={quote(token, safe='')}"
    return f"http://{shown}:{server.port}/{query}"


def is_loopback(host: str) -> bool:
    """Whether a server that listens on ``host`` is reachable only from this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def allowed_hosts(host: str, names: Collection[str] = ()) -> Collection[str] | None:
    """Host names that a server listening on ``host`` answers to; None for all.

    Args:
        host: Address; other than loopback it answers to all names, unless some are given.
        names: Additional names to answer to.
    """
    if not is_loopback(host) and not names:
        return None
    own = set() if host in EVERY_ADDRESS else {f"[{host}]" if ":" in host else host.lower()}
    return LOOPBACK_HOSTS | own | set(names)
