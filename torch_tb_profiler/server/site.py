"""The context of all routes, and their signature."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from werkzeug.wrappers import Request, Response

from torch_tb_profiler.loading.catalog import Catalog
from torch_tb_profiler.requests.general import Face

WAIT_S = 0.25
"""Small traces are parsed within this time, so that the page need not poll."""


class Site(Struct, frozen=True):
    """Context of the routes: the catalog, and whether this is TensorBoard or standalone."""

    catalog: Catalog
    face: Face


Route = Callable[[Site, Request, str], Response]
