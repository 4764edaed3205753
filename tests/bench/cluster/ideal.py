"""A job whose times can be computed by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from bench.cluster.hardware import DEVICES
from bench.cluster.shape import NONE, Shape, draw

_BASE = draw(np.random.default_rng(1), 64)


def ideal(**changes: Any) -> Shape:
    """Eight data-parallel ranks of one node without noise, on a host that costs almost nothing."""
    shape = replace(
        _BASE, data=8, tensor=1, pipeline=1, expert=1, layers=(2,), microbatches=1, tokens=8192,
        hidden=4096, vocabulary=1024, steps=3, device=DEVICES[1], node_size=8, switch_nodes=2,
        sharding="ddp", naming="megatron", is_fine=True, has_sync=True, host_ns=100.0, noise=NONE,
    )  # fmt: skip
    return replace(shape, **changes)
