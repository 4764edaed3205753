"""``torch-tb-profiler open``: serves the pages and opens them in the browser."""

from __future__ import annotations

import threading
import webbrowser
from argparse import Namespace
from urllib.parse import urlsplit

from torch_tb_profiler.cli import serve_command
from torch_tb_profiler.cli.exits import print_message


def run(arguments: Namespace) -> int:
    """Serve until interrupted, and open the address in the browser.

    Returns:
        See :func:`torch_tb_profiler.cli.serve_command.run`.
    """
    return serve_command.run(arguments, announce=_announce)


def _announce(text: str) -> None:
    print(text, flush=True)
    if urlsplit(text).scheme == "http":
        # A terminal browser blocks its caller, and the page needs the server.
        threading.Thread(target=_open, args=(text,), name="browser", daemon=True).start()


def _open(address: str) -> None:
    if not webbrowser.open(address):
        print_message("No browser could be opened. Please open the address yourself.")
