"""Operators and ranges by the external ids that calls and device work name them by."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.trace.categories import NODE_CATEGORIES
from torch_tb_profiler.trace.columns import Int32, Int64
from torch_tb_profiler.trace.lookup import positions_in
from torch_tb_profiler.trace.ordering import OrderedSlices
from torch_tb_profiler.trace.processes import NO_PROCESS


class OperatorIds:
    """Nodes by external id and process. An id that several nodes of a process carry names none of
    them; asked for without a process, one that several nodes of the file carry."""

    def __init__(self, slices: OrderedSlices, *, trusted: bool) -> None:
        nodes = slices.ids_of(NODE_CATEGORIES)
        nodes = nodes[slices.external_id[nodes] > 0] if trusted else nodes[:0]
        external_id = slices.external_id[nodes]
        self._ids, first, count = np.unique(external_id, return_index=True, return_counts=True)
        self._node = np.where(count == 1, nodes[first], -1)
        process = slices.process_of(nodes)
        self._several = len(process) > 0 and process.min() != process.max()
        if self._several:
            self._processes = int(process.max()) + 1
            key = positions_in(self._ids, external_id) * self._processes + process
            self._keys, first, count = np.unique(key, return_index=True, return_counts=True)
            self._node_of_key = np.where(count == 1, nodes[first], -1)

    def find(self, external_id: Int64, process: Int32) -> Int64:
        """Per (external id, process) its node, or -1."""
        number = positions_in(self._ids, external_id)
        node = np.where(number >= 0, np.append(self._node, -1)[number], -1)
        if not self._several:
            return node
        is_known = (number >= 0) & (process < self._processes)
        place = positions_in(self._keys, np.where(is_known, number * self._processes + process, -1))
        in_process = np.where(place >= 0, self._node_of_key[place], -1)
        return np.where(process == NO_PROCESS, node, in_process)
