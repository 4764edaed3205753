"""``torch-tb-profiler serve``: the app behind a threaded server until it is interrupted."""

from __future__ import annotations

import ipaddress
import logging
import socket
from collections.abc import Callable, Collection

from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server

from torch_tb_profiler.loading.catalog import Catalog, Place
from torch_tb_profiler.loading.errors import OpenError
from torch_tb_profiler.loading.parsing import Parser
from torch_tb_profiler.loading.trace_store import TraceStore
from torch_tb_profiler.server.app import LOOPBACK_HOSTS, standalone_app
from torch_tb_profiler.server.site import Site
from torch_tb_profiler.storage.cache_folder import CacheFolder
from torch_tb_profiler.storage.discovery import is_folder
from torch_tb_profiler.storage.errors import StorageError
from torch_tb_profiler.storage.locations import file_state, open_location
from torch_tb_profiler.views.registry import all_views

DEFAULT_PORT = 6007
"""Next to TensorBoard's 6006."""


class _QuietHandler(WSGIRequestHandler):
    """Says nothing about each request; errors still go to the log."""

    protocol_version = "HTTP/1.1"
    timeout = 60.0

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """No line per request."""


def make_app_server(
    url: str, *, port: int, host: str, cache: CacheFolder | None, workers: int | None = None
) -> BaseWSGIServer:
    """A server of the place ``url``, bound but not serving yet; ``port`` 0 takes a free one.

    Raises:
        OpenError: the place does not exist or cannot be reached.
        OSError: the address cannot be bound.
    """
    try:
        location = open_location(url)
        if not is_folder(location):
            file_state(location)
    except StorageError as error:
        raise OpenError(error.code, error.message, error.hint) from error
    store = TraceStore(cache=cache, parser=Parser(workers, takes_part=False))
    catalog = Catalog([Place(url)], cache=cache, store=store)
    app = standalone_app(Site(catalog, "standalone"), allowed_hosts=allowed_hosts(host))
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Bound here, because werkzeug ends the process when it cannot bind.
    with socket.create_server((host, port), family=family) as bound:
        return make_server(
            host, port, app, threaded=True, request_handler=_QuietHandler, fd=bound.fileno()
        )


def serve(
    url: str,
    *,
    port: int = DEFAULT_PORT,
    host: str = "127.0.0.1",
    cache: CacheFolder | None = None,
    workers: int | None = None,
    announce: Callable[[str], None] = print,
) -> None:
    """Serve the pages of the place ``url`` until Ctrl-C.

    Args:
        url: Path or URL of a logdir or a trace file.
        port: TCP port; 0 takes a free one.
        host: Address to listen on; anything but loopback opens the traces to the network.
        cache: Where parsed traces are kept, or None.
        workers: Cores that parse; None for all this process may use.
        announce: Gets the URL when the server listens.

    Raises:
        OpenError: the place does not exist or cannot be reached.
        OSError: the address cannot be bound (in use, not of this machine).
    """
    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    server = make_app_server(url, port=port, host=host, cache=cache, workers=workers)
    all_views()  # their modules are loaded before anybody waits for an answer
    announce(server_url(server, host))
    server.serve_forever()  # returns on Ctrl-C, with the socket closed
    announce("Stopped.")


def server_url(server: BaseWSGIServer, host: str) -> str:
    """The address to open in a browser on this machine."""
    shown = f"[{host}]" if ":" in host else host
    if host in ("0.0.0.0", "::"):
        shown = "localhost"
    return f"http://{shown}:{server.port}/"


def allowed_hosts(host: str) -> Collection[str] | None:
    """Names that a server listening on ``host`` answers to; None (all) when it is not loopback."""
    try:
        is_loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_loopback = host == "localhost"
    if not is_loopback:
        return None
    return LOOPBACK_HOSTS | {f"[{host}]" if ":" in host else host}
