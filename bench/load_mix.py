"""What clients of a server ask, by chance: views with random parameters, comparisons, screens of
the timeline, slices and downloads; and how one of them hangs up."""

from __future__ import annotations

import random
import socket
from collections.abc import Sequence
from contextlib import suppress

from torch_tb_profiler.views.registry import all_views
from torch_tb_profiler.views.spec import ViewSpec

END_NS = 500_000_000
"""Longer than most samples: some screens are empty."""


class Mix:
    """Paths of random questions.

    Args:
        abouts: Queries that name a trace each.
    """

    def __init__(self, abouts: Sequence[str]) -> None:
        specs = [spec for spec in all_views().values() if spec.on_pages]
        self._abouts = abouts
        self._of_one = [spec for spec in specs if spec.scope != "pair"]
        self._of_two = [spec for spec in specs if spec.scope == "pair"]

    def question(self, chance: random.Random) -> str:
        """A path and query."""
        kinds = (self._view, self._pair, self._screen, self._timeline, self._file)
        return chance.choices(kinds, (60, 10, 18, 10, 2))[0](chance)

    def _view(self, chance: random.Random) -> str:
        spec = chance.choice(self._of_one)
        return f"/api/view/{spec.name}?{chance.choice(self._abouts)}{_parameters(spec, chance)}"

    def _pair(self, chance: random.Random) -> str:
        spec = chance.choice(self._of_two)
        baseline = chance.choice(self._abouts).replace("&", "&baseline_")
        about = chance.choice(self._abouts)
        return f"/api/view/{spec.name}?{about}&baseline_{baseline}{_parameters(spec, chance)}"

    def _screen(self, chance: random.Random) -> str:
        start_ns, end_ns = sorted(chance.randrange(END_NS) for _ in range(2))
        width = chance.choice((400, 1440, 4000))
        where = f"start_ns={start_ns}&end_ns={end_ns + 1}&width_px={width}"
        return f"/api/timeline?{chance.choice(self._abouts)}&{where}"

    def _timeline(self, chance: random.Random) -> str:
        about = chance.choice(self._abouts)
        route = chance.choice(("tracks", "search", "gaps", "steps", "clocks"))
        if chance.random() < 0.3:
            return f"/api/slice/{chance.randrange(2000)}?{about}"
        rest = {
            "search": f"&q={chance.choice(('mm', 'conv', 'k', 'zzz'))}",
            "gaps": f"&start_ns=0&end_ns={END_NS}",
        }
        return f"/api/timeline/{route}?{about}{rest.get(route, '')}"

    def _file(self, chance: random.Random) -> str:
        about = chance.choice(self._abouts)
        return f"/api/{chance.choice(('download', 'perfetto'))}?{about}"


def _parameters(spec: ViewSpec, chance: random.Random) -> str:
    """A selection and an order of rows, each of them by chance."""
    text = ""
    if chance.random() < 0.4:
        start_us, end_us = sorted(chance.randrange(END_NS // 1000) for _ in range(2))
        text += f"&start_us={start_us}&end_us={end_us + 1}"
    if spec.group_bys and chance.random() < 0.4:
        text += f"&group_by={chance.choice(spec.group_bys)}"
    if spec.tables and chance.random() < 0.5:
        table = chance.choice(spec.tables)
        column = chance.choice(table.columns).key
        text += f"&table={table.name}&sort={chance.choice(('', '-'))}{column}"
        text += f"&limit={chance.choice((1, 20, 1000))}&offset={chance.choice((0, 5))}"
    return text


def hang_up(port: int, path: str, chance: random.Random) -> None:
    """Ask, and leave before the answer is read, or in its middle."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        if chance.random() < 0.5:
            client.recv(1024)
