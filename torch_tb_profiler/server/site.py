"""What every route knows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from werkzeug.wrappers import Request, Response

from torch_tb_profiler.loading.catalog import Catalog
from torch_tb_profiler.requests.general import Face

WAIT_S = 0.25
"""A small trace is parsed in this time: the page gets its numbers without asking twice."""


@dataclass(frozen=True, slots=True)
class Site:
    """What all routes know: the catalog, and which face of the product this is."""

    catalog: Catalog
    face: Face


Route = Callable[[Site, Request, str], Response]
