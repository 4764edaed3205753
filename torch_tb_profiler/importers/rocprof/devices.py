"""The GPUs of recordings: their numbers in the trace, and their properties.

A GPU has the number that its runtime counts in its machine. Only GPUs that did something in the
recording are declared: recorders list all GPUs of the machine, also those of other programs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from torch_tb_profiler.importers.nsys.distinct import distinct
from torch_tb_profiler.importers.rocprof.recording import Agent, ProcessRecording
from torch_tb_profiler.trace.columns import ABSENT, Float64, Int64
from torch_tb_profiler.trace.info import DeviceInfo
from torch_tb_profiler.trace.limits import MAX_DEVICES


class GpuNumbers:
    """Numbers GPUs when they are first used.

    Args:
        recordings: The recordings of the trace.
    """

    def __init__(self, recordings: Sequence[ProcessRecording]) -> None:
        self._agents = [recording.agents for recording in recordings]
        self._gpus: dict[int, Agent] = {}
        self._numbers: dict[tuple[str, int], int] = {}
        self._free = set(range(MAX_DEVICES))

    def numbers(self, recording: int, agents: Int64) -> Int64:
        """The number of each GPU; ``ABSENT`` for agents that are none or are unknown.

        Args:
            recording: Number of the recording.
            agents: Ids of agents of this recording.
        """
        known, inverse = distinct(agents)
        return np.array([self._number(recording, each) for each in known.tolist()], np.int64)[
            inverse
        ]

    def name(self, number: int) -> str | None:
        """The name of a GPU."""
        return self._gpus[number].name if number in self._gpus else None

    def values(self, numbers: Int64, key: str) -> Float64:
        """A property of ``DeviceInfo`` for each GPU number, NaN if unknown."""
        table = np.full(MAX_DEVICES + 1, np.nan)
        for number, gpu in self._gpus.items():
            table[number] = gpu.properties.get(key, np.nan)
        return table[np.where((numbers >= 0) & (numbers < MAX_DEVICES), numbers, MAX_DEVICES)]

    def infos(self) -> tuple[DeviceInfo, ...]:
        """What is known of the GPUs that were used."""
        return tuple(
            DeviceInfo(device=number, name=gpu.name, **gpu.properties)
            for number, gpu in sorted(self._gpus.items())
            if gpu.name or gpu.properties
        )

    def _number(self, recording: int, agent_id: int) -> int:
        agent = self._agents[recording].get(agent_id)
        if agent is None or not agent.is_gpu:
            return int(ABSENT)
        own = agent_id if agent.number is None else agent.number
        key = (agent.node, own)
        if key not in self._numbers:
            number = own if own in self._free else min(self._free, default=int(ABSENT))
            self._numbers[key] = number
            if number != ABSENT:
                self._free.remove(number)
                self._gpus[number] = agent
        return self._numbers[key]
